package main

import (
	"strings"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/run"
)

// The error of a key is printed once, whatever number of calls is in flight; other
// failures are printed for each trial.
func TestARefusedKeyIsPrintedOnce(t *testing.T) {
	var b strings.Builder
	o := &plainObserver{w: &b, every: time.Hour}
	for _, item := range []string{"a", "b", "c"} {
		trial := eval.Trial{Item: item, Arm: "x", Replicate: 1}
		for _, e := range []struct {
			kind eval.ErrorKind
			why  string
		}{{eval.ErrAuth, "auth (HTTP 401): check KEY_1"}, {eval.ErrAuth, "auth (HTTP 401): check KEY_2"}, {eval.ErrTimeout, "timeout"}} {
			o.Event(run.Event{Kind: "failed", Trial: trial, Error: e.kind, Note: "asking m about " + item + ": " + e.why})
		}
	}
	const want = `asking m about a: auth (HTTP 401): check KEY_1
asking m about a: auth (HTTP 401): check KEY_2
asking m about a: timeout
asking m about b: timeout
asking m about c: timeout
`
	if b.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", b.String(), want)
	}
}
