package procedure

import (
	"fmt"
	"math"

	"github.com/scruple-eval/scruple/stats"
)

func agreement() []Procedure {
	return []Procedure{{
		Name: "cohen_kappa", Title: "Cohen's kappa",
		Summary: "Agreement of two raters beyond chance, unweighted and with linear and quadratic weights on the order of labels; percent agreement and the largest kappa the margins allow stand beside it.",
		Source:  "scikit-learn, statsmodels; Fleiss, Cohen & Everitt (1969)",
		Columns: []Role{{Name: "rater_a", Doc: "labels of the first rater", Kind: Label}, {Name: "rater_b", Doc: "labels of the second rater", Kind: Label}},
		Params:  []Param{{"labels", "those found, sorted", "labels in their order"}},
		Run:     runKappa,
	}, {
		Name: "fleiss_kappa", Title: "Fleiss' kappa",
		Summary:     "Agreement of several raters, the same number for each subject; with kappa by category and Randolph's free-marginal kappa.",
		Source:      "statsmodels; Fleiss (1971); Randolph (2005)",
		Columns:     []Role{{Name: "ratings", Doc: "labels, one column a rater; or counts, one column a category", Kind: Label, Many: true}},
		Params:      []Param{{"columns", "raters", "what a column of a table is: raters (labels) or categories (how many raters gave it)"}},
		Run:         runFleiss,
		FromColumns: fleissInput,
	}, {
		Name: "krippendorff_alpha", Title: "Krippendorff's alpha",
		Summary:     "Agreement of any number of raters with missing ratings, on nominal, ordinal, interval or ratio scales.",
		Source:      "Krippendorff (2011)",
		Columns:     []Role{{Name: "ratings", Doc: "ratings, one column a rater, one unit a row; empty is missing", Many: true, Missing: true}},
		Params:      []Param{{"level", "nominal", "nominal, ordinal, interval or ratio"}},
		Run:         runKrippendorff,
		FromColumns: krippendorffInput,
	}}
}

type kappaResult struct {
	N          int      `json:"n"`
	Labels     []string `json:"labels"`
	Table      [][]int  `json:"table"`
	Agreement  Number   `json:"percent_agreement"`
	Unweighted kappaOf  `json:"unweighted"`
	Linear     kappaOf  `json:"linear"`
	Quadratic  kappaOf  `json:"quadratic"`
	Max        Number   `json:"kappa_max"`
}

type kappaOf struct {
	Kappa  Number `json:"kappa"`
	SE     Number `json:"se"`
	CI     Limits `json:"ci95"`
	SENull Number `json:"se_null"`
	Z      Number `json:"z"`
	P      Number `json:"p_two_sided"`
	undefined
}

func runKappa(params, input Object) (any, error) {
	a, err := input.Labels("rater_a")
	if err != nil {
		return nil, err
	}
	b, err := input.Labels("rater_b")
	if err != nil {
		return nil, err
	}
	labels := distinct(append(append([]string{}, a...), b...))
	if params.Has("labels") {
		if labels, err = params.Labels("labels"); err != nil {
			return nil, err
		}
	}
	if len(labels) > 1000 {
		return nil, fmt.Errorf("%d different labels: agreement on them is no table", len(labels))
	}
	table, err := stats.KappaTable(a, b, labels)
	if err != nil {
		return nil, err
	}
	r := kappaResult{Labels: labels, Table: table}
	for _, w := range []struct {
		weights stats.Weights
		into    *kappaOf
	}{{stats.Unweighted, &r.Unweighted}, {stats.LinearWeights, &r.Linear}, {stats.QuadraticWeights, &r.Quadratic}} {
		k, err := stats.CohenKappa(table, w.weights, 0.95)
		if err != nil {
			return nil, err
		}
		r.N, r.Agreement, r.Max = k.N, Number(k.Agreement), Number(k.Max)
		*w.into = kappaOf{Number(k.Kappa), Number(k.SE), Span(k.CI), Number(k.SENull), Number(k.Z), Number(k.P), because(k.Undefined)}
	}
	return r, nil
}

func fleissInput(t Table, params Object) (Object, error) {
	columns, err := params.Choice("columns", "raters", "categories")
	if err != nil {
		return Object{}, err
	}
	if columns == "categories" {
		return fleissCounts(t)
	}
	var ratings [][]string
	var all []string
	for _, c := range t.Columns("ratings") {
		labels, err := c.Labels()
		if err != nil {
			return Object{}, err
		}
		ratings = append(ratings, labels)
		all = append(all, labels...)
	}
	categories := distinct(all)
	at := map[string]int{}
	for i, l := range categories {
		at[l] = i
	}
	counts := make([][]float64, len(ratings[0]))
	for i := range counts {
		counts[i] = make([]float64, len(categories))
		for _, r := range ratings {
			counts[i][at[r[i]]]++
		}
	}
	return NewObject("input", map[string]any{"counts": counts}), nil
}

