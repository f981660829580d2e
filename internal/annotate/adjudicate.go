package annotate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/scruple-eval/scruple/internal/stable"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/text"
)

// A Coding is what people said of a subject in their first blind answers, and what
// came of it.
type Coding struct {
	Subject Subject
	First   []*Given // of each person who answered, in the order in which they started
	People  []string
	// Final is the answer that counts: the adjudicated one, or that of the only
	// person, or that of all if they agree. nil: they differ, or there is no answer.
	Final *Event
	By    string

	finalAt time.Time
}

// codings lists the subjects of a queue.
func codings(t study.Task, q *Queue, everyone []*Work) []Coding {
	var list []Coding
	for _, s := range q.Subjects {
		c := Coding{Subject: s}
		for _, w := range everyone {
			if g := w.given[slot{s, passFirst}]; g != nil && g.First != nil {
				c.First, c.People = append(c.First, g), append(c.People, w.Person)
			}
		}
		c.settle(t, everyone)
		list = append(list, c)
	}
	return list
}

func (c *Coding) settle(t study.Task, everyone []*Work) {
	for _, w := range everyone {
		if g := w.given[slot{c.Subject, passAdjudicate}]; g != nil && g.Final != nil {
			c.Final, c.By, c.finalAt = g.Final, w.Person, g.FinalAt
			return
		}
	}
	if len(c.First) > 0 && !c.differ(t) {
		c.Final, c.By, c.finalAt = c.First[0].Final, c.People[0], c.First[0].FinalAt
	}
}

// differ reports whether people gave different answers to a question that is asked
// of all: a choice, several, or a number. Texts and passages are compared only if
// the task has none of these, and values only as text: gold needs one of them.
func (c *Coding) differ(t study.Task) bool {
	if makesGold(t) {
		for _, g := range c.First[1:] {
			if !slices.EqualFunc(c.First[0].Final.Answer.unitGold("").Values, g.Final.Answer.unitGold("").Values, func(a, b string) bool { return text.Fold(a) == text.Fold(b) }) {
				return true
			}
		}
	}
	for _, q := range t.Ask {
		if q.Name != t.Ask[0].Name && q.Type != "choice" && q.Type != "several" && q.Type != "number" {
			continue
		}
		for _, g := range c.First[1:] {
			if g.Final.label(t, q) != c.First[0].Final.label(t, q) {
				return true
			}
		}
	}
	return false
}

// label is the answer to a question as one label. For a pair it names the arm.
func (e *Event) label(t study.Task, q study.Question) string {
	l := e.Answer.label(q)
	if t.Of == "pair" && q.Type == "choice" {
		return armOf(l, *e.Subject, e.Swapped)
	}
	return l
}

// armOf returns the arm that was shown as A or B.
func armOf(side string, s Subject, swapped bool) string {
	switch {
	case side == "A" && !swapped, side == "B" && swapped:
		return s.Arm
	case side == "A", side == "B":
		return s.Other
	}
	return side
}

// adjudicable lists the subjects whose answers differ and that have no decision. Answers
// to what the study no longer shows cannot be compared.
func (d *desk) adjudicable() ([]Coding, error) {
	everyone, err := d.place.others(d)
	if err != nil {
		return nil, err
	}
	var open []Coding
	fresh := newFreshness(d.task, d.source)
	for _, c := range codings(d.task, d.queue, everyone) {
		if c.Final == nil && len(c.First) > 1 && !c.stale(fresh) {
			open = append(open, c)
		}
	}
	return open, nil
}

// others reads everyone's files; the open one is taken as it is.
func (p Place) others(d *desk) ([]*Work, error) {
	everyone, err := p.Everyone(d.task.Name)
	if i := slices.IndexFunc(everyone, func(w *Work) bool { return w.Person == d.work.Person }); i >= 0 {
		everyone[i] = d.work
	}
	return everyone, err
}

// showBoth adds the answers of two people to what is shown, without names and in an
// order that is drawn. swapped says which arm of a pair is shown as A; arms are not named.
func (d *desk) showBoth(shown Shown, c Coding, swapped bool) (_ Shown, reversed bool) {
	reversed = stable.Random(d.queue.Seed, "adjudicate", d.task.Name, c.Subject.String()).IntN(2) == 1
	two := slices.Clone(c.First[:2])
	for i := range c.First { // the first two that differ
		pair := Coding{First: []*Given{c.First[0], c.First[i]}}
		if i > 0 && pair.differ(d.task) {
			two[1] = c.First[i]
			break
		}
	}
	if reversed {
		slices.Reverse(two)
	}
	for i, g := range two {
		said := g.Final.readable(d.task, blindly(c.Subject, swapped))
		if c.Subject.Other != "" && g.Final.Swapped != swapped {
			said += "\nThe texts of this judgement were written with A and B the other way round."
		}
		shown.Parts = append(shown.Parts, Part{"Judgement " + string(rune('A'+i)), said})
	}
	return shown, reversed
}

// blindly shows the arms of a pair as the sides on which a page shows them, and other
// labels as they are.
func blindly(s Subject, swapped bool) func(label string) string {
	return func(label string) string {
		switch {
		case s.Other != "" && label == s.Arm:
			return side(swapped)
		case s.Other != "" && label == s.Other:
			return side(!swapped)
		}
		return label
	}
}

func side(second bool) string {
	if second {
		return "B"
	}
	return "A"
}

// readable is an answer as text. show says how the labels of options are shown.
func (e *Event) readable(t study.Task, show func(label string) string) string {
	var lines []string
	for _, q := range t.Ask {
		if _, given := e.Answer[q.Name]; !given {
			continue
		}
		said := []string{cmp.Or(show(e.label(t, q)), "none")}
		if q.Type == "span" {
			said = nil
			for _, s := range e.Answer.Spans(q.Name) {
				said = append(said, strings.TrimSpace(fmt.Sprintf("“%s” (page %d) %s", s.Text, s.Page, s.Label)))
			}
		}
		lines = append(lines, titled(q.Text)+" "+strings.Join(said, "; "))
	}
	return strings.Join(lines, "\n")
}

// A Judgement is an answer as the data of a verdict.
type Judgement struct {
	Answer Answer `json:"answer"`
	// Label is the answer to the first question; of a pair, the arm or "tie".
	Label  string `json:"label"`
	Yes    *bool  `json:"yes,omitempty"` // of a task that measures a judge
	Shown  string `json:"shown"`
	Reason string `json:"reason,omitempty"`
	// Session is the number of the person's session.
	Session int `json:"session,omitempty"`
}

func (e *Event) judgement(t study.Task) []byte {
	q := t.Ask[0]
	j := Judgement{Answer: e.Answer, Label: e.label(t, q), Shown: e.Shown, Reason: e.Reason, Session: e.Session}
	if t.Judge {
		yes := j.Label == q.Options[0]
		j.Yes = &yes
	}
	data, err := json.Marshal(j)
	if err != nil {
		panic("annotate: encoding a judgement: " + err.Error()) // the answer was valid JSON
	}
	return data
}
