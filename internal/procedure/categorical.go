package procedure

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/scruple-eval/scruple/stats"
)

func categorical() []Procedure {
	return []Procedure{{
		Name: "mcnemar", Title: "McNemar's test",
		Summary: "Whether two arms pass equally often on the same items, from the items that one of them alone passes: exact and mid-p, χ² with and without continuity correction, odds ratio.",
		Source:  "R mcnemar.test, binom.test; Fagerland et al. (2013)",
		Columns: []Role{{Name: "a_pass", Doc: "outcomes of the first arm", Kind: Binary}, {Name: "b_pass", Doc: "outcomes of the second arm on the same items", Kind: Binary}},
		Run:     runMcNemar,
	}, {
		Name: "cochran_q", Title: "Cochran's Q",
		Summary:     "Whether several arms pass equally often on the same items.",
		Source:      "statsmodels cochrans_q; Cochran (1950)",
		Columns:     []Role{{Name: "pass", Doc: "outcomes, one column an arm", Kind: Binary, Many: true}},
		Run:         runCochran,
		FromColumns: cochranInput,
	}, {
		Name: "chi2_independence", Title: "Chi-squared test of independence",
		Summary:     "Whether two groupings of independent observations hang together: χ², G, residuals, Cramér's V, and all pairs of rows with Bonferroni (plain, Yates, Fisher).",
		Source:      "R chisq.test, fisher.test",
		Columns:     []Role{{Name: "row", Doc: "one grouping", Kind: Label}, {Name: "column", Doc: "the other", Kind: Label}},
		Params:      []Param{{"continuity", "false", "Yates' correction, for 2×2 tables"}},
		Run:         runChiSquared,
		FromColumns: crossTabulated,
	}, {
		Name: "fisher_exact", Title: "Fisher's exact test",
		Summary:     "Whether a table with two rows shows any dependence, with both margins fixed.",
		Source:      "R fisher.test",
		Columns:     []Role{{Name: "row", Doc: "one of two groups", Kind: Label}, {Name: "column", Doc: "outcome", Kind: Label}},
		Run:         runFisher,
		FromColumns: crossTabulated,
	}}
}

// distinct lists labels, sorted as numbers or text.
func distinct(labels []string) []string {
	out := slices.Clone(labels)
	slices.SortFunc(out, stats.CompareLabels)
	return slices.Compact(out)
}

// crossTabulated counts two columns against each other.
func crossTabulated(t Table, _ Object) (Object, error) {
	var labels [2][]string
	for k, role := range []string{"row", "column"} {
		c, _ := t.Column(role)
		var err error
		if labels[k], err = c.Labels(); err != nil {
			return Object{}, err
		}
	}
	rows, cols := distinct(labels[0]), distinct(labels[1])
	if len(rows)*len(cols) > 1_000_000 {
		return Object{}, fmt.Errorf("%d × %d different labels are no table of counts", len(rows), len(cols))
	}
	at := map[string]int{}
	for i, l := range rows {
		at["r"+l] = i
	}
	for j, l := range cols {
		at["c"+l] = j
	}
	table := make([][]float64, len(rows))
	for i := range table {
		table[i] = make([]float64, len(cols))
	}
	for i := range labels[0] {
		table[at["r"+labels[0][i]]][at["c"+labels[1][i]]]++
	}
	return NewObject("input", map[string]any{"table": table, "rows": rows, "columns": cols}), nil
}

type mcnemarResult struct {
	A               int    `json:"a"`
	B               int    `json:"b"`
	C               int    `json:"c"`
	D               int    `json:"d"`
	Discordant      int    `json:"n_discordant"`
	Chi2            Number `json:"chi2"`
	P               Number `json:"p_chi2"`
	Chi2Continuity  Number `json:"chi2_continuity"`
	PContinuity     Number `json:"p_chi2_continuity"`
	PExact          Number `json:"p_exact"`
	PMid            Number `json:"p_mid"`
	OddsRatio       Number `json:"odds_ratio"`
	OddsUndefined   bool   `json:"odds_ratio_undefined,omitempty"`
	OddsExact       Limits `json:"odds_ratio_ci95_exact"`
	OddsWald        Limits `json:"odds_ratio_ci95_wald_log"`
	Diff            Number `json:"diff_proportions"`
	DiffSE          Number `json:"diff_se_wald"`
	DiffCI          Limits `json:"diff_ci95_wald"`
	UndefinedReason string `json:"undefined_reason,omitempty"`
}

func runMcNemar(_, input Object) (any, error) {
	r, err := mcnemarOf(input)
	if err != nil {
		return nil, err
	}
	return mcnemarResult{r.A, r.B, r.C, r.D, r.B + r.C, Number(r.Chi2), Number(r.P), Number(r.Chi2Continuity), Number(r.PContinuity), Number(r.PExact),
		Number(r.PMid), Number(r.OddsRatio), r.Undefined != "", Span(r.OddsExact), Span(r.OddsWald), Number(r.Diff), Number(r.DiffSE), Span(r.DiffCI), r.Undefined}, nil
}

