package annotate

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/study"
)

// paired makes the answers of two people to a question, one subject each.
func paired(t *testing.T, task study.Task, q study.Question, units int, a, b []any) (study.Task, []pair) {
	t.Helper()
	if len(task.Ask) == 0 {
		task.Ask = []study.Question{q}
	}
	var p []pair
	for i := range a {
		s := Subject{Item: fmt.Sprintf("i%02d", i/max(units, 1))}
		if units > 0 {
			s.Unit = fmt.Sprintf("u%d", i%units+1)
		}
		shown, err := show(task, corpus{9}, s, false)
		if err != nil {
			t.Fatal(err)
		}
		of := func(value any) *Event {
			answer := Answer{}
			if all, ok := value.(map[string]string); ok {
				for name, v := range all {
					answer[name], _ = json.Marshal(v)
				}
			} else {
				answer[q.Name], _ = json.Marshal(value)
			}
			return &Event{Subject: &s, Answer: answer, Shown: shown.Hash()}
		}
		p = append(p, pair{s, of(a[i]), of(b[i])})
	}
	return task, p
}

func agree(t *testing.T, task study.Task, q *study.Question, p []pair) Agreement {
	t.Helper()
	g := Agreement{A: "anna", B: "ben", N: len(p)}
	if err := g.compute(task, corpus{9}, q, p); err != nil {
		t.Fatal(err)
	}
	return g
}

func near(t *testing.T, name string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-9) {
		t.Errorf("%s is %v, want %v", name, got, want)
	}
}

// The numbers of a table of two raters: Cohen's kappa of the example 20, 5, 10, 15 of
// Wikipedia's article on Cohen's kappa (0.4), Scott's pi by hand
// (0.7 - 0.505)/(1 - 0.505).
func TestAgreementOnLabels(t *testing.T) {
	var a, b []any
	for _, cell := range []struct {
		a, b string
		n    int
	}{{"y", "y", 20}, {"y", "n", 5}, {"n", "y", 10}, {"n", "n", 15}} {
		for range cell.n {
			a, b = append(a, cell.a), append(b, cell.b)
		}
	}
	q := study.Question{Name: "q", Type: "choice", Options: []string{"y", "n"}}
	task, p := paired(t, study.Task{Of: "item"}, q, 0, a, b)
	g := agree(t, task, &q, p)
	near(t, "kappa", g.Measure(Cohen).Value, 0.4)
	near(t, "pi", g.Measure(Intraclass).Value, (0.7-0.505)/(1-0.505))
	near(t, "kappa of y", float64(g.ByLabel[0].Kappa), 0.4)
	if g.Same != 35 || g.Table[0][1] != 5 || g.Table[1][0] != 10 || g.ByLabel[0].Share != 40.0/55 || len(g.ByUnit) > 0 {
		t.Errorf("%+v", g)
	}
	task, p = paired(t, study.Task{Of: "item"}, q, 0, []any{"y", "y"}, []any{"y", "y"})
	same := agree(t, task, &q, p)
	if !strings.Contains(same.String(), "kappa is undefined") || same.Measure(AC1).Value != 1 {
		t.Error(same.String())
	}
	// Full agreement on two labels: the standard error is 0, which five subjects cannot show.
	task, p = paired(t, study.Task{Of: "item"}, q, 0, []any{"y", "n", "y", "n", "y"}, []any{"y", "n", "y", "n", "y"})
	full := agree(t, task, &q, p)
	full.Target = new(0.8)
	if full.Measure(Cohen).Value != 1 || !math.IsNaN(full.Measure(Cohen).CI.Low) || strings.Contains(full.Standing(), "whole interval") {
		t.Errorf("of full agreement: %s", full.String())
	}
	if data, err := json.Marshal(same); err != nil || !strings.Contains(string(data), `"cohen_kappa":{"value":null`) {
		t.Errorf("%s, %v", data, err)
	}
}

