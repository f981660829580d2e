package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/gate"
)

// The goals. A cell is flagged where its simulation contradicts one: where the
// 95 % interval of what was counted lies on the wrong side.
const (
	nominal      = 0.025 // false pass: one side of an interval of level 0.95, for all comparisons together
	worstFalse   = nominal + 0.01
	leastCovered = 0.94
	powerError   = 0.03 // largest difference of power from what plan promises
)

// A share is a proportion of repetitions with Wilson's interval of level 0.95.
type share struct {
	Count int     `json:"count"`
	Of    int     `json:"of"`
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// shareOf computes Wilson's interval itself: the simulation judges package stats.
func shareOf(count, of int) share {
	if of == 0 {
		return share{}
	}
	const z = 1.959963984540054
	n, p := float64(of), float64(count)/float64(of)
	middle, half := p+z*z/(2*n), z*math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return share{count, of, p, max(0, (middle-half)/(1+z*z/n)), min(1, (middle+half)/(1+z*z/n))}
}

func (s share) String() string {
	if s.Of == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f (%.1f–%.1f)", 100*s.Value, 100*s.Low, 100*s.High)
}

// A summary is what all repetitions of a cell found.
type summary struct {
	Cell        string `json:"cell"`
	Method      string `json:"method,omitempty"`
	Design      string `json:"design"`
	Metric      string `json:"metric"`
	Comparisons int    `json:"comparisons"`
	Truth       truth  `json:"truth"`
	Rule        string `json:"rule"`
	Repetitions int    `json:"repetitions"`
	Passes      int    `json:"passes"`
	Fails       int    `json:"fails"`
	Undecided   int    `json:"undecided"`
	// FalsePass and Power are the share of passes where a pass is wrong, or right.
	FalsePass *share   `json:"false_pass,omitempty"`
	Power     *share   `json:"power,omitempty"`
	Promised  *float64 `json:"promised,omitempty"` // power that plan promises
	// Alone is the share in which the cluster-robust t alone would have passed.
	Alone *share `json:"t_alone,omitempty"`
	// Coverage is the share of repetitions whose intervals cover the truth, all of
	// them at once, among those where all are defined.
	Coverage share    `json:"coverage"`
	Flags    []string `json:"flags,omitempty"`

	biased bool
}

// summarise summarises the repetitions of a cell.
func summarise(c cell, results []result, promised float64, promises bool) summary {
	s := summary{Cell: c.name, Method: c.method, Design: c.design.name, Metric: c.metric, Comparisons: len(c.compare), Truth: c.truth,
		Rule: c.rule, Repetitions: len(results), biased: c.biased || c.looks > 0}
	var defined, covered, alone int
	for _, r := range results {
		switch r.state {
		case gate.Pass:
			s.Passes++
		case gate.Fail:
			s.Fails++
		default:
			s.Undecided++
		}
		if r.alone {
			alone++
		}
		if slices.ContainsFunc(r.intervals, func(i interval) bool { return math.IsNaN(i.low) || math.IsNaN(i.high) }) {
			continue
		}
		defined++
		if !slices.ContainsFunc(r.intervals, func(i interval) bool { return !i.covers() }) {
			covered++
		}
	}
	s.Coverage = shareOf(covered, defined)
	passes := shareOf(s.Passes, len(results))
	if c.right() {
		s.Power = &passes
	} else {
		s.FalsePass = &passes
	}
	if len(c.compare) == 1 && c.looks == 0 && !c.biased && c.metric != f1 {
		of := shareOf(alone, len(results))
		s.Alone = &of
	}
	if promises {
		s.Promised = &promised
	}
	s.Flags = s.flags()
	return s
}

// flags lists the goals that the cell misses.
func (s summary) flags() (list []string) {
	if p := s.FalsePass; p != nil && p.Low > worstFalse {
		list = append(list, "false pass")
	}
	if c := s.Coverage; !s.biased && c.Of > 0 && c.High < leastCovered {
		list = append(list, "coverage")
	}
	if p := s.Power; p != nil && s.Promised != nil && (p.High < *s.Promised-powerError || p.Low > *s.Promised+powerError) {
		list = append(list, "power")
	}
	return list
}

// A table is the result of a simulation.
type table struct {
	Seed        uint64    `json:"seed"`
	Repetitions int       `json:"repetitions"`
	Cells       []summary `json:"cells"`
}

func (t table) flagged() (n int) {
	for _, s := range t.Cells {
		if len(s.Flags) > 0 {
			n++
		}
	}
	return n
}

// markdown renders the cells in three tables by what a verdict can get wrong.
func (t table) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d repetitions of each cell, seed %d. Shares are in percent, with their 95 %% intervals.\n", t.Repetitions, t.Seed)
	fmt.Fprintf(&b, "Flagged: %d of %d cells, where false passes exceed %.1f %%, coverage is below %.0f %%,\nor power is more than %.0f points from what `scruple plan` promises, by more than the error of the simulation.\n",
		t.flagged(), len(t.Cells), 100*worstFalse, 100*leastCovered, 100*powerError)
	for _, part := range []struct {
		title, rate string
		in          func(summary) bool
	}{
		{"No true improvement: every pass is wrong", "false pass", func(s summary) bool { return s.FalsePass != nil && s.Method != "" }},
		{"Rates at the limit: every pass is wrong", "false pass", func(s summary) bool { return s.Method == "" }},
		{"A true improvement: every pass is right", "power | promised", func(s summary) bool { return s.Power != nil }},
	} {
		head := "| cell | pass / fail / undecided | " + part.rate + " | t alone | coverage | missed |"
		title := fmt.Sprintf("\n## %s\n\n%s\n|%s\n", part.title, head, strings.Repeat("---|", strings.Count(head, "|")-1))
		for _, s := range t.Cells {
			if part.in(s) {
				b.WriteString(title + s.row())
				title = ""
			}
		}
	}
	return b.String()
}

func (s summary) row() string {
	rate, alone := "", "–"
	if s.FalsePass != nil {
		rate = s.FalsePass.String()
	} else {
		rate = s.Power.String() + " | –"
		if s.Promised != nil {
			rate = fmt.Sprintf("%s | %.1f", s.Power, 100**s.Promised)
		}
	}
	if s.Alone != nil {
		alone = fmt.Sprintf("%.1f", 100*s.Alone.Value)
	}
	return fmt.Sprintf("| %s | %d / %d / %d | %s | %s | %s | %s |\n", s.Cell, s.Passes, s.Fails, s.Undecided, rate, alone, s.Coverage, strings.Join(s.Flags, ", "))
}
