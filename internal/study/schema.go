package study

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"

	"github.com/invopop/jsonschema"
	checking "github.com/santhosh-tekuri/jsonschema/v6"
)

// Schema is the JSON Schema (draft 2020-12) of study files that decode into v,
// for editors. [Load] validates with the same schema; its further checks involve
// several values.
//
// In addition to the standard keywords of struct tags, jsonschema_extras may set an
// errorMessage, which editors and Load use instead of their own text.
func Schema(v any, id, title string) ([]byte, error) {
	s := reflectSchema(reflect.TypeOf(v))
	s.ID, s.Title = jsonschema.ID(id), title
	return encoded(s)
}

// SchemaOfAll is the schema of the studies of several suites, by name: the key suite says
// which of them a file follows.
func SchemaOfAll(suites map[string]any, id, title string) ([]byte, error) {
	all := &jsonschema.Schema{Version: jsonschema.Version, ID: jsonschema.ID(id), Title: title, Type: "object",
		Required: []string{"suite"}, Properties: jsonschema.NewProperties(), Definitions: jsonschema.Definitions{}}
	suite := &jsonschema.Schema{Type: "string"}
	all.Properties.Set("suite", suite)
	for _, name := range slices.Sorted(maps.Keys(suites)) {
		s := reflectSchema(reflect.TypeOf(suites[name]))
		maps.Copy(all.Definitions, s.Definitions) // named by package and type
		s.Definitions, s.Version = nil, ""
		all.Definitions[name] = s
		suite.Enum = append(suite.Enum, name)
		is := jsonschema.NewProperties()
		is.Set("suite", &jsonschema.Schema{Const: name})
		all.AllOf = append(all.AllOf, &jsonschema.Schema{If: &jsonschema.Schema{Properties: is}, Then: &jsonschema.Schema{Ref: "#/$defs/" + name}})
	}
	return encoded(all)
}

func encoded(s *jsonschema.Schema) ([]byte, error) {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("making the JSON Schema %s: %w", s.ID, err)
	}
	return append(data, '\n'), nil
}

// reflectSchema makes the schema of a struct type.
func reflectSchema(t reflect.Type) *jsonschema.Schema {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	r := jsonschema.Reflector{
		RequiredFromJSONSchemaTags: true,
		ExpandedStruct:             true,
		Anonymous:                  true,
		Namer: func(t reflect.Type) string { // types of two packages may share a name
			if t.PkgPath() == "" || t.Name() == "" {
				return ""
			}
			return path.Base(t.PkgPath()) + "." + t.Name()
		},
	}
	return r.ReflectFromType(t)
}

// JSONSchemaExtend adds the defaults that struct tags cannot express.
func (Execution) JSONSchemaExtend(s *jsonschema.Schema) {
	if p, ok := s.Properties.Get("retries"); ok {
		p.Default = []any{"10s", "30s", "1m30s"}
	}
	if p, ok := s.Properties.Get("timeout"); ok {
		p.Default = "1m0s"
	}
}

// document is the schema as plain JSON values.
func document(s *jsonschema.Schema) map[string]any {
	data, err := json.Marshal(s)
	if err != nil {
		panic("study: schema cannot be written: " + err.Error())
	}
	doc, err := checking.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		panic("study: schema cannot be read: " + err.Error())
	}
	return doc.(map[string]any)
}