// Of many labels, the table has those that one of the two gave.
func TestTableOfUsedLabels(t *testing.T) {
	q := study.Question{Name: "q", Type: "choice"}
	for i := range 23 {
		q.Options = append(q.Options, fmt.Sprintf("F%d", i))
	}
	task, p := paired(t, study.Task{Of: "item"}, q, 0, []any{"F3", "F3", "F7"}, []any{"F3", "F22", "F7"})
	g := agree(t, task, &q, p)
	const want = "       ben:\n  F3        1      0      1   rows: anna; columns in the same order\n" +
		"  F7        0      1      0   \n  F22       0      0      0   \n  20 labels were given by neither\n"
	if len(g.Table) != 23 || !strings.Contains(g.String(), want) {
		t.Errorf("got\n%swant\n%s", &g, want)
	}
}

// By hand: {x, y} and {y, z} share one of three options, {x} and {x} one of one.
func TestAgreementOnSets(t *testing.T) {
	q := study.Question{Name: "q", Type: "several", Options: []string{"x", "y", "z"}}
	task, p := paired(t, study.Task{Of: "item"}, q, 0, []any{[]string{"x", "y"}, []string{"x"}}, []any{[]string{"z", "y"}, []string{"x"}})
	g := agree(t, task, &q, p)
	near(t, "overlap", g.Measure(Overlap).Value, 2.0/4)
	if g.Same != 1 || len(g.ByLabel) != 3 || g.ByLabel[0].Label != "x" || g.ByLabel[0].Share != 2.0/3 || g.ByLabel[1].Share != 1 || g.ByLabel[2].Share != 0 {
		t.Errorf("%+v", g)
	}
	near(t, "kappa of y", float64(g.ByLabel[1].Kappa), 1)
}

// By hand, with squared distances: observed 2·1/8, expected 222/56 of the values
// 1 1 2 2 3 3 4 5 (Krippendorff 2011).
func TestAgreementOnNumbers(t *testing.T) {
	q := study.Question{Name: "q", Type: "number"}
	task, p := paired(t, study.Task{Of: "item"}, q, 0, []any{1, 2, 3, 4}, []any{1, 2, 3, 5})
	g := agree(t, task, &q, p)
	near(t, "alpha", g.Measure(Alpha).Value, 1-0.25/(222.0/56))
	if g.Same != 3 || !(g.Measure(Alpha).CI.Low < g.Measure(Alpha).Value && g.Measure(Alpha).CI.High > g.Measure(Alpha).Value) {
		t.Errorf("%+v %+v", g, g.Measure(Alpha))
	}
	task, p = paired(t, study.Task{Of: "item"}, q, 0, []any{1, 2, 3, 4}, []any{1, 2, 3, 4})
	g = agree(t, task, &q, p)
	if alpha := g.Measure(Alpha); alpha.Value != 1 || !math.IsNaN(alpha.CI.Low) {
		t.Errorf("alpha of equal numbers: %+v", alpha)
	}
	// Units of an item are resampled together, of ten thousand items too.
	var many [2][]any
	for i := range 10_000 {
		many[0], many[1] = append(many[0], i%7), append(many[1], i%7+i%2)
	}
	task, p = paired(t, study.Task{Of: "item"}, q, 3, many[0][:9], many[1][:9])
	units := agree(t, task, &q, p)
	task, p = paired(t, study.Task{Of: "item"}, q, 0, many[0], many[1])
	items := agree(t, task, &q, p)
	near(t, "low of units", units.Measure(Alpha).CI.Low, 0.9150849150849151) // computed anew for each resample
	near(t, "high of units", units.Measure(Alpha).CI.High, 0.9748148148148148)
	near(t, "low of items", items.Measure(Alpha).CI.Low, 0.9387828837512631)
	near(t, "high of items", items.Measure(Alpha).CI.High, 0.9418010649651862)
	for table, browser := range map[string]string{"4.0": "4", "12345678.0": "12345678", "1.5e6": "1500000", "2.50e-7": "2.5e-7", "-0": "0"} {
		if got := (Answer{"q": []byte(table)}).label(q); got != browser {
			t.Errorf("%s becomes %s, want %s", table, got, browser)
		}
	}
	task, p = paired(t, study.Task{Of: "item"}, q, 0, []any{2, 2}, []any{2, 2})
	if g := agree(t, task, &q, p); !strings.Contains(g.String(), "alpha is undefined") {
		t.Error(g.String())
	}
}

