package catalog

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// ParseLiteral reads the text of a Python literal, the form in which Yelp keeps
// attributes: None, True, False, numbers, strings with their prefixes and
// escapes (bytes become the text they encode, or else one character each), side
// by side too, lists, tuples and sets (all three become lists) and dictionaries
// (keys become texts; of a key given twice the last value counts, as in
// Python). Two escapes of half a character are the whole one. Nothing is
// evaluated. An error says in which column what is wrong.
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

// Interpret gives the value that a text stands for: a Python literal's, or the
// text itself where it is none. Words of JSON (true, false, null) count too,
// since people write those.
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
	// onlyLiteral is how texts begin that can only be meant as Python.
	onlyLiteral = regexp.MustCompile(`^\s*([\[{]|u['"])`)
	// likeLiteral is how texts begin that may be: "(cash only)" and "'Round the
	// corner" are not.
	likeLiteral = regexp.MustCompile(`^\s*([('"]|[UbBrR]['"]|[A-Za-z_][\w.]*\()`)
)

// typed gives the value of an attribute that came as text. Where every text is
// a literal, as in Yelp's files, one that is none is an error; elsewhere a
// plain word is a text, and doubt tells of one that begins like a literal.
func typed(s string, allLiterals bool) (v Value, doubt, err error) {
	v, err = ParseLiteral(s)
	switch {
	case err == nil || allLiterals || onlyLiteral.MatchString(s):
		return v, nil, err
	case likeLiteral.MatchString(s):
		doubt = err
	}
	return TextValue(s), doubt, nil
}

// maxDepth is how deep lists and dictionaries may be nested.
const maxDepth = 32

// literal is a text that is being read, with the place of the next byte.
type literal struct {
	text string
	at   int
}

func (p *literal) errorf(format string, args ...any) error {
	return fmt.Errorf("column %d: %s", utf8.RuneCountInString(p.text[:p.at])+1, fmt.Sprintf(format, args...))
}

// peek moves over white space to the next byte; 0 at the end.
func (p *literal) peek() byte {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
	if p.at == len(p.text) {
		return 0
	}
	return p.text[p.at]
}

// found names what stands at the place.
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
	literalNumber = regexp.MustCompile(`^[+-]?(0|[1-9](_?[0-9])*)?(\.([0-9](_?[0-9])*)?)?([eE][+-]?[0-9](_?[0-9])*)?$`)
	literalBased  = regexp.MustCompile(`^[+-]?0([xX](_?[0-9a-fA-F])+|[oO](_?[0-7])+|[bB](_?[01])+)$`)
	stringPrefix  = regexp.MustCompile(`^([uU]|[bB]?[rR]?|[rR][bB])('''|"""|'|")`)
	emptySet      = regexp.MustCompile(`^set[ \t]*\([ \t]*\)`)
)

func (p *literal) value(depth int) (Value, error) {
	if depth > maxDepth {
		return Value{}, p.errorf("nested more than %d deep", maxDepth)
	}
	switch c := p.peek(); c {
	case '[':
		return p.list(']', depth)
	case '(':
		return p.list(')', depth)
	case '{':
		return p.braces(depth)
	}
	if set := emptySet.FindString(p.text[p.at:]); set != "" {
		p.at += len(set)
		return ListValue(), nil
	}
	if stringPrefix.MatchString(p.text[p.at:]) {
		s, err := p.strings()
		return TextValue(s), err
	}
	return p.word()
}

// strings reads a string and those that follow it, which go on with it.
func (p *literal) strings() (string, error) {
	var all strings.Builder
	for p.peek() != 0 {
		quote := stringPrefix.FindString(p.text[p.at:])
		if quote == "" {
			break
		}
		s, err := p.quoted(quote)
		if err != nil {
			return "", err
		}
		all.WriteString(s)
	}
	return all.String(), nil
}

// word reads None, True, False or a number.
func (p *literal) word() (Value, error) {
	word := literalWord.FindString(p.text[p.at:])
	var v Value
	switch word {
	case "None":
	case "True", "False":
		v = BoolValue(word == "True")
	default:
		n, ok := literalFloat(word)
		if !ok {
			return Value{}, p.errorf("%s is no Python literal: want None, True, False, a number, a quoted text, [...], (...) or {...}", p.found())
		}
		v = NumberValue(n)
	}
	p.at += len(word)
	return v, nil
}

// literalFloat reads a number as Python writes them: 1_000, 0x10, -1.5e3.
func literalFloat(word string) (float64, bool) {
	if literalBased.MatchString(word) {
		n, err := strconv.ParseInt(word, 0, 64)
		return float64(n), err == nil
	}
	n, err := strconv.ParseFloat(strings.ReplaceAll(word, "_", ""), 64)
	return n, err == nil && literalNumber.MatchString(word)
}

// list reads elements up to a closing bracket. One element in round brackets
// without a comma is that element.
func (p *literal) list(end byte, depth int) (Value, error) {
	p.at++
	return p.elements(nil, end, depth)
}

// elements reads what follows the elements that are read already.
func (p *literal) elements(list []Value, end byte, depth int) (Value, error) {
	comma := false
	if len(list) > 0 {
		if comma = p.peek() == ','; comma {
			p.at++
		}
	}
	for p.peek() != end {
		if len(list) > 0 && !comma {
			return Value{}, p.errorf("want a comma or %q, got %s", end, p.found())
		}
		v, err := p.value(depth + 1)
		if err != nil {
			return Value{}, err
		}
		list = append(list, v)
		if comma = p.peek() == ','; comma {
			p.at++
		}
	}
	p.at++
	if end == ')' && len(list) == 1 && !comma {
		return list[0], nil
	}
	return ListValue(list...), nil
}

