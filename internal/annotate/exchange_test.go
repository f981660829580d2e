package annotate

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/ledger"
	"github.com/scruple-eval/scruple/internal/study"
)

// emoji is a corpus of two pages whose offsets differ by unit.
type emoji struct{ corpus }

func (emoji) Show(t eval.Trial) (eval.Exhibit, error) {
	return eval.Exhibit{Pages: []eval.ExhibitPage{{Number: 1, Text: "a😀é\r\nb " + t.Item}, {Number: 2, Text: "z😀 two"}}}, nil
}

var everything = study.Task{Name: "all", Of: "item", Show: []string{"pages"}, Ask: []study.Question{
	{Name: "q", Type: "choice", Options: []string{"yes", "no"}}, {Name: "m", Type: "several", Options: []string{"x", "y", "z"}},
	{Name: "why", Type: "text"}, {Name: "n", Type: "number"}, {Name: "spans", Type: "span", Options: []string{"good", "bad"}}}}

const everyAnswer = `{"q":"no","m":["x","z"],"why":"=because, “so”\nand","n":2.5,"spans":[{"page":1,"start":1,"end":4,"text":"😀é\r","label":"bad"},{"page":2,"start":1,"end":4,"text":"😀 t","label":"good"}]}`

// Every format takes answers out and in again, whatever offsets count, and refuses
// them with offsets of another kind.
func TestExchange(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	now := func() time.Time { return clock }
	for _, format := range Formats() {
		for _, offsets := range Offsets() {
			t.Run(format+" "+offsets, func(t *testing.T) {
				dir := t.TempDir()
				p := Place{Study: "s", Dir: filepath.Join(dir, "annotations"), Ledger: filepath.Join(dir, ledger.Name), Now: now}
				source := emoji{corpus{3}}
				q, err := p.queue(everything.Full(), source)
				if err != nil {
					t.Fatal(err)
				}
				d, err := p.open(everything.Full(), q, source, "anna", "test")
				if err != nil {
					t.Fatal(err)
				}
				for range 3 {
					k, place, _, _ := d.next()
					var a Answer
					if err := json.Unmarshal([]byte(everyAnswer), &a); err != nil {
						t.Fatal(err)
					}
					shown, _ := show(d.task, source, k.subject, false)
					if err := a.check(shown, false); err != nil {
						t.Fatal(err)
					}
					if _, err := d.append(eventSubmit, Event{Pass: k.pass, Subject: &k.subject, Place: place, Shown: shown.Hash(), Answer: a}); err != nil {
						t.Fatal(err)
					}
				}
				d.close()
				exported, err := p.Export(everything, source, format, offsets)
				if err != nil {
					t.Fatal(err)
				}
				data := exported.Data
				if format == "csv" && !strings.Contains(string(data), `"'=because`) {
					t.Errorf("a spreadsheet takes an answer for a formula: %s", data)
				}
				file := File{Name: "f", Data: data, Format: format, Offsets: offsets, Person: "ben"}
				for _, other := range Offsets() {
					if wrong := file; other != offsets {
						wrong.Offsets = other
						if _, _, err := p.Import(everything, source, wrong); err == nil && format != "doccano" && format != "argilla" { // which have no text of passages
							t.Errorf("offsets of %s were read as %s", offsets, other)
						}
						os.Remove(p.workPath("all", "ben"))
						os.Remove(p.workPath("all", "ben") + ledger.HeadSuffix)
						forget(t, &p)
					}
				}
				if n, _, err := p.Import(everything, source, file); err != nil || n != 3 {
					t.Fatalf("%d: %v\n%s", n, err, data)
				}
				w, err := p.ReadWork("all", "ben")
				if err != nil {
					t.Fatal(err)
				}
				for _, g := range w.given {
					got, _ := json.Marshal(g.First.Answer)
					var want Answer
					json.Unmarshal([]byte(everyAnswer), &want)
					if text, _ := json.Marshal(want); string(got) != string(text) || !g.First.Sighted {
						t.Errorf("got  %s\nwant %s", got, text)
					}
				}
				if n, _, err := p.Import(everything, source, file); err != nil || n != 0 {
					t.Errorf("%d answers were imported again: %v", n, err)
				}
			})
		}
	}
}

// forget makes a ledger with the draw alone.
func forget(t *testing.T, p *Place) {
	t.Helper()
	os.Remove(p.Ledger)
	os.Remove(p.Ledger + ".head")
	data, err := os.ReadFile(p.queuePath("all"))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.add("", drawEntry, drawn{p.taskOf("all"), hashOf(data), 3}); err != nil {
		t.Fatal(err)
	}
}

