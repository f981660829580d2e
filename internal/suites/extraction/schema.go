package extraction

import (
	"bytes"
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

	sum string // hash of the fields
}

// A Field is one value to extract.
type Field struct {
	Name        string    `json:"name"`
	Type        text.Type `json:"type"`
	Description string    `json:"description"`
}

// fieldTypes are the types a field can have in a schema file.
var fieldTypes = []text.Type{text.String, text.Number, text.Money, text.Date, text.Enum, text.ID}

// field is the position of a field, or -1. Schemas are short: a search beats a
// map.
func (s *Schema) field(name string) int {
	for i := range s.Fields {
		if s.Fields[i].Name == name {
			return i
		}
	}
	return -1
}

func (s *Schema) names() []string {
	names := make([]string, len(s.Fields))
	for i, f := range s.Fields {
		names[i] = f.Name
	}
	return names
}

// A schemaFileError holds the errors of a schema file. They begin with its name, so
// they need no document's.
type schemaFileError struct{ err error }

func (e *schemaFileError) Error() string { return e.err.Error() }
func (e *schemaFileError) Unwrap() error { return e.err }

// parseSchema parses a schema file and returns all errors, each with the file's
// name.
func parseSchema(file string, data []byte) (*Schema, error) {
	var s Schema
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if err := dataset.DecodeStrict(data, &s); err != nil {
		return nil, &schemaFileError{dataset.Locate(file, data, err)}
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
		s.sum = kit.Hash(s.sum, f.Name, string(f.Type), f.Description).String()
	}
	if err := errors.Join(errs...); err != nil {
		return nil, &schemaFileError{err}
	}
	return &s, nil
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
			fault("fields[%d].type is %q: want one of %s", i, f.Type, strings.Join(stringsOf(fieldTypes), ", "))
		}
	}
}

// schemas finds schemas by name, first in the study's folder, then among the
// shipped ones.
type schemas struct {
	dir   string
	known map[string]*Schema // nil for an invalid one, which is reported once
}

func newSchemas(dir string) *schemas { return &schemas{dir, map[string]*Schema{}} }

// errReported is returned for a schema whose error was already reported.
var errReported = errors.New("already reported")

func (c *schemas) get(name string) (s *Schema, err error) {
	s, seen := c.known[name]
	switch {
	case !seen:
		s, err = c.load(name)
		c.known[name] = s
	case s == nil:
		err = errReported
	}
	return s, err
}

func (c *schemas) load(name string) (*Schema, error) {
	if name == "" {
		return nil, errors.New(`schema is missing: name the schema file without .json, such as "invoice"`)
	}
	if name != filepath.Base(name) || strings.HasPrefix(name, ".") {
		return nil, fmt.Errorf("schema %q is not a plain name: give the file name without folder and .json", name)
	}
	file := filepath.Join(c.dir, name+".json")
	data, err := dataset.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		file = "schemas/" + name + ".json"
		if data, err = shippedSchemas.ReadFile(file); err != nil {
			return nil, fmt.Errorf("schema %q: %s does not exist, and it is not a shipped schema (%s)%s",
				name, filepath.Join(c.dir, name+".json"), strings.Join(shippedSchemaNames(), ", "), kit.DidYouMean(name, shippedSchemaNames()))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("reading schema %q: %w", name, err)
	}
	return parseSchema(file, data)
}

// used lists the loaded schemas, sorted by name.
func (c *schemas) used() []*Schema {
	return slices.SortedFunc(maps.Values(c.known), func(a, b *Schema) int { return strings.Compare(a.Name, b.Name) })
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
		fmt.Fprintf(&b, "\n- %s (%s)", f.Name, f.Type)
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
func (s *Schema) answerSchema() json.RawMessage {
	var answer any
	names, err := json.Marshal(s.names())
	if err == nil {
		err = json.Unmarshal([]byte(strings.Replace(answerSchemaJSON, `"enum": []`, `"enum": `+string(names), 1)), &answer)
	}
	b, _ := json.Marshal(answer)
	if err != nil {
		panic("extraction: " + err.Error()) // it is a constant, and strings always marshal
	}
	return b
}
