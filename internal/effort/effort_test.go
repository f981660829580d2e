package effort

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/eval"
)

var correct = eval.Metric{Name: "correct", Title: "Correct", Max: 1, Binary: true, HigherIsBetter: true, Kind: eval.Scoring, Pooling: eval.MeanOfItems}

// all is an adder of every metric that is offered.
func all(replicates int) *Adder {
	return &Adder{Metrics: Offered(correct, replicates), Primary: correct}
}

// scored is a case of one arm whose replicates pass (1), fail (0) or have no score (-1).
func scored(passes ...int) (s eval.Scored, taken []eval.Taken) {
	for i, p := range passes {
		t := eval.Trial{Item: "i", Arm: "a", Replicate: i + 1}
		s.Trials = append(s.Trials, eval.Judged{Trial: t, Outcome: eval.Outcome{Kind: eval.OK}})
		score := eval.Score{Replicate: i + 1, Metric: "correct", Num: float64(p), Den: 1}
		if p < 0 {
			score = eval.Score{Replicate: i + 1, Metric: "correct", Den: 1, Unscored: "no verdict"}
		}
		s.Scores = append(s.Scores, score)
		taken = append(taken, eval.Taken{Trial: t, Calls: 2, CostUSD: 0.25 * float64(i+1), Seconds: 2, TokensIn: 100, TokensOut: 7})
	}
	return s, taken
}

func find(scores []eval.Score, metric string) (list []eval.Score) {
	for _, s := range scores {
		if s.Metric == metric {
			list = append(list, s)
		}
	}
	return list
}

// TestOfferedByDirection: to pass by a metric of which lower is better is the bad event.
func TestOfferedByDirection(t *testing.T) {
	errors := correct
	errors.HigherIsBetter = false
	for _, primary := range []eval.Metric{correct, errors} {
		var names []string
		for _, m := range Offered(primary, 3) {
			names = append(names, m.Name)
		}
		for _, name := range []string{passAny + "2", passAll + "3"} {
			if slices.Contains(names, name) != primary.HigherIsBetter || !slices.Contains(names, flakiness) {
				t.Errorf("higher is better: %v, offered: %v", primary.HigherIsBetter, names)
			}
		}
	}
}

// TestReplicates compares pass@k and pass^k with a count of all draws of k replicates.
func TestReplicates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		passes := rapid.SliceOfN(rapid.IntRange(0, 1), 2, 8).Draw(t, "passes")
		s, taken := scored(passes...)
		scores := all(len(passes)).Add(s, taken)
		for k := 2; k <= len(passes); k++ {
			drawn, some, every := 0.0, 0.0, 0.0
			for set := range 1 << len(passes) {
				n, c := 0, 0
				for i, p := range passes {
					if set>>i&1 == 1 {
						n, c = n+1, c+p
					}
				}
				if n == k {
					drawn++
					if c > 0 {
						some++
					}
					if c == k {
						every++
					}
				}
			}
			for name, want := range map[string]float64{passAny: some / drawn, passAll: every / drawn} {
				if got := find(scores, name+string(rune('0'+k)))[0]; !(math.Abs(got.Num-want) <= 1e-12) || got.Unscored != "" {
					t.Fatalf("%s%d of %v is %+v, want %v", name, k, passes, got, want)
				}
			}
			if k == 2 {
				if got := find(scores, flakiness)[0].Num; !(math.Abs(got-(some-every)/drawn) <= 1e-12) {
					t.Fatalf("flakiness of %v is %v, want %v", passes, got, (some-every)/drawn)
				}
			}
		}
	})
}

