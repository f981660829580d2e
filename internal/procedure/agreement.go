package procedure

import (
	"errors"
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

func kappa(p kappaParams, in raters) (Result, error) {
	labels, a, b := normal(p.Labels), normal(in.A), normal(in.B)
	var warnings []string
	ordered := labels != nil
	if labels == nil {
		labels = distinct(slices.Concat(a, b))
		// Two labels have the same weights in either order.
		ordered = len(labels) < 3 || allNumbers(labels)
	}
	switch {
	case !ordered:
		warnings = append(warnings, fmt.Sprintf("no weighted kappa: the order of the labels %.80q is unknown; give it as labels, such as --set labels='[\"low\", \"medium\", \"high\"]'", labels))
	case allNumbers(labels) && !evenlySpaced(labels):
		warnings = append(warnings, fmt.Sprintf("weights go by the rank of a label, not by its value: if a grade is missing from %.80q, give all of them as labels", labels))
	}
	if len(labels) > 1000 {
		return nil, fmt.Errorf("%d different labels: too many for a table", len(labels))
	}
	counts, err := stats.KappaTable(a, b, labels)
	if err != nil {
		return nil, err
	}
	var by [3]stats.Kappa
	for weights := range by {
		if by[weights], err = stats.CohenKappa(counts, stats.Weights(weights), p.Conf); err != nil {
			return nil, err
		}
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
	return append(r, Row{"kappa_max", by[0].Max}).with(warningsKey, warnings).at(p.Conf), nil
}

// normal writes 1.0 as 1, in labels that a list and a table may have written
// differently.
func normal(labels []string) []string {
	if labels == nil {
		return nil
	}
	out := make([]string, len(labels))
	for i, l := range labels {
		out[i] = textLabel(l)
	}
	return out
}

func allNumbers(labels []string) bool {
	return !slices.ContainsFunc(labels, func(l string) bool {
		x, err := strconv.ParseFloat(l, 64)
		return err != nil || math.IsNaN(x) || math.IsInf(x, 0)
	})
}

// evenlySpaced reports whether steps between numbers are the same, to rounding.
func evenlySpaced(labels []string) bool {
	var xs []float64
	for _, l := range labels {
		x, _ := strconv.ParseFloat(l, 64)
		xs = append(xs, x)
	}
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
	Counts  [][]int     `json:"counts,omitempty"`
	Ratings [][]*string `json:"ratings,omitempty"`
	Columns []string    `json:"columns,omitempty"`
}

func fleiss(p fleissParams, in subjects) (Result, error) {
	if err := choice("params.columns", p.Columns, "raters", "categories"); err != nil {
		return nil, err
	}
	ratings, err := in.complete()
	if err != nil {
		return nil, err
	}
	counts, categories := in.Counts, in.Columns
	switch {
	case counts == nil && in.Ratings == nil:
		return nil, errors.New("input.counts is missing")
	case counts == nil && p.Columns == "raters":
		counts, categories = counted(ratings)
	case counts == nil:
		for i, row := range ratings {
			counts = append(counts, make([]int, len(row)))
			for j, label := range row {
				var err error
				if counts[i][j], err = strconv.Atoi(label); err != nil {
					return nil, fmt.Errorf("row %d, column %d is %s, expected a count", i+1, j+1, quoted(label))
				}
			}
		}
	}
	f, err := stats.FleissKappa(counts)
	if err != nil {
		return nil, err
	}
	if categories != nil && len(categories) != len(f.Category) {
		return nil, fmt.Errorf("input.columns has %d names, input.counts %d categories", len(categories), len(f.Category))
	}
	drawn, warnings, err := p.redraw.run(p.Conf, "kappa", "subjects", func(o stats.BootstrapOptions) (stats.Bootstrap, error) {
		return stats.FleissBootstrap(counts, o)
	}, bca)
	if err != nil {
		return nil, err
	}
	interval := f.Interval(p.Conf)
	if f.Undefined == "" && math.IsNaN(interval.Low) {
		warnings = append([]string{"no interval of kappa: all subjects contribute the same to it"}, warnings...)
	}
	r := explain(f, warnings...).after("se", Row{"ci95", interval}).after("randolph_kappa", drawn...)
	if categories != nil {
		r = r.after("p_two_sided", Row{"categories", categories})
	}
	return r.at(p.Conf), nil
}

// complete are the ratings, none of which may be missing.
func (in subjects) complete() ([][]string, error) {
	ratings := make([][]string, len(in.Ratings))
	for i, row := range in.Ratings {
		for j, l := range row {
			if l == nil {
				return nil, fmt.Errorf("row %d lacks rating %d: Fleiss' kappa needs all of them; krippendorff_alpha and gwet_ac1 do not", i+1, j+1)
			}
			ratings[i] = append(ratings[i], *l)
		}
	}
	return ratings, nil
}

// counted counts each subject's labels, under the labels it returns.
func counted(ratings [][]string) ([][]int, []string) {
	categories := distinct(slices.Concat(ratings...))
	at := indices(categories)
	counts := make([][]int, len(ratings))
	for i, labels := range ratings {
		counts[i] = make([]int, len(categories))
		for _, l := range labels {
			counts[i][at[l]]++
		}
	}
	return counts, categories
}

// givenLabels are ratings by rater, or counts by subject and category.
type givenLabels struct {
	Ratings [][]*string `json:"ratings,omitempty"`
	Counts  [][]int     `json:"counts,omitempty"`
}

func gwet(p kappaParams, in givenLabels) (Result, error) {
	counts, labels := in.Counts, p.Labels
	switch {
	case counts != nil && in.Ratings != nil:
		return nil, errors.New("input has ratings and counts, expected one of them")
	case counts == nil && len(in.Ratings) == 0:
		return nil, errors.New("input.ratings is missing")
	case counts == nil:
		var err error
		if counts, labels, err = in.count(normal(p.Labels)); err != nil {
			return nil, err
		}
	case labels != nil && len(counts) > 0 && len(labels) != len(counts[0]):
		return nil, fmt.Errorf("params.labels has %d labels, input.counts %d categories", len(labels), len(counts[0]))
	}
	g, err := stats.GwetAC1(counts, p.Conf)
	r := explain(g)
	if labels != nil {
		r = r.after("n_categories", Row{"labels", enumeration(labels)})
	}
	return r.at(p.Conf), err
}

// count counts each subject's labels, which are those in the data if none are
// given.
func (in givenLabels) count(labels []string) ([][]int, []string, error) {
	var all []string
	for r, row := range in.Ratings {
		if len(row) != len(in.Ratings[0]) {
			return nil, nil, fmt.Errorf("input.ratings[%d] has %d ratings, the first rater has %d", r, len(row), len(in.Ratings[0]))
		}
		for _, l := range row {
			if l != nil {
				all = append(all, textLabel(*l))
			}
		}
	}
	if labels == nil {
		labels = distinct(all)
	}
	at := indices(labels)
	if len(at) < len(labels) {
		return nil, nil, fmt.Errorf("params.labels %q has a duplicate", labels)
	}
	var counts [][]int
	for u := range in.Ratings[0] {
		row := make([]int, len(labels))
		for r := range in.Ratings {
			l := in.Ratings[r][u]
			if l == nil {
				continue
			}
			k, known := at[textLabel(*l)]
			if !known {
				return nil, nil, fmt.Errorf("input.ratings[%d][%d] is %s, expected one of params.labels %.80q", r, u, quoted(*l), labels)
			}
			row[k]++
		}
		counts = append(counts, row)
	}
	return counts, labels, nil
}

type krippendorffParams struct {
	redraw
	Conf  float64 `json:"conf"`
	Level string  `json:"level"`
}

// ratings are lists by rater, read by the level of measurement.
type ratings struct {
	Ratings []jsontext.Value `json:"ratings"`
}

func krippendorff(p krippendorffParams, in ratings) (Result, error) {
	levels := []string{"nominal", "ordinal", "interval", "ratio"} // in the order of stats.Scale
	if err := choice("params.level", p.Level, levels...); err != nil {
		return nil, err
	}
	scale := stats.Scale(slices.Index(levels, p.Level))
	read := numeric
	if scale == stats.Nominal {
		read = coded()
	}
	rows := make([][]float64, len(in.Ratings))
	for r, raw := range in.Ratings {
		var err error
		if rows[r], err = read(fmt.Sprintf("input.ratings[%d]", r), raw); err != nil {
			return nil, err
		}
	}
	k, err := stats.KrippendorffAlpha(rows, scale)
	if err != nil {
		return nil, err
	}
	if err := (level{p.Conf}).check(); err != nil {
		return nil, err
	}
	if k.Undefined != "" {
		return explain(k).at(p.Conf), nil
	}
	drawn, warnings, err := p.redraw.run(p.Conf, "alpha", "units", func(o stats.BootstrapOptions) (stats.Bootstrap, error) {
		return stats.KrippendorffBootstrap(rows, scale, o)
	}, bca)
	return explain(k, warnings...).after("alpha", drawn...).at(p.Conf), err
}

// numeric reads ratings that are numbers.
func numeric(path string, raw jsontext.Value) ([]float64, error) {
	return decodeList[gaps](path, raw)
}

// coded reads ratings that may be text, and numbers them.
func coded() func(path string, raw jsontext.Value) ([]float64, error) {
	codes := map[string]float64{}
	return func(path string, raw jsontext.Value) ([]float64, error) {
		labels, err := decodeList[[]*string](path, raw)
		if err != nil {
			return nil, err
		}
		xs := make([]float64, len(labels))
		for i, l := range labels {
			if l == nil {
				xs[i] = math.NaN()
				continue
			}
			if _, ok := codes[*l]; !ok {
				codes[*l] = float64(len(codes))
			}
			xs[i] = codes[*l]
		}
		return xs, nil
	}
}
