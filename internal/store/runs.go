package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/ledger"
	"github.com/scruple-eval/scruple/internal/study"
)

// A Run is one execution of a study.
type Run struct {
	N          int64
	ID         string // such as "contracts-1"
	Study      string
	Suite      string
	StudyPath  string // where the study is now, as far as the store can tell
	StudyJSON  []byte
	Overrides  []string    // of the study file, from the command line
	Treatment  []eval.Part // everything that determines the requests
	Replicates int
	Trials     int
	CreatedAt  time.Time
	Version    string

	Analysed bool     // its results have been shown
	Archive  *Archive // where its rows are; nil if they are in the store

	// Reread is whether the run differs from its plan only in the version of the rules that read
	// answers. [DB.SetPlan] says so.
	Reread bool

	first int64   // id of its first trial, once it has its plan
	ids   []int64 // of its trials by place; nil if they are consecutive
	plan  Plan    // nil if read from the store
}

// Split is the split of the study, which does not change; "" of a study without splits.
func (r *Run) Split() string {
	var keys struct{ Split string }
	_ = json.Unmarshal(r.StudyJSON, &keys) // the store has what package study wrote
	return keys.Split
}

// A Plan numbers the trials of a run from 0 in the order of execution. Trial and
// Seq are inverses of each other. Question is a hash of everything that determines
// the requests of a trial, never 0. Basis has hashes of what else determines its outcome
// and its verdicts, never 0. ReadEarlier reports whether an outcome has the hash read that
// another version of the rules gave it.
type Plan interface {
	Len() int
	Trial(seq int) eval.Trial
	Seq(eval.Trial) (int, bool)
	Question(seq int) int64
	Basis(seq int) (read, judged int64)
	ReadEarlier(seq int, read int64) bool
}

func (r *Run) id(t eval.Trial) (int64, error) {
	id, _, err := r.place(t)
	return id, err
}

// place returns the id of a trial and its place in the plan.
func (r *Run) place(t eval.Trial) (id int64, seq int, err error) {
	if r.plan != nil {
		if seq, ok := r.plan.Seq(t); ok {
			if r.ids != nil {
				return r.ids[seq], seq, nil
			}
			return r.first + int64(seq), seq, nil
		}
	}
	return 0, 0, fmt.Errorf("store: trial %v is not in the plan of run %s", t, r.ID)
}

// CreateRun records a run, its whole plan and events before the first call. It sets the
// run's number, id and trials.
func (db *DB) CreateRun(ctx context.Context, run Run, items []eval.Item, p Plan, events ...Event) (*Run, error) {
	run.Trials, run.CreatedAt, run.plan = p.Len(), run.CreatedAt.UTC(), p
	first, err := db.engine.room(ctx, db, run.Trials)
	if err != nil {
		return nil, err
	}
	return &run, db.change(ctx, func(x *steps) {
		db.engine.alone(x)
		x.insertRun(&run)
		if first > 0 {
			run.first = first
		}
		x.insertPlan(&run, items)
		x.addEvents(&run, events)
	})
}

// insertRun writes the run without its plan and sets its number and id.
func (x *steps) insertRun(run *Run) {
	ordinal := x.count(`SELECT count(*) FROM runs WHERE study = ?`, run.Study)
	for taken := true; taken; { // another study's name may end in a number
		ordinal++
		run.ID = fmt.Sprintf("%s-%d", strings.ReplaceAll(run.Study, " ", "-"), ordinal)
		taken = x.count(`SELECT count(*) FROM runs WHERE id = ?`, run.ID) > 0
	}
	x.get(`INSERT INTO runs (id, study, suite, study_path, study_json, overrides, treatment, replicates, trials, created_at, version)
		VALUES (?,?,?,?,?,?,?,?,?,?,?) RETURNING n, (SELECT coalesce(max(id), 0) + 1 FROM trials WHERE id < `+firstBlock+`)`,
		[]any{run.ID, run.Study, run.Suite, run.StudyPath, string(run.StudyJSON), x.list(run.Overrides), eval.EncodeParts(run.Treatment),
			run.Replicates, run.Trials, run.CreatedAt.Format(time.RFC3339), run.Version}, &run.N, &run.first)
}

