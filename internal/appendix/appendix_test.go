package appendix

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/annotate"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/ledger"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

var update = flag.Bool("update", false, "write the goldens")

var all = []kit.Appendix{
	{Name: "E.1", Title: "Memo", From: kit.FromPractice},
	{Name: "E.2", Title: "Session log", Intro: "All sessions.", From: kit.FromSessions},
	{Name: "E.3", Title: "Consistency", From: kit.FromSecondRound},
	{Name: "E.4", Title: "Lock declaration", From: kit.FromLocks},
	{Name: "F.1", Title: "Execution", From: kit.FromRun},
	{Name: "H.1", Title: "Performance & more", Tables: []string{"rates", "bars", "absent", "empty"}},
	{Name: "H.5", Title: "Reliability", From: kit.FromAgreements, Tables: []string{"rates"}},
}

func labelled() study.Task {
	target := 0.8
	return study.Task{Name: "gold", Kind: "assessment", Labels: []string{"yes", "no"}, Again: study.Again{Count: 2}, Target: &target}
}

func source(t *testing.T) Source {
	dir := t.TempDir()
	s := &study.Study{Name: "s"}
	s.Statistics.Alpha = 0.05
	s.Annotation = []study.Task{labelled(), {Name: "practice", Kind: "assessment", Labels: []string{"yes", "no"}, Practice: true, Memo: []string{"Time taken"}}}
	return Source{Study: s, Place: annotate.Place{Study: "s", Dir: filepath.Join(dir, "annotations"), Ledger: filepath.Join(dir, ledger.Name), Now: time.Now}}
}

// Without any work every appendix exists and says so.
func TestAppendicesOfNothing(t *testing.T) {
	check(t, "nothing", source(t))
}

// Locks, sessions of models, tables and figures. Text of a study stays text.
func TestAppendices(t *testing.T) {
	s := source(t)
	s.Analysis = &analyse.Analysis{Tables: []eval.Table{{Name: "rates", Title: "Rates", Note: "A note.", Columns: []string{"arm", "rate"}, Rows: [][]string{{"a|b", "0.5"}, {"# <b>c</b>", "0.25"}}}, {Name: "empty", Title: "Exclusions", Columns: []string{"x"}}},
		Figures: []eval.Figure{{Name: "bars", Title: "Bars", Ticks: []string{"m"}, Bars: true, Series: []eval.Series{{Name: "x", Points: []eval.Point{{X: 0, Measured: eval.Measured{Value: 0.5, Low: 0.25, High: 0.75, N: 8}}}}}}}}
	s.Sessions = []kit.Session{{N: 1, First: "2026-03-04T10:00:00Z", Last: "2026-03-04T11:00:00Z", Requests: 9, Retries: 2, Answers: 7, Items: 1, New: 1, Done: 1, Errors: []eval.Level{{Name: "rate limited", Value: "2"}}}}
	lock := annotate.Lock{Study: "s", Task: "gold", File: "gold.csv", MD5: "m", SHA256: "s", Subjects: 3, Name: "Anna *Example*", Declaration: "I saw no answer.\n# Not a heading"}
	if _, err := ledger.Add(s.Place.Ledger, time.Date(2026, 3, 4, 9, 0, 0, 0, time.UTC), "anna", annotate.LockEntry, lock); err != nil {
		t.Fatal(err)
	}
	check(t, "something", s)
}

func check(t *testing.T, folder string, s Source) {
	t.Helper()
	files, err := Make(all, s)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(all) {
		t.Fatalf("%d files, want %d", len(files), len(all))
	}
	for _, f := range files {
		golden := filepath.Join("testdata", folder, f.Name)
		if *update {
			if err := os.MkdirAll(filepath.Dir(golden), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(golden, f.Data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if string(want) != string(f.Data) {
			t.Errorf("%s differs: look at it and run with -update\n%s", golden, f.Data)
		}
	}
}
