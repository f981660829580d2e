package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/gate"
	"github.com/scruple-eval/scruple/internal/study"
)

// compiled has the rules of the shipped phases that tests asked for.
var compiled struct {
	sync.Mutex
	rules map[string]*gate.Rules
}

// rulesOf compiles the rules of a shipped phase, once.
func rulesOf(t *testing.T, phase string) *gate.Rules {
	t.Helper()
	compiled.Lock()
	defer compiled.Unlock()
	if rules := compiled.rules[phase]; rules != nil {
		return rules
	}
	path := filepath.Join("..", "..", "examples", "extraction", phase+".yaml")
	x, err := experiment.Load(path, []string{"split=test"}, experimentEnv())
	must(t, err)
	defer x.Close()
	names := gate.Names{Arms: x.ArmIDs(), Metrics: x.Suite.Metrics, Compared: func(a, b, metric string) bool { return true },
		Factors: []string{"doc_type", "source"}, Strata: []string{"source=synthetic", "source=public", "source=own"}, Tasks: []string{"double"}}
	for _, across := range x.Across {
		names.Across = append(names.Across, [4]string{across.A, across.B, "composite", across.Factor})
	}
	rules, wrong := gate.Compile(x.Study.Decide, names)
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	if compiled.rules == nil {
		compiled.rules = map[string]*gate.Rules{}
	}
	compiled.rules[phase] = rules
	return rules
}

// made is an analysis with the results that a test gives it.
func made(split string) *analyse.Analysis {
	return &analyse.Analysis{Run: analyse.Run{Split: split, MaxFailed: 0.05}}
}

func put(a *analyse.Analysis, armA, armB, metric string, diff, p, padj, d float64) {
	u := analyse.Undefined()
	a.Comparisons = append(a.Comparisons, analyse.Comparison{A: armA, B: armB, Metric: metric, Pairs: 100, Clusters: 100, Reading: analyse.Reading{Diff: analyse.Number(diff), Low: u, High: u,
		P: analyse.Number(p), PAdjusted: analyse.Number(padj), EquivLow: analyse.Number(diff - 0.02), EquivHigh: analyse.Number(diff + 0.02)}, Effect: analyse.Effect{D: analyse.Number(d)}})
}

func estimate(a *analyse.Analysis, arm, metric string, value float64) {
	a.Estimates = append(a.Estimates, analyse.Estimate{Arm: arm, Metric: metric, Bounds: analyse.Bounds{Value: analyse.Number(value)}, Items: 100})
}

// across puts whether the difference of ctn and idiomatic depends on a factor.
func across(a *analyse.Analysis, factor string, p float64) {
	a.Interactions = append(a.Interactions, analyse.Interaction{A: "ctn", B: "idiomatic", Metric: "composite", Factor: factor, P: analyse.Number(p)})
}

// outcome decides and returns the first letters of the outcome.
func outcome(t *testing.T, v gate.Verdict) string {
	t.Helper()
	applies := 0
	for _, c := range v.Conditions {
		if c.Kind == "outcome" && c.Name == v.Outcome {
			applies++
		}
	}
	if v.Outcome == "" || applies != 1 {
		t.Fatalf("no outcome, or more than one: %q, %v", v.Outcome, v.Reasons)
	}
	name, _, _ := strings.Cut(v.Outcome, " ")
	return name
}

var (
	gridDiff = []float64{-0.2, -0.05, 0, 0.02, 0.0299, 0.03, 0.04, 0.0499, 0.05, 0.06, 0.0999, 0.10, 0.2}
	gridP    = []float64{0.001, 0.0166, 0.017, 0.0499, 0.05, 0.08, 0.0999, 0.10, 0.5, 1}
)

