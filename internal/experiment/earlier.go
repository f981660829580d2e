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

	"github.com/scruple-eval/scruple/internal/discipline"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/plan"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/text"
)

// An earlierRun is one whose results had been shown before this one, on items of it.
type earlierRun struct {
	*store.Run
	same   bool                 // it is of the study, whatever its name was
	items  map[string]eval.Item // of its plan
	common map[string]eval.Item // those that are in this run too, by their id here
	calls  []eval.ArmCalls      // of this run
}

// shownRuns lists the earlier runs of the split whose results were shown.
func (r *Run) shownRuns(ctx context.Context) (list []*store.Run, err error) {
	runs, err := r.db.Runs(ctx)
	for _, other := range runs {
		if other.N < r.Record.N && other.Analysed && discipline.SplitOf(other) == r.Study.Split {
			list = append(list, other)
		}
	}
	return list, err
}

// isOf reports whether another run is of the same study, whatever its name was.
func (r *Run) isOf(other *store.Run) bool {
	return other.Study == r.Record.Study || other.StudyPath != "" && other.StudyPath == r.Record.StudyPath
}

// common returns the items of an earlier run with those that this run has too, by their id here.
func (r *Run) common(ctx context.Context, other *store.Run) (items, common map[string]eval.Item, err error) {
	if other.Suite != r.Record.Suite {
		return nil, nil, nil
	}
	if items, err = r.db.PlannedItems(ctx, other); err != nil {
		if other.Archive != nil && ctx.Err() == nil { // its files are elsewhere
			err = nil
		}
		return nil, nil, err
	}
	renamed, common := plan.Renamed(items, r.Items()), map[string]eval.Item{}
	for was, now := range renamed {
		common[now] = items[was]
	}
	for _, it := range r.Items() {
		if was, ok := items[it.ID]; ok && was.Input == it.Input {
			common[it.ID] = was
		}
	}
	return items, common, nil
}

// since returns the events with which the first results of a run are shown: what the newest run of
// this study on items of the run had shown before, and that of each other study, and what changed
// since. What had changed in the former after its results had been shown counts for this run too, and
// its rules are compared with those that were seen first.
func (r *Run) since(ctx context.Context, events []store.Event, sums store.CallSums) ([]store.Event, error) {
	seen, err := rulesSeen(events, r.Record)
	if err != nil {
		return nil, err
	}
	if n := seen.recorded; n > 0 && seen.seen[n-1].full() || r.question().Run.Exploratory() {
		return nil, nil
	}
	runs, err := r.shownRuns(ctx)
	if err != nil {
		return nil, err
	}
	sharing, err := r.sharing(ctx, runs)
	if err != nil {
		return nil, err
	}
	var fresh []store.Event
	compared := map[string]bool{}
	for _, other := range slices.Backward(runs) {
		e := earlierRun{Run: other, same: r.isOf(other), calls: sums.ByArm()}
		study := other.Study
		if e.same {
			study = r.Record.Study
		}
		if compared[study] {
			continue
		}
		if !e.same && !sharing[other.N] {
			compared[study] = true
			continue
		}
		if e.items, e.common, err = r.common(ctx, other); err != nil {
			return nil, err
		}
		compared[study] = !e.same || len(e.common) > 0
		if len(e.common) > 0 {
			more, err := r.sinceRun(ctx, e, events)
			if err != nil {
				return nil, err
			}
			fresh = append(more, fresh...) // the newest is the last
		}
	}
	return fresh, nil
}

// sharing returns the newest run of each other study that has an item of the run, by number, so
// that items are read of these alone: a store may have hundreds of studies.
func (r *Run) sharing(ctx context.Context, runs []*store.Run) (map[int64]bool, error) {
	newest := map[string]*store.Run{}
	for _, other := range runs {
		if !r.isOf(other) {
			newest[other.Study] = other
		}
	}
	return r.db.Sharing(ctx, r.Record, slices.Collect(maps.Values(newest)))
}