// insertPlan writes items and trials with many rows per statement: writing 50,000
// trials takes a fraction of a second.
func (x *steps) insertPlan(run *Run, items []eval.Item) {
	x.putItems(run, items)
	trials := x.bulk(insert("trials", "id, run, item, arm, replicate, place, question"))
	for seq := range run.Trials {
		t := run.plan.Trial(seq)
		trials.add(run.first+int64(seq), run.N, t.Item, t.Arm, t.Replicate, seq, run.plan.Question(seq))
	}
	trials.flush()
	x.sumPlan(run.N)
}

// putItems writes the hashes and groups of items, and replaces those that are there.
func (x *steps) putItems(run *Run, items []eval.Item) {
	rows := x.bulk(upsert("items", "run, item, input, gold, grouped", 2))
	for _, it := range items {
		in, err := json.Marshal(grouped{it.Split, it.Cluster, it.Strata})
		x.fail(err)
		rows.add(run.N, it.ID, it.Input.String(), it.Gold.String(), string(in))
	}
	rows.flush()
}

// grouped is what an analysis groups an item by, as it is stored.
type grouped struct {
	Split   string       `json:"split,omitempty"`
	Cluster string       `json:"cluster,omitempty"`
	Strata  []eval.Level `json:"strata,omitempty"`
}

// SetItems replaces the hashes and groups of items, and records events with them.
func (db *DB) SetItems(ctx context.Context, run *Run, items []eval.Item, events []Event) error {
	return db.rewrite(ctx, run, func(x *steps) {
		x.addEvents(run, events)
		x.putItems(run, items)
		x.sumPlan(run.N)
	})
}

const runColumns = `SELECT n, id, study, suite, study_path, study_json, overrides, treatment, replicates, trials, created_at, version, analysed, archive FROM runs `

// scanRun reads a run. Folders are moved and copied, so a study of the run's name beside the
// folder of the store comes before the path that the run recorded. That of a run in a bundle is
// relative to the folder that has the folder of the store.
func (db *DB) scanRun(row *sql.Rows) (*Run, error) {
	r, err := scanRun(row)
	if err != nil || r.StudyPath == "" || IsAddress(db.path) {
		return r, err
	}
	in := filepath.Dir(db.path)
	dir, err := filepath.Abs(filepath.Dir(in))
	if !filepath.IsAbs(r.StudyPath) {
		r.StudyPath = filepath.Join(dir, r.StudyPath)
	} else if beside := filepath.Join(dir, filepath.Base(r.StudyPath)); filepath.Base(in) == ledger.Folder && beside != r.StudyPath {
		names := r.Overrides
		if _, err := os.Stat(r.StudyPath); err == nil {
			names = nil // an override of the name would fit any study, and this run has one
		}
		if name, _, err := study.Name(beside, names); err == nil && name == r.Study {
			r.StudyPath = beside
		}
	}
	return r, err
}

func scanRun(row *sql.Rows) (*Run, error) {
	var r Run
	var treatment string
	err := row.Scan(&r.N, &r.ID, &r.Study, &r.Suite, &r.StudyPath, &r.StudyJSON, column(&r.Overrides), &treatment, &r.Replicates, &r.Trials,
		column(&r.CreatedAt), &r.Version, &r.Analysed, column(&r.Archive))
	if err != nil {
		return nil, fmt.Errorf("reading run %s: %w", r.ID, err)
	}
	r.Treatment = eval.DecodeParts(treatment)
	return &r, nil
}

// Run finds a run by its id.
func (db *DB) Run(ctx context.Context, id string) (*Run, error) {
	return first(db.runs(ctx, `WHERE id = ?`, id), "run %s in store %s", id, db.path)
}

// LastRun finds the newest run of a split of a study; the split of a study without
// splits is "".
func (db *DB) LastRun(ctx context.Context, study, split string) (*Run, error) {
	what := "a run of study " + study
	if split != "" {
		what = "a " + split + " run of study " + study
	}
	for r, err := range db.runs(ctx, `WHERE study = ? ORDER BY n DESC`, study) {
		if err != nil || r.Split() == split {
			return r, err
		}
	}
	return nil, fmt.Errorf("%s in store %s: %w", what, db.path, ErrNotFound)
}

