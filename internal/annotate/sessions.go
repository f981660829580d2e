package annotate

import (
	"slices"
	"time"

	"github.com/scruple-eval/scruple/internal/study"
)

// A Session is the time from one start of the server to the next in a person's work.
type Session struct {
	Number     int
	Start, End time.Time
	Breaks     int
	// Items are the subjects of new answers in their order, without those of the second
	// round, which Again counts.
	Items  []Subject
	Again  int
	Active time.Duration
	Note   string // observations
}

// inSession returns the running session, which lasts at least until at.
func (w *Work) inSession(at time.Time) *Session {
	if len(w.log) == 0 { // an import has no session
		w.log = append(w.log, Session{Start: at})
	}
	s := &w.log[len(w.log)-1]
	s.End = at
	return s
}

func (s *Session) add(ev *Event) {
	if ev.Pass == passAgain {
		s.Again++
	} else {
		s.Items = append(s.Items, *ev.Subject)
	}
	s.Active += time.Duration(ev.ActiveMS) * time.Millisecond
}

// Sessions lists the sessions in which the person answered or wrote something.
func (w *Work) Sessions() []Session {
	var list []Session
	for _, s := range w.log {
		s.Note = w.notes[noteKey{topic: sessionTopic(s.Number)}]
		if len(s.Items) > 0 || s.Again > 0 || s.Note != "" {
			list = append(list, s)
		}
	}
	return list
}

// An Answered is a final first answer of a person.
type Answered struct {
	Subject Subject
	Answer  Answer
	Active  time.Duration
	Session int
	Skipped string // the reason, without an answer
}

// Answers lists the person's answers of the first round in their order.
func (w *Work) Answers() (list []Answered) {
	for _, k := range w.order {
		g := w.given[k]
		if k.pass != passFirst {
			continue
		}
		a := Answered{Subject: k.subject, Skipped: g.Skip}
		if g.Final != nil {
			a.Answer, a.Active, a.Session = g.Final.Answer, time.Duration(g.Final.ActiveMS)*time.Millisecond, g.Final.Session
		}
		list = append(list, a)
	}
	return list
}

// Blind names a subject without its arms.
func (s Subject) Blind() string { return s.blind() }

// Readable is an answer as text, one question a line. Arms of a pair are named.
func (e *Event) Readable(t study.Task) string {
	return e.readable(t, func(label string) string { return label }) + "\n"
}

// A noteKey is what a note is about. A later note replaces an earlier one; both stay in
// the file.
type noteKey struct {
	topic   string
	subject Subject
}

func noteOf(ev *Event) noteKey {
	k := noteKey{topic: ev.Topic}
	if ev.Subject != nil {
		k.subject = *ev.Subject
	}
	return k
}

// discrepancyTopic is the topic of notes on answers that differ between the rounds.
const discrepancyTopic = "discrepancy"

// A Note is what a person wrote on a topic.
type Note struct{ Topic, Text string }

// Memo returns the notes on the topics of a task that are not empty, in their order.
func (w *Work) Memo(topics []string) (list []Note) {
	for _, t := range topics {
		if text := w.notes[noteKey{topic: memoTopic(t)}]; text != "" {
			list = append(list, Note{t, text})
		}
	}
	return list
}

// A Discrepancy is a subject that a person answered differently in the second round.
type Discrepancy struct {
	Subject       Subject
	First, Second *Event
	Note          string
}

// Discrepancies lists the subjects whose answers to the first question differ between
// the rounds. ok is false until the second round is over: before, the list would show
// first answers.
func (r *Result) Discrepancies(w *Work) (list []Discrepancy, ok bool) {
	d := &desk{task: r.Task, queue: r.queue, work: w, first: slices.Index(r.Everyone, w) == 0}
	return d.discrepancies()
}

func (d *desk) discrepancies() (list []Discrepancy, ok bool) {
	again := d.order(passAgain)
	for _, s := range again {
		g := d.work.given[slot{s, passAgain}]
		if g == nil {
			return nil, false
		}
		first := d.work.given[slot{s, passFirst}]
		if g.First == nil || first == nil || first.First == nil { // skipped
			continue
		}
		if q := d.task.Ask[0]; first.First.label(d.task, q) != g.First.label(d.task, q) {
			list = append(list, Discrepancy{s, first.First, g.First, d.work.notes[noteKey{discrepancyTopic, s}]})
		}
	}
	return list, len(again) > 0
}
