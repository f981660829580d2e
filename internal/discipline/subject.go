// Package discipline keeps DEV and TEST apart, and says what may run and be shown.
//
// A ledger records what must be settled before results are seen: preregistrations, TEST
// runs, the reasons for which a TEST set was looked at again, and the revisions made on
// DEV. [Book] is what a ledger says of them (book.go). A [Subject] is a study that is
// compared with it: what a TEST run is registered with (registration.go), whether a run
// may start and its results be shown (start.go), at which items TEST is looked at
// (looks.go), what reports say of all that (report.go), and which items are one
// observation or would let TEST confirm DEV (independence.go).
//
// The ledger is that of the study's folder or repository ([ledger.Find]), wherever the
// store is, so that another store or folder does not make a second TEST run the first
// one. Items are compared by the hashes of their inputs and of what they are about, so that
// another name of the study, or of a schema, does not either.
//
// The package must not know suites or models, and reads no answer: of a store it reads
// which runs there are, their items and their progress.
package discipline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/ledger"
	"github.com/scruple-eval/scruple/internal/plan"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/study"
)

// A Subject is a study with its data, as far as it decides what may run and be shown.
type Subject struct {
	Study     *study.Study
	File      *study.File
	Items     []eval.Item // of the split
	All       []eval.Item // of the data
	Arms      []eval.Arm
	Plan      *plan.Plan
	Treatment []eval.Part
	Files     []study.Sum // that the study and its bench read, of a study with splits
	Pairs     []analyse.Pair
	Primary   []string
	Version   string // of the program
	Now       func() time.Time
	Judge     Judge
	Outside   Outside
	// Compares returns the metric if the study compares two arms on it.
	Compares func(a, b, metric string) (eval.Metric, bool)
}

// A Judge is that of a study, as far as a registration has its accuracy.
type Judge struct {
	Measures bool   // whether a DEV run should have measured it
	Settings string // a hash of them
	// OnDev is what the newest fit DEV run measured, or why none did.
	OnDev func(context.Context, *store.DB) (m *Measured, missing string, err error)
}

// A Part selects what of a run's pending work to do.
type Part struct {
	Items       []string // empty: all
	Arms        []string // empty: all. The arms that calibrate judges are always included
	Limit       int      // the first items of the plan, a random sample; 0: all
	RetryFailed bool     // failed trials too
}

// Whole reports whether the part is the whole run.
func (p Part) Whole() bool { return len(p.Items)+len(p.Arms) == 0 && p.Limit == 0 }

// An Attempt is how a run is to be started or resumed.
type Attempt struct {
	ID      string // of the run, "" for the newest of the study
	Fresh   bool   // start another run
	Part    Part
	Unblind string // why TEST is looked at again; "" for no reason
	By      string // who acts
}

// HasJudge reports whether any arm is judged.
func (s *Subject) HasJudge() bool {
	return slices.ContainsFunc(s.Arms, func(arm eval.Arm) bool { return len(arm.Judges) > 0 })
}

// Owner is the study as the ledger names it.
func (s *Subject) Owner() Owner { return OwnerOf(s.File.Path, s.Study.Name) }

// Book reads the ledger of the study.
func (s *Subject) Book() (Book, error) { return BookOf(s.File.Path) }

// BookOf reads the ledger of a study file.
func BookOf(study string) (Book, error) {
	book, err := Read(Path(study))
	if err == nil {
		err = book.readAbove(study)
	}
	if err != nil {
		return book, &NotAllowedError{Err: err}
	}
	return book, nil
}

// write does something with the ledger open for writing.
func (s *Subject) write(by string, do func(*Desk) error) (err error) {
	desk, err := Open(s.File.Path, by, s.Now)
	if err != nil {
		return &NotAllowedError{Err: err}
	}
	defer func() { err = errors.Join(err, desk.Close()) }()
	return do(desk)
}

// A NotAllowedError prevents mixing two experiments or deciding by unreliable
// numbers: the study no longer matches the run, the analysis is outdated, or the
// scorer fails a known case.
type NotAllowedError = ledger.NotAllowedError

// NotAllowed returns a [NotAllowedError].
func NotAllowed(format string, args ...any) error { return ledger.NotAllowed(format, args...) }

// A TooManyFailedError reports that more trials failed than the study allows.
type TooManyFailedError struct {
	Share   float64 // of trials or judgements
	Of      string  // what the share counts
	Allowed float64
	Study   string // the study's file, and its split if that is TEST
	Remedy  string // what to do about the failed trials
	Hidden  bool   // the run is a TEST run, and its results are not shown
}

func (e *TooManyFailedError) Error() string {
	if e.Hidden {
		return fmt.Sprintf("%.1f %% of %s, the study allows %.1f %%: the results of TEST are not shown, so that the failed trials can be asked again: `scruple run --retry-failed %s`. "+
			"--unblind \"…\" shows the results without them; the reason is recorded for good", 100*e.Share, e.Of, 100*e.Allowed, e.Study)
	}
	return fmt.Sprintf("%.1f %% of %s, the study allows %.1f %%: `scruple report %[4]s` gives the reasons; %[5]s",
		100*e.Share, e.Of, 100*e.Allowed, e.Study, e.Remedy)
}
