package extraction

import (
	"slices"

	"github.com/scruple-eval/scruple/internal/eval"
)

// shownArms are the arms of tables and figures.
func (b *Bench) shownArms() []string {
	var list []string
	for _, a := range b.arms {
		if a.Role != eval.RoleCalibration {
			list = append(list, a.ID)
		}
	}
	return list
}

// difficulties is the order of the usual difficulties; others follow by name.
var difficulties = []string{"easy", "medium", "hard", "adversarial"}

// figures are the composite by type and difficulty of document, the share of right
// values by confidence, and the failure modes.
func (b *Bench) figures(r eval.Results) []eval.Figure {
	var list []eval.Figure
	add := func(f eval.Figure, least int, at func(arm string, tick int) (eval.Measured, bool)) {
		points := 0
		for _, arm := range b.shownArms() {
			s := eval.Series{Name: arm}
			for i := range f.Ticks {
				if m, ok := at(arm, i); ok {
					s.Points = append(s.Points, eval.Point{X: eval.Number(i), Measured: m})
					points++
				}
			}
			f.Series = append(f.Series, s)
		}
		if len(f.Ticks) >= least && points > 0 {
			list = append(list, f)
		}
	}
	for _, by := range []struct{ stratum, title string }{{"doc_type", "type of document"}, {"difficulty", "difficulty"}} {
		f := eval.Figure{Name: "by_" + by.stratum, Title: "Composite by " + by.title, XTitle: by.title, YTitle: "composite", Ticks: b.stratumValues(by.stratum)}
		add(f, 2, func(arm string, i int) (eval.Measured, bool) {
			return r.EstimateIn(arm, metricComposite, eval.Level{Name: by.stratum, Value: f.Ticks[i]})
		})
	}
	add(eval.Figure{Name: "confidence", Title: "Right values by stated confidence", XTitle: "confidence", YTitle: "share of right values", Ticks: confidences,
		Note: "Of the fields answered once with this confidence, the share with a right value. The shares of a calibrated arm rise from low to high."}, 1,
		func(arm string, i int) (eval.Measured, bool) { return r.Estimate(arm, rightAt(confidences[i])) })
	f := eval.Figure{Name: "failures", Title: "Failure modes", XTitle: "failure", YTitle: "share of fields", Note: "The modes that occur. One field can have several."}
	var metrics []string
	for _, m := range modes {
		if slices.ContainsFunc(b.shownArms(), func(arm string) bool { e, ok := r.Estimate(arm, m.metric); return ok && e.Value > 0 }) {
			f.Ticks, metrics = append(f.Ticks, m.title), append(metrics, m.metric)
		}
	}
	add(f, 1, func(arm string, i int) (eval.Measured, bool) { return r.Estimate(arm, metrics[i]) })
	return list
}

// stratumValues lists the values of a stratum.
func (b *Bench) stratumValues(name string) []string {
	var values []string
	for i := range b.items {
		for _, l := range b.items[i].Strata {
			if l.Name == name && !slices.Contains(values, l.Value) {
				values = append(values, l.Value)
			}
		}
	}
	slices.SortFunc(values, func(a, b string) int {
		if i, k := slices.Index(difficulties, a), slices.Index(difficulties, b); i >= 0 && k >= 0 {
			return i - k
		}
		if a < b {
			return -1
		}
		return 1
	})
	return values
}

// confidences are the levels of confidence of an answer.
var confidences = []string{"low", "medium", "high"}

// rightAt names the metric of right values at a confidence.
func rightAt(confidence string) string { return "right_" + confidence }

// confidence adds whether the value of a field answered with a stated confidence is
// right.
func (m *emitter) confidence(r *result) {
	if e := r.entry(); e != nil && slices.Contains(confidences, e.Confidence) {
		m.add(rightAt(e.Confidence), indicator(r.Value == 1), 1)
	}
}

func confidenceMetrics() []eval.Metric {
	var list []eval.Metric
	for _, c := range confidences {
		list = append(list, eval.Metric{Name: rightAt(c), Title: "Right at " + c + " confidence", Doc: "Of the fields answered once with confidence " + c + ", the share with a right value.",
			Formula: "fields with value 1 / fields answered with this confidence", Source: planSource + ", §3.5 (analysis)", Max: 1, HigherIsBetter: true,
			Kind: eval.Analysis, Pooling: eval.RatioOfSums, Binary: true})
	}
	return list
}
