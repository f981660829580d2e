package experiment

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/discipline"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/text"
)

// An Attempt is how a run is to be started or resumed.
type Attempt struct {
	ID      string // of the run, "" for the newest of the study
	Fresh   bool   // start another run
	Part    Part
	Unblind string // why TEST is looked at again; "" for no reason
	By      string // who acts
}

// Begin starts or resumes a run, if the ledger of the study allows it. A run on TEST
// needs a registration of exactly what it asks, and there is one. Of another run on data
// with splits, the ledger keeps which items it asks about.
func (x *Experiment) Begin(ctx context.Context, db *store.DB, a Attempt) (*Run, error) {
	if x.Study.Split == study.SplitTest {
		return x.beginTest(ctx, db, a)
	}
	if err := x.checkRegistered(a); err != nil {
		return nil, err
	}
	r, err := x.beginOther(ctx, db, a)
	if err != nil {
		return nil, err
	}
	return r, r.recordSeen(a)
}

func (x *Experiment) beginOther(ctx context.Context, db *store.DB, a Attempt) (*Run, error) {
	if a.Fresh {
		return x.Start(ctx, db)
	}
	if a.ID != "" {
		found, err := db.Run(ctx, a.ID)
		if err != nil {
			return nil, err
		}
		if err := x.checkSplit(found); err != nil {
			return nil, err
		}
	}
	return x.StartOrResume(ctx, db, a.ID)
}

// recordSeen records the items of a run outside of TEST, so that a registration of them
// in another store is not the first look at them.
func (r *Run) recordSeen(a Attempt) (err error) {
	if !slices.ContainsFunc(r.items, func(it eval.Item) bool { return it.Split != "" }) {
		return nil
	}
	selected, err := r.selected(a.Part)
	if err != nil {
		return err
	}
	asked := map[string]bool{} // items of the part
	for seq, is := range selected {
		if is {
			asked[r.Plan.Trial(seq).Item] = true
		}
	}
	var inputs []string
	test := map[string]bool{}
	for _, it := range r.items {
		if selected == nil || asked[it.ID] {
			inputs = append(inputs, it.Input.String())
			test[it.Input.String()] = it.Split == study.SplitTest
		}
	}
	book, err := r.book()
	if err != nil || len(book.Unseen(inputs)) == 0 {
		return err
	}
	desk, err := r.desk(a.By)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, desk.Close()) }()
	unseen := desk.Book.Unseen(inputs)
	for _, in := range unseen {
		if test[in] {
			r.SeenTest++
		}
	}
	return desk.Show(discipline.Seen{Owner: r.owner(), Split: r.Study.Split, Run: r.Record.ID, Created: created(r.Record), Store: r.storeBeside(r.db), Inputs: unseen})
}

// owner is the study as the ledger names it.
func (x *Experiment) owner() discipline.Owner { return discipline.OwnerOf(x.File.Path, x.Study.Name) }

// storeBeside is the path of a store relative to the folder of the ledger.
func (x *Experiment) storeBeside(db *store.DB) string {
	root := filepath.Dir(filepath.Dir(discipline.Path(x.File.Path)))
	at, dir, err := absolute(db.Path(), root)
	if err != nil {
		return filepath.Base(db.Path())
	}
	return relative(dir, at)
}

// relative is a path relative to a folder, or its name alone if the two share no folder:
// the ledger is in bundles, which have no paths of a machine.
func relative(dir, path string) string {
	rel, err := filepath.Rel(dir, path)
	rel = filepath.ToSlash(rel)
	depth := strings.Count(filepath.ToSlash(dir), "/") // of an absolute path
	if err != nil || strings.HasPrefix(rel, strings.Repeat("../", depth)) {
		return filepath.Base(path)
	}
	return rel
}

func absolute(a, b string) (string, string, error) {
	a, errA := filepath.Abs(a)
	b, errB := filepath.Abs(b)
	return a, b, errors.Join(errA, errB)
}

