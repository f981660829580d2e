package appendix

import (
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/annotate"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/ledger"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/stats"
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
	s.Analysis = &analyse.Analysis{Study: analyse.Study{Alpha: 0.05}, Tables: []eval.Table{{Name: "rates", Title: "Rates", Note: "A note.", Columns: []string{"arm", "rate"}, Rows: [][]eval.Cell{{eval.Text("a|b"), eval.Ratio(0.5)}, {eval.Text("# <b>c</b>"), eval.Ratio(0.25)}}}, {Name: "empty", Title: "Exclusions", Columns: []string{"x"}}},
		Figures: []eval.Figure{{Name: "bars", Title: "Bars", Ticks: []string{"m"}, Bars: true, Series: []eval.Series{{Name: "x", Points: []eval.Point{{X: 0, Measured: eval.Measured{Value: 0.5, Low: 0.25, High: 0.75, N: 8}}}}}}}}
	s.Time = func(micros int64) string { return time.UnixMicro(micros).UTC().Format(time.RFC3339) }
	ten := time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC)
	s.Sessions = []eval.Session{{N: 1, First: ten.UnixMicro(), Last: ten.Add(time.Hour).UnixMicro(), Requests: 9, Retries: 2, Answers: 7, Items: 1, New: 1, Done: 1, Errors: []eval.SessionError{{Kind: "rate limited", Requests: 2}}}}
	lock := annotate.Lock{Study: "s", Task: "gold", File: "gold.csv", MD5: "m", SHA256: "s", Subjects: 3, Name: "Anna *Example*", Declaration: "I saw no answer.\n# Not a heading"}
	if _, err := ledger.Add(s.Place.Ledger, time.Date(2026, 3, 4, 9, 0, 0, 0, time.UTC), "anna", annotate.LockEntry, lock); err != nil {
		t.Fatal(err)
	}
	check(t, "something", s)
}

func check(t *testing.T, folder string, s Source) {
	t.Helper()
	set, err := Make(all, s)
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Files) != len(all) {
		t.Fatalf("%d files, want %d", len(set.Files), len(all))
	}
	for _, f := range set.Files {
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

// The target is one of kappa: a question for a number, or an agreement without any measure,
// is not below it.
func TestReliabilityWithoutKappa(t *testing.T) {
	target, open := 0.8, stats.Interval{Low: math.NaN(), High: math.NaN()}
	table := [][]int{{5, 0}, {1, 4}}
	kappa, err := stats.CohenKappa(table, stats.Unweighted, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	base := annotate.Agreement{Task: "codes", Question: "q", A: "anna", B: "ben", N: 10, Same: 9, Target: &target}
	labels, numbers, undefined, passages, whole := base, base, base, base, base
	labels.Labels, labels.Table, labels.Measures = []string{"yes", "no"}, table, []annotate.Measure{{Key: annotate.Cohen, Name: "Cohen's kappa", Value: kappa.Kappa, CI: kappa.CI.Clamp(-1, 1)}} // as annotate does
	numbers.Measures = []annotate.Measure{{Key: annotate.Alpha, Name: "Krippendorff's alpha", Value: 0.75, CI: stats.Interval{Low: 0.5, High: 0.9}}}
	undefined.Measures = []annotate.Measure{{Key: annotate.Alpha, Name: "Krippendorff's alpha", Value: math.NaN(), CI: open}}
	passages.Measures = []annotate.Measure{{Key: annotate.Overlap, Name: "overlap", Value: 0.5, CI: open}}
	for _, test := range []struct {
		g    annotate.Agreement
		want string
	}{
		{labels, "Cohen's kappa|0.800 (0.436 to 1.000)|0.800|kappa reaches the target of 0.80; its interval has values on both sides, so the true value may be on either"},
		{numbers, "Krippendorff's alpha|0.750 (0.500 to 0.900)|–|–"},
		{undefined, "Krippendorff's alpha|– (undefined)|–|–"},
		{passages, "overlap|0.500|–|–"},
		{whole, "–|–|–|–"},
	} {
		row := (&eval.Table{Rows: [][]eval.Cell{reliabilityOf(&test.g)}}).Strings()[0]
		if got := strings.Join(row[5:], "|"); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}

// Documents about a run say at their head what the report says: what is simulated or interim, and
// that the study changed since.
func TestNoticesOfARun(t *testing.T) {
	s := source(t)
	s.Analysis = &analyse.Analysis{Run: analyse.Run{Planned: 4, Done: 3}, Arms: []analyse.Arm{{ID: "x", Simulated: true}}, Tables: []eval.Table{{Name: "rates", Title: "Rates", Columns: []string{"arm"}, Rows: [][]eval.Cell{{eval.Text("x")}}}}}
	for _, s.Outdated = range []bool{false, true} {
		set, err := Make(all, s)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range set.Files {
			want := strings.HasPrefix(f.Name, "H") || strings.HasPrefix(f.Name, "F1")
			for _, notice := range []struct {
				words string
				want  bool
			}{{"SIMULATED: the answers of x", want}, {"UNFINISHED: 3 of 4 trials", want}, {"OUTDATED: the study", want && s.Outdated}} {
				if got := strings.Contains(string(f.Data), notice.words); got != notice.want {
					t.Errorf("%s: %q is there: %v, want %v", f.Name, notice.words, got, notice.want)
				}
			}
		}
	}
}

// At a planned look intervals have its level, not that of the study, and documents say so.
func TestLevelOfALook(t *testing.T) {
	s := source(t)
	looks, alpha, err := analyse.LooksAt([]int{20}, 60, 0, 3, s.Study.Statistics.Alpha)
	if err != nil {
		t.Fatal(err)
	}
	s.Analysis = &analyse.Analysis{Study: analyse.Study{Alpha: alpha}, Run: analyse.Run{Looks: looks}, Figures: []eval.Figure{{Name: "bars", Title: "Bars", Ticks: []string{"m"}, Bars: true,
		Series: []eval.Series{{Name: "x", Points: []eval.Point{{X: 0, Measured: eval.Measured{Value: 0.5, Low: 0.25, High: 0.75, N: 8}}}}}}}}
	set, err := Make(all, s)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range set.Files {
		h1 := strings.HasPrefix(f.Name, "H1")
		for _, want := range []struct {
			words string
			want  bool
		}{{"LOOKS: look 1 of 3 planned", h1}, {"its 99.979", h1}, {"its 95", false}} {
			if got := strings.Contains(string(f.Data), want.words); got != want.want && (want.want || h1) {
				t.Errorf("%s: %q is there: %v", f.Name, want.words, got)
			}
		}
	}
}
