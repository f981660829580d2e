package annotate

import (
	"encoding/json"
	"github.com/scruple-eval/scruple/internal/say"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
)

// order is a corpus of documents with a list of values, tags, and one of records, lines.
type order struct{ corpus }

func (order) Units(string) ([]string, error) { return []string{"tags[]", "lines[]"}, nil }

func (order) Leaves(_, unit string) ([]string, bool) {
	return map[string][]string{"lines[]": {"sku", "price"}}[unit], true
}

func (order) Show(t eval.Trial) (eval.Exhibit, error) {
	return eval.Exhibit{Item: t.Item, Pages: []eval.ExhibitPage{{Number: 1, Text: "A-1 red 3.50"}, {Number: 2, Text: "B-2 blue"}}}, nil
}

func (order) Same(_ string, a, b eval.UnitGold) (bool, error) {
	return strings.EqualFold(strings.Join(valuesOf(a), "|"), strings.Join(valuesOf(b), "|")), nil
}

var goldOfLists = study.Task{Name: "t", Kind: "gold", Draw: 1}

const (
	someTags  = `{"exists":"present","quote":[{"page":1,"start":4,"end":7,"text":"red","value":"red"},{"page":2,"start":4,"end":8,"text":"blue","value":"blue"}]}`
	someLines = `{"exists":"present","quote":[{"page":1,"start":0,"end":3,"text":"A-1","label":"sku","value":"A-1","record":1},{"page":1,"start":8,"end":12,"text":"3.50","label":"price","value":"3.5","record":1},{"page":2,"start":0,"end":3,"text":"B-2","label":"sku","value":"B-2","record":7}]}`
)

func answerOf(t *testing.T, text string) (a Answer) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		t.Fatal(err)
	}
	return a
}

// Gold of a list has its values in passages, with the records that they belong to.
func TestGoldOfAList(t *testing.T) {
	ask := func(unit string) Shown {
		shown, err := show(goldOfLists.Full(), order{}, Subject{Item: "i00", Unit: unit}, false)
		if err != nil {
			t.Fatal(err)
		}
		return shown
	}
	for _, c := range []struct{ unit, answer, want string }{
		{"tags[]", someTags, ""},
		{"tags[]", `{"exists":"missing"}`, ""},
		{"lines[]", someLines, ""},
		{"tags[]", `{"exists":"ambiguous"}`, `"ambiguous" is not an option`},
		{"tags[]", `{"exists":"present"}`, "missing answer"},
		{"tags[]", `{"exists":"present","value":"red"}`, `asks no "value"`},
		{"tags[]", strings.Replace(someTags, `"value":"red"`, `"value":" "`, 1), `the passage "red" has no value`},
		{"tags[]", strings.Replace(someTags, `"value":"red"`, `"value":"red","record":1`, 1), `"red" has record 1`},
		{"lines[]", strings.Replace(someLines, `,"record":7`, "", 1), `"B-2" has record 0`},
		{"lines[]", strings.Replace(someLines, `"label":"price"`, `"label":"sku"`, 1), "record 1 has two values of sku"},
		{"lines[]", strings.Replace(someLines, `"label":"price"`, `"label":"cost"`, 1), `"cost" is not a label`},
	} {
		err := answerOf(t, c.answer).check(ask(c.unit), false)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s %s: %v, want %q", c.unit, c.answer, err, c.want)
		}
		if draft := answerOf(t, c.answer).check(ask(c.unit), true); draft != nil && strings.Contains(c.want, "value") && !strings.Contains(c.want, "asks no") {
			t.Errorf("a draft of %s: %v", c.answer, draft)
		}
	}
	plain := study.Question{Name: "q", Type: "span"}
	if err := (Answer{"q": []byte(`[{"page":1,"start":4,"end":7,"text":"red","value":"red"}]`)}).check(Shown{Pages: ask("tags[]").Pages, Ask: []study.Question{plain}}, false); err == nil {
		t.Error("a passage of another question has a value")
	}
	if got := valuesOf(answerOf(t, someTags).unitGold("tags[]")); !slices.Equal(got, []string{"blue", "red"}) {
		t.Errorf("tags are %q", got)
	}
	if g := answerOf(t, `{"exists":"ambiguous","candidates":"blue\n"}`).unitGold("day"); !g.Ambiguous || !slices.Equal(g.Values, []string{"blue"}) {
		t.Errorf("ambiguous: %+v", g)
	}
	if got := valuesOf(answerOf(t, someLines).unitGold("lines[]")); !slices.Equal(got, []string{"price 3.5, sku A-1", "sku B-2"}) {
		t.Errorf("lines are %q", got)
	}
	given := func(text string) *Event {
		return &Event{Subject: &Subject{Item: "i00", Unit: "tags[]"}, Answer: answerOf(t, text)}
	}
	reversed := `{"exists":"present","quote":[{"page":2,"start":4,"end":8,"text":"blue","value":"Blue"},{"page":1,"start":4,"end":7,"text":"red","value":"red"}]}`
	for text, want := range map[string]bool{reversed: false, strings.Replace(someTags, `"value":"red"`, `"value":"green"`, 1): true, `{"exists":"missing"}`: true} {
		if got := differ(goldOfLists.Full(), order{}, given(someTags), given(text)); got != want {
			t.Errorf("%s differs: %v", text, got)
		}
	}
}