// checkRegistered refuses items of a registered TEST set outside of a TEST run.
func (x *Experiment) checkRegistered(a Attempt) error {
	book, err := x.book()
	if err != nil || book.Empty() {
		return err
	}
	now := x.registrationIn(book)
	r, n := book.Registered(now.Inputs)
	if n == 0 || book.Accepts(now) {
		return nil
	}
	reason := fmt.Sprintf("%s of the study are in the TEST set that study %s registered (entry %d of %s)", text.Plural(n, "item", "items"), r.Data.Study, r.Seq, book.Path)
	if a.Unblind == "" {
		return notAllowed("%s: run them with --split test, leave them out with --split dev, or give the reason with --unblind, which is recorded for good", reason)
	}
	return x.unblind(a, now, []string{reason})
}

// beginTest starts a TEST run, or resumes the one that was interrupted.
func (x *Experiment) beginTest(ctx context.Context, db *store.DB, a Attempt) (run *Run, err error) {
	if !a.Part.Whole() {
		return nil, notAllowed("a TEST run asks for everything that was registered: leave out --limit, --items and --arms")
	}
	desk, err := x.desk(a.By)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, desk.Close()) }()
	now := x.registrationIn(desk.Book)
	if _, ok := desk.Book.Registration(now.Owner); !ok {
		return nil, notAllowed("a TEST run needs a registration of what it will ask and how it will decide: `scruple preregister %s`", x.File.Path)
	}
	if !a.Fresh {
		run, err := x.resumeTest(ctx, db, desk, now, a)
		if run != nil || err != nil {
			return run, err
		}
	}
	seen, err := x.seenElsewhere(ctx, db, desk.Book, now)
	if err != nil {
		return nil, err
	}
	if reasons := desk.Book.Start(now, seen); len(reasons) > 0 {
		if err := x.permit(desk, now, reasons, a.Unblind); err != nil {
			return nil, err
		}
	}
	if run, err = x.Start(ctx, db); err != nil {
		return nil, err
	}
	return run, x.began(ctx, db, desk, run.Record, now)
}

// resumeTest resumes the newest TEST run if it is unfinished and what it began with is
// what the study asks now. It returns nil if another run is wanted.
func (x *Experiment) resumeTest(ctx context.Context, db *store.DB, desk *discipline.Desk, now discipline.Registration, a Attempt) (*Run, error) {
	last, err := x.lastTest(ctx, db, a.ID)
	if last == nil || err != nil {
		return nil, err
	}
	entry, known := desk.Book.Test(keyOf(last))
	p, err := db.Progress(ctx, last)
	if err != nil {
		return nil, err
	}
	// Without an entry, a crash came between the run and its entry, before its first call,
	// or the ledger was removed.
	if !known || entry.Data.Digest != now.Digest {
		return nil, nil
	}
	if last.Analysed && !x.pending(p) {
		switch failed := p.Failed.Count() + p.Unjudged.Count(); {
		case a.Part.RetryFailed && failed > 0:
			reason := fmt.Sprintf("the results of %s were shown, and %s would be asked again", last.ID, text.Plural(failed, "failed trial", "failed trials"))
			if err := x.permit(desk, noOtherRun(now), []string{reason}, a.Unblind); err != nil {
				return nil, err
			}
		case strings.TrimSpace(a.Unblind) == "" && len(desk.Book.Start(now, nil)) > 0:
			return nil, notAllowed("TEST runs once, and %s is finished: `scruple report %[2]s --split test` and `scruple gate %[2]s --split test` have its results. "+
				"Another run needs a reason, --unblind \"…\", which is recorded for good", last.ID, x.File.Path)
		default:
			return nil, nil
		}
	}
	run, err := x.Attach(ctx, db, last)
	if err != nil || strings.TrimSpace(a.Unblind) == "" {
		return run, err
	}
	if e := run.tooManyFailed(p); e != nil && !last.Analysed && !x.pending(p) && !a.Part.RetryFailed {
		reason := fmt.Sprintf("the results of %s are shown although %.1f %% of %s", last.ID, 100*e.Share, e.Of)
		if err := x.permit(desk, noOtherRun(now), []string{reason}, a.Unblind); err != nil {
			return nil, err
		}
		run.shown = true
	}
	return run, nil
}

