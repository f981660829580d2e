package gate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
)

// A function is a named result for rules. What it takes, how it is used and what it rests
// on follow from its subject.
type function struct {
	name     string
	names    []string // what it takes, such as "arm a", "metric" and "stratum=value"
	doc      string
	apart    bool       // its value is not that of an estimate or a comparison
	outside  bool       // its value does not come from the scores of the run
	evidence bool       // a p-value or the end of an interval
	end      bool       // the end of an interval
	counts   bool       // a number of items or the like, about which there is no chance
	ends     [2]string  // functions with the ends of its interval
	within   []function // lower and upper end: it takes a number behind the names and is true or false
	worse    bool       // only the end on which the first arm is worse is within it
	metric   string     // that a call does not name
	read     func(v view, names []string) figure
	gaps     func(x call, a *analyse.Analysis) []gap // of what it reads; nil: it lacks no scores
}

// A figure is what a function reads.
type figure struct {
	value analyse.Number
	note  string         // why it may be undefined
	other analyse.Number // of evidence, what the data allow besides: the other end, or a p-value of 0
	basis Basis
	about
}

// about is how many observations of how many clusters a result rests on, and what its interval
// takes for granted.
type about struct {
	n, clusters int
	assumes     string
	caveat      string // what a reader is to know, whatever the result
}

// A view is how a rule reads an analysis.
type view struct {
	*analyse.Analysis
	instead map[string]float64 // of results, by name
	// hopeful reads every result as if the truth were as good for the rule as its
	// interval allows: the other end of an interval, a p-value of 0, and for an estimate
	// beside such evidence the end of its interval.
	hopeful bool
	end     int // of the interval of estimates: 0 is the lower one
}

// takes reports whether a function takes a name of a kind.
func (f function) takes(kind string) bool { return slices.Contains(f.names, kind) }

// arms is the number of arms that it takes: they come first, and then the metric.
func (f function) arms() (n int) {
	for n < len(f.names) && strings.HasPrefix(f.names[n], "arm") {
		n++
	}
	return n
}

// effect reports whether it is Cohen's d, or an end of its interval.
func (f function) effect() bool { return f.name == "d" || strings.HasPrefix(f.name, "d_") }

func (f function) usage() string {
	var names []string
	for _, n := range f.names[:f.given()] {
		names = append(names, "'"+n+"'")
	}
	if f.within != nil {
		names = append(names, "margin")
	}
	return f.name + "(" + strings.Join(names, ", ") + ")"
}

// given is the number of names that a call gives: the others are known.
func (f function) given() int {
	if f.metric != "" {
		return len(f.names) - 1
	}
	return len(f.names)
}

// A subject is what names select in an analysis: an estimate, a comparison, an arm. It
// has a number of observations and, for some results, an interval.
type subject[T any] struct {
	names          []string
	apart, outside bool
	find           func(v view, names []string) (T, bool)
	missing        string                              // why it may not be there
	lacking        func(v view, names []string) string // the same, where the analysis says more; nil if not
	note           func(T) string
	about          func(T) about
	of             string // what is counted: items, pairs, trials
	gaps           func(x call, a *analyse.Analysis) []gap
	ends           func(T) (low, high analyse.Number)
	level          func(v view, x T) (level float64, simultaneous bool)
}

// basis is what the results of a subject rest on.
func (s subject[T]) basis(v view, x T) (b Basis) {
	if s.of != "" {
		n := s.about(x).n
		b.N, b.Of = &n, s.of
	}
	if s.ends == nil {
		return b
	}
	if low, high := s.ends(x); low.Defined() && high.Defined() {
		b.Interval = &Interval{Low: float64(low), High: float64(high)}
		b.Interval.Level, b.Interval.Simultaneous = s.level(v, x)
	}
	return b
}

// result is a function for one number of a subject.
func (s subject[T]) result(name, doc string, get func(T) analyse.Number) function {
	return s.function(name, doc, get, nil, "")
}

