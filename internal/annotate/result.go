package annotate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/stable"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/text"
)

// A Coding is what people said of a subject in their first blind answers, and what
// came of it.
type Coding struct {
	Subject Subject
	First   []*Given // of each person who answered, in the order in which they started
	// Final is the answer that counts: the adjudicated one, or that of the only
	// person, or that of all if they agree. nil: they differ, or there is no answer.
	Final *Given
	By    string

	skipped  bool // by somebody
	outdated bool // there is a decision, which is about other answers
}

// codings yields what people said of subjects.
func codings(t study.Task, source GoldMaker, subjects []Subject, everyone []*Work) iter.Seq[Coding] {
	coding := func(s Subject) Coding {
		c := Coding{Subject: s}
		for _, w := range everyone {
			if g := w.given[slot{s, passFirst}]; g != nil && g.First != nil {
				if c.First = append(c.First, g); len(c.First) == 1 {
					c.Final, c.By = g, w.Person
				}
			} else if g != nil {
				c.skipped = c.skipped || g.Skip != ""
			}
		}
		if len(c.First) > 0 && c.differ(t, source) {
			c.Final, c.By = nil, ""
		}
		for _, w := range slices.Backward(everyone) { // the first decision counts
			switch g := w.given[slot{s, passAdjudicate}]; {
			case g == nil || g.Final == nil:
			case c.stands(t, source, g.Final):
				c.Final, c.By = g, w.Person
			default:
				c.outdated = true
			}
		}
		return c
	}
	return func(yield func(Coding) bool) {
		for _, s := range subjects {
			if !yield(coding(s)) {
				return
			}
		}
	}
}

// stands reports whether a decision is about what people say now: no person whose answer was decided
// on has changed it, and those who answered later say what the decision knew or decided.
func (c *Coding) stands(t study.Task, source GoldMaker, decision *Event) bool {
	known := []*Event{decision}
	for _, g := range c.First {
		was := g.decidedOn(decision)
		if was != nil && differ(t, source, was, g.Final) {
			return false
		}
		if was != nil {
			known = append(known, was)
		}
	}
	return !slices.ContainsFunc(c.First, func(g *Given) bool {
		return !slices.ContainsFunc(known, func(e *Event) bool { return !differ(t, source, e, g.Final) })
	})
}

// differ reports whether two of the people gave different answers: what is the same as the answer of a
// third may differ, as USD 100 and EUR 100 do, which are both the same as 100.
func (c *Coding) differ(t study.Task, source GoldMaker) bool {
	for i, g := range c.First {
		if slices.ContainsFunc(c.First[:i], func(h *Given) bool { return differ(t, source, h.Final, g.Final) }) {
			return true
		}
	}
	return false
}

// alike reports whether an answer can stand for another one: they are the same, and differ from the same
// answers.
func (c *Coding) alike(t study.Task, source GoldMaker, a, b *Event) bool {
	return !differ(t, source, a, b) && !slices.ContainsFunc(c.First, func(g *Given) bool {
		return differ(t, source, a, g.Final) != differ(t, source, b, g.Final)
	})
}

// compared lists the questions whose answers can be the same, nil for gold as a whole: all but texts.
func compared(t study.Task) (list []*study.Question) {
	if makesGold(t) {
		list = append(list, nil)
	}
	for _, q := range t.Ask {
		if q.Type != "text" {
			list = append(list, &q)
		}
	}
	return list
}

// same reports whether two answers say the same of a question, or of gold as a whole if q is nil:
// for agreement, for the lock and for decisions. Passages are a set.
func same(t study.Task, source GoldMaker, q *study.Question, a, b *Event) (bool, error) {
	switch {
	case q == nil:
		return source.Same(a.Subject.Item, a.Answer.unitGold(a.Subject.Unit), b.Answer.unitGold(b.Subject.Unit))
	case q.Type == "span":
		x, y := a.Answer.Spans(q.Name), b.Answer.Spans(q.Name)
		return len(x) == len(y) && borders(x, y) == len(x), nil
	}
	return a.label(t, *q) == b.label(t, *q), nil
}