func (x *Experiment) lastTest(ctx context.Context, db *store.DB, id string) (*store.Run, error) {
	if id != "" {
		last, err := db.Run(ctx, id)
		if err == nil {
			err = x.checkSplit(last)
		}
		return last, err
	}
	last, err := db.LastRun(ctx, x.Study.Name, study.SplitTest)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return last, err
}

// pending reports whether a run is unfinished.
func (x *Experiment) pending(p *store.Progress) bool {
	return p.Done.Count() < p.Trials || x.HasJudge() && p.ToJudge() > 0
}

// seenElsewhere lists the runs of a store, and of the one beside the study, that the
// ledger does not know and that have answers about the items. db may be nil.
func (x *Experiment) seenElsewhere(ctx context.Context, db *store.DB, book discipline.Book, now discipline.Registration) (seen []string, err error) {
	beside := discipline.StorePath(x.File.Path)
	if db != nil {
		if seen, err = seenIn(ctx, db, book, now); err != nil {
			return nil, err
		}
		if a, b, err := absolute(db.Path(), beside); err != nil || a == b {
			return seen, err
		}
	}
	other, err := store.OpenRead(ctx, beside)
	if errors.Is(err, store.ErrNotFound) {
		return seen, nil
	}
	if err != nil {
		return nil, err
	}
	more, err := seenIn(ctx, other, book, now)
	return append(seen, more...), errors.Join(err, other.Close())
}

func seenIn(ctx context.Context, db *store.DB, book discipline.Book, now discipline.Registration) ([]string, error) {
	runs, err := db.Runs(ctx)
	if err != nil {
		return nil, err
	}
	wanted := map[string]bool{}
	for _, in := range now.Inputs {
		wanted[in] = true
	}
	var seen []string
	for _, r := range runs {
		if _, known := book.Test(keyOf(r)); known || book.Saw(keyOf(r)) {
			continue
		}
		items, err := db.Items(ctx, r)
		if err != nil {
			return nil, err
		}
		shared := 0
		for _, it := range items {
			if wanted[it.Input.String()] {
				shared++
			}
		}
		if shared == 0 {
			continue
		}
		p, err := db.Progress(ctx, r)
		if err != nil {
			return nil, err
		}
		if p.Done.Count() > 0 {
			seen = append(seen, fmt.Sprintf("run %s of store %s has %s of them", r.ID, db.Path(), text.Plural(shared, "item", "items")))
		}
	}
	return seen, nil
}

// CheckLedger compares the ledger with the runs of a store, both ways: each TEST run of
// the study, and each run that asked about items with splits, is in the ledger, and each
// run that the ledger has of this store is in the store.
func (x *Experiment) CheckLedger(ctx context.Context, db *store.DB) error {
	book, err := x.book()
	if err != nil {
		return err
	}
	runs, err := db.Runs(ctx)
	if err != nil {
		return err
	}
	var problems []error
	has := map[[2]string]bool{}
	for _, r := range runs {
		has[[2]string{r.ID, created(r)}] = true
		if r.Study == x.Study.Name {
			problems = append(problems, x.checkKnown(ctx, db, book, r))
		}
	}
	at := x.storeBeside(db)
	gone := func(seq int, of discipline.Owner, run, made, in string) {
		if of.Is(x.owner()) && in == at && !has[[2]string{run, made}] {
			problems = append(problems, fmt.Errorf("entry %d of %s is of run %s, which store %s does not have: the store was replaced, or the run was deleted", seq, book.Path, run, db.Path()))
		}
	}
	for _, t := range book.Tests {
		gone(t.Seq, t.Data.Owner, t.Data.Run, t.Data.Created, t.Data.Store)
	}
	for _, s := range book.Seen {
		gone(s.Seq, s.Data.Owner, s.Data.Run, s.Data.Created, s.Data.Store)
	}
	return errors.Join(problems...)
}

