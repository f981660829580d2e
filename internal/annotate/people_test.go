package annotate

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/serve"
	"github.com/scruple-eval/scruple/internal/study"
)

// A milestone interrupts the first round: as soon as the gap is over, the drawn subjects
// come before those that are left, and their first answers cannot be seen or changed any
// more.
func TestMilestone(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	task := label
	task.Again = study.Again{Count: 2, After: 3, Gap: study.Duration(time.Hour)}
	d := open(t, at(t, &clock), task, "anna")
	for range 4 {
		clock = clock.Add(time.Minute)
		if k, _, ok, _ := d.next(); !ok || k.pass != passFirst {
			t.Fatalf("%+v", k)
		}
		if err := d.say(t, "yes"); err != nil {
			t.Fatal(err)
		}
	}
	clock = clock.Add(2 * time.Hour)
	first := d.firsts(3)
	for range 2 {
		k, _, ok, _ := d.next()
		if !ok || k.pass != passAgain || !slices.Contains(first, k.subject) {
			t.Fatalf("%+v, want one of the first three", k)
		}
		if d.mayReview(slot{k.subject, passFirst}) {
			t.Error("the first answer can be seen")
		}
		if err := d.say(t, "no"); err != nil {
			t.Fatal(err)
		}
	}
	if k, _, ok, _ := d.next(); !ok || k.pass != passFirst {
		t.Errorf("%+v, want the first round again", k)
	}
	if list, ok := d.discrepancies(); !ok || len(list) != 2 {
		t.Errorf("%d discrepancies (%v), want 2", len(list), ok)
	}
}

// Who has fewer subjects than the milestone has no second round.
func TestMilestoneOfOthers(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	p, task, double := at(t, &clock), label, 0.5
	task.Double, task.Again = &double, study.Again{Count: 2, After: 4}
	for i, person := range []string{"anna", "ben"} {
		d := open(t, p, task, person)
		for range 6 - 3*i {
			if err := d.say(t, "yes"); err != nil {
				t.Fatal(err)
			}
		}
		if drawn := d.order(passAgain); len(drawn) != 2-2*i {
			t.Errorf("%s answers %d of %d again", person, len(drawn), len(d.order(passFirst)))
		}
	}
	if r, err := p.Result(task, corpus{6}); err != nil || len(r.Missing) != 1 || !strings.Contains(r.Missing[0], "of anna") {
		t.Errorf("missing %q, %v", r.Missing, err)
	}
}

// A share of the answers is rounded up.
func TestShareAgain(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	task := label
	task.Again = study.Again{Share: 0.2}
	d := open(t, at(t, &clock), task, "anna")
	for range 6 {
		if list := d.order(passAgain); len(list) > 0 {
			t.Fatal("drawn before the end")
		}
		if err := d.say(t, "yes"); err != nil {
			t.Fatal(err)
		}
	}
	if list := d.order(passAgain); len(list) != 2 { // 20 % of 6 is 1.2
		t.Errorf("%d subjects, want 2", len(list))
	}
}

// A queue of the suite is drawn by groups: all of a small group, the wanted number of a
// large one, and all of one that the task does not name.
func TestStrata(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	p := at(t, &clock)
	task := study.Task{Name: "t", Queue: "any", Strata: []study.Stratum{{Name: "odd", Draw: 3, Check: 2}, {Name: "even", Draw: 9, Check: 9}},
		Ask: []study.Question{{Name: "q", Type: "choice", Options: []string{"odd", "even"}}}}.Full()
	q, err := p.queue(task, corpus{6}) // 12 answers, four of each group
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, s := range q.Strata {
		count[s]++
	}
	check := map[string]int{}
	for _, i := range q.Check {
		check[q.Strata[i]]++
	}
	if count["odd"] != 3 || count["even"] != 4 || count["rare"] != 4 || check["odd"] != 2 || check["even"] != 4 || check["rare"] != 0 {
		t.Errorf("drawn %v, compared %v", count, check)
	}
	if runs := slices.Compact(slices.Clone(q.Strata)); len(runs) < 5 {
		t.Errorf("the groups are not mixed: %v", q.Strata)
	}
	shown, err := show(task, corpus{6}, q.Subjects[0], false)
	if err != nil || len(shown.Parts) != 1 || shown.Lead != "" || len(shown.Pages) > 0 {
		t.Errorf("shown %+v (%v)", shown, err)
	}
	again, err := p.readQueue(task)
	if err != nil || !slices.Equal(again.Strata, q.Strata) || !slices.Equal(again.Check, q.Check) {
		t.Errorf("the stored queue differs: %v", err)
	}
}