func mcnemarOf(input Object) (stats.McNemar, error) {
	if !input.Has("table") {
		a, err := input.Binaries("a_pass")
		if err != nil {
			return stats.McNemar{}, err
		}
		b, err := input.Binaries("b_pass")
		if err != nil {
			return stats.McNemar{}, err
		}
		return stats.McNemarOutcomes(a, b, 0.95)
	}
	t, err := input.Counts("table")
	if err != nil {
		return stats.McNemar{}, err
	}
	if len(t) != 2 || len(t[0]) != 2 || len(t[1]) != 2 {
		return stats.McNemar{}, errors.New("input.table must have 2 rows and 2 columns")
	}
	return stats.McNemarTable([2][2]int{{t[0][0], t[0][1]}, {t[1][0], t[1][1]}}, 0.95)
}

type cochranResult struct {
	N      int    `json:"n"`
	Passes []int  `json:"passes"`
	Q      Number `json:"q"`
	DF     Number `json:"df"`
	P      Number `json:"p"`
	undefined
}

func cochranInput(t Table, _ Object) (Object, error) {
	var rows [][]float64
	for _, c := range t.Columns("pass") {
		pass, err := c.Binaries()
		if err != nil {
			return Object{}, err
		}
		if rows == nil {
			rows = make([][]float64, len(pass))
		}
		for i, ok := range pass {
			x := 0.0
			if ok {
				x = 1
			}
			rows[i] = append(rows[i], x)
		}
	}
	return NewObject("input", map[string]any{"pass": rows}), nil
}

func runCochran(_, input Object) (any, error) {
	pass, err := input.BinaryTable("pass")
	if err != nil {
		return nil, err
	}
	r, err := stats.CochranQ(pass)
	if err != nil {
		return nil, err
	}
	return cochranResult{r.N, r.Passes, Number(r.Q), Number(r.DF), Number(r.P), because(r.Undefined)}, nil
}

type chiSquaredResult struct {
	Rows       []string        `json:"rows,omitempty"`
	Columns    []string        `json:"columns,omitempty"`
	Chi2       Number          `json:"chi2"`
	DF         Number          `json:"df"`
	P          Number          `json:"p"`
	G          Number          `json:"g"`
	PG         Number          `json:"p_g"`
	CramersV   Number          `json:"cramers_v"`
	Min        Number          `json:"min_expected"`
	Below5     int             `json:"n_expected_below_5"`
	Expected   [][]Number      `json:"expected"`
	Residuals  [][]Number      `json:"std_residuals"`
	Pairwise   []rowPairResult `json:"pairwise"`
	Bonferroni []Number        `json:"pairwise_p_bonferroni"`
	Yates      []Number        `json:"pairwise_p_yates_bonferroni"`
	undefined
}

type rowPairResult struct {
	I       int    `json:"i"`
	J       int    `json:"j"`
	Chi2    Number `json:"chi2"`
	P       Number `json:"p"`
	PYates  Number `json:"p_yates"`
	PFisher Number `json:"p_fisher"`
}

// maxPairs is the number of rows up to which all their pairs are compared.
const maxPairs = 200

func runChiSquared(params, input Object) (any, error) {
	table, err := input.Counts("table")
	if err != nil {
		return nil, err
	}
	continuity, err := params.Flag("continuity", false)
	if err != nil {
		return nil, err
	}
	r, err := stats.ChiSquared(table, continuity)
	if err != nil {
		return nil, err
	}
	out := chiSquaredResult{Chi2: Number(r.Chi2), DF: Number(r.DF), P: Number(r.P), G: Number(r.G), PG: Number(r.PG), CramersV: Number(r.CramersV),
		Min: Number(r.MinExpected), Below5: r.Below5, Expected: Matrix(r.Expected), Residuals: Matrix(r.Residuals), undefined: because(r.Undefined, r.Warnings...)}
	if input.Has("rows") && input.Has("columns") {
		if out.Rows, err = input.Labels("rows"); err != nil {
			return nil, err
		}
		if out.Columns, err = input.Labels("columns"); err != nil {
			return nil, err
		}
	}
	if len(table) > maxPairs {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%d rows: pairs are compared up to %d", len(table), maxPairs))
		return out, nil
	}
	pairs, err := stats.RowPairs(table)
	if err != nil {
		return nil, err
	}
	left := 0
	for _, p := range pairs {
		if math.IsNaN(p.PFisher) {
			left++
		}
		out.Pairwise = append(out.Pairwise, rowPairResult{p.I, p.J, Number(p.Chi2), Number(p.P), Number(p.PYates), Number(p.PFisher)})
		out.Bonferroni = append(out.Bonferroni, Number(p.PBonferroni))
		out.Yates = append(out.Yates, Number(p.PYatesBonferroni))
	}
	if left > 0 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%d of %d pairs have no exact test: too many tables to enumerate", left, len(pairs)))
	}
	return out, nil
}

func runFisher(_, input Object) (any, error) {
	table, err := input.Counts("table")
	if err != nil {
		return nil, err
	}
	p, err := stats.Fisher(table)
	if err != nil {
		return nil, err
	}
	return Ordered{{"p", Number(p)}}, nil
}
