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

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/ledger"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/text"
)

// emoji is a corpus of two pages whose offsets differ by unit.
type emoji struct{ corpus }

func (emoji) Show(t eval.Trial) (eval.Exhibit, error) {
	return eval.Exhibit{Pages: []eval.ExhibitPage{{Number: 1, Text: "a😀é\r\nb " + t.Item}, {Number: 2, Text: "z😀 two"}}}, nil
}

const codePoints = string(text.CodePoints)

var everything = study.Task{Name: "all", Of: "item", Show: []string{"pages"}, Ask: []study.Question{
	{Name: "q", Type: "choice", Options: []string{"yes", "no"}}, {Name: "m", Type: "several", Options: []string{"x", "y", "z"}},
	{Name: "why", Type: "text"}, {Name: "n", Type: "number"}, {Name: "spans", Type: "span", Options: []string{"good", "bad"}}}}

const everyAnswer = `{"q":"no","m":["x","z"],"why":"=because, “so”\r\n_x0041_ \r\n","n":9007199254740993.25,"spans":[{"page":1,"start":1,"end":4,"text":"😀é\r","label":"bad"},{"page":2,"start":1,"end":4,"text":"😀 t","label":"good"}]}`

// Every format takes answers out and in again, whatever offsets count, and refuses
// them with offsets of another kind.
func TestExchange(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	now := func() time.Time { return clock }
	for _, format := range Formats() {
		for _, offsets := range text.Units {
			t.Run(format+" "+string(offsets), func(t *testing.T) {
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
				exported, err := p.Export(everything, source, format, string(offsets))
				if err != nil {
					t.Fatal(err)
				}
				data := exported.Data
				if format == "csv" && !strings.Contains(string(data), `"'=because`) {
					t.Errorf("a spreadsheet takes an answer for a formula: %s", data)
				}
				file := File{Name: "f", Data: data, Format: format, Offsets: string(offsets), Person: "ben", From: "anna"}
				for _, other := range text.Units {
					if wrong := file; other != offsets {
						wrong.Offsets = string(other)
						if _, err := p.Import(everything, source, wrong); err == nil {
							t.Errorf("offsets of %s were read as %s", offsets, other)
						}
						os.Remove(p.workPath("all", "ben"))
						os.Remove(p.workPath("all", "ben") + ledger.HeadSuffix)
						forget(t, &p)
					}
				}
				if in, err := p.Import(everything, source, file); err != nil || in.Answers != 3 {
					t.Fatalf("%+v: %v\n%s", in, err, data)
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
				if in, err := p.Import(everything, source, file); err != nil || in.Answers != 0 {
					t.Errorf("%d answers were imported again: %v", in.Answers, err)
				}
			})
		}
	}
}

// An answer that chooses no option, of several, and one to a question that is named like a column
// go through every format.
func TestExchangeOfOddAnswers(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	task := study.Task{Name: "t", Of: "item", Show: []string{"pages"}, Ask: []study.Question{
		{Name: "by", Type: "choice", Options: []string{"yes", "no"}}, {Name: "m", Type: "several", Options: []string{"x", "y"}, Optional: true}}}
	for _, format := range Formats() {
		p, source := at(t, &clock), emoji{corpus{1}}
		d := openOf(t, p, task, source, "anna")
		k, place, _, _ := d.next()
		shown, err := show(d.task, source, k.subject, false)
		if err == nil {
			_, err = d.append(eventSubmit, Event{Pass: k.pass, Subject: &k.subject, Place: place, Shown: shown.Hash(), Answer: Answer{"by": []byte(`"yes"`), "m": []byte(`[]`)}})
		}
		d.close()
		out, errOut := p.Export(task, source, format, codePoints)
		if err := errors.Join(err, errOut); err != nil {
			t.Fatal(err)
		}
		if in, err := p.Import(task, source, File{Name: "f", Data: out.Data, Format: format, Offsets: codePoints, Person: "ben", From: "anna"}); in.Answers != 1 || err != nil {
			t.Errorf("%s: %+v, %v\n%s", format, in, err, out.Data)
		} else if w, err := p.ReadWork("t", "ben"); err != nil || string(w.order[0].First.Answer["by"]) != `"yes"` {
			t.Errorf("%s: %v, %v", format, err, w)
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
	if err := p.add("", drawEntry, drawn{p.taskOf("all"), dataset.SHA256(data), 3}); err != nil {
		t.Fatal(err)
	}
}

// Spreadsheets write the truth values that people type in capitals.
func TestTruthOfASpreadsheet(t *testing.T) {
	for _, c := range []struct {
		cell, want string
		options    []string
	}{
		{"TRUE", "true", []string{"true", "false"}}, {"False", "false", []string{"true", "false"}},
		{"TRUE", "TRUE", []string{"true", "TRUE"}}, {"true", "TRUE", []string{"TRUE", "FALSE"}},
		{"TRUE", "TRUE", []string{"yes", "no"}}, {"YES", "YES", []string{"yes", "no"}},
	} {
		x := record{Answer: Answer{}}
		err := x.fromCell(study.Question{Name: "q", Type: "choice", Options: c.options}, c.cell)
		if got := x.Answer.Text("q"); err != nil || got != c.want {
			t.Errorf("%s of %q is %q (%v), want %s", c.cell, c.options, got, err, c.want)
		}
	}
}

// A file with any error is refused as a whole.
func TestImportRefusals(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	for _, test := range []struct{ format, data, words string }{
		{"jsonl", "", "has no answers"},
		{"jsonl", `{"answer":{}}`, "f:1: the record has no subject"},
		{"jsonl", `{"subject":{"item":"../x"},"answer":{}}`, "f:1: the task has no subject ../x"},
		{"jsonl", `{"subject":{"item":"i00"},"answer":{"q":"maybe"}}`, `"maybe" is not an option`},
		{"jsonl", `{"text":"other","subject":{"item":"i00"},"answer":{}}`, "not that of the study"},
		{"jsonl", `{"text":"a😀é\r\nb i00\nz😀 two","spans":[{"start":5,"end":12,"question":"spans","label":"bad"}],"subject":{"item":"i00"},"answer":{}}`, "on several"},
		{"jsonl", `{"spans":[{"start":0,"end":1,"question":"other"}],"subject":{"item":"i00"},"answer":{}}`, `no question "other"`},
		{"jsonl", `[]`, "f:1:"},
		{"csv", "item,q\ni00,perhaps\n", `"perhaps" is not an option`},
		{"csv", "item,n\ni00,many\n", "f:2:5: n: "},
		{"label-studio", `[{"data":{"text":""},"annotations":[{"result":[]}]}]`, "data.subject is missing"},
		{"label-studio", `[{"data":{"subject":{"item":"i00"}},"annotations":[{"result":[{"from_name":"spans","value":{"start":0.7,"end":1.2,"labels":["bad"]}}]}]}]`, "whole number"},
		{"label-studio", `[{"id":1,"text":"x","subject":{"item":"i00"},"q":"yes","annotator":1,"annotation_id":3}]`, "f: an export JSON-MIN of Label Studio, which is not read: export it as JSON"},
		{"xml", "", "the formats are"},
	} {
		dir := t.TempDir()
		p := Place{Study: "s", Dir: filepath.Join(dir, "annotations"), Ledger: filepath.Join(dir, ledger.Name), Now: func() time.Time { return clock }}
		_, err := p.Import(everything, emoji{corpus{2}}, File{Name: "f", Data: []byte(test.data), Format: test.format, Offsets: codePoints, Person: "anna"})
		if err == nil || !strings.Contains(err.Error(), test.words) {
			t.Errorf("%s %s: %v, want %q", test.format, test.data, err, test.words)
		}
		if data, _ := os.ReadFile(p.workPath("all", "anna")); len(data) > 0 {
			t.Errorf("%s: %s was written", test.format, data)
		}
	}
	if _, err := text.NewRuler("😀").Exactly(1, text.UTF16); err == nil {
		t.Error("an offset inside of a character")
	}
}

// Label Studio writes the text of a passage as its page shows it: line ends as the characters \n,
// and one space for several. The offsets count, and such passages are counted.
func TestPassagesAsLabelStudioWritesThem(t *testing.T) {
	file := func(start, end int, says string) File {
		data := fmt.Sprintf(`[{"data":{"subject":{"item":"i00"}},"annotations":[{"result":[{"from_name":"spans","value":{"start":%d,"end":%d,"text":%q,"labels":["bad"]}}]}]}]`, start, end, says)
		return File{Name: "f", Data: []byte(data), Format: "label-studio", Person: "anna"}
	}
	read := func(f File) (record, error) {
		list, err := f.fromLabelStudio(everything)
		if err != nil {
			t.Fatal(err)
		}
		shown, err := show(everything, emoji{corpus{2}}, Subject{Item: "i00"}, false)
		if err != nil {
			t.Fatal(err)
		}
		return list[0], list[0].place(shown, text.Unit(f.Offsets))
	}
	for _, test := range []struct {
		says, want string // text of the region, error
		spaced     int
	}{
		{"é\r\nb", "", 0}, {`é\n\nb`, "", 1}, {"é b", "", 1},
		{"b i0", "give what the offsets count with --offsets", 0},
		{"nowhere", `in the file: correct its offsets; if they are right, remove its text from the file`, 0},
	} {
		start, end := 2, 6
		if test.says == "b i0" {
			start, end = 6, 10 // in UTF-16
		}
		x, err := read(file(start, end, test.says))
		if x.spaced != test.spaced || (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %d passages with other white space, %v", test.says, x.spaced, err)
		}
	}
}

func FuzzImport(f *testing.F) {
	for i := range Formats() {
		f.Add(i, []byte(`{"subject":{"item":"i00"},"answer":{"q":"yes"},"label":[[0,1,"spans: bad"]]}`))
	}
	f.Fuzz(func(t *testing.T, i int, data []byte) {
		file := File{Name: "f", Data: data, Format: Formats()[uint(i)%uint(len(Formats()))], Offsets: string(text.Bytes)}
		from, _, err := formatOf("--format", file.Format, file.Offsets)
		if err != nil {
			t.Fatal(err)
		}
		list, err := from.read(file, everything)
		if err != nil {
			return
		}
		shown, err := show(everything, emoji{corpus{2}}, Subject{Item: "i00"}, false)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range list {
			if x.place(shown, text.Unit(file.Offsets)) == nil && x.Answer.check(shown, false) == nil {
				x.Answer.exact(shown)
			}
		}
		_ = fmt.Sprint(list)
	})
}

// A task of Label Studio has the annotations of all people, and names no user: Label Studio
// refuses those whom it does not have. After an import it has ids of its own, and that of the file
// as import_id.
func TestLabelStudioTasks(t *testing.T) {
	subject := Subject{Item: "i00"}
	list := []record{{Subject: subject, By: "anna", Answer: Answer{"q": []byte(`"yes"`)}}, {Subject: subject, By: "ben", Answer: Answer{"q": []byte(`"no"`)}}}
	data, err := exportLabelStudio(everything, list)
	if err != nil {
		t.Fatal(err)
	}
	var tasks []map[string]any
	if err := json.Unmarshal(data, &tasks); err != nil || len(tasks) != 1 || len(tasks[0]["annotations"].([]any)) != 2 || strings.Contains(string(data), "completed_by") {
		t.Fatalf("%v\n%s", err, data)
	}
	theirs := strings.NewReplacer(`"id": 1`, `"id": 71, "import_id": 1, "completed_by": 1`, `"id": 2`, `"id": 72, "import_id": 2, "completed_by": {"email": "boss@x"}`).Replace(string(data))
	added := strings.Replace(theirs, `"import_id": 2, `, "", 1)
	for file, want := range map[string]string{string(data): "anna yes, ben no", theirs: "anna yes, ben no", added: "anna yes, boss@x no"} {
		list, err := File{Name: "f", Data: []byte(file)}.fromLabelStudio(everything)
		var got []string
		for _, x := range list {
			got = append(got, x.By+" "+x.Answer.Text("q"))
		}
		if strings.Join(got, ", ") != want || err != nil {
			t.Errorf("%v, %v, want %s of\n%s", got, err, want, file)
		}
	}
}

// An import that was interrupted is completed by repeating it. Another answer to a
// subject needs a reason, and a file with two is refused.
func TestImportIsRepeated(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	p := at(t, &clock)
	line := func(item, answer string) string {
		return fmt.Sprintf(`{"subject":{"item":%q},"answer":{"q":%q}}`, item, answer) + "\n"
	}
	task := label
	task.Again = study.Again{}
	for _, step := range []struct {
		data, reason string
		n            int
		err          string
	}{
		{line("i00", "yes") + line("i01", "no"), "", 2, ""},
		{line("i00", "yes") + line("i01", "no") + line("i02", "yes"), "", 1, ""},
		{line("i00", "yes") + line("i01", "yes") + line("i03", "yes"), "", 0, "i01 was answered already, and otherwise: correct the answer with --reason"},
		{line("i04", "yes") + line("i04", "yes"), "", 0, "i04 has two answers"},
		{line("i03", "yes"), "", 1, ""},
		{line("i00", "yes") + line("i01", "yes"), "a slip", 1, ""},
		{line("i00", "yes") + line("i01", "yes"), "a slip", 0, ""},
		{line("i01", "yes"), "", 0, ""},
	} {
		in, err := p.Import(task, corpus{6}, File{Name: "f", Data: []byte(step.data), Format: "jsonl", Offsets: codePoints, Person: "anna", Reason: step.reason})
		if in.Answers != step.n || (step.err == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), step.err) {
			t.Errorf("%s: %+v, %v, want %d, %q", step.data, in, err, step.n, step.err)
		}
	}
	w, err := p.ReadWork("t", "anna")
	if err != nil || len(w.order) != 4 {
		t.Fatalf("%d answers are stored, want 4: %v", len(w.order), err)
	}
	if g := w.given[slot{Subject{Item: "i01"}, passFirst}]; g.First.Answer.Text("q") != "no" || g.Final.Answer.Text("q") != "yes" || g.Final.Reason != "imported from f: a slip" {
		t.Errorf("%+v, %+v", g.First, g.Final)
	}
}

// Answers are about the text that was exported: a file is refused in every format if the study shows
// another. Answers without a text or its hash are counted.
func TestImportOfAnotherText(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	task := label
	task.Again = study.Again{}
	for _, format := range Formats() {
		p := at(t, &clock)
		d := openOf(t, p, task, corpus{2}, "anna")
		for range 2 {
			if err := d.say(t, "yes"); err != nil {
				t.Fatal(err)
			}
		}
		d.close()
		out, err := p.Export(task, corpus{2}, format, codePoints)
		if err != nil {
			t.Fatal(err)
		}
		file := File{Name: "f", Data: out.Data, Format: format, Offsets: codePoints, Person: "ben", From: "anna"}
		if _, err := p.Import(task, revised{corpus{2}, map[string]bool{"i01": true}}, file); err == nil || !strings.Contains(err.Error(), "the text of i01 is not that of the study") {
			t.Errorf("%s: %v", format, err)
		}
		if in, err := p.Import(task, corpus{2}, file); err != nil || in.Answers != 2 || in.Unchecked != 0 {
			t.Errorf("%s: %+v, %v", format, in, err)
		}
	}
	file := File{Name: "f.csv", Data: []byte("item,text_sha256,q\ni00,,yes\ni01,,\n"), Offsets: codePoints, Person: "ben"}
	if in, err := at(t, &clock).Import(task, corpus{2}, file); err != nil || in.Answers != 1 || in.Unchecked != 1 {
		t.Errorf("%+v, %v", in, err)
	}
}

// An import corrects an answer of the browser, whose first form still counts in agreement, and
// answers what was skipped.
func TestImportCorrects(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	task := label
	task.Again = study.Again{}
	p := at(t, &clock)
	d := openOf(t, p, task, corpus{2}, "anna")
	k, place, _, _ := d.next()
	if err := d.say(t, "yes"); err != nil {
		t.Fatal(err)
	}
	skipped, _, _, _ := d.next()
	_, err := d.append(eventSkip, Event{Pass: passFirst, Subject: &skipped.subject, Place: place, Reason: "unclear"})
	d.close()
	if err != nil {
		t.Fatal(err)
	}
	line := func(s Subject, answer string) string {
		return fmt.Sprintf(`{"subject":{"item":%q},"answer":{"q":%q}}`, s.Item, answer) + "\n"
	}
	for _, step := range []struct {
		data, reason string
		n            int
	}{{line(k.subject, "yes") + line(skipped.subject, "no"), "", 1}, {line(k.subject, "no") + line(skipped.subject, "no"), "misread", 1}} {
		in, err := p.Import(task, corpus{2}, File{Name: "f", Data: []byte(step.data), Format: "jsonl", Offsets: codePoints, Person: "anna", Reason: step.reason})
		if err != nil || in.Answers != step.n {
			t.Fatalf("%s: %+v, %v, want %d", step.data, in, err, step.n)
		}
	}
	w, err := p.ReadWork("t", "anna")
	if err != nil {
		t.Fatal(err)
	}
	if g := w.given[k]; g.First.Sighted || g.First.Answer.Text("q") != "yes" || !g.Final.Sighted || g.Final.Answer.Text("q") != "no" {
		t.Errorf("%+v, %+v", g.First, g.Final)
	}
	if r, err := p.Result(task, corpus{2}); err != nil || len(r.Settled) != 2 {
		t.Errorf("%+v, %v", r, err)
	}
}

// Gold that the page of a unit refuses is refused in a file, too: a lock would keep it for good.
func TestImportOfGold(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	for value, want := range map[string]string{"unfit": "f.csv:2: no date", "nowhere": `f.csv:2: document "i00": `, "2024-03-15": ""} {
		data := `item,unit,exists,value,quote` + "\n" + `i00,u1,present,` + value + `,"[{""start"":0,""end"":4,""text"":""text"",""question"":""quote""}]"` + "\n"
		in, err := at(t, &clock).Import(study.Task{Name: "t", Kind: "gold"}, corpus{1}, File{Name: "f.csv", Data: []byte(data), Offsets: codePoints, Person: "anna"})
		if in.Answers != one(want == "") || (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v, want %q", value, in, err, want)
		}
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
		exported, err := p.Export(task, corpus{8}, format, codePoints)
		if err != nil {
			t.Fatal(err)
		}
		data := exported.Data
		file := File{Name: "f", Data: data, Format: format, Offsets: codePoints, Person: "ben", From: "anna"}
		if in, err := p.Import(task, corpus{8}, file); err != nil || in.Answers != 8 {
			t.Fatalf("%s: %+v, %v", format, in, err)
		}
		w, err := p.ReadWork("t", "ben")
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range w.given {
			if arm := g.First.label(task, task.Ask[0]); arm != "secret-arm" {
				t.Errorf("%s: %v: the preference became one for %s", format, g.subject, arm)
			}
		}
		if list, stale, err := p.Verdicts(task, corpus{8}); err != nil || stale != 0 || len(list) != 16 {
			t.Errorf("%s: %d verdicts, %d stale: %v", format, len(list), stale, err)
		}
	}
	p := at(t, &clock)
	file := File{Name: "f", Data: []byte(`{"subject":{"item":"i00","arm":"secret-arm","other":"other-arm","replicate":1},"answer":{"better":"A"}}`), Format: "jsonl", Offsets: codePoints, Person: "ben"}
	if _, err := p.Import(task, corpus{8}, file); err == nil || !strings.Contains(err.Error(), `shown_as_a is "": want the arm`) {
		t.Error(err)
	}
}

// The answers of one person are taken from a file with those of several. Rows without a name are
// theirs if the file names nobody else.
func TestImportOfOnePerson(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		format, data, person, from string
		n, others                  int
		err                        string
	}{
		{"csv", "item,by,q\ni00,anna,yes\ni00,bob,no\n", "bob", "", 1, 1, ""},
		{"csv", "item,by,q\ni00,anna,yes\ni01,,no\ni02,,\n", "anna", "", 2, 0, ""},
		{"csv", "item,by,q\ni00,anna,yes\ni01,bob,no\ni02,,yes\n", "anna", "", 0, 0, `f.csv:4: an answer without a name, in a file with those of anna, bob: write whose it is into the column by`},
		{"csv", "item,by,q\ni00,anna,yes\ni02,,yes\n", "bob", "", 0, 0, "f.csv:3: an answer without a name, in a file with those of anna:"},
		{"csv", "item,by,q\ni00,anna,yes\ni01,bob,no\n", "carl", "", 0, 0, "f.csv has answers of anna, bob, none of carl: name one of them with --from"},
		{"csv", "item,by,q\ni00,Ben,yes\ni01,Carl K.,no\n", "carl", "Carl K.", 1, 1, ""},
		{"csv", "item,by,q\ni00,Ben,yes\n", "carl", "Carl K.", 0, 0, "f.csv has answers of Ben, none of Carl K."},
		{"csv", "item,by,q\ni00,Eve,yes\n", "carl", "", 1, 0, ""},
		{"csv", "item,by,q\ni00,Ben,yes\n", "ben", "", 1, 0, ""},
		{"csv", "item,by,q\ni00,Zoe,yes\n", "carl", "", 0, 0, "f.csv has answers of Zoe, one of the people of this task, and none of carl: import them with --as zoe, or with --from Zoe if they are those of carl"},
		{"csv", "item,by,q\ni00,zoe,yes\n", "carl", "zoe", 1, 0, ""},
		{"csv", "item,by,q\ni00,dan,yes\n", "carl", "", 0, 0, "f.csv has answers of dan, one of the people of this task"},
		{"csv", "item,q,boundary_note\ni00,yes,why\n", "carl", "", 0, 0, `unknown column "boundary_note"`},
		{"csv", "item,q,q\ni00,yes,no\n", "carl", "", 0, 0, `duplicate column "q"`},
		{"", "item,q\ni00,yes\ni01,maybe\n", "carl", "", 0, 0, `f.csv:3: q: "maybe" is not an option`},
		{"", "item,q\ni00,yes\n", "carl", "", 1, 0, ""},
		{"", "item,q\n i00 , yes\n", "carl", "", 1, 0, ""},
		{"csv", "item,replicate,q\ni00,one,yes\n", "carl", "", 0, 0, `f.csv:2:5: replicate: "one" is not a number`},
	} {
		task := label
		task.Again = study.Again{}
		p := at(t, &clock)
		if err := open(t, p, task, "zoe").say(t, "yes"); err != nil {
			t.Fatal(err)
		}
		task.People = []string{"anna", "ben", "bob", "carl", "dan"}
		in, err := p.Import(task, corpus{6}, File{Name: "f.csv", Data: []byte(test.data), Format: test.format, Offsets: codePoints, Person: test.person, From: test.from})
		if said := in.Named == "Eve"; said != strings.Contains(test.data, "Eve") {
			t.Errorf("%s as %s: named %q", test.data, test.person, in.Named)
		}
		if in.Answers != test.n || in.Others != test.others || (test.err == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s as %s: %+v, %v, want %d, %d, %q", test.data, test.person, in, err, test.n, test.others, test.err)
		}
	}
}

// padded is a corpus whose ids have blanks at an end.
type padded struct{ corpus }

func (padded) Items() []eval.Item { return []eval.Item{{ID: " a "}, {ID: "b\t"}} }

// A text is imported as it was written, with the blanks at its ends, and so is the id of its item.
func TestBlanksOfTables(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	task := study.Task{Name: "t", Of: "item", Show: []string{"lead"}, Ask: []study.Question{{Name: "why", Type: "text", Optional: true}}}
	for _, format := range Formats() {
		for _, said := range []string{` lead and trail `, `\ttab`, "\u00a0no break\u00a0", `line\r\nbreak\n`, `'`, `\n=1`, ` `, ``, `\n`} {
			p, answer := at(t, &clock), `{"why":"`+said+`"}`
			d := openOf(t, p, task, padded{corpus{2}}, "anna")
			d.answerAll(t, answer)
			d.close()
			out, err := p.Export(task, padded{corpus{2}}, format, codePoints)
			if err != nil {
				t.Fatal(err)
			}
			if in, err := p.Import(task, padded{corpus{2}}, File{Name: "f", Data: out.Data, Format: format, Offsets: codePoints, Person: "anna"}); err != nil || in.Answers != 0 {
				t.Errorf("%s, %q: anna's own answers: %+v, %v", format, said, in, err)
			}
			if len(answerOf(t, answer).written()) == 0 {
				continue
			}
			if in, err := p.Import(task, padded{corpus{2}}, File{Name: "f", Data: out.Data, Format: format, Offsets: codePoints, Person: "ben", From: "anna"}); err != nil || in.Answers != 2 {
				t.Errorf("%s, %s: %+v, %v", format, said, in, err)
			} else if w, err := p.ReadWork("t", "ben"); err != nil || !w.order[0].First.Answer.equal(answerOf(t, answer)) {
				t.Errorf("%s: %s became %s: %v", format, said, w.order[0].First.Answer, err)
			}
		}
	}
}

// Work begins in another tool: an export has the subjects that nobody answered, and an
// import skips those that are still without an answer, in every format.
func TestExchangeOfUnanswered(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	for _, format := range Formats() {
		p := at(t, &clock)
		x, err := p.Export(everything, emoji{corpus{3}}, format, codePoints)
		if err != nil || x.Unanswered != 3 || x.Answers != 0 || x.Withheld != 0 {
			t.Fatalf("%s: %+v, %v", format, x, err)
		}
		if text := string(x.Data); format != "xlsx" && !strings.Contains(text, "i02") {
			t.Errorf("%s has no subject: %s", format, text)
		}
		file := File{Name: "f", Data: x.Data, Format: format, Offsets: codePoints, Person: "anna"}
		if _, err := p.Import(everything, emoji{corpus{3}}, file); err == nil || !strings.Contains(err.Error(), "f has no answers, only 3 subjects without one") {
			t.Errorf("%s: %v", format, err)
		}
	}
	task := study.Task{Name: "q", Of: "item", Show: []string{"pages"}, Ask: []study.Question{{Name: "q", Text: "Is it?", Type: "choice", Options: []string{"yes", "no"}}}}
	p := at(t, &clock)
	x, err := p.Export(task, emoji{corpus{3}}, "jsonl", codePoints)
	if err != nil {
		t.Fatal(err)
	}
	file := File{Name: "f", Format: "jsonl", Offsets: codePoints, Person: "anna"}
	file.Data = []byte(strings.Replace(string(x.Data), `"answer":{}`, `"answer":{"q":"no"},"by":"anna"`, 1))
	if in, err := p.Import(task, emoji{corpus{3}}, file); in.Answers != 1 || in.Skipped != 2 || err != nil {
		t.Errorf("%+v: %v", in, err)
	}
	if x, err := p.Export(task, emoji{corpus{3}}, "jsonl", codePoints); err != nil || x.Answers != 1 || x.Unanswered != 2 {
		t.Errorf("%+v, %v", x, err)
	}
	// An arm is not named before its answer is judged.
	judged := study.Task{Name: "t", Kind: "pair", Arms: []string{"secret-arm", "other-arm"}}.Full()
	if x, err := at(t, &clock).Export(judged, corpus{8}, "jsonl", codePoints); err != nil || x.Withheld != 8 || len(x.Data) != 0 {
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
