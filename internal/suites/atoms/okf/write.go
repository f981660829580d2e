package okf

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// An Entry is a field to write: a scalar, or a list.
type Entry struct {
	Key    string
	List   []string
	IsList bool
}

// ScalarEntry is an entry with one value.
func ScalarEntry(key, text string) Entry { return Entry{Key: key, List: []string{text}} }

// ListEntry is an entry with a list.
func ListEntry(key string, list []string) Entry { return Entry{Key: key, List: list, IsList: true} }

// Compose writes a new file.
func Compose(entries []Entry, body string) []byte {
	var b strings.Builder
	b.WriteString("---\n")
	for _, e := range entries {
		b.WriteString(e.yaml("\n"))
	}
	b.WriteString("---\n")
	b.WriteString(body)
	return []byte(b.String())
}

// Set returns the file with one field replaced or, if the key is new, added at the
// end of the front matter. All other bytes stay as they are. The front matter must
// have been parsed.
func (d *Document) Set(e Entry) ([]byte, error) {
	for _, f := range d.Findings {
		if f.OfFormat() {
			return nil, fmt.Errorf("setting %s: %s", e.Key, f)
		}
	}
	text := e.yaml(d.newline)
	f, ok := d.Field(e.Key)
	if !ok {
		if d.front[1] > d.front[0] && d.raw[d.front[1]-1] != '\n' {
			text = d.newline + text
		}
		return d.checked(slices.Concat(d.raw[:d.front[1]], []byte(text), d.raw[d.front[1]:]), e)
	}
	return d.checked(slices.Concat(d.raw[:f.lines[0]], []byte(text), d.raw[d.keptFrom(f):]), e)
}

// checked reads an edited file back: YAML has forms in which a line belongs to the one
// before it.
func (d *Document) checked(raw []byte, e Entry) ([]byte, error) {
	again := Parse(d.Path, raw)
	f, ok := again.Field(e.Key)
	list, _ := f.Value.Strings()
	same := slices.Equal(list, e.List) && slices.EqualFunc(d.others(e.Key), again.others(e.Key), Value.equal)
	if !ok || !same || !slices.Equal(again.Body(), d.Body()) {
		return nil, fmt.Errorf("setting %s of %s: the front matter has a form of YAML that cannot be edited line by line: write a key on each line", e.Key, d.Path)
	}
	return raw, nil
}

// others are the values of all fields but one.
func (d *Document) others(key string) (values []Value) {
	for _, f := range d.Fields {
		if f.Key != key {
			values = append(values, f.Value)
		}
	}
	return values
}

// equal reports whether two values are the same, wherever they stand.
func (v Value) equal(w Value) bool {
	return v.Kind == w.Kind && v.Text == w.Text && slices.Equal(v.Keys, w.Keys) && slices.EqualFunc(v.Items, w.Items, Value.equal)
}

// keptFrom is where the lines begin that follow a field without being part of it:
// comments and empty lines before the next one.
func (d *Document) keptFrom(f Field) int {
	lines := strings.SplitAfter(string(d.raw[f.lines[0]:f.lines[1]]), "\n")
	end := f.lines[1]
	for i := len(lines) - 1; i > 0; i-- {
		if l := strings.TrimRight(lines[i], " \t\r\n"); l != "" && !strings.HasPrefix(l, "#") {
			break
		}
		end -= len(lines[i])
	}
	return end
}

func (e Entry) yaml(newline string) string {
	key := scalar(e.Key)
	if !e.IsList {
		return key + ": " + scalar(e.List[0]) + newline
	}
	if len(e.List) == 0 {
		return key + ": []" + newline
	}
	var b strings.Builder
	b.WriteString(key + ":" + newline)
	for _, s := range e.List {
		b.WriteString("  - " + scalar(s) + newline)
	}
	return b.String()
}

// plain matches scalars that need no quotes; words are those that YAML would take
// for something else.
var (
	plain = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_./()-]*( [A-Za-z0-9_./()-]+)*$`)
	words = regexp.MustCompile(`(?i)^(true|false|null|yes|no|on|off|y|n|nan|inf)$`)
)

// scalar writes a text as a YAML scalar.
func scalar(s string) string {
	if plain.MatchString(s) && !words.MatchString(s) && len(s) < 1000 {
		return s
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < ' ' || 0x7f <= r && r <= 0x9f || r == 0x2028 || r == 0x2029 || r == 0xfeff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