// automatic is a source with the automatic results of answers, and their editions: an
// answer that is asked anew has another one.
type automatic struct {
	corpus
	results  map[string]string
	editions map[string]string
	err      error // of the queue
}

func (a automatic) Queue(string) (list []eval.Queued, err error) {
	if a.err != nil {
		return nil, a.err
	}
	for item, result := range a.results {
		list = append(list, eval.Queued{Trial: eval.Trial{Item: item, Arm: "m"}, Stratum: result})
	}
	return list, nil
}

func (a automatic) ShowQueued(_ string, t eval.Trial) ([]eval.Passage, error) {
	return []eval.Passage{{Name: "Answer", Text: t.Item + a.editions[t.Item]}}, nil
}

// waiting is a corpus whose queue depends on answers that do not exist yet.
type waiting struct {
	corpus
	until *bool
}

func (w waiting) Queue(name string) ([]eval.Queued, error) {
	if !*w.until {
		return nil, errors.New("coherence first")
	}
	return w.corpus.Queue(name)
}

// A queue that cannot be drawn yet says why and leaves no trace; the same server draws it
// when it can.
func TestQueueWaits(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	p := at(t, &clock)
	ready := false
	task := study.Task{Name: "w", Queue: "any", Ask: label.Ask}
	s, err := Open(p, []study.Task{label, task}, waiting{corpus{6}, &ready}, "test", false)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	web, err := serve.Open(serve.Config{Holders: []string{"anna"}})
	if err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	get := func(path string) (int, string) {
		w := httptest.NewRecorder()
		web.Guard(s.Handler()).ServeHTTP(w, httptest.NewRequest("GET", web.URL("anna")+path, nil))
		return w.Code, w.Body.String()
	}
	if _, body := get(""); !strings.Contains(body, "Not open yet: the study has not all answers") || strings.Contains(body, `href="t/w/"`) {
		t.Errorf("the list of tasks is\n%s", body)
	}
	if code, body := get("t/w/"); code != 500 || strings.Contains(body, "coherence first") { // the owner's page has it
		t.Errorf("the task answers %d\n%s", code, body)
	}
	if started, err := p.Started("w"); started || err != nil {
		t.Errorf("drawn: %v, %v", started, err)
	}
	ready = true
	if _, body := get(""); !strings.Contains(body, `href="t/w/"`) {
		t.Errorf("the list of tasks is\n%s", body)
	}
	if code, _ := get("t/w/"); code != 303 {
		t.Errorf("the task answers %d", code)
	}
	if started, err := p.Started("w"); !started || err != nil {
		t.Errorf("drawn: %v, %v", started, err)
	}
}

