package annotate

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/ledger"
	"github.com/scruple-eval/scruple/internal/serve"
	"github.com/scruple-eval/scruple/internal/study"
)

// talking returns what a holder's requests answer.
func talking(t *testing.T, s *Server, holders ...string) func(holder, method, path, body string) (int, string) {
	t.Helper()
	web, err := serve.Open(serve.Config{Holders: holders, Writes: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(web.Close)
	return func(holder, method, path, body string) (int, string) {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(method, web.URL(holder)+path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		web.Guard(s.Handler()).ServeHTTP(w, r)
		return w.Code, w.Header().Get("Location") + w.Body.String()
	}
}

var shownHash = regexp.MustCompile(`data-here="1"[^>]*data-shown="(\w+)"`)

// The command names who answers all subjects: whoever answers first does not change it, nor
// does another start with other names.
func TestTheCommandNamesTheFirst(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	p := at(t, &clock)
	share := 0.5
	task := label
	task.Double, task.Again = &share, study.Again{}
	for _, people := range [][]string{{"anna", "ben"}, {"ben"}, {"ben", "anna"}} {
		s, err := Open(p, []study.Task{task}, corpus{6}, "test", false)
		if err != nil {
			t.Fatal(err)
		}
		s.People = people
		do := talking(t, s, "anna", "ben")
		for holder, want := range map[string]string{"anna": " of 6", "ben": " of 3"} {
			_, key := do(holder, "GET", "t/t/", "")
			if _, page := do(holder, "GET", "t/t/"+key, ""); !strings.Contains(page, want) {
				t.Errorf("--as %v: %s has not%s", people, holder, want)
			}
		}
		d := s.desks[[2]string{"t", "ben"}]
		if err := d.say(t, "yes"); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	r, err := p.Result(task, corpus{6})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range r.Everyone {
		if got := len(r.part(w).order(passFirst)); got != map[string]int{"anna": 6, "ben": 3}[w.Person] {
			t.Errorf("%s has %d subjects", w.Person, got)
		}
	}
}

// What a person was shown stays theirs, though another one turns out to be the first.
func TestWhatWasShownStaysValid(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	p := at(t, &clock)
	share := 0.0
	task := label
	task.Double, task.Again = &share, study.Again{}
	s, err := Open(p, []study.Task{task}, corpus{6}, "test", false)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	do := talking(t, s, "ben")
	_, key := do("ben", "GET", "t/t/", "")
	_, page := do("ben", "GET", "t/t/"+key, "")
	anna := open(t, p, task, "anna") // of another computer
	if err := anna.say(t, "yes"); err != nil {
		t.Fatal(err)
	}
	code, said := do("ben", "POST", "event", fmt.Sprintf(`{"id":"0123456789abcdef","task":"t","kind":"submit","key":%q,"shown":%q,"answer":{"q":"yes"}}`, key, shownHash.FindStringSubmatch(page)[1]))
	if code != 200 {
		t.Errorf("%d %s", code, said)
	}
	if _, page := do("ben", "GET", "t/t/", ""); !strings.Contains(page, "You answered everything") {
		t.Errorf("ben goes on with\n%s", page)
	}
}

// The study names who answers and who decides: others are refused, and the first one
// answers all subjects. Roles change nothing of a task that was drawn.
func TestTheStudyNamesRoles(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	p := at(t, &clock)
	share := 0.5
	task := label
	task.Double, task.Again = &share, study.Again{}
	if _, err := p.queue(task.Full(), corpus{6}); err != nil {
		t.Fatal(err)
	}
	task.People, task.Adjudicator = []string{"anna", "ben"}, "carol"
	for _, adjudicate := range []bool{false, true} {
		s, err := Open(p, []study.Task{task}, corpus{6}, "test", adjudicate)
		if err != nil {
			t.Fatal(err)
		}
		s.People = []string{"ben", "anna", "carol"}
		do := talking(t, s, "anna", "ben", "carol")
		for _, person := range s.People {
			want := map[bool]int{true: 403, false: 303}[(person == "carol") != adjudicate]
			if adjudicate && person == "carol" {
				want = 200 // nothing to decide
			}
			if code, body := do(person, "GET", "t/t/", ""); code != want {
				t.Errorf("adjudicate %v, %s: %d\n%s", adjudicate, person, code, body)
			}
		}
		if d := s.desks[[2]string{"t", "ben"}]; d != nil && len(d.order(passFirst)) != 3 {
			t.Errorf("ben has %d subjects, want 3", len(d.order(passFirst)))
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	_, adopted := p.Adopt(task, "zoe", "anna")
	_, imported := p.Import(task, corpus{6}, File{Name: "f", Data: []byte(`{"item":"item-1","by":"zoe","answer":{"q":"yes"}}`), Format: "jsonl", Offsets: codePoints, Person: "zoe"})
	for _, err := range []error{adopted, imported} {
		if !errors.As(err, new(*ledger.NotAllowedError)) || !strings.Contains(err.Error(), "zoe is not one of people: [anna, ben]") {
			t.Errorf("answers of somebody else from a file: %v", err)
		}
	}
}

// A decision can take either answer, an answer that is empty says so, and a person who
// decides on an answer of their own is marked.
func TestDecisionsTakeAnAnswer(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	p := at(t, &clock)
	task := study.Task{Name: "t", Of: "item", Show: []string{"lead", "pages"}, Draw: 1, Ask: []study.Question{{Name: "parts", Type: "span", Optional: true}}}
	for person, answer := range map[string]string{"anna": `[{"page":1,"start":0,"end":4,"text":"text"}]`, "ben": ""} {
		d := open(t, p, task, person)
		k, place, _, _ := d.next()
		_, ev, err := d.see(k)
		if err != nil {
			t.Fatal(err)
		}
		if ev.Place, ev.Answer = place, (Answer{}); answer != "" {
			ev.Answer["parts"] = []byte(answer)
		}
		if _, err := d.append(eventSubmit, ev); err != nil {
			t.Fatal(err)
		}
		d.log.Close()
	}
	s, err := Open(p, []study.Task{task}, corpus{6}, "test", true)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	do := talking(t, s, "anna", "carol", Owner)
	_, key := do("carol", "GET", "t/t/", "")
	if _, page := do("carol", "GET", "t/t/"+key, ""); strings.Contains(page, "your own answer") {
		t.Error("carol has an answer of her own")
	}
	_, key = do("anna", "GET", "t/t/", "")
	_, page := do("anna", "GET", "t/t/"+key, "")
	for _, want := range []string{"Every question was left open.", "your own answer", `data-answer="{}">Take`, `data-answer="{&#34;parts&#34;:[{&#34;page&#34;:1,`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has not %s:\n%s", want, page)
		}
	}
	code, said := do("anna", "POST", "event", fmt.Sprintf(`{"id":"0123456789abcdef","task":"t","kind":"adjudicate","key":%q,"shown":%q,"answer":{},"reason":"nothing is there"}`, key, shownHash.FindStringSubmatch(page)[1]))
	if code != 200 {
		t.Fatal(code, said)
	}
	r, err := p.Result(task, corpus{6})
	if err != nil || len(r.Settled) != 1 || !r.Settled[0].Own {
		t.Errorf("%+v %v", r.Settled, err)
	}
	if _, page := do(Owner, "GET", "", ""); !strings.Contains(page, "1 on an answer of their own") {
		t.Errorf("the owner's page:\n%s", page)
	}
}

// slow is a corpus whose agreement takes until somebody lets it end.
type slow struct {
	corpus
	begun, end chan bool
}

func (s slow) Same(item string, a, b eval.UnitGold) (bool, error) {
	select {
	case s.begun <- true:
	default:
	}
	<-s.end
	return s.corpus.Same(item, a, b)
}

// While the owner's agreement is computed, people are shown pages and their answers are kept,
// and it reads whole files.
func TestStatisticsStopNobody(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	p := at(t, &clock)
	source := slow{corpus{6}, make(chan bool, 1), make(chan bool)}
	task := study.Task{Name: "t", Kind: "gold", Draw: 2}
	for _, person := range []string{"anna", "ben"} {
		d := openOf(t, p, task, source, person)
		for range 2 {
			if err := d.say(t, study.UnitMissing); err != nil {
				t.Fatal(err)
			}
		}
		d.log.Close()
	}
	s, err := Open(p, []study.Task{task}, source, "test", false)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	do := talking(t, s, "anna", Owner)
	done := make(chan string)
	go func() {
		_, page := do(Owner, "GET", "reliability", "")
		done <- page
	}()
	<-source.begun
	for n := range 2 { // while it is computed
		_, key := do("anna", "GET", "t/t/", "")
		_, page := do("anna", "GET", "t/t/"+key, "")
		if code, said := do("anna", "POST", "event", fmt.Sprintf(`{"id":"0123456789abcde%d","task":"t","kind":"submit","key":%q,"shown":%q,"answer":{"exists":"missing"}}`, n, key, shownHash.FindStringSubmatch(page)[1])); code != 200 {
			t.Error(code, said)
		}
	}
	close(source.end)
	if page := <-done; !strings.Contains(page, "anna and ben") {
		t.Errorf("the agreement is\n%s", page)
	}
}

// Who has still to answer what others decide is told so.
func TestDecisionsThatWait(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	p := at(t, &clock)
	task := label
	task.Again = study.Again{Count: 2}
	anna, ben := open(t, p, task, "anna"), open(t, p, task, "ben")
	for range 6 {
		if err := errors.Join(anna.say(t, "yes"), ben.say(t, "no")); err != nil {
			t.Fatal(err)
		}
	}
	drawn := anna.order(passAgain)
	if err := errors.Join(anna.close(), ben.close()); err != nil {
		t.Fatal(err)
	}
	s, err := Open(p, []study.Task{task}, corpus{6}, "test", true)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	do := talking(t, s, "anna")
	do("anna", "GET", "t/t/", "")
	d := s.desks[[2]string{"t", "anna"}]
	for range 4 {
		d.decide(t, "yes")
	}
	if _, page := do("anna", "GET", "t/t/", ""); !strings.Contains(page, "2 subjects wait until you have answered them") || !strings.Contains(page, "The second round opens on ") {
		t.Error(page)
	}
	if _, _, err := d.see(slot{drawn[0], passAdjudicate}); err == nil || !strings.Contains(err.Error(), "answer it first") {
		t.Error(err)
	}
}

// Nobody decides on a subject that they have still to answer, and what they answer after a
// decision is not blind.
func TestDecisionsShowAnswers(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	p := at(t, &clock)
	task := label
	task.Again = study.Again{Count: 2}
	anna, ben, carl := open(t, p, task, "anna"), open(t, p, task, "ben"), open(t, p, task, "carl")
	open := func(d *desk, want int, when string) {
		t.Helper()
		if list, err := decidable(d); err != nil || len(list) != want {
			t.Errorf("%s can decide on %d subjects %s, want %d: %v", d.work.Person, len(list), when, want, err)
		}
	}
	for i := range 6 {
		if err := errors.Join(anna.say(t, "yes"), ben.say(t, "no")); err != nil {
			t.Fatal(err)
		}
		if i == 2 {
			open(anna, 0, "in the first round")
		}
	}
	open(anna, 4, "before the second round")
	clock = clock.Add(1000 * time.Hour)
	for range 2 {
		if err := anna.say(t, "yes"); err != nil {
			t.Fatal(err)
		}
	}
	open(anna, 6, "after it")
	open(carl, 6, "without an answer")
	list, _ := decidable(carl)
	carl.decide(t, "yes")
	for i, c := range list[:2] {
		k := slot{c.Subject, passFirst}
		_, ev, err := carl.see(k)
		if err != nil {
			t.Fatal(err)
		}
		ev, err = carl.accept(&said{Kind: eventSubmit, Key: carl.key(k), Shown: ev.Shown, Answer: Answer{"q": []byte(`"yes"`)}}, rounds)
		if err != nil || ev.Sighted != (i == 0) {
			t.Errorf("answer %d, decided before or not: sighted %v, %v", i, ev.Sighted, err)
		}
		if i == 0 {
			continue
		}
		for range 2 { // the look is stored once
			k := slot{c.Subject, passAdjudicate}
			shown, ev, err := carl.see(k)
			if err == nil {
				_, err = carl.sheet(k, k, shown, ev, carl.fresh)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		_, ev, _ = carl.see(k)
		ev, err = carl.accept(&said{Kind: eventSubmit, Key: carl.key(k), Shown: ev.Shown, Answer: Answer{"q": []byte(`"yes"`)}}, rounds)
		if err != nil || !ev.Sighted {
			t.Errorf("answer %d after a look: sighted %v, %v", i, ev.Sighted, err)
		}
	}
}
