// Package procedure gives the methods of package stats names, documented
// options and plain data: what `scruple stats` runs on a case file or a CSV
// table. It turns JSON and columns into slices, calls stats, and lays the
// result out as JSON. It computes nothing itself, and knows no study, no
// store and no model.
package procedure

import (
	"fmt"
	"slices"
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

	// Run computes the result, a struct with JSON tags whose numbers are
	// Number. An error is a refusal: input that is no data for this method.
	Run func(params, input Object) (any, error)

	// Uses names the columns where --cols is left out; nil: it must be given.
	Uses func(params Object) ([]string, error)

	// FromColumns makes Run's input of a table's columns, where it is more
	// than each role's column under the role's name.
	FromColumns func(cols Table, params Object) (Object, error)
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

// A Param is an option of a procedure.
type Param struct {
	Name, Default, Doc string
}

// DefaultColumns are the columns a table is read for where none were named.
func (p Procedure) DefaultColumns(params Object) ([]string, error) {
	if p.Uses == nil {
		return nil, fmt.Errorf("--cols is missing: %s takes %s", p.Name, roleNames(p.Columns))
	}
	return p.Uses(params)
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
	type option struct {
		Name    string `json:"name"`
		Default string `json:"default"`
		Doc     string `json:"doc"`
	}
	d := struct {
		Name    string   `json:"name"`
		Title   string   `json:"title"`
		Summary string   `json:"summary"`
		Source  string   `json:"source"`
		Columns []role   `json:"columns"`
		Options []option `json:"options"`
	}{Name: p.Name, Title: p.Title, Summary: p.Summary, Source: p.Source, Columns: []role{}, Options: []option{}}
	for _, r := range p.Columns {
		d.Columns = append(d.Columns, role{r.Name, r.Kind.String(), r.Doc, r.Optional, r.Many, r.Missing})
	}
	for _, o := range p.Params {
		d.Options = append(d.Options, option(o))
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
