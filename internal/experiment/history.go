package experiment

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/discipline"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/plan"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/text"
)

// The kinds of event in the history of a run.
const (
	goldEvent = "gold changed"
	// peopleEvent says which verdicts of people came or changed after results had been shown.
	peopleEvent = "verdicts of people"
	planEvent   = store.EventPlan
	lateEvent   = "late arm" // the note is its id
	// judgeEvent names a setting of a judge that changed. An event of the plan follows when answers
	// have been judged again.
	judgeEvent = "judge changed"
	// lateJudgeEvent is that of an arm of which only the judge changed.
	lateJudgeEvent = "late judge"
	// rulesEvent records under which rules results of a run were seen: one when they were
	// first seen, and one for each change. The note is [deciding] as JSON.
	rulesEvent = "rules"
	// retryEvent is a session that asks failed trials again. The note has, as JSON, how many failed
	// of how many, by arm.
	retryEvent = "failed trials asked again"
	// shownEvent names a run whose results had been shown before, and sinceEvent says what changed
	// after that. elsewhereEvent is both for a run of another study.
	shownEvent     = "shown before"
	sinceEvent     = "changed since"
	elsewhereEvent = "shown in another study"
	// groupEvent, after one of [groups], names the items that are in another one since.
	groupEvent = " changed"
)

// groups are what an analysis groups items by.
var groups = []string{plan.Splits, plan.Strata, plan.Clusters}

// groupEvents are the kinds of their events.
var groupEvents = mapped(groups, func(what string) string { return what + groupEvent })

// regrouped says which items are in other groups than results were shown for.
func (x *Experiment) regrouped(was map[string]eval.Item) (events []store.Event) {
	changed := plan.Regrouped(was, x.Items())
	for _, what := range groups {
		if ids := changed[what]; len(ids) > 0 {
			events = append(events, x.eventsOf(what+groupEvent, what+" of "+listed(ids)+" changed"+afterShown)...)
		}
	}
	return events
}

// What notes of events say of results.
const (
	hadShown   = "results had been shown"
	afterShown = " after " + hadShown
	afterSeen  = "after results were seen: "
)

// listed counts and names items.
func listed(ids []string) string {
	return fmt.Sprintf("%s (%s)", text.Plural(len(ids), "item", "items"), strings.Join(plan.Shorten(ids, 20), ", "))
}

// PeopleEvents are the events of verdicts of people that change in a run. Who has seen results knows
// which answers would change them.
func (r *Run) PeopleEvents(d store.PeopleDiff) []store.Event {
	if !r.Record.Analysed {
		return nil
	}
	return r.eventsOf(peopleEvent, mapped(peopleChanges(d), func(note string) string { return note + afterShown })...)
}

// peopleChanges describes how verdicts of people differ, by task.
func peopleChanges(d store.PeopleDiff) (notes []string) {
	tasks := slices.AppendSeq(slices.Collect(maps.Keys(d.Lacking)), maps.Keys(d.Outdated)) // also of tasks that left the study
	slices.Sort(tasks)
	for _, task := range slices.Compact(tasks) {
		var list []string
		text.AddCount(&list, d.Lacking[task]-d.Changed[task], "verdict", "verdicts", " added")
		text.AddCount(&list, d.Changed[task], "verdict", "verdicts", " changed")
		text.AddCount(&list, d.Outdated[task], "verdict", "verdicts", " removed")
		notes = append(notes, "people, task "+task+": "+strings.Join(list, ", "))
	}
	return notes
}

// notesOf are the notes of the events of some kinds.
func notesOf(events []store.Event, kinds ...string) (notes []string) {
	for _, e := range events {
		if slices.Contains(kinds, e.What) {
			notes = append(notes, e.Note)
		}
	}
	return notes
}

