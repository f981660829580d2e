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

// A pattern is a regular expression that heeds no case, with what is known of
// its matches: a text without any of the literals has none. Looking for
// literals in a folded text is a hundred times as fast as matching, which is
// what makes the validation of a large catalog quick.
type pattern struct {
	regexp   *regexp.Regexp
	literals []string // folded; nil if nothing is known
	exact    bool     // having one of the literals is a match
}

// newPattern compiles a pattern that [request.CheckEvidence] let pass.
func newPattern(s string) *pattern {
	re, err := request.Compile(s)
	if err != nil {
		panic("evidence: " + err.Error())
	}
	p := &pattern{regexp: re}
	if tree, err := syntax.Parse("(?i)"+s, syntax.Perl); err == nil {
		l := literalsOf(tree.Simplify())
		p.literals, p.exact = l.texts, l.exact
	}
	return p
}

// mayBeIn is false for a folded text in which the pattern cannot be.
func (p *pattern) mayBeIn(folded string) bool {
	return p.literals == nil || slices.ContainsFunc(p.literals, func(l string) bool { return strings.Contains(folded, l) })
}

// matchFolded is whether a text matches, given the text folded too.
func (p *pattern) matchFolded(text, folded string) bool {
	return p.mayBeIn(folded) && ((p.exact && p.literals != nil) || p.regexp.MatchString(text))
}

// quote cites a match with the words around it.
func (p *pattern) quote(r *catalog.Review) string {
	at := p.regexp.FindStringIndex(r.Text)
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

// literals are folded texts of which every match holds one; nil texts say
// nothing. If they are exact, they are all that is matched, whole.
type literals struct {
	texts []string
	exact bool
}

// maxLiterals bounds the alternatives that are written out.
const maxLiterals = 32

// literalsOf finds the literals of an expression, from the inside out.
func literalsOf(re *syntax.Regexp) literals {
	switch re.Op {
	case syntax.OpLiteral:
		return literals{[]string{fold(string(re.Rune))}, heedsNoCase(re)}
	case syntax.OpEmptyMatch:
		return literals{[]string{""}, true}
	case syntax.OpCharClass:
		return classLiterals(re)
	case syntax.OpCapture:
		return literalsOf(re.Sub[0])
	case syntax.OpPlus:
		return literals{literalsOf(re.Sub[0]).texts, false}
	case syntax.OpRepeat:
		if re.Min > 0 {
			return literals{literalsOf(re.Sub[0]).texts, false}
		}
	case syntax.OpAlternate:
		return alternateLiterals(re.Sub)
	case syntax.OpConcat:
		return concatLiterals(re.Sub)
	}
	return literals{}
}

// heedsNoCase reports a literal that stands for its text in every case: not
// one after (?-i), unless it has no case.
func heedsNoCase(re *syntax.Regexp) bool {
	return re.Flags&syntax.FoldCase != 0 || !slices.ContainsFunc(re.Rune, func(r rune) bool { return unicode.SimpleFold(r) != r })
}

// classLiterals writes a small class out; the cases of a letter are one text.
// A class that leaves out a case of a letter is not exact.
func classLiterals(re *syntax.Regexp) literals {
	var runes []rune
	for i := 0; i < len(re.Rune); i += 2 {
		if int(re.Rune[i+1]-re.Rune[i])+len(runes) > 2*maxLiterals {
			return literals{}
		}
		for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
			runes = append(runes, r)
		}
	}
	var texts []string
	exact := true
	for _, r := range runes {
		texts = append(texts, fold(string(r)))
		exact = exact && slices.Contains(runes, unicode.SimpleFold(r))
	}
	slices.Sort(texts)
	texts = slices.Compact(texts)
	if len(texts) == 0 || len(texts) > maxLiterals {
		return literals{}
	}
	return literals{texts, exact}
}

func alternateLiterals(subs []*syntax.Regexp) literals {
	all := literals{exact: true}
	for _, sub := range subs {
		l := literalsOf(sub)
		if l.texts == nil {
			return literals{}
		}
		all.texts = append(all.texts, l.texts...)
		all.exact = all.exact && l.exact
	}
	if len(all.texts) > maxLiterals {
		return literals{}
	}
	return all
}

// concatLiterals joins neighbours that are exact and takes, of all parts, the
// one whose shortest literal is longest.
func concatLiterals(subs []*syntax.Regexp) literals {
	var best literals
	run := literals{[]string{""}, true}
	exact := true
	take := func(l literals) {
		if l.texts != nil && shortest(l.texts) > shortest(best.texts) {
			best = literals{l.texts, false}
		}
	}
	for _, sub := range subs {
		l := literalsOf(sub)
		if l.exact && len(l.texts)*len(run.texts) <= maxLiterals {
			run.texts = product(run.texts, l.texts)
			continue
		}
		take(run)
		take(l)
		run, exact = literals{[]string{""}, true}, false
	}
	if exact {
		return run
	}
	take(run)
	return best
}

func shortest(texts []string) int {
	if len(texts) == 0 {
		return 0
	}
	return len(slices.MinFunc(texts, func(a, b string) int { return len(a) - len(b) }))
}

func product(a, b []string) []string {
	all := make([]string, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			all = append(all, x+y)
		}
	}
	return all
}

// fold makes texts that differ in case alone the same, by Unicode's simple
// folding as regular expressions do it: of all cases of a letter the one that
// is an ASCII small letter, else the one with the least code.
func fold(s string) string {
	plain := true
	for i := 0; i < len(s) && plain; i++ {
		plain = s[i] < utf8.RuneSelf
	}
	if plain {
		return strings.ToLower(s)
	}
	return strings.Map(foldRune, s)
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
