package okf

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	yaml "github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/scruple-eval/scruple/internal/text"
)

// A Document is a file in its parts. The parts make up its bytes.
type Document struct {
	Path    string // with slashes, relative to its folder
	raw     []byte
	front   [2]int // range of the front matter between its fences
	body    int    // where the text begins
	newline string
	Fields  []Field
	// Findings are the problems of the format.
	Findings []Finding
}

// A Field is a top-level key of the front matter.
type Field struct {
	Key   string
	Line  int // in the file
	Value Value
	lines [2]int // byte range in the file: from the line of the key to the next key
}

// A Value is a YAML value without its type: scalars are texts as they are written.
type Value struct {
	Kind  ValueKind
	Text  string  // of a scalar
	Items []Value // of a list, or the values of a map
	Keys  []string
	Line  int
}

// ValueKind is the kind of a value.
type ValueKind int

// The kinds of value.
const (
	Empty ValueKind = iota
	Scalar
	List
	Map
)

// Limits of front matter. They bound time and memory: the time of the parser grows
// with the square of the number of keys.
const (
	maxFront   = 64 << 10
	maxKeys    = 2000
	maxNesting = 32
	maxBlank   = 1000
)

const byteOrderMark = "\ufeff"

// Parse takes a file apart. Problems are its findings.
func Parse(path string, raw []byte) *Document {
	d := &Document{Path: path, raw: raw, newline: "\n"}
	if i := bytes.IndexByte(raw, '\n'); i > 0 && raw[i-1] == '\r' {
		d.newline = "\r\n"
	}
	if bad := invalidUTF8(raw); bad >= 0 {
		d.add(CodeUTF8, 1+bytes.Count(raw[:bad], []byte("\n")), "byte 0x%02x is not UTF-8: save the file as UTF-8", raw[bad])
	}
	start := len(raw) - len(bytes.TrimPrefix(raw, []byte(byteOrderMark)))
	d.front, d.body = [2]int{start, start}, start
	first, rest, _ := bytes.Cut(raw[start:], []byte("\n"))
	if fence(first) != "---" {
		d.add(CodeNoFront, 1, "no front matter: begin the file with --- and a type")
		return d
	}
	next := len(raw) - len(rest)
	d.front, d.body = [2]int{next, next}, next
	end := next
	for l := range bytes.Lines(rest) {
		if f := fence(l); f == "---" || f == "..." {
			d.front[1], d.body = end, end+len(l)
			break
		}
		end += len(l)
	}
	switch {
	case d.body == next:
		d.add(CodeNoFront, 1, "the front matter has no end: close it with a line ---")
	case end-next > maxFront:
		d.add(CodeYAML, 1, "the front matter has %d bytes, the limit is %d", end-next, maxFront)
	case utf8.Valid(raw[next:end]):
		d.parseFront()
	}
	return d
}

// fence is a line without its end and trailing blanks.
func fence(line []byte) string { return string(bytes.TrimRight(line, " \t\r\n")) }

func invalidUTF8(raw []byte) int {
	for i, r := range string(raw) {
		if _, n := utf8.DecodeRune(raw[i:]); r == utf8.RuneError && n == 1 {
			return i
		}
	}
	return -1
}

// add adds an error.
func (d *Document) add(code Code, line int, format string, args ...any) {
	d.Findings = append(d.Findings, Finding{Code: code, Severity: Error, File: d.Path, Line: line, Text: fmt.Sprintf(format, args...)})
}

// parseFront parses the front matter. The parser gets lines that end in \n; the
// lines keep their numbers.
func (d *Document) parseFront() {
	front := string(d.raw[d.front[0]:d.front[1]])
	offset := 1 // lines before the front matter
	clean := strings.ReplaceAll(strings.ReplaceAll(front, "\r\n", "\n"), "\r", " ")
	if strings.Contains(clean, strings.Repeat("\n", maxBlank)) { // quadratic in the scanner
		d.add(CodeYAML, 1, "the front matter has more than %d empty lines in a row: remove some", maxBlank)
		return
	}
	keys := 0 // lines that may have keys
	for l := range strings.Lines(clean) {
		if strings.ContainsAny(l, ":?") {
			keys++
		}
	}
	if keys > maxKeys {
		d.add(CodeYAML, 1, "the front matter has more than %d lines with keys: move everything that is not a property into the text", maxKeys)
		return
	}
	if i := strings.IndexFunc(clean, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7f }); i >= 0 {
		d.add(CodeYAML, offset+1+strings.Count(clean[:i], "\n"), "control character %U is not valid in YAML: remove it", clean[i])
		return
	}
	m, at, err := mapping(clean)
	if err != nil {
		d.add(CodeYAML, offset+at, "the front matter is not YAML: %v", err)
		return
	}
	r := reader{offset: offset, anchors: map[string]Value{}}
	seen := map[string]int{}
	starts := lineStarts(d.raw[d.front[0]:d.front[1]], d.front[0])
	for _, v := range m {
		position := v.Key.GetToken().Position
		f := Field{Key: keyText(v.Key), Line: offset + position.Line, Value: r.value(v.Value, 0)}
		f.Value.Line = cmp.Or(f.Value.Line, f.Line)
		f.lines = [2]int{starts[min(max(position.Line-1, 0), len(starts)-1)], d.front[1]}
		if n := len(d.Fields); n > 0 {
			d.Fields[n-1].lines[1] = f.lines[0]
		}
		if first, ok := seen[f.Key]; ok {
			d.add(CodeDuplicateKey, f.Line, "duplicate key %q: first on line %d; keep one", f.Key, first)
		} else {
			seen[f.Key] = f.Line
		}
		d.Fields = append(d.Fields, f)
	}
	if r.deep {
		d.add(CodeYAML, 1, "the front matter is nested deeper than %d", maxNesting)
		d.Fields = nil
	}
}

