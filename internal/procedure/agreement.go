package procedure

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/scruple-eval/scruple/stats"
)

type kappaParams struct {
	level
	Labels []string `json:"labels"`
}

type raters struct {
	A []string `json:"rater_a"`
	B []string `json:"rater_b"`
}

func kappa(p kappaParams, in raters) Result {
	labels, a, b := p.Labels, in.A, in.B
	var warnings []string
	ordered := labels != nil
	if labels == nil {
		labels = distinct(slices.Concat(a, b))
	}
	grades, numeric := asNumbers(labels)
	ordered = ordered || len(labels) < 3 || numeric // two labels have the same weights in either order
	switch {
	case !ordered:
		warnings = append(warnings, fmt.Sprintf("no weighted kappa: the order of the labels %.80q is unknown; give it as labels, such as --set labels='[\"low\", \"medium\", \"high\"]'", labels))
	case numeric && !evenlySpaced(grades):
		warnings = append(warnings, fmt.Sprintf("weights go by the rank of a label, not by its value: if a grade is missing from %.80q, give all of them as labels", labels))
	}
	refuse(len(labels) > 1000, "%d different labels: too many for a table", len(labels))
	counts := must(stats.KappaTable(a, b, labels))
	var by [3]stats.Kappa
	for weights := range by {
		by[weights] = must(stats.CohenKappa(counts, stats.Weights(weights), p.Conf))
	}
	if by[0].SE == 0 {
		warnings = append(warnings, "the interval of kappa has no width: with full agreement, or a rater who always gives the same label, any number of units would make it certain")
	}
	of := func(weights stats.Weights) any {
		if weights != stats.Unweighted && !ordered {
			return nil
		}
		return explain(by[weights])
	}
	r := Result{{"n", by[0].N}, {"labels", margin(labels)}, {"table", crosstab{labels, labels, counts}}, {"percent_agreement", by[0].Agreement},
		{"unweighted", of(stats.Unweighted)}, {"linear", of(stats.LinearWeights)}, {"quadratic", of(stats.QuadraticWeights)}}
	if ordered {
		r = append(r, Row{"weights", "by rank in labels"})
	}
	return append(r, Row{"kappa_max", by[0].Max}).with(warningsKey, warnings).at(p.Conf)
}

// asNumbers reads labels as numbers, if all are.
func asNumbers(labels []string) (xs []float64, ok bool) {
	for _, l := range labels {
		x, err := strconv.ParseFloat(l, 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, false
		}
		xs = append(xs, x)
	}
	return xs, true
}

// evenlySpaced reports whether steps between numbers are the same, to rounding.
func evenlySpaced(xs []float64) bool {
	for i := 2; i < len(xs); i++ {
		first, step := xs[1]-xs[0], xs[i]-xs[i-1]
		if !(math.Abs(step-first) <= 1e-9*math.Abs(first)) {
			return false
		}
	}
	return true
}

type fleissParams struct {
	level
	redraw
	Columns string `json:"columns"`
}

// subjects are counts by subject and category, or all ratings by subject, perhaps
// with the names of raters or categories.
type subjects struct {
	Counts  [][]int     `json:"counts,omitempty" way:"counts"`
	Ratings [][]*string `json:"ratings,omitempty" way:"ratings"`
	Columns []string    `json:"columns,omitempty"`
}

func fleiss(p fleissParams, in subjects) Result {
	choice("params.columns", p.Columns, "raters", "categories")
	refuse(in.Counts == nil && in.Ratings == nil, "input.counts is missing")
	for i, row := range in.Ratings {
		j := slices.Index(row, nil)
		refuseRow(j >= 0, i, "lacks rating %d: Fleiss' kappa needs all of them; krippendorff_alpha and gwet_ac1 do not", j+1)
	}
	counts, categories := in.Counts, in.Columns
	switch {
	case counts != nil:
	case p.Columns == "raters":
		counts, categories = tabulated(in.Ratings, nil)
	default:
		counts = in.counted()
	}
	f := must(stats.FleissKappa(counts))
	refuse(categories != nil && len(categories) != len(f.Category),
		"input.columns has %d names, input.counts %d categories", len(categories), len(f.Category))
	draw := func(o stats.BootstrapOptions) (stats.Bootstrap, error) { return stats.FleissBootstrap(counts, o) }
	drawn, warnings := p.redraw.run(p.Conf, "kappa", "subjects", draw, bca)
	interval := f.Interval(p.Conf)
	if f.Undefined == "" && math.IsNaN(interval.Low) {
		warnings = append([]string{"no interval of kappa: all subjects contribute the same to it"}, warnings...)
	}
	r := explain(f, warnings...).after("se", Row{"ci95", interval}).after("randolph_kappa", drawn...)
	if categories != nil {
		r = r.after("p_two_sided", Row{"categories", categories})
	}
	return r.at(p.Conf)
}

