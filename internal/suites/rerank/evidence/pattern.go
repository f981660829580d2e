package evidence

import (
	"bytes"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
	"github.com/scruple-eval/scruple/internal/suites/rerank/request"
	prose "github.com/scruple-eval/scruple/internal/text"
)

// A pattern is a case-insensitive regular expression with literal texts of which
// every match contains one. Searching a folded text for them is many times faster
// than matching, and most patterns match few reviews.
type pattern struct {
	*regexp.Regexp
	holds []string // folded; nil if unknown
}

// newPattern compiles a pattern that passed [request.CheckEvidence].
func newPattern(s string) *pattern {
	re, err := request.Compile(s)
	if err != nil {
		panic("evidence: " + err.Error())
	}
	return patternOf(re)
}

func patternOf(re *regexp.Regexp) *pattern {
	tree, err := syntax.Parse(re.String(), syntax.Perl)
	if err != nil {
		panic("evidence: " + err.Error()) // it compiled
	}
	return &pattern{re, literals(tree)}
}

// A Search finds the matches of one case-insensitive expression in many texts. It is
// not safe for concurrent use.
type Search struct {
	pattern *pattern
	folded  []byte
}

// NewSearch returns a search for an expression.
func NewSearch(re *regexp.Regexp) *Search { return &Search{pattern: patternOf(re)} }

// Find is [regexp.Regexp.FindStringIndex].
func (s *Search) Find(text string) []int {
	if s.pattern.holds != nil {
		s.folded = appendFolded(s.folded[:0], text)
		if !slices.ContainsFunc(s.pattern.holds, func(l string) bool { return bytes.Contains(s.folded, []byte(l)) }) {
			return nil
		}
	}
	return s.pattern.FindStringIndex(text)
}

// A subject is the item under test, with its reviews folded on first use.
type subject struct {
	*catalog.Item
	all    string   // folded, all reviews together
	folded []string // each review, a part of all
	last   *pattern // that says was called with
	absent bool     // no review contains a text that last needs
}

// says reports whether a review matches a pattern.
func (s *subject) says(p *pattern, review int) bool {
	if p.holds != nil {
		s.fold()
		if s.last != p { // most patterns match no review of an item
			s.last, s.absent = p, !p.mayMatch(s.all)
		}
		if s.absent || !p.mayMatch(s.folded[review]) {
			return false
		}
	}
	return p.MatchString(s.Reviews[review].Text)
}

// mayMatch reports whether a folded text contains one of the texts of every match.
func (p *pattern) mayMatch(folded string) bool {
	return slices.ContainsFunc(p.holds, func(l string) bool { return strings.Contains(folded, l) })
}

func (s *subject) fold() {
	if s.folded != nil {
		return
	}
	var all []byte
	ends := make([]int, len(s.Reviews))
	for i := range s.Reviews {
		all = appendFolded(all, s.Reviews[i].Text)
		ends[i] = len(all)
	}
	s.all, s.folded = string(all), make([]string, len(s.Reviews))
	begin := 0
	for i, end := range ends {
		s.folded[i] = s.all[begin:end]
		begin = end
	}
}

// literals returns folded texts of which every match of an expression contains
// one, or nil. For a concatenation it uses the part whose shortest text is
// longest.
func literals(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		return []string{fold(string(re.Rune))}
	case syntax.OpCapture, syntax.OpPlus:
		return literals(re.Sub[0])
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			l := literals(sub)
			if l == nil {
				return nil
			}
			all = append(all, l...)
		}
		return all
	case syntax.OpConcat:
		var best []string
		for _, sub := range re.Sub {
			if l := literals(sub); shortest(l) > shortest(best) {
				best = l
			}
		}
		return best
	}
	return nil
}

func shortest(texts []string) int {
	if len(texts) == 0 {
		return 0
	}
	return len(slices.MinFunc(texts, func(a, b string) int { return len(a) - len(b) }))
}

// quote returns a match with some context.
func (p *pattern) quote(r *catalog.Review) string {
	at := p.FindStringIndex(r.Text)
	if at == nil {
		return `""`
	}
	const around = 40
	from, to := max(at[0]-around, 0), min(at[1]+around, len(r.Text))
	for from > 0 && !utf8.RuneStart(r.Text[from]) {
		from--
	}
	for to < len(r.Text) && !utf8.RuneStart(r.Text[to]) {
		to++
	}
	text := strings.Join(strings.Fields(r.Text[from:to]), " ")
	if from > 0 {
		text = "…" + text
	}
	if to < len(r.Text) {
		text += "…"
	}
	return fmt.Sprintf("%q", prose.Shorten(text, mostShown))
}

// fold applies Unicode's simple case folding as regular expressions do. A rune
// becomes the ASCII lower-case letter of its case orbit, else the smallest rune.
func fold(s string) string { return string(appendFolded(nil, s)) }

// appendFolded appends a folded text.
func appendFolded(b []byte, s string) []byte {
	begin := len(b)
	b = append(b, s...)
	for i, c := range b[begin:] {
		switch {
		case c >= utf8.RuneSelf:
			return append(b[:begin], strings.Map(foldRune, s)...)
		case 'A' <= c && c <= 'Z':
			b[begin+i] = c + 'a' - 'A'
		}
	}
	return b
}

func foldRune(r rune) rune {
	if r < utf8.RuneSelf {
		return unicode.ToLower(r)
	}
	least := r
	for c := unicode.SimpleFold(r); c != r; c = unicode.SimpleFold(c) {
		least = min(least, c)
	}
	if least < utf8.RuneSelf {
		return unicode.ToLower(least)
	}
	return least
}