// addHistory adds to the question what happened to the run, and to the rules of its study.
func (r *Run) addHistory(ctx context.Context, q *analyse.Question, events []store.Event, rules rulesHistory, sums store.CallSums) error {
	if r.rules.Empty() { // else the verdict says them
		for _, change := range rules.changes() {
			q.Run.History = append(q.Run.History, afterSeen+change)
		}
	}
	q.Restratified = len(notesOf(events, plan.Strata+groupEvent)) > 0
	q.Regrouped = len(notesOf(events, plan.Splits+groupEvent, plan.Clusters+groupEvent)) > 0
	kinds := append([]string{planEvent, goldEvent, peopleEvent, sinceEvent, elsewhereEvent}, groupEvents...)
	q.Run.History = slices.Concat(q.Run.History, notesOf(events, kinds...), retried(events))
	q.Late, q.Rejudged, q.Unplanned = notesOf(events, lateEvent), notesOf(events, lateJudgeEvent), r.unplanned(rules.first())
	return r.addReused(ctx, q, sums)
}

// addReused adds to the question which requests were lost, and whose answers were taken.
func (r *Run) addReused(ctx context.Context, q *analyse.Question, sums store.CallSums) error {
	stored := &reader{ctx: ctx, run: r.Record}
	if lost := read(stored, r.db.Lost); lost.Requests > 0 {
		q.Run.Lost = &lost
	}
	if sums.Reused() {
		q.Run.Reused = read(stored, r.db.Reused)
	}
	for _, u := range q.Run.Reused {
		if u.Run == r.Record.ID || u.Planned == u.Answers {
			continue
		}
		from, err := r.db.Run(ctx, u.Run)
		if err != nil {
			return err
		}
		if !from.Analysed || !r.isOf(from) {
			continue
		}
		taken, since := "answers were taken from "+u.Run+", whose "+hadShown, sinceShown(u.Run)
		if i := slices.IndexFunc(q.Run.History, func(said string) bool { return strings.HasPrefix(said, since) }); i >= 0 {
			q.Run.History[i] = taken + "; since then: " + strings.TrimPrefix(q.Run.History[i], since)
		} else {
			q.Run.History = append([]string{taken}, q.Run.History...)
		}
	}
	return stored.err
}

// RecordRetry records which failed trials of the run are about to be asked again: what fails is
// no random sample, so that reports say how much failed at first.
func (r *Run) RecordRetry(ctx context.Context, left *Left) error {
	if !left.part.RetryFailed {
		return nil
	}
	counts, again := map[string][2]int{}, map[string]bool{}
	contestant := text.SetOf(r.contestants())
	for seq := range left.progress.Trials {
		arm := r.Plan.Trial(seq).Arm
		if !contestant[arm] || !left.progress.Done.Has(seq) {
			continue
		}
		n := counts[arm]
		n[1]++
		if left.progress.Failed.Has(seq) {
			n[0]++
			again[arm] = again[arm] || left.performs(seq)
		}
		counts[arm] = n
	}
	maps.DeleteFunc(counts, func(arm string, _ [2]int) bool { return !again[arm] })
	if len(counts) == 0 {
		return nil
	}
	note, err := json.Marshal(counts)
	if err != nil {
		return err
	}
	return r.db.AddEvents(ctx, r.Record, r.eventsOf(retryEvent, string(note))...)
}

// retried says how often failed trials were asked again, and how many of an arm had failed before:
// the most, if there were several times.
func retried(events []store.Event) []string {
	notes, most := notesOf(events, retryEvent), map[string][2]int{}
	for _, note := range notes {
		var counts map[string][2]int
		_ = json.Unmarshal([]byte(note), &counts) // a damaged one says nothing
		for arm, n := range counts {
			if n[0] > most[arm][0] {
				most[arm] = n
			}
		}
	}
	if len(most) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("failed trials were asked again in %s: %s had failed at first", text.Plural(len(notes), "session", "sessions"), failures(most))}
}

// failures counts those of arms.
func failures(of map[string][2]int) string {
	arms := mapped(slices.Sorted(maps.Keys(of)), func(arm string) string {
		n := of[arm]
		return fmt.Sprintf("%d of %s of %s (%.1f %%)", n[0], text.Plural(n[1], "trial", "trials"), arm, 100*float64(n[0])/float64(n[1]))
	})
	return strings.Join(plan.Shorten(arms, 5), ", ")
}

