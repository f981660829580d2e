package evidence

import (
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
	tree, err := syntax.Parse(re.String(), syntax.Perl)
	if err != nil {
		panic("evidence: " + err.Error()) // it compiled
	}
	return &pattern{re, literals(tree)}
}

// A subject is the item under test, with its reviews folded on first use.
type subject struct {
	*catalog.Item
	folded []string
}

// says reports whether a review matches a pattern.
func (s *subject) says(p *pattern, review int) bool {
	if p.holds != nil {
		if s.folded == nil {
			for i := range s.Reviews {
				s.folded = append(s.folded, fold(s.Reviews[i].Text))
			}
		}
		if !slices.ContainsFunc(p.holds, func(l string) bool { return strings.Contains(s.folded[review], l) }) {
			return false
		}
	}
	return p.MatchString(s.Reviews[review].Text)
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
func fold(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return strings.ToLower(s) // many times faster
	}
	return strings.Map(foldRune, s)
}

func foldRune(r rune) rune {
	least := r
	if r >= utf8.RuneSelf {
		for c := unicode.SimpleFold(r); c != r; c = unicode.SimpleFold(c) {
			least = min(least, c)
		}
	}
	if 'A' <= least && least <= 'Z' {
		return least + 'a' - 'A'
	}
	return least
}