// A file with any error is refused as a whole.
func TestImportRefusals(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	for _, test := range []struct{ format, data, words string }{
		{"jsonl", "", "has no answers"},
		{"jsonl", `{"answer":{}}`, "f:1: the record has no subject"},
		{"jsonl", `{"subject":{"item":"../x"},"answer":{}}`, "no subject ../x"},
		{"jsonl", `{"subject":{"item":"i00"},"answer":{"q":"maybe"}}`, `"maybe" is not an option`},
		{"doccano", `{"text":"other","label":[],"subject":{"item":"i00"},"answer":{}}`, "not that of the study"},
		{"doccano", `{"text":"a😀é\r\nb i00\nz😀 two","label":[[5,12,"spans: bad"]],"subject":{"item":"i00"},"answer":{}}`, "on several"},
		{"doccano", `{"label":[[0,1,"other: bad"]],"subject":{"item":"i00"},"answer":{}}`, `no question "other"`},
		{"prodigy", `[]`, "f:1:"},
		{"csv", "item,q\ni00,perhaps\n", `"perhaps" is not an option`},
		{"csv", "item,n\ni00,many\n", "f:2:5: n: "},
		{"label-studio", `[{"data":{"text":""},"annotations":[{"result":[]}]}]`, "data.subject is missing"},
		{"label-studio", `[{"data":{"subject":{"item":"i00"}},"annotations":[{"result":[{"from_name":"spans","value":{"start":0.7,"end":1.2,"labels":["bad"]}}]}]}]`, "whole numbers"},
		{"argilla", `{"q.responses":["yes"]}`, "the record has no subject"},
		{"argilla", `{"subject":{"item":"i00"},"q.responses":["yes","no"],"q.responses.users":["eve","bob"]}`, "say whose with --as"},
		{"argilla", `{"subject":{"item":"i00"},"q.responses":"yes"}`, "q.responses"},
		{"argilla", `{"subject":{"item":"i00"},"q.responses":["yes"],"q.responses.status":["discarded"]}`, "has no answers"},
		{"brat", "T1\tspans 0 1\ta", "want a ZIP file"},
		{"xml", "", "the formats are"},
	} {
		dir := t.TempDir()
		p := Place{Study: "s", Dir: filepath.Join(dir, "annotations"), Ledger: filepath.Join(dir, ledger.Name), Now: func() time.Time { return clock }}
		_, _, err := p.Import(everything, emoji{corpus{2}}, File{Name: "f", Data: []byte(test.data), Format: test.format, Offsets: CodePoints, Person: "anna"})
		if err == nil || !strings.Contains(err.Error(), test.words) {
			t.Errorf("%s %s: %v, want %q", test.format, test.data, err, test.words)
		}
		if data, _ := os.ReadFile(p.workPath("all", "anna")); len(data) > 0 {
			t.Errorf("%s: %s was written", test.format, data)
		}
	}
	if _, err := points("😀", 1, utf16Units); err == nil {
		t.Error("an offset inside of a character")
	}
}

func FuzzImport(f *testing.F) {
	for i := range Formats() {
		f.Add(i, []byte(`{"subject":{"item":"i00"},"answer":{"q":"yes"},"label":[[0,1,"spans: bad"]]}`))
	}
	f.Fuzz(func(t *testing.T, i int, data []byte) {
		file := File{Name: "f", Data: data, Format: Formats()[uint(i)%uint(len(Formats()))], Offsets: byteUnits}
		list, err := file.records(everything)
		if err != nil {
			return
		}
		shown, err := show(everything, emoji{corpus{2}}, Subject{Item: "i00"}, false)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range list {
			if x.place(shown, file.Offsets) == nil && x.Answer.check(shown, false) == nil {
				x.Answer.exact(shown)
			}
		}
		_ = fmt.Sprint(list)
	})
}