// differ reports whether people must decide between two answers. A text does only if it is the first
// question or names a new code, and any passage may show a value of gold. Gold that cannot be compared differs.
func differ(t study.Task, source GoldMaker, a, b *Event) bool {
	if !slices.Equal(a.Answer.codes(), b.Answer.codes()) {
		return true
	}
	if q := t.Ask[0]; q.Type == "text" && wrote(a, q) != wrote(b, q) {
		return true
	}
	return slices.ContainsFunc(compared(t), func(q *study.Question) bool {
		if makesGold(t) && q != nil && q.Name == goldQuote {
			return false
		}
		equal, err := same(t, source, q, a, b)
		return err != nil || !equal
	})
}

// wrote is the text of an answer, without the white space around it, which says nothing.
func wrote(e *Event, q study.Question) string { return strings.TrimSpace(e.Answer.Text(q.Name)) }

// textsDiffer reports whether people wrote different texts.
func (c *Coding) textsDiffer(t study.Task) bool {
	return slices.ContainsFunc(t.Ask, func(q study.Question) bool {
		return q.Type == "text" && slices.ContainsFunc(c.First, func(g *Given) bool { return wrote(g.Final, q) != wrote(c.First[0].Final, q) })
	})
}

// stale reports whether an answer to the subject, or the decision on it, concerns
// something else than the study shows.
func (c *Coding) stale(f *freshness) bool {
	return slices.ContainsFunc(c.First, func(g *Given) bool { return !f.has(g.Final) }) || c.Final != nil && !f.has(c.Final.Final)
}

// showAll adds the different answers of people to what is shown, without names and in an order that
// is drawn. swapped says which arm of a pair is shown as A; arms are not named. The event gets what
// the decision is about.
func (c *Coding) showAll(shown Shown, t study.Task, source GoldMaker, seed int64, ev *Event) Shown {
	var different []*Event
	ev.About = map[string]int{}
	for _, g := range c.First {
		if ev.About[g.person] = g.Final.line; !slices.ContainsFunc(different, func(e *Event) bool { return c.alike(t, source, e, g.Final) }) {
			different = append(different, g.Final)
		}
	}
	if ev.Reversed = stable.Random(seed, "adjudicate", t.Name, c.Subject.String()).IntN(2) == 1; ev.Reversed {
		slices.Reverse(different)
	}
	var rows []row // what the decision is about comes first
	for i, e := range different {
		side := func(label string) string { return c.Subject.sideOf(label, ev.Swapped) }
		ev.take = append(ev.take, e.onSides(t, side))
		said := cmp.Or(e.readable(t, side), "Every question was left open.")
		if c.Subject.Other != "" && e.Swapped != ev.Swapped {
			said += "\nThe texts of this judgement were written with A and B the other way round."
		}
		name := "Judgement " + letter(i)
		shown.Parts = append(shown.Parts, Part{Name: name, Text: said})
		if i == 1 { // side by side
			rows = []row{{Name: "Judgement", Texts: append(rows[0].Texts, said)}}
		} else {
			rows = append(rows, row{Name: name, Texts: []string{said}})
		}
	}
	shown.rows = append(rows, shown.rows...)
	return shown
}

// letter names the parts of a page that are judged.
func letter(i int) string { return string(rune('A' + i)) }

// freshness tells whether what a person judged is what the study still shows. Texts can
// be corrected and answers asked anew after people judged them.
type freshness struct {
	task   study.Task
	source *remembered
	now    map[side]current
}

// A side is a subject with the first or the second arm of a pair as A.
type side struct {
	subject Subject
	swapped bool
}

// current is the hash of what is shown of a side now, or why it cannot be shown.
type current struct {
	hash string
	err  error
}

func newFreshness(t study.Task, source Source) *freshness {
	return &freshness{t, &remembered{Source: source}, map[side]current{}}
}

