// Package procedure gives the methods of package stats names, documented
// options and plain data: what `scruple stats` runs on a case file or a CSV
// table. It decodes JSON and columns into typed inputs, calls stats, and
// encodes the result as JSON. It computes nothing itself, and knows no study,
// no store and no model.
package procedure

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A Procedure is one statistical method that can be asked for by name.
type Procedure struct {
	Name    string // as in cases and on the command line
	Title   string // for people: "Paired t-test"
	Summary string // what question it answers and what it assumes; one to three sentences
	Source  string // papers, reference implementation
	Columns []Role // what --csv takes; none: cases only
	Params  []Param
	Hide    []string // keys of the result that only --json shows

	method method
}

// A method computes a procedure's result, a value that encode writes. An error
// is a refusal: input that is no data for this method.
type method interface {
	runCase(c Case) (any, error)
	runTable(p Procedure, t Table, params jsontext.Value) (any, error)
	columns(p Procedure, params jsontext.Value) ([]string, error)
}

// typed is a method whose params and input have types of its own. Tags name
// their fields. A list or pointer without omitempty must be given.
type typed[P, I any] struct {
	defaults P
	run      func(P, I) (any, error)

	// fill sets the input from a table's columns; nil: each role's column goes
	// to the field of the role's name.
	fill func(*I, Table, P) error

	// uses names the columns where --cols is left out; nil: it must be given.
	uses func(P) ([]string, error)
}

// none is the type of params where there are none.
type none struct{}

func (m typed[P, I]) runCase(c Case) (any, error) {
	params := m.defaults
	if err := decodeParams(c.Params, &params, true); err != nil {
		return nil, err
	}
	var input I
	if err := decode("input", c.Input, &input); err != nil {
		return nil, err
	}
	return m.run(params, input)
}

func (m typed[P, I]) runTable(p Procedure, t Table, raw jsontext.Value) (any, error) {
	params := m.defaults
	if err := decodeParams(raw, &params, false); err != nil {
		return nil, err
	}
	var input I
	var err error
	if m.fill != nil {
		err = m.fill(&input, t, params)
	} else {
		err = t.fill(p.Columns, reflect.ValueOf(&input).Elem())
	}
	if err != nil {
		return nil, err
	}
	return m.run(params, input)
}

func (m typed[P, I]) columns(p Procedure, raw jsontext.Value) ([]string, error) {
	if m.uses == nil {
		return nil, fmt.Errorf("--cols is missing: %s takes %s", p.Name, roleNames(p.Columns))
	}
	params := m.defaults
	if err := decodeParams(raw, &params, false); err != nil {
		return nil, err
	}
	return m.uses(params)
}

// RunTable answers with a table's columns as input. Params is a JSON object.
func (p Procedure) RunTable(t Table, params jsontext.Value) (jsontext.Value, error) {
	result, err := p.method.runTable(p, t, params)
	if err != nil {
		return nil, err
	}
	return encode(result)
}

// DefaultColumns are the columns a table is read for where none were named.
func (p Procedure) DefaultColumns(params jsontext.Value) ([]string, error) {
	return p.method.columns(p, params)
}

// A Role is what a column of a table is used as.
type Role struct {
	Name     string
	Doc      string
	Kind     Kind
	Optional bool // may be left out
	Many     bool // takes all columns that are left: one column a rater, a model, …
	Missing  bool // empty cells are allowed, and become null
}

// A Kind says how the cells of a column are read.
type Kind int

const (
	Numeric Kind = iota // numbers
	Label               // text, as it stands
	Binary              // 0/1, true/false, yes/no, pass/fail
)

// String says how cells are read, for people.
func (k Kind) String() string { return [...]string{"number", "label", "0/1"}[k] }

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

// Find gives the procedure of a name.
func Find(name string) (Procedure, error) {
	all := All()
	i := slices.IndexFunc(all, func(p Procedure) bool { return p.Name == name })
	if i < 0 {
		return Procedure{}, fmt.Errorf("no statistical method is called %q; `scruple stats --list` names them all", name)
	}
	return all[i], nil
}