// function is one for a number of a subject, with what else the data allow of it (nil: 0),
// and what the interval in its basis is of.
func (s subject[T]) function(name, doc string, get, other func(T) analyse.Number, of string) function {
	return function{name: name, names: s.names, doc: doc, apart: s.apart, outside: s.outside, gaps: s.gaps, read: func(v view, names []string) figure {
		x, ok := s.find(v, names)
		f := figure{value: analyse.Undefined(), note: s.missing, basis: s.basis(v, x)}
		if s.about != nil {
			f.about = s.about(x)
		}
		if f.basis.Interval != nil {
			f.basis.Interval.Of = of
		}
		if other != nil {
			f.other = analyse.Undefined()
		}
		if !ok && s.lacking != nil {
			f.note = s.lacking(v, names)
		}
		if ok {
			f.value, f.note = get(x), ""
			if other != nil {
				f.other = other(x)
			}
			if s.note != nil {
				f.note = s.note(x)
			}
		}
		return f
	}}
}

// ranged are the functions for a number and for the ends of its interval.
func (s subject[T]) ranged(name, doc string, get func(T) analyse.Number, low, lowDoc, high, highDoc string) []function {
	value := s.result(name, doc, get)
	value.ends = [2]string{low, high}
	return append([]function{value}, s.interval(low, lowDoc, high, highDoc)...)
}

// interval are the functions for the ends of the interval of a subject. Data do not tell the
// end of an interval from what lies next to it: equal scores do not fail a rule on a difference
// above 0.
func (s subject[T]) interval(low, lowDoc, high, highDoc string) []function {
	lower := func(x T) analyse.Number { low, _ := s.ends(x); return low }
	upper := func(x T) analyse.Number { _, high := s.ends(x); return high }
	beyond := func(end func(T) analyse.Number, to int) func(T) analyse.Number {
		return func(x T) analyse.Number { return analyse.Number(math.Nextafter(float64(end(x)), math.Inf(to))) }
	}
	return []function{s.evidence(low, lowDoc, lower, beyond(upper, 1)), s.evidence(high, highDoc, upper, beyond(lower, -1))}
}

// evidence is the function for an end of an interval, with what the result could be if the
// truth were as good as the data allow.
func (s subject[T]) evidence(name, doc string, get, other func(T) analyse.Number) function {
	f := s.function(name, doc, get, other, "")
	f.evidence, f.end = true, true
	return f
}

// p is the function for a p-value, which could be 0, as it counts at this look. Its basis is the
// interval of the difference.
func (s subject[T]) p(name, doc string, get func(T) analyse.Number) function {
	f := s.function(name, doc, get, nil, "difference")
	read := f.read
	f.evidence, f.read = true, func(v view, names []string) figure {
		f := read(v, names)
		f.value = v.PAtLook(f.value)
		return f
	}
	return f
}

// number is the function for a number of items or the like, which has no basis.
func (s subject[T]) number(name, doc string, get func(T) analyse.Number) function {
	s.of, s.ends = "", nil
	f := s.result(name, doc, get)
	f.counts = true
	return f
}

// margin is a function of two ends that is true where both lie within a margin of 0.
func margin(name, doc string, ends []function) function {
	f := ends[0]
	return function{name: name, names: f.names, doc: doc, apart: f.apart, evidence: true, end: true, within: ends}
}

// bounds are the ends of a margin, 0 for the lower and 1 for the upper one, that a function asks for.
func (f function) bounds(lowerIsBetter bool) []int {
	switch {
	case !f.worse:
		return []int{0, 1}
	case lowerIsBetter:
		return []int{1}
	}
	return []int{0}
}

func nominal[T any](v view, _ T) (float64, bool) { return 1 - v.Study.Alpha, false }