// remembered shows an answer once for its many units.
type remembered struct {
	Source
	shown map[eval.Trial]exhibited
}

type exhibited struct {
	eval.Exhibit
	err error
}

// mostRemembered bounds the memory that exhibits with their documents take.
const mostRemembered = 64

func (r *remembered) Show(t eval.Trial) (eval.Exhibit, error) {
	x, known := r.shown[t]
	if !known {
		if len(r.shown) == mostRemembered || r.shown == nil {
			r.shown = map[eval.Trial]exhibited{}
		}
		x.Exhibit, x.err = r.Source.Show(t)
		r.shown[t] = x
	}
	return x.Exhibit, x.err
}

// of looks at a side once.
func (f *freshness) of(s side) current {
	c, known := f.now[s]
	if !known {
		var shown Shown
		if shown, c.err = show(f.task, f.source, s.subject, s.swapped); c.err == nil {
			c.hash = shown.Hash()
		}
		f.now[s] = c
	}
	return c
}

// forget makes the next look at a subject a new one.
func (f *freshness) forget(s Subject) {
	for _, swapped := range []bool{false, true} {
		delete(f.now, side{s, swapped})
	}
	f.source.shown = nil
}

// gone reports whether there is no answer to judge any more.
func (f *freshness) gone(s Subject) bool { return errors.Is(f.of(side{s, false}).err, eval.ErrGone) }

// has reports whether an answer or a decision concerns what the study shows.
func (f *freshness) has(e *Event) bool {
	judged := e.Shown
	if e.Pass == passAdjudicate {
		judged = e.Base
	}
	return judged != "" && f.of(side{*e.Subject, e.Swapped}).hash == judged
}

// A Settled is the answer that counts for a subject.
type Settled struct {
	Subject     Subject `json:"subject"`
	Answer      Answer  `json:"answer"`
	Label       string  `json:"label"`
	By          string  `json:"by"`
	Adjudicated bool    `json:"adjudicated,omitempty"`
	Own         bool    `json:"own,omitempty"` // adjudicated by a person who gave one of the answers
	Reason      string  `json:"reason,omitempty"`
	Shown       string  `json:"shown"`

	session int
	at      time.Time
}

// Result is the state of a task: what is settled, and what is missing for a lock.
type Result struct {
	Task     study.Task
	Settled  []Settled
	Missing  []string
	Notes    []string // on what is settled, for whoever locks it
	Differ   int      // subjects whose answers differ, without a decision
	Aside    int      // subjects without an answer to judge any more: they are set aside
	Everyone []*Work
	// Uncompared says for which two answers [Result.Agreements] found nothing to compare, and why.
	Uncompared []string

	fresh *freshness
	gone  map[Subject]error
	first string // who answers all subjects
	queue *Queue
	now   time.Time
	file  string // name of the gold, if the suite names it
}

// A NotStartedError says that the subjects of a task were not drawn.
type NotStartedError struct{ Task string }

func (e *NotStartedError) Error() string {
	return fmt.Sprintf("task %s is not started: start it with `scruple annotate`", e.Task)
}

