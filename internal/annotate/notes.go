package annotate

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scruple-eval/scruple/internal/text"
)

func sessionTopic(n int) string { return "session " + strconv.Itoa(n) }

func memoTopic(topic string) string { return "memo: " + topic }

type notesPage struct {
	Depth, Title string
	Task         string
	Memo         []noteForm
	Sessions     []noteForm
	Discrepant   []noteForm
	Wait         bool // the second round is not over
}

type noteForm struct {
	Head, Text, About string
	Topic, Key        string
	Rows              int
}

// notes shows what a person can write beside the answers: on the topics of the task, on
// sessions, and on answers that differ between the rounds.
func (s *Server) notes(w http.ResponseWriter, _ *http.Request, d *desk) {
	p := notesPage{Depth: depth, Title: d.task.Title + ": notes and sessions", Task: d.task.Name}
	for _, t := range d.task.Memo {
		p.Memo = append(p.Memo, noteForm{Head: t, Topic: memoTopic(t), Text: d.work.notes[noteKey{topic: memoTopic(t)}], Rows: 4})
	}
	for _, x := range d.work.log {
		f := noteForm{Head: fmt.Sprintf("Session %d, %s", x.Number, x.Start.Local().Format("Monday 2 January, 15:04")), Topic: sessionTopic(x.Number), Rows: 2,
			About: text.Plural(len(x.Items), "answer", "answers")}
		if x.Again > 0 {
			f.About += fmt.Sprintf(", %d in the second round", x.Again)
		}
		f.About += fmt.Sprintf(", %v active", x.Active.Round(time.Second))
		if n := len(x.Items); n > 0 {
			f.About += "; first " + d.name(x.Items[0]) + ", last " + d.name(x.Items[n-1])
		}
		f.Text = d.work.notes[noteKey{topic: f.Topic}]
		p.Sessions = append(p.Sessions, f)
	}
	slices.Reverse(p.Sessions)
	list, ok := d.discrepancies()
	p.Wait = !ok && (d.task.Again.Count > 0 || d.task.Again.Share > 0)
	for _, x := range list {
		sides := blindly(x.Subject, x.Second.Swapped) // as in the second round
		p.Discrepant = append(p.Discrepant, noteForm{Head: d.name(x.Subject), Topic: discrepancyTopic, Key: d.key(slot{x.Subject, passAgain}), Text: x.Note, Rows: 3,
			About: "First answer:\n" + x.First.readable(d.task, sides) + "\n\nSecond answer:\n" + x.Second.readable(d.task, sides)})
	}
	render(w, http.StatusOK, "notes", p)
}

// name is the name of a subject on pages of the person. A queue of the suite decides what is
// shown, which may exclude the item, so its subjects have numbers.
func (d *desk) name(s Subject) string {
	if d.task.Queue == "" {
		return s.blind()
	}
	return fmt.Sprintf("subject %d", 1+slices.Index(d.order(passFirst), s))
}

// blind names a subject without its arms.
func (s Subject) blind() string {
	if s.Unit == "" {
		return s.Item
	}
	return s.Item + " · " + s.Unit
}

// acceptNote checks a note.
func (d *desk) acceptNote(e *said) (Event, error) {
	ev := Event{ID: e.ID, Topic: e.Topic, Reason: strings.TrimSpace(e.Reason)}
	known := slices.ContainsFunc(d.task.Memo, func(t string) bool { return memoTopic(t) == e.Topic }) ||
		slices.ContainsFunc(d.work.log, func(x Session) bool { return sessionTopic(x.Number) == e.Topic })
	if e.Topic == discrepancyTopic {
		list, _ := d.discrepancies()
		for _, x := range list {
			if d.key(slot{x.Subject, passAgain}) == e.Key {
				ev.Subject, known = &x.Subject, true
			}
		}
	}
	if !known {
		return ev, &refusal{http.StatusNotFound, "not saved: no such topic: reload the page"}
	}
	return ev, nil
}
