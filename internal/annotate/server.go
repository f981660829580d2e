package annotate

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/keys"
	"github.com/scruple-eval/scruple/internal/ledger"
	"github.com/scruple-eval/scruple/internal/serve"
	"github.com/scruple-eval/scruple/internal/study"
)

//go:embed app.js
var script string

//go:embed app.css
var style string

//go:embed pages.tmpl
var templates string

var pages = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"visible": visible,
		"titled":  titled,
		"quoted":  quoted,
		"inc":     func(i int) int { return i + 1 },
		"note": func(notes []string, i int) string {
			if i < len(notes) {
				return notes[i]
			}
			return ""
		},
	}).Parse(templates))
})

// A Server has the annotation pages of a study for people who are named by their
// secrets, see [serve.HolderOf].
type Server struct {
	place      Place
	tasks      []study.Task
	source     Source
	version    string
	adjudicate bool

	mu     sync.Mutex
	queues map[string]*Queue
	closed map[string]string // why a task cannot be answered
	open   map[string]int64  // size of the ledger in which the task is not locked
	desks  map[[2]string]*desk
}

// Open draws the tasks that have no queue yet. A task from a queue of the suite is drawn
// when a person opens it, because its subjects may depend on answers to other tasks. If
// there is only one task, it is drawn now, and an error if it cannot be. With adjudicate,
// the people decide on subjects whose answers differ.
func Open(p Place, tasks []study.Task, source Source, version string, adjudicate bool) (*Server, error) {
	s := &Server{place: p, source: source, version: version, adjudicate: adjudicate,
		queues: map[string]*Queue{}, closed: map[string]string{}, open: map[string]int64{}, desks: map[[2]string]*desk{}}
	for _, t := range tasks {
		t = t.Full()
		s.tasks = append(s.tasks, t)
		var q *Queue
		var err error
		if t.Queue == "" || len(tasks) == 1 {
			q, err = p.queue(t, source)
		} else {
			q, err = p.readQueue(t)
		}
		if err == nil {
			err = p.checkOpen(t.Name)
		}
		switch {
		case err != nil && len(tasks) == 1:
			return nil, err
		case err != nil:
			s.closed[t.Name] = err.Error()
		default:
			s.queues[t.Name] = q
		}
	}
	if len(s.queues) == 0 {
		return nil, fmt.Errorf("no task can be answered: %s", s.closed[s.tasks[0].Name])
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
	s.desks = map[[2]string]*desk{}
	return errors.Join(errs...)
}

// Handler returns the pages of people and those of the [Owner].
func (s *Server) Handler() http.Handler {
	mux, owner := http.NewServeMux(), s.ownerPages()
	mux.HandleFunc("GET /{$}", s.index)
	mux.HandleFunc("GET /t/{task}/{$}", s.onTask(s.next))
	mux.HandleFunc("GET /t/{task}/notes", s.onTask(s.notes))
	mux.HandleFunc("GET /t/{task}/{key}", s.onTask(s.subject))
	mux.HandleFunc("POST /event", s.event)
	for name, file := range map[string][2]string{"app.js": {"text/javascript; charset=utf-8", keys.Script + script}, "app.css": {"text/css; charset=utf-8", style + keys.Style}} {
		serveFile := func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", file[0])
			io.WriteString(w, file[1])
		}
		mux.HandleFunc("GET /"+name, serveFile)
		owner.HandleFunc("GET /"+name, serveFile)
	}
	return roles(mux, owner)
}

// desk returns the open file of the person who asks. The caller holds the lock.
func (s *Server) desk(r *http.Request, task string) (*desk, error) {
	i := slices.IndexFunc(s.tasks, func(t study.Task) bool { return t.Name == task })
	if i < 0 {
		return nil, &refusal{http.StatusNotFound, "no such task"}
	}
	if why := s.closed[task]; why != "" {
		return nil, &refusal{http.StatusConflict, why}
	}
	person := serve.HolderOf(r)
	if d := s.desks[[2]string{task, person}]; d != nil {
		return d, d.rank()
	}
	if s.queues[task] == nil {
		q, err := s.place.queue(s.tasks[i], s.source)
		if err != nil { // nothing is drawn, so a later request can succeed
			return nil, &refusal{http.StatusConflict, err.Error()}
		}
		s.queues[task] = q
	}
	d, err := s.place.open(s.tasks[i], s.queues[task], s.source, person, s.version)
	if errors.Is(err, ledger.ErrInUse) {
		return nil, &refusal{http.StatusConflict, "another session of " + person + " is open in this task: answer there, or end that scruple annotate and reload the page"}
	}
	if err != nil {
		return nil, err
	}
	if _, err = d.append(eventStart, Event{}); err == nil {
		err = d.record()
	}
	if err != nil {
		return nil, errors.Join(err, d.log.Close())
	}
	s.desks[[2]string{task, person}] = d
	return d, nil
}

