package store

import (
	"context"
	"iter"
	"slices"

	"github.com/scruple-eval/scruple/internal/eval"
)

// This file reads single trials and ranges of a plan, for viewers that show a part of a
// run and do not have its study. Each query but RowsOf uses an index.

// A Row is a trial of a plan, as lists show it. A pending trial has no Kind.
type Row struct {
	ID     int64 // of the trial, which it keeps for ever
	Place  int   // in the plan
	Trial  eval.Trial
	Kind   eval.OutcomeKind
	Reason string
}

const rowColumns = `SELECT t.id, t.place, t.item, t.arm, t.replicate, coalesce(o.kind, ''), coalesce(o.reason, '') FROM trials t LEFT JOIN outcomes o ON o.trial = t.id WHERE `

// Rows yields the trials with the places from up to but not including to.
func (db *DB) Rows(ctx context.Context, run *Run, from, to int) iter.Seq2[Row, error] {
	return rows[Row](ctx, db, rowColumns+inPlaces+` ORDER BY t.place`, run, from, to)
}

// RowsOf yields the trials of an item in plan order. It reads all trials of the run, as no
// index has items.
func (db *DB) RowsOf(ctx context.Context, run *Run, item string) iter.Seq2[Row, error] {
	return rows[Row](ctx, db, rowColumns+inPlan+` AND t.item = ? ORDER BY t.place`, run, item)
}

// Row returns a trial of the plan by its id.
func (db *DB) Row(ctx context.Context, run *Run, id int64) (Row, error) {
	return first(rows[Row](ctx, db, rowColumns+inPlan+` AND t.id = ?`, run, id), "trial %d in the plan of run %s", id, run.ID)
}

// Effort is what the calls of a trial took, those of judges excluded.
type Effort struct {
	Place     int
	Calls     int
	Tokens    *int     // input and output, thinking included; nil if a call does not say them
	CostUSD   *float64 // nil if a price is unknown
	LatencyMS float64
}

// Efforts yields the efforts of the trials with calls and the places from up to but not
// including to.
func (db *DB) Efforts(ctx context.Context, run *Run, from, to int) iter.Seq2[Effort, error] {
	return rows[Effort](ctx, db, `SELECT t.place, count(*), CASE WHEN `+uncounted+` = 0 THEN sum(`+tokensIn+` + `+tokensOut+`) END,
		CASE WHEN count(*) FILTER (WHERE cost_usd IS NULL AND error_kind = '') = 0 THEN total(cost_usd) END, total(latency_ms)
		FROM `+planned+`calls c ON c.trial = t.id AND c.stage = 'run'`+inForce+` WHERE `+inPlaces+` GROUP BY t.place`, run, from, to)
}

// A Stored is the scores of a trial in the form of the scores table; [ReadScores] reads
// it.
type Stored struct {
	ID    int64 // of the trial
	Place int
	Data  string
}

// StoredScores yields the scores of the trials with the places from up to but not
// including to. Those of a whole case come apart, with the place of its first trial.
func (db *DB) StoredScores(ctx context.Context, run *Run, from, to int) iter.Seq2[Stored, error] {
	return rows[Stored](ctx, db, `SELECT t.id, t.place, s.data FROM `+planned+`scores s ON s.trial = t.id WHERE `+inPlaces+`
		UNION ALL SELECT t.id, t.place, s.data FROM `+planned+`case_scores s ON s.trial = t.id WHERE `+inPlaces+` ORDER BY 2`, run, from, to, run, from, to)
}

// ScoresOf returns the scores of a trial by its id. The first trial of a case has those of
// the whole case too.
func (db *DB) ScoresOf(ctx context.Context, run *Run, id int64) (list []eval.Score, err error) {
	for data, err := range rows[string](ctx, db, `SELECT s.data FROM trials t JOIN scores s ON s.trial = t.id WHERE `+oneTrial+`
		UNION ALL SELECT s.data FROM trials t JOIN case_scores s ON s.trial = t.id WHERE `+oneTrial, run, id, run, id) {
		if err == nil {
			err = ReadScores(data, func(s eval.Score) { list = append(list, s) })
		}
		if err != nil {
			return list, err
		}
	}
	return list, nil
}

// PlaceOf finds a trial in a run by its key.
func (db *DB) PlaceOf(ctx context.Context, run *Run, t eval.Trial) (Row, error) {
	return first(rows[Row](ctx, db, rowColumns+inPlan+` AND t.item = ? AND t.arm = ? AND t.replicate = ?`, run, t.Item, t.Arm, t.Replicate), "%v in run %s", t, run.ID)
}

// Transcript returns calls of a trial in the order in which they were recorded, with
// their attempts: at most limit of them after the first skip. total counts all.
func (db *DB) Transcript(ctx context.Context, run *Run, id int64, skip, limit int) (calls []eval.Call, total int, err error) {
	if total, err = one[int](ctx, db, `SELECT count(*) FROM trials t JOIN calls c ON c.trial = t.id WHERE `+oneTrial, run, id); err != nil {
		return nil, 0, err
	}
	calls, err = Collect(db.calls(ctx, `calls c JOIN trials t ON t.id = c.trial WHERE t.run = ? AND c.id IN
		(SELECT id FROM calls WHERE trial = ? ORDER BY stage DESC, id LIMIT ? OFFSET ?) ORDER BY c.stage DESC, c.id`, run, id, limit, skip))
	if err != nil {
		return nil, 0, err
	}
	return calls, total, visit(ctx, db, `SELECT '', '', 0, a.stage, a.step, a.n, a.sent_at, s.process, a.ended, a.error_kind, 0, 0
		FROM attempts a JOIN sessions s ON s.id = a.session WHERE s.run = ? AND a.trial = ? ORDER BY a.session, a.n`, []any{run, id}, func(s sent) {
		if i := slices.IndexFunc(calls, func(c eval.Call) bool { return c.Stage == s.Stage && c.Step == s.Step }); i >= 0 {
			calls[i].Sent = append(calls[i].Sent, s.Attempt)
			calls[i].Attempts = max(calls[i].Attempts, len(calls[i].Sent))
		}
	})
}

// A Tally counts the trials of a plan.
type Tally struct {
	Trials int `json:"trials"`
	Done   int `json:"done"` // with an outcome, failed ones included
	Failed int `json:"failed"`
}

// Tally counts the trials of a run. It costs less than [DB.Progress].
func (db *DB) Tally(ctx context.Context, run *Run) (Tally, error) {
	if run.Archive != nil {
		return run.Archive.Tally, nil
	}
	return one[Tally](ctx, db, `SELECT count(*), count(o.trial), count(*) FILTER (WHERE o.kind = 'failed')
		FROM trials t LEFT JOIN outcomes o ON o.trial = t.id WHERE `+inPlan, run)
}

// Scoring returns how many trials of a run were judged, and whether its results are there.
func (db *DB) Scoring(ctx context.Context, run *Run) (judged int, analysed bool, err error) {
	type row struct {
		Judged   int
		Analysed bool
	}
	r, err := one[row](ctx, db, `SELECT count(j.trial), EXISTS (SELECT 1 FROM analyses a WHERE a.run = ?)
		FROM trials t LEFT JOIN judged j ON j.trial = t.id WHERE `+inPlan, run.N, run)
	return r.Judged, r.Analysed, err
}

// A Watch notices that a store was changed by this or another process.
type Watch struct {
	// Version returns a number that changes with every change of the store.
	Version func(context.Context) (int64, error)
	Close   func() error
}

// Watch begins to watch.
func (db *DB) Watch(ctx context.Context) (*Watch, error) { return db.engine.watch(ctx, db) }
