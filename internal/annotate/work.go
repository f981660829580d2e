package annotate

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scruple-eval/scruple/internal/ledger"
	"github.com/scruple-eval/scruple/internal/study"
)

// Kinds of events.
const (
	eventStart      = "session_start"
	eventEnd        = "session_end"
	eventBreak      = "break"
	eventDraft      = "draft"
	eventSubmit     = "submit"
	eventSkip       = "skip"
	eventRevise     = "revise"
	eventAdjudicate = "adjudicate"
	eventImport     = "import"
	eventNote       = "note"
	eventSight      = "sight" // of others' answers, by a person without an own one
)

// Passes: the first answer, the re-test, and the verdict on two answers that differ.
const (
	passFirst      = 1
	passAgain      = 2
	passAdjudicate = 3
)

// An Event is the data of a line of a person's file.
type Event struct {
	ID      string   `json:"id,omitempty"` // made by the browser, so that a re-send is harmless
	Task    string   `json:"task"`
	Hash    string   `json:"task_hash"`
	Pass    int      `json:"pass,omitempty"`
	Session int      `json:"session"`
	Subject *Subject `json:"subject,omitempty"`
	Shown   string   `json:"shown,omitempty"` // hash
	// Base is the hash of what an adjudication shows beside the answers that differ. The
	// first person was shown last if Reversed.
	Base     string `json:"base,omitempty"`
	Reversed bool   `json:"reversed,omitempty"`
	// About are the answers that a decision is about: lines of people's files.
	About map[string]int `json:"about,omitempty"`
	// Swapped says that the second arm of a pair was shown as A.
	Swapped bool `json:"swapped,omitempty"`
	// Own says that one of the answers decided on is the person's own.
	Own    bool   `json:"own,omitempty"`
	Place  int    `json:"place,omitempty"` // in the person's order, from 1
	Answer Answer `json:"answer,omitempty"`
	Reason string `json:"reason,omitempty"`
	Topic  string `json:"topic,omitempty"` // of a note, whose text is the reason
	// Sighted answers were given after others were shown. They count in no agreement.
	Sighted  bool   `json:"sighted,omitempty"`
	ActiveMS int64  `json:"active_ms,omitempty"`
	WallMS   int64  `json:"wall_ms,omitempty"`
	Version  string `json:"version,omitempty"` // of the program

	line int
	at   time.Time
	take []Answer // those that a decision can take
}

func (e *Event) active() time.Duration { return time.Duration(e.ActiveMS) * time.Millisecond }

// label is the answer to a question as one label. For a pair it names the arm.
func (e *Event) label(t study.Task, q study.Question) string {
	l := e.Answer.label(q)
	if t.Of == "pair" && q.Type == "choice" {
		return e.Subject.armOf(l, e.Swapped)
	}
	return l
}

// onSides is an answer with the arms of a pair as a page shows them.
func (e *Event) onSides(t study.Task, show func(label string) string) Answer {
	a := Answer{}
	maps.Copy(a, e.Answer)
	for _, q := range t.Ask {
		if _, given := a[q.Name]; given && t.Of == "pair" && q.Type == "choice" {
			a.put(q.Name, show(e.label(t, q)))
		}
	}
	return a
}

// Readable is an answer as text, one question a line. Arms of a pair are named.
func (e *Event) Readable(t study.Task) string {
	return e.readable(t, func(label string) string { return label }) + "\n"
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
				passage := strings.TrimSpace(fmt.Sprintf("“%s” (page %d) %s %s", s.Text, s.Page, s.Label, s.Value))
				if s.Record > 0 {
					passage = fmt.Sprintf("record %d: %s", s.Record, passage)
				}
				said = append(said, passage)
			}
		}
		lines = append(lines, titled(q.Text)+" "+strings.Join(said, "; "))
	}
	return strings.Join(lines, "\n")
}

// A slot is a subject in a pass.
type slot struct {
	subject Subject
	pass    int
}

// A Given is a person's answer in a slot.
type Given struct {
	slot
	person       string
	all          []*Event
	First, Final *Event // nil: skipped
	FinalAt      time.Time
	by           time.Time // before what came next, if the clock was ahead at FinalAt
	Skip         string    // reason

	opened int // the first line in the file
}

// A Session is a person's work from the first draft to a break or the end of the server.
type Session struct {
	Number int // from 1, of the sessions with an answer or a note
	Start  time.Time
	Breaks int // one ends a session
	// Items are the subjects of new answers in their order, without those of the second
	// round, which Again counts, and those on whose answers the person decided.
	Items     []Subject
	Again     int
	Decisions int
	Active    time.Duration
	Note      string // observations

	id int // counts starts: one may have drafts alone
}

// A noteKey is what a note is about. A later note replaces an earlier one; both stay in
// the file.
type noteKey struct {
	topic   string
	subject Subject
}

func sessionTopic(n int) string { return "session " + strconv.Itoa(n) }

func memoTopic(topic string) string { return "memo: " + topic }

