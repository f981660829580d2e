package study

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	fault "github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/scruple-eval/scruple/internal/text"
)

// A checker validates the tree against the JSON Schema and reports readable errors
// with positions.
type checker struct {
	root   *node
	schema map[string]any // the document, to look up what a finding is about
	errs   Errors
	meant  map[string]bool // paths that a misspelled key stands for
}

const schemaURL = "study:///schema"

// A schema is what a type of study is checked with: as plain JSON values, and compiled.
type schema struct {
	document map[string]any
	compiled *jsonschema.Schema
}

// schemas has the schema of each type, which takes longer to make than to use, as a function.
var schemas sync.Map

func schemaOf(t reflect.Type) schema {
	made, _ := schemas.LoadOrStore(t, sync.OnceValue(func() schema {
		s, c := document(reflectSchema(t)), jsonschema.NewCompiler()
		if err := c.AddResource(schemaURL, s); err != nil {
			panic("study: schema is not one: " + err.Error())
		}
		return schema{s, c.MustCompile(schemaURL)}
	}))
	return made.(func() schema)()
}

// check returns everything in the tree that the schema refuses.
func check(root *node, s schema) error {
	var invalid *jsonschema.ValidationError
	if err := s.compiled.Validate(root.plain()); !errors.As(err, &invalid) {
		return err
	}
	ch := checker{root: root, schema: s.document, meant: map[string]bool{}}
	leaves := findings(invalid, nil)
	for _, f := range leaves {
		if k, ok := f.ErrorKind.(*fault.AdditionalProperties); ok {
			ch.unknown(f, k.Properties)
		}
	}
	for _, f := range leaves {
		ch.report(f)
	}
	return ch.errs.Err()
}

// findings lists the leaves of the tree of errors. Alternatives are one finding.
func findings(e *jsonschema.ValidationError, to []*jsonschema.ValidationError) []*jsonschema.ValidationError {
	switch e.ErrorKind.(type) {
	case *fault.OneOf, *fault.AnyOf:
		return append(to, e)
	}
	if len(e.Causes) == 0 {
		return append(to, e)
	}
	for _, cause := range e.Causes {
		to = findings(cause, to)
	}
	return to
}

// locate follows a finding to its node and its path.
func (c *checker) locate(location []string) (*node, string) {
	n, path := c.root, ""
	for _, l := range location {
		s := step{name: l, bracketed: n.kind == list}
		if n.kind == list {
			path += "[" + l + "]"
		} else {
			path = joinPath(path, l)
		}
		if n = n.child(s); n == nil {
			return &node{}, path
		}
	}
	return n, path
}

// part is the piece of the schema that a URL points to.
func (c *checker) part(location string) map[string]any {
	_, pointer, _ := strings.Cut(location, "#")
	if plain, err := url.PathUnescape(pointer); err == nil {
		pointer = plain
	}
	part := c.schema
	for token := range jsontext.Pointer(pointer).Tokens() {
		next, ok := part[token].(map[string]any)
		if !ok {
			return nil
		}
		part = next
	}
	return part
}

func (c *checker) errorf(at Position, path, format string, args ...any) {
	c.errs.Add(&Error{Pos: at, Path: path, Err: fmt.Errorf(format, args...)})
}

// unknown reports keys the schema does not have.
func (c *checker) unknown(f *jsonschema.ValidationError, keys []string) {
	n, path := c.locate(f.InstanceLocation)
	properties, _ := c.part(f.SchemaURL)["properties"].(map[string]any)
	known := slices.Sorted(maps.Keys(properties))
	for _, key := range keys {
		hint := suggest(key, known)
		now, former := renamed(properties, key)
		if former {
			hint = "it is now " + quote(now)
			c.meant[joinPath(path, now)] = true
		}
		if inner, ok := c.within(properties, key); ok {
			hint = "it belongs in " + joinPath(path, inner)
			if former {
				hint += "; the key of that name here is now " + quote(now)
			}
		} else if k, ok := text.Nearest(key, known); ok && !former {
			c.meant[joinPath(path, k)] = true
		}
		c.errs.Add(&Error{Pos: n.get(key).at, Err: fmt.Errorf("unknown key %s in %s: %s", quote(key), cmp.Or(path, "study"), hint)})
	}
}

// renamed finds the property that had the key before: its tag jsonschema_extras says
// former=KEY.
func renamed(properties map[string]any, key string) (string, bool) {
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if part, _ := properties[name].(map[string]any); part["former"] == key {
			return name, true
		}
	}
	return "", false
}

// within finds the one section among properties that has the key.
func (c *checker) within(properties map[string]any, key string) (string, bool) {
	var found []string
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		part, _ := properties[name].(map[string]any)
		if p, ok := c.resolve(part)["properties"].(map[string]any); ok && p[key] != nil {
			found = append(found, name)
		}
	}
	if len(found) != 1 {
		return "", false
	}
	return found[0], true
}

// resolve follows a $ref.
func (c *checker) resolve(part map[string]any) map[string]any {
	if ref, ok := part["$ref"].(string); ok {
		return c.part(ref)
	}
	return part
}