// The outcomes of phase 1 are total, and as the plan has them: what fits no class is C
// where p < 0.10, else D. The signal of A, B and C is one of the first arm.
func TestPhase1Outcomes(t *testing.T) {
	t.Parallel()
	r := rulesOf(t, "phase1")
	seen := map[string]int{}
	for _, diff := range gridDiff {
		for _, p := range gridP {
			for _, d := range []float64{0.2, 0.5, 0.51} {
				for _, idiomatic := range []float64{0.2, 0.4999, 0.5, 0.7} {
					for _, malformed := range []int{0, 20, 21} {
						ctn := idiomatic + diff
						want := "D"
						switch {
						case ctn < 0.5 && idiomatic < 0.5 || malformed > 20:
							want = "E"
						case diff >= 0.10 && p < 0.05 && d > 0.5:
							want = "A"
						case diff >= 0.05 && p < 0.05:
							want = "B"
						case diff >= 0.03 && p < 0.10:
							want = "C"
						}
						a := made("test")
						put(a, "ctn", "idiomatic", "composite", diff, p, p, d)
						estimate(a, "ctn", "composite", ctn)
						estimate(a, "idiomatic", "composite", idiomatic)
						a.Arms = []analyse.Arm{{ID: "ctn", Planned: 100, OK: 100 - malformed, Malformed: malformed}, {ID: "idiomatic", Planned: 100, OK: 100}}
						if got := outcome(t, r.Decide(a)); got != want {
							t.Fatalf("diff %v, p %v, d %v, %v against %v, %d malformed: outcome %s, want %s", diff, p, d, ctn, idiomatic, malformed, got, want)
						}
						seen[want]++
					}
				}
			}
		}
	}
	if len(seen) != 5 {
		t.Errorf("the grid meets the outcomes %v, want all five", seen)
	}
}

// The diagnostics of DEV are total and in the order of the plan.
func TestPhase1Diagnoses(t *testing.T) {
	t.Parallel()
	r := rulesOf(t, "phase1")
	seen := map[string]int{}
	for _, diff := range gridDiff {
		for _, idiomatic := range []float64{0.3, 0.55, 0.59, 0.7, 0.84, 0.9} {
			for _, ratio := range []float64{0.5, 1, 1.5, 1.51, 3} {
				for _, value := range []float64{-0.1, 0.0499, 0.05} {
					for _, types := range [][2]float64{{0.04, 0.01}, {0.06, 0.01}, {0.06, 0.03}} {
						ctn := idiomatic + diff
						want := "Q6"
						switch {
						case ctn > 0.85 && idiomatic > 0.85:
							want = "Q1"
						case ctn < 0.6 && idiomatic < 0.6:
							want = "Q2"
						case ratio > 1.5:
							want = "Q3"
						case diff < 0.05 && value >= 0.05:
							want = "Q4"
						case diff < 0.05 && types[0] >= 0.05 && types[1] < 0.03:
							want = "Q5"
						}
						a := made("dev")
						u := analyse.Undefined()
						for _, m := range []string{"composite", "value", "evidence", "page", "status", "schema"} {
							x := 0.0
							switch m {
							case "composite":
								x = diff
							case "value":
								x = value
							}
							put(a, "ctn", "idiomatic", m, x, float64(u), float64(u), 0.1)
						}
						for i, x := range types {
							put(a, "ctn", "idiomatic", "composite", x, float64(u), float64(u), 0)
							a.Comparisons[len(a.Comparisons)-1].Stratum = &eval.Level{Name: "doc_type", Value: fmt.Sprint(i)}
						}
						estimate(a, "ctn", "composite", ctn)
						a.Estimates[0].SD = analyse.Number(0.1 * ratio)
						estimate(a, "idiomatic", "composite", idiomatic)
						a.Estimates[1].SD = 0.1
						v := r.Decide(a)
						if v.State != gate.Undecided || v.Outcome != "" || !strings.HasPrefix(v.Diagnosis, want+" ") {
							t.Fatalf("diff %v, %v against %v, ratio %v, value %v, types %v: %s %q %q, want %s", diff, ctn, idiomatic, ratio, value, types, v.State, v.Outcome, v.Diagnosis, want)
						}
						for _, c := range v.Conditions {
							if c.Kind != "diagnosis" {
								t.Fatalf("a DEV run is decided by %q", c.Name)
							}
						}
						seen[want]++
					}
				}
			}
		}
	}
	if len(seen) != 6 {
		t.Errorf("the grid meets the diagnoses %v, want all six", seen)
	}
}

