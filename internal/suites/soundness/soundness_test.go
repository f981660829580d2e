package soundness

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/soundness/wording"
	"github.com/scruple-eval/scruple/internal/suites/suitetest"
)

// open opens a study file.
func openAt(t testing.TB, path string, overrides ...string) (*bench, error) {
	t.Helper()
	s := new(Study)
	f, err := study.Load(path, overrides, s)
	if err != nil {
		return nil, err
	}
	return open(f, s)
}

// starter writes the files of a new study and returns the path of the study file.
func starter(t testing.TB) string {
	t.Helper()
	suite := Suite()
	files, err := suite.Init(filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	return files[0]
}

func opened(t testing.TB, path string, overrides ...string) *bench {
	t.Helper()
	b, err := openAt(t, path, overrides...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// write replaces a file of a study with a changed one.
func write(t testing.TB, path, name string, change func(text string) string) {
	t.Helper()
	file := filepath.Join(filepath.Dir(path), name)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := change(string(data))
	if text == string(data) {
		t.Fatalf("%s was not changed", name)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestPreflight(t *testing.T) {
	suite := Suite()
	results, err := suite.Preflight("")
	if err != nil || len(results) < 30 {
		t.Fatalf("%d cases, %v", len(results), err)
	}
	for _, r := range results {
		if !r.OK() {
			t.Errorf("%s: %v", r.Name, r.Wrong)
		}
	}
}

// TestConformance: the tests for every suite's bench, with good answers and with
// answers that must be asked for again.
func TestConformance(t *testing.T) {
	b := opened(t, starter(t))
	suitetest.Bench(t, Suite().Suite, b, func(stage eval.Stage, step string, r eval.Request) (eval.Response, error) {
		if stage == eval.StageRun && strings.HasPrefix(r.Item, "F_003") && step == "judge" {
			return eval.Response{Text: "The domains were all weighed.", Stop: eval.StopEnd}, nil
		}
		return eval.Response{Text: r.Foreseen(), Stop: eval.StopEnd}, nil
	})
}

// Whatever an answer is, it has a label or a reason why it has none.
func FuzzRead(f *testing.F) {
	b := opened(f, starter(f))
	f.Add(`{"classification": "sound", "rationale": ["strong"]}`, true)
	f.Add("Final classification: not sound?", false)
	f.Add("`'’ nor not sound’s", false)
	f.Fuzz(func(t *testing.T, answer string, cut bool) {
		p := b.reader.read(answer, cut)
		switch {
		case p.label < wording.None || p.label > 1:
			t.Fatalf("label %d", p.label)
		case p.label == wording.None && p.reason == "":
			t.Fatal("neither a label nor a reason")
		case p.reason == "":
			b.rule(p)
		}
		new(bench).readScreen(answer)
		choiceOf([]byte(answer), []string{coherent, incoherent})
	})
}
