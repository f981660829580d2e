package annotate

import (
	"cmp"
	_ "embed" // the texts
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/text"
	"github.com/scruple-eval/scruple/stats"
)

// A series is what a person said in a pass.
type series struct {
	work *Work
	pass int
}

// at is the blind answer to a subject, or nil.
func (s series) at(subject Subject) *Event {
	if g := s.work.given[slot{subject, s.pass}]; g != nil && g.First != nil && !g.First.Sighted {
		return g.First
	}
	return nil
}

// skipped reports whether the person skipped a subject that has no answer since.
func (s series) skipped(subject Subject) bool {
	g := s.work.given[slot{subject, s.pass}]
	return g != nil && g.First == nil && g.Skip != ""
}

// Agreements compares all pairs of people, and the rounds of each person, on each
// question but those for text. A task that makes gold has also a comparison of the gold
// as a whole. Practice has no agreement. What has answers that cannot be compared is in
// [Result.Uncompared].
func (r *Result) Agreements() (list []Agreement, err error) {
	r.Uncompared = nil
	if r.Task.Practice {
		r.Uncompared = []string{"practice counts in no agreement"}
		return nil, nil
	}
	var pairs [][2]series
	for i, w := range r.Everyone {
		for _, v := range r.Everyone[i+1:] {
			pairs = append(pairs, [2]series{{w, passFirst}, {v, passFirst}})
		}
		pairs = append(pairs, [2]series{{w, passFirst}, {w, passAgain}})
	}
	for _, p := range pairs {
		for _, q := range compared(r.Task) {
			g, err := r.compare(q, p[0], p[1])
			if err != nil {
				return nil, err
			}
			if g.N > 0 {
				list = append(list, g)
			}
		}
	}
	err = r.compareAutomatic(&list)
	return list, err
}

// compare compares two series on a question, or on gold as a whole. Answers to what the study
// no longer shows may be about two texts.
func (r *Result) compare(q *study.Question, a, b series) (Agreement, error) {
	var pairs []pair
	open, stale, skipped := 0, 0, 0
	for _, s := range r.queue.Subjects {
		x, y := a.at(s), b.at(s)
		if e := cmp.Or(x, y); e != nil && (a.skipped(s) || b.skipped(s)) && (q == nil || q.Applies(e.Answer.Text)) {
			skipped++
		}
		if x == nil || y == nil || q != nil && (!q.Applies(x.Answer.Text) || !q.Applies(y.Answer.Text)) {
			continue
		}
		if !r.fresh.has(x) || !r.fresh.has(y) {
			stale++
			continue
		}
		if q != nil && q.Type == "number" && (x.Answer[q.Name] == nil || y.Answer[q.Name] == nil) {
			open++
			continue
		}
		pairs = append(pairs, pair{s, x, y})
	}
	g := r.agreement(a.work.Person, b.work.Person, "Gold: the same value, or none", len(pairs))
	if q != nil {
		g.Question = q.Text
	}
	if a.work == b.work {
		g.Again, g.A, g.B = true, g.A+", first", g.B+", again"
	}
	text.AddCount(&g.Notes, skipped, "subject that one of them skipped is", "subjects that one of them skipped are", " not compared")
	text.AddCount(&g.Notes, open, "subject without a number of both is", "subjects without a number of both are", " not compared")
	text.AddCount(&g.Notes, stale, "subject is", "subjects are", " left out: the study shows something else now")
	if g.N == 0 {
		r.leaveOut(g)
		return g, nil
	}
	err := g.failed(g.compute(r.Task, r.fresh.source, q, pairs))
	return g, err
}

// leaveOut says why a comparison has no subjects, if there are answers.
func (r *Result) leaveOut(g Agreement) {
	if len(g.Notes) > 0 {
		r.Uncompared = append(r.Uncompared, fmt.Sprintf("%s: %s and %s: nothing to compare: %s", g.Question, g.A, g.B, strings.Join(g.Notes, "; ")))
	}
}

func (r *Result) agreement(a, b, question string, n int) Agreement {
	return Agreement{Task: r.Task.Name, Question: question, A: a, B: b, N: n, Target: r.Task.Target}
}

func (g *Agreement) failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("agreement of %s and %s in task %s: %w", g.A, g.B, g.Task, err)
}

// compareAutomatic compares the first answers of each person about the subjects that were
// drawn for it with the automatic result, if the groups of the queue are options of the
// first question. A queue that cannot be made now leaves this comparison out.
func (r *Result) compareAutomatic(list *[]Agreement) error {
	q := r.Task.Ask[0]
	if q.Type != "choice" || !slices.ContainsFunc(r.queue.Strata, func(s string) bool { return slices.Contains(q.Options, s) }) {
		return nil
	}
	queued, err := r.fresh.source.Queue(r.Task.Queue)
	if err != nil { // for now: the run is unfinished, or a label is in doubt
		g := r.agreement("people", "the automatic result", q.Text, 0)
		g.Notes = []string{err.Error()}
		r.leaveOut(g)
		return nil
	}
	now := map[eval.Trial]string{}
	for _, x := range queued {
		now[x.Trial] = x.Stratum
	}
	for _, w := range r.Everyone {
		if err := r.compareWith(list, now, w); err != nil {
			return err
		}
	}
	return nil
}

