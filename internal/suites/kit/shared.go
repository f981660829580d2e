package kit

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model/simulated"
	"github.com/scruple-eval/scruple/internal/study"
)

// Unjoin splits an error made by errors.Join.
func Unjoin(err error) []error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

// AddAll adds an error, or each of the errors joined in it.
func AddAll(errs *study.Errors, err error) {
	for _, e := range Unjoin(err) {
		errs.Add(e)
	}
}

// ScoreTrials appends the scores of each trial of a case that did not fail, as
// score gives them, and sets their replicate.
func ScoreTrials(dst []eval.Score, c eval.Case, score func(dst []eval.Score, t *eval.Judged) []eval.Score) []eval.Score {
	for t := range c.Answered() {
		from := len(dst)
		dst = score(dst, t)
		for i := range dst[from:] {
			dst[from+i].Replicate = t.Trial.Replicate
		}
	}
	return dst
}

// AskJudge asks a model for a verdict. A call that fails leaves a verdict with
// its error; an error that concerns the run is returned.
func AskJudge(ctx context.Context, ask eval.Asker, step string, r eval.Request) (eval.Verdict, error) {
	v := eval.Verdict{Step: step, Source: eval.ByModel, By: r.Model}
	response, err := ask.Ask(ctx, step, r)
	answer := response.Answer(r.Force)
	switch {
	case err != nil && !ofOneCall(err):
		return v, err
	case err != nil:
		v.Err = err.Error()
	case response.Stop == eval.StopRefused:
		v.Err = "the judge declined"
	case answer == "" && response.Stop == eval.StopLength:
		v.Err = "the judge reached its token limit without output"
	default:
		v.Data = []byte(answer)
	}
	return v, nil
}

// ofOneCall reports whether an error concerns one call and does not end the
// run. Only errors of the engine can; any other ends the run.
func ofOneCall(err error) bool {
	var call interface {
		error
		Fatal() bool
	}
	return errors.As(err, &call) && !call.Fatal()
}

// SimulatedAnswer is the payload that gives a simulated model a right answer
// and a wrong one.
func SimulatedAnswer(right, wrong string) json.RawMessage {
	return simulated.Encode(simulated.Sheet{Parts: []simulated.Part{{Right: right, Alternatives: map[string]string{simulated.Wrong: wrong, simulated.Miss: "I do not know."}}}})
}

// Indicator is 1 if something holds, else 0.
func Indicator(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}
