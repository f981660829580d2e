package store

import (
	"context"
	"encoding/json"

	"github.com/scruple-eval/scruple/internal/eval"
)

// An Example is what a model was asked in a stage of a trial.
type Example struct {
	Asked
	Steps   int      // of the trial in the stage, of all models
	Prompts []Prompt // of the first steps
}

// A Prompt is the text of one request.
type Prompt struct {
	Step string `json:"step"`
	Text string `json:"text"`
}

// Examples records what models were asked in a stage of a trial, instead of what is
// recorded of it. It does not wait for the disk; an outcome or verdict that is recorded
// later is not on disk without it.
func (j *Journal) Examples(t eval.Trial, stage eval.Stage, list []Example) error {
	id, err := j.run.id(t)
	if err != nil {
		return err
	}
	return j.later(func(x *steps) { x.putExamples(id, stage, list) })
}

// putExamples replaces those of a trial in a stage.
func (x *steps) putExamples(trial int64, stage eval.Stage, list []Example) {
	x.exec(`DELETE FROM prompts WHERE trial = ? AND stage = ?`, trial, string(stage))
	for _, asked := range list {
		texts, err := json.Marshal(asked.Prompts)
		x.fail(err)
		x.exec(`INSERT INTO prompts (trial, stage, model, steps, texts) VALUES (?,?,?,?,?)`, trial, string(stage), asked.Model, asked.Steps, modelText(texts))
	}
}

// Examples returns what is recorded of trials in the plan of a run, by the hash of the
// input of their item, which does not depend on other items.
func (db *DB) Examples(ctx context.Context, run *Run) ([]Example, error) {
	return all[Example](ctx, db, `SELECT p.stage, p.model, t.item, t.arm, t.replicate, p.steps, p.texts
		FROM `+planned+`prompts p ON p.trial = t.id CROSS JOIN items i ON i.run = t.run AND i.item = t.item WHERE `+inPlan+`
		ORDER BY i.input, t.item, t.arm, t.replicate, p.stage, p.model`, run)
}

// FirstAsked returns, of each stage, model and arm, the trial in the order of
// [DB.Examples] that came first of those that were answered and did not fail.
func (db *DB) FirstAsked(ctx context.Context, run *Run) ([]Asked, error) {
	return all[Asked](ctx, db, `SELECT stage, model, item, arm, replicate FROM (
			SELECT c.stage, c.model, t.arm, t.item, t.replicate, row_number() OVER (PARTITION BY c.stage, c.model, t.arm ORDER BY i.input, t.item, t.replicate) AS place
			FROM `+planned+`calls c ON c.trial = t.id JOIN outcomes o ON o.trial = t.id JOIN items i ON i.run = t.run AND i.item = t.item
			WHERE `+inPlan+inForce+` AND c.error_kind = '' AND c.stage <> 'embed' AND o.kind <> 'failed') AS asked
		WHERE place = 1 ORDER BY stage, model, arm`, run)
}

// PutExamples records what models were asked in a stage of a trial. A run that is archived
// stays without.
func (db *DB) PutExamples(ctx context.Context, run *Run, t eval.Trial, stage eval.Stage, list []Example) error {
	id, err := run.id(t)
	if err != nil || run.Archive != nil {
		return err
	}
	return db.rewrite(ctx, run, func(x *steps) { x.putExamples(id, stage, list) })
}
