package annotate

import (
	"fmt"
	"slices"
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

// Answers need no decision if agreement takes them for the same, and need one if it does not.
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
		if want := strings.Contains(name, "candidates") || strings.Contains(name, "equates"); strings.Contains(strings.Join(r.Notes, "; "), "texts in which people differ") != want {
			t.Errorf("%s: notes %q", name, r.Notes)
		}
		list, err := r.Agreements()
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

// inAnyCurrency equates 100 with USD 100 and with EUR 100, which differ.
type inAnyCurrency struct{ candidatesOf }

func (inAnyCurrency) Same(_ string, a, b eval.UnitGold) (bool, error) {
	x, y := strings.Fields(a.Values[0]), strings.Fields(b.Values[0])
	return len(x) != len(y) || slices.Equal(x, y), nil
}

// TestSameIsNoEquivalence: whoever started first, two answers that differ need a decision, and are shown for it.
func TestSameIsNoEquivalence(t *testing.T) {
	for _, order := range [][3]string{{"100", "USD 100", "EUR 100"}, {"USD 100", "100", "EUR 100"}, {"USD 100", "EUR 100", "100"}} {
		clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
		p, source, task := at(t, &clock), inAnyCurrency{candidatesOf{corpus{6}}}, study.Task{Name: "t", Kind: "gold", Draw: 1}
		for i, person := range []string{"anna", "ben", "cleo"} {
			d := openOf(t, p, task, source, person)
			d.answerAll(t, `{"exists":"present","value":"`+order[i]+`"}`)
			d.log.Close()
		}
		r, err := p.Result(task, source)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Settled) != 0 || r.Differ != len(r.queue.Subjects) {
			t.Errorf("%v: %d settled, %d differ", order, len(r.Settled), r.Differ)
		}
	}
}

// revise changes the answer to a subject, as a person does or an import with --reason.
func (d *desk) revise(t *testing.T, s Subject, answer string) {
	t.Helper()
	ev := *d.work.given[slot{s, passFirst}].Final
	ev.Answer, ev.Reason = answerOf(t, answer), "misread"
	if _, err := d.append(eventRevise, ev); err != nil {
		t.Fatal(err)
	}
}

// A decision counts as long as people say what it decided on.
func TestDecisionsOnAnswersThatChange(t *testing.T) {
	task := study.Task{Name: "t", Of: "item", Show: []string{"lead"}, Draw: 1, Ask: []study.Question{
		{Name: "q", Type: "choice", Options: []string{"yes", "no", "both"}}, {Name: "why", Type: "text", Optional: true}}}
	const outdated = "1 decision is not used: there are other answers since, and people agree"
	type state struct {
		settled      string // label, and by whom
		differ, left int    // left: decisions for carol
		notes        string
	}
	for name, test := range map[string]struct {
		before, after string // answers of anna beside "yes", before and after the decision for "yes"; ben says "no"
		third         string // answer of dan after the decision
		own           bool   // carol gives it, who decided
		again         bool   // carol decides anew
		want          state
	}{
		"nothing changes":                {want: state{"yes carol", 0, 0, ""}},
		"a change before":                {before: `{"q":"both"}`, want: state{"yes carol", 0, 0, ""}},
		"they agree now":                 {after: `{"q":"no"}`, want: state{"no anna", 0, 0, outdated}},
		"they differ in another way":     {after: `{"q":"both"}`, want: state{"", 1, 1, ""}},
		"decided anew":                   {after: `{"q":"both"}`, again: true, want: state{"no carol", 0, 0, ""}},
		"another reason":                 {after: `{"q":"yes","why":"so"}`, want: state{"yes carol", 0, 0, ""}},
		"a third with a known answer":    {third: `{"q":"no"}`, want: state{"yes carol", 0, 0, ""}},
		"a third with another":           {third: `{"q":"both"}`, want: state{"", 1, 1, ""}},
		"who decided answers as decided": {before: `{"q":"both"}`, third: `{"q":"yes"}`, own: true, want: state{"yes carol", 0, 0, ""}},
	} {
		clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
		p := at(t, &clock)
		p.Now = func() time.Time { clock = clock.Add(time.Second); return clock }
		anna, ben, carol := open(t, p, task, "anna"), open(t, p, task, "ben"), open(t, p, task, "carol")
		s := anna.queue.Subjects[0]
		anna.answerAll(t, `{"q":"yes"}`)
		ben.answerAll(t, `{"q":"no"}`)
		if test.before != "" {
			anna.revise(t, s, test.before)
		}
		decide := func(option string) {
			_, ev, err := carol.see(slot{s, passAdjudicate})
			if err != nil {
				t.Fatal(name, err)
			}
			ev.Sighted, ev.Reason, ev.Answer = true, "because", answerOf(t, `{"q":"`+option+`"}`)
			if _, err := carol.append(eventAdjudicate, ev); err != nil {
				t.Fatal(err)
			}
		}
		decide("yes")
		if test.after != "" {
			anna.revise(t, s, test.after)
		}
		if test.third != "" {
			d := carol
			if !test.own {
				d = open(t, p, task, "dan")
			}
			d.answerAll(t, test.third)
		}
		if test.again {
			decide("no")
		}
		r, err := p.Result(task, corpus{6})
		if err != nil {
			t.Fatal(err)
		}
		list, err := decidable(carol)
		if err != nil {
			t.Fatal(err)
		}
		got, want := state{"", r.Differ, len(list), strings.Join(r.Notes, "; ")}, test.want
		if len(r.Settled) > 0 {
			got.settled = r.Settled[0].Label + " " + r.Settled[0].By
		}
		if got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
		if changed := strings.Contains(strings.Join(r.Missing, "\n"), "1 of them was decided, but there are other answers since"); changed != (want.differ > 0) {
			t.Errorf("%s: missing %q", name, r.Missing)
		}
		verdicts, _, err := p.Verdicts(task, corpus{6})
		if err != nil {
			t.Fatal(err)
		}
		decided := false
		for _, v := range verdicts {
			decided = decided || v.Round == passAdjudicate
		}
		if decided != strings.HasSuffix(want.settled, "carol") {
			t.Errorf("%s: a verdict of the decision: %v", name, decided)
		}
	}
}

