package annotate

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/scruple-eval/scruple/internal/ledger"
	"github.com/scruple-eval/scruple/internal/serve"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/text"
)

type message struct {
	Depth, Title, Text string
	Task               string // with it, the page has a button that ends the break
	Notes              string // task to whose notes the page has a link
	Skipped            string // key of a skipped subject to which the page has a link
}

type indexTask struct {
	study.Task
	Closed   string
	Later    bool   // its subjects are drawn when it is opened
	Waits    string // why they cannot be drawn yet
	Done, Of int
	Again    string
	Active   time.Duration
}

func (s *Server) adjudicates() bool { return s.passes[0] == passAdjudicate }

// day is how pages name a time.
func day(t time.Time) string { return t.Local().Format("Monday 2 January, 15:04") }

func (s *Server) index(w http.ResponseWriter, r *http.Request) error {
	var list []indexTask
	for _, t := range s.tasks {
		x := indexTask{Task: t.Task}
		if x.Later = t.closed == nil && t.queue == nil; x.Later {
			if err := (&Queue{}).drawStrata(t.Task, s.source); err != nil {
				x.Waits = "the study has not all answers that it is about" // the owner's page says which
			}
		} else if d, err := s.desk(r, t.Name); err != nil { // the other tasks can be answered
			x.Closed = s.told(r, err)
		} else {
			x.Done, x.Of = s.progress(d)
			x.Active = d.work.active.Round(time.Second)
			if _, _, ok, wait := d.next(); !ok && !wait.IsZero() {
				x.Again = day(wait)
			}
		}
		list = append(list, x)
	}
	return render(w, http.StatusOK, "index", map[string]any{"Depth": "", "Title": "Tasks of " + s.place.Study,
		"Person": serve.HolderOf(r), "Adjudicates": s.adjudicates(), "Tasks": list})
}

// progress counts the person's subjects, or decisions.
func (s *Server) progress(d *desk) (done, of int) {
	if !s.adjudicates() {
		return d.progress()
	}
	left := map[Subject]bool{}
	open, _ := d.adjudicable(d.queue.Subjects...) // the page of the task has the error
	for c := range open {
		left[c.Subject] = true
	}
	for k := range d.work.given {
		done += one(k.pass == passAdjudicate && !left[k.subject])
	}
	return done, done + len(left)
}

// depth is the way from the pages of a task to the first page.
const depth = "../../"

// onTask serves a page about a person's work on a task.
func (s *Server) onTask(show func(w http.ResponseWriter, r *http.Request, d *desk) error) http.HandlerFunc {
	return s.page(depth, func(w http.ResponseWriter, r *http.Request) error {
		d, err := s.desk(r, r.PathValue("task"))
		if err != nil {
			return err
		}
		return show(w, r, d)
	})
}

// next sends the person to their next subject.
func (s *Server) next(w http.ResponseWriter, r *http.Request, d *desk) error {
	if s.adjudicates() {
		open, ok, err := d.nextOpen()
		if !ok && err == nil { // a text may be restored
			d.fresh = newFreshness(d.task, d.source)
			open, ok, err = d.nextOpen()
		}
		switch {
		case err != nil:
			return err
		case !ok:
			return d.decided(w)
		}
		return see(w, d.key(slot{open.Subject, passAdjudicate}))
	}
	k, _, ok, wait := d.next()
	_, since := d.session()
	m := message{Depth: depth, Notes: d.task.Name, Title: "Done", Text: "You answered everything in this task. Thank you."}
	switch {
	case ok && since < d.task.Session:
		return see(w, d.key(k))
	case ok:
		m.Task, m.Title = d.task.Name, "Time for a break"
		m.Text = fmt.Sprintf("You gave %d answers without a break. All are saved. Continue after a rest, now or on another day: that is a new session.", since)
		return render(w, http.StatusOK, "message", m)
	case !wait.IsZero():
		m.Title, m.Text = "Done for now", "The second round opens on "+day(wait)+"."
	case d.hidden() > 0:
		m.Title = "Done for now"
		m.Text = fmt.Sprintf("%s cannot be shown now: the window in which `scruple annotate` runs says why.", text.Plural(d.hidden(), "subject", "subjects"))
		s.told(r, errors.Join(slices.Collect(maps.Values(d.gone))...))
	}
	m.Skipped = d.skipped()
	return render(w, http.StatusOK, "message", m)
}