// Runs lists all runs, oldest first.
func (db *DB) Runs(ctx context.Context) ([]*Run, error) { return Collect(db.runs(ctx, `ORDER BY n`)) }

func (db *DB) runs(ctx context.Context, where string, args ...any) iter.Seq2[*Run, error] {
	return query(ctx, db, runColumns+where, args, db.scanRun)
}

// SetPlan sets the plan of a run read from the store. The trials of the plan must
// be those of the run in the same order, else the error wraps [ErrOtherPlan]. It
// reports whether each trial has the question of the plan, and each outcome and judgement
// the basis.
func (db *DB) SetPlan(ctx context.Context, r *Run, p Plan) (same bool, err error) {
	if p.Len() != r.Trials {
		return false, fmt.Errorf("%w: run %s has %d trials, but the plan has %d", ErrOtherPlan, r.ID, r.Trials, p.Len())
	}
	type row struct {
		ID, Question, Read, Judged int64
		eval.Trial
	}
	same = true
	seq, ids, reread := 0, []int64(nil), false
	for t, err := range rows[row](ctx, db, `SELECT t.id, t.question,
			coalesce(o.basis, 0), CASE WHEN o.kind = 'failed' THEN 0 ELSE coalesce(j.basis, 0) END, t.item, t.arm, t.replicate
		FROM trials t LEFT JOIN outcomes o ON o.trial = t.id LEFT JOIN judged j ON j.trial = t.id WHERE `+inPlan+` ORDER BY t.place`, r) {
		if err != nil {
			return false, err
		}
		if seq >= p.Len() || p.Trial(seq) != t.Trial {
			return false, fmt.Errorf("%w: trial %d of run %s is %v, but the plan has another trial there", ErrOtherPlan, seq+1, r.ID, t.Trial)
		}
		if seq == 0 {
			r.first = t.ID
		}
		if same = same && p.Question(seq) == t.Question; same && (t.Read != 0 || t.Judged != 0) {
			read, judged := p.Basis(seq)
			earlier := t.Read != 0 && t.Read != read && p.ReadEarlier(seq, t.Read)
			reread = reread || earlier
			same = (t.Read == 0 || t.Read == read || earlier) && (t.Judged == 0 || t.Judged == judged)
		}
		if ids == nil && t.ID != r.first+int64(seq) {
			ids = make([]int64, seq, p.Len())
			for i := range ids {
				ids[i] = r.first + int64(i)
			}
		}
		if ids != nil {
			ids = append(ids, t.ID)
		}
		seq++
	}
	if seq != p.Len() {
		return false, fmt.Errorf("%w: run %s has %d trials, but the plan has %d", ErrOtherPlan, r.ID, seq, p.Len())
	}
	r.plan, r.ids, r.Reread = p, ids, same && reread
	return same && !reread, nil
}

// Items returns the hashes of all items that the run has or had.
func (db *DB) Items(ctx context.Context, run *Run) (map[string]eval.Item, error) {
	return db.items(ctx, `run = ?`, run)
}

// PlannedItems returns the hashes of the items in the plan of a run.
func (db *DB) PlannedItems(ctx context.Context, run *Run) (map[string]eval.Item, error) {
	return db.items(ctx, `run = ? AND item IN (SELECT item FROM trials WHERE run = ? AND place >= 0)`, run, run)
}

// Sharing returns those of other runs, by number, that have or had an item with an input of the
// run, and those whose rows are in an archive.
func (db *DB) Sharing(ctx context.Context, run *Run, others []*Run) (map[int64]bool, error) {
	sharing, args := map[int64]bool{}, []any{run}
	for _, o := range others {
		args = append(args, o)
	}
	if len(others) == 0 {
		return sharing, nil
	}
	return sharing, visit(ctx, db, `WITH own AS (SELECT input FROM items WHERE run = ?)
		SELECT n FROM runs WHERE n IN (`+among(len(others))+`) AND (archive IS NOT NULL OR
			EXISTS (SELECT 1 FROM items WHERE run = n AND input IN (SELECT input FROM own)))`, args, func(r struct{ N int64 }) { sharing[r.N] = true })
}

