package annotate

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/ledger"
	"github.com/scruple-eval/scruple/internal/study"
)

// A desk is the open file of a person's part of a task.
type desk struct {
	part
	place   Place
	log     *ledger.Log
	started bool   // the ledger has the person
	begun   bool   // the session has begun
	lead    string // who answers all subjects if nobody answered yet; "": the person
	version string
	secret  []byte // of the keys of subjects, made of the queue
	others  map[string]other
	fresh   *freshness // of the subjects to decide on, which are looked at again when they are shown
}

// other is the work in another person's file.
type other struct {
	info fs.FileInfo
	work *Work
}

// open opens the file of a person for writing. Its head is written with every answer, so
// that a cut after a crash shows.
func (p Place) open(t study.Task, q *Queue, source Source, person, version string) (*desk, error) {
	if err := CheckPerson(person); err != nil {
		return nil, err
	}
	log, err := ledger.Open(p.workPath(t.Name, person))
	if err != nil {
		return nil, err
	}
	d := &desk{part: part{task: t, source: source, queue: q, gone: map[Subject]error{}, seen: map[Subject]bool{}}, place: p, log: log, version: version,
		others: map[string]other{}, fresh: newFreshness(t, source)}
	heads, err := p.headsOf(t.Name, person)
	if err == nil {
		d.work, err = p.workOf(t.Name, person, heads, log.Entries())
		log.Forget() // drafts can be large, and the work has the last of each
	}
	if err == nil {
		err = d.rank()
	}
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return d, nil
}

// rank finds out whether the person answers all subjects: the study says who does, or the
// command. Without either it is whoever stores the first answer, so that who only looks leaves
// all subjects to the others.
func (d *desk) rank() error {
	if d.started {
		return nil
	}
	names, err := d.place.starters(d.task.Name)
	leader, errLeader := d.place.leader(d.task)
	d.started = slices.Contains(names, d.work.Person)
	d.first = cmp.Or(leader, d.lead, d.work.Person) == d.work.Person
	return errors.Join(err, errLeader)
}

// start puts a person who is about to answer into the ledger.
func (d *desk) start() error {
	if d.started {
		return nil
	}
	leader, err := d.place.leader(d.task)
	if err == nil && leader == "" && !d.first {
		err = d.place.add(d.work.Person, firstEntry, leading{d.place.taskOf(d.task.Name), d.lead})
	}
	if err != nil {
		return err
	}
	entry := starter{d.place.taskOf(d.task.Name), d.work.Person, true, false}
	if err := d.place.add(d.work.Person, personEntry, entry); err != nil {
		return err
	}
	return d.rank()
}

// next returns the first open subject that can be shown, see [part.nextAt].
func (d *desk) next() (k slot, at int, ok bool, wait time.Time) {
	for s := range d.gone {
		d.look(s) // the run may have it again
	}
	for {
		if k, at, ok, wait = d.nextAt(d.place.Now()); !ok || d.look(k.subject) == nil {
			return k, at, ok, wait
		}
	}
}

// look returns why a subject cannot be shown, and keeps it.
func (d *desk) look(s Subject) error {
	_, err := show(d.task, d.source, s, false)
	if d.gone[s] = err; err == nil {
		delete(d.gone, s)
	}
	return err
}

// hidden counts the subjects that cannot be shown for now: those without an answer to judge
// are set aside for good.
func (d *desk) hidden() (n int) {
	for _, err := range d.gone {
		n += one(!errors.Is(err, eval.ErrGone))
	}
	return n
}

// A refusal is a request that was not carried out, with its reason.
type refusal struct {
	status int
	reason string
}

func (r *refusal) Error() string { return r.reason }

func refuse(status int, format string, args ...any) *refusal {
	return &refusal{status, fmt.Sprintf(format, args...)}
}

// works lists the events that begin a session: a look is none.
var works = []string{eventDraft, eventSubmit, eventSkip, eventRevise, eventAdjudicate}

// append stores an event and returns when it is on disk. Events are in the order of their lines,
// also if the clock went back.
func (d *desk) append(kind string, ev Event) (ledger.Entry, error) {
	now := d.place.Now()
	if now.Before(d.work.last) {
		d.place.report(fmt.Errorf("warning: the clock of this computer says %s, before the last answer of %s, at %s: if the clock is wrong, set it",
			now.UTC().Format(time.DateTime), d.work.Person, d.work.last.UTC().Format(time.DateTime)))
	}
	if slices.Contains(works, kind) && !d.begun {
		if _, err := d.mark(eventStart, ""); err != nil {
			return ledger.Entry{}, err
		}
		d.begun = true
	}
	ev.Task, ev.Hash, ev.Session, ev.Version = d.task.Name, d.queue.Hash, max(1, d.work.starts), d.version
	if kind == eventStart {
		ev.Session = d.work.starts + 1
	}
	if kind == eventSubmit || kind == eventImport {
		if err := d.start(); err != nil {
			return ledger.Entry{}, refuse(http.StatusInternalServerError, "%v", err)
		}
	}
	e, err := d.log.Append(now, d.work.Person, kind, ev)
	if err != nil {
		return e, refuse(http.StatusInternalServerError, "%v", err) // of a full disk: the person must know
	}
	return e, d.work.apply(e)
}

