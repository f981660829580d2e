package kit

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/text"
)

// Metrics reads the embedded metrics of a suite: a list of objects with the fields of
// [eval.Metric]. Max is 1 if it is left out, and there is none if Unbounded is true. Those of
// rows have their estimators by name.
func Metrics(data []byte, estimators map[string]func([]eval.Counted) float64) (list []eval.Metric) {
	for _, m := range Embedded[[]struct {
		eval.Metric
		Unbounded bool
	}](data) {
		switch {
		case m.Unbounded:
			m.Max = math.Inf(1)
		case m.Max == 0:
			m.Max = 1
		}
		m.Estimate = estimators[m.Name]
		list = append(list, m.Metric)
	}
	return slices.Clip(list) // a study's own are appended
}

// OwnMetric is a metric of a study. Scores of an item are averaged, then items.
func OwnMetric(m study.Metric) eval.Metric {
	own := eval.Metric{Name: m.Name, Title: cmp.Or(m.Title, m.Name), Doc: cmp.Or(m.Doc, "A metric of the study."),
		Formula: "mean over items of the mean over replicates", Source: "metrics.own of the study",
		HigherIsBetter: !m.LowerIsBetter, Kind: eval.Scoring, Pooling: eval.MeanOfItems, Binary: m.Binary, Counts: m.Counts}
	if own.Min, own.Max = m.Range(); m.Explains {
		own.Kind = eval.Analysis
	}
	return own
}

// ParseScore reads a score of a metric of the study: a number in its range, or, if that is 0 to
// 1, a word for pass or fail. An empty text, or one that says that there is no number, is NaN.
func ParseScore(m study.Metric, s string) (float64, error) {
	s = strings.TrimSpace(s)
	word := strings.ToLower(s)
	low, high := m.Range()
	x, err := strconv.ParseFloat(s, 64)
	if errors.Is(err, strconv.ErrRange) { // x is infinite, or as good as 0
		err = nil
	}
	want := "a number or nothing"
	if m.Binary || low == 0 && high == 1 {
		want = "a number, pass or fail, or nothing"
		switch word {
		case "true", "pass", "passed", "yes":
			return 1, nil
		case "false", "fail", "failed", "no":
			return 0, nil
		}
	}
	switch {
	case slices.Contains([]string{"", "nan", "na", "n/a", "null", "none", "-"}, word):
		return math.NaN(), nil
	case err != nil && strings.Contains(s, ",") && strings.Trim(s, "0123456789+-−.,'’ \u00a0\u202f") == "":
		return 0, fmt.Errorf("%s %q: write decimals with a point, and thousands without a comma", m.Name, text.Shorten(s, 40))
	case err != nil && strings.HasSuffix(s, "%"):
		half := ""
		if low == 0 && !math.IsInf(high, 1) {
			half = fmt.Sprintf(", such as %v for 50%%", high/2)
		}
		return 0, fmt.Errorf("%s %q: write a number%s; in a workbook, give the cells the format of numbers", m.Name, text.Shorten(s, 40), half)
	case err != nil:
		return 0, fmt.Errorf("%s %q: want %s", m.Name, text.Shorten(s, 40), want)
	case m.Counts && (x < 0 || x != math.Trunc(x)):
		return 0, fmt.Errorf("%s is %v, want a whole number from 0 on: the study says that the metric counts", m.Name, x)
	case x < max(low, -study.MostScore) || x > min(high, study.MostScore):
		hint := ": metrics.own of the study says the range with min and max"
		if m.Unbounded || m.Counts {
			hint = ""
		}
		return 0, fmt.Errorf("%s is %s, want %v to %v%s", m.Name, text.Shorten(s, 40), max(low, -study.MostScore), min(high, study.MostScore), hint)
	case m.Binary && x != 0 && x != 1:
		return 0, fmt.Errorf("%s is %v, want pass or fail, 1 or 0: the study says that the metric is binary", m.Name, x)
	}
	return x, nil
}
