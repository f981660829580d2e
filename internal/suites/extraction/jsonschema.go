package extraction

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

// A node is a part of a schema: an object, a list or a leaf, which is a field.
type node struct {
	names   []string // of an object, in the order of the file
	members []*node
	records *node // what a list holds
	field   int   // of a leaf: its place among the fields of the schema
	name    string
}

func (n *node) isObject() bool { return n.members != nil }
func (n *node) isList() bool   { return n.records != nil }

// member is a member of an object by its name.
func (n *node) member(name string) int { return slices.Index(n.names, name) }

// leaves are the leaves of a record, without those of lists in it.
func (n *node) leaves() (list []*node) {
	switch {
	case n.isObject():
		for _, m := range n.members {
			list = append(list, m.leaves()...)
		}
	case !n.isList():
		list = append(list, n)
	}
	return list
}

// The limits of a schema: a reference used often multiplies its fields.
const (
	mostFields = 10_000
	mostDepth  = 32
)

// A jsonSchema is what Scruple reads of a JSON Schema. Other keywords, such as minLength or those
// of another program, do not change what is extracted.
type jsonSchema struct {
	Ref        string           `json:"$ref"`
	Type       jsontext.Value   `json:"type"`
	Properties jsontext.Value   `json:"properties"`
	Items      jsontext.Value   `json:"items"`
	AnyOf      []jsontext.Value `json:"anyOf"`
	OneOf      []jsontext.Value `json:"oneOf"`
	AllOf      []jsontext.Value `json:"allOf"`
	Enum       []jsontext.Value `json:"enum"`
	Const      jsontext.Value   `json:"const"`
	Format     string           `json:"format"`
	About      string           `json:"description"`
}

// A compiler makes the nodes and the fields of a JSON Schema.
type compiler struct {
	file   string
	whole  jsontext.Value
	schema *Schema
	err    error    // the first
	open   []string // pointers of the schemas around this one
}

// fault reports what is not supported, with the JSON pointer of it. The node takes its place.
func (c *compiler) fault(pointer, format string, args ...any) *node {
	if c.err == nil {
		c.err = fmt.Errorf("%s: at #%s: %s", c.file, pointer, fmt.Sprintf(format, args...))
	}
	return &node{}
}

// isJSONSchema tells a JSON Schema from a file with a list of fields.
func isJSONSchema(data []byte) bool {
	var m map[string]jsontext.Value
	if json.Unmarshal(data, &m) != nil || m["fields"] != nil {
		return false
	}
	keys := []string{"properties", "$ref", "type", "$schema", "anyOf"}
	return slices.ContainsFunc(keys, func(key string) bool { return m[key] != nil })
}

// parseJSONSchema makes a schema of a JSON Schema, whose name is that of the file.
func parseJSONSchema(file, name string, data []byte) (*Schema, error) {
	s := &Schema{Name: name, nested: true}
	c := &compiler{file: file, whole: data, schema: s}
	s.root = c.node(data, "", "", "", 0)
	switch {
	case !s.root.isObject():
		c.fault("", "want an object with properties")
	case len(s.Fields) == 0:
		c.fault("", "no fields: want properties that are values")
	}
	var canonical jsontext.Value = bytes.Clone(data)
	if err := canonical.Canonicalize(); err == nil {
		s.sum = kit.Hash(s.Name, string(canonical)).String()
		s.json = canonical
	}
	return s, c.err
}

// node compiles a schema; path is the name of what it describes, about its description.
func (c *compiler) node(raw jsontext.Value, pointer, path, about string, depth int) *node {
	var j jsonSchema
	if c.err != nil {
		return &node{}
	}
	if err := json.Unmarshal(raw, &j); err != nil {
		return c.fault(pointer, "want a schema: %v", err)
	}
	about = cmp.Or(about, j.About)
	if depth > mostDepth {
		return c.fault(pointer, "objects and lists are nested more than %d deep", mostDepth)
	}
	alternatives := slices.Concat(j.AnyOf, j.OneOf)
	switch {
	case j.Ref != "":
		if slices.Contains(c.open, j.Ref) {
			return c.fault(pointer, "$ref %q is cyclic: the fields of a document must be known", j.Ref)
		}
		target, err := c.resolve(j.Ref)
		if err != nil {
			return c.fault(pointer, "$ref %q: %v", j.Ref, err)
		}
		c.open = append(c.open, j.Ref)
		defer func() { c.open = c.open[:len(c.open)-1] }()
		return c.node(target, strings.TrimPrefix(j.Ref, "#"), path, about, depth+1)
	case len(j.AllOf) == 1:
		return c.node(j.AllOf[0], pointer+"/allOf/0", path, about, depth+1)
	case len(j.AllOf) > 1:
		return c.fault(pointer, "allOf with several schemas is not supported: write them as one")
	case len(alternatives) > 0 && j.Properties == nil && j.Items == nil:
		return c.alternatives(alternatives, pointer, path, about, depth)
	}
	types := j.types()
	object, list := j.Properties != nil || slices.Contains(types, "object"), j.Items != nil || slices.Contains(types, "array")
	switch {
	case (object || list) && len(types) > 1 || object && list:
		return c.fault(pointer, "a value that can be %s is not supported", strings.Join(types, " or "))
	case object:
		return c.object(j.Properties, pointer, path, depth)
	case list && j.Items.Kind() != '{':
		return c.fault(pointer, "a list needs items with one schema")
	case list:
		return &node{name: path, records: c.node(j.Items, pointer+"/items", path+"[]", about, depth+1)}
	}
	return c.leaf(Field{Name: path, Type: j.leafType(types), Description: about, Enum: c.values(&j, pointer)})
}

