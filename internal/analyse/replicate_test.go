package analyse_test

import (
	"math"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
)

// The interval of a change is that of two independent differences. For normal intervals
// MOVER gives change ± z·√(se₁² + se₂²), here with z = 1.645 and standard errors 0.02 and
// 0.015: half width 1.645·0.025 = 0.041125.
func TestReplicate(t *testing.T) {
	const z = 1.645
	of := func(run string, a, b string, diff, se float64) *analyse.Analysis {
		return &analyse.Analysis{Run: analyse.Run{ID: run}, Comparisons: []analyse.Comparison{{A: a, B: b, Metric: "m", Reading: analyse.Reading{Diff: analyse.Number(diff),
			EquivLow: analyse.Number(diff - z*se), EquivHigh: analyse.Number(diff + z*se)}}}}
	}
	now := of("two-1", "x", "y", 0.08, 0.02)
	now.Replicate(of("one-1", "y", "x", -0.10, 0.015)) // the other way round
	r, ok := now.Replication("x", "y", "m", nil)
	if !ok || r.Run != "one-1" || !(math.Abs(float64(r.Change)+0.02) <= 1e-12) || !(math.Abs(float64(r.EquivHigh)-(-0.02+0.041125)) <= 1e-9) || !(math.Abs(float64(r.EquivLow)-(-0.02-0.041125)) <= 1e-9) {
		t.Errorf("got %+v, want the change −0.02 ± 0.041125", r)
	}
	back, ok := now.Replication("y", "x", "m", nil)
	if !ok || back.Change != -r.Change || back.EquivLow != -r.EquivHigh || back.Earlier != -r.Earlier {
		t.Errorf("reversed: %+v", back)
	}
	// An interval that is not symmetric: L = c − √((d−l)² + (u'−d')²), with 0.03, 0.01, 0.02, 0.04.
	a := &analyse.Analysis{Comparisons: []analyse.Comparison{{A: "x", B: "y", Metric: "m", Reading: analyse.Reading{Diff: 0.1, EquivLow: 0.07, EquivHigh: 0.11}}}}
	b := &analyse.Analysis{Comparisons: []analyse.Comparison{{A: "x", B: "y", Metric: "m", Reading: analyse.Reading{Diff: 0.1, EquivLow: 0.08, EquivHigh: 0.14}}}}
	a.Replicate(b)
	r, _ = a.Replication("x", "y", "m", nil)
	if !(math.Abs(float64(r.EquivLow)+0.05) <= 1e-12) || !(math.Abs(float64(r.EquivHigh)-math.Hypot(0.01, 0.02)) <= 1e-12) {
		t.Errorf("got [%v, %v], want [−0.05, 0.02236]", r.EquivLow, r.EquivHigh)
	}
	// Intervals of different levels make one of neither: that of the earlier study may be
	// wider, as it then holds with more than this level, but not narrower.
	for _, tt := range []struct {
		alpha float64
		want  bool
	}{{0.05, true}, {0.01, true}, {0.1, false}} {
		now, earlier := of("two-1", "x", "y", 0.08, 0.02), of("one-1", "x", "y", 0.10, 0.015)
		now.Study.Alpha, earlier.Study.Alpha = 0.05, tt.alpha
		now.Replicate(earlier)
		r, _ := now.Replication("x", "y", "m", nil)
		if r.EquivLow.Defined() != tt.want || r.EquivHigh.Defined() != tt.want || (r.Warning == "") != tt.want || !r.Change.Defined() {
			t.Errorf("alpha %v after %v: %+v", 0.05, tt.alpha, r)
		}
	}
	// A run that ended at a planned look is whole, one that stopped elsewhere is not.
	for _, atLook := range []bool{true, false} {
		now, earlier := of("two-1", "x", "y", 0.08, 0.02), of("one-1", "x", "y", 0.10, 0.015)
		earlier.Run.Planned, earlier.Run.Done, earlier.Run.AtLook = 10, 5, atLook
		now.Replicate(earlier)
		if r, _ := now.Replication("x", "y", "m", nil); r.Change.Defined() != atLook {
			t.Errorf("at a look %v: %+v", atLook, r)
		}
	}
	// DEV decides nothing, nor does its difference, and an unblinding stays visible.
	for _, dev := range []analyse.Run{{ID: "one-1", Split: "dev"}, {ID: "one-1", Dev: 1}} {
		now, earlier := of("two-1", "x", "y", 0.08, 0.02), of("one-1", "x", "y", 0.10, 0.015)
		earlier.Run = dev
		now.Replicate(earlier)
		if r, _ := now.Replication("x", "y", "m", nil); r.Change.Defined() || !strings.Contains(r.Warning, "DEV") || r.Unblinded != "" {
			t.Errorf("of DEV: %+v", r)
		}
	}
	// Nor does a run that is unfinished, broken, lacks scores or is simulated.
	for want, spoil := range map[string]func(*analyse.Analysis){
		"is unfinished, with 90 of 100 trials done":                      func(a *analyse.Analysis) { a.Run.Done = 90 },
		"is broken, 10.0 % of trials of y failed":                        func(a *analyse.Analysis) { a.Arms[1].OK, a.Arms[1].Failed = 45, 5 },
		"simulated the answers of y, and this one did not":               func(a *analyse.Analysis) { a.Arms[1].Simulated = true },
		"has no score of 20.0 % of m of x, the limit is 5.0 %":           func(a *analyse.Analysis) { a.Estimates[0].Unscored, a.Estimates[0].UnscoredShare = 10, 0.2 },
		"lacks scores of m of x, and there is no lowest and highest one": func(a *analyse.Analysis) { a.Estimates[0].Unscored, a.Estimates[0].UnscoredShare = 1, 0.02 },
		"": func(*analyse.Analysis) {},
	} {
		now, earlier := of("two-1", "x", "y", 0.08, 0.02), of("one-1", "x", "y", 0.10, 0.015)
		for _, a := range []*analyse.Analysis{now, earlier} {
			a.Run.Planned, a.Run.Done, a.Run.MaxFailed, a.Study.MaxUnscored = 100, 100, 0.05, 0.05
			a.Arms = []analyse.Arm{{ID: "x", Planned: 50, OK: 50}, {ID: "y", Planned: 50, OK: 50}}
			a.Estimates = []analyse.Estimate{{Arm: "x", Metric: "m"}, {Arm: "y", Metric: "m"}}
		}
		spoil(earlier)
		now.Replicate(earlier)
		r, _ := now.Replication("x", "y", "m", nil)
		if r.Change.Defined() != (want == "") || r.EquivLow.Defined() != (want == "") || !strings.Contains(r.Warning, want) {
			t.Errorf("%q: %+v", want, r)
		}
	}
	again, earlier := of("two-1", "x", "y", 0.08, 0.02), of("one-1", "x", "y", 0.10, 0.015)
	earlier.Discipline = &analyse.Discipline{Unblindings: []analyse.Unblinding{{Date: "2026-01-02", By: "eve", Reason: "once more"}}}
	again.Replicate(earlier)
	if r, _ := again.Replication("x", "y", "m", nil); !r.Change.Defined() || !strings.Contains(r.Unblinded, "once more") {
		t.Errorf("of an unblinded run: %+v", r)
	}
	again, earlier.Discipline = of("two-1", "x", "y", 0.08, 0.02), &analyse.Discipline{Problem: "no entry"}
	again.Replicate(earlier)
	if r, _ := again.Replication("x", "y", "m", nil); !strings.Contains(r.Unblinded, "one-1: no entry") {
		t.Errorf("of a run without an entry: %+v", r)
	}
	// Nothing decides in the place of a test that cannot be made.
	for _, untested := range [][2]bool{{true, false}, {false, true}} {
		now, earlier := of("two-1", "x", "y", 0.08, 0.02), of("one-1", "x", "y", 0.10, 0.015)
		for i, a := range []*analyse.Analysis{now, earlier} {
			if untested[i] {
				a.Comparisons[0].P = analyse.Undefined()
			}
		}
		now.Replicate(earlier)
		if r, _ := now.Replication("x", "y", "m", nil); r.EquivLow.Defined() || r.EquivHigh.Defined() || r.Warning == "" || !r.Change.Defined() {
			t.Errorf("untested %v: %+v", untested, r)
		}
	}
	if _, ok := a.Replication("x", "z", "m", nil); ok {
		t.Error("a comparison that neither run has")
	}
}

