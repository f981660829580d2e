package annotate

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/stable"
	"github.com/scruple-eval/scruple/internal/study"
)

// A part is a person's part of a task: their subjects in an order of their own, and what
// they did.
type part struct {
	task   study.Task
	source Source
	queue  *Queue
	work   *Work
	first  bool              // the person answers all subjects
	gone   map[Subject]error // why a subject cannot be shown
	seen   map[Subject]bool  // was shown since the file is open
}

// rounds are the passes of answers.
var rounds = []int{passFirst, passAgain}

// order lists the person's subjects of a pass in their order.
func (d *part) order(pass int) (list []Subject) {
	t, q, person := d.task, d.queue, d.work.Person
	switch {
	case pass == passAdjudicate:
		return q.Subjects
	case pass == passAgain:
		done := d.firsts(d.milestone())
		count := max(t.Again.Count, int(math.Ceil(t.Again.Share*float64(len(done)))))
		for _, i := range stable.Random(q.Seed, "again", t.Name, person).Perm(len(done))[:min(count, len(done))] {
			list = append(list, done[i])
		}
	case d.first:
		list = slices.Clone(q.Subjects)
	default:
		for _, i := range q.Double {
			list = append(list, q.Subjects[i])
		}
	}
	stable.Random(q.Seed, "order", t.Name, person, fmt.Sprint(pass)).Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	if pass == passFirst && !d.first && len(list) < len(q.Subjects) {
		list = append(list, d.shownBeside(list)...)
	}
	if pass == passFirst && ofUnits(t) {
		together(list, q.Subjects)
	}
	return list
}

// shownBeside lists what the person was shown though it is not theirs: another person turned
// out to be the one who answers all subjects. It stays theirs.
func (d *part) shownBeside(list []Subject) (more []Subject) {
	theirs := map[Subject]bool{}
	for _, s := range list {
		theirs[s] = true
	}
	for _, s := range d.queue.Subjects {
		k := slot{s, passFirst}
		if !theirs[s] && (d.seen[s] || d.work.drafts[k] != nil || d.work.given[k] != nil) {
			more = append(more, s)
		}
	}
	return more
}

// ofUnits reports whether a task is about units of items, whose pages have all units of a text.
func ofUnits(t study.Task) bool { return t.Of == "unit" && len(t.Arms) == 0 }

// together moves the units of an item to its first one, in the order of the queue, so
// that a text is read once.
func together(list, queue []Subject) {
	item, unit := map[string]int{}, map[Subject]int{}
	for i, s := range list {
		if _, seen := item[s.Item]; !seen {
			item[s.Item] = i
		}
	}
	for i, s := range queue {
		unit[s] = i
	}
	slices.SortStableFunc(list, func(a, b Subject) int {
		return cmp.Or(cmp.Compare(item[a.Item], item[b.Item]), cmp.Compare(unit[a], unit[b]))
	})
}

// milestone is the number of first answers and skips after which the second round is drawn: never,
// if the person has fewer subjects. Those that were set aside are not waited for; what was drawn
// stays when they come back.
func (d *part) milestone() int {
	first := d.order(passFirst)
	n, most := cmp.Or(d.task.Again.After, len(first)), len(first)
	for _, s := range first {
		most -= one(d.work.given[slot{s, passFirst}] == nil && errors.Is(d.gone[s], eval.ErrGone))
	}
	if n <= len(first) {
		n = min(n, most)
	}
	before := 0
	for _, g := range d.work.order {
		if g.pass == passAgain {
			return min(n, before)
		}
		before += one(g.pass == passFirst)
	}
	return n
}

// firsts lists the subjects that were answered when the first n had been answered or
// skipped, and none before. A skipped one that is answered later does not change the list:
// the second round is drawn from it.
func (d *part) firsts(n int) (list []Subject) {
	var all []*Given
	for _, g := range d.work.order {
		if g.pass == passFirst && len(all) < n {
			all = append(all, g)
		}
	}
	if len(all) < n || n == 0 {
		return nil
	}
	for _, g := range all {
		if g.First != nil && g.First.line <= all[n-1].opened {
			list = append(list, g.subject)
		}
	}
	return list
}

