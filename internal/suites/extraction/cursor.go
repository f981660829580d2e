package extraction

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// A cursor reads JSON from front to back, value by value, without building
// anything in between. Documents are read several times in a run, which makes
// this the difference between microseconds and tens of them; the strict reading
// with good error messages is package dataset's, and a test holds the two to
// the same results.
//
// What does not fit sets bad, after which every method gives nothing.
type cursor struct {
	b   []byte
	i   int
	bad bool
}

// peek skips white space and returns the next byte, 0 at the end.
func (c *cursor) peek() byte {
	for c.i < len(c.b) {
		switch ch := c.b[c.i]; ch {
		case ' ', '\t', '\n', '\r':
			c.i++
		default:
			return ch
		}
	}
	return 0
}

// take consumes the next byte if it is ch.
func (c *cursor) take(ch byte) bool {
	if c.bad || c.peek() != ch {
		c.bad = true
		return false
	}
	c.i++
	return true
}

// more reports whether an object or list, of which n members were read, has
// another, and moves to it; at its end it moves behind it.
func (c *cursor) more(end byte, n int) bool {
	switch {
	case c.bad:
		return false
	case c.peek() == end:
		c.i++
		return false
	case n > 0:
		return c.take(',')
	}
	return true
}

// key reads a member's name and the colon after it.
func (c *cursor) key() string {
	k := c.text()
	c.take(':')
	return k
}

// null consumes null if that is what comes next.
func (c *cursor) null() bool { return c.peek() == 'n' && c.word("null") }

func (c *cursor) word(w string) bool {
	if c.bad || !bytes.HasPrefix(c.b[c.i:], []byte(w)) {
		c.bad = true
		return false
	}
	c.i += len(w)
	return true
}

func (c *cursor) boolean() bool {
	if c.peek() == 't' {
		return c.word("true")
	}
	c.word("false")
	return false
}

// number reads a number and returns it as written.
func (c *cursor) number() string {
	c.peek()
	start := c.i
	if c.i < len(c.b) && c.b[c.i] == '-' {
		c.i++
	}
	if c.i < len(c.b) && c.b[c.i] == '0' {
		c.i++
	} else {
		c.digits()
	}
	if c.i < len(c.b) && c.b[c.i] == '.' {
		c.i++
		c.digits()
	}
	if c.i < len(c.b) && c.b[c.i]|0x20 == 'e' {
		if c.i++; c.i < len(c.b) && (c.b[c.i] == '+' || c.b[c.i] == '-') {
			c.i++
		}
		c.digits()
	}
	if c.bad {
		return ""
	}
	return string(c.b[start:c.i])
}

func (c *cursor) digits() {
	start := c.i
	for c.i < len(c.b) && c.b[c.i]-'0' < 10 {
		c.i++
	}
	c.bad = c.bad || c.i == start
}

// integer reads a number without fraction or exponent.
func (c *cursor) integer() int {
	n, err := strconv.Atoi(c.number())
	c.bad = c.bad || err != nil
	return n
}

// text reads a string.
func (c *cursor) text() string {
	if !c.take('"') {
		return ""
	}
	start := c.i
	for ; c.i < len(c.b); c.i++ {
		switch ch := c.b[c.i]; {
		case ch == '"':
			s := c.b[start:c.i]
			c.i++
			return string(s)
		case ch == '\\':
			return c.escaped(start)
		case ch < ' ':
			c.bad = true
			return ""
		}
	}
	c.bad = true
	return ""
}

// escaped reads the rest of a string whose first escape stands at c.i.
func (c *cursor) escaped(start int) string {
	end := c.i // where the string ends at the latest: its first free quote
	for end < len(c.b) && c.b[end] != '"' {
		if c.b[end] == '\\' {
			end++
		}
		end++
	}
	out := make([]byte, 0, max(0, min(end, len(c.b))-start))
	out = append(out, c.b[start:c.i]...)
	for c.i < len(c.b) {
		switch ch := c.b[c.i]; {
		case ch == '"':
			c.i++
			return string(out)
		case ch == '\\':
			out = c.escape(out)
		case ch < ' ':
			c.bad = true
		default:
			next := c.i + 1
			for next < len(c.b) && c.b[next] != '"' && c.b[next] != '\\' && c.b[next] >= ' ' {
				next++
			}
			out = append(out, c.b[c.i:next]...)
			c.i = next
		}
		if c.bad {
			return ""
		}
	}
	c.bad = true
	return ""
}

// escape reads one escape sequence.
func (c *cursor) escape(out []byte) []byte {
	if c.i+1 >= len(c.b) {
		c.bad = true
		return out
	}
	ch := c.b[c.i+1]
	c.i += 2
	switch ch {
	case '"', '\\', '/':
		return append(out, ch)
	case 'n':
		return append(out, '\n')
	case 't':
		return append(out, '\t')
	case 'r':
		return append(out, '\r')
	case 'b':
		return append(out, '\b')
	case 'f':
		return append(out, '\f')
	case 'u':
		return utf8.AppendRune(out, c.codepoint())
	}
	c.bad = true
	return out
}

// codepoint reads the digits of \uXXXX, and the second half where they are the
// first of a surrogate pair; half a pair is U+FFFD, as encoding/json has it.
func (c *cursor) codepoint() rune {
	r := c.hex4(c.i)
	c.i += 4
	if !utf16.IsSurrogate(r) || c.bad {
		return r
	}
	if c.i+6 <= len(c.b) && c.b[c.i] == '\\' && c.b[c.i+1] == 'u' {
		if pair := utf16.DecodeRune(r, c.hex4(c.i+2)); pair != utf8.RuneError {
			c.i += 6
			return pair
		}
	}
	return utf8.RuneError
}

func (c *cursor) hex4(at int) rune {
	if at+4 > len(c.b) {
		c.bad = true
		return 0
	}
	n, err := strconv.ParseUint(string(c.b[at:at+4]), 16, 16)
	c.bad = c.bad || err != nil
	return rune(n)
}

// skip moves over any value of text that is known to be valid JSON.
func (c *cursor) skip() {
	depth := 0
	for !c.bad {
		switch c.peek() {
		case 0:
			c.bad = true
		case '"':
			c.text()
		case '{', '[':
			depth++
			c.i++
		case '}', ']':
			depth--
			c.i++
		default:
			c.i++
			for c.i < len(c.b) && !delimits(c.b[c.i]) {
				c.i++
			}
		}
		if depth <= 0 {
			return
		}
	}
}

func delimits(ch byte) bool {
	switch ch {
	case ',', ':', '{', '}', '[', ']', '"', ' ', '\t', '\n', '\r':
		return true
	}
	return false
}

// scalar reads a string, number or boolean as written; null is no value. For
// lists and objects ok is false.
func (c *cursor) scalar() (text string, null, ok bool) {
	switch ch := c.peek(); {
	case ch == '"':
		return c.text(), false, true
	case ch == 'n':
		return "", c.null(), true
	case ch == 't', ch == 'f':
		return strconv.FormatBool(c.boolean()), false, true
	case ch == '-', ch-'0' < 10:
		return c.number(), false, true
	}
	c.skip()
	return "", false, false
}