func (db *DB) items(ctx context.Context, where string, args ...any) (map[string]eval.Item, error) {
	type row struct{ ID, Input, Gold string }
	items := map[string]eval.Item{}
	for r, err := range rows[row](ctx, db, `SELECT item, input, gold FROM items WHERE `+where, args...) {
		if err != nil {
			return nil, err
		}
		input, errInput := eval.ParseHash(r.Input)
		gold, errGold := eval.ParseHash(r.Gold)
		if err := errors.Join(errInput, errGold); err != nil {
			return nil, db.explain(fmt.Errorf("item %s: %w", r.ID, err))
		}
		items[r.ID] = eval.Item{ID: r.ID, Input: input, Gold: gold}
	}
	return items, nil
}

// Grouped returns the items in the plan of a run with their split, cluster and strata. Those
// that a version before format 13 wrote are not in it.
func (db *DB) Grouped(ctx context.Context, run *Run) (map[string]eval.Item, error) {
	type row struct{ ID, Grouped string }
	items := map[string]eval.Item{}
	for r, err := range rows[row](ctx, db, `SELECT item, grouped FROM items WHERE run = ? AND grouped <> '' AND item IN (SELECT item FROM trials WHERE run = ? AND place >= 0)`, run, run) {
		if err != nil {
			return nil, err
		}
		var in grouped
		if err := json.Unmarshal([]byte(r.Grouped), &in); err != nil {
			return nil, fault(db.path, "item %s: %w", r.ID, err)
		}
		items[r.ID] = eval.Item{ID: r.ID, Split: in.Split, Cluster: in.Cluster, Strata: in.Strata}
	}
	return items, nil
}

// An Event is an entry in the history of a run.
type Event struct {
	At   time.Time `json:"at"`
	What string    `json:"what"`
	Note string    `json:"note"`
}

// EventTag is the event that gives a run a tag, its note, EventPlan that which changes its plan, and
// EventAnswers that with which a run begins that takes the answers of another.
const (
	EventTag     = "tag"
	EventPlan    = "plan changed"
	EventAnswers = "answers of"
)

// Tags lists the tags of a run, in the order of their first time.
func (db *DB) Tags(ctx context.Context, run *Run) ([]string, error) {
	return all[string](ctx, db, `SELECT note FROM events WHERE run = ? AND what = ? GROUP BY note ORDER BY min(id)`, run.N, EventTag)
}

// Tagged returns the run that got a tag last, none for a tag that is the id of a run. For the run
// with an id, it is the other one that had the tag when that run's plan was made: by the order of
// events, or by the clocks if the run began in an earlier version and its plan did not change.
func (db *DB) Tagged(ctx context.Context, tag, of string) (*Run, error) {
	return first(db.runs(ctx, `WHERE n = (SELECT e.run FROM events e JOIN runs r ON r.n = e.run
		LEFT JOIN runs o ON o.id = ? WHERE e.what = ? AND e.note = ? AND NOT EXISTS (SELECT 1 FROM runs WHERE id = ?) AND (o.n IS NULL OR r.n <> o.n AND
			(r.n < o.n AND e.at <= o.created_at AND NOT EXISTS (SELECT 1 FROM events p WHERE p.run = o.n AND p.what = ?)
				OR e.id < (SELECT max(p.id) FROM events p WHERE p.run = o.n AND p.what IN (?, ?))))
		ORDER BY e.id DESC LIMIT 1)`, of, EventTag, modelText(tag), tag, EventAnswers, EventAnswers, EventPlan), "a run with the tag %q in store %s", tag, db.path)
}

// AddEvents appends to the run's history.
func (db *DB) AddEvents(ctx context.Context, run *Run, events ...Event) error {
	if len(events) == 0 {
		return nil
	}
	return db.change(ctx, func(x *steps) { x.addEvents(run, events) })
}

func (x *steps) addEvents(run *Run, events []Event) {
	for _, e := range events {
		x.exec(`INSERT INTO events (run, at, what, note) VALUES (?,?,?,?)`, run.N, e.At.UTC().Format(time.RFC3339), e.What, modelText(e.Note))
	}
}

// Events lists the run's history, oldest first.
func (db *DB) Events(ctx context.Context, run *Run) ([]Event, error) {
	return all[Event](ctx, db, `SELECT at, what, note FROM events WHERE run = ? ORDER BY id`, run.N)
}
