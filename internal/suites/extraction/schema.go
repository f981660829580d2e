package extraction

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

//go:embed schemas/*.json
var shippedSchemas embed.FS

// A Schema names a type of document and the fields to extract from it.
type Schema struct {
	Name   string  `json:"name"`
	Fields []Field `json:"fields"`

	sum      string // hash of the fields
	nested   bool   // made of a JSON Schema; its fields are leaves, such as items[].price
	json     []byte // the JSON Schema
	root     *node  // an object
	ofValues bool   // the study asks for plain answers
	null     string // the answer of the null baseline
}

// A Field is one value to extract.
type Field struct {
	Name        string    `json:"name"`
	Type        text.Type `json:"type"`
	Description string    `json:"description"`
	Enum        []string  `json:"enum,omitempty"` // the only values it can have, if any
}

// fieldTypes are the types a field can have in a schema file.
var fieldTypes = []text.Type{text.String, text.Number, text.Money, text.Date, text.Enum, text.ID, text.Boolean, text.Integer}

// index makes the nodes of a list of fields.
func (s *Schema) index() {
	if s.root != nil {
		return
	}
	s.root = &node{members: []*node{}, names: s.names()}
	for i, f := range s.Fields {
		s.root.members = append(s.root.members, &node{name: f.Name, field: i})
	}
}

// field is the position of a field, or -1.
func (s *Schema) field(name string) int {
	return slices.IndexFunc(s.Fields, func(f Field) bool { return f.Name == name })
}

func (s *Schema) names() []string {
	names := make([]string, len(s.Fields))
	for i, f := range s.Fields {
		names[i] = f.Name
	}
	return names
}

// parseSchema parses a schema file and returns all errors, each with the file's
// name.
func parseSchema(file string, data []byte) (*Schema, error) {
	var s Schema
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if isJSONSchema(data) {
		return parseJSONSchema(file, strings.TrimSuffix(filepath.Base(file), ".json"), data)
	}
	if err := dataset.DecodeStrict(data, &s); err != nil {
		return nil, dataset.Locate(file, data, err)
	}
	var errs []error
	fault := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s: %s", file, fmt.Sprintf(format, args...)))
	}
	if want := strings.TrimSuffix(filepath.Base(file), ".json"); s.Name != want {
		fault("name is %q: documents refer to the schema by its file name, so write %q", s.Name, want)
	}
	s.check(fault)
	for _, f := range s.Fields {
		s.sum = kit.Hash(append([]string{s.sum, f.Name, string(f.Type), f.Description}, f.Enum...)...).String()
	}
	s.index()
	return &s, errors.Join(errs...)
}

// check validates the fields.
func (s *Schema) check(fault func(format string, args ...any)) {
	if len(s.Fields) == 0 {
		fault("fields is empty: list at least one field with name, type and description")
	}
	for i, f := range s.Fields {
		if f.Name == "" || strings.ContainsAny(f.Name, " \t\r\n/\"") {
			fault("fields[%d].name is %q: want a name without spaces, quotes or slashes, such as invoice_date", i, f.Name)
		} else if s.field(f.Name) < i {
			fault("fields[%d].name: duplicate field %q", i, f.Name)
		}
		if !slices.Contains(fieldTypes, f.Type) {
			fault("fields[%d].type is %q: want one of %s%s", i, f.Type, strings.Join(stringsOf(fieldTypes), ", "), text.DidYouMean(string(f.Type), stringsOf(fieldTypes)))
		} else if len(f.Enum) > 0 && f.Type != text.Enum {
			fault("fields[%d].enum: the type is %s, want enum", i, f.Type)
		}
	}
}

// schemas finds schemas by name, first in the study's folder, then among the
// shipped ones.
type schemas struct {
	dir    string
	known  map[string]*Schema // nil for an invalid one
	broken []error            // of invalid files, with their names
}

// newSchemas reads the schemas of a folder; those that it lacks, and all of "", are the shipped ones.
func newSchemas(dir string) *schemas { return &schemas{dir: dir, known: map[string]*Schema{}} }