// Result reads a task with everyone's answers. Answers to what the study no longer shows
// settle nothing.
func (p Place) Result(t study.Task, source Source) (*Result, error) {
	t = t.Full()
	q, err := p.readQueue(t)
	if err != nil {
		return nil, err
	}
	if q == nil {
		return nil, &NotStartedError{t.Name}
	}
	r := &Result{Task: t, fresh: newFreshness(t, source), gone: map[Subject]error{}, queue: q, now: p.Now()}
	if r.Everyone, err = p.Everyone(t.Name); err != nil {
		return nil, err
	}
	if r.first, err = p.leader(t); err != nil {
		return nil, err
	}
	skipped, open, anew, alone, outdated, texts := 0, 0, 0, 0, 0, 0
	var stale []string
	for c := range codings(t, source, q.Subjects, r.Everyone) {
		switch {
		case r.fresh.gone(c.Subject):
			r.gone[c.Subject] = eval.ErrGone
			r.Aside++
		case c.stale(r.fresh):
			stale = append(stale, c.Subject.String())
		case c.Final != nil:
			e := c.Final.Final
			alone += one(len(c.First) == 1)
			if e.Pass != passAdjudicate {
				outdated, texts = outdated+one(c.outdated), texts+one(c.textsDiffer(t))
			}
			by := r.Everyone[slices.IndexFunc(r.Everyone, func(w *Work) bool { return w.Person == c.By })]
			r.Settled = append(r.Settled, Settled{c.Subject, e.Answer, e.label(t, t.Ask[0]), c.By, e.Pass == passAdjudicate, e.Own, e.Reason, e.Shown, by.session(e.Session), c.Final.FinalAt})
		case len(c.First) > 0:
			r.Differ++
			anew += one(c.outdated)
		case c.skipped:
			skipped++
		default:
			open++
		}
	}
	miss := func(n int, one, many, format string, args ...any) {
		text.AddCount(&r.Missing, n, one, many, format, args...)
	}
	text.AddCount(&r.Notes, alone, "answer is", "answers are", " of one person alone")
	text.AddCount(&r.Notes, outdated, "decision is", "decisions are", " not used: there are other answers since, and people agree")
	text.AddCount(&r.Notes, texts, "answer has", "answers have", " texts in which people differ: those of who started first count")
	miss(open, "subject has", "subjects have", " no answer")
	miss(skipped, "subject was", "subjects were", " skipped: answer it, or draw the task anew under another name")
	miss(r.Differ, "subject has", "subjects have", " answers that differ: decide with `scruple annotate --adjudicate`")
	miss(anew, "of them was", "of them were", " decided, but there are other answers since")
	if len(stale) > 0 {
		miss(len(stale), "subject was", "subjects were", ", such as %s, judged by a text that the study no longer shows: restore the text, or draw the task anew under another name", stale[0])
	}
	if n := len(q.Subjects); t.Again.After > n {
		r.Missing = append(r.Missing, fmt.Sprintf("the second round begins after %d answers, but the task has only %s: draw it anew under another name with a smaller again.after",
			t.Again.After, text.Plural(n, "subject", "subjects")))
	}
	drawn := false
	for _, w := range r.Everyone {
		d := r.part(w)
		miss(d.left(passAgain), "subject", "subjects", " left in the second round of %s", w.Person)
		drawn = drawn || !d.hasAgain() || len(d.order(passAgain)) > 0
	}
	if !drawn && len(r.Missing) == 0 && len(r.Settled) > 0 {
		enough, rest := "all subjects of their first round", "the rest"
		if t.Again.After > 0 {
			enough, rest = text.Plural(t.Again.After, "subject", "subjects")+" (again.after)", "more"
		}
		r.Missing = append(r.Missing, fmt.Sprintf("the second round was not drawn, since nobody answered %s: %s answers %s of theirs", enough, r.first, rest))
	}
	return r, nil
}

// part is a person's part of the task.
func (r *Result) part(w *Work) *part {
	return &part{task: r.Task, source: r.fresh.source.Source, queue: r.queue, work: w, first: w.Person == cmp.Or(r.first, r.Everyone[0].Person), gone: r.gone}
}

// Discrepancies lists the subjects that a person answered differently in the second round.
// ok is false until it is over.
func (r *Result) Discrepancies(w *Work) (list []Discrepancy, ok bool) {
	return r.part(w).discrepancies()
}

// makesGold reports whether the answers to a task are gold in the suite's format.
func makesGold(t study.Task) bool { return t.Kind == "gold" && ofUnits(t) }

// StudyGold reports whether the answers are gold that the study reads. [Result.Gold] was
// called before.
func (r *Result) StudyGold() bool { return makesGold(r.Task) || r.file != "" }

