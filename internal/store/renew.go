package store

import (
	"context"
	"iter"

	"github.com/scruple-eval/scruple/internal/eval"
)

// Outdated yields the trials of the plan whose outcome, in the stage run, or verdicts, in
// the stage judge, were derived from something else than the plan says, in plan order.
// In the stage judge, failed trials are not among them.
func (db *DB) Outdated(ctx context.Context, run *Run, stage eval.Stage) iter.Seq2[eval.Judged, error] {
	table := map[eval.Stage]string{eval.StageRun: "outcomes", eval.StageJudge: "judged"}[stage]
	return func(yield func(eval.Judged, error) bool) {
		outdated := map[int]bool{}
		bases, err := mapped[int, int64](ctx, db, `SELECT t.place, b.basis FROM `+planned+table+` b ON b.trial = t.id JOIN outcomes o ON o.trial = t.id WHERE `+inPlan+` AND (o.kind <> 'failed' OR ? = 'run')`, run, string(stage))
		if err != nil {
			yield(eval.Judged{}, err)
		}
		for place, basis := range bases {
			now, judged := run.plan.Basis(place)
			if stage == eval.StageJudge {
				now = judged
			}
			if now != basis {
				outdated[place] = true
			}
		}
		if err != nil || len(outdated) == 0 {
			return
		}
		for j, err := range db.Outcomes(ctx, run) {
			if err != nil {
				yield(j, err)
				return
			}
			if seq, ok := run.plan.Seq(j.Trial); ok && outdated[seq] && !yield(j, nil) {
				return
			}
		}
	}
}

// A Renewal is what was derived again of a trial in one stage.
type Renewal struct {
	Trial eval.Trial
	Stage eval.Stage
	// Derived is whether the journal has every answer that it takes. If not, the trial has
	// no outcome, or no verdicts, until it is asked.
	Derived bool
	Changed bool // of the stage run: it is another outcome than before
	Outcome eval.Outcome
	// Verdicts of the stage judge.
	Verdicts []eval.Verdict
	Steps    []string // the steps it takes that the journal has; the others are stale
	Examples []Example
}

// Unfinished makes the calls of trials stale that have no outcome, or no judgement, yet: the
// study changed before they were done, and they may no longer need all of them. Those that
// they ask again are in force again.
func (db *DB) Unfinished(ctx context.Context, run *Run) error {
	return db.rewrite(ctx, run, func(x *steps) {
		for stage, table := range map[eval.Stage]string{eval.StageRun: "outcomes", eval.StageJudge: "judged"} {
			x.exec(`UPDATE calls SET stale = TRUE WHERE stage = ? AND NOT stale AND trial IN (SELECT id FROM trials WHERE run = ? AND place >= 0)
				AND trial NOT IN (SELECT trial FROM `+table+`)`, string(stage), run.N)
		}
	})
}

// Renew records what was derived again, and events, in one transaction. Verdicts on an outcome
// that changed are stale, but those of people.
func (db *DB) Renew(ctx context.Context, run *Run, list []Renewal, events []Event) error {
	return db.rewrite(ctx, run, func(x *steps) {
		x.addEvents(run, events)
		for _, r := range list {
			id, seq, err := run.place(r.Trial)
			if x.fail(err); x.err != nil {
				return
			}
			read, judged := run.plan.Basis(seq)
			x.exec(`UPDATE calls SET stale = step NOT IN (`+among(len(r.Steps))+`) WHERE trial = ? AND stage = ?`, append(anys(r.Steps), id, string(r.Stage))...)
			x.putExamples(id, r.Stage, r.Examples)
			if r.Stage == eval.StageRun {
				if r.Derived {
					x.exec(insertions[intoOutcomes].rows(1), outcomeRow(id, read, r.Outcome, "")...)
				} else {
					x.exec(`DELETE FROM outcomes WHERE trial = ?`, id)
				}
				if r.Derived && !r.Changed {
					continue
				}
				x.exec(`UPDATE calls SET stale = TRUE WHERE trial = ? AND stage = ?`, id, string(eval.StageJudge))
				x.exec(`DELETE FROM prompts WHERE trial = ? AND stage = ?`, id, string(eval.StageJudge))
			}
			x.exec(`UPDATE verdicts SET stale = TRUE WHERE trial = ? AND source <> ?`, id, string(eval.ByHuman))
			x.exec(`DELETE FROM judged WHERE trial = ?`, id)
			if r.Stage != eval.StageJudge || !r.Derived {
				continue
			}
			for _, v := range r.Verdicts {
				x.exec(insertions[intoVerdicts].rows(1), verdictRow(run, r.Trial.Item, id, &v)...)
			}
			x.exec(insertions[intoJudged].rows(1), id, judged)
		}
	})
}
