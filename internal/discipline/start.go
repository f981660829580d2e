package discipline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/text"
)

// CheckRegistered refuses items of a registered TEST set outside of a TEST run.
func (s *Subject) CheckRegistered(a Attempt) error {
	book, err := s.Book()
	if err != nil || book.Empty() {
		return err
	}
	now := s.registrationIn(book)
	r, n, in := book.Registered(hashesOf(s.Items))
	if n == 0 || book.Accepts(now) {
		return nil
	}
	reason := fmt.Sprintf("%s of the study are in the TEST set that study %s registered (entry %d of %s)", text.Plural(n, "item", "items"), r.Data.Study, r.Seq, in)
	if a.Unblind == "" {
		return NotAllowed("%s: run them with --split test, leave them out with --split dev, or give the reason with --unblind, which is recorded for good", reason)
	}
	return s.write(a.By, func(desk *Desk) error { return s.permit(desk, now, []string{reason}, a.Unblind) })
}

// RecordSeen records the items of a run outside of TEST, so that a registration of them
// in another store is not the first look at them. It counts those marked as TEST that the
// ledger did not have. asked has the items of a part of the run, nil for all.
func (s *Subject) RecordSeen(db *store.DB, r *store.Run, by string, asked map[string]bool) (tests int, err error) {
	if !slices.ContainsFunc(s.Items, func(it eval.Item) bool { return it.Split != "" }) && !s.namesSplit() {
		return 0, nil
	}
	var inputs []string
	test := map[string]bool{}
	for _, it := range s.Items {
		if asked == nil || asked[it.ID] {
			inputs = append(inputs, it.Input.String())
			test[it.Input.String()] = it.Split == study.SplitTest
		}
	}
	book, err := s.Book()
	if err != nil || len(book.Unseen(inputs)) == 0 {
		return 0, err
	}
	err = s.write(by, func(desk *Desk) error {
		unseen := desk.Book.Unseen(inputs)
		tests = count(test, unseen)
		is := text.SetOf(unseen)
		hashes := hashesOf(slices.DeleteFunc(slices.Clone(s.Items), func(it eval.Item) bool { return !is[it.Input.String()] }))
		return desk.Add(Seen{Owner: s.Owner(), Split: s.Study.Split, Run: r.ID, Created: Created(r), Store: s.storeBeside(db), Hashes: hashes})
	})
	return tests, err
}

// namesSplit reports whether the study says which column of its data has the split: an empty name
// leaves out one that the data have.
func (s *Subject) namesSplit() bool {
	for _, section := range s.File.Keys() {
		var of struct {
			Columns map[string]string `json:"columns"`
		}
		if json.Unmarshal(section, &of) == nil { // others have no such columns
			if _, ok := of.Columns["split"]; ok {
				return true
			}
		}
	}
	return false
}

