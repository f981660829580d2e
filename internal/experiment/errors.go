package experiment

import (
	"fmt"
	"strings"

	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// A NotAllowedError refuses what would mix two experiments or decide by numbers
// that are not to be trusted: a run whose study asks something else now, an
// outdated analysis, a scorer that is wrong about a known case.
type NotAllowedError struct{ Err error }

func (e *NotAllowedError) Error() string { return e.Err.Error() }

func (e *NotAllowedError) Unwrap() error { return e.Err }

func notAllowed(format string, args ...any) error {
	return &NotAllowedError{fmt.Errorf(format, args...)}
}

// A TooManyFailedError says that more trials failed than the study allows.
type TooManyFailedError struct {
	Share   float64 // of trials or judgements
	Of      string  // what they are
	Allowed float64
	Study   string // the study's file
}

func (e *TooManyFailedError) Error() string {
	return fmt.Sprintf("%.1f %% of %s, the study allows %.1f %%: `scruple status` says why, and `scruple run --retry-failed %s` asks them again",
		100*e.Share, e.Of, 100*e.Allowed, e.Study)
}

// CheckCases gives a [NotAllowedError] that names the pre-flight cases the
// scorer is wrong about, if any.
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
	return notAllowed("the scorer is wrong about %d of %d pre-flight cases; nothing was asked:\n  %s", len(wrong), len(results), strings.Join(wrong, "\n  "))
}
