package stats

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A Formula is a linear model with an intercept: a response, main effects, and
// random intercepts by group.
type Formula struct {
	Response string
	Fixed    []string
	Random   []string // grouping factors; "a:b" groups by combination
}

// clone copies the formula and its slices.
func (f Formula) clone() Formula {
	f.Fixed, f.Random = slices.Clone(f.Fixed), slices.Clone(f.Random)
	return f
}

// String writes the formula as [ParseFormula] reads it.
func (f Formula) String() string {
	terms := []string{"1"}
	if len(f.Fixed) > 0 {
		terms = nil
	}
	for _, t := range f.Fixed {
		terms = append(terms, quoteName(t))
	}
	for _, g := range f.Random {
		var parts []string
		for _, p := range GroupColumns(g) {
			parts = append(parts, quoteName(p))
		}
		terms = append(terms, "(1|"+strings.Join(parts, ":")+")")
	}
	return quoteName(f.Response) + " ~ " + strings.Join(terms, " + ")
}

// GroupColumns are the columns of a grouping such as "document:kernel".
func GroupColumns(group string) []string { return strings.Split(group, ":") }

var plainName = regexp.MustCompile(`^[\p{L}.][\p{L}\p{N}._]*$`)

func quoteName(s string) string {
	if plainName.MatchString(s) {
		return s
	}
	return "`" + s + "`"
}

// ParseFormula parses a formula in lme4's notation:
//
//	score ~ kernel + difficulty + (1|document) + (1|doc_type)
//
// Names with characters other than letters, digits, "." and "_" must be in
// backquotes. (1|a:b) groups by combination and (1|a/b) is (1|a) + (1|a:b).
// Random slopes, interactions of fixed effects, transformations and models
// without an intercept are rejected.
func ParseFormula(text string) (Formula, error) {
	p := formulaParser{text: text, rest: text}
	f, err := p.parse()
	if err != nil {
		return Formula{}, fmt.Errorf("stats: formula %q: %w", text, err)
	}
	return f, nil
}

type formulaParser struct{ text, rest string }

func (p *formulaParser) parse() (Formula, error) {
	var f Formula
	var err error
	if f.Response, err = p.name(); err != nil {
		return f, err
	}
	if !p.take("~") {
		return f, p.unexpected(`"~" after the response`)
	}
	for {
		if err := p.term(&f); err != nil {
			return f, err
		}
		if p.end() {
			break
		}
		if !p.take("+") {
			return f, p.unexpected(`"+"`)
		}
	}
	if slices.Contains(f.Fixed, f.Response) || slices.Contains(f.Random, f.Response) {
		return f, fmt.Errorf("%s is on both sides", f.Response)
	}
	return f, nil
}

func (p *formulaParser) term(f *Formula) error {
	switch {
	case p.take("("):
		return p.random(f)
	case p.take("1"):
		return nil
	case p.take("0"), p.take("-"):
		return fmt.Errorf("models without an intercept are not supported")
	}
	name, err := p.name()
	if err != nil {
		return err
	}
	if slices.Contains(f.Fixed, name) {
		return fmt.Errorf("duplicate %s", name)
	}
	f.Fixed = append(f.Fixed, name)
	return nil
}

func (p *formulaParser) random(f *Formula) error {
	if !p.take("1") {
		return p.slopes()
	}
	if p.take("+") {
		return p.slopes()
	}
	if p.take("||") || !p.take("|") {
		return p.unexpected(`"|" and a grouping factor`)
	}
	group, err := p.name()
	if err != nil {
		return err
	}
	groups := []string{group}
	for {
		switch {
		case p.take(":"):
			next, err := p.name()
			if err != nil {
				return err
			}
			groups[len(groups)-1] += ":" + next
			continue
		case p.take("/"):
			next, err := p.name()
			if err != nil {
				return err
			}
			groups = append(groups, groups[len(groups)-1]+":"+next)
			continue
		case p.take(")"):
		default:
			return p.unexpected(`")"`)
		}
		break
	}
	for _, g := range groups {
		if slices.Contains(f.Random, g) {
			return fmt.Errorf("duplicate (1|%s)", g)
		}
		f.Random = append(f.Random, g)
	}
	return nil
}

func (p *formulaParser) slopes() error {
	inner, _, _ := strings.Cut(p.rest, ")")
	return fmt.Errorf("(%s): only random intercepts, (1|group), are supported, not random slopes", inner)
}

var bareName = regexp.MustCompile(`^[\p{L}.][\p{L}\p{N}._]*`)

func (p *formulaParser) name() (string, error) {
	p.space()
	if quoted, ok := strings.CutPrefix(p.rest, "`"); ok {
		name, rest, closed := strings.Cut(quoted, "`")
		if !closed || name == "" || strings.Contains(name, ":") {
			return "", fmt.Errorf("a backquoted name must be closed, nonempty and without %q", ":")
		}
		p.rest = rest
		return name, nil
	}
	name := bareName.FindString(p.rest)
	if name == "" {
		return "", p.unexpected("a column's name")
	}
	p.rest = p.rest[len(name):]
	p.space()
	if p.rest != "" && strings.ContainsRune("*:^(", rune(p.rest[0])) {
		if p.rest[0] != ':' || !p.inGroup() {
			return "", fmt.Errorf("%q after %s: interactions and transformations of fixed effects are not supported; add a column for it", p.rest[:1], name)
		}
	}
	return name, nil
}

// inGroup reports whether the parser stands between "(1|" and ")".
func (p *formulaParser) inGroup() bool {
	read := p.text[:len(p.text)-len(p.rest)]
	return strings.LastIndexByte(read, '|') > strings.LastIndexByte(read, ')')
}

func (p *formulaParser) space() { p.rest = strings.TrimLeft(p.rest, " \t\r\n") }

func (p *formulaParser) take(token string) bool {
	p.space()
	rest, ok := strings.CutPrefix(p.rest, token)
	if ok {
		p.rest = rest
	}
	return ok
}

func (p *formulaParser) end() bool {
	p.space()
	return p.rest == ""
}

func (p *formulaParser) unexpected(want string) error {
	p.space()
	found := p.rest
	if found == "" {
		return fmt.Errorf("ends where %s was expected", want)
	}
	for i := range found {
		if i > 12 {
			found = found[:i] + "…"
			break
		}
	}
	return fmt.Errorf("%q where %s was expected", found, want)
}
