package catalog

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ParseLiteral parses a Python literal as Yelp writes attributes: None, True,
// False, decimal numbers, strings with or without u, lists, and dictionaries
// with string keys (the last of duplicate keys counts). Nothing is evaluated.
// Errors contain the column.
func ParseLiteral(s string) (Value, error) {
	p := literal{text: s}
	v, err := p.value(0)
	if err == nil && p.peek() != 0 {
		err = p.errorf("%s follows the literal", p.found())
	}
	if err != nil {
		return Value{}, err
	}
	return v, nil
}

// Interpret parses a text as a Python literal or one of JSON's true, false and
// null. A text that does not parse is returned as a text.
func Interpret(s string) Value {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "true":
		return BoolValue(true)
	case "false":
		return BoolValue(false)
	case "none", "null":
		return Value{}
	}
	if v, err := ParseLiteral(s); err == nil {
		return v
	}
	return TextValue(s)
}

var (
	// onlyLiteral matches the start of texts that can only be Python literals.
	onlyLiteral = regexp.MustCompile(`^\s*([\[{]|u['"])`)
	// likeLiteral matches the start of texts that may be literals; "(cash only)"
	// and "'Round the corner" are not.
	likeLiteral = regexp.MustCompile(`^\s*([('"]|[UbBrR]['"]|[A-Za-z_][\w.]*\()`)
)

// typed parses an attribute that is a text. If all texts are literals, as in
// Yelp's files, one that does not parse is an error. Otherwise it stays a text,
// with a doubt if it looks like a literal.
func typed(s string, allLiterals bool) (v Value, doubts []error, err error) {
	v, err = ParseLiteral(s)
	switch {
	case err == nil || allLiterals || onlyLiteral.MatchString(s):
		return v, nil, err
	case likeLiteral.MatchString(s):
		doubts = []error{err}
	}
	return TextValue(s), doubts, nil
}

// maxDepth is the maximum nesting of lists and dictionaries.
const maxDepth = 32

// literal is a parser with the offset of the next byte.
type literal struct {
	text string
	at   int
}

func (p *literal) errorf(format string, args ...any) error {
	return fmt.Errorf("column %d: %s", utf8.RuneCountInString(p.text[:p.at])+1, fmt.Sprintf(format, args...))
}

// peek skips white space and returns the next byte; 0 at the end.
func (p *literal) peek() byte {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
	if p.at == len(p.text) {
		return 0
	}
	return p.text[p.at]
}

// found describes the next token for an error.
func (p *literal) found() string {
	if p.peek() == 0 {
		return "the end"
	}
	word := literalWord.FindString(p.text[p.at:])
	if word == "" {
		r, _ := utf8.DecodeRuneInString(p.text[p.at:])
		word = string(r)
	}
	return strconv.Quote(word)
}

var (
	literalWord   = regexp.MustCompile(`^[\w.+-]{1,40}`)
	literalNumber = regexp.MustCompile(`^[+-]?(0|[1-9][0-9]*)?(\.[0-9]*)?([eE][+-]?[0-9]+)?$`)
	stringStart   = regexp.MustCompile(`^[uU]?['"]`)
)

func (p *literal) value(depth int) (Value, error) {
	if depth > maxDepth {
		return Value{}, p.errorf("nested more than %d levels deep", maxDepth)
	}
	switch p.peek() {
	case '[':
		return p.list(depth)
	case '{':
		return p.dictionary(depth)
	}
	if stringStart.MatchString(p.text[p.at:]) {
		s, err := p.quoted()
		return TextValue(s), err
	}
	return p.word()
}

// word parses None, True, False or a number.
func (p *literal) word() (Value, error) {
	word := literalWord.FindString(p.text[p.at:])
	var v Value
	switch word {
	case "None":
	case "True", "False":
		v = BoolValue(word == "True")
	default:
		n, err := strconv.ParseFloat(word, 64)
		if err != nil || !literalNumber.MatchString(word) {
			return Value{}, p.errorf("%s is not a Python literal: want None, True, False, a number, a quoted text, [...] or {...}", p.found())
		}
		v = NumberValue(n)
	}
	p.at += len(word)
	return v, nil
}

func (p *literal) list(depth int) (Value, error) {
	var list []Value
	err := p.elements(']', func() error {
		v, err := p.value(depth + 1)
		list = append(list, v)
		return err
	})
	return ListValue(list...), err
}

func (p *literal) dictionary(depth int) (Value, error) {
	m := map[string]Value{}
	err := p.elements('}', func() error {
		if p.peek(); !stringStart.MatchString(p.text[p.at:]) {
			return p.errorf("want a key in quotes, got %s", p.found())
		}
		key, err := p.quoted()
		if err != nil {
			return err
		}
		if p.peek() != ':' {
			return p.errorf("want a colon after the key %q, got %s", key, p.found())
		}
		p.at++
		m[key], err = p.value(depth + 1)
		return err
	})
	return MapValue(m), err
}

// elements parses comma-separated elements up to the closing bracket; a trailing
// comma is allowed.
func (p *literal) elements(end byte, element func() error) error {
	for p.at++; p.peek() != end; {
		if err := element(); err != nil {
			return err
		}
		if p.peek() == ',' {
			p.at++
		} else if p.peek() != end {
			return p.errorf("want a comma or %q, got %s", end, p.found())
		}
	}
	p.at++
	return nil
}

// quoted parses a string. It accepts the escapes that Go and Python share; any
// other backslash is literal.
func (p *literal) quoted() (string, error) {
	start := p.at
	p.at += len(stringStart.FindString(p.text[p.at:]))
	mark := p.text[p.at-1]
	var b strings.Builder
	for rest := p.text[p.at:]; rest != "" && rest[0] != '\n'; rest = p.text[p.at:] {
		switch {
		case rest[0] == mark:
			p.at++
			return b.String(), nil
		case rest[0] != '\\':
			b.WriteByte(rest[0])
			p.at++
		case len(rest) > 1 && strings.IndexByte(`'"`, rest[1]) >= 0:
			b.WriteByte(rest[1])
			p.at += 2
		case len(rest) > 1 && strings.IndexByte(`\abfnrtvxuU01234567`, rest[1]) >= 0:
			r, _, tail, err := strconv.UnquoteChar(rest, 0)
			if err != nil {
				return "", p.errorf("invalid escape")
			}
			b.WriteRune(r)
			p.at += len(rest) - len(tail)
		default:
			b.WriteByte('\\')
			p.at++
		}
	}
	p.at = start
	return "", p.errorf("unterminated string")
}
