package procedure

import (
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
	Table [][]int `json:"table,omitempty" way:"table"`
	A     []bool  `json:"a_pass,omitempty" way:"a_pass and b_pass"`
	B     []bool  `json:"b_pass,omitempty" way:"a_pass and b_pass"`
}

func mcnemar(p level, in outcomes) Result {
	r := in.compare(p.Conf)
	rows := rowsOf(r).after("d", Row{"direction", "first - second"})
	if r.Undefined != "" {
		rows = rows.after("odds_ratio", Row{"odds_ratio_undefined", true})
	}
	return rows.at(p.Conf)
}

func (in outcomes) compare(conf float64) stats.McNemar {
	t := in.Table
	if t == nil {
		refuse(in.A == nil, "input.a_pass is missing")
		refuse(in.B == nil, "input.b_pass is missing")
		return must(stats.McNemarOutcomes(in.A, in.B, conf))
	}
	refuse(len(t) != 2 || len(t[0]) != 2 || len(t[1]) != 2,
		"input.table must have 2 rows and 2 columns")
	return must(stats.McNemarTable([2][2]int{{t[0][0], t[0][1]}, {t[1][0], t[1][1]}}, conf))
}

// arms are outcomes by item and arm, perhaps with the names of the arms.
type arms struct {
	Pass  [][]bool `json:"pass"`
	Names []string `json:"arms,omitempty"`
}

func cochran(_ none, in arms) Result {
	r := must(stats.CochranQ(in.Pass))
	if in.Names == nil {
		return explain(r)
	}
	refuse(len(in.Names) != len(r.Passes),
		"input.arms has %d names, input.pass %d arms", len(in.Names), len(r.Passes))
	return explain(r).after("n", Row{"arms", in.Names})
}

// crossTable is a table of counts with the labels of its rows and columns, or
// two groupings to count.
type crossTable struct {
	Table   [][]int  `json:"table,omitempty" way:"table"`
	Rows    []string `json:"rows,omitempty" way:"table"`
	Columns []string `json:"columns,omitempty" way:"table"`
	Row     []string `json:"row,omitempty" way:"row and column"`
	Column  []string `json:"column,omitempty" way:"row and column"`
}

// count tabulates two groupings if the input has no table.
func (in *crossTable) count() {
	if in.Table != nil {
		return
	}
	refuse(in.Row == nil || in.Column == nil, "input.table is missing")
	n := len(in.Row)
	refuse(n != len(in.Column), "input.row and input.column have %d and %d rows", n, len(in.Column))
	in.Rows, in.Columns = distinct(in.Row), distinct(in.Column)
	rows, columns := len(in.Rows), len(in.Columns)
	refuse(rows*columns > 1_000_000,
		"%d × %d different labels: too many for a table of counts", rows, columns)
	in.Table = make([][]int, rows)
	for i := range in.Table {
		in.Table[i] = make([]int, columns)
	}
	row, column := indices(in.Rows), indices(in.Columns)
	for i, l := range in.Row {
		in.Table[row[l]][column[in.Column[i]]]++
	}
}

type chiSquaredParams struct {
	Continuity bool `json:"continuity"`
}

// maxPairs is the number of rows up to which all their pairs are compared.
const maxPairs = 200

