package annotate

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/disk"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/keys"
	"github.com/scruple-eval/scruple/internal/ledger"
	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/internal/serve"
	"github.com/scruple-eval/scruple/internal/study"
)

//go:embed app.js
var script string

//go:embed app.css
var style string

var (
	appStyle  = serve.NewAsset("app", "css", "text/css; charset=utf-8", style+keys.Style)
	appScript = serve.NewAsset("app", "js", "text/javascript; charset=utf-8", keys.Script+fmt.Sprintf("const mostBytes = %d;\n", serve.MaxBody)+script)
)

//go:embed pages.tmpl
var templates string

var pages = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"style":   func() string { return appStyle.Path },
		"script":  func() string { return appScript.Path },
		"visible": say.Exactly,
		"titled":  titled,
		"quoted":  func(text string) string { return inBackticks.ReplaceAllString(text, "“$1”") },
		"of": func(key string, q study.Question) any {
			return struct {
				study.Question
				Sheet string
			}{q, key}
		},
		"sheet":    func(p subjectPage, s sheet) any { return map[string]any{"Page": p, "Sheet": s} },
		"inc":      func(i int) int { return i + 1 },
		"letter":   letter,
		"decimals": decimals,
		"note": func(notes []string, i int) string {
			return slices.Concat(notes, make([]string, i+1))[i]
		},
	}).Parse(templates))
})

var inBackticks = regexp.MustCompile("`([^`]*)`")

// A Server has the annotation pages of a study for people who are named by their
// secrets, see [serve.HolderOf].
type Server struct {
	// People are those who answer. The first one answers all subjects of a task that nobody
	// answered yet, unless the study says who does.
	People []string

	place   Place
	tasks   []*served
	source  Source
	version string
	passes  []int // that people answer: the rounds, or decisions

	mu    sync.Mutex // of what changes: desks, and queues and locks of tasks
	desks map[[2]string]*desk
}

// A served task is one that people can answer, or not.
type served struct {
	study.Task
	queue  *Queue // nil if it is not drawn yet
	closed error  // why it cannot be answered
}

// Open draws the tasks that have no queue yet. A task from a queue of the suite is drawn
// when a person opens it, because its subjects may depend on answers to other tasks. If
// there is only one task, it is drawn now, and an error if it cannot be. With adjudicate,
// the people decide on subjects whose answers differ.
func Open(p Place, tasks []study.Task, source Source, version string, adjudicate bool) (*Server, error) {
	s := &Server{place: p, source: source, version: version, passes: rounds, desks: map[[2]string]*desk{}}
	if adjudicate {
		s.passes = []int{passAdjudicate}
	}
	for _, t := range tasks {
		x := &served{Task: t.Full()}
		if t.Queue == "" || len(tasks) == 1 {
			x.queue, x.closed = p.queue(x.Task, source)
		} else {
			x.queue, x.closed = p.readQueue(x.Task)
		}
		if x.closed = cmp.Or(x.closed, p.checkOpen(t.Name)); x.closed != nil && len(tasks) == 1 {
			return nil, x.closed
		}
		s.tasks = append(s.tasks, x)
	}
	if !slices.ContainsFunc(s.tasks, func(x *served) bool { return x.closed == nil }) {
		return nil, fmt.Errorf("no task can be answered: %w", s.tasks[0].closed)
	}
	return s, nil
}

// Close ends the sessions and records the heads of their files.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, d := range s.desks {
		errs = append(errs, d.close())
	}
	clear(s.desks)
	return errors.Join(errs...)
}

// Owner is the holder of the address with agreement and locks. It is not the name of a
// person, see [CheckPerson]: the owner of a study answers with another address.
const Owner = "Owner"

