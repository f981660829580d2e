package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/gate"
)

// TestPhase1Verdicts takes phase 1 from DEV over the registration to the gate on other
// documents and answers for each seed: with a true difference of 0.10 the gate must pass in
// 95 % or more, without one in 5 % or fewer. make simulate runs it with 100 seeds, CI with
// fewer of the same.
func TestPhase1Verdicts(t *testing.T) {
	if os.Getenv("SCRUPLE_SIMULATE") == "" {
		t.Skip("SCRUPLE_SIMULATE is not set")
	}
	seeds, err := strconv.Atoi(cmp.Or(os.Getenv("SCRUPLE_SEEDS"), "100"))
	must(t, err)
	const same = "{miss: 0.175, wrong: 0.09, invent: 0.08, fabricate: 0.03}"
	for _, c := range []struct {
		name        string
		effect      float64
		override    string
		least, most int
	}{
		{"effect 0.10", 0.10, "", (95*seeds + 99) / 100, seeds},
		{"no effect", 0, "models[simulated].skill.arms.ctn=" + same, 0, 5 * seeds / 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			analyses, verdicts := make([]*analyse.Analysis, seeds), make([]*gate.Verdict, seeds)
			t.Run("seeds", func(t *testing.T) { // ends when all of them did
				for seed := range seeds {
					t.Run(fmt.Sprint(seed+1), func(t *testing.T) {
						t.Parallel()
						analyses[seed], verdicts[seed] = phase1Once(t, seed+1, c.override)
					})
				}
			})
			outcomes := map[string]int{}
			passed, sum, squares := 0, 0.0, 0.0
			for seed, a := range analyses {
				if a == nil {
					t.Fatal("no analysis")
				}
				d, ok := a.Comparison("ctn", "idiomatic", "composite")
				if !ok {
					t.Fatal("no comparison")
				}
				sum, squares = sum+float64(d.Diff), squares+float64(d.Diff)*float64(d.Diff)
				name, _, _ := strings.Cut(verdicts[seed].Outcome, " ")
				outcomes[name]++
				if verdicts[seed].State == gate.Pass {
					passed++
				}
			}
			n := float64(seeds)
			mean := sum / n
			sd := math.Sqrt((squares - n*mean*mean) / (n - 1))
			t.Logf("%s: mean difference %.4f, SD %.4f; passed %d of %d; outcomes %v", c.name, mean, sd, passed, seeds, outcomes)
			if margin := 3 * sd / math.Sqrt(n); !(math.Abs(mean-c.effect) <= margin) {
				t.Errorf("%s: the mean difference is %.4f, want %.2f ± %.4f", c.name, mean, c.effect, margin)
			}
			if passed < c.least || passed > c.most {
				t.Errorf("%s: %d of %d passed, want %d to %d", c.name, passed, seeds, c.least, c.most)
			}
		})
	}
}

func phase1Once(t *testing.T, seed int, override string) (*analyse.Analysis, *gate.Verdict) {
	t.Helper()
	dir := t.TempDir()
	must(t, os.CopyFS(dir, shipped("extraction")))
	study := filepath.Join(dir, "phase1.yaml")
	with := []string{"-o", fmt.Sprintf("data.seed=%d", seed), "-o", fmt.Sprintf("execution.seed=%d", seed), "-o", "output.generate_report=false"}
	if override != "" {
		with = append(with, "-o", override)
	}
	scruple := func(want int, args ...string) string {
		var out, errs strings.Builder
		if args[0] != "report" { // it shows a run with the settings that it was made with
			args = append(args, with...)
		}
		if code := execute(t.Context(), args, nil, &out, &errs, func(string) string { return "" }); code != want && want >= 0 {
			t.Fatalf("%v: exit code %d: %s", args, code, errs.String())
		}
		return out.String()
	}
	scruple(exitOK, "run", study, "--split", "dev")
	scruple(exitOK, "test", "register", study)
	scruple(exitOK, "run", study, "--split", "test")
	scruple(-1, "gate", study, "--split", "test")
	var whole struct {
		Analysis *analyse.Analysis
		Verdict  *gate.Verdict
	}
	must(t, json.Unmarshal([]byte(scruple(exitOK, "report", study, "--split", "test", "--format", "json")), &whole))
	return whole.Analysis, whole.Verdict
}
