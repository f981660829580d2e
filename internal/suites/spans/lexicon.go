package spans

import (
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/suites/spans/label"
)

// videoLexicon has words of video prompts.
//
//go:embed lexicon.json
var videoLexicon []byte

// A lexicon labels the words of a list. It needs no model.
type lexicon struct {
	pattern *regexp.Regexp
	roles   []string // by group of the pattern, from 1
}

// newLexicon reads a JSON object of words by role. A word between slashes is a
// regular expression. Words are found in any case, at word borders, longer words
// first.
func newLexicon(data []byte, t *label.Taxonomy) (*lexicon, error) {
	var words map[string][]string
	if err := dataset.DecodeStrict(data, &words); err != nil {
		return nil, err
	}
	type term struct{ role, pattern, word string }
	var terms []term
	var errs []error
	for _, role := range slices.Sorted(maps.Keys(words)) {
		if !t.Known(role) {
			errs = append(errs, fmt.Errorf("the taxonomy has no role %q", role))
		}
		for _, w := range words[role] {
			pattern := regexp.QuoteMeta(w)
			if inner, ok := strings.CutPrefix(w, "/"); ok && strings.HasSuffix(inner, "/") {
				pattern = strings.TrimSuffix(inner, "/")
			}
			if re, err := regexp.Compile(pattern); err != nil {
				errs = append(errs, fmt.Errorf("role %s: %w", role, err))
				continue
			} else if re.NumSubexp() > 0 {
				errs = append(errs, fmt.Errorf("role %s: %s has a group: write (?:…) instead of (…)", role, w))
				continue
			} else if re.MatchString("") {
				errs = append(errs, fmt.Errorf("role %s: %q matches the empty text", role, w))
				continue
			}
			terms = append(terms, term{t.Canonical(role), pattern, w})
		}
	}
	if len(terms) == 0 && len(errs) == 0 {
		errs = append(errs, errors.New("the lexicon is empty"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	slices.SortStableFunc(terms, func(a, b term) int { return len(b.word) - len(a.word) })
	var patterns []string
	l := &lexicon{roles: []string{""}}
	for _, x := range terms {
		patterns = append(patterns, "("+x.pattern+")")
		l.roles = append(l.roles, x.role)
	}
	var err error
	l.pattern, err = regexp.Compile(`(?i)(?:` + strings.Join(patterns, "|") + `)`)
	return l, err
}

var wordCharacter = regexp.MustCompile(`^[\p{L}\p{N}_]$`)

// label finds the words in a text, from left to right.
func (l *lexicon) label(text string) []label.Span {
	r := label.NewRuler(text)
	inside := func(i int) bool { // a word character stands before and after a byte offset
		p := r.Point(i, label.Bytes)
		return p > 0 && p < r.Len() && wordCharacter.MatchString(r.Slice(p-1, p)) && wordCharacter.MatchString(r.Slice(p, p+1))
	}
	var spans []label.Span
	for from := 0; from < len(text); {
		at := l.pattern.FindStringSubmatchIndex(text[from:])
		if at == nil {
			break
		}
		start, end := from+at[0], from+at[1]
		if inside(start) || inside(end) {
			from = r.Byte(r.Point(start, label.Bytes) + 1)
			continue
		}
		for group := 1; group < len(l.roles); group++ {
			if at[2*group] >= 0 {
				a, b := r.Point(start, label.Bytes), r.Point(end, label.Bytes)
				spans = append(spans, label.Span{Text: text[start:end], Role: l.roles[group], Confidence: -1, Start: a, End: b})
				break
			}
		}
		from = end
	}
	return spans
}