// A person is compared with the automatic result over the drawn subjects: 20 coherent,
// 20 incoherent and 10 ambiguous ones, the last counted as the last option. It is the
// automatic result of the answer that the person saw.
func TestAutomaticAgreement(t *testing.T) {
	target := 0.8
	task := study.Task{Name: "t", Of: "trial", Queue: "any", Target: &target, Ask: []study.Question{{Name: "q", Text: "q", Type: "choice", Options: []string{"coherent", "incoherent"}}}}
	q := &Queue{Task: "t"}
	w := must(fold("t", "anna", "", nil))
	source := automatic{results: map[string]string{}, editions: map[string]string{}}
	add := func(stratum, said string, n int) {
		for range n {
			s := Subject{Item: fmt.Sprint(len(q.Subjects)), Arm: "m"}
			source.results[s.Item] = stratum
			shown, err := show(task, source, s, false)
			if err != nil {
				t.Fatal(err)
			}
			data, _ := json.Marshal(said)
			e := &Event{Subject: &s, Pass: passFirst, Shown: shown.Hash(), Answer: Answer{"q": data}}
			w.given[slot{s, passFirst}] = &Given{slot: slot{s, passFirst}, First: e, Final: e}
			q.Check = append(q.Check, len(q.Subjects))
			q.Subjects, q.Strata = append(q.Subjects, s), append(q.Strata, stratum)
		}
	}
	add("coherent", "coherent", 18)
	add("coherent", "incoherent", 2)
	add("incoherent", "incoherent", 19)
	add("incoherent", "coherent", 1)
	add("ambiguous", "incoherent", 6)
	add("ambiguous", "coherent", 4)
	r := &Result{Task: task, fresh: newFreshness(task, source), queue: q, Everyone: []*Work{w}}
	list, err := r.Agreements()
	if err != nil || len(list) != 2 {
		t.Fatal(list, err)
	}
	// Tables 18 2 / 5 25 and 18 2 / 1 19. po = 43/50, pe = (20·23 + 30·27)/2500 = 0.508;
	// po = 37/40, pe = 0.5.
	for i, want := range []struct {
		n     int
		kappa float64
		note  string
	}{{50, (0.86 - 0.508) / (1 - 0.508), "kappa is below the target of 0.80; its interval has values on both sides"},
		{40, 0.85, "kappa reaches the target of 0.80; its interval has values on both sides"}} {
		g := list[i]
		if g.N != want.n || !(math.Abs(g.Measure(Cohen).Value-want.kappa) <= 1e-12) || !g.Automatic || !strings.Contains(strings.Join(g.Notes, "\n"), want.note) {
			t.Errorf("n = %d, kappa %v, %q; want %+v", g.N, g.Measure(Cohen).Value, g.Notes, want)
		}
	}
	if !strings.Contains(list[0].String(), "10 subjects: the automatic result is ambiguous, which counts as incoherent") {
		t.Error(list[0].String())
	}
	// Answers to one item are not independent.
	wide := func() float64 {
		list, err := r.Agreements()
		if err != nil {
			t.Fatal(err)
		}
		return list[0].Measure(Equal).CI.High - list[0].Measure(Equal).CI.Low
	}
	apart := wide()
	for i, s := range q.Subjects {
		w.given[slot{s, passFirst}].First.Subject = &Subject{Item: fmt.Sprint(i / 25), Arm: "m"}
	}
	for _, s := range q.Subjects { // the results of the items that they are of now
		e := w.given[slot{s, passFirst}].First
		shown, err := show(task, source, *e.Subject, false)
		if err != nil {
			t.Fatal(err)
		}
		e.Shown = shown.Hash()
	}
	if wide() <= apart {
		t.Errorf("the interval of 2 items is not wider than that of 50")
	}
	if list, err := r.Agreements(); err != nil || !strings.Contains(list[0].String(), "count units of one item as independent; that of the percentage does not") {
		t.Errorf("%v %v", list, err)
	}
	for _, s := range q.Subjects {
		e := w.given[slot{s, passFirst}].First
		shown, _ := show(task, source, s, false)
		e.Subject, e.Shown = &s, shown.Hash()
	}
	// Two answers are asked anew, one is gone, and another threshold decides an ambiguous
	// one: the table of those that are left is 18 2 / 3 24.
	source.editions["38"], source.editions["39"] = "again", "again"
	source.results["38"], source.results["39"] = "coherent", "coherent"
	delete(source.results, "49")
	source.results["40"] = "incoherent"
	r.fresh = newFreshness(task, source)
	list, err = r.Agreements()
	if err != nil || len(list) != 2 {
		t.Fatal(list, err)
	}
	if table := fmt.Sprint(list[0].Table); list[0].N != 47 || table != "[[18 2] [3 24]]" {
		t.Errorf("n = %d, table %s", list[0].N, table)
	}
	if text := list[0].String(); !strings.Contains(text, "3 subjects are left out: the answer that the person saw was replaced") || !strings.Contains(text, "8 subjects: the automatic result is ambiguous") {
		t.Error(text)
	}
	// A run that is unfinished has no automatic results; people are still compared with each other.
	r.Everyone = append(r.Everyone, must(fold("t", "ben", "", nil)))
	r.Everyone[1].given = w.given
	waits := source
	waits.err = errors.New("run r is unfinished")
	r.fresh = newFreshness(task, waits)
	list, err = r.Agreements()
	if err != nil || len(list) != 1 || list[0].Automatic || fmt.Sprint(r.Uncompared) != "[q: people and the automatic result: nothing to compare: run r is unfinished]" {
		t.Errorf("%v, not compared %q, %v", list, r.Uncompared, err)
	}
	r.Everyone = r.Everyone[:1]
	clear(source.results)
	r.fresh = newFreshness(task, source)
	if list, err = r.Agreements(); err != nil || len(list) > 0 || len(r.Uncompared) != 1 || !strings.HasSuffix(r.Uncompared[0], ": automatic and anna: nothing to compare: 50 subjects are left out: the answer that the person saw was replaced") {
		t.Errorf("%v, not compared %q, %v", list, r.Uncompared, err)
	}
}