// By hand, in "text of i00", whose nine characters are not spaces: "text of" and
// "of i00" share two of 6 + 5.
func TestAgreementOnPassages(t *testing.T) {
	q := study.Question{Name: "q", Type: "span"}
	span := func(start, end int, text string) Span { return Span{Page: 1, Start: start, End: end, Text: text} }
	a, b := []any{[]Span{span(0, 7, "text of")}}, []any{[]Span{span(5, 11, "of i00")}}
	base := study.Task{Of: "item", Show: []string{"pages"}}
	task, p := paired(t, base, q, 0, a, b)
	g := agree(t, task, &q, p)
	near(t, "overlap", g.Measure(Overlap).Value, 4.0/11)
	if g.Same != 0 {
		t.Errorf("%+v", g)
	}
	// The same passages in another order, and none.
	two := []Span{span(0, 4, "text"), span(8, 11, "i01")}
	task, p = paired(t, base, q, 0, []any{a[0], two, []Span{}}, []any{b[0], []Span{two[1], two[0]}, []Span{}})
	g = agree(t, task, &q, p)
	near(t, "overlap", g.Measure(Overlap).Value, (4+14)/(11.0+14))
	if g.Same != 2 {
		t.Errorf("%+v", g)
	}
	// Characters count only with the same label.
	q.Options = []string{"x", "y"}
	label := func(s Span, l string) Span { s.Label = l; return s }
	s := two[0]
	task, p = paired(t, base, q, 0, []any{[]Span{label(s, "x"), label(two[1], "y")}}, []any{[]Span{label(s, "y"), label(two[1], "y")}})
	g = agree(t, task, &q, p)
	near(t, "overlap", g.Measure(Overlap).Value, 6.0/14)
	if len(g.ByLabel) != 2 || g.ByLabel[0].Share != 0 || g.ByLabel[1].Share != 6.0/10 {
		t.Errorf("%+v", g.ByLabel)
	}
}

// Double annotation: gold as a whole and each question, by field.
func TestAgreementOnGold(t *testing.T) {
	task := study.Task{Name: "t", Kind: "gold"}.Full()
	value := func(v string) any {
		if v == "" {
			return map[string]string{"exists": study.UnitMissing}
		}
		return map[string]string{"exists": study.UnitPresent, "value": v}
	}
	var a, b []any
	for i := range 40 { // two fields of 20 items; of the second, every fourth differs
		v := fmt.Sprint(i)
		a, b = append(a, value(v)), append(b, value(map[bool]string{true: "other", false: v}[i%8 == 1]))
	}
	task, p := paired(t, task, study.Question{}, 2, a, b)
	g := agree(t, task, nil, p)
	if g.Same != 35 || len(g.ByUnit) != 2 || g.ByUnit[0].Same != 20 || g.ByUnit[1].Same != 15 || g.ByUnit[1].N != 20 {
		t.Errorf("%+v", g)
	}
	if text := g.String(); !strings.Contains(text, "more than 80 %: undecided") {
		t.Error(text)
	}
	exists := task.Ask[0]
	if g := agree(t, task, &exists, p); g.Same != 40 || len(g.ByUnit) != 2 || !slices.ContainsFunc(g.Notes, func(n string) bool { return strings.Contains(n, "independent") }) {
		t.Errorf("%+v", g)
	}
}

