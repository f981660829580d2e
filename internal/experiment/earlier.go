package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/plan"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/text"
)

// An earlierRun is one whose results had been shown before this one, on items of it.
type earlierRun struct {
	*store.Run
	same        bool                 // it is of the study, whatever its name was
	items       map[string]eval.Item // of its plan
	ids         map[string]string    // of those that are in this run too: there, and here
	common      map[string]eval.Item // these, by their id here
	regraded    []string             // those of them with other gold, likewise
	calls       []eval.ArmCalls      // of this run
	there, here *reader              // of the store
}

// shownRuns lists the earlier runs of the split whose results were shown.
func (r *Run) shownRuns(ctx context.Context) (list []*store.Run, err error) {
	runs, err := r.db.Runs(ctx)
	for _, other := range runs {
		if other.N < r.Record.N && other.Analysed && other.Split() == r.Study.Split {
			list = append(list, other)
		}
	}
	return list, err
}

// isOf reports whether another run is of the same study, whatever its name was.
func (r *Run) isOf(other *store.Run) bool {
	return other.Study == r.Record.Study || other.StudyPath != "" && other.StudyPath == r.Record.StudyPath
}

// common returns the items of an earlier run, and the ids there and here of those that this run has too.
func (r *Run) common(ctx context.Context, other *store.Run) (items map[string]eval.Item, ids map[string]string, err error) {
	if other.Suite != r.Record.Suite {
		return nil, nil, nil
	}
	if items, err = r.db.PlannedItems(ctx, other); err != nil {
		if other.Archive != nil && ctx.Err() == nil { // its files are elsewhere
			err = nil
		}
		return nil, nil, err
	}
	ids = plan.Renamed(items, r.Items())
	for _, it := range r.Items() {
		if was, ok := items[it.ID]; ok && was.Input == it.Input {
			ids[it.ID] = it.ID
		}
	}
	return items, ids, nil
}

// since returns the events with which the first results of a run are shown: what the newest run of
// this study on items of the run had shown before, and that of each other study, and what changed
// since. What had changed in the former after its results had been shown counts for this run too, and
// its rules are compared with those that were seen first.
func (r *Run) since(ctx context.Context, events []store.Event, sums store.CallSums) (fresh []store.Event, err error) {
	seen, err := rulesSeen(events, r.Record)
	if n := seen.recorded; err != nil || n > 0 && seen.seen[n-1].full() || r.question().Run.Exploratory() {
		return nil, err
	}
	runs, err := r.shownRuns(ctx)
	if err != nil {
		return nil, err
	}
	var list []*store.Run // the newest first
	newest := map[string]bool{}
	for _, other := range slices.Backward(runs) {
		if same := r.isOf(other); same || !newest[other.Study] {
			list = append(list, other)
			newest[other.Study] = newest[other.Study] || !same
		}
	}
	sharing, err := r.db.Sharing(ctx, r.Record, list) // a store may have hundreds of studies: items are read of few
	if err != nil {
		return nil, err
	}
	found := false // the run of this study
	for _, other := range list {
		e := earlierRun{Run: other, same: r.isOf(other), calls: sums.ByArm(), common: map[string]eval.Item{},
			there: &reader{ctx: ctx, run: other}, here: &reader{ctx: ctx, run: r.Record}}
		if !sharing[other.N] || e.same && found {
			continue
		}
		if e.items, e.ids, err = r.common(ctx, other); err != nil {
			return nil, err
		}
		if len(e.ids) == 0 {
			continue
		}
		for there, here := range e.ids {
			e.common[here] = e.items[there]
		}
		found, e.regraded = found || e.same, plan.Regraded(e.common, r.Items())
		more, err := r.sinceRun(ctx, e, events)
		if err != nil {
			return nil, err
		}
		fresh = append(more, fresh...) // the newest is the last
	}
	return fresh, nil
}

