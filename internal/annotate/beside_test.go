package annotate

import (
	"fmt"
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
