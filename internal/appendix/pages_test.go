package appendix

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

func TestSections(t *testing.T) {
	for _, tt := range []struct {
		name, page string
		want       map[string]string
		order      []string
	}{
		{"empty", "", map[string]string{}, nil},
		{"comments are no text", "# Title\n\n<!-- write\nhere -->\n\n## One\n\n<!-- about\n## Two\n-->\n", map[string]string{"": "", "one": ""}, []string{"One"}},
		{"text before headings", "\ufeff# Title\r\nA word.\r\n## One\r\nIt is so.\r\n", map[string]string{"": "A word.", "one": "It is so."}, []string{"One"}},
		{"other levels, and one in a fence", "## One\n### Deeper\n- a\n```\n## No heading\n```\n", map[string]string{"one": "### Deeper\n- a\n```\n## No heading\n```"}, []string{"One"}},
		{"comments of a shell and of HTML in fences", "# T\n```sh\n# make it\n```\n## One\n~~~\n## No heading\n<!-- kept -->\n```\n~~~\n<!-- gone\n```\n-->\n## Two\nx\n",
			map[string]string{"": "```sh\n# make it\n```", "one": "~~~\n## No heading\n<!-- kept -->\n```\n~~~", "two": "x"}, []string{"One", "Two"}},
		{"a longer fence, and one in a list", "## One\n````\n```\n## No\n````\n- a\n  ```\n  open\n## Two\ny <!-- open\n", map[string]string{"one": "````\n```\n## No\n````\n- a\n  ```\n  open", "two": "y <!-- open"}, []string{"One", "Two"}},
		{"case and spaces", "##  A  Code \nx\n## a code\ny\n", map[string]string{"a code": "x\ny"}, []string{"A  Code", "a code"}},
	} {
		texts, order := sections(tt.page)
		if !maps.Equal(texts, tt.want) || !slices.Equal(order, tt.order) {
			t.Errorf("%s: got %q, %q", tt.name, texts, order)
		}
	}
}

// What people wrote stands beside what the suite knows; what they did not is counted; and a
// page that was only made is not written.
func TestPages(t *testing.T) {
	s := source(t)
	pages := map[string]string{}
	s.Page = func(path string) (string, bool, error) { text, ok := pages[path]; return text, ok, nil }
	list := []kit.Appendix{
		{Name: "D.2", Title: "Codes", Page: "pages/codes.md", Fill: func(kit.Bench, kit.Kept) ([]kit.Part, error) {
			return []kit.Part{{Heading: "reads\nthe <title>", Ask: "Define it.", Texts: []eval.Passage{{Name: "Example", Text: "<script>alert(1)</script>"}}}}, nil
		}},
		{Title: "Limitations", Page: "pages/limits.md", Ask: []kit.Topic{{Heading: "Scope", Ask: "Of what?"}, {Heading: "Experts", Ask: "Who?"}}},
		{Name: "D.9", Title: "Empty", Page: "pages/empty.md"},
	}
	made, err := Pages(list, s)
	if err != nil || len(made) != 2 || made[0].Name != "pages/codes.md" || !strings.Contains(string(made[0].Data), "## reads the <title>\n\n<!-- Define it. -->") {
		t.Fatalf("%s (%v)", made, err)
	}
	for _, p := range made {
		pages[p.Name] = string(p.Data)
	}
	for _, none := range []bool{false, true} {
		if none {
			clear(pages)
		}
		set, err := Make(list, s)
		if err != nil || len(set.Missing) != 3 || set.Missing[0] != (Missing{"pages/codes.md", "reads the <title>"}) {
			t.Fatalf("%v (%v)", set.Missing, err)
		}
		if text := string(set.Files[1].Data); set.Files[1].Name != "limitations.md" || !strings.Contains(text, `Not written yet: pages/limits.md, heading "Scope"`) {
			t.Errorf("%s\n%s", set.Files[1].Name, text)
		}
		if text := string(set.Files[2].Data); !strings.Contains(text, "nothing to show here yet") {
			t.Error(text)
		}
	}
	pages["pages/codes.md"] = "## Reads the <title>\nThe *title* alone <img src=x onerror=alert(2)> decides: 1 < 2.\n"
	pages["pages/limits.md"] = "## Scope\nOne <b>organisation</b>.\n## Own heading\nMore.\n"
	set, err := Make(list, s)
	if err != nil || !slices.Equal(set.Missing, []Missing{{"pages/limits.md", "Experts"}}) {
		t.Fatalf("%v (%v)", set.Missing, err)
	}
	for file, want := range map[int]string{0: "The *title* alone &lt;img src=x onerror=alert(2)> decides: 1 < 2.", 1: "## Own heading\n\nMore."} {
		if !strings.Contains(string(set.Files[file].Data), want) {
			t.Errorf("%s has no %q:\n%s", set.Files[file].Name, want, set.Files[file].Data)
		}
	}
	page := string(set.Files[3].Data)
	for _, want := range []string{"&lt;script&gt;alert(1)", "&lt;img src=x onerror=alert(2)&gt;", "1 section not written yet"} {
		if !strings.Contains(page, want) {
			t.Errorf("%s has no %q", set.Files[3].Name, want)
		}
	}
	if strings.Contains(page, "<script>alert") || strings.Contains(page, "<img src=x") || strings.Contains(page, "<b>organisation") {
		t.Error("text of people is no element")
	}
}

// Arms that were sent the same text have it once; a replicate that failed does not hide it, and
// a request that cannot be built again is named without its reason.
func TestPrompts(t *testing.T) {
	s := source(t)
	s.Study.Execution.Replicates = 2
	s.Analysis = &analyse.Analysis{Asked: &analyse.Asked{Parties: []analyse.Party{
		{Name: "a@x", Item: "q1", Provider: "p", Settings: []eval.Level{{Name: "temperature", Value: "0"}}, Adapted: []string{"no temperature"}},
		{Name: "a@y", Item: "q1"}, {Name: "a@z", Item: "q1"}, {Name: "b@x", Item: "q1"}, {Name: "judge", Judge: true, Item: "q1", Prompts: []analyse.Prompt{{Step: "coherence", Text: "Is it coherent?"}}},
	}}}
	s.Prompt = func(of eval.Trial) (string, error) {
		if of.Arm == "a@z" || of.Replicate == 1 {
			return "", errors.New("no such file /tmp/secret")
		}
		return "Judge ``` this.", nil
	}
	arms := func(kit.Bench) []string { return []string{"a@x", "a@y", "a@z", "judge"} }
	set, err := Make([]kit.Appendix{{Name: "B", Title: "Prompts", From: kit.FromPrompts, Arms: arms}, {Name: "C", Title: "More", From: kit.FromPrompts, Arms: arms, Judges: true}}, s)
	if err != nil {
		t.Fatal(err)
	}
	text := string(set.Files[0].Data)
	for _, want := range []string{"| a@x | p |  |  | temperature 0 | no temperature |", "## Sent to a@x, a@y about q1\n\n````text\nJudge ``` this.\n````", "The request of a@z about q1 cannot be built again"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "b@x") || strings.Contains(text, "judge") || strings.Contains(text, "/tmp") {
		t.Error(text)
	}
	if text := string(set.Files[1].Data); !strings.HasSuffix(text, "## Sent to the judge judge about q1\n\n```text\nIs it coherent?\n```\n\n") {
		t.Errorf("no prompt of the judge at the end of\n%s", text)
	}
}
