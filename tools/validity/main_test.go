package main

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/gate"
)

// TestCells: every cell has a name of its own and a study that loads with its
// data.
func TestCells(t *testing.T) {
	b := &bench{dir: t.TempDir(), env: env()}
	seen := map[string]bool{}
	for _, c := range cells() {
		if seen[c.name] {
			t.Errorf("two cells are named %s", c.name)
		}
		seen[c.name] = true
		data := c.source()(stream(1, c.name, 0))
		x, err := b.load(c, data, 0)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if items, arms := len(x.Bench.Items()), len(x.Bench.Arms()); unequal[c.design.name] == nil && items != c.design.clusters*c.design.size && c.metric != rate || items != len(data) || arms != len(data[0].scores) {
			t.Errorf("%s: %d items and %d arms", c.name, items, arms)
		}
		if len(x.Pairs) != len(c.diffs) {
			t.Errorf("%s: %d comparisons, want %d", c.name, len(x.Pairs), len(c.diffs))
		}
		if got := x.Study.Statistics.Method; c.method != "" && got != c.method {
			t.Errorf("%s plans %s", c.name, got)
		}
		clustered := map[string]bool{}
		for _, it := range x.Bench.Items() {
			clustered[it.Cluster] = true
		}
		if want := c.design.size > 1 && c.metric != rate; want && len(clustered) != c.design.clusters || !want && (len(clustered) != 1 || !clustered[""]) {
			t.Errorf("%s: %d clusters", c.name, len(clustered))
		}
	}
}

// TestRepeat takes known data through the program. The differences 0.1 and
// 0.3, four of each, have mean 0.2, standard error 0.1/√7 and the t quantile 2.47501 of
// (0.05 − 2⁻⁷)/(1 − 2⁻⁷) on 7 degrees of freedom.
func TestRepeat(t *testing.T) {
	b, err := newBench(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	c := measures[1].cell("auto", design{"eight", 8, 1}, noDifference, []float64{0.1})
	var better, worse []observation
	for _, d := range []float64{0.1, 0.3, 0.1, 0.3, 0.1, 0.3, 0.1, 0.3} {
		better = append(better, observation{scores: [][]float64{{0.5 + d}, {0.5}}})
		worse = append(worse, observation{scores: [][]float64{{0.5}, {0.5 + d}}})
	}
	half := 2.47501 * 0.1 / math.Sqrt(7)
	for n, want := range []struct {
		data  []observation
		state gate.State
		mean  float64
	}{{better, gate.Pass, 0.2}, {worse, gate.Fail, -0.2}} {
		got, err := b.repeat(t.Context(), c, want.data, n)
		if err != nil {
			t.Fatal(err)
		}
		i := got.intervals[0]
		if got.state != want.state || !(math.Abs(i.low-want.mean+half) <= 1e-5) || !(math.Abs(i.high-want.mean-half) <= 1e-5) || i.truth != 0.1 {
			t.Errorf("%+v, want %s and %v ± %v", got, want.state, want.mean, half)
		}
	}

	rates := rateAtLimit(design{"two", 2, 3}, 0.5)
	got, err := b.repeat(t.Context(), rates, []observation{{scores: [][]float64{{0, 0, 1}}}, {scores: [][]float64{{1, 0, 0}}}}, 0)
	// Two documents cannot show a rate below a half.
	if err != nil || got.state != gate.Undecided || len(got.intervals) != 1 || !got.intervals[0].covers() || got.intervals[0].truth != 0.5 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestSimulate simulates two cells. The results do not depend on the number of
// workers or on which other cells are simulated.
func TestSimulate(t *testing.T) {
	dir := t.TempDir()
	tables := map[string]table{}
	for _, c := range []struct{ workers, cells string }{
		{"1", "^auto/30x2/continuous/3/effect$|^rate/100x5/limit-0.05$"},
		{"3", "^auto/30x2/continuous/3/effect$|^rate/100x5/limit-0.05$"},
		{"2", "^rate/100x5/limit-0.05$"},
	} {
		file := filepath.Join(dir, c.workers+".json")
		var out, errs strings.Builder
		code := execute(t.Context(), []string{"-reps", "10", "-seed", "7", "-workers", c.workers, "-cells", c.cells, "-json", file}, &out, &errs)
		if code == 2 {
			t.Fatal(errs.String())
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var got table
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		if (code == 1) != (got.flagged() > 0) {
			t.Errorf("exit status %d with %d flagged cells", code, got.flagged())
		}
		for _, s := range got.Cells {
			if s.Passes+s.Fails+s.Undecided != 10 || s.Repetitions != 10 || s.Coverage.Of != 10 || (s.Power != nil) != (s.Truth == effect) {
				t.Errorf("%+v", s)
			}
		}
		text := out.String()
		if !strings.Contains(text, "10 repetitions of each cell, seed 7") || strings.Count(text, "\n| ") != len(got.Cells)+tablesOf(got) {
			t.Errorf("%s", text)
		}
		var again strings.Builder
		if execute(t.Context(), []string{file}, &again, &errs); again.String() != text {
			t.Errorf("the file gives\n%s, the simulation\n%s", again.String(), text)
		}
		tables[c.workers] = got
	}
	same := func(a, b any) bool {
		x, _ := json.Marshal(a)
		y, _ := json.Marshal(b)
		return string(x) == string(y)
	}
	if !same(tables["1"], tables["3"]) || !same(tables["1"].Cells[1], tables["2"].Cells[0]) {
		t.Errorf("the results depend on the number of workers or on the cells:\n%+v\n%+v\n%+v", tables["1"], tables["3"], tables["2"])
	}
	if p := tables["1"].Cells[0].Power; p.Count < 3 {
		t.Errorf("power %v with an effect of about three standard errors", p)
	}
}

// TestInterrupt: an interrupted simulation keeps the cells it has finished.
func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var out strings.Builder
	errs := &onWrite{do: cancel} // the first cell is reported
	if code := execute(ctx, []string{"-reps", "2", "-cells", "^rate/8x5/"}, &out, errs); code != 2 ||
		!strings.Contains(out.String(), "| rate/8x5/limit-0.02 |") || strings.Contains(out.String(), "limit-0.05 |") ||
		!strings.Contains(errs.String(), "context canceled; the tables have the first 1 of 3 cells") {
		t.Errorf("exit status %d\n%s%s", code, out.String(), errs.String())
	}
}

// An onWrite does something when it is written to.
type onWrite struct {
	strings.Builder
	do func()
}

func (w *onWrite) Write(b []byte) (int, error) {
	w.do()
	return w.Builder.Write(b)
}

// tablesOf counts the tables that the cells fill.
func tablesOf(t table) int {
	kinds := map[string]bool{}
	for _, s := range t.Cells {
		kinds[s.Method] = true
	}
	return len(kinds)
}

func TestUsage(t *testing.T) {
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"-list -cells ^rate/", 0, "rate/200x1/limit-0.1"},
		{"-cells (", 2, "missing closing"},
		{"-cells nothing", 2, "no cell matches"},
		{"-reps 0", 2, "at least 1"},
		{"-workers 0", 2, "at least 1"},
		{"cells", 2, "no such file"},
		{"-unknown", 2, "not defined"},
	} {
		var out, errs strings.Builder
		if code := execute(t.Context(), strings.Fields(c.args), &out, &errs); code != c.code || !strings.Contains(out.String()+errs.String(), c.says) {
			t.Errorf("validity %s: exit status %d, %s%s", c.args, code, out.String(), errs.String())
		}
	}
}