// report reports the errors of one value.
func (c *checker) report(f *jsonschema.ValidationError) {
	n, path := c.locate(f.InstanceLocation)
	if k, ok := f.ErrorKind.(*fault.Required); ok {
		for _, key := range k.Missing {
			if !c.meant[joinPath(path, key)] {
				c.errorf(n.at, path, "%s is missing", quote(key))
			}
		}
		return
	}
	if wrong := wording(f, n, c.part(f.SchemaURL)); wrong != "" {
		if path == "statistics.method" {
			wrong += formerMethod(n.text)
		}
		c.errorf(n.at, path, "%s", wrong)
	}
}

// formerMethod is a hint for the name of a method that decided in earlier versions.
func formerMethod(name string) string {
	switch name {
	case "paired_ttest", "wilcoxon", "mcnemar":
		return fmt.Sprintf("; write `beside: [%s]` to have this test shown beside what decides", name)
	case "clustered":
		return "; auto decides by clusters where items have them, and `beside: [bootstrap]` shows the bootstrap"
	}
	return ""
}

// wording returns the error text for a value, given its schema; "" if it is
// reported elsewhere.
func wording(f *jsonschema.ValidationError, n *node, about map[string]any) string {
	got := n.shown()
	if about["writeOnly"] == true {
		got = "another value (not shown, since it could be a key)"
	}
	own, _ := about["errorMessage"].(string)
	switch k := f.ErrorKind.(type) {
	case *fault.AdditionalProperties: // reported before
		return ""
	case *fault.Type:
		return mismatch(n, k.Want, got)
	case *fault.Enum:
		return got + " is not known: " + suggest(n.text, words(k.Want))
	case *fault.MinLength:
		return "empty value"
	case *fault.MaxLength:
		return fmt.Sprintf("want at most %d characters, got %d", k.Want, k.Got)
	case *fault.Minimum:
		return fmt.Sprintf("want at least %v, got %s", about["minimum"], got)
	case *fault.Maximum:
		return fmt.Sprintf("want at most %v, got %s", about["maximum"], got)
	case *fault.ExclusiveMinimum:
		return fmt.Sprintf("want more than %v, got %s", about["exclusiveMinimum"], got)
	case *fault.ExclusiveMaximum:
		return fmt.Sprintf("want less than %v, got %s", about["exclusiveMaximum"], got)
	case *fault.MinItems:
		return fmt.Sprintf("the list is too short: want at least %d, got %d", k.Want, k.Got)
	case *fault.MaxItems:
		return fmt.Sprintf("the list is too long: want at most %d, got %d", k.Want, k.Got)
	case *fault.UniqueItems:
		return fmt.Sprintf("elements [%d] and [%d] are the same: remove one", k.Duplicates[0], k.Duplicates[1])
	}
	switch {
	case n.kind == str && n.text == "" && about["minLength"] != nil: // reported as empty
		return ""
	case n.kind == nothing:
		return mismatch(n, nil, got)
	case own != "":
		return own + ", got " + got
	}
	return f.ErrorKind.LocalizedString(message.NewPrinter(language.English))
}

// mismatch words a value of the wrong type.
func mismatch(n *node, want []string, got string) string {
	if n.kind == nothing {
		return "missing value: set one or remove the key"
	}
	names := make([]string, len(want))
	for i, w := range want {
		names[i] = cmp.Or(typeNames[w], w)
	}
	s := "want " + strings.Join(names, " or ") + ", got " + got
	switch scalar := n.kind == str || n.kind == number || n.kind == truth; {
	case slices.Contains(want, "string") && scalar:
		s += ": put it in quotes"
	case slices.Contains(want, "array") && scalar:
		s += ": put it in [ ]"
	}
	return s
}

// typeNames are the types of JSON as errors name them.
var typeNames = map[string]string{"string": "text", "integer": "a whole number", "number": "a number", "boolean": "true or false",
	"array": "a list", "object": "a section with keys"}

func words(values []any) []string {
	var w []string
	for _, v := range values {
		if s, ok := v.(string); ok {
			w = append(w, s)
		}
	}
	return w
}

// shown is a value as an error shows it.
func (n *node) shown() string {
	switch n.kind {
	case str:
		return quote(n.text)
	case number, truth:
		return n.text
	case list:
		return "a list"
	case section:
		return "a section"
	}
	return "nothing"
}

// fill adds the schema's defaults for keys that are absent from a study of plain JSON values. A
// section that is absent is created when it has defaults and nothing in it is required.
func (s schema) fill(study any) {
	c := checker{schema: s.document}
	c.fill(study, s.document, true)
}

func (c *checker) fill(value any, part map[string]any, create bool) {
	part = c.resolve(part)
	switch value := value.(type) {
	case []any:
		items, _ := part["items"].(map[string]any)
		for _, item := range value {
			c.fill(item, items, true)
		}
	case map[string]any:
		properties, _ := part["properties"].(map[string]any)
		for key := range properties {
			p, _ := properties[key].(map[string]any)
			have, given := value[key]
			byDefault, hasDefault := p["default"]
			switch {
			case given:
				c.fill(have, p, true)
			case hasDefault:
				value[key] = byDefault
			case create && c.resolve(p)["required"] == nil:
				made := map[string]any{}
				if c.fill(made, p, false); len(made) > 0 {
					value[key] = made
				}
			}
		}
	}
}
