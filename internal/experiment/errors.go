package experiment

import (
	"fmt"
	"strings"

	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

// A NotAllowedError prevents mixing two experiments or deciding by unreliable
// numbers: the study no longer matches the run, the analysis is outdated, or the
// scorer fails a known case.
type NotAllowedError struct{ Err error }

func (e *NotAllowedError) Error() string { return e.Err.Error() }

func (e *NotAllowedError) Unwrap() error { return e.Err }

func notAllowed(format string, args ...any) error {
	return &NotAllowedError{fmt.Errorf(format, args...)}
}

// A TooManyFailedError reports that more trials failed than the study allows.
type TooManyFailedError struct {
	Share   float64 // of trials or judgements
	Of      string  // what the share counts
	Allowed float64
	Study   string // the study's file, and its split if that is TEST
	Retry   string // the command that asks again
	Hidden  bool   // the run is a TEST run, and its results are not shown
}

func (e *TooManyFailedError) Error() string {
	if e.Hidden {
		return fmt.Sprintf("%.1f %% of %s, the study allows %.1f %%: the results of TEST are not shown, so that the failed trials can be asked again: `scruple run --retry-failed %s`. "+
			"--unblind \"…\" shows the results without them; the reason is recorded for good", 100*e.Share, e.Of, 100*e.Allowed, e.Study)
	}
	return fmt.Sprintf("%.1f %% of %s, the study allows %.1f %%: `scruple report %[4]s` gives the reasons; retry with `%[5]s %[4]s`",
		100*e.Share, e.Of, 100*e.Allowed, e.Study, e.Retry)
}

// CheckCases returns a [NotAllowedError] that lists the pre-flight cases the
// scorer fails, if any.
func CheckCases(results []kit.Result) error {
	var wrong []string
	for _, r := range results {
		if !r.OK() {
			wrong = append(wrong, r.Name+": "+strings.Join(r.Wrong, ", "))
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	return notAllowed("the scorer fails %d of %s; no model was called:\n  %s", len(wrong), text.Plural(len(results), "pre-flight case", "pre-flight cases"), strings.Join(wrong, "\n  "))
}
