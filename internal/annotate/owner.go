package annotate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/ledger"
	"github.com/scruple-eval/scruple/internal/serve"
	"github.com/scruple-eval/scruple/internal/study"
)

// Owner is the holder of the address with agreement and locks. It is not the name of a
// person, see [CheckPerson]: the owner of a study answers with another address.
const Owner = "Owner"

// roles keeps the owner's pages from people, and people's pages from the owner.
func roles(mux *http.ServeMux, owner http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if serve.HolderOf(r) == Owner {
			owner.ServeHTTP(w, r)
		} else {
			mux.ServeHTTP(w, r)
		}
	})
}

// ownerPages are the pages of the owner's address.
func (s *Server) ownerPages() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.ownerIndex)
	mux.HandleFunc("GET /reliability", s.reliability)
	mux.HandleFunc("GET /lock/{task}", s.lockPage)
	mux.HandleFunc("POST /lock/{task}", s.lock)
	return mux
}

// done is what a person did in a task.
type done struct {
	Person                string
	First, Again, Skipped int
	Decided               int
	Left                  int // of both rounds, as far as they are drawn
	Active                time.Duration
}

type taskState struct {
	study.Task
	Problem  string
	Unused   bool // no queue was drawn
	People   []done
	Missing  []string
	Settled  int // subjects with a final answer
	Subjects int
	// SecondRound and Decisions are the columns of people that have numbers.
	SecondRound, Decisions bool
	Lock                   *Lock
	File                   string // of gold, if the task can be locked
	// Blind are the people who still answer, whom the numbers could influence.
	Blind      []string
	Agreements []shownAgreement
	Positions  []Position
}

// A shownAgreement is an agreement with its numbers as text.
type shownAgreement struct {
	*Agreement
	Numbers  []shownNumber
	OnLabels []shownNumber
	OnUnits  []shownNumber
}

type shownNumber struct{ Name, Value, Interval, Note string }

func (s *Server) state(t study.Task) taskState {
	x := taskState{Task: t}
	locks, err := s.place.locks(t.Name)
	if err != nil {
		x.Problem = err.Error()
		return x
	}
	if len(locks) > 0 {
		x.Lock = &locks[len(locks)-1]
	}
	r, err := s.place.Result(t, s.source)
	var unused *NotStartedError
	if errors.As(err, &unused) {
		x.Unused = true
		return x
	}
	if err != nil {
		x.Problem = err.Error()
		return x
	}
	if x.Lock == nil && len(r.Missing) == 0 {
		if x.File, err = s.place.goldFile(r, s.source); err != nil {
			x.Problem = err.Error()
		}
	}
	x.Missing, x.Settled, x.Subjects = r.Missing, len(r.Settled), len(r.queue.Subjects)
	x.SecondRound = t.Again.Count > 0 || t.Again.Share > 0
	for _, w := range r.Everyone {
		p := done{Person: w.Person, Active: w.active.Round(time.Second)}
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
				x.Decisions = true
			}
		}
		d := &desk{place: s.place, task: r.Task, queue: r.queue, work: w, first: w == r.Everyone[0]}
		answered, of := d.progress(false)
		if answered == 0 && p.Decided == 0 && d.work.active == 0 {
			continue // opened the list of tasks, and no more
		}
		if p.Left = of - answered; answered > 0 && p.Left > 0 {
			x.Blind = append(x.Blind, w.Person)
		}
		x.People = append(x.People, p)
	}
	list, err := r.Agreements(s.source)
	if err != nil {
		x.Problem = err.Error()
	}
	for i := range list {
		x.Agreements = append(x.Agreements, shownOf(&list[i]))
	}
	x.Positions = r.Positions()
	return x
}