// checkKnown returns an error if a run with answers should be in the ledger and is not.
// One without answers may be left from a crash before its entry.
func (x *Experiment) checkKnown(ctx context.Context, db *store.DB, book discipline.Book, r *store.Run) error {
	p, err := db.Progress(ctx, r)
	if err != nil || p.Done.Count() == 0 {
		return err
	}
	lost := func(what string) error {
		return fmt.Errorf("run %s of store %s %s, but %s does not have it: the ledger was replaced or removed; restore it", r.ID, db.Path(), what, book.Path)
	}
	if splitOf(r) == study.SplitTest {
		if _, known := book.Test(keyOf(r)); !known {
			return lost("asked about TEST")
		}
		return nil
	}
	items, err := db.Items(ctx, r)
	if err != nil {
		return err
	}
	split := map[string]bool{}
	for _, it := range x.Bench.Items() {
		split[it.Input.String()] = it.Split != ""
	}
	var inputs []string
	for _, it := range items {
		if in := it.Input.String(); split[in] {
			inputs = append(inputs, in)
		}
	}
	// A part of the plan is recorded alone, and what was seen before has no new entry.
	if unseen := len(book.Unseen(inputs)); len(inputs) > 0 && unseen == len(slices.Compact(slices.Sorted(slices.Values(inputs)))) {
		return lost("asked about items with splits")
	}
	return nil
}

// noOtherRun is a registration for an unblinding that allows no other run.
func noOtherRun(now discipline.Registration) discipline.Registration {
	now.Digest = ""
	return now
}

// permit records an unblinding, or refuses without a reason.
func (x *Experiment) permit(desk *discipline.Desk, now discipline.Registration, reasons []string, why string) error {
	if why = strings.TrimSpace(why); why == "" {
		return notAllowed("not allowed on TEST:\n  %s\nundo the change, or give the reason with --unblind \"…\": it is recorded for good and printed on every report",
			strings.Join(reasons, "\n  "))
	}
	return desk.Unblind(discipline.Unblinding{Owner: now.Owner, Reason: why, Digest: now.Digest, Changes: reasons})
}

func (x *Experiment) unblind(a Attempt, now discipline.Registration, reasons []string) (err error) {
	desk, err := x.desk(a.By)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, desk.Close()) }()
	return x.permit(desk, now, reasons, a.Unblind)
}

func (x *Experiment) book() (discipline.Book, error) {
	book, err := discipline.Read(discipline.Path(x.File.Path))
	if err != nil {
		return book, &NotAllowedError{err}
	}
	return book, nil
}

func (x *Experiment) desk(by string) (*discipline.Desk, error) {
	desk, err := discipline.Open(x.File.Path, by, x.env.Now)
	if err != nil {
		return nil, &NotAllowedError{err}
	}
	return desk, nil
}

func created(r *store.Run) string { return r.CreatedAt.UTC().Format(time.RFC3339) }

// keyOf is a run as the ledger names it.
func keyOf(r *store.Run) discipline.RunKey {
	return discipline.RunKey{Owner: discipline.OwnerOf(r.StudyPath, r.Study), Run: r.ID, Created: created(r)}
}

// began records a TEST run before its first call.
func (x *Experiment) began(ctx context.Context, db *store.DB, desk *discipline.Desk, r *store.Run, now discipline.Registration) error {
	used, err := x.budget(ctx, db, desk.Book, r.CreatedAt)
	if err != nil {
		return err
	}
	t := discipline.TestRun{Owner: now.Owner, Arms: x.testedArms(), Run: r.ID, Created: created(r), Store: x.storeBeside(db), Digest: now.Digest, Inputs: now.Inputs}
	for _, u := range used {
		t.Budget = append(t.Budget, discipline.Used(u))
	}
	return desk.Began(t)
}

// testedArms lists the arms that a TEST run is about, without baselines.
func (x *Experiment) testedArms() (list []discipline.Arm) {
	for _, a := range x.Bench.Arms() {
		if a.Role == eval.RoleArm {
			list = append(list, discipline.Arm{ID: a.ID, Hash: a.Hash})
		}
	}
	return list
}

// registrationIn describes what would run now, with the judge's accuracy that the newest
// registration of a TEST run has.
func (x *Experiment) registrationIn(book discipline.Book) discipline.Registration {
	var judge *discipline.Measured
	if g, ok := book.Registration(x.owner()); ok && x.measuresOnDev() {
		judge = g.Data.Judge
	}
	return x.registration(judge)
}

