package store

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
)

// taken are the calls whose answers the run has taken, each for one call.
type taken struct {
	mu     sync.Mutex
	others *bool // nil until the first use, as known
	known  map[int64]bool
	tests  map[string]bool // whether a run is of TEST, by its id
}

// Take looks for an answer to the request of a call, with the same key, and fills in
// the call's response, cost, latency and source. With other, it looks at the trials
// that left the run's plan and at all other runs that are not archived, and with shared at the trials of the
// plan. The key of a request may lack what its answer depends on, such as the content
// of a file of answers: then other must be false.
//
// With shared, every call with the key has one answer. Without, an answer is taken once
// by a run, from the same step, however often a judge was asked it, and from another arm only if
// the plan does not ask that arm its question: replicates, samples, and arms with equal prompts
// never share an answer.
//
// A judge's answer that was asked for again, and of such a call one that is not later than the
// former answer, is not taken.
//
// Keys have no port. In a run that follows its study, a server with another port is the
// one that moved, and the history says so. In another run it may be another model, so
// its answers are not taken.
//
// Nor are those of a TEST run whose results are not shown, but by TEST runs, which a ledger allowed:
// who sees results could stop it while they are good.
func (j *Journal) Take(ctx context.Context, c *eval.Call, other, shared bool) (bool, error) {
	if !other && !shared {
		return false, nil
	}
	if others, err := j.others(ctx); err != nil || !shared && !others {
		return false, err
	}
	type row struct {
		ID int64
		eval.Trial
		Question   int64
		Run, Parts string
		N          int64
	}
	text, args := candidates(j.run, c, other, shared)
	found, err := all[row](ctx, j.db, text, args...)
	if err != nil {
		return false, err
	}
	for _, f := range found {
		if f.Run != j.run.ID && endpoint(eval.DecodeParts(f.Parts)) != endpoint(c.Parts) {
			continue
		}
		if hidden, err := j.hidden(ctx, f.Run); err != nil {
			return false, err
		} else if hidden {
			continue
		}
		if !shared {
			if f.Arm != c.Trial.Arm && (j.asks(f.Arm, c.Trial, f.Question) || j.asks(f.Arm, f.Trial, f.Question)) {
				continue
			}
			mine, err := j.take(ctx, f.ID)
			if err != nil {
				return false, err
			}
			if !mine {
				continue
			}
		}
		for from, err := range j.db.calls(ctx, `calls c JOIN trials t ON t.id = c.trial WHERE c.id = ?`, f.ID) {
			c.Response, c.CostUSD, c.Prices, c.LatencyMS = from.Response, from.CostUSD, from.Prices, from.LatencyMS
			c.Source, c.SourceRun, c.SourceNumber = f.ID, f.Run, f.N
			return err == nil, err
		}
	}
	return false, nil
}

// hidden reports whether the run may not see answers of another one yet.
func (j *Journal) hidden(ctx context.Context, id string) (bool, error) {
	j.taken.mu.Lock()
	defer j.taken.mu.Unlock()
	test, known := j.taken.tests[id]
	if !known {
		r, err := j.db.Run(ctx, id)
		if err != nil {
			return false, err
		}
		if j.taken.tests == nil {
			j.taken.tests = map[string]bool{}
		}
		test = r.Split() == study.SplitTest
		j.taken.tests[id] = test
	}
	if !test || j.run.Split() == study.SplitTest {
		return false, nil
	}
	return one[bool](ctx, j.db, `SELECT NOT EXISTS (SELECT 1 FROM analyses WHERE run = (SELECT n FROM runs WHERE id = ?))`, id)
}

// candidates returns the query for calls whose answer a call may take, best first. The
// joins are CROSS JOINs because SQLite would read all trials of the run. Earlier versions
// had the item in every key.
func candidates(run *Run, c *eval.Call, other, shared bool) (text string, args []any) {
	text = `SELECT c.id, t.item, t.arm, t.replicate, t.question, r.id, c.parts, r.n FROM calls c CROSS JOIN trials t ON t.id = c.trial CROSS JOIN runs r ON r.n = t.run
		WHERE c.key IN (?, ?) AND c.stage = ? AND c.error_kind = '' AND c.source IS NULL AND t.question <> ? AND c.id > ? AND r.archive IS NULL`
	args = append([]any{c.Key, eval.FormerKey(c.Parts, c.Trial.Item)}, string(c.Stage), Distrusted, c.After)
	column, step := `c.step`, c.Step
	if c.Stage == eval.StageJudge {
		text += ` AND NOT EXISTS (SELECT 1 FROM calls a WHERE a.trial = c.trial AND a.stage = c.stage AND a.step = c.step || '` + eval.AskedAgain + `')`
		column, step = `replace(c.step, '`+eval.AskedAgain+`', '')`, strings.ReplaceAll(c.Step, eval.AskedAgain, "")
	}
	if !shared {
		text, args = text+` AND `+column+` = ? AND (t.place < 0 OR t.run <> ?)`, append(args, step, run.N)
	}
	if !other {
		text, args = text+` AND t.run = ? AND t.place >= 0`, append(args, run.N)
	}
	return text + ` ORDER BY t.arm <> ?, c.id`, append(args, c.Trial.Arm)
}

