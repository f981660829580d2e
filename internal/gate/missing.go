package gate

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/text"
)

// unscored says why missing scores leave a rule of a state undecided; "" if they do not. Either too
// many are missing of an arm and metric that the rule reads, or it would be decided
// otherwise if they were the lowest or the highest possible.
func (r Rule) unscored(a *analyse.Analysis, state State) string {
	var missing []string
	n := map[string]int{} // by arm
	for _, e := range a.Estimates {
		if e.Stratum != nil || e.Unscored == 0 || !r.readsScores(e.Arm, e.Metric) {
			continue
		}
		what := fmt.Sprintf("%s of %s", e.Metric, e.Arm)
		if float64(e.UnscoredShare) > a.Study.MaxUnscored {
			return fmt.Sprintf("%.1f %% of %s has no score (%s: %s), the limit is %.1f %%", 100*e.UnscoredShare, what, text.Plural(e.Unscored, "entry", "entries"), reasons(e), 100*a.Study.MaxUnscored)
		}
		n[e.Arm] = max(n[e.Arm], e.Unscored)
		missing = append(missing, fmt.Sprintf("%d of %s (%s)", e.Unscored, what, reasons(e)))
		switch {
		case e.Least == nil:
			return fmt.Sprintf("%s has no score, and there is no lowest and highest one to try instead", missing[len(missing)-1])
		case slices.Contains(r.across, e.Metric):
			return fmt.Sprintf("%s has no score, and what these would do to a comparison across a factor is not known: retry them, or let the rule read the differences themselves", missing[len(missing)-1])
		}
	}
	if len(missing) == 0 || state == Undecided {
		return ""
	}
	for at := range r.corners(a) {
		var c Condition
		if r.settle(&c, at); c.State != state {
			all := 0
			for _, of := range n {
				all += of
			}
			return text.Plural(all, "answer", "answers") + " without a score could reverse this: " + strings.Join(missing, ", ")
		}
	}
	return ""
}

// reasons joins the most frequent reasons for missing scores.
func reasons(e analyse.Estimate) string {
	const few = 2
	var list []string
	for _, r := range e.Reasons {
		list = append(list, r.Name)
	}
	if len(list) > few {
		return strings.Join(list[:few], "; ") + " …"
	}
	return strings.Join(list, "; ")
}

// mostCorners bounds the statements of a rule whose ends are combined.
const mostCorners = 10

// corners yields the analyses in which each estimate and each comparison that the rule
// reads and that lacks scores is at its least or at its most. Of more than mostCorners of
// them it yields those in which one is, or all are at the same end.
func (r Rule) corners(a *analyse.Analysis) iter.Seq[*analyse.Analysis] {
	lacks := func(arm, metric string) bool {
		e, _ := a.Estimate(arm, metric)
		return e.Unscored > 0
	}
	var list []string // of statements
	for _, e := range r.Estimates {
		if lacks(e[0], e[1]) {
			list = append(list, statement(e[:]...))
		}
	}
	for _, p := range r.Pairs {
		if lacks(p[0], p[2]) || lacks(p[1], p[2]) {
			list = append(list, statement(p[:]...))
		}
	}
	return func(yield func(*analyse.Analysis) bool) {
		if len(list) > mostCorners {
			for _, end := range []bool{false, true} {
				all := map[string]bool{}
				for _, name := range list {
					if all[name] = end; !yield(corner(a, map[string]bool{name: end})) {
						return
					}
				}
				if !yield(corner(a, all)) {
					return
				}
			}
			return
		}
		for mask := range 1 << len(list) {
			most := map[string]bool{}
			for i, name := range list {
				most[name] = mask>>i&1 == 1
			}
			if !yield(corner(a, most)) {
				return
			}
		}
	}
}

// statement names an estimate or a comparison.
func statement(names ...string) string { return strings.Join(names, "\x00") }

// corner returns the analysis in which the named estimates and comparisons are at their
// most (true) or least (false), in strata too, and the changes of differences with them.
func corner(a *analyse.Analysis, most map[string]bool) *analyse.Analysis {
	at := *a
	at.Estimates, at.Comparisons, at.Replications = slices.Clone(a.Estimates), slices.Clone(a.Comparisons), slices.Clone(a.Replications)
	for i := range at.Estimates {
		e := &at.Estimates[i]
		if high, ok := most[statement(e.Arm, e.Metric)]; ok && e.Least != nil {
			e.Bounds = *end(high, e.Least, e.Most)
		}
	}
	ofPair := func(a, b, metric string) (high, ok bool) {
		if high, ok = most[statement(a, b, metric)]; !ok {
			high, ok = most[statement(b, a, metric)]
			high = !high
		}
		return high, ok
	}
	for i := range at.Comparisons {
		c := &at.Comparisons[i]
		if high, ok := ofPair(c.A, c.B, c.Metric); ok && c.Least != nil {
			*c = *end(high, c.Least, c.Most)
		}
	}
	for i := range at.Replications {
		c := &at.Replications[i]
		if high, ok := ofPair(c.A, c.B, c.Metric); ok && c.Least != nil {
			*c = *end(high, c.Least, c.Most)
		}
	}
	return &at
}

func end[T any](high bool, least, most *T) *T {
	if high {
		return most
	}
	return least
}

// readsScores reports whether a rule reads a metric of an arm.
func (r Rule) readsScores(arm, metric string) bool {
	return slices.Contains(r.Estimates, [2]string{arm, metric}) || slices.Contains(r.across, metric) ||
		slices.ContainsFunc(r.Pairs, func(p [3]string) bool { return p[2] == metric && (p[0] == arm || p[1] == arm) })
}
