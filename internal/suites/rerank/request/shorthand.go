package request

import (
	"fmt"
	"regexp"
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
func (n *Node) Shorthand() string { return n.Format((*Node).leafShorthand) }

// Format formats a tree's shape with its conditions as leaf has them.
func (n *Node) Format(leaf func(*Node) string) string {
	if n.Op == "" {
		return leaf(n)
	}
	args := make([]string, len(n.Args))
	for i, a := range n.Args {
		args[i] = a.Format(leaf)
	}
	return n.Op + "(" + strings.Join(args, ", ") + ")"
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
	p.next()
	n, err := p.node(1)
	if err == nil && p.token != "" {
		err = p.errorf("%s follows the end", p.found())
	}
	if err != nil {
		return nil, err
	}
	return n, nil
}

// A shorthand is a parser with the next token, "" at the end, and its offset.
type shorthand struct {
	text, token string
	at          int
}

var (
	// A backslash escapes only quotation marks and backslashes, since patterns contain
	// backslashes.
	quotedText = regexp.MustCompile(`^(?s:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")`)
	escape     = regexp.MustCompile(`\\(['"\\])`)
	token      = regexp.MustCompile(quotedText.String() + `|^[^()\[\],'"\\]+|^(?s:.)`)
)

func (p *shorthand) next() {
	rest := strings.TrimLeft(p.text[p.at+len(p.token):], " \t\r\n")
	p.at, p.token = len(p.text)-len(rest), token.FindString(rest)
}

func (p *shorthand) errorf(format string, args ...any) error {
	return fmt.Errorf("column %d: %s", utf8.RuneCountInString(p.text[:p.at])+1, fmt.Sprintf(format, args...))
}

func (p *shorthand) found() string {
	if p.token == "" {
		return "the end"
	}
	r, _ := utf8.DecodeRuneInString(p.token)
	return strconv.QuoteRune(r)
}

// take consumes a token and reports whether it was the next.
func (p *shorthand) take(token string) bool {
	if p.token != token {
		return false
	}
	p.next()
	return true
}

func (p *shorthand) want(token string) error {
	if !p.take(token) {
		return p.errorf("want '%s', got %s", token, p.found())
	}
	return nil
}

func (p *shorthand) node(depth int) (*Node, error) {
	switch {
	case depth > MaxDepth:
		return nil, p.errorf("nested more than %d levels deep", MaxDepth)
	case p.token != "" && strings.ContainsAny(p.token[:1], `'"`):
		aspect, err := p.quoted()
		if err == nil && aspect == "" {
			err = p.errorf("empty aspect")
		}
		return &Node{Aspect: aspect}, err
	case p.token == "" || strings.ContainsAny(p.token[:1], notation):
		return nil, p.errorf("want an aspect or an operator, got %s", p.found())
	}
	word, start := strings.TrimSpace(p.token), *p
	p.next()
	if !p.take("(") {
		return &Node{Aspect: word}, nil
	}
	if slices.Contains([]string{"0HOP", "1HOP", "2HOP"}, word) {
		return p.social(int(word[0] - '0'))
	}
	if !slices.Contains([]string{And, Or, Not}, word) {
		return nil, start.errorf("unknown operator %q: want AND, OR, NOT, 0HOP, 1HOP or 2HOP", word)
	}
	n := &Node{Op: word}
	for more := p.token != ")"; more; more = p.take(",") && p.token != ")" {
		a, err := p.node(depth + 1)
		if err != nil {
			return nil, err
		}
		n.Args = append(n.Args, a)
	}
	if err := p.want(")"); err != nil {
		return nil, err
	}
	if len(n.Args) == 0 || word == Not && len(n.Args) != 1 {
		return nil, start.errorf("%s of %d conditions: want %s", word, len(n.Args), arity(word))
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
	if err := p.want("["); err != nil {
		return nil, err
	}
	for more := true; more; more = p.take(",") && p.token != "]" {
		name, err := p.quoted()
		if err != nil {
			return nil, err
		}
		e.Names = append(e.Names, name)
	}
	err := p.want("]")
	if err == nil && p.take(",") {
		e.Pattern, err = p.quoted()
	}
	if err != nil {
		return nil, err
	}
	return &Node{Evidence: e}, p.want(")")
}

// quoted parses a text in single or double quotes.
func (p *shorthand) quoted() (string, error) {
	if p.token == "" || !strings.ContainsAny(p.token[:1], `'"`) {
		return "", p.errorf("want a text in quotes, got %s", p.found())
	}
	if !quotedText.MatchString(p.token) {
		return "", p.errorf("unterminated text")
	}
	text := escape.ReplaceAllString(p.token[1:len(p.token)-1], "$1")
	p.next()
	return text, nil
}
