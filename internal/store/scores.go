package store

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/scruple-eval/scruple/internal/eval"
)

// A scoreRow is a row of the scores of a trial, or of those of a whole case.
type scoreRow struct {
	trial  int64
	ofCase bool
	data   string
}

func (r scoreRow) table() string {
	if r.ofCase {
		return "case_scores"
	}
	return "scores"
}

// scoreRows yields scores as they are stored.
func scoreRows(run *Run, scores iter.Seq2[eval.Scored, error]) iter.Seq2[scoreRow, error] {
	return func(yield func(scoreRow, error) bool) {
		var data []byte
		row := func(t eval.Trial, ofCase bool, scores []eval.Score) bool {
			id, err := run.id(t)
			data = appendScores(data[:0], scores)
			return yield(scoreRow{id, ofCase, string(data)}, err)
		}
		for s, err := range scores {
			if err != nil {
				yield(scoreRow{}, err)
				return
			}
			rest := s.Scores
			for t := range s.Answered() {
				n := 0
				for n < len(rest) && rest[n].Replicate == t.Trial.Replicate {
					n++
				}
				if !row(t.Trial, false, rest[:n]) {
					return
				}
				rest = rest[n:]
			}
			for _, x := range rest {
				if x.Replicate != 0 {
					yield(scoreRow{}, fmt.Errorf("store: the score of replicate %d of %s × %s is out of order", x.Replicate, s.Item, s.Arm))
					return
				}
			}
			if len(rest) > 0 && !row(s.Trials[0].Trial, true, rest) {
				return
			}
		}
	}
}

// ReplaceScores replaces the scores of a run in one transaction: readers see the
// old scores until it commits, and an error keeps them.
func (db *DB) ReplaceScores(ctx context.Context, run *Run, scores iter.Seq2[eval.Scored, error]) error {
	if run.Archive != nil {
		return db.rescore(ctx, run, scores)
	}
	var ofScores error // an error in the scores, not in the store
	err := db.rewrite(ctx, run, func(x *steps) {
		defer db.engine.awake(x)()
		into := map[string]*bulk{}
		for _, table := range []string{"scores", "case_scores"} {
			x.exec(`DELETE FROM `+table+` WHERE trial IN (SELECT id FROM trials WHERE run = ?)`, run.N)
			into[table] = x.bulk(insert(table, "trial, data"))
		}
		for r, err := range scoreRows(run, scores) {
			ofScores = err
			if x.fail(err); x.err != nil {
				return
			}
			into[r.table()].add(r.trial, modelText(r.data))
		}
		into["scores"].flush()
		into["case_scores"].flush()
	})
	return cmp.Or(ofScores, err)
}

// OtherScores names the trials of a run whose stored scores are not these, but for what processors
// differ in.
func (db *DB) OtherScores(ctx context.Context, run *Run, scores iter.Seq2[eval.Scored, error]) (other []string, err error) {
	type key struct {
		trial  int64
		ofCase bool
	}
	type stored struct {
		Trial int64
		Data  string
	}
	left := map[key]eval.Hash{}
	for _, ofCase := range []bool{false, true} {
		r := scoreRow{ofCase: ofCase}
		if err := visit(ctx, db, `SELECT s.trial, s.data FROM `+r.table()+` s JOIN trials t ON t.id = s.trial WHERE t.run = ?`, []any{run},
			func(s stored) { left[key{s.Trial, ofCase}] = eval.HashOf([]byte(s.Data)) }); err != nil {
			return nil, err
		}
	}
	for r, err := range scoreRows(run, scores) {
		if err != nil {
			return nil, err
		}
		k := key{r.trial, r.ofCase}
		was, ok := left[k]
		same := ok && was == eval.HashOf([]byte(r.data))
		if ok && !same {
			data, err := one[string](ctx, db, `SELECT s.data FROM `+r.table()+` s JOIN trials t ON t.id = s.trial WHERE `+oneTrial, run, r.trial)
			if err != nil {
				return nil, err
			}
			same = sameScores(data, r.data)
		}
		if same {
			delete(left, k)
		} else if !ok {
			left[k] = 0
		}
	}
	for k := range left {
		t, err := one[eval.Trial](ctx, db, `SELECT item, arm, replicate FROM trials t WHERE `+oneTrial, run, k.trial)
		if err != nil {
			return nil, err
		}
		other = append(other, t.String())
	}
	slices.Sort(other)
	return slices.Compact(other), nil
}