// Every format takes gold of lists out and in again.
func TestExchangeOfLists(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	for _, format := range Formats() {
		p, source := at(t, &clock), order{corpus{1}}
		d := openOf(t, p, goldOfLists, source, "anna")
		for range 2 {
			k, place, _, _ := d.next()
			shown, ev, err := d.see(k)
			if err != nil {
				t.Fatal(err)
			}
			ev.Place, ev.Answer = place, answerOf(t, map[string]string{"tags[]": someTags, "lines[]": someLines}[k.subject.Unit]).exact(shown)
			if _, err := d.append(eventSubmit, ev); err != nil {
				t.Fatal(err)
			}
		}
		d.log.Close()
		out, err := p.Export(goldOfLists, source, format, codePoints)
		if err != nil {
			t.Fatal(err)
		}
		if in, err := p.Import(goldOfLists, source, File{Name: "f", Data: out.Data, Format: format, Offsets: codePoints, Person: "ben", From: "anna"}); in.Answers != 2 || err != nil {
			t.Fatalf("%s: %+v, %v\n%s", format, in, err, out.Data)
		}
		r, err := p.Result(goldOfLists, source)
		if err != nil || len(r.Settled) != 2 {
			t.Fatalf("%s: %d settled: %v", format, len(r.Settled), err)
		}
		for c := range codings(r.Task, source, r.queue.Subjects, r.Everyone) {
			if a, b := c.First[0].Final.Answer, c.First[1].Final.Answer; !a.equal(b) {
				t.Errorf("%s: %v became %v", format, a, b)
			}
		}
	}
}

// A value that is the visible form of its passage is the text of the passage.
func TestValuesOfVisibleText(t *testing.T) {
	shown := Shown{Pages: []Page{{Number: 1, Text: "Sage\r\nbrush Inc."}}, Ask: []study.Question{{Name: goldValue, Type: "text"}, {Name: goldQuote, Type: "span", Values: true}}}
	visible := say.Exactly("Sage\r\nbrush Inc.")
	for value, want := range map[string]string{visible: "Sage brush Inc.", strings.ReplaceAll(visible, "\n", " "): "Sage brush Inc.", "Sagebrush": "Sagebrush"} {
		a := Answer{}
		a.put(goldValue, value)
		a.put(goldQuote, []Span{{Page: 1, Start: 0, End: 16, Text: visible, Value: value}})
		a = a.exact(shown)
		if s := a.Spans(goldQuote)[0]; s.Value != want || a.Text(goldValue) != want || s.Text != shown.Pages[0].Text {
			t.Errorf("%q is the value %q of a list, %q of a field, of %q; want %q", value, s.Value, a.Text(goldValue), s.Text, want)
		}
	}
}