// sinceRun compares with what one earlier run had shown.
func (r *Run) sinceRun(ctx context.Context, e earlierRun, own []store.Event) (events []store.Event, err error) {
	history, groups := read(e.there, r.db.Events), read(e.there, r.db.Grouped)
	a := r.sinceArms(e)
	bringing, changes := r.sinceRead(ctx, e, a.Changed)
	judge, rejudged := r.sinceJudge(e)
	people := r.sincePeople(ctx, e)
	if err := cmp.Or(e.there.err, e.here.err); err != nil {
		return nil, err
	}
	rules, err := rulesSeen(history, e.Run)
	if err != nil {
		return nil, err
	}
	if !e.same { // it asks about other arms
		a.Added, a.Removed, a.Renamed = nil, nil, nil
	}
	changes = append(describe(a), changes...)
	a.Changed = append(a.Changed, bringing...)
	if len(e.regraded) > 0 {
		changes = append(changes, "gold of "+listed(e.regraded)+" changed")
	}
	if len(judge) > 0 {
		changes = append(changes, judgeChanged(judge))
	}
	changes = append(changes, peopleChanges(people)...)
	grouped := map[string]eval.Item{}
	for id, it := range e.common {
		if in, known := groups[it.ID]; known {
			grouped[id] = in
		}
	}
	regrouped := r.regrouped(grouped)
	elsewhere := fmt.Sprintf("results on %s had been shown before, in run %s of study %s", itemsOfAll(len(e.common), len(r.Items())), e.ID, e.Study)
	if !e.same {
		now, err := r.deciding()
		for _, g := range regrouped {
			changes = append(changes, strings.TrimSuffix(g.Note, afterShown))
		}
		changes = append(changes, rules.last().compare(now, false)...)
		if len(changes) > 0 {
			elsewhere += "; since then: " + strings.Join(plan.Shorten(changes, 8), "; ")
		}
		return r.eventsOf(elsewhereEvent, elsewhere), err
	}
	events = r.eventsOf(shownEvent, "run "+e.ID)
	if e.Study != r.Record.Study {
		events = append(events, r.eventsOf(sinceEvent, elsewhere)...)
	}
	shown := false
	for _, h := range history {
		switch shown = shown || h.What == rulesEvent; {
		case slices.Contains(carried, h.What):
			events = append(events, h)
		case shown && slices.Contains([]string{goldEvent, peopleEvent, planEvent}, h.What):
			events = append(events, r.eventsOf(sinceEvent, e.ID+": "+h.Note)...)
		}
	}
	first := rules.first()
	events = append(events, r.rulesEvents(rulesHistory{seen: []deciding{first.renamed(first.former)}})...)
	if len(changes) > 0 {
		events = append(events, r.eventsOf(sinceEvent, sinceShown(e.ID)+strings.Join(changes, "; "))...)
	}
	a.Seen = true
	return slices.Concat(events, regrouped, r.armEvents(a, slices.Concat(events, own)), r.eventsOf(lateJudgeEvent, rejudged...)), nil
}

// sinceShown begins what changed since a run.
func sinceShown(run string) string { return "since results of " + run + " had been shown: " }

// itemsOfAll counts items.
func itemsOfAll(n, all int) string {
	if n == all {
		return text.Plural(n, "item", "items")
	}
	return fmt.Sprintf("%d of %d items", n, all)
}

// carried are the events of an earlier run of the study that are events of this one.
var carried = append([]string{lateEvent, lateJudgeEvent, sinceEvent}, groupEvents...)

// sinceArms compares arms and items with those of an earlier run.
func (r *Run) sinceArms(e earlierRun) (a store.Amendment) {
	had, questions := read(e.there, r.db.PlanArms), read(e.there, r.db.FirstQuestions)
	then := *r.Study // another seed alone is no change: it draws again
	for _, p := range e.Treatment {
		if p.Name == "seed" {
			then.Execution.Seed, _ = strconv.ParseInt(p.Value, 10, 64)
		}
	}
	asking := r.Plan.Asking(plan.Questions(&then, r.Bench.Arms()))
	askers, known := map[int64][]string{}, map[string]bool{} // arms there, by question, and those with one
	for of, q := range questions {
		if _, common := e.ids[of[0]]; common && q > 0 { // else not known
			askers[q], known[of[1]] = append(askers[q], of[1]), true
		}
	}
	// askedBy has the arms there of which an item was asked what it is asked of an arm here.
	askedBy := func(arm string) map[string]bool {
		same := map[string]bool{}
		for id := range e.common {
			if seq, ok := r.Plan.Seq(eval.Trial{Item: id, Arm: arm, Replicate: 1}); ok {
				for _, there := range askers[asking.Question(seq)] {
					same[there] = true
				}
			}
		}
		return same
	}
	a.Removed = slices.DeleteFunc(slices.Clone(had), func(arm string) bool {
		return strings.HasPrefix(arm, string(eval.RoleCalibration)+":") || slices.Contains(r.ArmIDs(), arm)
	})
	for _, arm := range r.contestants() {
		if slices.Contains(had, arm) {
			if known[arm] && !askedBy(arm)[arm] {
				a.Changed = append(a.Changed, arm)
			}
			continue
		}
		same := askedBy(arm)
		i := slices.IndexFunc(a.Removed, func(there string) bool { return same[there] })
		if i < 0 {
			a.Added = append(a.Added, arm)
			continue
		}
		a.Renamed = append(a.Renamed, [2]string{a.Removed[i], arm})
		a.Removed = slices.Delete(a.Removed, i, i+1)
	}
	here := text.SetOf(r.itemIDs())
	for id := range e.items {
		switch _, kept := e.ids[id]; {
		case kept:
		case here[id]:
			a.ItemsChanged++
		default:
			a.ItemsRemoved++
		}
	}
	a.ItemsAdded = len(here) - len(e.common) - a.ItemsChanged
	return a
}