// sameScores compares what appendScores wrote.
func sameScores(a, b string) bool {
	var lists [2][]eval.Score
	for i, data := range []string{a, b} {
		if err := ReadScores(data, func(s eval.Score) { lists[i] = append(lists[i], s) }); err != nil {
			return false
		}
	}
	same := func(a, b float64) bool { // also of costs far below a cent
		return eval.Same(a, b) && !(math.Abs(a-b) > 1e-15+1e-6*math.Abs(a))
	}
	return slices.EqualFunc(lists[0], lists[1], func(x, y eval.Score) bool {
		return x.Unit == y.Unit && x.Metric == y.Metric && x.Unscored == y.Unscored && same(x.Num, y.Num) && same(x.Den, y.Den) &&
			(x.Row == nil) == (y.Row == nil) && slices.EqualFunc(x.Row, y.Row, same)
	})
}

// appendScores writes scores in the format documented at the scores table. Scores
// of one unit must be adjacent.
func appendScores(b []byte, scores []eval.Score) []byte {
	b = append(b, '{')
	for i, s := range scores {
		if i == 0 || scores[i-1].Unit != s.Unit {
			if i > 0 {
				b = append(b, '}', ',')
			}
			b = append(appendString(b, s.Unit), ':', '{')
		} else {
			b = append(b, ',')
		}
		b = append(appendString(b, s.Metric), ':')
		switch {
		case s.Unscored != "":
			b = appendString(b, s.Unscored)
		case s.Row != nil:
			b = appendRow(b, s.Row)
		case s.Den == 1:
			b = appendNumber(b, s.Num)
		default:
			b = appendNumber(append(b, '['), s.Num)
			b = append(appendNumber(append(b, ','), s.Den), ']')
		}
	}
	if len(scores) > 0 {
		b = append(b, '}')
	}
	return append(b, '}')
}

// appendRow writes a row as a nested list, with null for NaN.
func appendRow(b []byte, row eval.Row) []byte {
	b = append(b, '[', '[')
	for i, x := range row {
		if i > 0 {
			b = append(b, ',')
		}
		if math.IsNaN(x) {
			b = append(b, "null"...)
		} else {
			b = appendNumber(b, x)
		}
	}
	return append(b, ']', ']')
}

func appendNumber(b []byte, f float64) []byte { return strconv.AppendFloat(b, f, 'g', -1, 64) }

func appendString(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s) // replaces invalid UTF-8
	return b
}

// ReadScores reads what appendScores wrote, in the same order, and calls f for each score.
// Rows of viewers, of which there may be a million, and single trials are read alike.
func ReadScores(data string, f func(eval.Score)) error {
	d := jsontext.NewDecoder(bytes.NewBufferString(data), jsontext.AllowDuplicateNames(true))
	err := eachKey(d, func(unit string) error {
		return eachKey(d, func(metric string) error {
			s, err := readScore(d)
			if s.Unit, s.Metric = unit, metric; err != nil {
				return fmt.Errorf("%s of %q: %w", metric, unit, err)
			}
			f(s)
			return nil
		})
	})
	if err == nil {
		if _, end := d.ReadToken(); end != io.EOF {
			err = errors.Join(end, errors.New("text after the object"))
		}
	}
	if err != nil {
		return fmt.Errorf("reading stored scores: %w", err)
	}
	return nil
}

// readScore reads a number, the reason why there is none, a fraction or a row.
func readScore(d *jsontext.Decoder) (s eval.Score, err error) {
	v, err := d.ReadValue()
	switch {
	case err != nil:
	case v.Kind() == '0':
		s.Den = 1
		s.Num, err = strconv.ParseFloat(string(v), 64)
	case v.Kind() == '"':
		err = json.Unmarshal(v, &s.Unscored)
	case bytes.HasPrefix(v, []byte("[[")):
		var rows [1][]*float64 // nil for NaN
		err = json.Unmarshal(v, &rows)
		s.Row = eval.Row{}
		for _, x := range rows[0] {
			if x == nil {
				x = new(math.NaN())
			}
			s.Row = append(s.Row, *x)
		}
	default:
		var fraction *[2]float64
		if err = json.Unmarshal(v, &fraction); err == nil && fraction == nil {
			err = errors.New("want a score, got null")
		}
		if err == nil {
			s.Num, s.Den = fraction[0], fraction[1]
		}
	}
	return s, err
}