// Passages of brat over several lines have parts; other gaps, other texts and unknown types
// are refused.
func TestBratLines(t *testing.T) {
	types := map[string]string{"spans__bad": "spans: bad"}
	for _, test := range []struct {
		line, words string
		want        outSpan
	}{
		{"T1\tspans__bad 1 2\t😀", "", outSpan{1, 2, "😀", "spans", "bad"}},
		{"T1\tspans__bad 2 3;4 5\té b", "", outSpan{2, 5, "é\nb", "spans", "bad"}},
		{"T1\tspans__bad 0 1;2 3\ta é", "gaps", outSpan{}},
		{"T1\tspans__bad 2 3;2 3\té é", "gaps", outSpan{}},
		{"T1\tspans__bad 1 2\tx", `is "😀", not "x"`, outSpan{}},
		{"T1\tspans__bad 3 2\tx", "start before the end", outSpan{}},
		{"T1\tspans__bad 1 99\tx", "offset 99", outSpan{}},
		{"T1\tspans__bad 1\tx", "two numbers", outSpan{}},
		{"T1\tother 1 2\tx", "no passages of type", outSpan{}},
		{"T1", "tabs between", outSpan{}},
	} {
		x := record{Text: "a😀é\nb"}
		err := x.fromBratLine(test.line, types, CodePoints)
		if test.words != "" {
			if err == nil || !strings.Contains(err.Error(), test.words) {
				t.Errorf("%q: %v, want %q", test.line, err, test.words)
			}
			continue
		}
		if err != nil || len(x.Spans) != 1 || x.Spans[0] != test.want {
			t.Errorf("%q: %+v, %v", test.line, x.Spans, err)
		}
	}
	x := record{Text: "a"}
	if err := errors.Join(x.fromBratLine("#1\tAnnotatorNotes T1\tnote", types, CodePoints), x.fromBratLine("", types, CodePoints)); err != nil || len(x.Spans) > 0 {
		t.Errorf("%+v, %v", x.Spans, err)
	}
	if _, err := bratTypes(study.Task{Ask: []study.Question{{Name: "q", Type: "span", Options: []string{"a b", "a_b"}}}}); err == nil {
		t.Error("two labels with one name in brat")
	}
}

// An import that was interrupted is completed by repeating it. Another answer to a
// subject is refused, and so is a file with two.
func TestImportIsRepeated(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	p := at(t, &clock)
	line := func(item, answer string) string {
		return fmt.Sprintf(`{"subject":{"item":%q},"answer":{"q":%q}}`, item, answer) + "\n"
	}
	task := label
	task.Again = study.Again{}
	for _, step := range []struct {
		data string
		n    int
		err  string
	}{
		{line("i00", "yes") + line("i01", "no"), 2, ""},
		{line("i00", "yes") + line("i01", "no") + line("i02", "yes"), 1, ""},
		{line("i00", "yes") + line("i01", "yes") + line("i03", "yes"), 0, "i01 was answered already"},
		{line("i04", "yes") + line("i04", "yes"), 0, "i04 has two answers"},
		{line("i03", "yes"), 1, ""},
	} {
		n, _, err := p.Import(task, corpus{6}, File{Name: "f", Data: []byte(step.data), Format: "jsonl", Offsets: CodePoints, Person: "anna"})
		if n != step.n || (step.err == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), step.err) {
			t.Errorf("%s: %d, %v, want %d, %q", step.data, n, err, step.n, step.err)
		}
	}
	if w, err := p.ReadWork("t", "anna"); err != nil || len(w.order) != 4 {
		t.Errorf("%d answers are stored, want 4: %v", len(w.order), err)
	}
}

// A preference for an arm is exported and imported as one for that arm, on whatever side
// the two people saw it.
func TestExchangeOfPairs(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	task := study.Task{Name: "t", Kind: "pair", Arms: []string{"secret-arm", "other-arm"}}.Full()
	for _, format := range Formats() {
		p := at(t, &clock)
		d := openOf(t, p, task, corpus{8}, "anna")
		for range 8 {
			k, _, _, _ := d.next()
			if err := d.say(t, map[bool]string{false: "A", true: "B"}[d.swapped(k.subject, k.pass)]); err != nil {
				t.Fatal(err)
			}
		}
		exported, err := p.Export(task, corpus{8}, format, CodePoints)
		if err != nil {
			t.Fatal(err)
		}
		data := exported.Data
		file := File{Name: "f", Data: data, Format: format, Offsets: CodePoints, Person: "ben"}
		if n, _, err := p.Import(task, corpus{8}, file); err != nil || n != 8 {
			t.Fatalf("%s: %d, %v", format, n, err)
		}
		w, err := p.ReadWork("t", "ben")
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range w.given {
			if arm := g.First.label(task, task.Ask[0]); arm != "secret-arm" {
				t.Errorf("%s: %v: the preference became one for %s", format, g.Subject, arm)
			}
		}
		if list, stale, err := p.Verdicts(task, corpus{8}); err != nil || stale != 0 || len(list) != 16 {
			t.Errorf("%s: %d verdicts, %d stale: %v", format, len(list), stale, err)
		}
	}
	p := at(t, &clock)
	file := File{Name: "f", Data: []byte(`{"subject":{"item":"i00","arm":"secret-arm","other":"other-arm","replicate":1},"answer":{"better":"A"}}`), Format: "jsonl", Offsets: CodePoints, Person: "ben"}
	if _, _, err := p.Import(task, corpus{8}, file); err == nil || !strings.Contains(err.Error(), `shown_as_a is "": want the arm`) {
		t.Error(err)
	}
}