// TestUnknown: what is not known is unscored, with its reason.
func TestUnknown(t *testing.T) {
	s, taken := scored(1, -1, 0)
	taken[0].CostUSD, taken[0].Uncounted = math.NaN(), true
	taken[2].Given, taken[2].Calls = true, 0 // read without a call
	scores := all(3).Add(s, taken)
	for metric, want := range map[string][]string{
		Cost:         {"price", "", "file"},
		Latency:      {"", "", "file"},
		Calls:        {"", "", "file"},
		TokensIn:     {"tokens", "", "file"},
		TokensOut:    {"tokens", "", "file"},
		latency95:    {"", "", "file"},
		costPerPoint: {"price", "no verdict", "file"},
		"pass@2":     {"a replicate has no score"},
		flakiness:    {"a replicate has no score"},
	} {
		list := find(scores, metric)
		if len(list) != len(want) {
			t.Errorf("%s has %d scores, want %d", metric, len(list), len(want))
			continue
		}
		for i, s := range list {
			if (want[i] == "") != (s.Unscored == "") || !strings.Contains(s.Unscored, want[i]) {
				t.Errorf("%s of replicate %d is unscored because %q, want %q", metric, i+1, s.Unscored, want[i])
			}
		}
	}
	s, taken = scored(1, 1)
	if list := find(all(3).Add(s, taken), "pass@3"); len(list) != 1 || !strings.Contains(list[0].Unscored, "fewer than 3") {
		t.Errorf("pass@3 of two replicates: %+v", list)
	}
	// A replicate that failed may have passed or not: pass@2 of R, W, failed is 1 or 2/3.
	s, taken = scored(1, 0, 1)
	s.Trials[2].Outcome.Kind, s.Scores = eval.Failed, s.Scores[:2]
	for _, metric := range []string{"pass@2", "pass^2", flakiness} {
		if list := find(all(3).Add(s, taken), metric); len(list) != 1 || list[0].Unscored != "a replicate failed" {
			t.Errorf("%s with a failed replicate: %+v", metric, list)
		}
	}
}

// TestOrder: the scores of each replicate come first, and a failed one has none.
func TestOrder(t *testing.T) {
	s, taken := scored(1, 0, 1)
	s.Trials[1].Outcome.Kind = eval.Failed
	s.Scores = append(slices.Delete(s.Scores, 1, 2), eval.Score{Metric: "majority", Num: 1, Den: 1})
	var order []int
	for _, s := range all(3).Add(s, taken) {
		if len(order) == 0 || order[len(order)-1] != s.Replicate {
			order = append(order, s.Replicate)
		}
	}
	if !slices.Equal(order, []int{1, 3, 0}) {
		t.Errorf("replicates come as %v", order)
	}
}

// TestOwn: a suite that says what an answer took is believed, in all metrics made of it; what
// the study does not name is left out.
func TestOwn(t *testing.T) {
	s, taken := scored(1)
	s.Scores = append(s.Scores, eval.Score{Replicate: 1, Metric: Cost, Num: 9, Den: 1}, eval.Score{Replicate: 1, Metric: Latency, Den: 1, Unscored: "not measured"}, eval.Score{Replicate: 1, Metric: Calls, Num: 5, Den: 1})
	a := &Adder{Primary: correct, Metrics: slices.DeleteFunc(Offered(correct, 1), func(m eval.Metric) bool { return m.Name == Calls })}
	scores := a.Add(s, taken)
	if c := find(scores, Cost); len(c) != 1 || c[0].Num != 9 {
		t.Errorf("cost: %+v", c)
	}
	if c := find(scores, costPerPoint); c[0].Row[0] != 9 {
		t.Errorf("cost per point: %+v", c)
	}
	if c := find(scores, latency50); c[0].Unscored != "not measured" || c[0].Row != nil {
		t.Errorf("median: %+v", c)
	}
	if c := find(scores, Calls); len(c) != 0 {
		t.Errorf("calls, which the study does not name: %+v", c)
	}
}

// TestEstimators: places as in the formula, and a ratio of sums, not a mean of ratios.
func TestEstimators(t *testing.T) {
	var rows []eval.Counted
	for i := 20; i >= 1; i-- {
		rows = append(rows, eval.Counted{Row: eval.Row{float64(i), float64(i % 2)}, N: 1})
	}
	for _, c := range []struct{ got, want float64 }{
		{quantile(50)(rows), 10}, {quantile(95)(rows), 19}, {quantile(95)(rows[:1]), 20}, {perPoint(rows), 21}, // 210 / 10
	} {
		if c.got != c.want {
			t.Errorf("%v, want %v", c.got, c.want)
		}
	}
	if often := []eval.Counted{{Row: eval.Row{7}, N: 3}, {Row: eval.Row{2}, N: 2}}; quantile(40)(often) != 2 || quantile(50)(often) != 7 {
		t.Error("a row that occurs twice counts once")
	}
	if !math.IsNaN(quantile(50)(nil)) || !math.IsInf(perPoint(rows[:1]), 1) || !math.IsNaN(perPoint(nil)) { // 20 is even: no point
		t.Error("nothing to estimate has a value")
	}
}
