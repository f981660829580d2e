package analyse

import (
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
)

// A judge that failed or is simulated comes first. An unfinished run comes before failed trials, and simulated answers, which are marked
// everywhere, come last.
func TestWarningsByImportance(t *testing.T) {
	got := warnings(&Analysis{
		Run:             Run{Planned: 10, Done: 9, JudgeFails: 1},
		SimulatedJudges: []string{"bad"},
		Judges:          []Judge{{Name: "good", Effect: "counts"}, {Name: "bad", Effect: "right on 1 of 9", Failed: true}},
		Arms:            []Arm{{ID: "a", Simulated: true, Planned: 10, OK: 7, Failed: 2, Estimated: 1, OddEnds: 3}},
		Estimates:       []Estimate{{Arm: "a", Metric: "m", Unscored: 5, Reasons: []Count{{ofFailed, 2}, {"the judge failed its calibration", 2}, {"not judged", 1}}, UnscoredShare: 0.06}},
	}, Question{})
	want := []string{"judge bad failed its calibration: right on 1 of 9", "simulated judge", "the run is unfinished", "judging failed", "a: 2 of 9 trials failed", "a: the provider did not count", "a: 3 answers ended for an unknown reason", "m of a: 5 entries without a score, 2 of them of failed trials (6.0 %), left out of the estimate: the judge failed its calibration (2), not judged (1)", "simulated answers"}
	if len(got) != len(want) {
		t.Fatalf("%d warnings, want %d: %q", len(got), len(want), got)
	}
	for i, w := range want {
		if !strings.HasPrefix(got[i], w) {
			t.Errorf("warning %d is %q, want %q", i+1, got[i], w)
		}
	}
}

// Failed judging is said with the judge, the reasons and their counts.
func TestJudgeErrors(t *testing.T) {
	r := Run{JudgeErrors: []eval.JudgeError{{Judge: "a", Reason: "timeout", Verdicts: 4}, {Judge: "a", Reason: "no JSON", Verdicts: 3}, {Judge: "a", Reason: "HTTP 500", Verdicts: 2},
		{Judge: "a", Reason: "HTTP 501", Verdicts: 1}, {Judge: "b", Reason: "refused", Verdicts: 1}}}
	want := "; judge a, 4 verdicts: timeout; judge a, 3 verdicts: no JSON; judge a, 2 verdicts: HTTP 500; judge b, 1 verdict: refused; other reasons: 1 verdict"
	if got := r.judgeErrors(); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
