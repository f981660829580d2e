package annotate

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/scruple-eval/scruple/internal/serve"
	"github.com/scruple-eval/scruple/internal/study"
)

type message struct {
	Depth, Title, Text string
	Task               string // with it, the page has a button that ends the break
	Notes              string // task to whose notes the page has a link
	Skipped            string // key of a skipped subject to which the page has a link
}

type indexPage struct {
	Depth, Title string
	Person       string
	Adjudicates  bool
	Tasks        []indexTask
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

func (s *Server) index(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := indexPage{Title: "Tasks of " + s.place.Study, Person: serve.HolderOf(r), Adjudicates: s.adjudicate}
	for _, t := range s.tasks {
		x := indexTask{Task: t, Closed: s.closed[t.Name]}
		if x.Later = x.Closed == "" && s.queues[t.Name] == nil; x.Later {
			if err := (&Queue{}).drawStrata(t, s.source); err != nil {
				x.Waits = err.Error()
			}
		} else if x.Closed == "" {
			d, err := s.desk(r, t.Name)
			if err != nil { // the other tasks can be answered
				x.Closed = err.Error()
				p.Tasks = append(p.Tasks, x)
				continue
			}
			x.Done, x.Of = d.progress(s.adjudicate)
			x.Active = d.work.active.Round(time.Second)
			if _, _, ok, wait := d.next(); !ok && !wait.IsZero() {
				x.Again = wait.Local().Format("Monday 2 January, 15:04")
			}
		}
		p.Tasks = append(p.Tasks, x)
	}
	render(w, http.StatusOK, "index", p)
}

// progress counts the person's subjects of the pass they are in.
func (d *desk) progress(adjudicates bool) (done, of int) {
	if adjudicates {
		for k := range d.work.given {
			if k.pass == passAdjudicate {
				done++
			}
		}
		open, err := d.adjudicable()
		if err != nil {
			return done, done // the page of the task has the error
		}
		return done, done + len(open)
	}
	for _, pass := range []int{passFirst, passAgain} {
		for _, s := range d.order(pass) {
			of++
			if d.work.given[slot{s, pass}] != nil {
				done++
			}
		}
	}
	return done, of
}

// depth is the way from the pages of a task to the first page.
const depth = "../../"

// onTask serves a page about a person's work on a task.
func (s *Server) onTask(page func(w http.ResponseWriter, r *http.Request, d *desk)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		d, err := s.desk(r, r.PathValue("task"))
		if err != nil {
			fail(w, depth, err)
			return
		}
		page(w, r, d)
	}
}

// next sends the person to their next subject.
func (s *Server) next(w http.ResponseWriter, _ *http.Request, d *desk) {
	if s.adjudicate {
		open, err := d.adjudicable()
		switch {
		case err != nil:
			fail(w, depth, err)
		case len(open) == 0:
			render(w, http.StatusOK, "message", message{Depth: depth, Title: "Nothing to decide", Text: "All subjects with two answers agree or have a decision."})
		default:
			see(w, d.key(slot{open[0].Subject, passAdjudicate}))
		}
		return
	}
	k, _, ok, wait := d.next()
	switch {
	case ok && d.work.since >= d.task.Session:
		render(w, http.StatusOK, "message", message{Depth: depth, Task: d.task.Name, Notes: d.task.Name, Title: "Time for a break",
			Text: fmt.Sprintf("You gave %d answers without a break. All are saved. Continue after a rest, now or on another day.", d.work.since)})
	case ok:
		see(w, d.key(k))
	case !wait.IsZero():
		render(w, http.StatusOK, "message", message{Depth: depth, Notes: d.task.Name, Skipped: d.skipped(), Title: "Done for now",
			Text: "The second round opens on " + wait.Local().Format("Monday 2 January, 15:04") + "."})
	default:
		render(w, http.StatusOK, "message", message{Depth: depth, Notes: d.task.Name, Skipped: d.skipped(), Title: "Done", Text: "You answered everything in this task. Thank you."})
	}
}

