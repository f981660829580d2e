package study

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	yaml "github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Limits of a study file. Real ones have a few hundred lines; the limits bound
// memory and time for other files.
const (
	maxBytes   = 256 << 10
	maxNesting = 64
	maxNodes   = 100_000
	maxBlank   = 1000
)

// A yamlReader parses YAML into a tree. place converts a line and column to a
// position.
type yamlReader struct {
	place   func(line, column int) Position
	anchors map[string]*node
	budget  int
	errs    Errors
}

// parseYAML reads one YAML document. The tree is nil when there are errors, or
// when the document holds nothing.
func parseYAML(data []byte, place func(line, column int) Position) (*node, error) {
	r := &yamlReader{place: place, anchors: map[string]*node{}, budget: maxNodes}
	clean, err := r.clean(data)
	if err != nil {
		return nil, err
	}
	body, err := r.syntax(clean)
	if err != nil || body == nil {
		return nil, err
	}
	n := r.value(body)
	if err := r.errs.Err(); err != nil {
		return nil, err
	}
	return n, nil
}

func (r *yamlReader) errorf(line, column int, format string, args ...any) error {
	return &Error{Pos: r.place(line, column), Err: fmt.Errorf(format, args...)}
}

const imports = "make a study of another program's file with `scruple import`, as `scruple import snapshot` does of snapshots of spans"

// clean checks what can be checked without knowing YAML, and makes every line
// end the same.
func (r *yamlReader) clean(data []byte) (string, error) {
	if bytes.HasPrefix(data, []byte("\x1f\x8b")) {
		return "", r.errorf(0, 0, "a compressed file is not a study: "+imports)
	}
	if len(data) > maxBytes {
		return "", r.errorf(0, 0, "the study is too large: %d bytes, limit %d; keep data in separate files, and "+imports, len(data), maxBytes)
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	s := string(bytes.ReplaceAll(data, []byte("\r"), []byte("\n")))
	blank := 0
	for i, line := range strings.Split(s, "\n") {
		if blank++; strings.Trim(line, " \t") != "" {
			blank = 0
		}
		if blank > maxBlank { // the scanner's time grows with the square of them
			return "", r.errorf(i+1, 1, "more than %d empty lines in a row: remove some", maxBlank)
		}
		if keys := findSecrets(line); len(keys) > 0 {
			r.errs.Add(r.errorf(i+1, column(line, strings.Index(line, keys[0])), secretFound))
		}
		for j, c := range line {
			if _, size := utf8.DecodeRuneInString(line[j:]); c == utf8.RuneError && size == 1 {
				return "", r.errorf(i+1, column(line, j), "byte 0x%02x is not UTF-8: save the file as UTF-8", line[j])
			}
			if unicode.IsControl(c) && c != '\t' {
				return "", r.errorf(i+1, column(line, j), "control character %U is not valid in YAML: remove it", c)
			}
		}
	}
	return s, r.errs.Err()
}

const secretFound = "this looks like an API key (not shown here): put it into the environment or a .env file, set api_key_env to the name of the variable, and revoke the key if the file was shared"

func column(line string, offset int) int { return utf8.RuneCountInString(line[:offset]) + 1 }

// syntax parses the text to the body of its one document, nil if it is empty.
func (r *yamlReader) syntax(s string) (body ast.Node, err error) {
	// The parser may panic on untrusted text.
	defer func() {
		if p := recover(); p != nil {
			body, err = nil, r.errorf(0, 0, "invalid YAML: parser error (%v)", p)
		}
	}()
	tokens := lexer.Tokenize(s)
	if err := r.nesting(tokens); err != nil {
		return nil, err
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, r.syntaxError(err)
	}
	for i, doc := range file.Docs {
		if d, ok := doc.Body.(*ast.DirectiveNode); ok {
			p := d.GetToken().Position
			return nil, r.errorf(p.Line, p.Column, "YAML directives are not supported: remove the line with %%")
		}
		if i > 0 {
			line, col := 0, 0
			if doc.Start != nil {
				line, col = doc.Start.Position.Line, doc.Start.Position.Column
			}
			return nil, r.errorf(line, col, "a second document starts here: a study is one document; move it to another file or remove ---")
		}
		body = doc.Body
	}
	return body, nil
}

func (r *yamlReader) syntaxError(err error) error {
	var at yaml.Error
	if !errors.As(err, &at) || at.GetToken() == nil {
		return r.errorf(0, 0, "invalid YAML: %s", oneLine(err.Error()))
	}
	msg, t := oneLine(at.GetMessage()), at.GetToken()
	p := t.Position
	switch {
	case strings.Contains(at.GetMessage(), `'\t'`) || strings.Contains(at.GetMessage(), "\t") || strings.Contains(msg, "tab character"):
		msg = "YAML cannot be indented with tabs: use spaces"
	case strings.HasPrefix(msg, "mapping value is not allowed"):
		msg = "this text contains a colon, or the next line is indented further than its key: put the text in quotes, or indent the lines alike"
	case msg == "non-map value is specified", msg == "unexpected key name":
		msg = "this is no key with a value: write a colon behind the key"
	case strings.HasPrefix(msg, "value is not allowed") && (t.Prev == nil || t.Prev.Position.Line < p.Line):
		msg = "the line is not indented like the lines above that it belongs to: indent all entries of a list, and all keys of a section, alike"
	case strings.HasPrefix(msg, "value is not allowed"):
		msg = "a value ended before this: remove what follows, or put all of it in quotes"
	}
	return r.errorf(p.Line, p.Column, "%s", msg)
}

func oneLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\t", " "), "�")
}

