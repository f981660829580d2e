package blind

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/scruple-eval/scruple/internal/analyse"
)

// A comparison of one to four documents tells of single ones, so its numbers stay.
func TestFinishKeepsSmallComparisons(t *testing.T) {
	k := &Kit{dir: t.TempDir(), Data: "0123", now: func() time.Time { return time.Date(2024, 3, 15, 0, 0, 0, 0, time.UTC) }}
	if err := os.MkdirAll(filepath.Dir(k.ledger()), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Commit("a group", 6); err != nil {
		t.Fatal(err)
	}
	if Ran(k.dir) {
		t.Error("it ran before it ran")
	}
	comparison := func(metric string, pairs int) analyse.BlindComparison {
		return analyse.BlindComparison{A: "a", B: "b", Metric: metric, Diff: 0.25, Low: 0, High: 0.5, P: 0.04, Pairs: pairs}
	}
	given := []analyse.BlindComparison{comparison("composite", 6), comparison("date_f1", Fewest), comparison("money_f1", Fewest-1), comparison("id_f1", 1)}
	if _, err := k.Finish(given, nil); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(k.dir, ResultFile))
	if err != nil {
		t.Fatal(err)
	}
	var written struct {
		Comparisons []struct {
			Metric             string
			Diff, Low, High, P *float64
			Pairs              int
		}
	}
	if err := json.Unmarshal(data, &written); err != nil {
		t.Fatal(err)
	}
	for i, c := range written.Comparisons {
		few := given[i].Pairs < Fewest
		if c.Pairs != given[i].Pairs || (c.Diff == nil) != few || (c.Low == nil) != few || (c.High == nil) != few || (c.P == nil) != few {
			t.Errorf("%s of %d pairs is %+v", c.Metric, c.Pairs, c)
		}
	}
	if len(written.Comparisons) != len(given) || !given[3].Diff.Defined() {
		t.Errorf("wrote %d of %d comparisons, and the caller's is %v", len(written.Comparisons), len(given), given[3])
	}
	if !Ran(k.dir) {
		t.Error("it has not run after it ran")
	}
}

// A study whose texts the library for YAML does not write as they are is sent as JSON.
func TestStudyText(t *testing.T) {
	for _, prompt := range []string{"\t{{QUESTION}}", "\n\n  {{QUESTION}}\n a", "plain", "- a: b\n", " x", "#", "1e3", "a\r\nb", "\u2028", "'\"", "yes", "|\n x\n"} {
		want, err := json.Marshal(prompt)
		if err != nil {
			t.Fatal(err)
		}
		text, err := studyText(map[string]json.RawMessage{"arms": []byte(`[{"prompt": ` + string(want) + `, "x": 9007199254740993}]`)})
		if err != nil {
			t.Fatal(err)
		}
		var got struct{ Arms []struct{ Prompt string } }
		if err := yaml.Unmarshal(text, &got); err != nil || len(got.Arms) != 1 || got.Arms[0].Prompt != prompt {
			t.Errorf("%q is read as %+v, %v from\n%s", prompt, got, err, text)
		}
	}
}

// Files that a file manager makes beside the data are not among them.
func TestHiddenFilesAreNoData(t *testing.T) {
	dir := t.TempDir()
	write := func(name string) {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755), os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	sum := func() string {
		s, err := hashData(dir, []string{"data"})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	write("data/a.txt")
	before := sum()
	write("data/.DS_Store")
	write("data/.git/HEAD")
	if sum() != before {
		t.Error("hidden files change the hash of the data")
	}
	write("data/b.txt")
	if sum() == before {
		t.Error("another file does not")
	}
}
