package annotate

import (
	"fmt"
	"maps"
	"slices"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/text"
	"github.com/scruple-eval/scruple/stats"
)

// compareAutomatic compares the first answers of each person about the subjects that were
// drawn for it with the automatic result, if the groups of the queue are options of the
// first question.
func (r *Result) compareAutomatic(list *[]Agreement, source Source) error {
	q := r.Task.Ask[0]
	if q.Type != "choice" || !slices.ContainsFunc(r.queue.Strata, func(s string) bool { return slices.Contains(q.Options, s) }) {
		return nil
	}
	queued, err := source.Queue(r.Task.Queue)
	if err != nil {
		return fmt.Errorf("comparing people in task %s with the automatic result: %w", r.Task.Name, err)
	}
	now := map[eval.Trial]string{}
	for _, x := range queued {
		now[x.Trial] = x.Stratum
	}
	fresh := newFreshness(r.Task, source)
	for _, w := range r.Everyone {
		if err := r.compareWith(list, now, fresh, w); err != nil {
			return err
		}
	}
	return nil
}

// compareWith compares a person with the automatic results of the answers that the person
// saw: those of the draw may be of answers that were asked anew, or of other settings.
// Groups that are not options are counted as the last option, as a second agreement
// without them shows.
func (r *Result) compareWith(list *[]Agreement, now map[eval.Trial]string, fresh *freshness, w *Work) error {
	q := r.Task.Ask[0]
	last := q.Options[len(q.Options)-1]
	var auto, person, autoDecided, personDecided []string
	others := map[string]int{}
	stale := 0
	for _, i := range r.queue.Check {
		s := r.queue.Subjects[i]
		g := w.given[slot{s, passFirst}]
		if g == nil || g.First == nil || g.First.Sighted {
			continue
		}
		said := g.First.label(r.Task, q)
		stratum, queued := now[s.trial()]
		if !queued || !fresh.has(g.First) {
			stale++
			continue
		}
		if said == "" { // left open
			continue
		}
		if slices.Contains(q.Options, stratum) {
			autoDecided, personDecided = append(autoDecided, stratum), append(personDecided, said)
		} else {
			others[stratum]++
			stratum = last
		}
		auto, person = append(auto, stratum), append(person, said)
	}
	if len(auto) == 0 {
		return nil
	}
	add := func(name string, a, b []string, notes ...string) error {
		g := Agreement{Task: r.Task.Name, Question: q.Text, A: name, B: w.Person, N: len(a), Automatic: true, Target: r.Task.Target, Labels: q.Options}
		for i := range a {
			if a[i] == b[i] {
				g.Same++
			}
		}
		g.Measures = []Measure{share(g.Same, g.N, stats.Wilson(g.Same, g.N, level))}
		if err := g.labels(a, b); err != nil {
			return fmt.Errorf("agreement of %s and %s in task %s: %w", g.A, g.B, g.Task, err)
		}
		g.Notes = append(g.Notes, notes...)
		g.small()
		*list = append(*list, g)
		return nil
	}
	var counted []string
	if stale > 0 {
		counted = append(counted, text.Plural(stale, "subject is", "subjects are")+" left out: the answer that the person saw was replaced")
	}
	for _, name := range slices.Sorted(maps.Keys(others)) {
		counted = append(counted, fmt.Sprintf("%s: the automatic result is %s, which counts as %s", text.Plural(others[name], "subject", "subjects"), name, last))
	}
	if err := add("automatic", auto, person, counted...); err != nil || len(others) == 0 || len(autoDecided) == 0 {
		return err
	}
	return add("automatic, decided ones", autoDecided, personDecided)
}