// nesting rejects text nested so deeply that parsing would exhaust the stack. It
// counts brackets, consecutive marks on one line, and indentation.
func (r *yamlReader) nesting(tokens token.Tokens) error {
	brackets, marks, line := 0, 0, 0
	for _, t := range tokens {
		at := t.Position
		if at.Line != line {
			line, marks = at.Line, 0
		}
		indents := false
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			brackets++
		case token.SequenceEndType, token.MappingEndType:
			brackets--
		case token.SequenceEntryType, token.MappingKeyType:
			marks++
			indents = true
		case token.TagType:
			marks++
		case token.MappingValueType:
			indents = true
		}
		if brackets+marks > maxNesting || indents && brackets == 0 && at.Column > 8*maxNesting {
			return r.errorf(at.Line, at.Column, "nested too deeply: at most %d levels and %d columns of indentation", maxNesting, 8*maxNesting)
		}
	}
	return nil
}

// value converts a syntax node. After an error it returns a node that holds
// nothing, so that the rest is read and all errors are found in one pass.
func (r *yamlReader) value(n ast.Node) *node {
	if r.budget--; r.budget < 0 {
		return r.tooMany(n)
	}
	out := &node{at: r.position(n)}
	switch n := n.(type) {
	case *ast.MappingNode:
		out.kind = section
		r.mapping(out, n.Values)
	case *ast.MappingValueNode:
		out.kind = section
		r.mapping(out, []*ast.MappingValueNode{n})
	case *ast.SequenceNode:
		out.kind = list
		for _, v := range n.Values {
			out.items = append(out.items, r.value(v))
		}
	case *ast.AnchorNode:
		return r.anchor(n)
	case *ast.AliasNode:
		return r.alias(n)
	case *ast.LiteralNode:
		out.kind, out.text = str, n.Value.Value
	case *ast.StringNode:
		out.kind, out.text = str, n.Value
		if n.Token.Type == token.StringType {
			r.number(out)
		}
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		out.kind, out.text = str, strings.TrimSpace(n.GetToken().Value)
		r.number(out)
	case *ast.BoolNode:
		out.kind, out.text = truth, strings.TrimSpace(n.GetToken().Value)
	case *ast.NullNode, nil:
	case *ast.TagNode:
		r.errs.Add(&Error{Pos: out.at, Err: fmt.Errorf("tag %s is not supported: remove it and quote text", quote(n.Start.Value))})
	default:
		r.errs.Add(&Error{Pos: out.at, Err: fmt.Errorf("this kind of YAML (%s) is not supported", strings.ToLower(n.Type().String()))})
	}
	if err := printable(out.text); err != nil {
		r.errs.Add(&Error{Pos: out.at, Err: err})
	}
	return out
}

// printable refuses what escapes can bring into a text, and what would garble
// a terminal or a file name later.
func printable(s string) error {
	if !utf8.ValidString(s) {
		return errors.New("the text is not valid UTF-8 after unescaping")
	}
	for _, c := range s {
		if unicode.IsControl(c) && c != '\n' && c != '\t' {
			return fmt.Errorf("the text contains the control character %U: remove it", c)
		}
	}
	return nil
}

// Booleans and null are the library's. Numbers are read as YAML 1.2's core
// schema says and as editors do; the library takes 010 for eight, 1_000 and
// 0b11 for numbers, and 1e3 for text.
var (
	numberForm = regexp.MustCompile(`^([-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|0o[0-7]+|0x[0-9a-fA-F]+|[-+]?\.(?i:inf)|\.(?i:nan))$`)
	octalForm  = regexp.MustCompile(`^[-+]?0[0-9]+$`)
)

