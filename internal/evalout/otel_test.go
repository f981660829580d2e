package evalout

import (
	"strings"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/eval"
)

// Calls of trials without an outcome are skipped, not those after them, and an answer that was
// taken from another call is of the time of the run.
func TestOTelSkipsCallsOfTrialsWithoutAnOutcome(t *testing.T) {
	trial := func(item string) eval.Trial { return eval.Trial{Item: item, Arm: "x", Replicate: 1} }
	r := Run{ID: "r", Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Place: func(t eval.Trial) int { return int(t.Item[0]) }}
	trials := func(yield func(eval.ScoredTrial, error) bool) {
		for _, item := range []string{"b", "c"} { // c asks nothing
			if t := (eval.ScoredTrial{}); func() bool { t.Trial = trial(item); return !yield(t, nil) }() {
				return
			}
		}
	}
	calls := func(yield func(eval.Call, error) bool) {
		for _, item := range []string{"a", "b", "d"} {
			c := eval.Call{Trial: trial(item), Model: "m"}
			if item == "b" { // whose line has been read in no time, and at no cost
				c.Provider = "outputs"
			}
			if !yield(c, nil) {
				return
			}
		}
	}
	var sent strings.Builder
	spans, skipped, err := OTel(func(b []byte) error { sent.Write(b); return nil }, r, trials, calls, false)
	if err != nil || spans != 3 || skipped != 2 {
		t.Errorf("%d spans, %d calls skipped, %v; want 3 and 2", spans, skipped, err)
	}
	if s := sent.String(); strings.Contains(s, "gen_ai.usage") || strings.Contains(s, "cost") {
		t.Errorf("usage of an answer from a file: %s", s)
	}
	if strings.Contains(sent.String(), "finish_reasons") {
		t.Errorf("why calls without an answer ended: %s", sent.String())
	}
	if strings.Contains(sent.String(), `"startTimeUnixNano":"0"`) {
		t.Errorf("a span of 1970: %s", sent.String())
	}
}

// An answer is a message by the schema of the conventions, and ended for a reason in their words.
func TestOTelMessages(t *testing.T) {
	for _, c := range []struct {
		r            eval.Response
		want, reason string
	}{
		{eval.Response{Text: "a <b>", Stop: eval.StopEnd, StopReason: "end_turn"}, `[{"finish_reason":"stop","parts":[{"content":"a <b>","type":"text"}],"role":"assistant"}]`, "stop"},
		{eval.Response{Stop: eval.StopTool, ToolCalls: []eval.ToolCall{{ID: "1", Name: "f", Arguments: []byte(`{"x":1}`)}, {ID: "2", Name: "g", Arguments: []byte("{")}}},
			`[{"finish_reason":"tool_call","parts":[{"arguments":{"x":1},"id":"1","name":"f","type":"tool_call"},{"arguments":"{","id":"2","name":"g","type":"tool_call"}],"role":"assistant"}]`, "tool_call"},
		{eval.Response{Refusal: "no", Stop: eval.StopRefused}, `[{"finish_reason":"content_filter","parts":[{"content":"no","type":"text"}],"role":"assistant"}]`, "content_filter"},
		{eval.Response{Stop: eval.StopLength}, `[{"finish_reason":"length","parts":[],"role":"assistant"}]`, "length"},
		{eval.Response{Stop: eval.StopOther, StopReason: "pause_turn"}, `[{"finish_reason":"pause_turn","parts":[],"role":"assistant"}]`, "pause_turn"},
		{eval.Response{Stop: eval.StopOther}, `[{"finish_reason":"other","parts":[],"role":"assistant"}]`, "other"},
	} {
		if got := messages(&c.r); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
		if got := finishReasons(&c.r); len(got) != 1 || got[0] != c.reason {
			t.Errorf("finish reasons %q, want %q", got, c.reason)
		}
	}
}