// A person who takes the first answer of every pair: the sides are drawn, so both arms
// gain alike, and the effect is shown.
func TestPositionEffect(t *testing.T) {
	clock := time.Unix(1e9, 0)
	p := at(t, &clock)
	task := study.Task{Name: "t", Kind: "pair", Arms: []string{"secret-arm", "other-arm"}, Again: study.Again{Count: 5, Gap: 1}}.Full()
	q, err := p.queue(task, corpus{60})
	if err != nil {
		t.Fatal(err)
	}
	d, err := p.open(task, q, corpus{60}, "anna", "test")
	if err != nil {
		t.Fatal(err)
	}
	defer d.log.Close()
	wins := map[string]int{}
	for i := range 65 { // five pairs a second time
		clock = clock.Add(time.Second)
		k, place, _, _ := d.next()
		said := "A"
		if i < 10 {
			said = "tie"
		}
		data, _ := json.Marshal(said)
		_, e, err := d.see(k)
		if err != nil {
			t.Fatal(err)
		}
		e.Place, e.Answer = place, Answer{"better": data}
		wins[e.label(task, task.Ask[0])]++
		if _, err := d.append(eventSubmit, e); err != nil {
			t.Fatal(err)
		}
	}
	r, err := p.Result(task, corpus{60})
	if err != nil {
		t.Fatal(err)
	}
	list := r.Positions()
	if len(list) != 1 || list[0].Pairs != 60 || list[0].Ties != 10 || list[0].First != 50 || list[0].Swapped < 15 || list[0].Swapped > 45 {
		t.Fatalf("%+v", list)
	}
	if text := list[0].String(); !strings.Contains(text, "preferred in 50 of 50: 1.000") || !strings.Contains(text, "has an effect") {
		t.Error(text)
	}
	if r, err = p.Result(task, revised{corpus{60}, map[string]bool{"i03": true, "i40": true}}); err != nil {
		t.Fatal(err)
	}
	if list = r.Positions(); len(list) != 1 || list[0].Pairs != 58 || list[0].Stale != 2 || !strings.HasSuffix(list[0].String(), "; 2 pairs are left out: the study shows something else now") {
		t.Errorf("%+v", list)
	}
	if wins["secret-arm"] < 10 || wins["other-arm"] < 10 {
		t.Errorf("wins %v: the sides are not drawn", wins)
	}
}

// A question that was left open has a label of its own, which is none of the options,
// whatever they are called.
func TestAgreementOnOpenQuestions(t *testing.T) {
	for _, test := range []struct {
		options []string
		kind    string
		open    string
	}{
		{[]string{"yes", "none"}, "choice", "no answer"},
		{[]string{"yes", "no answer"}, "choice", "(no answer)"},
		{[]string{"yes", "none"}, "several", "no answer"},
	} {
		q := study.Question{Name: "q", Type: test.kind, Options: test.options, Optional: true}
		of := func(option string) any {
			switch {
			case option == "":
				return map[string]string{}
			case test.kind == "several":
				return []string{option}
			}
			return option
		}
		var a, b []any
		for _, pair := range [][2]string{{"yes", "yes"}, {test.options[1], ""}, {"", ""}, {test.options[1], test.options[1]}} {
			a, b = append(a, of(pair[0])), append(b, of(pair[1]))
		}
		task, p := paired(t, study.Task{Of: "unit"}, q, 2, a, b)
		g := agree(t, task, &q, p)
		if g.Same != 3 || len(g.Labels) != 3 || !slices.Contains(g.Labels, test.open) || len(g.ByUnit) != 2 || g.ByUnit[0].Same != 2 || g.ByUnit[1].Same != 1 {
			t.Errorf("%v: labels %q, %+v", test.options, g.Labels, g)
		}
	}
}

// answers is the work of a person who gave these numbers; nil is left open.
func answers(name string, task study.Task, subjects []Subject, numbers []any) *Work {
	w := must(fold(task.Name, name, "", nil))
	for i, s := range subjects {
		shown, err := show(task, corpus{6}, s, false)
		if err != nil {
			panic(err)
		}
		e := &Event{Subject: &s, Answer: Answer{}, Shown: shown.Hash()}
		if numbers[i] != nil {
			e.Answer[task.Ask[0].Name], _ = json.Marshal(numbers[i])
		}
		w.given[slot{s, passFirst}] = &Given{slot: slot{s, passFirst}, First: e, Final: e}
	}
	return w
}