// fleissCounts takes one column a category.
func fleissCounts(t Table) (Object, error) {
	var rows [][]float64
	for _, c := range t.Columns("ratings") {
		counts, err := c.Numbers()
		if err != nil {
			return Object{}, err
		}
		if rows == nil {
			rows = make([][]float64, len(counts))
		}
		for i, x := range counts {
			rows[i] = append(rows[i], x)
		}
	}
	return NewObject("input", map[string]any{"counts": rows}), nil
}

type fleissResult struct {
	Subjects int      `json:"n_subjects"`
	Raters   int      `json:"n_raters"`
	PBar     Number   `json:"p_bar"`
	PE       Number   `json:"p_e"`
	Kappa    Number   `json:"kappa"`
	SENull   Number   `json:"se_null"`
	Z        Number   `json:"z"`
	P        Number   `json:"p_two_sided"`
	Category []Number `json:"category_kappa"`
	Randolph Number   `json:"randolph_kappa"`
	undefined
}

func runFleiss(_, input Object) (any, error) {
	counts, err := input.Counts("counts")
	if err != nil {
		return nil, err
	}
	f, err := stats.FleissKappa(counts)
	if err != nil {
		return nil, err
	}
	return fleissResult{f.Subjects, f.Raters, Number(f.PBar), Number(f.PE), Number(f.Kappa), Number(f.SENull), Number(f.Z), Number(f.P),
		Numbers(f.Category), Number(f.Randolph), because(f.Undefined)}, nil
}

func krippendorffInput(t Table, params Object) (Object, error) {
	level, err := params.Text("level", "nominal")
	if err != nil {
		return Object{}, err
	}
	var ratings []any
	for _, c := range t.Columns("ratings") {
		if level == "nominal" && !c.numericWithGaps() {
			row := boxed(c.LabelsWithGaps())
			for i, x := range row {
				if x == "" {
					row[i] = nil
				}
			}
			ratings = append(ratings, row)
			continue
		}
		xs, err := c.NumbersWithGaps()
		if err != nil {
			return Object{}, err
		}
		row := boxed(xs)
		for i, x := range xs {
			if math.IsNaN(x) {
				row[i] = nil
			}
		}
		ratings = append(ratings, row)
	}
	return NewObject("input", map[string]any{"ratings": ratings}), nil
}

func (c Column) numericWithGaps() bool {
	_, err := c.NumbersWithGaps()
	return err == nil
}

type krippendorffResult struct {
	Units    int    `json:"n_units_pairable"`
	Values   int    `json:"n_pairable_values"`
	Observed Number `json:"observed_disagreement"`
	Expected Number `json:"expected_disagreement"`
	Alpha    Number `json:"alpha"`
	undefined
}

func runKrippendorff(params, input Object) (any, error) {
	level, err := params.Choice("level", "nominal", "ordinal", "interval", "ratio")
	if err != nil {
		return nil, err
	}
	scale := map[string]stats.Scale{"nominal": stats.Nominal, "ordinal": stats.Ordinal, "interval": stats.IntervalScale, "ratio": stats.RatioScale}[level]
	ratings, err := ratingsOf(input, scale == stats.Nominal)
	if err != nil {
		return nil, err
	}
	k, err := stats.KrippendorffAlpha(ratings, scale)
	if err != nil {
		return nil, err
	}
	return krippendorffResult{k.Units, k.Values, Number(k.Observed), Number(k.Expected), Number(k.Alpha), because(k.Undefined)}, nil
}

// ratingsOf reads ratings; nominal ones may be text, which is numbered.
func ratingsOf(input Object, nominal bool) ([][]float64, error) {
	if !nominal {
		return input.TableWithGaps("ratings")
	}
	codes := map[string]float64{}
	return table(input, "ratings", func(path string, v any) (float64, error) {
		if v == nil {
			return math.NaN(), nil
		}
		l, err := label(path, v)
		if err != nil {
			return 0, err
		}
		code, ok := codes[l]
		if !ok {
			code = float64(len(codes))
			codes[l] = code
		}
		return code, nil
	})
}
