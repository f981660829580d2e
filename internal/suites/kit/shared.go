package kit

import (
	"encoding/json"
	"errors"

	"github.com/scruple-eval/scruple/internal/model/simulated"
	"github.com/scruple-eval/scruple/internal/study"
)

// Unjoin lists the errors that were joined into one.
func Unjoin(err error) []error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

// AddAll adds an error, or the errors that were joined into it, one by one.
func AddAll(errs *study.Errors, err error) {
	for _, e := range Unjoin(err) {
		errs.Add(e)
	}
}

// OfOneCall reports an error of one call that leaves the run alone. The
// engine's errors say so themselves; any other ends the run.
func OfOneCall(err error) bool {
	var call interface {
		error
		Fatal() bool
	}
	return errors.As(err, &call) && !call.Fatal()
}

// SimulatedAnswer is the payload that tells a simulated model one right answer
// and a wrong one.
func SimulatedAnswer(right, wrong string) json.RawMessage {
	return simulated.Encode(simulated.Sheet{Parts: []simulated.Part{{Right: right, Alternatives: map[string]string{simulated.Wrong: wrong, simulated.Miss: "I do not know."}}}})
}
