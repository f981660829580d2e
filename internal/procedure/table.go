package procedure

import (
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// RunTable computes the result of params and the columns of a table, as
// [readTable] reads them. The result begins with the column of each role, so that
// a reader need not guess which of two arms a difference is in favour of.
func (p Procedure) RunTable(r io.Reader, file string, cols []string, params jsontext.Value) (Result, error) {
	columns, err := readTable(r, file, p.Columns, cols)
	if err != nil {
		return nil, err
	}
	input, err := asInput(columns, p.Columns)
	if err != nil {
		return nil, err
	}
	result, err := p.Run(params, input)
	if err != nil {
		return nil, fmt.Errorf("%s of %s: %w", p.Name, file, err)
	}
	roles := Result{}
	for _, role := range p.Columns {
		names := columnsOf(columns, role)
		switch {
		case role.Named || names == nil:
		case role.Many:
			roles = append(roles, Row{role.Name, enumeration(names)})
		default:
			roles = append(roles, Row{role.Name, names[0]})
		}
	}
	if len(roles) == 0 { // columns that keep their names in the result
		return result, nil
	}
	return append(Result{{"roles", roles}}, result...), nil
}