// The answers of one person are taken from a file with those of several.
func TestImportOfOnePerson(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	const both = `{"subject":{"item":"i00"},"q.responses":["yes"],"q.responses.users":["anna"]}` + "\n" + `{"subject":{"item":"i01"},"q.responses":["no"],"q.responses.users":["bob"]}`
	for _, test := range []struct {
		format, data, person string
		n                    int
		err                  string
	}{
		{"argilla", both, "bob", 1, ""},
		{"argilla", both, "carl", 0, "f has the answers of anna, bob: say whose with --as"},
		{"argilla", `{"subject":{"item":"i00"},"q.responses":["yes"],"q.responses.users":["0b1f"]}`, "carl", 1, ""}, // a name in the other tool
		{"csv", "item,by,q\ni00,anna,yes\ni00,bob,no\n", "bob", 1, ""},
		{"csv", "item,by,q\ni00,anna,yes\ni01,bob,no\n", "carl", 0, "say whose with --as"},
		{"csv", "item,q,boundary_note\ni00,yes,why\n", "carl", 0, `unknown column "boundary_note"`},
		{"csv", "item,q,q\ni00,yes,no\n", "carl", 0, `duplicate column "q"`},
		{"csv", "item,replicate,q\ni00,one,yes\n", "carl", 0, `f:2:5: replicate: "one" is not a number`},
	} {
		task := label
		task.Again = study.Again{}
		n, _, err := at(t, &clock).Import(task, corpus{6}, File{Name: "f", Data: []byte(test.data), Format: test.format, Offsets: CodePoints, Person: test.person})
		if n != test.n || (test.err == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s as %s: %d, %v, want %d, %q", test.data, test.person, n, err, test.n, test.err)
		}
	}
}

// Work begins in another tool: an export has the subjects that nobody answered, and an
// import skips those that are still without an answer, in every format.
func TestExchangeOfUnanswered(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	for _, format := range Formats() {
		p := at(t, &clock)
		x, err := p.Export(everything, emoji{corpus{3}}, format, CodePoints)
		if err != nil || x.Unanswered != 3 || x.Answers != 0 || x.Withheld != 0 {
			t.Fatalf("%s: %+v, %v", format, x, err)
		}
		if text := string(x.Data); format != "xlsx" && format != "brat" && !strings.Contains(text, "i02") {
			t.Errorf("%s has no subject: %s", format, text)
		}
		file := File{Name: "f", Data: x.Data, Format: format, Offsets: CodePoints, Person: "anna"}
		if _, _, err := p.Import(everything, emoji{corpus{3}}, file); err == nil || !strings.Contains(err.Error(), "f has no answers, only 3 subjects without one") {
			t.Errorf("%s: %v", format, err)
		}
	}
	task := study.Task{Name: "q", Of: "item", Show: []string{"pages"}, Ask: []study.Question{{Name: "q", Text: "Is it?", Type: "choice", Options: []string{"yes", "no"}}}}
	p := at(t, &clock)
	x, err := p.Export(task, emoji{corpus{3}}, "jsonl", CodePoints)
	if err != nil {
		t.Fatal(err)
	}
	file := File{Name: "f", Format: "jsonl", Offsets: CodePoints, Person: "anna"}
	file.Data = []byte(strings.Replace(string(x.Data), `"answer":{}`, `"answer":{"q":"no"},"by":"anna"`, 1))
	if n, skipped, err := p.Import(task, emoji{corpus{3}}, file); n != 1 || skipped != 2 || err != nil {
		t.Errorf("imported %d, skipped %d: %v", n, skipped, err)
	}
	if x, err := p.Export(task, emoji{corpus{3}}, "jsonl", CodePoints); err != nil || x.Answers != 1 || x.Unanswered != 2 {
		t.Errorf("%+v, %v", x, err)
	}
	// An arm is not named before its answer is judged.
	judged := study.Task{Name: "t", Kind: "pair", Arms: []string{"secret-arm", "other-arm"}}.Full()
	if x, err := at(t, &clock).Export(judged, corpus{8}, "jsonl", CodePoints); err != nil || x.Withheld != 8 || len(x.Data) != 0 {
		t.Errorf("%+v, %v", x, err)
	}
	two := Answer{"other": []byte(`1`)}
	if err := two.check(Shown{Ask: task.Ask}, false); err == nil || !strings.Contains(err.Error(), `the task asks no "other"; it asks q`) {
		t.Error(err)
	}
	if err := (Answer{}).check(Shown{Ask: task.Ask}, false); err == nil || !strings.Contains(err.Error(), `Is it?: missing answer "q": want one of yes, no`) {
		t.Error(err)
	}
}
