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

func agreement() []Procedure {
	return []Procedure{{
		Name: "cohen_kappa", Title: "Cohen's kappa",
		Summary: "Agreement of two raters beyond chance, unweighted and with linear and quadratic weights on the order of labels; also percent agreement and the largest kappa that the margins allow.",
		Source:  "scikit-learn, statsmodels; Fleiss, Cohen & Everitt (1969)",
		Columns: []Role{{Name: "rater_a", Doc: "labels of the first rater", Kind: Label}, {Name: "rater_b", Doc: "labels of the second rater", Kind: Label}},
		Params:  []Param{{"labels", "sorted labels found in the data", "labels in their order"}},
		method:  typed[kappaParams, raters]{answer: kappa},
	}, {
		Name: "fleiss_kappa", Title: "Fleiss' kappa",
		Summary: "Agreement of several raters, the same number for each subject; with kappa by category and Randolph's free-marginal kappa.",
		Source:  "statsmodels; Fleiss (1971); Randolph (2005)",
		Columns: []Role{{Name: "ratings", Doc: "labels, one column per rater; or counts, one column per category", Kind: Label, Many: true, ByRow: true}},
		Params:  []Param{{"columns", "raters", "what the columns of a table are: raters (labels) or categories (counts)"}},
		method:  typed[fleissParams, subjects]{defaults: fleissParams{"raters"}, answer: fleiss},
	}, {
		Name: "krippendorff_alpha", Title: "Krippendorff's alpha",
		Summary: "Agreement of any number of raters with missing ratings, on nominal, ordinal, interval or ratio scales.",
		Source:  "Krippendorff (2011)",
		Columns: []Role{{Name: "ratings", Doc: "ratings, one column per rater, one row per unit; empty means missing", Kind: Either, Many: true, Missing: true}},
		Params:  []Param{{"level", "nominal", "nominal, ordinal, interval or ratio"}},
		method:  typed[krippendorffParams, ratings]{defaults: krippendorffParams{"nominal"}, answer: krippendorff},
	}}
}

type kappaParams struct {
	Labels []string `json:"labels"`
}

type raters struct {
	A []string `json:"rater_a"`
	B []string `json:"rater_b"`
}

func kappa(p kappaParams, in raters) (any, error) {
	labels := p.Labels
	if labels == nil {
		labels = distinct(slices.Concat(in.A, in.B))
	}
	if len(labels) > 1000 {
		return nil, fmt.Errorf("%d different labels: too many for a table", len(labels))
	}
	table, err := stats.KappaTable(in.A, in.B, labels)
	if err != nil {
		return nil, err
	}
	var by [3]stats.Kappa
	for weights := range by {
		if by[weights], err = stats.CohenKappa(table, stats.Weights(weights), 0.95); err != nil {
			return nil, err
		}
	}
	of := func(weights stats.Weights) any { return explain(by[weights], by[weights].Undefined) }
	return Ordered{{"n", by[0].N}, {"labels", labels}, {"table", table}, {"percent_agreement", by[0].Agreement},
		{"unweighted", of(stats.Unweighted)}, {"linear", of(stats.LinearWeights)}, {"quadratic", of(stats.QuadraticWeights)},
		{"kappa_max", by[0].Max}}, nil
}

type fleissParams struct {
	Columns string `json:"columns"`
}

// subjects are counts by subject and category, or all ratings by subject.
type subjects struct {
	Counts  [][]int    `json:"counts,omitempty"`
	Ratings [][]string `json:"ratings,omitempty"`
}

func fleiss(p fleissParams, in subjects) (any, error) {
	if err := choice("params.columns", p.Columns, "raters", "categories"); err != nil {
		return nil, err
	}
	counts := in.Counts
	switch {
	case counts == nil && in.Ratings == nil:
		return nil, errors.New("input.counts is missing")
	case counts == nil && p.Columns == "raters":
		counts = counted(in.Ratings)
	case counts == nil:
		for i, row := range in.Ratings {
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
	return explain(f, f.Undefined), nil
}

// counted counts each subject's labels.
func counted(ratings [][]string) [][]int {
	categories := distinct(slices.Concat(ratings...))
	at := indices(categories)
	counts := make([][]int, len(ratings))
	for i, labels := range ratings {
		counts[i] = make([]int, len(categories))
		for _, l := range labels {
			counts[i][at[l]]++
		}
	}
	return counts
}

type krippendorffParams struct {
	Level string `json:"level"`
}

// ratings are lists by rater, read by the level of measurement.
type ratings struct {
	Ratings []jsontext.Value `json:"ratings"`
}

func krippendorff(p krippendorffParams, in ratings) (any, error) {
	levels := []string{"nominal", "ordinal", "interval", "ratio"} // in the order of stats.Scale
	if err := choice("params.level", p.Level, levels...); err != nil {
		return nil, err
	}
	scale := stats.Scale(slices.Index(levels, p.Level))
	read := numeric
	if scale == stats.Nominal {
		read = coded(map[string]float64{})
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
	return explain(k, k.Undefined), nil
}

// numeric reads ratings that are numbers.
func numeric(path string, raw jsontext.Value) ([]float64, error) {
	return decodeList[gaps](path, raw)
}

// coded reads ratings that may be text, and numbers them.
func coded(codes map[string]float64) func(path string, raw jsontext.Value) ([]float64, error) {
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