// The outcomes of phase 2, blind validation included, and its diagnoses are total.
func TestPhase2Outcomes(t *testing.T) {
	t.Parallel()
	r := rulesOf(t, "phase2")
	seen := map[string]int{}
	blind := func(diffs map[string]float64) analyse.BlindResult {
		var b analyse.BlindResult
		for m, d := range diffs {
			b.Comparisons = append(b.Comparisons, analyse.BlindComparison{A: "ctn", B: "idiomatic", Metric: m, Diff: analyse.Number(d)})
		}
		return b
	}
	positive := blind(map[string]float64{"composite": 0.05, "value": 0.02, "evidence": 0})
	negative := blind(map[string]float64{"composite": -0.01, "value": 0.02, "evidence": 0})
	mixed := blind(map[string]float64{"composite": 0.05, "value": -0.02, "evidence": 0.01})
	type change struct{ change, half float64 }
	for _, diff := range []float64{-0.05, 0, 0.0299, 0.03, 0.1} {
		for _, p := range []float64{0.0166, 0.017, 0.0499, 0.05, 0.5} {
			for _, c := range []change{{0, 0.02}, {-0.03, 0.02}, {0.029, 0.02}, {0.04, 0.02}} {
				// Of types: the largest difference, the p-value of whether it depends on the type,
				// and the smallest p-value of a type.
				for literal := range 4 { // bit 0: ctn beats literal, bit 1: literal beats idiomatic
					for _, types := range [][3]float64{{0.02, 0.01, 0.001}, {0.05, 0.01, 0.001}, {0.05, 0.05, 0.001}, {0.05, 0.01, 0.03}} {
						for i, found := range [][]analyse.BlindResult{nil, {positive}, {negative}, {mixed}, {positive, negative}} {
							padj := min(1, 3*p)
							holds := diff >= 0.03 && p < 0.05
							want := "E"
							switch {
							case holds && i == 1:
								want = "F1"
							case holds && i == 2:
								want = "F2"
							case holds && i > 2:
								want = "F3"
							case diff > 0 && padj < 0.05 && c.change-c.half > -0.03 && c.change+c.half < 0.03:
								want = "A1"
							case diff > 0 && padj < 0.05 && c.change <= 0.03 && c.change >= -0.03:
								want = "A2"
							case holds:
								want = "B"
							case types[0] >= 0.03 && 2*types[2] < 0.05 && types[1] < 0.05:
								want = "C"
							case literal > 0:
								want = "D"
							}
							a := made("test")
							put(a, "ctn", "idiomatic", "composite", diff, p, padj, 0.5)
							put(a, "ctn", "literal", "composite", 0.02, 0.01, 1-0.97*float64(literal&1), 0.2)
							put(a, "literal", "idiomatic", "composite", 0.02, 0.01, 1-0.97*float64(literal>>1), 0.2)
							across(a, "doc_type", types[1])
							for k, x := range []float64{types[0], 0.01} {
								put(a, "ctn", "idiomatic", "composite", x, types[2]+0.5*float64(k), unread, 0)
								a.Comparisons[len(a.Comparisons)-1].Stratum = &eval.Level{Name: "doc_type", Value: fmt.Sprint(k)}
							}
							a.Blind = found
							// Synthetic documents alone replicate whatever real ones do.
							a.Replications = []analyse.Replication{{A: "ctn", B: "idiomatic", Metric: "composite", Change: 0, EquivLow: -0.01, EquivHigh: 0.01}}
							for _, source := range []string{"public", "own"} {
								a.Replications = append(a.Replications, analyse.Replication{A: "ctn", B: "idiomatic", Metric: "composite", Stratum: &eval.Level{Name: "source", Value: source},
									Change: analyse.Number(c.change), EquivLow: analyse.Number(c.change - c.half), EquivHigh: analyse.Number(c.change + c.half)})
							}
							v := r.Decide(a)
							if got := outcome(t, v); got != want {
								t.Fatalf("diff %v, p %v, change %v, literal %d, types %v, blind %d: outcome %s, want %s", diff, p, c, literal, types, i, got, want)
							}
							seen[want]++
							if v.State != gate.Pass && v.Diagnosis == "" {
								t.Fatalf("outcome %s has no diagnosis", want)
							}
						}
					}
				}
			}
		}
	}
	if len(seen) != 9 {
		t.Errorf("the grid meets the outcomes %v, want all nine", seen)
	}
}

// unread is no p-value that a rule reads.
const unread = 0.9