// get returns nil for a broken file. An error is that of the name.
func (c *schemas) get(name string) (*Schema, error) {
	if s, seen := c.known[name]; seen {
		return s, nil
	}
	if name == "" {
		return nil, errors.New(`schema is missing: name the schema file without .json, such as "invoice"`)
	}
	if name != filepath.Base(name) || strings.HasPrefix(name, ".") {
		return nil, fmt.Errorf("schema %q is not a plain name: give the file name without folder and .json", name)
	}
	file := filepath.Join(c.dir, name+".json")
	data, err := []byte(nil), fs.ErrNotExist
	if c.dir != "" {
		data, err = dataset.ReadFile(file)
	}
	if errors.Is(err, fs.ErrNotExist) {
		shipped := "schemas/" + name + ".json"
		if data, err = shippedSchemas.ReadFile(shipped); err != nil {
			return nil, fmt.Errorf("schema %q: %s does not exist, and it is not a shipped schema (%s)%s", name, file,
				strings.Join(shippedSchemaNames(), ", "), text.DidYouMean(name, shippedSchemaNames()))
		}
		file = shipped
	}
	if err != nil {
		return nil, fmt.Errorf("reading schema %q: %w", name, err)
	}
	s, err := parseSchema(file, data)
	if err != nil {
		s, c.broken = nil, append(c.broken, err)
	}
	c.known[name] = s
	return s, nil
}

// used lists the valid schemas, sorted by name.
func (c *schemas) used() []*Schema {
	valid := slices.DeleteFunc(slices.Collect(maps.Values(c.known)), func(s *Schema) bool { return s == nil })
	slices.SortFunc(valid, func(a, b *Schema) int { return strings.Compare(a.Name, b.Name) })
	return valid
}

func shippedSchemaNames() []string {
	entries, _ := shippedSchemas.ReadDir("schemas") // embedded: it exists
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".json"))
	}
	return names
}

// prompt is the text for {{SCHEMA}}.
func (s *Schema) prompt() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Schema: %s\nFields:", s.Name)
	for _, f := range s.Fields {
		fmt.Fprintf(&b, "\n- %s (%s", f.Name, f.Type)
		if len(f.Enum) > 0 {
			b.WriteString(", one of " + strings.Join(f.Enum, " | "))
		}
		b.WriteByte(')')
		if f.Description != "" {
			b.WriteString(": " + f.Description)
		}
	}
	return b.String()
}

// answerSchemaJSON uses only what the strict modes of all providers accept: every
// property required, no additional ones, null by a list of types.
//
//go:embed answer_schema.json
var answerSchemaJSON string

// answerSchema is the JSON Schema of the answer, for models with structured
// output. Its keys are sorted.
func (s *Schema) answerSchema(plain bool) json.RawMessage {
	if plain {
		s.index()
		return kit.JSON(s.root.answerSchema(s))
	}
	names := ""
	if !s.hasLists() { // the fields of records have numbers
		names = `, "enum": ` + string(kit.JSON(s.names()))
	}
	// Decoded, so that its keys are sorted.
	return kit.JSON(kit.Embedded[any]([]byte(strings.Replace(answerSchemaJSON, `, "enum": []`, names, 1))))
}

// hasLists reports whether a field is in a list.
func (s *Schema) hasLists() bool {
	return slices.ContainsFunc(s.Fields, func(f Field) bool { return inList(f.Name) })
}

// plainTypes are the JSON types of plain values by type of field; others are texts.
var plainTypes = map[text.Type]string{text.Number: "number", text.Integer: "integer", text.Boolean: "boolean"}

// answerSchema is the JSON Schema of a plain answer: every member is required, values may be
// null.
func (n *node) answerSchema(s *Schema) map[string]any {
	switch {
	case n.isObject():
		properties := map[string]any{}
		for i, name := range n.names {
			properties[name] = n.members[i].answerSchema(s)
		}
		return map[string]any{"type": "object", "required": n.names, "additionalProperties": false, "properties": properties}
	case n.isList():
		return map[string]any{"type": "array", "items": n.records.answerSchema(s)}
	}
	f := s.Fields[n.field]
	leaf := map[string]any{"type": []string{cmp.Or(plainTypes[f.Type], "string"), "null"}}
	if len(f.Enum) > 0 {
		var values []any
		for _, v := range f.Enum {
			values = append(values, v)
		}
		leaf["enum"] = append(values, nil)
	}
	return leaf
}