// braces reads a dictionary, or a set if the first element has no colon.
func (p *literal) braces(depth int) (Value, error) {
	p.at++
	m := map[string]Value{}
	for first := true; p.peek() != '}'; first = false {
		key, err := p.value(depth + 1)
		if err != nil {
			return Value{}, err
		}
		if first && (p.peek() == ',' || p.peek() == '}') {
			return p.elements([]Value{key}, '}', depth)
		}
		if k := key.Kind(); k == List || k == Map {
			return Value{}, p.errorf("a %v cannot be a key", k)
		}
		if p.peek() != ':' {
			return Value{}, p.errorf("want a colon after the key %q, got %s", key, p.found())
		}
		p.at++
		if m[keyText(key)], err = p.value(depth + 1); err != nil {
			return Value{}, err
		}
		if p.peek() == ',' {
			p.at++
		} else if p.peek() != '}' {
			return Value{}, p.errorf("want a comma or '}', got %s", p.found())
		}
	}
	p.at++
	return MapValue(m), nil
}

// keyText is a key as Python writes it.
func keyText(key Value) string {
	switch {
	case key.IsZero():
		return "None"
	case key.Kind() == Bool && key.Bool():
		return "True"
	case key.Kind() == Bool:
		return "False"
	}
	return key.String()
}

// quoted reads a string that starts with its prefix and quotation marks.
func (p *literal) quoted(open string) (string, error) {
	start := p.at
	mark := strings.TrimLeft(open, "uUrRbB")
	prefix := open[:len(open)-len(mark)]
	raw, isBytes := strings.ContainsAny(prefix, "rR"), strings.ContainsAny(prefix, "bB")
	p.at += len(open)
	var b strings.Builder
	for {
		rest := p.text[p.at:]
		switch {
		case rest == "" || (len(mark) == 1 && rest[0] == '\n'):
			p.at = start
			return "", p.errorf("the text that starts here does not end")
		case strings.HasPrefix(rest, mark):
			p.at += len(mark)
			if isBytes {
				return bytesText(b.String()), nil
			}
			return b.String(), nil
		case isBytes && rest[0] >= utf8.RuneSelf:
			return "", p.errorf("bytes hold ASCII alone")
		case rest[0] == '\\' && len(rest) > 1 && raw:
			_, n := utf8.DecodeRuneInString(rest[1:])
			b.WriteString(rest[:1+n])
			p.at += 1 + n
		case rest[0] == '\\':
			if err := p.escape(&b, isBytes); err != nil {
				return "", err
			}
		default:
			b.WriteByte(rest[0])
			p.at++
		}
	}
}

// bytesText is what bytes encode, given one character for each: UTF-8, or else
// the characters themselves.
func bytesText(s string) string {
	var b []byte
	for _, r := range s {
		b = append(b, byte(r))
	}
	if utf8.Valid(b) {
		return string(b)
	}
	return s
}

// simpleEscapes are the escapes of one letter.
const simpleEscapes = "\\\\''\"\"a\ab\bf\fn\nr\rt\tv\v"

// escape reads an escape sequence. One that Python does not know stays as it
// stands, backslash included; of bytes it knows no \u.
func (p *literal) escape(b *strings.Builder, isBytes bool) error {
	rest := p.text[p.at+1:]
	if rest == "" {
		return p.errorf("the text ends in a backslash")
	}
	for i := 0; i < len(simpleEscapes); i += 2 {
		if simpleEscapes[i] == rest[0] {
			b.WriteByte(simpleEscapes[i+1])
			p.at += 2
			return nil
		}
	}
	digits, base := map[byte]int{'x': 2, 'u': 4, 'U': 8}[rest[0]], 16
	from := 1
	switch {
	case rest[0] == '\n': // a line that goes on
		p.at += 2
		return nil
	case rest[0] >= '0' && rest[0] <= '7':
		base, from = 8, 0
		for digits = 1; digits < 3 && digits < len(rest) && rest[digits] >= '0' && rest[digits] <= '7'; {
			digits++
		}
	case digits == 0 || (isBytes && rest[0] != 'x'):
		b.WriteByte('\\')
		p.at++
		return nil
	}
	if len(rest) < from+digits {
		return p.errorf("the escape is cut off")
	}
	code, err := strconv.ParseUint(rest[from:from+digits], base, 32)
	if isBytes {
		code &= 0xff // Python takes \777 of bytes so
	}
	if err == nil && rest[0] == 'u' && utf16.IsSurrogate(rune(code)) {
		if m := lowHalf.FindStringSubmatch(rest[from+digits:]); m != nil {
			low, _ := strconv.ParseUint(m[1], 16, 32) // four digits, by the expression
			if r := utf16.DecodeRune(rune(code), rune(low)); r != utf8.RuneError {
				b.WriteRune(r)
				p.at += 1 + from + digits + len(m[0])
				return nil
			}
		}
	}
	if err != nil || !utf8.ValidRune(rune(code)) || code > utf8.MaxRune {
		return p.errorf("\\%s is no character", rest[:from+digits])
	}
	b.WriteRune(rune(code))
	p.at += 1 + from + digits
	return nil
}

// lowHalf is the escape of the second half of a character.
var lowHalf = regexp.MustCompile(`^\\u([dD][c-fC-F][0-9a-fA-F]{2})`)