// swapped draws which arm of a pair is A.
func (d *part) swapped(s Subject, pass int) bool {
	return s.Other != "" && stable.Random(d.queue.Seed, "side", d.task.Name, d.work.Person, s.String(), fmt.Sprint(pass)).IntN(2) == 1
}

// nextAt returns the first open subject at a time. wait is when a re-test may begin, if it
// is too early for it. A re-test with a milestone comes before the other first answers.
func (d *part) nextAt(now time.Time) (k slot, at int, ok bool, wait time.Time) {
	passes := slices.Clone(rounds)
	if d.task.Again.After > 0 {
		slices.Reverse(passes)
	}
	for _, pass := range passes {
		for i, s := range d.order(pass) {
			k := slot{s, pass}
			if d.work.given[k] != nil || d.gone[s] != nil {
				continue
			}
			if pass == passAgain {
				gap := cmp.Or(d.task.Again.Gap.D(), 24*time.Hour)
				if open := d.work.given[slot{s, passFirst}].by.Add(gap); now.Before(open) {
					wait = open
					continue
				}
			}
			return k, i + 1, true, time.Time{}
		}
	}
	return slot{}, 0, false, wait
}

// progress counts the person's subjects of both rounds.
func (d *part) progress() (done, of int) {
	for _, pass := range rounds {
		for _, s := range d.order(pass) {
			given := d.work.given[slot{s, pass}] != nil
			done, of = done+one(given), of+one(given || d.gone[s] == nil)
		}
	}
	return done, of
}

// left counts the open subjects of a pass. Those that cannot be shown are set aside.
func (d *part) left(pass int) (n int) {
	for _, s := range d.order(pass) {
		n += one(d.work.given[slot{s, pass}] == nil && d.gone[s] == nil)
	}
	return n
}

// ahead are the subjects that the person has still to answer in a round, or may have to: as long
// as the second round is not drawn, each of their first answers may be in it. Who answered
// nothing may only decide.
func (d *part) ahead() map[Subject]bool {
	list := map[Subject]bool{}
	again := d.order(passAgain)
	for _, s := range again {
		list[s] = d.work.given[slot{s, passAgain}] == nil
	}
	begun := slices.ContainsFunc(d.work.order, func(g *Given) bool { return g.pass == passFirst })
	if begun && d.left(passFirst) > 0 {
		for _, s := range d.order(passFirst) {
			if d.work.given[slot{s, passFirst}] == nil || d.hasAgain() && len(again) == 0 {
				list[s] = true
			}
		}
	}
	return list
}

// mayReview reports whether the person may see and change an answer of their own:
// until the pass ends, and never if a second answer to the subject is wanted. What they
// skipped they may answer at any time.
func (d *part) mayReview(k slot) bool {
	if g := d.work.given[k]; g != nil && g.First == nil {
		return true
	}
	return d.left(k.pass) > 0 && (k.pass == passAgain || !slices.Contains(d.order(passAgain), k.subject))
}

// before returns the answered slot before a place that can still be changed.
func (d *part) before(k slot, at int) (slot, bool) {
	for _, s := range slices.Backward(d.order(k.pass)[:max(0, at-1)]) {
		if b := (slot{s, k.pass}); d.work.given[b] != nil && d.mayReview(b) {
			return b, true
		}
	}
	return slot{}, false
}

// hasAgain reports whether the task has a second round.
func (d *part) hasAgain() bool { return d.task.Again.Count > 0 || d.task.Again.Share > 0 }

// A Discrepancy is a subject that a person answered differently in the second round.
type Discrepancy struct {
	Subject       Subject
	First, Second *Event
	Note          string
}

// discrepancies lists the subjects whose answers differ between the rounds, as [differ] says. ok
// is false until the second round is over: before, the list would show first answers.
func (d *part) discrepancies() (list []Discrepancy, ok bool) {
	again := d.order(passAgain)
	if len(again) == 0 || d.left(passAgain) > 0 {
		return nil, false
	}
	for _, s := range again {
		a, b := d.work.given[slot{s, passFirst}], d.work.given[slot{s, passAgain}]
		if a == nil || b == nil || a.First == nil || b.First == nil { // skipped, or gone
			continue
		}
		if differ(d.task, d.source, a.First, b.First) {
			list = append(list, Discrepancy{s, a.First, b.First, d.work.notes[noteKey{discrepancyTopic, s}]})
		}
	}
	return list, true
}