// Gold is the file of the settled answers: gold in the suite's format if the task is
// of kind gold, gold of whole items if the suite has such, else the answers as they are.
func (r *Result) Gold() (data []byte, err error) {
	keeper := r.fresh.source.Keeper()
	switch {
	case keeper != nil && r.Task.Kind == "assessment" && r.Task.Of == "item" && !r.Task.Practice:
		var settled []eval.ItemGold
		for _, s := range r.Settled {
			g := eval.ItemGold{Item: s.Subject.Item, Answer: map[string]json.RawMessage{}, Session: s.session, At: s.at.UTC().Format(time.RFC3339)}
			for q, v := range s.Answer {
				g.Answer[q] = json.RawMessage(v)
			}
			settled = append(settled, g)
		}
		r.file, data, err = keeper.GoldFile(r.now.UTC().Format(time.DateOnly), settled)
		return data, err
	case !makesGold(r.Task):
		var b bytes.Buffer
		err := dataset.EncodeLines(r.Settled)(&b)
		return b.Bytes(), err
	}
	for i := 0; i < len(r.Settled); {
		item := r.Settled[i].Subject.Item
		var of []eval.UnitGold
		for ; i < len(r.Settled) && r.Settled[i].Subject.Item == item; i++ {
			of = append(of, r.Settled[i].Answer.unitGold(r.Settled[i].Subject.Unit))
		}
		line, err := r.fresh.source.Gold(item, of)
		if err != nil {
			return nil, fmt.Errorf("the gold of %s: %w", item, err)
		}
		data = append(append(data, line...), '\n')
	}
	return data, nil
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
	// Skipped says that there is no answer, in a task that measures a judge: whoever compares the
	// judge with people must know that the other answers are no random sample.
	Skipped bool `json:"skipped,omitempty"`
}

func (g *Given) judgement(t study.Task) []byte {
	e := g.Final
	if e == nil {
		return encoded(Judgement{Skipped: true})
	}
	q := t.Ask[0]
	j := Judgement{Answer: e.Answer, Label: e.label(t, q), Shown: e.Shown, Reason: e.Reason, Session: e.Session}
	if t.Judge {
		j.Yes = new(j.Label == q.Options[0])
	}
	return encoded(j)
}

// Verdicts turns the answers to a task into verdicts: step is the task, and round is
// 1, 2 for the second round, or 3 for the verdict on answers that differ. Answers to
// what the study no longer shows, and decisions on them, are left out and counted. Decisions on
// answers that changed since are left out: people agree now, or still differ. What a person skipped
// is a verdict if the task measures a judge.
func (p Place) Verdicts(t study.Task, source Source) (list []eval.PersonVerdict, stale int, err error) {
	t = t.Full()
	q, err := p.readQueue(t)
	if err != nil || q == nil {
		return nil, 0, err
	}
	everyone, err := p.Everyone(t.Name)
	fresh := newFreshness(t, source)
	counts := map[*Given]bool{} // of decisions
	for c := range codings(t, source, q.Subjects, everyone) {
		counts[c.Final] = true
	}
	for _, w := range everyone {
		for _, g := range w.order {
			switch s := g.subject; {
			case g.Final == nil && (!t.Judge || fresh.gone(s)):
			case g.Final != nil && g.pass == passAdjudicate && !counts[g]:
			case g.Final != nil && !fresh.has(g.Final):
				stale++
			default:
				trial, err := source.Now(s.trial())
				if err != nil {
					return nil, 0, err
				}
				unit := s.Unit
				if s.Other != "" { // of two arms, so it concerns the item
					trial, unit = eval.Trial{Item: s.Item}, s.Arm+" or "+s.Other
				}
				list = append(list, eval.PersonVerdict{Trial: trial, Verdict: eval.Verdict{Unit: unit, Step: t.Name, Source: eval.ByHuman, By: w.Person, Round: g.pass,
					At: g.FinalAt.UTC().Format(time.RFC3339), Data: g.judgement(t)}})
			}
		}
	}
	return list, stale, err
}
