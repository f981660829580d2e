package experiment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/plan"
	"github.com/scruple-eval/scruple/internal/store"
)

// A Repetition is what performing and judging the trials of a run again, with the answers
// of the journal, showed.
type Repetition struct {
	Outcomes, Verdicts int // that follow from their answers
	// Different names the outcomes and verdicts that do not, and those without their answers.
	Different []string
	Failed    int // trials without an outcome to compare
	// Earlier counts trials that the study has moved on from: their question, or what their
	// outcome or verdicts depend on, is that of an earlier plan and not known any more. Left
	// counts those that left the plan, on which no result depends.
	Earlier    int
	Left       int
	Older      bool  // an older version derived the outcomes
	Unrepeated int   // could not be performed again
	Why        error // the first of these
}

func (rep *Repetition) differs(format string, args ...any) {
	rep.Different = append(rep.Different, fmt.Sprintf(format, args...))
}

// mostNamed bounds the rows that an error names.
const mostNamed = 5

// Err names what does not follow from the stored answers, nil if all does.
func (rep *Repetition) Err() error {
	if len(rep.Different) == 0 {
		return nil
	}
	return fmt.Errorf("not what the stored answers give: %s", strings.Join(plan.Shorten(rep.Different, mostNamed), ", "))
}

// Repeat derives the stored outcomes and the verdicts of judges again from the answers of
// the journal. It asks nothing.
func (r *Run) Repeat(ctx context.Context) (*Repetition, error) {
	earlier, err := r.db.Earlier(ctx, r.Record)
	if err != nil {
		return nil, err
	}
	progress, err := r.db.Progress(ctx, r.Record)
	if err != nil {
		return nil, err
	}
	registered, _, err := r.registeredJudge()
	if err != nil {
		return nil, err
	}
	judges := map[string]bool{}
	for _, arm := range r.judging(registered != nil).Arms() {
		judges[arm.ID] = len(arm.Judges) > 0
	}
	kept, err := r.db.Examples(ctx, r.Record)
	if err != nil {
		return nil, err
	}
	rep := &Repetition{Left: earlier.Left, Older: earlier.Older}
	for j, err := range r.db.Outcomes(ctx, r.Record) {
		if err != nil {
			return nil, err
		}
		seq, _ := r.Plan.Seq(j.Trial)
		switch {
		case earlier.Outcomes.Has(seq):
			rep.Earlier++
			continue
		case j.Outcome.Kind == eval.Failed:
			rep.Failed++
			continue
		}
		err := r.repeatOutcome(ctx, rep, &j, kept)
		switch {
		case err != nil || !judges[j.Trial.Arm] || !progress.Judged.Has(seq):
		case earlier.Verdicts.Has(seq):
			rep.Earlier++
		default:
			err = r.repeatVerdicts(ctx, rep, &j, kept)
		}
		var missing *missingAnswerError
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case errors.As(err, &missing):
			rep.differs("%v has no answer to step %s", j.Trial, missing.step)
		case err != nil:
			if rep.Unrepeated++; rep.Why == nil {
				rep.Why = fmt.Errorf("%v: %w", j.Trial, err)
			}
		}
	}
	return rep, nil
}

func (r *Run) repeatOutcome(ctx context.Context, rep *Repetition, j *eval.Judged, kept []store.Example) error {
	again, err := r.replay(ctx, j.Trial, eval.StageRun)
	if err != nil {
		return err
	}
	o, err := r.Bench.Perform(ctx, j.Trial, again)
	switch {
	case err != nil:
		return err
	case o.Kind != j.Outcome.Kind || o.Reason != j.Outcome.Reason || !bytes.Equal(o.Data, j.Outcome.Data):
		rep.differs("outcome of %v", j.Trial)
	default:
		rep.Outcomes++
	}
	rep.comparePrompts(again, j.Trial, eval.StageRun, kept)
	return nil
}

// repeatVerdicts compares the verdicts in force, those of people left out. Errors of calls
// have other words.
func (r *Run) repeatVerdicts(ctx context.Context, rep *Repetition, j *eval.Judged, kept []store.Example) error {
	again, err := r.replay(ctx, j.Trial, eval.StageJudge)
	if err != nil {
		return err
	}
	list, err := r.Bench.Judge(ctx, j.Trial, j.Outcome, again)
	if err != nil {
		return err
	}
	rep.comparePrompts(again, j.Trial, eval.StageJudge, kept)
	type key struct {
		unit, step, by string
		source         eval.Source
		round          int
	}
	keyed := func(list []eval.Verdict) map[key]eval.Verdict {
		m := map[key]eval.Verdict{}
		for _, v := range list {
			if v.Source != eval.ByHuman {
				m[key{v.Unit, v.Step, v.By, v.Source, max(1, v.Round)}] = v
			}
		}
		return m
	}
	was, now := keyed(j.Verdicts), keyed(list)
	if maps.EqualFunc(was, now, func(a, b eval.Verdict) bool {
		return (a.Err == "") == (b.Err == "") && (a.Err != "" || bytes.Equal(a.Data, b.Data))
	}) {
		rep.Verdicts += len(now)
		return nil
	}
	rep.differs("verdict on %v", j.Trial)
	return nil
}

// comparePrompts compares the prompts that were kept of a trial.
func (rep *Repetition) comparePrompts(again *replay, t eval.Trial, stage eval.Stage, kept []store.Example) {
	again.mu.Lock() // a suite that asks in parallel may still be at it
	defer again.mu.Unlock()
	for _, e := range kept {
		for _, p := range e.Prompts {
			if e.Trial == t && e.Stage == stage && shortPrompt(again.asked[p.Step]) != p.Text {
				rep.differs("prompt of %v, step %s", t, p.Step)
			}
		}
	}
}

// replay returns the asker that answers a trial in a stage from the journal.
func (r *Run) replay(ctx context.Context, t eval.Trial, stage eval.Stage) (*replay, error) {
	calls, err := r.db.CallsOf(ctx, r.Record, t, stage)
	return &replay{calls: calls, asked: map[string]string{}}, err
}