// eachKey reads an object and calls f at the value of each key, in order.
func eachKey(d *jsontext.Decoder, f func(key string) error) error {
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return errors.Join(err, fmt.Errorf("want an object, got %v", t))
	}
	for {
		t, err := d.ReadToken()
		if err != nil || t.Kind() == '}' {
			return err
		}
		if err := f(t.String()); err != nil {
			return err
		}
	}
}

// TrialScores are the scores of a trial, or of a whole case if the replicate is
// 0.
type TrialScores struct {
	Trial  eval.Trial
	Kind   eval.OutcomeKind // of the outcome, by ScoresByItem
	Scores []eval.Score
}

// Scores yields the scores of every scored trial of a run in plan order. Scores of
// a whole case come with its first trial.
func (db *DB) Scores(ctx context.Context, run *Run) iter.Seq2[TrialScores, error] {
	return db.scores(ctx, run, `'' FROM `+planned+`scores s ON s.trial = t.id`, "1, 4")
}

// ScoresByItem yields all trials with an outcome, and the scores of Scores, by item, arm and replicate.
func (db *DB) ScoresByItem(ctx context.Context, run *Run) iter.Seq2[TrialScores, error] {
	return db.scores(ctx, run, `o.kind FROM `+planned+`outcomes o ON o.trial = t.id LEFT JOIN scores s ON s.trial = t.id`, "2, 3, 4")
}

func (db *DB) scores(ctx context.Context, run *Run, from, order string) iter.Seq2[TrialScores, error] {
	return query(ctx, db, `SELECT t.place, t.item, t.arm, t.replicate, coalesce(s.data, ''), `+from+` WHERE `+inPlan+`
		UNION ALL SELECT t.place, t.item, t.arm, 0, s.data, '' FROM `+planned+`case_scores s ON s.trial = t.id WHERE `+inPlan+`
		ORDER BY `+order, []any{run, run},
		func(rows *sql.Rows) (s TrialScores, err error) {
			var place int64
			var data string
			if err := rows.Scan(&place, &s.Trial.Item, &s.Trial.Arm, &s.Trial.Replicate, &data, &s.Kind); err != nil || data == "" {
				return s, err
			}
			err = ReadScores(data, func(x eval.Score) {
				x.Replicate = s.Trial.Replicate
				s.Scores = append(s.Scores, x)
			})
			return s, err
		})
}

// ScoredArms lists the arms with scores.
func (db *DB) ScoredArms(ctx context.Context, run *Run) ([]string, error) {
	return all[string](ctx, db, `SELECT DISTINCT t.arm FROM `+planned+`scores s ON s.trial = t.id WHERE `+inPlan+` ORDER BY 1`, run)
}

// ToScore counts the answers of a run that have no scores, as it got them since it was scored.
func (db *DB) ToScore(ctx context.Context, run *Run) (int, error) {
	return one[int](ctx, db, `SELECT count(*) FROM `+planned+`outcomes o ON o.trial = t.id LEFT JOIN scores s ON s.trial = t.id
		WHERE `+inPlan+` AND o.kind <> 'failed' AND s.trial IS NULL`, run)
}

// Cuts counts the prompts that a server cut, by arm and stage in order.
func (db *DB) Cuts(ctx context.Context, run *Run) (list []eval.ArmCuts, err error) {
	type row struct {
		Arm     string
		Stage   eval.Stage
		Adapted []string
	}
	err = visit(ctx, db, `SELECT t.arm, c.stage, c.adapted FROM `+planned+`calls c ON c.trial = t.id
		WHERE `+inPlan+` AND c.adapted LIKE ? ORDER BY 1, 2`, []any{run, modelText("%" + eval.CutNote + "%")}, func(r row) {
		if n := len(list); n == 0 || list[n-1].Arm != r.Arm || list[n-1].Stage != r.Stage {
			list = append(list, eval.ArmCuts{Arm: r.Arm, Stage: r.Stage})
		}
		sum := &list[len(list)-1]
		cut, ok := eval.CutIn(r.Adapted)
		if ok {
			sum.Cuts++
		}
		if cut.Words > sum.Words || cut.Words == sum.Words && cut.Tokens < sum.Tokens {
			sum.Cut = cut
		}
	})
	return list, err
}