// registration describes what would run now with an accuracy of the judge, nil for none.
func (x *Experiment) registration(judge *discipline.Measured) discipline.Registration {
	sum := func(data []byte) string {
		s := sha256.Sum256(data)
		return hex.EncodeToString(s[:])
	}
	var inputs, in, gold []string
	for _, it := range x.items {
		inputs = append(inputs, it.Input.String())
		in, gold = append(in, it.ID+"="+it.Input.String()), append(gold, it.ID+"="+it.Gold.String())
	}
	slices.Sort(inputs)
	slices.Sort(in)
	slices.Sort(gold)
	parts := []eval.Part{
		{Name: "study file", Value: x.File.SHA256()},
		{Name: "settings", Value: sum(x.lastingSettings())},
		{Name: "items", Value: fmt.Sprint(len(x.items))},
		{Name: "inputs", Value: sum([]byte(strings.Join(in, "\n")))},
		{Name: "gold", Value: sum([]byte(strings.Join(gold, "\n")))},
	}
	parts = append(parts, x.treatment...)
	for _, f := range x.files {
		parts = append(parts, eval.Part{Name: "file " + f.Path, Value: f.SHA256})
	}
	parts = append(parts, eval.Part{Name: "scorer of scruple", Value: x.env.Version}, eval.Part{Name: "planned test", Value: x.plannedTest()})
	if judge != nil {
		data, _ := json.Marshal(judge) // numbers and texts
		parts = append(parts, eval.Part{Name: "accuracy of the judge", Value: fmt.Sprintf("%s, SHA-256 %s", judge, sum(data))})
	}
	inputs = inputs[:min(len(inputs), discipline.MostInputs)]
	return discipline.Registration{Owner: x.owner(), File: filepath.Base(x.File.Path), Digest: discipline.DigestOf(parts), Test: x.plannedTest(),
		Items: len(x.items), Parts: parts, Inputs: inputs, Judge: judge}
}

// passing are the settings that change neither requests nor results.
var passing = map[string][]string{
	"execution": {"concurrency", "retries", "timeout", "delay", "max_cost", "max_calls", "max_tokens"},
	"output":    nil, // all of them
	"assume":    nil,
}

// lastingSettings are those of the study and of the overrides by which a TEST run must
// not differ from its registration.
func (x *Experiment) lastingSettings() []byte {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(x.File.Canonical(), &keys); err != nil {
		panic("experiment: the canonical study is not an object: " + err.Error()) // package study wrote it
	}
	for section, names := range passing {
		if names == nil {
			delete(keys, section)
			continue
		}
		var own map[string]json.RawMessage
		if json.Unmarshal(keys[section], &own) != nil {
			continue
		}
		maps.DeleteFunc(own, func(name string, _ json.RawMessage) bool { return slices.Contains(names, name) })
		keys[section], _ = json.Marshal(own) // raw messages that were valid
	}
	lasting, _ := json.Marshal(keys)
	return lasting
}

// plannedTest describes how the study decides.
func (x *Experiment) plannedTest() string {
	s := x.Study.Statistics
	var pairs []string
	for _, p := range x.Pairs {
		if p.Primary {
			pairs = append(pairs, p.A+" against "+p.B)
		}
	}
	const few = 6
	of := cmp.Or(strings.Join(pairs, ", "), "no comparison")
	if len(pairs) > few {
		of = text.Plural(len(pairs), "primary comparison", "primary comparisons")
	}
	level := fmt.Sprintf("alpha %g", s.Alpha)
	if s.Looks > 1 {
		level += fmt.Sprintf(" spent over %d looks", s.Looks)
	}
	return fmt.Sprintf("%s at %s, correction %s, of %s on %s", s.Method, level, s.Correction, of, strings.Join(x.Primary, ", "))
}

// A Registered is what [Experiment.Preregister] did.
type Registered struct {
	discipline.Entry[discipline.Registration]
	Known  bool                                       // the newest entry had registered the same
	Before *discipline.Entry[discipline.Registration] // what it replaces, nil for nothing
	// OnTest says why the judge will be measured on TEST; "" if DEV measured it, or none is.
	OnTest string
}

