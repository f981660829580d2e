package annotate

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/scruple-eval/scruple/internal/ledger"
	"github.com/scruple-eval/scruple/internal/study"
)

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
	Positions  []Position
}

// state is the state of a task; compare adds the agreement, which takes time.
func (s *Server) state(t study.Task, compare bool) (x taskState) {
	x.Task = t
	if err := s.read(&x, compare); err != nil {
		x.Problem = err.Error()
	}
	return x
}

func (s *Server) read(x *taskState, compare bool) error {
	locks, err := entriesOf[Lock](s.place, LockEntry, x.Name)
	if err != nil {
		return err
	}
	if len(locks) > 0 {
		x.Lock = &locks[len(locks)-1]
	}
	r, err := s.place.Result(x.Task, s.source)
	var unused *NotStartedError
	if x.Unused = errors.As(err, &unused); x.Unused && x.Queue != "" {
		return (&Queue{}).drawStrata(x.Task, s.source) // why it is not open yet
	}
	if err != nil {
		if x.Unused {
			return nil
		}
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
		gold, err := r.Gold(s.source)
		if err == nil {
			x.File, err = s.place.freeFile(r, gold)
		}
		problems = append(problems, err)
	}
	if compare {
		x.Positions = r.Positions()
		x.Agreements, err = r.Agreements(s.source)
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
			tasks, title = []study.Task{t}, "Lock "+t.Title
		}
		var states []taskState
		for _, t := range tasks {
			states = append(states, s.state(t, name == "reliability"))
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
	result, err := s.place.Result(t, s.source)
	if err != nil {
		return l, err
	}
	gold, err := result.Gold(s.source)
	if err != nil {
		return l, err
	}
	l, err = s.place.Lock(result, gold, d.Name, d.Declaration, s.source.Items())
	var broken *ledger.BrokenError
	switch {
	case errors.As(err, &broken):
		return l, err
	case err != nil:
		return l, refuse(http.StatusConflict, "%v", err)
	}
	s.closed[t.Name] = lockedError(t.Name)
	return l, nil
}