// The subjects. The level of a comparison is that of all simultaneous intervals together.
var (
	estimates = subject[analyse.Estimate]{names: []string{"arm", "metric"}, missing: "no such estimate",
		find:  func(v view, names []string) (analyse.Estimate, bool) { return v.Estimate(names[0], names[1]) },
		note:  func(e analyse.Estimate) string { return strings.Join(e.Warnings, "; ") },
		about: func(e analyse.Estimate) about { return about{n: e.Items, clusters: e.Clusters, assumes: e.Assumes} }, of: "items", gaps: call.ofEstimates,
		ends:  func(e analyse.Estimate) (low, high analyse.Number) { return e.Low, e.High },
		level: nominal[analyse.Estimate]}
	pairs = subject[analyse.Comparison]{names: []string{"arm a", "arm b", "metric"}, missing: "no such comparison",
		find: func(v view, names []string) (analyse.Comparison, bool) {
			return v.Comparison(names[0], names[1], names[2])
		},
		note: func(c analyse.Comparison) string {
			if c.Method == analyse.Descriptive {
				return c.Method
			}
			return strings.Join(c.Warnings, "; ")
		},
		about: func(c analyse.Comparison) about { return about{n: c.Pairs, clusters: c.Clusters, assumes: c.Assumes} }, of: "pairs", gaps: call.ofComparisons,
		ends: func(c analyse.Comparison) (low, high analyse.Number) { return c.Low, c.High },
		level: func(v view, c analyse.Comparison) (float64, bool) {
			return 1 - v.Study.Alpha, float64(c.Level) > 1-v.Study.Alpha+1e-9
		}}
	changes = subject[analyse.Replication]{names: pairs.names, apart: true,
		missing: "there is no finished run of the study that this one replicates, or it does not compare the arms",
		find: func(v view, names []string) (analyse.Replication, bool) {
			return v.Replication(names[0], names[1], names[2], nil)
		},
		note:  func(r analyse.Replication) string { return r.Warning },
		about: func(r analyse.Replication) about { return about{n: min(r.Pairs[0], r.Pairs[1]), caveat: r.OtherModels} }, of: "pairs", gaps: call.ofChanges, // pairs of the smaller run
		ends:  func(r analyse.Replication) (low, high analyse.Number) { return r.EquivLow, r.EquivHigh },
		level: func(v view, _ analyse.Replication) (float64, bool) { return 1 - 2*v.Study.Alpha, false }}
	outside = subject[*analyse.Analysis]{outside: true, apart: true, find: func(v view, _ []string) (*analyse.Analysis, bool) { return v.Analysis, true }}
)

// strata are the comparisons in the strata of a factor, of which the result is chosen.
func strata(choose func([]analyse.Comparison) analyse.Comparison) subject[analyse.Comparison] {
	s := pairs
	s.names, s.apart = append(slices.Clone(pairs.names), "stratum"), true
	s.missing, s.note = "the study does not compare the arms by this metric in these strata", nil
	s.find = func(v view, names []string) (analyse.Comparison, bool) {
		list := v.Strata(names[0], names[1], names[2], names[3])
		if len(list) == 0 {
			return analyse.Comparison{}, false
		}
		return choose(list), true
	}
	return s
}

// most is the comparison with the largest of the defined differences, times a sign.
func most(sign analyse.Number) func([]analyse.Comparison) analyse.Comparison {
	return func(list []analyse.Comparison) analyse.Comparison {
		best := list[0]
		for _, c := range list[1:] {
			if c.Diff.Defined() && (!best.Diff.Defined() || sign*c.Diff > sign*best.Diff) {
				best = c
			}
		}
		return best
	}
}

// bonferroni corrects a p-value for the choice of the stratum; it is 1 if the first arm
// scores more in none.
func bonferroni(list []analyse.Comparison) analyse.Comparison {
	best := analyse.Comparison{}
	best.P = 1
	for _, c := range list {
		if c.Diff > 0 && c.P.Defined() {
			best.P = min(best.P, c.P*analyse.Number(len(list)))
		}
	}
	return best
}