// Preregister records what a TEST run will ask and how it will decide. What is registered
// already is not recorded again.
func (x *Experiment) Preregister(ctx context.Context, db *store.DB, by, unblind string) (r Registered, err error) {
	if x.Study.Split != study.SplitTest {
		return r, fmt.Errorf("preregister: the study has split %q: register TEST with --split test", x.Study.Split)
	}
	desk, err := x.desk(by)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, desk.Close()) }()
	was, again := desk.Book.Registration(x.owner())
	judge, missing, err := x.measuredOnDev(ctx, db)
	if err != nil {
		return r, err
	}
	if judge = x.keepsJudge(was.Data.Judge, judge); judge == nil {
		r.OnTest = missing
	}
	now := x.registration(judge)
	seen, err := x.seenElsewhere(ctx, db, desk.Book, now)
	if err != nil {
		return r, err
	}
	r.Known = again && was.Data.Digest == now.Digest
	if reasons := desk.Book.Before(now, seen); len(reasons) > 0 && (!r.Known || len(desk.Book.Start(now, seen)) > 0) {
		if err := x.permit(desk, now, reasons, unblind); err != nil {
			return r, err
		}
	}
	if r.Known {
		r.Entry = was
		return r, nil
	}
	if again {
		r.Before = &was
	}
	if err := desk.Register(now); err != nil {
		return r, err
	}
	r.Entry, _ = desk.Book.Registration(now.Owner)
	return r, nil
}

// Unblind records a reason to look at TEST again, or with changed inputs. db may be nil.
func (x *Experiment) Unblind(ctx context.Context, db *store.DB, by, reason string) (changes []string, err error) {
	desk, err := x.desk(by)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, desk.Close()) }()
	now := x.registrationIn(desk.Book)
	seen, err := x.seenElsewhere(ctx, db, desk.Book, now)
	if err != nil {
		return nil, err
	}
	changes = append(desk.Book.Changes(now), desk.Book.Before(now, seen)...)
	if len(changes) == 0 {
		return nil, notAllowed("nothing is blinded: the study is as registered and no TEST run of it began")
	}
	return changes, x.permit(desk, now, changes, reason)
}

// A Revised is what was used of the budget after a revision, and what the revision comes
// after, if the study is registered or TEST began.
type Revised struct {
	Used  []analyse.Used
	After string
}

// Revise records a revision cycle on DEV.
func (x *Experiment) Revise(ctx context.Context, db *store.DB, by, hypothesis, change string) (r *Revised, err error) {
	desk, err := x.desk(by)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, desk.Close()) }()
	done, _ := desk.Book.Of(x.owner())
	if most := x.Study.Budget.Cycles; most != nil && len(done) >= *most {
		return nil, notAllowed("the study allows %s and all are used: run TEST, change the question, or raise budget.cycles", text.Plural(*most, "revision cycle", "revision cycles"))
	}
	run := ""
	if db != nil {
		last, err := db.LastRun(ctx, x.Study.Name, study.SplitDev)
		switch {
		case err == nil:
			run = last.ID
		case !errors.Is(err, store.ErrNotFound):
			return nil, err
		}
	}
	r = &Revised{}
	revision := discipline.Revision{Owner: x.owner(), Run: run, Hypothesis: hypothesis, Change: change}
	if t, ok := desk.Book.LastTest(x.owner()); ok {
		revision.After = t.Data.Run
		r.After = fmt.Sprintf("TEST of this study began on %s (%s, entry %d of the ledger): its items are no test of this change. Reports say that the revision came after TEST; "+
			"to test it, register items that nobody has seen", discipline.Day(t.At), t.Data.Run, t.Seq)
	} else if g, ok := desk.Book.Registration(x.owner()); ok {
		r.After = fmt.Sprintf("the study is registered (entry %d of the ledger): register it again after the change, before TEST runs", g.Seq)
	}
	if err := desk.Revise(revision); err != nil {
		return nil, err
	}
	r.Used, err = x.budget(ctx, db, desk.Book, x.env.Now())
	return r, err
}

