package annotate

import (
	"strings"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
)

// answerAll answers all subjects of a round as JSON.
func (d *desk) answerAll(t *testing.T, answer string) {
	t.Helper()
	for {
		k, place, ok, _ := d.next()
		if !ok {
			return
		}
		_, ev, err := d.see(k)
		if err != nil {
			t.Fatal(err)
		}
		ev.Place, ev.Answer = place, answerOf(t, answer)
		if _, err := d.append(eventSubmit, ev); err != nil {
			t.Fatal(err)
		}
	}
}

// candidatesOf is a corpus whose suite takes candidates in any order, and in any case, for the same.
type candidatesOf struct{ corpus }

func (candidatesOf) Same(_ string, a, b eval.UnitGold) (bool, error) {
	said := map[string]bool{}
	for _, v := range a.Values {
		said[strings.ToLower(v)] = true
	}
	for _, v := range b.Values {
		if !said[strings.ToLower(v)] {
			return false, nil
		}
	}
	return a.Missing == b.Missing && len(a.Values) == len(b.Values), nil
}

// What agreement takes for the same answer, nobody has to decide on, and the other way round.
func TestSameAnswers(t *testing.T) {
	optional := study.Question{Name: "names", Type: "span", Options: []string{"person", "place"}, Optional: true}
	kind := study.Question{Name: "kind", Type: "choice", Options: []string{"news", "other"}}
	spans := study.Task{Name: "t", Of: "item", Show: []string{"pages"}, Draw: 2, Ask: []study.Question{optional}}
	both := spans
	both.Ask = []study.Question{kind, optional}
	gold := study.Task{Name: "t", Kind: "gold", Draw: 1}
	const one, two = `{"page":1,"start":0,"end":4,"text":"text","label":"person"}`, `{"page":1,"start":5,"end":7,"text":"of","label":"place"}`
	for name, test := range map[string]struct {
		task study.Task
		a, b string
		same bool
	}{
		"passages in another order":       {spans, `{"names":[` + one + "," + two + `]}`, `{"names":[` + two + "," + one + `]}`, true},
		"no passages":                     {spans, `{"names":[]}`, `{}`, true},
		"a passage more":                  {spans, `{"names":[` + one + "," + two + `]}`, `{"names":[` + two + `]}`, false},
		"another label":                   {spans, `{"names":[` + one + `]}`, `{"names":[` + strings.Replace(one, "person", "place", 1) + `]}`, false},
		"other passages after a choice":   {both, `{"kind":"news","names":[` + one + `]}`, `{"kind":"news","names":[` + two + `]}`, false},
		"the same passages after one":     {both, `{"kind":"news","names":[` + one + "," + two + `]}`, `{"kind":"news","names":[` + two + "," + one + `]}`, true},
		"candidates in another order":     {gold, `{"exists":"ambiguous","candidates":"Alpha\nBeta"}`, `{"exists":"ambiguous","candidates":"Beta\nAlpha"}`, true},
		"values that the suite equates":   {gold, `{"exists":"present","value":"ALPHA"}`, `{"exists":"present","value":"Alpha"}`, true},
		"other values":                    {gold, `{"exists":"present","value":"Alpha"}`, `{"exists":"present","value":"Beta"}`, false},
		"one value, shown by two places":  {gold, `{"exists":"present","value":"x","quote":[{"page":1,"start":0,"end":4,"text":"text"}]}`, `{"exists":"present","value":"x","quote":[{"page":1,"start":5,"end":7,"text":"of"}]}`, true},
		"a value and one of two possible": {gold, `{"exists":"present","value":"Alpha"}`, `{"exists":"ambiguous","candidates":"Beta\nAlpha"}`, false},
	} {
		clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
		p, source := at(t, &clock), candidatesOf{corpus{6}}
		for person, answer := range map[string]string{"anna": test.a, "ben": test.b} {
			d := openOf(t, p, test.task, source, person)
			d.answerAll(t, answer)
			d.log.Close()
		}
		r, err := p.Result(test.task, source)
		if err != nil {
			t.Fatal(name, err)
		}
		if settled := len(r.Settled) == len(r.queue.Subjects); settled != test.same || (r.Differ == 0) != test.same {
			t.Errorf("%s: %d settled, %d differ of %d", name, len(r.Settled), r.Differ, len(r.queue.Subjects))
		}
		if want := strings.Contains(name, "candidates") || strings.Contains(name, "equates"); (r.Texts > 0) != want {
			t.Errorf("%s: %d texts differ", name, r.Texts)
		}
		list, err := r.Agreements(source)
		if err != nil {
			t.Fatal(name, err)
		}
		same := true
		for _, g := range list {
			same = same && (g.Same == g.N || makesGold(r.Task) && strings.HasPrefix(g.Question, "Passage"))
		}
		if same != test.same {
			t.Errorf("%s: agreement %+v", name, list)
		}
	}
}