// discrepancyTopic is the topic of notes on answers that differ between the rounds.
const discrepancyTopic = "discrepancy"

// Work is what a person did in a task.
type Work struct {
	Person string
	Task   string
	given  map[slot]*Given
	order  []*Given // as they were first answered or skipped
	drafts map[slot]*Event
	sights map[Subject]bool
	ids    map[string]string // when events were stored, by their ids
	// starts counts starts of sessions; since counts answers after the last start or break.
	starts, since int
	log           []Session
	notes         map[noteKey]string
	active        time.Duration
	last          time.Time
}

// apply adds an entry of the person's file.
func (w *Work) apply(e ledger.Entry) error {
	var ev Event
	if err := e.Decode(&ev); err != nil {
		return err
	}
	at, err := time.Parse(time.RFC3339Nano, e.At)
	switch {
	case err != nil:
		return fmt.Errorf("entry %d: %w", e.Seq, err)
	case e.By != w.Person || ev.Task != w.Task:
		return fmt.Errorf("entry %d is of %s in task %s: the file belongs to another person or task", e.Seq, e.By, ev.Task)
	}
	if at.Before(w.last) { // the clock was ahead
		for _, g := range w.order {
			if g.by.After(at) {
				g.by = at
			}
		}
	}
	w.last, ev.line, ev.at = at, e.Seq, at
	if ev.ID != "" {
		w.ids[ev.ID] = e.At
	}
	w.active += ev.active()
	switch e.Kind {
	case eventStart:
		w.starts++
		w.since = 0
		w.log = append(w.log, Session{id: w.starts, Start: at})
	case eventBreak:
		w.since = 0
		w.inSession(at).Breaks++
	case eventEnd:
	case eventNote:
		k := noteKey{topic: ev.Topic}
		if ev.Subject != nil {
			k.subject = *ev.Subject
		}
		w.notes[k] = ev.Reason
	case eventDraft, eventSight, eventSkip, eventSubmit, eventAdjudicate, eventImport, eventRevise:
		if ev.Subject == nil {
			return fmt.Errorf("entry %d (%s) has no subject", e.Seq, e.Kind)
		}
		switch k := (slot{*ev.Subject, ev.Pass}); e.Kind {
		case eventDraft:
			w.drafts[k] = &ev
		case eventSight:
			w.sights[k.subject] = true
		default:
			w.answer(k, e.Kind, &ev)
		}
	default:
		return fmt.Errorf("entry %d has the unknown kind %q: it was written by another version", e.Seq, e.Kind)
	}
	return nil
}

// answer adds an answer or a skip.
func (w *Work) answer(k slot, kind string, ev *Event) {
	delete(w.drafts, k)
	g := w.given[k]
	if g == nil {
		g = &Given{slot: k, person: w.Person, opened: ev.line}
		w.given[k] = g
		w.order = append(w.order, g)
		w.since++
		s := w.inSession(ev.at)
		s.Active += ev.active()
		switch k.pass {
		case passAgain:
			s.Again++
		case passAdjudicate:
			s.Decisions++
		default:
			s.Items = append(s.Items, k.subject)
		}
	}
	if g.FinalAt, g.by = ev.at, ev.at; kind == eventSkip {
		g.Skip = ev.Reason
		return
	}
	g.all, g.First, g.Final, g.Skip = append(g.all, ev), cmp.Or(g.First, ev), ev, ""
}

// decidedOn is the answer that a decision is about, or nil. Decisions from before
// 30 November 2026 name no answers: they count for none, so people decide again.
func (g *Given) decidedOn(decision *Event) *Event {
	line, bound := decision.About[g.person]
	if i := slices.IndexFunc(g.all, func(e *Event) bool { return bound && line == e.line }); i >= 0 {
		return g.all[i]
	}
	return nil
}

// inSession returns the running session.
func (w *Work) inSession(at time.Time) *Session {
	if len(w.log) == 0 { // an import has no session
		w.log = append(w.log, Session{Start: at})
	}
	return &w.log[len(w.log)-1]
}

// Sessions lists the sessions in which the person answered or wrote something.
func (w *Work) Sessions() (list []Session) {
	for _, s := range w.log {
		s.Note = w.notes[noteKey{topic: sessionTopic(s.id)}]
		if len(s.Items)+s.Again+s.Decisions > 0 || s.Note != "" {
			s.Number = len(list) + 1
			list = append(list, s)
		}
	}
	return list
}

// session is the number of the session with an id.
func (w *Work) session(id int) int {
	for _, s := range w.Sessions() {
		if s.id == id {
			return s.Number
		}
	}
	return max(1, len(w.Sessions()))
}

// An Answered is a final first answer of a person.
type Answered struct {
	Subject Subject
	Answer  Answer // nil if the subject was skipped
	Active  time.Duration
}

// Answers lists the person's answers of the first round in their order.
func (w *Work) Answers() (list []Answered) {
	for _, g := range w.order {
		a := Answered{Subject: g.subject}
		if g.Final != nil {
			a.Answer, a.Active = g.Final.Answer, g.Final.active()
		}
		if g.pass == passFirst {
			list = append(list, a)
		}
	}
	return list
}

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

