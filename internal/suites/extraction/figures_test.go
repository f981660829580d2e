package extraction

import (
	"iter"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
)

// results knows some estimates by "arm metric" or "arm metric stratum=value".
type results map[string]float64

func (r results) get(key string) (eval.Measured, bool) {
	v, ok := r[key]
	return eval.Measured{Value: eval.Number(v)}, ok
}
func (r results) Cases() iter.Seq2[eval.Case, error]                { return nil }
func (r results) Estimate(arm, metric string) (eval.Measured, bool) { return r.get(arm + " " + metric) }
func (r results) EstimateIn(arm, metric string, l eval.Level) (eval.Measured, bool) {
	return r.get(arm + " " + metric + " " + l.Name + "=" + l.Value)
}
func (r results) Difference(string, string, string) (eval.Measured, bool) {
	return eval.Measured{}, false
}
func (r results) SameRate(arms, _ []string) []float64 {
	return slices.Repeat([]float64{math.NaN()}, len(arms))
}
func (r results) Corrected(string, string, []eval.LabelledTwice) (eval.Measured, bool) {
	return eval.Measured{}, false
}
func (r results) Sum(arm, metric string) eval.Fraction {
	return eval.Fraction{Num: r[arm+" "+metric+" sum"], Den: 1}
}
func (r results) ByUnit(arm, metric string) map[string]eval.Fraction {
	if share, ok := r[arm+" "+metric+" items[]"]; ok {
		return map[string]eval.Fraction{"items[]": {Num: share, Den: 1}}
	}
	return nil
}
func (r results) Effort(string) (float64, string) { return 0, "" }

// The figures show types and difficulties in a fixed order, only failures that
// occur, and confidence.
func TestFigures(t *testing.T) {
	b := mustOpen(t, syntheticFilesOf("split: dev"))
	r := results{
		"heuristic composite doc_type=invoice": 0.5, "heuristic composite doc_type=resume": 0.7, "null_baseline composite doc_type=resume": 0.4,
		"heuristic composite difficulty=easy": 0.9, "heuristic composite difficulty=adversarial": 0.3,
		"heuristic right_high": 0.8, "heuristic mode_missed": 0.2, "heuristic mode_wrong_value": 0, "null_baseline mode_missed": 0.6,
	}
	blocks, err := b.Report(r)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, x := range blocks {
		if f := x.Figure; f != nil {
			line := f.Name + ": " + strings.Join(f.Ticks, ",")
			for _, s := range f.Series {
				line += " | " + s.Name
				for _, p := range s.Points {
					line += " " + f.Ticks[int(p.X)]
				}
			}
			got = append(got, line)
		}
	}
	want := []string{
		"by_doc_type: contract,invoice,medical,receipt,resume | heuristic invoice resume | null_baseline resume",
		"by_difficulty: easy,medium,hard,adversarial | heuristic easy adversarial | null_baseline",
		"confidence: low,medium,high | heuristic high | null_baseline",
		"failures: missed | heuristic missed | null_baseline missed",
	}
	if !slices.Equal(got, want) {
		t.Errorf("figures\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Confidence is analysed by level; it changes no score.
func TestConfidence(t *testing.T) {
	b := mustOpen(t, map[string]string{"study.yaml": invoiceStudy, "docs.jsonl": judgedLineWithoutVendor()})
	scores := func(answer string) (all string, byLevel map[string][2]float64) {
		byLevel = map[string][2]float64{}
		for _, s := range b.Score(nil, eval.CaseOf(trial("d", "rules"), outcomeOf(answer, eval.StopEnd, noSchema), nil)) {
			if strings.HasPrefix(s.Metric, "right_") {
				v := byLevel[s.Metric]
				byLevel[s.Metric] = [2]float64{v[0] + s.Num, v[1] + s.Den}
			} else if s.Metric == metricComposite || s.Metric == metricSchema {
				all += s.Unit + s.Metric + string(rune('0'+int(s.Num*9)))
			}
		}
		return all, byLevel
	}
	const entry = `{"extractions":[{"field":"invoice_number","value":"wrong","evidence":{"quote":"x","page":1},"status":"ok","confidence":%,"candidates":[]}]}`
	base, none := scores(strings.Replace(entry, "%", "0.5", 1))
	if len(none) != 0 {
		t.Errorf("a number is no level: %v", none)
	}
	same, levels := scores(strings.Replace(entry, "%", `"High "`, 1))
	if same != base || levels["right_high"] != [2]float64{0, 1} || len(levels) != 1 {
		t.Errorf("%v; scores %s, want %s", levels, same, base)
	}
}
