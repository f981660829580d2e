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

	// Run computes the result, a struct with JSON tags whose numbers are
	// Number. An error is a refusal: input that is no data for this method.
	Run func(params, input Object) (any, error)

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

// A Param is an option of a procedure.
type Param struct {
	Name, Default, Doc string
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