// number makes a plain scalar a number if it is written like one.
func (r *yamlReader) number(n *node) {
	switch {
	case octalForm.MatchString(n.text):
		r.errs.Add(&Error{Pos: n.at, Err: fmt.Errorf("%s is ambiguous, decimal or octal: remove the leading zeros, or quote it if it is text", n.text)})
	case numberForm.MatchString(n.text):
		n.kind = number
		var ok bool
		if n.number, ok = canonicalNumber(n.text); !ok {
			r.errs.Add(&Error{Pos: n.at, Err: fmt.Errorf("%s is not a finite number: use one, or quote it if it is text", quote(n.text))})
		}
	}
}

// canonicalNumber is the one way to write a number in JSON, so that 8, 8.0 and
// 0x8 are the same study.
func canonicalNumber(s string) (json.Number, bool) {
	if i, err := strconv.ParseInt(s, 0, 64); err == nil {
		return json.Number(strconv.FormatInt(i, 10)), true
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return "0", false
	}
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return json.Number(strconv.FormatInt(int64(f), 10)), true
	}
	return json.Number(strconv.FormatFloat(f, 'g', -1, 64)), true
}

// mapping reads the keys of a section; its own win over merged ones.
func (r *yamlReader) mapping(out *node, values []*ast.MappingValueNode) {
	var merged []*node
	for _, v := range values {
		at := r.position(v)
		value := r.value(v.Value)
		if v.Key.IsMergeKey() {
			merged = append(merged, r.merged(value, at)...)
			continue
		}
		key, ok := keyText(v.Key)
		if !ok {
			r.errs.Add(&Error{Pos: at, Err: errors.New("a key must be text on one line")})
			continue
		}
		if first := out.get(key); first != nil {
			r.errs.Add(&Error{Pos: at, Err: fmt.Errorf("duplicate key %s: first on line %d", quote(key), first.at.Line)})
			continue
		}
		value.at = at
		out.set(key, value)
	}
	for _, m := range merged {
		for _, f := range m.fields {
			if out.get(f.key) == nil {
				out.set(f.key, f.value)
			}
		}
	}
}

// merged lists the sections a merge key << names, which come in the order of
// their precedence.
func (r *yamlReader) merged(value *node, at Position) []*node {
	sections := []*node{value}
	if value.kind == list {
		sections = value.items
	}
	for _, s := range sections {
		if s.kind != section {
			r.errs.Add(&Error{Pos: at, Err: errors.New("<< merges sections: name one by its *anchor, or several in [ ]")})
			return nil
		}
	}
	return sections
}

func keyText(k ast.MapKeyNode) (string, bool) {
	switch k := k.(type) {
	case *ast.StringNode:
		return k.Value, isKey(k.Value)
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode, *ast.InfinityNode, *ast.NanNode:
		return k.GetToken().Value, true
	case *ast.MappingKeyNode:
		if inner, ok := k.Value.(ast.MapKeyNode); ok {
			return keyText(inner)
		}
	}
	return "", false
}

// isKey reports whether a text can be shown as part of a path.
func isKey(s string) bool { return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl) }

func (r *yamlReader) anchor(n *ast.AnchorNode) *node {
	out := r.value(n.Value)
	out.at = r.position(n)
	if name := n.Name; name != nil {
		r.anchors[name.GetToken().Value] = out
	}
	return out
}

func (r *yamlReader) alias(n *ast.AliasNode) *node {
	at := r.position(n)
	name := n.Value.GetToken().Value
	anchored, ok := r.anchors[name]
	if !ok {
		names := slices.Sorted(maps.Keys(r.anchors))
		r.errs.Add(&Error{Pos: at, Err: fmt.Errorf("undefined alias: no anchor &%s before *%s: %s", name, name, suggest(name, names))})
		return &node{at: at}
	}
	out := anchored.clone(&r.budget)
	if out == nil {
		return r.tooMany(n)
	}
	out.at = at
	return out
}

// tooMany reports once that the document is too large.
func (r *yamlReader) tooMany(n ast.Node) *node {
	at := r.position(n)
	if r.budget > math.MinInt/2 {
		r.budget = math.MinInt / 2
		r.errs.Add(&Error{Pos: at, Err: fmt.Errorf("more than %d values after expanding aliases", maxNodes)})
	}
	return &node{at: at}
}

// position is where a value begins. The library gives a mapping the position
// of its first colon, so the first key is asked instead.
func (r *yamlReader) position(n ast.Node) Position {
	switch m := n.(type) {
	case nil:
		return r.place(0, 0)
	case *ast.MappingNode:
		if !m.IsFlowStyle && len(m.Values) > 0 {
			return r.position(m.Values[0])
		}
	case *ast.MappingValueNode:
		return r.position(m.Key)
	}
	t := n.GetToken()
	if t == nil || t.Position == nil {
		return r.place(0, 0)
	}
	return r.place(t.Position.Line, t.Position.Column)
}
