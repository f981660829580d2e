package store

import (
	"context"

	"github.com/scruple-eval/scruple/internal/eval"
)

// The questions of trials that no plan has: the next plan has new trials in their place. The answers
// are kept.
const (
	Unusable   = -1 // the answers are those of an earlier question or a duplicate
	Distrusted = -2 // the answers are not known to be those of the program asked: no other run takes them
)

// An Amendment says how the plan of a run changed.
type Amendment struct {
	Added   []string // arms
	Removed []string
	Changed []string    // arms with another question for every item: their trials are new
	Renamed [][2]string // arms that have another id now

	ItemsAdded, ItemsRemoved, ItemsChanged, ItemsRenamed int
	// Trials that are new or come back without an outcome, come back with one, and leave
	// the plan.
	New, Back, Left int
	Done            int  // trials of the plan before that had an outcome
	Seen            bool // results of the run had been shown
}

// Moved are items of a run that have another id now.
type Moved struct {
	Items map[string]string // the id now by the id before
	// Except are the arms that send the id, or whose judges do: their trials are those of
	// another request.
	Except []string
}

// Amend makes p the plan of a run. Trials whose question is the same keep their
// answers, also those that left the plan earlier; others are appended. Trials that p
// does not have leave the plan and keep theirs. Trials of moved items keep their answers
// under the new id. now has the study, overrides,
// treatment and replicates of the plan. The trials of a store of an older format
// have the question of p if old says so. The events that history makes of the amendment
// are recorded with it.
func (db *DB) Amend(ctx context.Context, run *Run, now Run, items []eval.Item, p Plan, moved Moved, old func(eval.Trial) bool, history func(Amendment) []Event) (a Amendment, err error) {
	a.Seen = run.Analysed
	was, err := db.Items(ctx, run)
	if err != nil {
		return a, err
	}
	err = db.rewrite(ctx, run, func(s *steps) {
		db.engine.alone(s)
		x := amending{s, run.N}
		x.exec(`CREATE TEMP TABLE next AS SELECT place, item, arm, replicate, question FROM trials WHERE FALSE`)
		x.fill(p)
		x.exec(`CREATE INDEX next_by_trial ON next (item, arm, replicate)`)
		x.exec(`CREATE INDEX next_by_place ON next (place)`)
		x.adopt(old)
		x.move(&a, moved)
		x.rename(&a)
		x.distinct()
		x.compare(&a, was, items)
		x.exec(`CREATE TEMP TABLE back AS SELECT t.id FROM trials t WHERE FALSE`)
		x.exec(`INSERT INTO back SELECT t.id FROM trials t JOIN next n ON `+match+` AND n.question = t.question WHERE t.run = ? AND t.place < 0`, x.run)
		x.exec(`UPDATE trials SET place = -id WHERE run = ? AND place >= 0`, x.run)
		x.exec(`UPDATE trials SET place = n.place FROM next n WHERE trials.run = ?
			AND n.item = trials.item AND n.arm = trials.arm AND n.replicate = trials.replicate AND n.question = trials.question`, x.run)
		x.separate(&a)
		x.exec(`DELETE FROM next WHERE place IN (SELECT place FROM trials WHERE run = ?)`, x.run)
		x.exec(`INSERT INTO trials (id, run, item, arm, replicate, place, question)
			SELECT (SELECT max(id) FROM trials WHERE id < `+firstBlock+` OR run = ?) + row_number() OVER (ORDER BY place), CAST(? AS BIGINT), item, arm, replicate, place, question FROM next ORDER BY place`, x.run, x.run)
		x.exec(`DROP TABLE next`)
		x.exec(`DROP TABLE back`)
		x.exec(`DROP TABLE moved`)
		x.exec(`UPDATE runs SET (study_json, overrides, treatment, replicates, trials) = (?,?,?,?,?) WHERE n = ?`,
			string(now.StudyJSON), x.list(now.Overrides), eval.EncodeParts(now.Treatment), now.Replicates, p.Len(), x.run)
		x.exec(`DELETE FROM analyses WHERE run = ?`, x.run)
		x.putItems(run, items)
		x.sumPlan(run.N)
		x.addEvents(run, history(a))
	})
	if err != nil {
		return a, err
	}
	again, err := db.Run(ctx, run.ID)
	if err != nil {
		return a, err
	}
	again.StudyPath = run.StudyPath
	*run = *again
	_, err = db.SetPlan(ctx, run, p)
	return a, err
}

