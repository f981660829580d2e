//go:build unix

package annotate

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/serve"
	"github.com/scruple-eval/scruple/internal/study"
)

// A second server for a person is no fault of the server: it says where to answer.
func TestASecondSession(t *testing.T) {
	clock := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	p := at(t, &clock)
	page := func() (int, string) {
		s, err := Open(p, []study.Task{label}, corpus{9}, "test", false)
		if err != nil {
			t.Fatal(err)
		}
		web, err := serve.Open(serve.Config{Holders: []string{"anna", Owner}, Writes: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { web.Close(); s.Close() })
		w := httptest.NewRecorder()
		web.Guard(s.Handler()).ServeHTTP(w, httptest.NewRequest("GET", web.URL("anna")+"t/t/", nil))
		return w.Code, w.Body.String()
	}
	if code, body := page(); code >= 400 {
		t.Fatal(code, body)
	}
	if code, body := page(); code != http.StatusConflict || !strings.Contains(body, "another session of anna is open") {
		t.Errorf("%d: %s", code, body)
	}
}

// A look is no session, and a break ends one: gold has the number of the session in which
// somebody answered. Starts without an answer do
// not count.
func TestSessionsBeginWithWork(t *testing.T) {
	clock := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	p := at(t, &clock)
	task := label
	task.Again = study.Again{}
	for day := range 12 {
		s, err := Open(p, []study.Task{task}, corpus{6}, "test", false)
		if err != nil {
			t.Fatal(err)
		}
		get := browsing(t, s, "anna")
		for _, page := range []string{"", "t/t/", "t/t/notes"} {
			if code, body := get(page); code >= 400 {
				t.Fatal(code, body)
			}
		}
		if _, to := get("t/t/"); day == 11 {
			if _, body := get("t/t/" + to); !strings.Contains(body, "session 1, ") {
				t.Errorf("the page says\n%s", body)
			}
		}
		if day < 3 { // a session of drafts alone
			if _, err := s.desks[[2]string{"t", "anna"}].mark(eventStart, ""); err != nil {
				t.Fatal(err)
			}
		}
		if _, page := browsing(t, s, Owner)(""); !strings.Contains(page, "No answers yet.") {
			t.Errorf("day %d: somebody is said to work:\n%s", day, page)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	d := open(t, p, task, "anna")
	for i := range 6 {
		clock = clock.Add(time.Minute)
		if i == 4 {
			if _, err := d.rest("0123456789abcdef"); err != nil {
				t.Fatal(err)
			}
		}
		if err := d.say(t, "yes"); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.close(); err != nil {
		t.Fatal(err)
	}
	r, err := p.Result(task, corpus{6})
	if err != nil {
		t.Fatal(err)
	}
	count := map[int]int{}
	for _, s := range r.Settled {
		count[s.session]++
	}
	if sessions := r.Everyone[0].Sessions(); count[1] != 4 || count[2] != 2 || len(sessions) != 2 || sessions[0].Breaks != 1 || !sessions[0].Start.Equal(clock.Add(-5*time.Minute)) {
		t.Errorf("answers by session: %v; sessions %+v", count, sessions)
	}
}

// Decisions of an adjudicator are no judged items; their session has a number as others have.
func TestSessionsCountDecisions(t *testing.T) {
	clock := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	p := at(t, &clock)
	task := label
	task.Again = study.Again{}
	for person, option := range map[string]string{"anna": "yes", "ben": "no"} {
		d := open(t, p, task, person)
		for range 6 {
			if err := d.say(t, option); err != nil {
				t.Fatal(err)
			}
		}
		if err := d.close(); err != nil {
			t.Fatal(err)
		}
	}
	d := open(t, p, task, "dora")
	for range 4 {
		d.decide(t, "yes")
	}
	if list := d.work.Sessions(); len(list) != 1 || list[0].Number != 1 || len(list[0].Items) != 0 || list[0].Decisions != 4 {
		t.Errorf("%+v", list)
	}
}