// inStratum is a subject in one stratum of its items.
func inStratum[T any](s subject[T], find func(v view, names []string, in eval.Level) (T, bool)) subject[T] {
	s.names, s.apart, s.note = append(slices.Clone(s.names), "stratum=value"), true, nil
	s.find = func(v view, names []string) (T, bool) {
		name, value, _ := strings.Cut(names[len(names)-1], "=")
		return find(v, names, eval.Level{Name: name, Value: value})
	}
	return s
}

// interactions take two levels of a factor and a factor, neither of which is an arm, so that their
// names do not begin with "arm".
var interactions = subject[analyse.Interaction]{names: []string{"a", "b", "metric", "factor"}, apart: true, missing: "the study does not compare the difference across this factor",
	find: func(v view, names []string) (analyse.Interaction, bool) {
		return v.Interaction(names[0], names[1], names[2], names[3])
	},
	note: func(r analyse.Interaction) string { return strings.Join(r.Warnings, "; ") }}

// ofBlind finds the result of the blind validations on two arms by a metric that is better than the others,
// or says why there is none. One validation without a result is enough for that: an outsider may have left
// out a bad one.
func ofBlind(v view, names []string, better func(a, b analyse.Number) bool) (best analyse.BlindComparison, found bool, why string) {
	why = "there is no blind validation"
	for _, b := range v.Blind {
		c, has := b.Comparison(names[0], names[1], names[2])
		switch {
		case b.Withdrawn != "":
		case b.Late:
			why = "the blind validation " + b.String()
		case b.OfOthers(names[:2]):
			why = fmt.Sprintf("the blind validation %s; restore the arms, or validate them with a kit that `scruple blind build` makes of them", b)
		case !has && b.Committed+b.Unread != "":
			return analyse.BlindComparison{}, false, fmt.Sprintf("a blind validation is missing, %s", b)
		case !has:
			return analyse.BlindComparison{}, false, fmt.Sprintf("the blind validation by %s, kit with SHA-256 %s, lacks the comparison or has no numbers of it", b.By, cmp.Or(b.Kit[:min(12, len(b.Kit))], "unknown"))
		case !found || better(c.Diff, best.Diff):
			best, found = c, true
		}
	}
	return best, found, why
}

func blind(name, doc string, better func(a, b analyse.Number) bool) function {
	s := subject[analyse.BlindComparison]{names: pairs.names, apart: true, outside: true,
		find: func(v view, names []string) (analyse.BlindComparison, bool) {
			c, found, _ := ofBlind(v, names, better)
			return c, found
		},
		lacking: func(v view, names []string) string { _, _, why := ofBlind(v, names, better); return why },
		about:   func(c analyse.BlindComparison) about { return about{n: c.Pairs} }, of: "pairs", gaps: call.ofBlind,
		ends:  func(c analyse.BlindComparison) (low, high analyse.Number) { return c.Low, c.High },
		level: func(_ view, c analyse.BlindComparison) (float64, bool) { return float64(c.Level), false }} // the level is the outsider's
	return s.result(name, doc, func(c analyse.BlindComparison) analyse.Number { return c.Diff })
}

// share is one of trials of an arm that are done, of its answers, or of subjects of a task.
func share(s subject[eval.Measured], name, doc string, find func(v view, of string) eval.Measured) function {
	s.find = func(v view, names []string) (eval.Measured, bool) {
		x := find(v, names[0])
		return x, x.N > 0
	}
	s.about = func(m eval.Measured) about { return about{n: m.N} }
	s.ends = func(m eval.Measured) (low, high analyse.Number) { return m.Low, m.High }
	s.level = nominal[eval.Measured]
	return s.result(name, doc, func(m eval.Measured) analyse.Number { return m.Value })
}

// ofArm is a share of what an arm has.
func ofArm(kind eval.OutcomeKind, doc, has string) function {
	return share(subject[eval.Measured]{names: []string{"arm"}, missing: "the arm has no " + has, of: has, gaps: call.ofAnswers}, string(kind), doc, func(v view, id string) eval.Measured {
		arm, _ := v.Arm(id)
		return arm.Share(kind)
	})
}

