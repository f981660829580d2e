package request

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxDepth is the maximum depth of a tree.
const MaxDepth = 64

// Shorthand formats a tree's shape: AND(a, OR(b, c)). A condition is its aspect,
// quoted if necessary; a social condition is 1HOP(['Alice'], 'cozy').
// [ParseShorthand] parses it to a tree of the same shape.
func (n *Node) Shorthand() string {
	var b strings.Builder
	n.shorthand(&b)
	return b.String()
}

func (n *Node) shorthand(b *strings.Builder) {
	if n.Op == "" {
		b.WriteString(n.leafShorthand())
		return
	}
	b.WriteString(n.Op)
	b.WriteByte('(')
	for i, a := range n.Args {
		if i > 0 {
			b.WriteString(", ")
		}
		a.shorthand(b)
	}
	b.WriteByte(')')
}

func (n *Node) leafShorthand() string {
	e := n.Evidence
	if e == nil || e.Kind != SocialFilter {
		if bare(n.Aspect) {
			return n.Aspect
		}
		return quote(n.Aspect)
	}
	names := make([]string, len(e.Names))
	for i, name := range e.Names {
		names[i] = quote(name)
	}
	text := strconv.Itoa(e.Hops) + "HOP([" + strings.Join(names, ", ") + "]"
	if e.Pattern != "" {
		text += ", " + quote(e.Pattern)
	}
	return text + ")"
}

// notation lists the special characters of shorthand.
const notation = "()[],'\"\\"

// bare reports whether an aspect needs no quotes.
func bare(s string) bool {
	return s != "" && s == strings.TrimSpace(s) && !strings.ContainsAny(s, notation) && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == utf8.RuneError })
}

func quote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

// ParseShorthand parses a tree from its shorthand: AND, OR and NOT of trees,
// aspects with or without quotes, and 0HOP, 1HOP and 2HOP with a list of names
// and an optional pattern. Only social conditions have evidence. Errors contain
// the column.
func ParseShorthand(s string) (*Node, error) {
	p := shorthand{text: s}
	n, err := p.node(1)
	if p.peek(); err == nil && p.at < len(p.text) {
		err = p.errorf("%s follows the end", p.found())
	}
	if err != nil {
		return nil, err
	}
	return n, nil
}

type shorthand struct {
	text string
	at   int
}

func (p *shorthand) errorf(format string, args ...any) error {
	return fmt.Errorf("column %d: %s", utf8.RuneCountInString(p.text[:p.at])+1, fmt.Sprintf(format, args...))
}

// peek skips white space and returns the next byte; 0 at the end.
func (p *shorthand) peek() byte {
	p.at = len(p.text) - len(strings.TrimLeft(p.text[p.at:], " \t\r\n"))
	if p.at == len(p.text) {
		return 0
	}
	return p.text[p.at]
}

func (p *shorthand) found() string {
	if p.peek() == 0 {
		return "the end"
	}
	r, _ := utf8.DecodeRuneInString(p.text[p.at:])
	return strconv.QuoteRune(r)
}

// take consumes the byte c.
func (p *shorthand) take(c byte) error {
	if p.peek() != c {
		return p.errorf("want %q, got %s", c, p.found())
	}
	p.at++
	return nil
}

func (p *shorthand) node(depth int) (*Node, error) {
	if depth > MaxDepth {
		return nil, p.errorf("nested more than %d levels deep", MaxDepth)
	}
	if c := p.peek(); c == '\'' || c == '"' {
		aspect, err := p.quoted()
		if err == nil && aspect == "" {
			err = p.errorf("empty aspect")
		}
		return &Node{Aspect: aspect}, err
	}
	start := p.at
	end := strings.IndexAny(p.text[p.at:], notation)
	if end < 0 {
		end = len(p.text) - p.at
	}
	word := strings.TrimSpace(p.text[p.at : p.at+end])
	if word == "" {
		return nil, p.errorf("want an aspect or an operator, got %s", p.found())
	}
	p.at += end
	if p.peek() != '(' {
		return &Node{Aspect: word}, nil
	}
	p.at++
	if hops, ok := strings.CutSuffix(word, "HOP"); ok && len(hops) == 1 && hops[0] >= '0' && hops[0] <= '2' {
		return p.social(int(hops[0] - '0'))
	}
	if !slices.Contains([]string{And, Or, Not}, word) {
		p.at = start
		return nil, p.errorf("unknown operator %q: want AND, OR, NOT, 0HOP, 1HOP or 2HOP", word)
	}
	return p.args(word, start, depth)
}

// args parses the arguments of an operator, up to the closing bracket.
func (p *shorthand) args(op string, start, depth int) (*Node, error) {
	n := &Node{Op: op}
	for p.peek() != ')' {
		a, err := p.node(depth + 1)
		if err != nil {
			return nil, err
		}
		n.Args = append(n.Args, a)
		if p.peek() != ',' {
			break
		}
		p.at++
	}
	if err := p.take(')'); err != nil {
		return nil, err
	}
	if len(n.Args) == 0 || (op == Not && len(n.Args) != 1) {
		p.at = start
		return nil, p.errorf("%s of %d conditions: want %s", op, len(n.Args), arity(op))
	}
	return n, nil
}

func arity(op string) string {
	if op == Not {
		return "one"
	}
	return "at least one"
}

// social parses the names and the pattern of a HOP, up to the closing bracket.
func (p *shorthand) social(hops int) (*Node, error) {
	e := &Evidence{Kind: SocialFilter, Hops: hops}
	if err := p.take('['); err != nil {
		return nil, err
	}
	for p.peek() != ']' || len(e.Names) == 0 {
		name, err := p.quoted()
		if err != nil {
			return nil, err
		}
		e.Names = append(e.Names, name)
		if p.peek() != ',' {
			break
		}
		p.at++
	}
	if err := p.take(']'); err != nil {
		return nil, err
	}
	if p.peek() == ',' {
		p.at++
		var err error
		if e.Pattern, err = p.quoted(); err != nil {
			return nil, err
		}
	}
	return &Node{Evidence: e}, p.take(')')
}

// quoted parses a text in single or double quotes. A backslash escapes only
// quotation marks and backslashes, since patterns contain backslashes.
func (p *shorthand) quoted() (string, error) {
	mark := p.peek()
	if mark != '\'' && mark != '"' {
		return "", p.errorf("want a text in quotes, got %s", p.found())
	}
	var b strings.Builder
	for i := p.at + 1; i < len(p.text); i++ {
		switch c := p.text[i]; {
		case c == mark:
			p.at = i + 1
			return b.String(), nil
		case c == '\\' && i+1 < len(p.text) && strings.IndexByte(`'"\`, p.text[i+1]) >= 0:
			i++
			b.WriteByte(p.text[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", p.errorf("unterminated text")
}
