package study

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/text"
)

// A Position says where a value comes from: a place in the study file, or the
// override that set it.
type Position struct {
	File         string
	Line, Column int    // from 1; 0 when the value stands nowhere in the file
	Override     string // "execution.concurrency=8" for what -o set
}

func (p Position) String() string {
	switch {
	case p.Override != "":
		return "-o " + p.Override
	case p.Line == 0:
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// compare orders the file's positions from top to bottom and leaves overrides
// after them in the order they were given.
func (p Position) compare(q Position) int {
	switch p, q := p.Override != "", q.Override != ""; {
	case p && q:
		return 0
	case p:
		return 1
	case q:
		return -1
	}
	return cmp.Or(cmp.Compare(p.Line, q.Line), cmp.Compare(p.Column, q.Column))
}

// An Error is one finding about a study, with its position if it is known.
type Error struct {
	Pos  Position
	Path string // "kernels[2].path", "" for the study as a whole
	Err  error
}

func (e *Error) Error() string {
	said := e.Err.Error()
	for _, where := range []string{e.Path, e.Pos.String()} {
		if where != "" {
			said = where + ": " + said
		}
	}
	return said
}

func (e *Error) Unwrap() error { return e.Err }

// Errors are all findings about a study. They print one per line, in file order.
type Errors []error

// Add appends a finding; nil is ignored, and a list is appended element by
// element.
func (es *Errors) Add(err error) {
	var list Errors
	switch {
	case err == nil:
	case errors.As(err, &list):
		*es = append(*es, list...)
	default:
		*es = append(*es, err)
	}
}

// Err returns the findings in order, or nil if there are none.
func (es Errors) Err() error {
	if len(es) == 0 {
		return nil
	}
	at := func(err error) Position {
		var e *Error
		if errors.As(err, &e) {
			return e.Pos
		}
		return Position{}
	}
	slices.SortStableFunc(es, func(a, b error) int { return at(a).compare(at(b)) })
	return es
}

// maxListed is the maximum number of findings printed.
const maxListed = 50

func (es Errors) Error() string {
	if more := len(es) - maxListed; more > 0 {
		return fmt.Sprintf("%v\n… and %d more", errors.Join(es[:maxListed]...), more)
	}
	return errors.Join(es...).Error()
}

// Unwrap lets errors.Is and errors.As look into every finding.
func (es Errors) Unwrap() []error { return es }

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
	userInfo = regexp.MustCompile(`//\S*@`)
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
