package study

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/text"
)

// suggest ends an error about an unknown word: the nearest known one, or all.
func suggest(word string, known []string) string {
	if k, ok := text.Nearest(word, known); ok {
		return "did you mean " + quote(k) + "?"
	}
	known = slices.Compact(slices.Sorted(slices.Values(known)))
	switch len(known) {
	case 0:
		return "none are defined"
	case 1:
		return "want " + known[0]
	}
	return "want one of " + strings.Join(known, ", ")
}

// maxShown keeps an error on one readable line.
const maxShown = 61

// quote shows a value in an error: on one line, cut, and without what could be
// a password or a key.
func quote(s string) string {
	s = userInfo.ReplaceAllString(s, "//…@")
	for _, secret := range findSecrets(s) {
		s = strings.ReplaceAll(s, secret, "…")
	}
	return strconv.Quote(text.Shorten(s, maxShown))
}

// These are compiled once and never change.
var (
	userInfo = regexp.MustCompile(`//[^/@\s]*@`)
	keyForms = regexp.MustCompile(`\b(?:sk-(?:ant|proj|or|svcacct)-[A-Za-z0-9_-]{4,}|sk-[A-Za-z0-9_-]{8,}|AIza[A-Za-z0-9_-]{8,}|(?:gsk_|hf_|ghp_|r8_|xai-|pplx-|tgp_v1_)[A-Za-z0-9_-]{16,})`)
)

// findSecrets returns what looks like an API key in a text. Only what holds a
// digit counts, so that "sk-learn-pipeline" may be written.
func findSecrets(s string) []string {
	var found []string
	for _, m := range keyForms.FindAllString(s, -1) {
		if strings.ContainsAny(m, "0123456789") {
			found = append(found, m)
		}
	}
	return found
}
