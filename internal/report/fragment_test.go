package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
)

// The parts for viewers have the links that the viewer gives, and files have none.
func TestBodyLinks(t *testing.T) {
	r := load(t, "study")
	if html := render(t, r, HTML); strings.Contains(html, `class="behind"`) {
		t.Error("a file has links to trials")
	}
	seen := map[Behind]bool{}
	r.Link = func(b Behind) string {
		if b.Stratum != nil {
			b.Stratum = nil
		}
		seen[b] = true
		return fmt.Sprintf("t?arm=%s&against=%s&metric=%s&outcome=%s", b.Arm, b.Against, b.Metric, b.Outcome)
	}
	whole, err := Body(r, false)
	if err != nil {
		t.Fatal(err)
	}
	short, err := Body(r, true)
	if err != nil {
		t.Fatal(err)
	}
	if len(short) >= len(whole) || strings.Contains(string(whole), `id="samples"`) || strings.Contains(string(whole), "<script") || strings.Contains(string(whole), "<style") {
		t.Errorf("short %d bytes, whole %d", len(short), len(whole))
	}
	for _, a := range r.Analysis.Arms {
		for _, c := range []Behind{{Arm: a.ID, Outcome: "failed"}} {
			if a.Role != eval.RoleCalibration && !seen[c] {
				t.Errorf("no link to %+v", c)
			}
		}
	}
	for _, c := range r.Analysis.Comparisons {
		if !seen[Behind{Arm: c.A, Against: c.B, Metric: c.Metric}] {
			t.Errorf("no link to the items of %s and %s by %s", c.A, c.B, c.Metric)
		}
		said, err := Compared(r.Analysis, c.B, c.A, c.Metric)
		if err != nil || c.Stratum == nil && !strings.Contains(string(said), "finding") {
			t.Errorf("%s and %s by %s: %q, %v", c.A, c.B, c.Metric, said, err)
		}
	}
	if said, err := Compared(r.Analysis, "nobody", "b", "composite"); err != nil || said != "" {
		t.Errorf("arms that are not compared: %q, %v", said, err)
	}
}

// A trial has its whole pages, by title or number, and each mark names the units of all marks
// that cover it.
func TestTrialPart(t *testing.T) {
	x := eval.Exhibit{Item: "i", Arm: "a", Raw: "<b>raw</b>", Pages: []eval.ExhibitPage{{Number: 3, Text: strings.Repeat("x", 5000) + "total & <sum>",
		Marks: []eval.Mark{{Start: 5000, End: 5007, Kind: "gold", Label: "total"}, {Start: 5003, End: 5013, Kind: "answer", Label: "sum"}}}},
		Rows: []eval.ExhibitRow{{Unit: "total", Gold: "<1>", Answer: "2"}}}
	html, err := Trial(x, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`id="page-3"`, strings.Repeat("x", 5000), "data-units=\"total\n\"", "data-units=\"total\nsum\n\"", "data-units=\"sum\n\"", "&lt;sum&gt;", "&lt;b&gt;raw&lt;/b&gt;", "&lt;1&gt;"} {
		if !strings.Contains(string(html), want) {
			t.Errorf("the trial lacks %.60q", want)
		}
	}
	x.Pages = []eval.ExhibitPage{{Number: 1, Title: "Gold"}, {Number: 2, Title: "<Answer>"}}
	html, err = Trial(x, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`<h3 id="page-1"><bdi>Gold</bdi></h3>`, `<a href="#page-2"><bdi>&lt;Answer&gt;</bdi></a>`} {
		if !strings.Contains(string(html), want) {
			t.Errorf("the trial lacks %q", want)
		}
	}
	if strings.Contains(string(html), "Page 1") || strings.Contains(string(html), "quoted by the answer") {
		t.Error("pages with titles are numbered, or have the key of quotes")
	}
}