// compareWith compares a person with the automatic results of the answers that the person
// saw: those of the draw may be of answers that were asked anew, or of other settings.
// Groups that are not options are counted as the last option, as a second agreement
// without them shows.
func (r *Result) compareWith(list *[]Agreement, now map[eval.Trial]string, w *Work) error {
	q := r.Task.Ask[0]
	last := q.Options[len(q.Options)-1]
	var all, decided []pair
	others := map[string]int{}
	stale := 0
	for _, i := range r.queue.Check {
		e := series{w, passFirst}.at(r.queue.Subjects[i])
		if e == nil {
			continue
		}
		stratum, queued := now[e.Subject.trial()]
		if !queued || !r.fresh.has(e) {
			stale++
			continue
		}
		if e.label(r.Task, q) == "" { // left open
			continue
		}
		auto := &Event{Subject: e.Subject, Answer: Answer{}}
		p := pair{*e.Subject, auto, e}
		if slices.Contains(q.Options, stratum) {
			auto.Answer.put(q.Name, stratum)
			decided = append(decided, p)
		} else {
			others[stratum]++
			auto.Answer.put(q.Name, last)
		}
		all = append(all, p)
	}
	add := func(name string, pairs []pair, notes ...string) error {
		g := r.agreement(name, w.Person, q.Text, len(pairs))
		g.Automatic = true
		err := g.failed(g.compute(r.Task, r.fresh.source, &q, pairs, notes...))
		*list = append(*list, g)
		return err
	}
	var counted []string
	text.AddCount(&counted, stale, "subject is", "subjects are", " left out: the answer that the person saw was replaced")
	if len(all) == 0 {
		g := r.agreement("automatic", w.Person, q.Text, 0)
		g.Notes = counted
		r.leaveOut(g)
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(others)) {
		text.AddCount(&counted, others[name], "subject", "subjects", ": the automatic result is %s, which counts as %s", name, last)
	}
	if err := add("automatic", all, counted...); err != nil || len(others) == 0 || len(decided) == 0 {
		return err
	}
	return add("automatic, decided ones", decided)
}

// Kind says who is compared.
func (g *Agreement) Kind() string {
	switch {
	case g.Automatic:
		return "automatic result and person"
	case g.Again:
		return "the same person twice"
	}
	return "two people"
}

//go:embed texts.tmpl
var textTemplates string

// written is one of the texts.
var written = text.Templates(textTemplates, template.FuncMap{"decimals": decimals})

// String is the agreement as text. Its table has the labels that one of the two gave: one of many
// codes is in few answers.
func (g *Agreement) String() string {
	var used []int
	wide, widest := 0, 0 // names of measures, and labels
	for _, m := range g.Measures {
		wide = max(wide, len(m.Name))
	}
	for i, l := range g.Labels {
		given := 0
		for k := range g.Labels {
			given += g.Table[i][k] + g.Table[k][i]
		}
		if given > 0 {
			used, widest = append(used, i), max(widest, len([]rune(l)))
		}
	}
	return written("agreement", map[string]any{"Agreement": g, "Wide": wide, "Used": used, "Widest": widest,
		"Left": len(g.Labels) - len(used)})
}

// A Position is how often a person preferred the answer that was shown first, of the
// pairs that they judged blind, in the first round, and without a tie. Without an effect
// of the position it is a half: each pair's sides are drawn. Judgements of what the study no longer
// shows are left out.
type Position struct {
	Task    string         `json:"task"`
	Person  string         `json:"person"`
	Pairs   int            `json:"pairs"`
	Swapped int            `json:"swapped"` // with the second arm first
	Ties    int            `json:"ties"`
	First   int            `json:"first"`           // the answer shown first was preferred
	Stale   int            `json:"stale,omitempty"` // left out
	CI      stats.Interval `json:"-"`               // of the share in pairs without a tie, Wilson's
}

// Positions returns the effect of the position, by person, of a task about pairs.
func (r *Result) Positions() (list []Position) {
	if r.Task.Of != "pair" || r.Task.Ask[0].Type != "choice" {
		return nil
	}
	for _, w := range r.Everyone {
		p := Position{Task: r.Task.Name, Person: w.Person}
		for _, g := range w.order {
			if g.pass != passFirst || g.First == nil || g.First.Sighted {
				continue
			}
			if !r.fresh.has(g.First) {
				p.Stale++
				continue
			}
			p.Pairs++
			p.Swapped += one(g.First.Swapped)
			switch g.First.Answer.Text(r.Task.Ask[0].Name) {
			case "A":
				p.First++
			case "B":
			default:
				p.Ties++
			}
		}
		if p.Pairs+p.Stale > 0 {
			p.CI = stats.Wilson(p.First, p.Decided(), level)
			list = append(list, p)
		}
	}
	return list
}

// Decided are the pairs without a tie, and Share the share of the answers shown first in those
// preferred.
func (p Position) Decided() int { return p.Pairs - p.Ties }

func (p Position) Share() float64 { return float64(p.First) / float64(p.Decided()) }

// String is the position effect as text.
func (p Position) String() string { return written("position", p) }
