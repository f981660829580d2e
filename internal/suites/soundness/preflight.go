package soundness

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// A preflightCase is an answer whose reading is known. Labels default to those of the
// template.
type preflightCase struct {
	Case   string  `json:"case"`
	Labels []Label `json:"labels"`
	Reply  string  `json:"reply"`
	Cut    bool    `json:"cut"`    // by a token limit
	Gold   string  `json:"gold"`   // default: the first label
	Screen string  `json:"screen"` // what the judge says of the coherence
	// Expected is what is read in the answer: label, method, reason, coherence, outcome, failure,
	// strength and weakness. What is not expected is not checked, except the label and the reason.
	Expected map[string]any `json:"expected"`
}

var preflightLabels = []Label{{Name: "sound", Side: "strength"}, {Name: "not_sound", Side: "weakness", Phrases: []string{"unsound"}}}

// preflightReader reads answers with the labels of the template, as most cases have.
var preflightReader = sync.OnceValue(func() *reader { return readerOf(preflightLabels) })

func readerOf(labels []Label) *reader {
	s := &Study{Labels: labels}
	s.Reading.MinWords = 10
	return newReader(s)
}

func checkCase(data []byte) (kit.Result, error) {
	var c preflightCase
	if err := dataset.DecodeStrict(data, &c); err != nil {
		return kit.Result{}, err
	}
	b := &bench{labels: c.Labels, margin: 3, tasks: tasks{coherence: judgeStep}, replicates: 1}
	switch {
	case c.Labels == nil:
		b.labels, b.reader = preflightLabels, preflightReader()
	case len(c.Labels) != 2:
		return kit.Result{}, fmt.Errorf("labels: want two, got %d", len(c.Labels))
	default:
		b.reader = readerOf(c.Labels)
	}
	stop := eval.StopEnd
	if c.Cut {
		stop = eval.StopLength
	}
	t := eval.Judged{Outcome: b.outcome(eval.Response{Text: c.Reply, Stop: stop}, "")}
	if c.Screen != "" {
		t.Verdicts = []eval.Verdict{{Step: judgeStep, Source: eval.ByModel, Data: []byte(c.Screen)}}
	}
	a := b.assess(&Fragment{ID: "case", Gold: &Gold{Label: indicator(c.Gold == b.labels[1].Name)}}, &t)
	got := map[string]any{"label": b.nameOf(a.Label, ""), "method": a.Method, "reason": a.Reason, "coherence": a.Coherence,
		"outcome": a.outcome(), "failure": a.Failure, "strength": float64(a.Strength), "weakness": float64(a.Weakness)}
	want := map[string]any{"label": "", "reason": ""} // none is expected, too
	maps.Copy(want, c.Expected)
	r := kit.Result{Name: c.Case}
	for _, what := range slices.Sorted(maps.Keys(want)) {
		is, known := got[what]
		if !known {
			all := slices.Sorted(maps.Keys(got))
			return r, fmt.Errorf("expected: there is no %q; want some of %s", what, strings.Join(all, ", "))
		}
		if is != want[what] {
			if is == "" {
				is = "none"
			}
			r.Wrong = append(r.Wrong, fmt.Sprintf("%s is %v, want %v", what, is, want[what]))
		}
	}
	return r, nil
}

// outcome is pass, fail or excluded.
func (a *Assessment) outcome() string {
	switch {
	case a.Excluded:
		return "excluded"
	case a.Pass:
		return outcomePass
	}
	return outcomeFail
}
