package text

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kaptinlin/jsonrepair"
)

// Limits on repairs. The library takes quadratic time and a stack frame per open
// bracket.
const (
	maxRepair      = 64 << 10
	maxRepairDepth = 256
)

// repair reads the broken object that text begins with.
func repair(text []byte) (Reading, error) {
	if text[0] == '[' {
		return Reading{}, ErrArray
	}
	text, r := extent(text)
	if len(text) > maxRepair {
		return Reading{}, fmt.Errorf("%w for a repair: %d bytes, at most %d", ErrTooLong, len(text), maxRepair)
	}
	if openBrackets(text) > maxRepairDepth {
		return Reading{}, fmt.Errorf("%w for a repair: more than %d open brackets", ErrTooDeep, maxRepairDepth)
	}
	k := newKeeper(text)
	fixed, err := callRepair(k.keep(text, r.Cut))
	if err != nil {
		return Reading{}, fmt.Errorf("%w that can be repaired: %w", ErrNoObject, err)
	}
	r.JSON = bytes.TrimSpace([]byte(k.restore(fixed)))
	if len(r.JSON) == 0 || r.JSON[0] != '{' || !json.Valid(r.JSON) {
		return Reading{}, fmt.Errorf("%w that can be repaired", ErrNoObject)
	}
	return r, nil
}

// extent is the part of the text that is the broken object: up to the brace
// that balances its first, else to the end of its code fence, else to the end
// of the text, which is then cut.
func extent(text []byte) ([]byte, Reading) {
	r := Reading{Repaired: true}
	end, inString := Balanced(text)
	if end >= 0 {
		return text[:end], r
	}
	if fence := bytes.Index(text, []byte("\n```")); fence >= 0 {
		return text[:fence], r
	}
	text = bytes.TrimRightFunc(text, isSpace)
	// With a quotation mark too many the scan ends in a string though the
	// text ends with the brace.
	r.Cut = !inString || text[len(text)-1] != '}'
	return text, r
}

// openBrackets is the most brackets that are open at once, counted without
// regard to strings, whose borders are in doubt in a broken text.
func openBrackets(text []byte) int {
	depth, most := 0, 0
	for _, b := range text {
		switch b {
		case '{', '[':
			depth++
			most = max(most, depth)
		case '}', ']':
			depth = max(depth-1, 0)
		}
	}
	return most
}

// callRepair asks the library, which is not trusted with what models write.
func callRepair(s string) (fixed string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the repair library failed: %v", p)
		}
	}()
	return jsonrepair.Repair(s)
}

// A keeper keeps strings from the repair library, which takes escapes for
// Windows paths, stops at commas in a string that was cut and drops them at
// the end of others. A quote has to come through unchanged, so every string
// whose borders are not in doubt is replaced by a word, and put back after.
type keeper struct {
	word string   // no part of the text
	kept []string // what stands between the quotation marks
}

func newKeeper(text []byte) *keeper {
	k := &keeper{word: "kept"}
	for bytes.Contains(text, []byte(k.word)) {
		k.word += "x"
	}
	return k
}

// keep gives the text with words for its strings. Where the text is cut, a
// string it ends in is closed and kept too.
func (k *keeper) keep(text []byte, cut bool) string {
	var b strings.Builder
	opens := true // whether a string can begin here
	for i := 0; i < len(text); {
		c := text[i]
		if c != '"' {
			opens = c == '{' || c == '[' || c == ',' || c == ':' || opens && strings.IndexByte(jsonSpace, c) >= 0
			b.WriteByte(c)
			i++
			continue
		}
		content, n, closed := stringAt(text[i:])
		certain := opens && (closed && ends(text[i+n:]) || !closed && cut)
		switch {
		case certain && isHarmless(content):
			b.WriteString(`"` + content + `"`)
		case certain && utf8.ValidString(content) && json.Valid([]byte(`"`+content+`"`)):
			fmt.Fprintf(&b, `"%s%d."`, k.word, len(k.kept))
			k.kept = append(k.kept, content)
		default:
			b.Write(bytes.ToValidUTF8(text[i:i+n], []byte("\uFFFD")))
			opens = false
		}
		i += n
	}
	return b.String()
}

// isHarmless reports a string that the library leaves alone.
func isHarmless(content string) bool {
	for i := range len(content) {
		if b := content[i]; !isDigit(b) && !('a' <= b|0x20 && b|0x20 <= 'z') && b != '_' {
			return false
		}
	}
	return true
}

// restore puts the strings back.
func (k *keeper) restore(s string) string {
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(s, k.word)
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		number, rest, _ := strings.Cut(after, ".")
		n, err := strconv.Atoi(number)
		if err != nil || n < 0 || n >= len(k.kept) {
			b.WriteString(k.word)
			s = after
			continue
		}
		b.WriteString(k.kept[n])
		s = rest
	}
}

// stringAt reads the string that text begins with: its content, with control
// characters escaped and without backslashes that escape nothing; how many bytes it takes; and whether its end is there. An escape that
// is cut is left out.
func stringAt(text []byte) (content string, n int, closed bool) {
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return b.String(), i + 1, true
		case c == '\\':
			size := escape(text[i:])
			if size == 0 {
				return b.String(), len(text), false
			}
			if size > 1 {
				b.Write(text[i : i+size])
				i += size - 1
			}
		case c == '\n':
			b.WriteString(`\n`)
		case c < ' ':
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), len(text), false
}

// escape is the length of the escape that text begins with: 1 for a backslash
// before punctuation that needs none, 0 for an escape that the text ends in.
// A backslash before a letter that makes no escape counts as one, which leaves
// the string to the library: it may be a path.
func escape(text []byte) int {
	if len(text) == 1 {
		return 0
	}
	switch text[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		for i := 2; i < 6; i++ {
			switch {
			case i == len(text):
				return 0
			case !isHex(text[i]):
				return 2
			}
		}
		return 6
	}
	if c := text[1]; c < utf8.RuneSelf && (unicode.IsPunct(rune(c)) || unicode.IsSymbol(rune(c))) {
		return 1
	}
	return 2
}

func isHex(b byte) bool {
	return isDigit(b) || 'a' <= b|0x20 && b|0x20 <= 'f'
}

// ends reports whether what follows a quotation mark shows that it ended a
// string: punctuation of JSON, the end, or after white space the next string.
func ends(rest []byte) bool {
	switch firstByte(rest) {
	case 0, ',', ':', '}', ']':
		return true
	case '"':
		return rest[0] != '"'
	}
	return false
}

// jsonSpace is the white space of JSON.
const jsonSpace = " \t\n\r"
