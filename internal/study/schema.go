package study

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strconv"
	"time"

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

// A Duration is a time.Duration written as 30s, 1m30s, or a plain number of
// seconds. It is never negative.
type Duration time.Duration

// D is the duration as the standard library's type.
func (d Duration) D() time.Duration { return time.Duration(d) }

func (d Duration) String() string { return time.Duration(d).String() }

// parseDuration reads 30s, 1m30s, 500ms, or a plain number of seconds.
func parseDuration(s string) (Duration, error) {
	text := s
	if n := len(s); n > 0 && (s[n-1] == '.' || '0' <= s[n-1] && s[n-1] <= '9') {
		text = s + "s"
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("reading duration %s: want a value such as 30s, 1m30s, or a number of seconds", strconv.Quote(s))
	}
	if d < 0 {
		return 0, fmt.Errorf("reading duration %s: it must not be negative", strconv.Quote(s))
	}
	return Duration(d), nil
}

// MarshalText writes the duration as 1m30s.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalJSON reads a string or a number of seconds.
func (d *Duration) UnmarshalJSON(data []byte) error {
	var s string
	err := json.Unmarshal(data, &s)
	if n, wrong := strconv.ParseFloat(string(data), 64); wrong == nil {
		s, err = strconv.FormatFloat(n, 'f', -1, 64), nil
	}
	if err == nil {
		*d, err = parseDuration(s)
	}
	return err
}

// durationPattern takes each unit once, in falling order, with so few digits
// that no sum overflows 64 bits of nanoseconds.
const durationPattern = `^([0-9]{1,6}(\.[0-9]{1,9})?h)?([0-9]{1,6}(\.[0-9]{1,9})?m)?` +
	`([0-9]{1,9}(\.[0-9]{1,9})?s)?([0-9]{1,9}(\.[0-9]{1,9})?ms)?` +
	`([0-9]{1,9}(\.[0-9]{1,9})?[uµ]s)?([0-9]{1,9}ns)?$`

// JSONSchema describes both spellings of a duration.
func (Duration) JSONSchema() *jsonschema.Schema {
	one := uint64(1)
	return &jsonschema.Schema{
		OneOf: []*jsonschema.Schema{
			{Type: "string", Pattern: durationPattern, MinLength: &one},
			{Type: "number", Minimum: "0", Maximum: "1e9", Description: "Seconds"},
		},
		Description: "30s, 1m30s, 500ms, or a number of seconds",
		Extras:      map[string]any{"errorMessage": "want a duration such as 30s, 1m30s, or a number of seconds, not negative"},
	}
}
