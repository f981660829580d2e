package soundness

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// A preflightCase is an answer whose reading is known. Labels default to those of the
// template.
type preflightCase struct {
	Case     string  `json:"case"`
	Labels   []Label `json:"labels"`
	Reply    string  `json:"reply"`
	Cut      bool    `json:"cut"`    // by a token limit
	Gold     string  `json:"gold"`   // default: the first label
	Screen   string  `json:"screen"` // what the judge says of the coherence
	Expected reading `json:"expected"`
}

// A reading is what is read in an answer. Empty fields of an expected one are not
// checked, except the label and the reason.
type reading struct {
	Label     string `json:"label,omitempty"`
	Method    string `json:"method,omitempty"`
	Reason    string `json:"reason,omitempty"`
	Coherence string `json:"coherence,omitempty"`
	Outcome   string `json:"outcome,omitempty"` // pass, fail or excluded
	Failure   string `json:"failure,omitempty"`
	Strength  *int   `json:"strength,omitempty"`
	Weakness  *int   `json:"weakness,omitempty"`
}

var preflightLabels = []Label{{Name: "sound", Side: "strength"}, {Name: "not_sound", Side: "weakness", Phrases: []string{"unsound"}}}

func checkCase(data []byte) (kit.Result, error) {
	var c preflightCase
	if err := dataset.DecodeStrict(data, &c); err != nil {
		return kit.Result{}, err
	}
	if c.Labels == nil {
		c.Labels = preflightLabels
	}
	if len(c.Labels) != 2 {
		return kit.Result{}, fmt.Errorf("labels: want two, got %d", len(c.Labels))
	}
	s := &Study{Labels: c.Labels}
	s.Reading.MinWords = 10
	b := &Bench{labels: c.Labels, margin: 3, task: judgeStep, replicates: 1, reader: newReader(s)}
	stop := eval.StopEnd
	if c.Cut {
		stop = eval.StopLength
	}
	t := eval.Judged{Outcome: b.outcome(eval.Response{Text: c.Reply, Stop: stop}, "")}
	if c.Screen != "" {
		t.Verdicts = []eval.Verdict{{Step: judgeStep, Source: eval.ByModel, Data: []byte(c.Screen)}}
	}
	a := b.assess(&Fragment{ID: "case", Gold: &Gold{Label: index(c.Gold == c.Labels[1].Name)}}, &t)
	got := reading{Label: b.nameOf(a.Label, ""), Method: a.Method, Reason: a.Reason, Coherence: a.Coherence, Outcome: a.outcome(), Failure: a.Failure, Strength: &a.Strength, Weakness: &a.Weakness}
	r := kit.Result{Name: c.Case}
	is, want := got.members(), c.Expected.members()
	want["label"], want["reason"] = c.Expected.Label, c.Expected.Reason // none is expected, too
	for _, what := range slices.Sorted(maps.Keys(want)) {
		if value := want[what]; value != is[what] && (value != "" || is[what] != nil) {
			r.Wrong = append(r.Wrong, fmt.Sprintf("%s is %v, want %v", what, cmp.Or(is[what], any("none")), value))
		}
	}
	return r, nil
}

// members are the parts of a reading that are not empty, by their names.
func (r reading) members() (m map[string]any) {
	if err := json.Unmarshal(kit.JSON(r), &m); err != nil {
		panic("soundness: " + err.Error()) // it was just encoded
	}
	return m
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