// The diagnoses of phase 2 are total and in the order of the plan. One that cannot be
// decided, such as that of agreement without annotations, does not end the search.
func TestPhase2Diagnoses(t *testing.T) {
	t.Parallel()
	r := rulesOf(t, "phase2")
	seen := map[string]int{}
	in := func(a *analyse.Analysis, source string, idiomatic, diff float64) {
		level := &eval.Level{Name: "source", Value: source}
		a.Estimates = append(a.Estimates, analyse.Estimate{Arm: "idiomatic", Metric: "composite", Stratum: level, Bounds: analyse.Bounds{Value: analyse.Number(idiomatic)}})
		put(a, "ctn", "idiomatic", "composite", diff, unread, unread, 0)
		a.Comparisons[len(a.Comparisons)-1].Stratum = level
	}
	for _, same := range []int{-1, 0, 80, 81, 100} { // of 100 answers of two people; -1: no annotations
		for _, shift := range []float64{-0.2, -0.1499, 0, 0.1499, 0.1501} {
			for _, synthetic := range []float64{0.0499, 0.05, 0.1} {
				for _, public := range []float64{-0.05, 0.0299, 0.03} {
					for _, value := range []float64{0.0299, 0.03} {
						for _, fails := range []float64{0.0199, 0.02} {
							want := "None"
							switch {
							case same >= 0 && same <= 80:
								want = "Q1"
							case shift > 0.15 || shift < -0.15:
								want = "Q2"
							case synthetic >= 0.05 && public < 0.03:
								want = "Q3"
							case value >= 0.03 && fails >= 0.02:
								want = "Q4"
							}
							a := made("test")
							put(a, "ctn", "idiomatic", "composite", 0.01, 0.5, 1, 0.1)
							put(a, "ctn", "literal", "composite", 0.01, 0.5, 1, 0.1)
							put(a, "literal", "idiomatic", "composite", 0, 0.5, 1, 0.1)
							for m, x := range map[string]float64{"value": value, "evidence": 0, "hallucination": fails, "fabrication": 0} {
								put(a, "ctn", "idiomatic", m, x, unread, unread, 0)
							}
							in(a, "synthetic", 0.5, synthetic)
							in(a, "public", 0.5-shift, public)
							across(a, "doc_type", 0.5)
							if same >= 0 {
								a.Agreements = []analyse.Agreement{{Task: "double", Question: "value", Same: same, N: 100}}
							}
							v := r.Decide(a)
							if v.State == gate.Pass || !strings.HasPrefix(v.Diagnosis, want+" ") || v.DiagnosisAdvice == "" {
								t.Fatalf("agreement %d, shift %v, synthetic %v, public %v, value %v, failures %v: %s %q, want %s", same, shift, synthetic, public, value, fails, v.State, v.Diagnosis, want)
							}
							seen[want]++
						}
					}
				}
			}
		}
	}
	if len(seen) != 5 {
		t.Errorf("the grid meets the diagnoses %v, want all five", seen)
	}
}

// The outcomes of phase 3 are total.
func TestPhase3Outcomes(t *testing.T) {
	t.Parallel()
	r := rulesOf(t, "phase3")
	seen := map[string]int{}
	bits := []string{"ctn-literal@claude", "literal-idiomatic_long@claude",
		"idiomatic_long-idiomatic@claude", "ctn-no-v1@claude", "ctn-no-v2@claude", "ctn-no-v5@claude"}
	for set := range 1 << len(bits) {
		for equal := range 16 { // bit 0: placebo is like ctn, 1: literal is, 2: idiomatic_long is, 3: the families differ
			for _, d := range []float64{0.3, 0.31} {
				for _, sign := range []float64{1, -1} {
					shows := func(k int) bool { return set>>k&1 == 1 }
					like := func(k int) bool { return equal>>k&1 == 1 }
					first := sign > 0 // the sign of ctn − literal
					if !shows(0) && (d > 0.3 || !first) {
						continue // no rule would read it
					}
					want := "none"
					switch {
					case like(3):
						want = "E"
					case like(0):
						want = "F"
					case shows(0) && first && d > 0.3:
						want = "A"
					case like(1) && shows(1):
						want = "B"
					case like(2) && shows(2):
						want = "C"
					case shows(3) || shows(4) || shows(5):
						want = "D"
					}
					a := made("test")
					across(a, "model", map[bool]float64{true: 0.049, false: 0.05}[like(3)])
					// The effect is significant in one family and not in the others: no evidence that they differ.
					put(a, "ctn@claude", "idiomatic@claude", "composite", 0.07, 0.001, 0.01, 0.4)
					put(a, "ctn@gpt", "idiomatic@gpt", "composite", 0.05, 0.01, 0.2, 0.3)
					for k, name := range bits {
						pair, model, _ := strings.Cut(name, "@")
						x, y, _ := strings.Cut(pair, "-")
						p, diff := 0.5, 0.04
						if shows(k) {
							p = 0.01
						}
						if k == 0 {
							diff *= sign
						}
						put(a, x+"@"+model, y+"@"+model, "composite", diff, p/2, p, d)
					}
					put(a, "placebo_math@claude", "ctn@claude", "composite", 0.05, 0.5, 0.5, 0)
					put(a, "ctn@claude", "idiomatic_long@claude", "composite", 0.05, 0.5, 0.5, 0)
					for k, other := range []string{"placebo_math", "literal", "idiomatic_long"} {
						for i := range a.Comparisons {
							c := &a.Comparisons[i]
							if like(k) && (c.A == "ctn@claude" || c.B == "ctn@claude") && (c.A == other+"@claude" || c.B == other+"@claude") {
								c.EquivLow, c.EquivHigh = -0.02, 0.02
							}
						}
					}
					if got := outcome(t, r.Decide(a)); got != want {
						t.Fatalf("%b, like %b, d %v, sign %v: outcome %s, want %s", set, equal, d, sign, got, want)
					}
					seen[want]++
				}
			}
		}
	}
	if len(seen) != 7 {
		t.Errorf("the grid meets the outcomes %v, want all seven", seen)
	}
}

