package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"

	"github.com/scruple-eval/scruple/internal/eval"
)

// ReplaceScores writes the scores of a run anew, in one transaction: readers
// see the old ones until it ends, and an error leaves those in place.
func (db *DB) ReplaceScores(ctx context.Context, run *Run, scores iter.Seq2[eval.Scored, error]) error {
	tx, err := db.sql.BeginTx(ctx, nil)
	if err != nil {
		return explain(db.path, err)
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, `DELETE FROM scores WHERE trial >= ? AND trial < ?`, run.first, run.first+int64(run.Trials)); err != nil {
		return explain(db.path, err)
	}
	rows := newBulk(tx, `INSERT INTO scores (trial, data) VALUES `, 2)
	for s, err := range scores {
		if err != nil {
			return err
		}
		if s.Outcome.Kind == eval.Failed {
			continue
		}
		id, err := run.id(s.Trial)
		if err != nil {
			return err
		}
		if err := rows.add(ctx, id, string(appendScores(make([]byte, 0, 32*len(s.Scores)), s.Scores))); err != nil {
			return explain(db.path, err)
		}
	}
	if err := rows.flush(ctx); err != nil {
		return explain(db.path, err)
	}
	return explain(db.path, tx.Commit())
}

// appendScores writes scores in the form the scores table describes.
func appendScores(b []byte, scores []eval.Score) []byte {
	b = append(b, '[')
	for i, s := range scores {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '[')
		b = appendString(b, s.Unit)
		b = append(b, ',')
		b = appendString(b, s.Metric)
		if s.Unscored != "" {
			b = append(b, ",null,null,"...)
			b = appendString(b, s.Unscored)
		} else {
			b = append(b, ',')
			b = strconv.AppendFloat(b, s.Num, 'g', -1, 64)
			b = append(b, ',')
			b = strconv.AppendFloat(b, s.Den, 'g', -1, 64)
		}
		b = append(b, ']')
	}
	return append(b, ']')
}

// appendString writes a JSON string; names that need no escapes, which are
// nearly all, are copied.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= 0x7f || c == '"' || c == '\\' {
			q, _ := json.Marshal(s)
			return append(b, q...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

func decodeScores(data string) ([]eval.Score, error) {
	var rows [][]any
	if err := json.Unmarshal([]byte(data), &rows); err != nil {
		return nil, fmt.Errorf("reading stored scores: %w", err)
	}
	scores := make([]eval.Score, 0, len(rows))
	for _, r := range rows {
		if len(r) < 4 {
			return nil, fmt.Errorf("reading stored scores: an entry of %d values", len(r))
		}
		var s eval.Score
		s.Unit, _ = r[0].(string)
		s.Metric, _ = r[1].(string)
		s.Num, _ = r[2].(float64)
		s.Den, _ = r[3].(float64)
		if len(r) > 4 {
			s.Unscored, _ = r[4].(string)
		}
		scores = append(scores, s)
	}
	return scores, nil
}

// Scores gives the scores of every scored trial of a run, in plan order. The
// outcomes are left out.
func (db *DB) Scores(ctx context.Context, run *Run) iter.Seq2[eval.Scored, error] {
	return query(ctx, db, `SELECT t.item, t.arm, t.replicate, s.data FROM scores s JOIN trials t ON t.id = s.trial
		WHERE s.trial >= ? AND s.trial < ? ORDER BY s.trial`, []any{run.first, run.first + int64(run.Trials)},
		func(rows *sql.Rows) (s eval.Scored, err error) {
			var data string
			if err := rows.Scan(&s.Trial.Item, &s.Trial.Arm, &s.Trial.Replicate, &data); err != nil {
				return s, err
			}
			s.Scores, err = decodeScores(data)
			return s, err
		})
}

// ArmCalls sums the calls of one arm in one stage.
type ArmCalls struct {
	Arm       string
	Stage     eval.Stage
	Calls     int
	Requests  int // attempts, retries included
	Input     int
	Output    int
	Cached    int
	Reasoning int
	CostUSD   float64
	Unpriced  int // answered calls whose cost is not known
}

// ArmCalls sums calls by arm and stage, ordered by both.
func (db *DB) ArmCalls(ctx context.Context, run *Run) iter.Seq2[ArmCalls, error] {
	return query(ctx, db, `SELECT t.arm, c.stage, count(*), sum(c.attempts), sum(c.input_tokens), sum(c.output_tokens),
		sum(c.cached_tokens), sum(c.reasoning_tokens), coalesce(sum(c.cost_usd), 0), sum(c.cost_usd IS NULL AND c.error_kind = '')
		FROM calls c JOIN trials t ON t.id = c.trial WHERE c.trial >= ? AND c.trial < ? GROUP BY 1, 2 ORDER BY 1, 2`,
		[]any{run.first, run.first + int64(run.Trials)}, func(rows *sql.Rows) (a ArmCalls, err error) {
			var stage string
			err = rows.Scan(&a.Arm, &stage, &a.Calls, &a.Requests, &a.Input, &a.Output, &a.Cached, &a.Reasoning, &a.CostUSD, &a.Unpriced)
			a.Stage = eval.Stage(stage)
			return a, err
		})
}

// SaveAnalysis keeps the analysis of a run and the verdict on it, as JSON.
func (db *DB) SaveAnalysis(ctx context.Context, run *Run, analysis, verdict []byte) error {
	var v any
	if verdict != nil {
		v = string(verdict)
	}
	_, err := db.sql.ExecContext(ctx, `INSERT INTO analyses (run, analysis, verdict) VALUES (?,?,?)
		ON CONFLICT (run) DO UPDATE SET (analysis, verdict) = (excluded.analysis, excluded.verdict)`, run.N, string(analysis), v)
	return explain(db.path, err)
}

// Analysis reads back what SaveAnalysis kept; verdict is nil without rules.
func (db *DB) Analysis(ctx context.Context, run *Run) (analysis, verdict []byte, err error) {
	var a string
	var v sql.NullString
	err = db.sql.QueryRowContext(ctx, `SELECT analysis, verdict FROM analyses WHERE run = ?`, run.N).Scan(&a, &v)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil, fmt.Errorf("an analysis of run %s: %w: finish it with `scruple run`, or `scruple score` it", run.ID, ErrNotFound)
	}
	if err != nil {
		return nil, nil, explain(db.path, err)
	}
	if v.Valid {
		verdict = []byte(v.String)
	}
	return []byte(a), verdict, nil
}

// Versions counts the calls of each arm by the version of the model that
// answered, ordered by arm and version.
func (db *DB) Versions(ctx context.Context, run *Run) iter.Seq2[Version, error] {
	return query(ctx, db, `SELECT t.arm, c.model_version, count(*) FROM calls c JOIN trials t ON t.id = c.trial
		WHERE c.trial >= ? AND c.trial < ? AND c.stage = 'run' AND c.error_kind = '' GROUP BY 1, 2 ORDER BY 1, 2`,
		[]any{run.first, run.first + int64(run.Trials)}, func(rows *sql.Rows) (v Version, err error) {
			return v, rows.Scan(&v.Arm, &v.Model, &v.Calls)
		})
}

// A Version is a model version that answered an arm's calls.
type Version struct {
	Arm   string
	Model string
	Calls int
}
