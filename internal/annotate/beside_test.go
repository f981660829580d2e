package annotate

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
)

// fields is a corpus whose answers have fields.
type fields struct{ corpus }

func (f fields) Show(t eval.Trial) (eval.Exhibit, error) {
	x, err := f.corpus.Show(t)
	x.Rows[0].Answer, x.Rows[1].Answer = "2024", "same"
	if t.Arm == "other-arm" {
		x.Rows[0].Answer = "2025"
	}
	if t.Arm != "" {
		x.Raw = fmt.Sprintf(`{"u1":%q,"u2":"same"}`, x.Rows[0].Answer)
	}
	return x, err
}

// The answers of a pair are side by side, with the document, as they were read; lines that
// the other has not are marked, and the answer as it was written is below, indented.
func TestPairsSideBySide(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	task := study.Task{Name: "t", Kind: "pair", Arms: []string{"secret-arm", "other-arm"}}
	s, err := Open(at(t, &clock), []study.Task{task}, fields{corpus{2}}, "test", false)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	get := browsing(t, s, "anna")
	_, to := get("t/t/")
	_, page := get("t/t/" + to)
	for _, want := range []string{"text of i0", "<mark>u1: 2024</mark>\nu2: same", "<mark>u1: 2025</mark>\nu2: same",
		"<details><summary>Answer as written</summary>", "{\n<mark>  &#34;u1&#34;: &#34;2024&#34;,</mark>\n  &#34;u2&#34;: &#34;same&#34;\n}"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has not %q:\n%s", want, page)
		}
	}
	if strings.Contains(page, "-arm") {
		t.Errorf("the page names an arm:\n%s", page)
	}
}

// A task that an older version drew opens, and answers to what it showed stay valid: pairs
// without the document, units without what they are, answers without the judge's criteria.
func TestFormerTasksOpen(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	for _, task := range []study.Task{
		{Name: "t", Kind: "pair", Arms: []string{"secret-arm", "other-arm"}},
		{Name: "t", Kind: "codes", Labels: []string{"a", "b"}, Arms: []string{"secret-arm"}},
		{Name: "t", Kind: "gold"},
		{Name: "t", Of: "trial", Show: []string{"answer"}, Arms: []string{"secret-arm"}, Judge: true, Criteria: []string{"be short", "be kind"},
			Ask: []study.Question{{Name: "ok", Type: "choice", Options: []string{"yes", "no"}}}},
	} {
		p := at(t, &clock)
		former := task.Full().Former()
		d := open(t, p, former, "anna")
		for n := range d.queue.Subjects {
			k, place, _, _ := d.next()
			list, err := forms(task.Full(), d.source, k.subject, d.swapped(k.subject, k.pass))
			if err != nil {
				t.Fatal(err)
			}
			old, ask := list[len(list)-1], task.Full().Ask
			if has := slices.Contains(list[0].Parts, Part{Name: "Criteria", Text: "- be short\n- be kind"}); has != (task.Criteria != nil) {
				t.Errorf("the page of %v: %+v", task, list[0].Parts)
			}
			ev := Event{Pass: k.pass, Subject: &k.subject, Swapped: d.swapped(k.subject, k.pass), Place: place, Shown: old.Hash(), Answer: Answer{}}
			ev.Answer.put(ask[0].Name, map[string]any{"choice": ask[0].Options[0], "several": ask[0].Options[:1]}[ask[0].Type])
			if task.Kind == "gold" {
				ev.Answer.put("exists", study.UnitMissing)
			}
			if data, _ := json.Marshal(old); strings.Contains(string(data), "about u") || task.Kind == "pair" && len(old.Pages) > 0 || n == 0 && old.Hash() == list[0].Hash() {
				t.Fatalf("%s: this is no former page: %s", task.Kind, data)
			}
			if _, err := d.append(eventSubmit, ev); err != nil {
				t.Fatal(err)
			}
		}
		data, err := os.ReadFile(p.queuePath("t"))
		if err != nil || !strings.Contains(string(data), taskHash(former)) {
			t.Fatal(string(data), err)
		}
		r, err := p.Result(task, corpus{6})
		if err != nil || len(r.Missing) > 0 || len(r.Settled) != len(d.queue.Subjects) {
			t.Errorf("%s: %d settled, missing %q: %v", task.Kind, len(r.Settled), r.Missing, err)
		}
		if _, err := p.Export(task, corpus{6}, "jsonl", "code_points"); err != nil {
			t.Error(err)
		}
	}
}

// The page of a unit says what it is, and a value that is none of its type is refused.
func TestGoldWithItsDefinition(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	s, err := Open(at(t, &clock), []study.Task{{Name: "t", Kind: "gold", Draw: 1}}, corpus{6}, "test", false)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	do := talking(t, s, "anna")
	_, key := do("anna", "GET", "t/t/", "")
	_, page := do("anna", "GET", "t/t/"+key, "")
	if !strings.Contains(page, "about u1") {
		t.Errorf("the page does not say what u1 is:\n%s", page)
	}
	for _, c := range []struct {
		value string
		want  int
		says  string
	}{{"unfit", 422, "no date"}, {"nowhere", 422, "document shown here: "}, {"2024-03-15", 200, "saved"}} {
		body := fmt.Sprintf(`{"id":"0123456789abcde%d","task":"t","kind":"submit","key":%q,"shown":%q,"answer":{"exists":"present","value":%q,"quote":[{"page":1,"start":0,"end":4,"text":"text"}]}}`,
			c.want/100, key, shownHash.FindStringSubmatch(page)[1], c.value)
		if code, said := do("anna", "POST", "event", body); code != c.want || !strings.Contains(said, c.says) || strings.Contains(said, "i0") {
			t.Errorf("%s: %d %s", c.value, code, said)
		}
	}
}