// Mixed counts the answers of arms to adapted requests, where those of the same step were adapted in
// different ways; replicates after the first may have a setting more.
func (db *DB) Mixed(ctx context.Context, run *Run) ([]eval.ArmSettings, error) {
	type kind struct {
		Arm         string
		Stage       eval.Stage
		Model, Step string
		Later       bool
	}
	type row struct {
		kind
		Adapted []string
		Answers int
	}
	answers := map[kind]map[string]int{} // by what their requests left out
	for r, err := range rows[row](ctx, db, `SELECT t.arm, c.stage, c.model, c.step, t.replicate > 1, c.adapted, count(*) FROM `+planned+`calls c ON c.trial = t.id
		WHERE `+inPlan+inForce+` AND c.stage <> 'embed' AND c.error_kind = '' GROUP BY 1, 2, 3, 4, 5, 6`, run) {
		if err != nil {
			return nil, err
		}
		if answers[r.kind] == nil {
			answers[r.kind] = map[string]int{}
		}
		answers[r.kind][strings.Join(eval.LeftOut(r.Adapted), ", ")] += r.Answers
	}
	mixed := map[eval.ArmSettings]eval.ArmSettings{} // by arm and stage
	for of, by := range answers {
		if len(by) == 1 {
			continue
		}
		key := eval.ArmSettings{Arm: of.Arm, Stage: of.Stage}
		sum := cmp.Or(mixed[key], key)
		for leftOut, n := range by {
			if sum.Answers += n; leftOut != "" {
				sum.Adapted += n
			}
		}
		mixed[key] = sum
	}
	return slices.SortedFunc(maps.Values(mixed), func(a, b eval.ArmSettings) int {
		return cmp.Or(cmp.Compare(a.Arm, b.Arm), cmp.Compare(a.Stage, b.Stage))
	}), nil
}

// Latencies returns the latencies of every arm with calls, ordered by arm.
func (db *DB) Latencies(ctx context.Context, run *Run) ([]eval.ArmLatency, error) {
	return all[eval.ArmLatency](ctx, db, `SELECT arm, max(CASE WHEN place = (n + 1) / 2 THEN latency_ms END), max(CASE WHEN place = (95 * n + 99) / 100 THEN latency_ms END)
		FROM (SELECT t.arm, c.latency_ms, row_number() OVER (PARTITION BY t.arm ORDER BY c.latency_ms) AS place, count(*) OVER (PARTITION BY t.arm) AS n
			FROM `+planned+`calls c ON c.trial = t.id WHERE `+inPlan+inForce+` AND c.stage = ? AND c.error_kind = '') AS c
		GROUP BY arm ORDER BY arm`, run, string(eval.StageRun))
}

// SaveAnalysis stores the analysis of a run and the verdict on it as JSON. basis
// identifies the study's settings for scoring and analysis.
func (db *DB) SaveAnalysis(ctx context.Context, run *Run, analysis, verdict []byte, basis string) error {
	var v any
	if verdict != nil {
		v = modelText(verdict)
	}
	return db.keep(ctx, run, func(x *steps) {
		x.exec(`INSERT INTO analyses (run, analysis, verdict, basis) VALUES (?,?,?,?)
			ON CONFLICT (run) DO UPDATE SET (analysis, verdict, basis) = (excluded.analysis, excluded.verdict, excluded.basis)`, run.N, modelText(analysis), v, basis)
		x.exec(`UPDATE runs SET analysed = TRUE WHERE n = ? AND NOT analysed`, run.N)
	})
}

// DropAnalysis deletes the analysis of a run that is about to get more answers.
func (db *DB) DropAnalysis(ctx context.Context, run *Run) error {
	return db.rewrite(ctx, run, func(x *steps) { x.exec(`DELETE FROM analyses WHERE run = ?`, run.N) })
}

// Analysis reads what SaveAnalysis stored; verdict is nil without rules.
func (db *DB) Analysis(ctx context.Context, run *Run) (analysis, verdict []byte, basis string, err error) {
	type row struct {
		Analysis, Verdict []byte
		Basis             string
	}
	r, err := one[row](ctx, db, `SELECT analysis, verdict, basis FROM analyses WHERE run = ?`, run.N)
	if errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("an analysis of run %s: %w: finish the run with `scruple run`, or score it with `scruple score`", run.ID, ErrNotFound)
	}
	return r.Analysis, r.Verdict, r.Basis, err
}