// Handler returns the pages of people and those of the [Owner]. Neither sees those of the
// other.
func (s *Server) Handler() http.Handler {
	people, owner := http.NewServeMux(), http.NewServeMux()
	people.HandleFunc("GET /{$}", s.page("", s.index))
	people.HandleFunc("GET /t/{task}/{$}", s.onTask(s.next))
	people.HandleFunc("GET /t/{task}/notes", s.onTask(s.notes))
	people.HandleFunc("GET /t/{task}/{key}", s.onTask(s.subject))
	people.HandleFunc("POST /event", post(s, "not saved: ", s.save))
	owner.HandleFunc("GET /{$}", s.ownerPage("owner", ""))
	owner.HandleFunc("GET /reliability", s.ownerPage("reliability", ""))
	owner.HandleFunc("GET /lock/{task}", s.ownerPage("lock", "../"))
	owner.HandleFunc("POST /lock/{task}", post(s, "not locked: ", s.lock))
	for _, mux := range []*http.ServeMux{people, owner} {
		appStyle.On(mux)
		appScript.On(mux)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if serve.HolderOf(r) == Owner {
			owner.ServeHTTP(w, r)
		} else {
			people.ServeHTTP(w, r)
		}
	})
}

// page serves a page under the lock; an error is a page, too. Depth is the way to the first
// page.
func (s *Server) page(depth string, show func(w http.ResponseWriter, r *http.Request) error) http.HandlerFunc {
	return unlocked(s, depth, func(w http.ResponseWriter, r *http.Request) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		return show(w, r)
	})
}

// unlocked serves a page that reads files and nothing that changes in the server: people do not
// wait for the statistics of the owner.
func unlocked(s *Server, depth string, show func(w http.ResponseWriter, r *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := show(w, r); err != nil {
			render(w, statusOf(err), "message", message{Depth: depth, Title: "This cannot be shown", Text: s.told(r, err)})
		}
	}
}

// told is what an error says to whoever asks. Only a refusal is written for people: other
// errors can name items, arms and models.
func (s *Server) told(r *http.Request, err error) string {
	if errors.As(err, new(*refusal)) || serve.HolderOf(r) == Owner {
		return err.Error()
	}
	s.place.report(err)
	if disk.Full(err) {
		return "no space left on the disk of the server: ask whoever started it, and try again"
	}
	return "the window in which `scruple annotate` runs says why: ask whoever started it"
}

func render(w http.ResponseWriter, status int, name string, data any) error {
	var b bytes.Buffer
	if err := pages().ExecuteTemplate(&b, name, data); err != nil {
		http.Error(w, "the page cannot be shown: "+err.Error(), http.StatusInternalServerError)
		return nil
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	w.Write(b.Bytes())
	return nil
}

func statusOf(err error) int {
	if refused, ok := errors.AsType[*refusal](err); ok {
		return refused.status
	}
	return http.StatusInternalServerError
}

// post serves a request that writes, under the lock, and answers with JSON; not begins
// the words of an error.
func post[T, Said any](s *Server, not string, do func(r *http.Request, body *T) (Said, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		var body T
		var said any
		err := read(r, &body)
		if err == nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			said, err = do(r, &body)
		}
		if err != nil {
			w.WriteHeader(statusOf(err))
			said = map[string]string{"error": not + s.told(r, err)}
		}
		if data, err := json.Marshal(said); err == nil {
			w.Write(data)
		}
	}
}

func read(r *http.Request, into any) error {
	data, err := io.ReadAll(r.Body)
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return refuse(http.StatusRequestEntityTooLarge, "an answer may have %d bytes", tooLarge.Limit)
	}
	if err != nil {
		return refuse(http.StatusBadRequest, "the request was cut off")
	}
	if err := dataset.DecodeStrict(data, into); err != nil {
		return refuse(http.StatusBadRequest, "%v", err)
	}
	return nil
}

// task finds a task by its name.
func (s *Server) task(name string) (*served, error) {
	for _, t := range s.tasks {
		if t.Name == name {
			return t, nil
		}
	}
	return nil, refuse(http.StatusNotFound, "no such task")
}