// budget lists what was used of the limits of a study until a time.
func (x *Experiment) budget(ctx context.Context, db *store.DB, book discipline.Book, until time.Time) ([]analyse.Used, error) {
	var first time.Time
	cost, calls := 0.0, 0
	if db != nil {
		runs, err := db.Runs(ctx)
		if err != nil {
			return nil, err
		}
		for _, r := range runs {
			if r.Study != x.Study.Name || r.CreatedAt.After(until) {
				continue
			}
			if first.IsZero() {
				first = r.CreatedAt
			}
			p, err := db.Progress(ctx, r)
			if err != nil {
				return nil, err
			}
			cost, calls = cost+p.Cost, calls+p.Unpriced
		}
	}
	days := 0.0
	if !first.IsZero() {
		days = math.Floor(until.Sub(first).Hours()/24) + 1
	}
	b := x.Study.Budget
	list := []analyse.Used{x.cycles(book), {Name: "days", Used: days, Allowed: limit(b.Days)}, {Name: "cost in US dollars", Used: math.Round(cost*1e4) / 1e4, Allowed: b.Cost}}
	if calls > 0 {
		list[2].Note = text.Plural(calls, "call", "calls") + " of unknown cost not counted"
	}
	return list, nil
}

// cycles counts the revisions of the study.
func (x *Experiment) cycles(book discipline.Book) analyse.Used {
	revisions, _ := book.Of(x.owner())
	return analyse.Used{Name: "revision cycles", Used: float64(len(revisions)), Allowed: limit(x.Study.Budget.Cycles)}
}

func limit(n *int) *float64 {
	if n == nil {
		return nil
	}
	f := float64(*n)
	return &f
}

// CheckTest refuses to score a TEST run again with other inputs than it ran with.
func (x *Experiment) CheckTest(ctx context.Context, db *store.DB, r *store.Run, a Attempt) error {
	if err := x.checkSplit(r); err != nil {
		return err
	}
	if splitOf(r) != study.SplitTest {
		return x.checkRegistered(a)
	}
	if err := CheckShown(ctx, db, r); err != nil {
		return err
	}
	now, changes, err := x.testChanges(r)
	if err != nil || len(changes) == 0 {
		return err
	}
	return x.unblind(a, now, changes)
}

// testChanges lists what changed in the study since a TEST run began.
func (x *Experiment) testChanges(r *store.Run) (now discipline.Registration, changes []string, err error) {
	book, err := x.book()
	if err != nil {
		return now, nil, err
	}
	entry, ok := book.Test(keyOf(r))
	began, _ := book.RegistrationOf(entry)
	now = x.registration(began.Data.Judge)
	switch {
	case !ok:
		return now, []string{"the ledger has no entry of " + r.ID}, nil
	case entry.Data.Digest == now.Digest || book.Accepts(now):
		return now, nil, nil
	}
	if changes = book.Changes(now); len(changes) == 0 {
		changes = []string{"the study is not what " + r.ID + " ran with"}
	}
	return now, changes, nil
}

// checkSplit refuses to make a run one of another split: a TEST run would lose its
// results unseen by the ledger, and a DEV run would be tested.
func (x *Experiment) checkSplit(r *store.Run) error {
	was, now := splitOf(r), x.Study.Split
	if was == now {
		return nil
	}
	called := func(split string) string {
		if split == "" {
			return "no split"
		}
		return "split " + split
	}
	return notAllowed("%s has %s and keeps it, but the study now has %s: give the split of the run, or the study file for a run of its own", r.ID, called(was), called(now))
}

// splitOf is the split of a run.
func splitOf(r *store.Run) string {
	var s struct {
		Split string `json:"split"`
	}
	_ = json.Unmarshal(r.StudyJSON, &s) // the store has what package study wrote
	return s.Split
}