// skipped returns the key of the first subject that the person skipped, or "".
func (d *desk) skipped() string {
	for _, k := range d.work.order {
		if k.pass != passAdjudicate && d.work.given[k].First == nil {
			return d.key(k)
		}
	}
	return ""
}

// see redirects to a page beside the current one.
func see(w http.ResponseWriter, to string) {
	w.Header().Set("Location", to) // relative: the address has a secret that pages do not know
	w.WriteHeader(http.StatusSeeOther)
}

type subjectPage struct {
	Depth, Title  string
	Task          study.Task
	Person        string
	Kind          string // of the event that the form sends
	Key, Hash     string
	Shown         Shown
	Draft         string // JSON
	Back          string // key of the previous subject, or ""
	Session       int
	Break         string // how many answers are left before a break
	Done, Of      int
	Again         bool
	Marks         bool // there is a question about passages
	Words         []string
	ReasonWanted  string
	SkipPermitted bool
}

// subject shows a subject with its questions.
func (s *Server) subject(w http.ResponseWriter, r *http.Request, d *desk) {
	k, at, ok := d.find(r.PathValue("key"), s.adjudicate)
	given := d.work.given[k]
	if !ok || given != nil && k.pass != passAdjudicate && !d.mayReview(k) || given != nil && k.pass == passAdjudicate {
		render(w, http.StatusNotFound, "message", message{Depth: depth, Title: "Page not found", Text: "The subject does not exist, or its answer is final."})
		return
	}
	shown, ev, err := s.see(d, k)
	if err != nil {
		fail(w, depth, err)
		return
	}
	p := subjectPage{Depth: depth, Task: d.task, Person: d.work.Person, Kind: eventSubmit, Key: r.PathValue("key"), Hash: ev.Shown, Shown: shown,
		Session: d.work.sessions, Break: d.breakIn(), Again: k.pass == passAgain, SkipPermitted: true}
	p.Done, p.Of = d.progress(s.adjudicate)
	p.Title = fmt.Sprintf("%s %d of %d", titled(d.task.Title), min(p.Done+1, p.Of), p.Of)
	own := d.work.drafts[k]
	switch {
	case k.pass == passAdjudicate:
		p.Kind, p.SkipPermitted, p.ReasonWanted = eventAdjudicate, false, "Reason for the verdict"
	case given != nil && given.First == nil:
		p.SkipPermitted = false
		p.Title = titled(d.task.Title) + " a subject that you skipped"
	case given != nil:
		p.Kind, p.SkipPermitted, p.ReasonWanted = eventRevise, false, "Reason for the change"
		p.Title = titled(d.task.Title) + " change your answer"
		own = given.Final
	}
	if own != nil && own.Shown == ev.Shown { // of another text, its passages are elsewhere
		data, err := json.Marshal(own.Answer)
		if err != nil {
			fail(w, depth, err)
			return
		}
		p.Draft = string(data)
	}
	if k.pass != passAdjudicate {
		p.Back = d.before(k, at)
	}
	for _, q := range d.task.Ask {
		p.Marks = p.Marks || q.Type == "span"
	}
	render(w, http.StatusOK, "subject", p)
}

// titled ends a title with a colon, unless it ends with a mark of its own.
func titled(title string) string {
	if strings.HasSuffix(title, "?") || strings.HasSuffix(title, ".") || strings.HasSuffix(title, "!") {
		return title
	}
	return title + ":"
}

var inBackticks = regexp.MustCompile("`([^`]*)`")

// quoted is a message for a page: commands in backticks are between quotation marks.
func quoted(text string) string { return inBackticks.ReplaceAllString(text, "“$1”") }

// breakIn says when the next break is suggested.
func (d *desk) breakIn() string {
	if left := d.task.Session - d.work.since; left > 1 {
		return fmt.Sprintf("break in %d answers", left)
	}
	return "break after this answer"
}

// before returns the key of the answered subject before a place, if it can still be
// changed.
func (d *desk) before(k slot, at int) string {
	list := d.order(k.pass)
	for i := at - 2; i >= 0; i-- {
		if b := (slot{list[i], k.pass}); d.work.given[b] != nil && d.mayReview(b) {
			return d.key(b)
		}
	}
	return ""
}
