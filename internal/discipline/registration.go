package discipline

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/text"
)

// mostFiles is the most bytes that the names and hashes of files have in a line of the ledger,
// beside [MostInputs].
const mostFiles = 1 << 19

// registrationIn describes what would run now, with the judge's accuracy that the newest
// registration of a TEST run has.
func (s *Subject) registrationIn(book Book) Registration {
	var judge *Measured
	if g, ok := book.Registration(s.Owner()); ok && s.Judge.Measures {
		judge = g.Data.Judge
	}
	return s.registration(judge)
}

// registration describes what would run now with an accuracy of the judge, nil for none.
func (s *Subject) registration(judge *Measured) Registration {
	var in, gold []string
	for _, it := range s.Items {
		in, gold = append(in, it.ID+"="+it.Input.String()), append(gold, it.ID+"="+it.Gold.String())
	}
	slices.Sort(in)
	slices.Sort(gold)
	parts := []eval.Part{
		{Name: "study file", Value: s.File.SHA256()},
		{Name: "settings", Value: dataset.SHA256(s.lastingSettings())},
		{Name: "items", Value: fmt.Sprint(len(s.Items))},
		{Name: "inputs", Value: dataset.SHA256([]byte(strings.Join(in, "\n")))},
		{Name: "gold", Value: dataset.SHA256([]byte(strings.Join(gold, "\n")))},
	}
	parts = append(parts, s.Treatment...)
	var files []eval.Part
	for _, f := range s.Files {
		files = append(files, eval.Part{Name: "file " + f.Path, Value: f.SHA256})
	}
	if len(eval.EncodeParts(files)) > mostFiles {
		files = []eval.Part{{Name: "files", Value: DigestOf(files)}}
	}
	parts = append(append(parts, files...), eval.Part{Name: "scorer of scruple", Value: s.Version}, eval.Part{Name: "planned test", Value: s.plannedTest()})
	if judge != nil {
		data, _ := json.Marshal(judge) // numbers and texts
		parts = append(parts, eval.Part{Name: "accuracy of the judge", Value: fmt.Sprintf("%s, SHA-256 %s", judge, dataset.SHA256(data))})
	}
	return Registration{Owner: s.Owner(), File: filepath.Base(s.File.Path), Digest: DigestOf(parts), Test: s.plannedTest(),
		Items: len(s.Items), Parts: parts, Hashes: hashesOf(s.distinct()), Judge: judge, Outside: s.Outside}
}

// distinct are the items of the study, without the hash of a material that several inputs of the
// data have: a document with two schemas is on DEV with one and on TEST with the other.
func (s *Subject) distinct() []eval.Item {
	input, several := map[eval.Hash]eval.Hash{}, map[eval.Hash]bool{}
	for _, it := range s.All {
		if was, ok := input[it.Material]; ok && was != it.Input {
			several[it.Material] = true
		}
		input[it.Material] = it.Input
	}
	items := slices.Clone(s.Items)
	for i := range items {
		if several[items[i].Material] {
			items[i].Material = 0
		}
	}
	return items
}

// passing are the settings that change neither requests nor results.
var passing = map[string][]string{
	"execution": {"concurrency", "retries", "timeout", "delay", "max_cost", "max_calls", "max_tokens"},
	"output":    nil, // all of them
	"assume":    nil,
}