// values are those of an enum, or that of const, but null.
func (c *compiler) values(j *jsonSchema, pointer string) (list []string) {
	only := j.Enum
	if j.Const != nil {
		only = []jsontext.Value{j.Const}
	}
	for _, v := range only {
		var l literal
		if err := l.UnmarshalJSON(v); err != nil {
			c.fault(pointer, "enum or const: %v", err)
		} else if l != "" {
			list = append(list, string(l))
		}
	}
	return list
}

func (c *compiler) leaf(f Field) *node {
	n := &node{name: f.Name, field: len(c.schema.Fields)}
	if n.field >= mostFields {
		return c.fault("", "more than %d fields", mostFields)
	}
	c.schema.Fields = append(c.schema.Fields, f)
	return n
}

// alternatives compiles anyOf and oneOf: one schema or null, or several kinds of value.
func (c *compiler) alternatives(list []jsontext.Value, pointer, path, about string, depth int) *node {
	var types, enum []string
	rest, at := 0, 0
	for i, raw := range list {
		var j jsonSchema
		if err := json.Unmarshal(raw, &j); err != nil {
			return c.fault(pointer, "want a list of schemas: %v", err)
		}
		named := j.types()
		null := strings.Contains(string(raw), `"null"`) || j.Const.Kind() == 'n'
		if null && len(named)+len(j.Enum) == 0 && !j.isNested() {
			continue
		}
		rest, at = rest+1, i
		about = cmp.Or(about, j.About)
		types = append(types, string(j.leafType(named)))
		enum = append(enum, c.values(&j, pointer)...)
		if j.isNested() || slices.Contains(named, "object") || slices.Contains(named, "array") {
			types = append(types, "complex")
		}
	}
	switch {
	case rest == 1:
		return c.node(list[at], pointer+"/anyOf/"+strconv.Itoa(at), path, about, depth+1)
	case slices.Contains(types, "complex"), rest == 0:
		return c.fault(pointer, "anyOf of several objects or lists is not supported: one of them or null is")
	}
	f := Field{Name: path, Type: text.String, Description: about}
	for _, t := range []text.Type{text.Date, text.Number, text.Integer} { // the widest that reads some of them
		if slices.Contains(types, string(t)) {
			f.Type = t
			break
		}
	}
	if len(enum) > 0 && f.Type == text.String && !slices.Contains(types, string(text.String)) {
		f.Type, f.Enum = text.Enum, enum
	}
	return c.leaf(f)
}

func (c *compiler) object(properties jsontext.Value, pointer, path string, depth int) *node {
	n := &node{name: path, members: []*node{}}
	if properties == nil {
		return c.fault(pointer, "an object without properties is not supported: name its members")
	}
	d := jsontext.NewDecoder(bytes.NewReader(properties))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return c.fault(pointer+"/properties", "want an object")
	}
	for d.PeekKind() == '"' {
		token, err := d.ReadToken()
		if err != nil {
			break
		}
		name := token.String()
		value, err := d.ReadValue()
		if err != nil {
			break
		}
		value = bytes.Clone(value)
		at := pointer + "/properties/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
		if name == "" || strings.ContainsAny(name, ".[]\"\n\r\t") {
			return c.fault(at, "want a name without dots, brackets and quotes, which stand between names in the path of a field")
		}
		n.names = append(n.names, name)
		n.members = append(n.members, c.node(value, at, join(path, name), "", depth+1))
	}
	return n
}

// types are the types that the schema names, but null.
func (j *jsonSchema) types() (list []string) {
	switch j.Type.Kind() {
	case '"':
		list = make([]string, 1)
		_ = json.Unmarshal(j.Type, &list[0])
	case '[':
		_ = json.Unmarshal(j.Type, &list)
	}
	return slices.DeleteFunc(list, func(t string) bool { return t == "null" })
}

// isNested reports whether the schema has others.
func (j *jsonSchema) isNested() bool {
	return j.Ref != "" || j.Properties != nil || j.Items != nil || len(j.AnyOf)+len(j.OneOf)+len(j.AllOf) > 0
}

// formats are the types of strings with a format; money and id are of Scruple.
var formats = map[string]text.Type{"date": text.Date, "date-time": text.Date, "money": text.Money, "id": text.ID}

func (j *jsonSchema) leafType(types []string) text.Type {
	named := map[string]text.Type{"number": text.Number, "integer": text.Integer, "boolean": text.Boolean}
	switch {
	case formats[j.Format] != "":
		return formats[j.Format]
	case slices.Contains(types, "number"): // beside string: where both are numbers
		return text.Number
	case len(types) == 1 && named[types[0]] != "":
		return named[types[0]]
	case len(j.Enum) > 0 || j.Const != nil:
		return text.Enum
	}
	return text.String
}

// resolve finds the schema that a reference within the file names.
func (c *compiler) resolve(ref string) (jsontext.Value, error) {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil, errors.New("it leaves the file: copy the schema into $defs")
	}
	at := c.whole
	for _, name := range strings.Split(pointer, "/")[1:] {
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		var members map[string]jsontext.Value
		if json.Unmarshal(at, &members) != nil || members[name] == nil {
			return nil, fmt.Errorf("the file has no %q", name)
		}
		at = members[name]
	}
	return at, nil
}