var agreements = subject[eval.Measured]{names: []string{"task"}, apart: true, outside: true, missing: "no two people answered the same subjects as the study shows them", of: "subjects"}

// effortOf is the estimate of a metric of package effort, by its name.
func effortOf(metric, doc string) function {
	f := estimates.result(metric, doc, func(e analyse.Estimate) analyse.Number { return e.Value })
	f.metric, f.ends = metric, [2]string{"low", "high"}
	return f
}

// functions lists all of them; the documentation is generated from it.
var functions = func() []function {
	// effects have the interval of d, and equivalences that of two one-sided tests.
	effects, equivalences := pairs, pairs
	diff := func(c analyse.Comparison) analyse.Number { return c.Diff }
	effects.ends = func(c analyse.Comparison) (low, high analyse.Number) { return c.DLow, c.DHigh }
	equivalences.ends = func(c analyse.Comparison) (low, high analyse.Number) { return c.EquivLow, c.EquivHigh }
	equivalences.level = func(v view, c analyse.Comparison) (float64, bool) {
		_, simultaneous := pairs.level(v, c)
		return 1 - 2*v.Study.Alpha, simultaneous
	}
	difference := pairs.ranged("diff", "difference, first minus second", diff, "diff_low", "lower end of its interval", "diff_high", "upper end of its interval")
	noWorse := margin("no_worse", "true where the first arm is worse by less than the margin: diff_low above -margin, or diff_high below it where lower is better", difference[1:])
	noWorse.worse = true
	equivalence := equivalences.interval("equiv_low", "lower end of the 1 − 2α interval of the difference", "equiv_high", "upper end of the 1 − 2α interval of the difference")
	change := changes.ranged("change", "change of the difference since the study that this one replicates", func(r analyse.Replication) analyse.Number { return r.Change },
		"change_low", "lower end of the 1 − 2α interval of the change", "change_high", "upper end of the 1 − 2α interval of the change")
	in := inStratum(changes, func(v view, names []string, in eval.Level) (analyse.Replication, bool) {
		return v.Replication(names[0], names[1], names[2], &in)
	})
	in.note = changes.note
	changeIn := in.ranged("change_in", "the same for the items of one stratum of this run", func(r analyse.Replication) analyse.Number { return r.Change },
		"change_in_low", "lower end of its 1 − 2α interval", "change_in_high", "upper end of its 1 − 2α interval")
	sd := estimates
	sd.apart, sd.ends = true, nil
	p := func(c analyse.Comparison) analyse.Number { return c.P }
	smallest := strata(bonferroni)
	smallest.of, smallest.ends = "", nil
	return slices.Concat(
		estimates.ranged("value", "the estimate", func(e analyse.Estimate) analyse.Number { return e.Value },
			"low", "lower end of its interval", "high", "upper end of its interval"),
		[]function{effortOf("cost", "US dollars for an answer: value of the metric cost"), effortOf("latency", "seconds for an answer: value of the metric latency"),
			estimates.number("n", "number of items", func(e analyse.Estimate) analyse.Number { return analyse.Number(e.Items) })},
		difference,
		[]function{
			pairs.p("p", "two-sided p-value, not corrected", p),
			pairs.p("p_adjusted", "p-value, corrected where any of several comparisons would do for the rules", analyse.Comparison.Deciding),
		},
		effects.ranged("d", "Cohen's d for pairs", func(c analyse.Comparison) analyse.Number { return c.D },
			"d_low", "lower end of its interval", "d_high", "upper end of its interval"),
		equivalence,
		[]function{
			margin("within", "true where two one-sided tests (TOST) show that the arms differ by less than the margin", equivalence),
			pairs.number("pairs", "items with results in both arms", func(c analyse.Comparison) analyse.Number { return analyse.Number(c.Pairs) }),
			sd.result("sd", "standard deviation between items", func(e analyse.Estimate) analyse.Number { return e.SD }),
			strata(most(1)).result("diff_max", "largest difference in a stratum, such as 'doc_type'", diff),
			strata(most(-1)).result("diff_min", "smallest difference in a stratum", diff),
			smallest.p("p_min", "smallest p-value of the strata in which the first arm scores more, times the number of strata", p),
			interactions.p("p_across", "p-value of the test that the difference is the same at all levels of a factor, such as 'model'", func(r analyse.Interaction) analyse.Number { return r.P }),
			interactions.evidence("across_spread", "the differences at all levels differ by less than this (two one-sided tests)", analyse.Interaction.Spread, nil),
			inStratum(pairs, func(v view, names []string, in eval.Level) (analyse.Comparison, bool) {
				return v.ComparisonIn(names[0], names[1], names[2], in)
			}).result("diff_in", "difference in one stratum", diff),
			inStratum(estimates, func(v view, names []string, in eval.Level) (analyse.Estimate, bool) {
				return v.EstimateIn(names[0], names[1], in)
			}).result("value_in", "the estimate in one stratum", func(e analyse.Estimate) analyse.Number { return e.Value }),
			share(agreements, "agreement", "smallest share of equal answers of two people to a task, of its questions", func(v view, task string) eval.Measured {
				least, _ := v.Agreement(task)
				return v.Share(least.Same, least.N)
			}),
		},
		change,
		[]function{margin("replicates", "true where two one-sided tests show that the difference changed by less than the margin", change[1:])},
		changeIn,
		[]function{
			margin("replicates_in", "replicates for the items of one stratum, such as 'source=public'", changeIn[1:]),
			outside.number("registered", "1 if the run is a TEST run as it was registered, without an unblinding, else 0", func(a *analyse.Analysis) analyse.Number {
				if a.Discipline.AsRegistered() {
					return 1
				}
				return 0
			}),
			outside.number("blind_runs", "number of blind validations by outsiders that have numbers of arms as they are now, on data committed to before", func(a *analyse.Analysis) (n analyse.Number) {
				for _, b := range a.Blind {
					if b.Unread != "" {
						return analyse.Undefined()
					}
					if b.Counts() {
						n++
					}
				}
				return n
			}),
			blind("blind_min", "smallest difference in a blind validation", func(a, b analyse.Number) bool { return a < b }),
			blind("blind_max", "largest difference in a blind validation", func(a, b analyse.Number) bool { return a > b }),
			ofArm(eval.Failed, "share of trials that failed", "trials"),
			ofArm(eval.Malformed, "share of answers that do not parse", "answers"),
			ofArm(eval.Refused, "share of answers that were refusals", "answers"),
			noWorse,
		})
}()

// Help lists the functions for rules, one per line.
func Help() string {
	var b strings.Builder
	for _, f := range functions {
		fmt.Fprintf(&b, "  %-42s %s\n", f.usage(), f.doc)
	}
	return b.String()
}

// environment returns functions for expressions; use evaluates them. lower says of which metrics lower
// is better.
func environment(list []function, lower func(metric string) bool, use func(f function, args []string) float64) map[string]any {
	env := map[string]any{}
	for _, f := range list {
		env[f.name] = func(args ...string) float64 { // the checker counts them
			if f.metric != "" {
				args = append(args, f.metric)
			}
			return use(f, args)
		}
		if f.within == nil {
			continue
		}
		within := func(margin float64, args ...string) bool {
			holds := true
			for _, end := range f.bounds(lower(args[2])) {
				switch x := use(f.within[end], args); end {
				case 0:
					holds = holds && x > -margin
				case 1:
					holds = holds && x < margin
				}
			}
			return holds
		}
		env[f.name] = func(a, b, metric string, margin float64) bool { return within(margin, a, b, metric) }
		if f.takes("stratum=value") {
			env[f.name] = func(a, b, metric, stratum string, margin float64) bool { return within(margin, a, b, metric, stratum) }
		}
	}
	return env
}
