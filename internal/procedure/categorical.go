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

// proportion is x of n, or outcomes to count.
type proportion struct {
	X    *int     `json:"x,omitempty"`
	N    *int     `json:"n,omitempty"`
	Pass []bool   `json:"pass,omitempty"`
	Conf *float64 `json:"conf,omitempty"`
}

func (q proportion) intervals(p level) (Result, error) {
	var x, n int
	conf := given(q.Conf, p.Conf)
	switch {
	case q.Pass != nil:
		n = len(q.Pass)
		for _, ok := range q.Pass {
			if ok {
				x++
			}
		}
	case q.X == nil || q.N == nil:
		return nil, errors.New("a proportion needs x and n")
	default:
		x, n = *q.X, *q.N
	}
	switch {
	case n < 0 || x < 0 || x > n:
		return nil, fmt.Errorf("%d of %d is not a proportion", x, n)
	case !(conf > 0 && conf < 1):
		return nil, fmt.Errorf("conf is %v, expected a level between 0 and 1", conf)
	}
	reason := ""
	if n == 0 {
		reason = "0 of 0 is not a proportion"
	}
	return Result{{"x", x}, {"n", n}, {"conf", conf}, {"proportion", float64(x) / float64(n)},
		{"wilson", stats.Wilson(x, n, conf)}, {"clopper_pearson", stats.ClopperPearson(x, n, conf)},
		{"jeffreys", stats.Jeffreys(x, n, conf)}, {"agresti_coull_unclipped", stats.AgrestiCoull(x, n, conf)}}.undefined(reason), nil
}

type proportionParams struct {
	level
	Pooled bool   `json:"pooled"`
	First  string `json:"first"`
}

// twoProportions holds passes and totals of two groups, perhaps with their names,
// or outcomes to count by group.
type twoProportions struct {
	X     []int    `json:"x,omitempty"`
	N     []int    `json:"n,omitempty"`
	Names []string `json:"groups,omitempty"`
	Pass  []bool   `json:"pass,omitempty"`
	Group []string `json:"group,omitempty"`
}

func (in *twoProportions) count() error {
	groups := distinct(in.Group)
	if len(groups) != 2 {
		return fmt.Errorf("input.group has %d groups, expected 2: %.80q", len(groups), groups)
	}
	in.Names = groups
	if len(in.Pass) != len(in.Group) {
		return fmt.Errorf("input.pass and input.group have %d and %d rows", len(in.Pass), len(in.Group))
	}
	in.X, in.N = make([]int, 2), make([]int, 2)
	at := indices(groups)
	for i, l := range in.Group {
		in.N[at[l]]++
		if in.Pass[i] {
			in.X[at[l]]++
		}
	}
	return nil
}

// order makes a group the first.
func (in *twoProportions) order(first string) error {
	switch at := slices.Index(in.Names, textLabel(first)); {
	case at < 0 || len(in.Names) != 2:
		return fmt.Errorf("params.first is %q, expected the name of one of two groups, which are %q", first, in.Names)
	case at == 1:
		slices.Reverse(in.Names)
		slices.Reverse(in.X)
		slices.Reverse(in.N)
	}
	return nil
}

func compared(p proportionParams, in twoProportions) (Result, error) {
	if in.Pass != nil && in.Group != nil {
		if err := in.count(); err != nil {
			return nil, err
		}
	}
	if len(in.X) != 2 || len(in.N) != 2 {
		return nil, fmt.Errorf("input.x and input.n have %d and %d entries, expected 2 each", len(in.X), len(in.N))
	}
	if p.First != "" {
		if err := in.order(p.First); err != nil {
			return nil, err
		}
	}
	r, err := stats.CompareProportions(in.X[0], in.N[0], in.X[1], in.N[1], p.Conf)
	if !p.Pooled {
		r.Z, r.P, r.PContinuity = r.ZUnpooled, r.PUnpooled, math.NaN()
		if r.Undefined == "" && math.IsNaN(r.Z) {
			r.Undefined = "both proportions are 0 or 1: the unpooled standard error is 0"
		}
	}
	groups := Result{}
	if len(in.Names) == 2 {
		groups = groups.with("group1", in.Names[0]).with("group2", in.Names[1])
	}
	groups = append(groups, Result{{"x1", in.X[0]}, {"n1", in.N[0]}, {"x2", in.X[1]}, {"n2", in.N[1]}, {"direction", "group1 - group2"}}...)
	return append(groups, explain(r)...).at(p.Conf), err
}
