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
		{"empty", "", map[string]string{"": ""}, nil},
		{"comments are no text", "# Title\n\n<!-- write\nhere -->\n\n## One\n\n<!-- about\n## Two\n-->\n", map[string]string{"": "", "one": ""}, []string{"One"}},
		{"text before headings", "\ufeff# Title\r\nA word.\r\n## One\r\nIt is so.\r\n", map[string]string{"": "A word.", "one": "It is so."}, []string{"One"}},
		{"headings in fences", "## One\n```sh\n## No heading\n```\n~~~\n```\n# no\n~~~\n## Two\nx\n", map[string]string{"": "", "one": "```sh\n## No heading\n```\n~~~\n```\n# no\n~~~", "two": "x"}, []string{"One", "Two"}},
		{"other levels", "## One\n### Deeper\n- a\n<!-- open", map[string]string{"": "", "one": "### Deeper\n- a\n<!-- open"}, []string{"One"}},
		{"case and spaces", "##  A  Code \nx\n## a code\ny\n", map[string]string{"": "", "a code": "x\ny"}, []string{"A  Code", "a code"}},
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
	for file, want := range map[int]string{0: "The *title* alone <img src=x onerror=alert(2)> decides: 1 < 2.", 1: "## Own heading\n\nMore."} {
		if !strings.Contains(string(set.Files[file].Data), want) {
			t.Errorf("%s has no %q:\n%s", set.Files[file].Name, want, set.Files[file].Data)
		}
	}
	if text := string(set.Files[0].Data); !strings.Contains(text, "\n<script>alert(1)</script>\n") {
		t.Errorf("no text as it is in\n%s", text)
	}
}

// What was asked is shown of the arms and judges of an appendix; arms that were sent the same text
// have it once.
func TestPrompts(t *testing.T) {
	s := source(t)
	s.Study.Execution.Replicates = 2
	short := []analyse.Prompt{{Step: "ask", Text: "Judge [… 9 characters …] this."}}
	s.Analysis = &analyse.Analysis{Asked: &analyse.Asked{Parties: []analyse.Party{
		{Name: "a@x", Item: "q1", Provider: "p", Settings: []eval.Level{{Name: "temperature", Value: "0"}}, Adapted: []string{"no temperature"}, Prompts: short},
		{Name: "a@y", Item: "q1", Missing: "of so many arms"}, {Name: "a@z", Item: "q1", Missing: "not kept"}, {Name: "b@x", Item: "q1"}, {Name: "judge", Judge: true, Item: "q1", Prompts: []analyse.Prompt{{Step: "coherence", Text: "Is it coherent?"}}},
	}}}
	s.Prompts = func(of eval.Trial) (map[string]string, error) {
		if of.Arm == "a@z" || of.Replicate == 1 {
			return nil, errors.New("no such file /tmp/secret")
		}
		return map[string]string{"ask": "Judge ``` this."}, nil
	}
	arms := func(kit.Bench) []string { return []string{"a@x", "a@y", "a@z", "judge"} }
	set, err := Make([]kit.Appendix{{Name: "B", Title: "Prompts", From: kit.FromPrompts, Arms: arms}, {Name: "C", Title: "More", From: kit.FromPrompts, Arms: arms, Judges: true}}, s)
	if err != nil {
		t.Fatal(err)
	}
	text := string(set.Files[0].Data)
	for _, want := range []string{"| a@x | p | ", "| temperature 0¹ |", "differs from the request: no temperature", "**Prompt of a@x and a@y, step ask, item q1**\n\n````text\nJudge ``` this.\n````", "no prompt: not kept", "The prompts of a@z cannot be built again"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "b@x") || strings.Contains(text, "coherent") || strings.Contains(text, "/tmp") || strings.Contains(text, "so many") {
		t.Error(text)
	}
	if text := string(set.Files[1].Data); !strings.HasSuffix(text, "**Prompt of judge, step coherence, item q1**\n\n```text\nIs it coherent?\n```\n\n") {
		t.Errorf("no prompt of the judge at the end of\n%s", text)
	}
}