// A decision that names no answers can be read, but counts for none.
func TestDecisionOnNothing(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	d := open(t, at(t, &clock), label, "carol")
	s := d.queue.Subjects[0]
	_, err := d.append(eventAdjudicate, Event{Pass: passAdjudicate, Subject: &s, Answer: answerOf(t, `{"q":"yes"}`)})
	g := &Given{all: []*Event{{at: clock, line: 1}}, person: "anna"}
	if err != nil || g.decidedOn(&Event{at: clock.Add(time.Hour)}) != nil {
		t.Errorf("%v: a decision on nothing", err)
	}
}

// Who decides is shown every different answer once, and decides anew when an answer changed.
func TestDecisionOfMoreThanTwo(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	p := at(t, &clock)
	task := study.Task{Name: "t", Of: "item", Show: []string{"lead"}, Draw: 1, Ask: []study.Question{{Name: "q", Type: "choice", Options: []string{"one", "two", "three", "four"}}}}
	var anna *desk
	for _, x := range [][2]string{{"anna", "one"}, {"ben", "one"}, {"cleo", "two"}, {"dan", "three"}} {
		d := open(t, p, task, x[0])
		if d.answerAll(t, `{"q":"`+x[1]+`"}`); x[0] == "anna" {
			anna = d
		}
	}
	s, err := Open(p, []study.Task{task}, corpus{6}, "test", true)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	do := talking(t, s, "eve")
	_, key := do("eve", "GET", "t/t/", "")
	decide := func(id string) string {
		_, page := do("eve", "GET", "t/t/"+key, "")
		if code, said := do("eve", "POST", "event", fmt.Sprintf(`{"id":"0123456789abcde%s","task":"t","kind":"adjudicate","key":%q,"shown":%q,"answer":{"q":"two"},"reason":"it is"}`, id, key, shownHash.FindStringSubmatch(page)[1])); code != 200 {
			t.Fatal(code, said)
		}
		return page
	}
	page := decide("1")
	for _, want := range []string{"Judgement A", "Judgement B", "Judgement C", "one</div>", "two</div>", "three</div>", `{&#34;q&#34;:&#34;three&#34;}">Take`, "Take C</button>"} {
		if at := strings.Index(page, want); strings.Count(page, want) != 1 || at < 0 {
			t.Errorf("the page has %q %d times:\n%s", want, strings.Count(page, want), page)
		}
	}
	if strings.Contains(page, "Judgement D") || strings.Contains(page, "decided on this before") {
		t.Errorf("the page is\n%s", page)
	}
	if code, page := do("eve", "GET", "t/t/"+key, ""); code != 409 || !strings.Contains(page, "a decision exists") {
		t.Errorf("after the decision: %d\n%s", code, page)
	}
	anna.revise(t, anna.queue.Subjects[0], `{"q":"four"}`)
	if _, page := do("eve", "GET", "", ""); !strings.Contains(page, "0 of 1") {
		t.Errorf("the list of tasks is\n%s", page)
	}
	if page := decide("2"); !strings.Contains(page, "Take D</button>") || !strings.Contains(page, "decided on this before") {
		t.Errorf("the page is\n%s", page)
	}
	if r, err := p.Result(task, corpus{6}); err != nil || len(r.Settled) != 1 || !r.Settled[0].Adjudicated {
		t.Errorf("%+v, %v", r, err)
	}
}