// decided says why there is nothing to decide.
func (d *desk) decided(w http.ResponseWriter) error {
	m := message{Depth: depth, Title: "Nothing to decide", Text: "All subjects with two answers agree or have a decision."}
	list, err := d.undecided(d.queue.Subjects)
	if err != nil {
		return err
	}
	if n := len(slices.Collect(list)); n > 0 {
		m.Title, m.Text = "Nothing to decide now", text.Plural(n, "subject waits until you have answered it", "subjects wait until you have answered them")+" with `scruple annotate`. Somebody else may decide before."
		if _, _, ok, wait := d.next(); !ok && !wait.IsZero() {
			m.Text += " The second round opens on " + day(wait) + "."
		}
	}
	return render(w, http.StatusOK, "message", m)
}

// skipped returns the key of the first subject that the person skipped, or "".
func (d *desk) skipped() string {
	i := slices.IndexFunc(d.work.order, func(g *Given) bool { return g.pass != passAdjudicate && g.First == nil })
	if i < 0 {
		return ""
	}
	return d.key(d.work.order[i].slot)
}

// see redirects to a page beside the current one.
func see(w http.ResponseWriter, to string) error {
	w.Header().Set("Location", to) // relative: the address has a secret that pages do not know
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

type subjectPage struct {
	Depth, Title string
	Task         study.Task
	Person       string
	Shown        Shown
	Rows         []row
	Back         string // key of the previous subject, or ""
	Session      int
	Break        string // how many answers are left before a break
	Again        bool
	Marks        bool   // there is a question about passages
	Document     string // names the item without saying what it is
	Gold         bool   // a value can be taken from its passage
	Sheets       []sheet
}

// A sheet has the questions about a subject, and what the person said before.
type sheet struct {
	Key, Hash, Kind string // of the event that it sends; without a key the answer is final, or to be given again
	Unit, About     string
	Said            string // of a unit beside others: the answer in short
	Here            bool   // it is open
	Ask             []study.Question
	Draft           string   // JSON
	Reason          string   // what a reason is wanted for
	Take            []string // answers to decide on, as JSON
	Own             bool     // one of them is the person's
	Anew            bool     // the person decided before, on other answers
	SkipPermitted   bool
}

// subject shows a subject with its questions, and those about the other units of its text.
func (s *Server) subject(w http.ResponseWriter, r *http.Request, d *desk) error {
	k, at, ok := d.find(r.PathValue("key"), s.passes)
	given, decides := d.work.given[k], k.pass == passAdjudicate
	if !ok || given != nil && !decides && !d.mayReview(k) {
		return render(w, http.StatusNotFound, "message", message{Depth: depth, Title: "Page not found", Text: "The subject does not exist, or its answer is final."})
	}
	shown, ev, err := d.see(k)
	if statusOf(err) == http.StatusGone {
		return see(w, "./") // the next one
	}
	if err != nil {
		return err
	}
	session, _ := d.session()
	p := subjectPage{Depth: depth, Title: s.title(d, k), Task: d.task, Person: d.work.Person, Shown: shown, Rows: shown.rows, Session: session, Break: d.untilBreak(),
		Again: k.pass == passAgain, Marks: slices.ContainsFunc(d.task.Ask, func(q study.Question) bool { return q.Type == "span" }),
		Document: d.key(slot{subject: Subject{Item: k.subject.Item}}), Gold: makesGold(d.task)}
	beside := []slot{k}
	if k.pass == passFirst && ofUnits(d.task) {
		beside, at = d.beside(k)
	}
	fresh := newFreshness(d.task, d.source)
	for _, b := range beside {
		x, err := d.sheet(b, k, shown, ev, fresh)
		if b == k && err != nil {
			return err
		}
		if err == nil { // else it cannot be shown: the next pages leave it out
			p.Sheets = append(p.Sheets, x)
		}
	}
	if b, ok := d.before(k, at); ok && !decides {
		p.Back = d.key(b)
	}
	return render(w, http.StatusOK, "subject", p)
}

// title is the heading of a page about a slot.
func (s *Server) title(d *desk, k slot) string {
	done, of := s.progress(d)
	title, given := fmt.Sprintf("%d of %d", min(done+1, of), of), d.work.given[k]
	switch {
	case ofUnits(d.task): // it has others too
	case given != nil && given.First == nil:
		title = "a subject that you skipped"
	case given != nil && k.pass != passAdjudicate:
		title = "change your answer"
	}
	return titled(d.task.Title) + " " + title
}

// untilBreak says how many answers are left before a break.
func (d *desk) untilBreak() string {
	if _, since := d.session(); d.task.Session-since > 1 {
		return fmt.Sprintf("break in %d answers", d.task.Session-since)
	}
	return "break after this answer"
}

// beside lists the slots of the units of an item in the person's order, with the place of the first.
func (d *desk) beside(k slot) (list []slot, at int) {
	for i, s := range d.order(k.pass) {
		if s.Item != k.subject.Item || d.gone[s] != nil {
			continue
		}
		if len(list) == 0 {
			at = i + 1
		}
		list = append(list, slot{s, k.pass})
	}
	return list, at
}

// sheet has the questions about a slot on the page of another, of which is shown what is given.
func (d *desk) sheet(k, here slot, shown Shown, ev Event, fresh *freshness) (x sheet, err error) {
	given, decides := d.work.given[k], k.pass == passAdjudicate
	x = sheet{Unit: k.subject.Unit, Said: d.said(k), Here: k == here}
	if given != nil && !decides && !d.mayReview(k) {
		return x, nil
	}
	if k != here {
		if shown, ev, err = d.see(k); err != nil {
			return x, err
		}
	}
	d.seen[k.subject] = true
	x.Key, x.Hash, x.Kind, x.About, x.Ask = d.key(k), ev.Shown, eventSubmit, shown.About, shown.Ask
	x.SkipPermitted, x.Reason = given == nil && !decides, "Reason for the change, needed when a minute has passed since the answer"
	own := d.work.drafts[k]
	switch {
	case decides:
		if !ev.Own && given == nil && !d.work.sights[k.subject] { // an answer that they give later is not blind
			if _, err := d.append(eventSight, Event{Pass: passAdjudicate, Subject: &k.subject}); err != nil {
				return x, errors.New(err.Error()) // not for the person, who sends nothing
			}
		}
		x.Kind, x.Reason, x.Own, x.Anew = eventAdjudicate, "Reason for the verdict", ev.Own, given != nil
		for _, a := range ev.take {
			x.Take = append(x.Take, string(encoded(a)))
		}
	case given != nil && given.First != nil:
		x.Kind, own = eventRevise, given.Final
		if !d.undoes(given) {
			x.Reason = "Reason for the change"
		}
	}
	if own != nil && len(own.Answer) > 0 && fresh.has(own) { // of another text, its passages are elsewhere
		x.Draft = string(encoded(own.Answer))
	}
	for i, q := range x.Ask { // what is shown has no keys of the keyboard
		if at := slices.IndexFunc(d.task.Ask, func(o study.Question) bool { return o.Name == q.Name }); at >= 0 {
			x.Ask[i].Key = d.task.Ask[at].Key
		}
	}
	return x, nil
}

// said is the person's own answer about a unit in short.
func (d *desk) said(k slot) string {
	given := d.work.given[k]
	switch {
	case given == nil && d.work.drafts[k] != nil:
		return "draft"
	case given == nil:
		return "open"
	case given.First == nil:
		return "skipped"
	case !d.mayReview(k):
		return "answered"
	case !makesGold(d.task):
		return given.Final.label(d.task, d.task.Ask[0])
	}
	gold, between := given.Final.Answer.unitGold(k.subject.Unit), " or "
	if gold.Records != nil {
		between = "; "
	}
	return cmp.Or(strings.Join(valuesOf(gold), between), study.UnitMissing)
}

// then says after an answer what the page of its text shows: the answer, and the unit that is next.
func (s *Server) then(d *desk, k slot, reply map[string]string) {
	reply["said"], reply["title"], reply["break"] = d.said(k), s.title(d, k), d.untilBreak()
	if g := d.work.given[k]; g != nil && g.First != nil && d.mayReview(k) {
		reply["change"] = "yes"
	}
	next, _, ok, _ := d.next()
	if _, since := d.session(); ok && since < d.task.Session {
		reply["next"] = d.key(next)
	}
}

type noteForm struct {
	Head, Text, About string
	Topic, Key        string
	Rows              int
}

// notes shows what a person can write beside the answers: on the topics of the task, on
// sessions, and on answers that differ between the rounds.
func (s *Server) notes(w http.ResponseWriter, _ *http.Request, d *desk) error {
	var memo, sessions, discrepant []noteForm
	for _, t := range d.task.Memo {
		memo = append(memo, noteForm{Head: t, Topic: memoTopic(t), Text: d.work.notes[noteKey{topic: memoTopic(t)}], Rows: 4})
	}
	for _, x := range slices.Backward(d.work.Sessions()) {
		topic := sessionTopic(x.id)
		f := noteForm{Head: fmt.Sprintf("Session %d, %s", x.Number, day(x.Start)), Topic: topic, Rows: 2,
			About: text.Plural(len(x.Items), "answer", "answers"), Text: x.Note}
		if x.Again > 0 {
			f.About += fmt.Sprintf(", %d in the second round", x.Again)
		}
		if x.Decisions > 0 {
			f.About += ", " + text.Plural(x.Decisions, "decision", "decisions")
		}
		f.About += fmt.Sprintf(", %v active", x.Active.Round(time.Second))
		if n := len(x.Items); n > 0 {
			f.About += "; first " + d.name(x.Items[0]) + ", last " + d.name(x.Items[n-1])
		}
		sessions = append(sessions, f)
	}
	list, over := d.discrepancies()
	for _, x := range list {
		side := func(label string) string { return x.Subject.sideOf(label, x.Second.Swapped) } // as in the second round
		discrepant = append(discrepant, noteForm{Head: d.name(x.Subject), Topic: discrepancyTopic, Key: d.key(slot{x.Subject, passAgain}), Text: x.Note, Rows: 3,
			About: "First answer:\n" + x.First.readable(d.task, side) + "\n\nSecond answer:\n" + x.Second.readable(d.task, side)})
	}
	return render(w, http.StatusOK, "notes", map[string]any{"Depth": depth, "Title": d.task.Title + ": notes and sessions", "Task": d.task.Name,
		"Memo": memo, "Sessions": sessions, "Discrepant": discrepant, "Wait": !over && d.hasAgain()}) // Wait: the second round is not over
}

// name is the name of a subject on pages of the person: its place in their order, since ids of
// items often name a split, a difficulty or a label.
func (d *part) name(s Subject) string {
	name := fmt.Sprintf("subject %d", 1+slices.Index(d.order(passFirst), s))
	if s.Unit != "" && s.Arm == "" { // that of an answer's unit can say what gold has
		name += " · " + s.Unit
	}
	return name
}

// done is what a person did in a task.
type done struct {
	Person                string
	First, Again, Skipped int
	Decided, Own          int  // of the decisions, those on an answer of their own
	All                   bool // answers all subjects, others a share
	Left                  int  // of both rounds, as far as they are drawn; decisions of who only decides
	Active                time.Duration
}

// A tally counts subjects: those with a final answer, those set aside, and all.
type tally struct{ Settled, Aside, Subjects int }

type taskState struct {
	study.Task
	Problem string
	Unused  bool // no queue was drawn
	People  []done
	Missing []string
	tally
	// SecondRound and Decisions are the columns of people that have numbers.
	SecondRound, Decisions bool
	Lock                   *Lock
	File                   string // of gold, if the task can be locked
	// Blind are the people who still answer, whom the numbers could influence.
	Blind      []string
	Agreements []Agreement
	Uncompared []string
	Positions  []Position
}

// read reads the state of a task; compare adds the agreement, which takes time.
func (s *Server) read(x *taskState, compare bool) error {
	locks, err := entriesOf[Lock](s.place, LockEntry, x.Name)
	if err != nil {
		return err
	}
	if len(locks) > 0 {
		x.Lock = &locks[len(locks)-1]
	}
	r, err := s.place.Result(x.Task, s.source)
	switch x.Unused = errors.As(err, new(*NotStartedError)); {
	case x.Unused && x.Queue != "":
		return (&Queue{}).drawStrata(x.Task, s.source) // why it is not open yet
	case x.Unused:
		return nil
	case err != nil:
		return err
	}
	x.Missing, x.Settled, x.Aside, x.Subjects = r.Missing, len(r.Settled), r.Aside, len(r.queue.Subjects)
	for _, w := range r.Everyone {
		p, d := done{Person: w.Person, Active: w.active.Round(time.Second)}, r.part(w)
		for k, g := range w.given {
			switch {
			case g.First == nil && g.Skip != "":
				p.Skipped++
			case k.pass == passFirst:
				p.First++
			case k.pass == passAgain:
				p.Again++
			default:
				p.Decided++
				p.Own += one(g.Final != nil && g.Final.Own)
				x.Decisions = true
			}
		}
		answered, of := d.progress()
		if answered == 0 && p.Decided == 0 && w.active == 0 {
			continue // opened the list of tasks, and no more
		}
		p.All = d.first && len(r.queue.Double) < len(r.queue.Subjects)
		if p.Left = of - answered; answered == 0 && p.Decided > 0 {
			p.Left = r.Differ
		}
		if answered > 0 && p.Left > 0 {
			x.Blind = append(x.Blind, w.Person)
		}
		x.SecondRound = d.hasAgain()
		x.People = append(x.People, p)
	}
	var problems []error
	if x.Lock == nil && len(r.Missing) == 0 {
		gold, err := r.Gold()
		if err == nil {
			x.File, err = s.place.freeFile(r, gold)
		}
		problems = append(problems, err)
	}
	if compare {
		x.Positions = r.Positions()
		x.Agreements, err = r.Agreements()
		x.Uncompared = r.Uncompared
	}
	return errors.Join(append(problems, err)...)
}

// ownerPage shows the state of one task or all.
func (s *Server) ownerPage(name, depth string) http.HandlerFunc {
	return unlocked(s, depth, func(w http.ResponseWriter, r *http.Request) error {
		tasks, title := s.tasks, s.place.Study+": owner"
		switch name {
		case "reliability":
			title = "Agreement"
		case "lock":
			t, err := s.task(r.PathValue("task"))
			if err != nil {
				return err
			}
			tasks, title = []*served{t}, "Lock "+t.Title
		}
		var states []taskState
		for _, t := range tasks {
			x := taskState{Task: t.Task}
			if err := s.read(&x, name == "reliability"); err != nil {
				x.Problem = err.Error()
			}
			states = append(states, x)
		}
		return render(w, http.StatusOK, name, map[string]any{"Depth": depth, "Title": title, "Tasks": states})
	})
}

// declared is a request to lock a task.
type declared struct {
	Name        string `json:"name"`
	Declaration string `json:"declaration"`
}

// lock makes the answers to a task final, as --lock does.
func (s *Server) lock(r *http.Request, d *declared) (l Lock, err error) {
	if d.Name = strings.TrimSpace(d.Name); d.Name == "" {
		return l, refuse(http.StatusUnprocessableEntity, "enter your name")
	}
	t, err := s.task(r.PathValue("task"))
	if err != nil {
		return l, err
	}
	result, err := s.place.Result(t.Task, s.source)
	if err != nil {
		return l, err
	}
	gold, err := result.Gold()
	if err != nil {
		return l, err
	}
	l, err = s.place.Lock(result, gold, d.Name, d.Declaration, s.source.Items())
	switch {
	case errors.As(err, new(*ledger.BrokenError)):
		return l, err
	case err != nil:
		return l, refuse(http.StatusConflict, "%v", err)
	}
	t.closed = lockedError(t.Name)
	return l, nil
}
