package annotate

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
)

// revised is a corpus in which the texts of some items, and the answers to them, were
// replaced after people judged them.
type revised struct {
	corpus
	items map[string]bool
}

func (r revised) Show(t eval.Trial) (eval.Exhibit, error) {
	x, err := r.corpus.Show(t)
	if r.items[t.Item] {
		x.Lead, x.Raw = "another "+x.Lead, "another "+x.Raw
	}
	return x, err
}

// decidable lists the subjects on which a person may decide.
func decidable(d *desk) ([]Coding, error) {
	open, err := d.adjudicable(d.queue.Subjects...)
	return slices.Collect(open), err
}

// decide decides on the next subject on which people differ, and returns what was shown.
func (d *desk) decide(t *testing.T, option string) Shown {
	t.Helper()
	open, err := decidable(d)
	if err != nil || len(open) == 0 {
		t.Fatalf("nothing to decide: %v", err)
	}
	shown, ev, err := d.see(slot{open[0].Subject, passAdjudicate})
	if err != nil {
		t.Fatal(err)
	}
	data, _ := json.Marshal(option)
	ev.Sighted, ev.Reason, ev.Answer = true, "because", Answer{d.task.Ask[0].Name: data}
	if _, err := d.append(eventAdjudicate, ev); err != nil {
		t.Fatal(err)
	}
	return shown
}

// Two people differ on six items and a third decides. Then two texts are replaced:
// answers and decisions on these are no verdicts, cannot be decided, and gold cannot be
// locked.
func TestReplacedTexts(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	p := at(t, &clock)
	task := label
	task.Again = study.Again{}
	anna, ben, carl := open(t, p, task, "anna"), open(t, p, task, "ben"), open(t, p, task, "carl")
	for range 6 {
		for d, option := range map[*desk]string{anna: "yes", ben: "no"} {
			if err := d.say(t, option); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 5 {
		carl.decide(t, "yes")
	}
	left, _ := decidable(carl)
	changed := map[string]bool{left[0].Subject.Item: true}
	for _, s := range carl.queue.Subjects {
		if len(changed) < 2 {
			changed[s.Item] = true
		}
	}
	now := revised{corpus{6}, changed}
	list, stale, err := p.Verdicts(task, corpus{6})
	if err != nil || len(list) != 17 || stale != 0 {
		t.Fatalf("%d verdicts, %d stale before the change: %v", len(list), stale, err)
	}
	list, stale, err = p.Verdicts(task, now)
	if err != nil || stale != 5 || len(list) != 12 {
		t.Errorf("%d verdicts, %d stale, want 12 and 5: %v", len(list), stale, err)
	}
	for _, v := range list {
		if changed[v.Trial.Item] {
			t.Errorf("%s of round %d is used: %s", v.Trial.Item, v.Round, v.Data)
		}
	}
	shows := &looked{corpus: corpus{6}}
	fresh := newFreshness(task, shows)
	for _, unit := range []string{"", "u1", "u2"} { // units of one answer
		fresh.of(side{Subject{Item: "i00", Arm: "secret-arm", Replicate: 1, Unit: unit}, false})
	}
	fresh.forget(Subject{Item: "i00"})
	fresh.of(side{Subject{Item: "i00"}, false})
	if shows.n != 2 {
		t.Errorf("an answer and an item are shown %d times, want once each", shows.n)
	}
	carl.source, carl.fresh = now, newFreshness(task, now)
	if open, err := decidable(carl); err != nil || len(open) != 0 {
		t.Errorf("%d answers to replaced texts can be decided: %v", len(open), err)
	}
	r, err := p.Result(task, now)
	if err != nil || len(r.Settled) != 4 || !strings.Contains(fmt.Sprint(r.Missing), "2 subjects were, such as i") {
		t.Fatalf("%d settled, missing %q: %v", len(r.Settled), r.Missing, err)
	}
	if _, err := p.Lock(r, nil, "anna", "declared", nil); err == nil || !strings.Contains(err.Error(), "no longer shows") {
		t.Errorf("locked: %v", err)
	}
}

// Gold that one person made is not locked after a text was replaced, and is when the text
// is restored.
func TestReplacedTextIsNotLocked(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	p := at(t, &clock)
	task := label
	task.Again = study.Again{}
	d := open(t, p, task, "anna")
	for range 6 {
		if err := d.say(t, "yes"); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		source  Source
		settled int
		err     string
	}{{revised{corpus{6}, map[string]bool{"i03": true}}, 5, "1 subject was, such as i03, judged by a text that the study no longer shows"}, {corpus{6}, 6, ""}} {
		r, err := p.Result(task, test.source)
		if err != nil || len(r.Settled) != test.settled {
			t.Fatalf("%d settled, want %d: %v", len(r.Settled), test.settled, err)
		}
		gold, err := r.Gold()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Lock(r, gold, "anna", "declared", nil); (test.err == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%v, want %q", err, test.err)
		}
	}
}

// A draft or an answer to another text is not filled in: its passages are elsewhere.
func TestDraftsOfAReplacedText(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	p := at(t, &clock)
	task := label
	task.Again = study.Again{}
	d := open(t, p, task, "anna")
	if err := d.say(t, "yes"); err != nil {
		t.Fatal(err)
	}
	answered := d.work.order[0]
	k, place, _, _ := d.next()
	shown, _ := show(d.task, d.source, k.subject, false)
	if _, err := d.append(eventDraft, Event{Pass: k.pass, Subject: &k.subject, Place: place, Shown: shown.Hash(), Answer: Answer{"q": jsontext.Value(`"no"`)}}); err != nil {
		t.Fatal(err)
	}
	for _, replaced := range []bool{false, true} {
		for s, answer := range map[slot]string{answered.slot: "yes", k: "no"} {
			d.source = revised{corpus{6}, map[string]bool{s.subject.Item: replaced}}
			r, w := httptest.NewRequest("GET", "/", nil), httptest.NewRecorder()
			r.SetPathValue("key", d.key(s))
			(&Server{source: d.source, passes: rounds}).subject(w, r, d)
			if filled := strings.Contains(w.Body.String(), `data-draft="{&#34;q&#34;:&#34;`+answer); w.Code != 200 || filled == replaced {
				t.Errorf("%v, text replaced %v: filled in %v, status %d", s, replaced, filled, w.Code)
			}
		}
	}
}

// A draft from which everything was taken out again fills in nothing: null would stop the page.
func TestEmptiedDraft(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	d := open(t, at(t, &clock), label, "anna")
	k, _, _, _ := d.next()
	for _, answer := range []Answer{{"q": jsontext.Value(`"no"`)}, {}} {
		_, ev, err := d.see(k)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.save(&said{ID: "0123456789abcde" + strconv.Itoa(len(answer)), Kind: eventDraft, Key: d.key(k), Shown: ev.Shown, Answer: answer}, rounds); err != nil {
			t.Fatal(err)
		}
		r, w := httptest.NewRequest("GET", "/", nil), httptest.NewRecorder()
		r.SetPathValue("key", d.key(k))
		(&Server{source: d.source, passes: rounds}).subject(w, r, d)
		if empty := strings.Contains(w.Body.String(), `data-draft=""`); w.Code != 200 || empty != (len(answer) == 0) {
			t.Errorf("draft %v: nothing filled in %v, status %d", answer, empty, w.Code)
		}
	}
}