// lastingSettings are those of the study and of the overrides by which a TEST run must
// not differ from its registration.
func (s *Subject) lastingSettings() []byte {
	keys := s.File.Keys()
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
func (s *Subject) plannedTest() string {
	set := s.Study.Statistics
	var pairs []string
	for _, p := range s.Pairs {
		if p.Primary {
			pairs = append(pairs, p.A+" against "+p.B)
		}
	}
	const few = 6
	of := cmp.Or(strings.Join(pairs, ", "), "no comparison")
	if len(pairs) > few {
		of = text.Plural(len(pairs), "primary comparison", "primary comparisons")
	}
	level := fmt.Sprintf("alpha %g", set.Alpha)
	if set.Looks > 1 {
		level += fmt.Sprintf(" spent over %d looks", set.Looks)
	}
	return fmt.Sprintf("%s at %s, correction %s, of %s on %s", set.Method, level, set.Correction, of, strings.Join(s.Primary, ", "))
}

// A Registered is what [Subject.Preregister] did.
type Registered struct {
	Entry[Registration]
	Known  bool                 // the newest entry had registered the same
	Before *Entry[Registration] // what it replaces, nil for nothing
	// OnTest says why the judge will be measured on TEST; "" if DEV measured it, or none is.
	OnTest string
}

// Preregister records what a TEST run will ask and how it will decide. What is registered
// already is not recorded again.
func (s *Subject) Preregister(ctx context.Context, db *store.DB, by, unblind string) (r Registered, err error) {
	if s.Study.Split != study.SplitTest {
		return r, fmt.Errorf("test register: the study has split %q: register TEST with --split test", s.Study.Split)
	}
	err = s.write(by, func(desk *Desk) (err error) {
		was, again := desk.Book.Registration(s.Owner())
		judge, missing, err := s.Judge.OnDev(ctx, db)
		if err != nil {
			return err
		}
		if old := was.Data.Judge; old != nil && old.Settings == s.Judge.Settings && (judge == nil || slices.Equal(old.Tallies, judge.Tallies)) {
			judge = old // DEV measured nothing else
		}
		if judge == nil {
			r.OnTest = missing
		}
		now := s.registration(judge)
		seen, err := s.seenElsewhere(ctx, db, desk.Book, now)
		if err != nil {
			return err
		}
		r.Known = again && was.Data.Digest == now.Digest && len(was.Data.changes(now.Outside)) == 0
		if reasons := desk.Book.SeenBefore(now, seen); len(reasons) > 0 && (!r.Known || len(desk.Book.Objections(now, seen)) > 0) {
			if err := s.permit(desk, now, reasons, unblind); err != nil {
				return err
			}
		}
		if r.Known {
			r.Entry = was
			return nil
		}
		if again {
			r.Before = &was
		}
		if err := desk.Add(now); err != nil {
			return err
		}
		r.Entry, _ = desk.Book.Registration(now.Owner)
		return nil
	})
	return r, err
}

// Unblind records a reason to look at TEST again, or with changed inputs. db may be nil.
func (s *Subject) Unblind(ctx context.Context, db *store.DB, by, reason string) (changes []string, err error) {
	err = s.write(by, func(desk *Desk) (err error) {
		now := s.registrationIn(desk.Book)
		seen, err := s.seenElsewhere(ctx, db, desk.Book, now)
		if err != nil {
			return err
		}
		changes = append(desk.Book.Changes(now), desk.Book.SeenBefore(now, seen)...)
		if len(changes) == 0 {
			return NotAllowed("nothing is blinded: the study is as registered and no TEST run of it began")
		}
		return s.permit(desk, now, changes, reason)
	})
	return changes, err
}

// A Revised is what was used of the budget after a revision, and what the revision comes
// after, if the study is registered or TEST began.
type Revised struct {
	Used  []analyse.Used
	After string
}

// Revise records a revision cycle on DEV.
func (s *Subject) Revise(ctx context.Context, db *store.DB, by, hypothesis, change string) (r *Revised, err error) {
	err = s.write(by, func(desk *Desk) (err error) {
		done, _ := desk.Book.Of(s.Owner())
		if most := s.Study.Budget.Cycles; most != nil && len(done) >= *most {
			return NotAllowed("the study allows %s and all are used: run TEST, change the question, or raise budget.cycles", text.Plural(*most, "revision cycle", "revision cycles"))
		}
		revision := Revision{Owner: s.Owner(), Hypothesis: hypothesis, Change: change}
		if newest, err := s.newest(ctx, db, study.SplitDev); err != nil {
			return err
		} else if newest != nil {
			revision.Run = newest.ID
		}
		r = &Revised{}
		if t, ok := last(of(desk.Book.Tests, s.Owner())); ok {
			revision.After = t.Data.Run
			r.After = fmt.Sprintf("TEST of this study began on %s (%s, entry %d of the ledger): its items are no test of this change. Reports say that the revision came after TEST; "+
				"to test it, register items that nobody has seen", Day(t.At), t.Data.Run, t.Seq)
		} else if g, ok := desk.Book.Registration(s.Owner()); ok {
			r.After = fmt.Sprintf("the study is registered (entry %d of the ledger): register it again after the change, before TEST runs", g.Seq)
		}
		if err := desk.Add(revision); err != nil {
			return err
		}
		r.Used, err = s.budget(ctx, db, desk.Book, s.Now())
		return err
	})
	return r, err
}

// budget lists what was used of the limits of a study until now. All runs that the store has count,
// whatever time the clocks of their machines had.
func (s *Subject) budget(ctx context.Context, db *store.DB, book Book, now time.Time) ([]analyse.Used, error) {
	var first time.Time
	cost, calls := 0.0, 0
	if db != nil {
		runs, err := db.Runs(ctx)
		if err != nil {
			return nil, err
		}
		for _, r := range runs {
			if r.Study != s.Study.Name {
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
		days = math.Floor(max(0, now.Sub(first).Hours())/24) + 1
	}
	b := s.Study.Budget
	cycles := s.Cycles()
	revisions, _ := book.Of(s.Owner())
	cycles.Used = float64(len(revisions))
	list := []analyse.Used{cycles, {Name: "days", Used: days, Allowed: limit(b.Days)}, {Name: inDollars, Allowed: b.Cost}}
	return WithRun(list, eval.Spent{Cost: cost, Unpriced: calls}), nil
}

// inDollars is the name of what was spent.
const inDollars = "cost in US dollars"

// WithRun is a budget of which a run spent more.
func WithRun(budget []analyse.Used, spent eval.Spent) []analyse.Used {
	list := slices.Clone(budget)
	for i := range list {
		u := &list[i]
		if u.Name != inDollars {
			continue
		}
		u.Used = math.Round((u.Used+spent.Cost)*1e4) / 1e4
		before := 0 // calls of unknown cost
		_, _ = fmt.Sscan(u.Note, &before)
		if n := before + spent.Unpriced; n > 0 {
			u.Note = text.Plural(n, "call", "calls") + " of unknown cost not counted"
		}
	}
	return list
}

// Cycles is the budget of revision cycles, with none used yet.
func (s *Subject) Cycles() analyse.Used {
	return analyse.Used{Name: "revision cycles", Allowed: limit(s.Study.Budget.Cycles)}
}

func limit(n *int) *float64 {
	if n == nil {
		return nil
	}
	f := float64(*n)
	return &f
}