// SetStudy replaces the study and the overrides that a run is recorded with.
func (db *DB) SetStudy(ctx context.Context, run *Run, study []byte, overrides []string) error {
	err := db.rewrite(ctx, run, func(x *steps) {
		x.exec(`UPDATE runs SET (study_json, overrides) = (?,?) WHERE n = ?`, string(study), x.list(overrides), run.N)
		x.sumPlan(run.N)
	})
	if err == nil {
		run.StudyJSON, run.Overrides = study, overrides
	}
	return err
}

// amending are the steps of an amendment of a run.
type amending struct {
	*steps
	run int64
}

// fill writes the new plan.
func (x *amending) fill(p Plan) {
	rows := x.bulk(insert("next", "place, item, arm, replicate, question"))
	for seq := range p.Len() {
		t := p.Trial(seq)
		rows.add(seq, t.Item, t.Arm, t.Replicate, p.Question(seq))
	}
	rows.flush()
}

// adopt gives trials of an older format, which have no question, that of the new
// plan if it is the same.
func (x *amending) adopt(old func(eval.Trial) bool) {
	if x.count(`SELECT count(*) FROM trials WHERE run = ? AND question = 0`, x.run) == 0 {
		return
	}
	type row struct {
		ID, Question int64
		eval.Trial
	}
	for _, r := range list[row](x.steps, `SELECT t.id, n.question, t.item, t.arm, t.replicate FROM trials t JOIN next n ON `+match+`
		WHERE t.run = ? AND t.question = 0`, x.run) {
		if old(r.Trial) {
			x.exec(`UPDATE trials SET question = ? WHERE id = ?`, r.Question, r.ID)
		}
	}
	// The treatment of the run is that of the new plan from now on: it can no longer say
	// what the others were asked.
	x.exec(`UPDATE trials SET question = ? WHERE run = ? AND question = 0`, Unusable, x.run)
}

// rename gives arms that the new plan does not have the id of an arm that is new
// there and asks the same.
func (x *amending) rename(a *Amendment) {
	pairs := list[[2]string](x.steps, `SELECT DISTINCT t.arm, n.arm FROM trials t JOIN next n ON n.item = t.item AND n.replicate = t.replicate AND n.question = t.question
		WHERE t.run = ? AND t.place >= 0 AND t.arm NOT IN (SELECT arm FROM next)
		AND n.arm NOT IN (SELECT arm FROM trials WHERE run = ? AND place >= 0) ORDER BY 1, 2`, x.run, x.run)
	done := map[string]bool{}
	for _, pair := range pairs {
		was, now := pair[0], pair[1]
		if done["was "+was] || done["now "+now] {
			continue
		}
		done["was "+was], done["now "+now] = true, true
		a.Renamed = append(a.Renamed, pair)
		x.exec(`UPDATE trials SET arm = ? WHERE run = ? AND arm = ? AND place >= 0`, now, x.run, was)
	}
}

// move gives the trials of moved items, and what people said of them, their new id.
func (x *amending) move(a *Amendment, moved Moved) {
	x.exec(`CREATE TEMP TABLE moved AS SELECT item AS was, item AS now FROM trials WHERE FALSE`)
	for was, now := range moved.Items {
		x.exec(`INSERT INTO moved VALUES (?, ?)`, was, now)
	}
	if len(moved.Items) == 0 {
		return
	}
	a.ItemsRenamed = len(moved.Items)
	x.exec(`CREATE INDEX moved_by_was ON moved (was)`)
	x.exec(`UPDATE trials SET item = m.now FROM moved m WHERE run = ? AND place >= 0 AND item = m.was AND arm NOT IN (`+among(len(moved.Except))+`)`, append([]any{x.run}, anys(moved.Except)...)...)
	x.exec(`UPDATE verdicts SET item = t.item FROM trials t WHERE verdicts.run = ? AND t.id = verdicts.trial AND t.item <> verdicts.item`, x.run)
	x.exec(`UPDATE verdicts SET item = m.now FROM moved m WHERE run = ? AND trial = 0 AND item = m.was`, x.run)
}

// distinct keeps one of the trials with the same question: an item or arm of the new name
// may have left the plan before.
func (x *amending) distinct() {
	x.exec(`UPDATE trials SET question = ? WHERE id IN (SELECT id FROM (
		SELECT id, row_number() OVER (PARTITION BY item, arm, replicate, question ORDER BY place DESC) AS n FROM trials WHERE run = ? AND question > 0) AS t WHERE n > 1)`, Unusable, x.run)
}