// A decision on a pair is blind to arms: both judgements are shown as sides of the page,
// and the verdict names the arm that was chosen, whichever side it was on.
func TestDecisionOnAPair(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	p := at(t, &clock)
	task := study.Task{Name: "t", Kind: "pair", Arms: []string{"secret-arm", "other-arm"}}.Full()
	for person, arm := range map[string]string{"anna": "secret-arm", "ben": "other-arm"} {
		d := open(t, p, task, person)
		for {
			k, place, ok, _ := d.next()
			if !ok {
				break
			}
			swapped := d.swapped(k.subject, k.pass)
			shown, err := show(task, corpus{6}, k.subject, swapped)
			if err != nil {
				t.Fatal(err)
			}
			said := map[bool]string{true: `"A"`, false: `"B"`}[k.subject.armOf("A", swapped) == arm]
			ev := Event{Pass: k.pass, Subject: &k.subject, Shown: shown.Hash(), Swapped: swapped, Place: place, Answer: Answer{"better": []byte(said)}}
			if _, err := d.append(eventSubmit, ev); err != nil {
				t.Fatal(err)
			}
		}
		d.log.Close()
	}
	s, err := Open(p, []study.Task{task}, corpus{6}, "test", true)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	web, err := serve.Open(serve.Config{Holders: []string{"carol"}, Writes: true})
	if err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	do := func(method, path, body string) (int, string) {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(method, web.URL("carol")+path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		web.Guard(s.Handler()).ServeHTTP(w, r)
		return w.Code, w.Header().Get("Location") + w.Body.String()
	}
	sides := map[string]int{}
	for n := range 6 {
		_, key := do("GET", "t/t/", "")
		_, page := do("GET", "t/t/"+key, "")
		if strings.Contains(page, "-arm") {
			t.Fatalf("the page names an arm:\n%s", page)
		}
		a, b := strings.Index(page, "answer one"), strings.Index(page, "answer two")
		if a < 0 || b < 0 || !strings.Contains(page, "Judgement B") {
			t.Fatalf("the page lacks answers:\n%s", page)
		}
		first := map[bool]string{true: "A", false: "B"}[a < b]
		sides[first]++
		hash := regexp.MustCompile(`data-here="1"[^>]*data-shown="(\w+)"`).FindStringSubmatch(page)[1]
		code, said := do("POST", "event", fmt.Sprintf(`{"id":"0123456789abcde%d","task":"t","kind":"adjudicate","key":%q,"shown":%q,"answer":{"better":%q},"reason":"it is better"}`, n, key, hash, first))
		if code != 200 {
			t.Fatalf("%d %s", code, said)
		}
	}
	if sides["A"] == 0 || sides["B"] == 0 {
		t.Fatalf("the chosen answer was always on one side: %v", sides)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	result, err := p.Result(task, corpus{6})
	if err != nil || len(result.Settled) != 6 {
		t.Fatalf("%+v, %v", result, err)
	}
	for _, x := range result.Settled {
		if x.Label != "secret-arm" {
			t.Errorf("%s: the decision is for %s", x.Subject, x.Label)
		}
	}
}

// Notes on a session, on a topic of the task and on an answer are kept, the last of each.
func TestNotes(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	task := label
	task.Again = study.Again{Count: 6, Gap: study.Duration(time.Minute)}
	task.Memo = []string{"Time taken"}
	p := at(t, &clock)
	d := open(t, p, task, "anna")
	note := func(topic, key, text string) error {
		ev, err := d.acceptNote(&said{ID: "0123456789abcdef", Topic: topic, Key: key, Reason: text})
		if err == nil {
			_, err = d.append(eventNote, ev)
		}
		return err
	}
	for range 12 {
		clock = clock.Add(2 * time.Minute)
		if err := d.say(t, []string{"yes", "no"}[len(d.work.order)/6]); err != nil {
			t.Fatal(err)
		}
	}
	list, ok := d.discrepancies()
	if !ok || len(list) != 6 {
		t.Fatalf("%d discrepancies (%v)", len(list), ok)
	}
	key := d.key(slot{list[0].Subject, passAgain})
	for _, tt := range []struct{ topic, key, text string }{{"session 1", "", "slow"}, {"session 1", "", "tired"}, {"memo: Time taken", "", "ten minutes"}, {discrepancyTopic, key, "a boundary case"}} {
		if err := note(tt.topic, tt.key, tt.text); err != nil {
			t.Fatal(tt, err)
		}
	}
	for _, topic := range []string{"session 2", "memo: other", discrepancyTopic, ""} {
		if err := note(topic, "", "x"); err == nil {
			t.Errorf("a note on %q was stored", topic)
		}
	}
	w, err := p.ReadWork("t", "anna")
	if err != nil {
		t.Fatal(err)
	}
	sessions := w.Sessions()
	if len(sessions) != 1 || sessions[0].Note != "tired" || len(sessions[0].Items) != 6 || sessions[0].Again != 6 {
		t.Errorf("%+v", sessions)
	}
	if memo := w.Memo(task.Memo); len(memo) != 1 || memo[0].Text != "ten minutes" {
		t.Errorf("%+v", memo)
	}
	r, err := p.Result(task, corpus{6})
	if err != nil {
		t.Fatal(err)
	}
	if list, _ = r.Discrepancies(r.Everyone[0]); list[0].Note != "a boundary case" {
		t.Errorf("%+v", list[0])
	}
}

// A second round differs in any question with a choice or a number, not only in the first.
func TestDiscrepancyOfALaterQuestion(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	task := label
	task.Again = study.Again{Count: 6, Gap: study.Duration(time.Minute)}
	task.Ask = append(slices.Clone(task.Ask), study.Question{Name: "sure", Type: "choice", Options: []string{"very", "not"}})
	d := open(t, at(t, &clock), task, "anna")
	for i := range 12 {
		clock = clock.Add(2 * time.Minute)
		k, place, ok, _ := d.next()
		_, ev, err := d.see(k)
		if !ok || err != nil {
			t.Fatal(ok, err)
		}
		sure := []string{`"very"`, `"not"`}[i/9] // of three of the second round
		ev.Place, ev.Answer = place, Answer{"q": []byte(`"yes"`), "sure": []byte(sure)}
		if _, err := d.append(eventSubmit, ev); err != nil {
			t.Fatal(err)
		}
	}
	if list, ok := d.discrepancies(); !ok || len(list) != 3 {
		t.Errorf("%d discrepancies (%v), want 3", len(list), ok)
	}
}

// The notes have places instead of items, whose names can tell what people must not know.
func TestNotesNameNoItems(t *testing.T) {
	for _, task := range []study.Task{{Name: "t", Queue: "any", Ask: label.Ask}, {Name: "t", Of: "trial", Show: []string{"raw"}, Ask: label.Ask}} {
		clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
		p := at(t, &clock)
		task.Again = study.Again{Count: 12, Gap: study.Duration(time.Minute)}
		d := open(t, p, task, "anna")
		for i := range 24 { // two answers to each of six items, and the second round
			clock = clock.Add(2 * time.Minute)
			if err := d.say(t, []string{"yes", "no"}[i/12]); err != nil {
				t.Fatal(err)
			}
		}
		w := httptest.NewRecorder()
		(&Server{source: d.source, passes: rounds}).notes(w, nil, d)
		if body := w.Body.String(); !strings.Contains(body, "first subject 1, last subject 12") || strings.Contains(body, "i0") {
			t.Error(body)
		}
	}
}

// Practice is about the suite's own items and is never locked as gold.
func TestPracticeIsNotGold(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	p := at(t, &clock)
	task := label
	task.Practice, task.Again = true, study.Again{}
	d, ben := open(t, p, task, "anna"), open(t, p, task, "ben")
	for range 2 {
		if err := cmp.Or(d.say(t, "yes"), ben.say(t, "yes")); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, ok, _ := d.next(); ok {
		t.Error("practice has more than the items for it")
	}
	if _, err := p.queue(task.Full(), corpus{6}); err != nil { // practice goes on another day
		t.Error(err)
	}
	r, err := p.Result(task, corpus{6})
	if err != nil || len(r.Settled) != 2 || r.Settled[0].Subject.Item != "p1" {
		t.Fatalf("%+v %v", r, err)
	}
	if list, err := r.Agreements(); err != nil || len(list) > 0 || fmt.Sprint(r.Uncompared) != "[practice counts in no agreement]" {
		t.Errorf("practice counts in agreement: %+v %q %v", list, r.Uncompared, err)
	}
	gold, err := r.Gold()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Lock(r, gold, "anna", "declared", nil); err == nil || !strings.Contains(err.Error(), "practice, which is never gold") {
		t.Error(err)
	}
}

// A file is locked once, inside the folder of the study, with a name and a declaration.
func TestLockFile(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	p := at(t, &clock)
	dir := filepath.Dir(p.Dir)
	gold, other := filepath.Join(dir, "gold.csv"), filepath.Join(t.TempDir(), "other.csv")
	for _, f := range []string{gold, other} {
		if err := os.WriteFile(f, []byte("a,b\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ path, name, declaration, want string }{
		{gold, "Anna", " ", "needs a name and a declaration"},
		{gold, "", "declared", "needs a name and a declaration"},
		{other, "Anna", "declared", "is not in the folder of the study"},
		{filepath.Join(dir, "absent.csv"), "Anna", "declared", "reading the file to lock"},
		{gold, "Anna", "declared", ""},
		{gold, "Ben", "declared", "is locked already, by Anna"},
	} {
		_, err := p.LockFile(tt.path, tt.name, tt.declaration, true, nil)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%+v: %v", tt, err)
		}
	}
	copied := filepath.Join(dir, "copy.csv")
	if err := os.WriteFile(copied, []byte("a,b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.CheckGold(copied, nil); err != nil {
		t.Errorf("gold with the same bytes: %v", err)
	}
	if err := p.CheckGold("", nil); err == nil || !strings.Contains(err.Error(), "the study reads none") {
		t.Error(err)
	}
	if err := os.WriteFile(copied, []byte("a,c\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.CheckGold(copied, nil); err == nil || !strings.Contains(err.Error(), "name the locked file in the study") {
		t.Error(err)
	}
}

// A task whose file cannot be read is closed with the reason; the others stay open.
func TestATaskThatCannotBeOpened(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	p := at(t, &clock)
	other := label
	other.Name = "other"
	s, err := Open(p, []study.Task{label, other}, corpus{6}, "test", false)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := os.WriteFile(p.workPath("t", "anna"), []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	reported := ""
	s.place.Report = func(err error) { reported += err.Error() }
	web, err := serve.Open(serve.Config{Holders: []string{"anna"}})
	if err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	w := httptest.NewRecorder()
	web.Guard(s.Handler()).ServeHTTP(w, httptest.NewRequest("GET", web.URL("anna"), nil))
	if body := w.Body.String(); w.Code != 200 || !strings.Contains(reported, "anna.jsonl:1: ") || strings.Contains(body, `href="t/t/"`) || !strings.Contains(body, `href="t/other/"`) {
		t.Errorf("%d\n%s", w.Code, body)
	}
}

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}
