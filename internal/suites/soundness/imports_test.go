package soundness

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// TestLLMBarAsPublished: the figures that the authors of LLMBar published for these
// judges, digit by digit, from their raw outputs. The texts read as the authors read
// them, or as nothing.
func TestLLMBarAsPublished(t *testing.T) {
	data, err := os.ReadFile("testdata/llmbar/published_statistics.json")
	if err != nil {
		t.Fatal(err)
	}
	var judges map[string]map[string]any
	if err := json.Unmarshal(data, &judges); err != nil || len(judges) < 6 {
		t.Fatalf("%d judges, %v", len(judges), err)
	}
	for name, want := range judges {
		got, err := measureLLMBar(filepath.Join("testdata/llmbar", name+".results.jsonl.gz"))
		if err != nil {
			t.Fatal(err)
		}
		encoded, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		var have map[string]any
		if err := json.Unmarshal(encoded, &have); err != nil {
			t.Fatal(err)
		}
		for key, value := range want {
			x, numeric := value.(float64)
			if y, ok := have[key].(float64); numeric && (!ok || math.Abs(x-y) > 1e-12) || !numeric && have[key] != value {
				t.Errorf("%s: %s is %v, published as %v", name, key, have[key], value)
			}
		}
		if got.Differ > 0 || got.Unreadable > 1 {
			t.Errorf("%s: %d texts read as another answer, %d as none", name, got.Differ, got.Unreadable)
		}
	}
}

// TestLLMBarErrors: bad files have line and remedy.
func TestLLMBarErrors(t *testing.T) {
	for data, want := range map[string]string{
		"":             "has no judgements",
		`{"label": 3}`: "x.jsonl:1: want label 1 or 2 and results, got label 3 and 0 results",
		`{"label": 1,`: "x.jsonl:1: ",
		`{"label": 1, "results": [{"swap = False": {"completion": ["Output (a)"]}}]}`: "lacks the completion of an order",
	} {
		file := filepath.Join(t.TempDir(), "x.jsonl")
		if err := os.WriteFile(file, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := measureLLMBar(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", data, err, want)
		}
	}
}

// imported converts a file and opens a study of it.
func imported(t *testing.T, name, file string, labels [2]string) *Bench {
	t.Helper()
	for _, f := range imports() {
		if f.Name != name {
			continue
		}
		data, _, err := f.Convert(file, kit.ImportOptions{})
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		study := fmt.Sprintf(`name: s
suite: soundness
data: {path: x.jsonl, columns: essential}
gold: {path: x.jsonl, columns: essential}
labels: [{name: "%s", side: strength}, {name: "%s", side: weakness}]
arms: [{name: zero_shot}]
models: [{id: m, provider: openai, name: m}]
`, labels[0], labels[1])
		for name, text := range map[string]string{"study.yaml": study, "x.jsonl": string(data)} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return opened(t, filepath.Join(dir, "study.yaml"))
	}
	t.Fatalf("no import %s", name)
	return nil
}

// TestPublishedGold: published files load as gold with the experts' labels.
func TestPublishedGold(t *testing.T) {
	count := func(b *Bench) (n [2]int) {
		for _, f := range b.fragments {
			n[f.Gold.Label]++
		}
		return n
	}
	b := imported(t, "judgebench", "testdata/inferential_soundness.jsonl", [2]string{"yes", "no"})
	if d := cmp.Diff([2]int{2, 3}, count(b)); d != "" || !strings.Contains(b.fragment("1").Text, "### PROBLEM STATEMENT") {
		t.Errorf("inferential soundness: %s", d)
	}
	b = imported(t, "judgebench", "testdata/cola_binary.jsonl", [2]string{"Yes", "No"})
	if n := count(b); n[0]+n[1] != 12 || b.labels[b.fragment("4").Gold.Label].Name != "No" || b.fragment("0").Text != "The sailors rode the breeze clear of the rocks." {
		t.Errorf("CoLA: %v", n)
	}
	b = imported(t, "tofueval", "testdata/tofueval_meetingbank_dev.jsonl", [2]string{"yes", "no"})
	f := b.fragments[0]
	for _, g := range b.fragments {
		if g.Gold.Label == 1 {
			f = g
		}
	}
	if len(b.fragments) != 12 || f.Gold.Rationale == "" || f.Cluster == "" || f.Criterion == "" {
		t.Errorf("TofuEval: %d fragments, %+v", len(b.fragments), f)
	}
	b = imported(t, "llmbar", "testdata/llmbar/Natural.jsonl", [2]string{"1", "2"})
	if n := count(b); n[0]+n[1] != 6 || !strings.Contains(b.fragments[0].Text, "# Output (b):") {
		t.Errorf("LLMBar: %v", n)
	}
	// several questions about one item are items of one cluster
	b = imported(t, "judgebench", "testdata/roscoe_gsm8k_overall.jsonl", [2]string{"yes", "no"})
	if len(b.fragments) != 6 || b.fragments[0].Cluster != b.fragments[1].Cluster || !strings.Contains(b.fragments[0].Text, "Do steps contradict") {
		t.Errorf("ROSCOE: %d fragments, %+v", len(b.fragments), b.fragments[0])
	}
}

// TestImportErrors: files of another kind.
func TestImportErrors(t *testing.T) {
	for _, test := range []struct{ name, data, want string }{
		{"judgebench", `{"id": 1}`, `x.jsonl:1: the first line has no "_meta"`},
		{"judgebench", `{"_meta": {"annotations": [{"metric": "q", "category": "graded"}]}}`, "has no judgement with one of two labels"},
		{"judgebench", `{"_meta": {"annotations": [{"metric": "q", "category": "categorical", "labels_list": ["a", "b"]}]}}` + "\n" + `{"id": 1, "instance": "t", "annotations": {"q": {"majority_human": "c"}}}`, `x.jsonl:2: q: label "c" is none of a, b`},
		{"tofueval", `{"doc_id": "d", "sent_label": "perhaps"}`, `x.jsonl:1: want doc_id and sent_label yes or no, got "d" and "perhaps"`},
		{"llmbar", `{"input": "i", "label": 0}`, `x.jsonl:1: want input and label 1 or 2, got label "0"`},
	} {
		file := filepath.Join(t.TempDir(), "x.jsonl")
		if err := os.WriteFile(file, []byte(test.data), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, f := range imports() {
			if f.Name != test.name {
				continue
			}
			if _, _, err := f.Convert(file, kit.ImportOptions{}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: got %v, want %q", test.name, err, test.want)
			}
		}
	}
}

// A kappa that is undefined, since all choices are the same, is null in JSON and named in
// text.
func TestLLMBarWithoutKappa(t *testing.T) {
	const line = `{"label": 1, "results": [{"swap = False": {"completion": ["Output (a)"], "winner": "1"}, "swap = True": {"completion": ["Output (b)"], "winner": "1"}}]}` + "\n"
	file := filepath.Join(t.TempDir(), "x.jsonl")
	if err := os.WriteFile(file, []byte(line+line), 0o644); err != nil {
		t.Fatal(err)
	}
	m, err := measureLLMBar(file)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(m)
	if err != nil || !strings.Contains(string(data), `"kappa_agreement":null`) {
		t.Errorf("%s, %v", data, err)
	}
	if text := m.String(); strings.Contains(text, "NaN") || !strings.Contains(text, "undefined") {
		t.Errorf("%s", text)
	}
}