// sinceRun compares with what one earlier run had shown.
func (r *Run) sinceRun(ctx context.Context, e earlierRun, own []store.Event) (events []store.Event, err error) {
	was := &reader{ctx: ctx, run: e.Run}
	history, groups := read(was, r.db.Events), read(was, r.db.Grouped)
	if was.err != nil {
		return nil, was.err
	}
	rules, err := rulesSeen(history, e.Run)
	if err != nil {
		return nil, err
	}
	a, reading, err := r.sinceArms(ctx, e)
	if err != nil {
		return nil, err
	}
	judge, rejudged, err := r.sinceJudge(ctx, e)
	if err != nil {
		return nil, err
	}
	people, err := r.sincePeople(ctx, e)
	if err != nil {
		return nil, err
	}
	if !e.same { // it asks about other arms
		a.Added, a.Removed, a.Renamed = nil, nil, nil
	}
	changes := append(describe(a), reading.notes()...)
	a.Changed = append(a.Changed, reading.arms...)
	if regraded := plan.Regraded(e.common, r.Items()); len(regraded) > 0 {
		changes = append(changes, "gold of "+listed(regraded)+" changed")
	}
	if len(judge) > 0 {
		changes = append(changes, "the judge changed ("+strings.Join(judge, ", ")+")")
	}
	changes = append(changes, peopleChanges(people)...)
	grouped := map[string]eval.Item{}
	for id, it := range e.common {
		if in, known := groups[it.ID]; known {
			grouped[id] = in
		}
	}
	regrouped := r.regrouped(grouped)
	event := func(what, note string) {
		events = append(events, store.Event{At: r.env.Now(), What: what, Note: note})
	}
	elsewhere := fmt.Sprintf("results on %s had been shown before, in run %s of study %s", itemsOfAll(len(e.common), len(r.Items())), e.ID, e.Study)
	if !e.same {
		now, err := r.deciding()
		if err != nil {
			return nil, err
		}
		for _, g := range regrouped {
			changes = append(changes, strings.TrimSuffix(g.Note, afterShown))
		}
		changes = append(changes, rules.last().compare(now, false)...)
		if len(changes) > 0 {
			elsewhere += "; since then: " + strings.Join(plan.Shorten(changes, 8), "; ")
		}
		event(elsewhereEvent, elsewhere)
		return events, nil
	}
	if event(shownEvent, "run "+e.ID); e.Study != r.Record.Study {
		event(sinceEvent, elsewhere)
	}
	shown := false
	for _, h := range history {
		switch shown = shown || h.What == rulesEvent; {
		case slices.Contains(carried, h.What):
			events = append(events, h)
		case shown && (h.What == goldEvent || h.What == peopleEvent || h.What == planEvent && strings.Contains(h.Note, hadShown)):
			event(sinceEvent, e.ID+": "+h.Note)
		}
	}
	first := rules.first()
	events = append(events, r.rulesEvents(rulesHistory{seen: []deciding{first.renamed(first.former)}})...)
	if len(changes) > 0 {
		event(sinceEvent, sinceShown(e.ID)+strings.Join(changes, "; "))
	}
	a.Seen = true
	return slices.Concat(events, regrouped, r.armEvents(a, slices.Concat(events, own)), r.eventsOf(lateJudgeEvent, rejudged)), nil
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
var carried = []string{lateEvent, lateJudgeEvent, sinceEvent, plan.Splits + groupEvent, plan.Strata + groupEvent, plan.Clusters + groupEvent}

// sinceArms compares arms and items with those of an earlier run, and by what answers are read.
func (r *Run) sinceArms(ctx context.Context, e earlierRun) (a store.Amendment, reading readings, err error) {
	was := &reader{ctx: ctx, run: e.Run}
	had, questions := read(was, r.db.PlanArms), read(was, r.db.FirstQuestions)
	if was.err != nil {
		return a, reading, was.err
	}
	then := *r.Study // another seed alone is no change: it draws again
	for _, p := range e.Treatment {
		if p.Name == "seed" {
			then.Execution.Seed, _ = strconv.ParseInt(p.Value, 10, 64)
		}
	}
	asking := r.Plan.Asking(plan.Questions(&then, r.Bench.Arms()))
	// asked counts the items of which an arm asks the same as one did there, and another question.
	asked := func(arm, there string) (same, other int) {
		for id, it := range e.common {
			seq, ok := r.Plan.Seq(eval.Trial{Item: id, Arm: arm, Replicate: 1})
			q := questions[[2]string{it.ID, there}]
			switch {
			case !ok || q <= 0: // not known
			case q == asking.Question(seq):
				same++
			default:
				other++
			}
		}
		return same, other
	}
	left := slices.DeleteFunc(slices.Clone(had), func(arm string) bool {
		return strings.HasPrefix(arm, string(eval.RoleCalibration)+":") || slices.Contains(r.ArmIDs(), arm)
	})
	for _, arm := range r.contestants() {
		if slices.Contains(had, arm) {
			if same, other := asked(arm, arm); same == 0 && other > 0 {
				a.Changed = append(a.Changed, arm)
			}
			continue
		}
		i := slices.IndexFunc(left, func(there string) bool { same, _ := asked(arm, there); return same > 0 })
		if i < 0 {
			a.Added = append(a.Added, arm)
			continue
		}
		a.Renamed = append(a.Renamed, [2]string{left[i], arm})
		left = slices.Delete(left, i, i+1)
	}
	a.Removed = left
	here := setOf(r.itemIDs())
	kept := map[string]bool{} // by their id there
	for _, it := range e.common {
		kept[it.ID] = true
	}
	for id := range e.items {
		switch {
		case kept[id]:
		case here[id]:
			a.ItemsChanged++
		default:
			a.ItemsRemoved++
		}
	}
	a.ItemsAdded = len(here) - len(e.common) - a.ItemsChanged
	reading, err = r.sinceRead(ctx, e, a)
	return a, reading, err
}

// readings are what differs in what outcomes depend on beside answers to questions.
type readings struct {
	arms    []string // that bring other answers or scores
	brought []string // their items
	read    bool     // answers of others are read by something else
}

func (r readings) notes() (notes []string) {
	if len(r.brought) > 0 {
		notes = append(notes, "answers or scores that arms bring changed for "+listed(r.brought))
	}
	if r.read {
		notes = append(notes, "what answers are read by changed")
	}
	return notes
}

func (r *Run) sinceRead(ctx context.Context, e earlierRun, a store.Amendment) (reading readings, err error) {
	regraded, bringing, arms := setOf(plan.Regraded(e.common, r.Items())), setOf(r.bringing()), setOf(r.arms(r.reads))
	here := map[string]string{} // the ids of items by those there
	for id, it := range e.common {
		here[it.ID] = id
	}
	other, brought := map[string]bool{}, map[string]bool{}
	for was, err := range r.db.ReadBy(ctx, e.Run) {
		if err != nil {
			return reading, err
		}
		t := was.Trial
		t.Item = here[t.Item]
		seq, planned := r.Plan.Seq(t)
		if !planned || !arms[t.Arm] || regraded[t.Item] || slices.Contains(a.Changed, t.Arm) {
			continue
		}
		if now, _ := r.Plan.Basis(seq); now != was.Basis && !r.Plan.ReadEarlier(seq, was.Basis) {
			if bringing[t.Arm] {
				other[t.Arm], brought[t.Item] = true, true
			} else {
				reading.read = true
			}
		}
	}
	reading.arms, reading.brought = slices.Sorted(maps.Keys(other)), slices.Sorted(maps.Keys(brought))
	return reading, nil
}

// sinceJudge compares the judge with that of an earlier run: its settings, and what it is asked
// by, of which the hashes of verdicts tell. It returns the settings that changed, and the arms.
func (r *Run) sinceJudge(ctx context.Context, e earlierRun) (settings, arms []string, err error) {
	then, here := &reader{ctx: ctx, run: e.Run}, &reader{ctx: ctx, run: r.Record}
	was, now := read(then, r.db.JudgedBy), read(here, r.db.JudgedBy)
	if err := cmp.Or(then.err, here.err); err != nil || len(was) == 0 {
		return nil, nil, err
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
	return settings, arms, nil
}

// sincePeople compares what people say of answers with what they said of the same ones in an earlier run.
func (r *Run) sincePeople(ctx context.Context, e earlierRun) (d store.PeopleDiff, err error) {
	then, here := &reader{ctx: ctx, run: e.Run}, &reader{ctx: ctx, run: r.Record}
	was, now := read(then, r.db.SaidByPeople), read(here, r.db.SaidByPeople)
	if err := cmp.Or(then.err, here.err); err != nil {
		return d, err
	}
	d = store.PeopleDiff{Lacking: map[string]int{}, Changed: map[string]int{}, Outdated: map[string]int{}}
	both := maps.Clone(was)
	maps.Copy(both, now)
	for u := range both {
		before, had := was[u]
		after, has := now[u]
		if had && has && before == after {
			continue
		}
		if same, err := r.sameAnswer(ctx, e.Run, u.Trial); err != nil {
			return d, err
		} else if !same {
			continue
		}
		switch {
		case !has:
			d.Outdated[u.Step]++
		case had:
			d.Changed[u.Step]++
			fallthrough
		default:
			d.Lacking[u.Step]++
		}
	}
	return d, nil
}

// sameAnswer reports whether a trial has the same outcome in this run and in another one.
func (r *Run) sameAnswer(ctx context.Context, other *store.Run, t eval.Trial) (bool, error) {
	var outcomes [2]eval.Outcome
	for i, run := range []*store.Run{r.Record, other} {
		at, err := r.db.PlaceOf(ctx, run, t)
		if err == nil {
			var of eval.Judged
			of, err = r.db.OutcomeOf(ctx, run, at.ID)
			outcomes[i] = of.Outcome
		}
		if errors.Is(err, store.ErrNotFound) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	return sameOutcome(outcomes[0], outcomes[1]), nil
}
