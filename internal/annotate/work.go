package annotate

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"time"

	"github.com/scruple-eval/scruple/internal/ledger"
	"github.com/scruple-eval/scruple/internal/stable"
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
	// second person was shown as A if Reversed.
	Base     string `json:"base,omitempty"`
	Reversed bool   `json:"reversed,omitempty"`
	// Swapped says that the second arm of a pair was shown as A.
	Swapped bool   `json:"swapped,omitempty"`
	Place   int    `json:"place,omitempty"` // in the person's order, from 1
	Answer  Answer `json:"answer,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Topic   string `json:"topic,omitempty"` // of a note, whose text is the reason
	// Sighted answers were given after others were shown. They count in no agreement.
	Sighted  bool   `json:"sighted,omitempty"`
	ActiveMS int64  `json:"active_ms,omitempty"`
	WallMS   int64  `json:"wall_ms,omitempty"`
	Version  string `json:"version,omitempty"` // of the program
}

// A Given is a person's answer to a subject in one pass.
type Given struct {
	Subject      Subject
	Pass         int
	First, Final *Event // nil: skipped
	FinalAt      time.Time
	Skip         string // reason

	opened, answered int // lines of the file: the first one, and the first answer
}

type slot struct {
	subject Subject
	pass    int
}

// Work is what a person did in a task.
type Work struct {
	Person string
	Task   string
	given  map[slot]*Given
	order  []slot // of first answers
	drafts map[slot]*Event
	ids    map[string]ledger.Entry
	// sessions counts starts; since counts answers after the last start or break.
	sessions, since int
	log             []Session
	notes           map[noteKey]string
	active          time.Duration
	last            time.Time
}

var personName = regexp.MustCompile(`^[a-z0-9]([a-z0-9_-]{0,62}[a-z0-9])?$`)

// CheckPerson rejects names that some system does not allow as a file name.
func CheckPerson(name string) error {
	if !personName.MatchString(name) {
		return fmt.Errorf("name %q: want lower-case letters and digits, with - or _ inside", name)
	}
	return nil
}

func newWork(task, person string) *Work {
	return &Work{Person: person, Task: task, given: map[slot]*Given{}, drafts: map[slot]*Event{}, ids: map[string]ledger.Entry{}, notes: map[noteKey]string{}}
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
	w.last = at
	if ev.ID != "" {
		w.ids[ev.ID] = e
	}
	w.active += time.Duration(ev.ActiveMS) * time.Millisecond
	switch e.Kind {
	case eventStart:
		w.sessions++
		w.since = 0
		w.log = append(w.log, Session{Number: w.sessions, Start: at, End: at})
		return nil
	case eventBreak:
		w.since = 0
		w.inSession(at).Breaks++
		return nil
	case eventEnd:
		w.inSession(at)
		return nil
	case eventNote:
		w.notes[noteOf(&ev)] = ev.Reason
		return nil
	}
	if ev.Subject == nil {
		return fmt.Errorf("entry %d (%s) has no subject", e.Seq, e.Kind)
	}
	k := slot{*ev.Subject, ev.Pass}
	switch e.Kind {
	case eventDraft:
		w.drafts[k] = &ev
		return nil
	case eventSkip, eventSubmit, eventAdjudicate, eventImport, eventRevise:
	default:
		return fmt.Errorf("entry %d has the unknown kind %q: it was written by another version", e.Seq, e.Kind)
	}
	delete(w.drafts, k)
	g := w.given[k]
	if g == nil {
		g = &Given{Subject: *ev.Subject, Pass: ev.Pass, opened: e.Seq}
		w.given[k] = g
		w.order = append(w.order, k)
		w.since++
		w.inSession(at).add(&ev)
	}
	g.FinalAt = at
	if e.Kind == eventSkip {
		g.Skip = ev.Reason
		return nil
	}
	if g.First == nil { // also after a skip
		g.First, g.answered = &ev, e.Seq
	}
	g.Final, g.Skip = &ev, ""
	return nil
}

func fold(task, person, path string, entries []ledger.Entry) (*Work, error) {
	w := newWork(task, person)
	for _, e := range entries {
		if err := w.apply(e); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, e.Seq, err)
		}
	}
	return w, nil
}

// head is the ledger's entry of the newest line of a person's file.
type head struct {
	taskOf
	Person string `json:"person"`
	ledger.Head
}

// checkHeads compares a person's file with the heads in the ledger.
func (p Place) checkHeads(task, person string, entries []ledger.Entry) error {
	heads, err := entriesOf(p, headEntry, func(h head) bool { return p.has(h.taskOf, task) && h.Person == person })
	if err != nil {
		return err
	}
	for _, h := range heads {
		if err := h.Check(p.workPath(task, person), entries); err != nil {
			return err
		}
	}
	return nil
}

// ReadWork reads and checks the file of a person.
func (p Place) ReadWork(task, person string) (*Work, error) {
	if err := CheckPerson(person); err != nil {
		return nil, err
	}
	path := p.workPath(task, person)
	entries, err := ledger.Read(path)
	if err != nil {
		return nil, err
	}
	if err := p.checkHeads(task, person, entries); err != nil {
		return nil, err
	}
	return fold(task, person, path, entries)
}

// Everyone reads the files of all people in a task, in the order of their first answers.
func (p Place) Everyone(task string) ([]*Work, error) {
	names, err := p.people(task)
	if err != nil {
		return nil, err
	}
	order, err := p.starters(task)
	if err != nil {
		return nil, err
	}
	heads, err := entriesOf(p, headEntry, func(h head) bool { return p.has(h.taskOf, task) })
	if err != nil {
		return nil, err
	}
	for _, h := range heads { // a file that is gone altogether
		if !slices.Contains(names, h.Person) {
			names = append(names, h.Person)
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(place(order, a), place(order, b)) })
	var all []*Work
	for _, name := range names {
		w, err := p.ReadWork(task, name)
		if err != nil {
			return nil, err
		}
		all = append(all, w)
	}
	return all, nil
}

func place(order []string, name string) int {
	if i := slices.Index(order, name); i >= 0 {
		return i
	}
	return len(order)
}

// starter is the ledger's entry of a person who gives their first answer.
type starter struct {
	taskOf
	Person string `json:"person"`
	Head   bool   `json:"head,omitempty"` // the file has its newest hash in a file beside it
}

func (p Place) starters(task string) (names []string, err error) {
	list, err := entriesOf(p, personEntry, func(s starter) bool { return p.has(s.taskOf, task) })
	for _, s := range list {
		if !slices.Contains(names, s.Person) {
			names = append(names, s.Person)
		}
	}
	return names, err
}

// A desk is the open file of a person in a task, with their queue.
type desk struct {
	place   Place
	task    study.Task
	queue   *Queue
	source  Source
	work    *Work
	log     *ledger.Log
	started bool // the ledger has the person
	first   bool // the person who answers all subjects
	version string
	secret  []byte // of the keys of subjects, made of the queue
}

// open opens the file of a person for writing. Its head is written with every answer, so
// that a cut after a crash shows.
func (p Place) open(t study.Task, q *Queue, source Source, person, version string) (*desk, error) {
	if err := CheckPerson(person); err != nil {
		return nil, err
	}
	path := p.workPath(t.Name, person)
	log, err := ledger.Open(path, true)
	if err != nil {
		return nil, err
	}
	d := &desk{place: p, task: t, queue: q, source: source, log: log, version: version}
	if err := d.begin(path, person); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return d, nil
}

func (d *desk) begin(path, person string) (err error) {
	p := d.place
	if err := p.checkHeads(d.task.Name, person, d.log.Entries()); err != nil {
		return err
	}
	if d.work, err = fold(d.task.Name, person, path, d.log.Entries()); err != nil {
		return err
	}
	return d.rank()
}

// rank finds out whether the person is the first, who answers all subjects. Nobody is
// before an answer is stored: whoever only looks leaves all subjects to the others.
func (d *desk) rank() error {
	if d.started {
		return nil
	}
	names, err := d.place.starters(d.task.Name)
	d.started = slices.Contains(names, d.work.Person)
	d.first = len(names) == 0 || names[0] == d.work.Person
	return err
}

// start puts a person who is about to answer into the ledger.
func (d *desk) start() error {
	if d.started {
		return nil
	}
	if err := d.place.add(d.work.Person, personEntry, starter{d.place.taskOf(d.task.Name), d.work.Person, true}); err != nil {
		return err
	}
	return d.rank()
}

// order lists the person's subjects of a pass in their order.
func (d *desk) order(pass int) []Subject {
	t, q := d.task, d.queue
	rng := stable.Random(q.Seed, "order", t.Name, d.work.Person, fmt.Sprint(pass))
	if pass == passAgain {
		done := d.firsts(cmp.Or(t.Again.After, len(d.order(passFirst))))
		count := max(t.Again.Count, int(math.Ceil(t.Again.Share*float64(len(done)))))
		chosen := stable.Random(q.Seed, "again", t.Name, d.work.Person).Perm(len(done))
		var list []Subject
		for _, i := range chosen[:min(count, len(done))] {
			list = append(list, done[i])
		}
		rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		return list
	}
	list := slices.Clone(q.Subjects)
	if !d.first {
		list = list[:0]
		for _, i := range q.Double {
			list = append(list, q.Subjects[i])
		}
	}
	rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	if t.Of == "unit" && len(t.Arms) == 0 {
		together(list, q.Subjects)
	}
	return list
}

// together moves the units of an item to its first one, in the order of the queue, so
// that a text is read once.
func together(list, queue []Subject) {
	item, unit := map[string]int{}, map[Subject]int{}
	for i, s := range list {
		if _, seen := item[s.Item]; !seen {
			item[s.Item] = i
		}
	}
	for i, s := range queue {
		unit[s] = i
	}
	slices.SortStableFunc(list, func(a, b Subject) int {
		return cmp.Or(cmp.Compare(item[a.Item], item[b.Item]), cmp.Compare(unit[a], unit[b]))
	})
}

// firsts lists the subjects that were answered when the first n had been answered or
// skipped, and none before. A skipped one that is answered later does not change the list:
// the second round is drawn from it.
func (d *desk) firsts(n int) (list []Subject) {
	var all []*Given
	for _, k := range d.work.order {
		if k.pass == passFirst && len(all) < n {
			all = append(all, d.work.given[k])
		}
	}
	if len(all) < n || n == 0 {
		return nil
	}
	for _, g := range all {
		if g.First != nil && g.answered <= all[n-1].opened {
			list = append(list, g.Subject)
		}
	}
	return list
}

// swapped draws which arm of a pair is A.
func (d *desk) swapped(s Subject, pass int) bool {
	return s.Other != "" && stable.Random(d.queue.Seed, "side", d.task.Name, d.work.Person, s.String(), fmt.Sprint(pass)).IntN(2) == 1
}

// next returns the first open subject. wait is when a re-test may begin, if it is
// too early for it. A re-test with a milestone comes before the other first answers.
func (d *desk) next() (k slot, at int, ok bool, wait time.Time) {
	passes := []int{passFirst, passAgain}
	if d.task.Again.After > 0 {
		passes = []int{passAgain, passFirst}
	}
	for _, pass := range passes {
		for i, s := range d.order(pass) {
			k := slot{s, pass}
			if d.work.given[k] != nil {
				continue
			}
			if pass == passAgain {
				gap := d.task.Again.Gap.D()
				if gap == 0 {
					gap = 24 * time.Hour
				}
				if open := d.work.given[slot{s, passFirst}].FinalAt.Add(gap); d.place.Now().Before(open) {
					wait = open
					continue
				}
			}
			return k, i + 1, true, time.Time{}
		}
	}
	return slot{}, 0, false, wait
}

// A refusal is an event that was not stored, with its reason.
type refusal struct {
	status int
	reason string
}

func (r *refusal) Error() string { return r.reason }

// append stores an event and returns when it is on disk. A clock that went back
// would make the order of events unclear.
func (d *desk) append(kind string, ev Event) (ledger.Entry, error) {
	now := d.place.Now()
	if now.Before(d.work.last) {
		return ledger.Entry{}, &refusal{409, fmt.Sprintf("not saved: the clock of this computer says %s, but the last answer was given at %s: set the clock", now.UTC().Format(time.DateTime), d.work.last.UTC().Format(time.DateTime))}
	}
	ev.Task, ev.Hash, ev.Session, ev.Version = d.task.Name, d.queue.Hash, max(1, d.work.sessions), d.version
	if kind == eventStart {
		ev.Session = d.work.sessions + 1
	}
	if kind == eventSubmit || kind == eventImport {
		if err := d.start(); err != nil {
			return ledger.Entry{}, err
		}
	}
	e, err := d.log.Append(now, d.work.Person, kind, ev)
	if err != nil {
		return e, err
	}
	return e, d.work.apply(e)
}

// record puts the head of the file in the ledger.
func (d *desk) record() error {
	p := d.place
	return p.add(d.work.Person, headEntry, head{p.taskOf(d.task.Name), d.work.Person, d.log.Head()})
}

// close ends the session.
func (d *desk) close() error {
	var err error
	if d.work.sessions > 0 {
		if _, err = d.append(eventEnd, Event{}); err == nil {
			err = d.record()
		}
	}
	return errors.Join(err, d.log.Close())
}
