// Package procedure gives the methods of package stats names, documented
// options and plain data: what `scruple stats` runs on a case file or a CSV
// table. It decodes JSON and columns into typed inputs, calls stats, and
// makes a [Result] of what it found, which JSON and text show. It computes nothing itself, and knows no study,
// no store and no model.
package procedure

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A Procedure is one statistical method that can be asked for by name.
type Procedure struct {
	Name    string // as in cases and on the command line
	Title   string // for people: "Paired t-test"
	Summary string // its question and assumptions, in one to three sentences
	Source  string // papers, reference implementation
	Columns []Role // what --csv takes; none: cases only
	Params  []Param
	Hide    []string          // keys of the result that only --json shows
	Labels  map[string]string // what to show for keys that do not explain themselves

	method method `yaml:"-"`
}

// A method computes a procedure's result. It returns an error for invalid input.
type method interface {
	run(params, input jsontext.Value, notes bool) (Result, error)
	columns(params jsontext.Value) ([]string, error)
}

// typed is a method with its own types of params and input. Tags name their
// fields. A list or pointer without omitempty is required.
type typed[P, I any] struct {
	defaults P
	answer   func(P, I) (Result, error)
	uses     func(P) ([]string, error) // the columns where --cols is left out; nil: it must be given
}

// none is the type of empty params.
type none struct{}

func (m typed[P, I]) run(params, input jsontext.Value, notes bool) (Result, error) {
	p := m.defaults
	if err := decodeParams(params, &p, notes); err != nil {
		return nil, err
	}
	var in I
	if err := decode("input", input, &in); err != nil {
		return nil, err
	}
	r, err := m.answer(p, in)
	if err != nil {
		return nil, err
	}
	return settled(r).(Result), nil
}

func (m typed[P, I]) columns(params jsontext.Value) ([]string, error) {
	if m.uses == nil {
		return nil, errors.New("--cols is missing")
	}
	p := m.defaults
	if err := decodeParams(params, &p, false); err != nil {
		return nil, err
	}
	return m.uses(p)
}

// Run answers the case. Its params may hold notes.
func (c Case) Run() (Result, error) {
	p, err := Find(c.Method)
	if err != nil {
		return nil, err
	}
	return p.method.run(c.Params, c.Input, true)
}

// Run computes the result of params and input, JSON objects.
func (p Procedure) Run(params, input jsontext.Value) (Result, error) {
	return p.method.run(params, input, false)
}

// DefaultColumns are the columns a table is read for where none were named.
func (p Procedure) DefaultColumns(params jsontext.Value) ([]string, error) {
	columns, err := p.method.columns(params)
	if err != nil {
		return nil, fmt.Errorf("%w: %s takes %s", err, p.Name, roleNames(p.Columns))
	}
	return columns, nil
}

// A Role is the use of a column of a table.
type Role struct {
	Name     string
	Doc      string
	Kind     Kind
	Optional bool   // may be left out
	Many     bool   // takes all columns that are left: one column a rater, a model, …
	ByRow    bool   `yaml:"by_row"` // several columns are passed as one list per row, not per column
	Named    bool   // many columns go in under their own names
	Missing  bool   // empty cells are allowed, and become null
	Names    string // key of the input that takes the names of many columns
}

// A Kind says how the cells of a column are read.
type Kind int

const (
	Numeric Kind = iota // numbers
	Label               // unparsed text
	Binary              // 0/1, true/false, yes/no, pass/fail
	Either              // numbers if all cells are numbers, else text
)

// UnmarshalText reads a kind as the catalog has it.
func (k *Kind) UnmarshalText(b []byte) error {
	i := slices.Index([]string{"number", "label", "binary", "either"}, string(b))
	if i < 0 {
		return fmt.Errorf("unknown kind %q", b)
	}
	*k = Kind(i)
	return nil
}

// String says how cells are read, for people.
func (k Kind) String() string { return [...]string{"number", "label", "0/1", "number"}[k] }

// Usage is the role's name as a synopsis has it: [optional], many….
func (r Role) Usage() string {
	name := r.Name
	if r.Many {
		name += "…"
	}
	if r.Optional {
		name = "[" + name + "]"
	}
	return name
}

func roleNames(roles []Role) string {
	var names []string
	for _, r := range roles {
		names = append(names, r.Usage())
	}
	return strings.Join(names, ",")
}

// A Param is an option of a procedure.
type Param struct {
	Name    string `json:"name"`
	Default string `json:"default"`
	Doc     string `json:"doc"`
}

// Description is the procedure as data.
func (p Procedure) Description() any {
	type role struct {
		Name     string `json:"name"`
		Kind     string `json:"kind"`
		Doc      string `json:"doc"`
		Optional bool   `json:"optional,omitempty"`
		Many     bool   `json:"many,omitempty"`
		Missing  bool   `json:"missing_allowed,omitempty"`
	}
	d := struct {
		Name    string  `json:"name"`
		Title   string  `json:"title"`
		Summary string  `json:"summary"`
		Source  string  `json:"source"`
		Columns []role  `json:"columns"`
		Options []Param `json:"options"`
	}{p.Name, p.Title, p.Summary, p.Source, []role{}, append([]Param{}, p.Params...)}
	for _, r := range p.Columns {
		d.Columns = append(d.Columns, role{r.Name, r.Kind.String(), r.Doc, r.Optional, r.Many, r.Missing})
	}
	return d
}