// TestShare: Newcombe (1998), Statistics in Medicine 17, 857–872, table I,
// method 3.
func TestShare(t *testing.T) {
	for _, c := range []struct {
		count, of int
		low, high float64
	}{{81, 263, 0.2553, 0.3662}, {15, 148, 0.0624, 0.1605}, {0, 20, 0, 0.1611}, {1, 29, 0.0061, 0.1718}} {
		s := shareOf(c.count, c.of)
		if !(math.Abs(s.Low-c.low) <= 5e-5) || !(math.Abs(s.High-c.high) <= 5e-5) {
			t.Errorf("%d of %d: %v to %v, want %v to %v", c.count, c.of, s.Low, s.High, c.low, c.high)
		}
	}
	if s := shareOf(0, 0); s.Value != 0 || s.String() != "–" {
		t.Errorf("none of 0 is %v", s)
	}
}

// TestSummary counts repetitions whose results are known, and flags each goal
// that 1,000 of them contradict.
func TestSummary(t *testing.T) {
	nan := math.NaN()
	null, better := cell{name: "null", method: "auto", truth: noDifference}, cell{name: "effect", method: "auto", truth: effect}
	many := func(passes, covered int) (list []result) {
		for i := range 1000 {
			r := result{state: gate.Fail, intervals: []interval{{1, 2, 0}}}
			if i < passes {
				r.state = gate.Pass
			}
			if i < covered {
				r.intervals[0].low = -1
			}
			list = append(list, r)
		}
		return list
	}
	for _, c := range []struct {
		name            string
		cell            cell
		passes, covered int
		promised        float64
		want            string
	}{
		{"as it should be", null, 25, 950, 0, ""},
		{"at the limit", null, 35, 940, 0, ""},
		{"too many passes", null, 50, 950, 0, "false pass"},
		{"too little coverage", null, 25, 920, 0, "coverage"},
		{"passes are right", better, 800, 950, 0, ""},
		{"as promised", better, 800, 950, 0.8, ""},
		{"less than promised", better, 740, 950, 0.8, "power"},
		{"more than promised", better, 860, 950, 0.8, "power"},
		{"all", better, 500, 900, 0.8, "coverage power"},
	} {
		s := summarise(c.cell, many(c.passes, c.covered), c.promised, c.promised > 0)
		if got := strings.Join(s.Flags, " "); got != c.want {
			t.Errorf("%s: flags %q, want %q", c.name, got, c.want)
		}
	}

	// Of two intervals, both must cover; an undefined one is not counted.
	s := summarise(null, []result{
		{gate.Pass, []interval{{0, 1, 0.5}, {0, 1, 0.5}}, false},
		{gate.Fail, []interval{{0, 1, 2}, {0, 1, 0.5}}, false},
		{gate.Undecided, []interval{{0, 4, 0.5}, {nan, nan, 2}}, true},
	}, 0, false)
	if s.Passes != 1 || s.Fails != 1 || s.Undecided != 1 || s.Coverage.Count != 1 || s.Coverage.Of != 2 {
		t.Errorf("%+v", s)
	}
}

// TestBadScores: an error names the file and the line.
func TestBadScores(t *testing.T) {
	b := &bench{dir: t.TempDir(), env: env()}
	c := cells()[0]
	_, err := b.load(c, []observation{{scores: [][]float64{{1}, nil}}}, 0)
	if err == nil || !strings.Contains(err.Error(), `scores.jsonl:1: item "i000" has no score of arm "b"`) {
		t.Error(err)
	}
}
