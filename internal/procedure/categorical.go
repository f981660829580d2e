package procedure

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/scruple-eval/scruple/stats"
)

// distinct lists labels, sorted as numbers or text.
func distinct(labels []string) []string {
	out := slices.Clone(labels)
	slices.SortFunc(out, stats.CompareLabels)
	return slices.Compact(out)
}

// indices gives each label its place.
func indices(labels []string) map[string]int {
	at := make(map[string]int, len(labels))
	for i, l := range labels {
		at[l] = i
	}
	return at
}

// outcomes are those of two arms, or their table.
type outcomes struct {
	Table [][]int `json:"table,omitempty"`
	A     []bool  `json:"a_pass,omitempty"`
	B     []bool  `json:"b_pass,omitempty"`
}

func mcnemar(p level, in outcomes) (Result, error) {
	r, err := in.compare(p.Conf)
	rows := rowsOf(r).after("d", Row{"direction", "first - second"})
	if r.Undefined != "" {
		rows = rows.after("odds_ratio", Row{"odds_ratio_undefined", true})
	}
	return rows.at(p.Conf), err
}

func (in outcomes) compare(conf float64) (stats.McNemar, error) {
	t := in.Table
	switch {
	case t == nil && in.A == nil:
		return stats.McNemar{}, errors.New("input.a_pass is missing")
	case t == nil && in.B == nil:
		return stats.McNemar{}, errors.New("input.b_pass is missing")
	case t == nil:
		return stats.McNemarOutcomes(in.A, in.B, conf)
	case len(t) != 2 || len(t[0]) != 2 || len(t[1]) != 2:
		return stats.McNemar{}, errors.New("input.table must have 2 rows and 2 columns")
	}
	return stats.McNemarTable([2][2]int{{t[0][0], t[0][1]}, {t[1][0], t[1][1]}}, conf)
}

// arms are outcomes by item and arm, perhaps with the names of the arms.
type arms struct {
	Pass  [][]bool `json:"pass"`
	Names []string `json:"arms,omitempty"`
}

func cochran(_ none, in arms) (Result, error) {
	r, err := stats.CochranQ(in.Pass)
	if err != nil || in.Names == nil {
		return explain(r), err
	}
	if len(in.Names) != len(r.Passes) {
		return nil, fmt.Errorf("input.arms has %d names, input.pass %d arms", len(in.Names), len(r.Passes))
	}
	return explain(r).after("n", Row{"arms", in.Names}), nil
}

// crossTable is a table of counts with the labels of its rows and columns, or
// two groupings to count.
type crossTable struct {
	Table   [][]int  `json:"table,omitempty"`
	Rows    []string `json:"rows,omitempty"`
	Columns []string `json:"columns,omitempty"`
	Row     []string `json:"row,omitempty"`
	Column  []string `json:"column,omitempty"`
}

// count tabulates two groupings if the input has no table.
func (in *crossTable) count() error {
	switch {
	case in.Table != nil:
		return nil
	case in.Row == nil || in.Column == nil:
		return errors.New("input.table is missing")
	case len(in.Row) != len(in.Column):
		return fmt.Errorf("input.row and input.column have %d and %d rows", len(in.Row), len(in.Column))
	}
	in.Rows, in.Columns = distinct(in.Row), distinct(in.Column)
	if len(in.Rows)*len(in.Columns) > 1_000_000 {
		return fmt.Errorf("%d × %d different labels: too many for a table of counts", len(in.Rows), len(in.Columns))
	}
	in.Table = tally(in.Row, in.Rows, in.Column, in.Columns)
	return nil
}

// tally counts pairs of labels, each of one of the kinds.
func tally(rows, rowKinds, columns, columnKinds []string) [][]int {
	row, column := indices(rowKinds), indices(columnKinds)
	table := make([][]int, len(rowKinds))
	for i := range table {
		table[i] = make([]int, len(columnKinds))
	}
	for i, l := range rows {
		table[row[l]][column[columns[i]]]++
	}
	return table
}

type chiSquaredParams struct {
	Continuity bool `json:"continuity"`
}

// maxPairs is the number of rows up to which all their pairs are compared.
const maxPairs = 200

func chiSquared(p chiSquaredParams, in crossTable) (Result, error) {
	if err := in.count(); err != nil {
		return nil, err
	}
	test, err := stats.ChiSquared(in.Table, stats.ChiSquaredOptions{Continuity: p.Continuity})
	if err != nil {
		return nil, err
	}
	r, err := in.rows()
	if err != nil {
		return nil, err
	}
	for _, row := range rowsOf(test) {
		if in.named() && (row.Key == "expected" || row.Key == "std_residuals") {
			row.Value = crosstab{in.Rows, in.Columns, row.Value}
		}
		r = append(r, row)
	}
	var rows []Result
	var bonferroni, yates []float64
	var warnings []string
	if len(in.Table) > maxPairs {
		warnings = []string{fmt.Sprintf("%d rows: pairs are compared for at most %d", len(in.Table), maxPairs)}
	} else {
		pairs, err := stats.RowPairs(in.Table)
		if err != nil {
			return nil, err
		}
		left := 0
		rows = []Result{}
		for _, p := range pairs {
			if math.IsNaN(p.PFisher) {
				left++
			}
			pair := rowsOf(p)
			if in.named() {
				pair = pair.with("row_i", in.Rows[p.I]).with("row_j", in.Rows[p.J])
			}
			rows = append(rows, pair)
			bonferroni, yates = append(bonferroni, p.PBonferroni), append(yates, p.PYatesBonferroni)
		}
		if left > 0 {
			warnings = []string{fmt.Sprintf("no exact test for %d of %d pairs: too many tables to enumerate", left, len(rows))}
		}
	}
	return append(r, Row{"pairwise", rows}, Row{"pairwise_p_bonferroni", bonferroni}, Row{"pairwise_p_yates_bonferroni", yates}).explained(warnings...), nil
}

func (in crossTable) named() bool { return in.Rows != nil && in.Columns != nil }

// rows are the table and the names of its rows and columns, if there are any.
func (in crossTable) rows() (Result, error) {
	if !in.named() {
		return Result{{"table", in.Table}}, nil
	}
	if len(in.Rows) != len(in.Table) || len(in.Table) > 0 && len(in.Columns) != len(in.Table[0]) {
		return nil, fmt.Errorf("input.rows and input.columns have %d and %d names, input.table is %d × %d", len(in.Rows), len(in.Columns), len(in.Table), len(in.Table[0]))
	}
	return Result{{"rows", margin(in.Rows)}, {"columns", margin(in.Columns)}, {"table", crosstab{in.Rows, in.Columns, in.Table}}}, nil
}

func fisher(_ none, in crossTable) (Result, error) {
	if err := in.count(); err != nil {
		return nil, err
	}
	p, err := stats.Fisher(in.Table)
	if err != nil {
		return nil, err
	}
	r, err := in.rows()
	return append(r, Row{"p", p}), err
}