// key names a slot in addresses without saying what it is.
func (d *desk) key(k slot) string {
	if d.secret == nil {
		data, err := json.Marshal(d.queue)
		if err != nil {
			panic("annotate: encoding a queue: " + err.Error()) // it was decoded
		}
		sum := sha256.Sum256(data)
		d.secret = sum[:]
	}
	h := hmac.New(sha256.New, d.secret)
	fmt.Fprintf(h, "%s %d %q", d.work.Person, k.pass, k.subject.String())
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// find returns the slot of a key and its place in the person's order.
func (d *desk) find(key string, adjudicates bool) (k slot, at int, ok bool) {
	passes := []int{passFirst, passAgain}
	if adjudicates {
		passes = []int{passAdjudicate}
	}
	for _, pass := range passes {
		list := d.queue.Subjects
		if pass != passAdjudicate {
			list = d.order(pass)
		}
		for i, s := range list {
			if k := (slot{s, pass}); hmac.Equal([]byte(d.key(k)), []byte(key)) {
				return k, i + 1, true
			}
		}
	}
	return k, 0, false
}

// see builds what the person is shown in a slot, and an event that says so.
func (s *Server) see(d *desk, k slot) (shown Shown, ev Event, err error) {
	ev = Event{Pass: k.pass, Subject: &k.subject, Swapped: d.swapped(k.subject, k.pass)}
	shown, err = show(d.task, s.source, k.subject, ev.Swapped)
	if ev.Shown = shown.Hash(); err != nil || k.pass != passAdjudicate {
		return shown, ev, err
	}
	open, err := d.adjudicable()
	if err != nil {
		return shown, ev, err
	}
	i := slices.IndexFunc(open, func(c Coding) bool { return c.Subject == k.subject })
	if i < 0 {
		return shown, ev, &refusal{http.StatusConflict, "there is nothing to decide: the answers agree, or a decision exists"}
	}
	ev.Base = ev.Shown
	shown, ev.Reversed = d.showBoth(shown, open[i], ev.Swapped)
	ev.Shown = shown.Hash()
	return shown, ev, nil
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

func (s *Server) event(w http.ResponseWriter, r *http.Request) {
	at, err := s.store(r)
	reply(w, map[string]string{"saved": at}, err)
}

// store stores one event and returns its time when it is on disk.
func (s *Server) store(r *http.Request) (at string, err error) {
	body, err := io.ReadAll(r.Body)
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return "", &refusal{http.StatusRequestEntityTooLarge, fmt.Sprintf("not saved: an answer may have %d bytes", tooLarge.Limit)}
	}
	if err != nil {
		return "", &refusal{http.StatusBadRequest, "not saved: the request was cut off"}
	}
	var e said
	if err := dataset.DecodeStrict(body, &e); err != nil {
		return "", &refusal{http.StatusBadRequest, "not saved: " + err.Error()}
	}
	switch {
	case !eventID.MatchString(e.ID):
		return "", &refusal{http.StatusBadRequest, "not saved: the event has no valid id"}
	case e.ActiveMS < 0 || e.WallMS < 0 || e.ActiveMS > e.WallMS+1000:
		return "", &refusal{http.StatusBadRequest, "not saved: the active time is longer than the time"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	d, err := s.desk(r, e.Task)
	if err != nil {
		return "", err
	}
	if old, ok := d.work.ids[e.ID]; ok { // a re-send
		return old.At, nil
	}
	if err := s.checkOpen(e.Task); err != nil {
		return "", &refusal{http.StatusConflict, "not saved: " + err.Error()}
	}
	if e.Kind == eventBreak {
		stored, err := d.append(eventBreak, Event{ID: e.ID})
		if err == nil {
			err = d.record()
		}
		return stored.At, err
	}
	var ev Event
	if e.Kind == eventNote {
		ev, err = d.acceptNote(&e)
	} else {
		ev, err = s.accept(d, &e)
	}
	if err != nil {
		return "", err
	}
	stored, err := d.append(e.Kind, ev)
	return stored.At, err
}

// checkOpen refuses a locked task. Another process can have locked it: the ledger is
// read again if it grew.
func (s *Server) checkOpen(task string) error {
	size := int64(-1)
	if info, err := os.Stat(s.place.Ledger); err == nil {
		size = info.Size()
	}
	if size >= 0 && s.open[task] == size {
		return nil
	}
	err := s.place.checkOpen(task)
	if err == nil {
		s.open[task] = size
	}
	return err
}

// accept checks an event about a subject.
func (s *Server) accept(d *desk, e *said) (Event, error) {
	refuse := func(status int, format string, args ...any) (Event, error) {
		return Event{}, &refusal{status, "not saved: " + fmt.Sprintf(format, args...)}
	}
	k, at, ok := d.find(e.Key, s.adjudicate)
	if !ok {
		return refuse(http.StatusNotFound, "this subject is not in your queue")
	}
	given := d.work.given[k]
	skipped := given != nil && given.First == nil
	reasonable := len([]rune(strings.TrimSpace(e.Reason))) >= 3
	switch e.Kind {
	case eventDraft, eventSubmit, eventSkip:
		if given != nil && (!skipped || e.Kind == eventSkip) {
			return refuse(http.StatusConflict, "the subject has an answer already, perhaps from another window: reload the page")
		}
		if k.pass == passAdjudicate {
			return refuse(http.StatusBadRequest, "this server takes decisions only")
		}
		if e.Kind == eventSkip && !reasonable {
			return refuse(http.StatusUnprocessableEntity, "give a reason for skipping")
		}
	case eventRevise:
		if given == nil || !d.mayReview(k) {
			return refuse(http.StatusConflict, "this answer cannot be changed any more")
		}
		if !reasonable {
			return refuse(http.StatusUnprocessableEntity, "give a reason for the change")
		}
	case eventAdjudicate:
		if k.pass != passAdjudicate {
			return refuse(http.StatusBadRequest, "this server takes answers, not decisions: start it with --adjudicate")
		}
		if !reasonable {
			return refuse(http.StatusUnprocessableEntity, "give a reason for the verdict")
		}
	default:
		return refuse(http.StatusBadRequest, "unknown event %q", e.Kind)
	}
	shown, ev, err := s.see(d, k)
	if err != nil {
		return Event{}, err
	}
	if e.Shown != ev.Shown {
		return refuse(http.StatusConflict, "this page is out of date: reload the page")
	}
	if e.Kind != eventSkip {
		if err := e.Answer.check(shown, e.Kind == eventDraft); err != nil {
			return refuse(http.StatusUnprocessableEntity, "%v", err)
		}
		e.Answer = e.Answer.exact(shown)
		if makesGold(d.task) && e.Kind != eventDraft {
			if _, err := s.source.Gold(k.subject.Item, []eval.UnitGold{e.Answer.unitGold(k.subject.Unit)}); err != nil {
				return refuse(http.StatusUnprocessableEntity, "%v", err)
			}
		}
	} else {
		e.Answer = nil
	}
	ev.ID, ev.Place, ev.Answer, ev.Reason = e.ID, at, e.Answer, strings.TrimSpace(e.Reason)
	ev.Sighted, ev.ActiveMS, ev.WallMS = k.pass == passAdjudicate, e.ActiveMS, e.WallMS
	return ev, nil
}

// mayReview reports whether the person may see and change an answer of their own:
// until the pass ends, and never if a second answer to the subject is wanted. What they
// skipped they may answer at any time.
func (d *desk) mayReview(k slot) bool {
	if g := d.work.given[k]; g != nil && g.First == nil {
		return true
	}
	again := d.order(passAgain)
	for _, s := range d.order(k.pass) {
		if d.work.given[slot{s, k.pass}] == nil {
			return k.pass == passAgain || !slices.Contains(again, k.subject)
		}
	}
	return false
}

// render writes a page.
func render(w http.ResponseWriter, status int, name string, data any) {
	var b bytes.Buffer
	if err := pages().ExecuteTemplate(&b, name, data); err != nil {
		http.Error(w, "the page cannot be shown: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	w.Write(b.Bytes())
}

func fail(w http.ResponseWriter, depth string, err error) {
	status := http.StatusInternalServerError
	var refused *refusal
	if errors.As(err, &refused) {
		status = refused.status
	}
	render(w, status, "message", message{Depth: depth, Title: "This cannot be shown", Text: err.Error()})
}