// sinceRead compares what outcomes depend on beside answers to questions, of arms whose questions did not
// change. It returns the arms that bring other answers or scores, and what differs.
func (r *Run) sinceRead(ctx context.Context, e earlierRun, changed []string) (arms []string, notes []string) {
	regraded, bringing, reading := text.SetOf(e.regraded), text.SetOf(r.bringing()), text.SetOf(r.arms(r.reads))
	other, brought, others := map[string]bool{}, map[string]bool{}, false
	for was := range until(&e.there.err, r.db.ReadBy(ctx, e.Run)) {
		t := was.Trial
		t.Item = e.ids[t.Item]
		seq, planned := r.Plan.Seq(t)
		if !planned || !reading[t.Arm] || regraded[t.Item] || slices.Contains(changed, t.Arm) {
			continue
		}
		if now, _ := r.Plan.Basis(seq); now == was.Basis || r.Plan.ReadEarlier(seq, was.Basis) {
			continue
		}
		if bringing[t.Arm] {
			other[t.Arm], brought[t.Item] = true, true
		} else {
			others = true
		}
	}
	addBrought(&notes, brought)
	if others {
		notes = append(notes, "what answers are read by changed")
	}
	return slices.Sorted(maps.Keys(other)), notes
}

// addBrought names items of which arms bring other answers or scores.
func addBrought(list *[]string, items map[string]bool) {
	if len(items) > 0 {
		*list = append(*list, "answers or scores that arms bring changed for "+listed(slices.Sorted(maps.Keys(items))))
	}
}

// sinceJudge compares the judge with that of an earlier run: its settings, and what it is asked
// by, of which the hashes of verdicts tell. It returns the settings that changed, and the arms.
func (r *Run) sinceJudge(e earlierRun) (settings, arms []string) {
	was, now := read(e.there, r.db.JudgedBy), read(e.here, r.db.JudgedBy)
	if len(was) == 0 {
		return nil, nil
	}
	settings = changedParts(judgedWith(e.Treatment, e.StudyJSON), judgedWith(r.Record.Treatment, r.Record.StudyJSON))
	arms = r.arms(func(a eval.Arm) bool {
		anew := slices.ContainsFunc(e.calls, func(c eval.ArmCalls) bool { return c.Arm == a.ID && c.Stage == eval.StageJudge && c.Reused < c.Calls })
		return len(a.Judges) > 0 && a.Role != eval.RoleCalibration && (len(settings) > 0 || anew && slices.ContainsFunc(r.Items(), func(it eval.Item) bool {
			there, common := e.common[it.ID]
			before, after := was[[2]string{there.ID, a.ID}], now[[2]string{it.ID, a.ID}]
			return common && there.Gold == it.Gold && before != 0 && after != 0 && before != after
		}))
	})
	return settings, arms
}

// sincePeople compares people's verdicts with those on the same answers in an earlier run.
func (r *Run) sincePeople(ctx context.Context, e earlierRun) store.PeopleDiff {
	was, now := read(e.there, r.db.SaidByPeople), read(e.here, r.db.SaidByPeople)
	d := store.PeopleDiff{Lacking: map[string]int{}, Changed: map[string]int{}, Outdated: map[string]int{}}
	differ := map[eval.Trial][]store.PersonUnit{}
	both := maps.Collect(maps.All(was))
	maps.Copy(both, now)
	for u := range both {
		before, had := was[u]
		if after, has := now[u]; had != has || before != after {
			differ[u.Trial] = append(differ[u.Trial], u)
		}
	}
	if len(differ) == 0 {
		return d
	}
	for there := range until(&e.there.err, r.db.Outcomes(ctx, e.Run)) {
		units := differ[there.Trial]
		if _, planned := r.Plan.Seq(there.Trial); len(units) == 0 || !planned {
			continue
		}
		here, err := r.db.Outcome(ctx, r.Record, there.Trial)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			e.here.err = err
			return d
		}
		if !sameOutcome(here.Outcome, there.Outcome) { // or none
			continue
		}
		for _, u := range units {
			_, had := was[u]
			_, has := now[u]
			if !has {
				d.Outdated[u.Step]++
				continue
			}
			if d.Lacking[u.Step]++; had {
				d.Changed[u.Step]++
			}
		}
	}
	return d
}