func chiSquared(p chiSquaredParams, in crossTable) Result {
	in.count()
	test := must(stats.ChiSquared(in.Table, stats.ChiSquaredOptions{Continuity: p.Continuity}))
	r := in.rows()
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
		left := 0
		rows = []Result{}
		for _, p := range must(stats.RowPairs(in.Table)) {
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
	return append(r, Row{"pairwise", rows}, Row{"pairwise_p_bonferroni", bonferroni}, Row{"pairwise_p_yates_bonferroni", yates}).explained(warnings...)
}

func (in crossTable) named() bool { return in.Rows != nil && in.Columns != nil }

// rows are the table and the names of its rows and columns, if there are any.
func (in crossTable) rows() Result {
	if !in.named() {
		return Result{{"table", in.Table}}
	}
	rows, columns := len(in.Table), len(in.Columns)
	if rows > 0 {
		columns = len(in.Table[0])
	}
	refuse(len(in.Rows) != rows || len(in.Columns) != columns,
		"input.rows and input.columns have %d and %d names, input.table is %d × %d", len(in.Rows), len(in.Columns), rows, columns)
	return Result{{"rows", margin(in.Rows)}, {"columns", margin(in.Columns)}, {"table", crosstab{in.Rows, in.Columns, in.Table}}}
}

func fisher(_ none, in crossTable) Result {
	in.count()
	p := must(stats.Fisher(in.Table))
	return append(in.rows(), Row{"p", p})
}

// proportion is x of n, or outcomes to count.
type proportion struct {
	X    *int     `json:"x,omitempty" way:"x and n"`
	N    *int     `json:"n,omitempty" way:"x and n"`
	Pass []bool   `json:"pass,omitempty" way:"pass"`
	Conf *float64 `json:"conf,omitempty"`
}

func (q proportion) intervals(p level) Result {
	x, n, conf := given(q.X, 0), given(q.N, len(q.Pass)), given(q.Conf, p.Conf)
	if q.Pass != nil {
		x, n = 0, len(q.Pass)
		for _, ok := range q.Pass {
			if ok {
				x++
			}
		}
	}
	refuse(q.Pass == nil && (q.X == nil || q.N == nil), "a proportion needs x and n")
	refuse(n < 0 || x < 0 || x > n, "%d of %d is not a proportion", x, n)
	refuse(!(conf > 0 && conf < 1), "conf is %v, expected a level between 0 and 1", conf)
	reason := ""
	if n == 0 {
		reason = "0 of 0 is not a proportion"
	}
	return Result{{"x", x}, {"n", n}, {"conf", conf}, {"proportion", float64(x) / float64(n)},
		{"wilson", stats.Wilson(x, n, conf)}, {"clopper_pearson", stats.ClopperPearson(x, n, conf)},
		{"jeffreys", stats.Jeffreys(x, n, conf)}, {"agresti_coull_unclipped", stats.AgrestiCoull(x, n, conf)}}.undefined(reason)
}

type proportionParams struct {
	level
	Pooled bool   `json:"pooled"`
	First  string `json:"first"`
}

// twoProportions holds passes and totals of two groups, perhaps with their names,
// or outcomes to count by group.
type twoProportions struct {
	X     []int    `json:"x,omitempty" way:"x and n"`
	N     []int    `json:"n,omitempty" way:"x and n"`
	Names []string `json:"groups,omitempty" way:"x and n"`
	Pass  []bool   `json:"pass,omitempty" way:"pass and group"`
	Group []string `json:"group,omitempty" way:"pass and group"`
}

func (in *twoProportions) count() {
	groups, n := distinct(in.Group), len(in.Pass)
	refuse(len(groups) != 2, "input.group has %d groups, expected 2: %.80q", len(groups), groups)
	refuse(n != len(in.Group), "input.pass and input.group have %d and %d rows", n, len(in.Group))
	in.Names = groups
	in.X, in.N = make([]int, 2), make([]int, 2)
	at := indices(groups)
	for i, l := range in.Group {
		in.N[at[l]]++
		if in.Pass[i] {
			in.X[at[l]]++
		}
	}
}

// order makes a group the first.
func (in *twoProportions) order(first string) {
	at := slices.Index(in.Names, first)
	refuse(at < 0 || len(in.Names) != 2,
		"params.first is %q, expected the name of one of two groups, which are %q", first, in.Names)
	if at == 1 {
		slices.Reverse(in.Names)
		slices.Reverse(in.X)
		slices.Reverse(in.N)
	}
}

func compared(p proportionParams, in twoProportions) Result {
	if in.Pass != nil && in.Group != nil {
		in.count()
	}
	x, n := len(in.X), len(in.N)
	refuse(x != 2 || n != 2, "input.x and input.n have %d and %d entries, expected 2 each", x, n)
	if p.First != "" {
		in.order(p.First)
	}
	r := must(stats.CompareProportions(in.X[0], in.N[0], in.X[1], in.N[1], p.Conf))
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
	return append(groups, explain(r)...).at(p.Conf)
}
