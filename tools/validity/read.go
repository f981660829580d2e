package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/gate"
)

// This file has everything that the simulation reads from results.

// A result is what one repetition found.
type result struct {
	state     gate.State
	intervals []interval // of the comparisons, or of the rate
	alone     bool       // t alone, which ignores that few losses may still come, would have passed
}

// An interval is the interval of a parameter with a known true value. It is NaN
// if undefined.
type interval struct{ low, high, truth float64 }

func (i interval) covers() bool { return i.low <= i.truth && i.truth <= i.high }

// read reads the intervals and the verdict of a cell.
func read(c cell, r experiment.Result) (result, error) {
	if r.Verdict == nil {
		return result{}, fmt.Errorf("the study has no verdict")
	}
	out := result{state: r.Verdict.State}
	for _, condition := range r.Verdict.Conditions {
		if c.named && out.state == gate.Pass && slices.ContainsFunc(condition.Warnings, func(w string) bool { return strings.Contains(w, "no outlier") }) {
			out.state = gate.Undecided
		}
	}
	if c.method == "" {
		e, ok := r.Analysis.Estimate("a", c.metric)
		if !ok {
			return result{}, fmt.Errorf("the analysis has no estimate of %s", c.metric)
		}
		out.intervals = []interval{{float64(e.Low), float64(e.High), c.rate}}
		return out, nil
	}
	for k, arm := range c.compare {
		d, ok := r.Analysis.Comparison(arm, base, c.metric)
		if !ok {
			return result{}, fmt.Errorf("the analysis has no comparison of %s with %s", arm, base)
		}
		out.intervals = append(out.intervals, interval{float64(d.Low), float64(d.High), c.diffs[k]})
		out.alone = len(d.Beside) == 1 && float64(d.Beside[0].Low) > -c.margin
	}
	return out, nil
}