// compare finds out what differs between the plan and the new one.
func (x *amending) compare(a *Amendment, was map[string]eval.Item, items []eval.Item) {
	const (
		inPlan = `SELECT item FROM trials WHERE run = ? AND place >= 0`
		arms   = `SELECT arm FROM trials WHERE run = ? AND place >= 0`
	)
	a.Added = x.names(`SELECT DISTINCT arm FROM next WHERE arm NOT IN (`+arms+`) ORDER BY arm`, x.run)
	a.Removed = x.names(`SELECT DISTINCT arm FROM trials WHERE run = ? AND place >= 0 AND arm NOT IN (SELECT arm FROM next) ORDER BY arm`, x.run)
	a.ItemsAdded = x.count(`SELECT count(DISTINCT item) FROM next WHERE item NOT IN (`+inPlan+`) AND item NOT IN (SELECT now FROM moved)`, x.run)
	a.ItemsRemoved = x.count(`SELECT count(DISTINCT item) FROM trials WHERE run = ? AND place >= 0 AND item NOT IN (SELECT item FROM next) AND item NOT IN (SELECT was FROM moved)`, x.run)
	x.exec(`CREATE TEMP TABLE changed AS SELECT item FROM trials WHERE FALSE`)
	for _, it := range items {
		if w, ok := was[it.ID]; ok && w.Input != it.Input {
			x.exec(`INSERT INTO changed VALUES (?)`, it.ID)
		}
	}
	a.ItemsChanged = x.count(`SELECT count(*) FROM changed WHERE item IN (`+inPlan+`) AND item NOT IN (SELECT now FROM moved)`, x.run)
	a.Changed = x.names(`SELECT t.arm FROM trials t JOIN next n ON `+match+`
		WHERE t.run = ? AND t.place >= 0 AND t.item NOT IN (SELECT item FROM changed) GROUP BY t.arm HAVING count(*) = count(*) FILTER (WHERE n.question <> t.question) ORDER BY 1`, x.run)
	x.exec(`DROP TABLE changed`)
	a.Done = x.count(`SELECT count(*) FROM trials t JOIN outcomes o ON o.trial = t.id WHERE t.run = ? AND t.place >= 0`, x.run)
	kept := x.count(`SELECT count(*) FROM trials t JOIN next n ON `+match+` AND n.question = t.question WHERE t.run = ? AND t.place >= 0`, x.run)
	a.Back = x.count(`SELECT count(*) FROM trials t JOIN next n ON `+match+` AND n.question = t.question JOIN outcomes o ON o.trial = t.id WHERE t.run = ? AND t.place < 0`, x.run)
	a.New = x.count(`SELECT count(*) FROM next`) - kept - a.Back
	a.Left = x.count(`SELECT count(*) FROM trials WHERE run = ? AND place >= 0`, x.run) - kept
}

// match joins a trial with that of the new plan.
const match = `n.item = t.item AND n.arm = t.arm AND n.replicate = t.replicate`

// separate removes trials that came back from the plan if one of their answers is
// that of another trial, which took it meanwhile: arms never share an answer.
func (x *amending) separate(a *Amendment) {
	if x.count(`SELECT count(*) FROM back`) == 0 {
		return
	}
	const answers = planned + `calls c ON c.trial = t.id WHERE ` + inPlan + ` AND c.stage = 'run' AND c.error_kind = ''`
	x.exec(`DELETE FROM back WHERE id NOT IN (SELECT t.id FROM `+answers+` AND coalesce(c.source, c.id) IN (
		SELECT coalesce(c.source, c.id) FROM `+answers+` GROUP BY 1 HAVING count(*) > 1))`, x.run, x.run)
	asked := x.count(`SELECT count(*) FROM back JOIN outcomes ON trial = id`)
	a.Back, a.New = a.Back-asked, a.New+asked
	x.exec(`UPDATE trials SET place = -id, question = ? WHERE id IN (SELECT id FROM back)`, Unusable)
}

// Retire gives trials the question [Unusable] or [Distrusted].
func (db *DB) Retire(ctx context.Context, run *Run, trials []eval.Trial, question int64) error {
	return db.rewrite(ctx, run, func(x *steps) {
		for _, t := range trials {
			id, err := run.id(t)
			x.fail(err)
			x.exec(`UPDATE trials SET question = ? WHERE id = ?`, question, id)
		}
	})
}