func shownOf(g *Agreement) shownAgreement {
	x := shownAgreement{Agreement: g}
	for _, m := range g.Measures {
		n := shownNumber{Name: m.Name, Value: decimals(m.Value), Note: m.Note}
		if !math.IsNaN(m.Value) && !math.IsNaN(m.CI.Low) {
			n.Interval = fmt.Sprintf("%.3f to %.3f", m.CI.Low, m.CI.High)
		}
		x.Numbers = append(x.Numbers, n)
	}
	for _, l := range g.ByLabel {
		x.OnLabels = append(x.OnLabels, shownNumber{Name: l.Label, Value: decimals(float64(l.Share)), Note: decimals(float64(l.Kappa))})
	}
	for _, u := range g.ByUnit {
		n := shownNumber{Name: u.Unit, Value: fmt.Sprintf("%.3f (%d of %d)", u.Equal.Value, u.Same, u.N), Interval: fmt.Sprintf("%.3f to %.3f", u.Equal.CI.Low, u.Equal.CI.High), Note: decimals(float64(u.Kappa))}
		if u.Overlap.Defined() {
			n.Note = decimals(float64(u.Overlap))
		}
		x.OnUnits = append(x.OnUnits, n)
	}
	return x
}

// decimals is a number with three decimals, "undefined" for NaN.
func decimals(x float64) string {
	if math.IsNaN(x) {
		return "undefined"
	}
	return fmt.Sprintf("%.3f", x)
}

type ownerPage struct {
	Depth, Title string
	Tasks        []taskState
}

func (s *Server) ownerIndex(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := ownerPage{Title: s.place.Study + ": owner"}
	for _, t := range s.tasks {
		p.Tasks = append(p.Tasks, s.state(t))
	}
	render(w, http.StatusOK, "owner", p)
}

// reliability shows the agreement of people, with the numbers of --agreement.
func (s *Server) reliability(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := ownerPage{Title: "Agreement"}
	for _, t := range s.tasks {
		p.Tasks = append(p.Tasks, s.state(t))
	}
	render(w, http.StatusOK, "reliability", p)
}

func (s *Server) task(name string) (study.Task, bool) {
	i := slices.IndexFunc(s.tasks, func(t study.Task) bool { return t.Name == name })
	if i < 0 {
		return study.Task{}, false
	}
	return s.tasks[i], true
}

func (s *Server) lockPage(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.task(r.PathValue("task"))
	if !ok {
		fail(w, "../", &refusal{http.StatusNotFound, "no such task"})
		return
	}
	render(w, http.StatusOK, "lock", ownerPage{Depth: "../", Title: "Lock " + t.Title, Tasks: []taskState{s.state(t)}})
}

// declared is a request to lock a task.
type declared struct {
	Name        string `json:"name"`
	Declaration string `json:"declaration"`
}

// lock makes the answers to a task final, as --lock does.
func (s *Server) lock(w http.ResponseWriter, r *http.Request) {
	l, err := s.lockTask(r)
	reply(w, l, err)
}

func (s *Server) lockTask(r *http.Request) (Lock, error) {
	body, err := io.ReadAll(r.Body)
	var d declared
	if err == nil {
		err = dataset.DecodeStrict(body, &d)
	}
	if err != nil {
		return Lock{}, &refusal{http.StatusBadRequest, "not locked: " + err.Error()}
	}
	if d.Name = strings.TrimSpace(d.Name); d.Name == "" {
		return Lock{}, &refusal{http.StatusUnprocessableEntity, "not locked: enter your name"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.task(r.PathValue("task"))
	if !ok {
		return Lock{}, &refusal{http.StatusNotFound, "no such task"}
	}
	result, err := s.place.Result(t, s.source)
	if err != nil {
		return Lock{}, err
	}
	gold, err := result.Gold(s.source)
	if err != nil {
		return Lock{}, err
	}
	l, err := s.place.Lock(result, gold, d.Name, d.Declaration, s.source.Items())
	if err != nil {
		var broken *ledger.BrokenError
		if errors.As(err, &broken) {
			return l, err
		}
		return l, &refusal{http.StatusConflict, err.Error()}
	}
	s.closed[t.Name] = fmt.Sprintf("task %s is locked: its answers cannot change any more", t.Name)
	return l, nil
}

// reply answers a request that writes, with the error in words.
func reply(w http.ResponseWriter, said any, err error) {
	w.Header().Set("Content-Type", "application/json")
	var refused *refusal
	switch {
	case errors.As(err, &refused):
		w.WriteHeader(refused.status)
	case err != nil:
		w.WriteHeader(http.StatusInternalServerError)
	}
	if err != nil {
		said = map[string]string{"error": err.Error()}
	}
	if data, err := json.Marshal(said); err == nil {
		w.Write(data)
	}
}