// storeBeside is the path of a store relative to the folder of the ledger.
func (s *Subject) storeBeside(db *store.DB) string {
	root := filepath.Dir(filepath.Dir(Path(s.File.Path)))
	at, dir, err := absolute(db.Path(), root)
	if err != nil || store.IsAddress(db.Path()) {
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

// BeginTest starts a TEST run, or attaches the one that was interrupted. shown is whether its
// results are shown in spite of failed trials.
func (s *Subject) BeginTest(ctx context.Context, db *store.DB, a Attempt, start func() (*store.Run, error), attach func(*store.Run) error) (shown bool, err error) {
	if !a.Part.Whole() {
		return false, NotAllowed("a TEST run asks for everything that was registered: leave out --limit, --items and --arms")
	}
	err = s.write(a.By, func(desk *Desk) (err error) {
		now := s.registrationIn(desk.Book)
		if _, ok := desk.Book.Registration(now.Owner); !ok {
			return NotAllowed("a TEST run needs a registration of what it will ask and how it will decide: `scruple test register %s`", s.File.Path)
		}
		if !a.Fresh {
			var resumed bool
			if resumed, shown, err = s.resumeTest(ctx, db, desk, now, a, attach); resumed || err != nil {
				return err
			}
		}
		var run *store.Run
		// The ledger keeps out other commands of this checkout, and the turn those of others.
		err = db.InTurn(ctx, func() error {
			seen, err := s.seenElsewhere(ctx, db, desk.Book, now)
			if err != nil {
				return err
			}
			if reasons := desk.Book.Objections(now, seen); len(reasons) > 0 {
				if err := s.permit(desk, now, reasons, a.Unblind); err != nil {
					return err
				}
			}
			if run, err = start(); err != nil {
				return err
			}
			return db.Hold(ctx, run)
		})
		if err != nil {
			return err
		}
		t := TestRun{RunKey: RunKey{now.Owner, run.ID, Created(run)}, Store: s.storeBeside(db), Digest: now.Digest, Hashes: now.Hashes, Outside: now.Outside, Arms: armsOf(s.Arms)}
		if t.Budget, err = s.budget(ctx, db, desk.Book, run.CreatedAt); err != nil {
			return err
		}
		return desk.Add(t)
	})
	return shown, err
}

// resumeTest resumes the newest TEST run if it is unfinished and what it began with is
// what the study asks now. It returns false if another run is wanted.
func (s *Subject) resumeTest(ctx context.Context, db *store.DB, desk *Desk, now Registration, a Attempt, attach func(*store.Run) error) (resumed, shown bool, err error) {
	last, err := s.Find(ctx, db, a.ID)
	if last == nil || err != nil {
		return false, false, err
	}
	entry, known := desk.Book.Test(KeyOf(last))
	p, err := db.Progress(ctx, last)
	if err != nil {
		return false, false, err
	}
	analysed, err := analysed(ctx, db, last)
	if err != nil {
		return false, false, err
	}
	// Without an entry, a crash came between the run and its entry, before its first call,
	// or the ledger was removed. A run that was to be scored again with other inputs, for a reason
	// that is recorded, is finished first.
	if !known || entry.Data.Digest != now.Digest && (analysed || !last.Analysed || !desk.Book.Accepts(now)) {
		return false, false, nil
	}
	if analysed && !s.Pending(p) && !(a.Part.RetryFailed && p.Failed.Count()+p.Unjudged.Count() > 0) {
		if strings.TrimSpace(a.Unblind) == "" && len(desk.Book.Objections(now, nil)) > 0 {
			return false, false, NotAllowed("TEST runs once, and %s is finished: `scruple report %[2]s --split test` and `scruple gate %[2]s --split test` have its results, and `scruple score %[2]s --split test` writes its files. "+
				"Another run needs a reason, --unblind \"…\", which is recorded for good", last.ID, s.File.Path)
		}
		return false, false, nil
	}
	if err := attach(last); err != nil {
		return false, false, err
	}
	reasons, err := s.askedAgain(ctx, db, desk.Book, last, p, a.Part)
	if err != nil {
		return false, false, err
	}
	if s.Pending(p) || a.Part.RetryFailed {
		reasons = append(reasons, entry.Data.changes(now.Outside)...)
	}
	if e := s.tooManyFailed(p); e != nil && !last.Analysed && !s.Pending(p) && !a.Part.RetryFailed && strings.TrimSpace(a.Unblind) != "" {
		reasons, shown = []string{fmt.Sprintf("the results of %s are shown although %.1f %% of %s", last.ID, 100*e.Share, e.Of)}, true
	}
	permit := func() error {
		if len(reasons) == 0 {
			return nil
		}
		now.Digest = "" // it allows no other run
		return s.permit(desk, now, reasons, a.Unblind)
	}
	if p.Done.Count() > 0 {
		err = permit()
		return err == nil, shown, err
	}
	// Other checkouts may have begun TEST while nobody worked on it.
	err = db.InTurn(ctx, func() error {
		vacant, err := db.Vacant(ctx, last)
		if err != nil {
			return err
		}
		if vacant && !desk.Book.Accepts(now) {
			seen, err := s.seenElsewhere(ctx, db, desk.Book, now)
			if err != nil {
				return err
			}
			reasons = append(reasons, answersAbout(seen)...)
		}
		if err := permit(); err != nil || !vacant {
			return err
		}
		return db.Hold(ctx, last)
	})
	return err == nil, shown, err
}

// Find returns the run with an id, which has to be of the split of the study, or the newest run of
// the study if id is "", nil if it has none; then db may be nil.
func (s *Subject) Find(ctx context.Context, db *store.DB, id string) (*store.Run, error) {
	if id == "" {
		return s.newest(ctx, db, s.Study.Split)
	}
	found, err := db.Run(ctx, id)
	if err == nil {
		err = s.CheckSplit(found)
	}
	return found, err
}

// newest returns the newest run of the study on a split, nil if there is none.
func (s *Subject) newest(ctx context.Context, db *store.DB, split string) (*store.Run, error) {
	if db == nil {
		return nil, nil
	}
	last, err := db.LastRun(ctx, s.Study.Name, split)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return last, err
}

// pending returns whether a trial has still to be asked or judged.
func (s *Subject) pending(p *store.Progress) func(seq int) bool {
	judged := s.HasJudge()
	return func(seq int) bool { return !p.Done.Has(seq) || judged && !p.Failed.Has(seq) && !p.Judged.Has(seq) }
}

// firstPending is the place in the plan of the first pending trial, behind the last if none is.
func (s *Subject) firstPending(p *store.Progress) (seq int) {
	for pending := s.pending(p); seq < p.Trials && !pending(seq); seq++ {
	}
	return seq
}

// Pending reports whether a run is unfinished.
func (s *Subject) Pending(p *store.Progress) bool { return s.firstPending(p) < p.Trials }

// ToJudge counts the trials whose judging is pending: none if no arm is judged.
func (s *Subject) ToJudge(p *store.Progress) int {
	if !s.HasJudge() {
		return 0
	}
	return p.ToJudge()
}

// seenElsewhere lists the runs of a store, and of the one beside the study, that the
// ledger does not know and that have answers about the items. db may be nil.
func (s *Subject) seenElsewhere(ctx context.Context, db *store.DB, book Book, now Registration) (seen []string, err error) {
	beside := StorePath(s.File.Path)
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

func seenIn(ctx context.Context, db *store.DB, book Book, now Registration) (seen []string, err error) {
	runs, err := db.Runs(ctx)
	if err != nil {
		return nil, err
	}
	wanted := text.SetOf(now.Inputs)
	for _, r := range runs {
		if _, known := book.Test(KeyOf(r)); known || book.Saw(KeyOf(r)) {
			continue
		}
		items, err := db.Items(ctx, r)
		if err != nil {
			return nil, err
		}
		shared := count(wanted, inputsOf(maps.Values(items)))
		if shared == 0 {
			continue
		}
		p, err := db.Progress(ctx, r)
		vacant := true // such as that of a crash before its entry
		if err == nil && p.Done.Count() == 0 && db.Shared() {
			if vacant, err = db.Vacant(ctx, r); err == nil {
				p, err = db.Progress(ctx, r) // what was written until then
			}
		}
		if err != nil {
			return nil, err
		}
		has := fmt.Sprintf("run %s of store %s has %s of them", r.ID, db.Path(), text.Plural(shared, "item", "items"))
		switch {
		case p.Done.Count() > 0:
			seen = append(seen, has)
		case !vacant:
			seen = append(seen, has+", and is in progress")
		}
	}
	return seen, nil
}

// permit records an unblinding, or refuses without a reason.
func (s *Subject) permit(desk *Desk, now Registration, reasons []string, why string) error {
	if why = strings.TrimSpace(why); why == "" {
		return NotAllowed("not allowed on TEST:\n  %s\nundo the change, or give the reason with --unblind \"…\": it is recorded for good and printed on every report",
			strings.Join(reasons, "\n  "))
	}
	return desk.Unblind(Unblinding{Owner: now.Owner, Reason: why, Digest: now.Digest, Changes: reasons})
}

// CheckTest refuses to score a TEST run again with other inputs than it ran with.
func (s *Subject) CheckTest(ctx context.Context, db *store.DB, r *store.Run, a Attempt) error {
	if err := s.CheckSplit(r); err != nil {
		return err
	}
	if r.Split() != study.SplitTest {
		return s.CheckRegistered(a)
	}
	p, err := db.Progress(ctx, r)
	if err != nil {
		return err
	}
	// A finished run may have been killed while it was scored, or workers finished it.
	if s.Pending(p) && !s.atLook(p) || !r.Analysed && s.tooManyFailed(p) != nil {
		if err := CheckShown(ctx, db, r); err != nil {
			return err
		}
	}
	now, changes, err := s.TestChanges(r)
	if err != nil || len(changes) == 0 {
		return err
	}
	return s.write(a.By, func(desk *Desk) error { return s.permit(desk, now, changes, a.Unblind) })
}

// TestChanges lists what changed in the study since a TEST run began.
func (s *Subject) TestChanges(r *store.Run) (now Registration, changes []string, err error) {
	book, err := s.Book()
	if err != nil {
		return now, nil, err
	}
	entry, ok := book.Test(KeyOf(r))
	began, _ := book.RegistrationOf(entry)
	now = s.registration(began.Data.Judge)
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

// CheckBegan refuses a TEST run that the ledger of the study does not have.
func (s *Subject) CheckBegan(r *store.Run) error {
	book, err := s.Book()
	if _, ok := book.Test(KeyOf(r)); err == nil && !ok && r.Split() == study.SplitTest {
		err = NotAllowed("%s has no entry of TEST run %s: put the ledger of the study there", book.Path, r.ID)
	}
	return err
}

// CheckSplit refuses to make a run one of another split: a TEST run would lose its
// results unseen by the ledger, and a DEV run would be tested.
func (s *Subject) CheckSplit(r *store.Run) error {
	was, now := r.Split(), s.Study.Split
	if was == now {
		return nil
	}
	called := func(split string) string {
		if split == "" {
			return "no split"
		}
		return "split " + split
	}
	return NotAllowed("%s has %s and keeps it, but the study now has %s: give the split of the run, or the study file for a run of its own", r.ID, called(was), called(now))
}

// Created is when a run was created, as the ledger has it.
func Created(r *store.Run) string { return r.CreatedAt.UTC().Format(time.RFC3339) }

// KeyOf is a run as the ledger names it.
func KeyOf(r *store.Run) RunKey {
	return RunKey{Owner: OwnerOf(r.StudyPath, r.Study), Run: r.ID, Created: Created(r)}
}

// CheckShown refuses to show anything of a TEST run before it is finished: who sees
// results could stop it while they are good.
func CheckShown(ctx context.Context, db *store.DB, r *store.Run) error {
	if r.Split() != study.SplitTest {
		return nil
	}
	if analysed, err := analysed(ctx, db, r); analysed || err != nil {
		return err
	}
	return NotAllowed("%[1]s is a TEST run that is not finished, or of which too many trials failed, or that workers finished alone, so its results are not shown: `scruple run %[2]s --split test` resumes it or says why, and `scruple score %[2]s --split test` shows what workers finished", r.ID, r.StudyPath)
}

// analysed reports whether an analysis of a run is stored. One whose results were shown has none
// between two planned looks, and from when it follows a change or is asked again until it is scored.
func analysed(ctx context.Context, db *store.DB, r *store.Run) (bool, error) {
	if !r.Analysed {
		return false, nil
	}
	_, _, _, err := db.Analysis(ctx, r)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Blinded returns the number of pending trials of an unfinished TEST run, whose results
// are not computed, else 0. It returns a [TooManyFailedError] for a finished TEST run with
// more failed trials than the study allows. Nobody has seen its results, so these trials may
// be asked again.
func (s *Subject) Blinded(r *store.Run, p *store.Progress) (int, error) {
	if s.Study.Split != study.SplitTest || r.Analysed && s.Study.Statistics.Looks < 2 {
		return 0, nil
	}
	if s.Pending(p) && !s.atLook(p) {
		return p.Trials - p.Done.Count() + s.ToJudge(p), nil
	}
	if e := s.tooManyFailed(p); e != nil {
		return 0, e
	}
	return 0, nil
}

// tooManyFailed is [analyse.Analysis.WorstFailures] of a run that is not analysed, nil
// if the study allows them.
func (s *Subject) tooManyFailed(p *store.Progress) *TooManyFailedError {
	e := &TooManyFailedError{Allowed: *s.Study.Execution.MaxFailed, Study: s.File.Path + " --split test", Hidden: true}
	worse := func(failed, of int, what string) {
		if share := float64(failed) / float64(max(of, 1)); share > max(e.Share, e.Allowed) {
			e.Share, e.Of = share, what
		}
	}
	if s.HasJudge() {
		worse(p.Unjudged.Count(), p.Done.Count(), "trials could not be judged")
	}
	failed, done := map[string]int{}, map[string]int{}
	for seq := range p.Trials {
		if p.Done.Has(seq) {
			done[s.Plan.Trial(seq).Arm]++
		}
		if p.Failed.Has(seq) {
			failed[s.Plan.Trial(seq).Arm]++
		}
	}
	for _, arm := range s.Arms {
		worse(failed[arm.ID], done[arm.ID], "trials of "+arm.ID+" failed")
	}
	if e.Of == "" {
		return nil
	}
	return e
}

// Uncompared are runs that a ledger or a store has alone, which nothing is said against: those of
// another checkout and those that were removed look alike.
type Uncompared struct {
	NotStored   []string `json:"runs_elsewhere,omitempty"`
	NotRecorded []string `json:"runs_of_other_ledgers,omitempty"`
}

// CheckLedger compares the ledger with the runs of a store, both ways: each TEST run of
// the study, and each run that asked about items with splits, is in the ledger, if they began where
// that is, and each run that the ledger has of this store is in the store. db is nil if there is none.
func (s *Subject) CheckLedger(ctx context.Context, db *store.DB) (un Uncompared, err error) {
	book, err := s.Book()
	if err != nil {
		return un, err
	}
	var problems []error
	var has []RunKey
	at := ""
	if db != nil {
		runs, err := db.Runs(ctx)
		if err != nil {
			return un, err
		}
		for _, r := range runs {
			has = append(has, KeyOf(r))
			if r.Study != s.Study.Name {
				continue
			}
			problem := s.checkKnown(ctx, db, book, r)
			here, there, err := absolute(book.Path, Path(r.StudyPath))
			if errors.As(problem, new(*unrecordedError)) && here != there && err == nil {
				un.NotRecorded = append(un.NotRecorded, fmt.Sprintf("%s (of %s)", r.ID, r.StudyPath))
			} else {
				problems = append(problems, problem)
			}
		}
		at = s.storeBeside(db)
	}
	began := func(seq int, by string, run RunKey, in string) {
		if run.Is(s.Owner()) && (in == at || db == nil) && !slices.ContainsFunc(has, run.is) {
			un.NotStored = append(un.NotStored, fmt.Sprintf("%s (entry %d, by %s)", run.Run, seq, by))
		}
	}
	for _, t := range book.Tests {
		began(t.Seq, t.By, t.Data.RunKey, t.Data.Store)
	}
	for _, s := range book.Seen {
		began(s.Seq, s.By, s.Data.key(), s.Data.Store)
	}
	return un, errors.Join(problems...)
}

// An unrecordedError is of a run with answers that a ledger does not have.
type unrecordedError struct{ error }

// checkKnown returns an error if a run with answers should be in the ledger and is not, or has
// fewer than were shown. One without answers may be left from a crash before its entry.
func (s *Subject) checkKnown(ctx context.Context, db *store.DB, book Book, r *store.Run) error {
	p, err := db.Progress(ctx, r)
	if err != nil {
		return err
	}
	for _, shown := range book.Shown {
		again := func(u Entry[Unblinding]) bool { return book.before(shown.Hash, u.Hash) } // trials were asked again, or others
		if has := p.Done.Count(); shown.Data.is(KeyOf(r)) && has < shown.Data.Trials && !slices.ContainsFunc(of(book.Unblindings, s.Owner()), again) {
			return fmt.Errorf("store %s has %d trials of run %s, but entry %d of %s says that results of %d were shown: the store is older than the entry; restore it", db.Path(), has, r.ID, shown.Seq, book.Path, shown.Data.Trials)
		}
	}
	if p.Done.Count() == 0 {
		return nil
	}
	lost := func(what string) error {
		return &unrecordedError{fmt.Errorf("run %s of store %s %s, but %s does not have it: the ledger was replaced or removed; restore it, or merge that of another computer on which the run began", r.ID, db.Path(), what, book.Path)}
	}
	if r.Split() == study.SplitTest {
		if _, known := book.Test(KeyOf(r)); !known {
			return lost("asked about TEST")
		}
		return nil
	}
	items, err := db.Items(ctx, r)
	if err != nil {
		return err
	}
	split := map[string]bool{}
	for _, it := range s.All {
		split[it.Input.String()] = it.Split != ""
	}
	inputs := slices.DeleteFunc(inputsOf(maps.Values(items)), func(in string) bool { return !split[in] })
	// A part of the plan is recorded alone, and what was seen before has no new entry.
	if len(inputs) > 0 && !book.SawAny(inputs) {
		return lost("asked about items with splits")
	}
	return nil
}