// desk returns the open file of the person who asks. The caller holds the lock.
func (s *Server) desk(r *http.Request, task string) (*desk, error) {
	t, err := s.task(task)
	if err != nil {
		return nil, err
	}
	if t.closed != nil {
		return nil, t.closed
	}
	person := serve.HolderOf(r)
	switch {
	case s.adjudicates() && t.Adjudicator != "" && t.Adjudicator != person:
		return nil, refuse(http.StatusForbidden, "the study names somebody else to decide on this task")
	case !s.adjudicates() && !mayAnswer(t.Task, person):
		return nil, refuse(http.StatusForbidden, "the study names others to answer this task")
	}
	if d := s.desks[[2]string{task, person}]; d != nil {
		return d, d.rank()
	}
	if t.queue == nil {
		q, err := s.place.queue(t.Task, s.source)
		if err != nil { // nothing is drawn, so a later request can succeed
			return nil, err
		}
		t.queue = q
	}
	d, err := s.place.open(t.Task, t.queue, s.source, person, s.version)
	if errors.Is(err, ledger.ErrInUse) {
		return nil, refuse(http.StatusConflict, "another session of %s is open in this task: answer there, or end that scruple annotate and reload the page", person)
	}
	if err != nil {
		return nil, err
	}
	s.desks[[2]string{task, person}] = d
	d.lead = append(slices.Clone(s.People), "")[0]
	return d, d.rank()
}

// lockedError says to people that a task is locked.
func lockedError(task string) error {
	return refuse(http.StatusConflict, "task %s is locked: its answers cannot change any more", task)
}

// said is a request to store an event.
type said struct {
	ID       string `json:"id"`
	Task     string `json:"task"`
	Kind     string `json:"kind"`
	Key      string `json:"key"`
	Shown    string `json:"shown"`
	Answer   Answer `json:"answer"`
	Reason   string `json:"reason"`
	Topic    string `json:"topic,omitempty"` // of a note
	ActiveMS int64  `json:"active_ms"`
	WallMS   int64  `json:"wall_ms"`
}

var eventID = regexp.MustCompile(`^[0-9a-f-]{16,64}$`)

// save stores one event and returns its time when it is on disk.
func (s *Server) save(r *http.Request, e *said) (map[string]string, error) {
	switch {
	case !eventID.MatchString(e.ID):
		return nil, refuse(http.StatusBadRequest, "the event has no valid id")
	case e.ActiveMS < 0 || e.WallMS < 0 || e.ActiveMS > e.WallMS+1000:
		return nil, refuse(http.StatusBadRequest, "the active time is longer than the time")
	}
	d, err := s.desk(r, e.Task)
	if err != nil {
		return nil, err
	}
	at, again := d.work.ids[e.ID] // a re-send
	if !again {
		if err := s.place.checkOpen(e.Task); err != nil { // another process can have locked it
			return nil, err
		}
		stored, err := d.save(e, s.passes)
		if err != nil {
			return nil, err
		}
		at = stored.At
	}
	reply := map[string]string{"saved": at}
	if k, _, ok := d.find(e.Key, s.passes); ok && e.Kind != eventDraft && k.pass == passFirst && ofUnits(d.task) {
		s.then(d, k, reply)
	}
	return reply, nil
}

// save stores an event of the person.
func (d *desk) save(e *said, passes []int) (stored ledger.Entry, err error) {
	var ev Event
	switch e.Kind {
	case eventBreak:
		return d.rest(e.ID)
	case eventNote:
		ev, err = d.acceptNote(e)
	default:
		ev, err = d.accept(e, passes)
	}
	if err != nil {
		return stored, err
	}
	return d.append(e.Kind, ev)
}

