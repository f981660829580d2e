package extraction

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model/simulated"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// simulate lets a simulated model answer a document.
func simulate(t interface{ Fatalf(string, ...any) }, d *prepared, skill simulated.Skill, item string) string {
	r := eval.Request{Model: "sim", Provider: kit.SimulatedProvider, Item: item, Payload: answerSheet(d, "")}
	response, err := simulated.New(skill, 1).Complete(testContext, &r)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return response.Text
}

// A simulated model without errors scores 1 on everything, and each kind of
// error has its effect on the score of every field.
func TestSheet(t *testing.T) {
	tests := []struct {
		name  string
		skill simulated.Skill
		// the highest value and evidence of fields whose gold is present,
		// missing and ambiguous
		value, evidence [3]float64
	}{
		{"no errors", simulated.Skill{}, [3]float64{1, 1, 1}, [3]float64{1, 1, 1}},
		{"misses", simulated.Skill{Miss: 1}, [3]float64{0, 1, 0}, [3]float64{0, 1, 0}},
		{"is wrong", simulated.Skill{Wrong: 1}, [3]float64{0, 1, 0}, [3]float64{0, 1, 0}},
		{"invents", simulated.Skill{Invent: 1}, [3]float64{1, 0, 1}, [3]float64{1, 0, 1}},
		{"fabricates", simulated.Skill{Fabricate: 1}, [3]float64{1, 1, 1}, [3]float64{0, 1, 0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				d := drawDocument(t)
				o := outcomeOf(simulate(t, d, tt.skill, "d"), eval.StopEnd, noSchema)
				_, results := plainBench.assess(d, &o, nil)
				for _, r := range results {
					kind := 0
					if r.gold.missing() {
						kind = 1
					} else if r.gold.Ambiguous {
						kind = 2
					}
					if r.Value != tt.value[kind] || !(math.Abs(r.Evidence-tt.evidence[kind]) <= 1e-12) || r.Schema != 1 {
						t.Fatalf("%s (gold %s): value %v, evidence %v, schema %v, want %v and %v: %s", r.field.Name, r.gold.shown(),
							r.Value, r.Evidence, r.Schema, tt.value[kind], tt.evidence[kind], o.Data)
					}
				}
			})
		})
	}
	d := prepare("string", twoPages, presentGold("INV-7"))
	if o := outcomeOf(simulate(t, d, simulated.Skill{Malformed: 1}, "d"), eval.StopEnd, noSchema); o.Kind != eval.Malformed {
		t.Errorf("a malformed answer can be read: %q", o.Data)
	}
}

// On real contracts a simulated model without errors is right on every field:
// gold, parser and scorer agree.
func TestSheetOnRealContracts(t *testing.T) {
	b := starterBench(t)
	for _, it := range b.Items() {
		d, err := b.document(it.ID)
		if err != nil {
			t.Fatal(err)
		}
		right := outcomeOf(simulate(t, d.ready(), simulated.Skill{}, it.ID), eval.StopEnd, noSchema)
		_, results := b.assess(d, &right, nil)
		for _, r := range results {
			if r.Value != 1 || r.Page != 1 || r.Status != 1 || r.Schema != 1 || r.Evidence < 0.7 {
				t.Errorf("%s %s: %+v", it.ID, r.field.Name, r.Components)
			}
		}
		wrong := outcomeOf(simulate(t, d, simulated.Skill{Wrong: 1, Invent: 1}, it.ID), eval.StopEnd, noSchema)
		_, results = b.assess(d, &wrong, nil)
		for _, r := range results {
			if r.Value != 0 {
				t.Errorf("%s %s: a wrong value scores %v: %s", it.ID, r.field.Name, r.Value, shownAnswer(r.entries))
			}
		}
	}
}

// A simulated judge reads the value in the quote, unless it makes an error.
func TestJudgeSheet(t *testing.T) {
	q := question{field: Field{Name: "f", Type: "date"}, quote: "on March 15, 2024", claims: []string{"2024-03-15"}}
	none := q
	none.claims = []string{"2024-03-16"}
	for _, tt := range []struct {
		q     question
		skill simulated.Skill
		want  string
	}{{q, simulated.Skill{}, "2024-03-15"}, {q, simulated.Skill{Wrong: 1}, "unclear"}, {none, simulated.Skill{}, "not stated"}} {
		r := eval.Request{Model: "j", Provider: kit.SimulatedProvider, Payload: judgeSheet(&tt.q)}
		response, err := simulated.New(tt.skill, 1).Complete(testContext, &r)
		if err != nil || response.Text != tt.want {
			t.Errorf("%q, %v, want %q", response.Text, err, tt.want)
		}
	}
}
