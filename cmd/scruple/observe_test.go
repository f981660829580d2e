package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/run"
)

// A cause is printed once, whatever number of calls is in flight.
func TestACauseIsPrintedOnce(t *testing.T) {
	var b strings.Builder
	o := &plainObserver{w: &b, every: time.Hour}
	for i, item := range []string{"a", "b", "c"} {
		trial := eval.Trial{Item: item, Arm: "x", Replicate: 1}
		for _, why := range []string{"auth (HTTP 401): check KEY_1", "auth (HTTP 401): check KEY_2", fmt.Sprintf("timeout (HTTP 408) after %d.5s, request req_0%dCXYZ", i, i), "timeout (HTTP 504)"} {
			o.Event(run.Event{Kind: "failed", Trial: trial, Note: "asking m about " + item + ": " + why})
		}
	}
	const want = `asking m about a: auth (HTTP 401): check KEY_1
asking m about a: auth (HTTP 401): check KEY_2
asking m about a: timeout (HTTP 408) after 0.5s, request req_00CXYZ
asking m about a: timeout (HTTP 504)
further events with this cause (failed) are not printed; the report counts them: auth (HTTP 401): check KEY_1
further events with this cause (failed) are not printed; the report counts them: auth (HTTP 401): check KEY_2
further events with this cause (failed) are not printed; the report counts them: timeout (HTTP 408) after 1.5s, request req_01CXYZ
further events with this cause (failed) are not printed; the report counts them: timeout (HTTP 504)
`
	if b.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", b.String(), want)
	}
	b.Reset()
	for i := range 20 {
		o.Event(run.Event{Kind: "retry", Note: strings.Repeat("x", i+1)})
	}
	if n := strings.Count(b.String(), "\n"); n != causesShown+1 {
		t.Errorf("%d lines about 20 causes, want %d", n, causesShown+1)
	}
}

// More bars than rows of a terminal leave stale lines.
func TestManyArmsHaveOneBar(t *testing.T) {
	arms := make([]run.ArmPlan, 24)
	for i := range arms {
		arms[i] = run.ArmPlan{Arm: fmt.Sprint(i), Planned: 10, Done: 5, Failed: 1, Cost: 0.5, Unpriced: 2}
	}
	got := together(arms)
	if len(got) != 1 || got[0] != (run.ArmPlan{Arm: "all 24 arms", Planned: 240, Done: 120, Failed: 24, Cost: 12, Unpriced: 48}) {
		t.Errorf("%+v", got)
	}
	if few := together(arms[:mostBars]); len(few) != mostBars {
		t.Errorf("%d bars for %d arms", len(few), mostBars)
	}
}

// TestScoring: progress is said once the time is over, and not in JSON.
func TestScoring(t *testing.T) {
	var out strings.Builder
	a := &app{err: &out}
	a.scoring(100_000, time.Hour)(32)
	a.scoring(100_000, 0)(64)
	a.json = true
	a.scoring(100_000, 0)(96)
	if got := out.String(); got != "score: 64 of 100000 trials\n" {
		t.Errorf("%q", got)
	}
}
