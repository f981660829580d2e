// Package ontology has the types and edges that atoms may have, as data.
//
// The package must not read atoms.
package ontology

import (
	"cmp"
	_ "embed"
	"fmt"
	"regexp"
	"slices"

	yaml "github.com/goccy/go-yaml"

	"github.com/scruple-eval/scruple/internal/text"
)

//go:embed ontology.yaml
var shipped []byte

// An Ontology lists the types of atoms and the edges between them.
type Ontology struct {
	// Keys are the front-matter keys of id, type and title if they have other names,
	// such as {id: eip}.
	Keys  map[string]string `yaml:"keys,omitempty" json:"keys,omitempty"`
	Types []Type            `yaml:"types" json:"types"`
	Edges []Edge            `yaml:"edges" json:"edges"`
	// Enums are keys whose values are restricted.
	Enums map[string][]string `yaml:"enums,omitempty" json:"enums,omitempty"`
	// IDs is a regular expression for ids; the default is words of any script, without
	// capitals, joined by dashes.
	IDs string `yaml:"ids,omitempty" json:"ids,omitempty"`

	ids    *regexp.Regexp
	typeOf map[string]Type
	edgeOf map[string]Edge
}

// A Type is a type of atoms.
type Type struct {
	Name       string   `yaml:"name" json:"name"`
	Doc        string   `yaml:"doc,omitempty" json:"doc,omitempty"`
	Supporting bool     `yaml:"supporting,omitempty" json:"supporting,omitempty"` // gold need not have it
	Required   []string `yaml:"required,omitempty" json:"required,omitempty"`     // keys beside id, type and title
	Owns       bool     `yaml:"owns,omitempty" json:"owns,omitempty"`             // an atom that owns nothing is worth a warning
}

// The kinds of edge.
const (
	Set     = "set"
	Ordered = "ordered"
	Single  = "single"
)

// An Edge is a type of edges.
type Edge struct {
	Name       string   `yaml:"name" json:"name"`
	Doc        string   `yaml:"doc,omitempty" json:"doc,omitempty"`
	Kind       string   `yaml:"kind" json:"kind"`
	From       []string `yaml:"from,omitempty" json:"from,omitempty"` // types it may start from; empty: any
	To         []string `yaml:"to,omitempty" json:"to,omitempty"`     // types it may lead to; empty: any
	Supporting bool     `yaml:"supporting,omitempty" json:"supporting,omitempty"`
	// Exclusive edges: two of them must not lead to one atom. Total edges: one of them
	// must lead to every atom of the types in To.
	Exclusive bool `yaml:"exclusive,omitempty" json:"exclusive,omitempty"`
	Total     bool `yaml:"total,omitempty" json:"total,omitempty"`
}

// The keys that every atom has. Rationale holds the claims of a decision.
const (
	KeyID        = "id"
	KeyType      = "type"
	KeyTitle     = "title"
	KeyRationale = "rationale"
)

// Owner is the edge that leads to the owner of an atom.
const Owner = "owner"

// Default returns the ontology that ships with the suite.
func Default() *Ontology {
	o, err := Parse(shipped)
	if err != nil {
		panic("ontology: " + err.Error())
	}
	return o
}

// maxBytes limits an ontology file.
const maxBytes = 1 << 20

// Parse reads an ontology from YAML.
func Parse(data []byte) (o *Ontology, err error) {
	defer func() {
		if p := recover(); p != nil { // the parser may panic on a damaged file
			o, err = nil, fmt.Errorf("parsing the ontology: %v", p)
		}
	}()
	if len(data) > maxBytes {
		return nil, fmt.Errorf("the ontology has %d bytes, the limit is %d", len(data), maxBytes)
	}
	o = new(Ontology)
	if err := yaml.UnmarshalWithOptions(data, o, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("parsing the ontology: %s", text.FirstLine(err.Error()))
	}
	return o, o.Check()
}

// defaultIDs matches words without capitals, of any script, joined by dashes.
const defaultIDs = `^[\p{Ll}\p{Lm}\p{Lo}\p{M}\p{N}]+([-_.][\p{Ll}\p{Lm}\p{Lo}\p{M}\p{N}]+)*$`

// Check validates an ontology and prepares its lookups.
func (o *Ontology) Check() error {
	if len(o.Types) == 0 {
		return fmt.Errorf("the ontology has no types: list them under types")
	}
	o.IDs = cmp.Or(o.IDs, defaultIDs)
	var err error
	if o.ids, err = regexp.Compile(o.IDs); err != nil {
		return fmt.Errorf("ids: %w", err)
	}
	o.typeOf, o.edgeOf = map[string]Type{}, map[string]Edge{}
	for i, t := range o.Types {
		if _, ok := o.typeOf[t.Name]; ok || t.Name == "" {
			return fmt.Errorf("types[%d]: duplicate or empty name %q", i, t.Name)
		}
		o.typeOf[t.Name] = t
	}
	for i, e := range o.Edges {
		if _, ok := o.edgeOf[e.Name]; ok || e.Name == "" || slices.Contains([]string{KeyID, KeyType, KeyTitle, KeyRationale}, e.Name) {
			return fmt.Errorf("edges[%d]: duplicate, empty or reserved name %q", i, e.Name)
		}
		if e.Kind == "" {
			o.Edges[i].Kind = Set
		} else if !slices.Contains([]string{Set, Ordered, Single}, e.Kind) {
			return fmt.Errorf("edge %s: unknown kind %q: want set, ordered or single", e.Name, e.Kind)
		}
		for _, t := range append(slices.Clone(e.From), e.To...) {
			if _, ok := o.typeOf[t]; !ok {
				return fmt.Errorf("edge %s: unknown type %q%s", e.Name, t, text.DidYouMean(t, o.TypeNames()))
			}
		}
		o.edgeOf[e.Name] = o.Edges[i]
	}
	for key := range o.Keys {
		if key != KeyID && key != KeyType && key != KeyTitle {
			return fmt.Errorf("keys: %q: only id, type and title can have other names", key)
		}
	}
	return nil
}

// Key returns the name of a key in files.
func (o *Ontology) Key(key string) string { return cmp.Or(o.Keys[key], key) }

// Type finds a type by name.
func (o *Ontology) Type(name string) (Type, bool) {
	t, ok := o.typeOf[name]
	return t, ok
}

// Edge finds an edge by name.
func (o *Ontology) Edge(name string) (Edge, bool) {
	e, ok := o.edgeOf[name]
	return e, ok
}

// TypeNames lists the types in their order.
func (o *Ontology) TypeNames() []string {
	names := make([]string, len(o.Types))
	for i, t := range o.Types {
		names[i] = t.Name
	}
	return names
}

// ValidID reports whether an id is well-formed.
func (o *Ontology) ValidID(id string) bool { return o.ids.MatchString(id) }

// Allows reports whether a list of types, empty for any, has a type.
func Allows(types []string, name string) bool { return len(types) == 0 || slices.Contains(types, name) }