// CheckShown refuses to show anything of a TEST run before it is finished: who sees
// results could stop it while they are good.
func CheckShown(ctx context.Context, db *store.DB, r *store.Run) error {
	if splitOf(r) != study.SplitTest {
		return nil
	}
	if r.Analysed { // nothing is shown between two planned looks
		if _, _, _, err := db.Analysis(ctx, r); !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return notAllowed("%s is a TEST run that is not finished, or of which too many trials failed, so its results are not shown: `scruple run %s --split test` resumes it or says why", r.ID, r.StudyPath)
}

// Blinded returns the number of pending trials of an unfinished TEST run, whose results
// are not computed, else 0. It returns a [TooManyFailedError] for a finished TEST run with
// more failed trials than the study allows. Nobody has seen its results, so these trials may
// be asked again.
func (r *Run) Blinded(ctx context.Context) (int, error) {
	if r.Study.Split != study.SplitTest || r.Record.Analysed && r.Study.Statistics.Looks < 2 || r.shown {
		return 0, nil
	}
	p, err := r.db.Progress(ctx, r.Record)
	if err != nil {
		return 0, err
	}
	if r.pending(p) && !r.atLook(p) {
		pending := p.Trials - p.Done.Count()
		if r.HasJudge() {
			pending += p.ToJudge()
		}
		return pending, nil
	}
	if e := r.tooManyFailed(p); e != nil {
		return 0, e
	}
	return 0, nil
}

// tooManyFailed is [analyse.Analysis.WorstFailures] of a run that is not analysed, nil
// if the study allows them.
func (r *Run) tooManyFailed(p *store.Progress) *TooManyFailedError {
	e := &TooManyFailedError{Allowed: *r.Study.Execution.MaxFailed, Study: r.File.Path + " --split test", Hidden: true}
	worse := func(failed, of int, what string) {
		if share := float64(failed) / float64(max(of, 1)); share > max(e.Share, e.Allowed) {
			e.Share, e.Of = share, what
		}
	}
	if r.HasJudge() {
		worse(p.Unjudged.Count(), p.Done.Count(), "trials could not be judged")
	}
	failed := map[string]int{}
	for seq := range p.Trials {
		if p.Failed.Has(seq) {
			failed[r.Plan.Trial(seq).Arm]++
		}
	}
	for _, arm := range r.ArmIDs() {
		worse(failed[arm], len(r.Items())*r.Plan.Replicates(), "trials of "+arm+" failed")
	}
	if e.Of == "" {
		return nil
	}
	return e
}

// disciplineOf is what the ledger says of a run, for its report; nil for a run
// without a split.
func disciplineOf(book discipline.Book, r *store.Run) *analyse.Discipline {
	split := splitOf(r)
	d := &analyse.Discipline{}
	entry, ok := book.Test(keyOf(r))
	owner := keyOf(r).Owner
	if ok {
		owner = entry.Data.Owner
	}
	revisions, unblindings := book.Of(owner)
	for _, v := range revisions {
		d.Revisions = append(d.Revisions, analyse.Revision{Date: discipline.Day(v.At), Hypothesis: v.Data.Hypothesis, Change: v.Data.Change, After: v.Data.After})
	}
	for _, u := range unblindings {
		d.Unblindings = append(d.Unblindings, analyse.Unblinding{Date: discipline.Day(u.At), By: u.By, Reason: u.Data.Reason, Changes: u.Data.Changes})
	}
	switch {
	case split == "" && len(d.Unblindings) == 0:
		return nil
	case split != study.SplitTest:
		return d
	}
	if !ok {
		d.Problem = "the ledger beside the study has no entry of this TEST run: it was moved or removed, and nothing shows what was registered"
		return d
	}
	for _, u := range entry.Data.Budget {
		d.Budget = append(d.Budget, analyse.Used(u))
	}
	for _, t := range book.Others(entry) {
		d.Others = append(d.Others, analyse.OtherTest{Study: t.Data.Study, Run: t.Data.Run, Date: discipline.Day(t.At), Entry: t.Seq, Arms: t.Data.Shared(entry.Data)})
	}
	n := 0
	for _, g := range book.Registrations {
		if !g.Data.Is(owner) || g.Seq > entry.Seq {
			continue
		}
		n++
		d.Registration = &analyse.Registration{Date: discipline.Day(g.At), By: g.By, SHA256: g.Data.Digest, Entry: g.Seq, EntryHash: g.Hash, Test: g.Data.Test, Times: n}
	}
	return d
}