// counted reads the columns of categories, which have counts.
func (in subjects) counted() [][]int {
	counts := make([][]int, len(in.Ratings))
	for i, row := range in.Ratings {
		for j, label := range row {
			n, err := strconv.Atoi(*label)
			refuseRow(err != nil, i, "has %s in column %d, expected a count", quoted(*label), j+1)
			counts[i] = append(counts[i], n)
		}
	}
	return counts
}

// tabulated counts the labels of each subject, which are those in the data if none are given.
func tabulated(subjects [][]*string, labels []string) ([][]int, []string) {
	if labels == nil {
		var all []string
		for _, l := range slices.Concat(subjects...) {
			if l != nil {
				all = append(all, *l)
			}
		}
		labels = distinct(all)
	}
	at := indices(labels)
	refuse(len(at) < len(labels), "params.labels %q has a duplicate", labels)
	counts := make([][]int, len(subjects))
	for i, row := range subjects {
		counts[i] = make([]int, len(labels))
		for rater, l := range row {
			if l == nil {
				continue
			}
			k, known := at[*l]
			refuseRow(!known, i, "has %s as rating %d, expected one of params.labels %.80q", quoted(*l), rater+1, labels)
			counts[i][k]++
		}
	}
	return counts, labels
}

// givenLabels are ratings by rater, or counts by subject and category.
type givenLabels struct {
	Ratings [][]*string `json:"ratings,omitempty" way:"ratings"`
	Counts  [][]int     `json:"counts,omitempty" way:"counts"`
}

func gwet(p kappaParams, in givenLabels) Result {
	counts, labels := in.Counts, p.Labels
	refuse(counts == nil && len(in.Ratings) == 0, "input.ratings is missing")
	for r, row := range in.Ratings {
		first := len(in.Ratings[0])
		refuse(len(row) != first,
			"input.ratings[%d] has %d ratings, the first rater has %d", r, len(row), first)
	}
	if counts == nil {
		counts, labels = tabulated(transposed(in.Ratings), p.Labels)
	} else if labels != nil && len(counts) > 0 {
		n := len(counts[0])
		refuse(len(labels) != n,
			"params.labels has %d labels, input.counts %d categories", len(labels), n)
	}
	r := explain(must(stats.GwetAC1(counts, p.Conf)))
	if labels != nil {
		r = r.after("n_categories", Row{"labels", enumeration(labels)})
	}
	return r.at(p.Conf)
}

type krippendorffParams struct {
	redraw
	Conf  float64 `json:"conf"`
	Level string  `json:"level"`
}

// kind reads labels as they are written: 1.1 and 1.10 may be two sections.
func (p krippendorffParams) kind(string) Kind {
	if p.Level == "nominal" {
		return Label
	}
	return Numeric
}

// ratings are lists by rater, of numbers or of labels as the level of measurement says.
type ratings struct {
	Ratings jsontext.Value `json:"ratings"`
}

func krippendorff(p krippendorffParams, in ratings) Result {
	levels := []string{"nominal", "ordinal", "interval", "ratio"} // in the order of stats.Scale
	choice("params.level", p.Level, levels...)
	scale := stats.Scale(slices.Index(levels, p.Level))
	rows := in.numbers(scale == stats.Nominal)
	k := must(stats.KrippendorffAlpha(rows, scale))
	level{p.Conf}.check()
	if k.Undefined != "" {
		return explain(k).at(p.Conf)
	}
	draw := func(o stats.BootstrapOptions) (stats.Bootstrap, error) {
		return stats.KrippendorffBootstrap(rows, scale, o)
	}
	drawn, warnings := p.redraw.run(p.Conf, "alpha", "units", draw, bca)
	return explain(k, warnings...).after("alpha", drawn...).at(p.Conf)
}

// numbers are the ratings, in which labels are numbered.
func (in ratings) numbers(labels bool) (rows [][]float64) {
	const path = "input.ratings"
	refuse(in.Ratings.Kind() == 'n', "%s is missing", path)
	if !labels {
		for _, row := range decodeList[[]gaps](path, in.Ratings) {
			rows = append(rows, row)
		}
		return rows
	}
	codes := map[string]float64{}
	for _, row := range decodeList[[][]*string](path, in.Ratings) {
		xs := make([]float64, len(row))
		for i, l := range row {
			if l == nil {
				xs[i] = math.NaN()
				continue
			}
			if _, ok := codes[*l]; !ok {
				codes[*l] = float64(len(codes))
			}
			xs[i] = codes[*l]
		}
		rows = append(rows, xs)
	}
	return rows
}