// Every shipped phase has the outcomes of the plan by their letters, and an advice.
func TestPhasesAreComplete(t *testing.T) {
	t.Parallel()
	tasks := map[string]string{} // their answers are in one folder
	for phase, want := range map[string]string{"phase1": "EABCD", "phase2": "FFFAABCDE", "phase3": "EFABCDn"} {
		x, err := experiment.Load(filepath.Join("..", "..", "examples", "extraction", phase+".yaml"), []string{"split=test"}, experimentEnv())
		must(t, err)
		letters := ""
		for _, c := range x.Study.Decide.Outcomes {
			letters += c.Name[:1]
			if c.Advice == "" {
				t.Errorf("%s: outcome %s has no advice", phase, c.Name)
			}
		}
		if letters != want {
			t.Errorf("%s has the outcomes %s, want %s", phase, letters, want)
		}
		if b := x.Study.Budget; b.Cycles == nil || b.Days == nil || b.Cost == nil {
			t.Errorf("%s has no budget", phase)
		}
		if x.Study.Split == "" || x.Study.Split != study.SplitTest {
			t.Errorf("%s has no split", phase)
		}
		for _, task := range x.Study.Annotation {
			if other := tasks[task.Name]; other != "" {
				t.Errorf("%s and %s have a task %s", phase, other, task.Name)
			}
			tasks[task.Name] = phase
		}
		must(t, x.Close())
	}
}

// The shipped phases have no warning, and many arms are listed by their factors. A rule
// that reads no scores is not said to need items.
func TestPhasesAreReadable(t *testing.T) {
	t.Parallel()
	says := func(args ...string) string {
		var out, errs strings.Builder
		if code := execute(t.Context(), args, nil, &out, &errs, func(string) string { return "" }); code != exitOK {
			t.Fatalf("%v: exit code %d: %s", args, code, errs.String())
		}
		return out.String()
	}
	for _, phase := range []string{"phase1", "phase2", "phase3"} {
		got := says("validate", filepath.Join("..", "..", "examples", "extraction", phase+".yaml"), "-o", "split=test")
		// Two of the public contracts have the same text.
		if strings.Contains(strings.Replace(got, "warning: 1 item repeats the input of another item, so they are one observation, in one cluster: cuad-1f43b8daeb = cuad-5d0e019481\n", "", 1), "warning") {
			t.Errorf("%s: %s", phase, got)
		}
		for line := range strings.Lines(got) {
			if len(line) > 300 {
				t.Errorf("%s: a line of %d characters: %s", phase, len(line), line)
			}
		}
		if phase == "phase3" && !strings.Contains(got, "\n  model: claude, gpt, gemini\n") {
			t.Errorf("the factors are not listed: %s", got)
		}
	}
	got := says("plan", filepath.Join("..", "..", "examples", "extraction", "phase2.yaml"))
	for _, want := range []string{
		"4 people agree on more than 80 % of the fields that two of them annotated (require): does not depend on the number of items: it reads agreement\n",
		"2 at least one comparison holds after correction (require): asks for a difference: ",
		"F1 blind positive (outcome): not checked against ",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("plan does not say %q: %s", want, got)
		}
	}
}

// Phase 2 takes the whole corpus of contracts in place of those that ship.
func TestPhase2WithOtherContracts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.CopyFS(dir, shipped("")))
	must(t, os.Rename(filepath.Join(dir, "contracts", "data", "contracts.jsonl"), filepath.Join(dir, "extraction", "public.jsonl")))
	var out, errs strings.Builder
	args := []string{"validate", filepath.Join(dir, "extraction", "phase2.yaml"), "-o", "data.parts[public].path=public.jsonl"}
	if code := execute(t.Context(), args, nil, &out, &errs, func(string) string { return "" }); code != exitOK || !strings.Contains(out.String(), "190 items") {
		t.Errorf("exit code %d: %s%s", code, out.String(), errs.String())
	}
}
