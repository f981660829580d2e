package annotate

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/serve"
	"github.com/scruple-eval/scruple/internal/study"
)

// answeredAnew is a corpus whose run asked some items anew: there is no answer of them to
// judge, or looking at it fails.
type answeredAnew struct {
	corpus
	gone, broken map[string]bool
}

func (a answeredAnew) Show(t eval.Trial) (eval.Exhibit, error) {
	switch {
	case a.gone[t.Item]:
		return eval.Exhibit{}, fmt.Errorf("run 2 of secret-arm on %s: %w", t.Item, eval.ErrGone)
	case a.broken[t.Item]:
		return eval.Exhibit{}, fmt.Errorf("secret-arm on %s: the store is broken", t.Item)
	}
	return a.corpus.Show(t)
}

// browsing returns what a holder's GET requests answer.
func browsing(t *testing.T, s *Server, holder string) func(path string) (int, string) {
	t.Helper()
	web, err := serve.Open(serve.Config{Holders: []string{holder}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(web.Close)
	return func(path string) (int, string) {
		w := httptest.NewRecorder()
		web.Guard(s.Handler()).ServeHTTP(w, httptest.NewRequest("GET", web.URL(holder)+path, nil))
		return w.Code, w.Header().Get("Location") + w.Body.String()
	}
}

// A drawn answer that cannot be judged any more is set aside: the next one is shown, the
// rest can be finished, and no page names the arm or the item. What is missing for another
// reason is no end.
func TestAnswersThatAreGone(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	p := at(t, &clock)
	task := study.Task{Name: "t", Of: "trial", Arms: []string{"secret-arm"}, Show: []string{"raw"}, Ask: label.Ask}.Full()
	source := answeredAnew{corpus{4}, map[string]bool{}, map[string]bool{}}
	s, err := Open(p, []study.Task{task}, source, "test", false)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var reported error
	s.place.Report = func(err error) { reported = err }
	get := browsing(t, s, "anna")
	_, first := get("t/t/")
	d := s.desks[[2]string{"t", "anna"}]
	order := d.order(passFirst)
	source.gone[order[0].Item], source.broken[order[1].Item] = true, true

	if code, to := get("t/t/" + first); code != 303 || to != "./" {
		t.Errorf("the page of an answer that is gone: %d %s", code, to)
	}
	if _, third := get("t/t/"); third != d.key(slot{order[2], passFirst}) {
		t.Error("the next page is not that of the third answer")
	}
	code, body := get("t/t/" + d.key(slot{order[1], passFirst}))
	if code != 500 || strings.Contains(body, "secret-arm") || strings.Contains(body, "i0") || reported == nil || !strings.Contains(reported.Error(), "secret-arm") {
		t.Errorf("an error says to people:\n%s\nreported: %v", body, reported)
	}
	for range 2 {
		if err := d.say(t, "yes"); err != nil {
			t.Fatal(err)
		}
	}
	if _, body := get("t/t/"); !strings.Contains(body, "1 subject cannot be shown now") || strings.Contains(body, "You answered everything") {
		t.Errorf("with a subject that cannot be shown now:\n%s", body)
	}
	clear(source.broken)
	if err := d.say(t, "yes"); err != nil {
		t.Fatal(err)
	}
	if _, body := get("t/t/"); !strings.Contains(body, "You answered everything") {
		t.Errorf("at the end:\n%s", body)
	}
	if done, of := d.progress(); done != 3 || of != 3 {
		t.Errorf("%d of %d", done, of)
	}
	r, err := p.Result(task, source)
	if err != nil || len(r.Settled) != 3 || r.Aside != 1 || len(r.Missing) > 0 {
		t.Errorf("%d settled, %d aside, missing %q: %v", len(r.Settled), r.Aside, r.Missing, err)
	}
	if _, body := browsing(t, s, Owner)(""); !strings.Contains(body, "1 set aside") {
		t.Errorf("the owner's page:\n%s", body)
	}
	clear(source.gone) // asked once more
	if _, to := get("t/t/"); to != first {
		t.Error("an answer that is there again is not asked about")
	}
}

// A subject of the second round that is gone has one answer, and so no discrepancy.
func TestASecondRoundThatIsGone(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	task := study.Task{Name: "t", Of: "trial", Arms: []string{"secret-arm"}, Show: []string{"raw"}, Ask: label.Ask, Again: study.Again{Count: 2}}.Full()
	source := answeredAnew{corpus{4}, map[string]bool{}, map[string]bool{}}
	s, err := Open(at(t, &clock), []study.Task{task}, source, "test", false)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	get := browsing(t, s, "anna")
	get("t/t/")
	d := s.desks[[2]string{"t", "anna"}]
	for range 4 {
		if err := d.say(t, "yes"); err != nil {
			t.Fatal(err)
		}
	}
	clock = clock.Add(1000 * time.Hour) // after the pause before the second round
	gone := slot{d.order(passAgain)[0], passAgain}
	source.gone[gone.subject.Item] = true
	get("t/t/" + d.key(gone))
	if err := d.say(t, "no"); err != nil {
		t.Fatal(err)
	}
	if list, over := d.discrepancies(); !over || len(list) != 1 || list[0].Subject == gone.subject {
		t.Errorf("discrepancies %v, over: %v; want that of the other subject", list, over)
	}
}

// A claim of which the answer says nothing any more is gone, not "omitted".
func TestClaimsThatAreGone(t *testing.T) {
	task := study.Task{Name: "t", Kind: "claim", Arms: []string{"secret-arm"}}.Full()
	s := Subject{Item: "i00", Arm: "secret-arm", Replicate: 1, Unit: "u1"}
	if _, err := show(task, corpus{1}, s, false); err != nil {
		t.Fatal(err)
	}
	s.Unit = "u3"
	if _, err := show(task, corpus{1}, s, false); !errors.Is(err, eval.ErrGone) {
		t.Error(err)
	}
}

// The second round is drawn from the answers that can be given: one that was set aside is not
// waited for, and changes nothing when it comes back.
func TestASecondRoundWithoutWhatIsGone(t *testing.T) {
	for _, again := range []study.Again{{Count: 2}, {Share: 0.5}, {Count: 2, After: 4}} {
		clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
		p := at(t, &clock)
		task := study.Task{Name: "t", Of: "trial", Arms: []string{"secret-arm"}, Show: []string{"raw"}, Ask: label.Ask, Again: again}
		source := answeredAnew{corpus{4}, map[string]bool{}, map[string]bool{}}
		d := openOf(t, p, task, source, "anna")
		source.gone[d.order(passFirst)[1].Item] = true
		for range 3 {
			if err := d.say(t, "yes"); err != nil {
				t.Fatal(err)
			}
		}
		d.next()
		drawn := d.order(passAgain)
		r, err := p.Result(task, source)
		if err != nil || len(drawn) != 2 || !strings.Contains(fmt.Sprint(r.Missing), "left in the second round of anna") {
			t.Fatalf("%+v: drawn %v, missing %q, %v", again, drawn, r.Missing, err)
		}
		clock = clock.Add(1000 * time.Hour)
		if err := d.say(t, "yes"); err != nil {
			t.Fatal(err)
		}
		source.gone[drawn[0].Item] = true
		if x, err := p.Export(task, source, "csv", codePoints); err != nil || x.Answers != 2 || x.Aside != 2 || x.Withheld != 0 {
			t.Errorf("exported %+v, %v", x, err)
		}
		clear(source.gone)
		d.next()
		if now := d.order(passAgain); !slices.Equal(now, drawn) {
			t.Errorf("%+v: drawn %v, then %v", again, drawn, now)
		}
	}
}

// The second round is drawn when a person finishes the first one. If nobody does, the task cannot
// be locked, and the error says why.
func TestASecondRoundOfNobody(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	p := at(t, &clock)
	for after, want := range map[int]string{
		0: "[the second round was not drawn, since nobody answered all subjects of their first round: anna answers the rest of theirs]",
		4: "[the second round was not drawn, since nobody answered 4 subjects (again.after): anna answers more of theirs]",
	} {
		task := label
		task.Name, task.Again = fmt.Sprint("t", after), study.Again{Count: 2, After: after}
		anna, ben := open(t, p, task, "anna"), open(t, p, task, "ben")
		for i, s := range anna.queue.Subjects {
			if err := []*desk{anna, ben}[i%2].send(t, slot{s, passFirst}, eventSubmit, "yes"); err != nil {
				t.Fatal(err)
			}
		}
		r, err := p.Result(task, corpus{6})
		if err != nil || fmt.Sprint(r.Missing) != want {
			t.Errorf("missing %q, %v", r.Missing, err)
		}
	}
	// A task that nobody answered, and whose answers are all gone, has nothing to lock, be it
	// with a second round or not.
	source := answeredAnew{corpus{4}, map[string]bool{}, map[string]bool{}}
	for i, again := range []study.Again{{}, {Count: 2}} {
		task := study.Task{Name: fmt.Sprint("u", i), Of: "trial", Arms: []string{"secret-arm"}, Show: []string{"raw"}, Ask: label.Ask, Again: again}
		q, err := p.queue(task.Full(), source)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range q.Subjects {
			source.gone[s.Item] = true
		}
		r, err := p.Result(task, source)
		if err != nil || len(r.Missing) > 0 || r.Aside != 4 {
			t.Fatalf("missing %q, %v", r.Missing, err)
		}
		if _, err := p.Lock(r, nil, "anna", "declared", nil); err == nil || !strings.Contains(err.Error(), "has no answer to lock") {
			t.Error(err)
		}
		clear(source.gone)
	}
}