// accept checks an event about a subject.
func (d *desk) accept(e *said, passes []int) (ev Event, err error) {
	k, at, ok := d.find(e.Key, passes)
	if !ok {
		return ev, refuse(http.StatusNotFound, "this subject is not in your queue")
	}
	if err := d.permits(e, k); err != nil {
		return ev, err
	}
	shown, ev, err := d.see(k)
	if err != nil {
		return ev, err
	}
	if e.Shown != ev.Shown {
		return ev, refuse(http.StatusConflict, "this page is out of date: reload the page")
	}
	if e.Kind != eventSkip {
		if err := e.Answer.check(shown, e.Kind == eventDraft); err != nil {
			return ev, refuse(http.StatusUnprocessableEntity, "%v", err)
		}
		ev.Answer = e.Answer.exact(shown)
		if e.Kind != eventDraft {
			if err := d.fits(k.subject, ev.Answer); err != nil {
				return ev, refuse(http.StatusUnprocessableEntity, "%s", nameless(err, k.subject.Item))
			}
		}
	}
	ev.ID, ev.Place, ev.Reason = e.ID, at, strings.TrimSpace(e.Reason)
	ev.Sighted = k.pass == passAdjudicate || d.work.sights[k.subject] || d.work.given[slot{k.subject, passAdjudicate}] != nil // who decided saw answers
	ev.ActiveMS, ev.WallMS = e.ActiveMS, e.WallMS
	return ev, nil
}

// fits returns why the suite does not take an answer as gold, if it is gold.
func (d *desk) fits(s Subject, a Answer) error {
	if !makesGold(d.task) {
		return nil
	}
	gold := a.unitGold(s.Unit)
	_, err := d.source.Gold(s.Item, []eval.UnitGold{gold})
	for _, of := range leaves(gold) {
		for _, v := range of.Values {
			err = cmp.Or(d.source.Fits(s.Item, of.Unit, v), err)
		}
	}
	return err
}

// nameless is the text of an error without the id of the item, which people must not see.
func nameless(err error, item string) string {
	return strings.NewReplacer(fmt.Sprintf("%q", item), "shown here", item, "shown here").Replace(err.Error())
}

// undoes reports whether a change is a slip that was noticed at once: it needs no reason.
func (d *desk) undoes(given *Given) bool {
	return d.place.Now().Sub(given.FinalAt).Abs() <= time.Minute
}

// permits refuses what cannot be said about a slot, or not any more.
func (d *desk) permits(e *said, k slot) error {
	given, reasonable := d.work.given[k], len([]rune(strings.TrimSpace(e.Reason))) >= 3
	switch e.Kind {
	case eventDraft, eventSubmit, eventSkip:
		switch {
		case given != nil && (given.First != nil || e.Kind == eventSkip): // what was skipped can be answered
			return refuse(http.StatusConflict, "the subject has an answer already, perhaps from another window: reload the page")
		case k.pass == passAdjudicate:
			return refuse(http.StatusBadRequest, "this server takes decisions only")
		case e.Kind == eventSkip && !reasonable:
			return refuse(http.StatusUnprocessableEntity, "give a reason for skipping")
		}
	case eventRevise:
		switch {
		case given == nil || !d.mayReview(k):
			return refuse(http.StatusConflict, "this answer cannot be changed any more")
		case !reasonable && !d.undoes(given):
			return refuse(http.StatusUnprocessableEntity, "give a reason for the change")
		}
	case eventAdjudicate:
		switch {
		case k.pass != passAdjudicate:
			return refuse(http.StatusBadRequest, "this server takes answers, not decisions: start it with --adjudicate")
		case !reasonable:
			return refuse(http.StatusUnprocessableEntity, "give a reason for the verdict")
		}
	default:
		return refuse(http.StatusBadRequest, "unknown event %q", e.Kind)
	}
	return nil
}

// acceptNote checks a note.
func (d *desk) acceptNote(e *said) (Event, error) {
	ev := Event{ID: e.ID, Topic: e.Topic, Reason: strings.TrimSpace(e.Reason)}
	known := slices.ContainsFunc(d.task.Memo, func(t string) bool { return memoTopic(t) == e.Topic }) ||
		slices.ContainsFunc(d.work.log, func(x Session) bool { return sessionTopic(x.id) == e.Topic })
	if e.Topic == discrepancyTopic {
		list, _ := d.discrepancies()
		for _, x := range list {
			if d.key(slot{x.Subject, passAgain}) == e.Key {
				ev.Subject, known = &x.Subject, true
			}
		}
	}
	if !known {
		return ev, refuse(http.StatusNotFound, "no such topic: reload the page")
	}
	return ev, nil
}