func fold(task, person, path string, entries []ledger.Entry) (*Work, error) {
	w := &Work{Person: person, Task: task, given: map[slot]*Given{}, drafts: map[slot]*Event{}, sights: map[Subject]bool{},
		ids: map[string]string{}, notes: map[noteKey]string{}}
	for _, e := range entries {
		if err := w.apply(e); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, e.Seq, err)
		}
	}
	return w, nil
}

// ReadWork reads and checks the file of a person.
func (p Place) ReadWork(task, person string) (*Work, error) {
	if err := CheckPerson(person); err != nil { // the ledger may name any
		return nil, err
	}
	heads, err := p.headsOf(task, person) // before the file, to which the person may be adding
	if err != nil {
		return nil, err
	}
	entries, err := ledger.Read(p.workPath(task, person))
	if err != nil {
		return nil, err
	}
	return p.workOf(task, person, heads, entries)
}

// headsOf are those that the ledger has of a person's file.
func (p Place) headsOf(task, person string) ([]head, error) {
	heads, err := entriesOf[head](p, headEntry, task)
	return slices.DeleteFunc(heads, func(h head) bool { return h.Person != person }), err
}

// workOf is the work in the entries of a file, which has the heads.
func (p Place) workOf(task, person string, heads []head, entries []ledger.Entry) (w *Work, err error) {
	path := p.workPath(task, person)
	for _, h := range heads {
		err = cmp.Or(err, h.Check(path, entries))
	}
	if err == nil {
		w, err = fold(task, person, path, entries)
	}
	if err == nil {
		err = p.checkBegan(w)
	}
	return w, err
}

// checkBegan refuses answers of a person whom the ledger does not have.
func (p Place) checkBegan(w *Work) error {
	// Who only skips, or decides about answers of others, is not in the ledger.
	if !slices.ContainsFunc(w.order, func(g *Given) bool { return g.pass != passAdjudicate && g.First != nil }) {
		return nil
	}
	names, err := p.starters(w.Task)
	if err == nil && !slices.Contains(names, w.Person) {
		err = fmt.Errorf("%s has answers, but the ledger has no entry that %s began: it was not made here, or the ledger was replaced; if it was made on another computer, `scruple annotate STUDY --task %s --adopt %s` takes it into the ledger",
			p.workPath(w.Task, w.Person), w.Person, w.Task, w.Person)
	}
	return err
}

// Adopt takes the file of a person into the ledger that was made elsewhere, such as on another
// computer. by answers for it.
func (p Place) Adopt(t study.Task, person, by string) (*Work, error) {
	if err := p.checkMay(t, person); err != nil {
		return nil, err
	}
	q, err := p.readQueue(t.Full())
	if err != nil {
		return nil, err
	}
	if q == nil {
		return nil, &NotStartedError{t.Name}
	}
	path := p.workPath(t.Name, person)
	entries, err := ledger.Read(path)
	if err != nil {
		return nil, err
	}
	w, err := fold(t.Name, person, path, entries)
	if err != nil {
		return nil, err
	}
	switch err := p.checkBegan(w); {
	case len(entries) == 0:
		return nil, fmt.Errorf("%s has no answers", path)
	case err == nil:
		return nil, fmt.Errorf("%s is in the ledger, or has no answers", path)
	}
	for _, g := range w.order {
		if !slices.Contains(q.Subjects, g.subject) {
			return nil, fmt.Errorf("%s:%d: %v is not a subject of task %s: the file is of another draw", path, g.opened, g.subject, t.Name)
		}
	}
	_, lacksHead := os.Stat(path + ledger.HeadSuffix)
	// The head comes first: without the other entry the file is not adopted.
	if err := p.add(by, headEntry, head{p.taskOf(t.Name), person, ledger.HeadOf(entries)}); err != nil {
		return nil, err
	}
	return w, p.add(by, personEntry, starter{p.taskOf(t.Name), person, lacksHead == nil, true})
}

// Everyone reads the files of all people in a task, in the order of their first answers.
func (p Place) Everyone(task string) ([]*Work, error) { return p.everyone(task, p.ReadWork) }

func (p Place) everyone(task string, read func(task, person string) (*Work, error)) (all []*Work, err error) {
	names, errPeople := p.People(task)
	order, errOrder := p.starters(task)
	heads, errHeads := entriesOf[head](p, headEntry, task)
	if err := errors.Join(errPeople, errOrder, errHeads); err != nil {
		return nil, err
	}
	for _, h := range heads { // a file that is gone altogether
		if !slices.Contains(names, h.Person) {
			names = append(names, h.Person)
		}
	}
	place := func(name string) int { return slices.Index(append(slices.Clip(order), name), name) } // or the last
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(place(a), place(b)) })
	for _, name := range names {
		w, err := read(task, name)
		if err != nil {
			return nil, err
		}
		all = append(all, w)
	}
	return all, nil
}
