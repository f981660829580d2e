package spans

import (
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/spanfile"
	"github.com/scruple-eval/scruple/internal/suites/spans/label"
)

// videoLexicon has words of video prompts.
//
//go:embed lexicon.json
var videoLexicon []byte

// A lexicon labels the words of a list. It needs no model.
type lexicon struct {
	words    map[string][]term // in lower case, by the first letters, the longest first
	patterns []term            // regular expressions, anchored at the start
}

// A term is a word of a role.
type term struct {
	role, word string
	pattern    *regexp.Regexp
}

// prefix is how many characters of a word find it. A word must have as many.
const prefix = 2

// newLexicon reads a JSON object of words by role. A word between slashes is a
// regular expression. Words are found in any case, at word borders, longer words
// first.
func newLexicon(data []byte, t *label.Taxonomy) (*lexicon, error) {
	var words map[string][]string
	if err := dataset.DecodeStrict(data, &words); err != nil {
		return nil, err
	}
	l := &lexicon{words: map[string][]term{}}
	n := 0
	var errs []error
	for _, role := range slices.Sorted(maps.Keys(words)) {
		if !t.Known(role) {
			errs = append(errs, fmt.Errorf("the taxonomy has no role %q", role))
		}
		for _, w := range words[role] {
			n++
			x := term{role: t.Canonical(role), word: spanfile.Lower(w)}
			inner, opens := strings.CutPrefix(w, "/")
			inner, closes := strings.CutSuffix(inner, "/")
			var err error
			switch {
			case opens && closes:
				if x.pattern, err = regexp.Compile("(?i)^(?:" + inner + ")"); err == nil && x.pattern.MatchString("") {
					err = fmt.Errorf("%q matches the empty text", w)
				}
				l.patterns = append(l.patterns, x)
			case utf8.RuneCountInString(strings.TrimSpace(w)) < prefix:
				err = fmt.Errorf("word %q: want at least %d characters", w, prefix)
			default:
				l.words[first(x.word)] = append(l.words[first(x.word)], x)
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("role %s: %w", role, err))
			}
		}
	}
	if n == 0 && len(errs) == 0 {
		errs = append(errs, errors.New("the lexicon is empty"))
	}
	for _, list := range l.words {
		slices.SortStableFunc(list, func(a, b term) int { return len(b.word) - len(a.word) })
	}
	return l, errors.Join(errs...)
}

// first is the key of a word.
func first(word string) string {
	n := 0
	for i := range word {
		if n == prefix {
			return word[:i]
		}
		n++
	}
	return word
}

func isWord(c rune) bool { return c == '_' || unicode.IsLetter(c) || unicode.IsDigit(c) }

// label finds the words in a text, from left to right, the longest at each place.
func (l *lexicon) label(text string) []spanfile.Span {
	lower := spanfile.Lower(text)
	r := spanfile.NewRuler(text)
	var spans []spanfile.Span
	before := ' '
	for at := 0; at < len(text); {
		c, size := utf8.DecodeRuneInString(text[at:])
		length, role := 0, ""
		if !isWord(before) || !isWord(c) {
			length, role = l.match(text[at:], lower[at:])
		}
		if length == 0 {
			at += size
			before = c
			continue
		}
		spans = append(spans, spanfile.Span{Text: text[at : at+length], Role: role, Confidence: spanfile.Unstated, Start: r.Point(at, spanfile.Bytes), End: r.Point(at+length, spanfile.Bytes)})
		at += length
		before, _ = utf8.DecodeLastRuneInString(text[:at])
	}
	return spans
}

// match is the longest word that a text begins with, and that ends at the border
// of a word.
func (l *lexicon) match(text, lower string) (length int, role string) {
	border := func(n int) bool {
		last, _ := utf8.DecodeLastRuneInString(text[:n])
		next, _ := utf8.DecodeRuneInString(text[n:])
		return n == len(text) || !isWord(last) || !isWord(next)
	}
	for _, x := range l.words[first(lower)] {
		if strings.HasPrefix(lower, x.word) && border(len(x.word)) {
			length, role = len(x.word), x.role
			break // the longest is first
		}
	}
	for _, x := range l.patterns {
		if at := x.pattern.FindStringIndex(text); at != nil && at[1] > length && border(at[1]) {
			length, role = at[1], x.role
		}
	}
	return length, role
}