func lineStarts(front []byte, base int) []int {
	starts := []int{base}
	for i, b := range front {
		if b == '\n' {
			starts = append(starts, base+i+1)
		}
	}
	return starts
}

// mapping parses YAML to the entries of its one mapping. An error is about the line
// at.
func mapping(s string) (values []*ast.MappingValueNode, at int, err error) {
	defer func() {
		if p := recover(); p != nil { // the parser may panic on untrusted text
			values, at, err = nil, 1, fmt.Errorf("the parser stopped (%v)", p)
		}
	}()
	if strings.TrimSpace(s) == "" {
		return nil, 1, nil
	}
	tokens := lexer.Tokenize(s)
	depth := 0
	for _, t := range tokens {
		switch t.Type {
		case token.MappingStartType, token.SequenceStartType:
			depth++
		case token.MappingEndType, token.SequenceEndType:
			depth--
		}
		if depth > maxNesting {
			return nil, t.Position.Line, fmt.Errorf("nested deeper than %d", maxNesting)
		}
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		var said yaml.Error
		if !errors.As(err, &said) || said.GetToken() == nil {
			return nil, 1, errors.New(text.FirstLine(err.Error()))
		}
		return nil, said.GetToken().Position.Line, errors.New(said.GetMessage())
	}
	switch {
	case len(file.Docs) > 1:
		return nil, 1, fmt.Errorf("it has %d documents", len(file.Docs))
	case len(file.Docs) == 0 || file.Docs[0].Body == nil:
		return nil, 1, nil
	}
	switch body := file.Docs[0].Body.(type) {
	case *ast.MappingNode:
		return body.Values, 1, nil
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{body}, 1, nil
	case *ast.CommentGroupNode, *ast.NullNode:
		return nil, 1, nil
	default:
		return nil, body.GetToken().Position.Line, fmt.Errorf("it is not a mapping of keys to values")
	}
}

func keyText(k ast.MapKeyNode) string {
	if s, ok := k.(*ast.StringNode); ok {
		return s.Value
	}
	return k.GetToken().Value
}

// A reader converts nodes to values. Aliases are replaced only by scalars, so that
// nothing grows.
type reader struct {
	offset  int
	deep    bool // a value is nested too deeply
	anchors map[string]Value
}

func (r *reader) value(n ast.Node, depth int) Value {
	if r.deep = r.deep || depth > maxNesting; r.deep || n == nil {
		return Value{}
	}
	v := Value{}
	if t := n.GetToken(); t != nil && t.Position != nil {
		v.Line = r.offset + t.Position.Line
	}
	switch n := n.(type) {
	case *ast.NullNode:
	case *ast.StringNode:
		v.Kind, v.Text = Scalar, n.Value
	case *ast.LiteralNode:
		v.Kind, v.Text = Scalar, n.Value.Value
	case *ast.SequenceNode:
		v.Kind = List
		for _, e := range n.Values {
			v.Items = append(v.Items, r.value(e, depth+1))
		}
	case *ast.MappingNode:
		r.fill(&v, n.Values, depth)
	case *ast.MappingValueNode:
		r.fill(&v, []*ast.MappingValueNode{n}, depth)
	case *ast.AnchorNode:
		v = r.value(n.Value, depth+1)
		r.anchors[n.Name.GetToken().Value] = v
	case *ast.AliasNode:
		if a := r.anchors[n.Value.GetToken().Value]; a.Kind == Scalar {
			v.Kind, v.Text = Scalar, a.Text
		}
	case *ast.TagNode:
		return r.value(n.Value, depth+1)
	default:
		if t := n.GetToken(); t != nil {
			v.Kind, v.Text = Scalar, t.Value // numbers, dates and booleans as they are written
		}
	}
	return v
}

func (r *reader) fill(v *Value, values []*ast.MappingValueNode, depth int) {
	v.Kind = Map
	for _, e := range values {
		v.Keys = append(v.Keys, keyText(e.Key))
		v.Items = append(v.Items, r.value(e.Value, depth+1))
	}
}

// Strings returns the texts of a scalar or of the scalars in a list. ok is false if
// the value has anything else.
func (v Value) Strings() (list []string, ok bool) {
	switch v.Kind {
	case Empty:
		return nil, true
	case Scalar:
		return []string{v.Text}, true
	case List:
		for _, i := range v.Items {
			if i.Kind != Scalar {
				return nil, false
			}
			list = append(list, i.Text)
		}
		return list, true
	}
	return nil, false
}

// At returns the value of a key of a map, an empty one if the map does not have it.
func (v Value) At(key string) Value {
	if i := slices.Index(v.Keys, key); i >= 0 {
		return v.Items[i]
	}
	return Value{}
}

// Field finds a field by key.
func (d *Document) Field(key string) (Field, bool) {
	if i := slices.IndexFunc(d.Fields, func(f Field) bool { return f.Key == key }); i >= 0 {
		return d.Fields[i], true
	}
	return Field{}, false
}

// Text returns a scalar field without white space around it; "" if it is missing.
func (d *Document) Text(key string) string {
	f, _ := d.Field(key)
	return strings.TrimSpace(f.Value.Text)
}

// Bytes returns the file.
func (d *Document) Bytes() []byte { return d.raw }

// Body returns what follows the front matter.
func (d *Document) Body() []byte { return d.raw[d.body:] }