// planEvents returns the events of a change of the plan. Arms that came after results
// had been shown are named, because their comparisons were not planned. Those of earlier
// changes stay late under another name.
func (x *Experiment) planEvents(changed string, a store.Amendment, earlier []store.Event) []store.Event {
	if changed == "" {
		return nil
	}
	note := fmt.Sprintf("%s; %s then", changed, text.Plural(a.Done, "trial had an outcome", "trials had an outcome"))
	if a.Seen {
		note += ", and " + hadShown
	}
	return append(x.eventsOf(planEvent, note), x.armEvents(a, earlier)...)
}

// armEvents returns the events of the arms of a change.
func (x *Experiment) armEvents(a store.Amendment, earlier []store.Event) (events []store.Event) {
	if a.Seen {
		events = x.eventsOf(lateEvent, slices.Concat(a.Added, a.Changed)...)
	}
	if a.Seen && len(a.Renamed) > 0 {
		note, _ := json.Marshal(deciding{Renamed: a.Renamed}) // names can be encoded
		events = append(events, x.eventsOf(rulesEvent, string(note))...)
	}
	for _, what := range []string{lateEvent, lateJudgeEvent} {
		for _, r := range a.Renamed {
			if slices.Contains(notesOf(earlier, what), r[0]) {
				events = append(events, x.eventsOf(what, r[1])...)
			}
		}
	}
	return events
}

// renames are the ids of now of arms that the run had under others.
func (r *Run) renames(ctx context.Context) (map[string]string, error) {
	events, err := r.db.Events(ctx, r.Record)
	now := map[string]string{}
	for _, e := range events {
		var d deciding
		if e.What != rulesEvent || json.Unmarshal([]byte(e.Note), &d) != nil {
			continue
		}
		for _, pair := range d.Renamed {
			for was, id := range now {
				if id == pair[0] {
					now[was] = pair[1]
				}
			}
			now[pair[0]] = pair[1]
		}
	}
	return now, err
}

// eventsOf returns an event of a kind for each note.
func (x *Experiment) eventsOf(what string, notes ...string) []store.Event {
	return mapped(notes, func(note string) store.Event { return store.Event{At: x.env.Now(), What: what, Note: note} })
}

// describe lists how arms and items changed.
func describe(a store.Amendment) (list []string) {
	for _, c := range []struct {
		arms []string
		what string
	}{{a.Added, "added"}, {a.Removed, "removed"}, {a.Changed, "changed"}} {
		if len(c.arms) > 0 {
			noun := map[bool]string{false: "arm", true: "arms"}[len(c.arms) > 1]
			list = append(list, fmt.Sprintf("%s %s %s", noun, strings.Join(plan.Shorten(c.arms, 5), ", "), c.what))
		}
	}
	for _, r := range a.Renamed {
		list = append(list, fmt.Sprintf("arm %s is now %s", r[0], r[1]))
	}
	text.AddCount(&list, a.ItemsAdded, "item", "items", " added")
	text.AddCount(&list, a.ItemsRemoved, "item", "items", " removed")
	text.AddCount(&list, a.ItemsChanged, "item", "items", " changed")
	text.AddCount(&list, a.ItemsRenamed, "item", "items", " renamed")
	return list
}

// describeTrials lists how a plan changed, with its trials.
func describeTrials(a store.Amendment) []string {
	list := describe(a)
	if len(list) == 0 && a.New+a.Back+a.Left > 0 {
		list = append(list, "what requests depend on changed")
	}
	if len(list) > 0 {
		list = append(list, fmt.Sprintf("%s new", text.Plural(a.New, "trial is", "trials are")))
		text.AddCount(&list, a.Back, "trial came", "trials came", " back with answers")
	}
	return list
}

// portChanges lists the models whose server has another port. Their answers are kept.
func portChanges(was, now []eval.Part) (list []string) {
	for _, p := range now {
		for _, o := range was {
			if o.Name == p.Name && o.Value != p.Value && strings.HasSuffix(p.Name, ".base_url") && eval.WithoutPort(o.Value) == eval.WithoutPort(p.Value) {
				list = append(list, fmt.Sprintf("%s was %s and is %s, taken as the same model", p.Name, o.Value, p.Value))
			}
		}
	}
	return list
}