// A number that was left open is no zero: the subject is not compared.
func TestAgreementOnOpenNumbers(t *testing.T) {
	task := study.Task{Name: "t", Of: "item", Ask: []study.Question{{Name: "n", Text: "n", Type: "number", Optional: true}}}
	q := &Queue{}
	for i := range 6 {
		q.Subjects = append(q.Subjects, Subject{Item: fmt.Sprintf("i%02d", i)})
	}
	for _, test := range []struct {
		b []any
		n int
	}{{[]any{1, 2, 3, 4, nil, nil}, 4}, {[]any{nil, nil, nil, nil, nil, nil}, 0}} {
		r := &Result{Task: task, fresh: newFreshness(task, corpus{6}), queue: q, Everyone: []*Work{answers("anna", task, q.Subjects, []any{1, 2, 3, 4, 5, 6}), answers("ben", task, q.Subjects, test.b)}}
		list, err := r.Agreements()
		if err != nil || len(list) != min(test.n, 1) {
			t.Fatal(list, err)
		}
		for _, g := range list {
			near(t, "alpha", g.Measure(Alpha).Value, 1)
			if g.N != test.n || g.Same != test.n || !strings.Contains(g.String(), "2 subjects without a number of both are not compared") {
				t.Error(g.String())
			}
		}
	}
}

// Units of an item are not independent: two units with the same answers say no more than
// one, so that their intervals are about as wide.
func TestIntervalsOfNumbersResampleItems(t *testing.T) {
	q := study.Question{Name: "q", Type: "number"}
	var a, b, a2, b2 []any
	for i := range 24 {
		x, y := i%5, (i%5+i%3)%5
		a, b = append(a, x), append(b, y)
		a2, b2 = append(a2, x, x), append(b2, y, y)
	}
	task, p := paired(t, study.Task{Of: "item"}, q, 0, a, b)
	one := agree(t, task, &q, p)
	task, p = paired(t, study.Task{Of: "unit"}, q, 2, a2, b2)
	two := agree(t, task, &q, p)
	single, double := one.Measure(Alpha).CI, two.Measure(Alpha).CI
	if !(double.High-double.Low > 0.9*(single.High-single.Low)) {
		t.Errorf("the interval of alpha is %v with one unit, %v with two", single, double)
	}
}

// Passages of a list have the same borders whatever the numbers of their records and values.
func TestBordersInALists(t *testing.T) {
	a := []Span{{Page: 1, Start: 0, End: 4, Text: "text", Value: "text", Record: 1}, {Page: 1, Start: 5, End: 7, Text: "of", Value: "of", Record: 2}}
	b := []Span{{Page: 1, Start: 5, End: 7, Text: "of", Value: "on", Record: 1}, {Page: 1, Start: 0, End: 4, Text: "text", Value: "text", Record: 2}}
	if n := borders(a, b); n != 2 {
		t.Errorf("%d passages have the same borders, want 2", n)
	}
	b[0].Label, b[1].End = "other", 3
	if n := borders(a, b); n != 0 {
		t.Errorf("%d passages have the same borders, want none", n)
	}
}

// Of two answers one may be about a text that was replaced: they are not compared.
func TestAgreementOnReplacedTexts(t *testing.T) {
	task := study.Task{Name: "t", Of: "item", Ask: []study.Question{{Name: "n", Text: "n", Type: "number"}}}
	q := &Queue{}
	for i := range 6 {
		q.Subjects = append(q.Subjects, Subject{Item: fmt.Sprintf("i%02d", i)})
	}
	numbers := []any{1, 2, 3, 4, 5, 6}
	ben := answers("ben", task, q.Subjects, numbers)
	for _, s := range q.Subjects[:2] {
		ben.given[slot{s, passFirst}].First.Shown = "an earlier text"
	}
	r := &Result{Task: task, fresh: newFreshness(task, corpus{6}), queue: q, Everyone: []*Work{answers("anna", task, q.Subjects, numbers), ben}}
	list, err := r.Agreements()
	if err != nil || len(list) != 1 || list[0].N != 4 || !strings.Contains(list[0].String(), "2 subjects are left out: the study shows something else now") {
		t.Fatalf("%+v %v", list, err)
	}
	for _, s := range q.Subjects {
		ben.given[slot{s, passFirst}].First.Shown = "an earlier text"
	}
	want := []string{"n: anna and ben: nothing to compare: 6 subjects are left out: the study shows something else now"}
	if list, err = r.Agreements(); err != nil || len(list) > 0 || !slices.Equal(r.Uncompared, want) {
		t.Errorf("%+v, not compared %q, %v", list, r.Uncompared, err)
	}
}
