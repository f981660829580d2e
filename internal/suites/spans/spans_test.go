package spans

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/suitetest"
)

// open writes files into a folder and opens the study among them.
func open(t testing.TB, files map[string]string) (*Bench, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return openFile(t, filepath.Join(dir, "study.yaml"))
}

func openFile(t testing.TB, path string) (*Bench, error) {
	t.Helper()
	s := new(Study)
	f, err := study.Load(path, nil, s)
	if err != nil {
		return nil, err
	}
	return Open(f, s)
}

func starter(t testing.TB) *Bench {
	t.Helper()
	suite := Suite()
	files, err := suite.Init(filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := openFile(t, files[0])
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestConformance: the tests for every suite's bench.
func TestConformance(t *testing.T) {
	suitetest.Bench(t, Suite().Suite, starter(t), func(_ eval.Stage, _ string, r eval.Request) (eval.Response, error) {
		return eval.Response{Text: r.Foreseen(), Stop: eval.StopEnd}, nil
	})
}

// TestConformanceRecorded: the same for recorded answers and judgements.
func TestConformanceRecorded(t *testing.T) {
	b, err := openFile(t, filepath.Join("..", "..", "..", "examples", "spans", "study.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	suitetest.Bench(t, Suite().Suite, b, func(eval.Stage, string, eval.Request) (eval.Response, error) {
		t.Error("a recorded arm asks a model")
		return eval.Response{}, nil
	})
}

func TestPreflight(t *testing.T) {
	suite := Suite()
	results, err := suite.Preflight("")
	if err != nil || len(results) < 15 {
		t.Fatalf("%d cases, %v", len(results), err)
	}
	for _, r := range results {
		if !r.OK() {
			t.Errorf("%s: %v", r.Name, r.Wrong)
		}
	}
}