// addLooks adds all looks at the results of a run to the question, with the one that the event
// records which it returns: there is none if the results have the answers of the last time.
func (r *Run) addLooks(ctx context.Context, q *analyse.Question, events []store.Event, p *store.Progress) (fresh []store.Event, err error) {
	now := discipline.Look{Trials: p.Done.Count(), Planned: q.Run.Planned}
	if now.Trials == 0 || q.Run.Exploratory() {
		return nil, nil
	}
	last := ""
	for seq := range p.Trials { // those of an item are side by side
		if item := r.Plan.Trial(seq).Item; p.Done.Has(seq) && item != last {
			now.Items, last = now.Items+1, item
		}
	}
	seen := discipline.LooksOf(events)
	left, err := r.db.LeftPlan(ctx, r.Record) // a plan that shrank does not hide a look when it grows again
	if err != nil {
		return nil, err
	}
	now.Behind(seen, left)
	if n := len(seen); n == 0 || seen[n-1].Trials != now.Trials || seen[n-1].Items != now.Items || cmp.Or(seen[n-1].Asked, now.Asked) != now.Asked {
		if n > 0 {
			now.Runs = seen[0].Runs
		} else if now.Runs, err = r.shownBefore(ctx); err != nil {
			return nil, err
		}
		note, err := json.Marshal(now)
		if err != nil {
			return nil, err
		}
		fresh = r.eventsOf(discipline.LookEvent, string(note))
		seen = append(seen, now)
	}
	var answers []int
	planned := q.Run.Planned
	for _, l := range seen {
		answers = append(answers, cmp.Or(l.Asked, l.Trials))
		planned = min(planned, cmp.Or(l.Planned, planned))
	}
	q.Run.Looks, q.Study.Alpha, err = analyse.LooksAt(answers, planned, seen[0].Runs, r.Study.Statistics.Looks, q.Study.Alpha)
	return fresh, err
}

// shownBefore counts the earlier runs of the study, and of its split, whose results were
// shown. Another name of the study does not hide them, if they have items in common.
func (r *Run) shownBefore(ctx context.Context) (n int, err error) {
	runs, err := r.shownRuns(ctx)
	for _, other := range runs {
		same := other.Study == r.Record.Study
		if !same && r.isOf(other) {
			_, ids, err := r.common(ctx, other)
			if err != nil {
				return n, err
			}
			same = len(ids) > 0
		}
		if same {
			n++
		}
	}
	return n, err
}

// inWords replaces the events of the rules by sentences.
func inWords(events []store.Event) []store.Event {
	var last *deciding
	for i, e := range events {
		if l := discipline.LooksOf(events[i : i+1]); len(l) > 0 {
			events[i].Note = text.Plural(l[0].Trials, "trial", "trials") + " of " + text.Plural(l[0].Items, "item", "items")
		}
		if e.What == judgeEvent && e.Note == eval.ScorerName {
			events[i].What, events[i].Note = "scorer changed", "the study has one, or has none any more"
		}
		var counts map[string][2]int
		if e.What == retryEvent && json.Unmarshal([]byte(e.Note), &counts) == nil {
			events[i].Note = failures(counts) + " had failed"
		}
		var d deciding
		if e.What != rulesEvent || json.Unmarshal([]byte(e.Note), &d) != nil {
			continue
		}
		if d.Renamed != nil && last != nil { // the event of the plan says so
			*last = last.renamed(d.Renamed)
			events[i] = store.Event{}
			continue
		}
		if last == nil {
			events[i].What, events[i].Note = "results seen", "the study had "+text.Plural(len(d.Decide.Require)+len(d.Decide.Outcomes), "rule", "rules")
		} else if changes := last.changes(d); len(changes) > 0 {
			events[i].What, events[i].Note = "rules changed", afterSeen+strings.Join(changes, "; ")
		} else { // a version recorded more
			events[i] = store.Event{}
		}
		last = &d
	}
	return slices.DeleteFunc(events, func(e store.Event) bool { return e == store.Event{} })
}