func endpoint(parts []eval.Part) string {
	for _, p := range parts {
		if p.Name == "endpoint" {
			return p.Value
		}
	}
	return ""
}

// others reports whether there are calls of other runs, or of trials that left the
// plan. Most runs have none.
func (j *Journal) others(ctx context.Context) (bool, error) {
	j.taken.mu.Lock()
	defer j.taken.mu.Unlock()
	if j.taken.others == nil {
		some, err := one[bool](ctx, j.db, `SELECT EXISTS (SELECT 1 FROM trials t JOIN calls c ON c.trial = t.id WHERE t.run <> ? OR t.place < 0)`, j.run.N)
		if err != nil {
			return false, err
		}
		j.taken.others = &some
	}
	return *j.taken.others, nil
}

// asks reports whether the plan has the trial with this arm, and asks it the question. That of
// trials of older formats is 0.
func (j *Journal) asks(arm string, t eval.Trial, question int64) bool {
	t.Arm = arm
	seq, ok := j.run.plan.Seq(t)
	return ok && (question == 0 || j.run.plan.Question(seq) == question)
}

// take reports whether the run had not taken the answer of a call.
func (j *Journal) take(ctx context.Context, id int64) (bool, error) {
	j.taken.mu.Lock()
	defer j.taken.mu.Unlock()
	if j.taken.known == nil {
		known, err := mapped[int64, bool](ctx, j.db, `SELECT c.source, TRUE FROM `+planned+`calls c ON c.trial = t.id WHERE `+inPlan+` AND c.source IS NOT NULL`, j.run.N)
		if err != nil {
			return false, err
		}
		j.taken.known = known
	}
	if j.taken.known[id] {
		return false, nil
	}
	j.taken.known[id] = true
	return true, nil
}

// Answered reports which trials of a plan have an outcome in a run, by sequence
// number: with the same question, whether or not they are in the run's own plan, and
// whatever the name of their item or arm was; moved has the items that were renamed. Trials
// of an older format have it if old says so. Of judged ones the verdicts are by what the plan
// judges with, or they failed, so that there is nothing to judge.
func (db *DB) Answered(ctx context.Context, run *Run, p Plan, arms []string, moved Moved, old func(eval.Trial) bool) (done, judged []bool, err error) {
	type row struct {
		eval.Trial
		Question int64
		Judged   bool
		Basis    int64
	}
	done, judged = make([]bool, p.Len()), make([]bool, p.Len())
	has := func(seq int, r row) {
		_, judge := p.Basis(seq)
		done[seq], judged[seq] = true, judged[seq] || r.Judged && (r.Basis == 0 || r.Basis == judge)
	}
	return done, judged, visit(ctx, db, `SELECT t.item, t.arm, t.replicate, t.question, j.trial IS NOT NULL OR o.kind = 'failed', CASE WHEN o.kind = 'failed' THEN 0 ELSE coalesce(j.basis, 0) END
		FROM trials t JOIN outcomes o ON o.trial = t.id LEFT JOIN judged j ON j.trial = t.id WHERE t.run = ?`, []any{run}, func(r row) {
		t := r.Trial
		if now, ok := moved.Items[t.Item]; ok && !slices.Contains(moved.Except, t.Arm) {
			t.Item = now
		}
		if seq, ok := p.Seq(t); ok {
			if p.Question(seq) == r.Question || r.Question == 0 && old(t) {
				has(seq, r)
			}
			return
		}
		for _, t.Arm = range arms {
			if seq, ok := p.Seq(t); ok && p.Question(seq) == r.Question {
				has(seq, r)
				return
			}
		}
	})
}

// Reused counts the answers that the trials of a run's plan took, by run.
func (db *DB) Reused(ctx context.Context, run *Run) ([]eval.Reuse, error) {
	return all[eval.Reuse](ctx, db, `SELECT r.id, count(*), total(c.cost_usd), count(*) - count(c.cost_usd), count(*) FILTER (WHERE c.provider IN ('run', 'run`+eval.OfOutputs+`')) FROM `+planned+`calls c ON c.trial = t.id
		JOIN runs r ON r.n = c.source_run WHERE `+inPlan+inForce+` AND c.stage <> 'embed' GROUP BY r.n ORDER BY r.n`, run)
}