// Each stratum is compared with the earlier difference over all items: documents like the
// earlier ones do not hide that others show nothing.
func TestReplicateInStrata(t *testing.T) {
	source := func(value string) *eval.Level { return &eval.Level{Name: "source", Value: value} }
	now := &analyse.Analysis{Comparisons: []analyse.Comparison{{A: "x", B: "y", Metric: "m", Reading: analyse.Reading{Diff: 0.09}},
		{A: "x", B: "y", Metric: "m", Stratum: source("synthetic"), Reading: analyse.Reading{Diff: 0.11}}, {A: "x", B: "y", Metric: "m", Stratum: source("public"), Reading: analyse.Reading{Diff: 0.05}}}}
	earlier := &analyse.Analysis{Comparisons: []analyse.Comparison{{A: "x", B: "y", Metric: "m", Reading: analyse.Reading{Diff: 0.11}}, {A: "x", B: "y", Metric: "m", Stratum: source("public"), Reading: analyse.Reading{Diff: 0.5}}}}
	now.Replicate(earlier)
	for stratum, want := range map[*eval.Level]float64{nil: -0.02, source("synthetic"): 0, source("public"): -0.06} {
		if r, ok := now.Replication("x", "y", "m", stratum); !ok || !(math.Abs(float64(r.Change)-want) <= 1e-12) {
			t.Errorf("%v: %+v, want the change %v", stratum, r, want)
		}
	}
	if _, ok := now.Replication("x", "y", "m", source("own")); ok {
		t.Error("a stratum without a comparison changed")
	}
}