// mark stores an event about the session, and the head of the file in the ledger.
func (d *desk) mark(kind, id string) (ledger.Entry, error) {
	e, err := d.append(kind, Event{ID: id})
	if err == nil {
		err = d.record()
	}
	return e, err
}

// record puts the head of the file in the ledger.
func (d *desk) record() error {
	return d.place.add(d.work.Person, headEntry, head{d.place.taskOf(d.task.Name), d.work.Person, d.log.Head()})
}

// rest ends the session with a break.
func (d *desk) rest(id string) (e ledger.Entry, err error) {
	if !d.begun { // another window ended it
		return ledger.Entry{At: d.place.Now().UTC().Format(time.RFC3339Nano)}, nil
	}
	if e, err = d.mark(eventBreak, id); err == nil {
		d.begun = false
	}
	return e, err
}

// session is the number of the session that runs or begins with the next answer, and since
// counts its answers.
func (d *desk) session() (number, since int) {
	all := d.work.Sessions()
	if !d.begun {
		return len(all) + 1, 0
	}
	if n := len(all); n > 0 && all[n-1].id == d.work.starts {
		return n, d.work.since
	}
	return len(all) + 1, d.work.since
}

// close ends the session.
func (d *desk) close() (err error) {
	if d.begun {
		_, err = d.mark(eventEnd, "")
	}
	return errors.Join(err, d.log.Close())
}

// key names a slot in addresses without saying what it is.
func (d *desk) key(k slot) string {
	if d.secret == nil {
		sum := sha256.Sum256(encoded(d.queue))
		d.secret = sum[:]
	}
	h := hmac.New(sha256.New, d.secret)
	fmt.Fprintf(h, "%s %d %q", d.work.Person, k.pass, k.subject.String())
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// find returns the slot of a key in some passes, and its place in the person's order.
func (d *desk) find(key string, passes []int) (k slot, at int, ok bool) {
	for _, pass := range passes {
		for i, s := range d.order(pass) {
			if k := (slot{s, pass}); hmac.Equal([]byte(d.key(k)), []byte(key)) {
				return k, i + 1, true
			}
		}
	}
	return k, 0, false
}

// everyone is the work of all people. A file is read again when it changed.
func (d *desk) everyone() ([]*Work, error) {
	return d.place.everyone(d.task.Name, func(task, person string) (*Work, error) {
		if person == d.work.Person {
			return d.work, nil // as it is now
		}
		info, gone := os.Stat(d.place.workPath(task, person))
		old, known := d.others[person]
		if gone == nil && known && info.Size() == old.info.Size() && info.ModTime().Equal(old.info.ModTime()) {
			return old.work, nil
		}
		w, err := d.place.ReadWork(task, person)
		if err == nil && gone == nil {
			d.others[person] = other{info, w}
		}
		return w, err
	})
}

// undecided yields those of the subjects whose answers differ and that have no decision. Answers
// to what the study no longer shows cannot be compared.
func (d *desk) undecided(of []Subject) (iter.Seq[Coding], error) {
	everyone, err := d.everyone()
	return func(yield func(Coding) bool) {
		for c := range codings(d.task, d.source, of, everyone) {
			if c.Final == nil && len(c.First) > 1 && !c.stale(d.fresh) && !yield(c) {
				return
			}
		}
	}, err
}

// adjudicable yields the undecided subjects on which the person may decide: not those that they
// must still answer, as the page shows the answers of others.
func (d *desk) adjudicable(of ...Subject) (iter.Seq[Coding], error) {
	ahead := d.ahead()
	return d.undecided(slices.DeleteFunc(slices.Clone(of), func(s Subject) bool { return ahead[s] }))
}

// nextOpen returns the first subject on which the person may decide.
func (d *desk) nextOpen() (c Coding, ok bool, err error) {
	open, err := d.adjudicable(d.queue.Subjects...)
	for c := range open {
		if d.fresh.forget(c.Subject); !c.stale(d.fresh) {
			return c, true, err
		}
	}
	return c, false, err
}

// see builds what the person is shown in a slot, and an event that says so.
func (d *desk) see(k slot) (shown Shown, ev Event, err error) {
	ev = Event{Pass: k.pass, Subject: &k.subject, Swapped: d.swapped(k.subject, k.pass)}
	shown, err = show(d.task, d.source, k.subject, ev.Swapped)
	if errors.Is(err, eval.ErrGone) {
		return shown, ev, refuse(http.StatusGone, "the answer that you judge was replaced, so it is set aside: go to the next one")
	}
	if ev.Shown = shown.Hash(); err != nil || k.pass != passAdjudicate {
		return shown, ev, err
	}
	d.fresh.forget(k.subject)
	open, err := d.adjudicable(k.subject)
	if err != nil {
		return shown, ev, err
	}
	decidable := slices.Collect(open)
	if len(decidable) == 0 {
		return shown, ev, refuse(http.StatusConflict, "there is nothing to decide: the answers agree, a decision exists, or you have still to answer it yourself: answer it first")
	}
	ev.Base = ev.Shown
	mine := d.work.given[slot{k.subject, passFirst}]
	ev.Own = mine != nil && mine.First != nil
	shown = decidable[0].showAll(shown, d.task, d.source, d.queue.Seed, &ev)
	ev.Shown = shown.Hash()
	return shown, ev, nil
}
