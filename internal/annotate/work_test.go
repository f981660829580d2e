package annotate

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/study"
)

// send is what a page sends about a slot.
func (d *desk) send(t *testing.T, k slot, kind, option string) error {
	t.Helper()
	_, seen, err := d.see(k)
	if err != nil {
		t.Fatal(err)
	}
	e := said{ID: "0123456789abcdef", Task: d.task.Name, Kind: kind, Key: d.key(k), Shown: seen.Shown, Reason: "a reason"}
	if option != "" {
		data, _ := json.Marshal(option)
		e.Answer = Answer{d.task.Ask[0].Name: data}
	}
	ev, err := d.accept(&e, rounds)
	if err == nil {
		_, err = d.append(kind, ev)
	}
	return err
}

// A skipped subject can be answered at any time, also after the end. This is its first
// answer: it counts as gold and in agreement.
func TestAnswerAfterASkip(t *testing.T) {
	for _, kind := range []string{eventSubmit, eventRevise} { // older pages send a revision
		clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
		p := at(t, &clock)
		task := label
		task.Again = study.Again{}
		d := open(t, p, task, "anna")
		skipped, _, _, _ := d.next()
		if err := d.send(t, skipped, eventSkip, ""); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			if err := d.say(t, "yes"); err != nil {
				t.Fatal(err)
			}
		}
		if _, _, ok, _ := d.next(); ok || d.skipped() != d.key(skipped) {
			t.Errorf("the end has no way to %v", skipped.subject)
		}
		r, err := p.Result(task, corpus{6})
		if err != nil || len(r.Settled) != 5 || !strings.Contains(fmt.Sprint(r.Missing), "1 subject was skipped") {
			t.Errorf("%d settled, missing %q: %v", len(r.Settled), r.Missing, err)
		}
		if err := d.send(t, skipped, eventSkip, ""); err == nil {
			t.Error("skipped twice")
		}
		if err := d.send(t, skipped, kind, "no"); err != nil {
			t.Fatal(err)
		}
		g := d.work.given[skipped]
		if g.First == nil || g.First != g.Final || g.First.Answer.Text("q") != "no" || d.skipped() != "" {
			t.Errorf("%s: %+v", kind, g)
		}
		r, err = p.Result(task, corpus{6})
		if err != nil || len(r.Settled) != 6 || len(r.Missing) > 0 {
			t.Errorf("%s: %d settled, missing %q: %v", kind, len(r.Settled), r.Missing, err)
		}
		if err := d.send(t, skipped, eventSubmit, "yes"); err == nil {
			t.Error("answered twice")
		}
	}
}

// What a person skips, where another answered, is in the notes of their agreement, and a lock
// says what one person alone answered.
func TestSkippedIsNotCompared(t *testing.T) {
	clock := time.Unix(1e9, 0)
	p := at(t, &clock)
	task := label
	task.Again = study.Again{}
	anna, ben := open(t, p, task, "anna"), open(t, p, task, "ben")
	for i := range 6 {
		if err := anna.say(t, "yes"); err != nil {
			t.Fatal(err)
		}
		if k, _, ok, _ := ben.next(); ok && i < 5 {
			if err := ben.send(t, k, map[bool]string{true: eventSkip, false: eventSubmit}[i < 3], "yes"); err != nil {
				t.Fatal(err)
			}
		}
	}
	r, err := p.Result(task, corpus{6})
	if err != nil {
		t.Fatal(err)
	}
	list, err := r.Agreements()
	if err != nil || len(list) == 0 || list[0].N != 2 || !slices.Contains(list[0].Notes, "3 subjects that one of them skipped are not compared") {
		t.Errorf("%+v, %v", list, err)
	}
	if !slices.Contains(r.Notes, "4 answers are of one person alone") {
		t.Errorf("notes %q, want 4 subjects with one answer", r.Notes)
	}
}

// The second round is drawn once: an answer to what was skipped before does not change it.
func TestSkipsAndTheSecondRound(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	d := open(t, at(t, &clock), label, "anna") // two of the first four
	skipped, _, _, _ := d.next()
	if err := d.send(t, skipped, eventSkip, ""); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := d.say(t, "yes"); err != nil {
			t.Fatal(err)
		}
	}
	if list := d.order(passAgain); list != nil {
		t.Errorf("drawn after three: %v", list)
	}
	if err := d.say(t, "yes"); err != nil {
		t.Fatal(err)
	}
	drawn := d.order(passAgain)
	if len(drawn) != 2 || slices.Contains(drawn, skipped.subject) {
		t.Errorf("drawn %v, skipped %v", drawn, skipped.subject)
	}
	for _, answer := range []func() error{
		func() error { return d.say(t, "yes") },
		func() error { return d.send(t, skipped, eventSubmit, "yes") },
		func() error { return d.say(t, "yes") },
	} {
		if err := answer(); err != nil {
			t.Fatal(err)
		}
		if list := d.order(passAgain); !slices.Equal(list, drawn) {
			t.Errorf("drawn %v, before %v", list, drawn)
		}
	}
}

// What a person skipped is a verdict without an answer where the task measures a judge, until the
// person answers.
func TestSkipsAreVerdictsAboutAJudge(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	for _, judge := range []bool{false, true} {
		p, task := at(t, &clock), label
		task.Judge = judge
		d := openOf(t, p, task, corpus{8}, "anna")
		skipped, _, _, _ := d.next()
		if err := errors.Join(d.send(t, skipped, eventSkip, ""), d.say(t, "no")); err != nil {
			t.Fatal(err)
		}
		for _, answered := range []bool{false, true} {
			if answered {
				if err := d.send(t, skipped, eventSubmit, "yes"); err != nil {
					t.Fatal(err)
				}
			}
			list, stale, err := p.Verdicts(task, corpus{8})
			var said []string
			for _, v := range list {
				said = append(said, string(v.Data))
			}
			if err != nil || stale > 0 || len(list) != 1+one(answered || judge) || strings.Contains(said[0], `{"answer":null,"label":"","shown":"","skipped":true}`) != (judge && !answered) {
				t.Errorf("judge %v, answered %v: %q, %d stale, %v", judge, answered, said, stale, err)
			}
		}
		d.close()
	}
}

// The file of somebody who only looked is expected like those of the others.
func TestWhoOnlyLookedIsRecorded(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	p := at(t, &clock)
	d := open(t, p, label, "carl")
	if _, err := d.append(eventStart, Event{}); err != nil {
		t.Fatal(err)
	}
	if err := d.record(); err != nil {
		t.Fatal(err)
	}
	everyone, err := p.Everyone("t")
	if err != nil || len(everyone) != 1 || everyone[0].Person != "carl" {
		t.Fatalf("%v, %v", everyone, err)
	}
	if err := os.Remove(p.workPath("t", "carl")); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Everyone("t"); err == nil {
		t.Error("a removed file was not noticed")
	}
}

// A second round that would begin after more answers than there are subjects is an error
// when the task is drawn, and stops the lock of one that was drawn before.
func TestSecondRoundThatNeverBegins(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	p := at(t, &clock)
	task := label
	task.Again.After = 7
	if _, err := p.queue(task.Full(), corpus{6}); err == nil || !strings.Contains(err.Error(), "again.after is 7, but the task has only 6 subjects") {
		t.Error(err)
	}
	if _, err := os.Stat(p.queuePath("t")); err == nil {
		t.Error("a queue was written")
	}
	q, err := draw(task.Full(), 1, corpus{6})
	if err != nil {
		t.Fatal(err)
	}
	data, _ := json.Marshal(q)
	if err := errors.Join(os.MkdirAll(filepath.Dir(p.queuePath("t")), 0o700), os.WriteFile(p.queuePath("t"), data, 0o600), p.add("", drawEntry, drawn{p.taskOf("t"), dataset.SHA256(data), 6})); err != nil {
		t.Fatal(err)
	}
	d := open(t, p, task, "anna")
	for range 6 {
		if err := d.say(t, "yes"); err != nil {
			t.Fatal(err)
		}
	}
	r, err := p.Result(task, corpus{6})
	if err != nil || len(r.Settled) != 6 || !strings.Contains(fmt.Sprint(r.Missing), "the second round begins after 7 answers, but the task has only 6 subjects") {
		t.Errorf("%q, %v", r.Missing, err)
	}
}

// A slip that is noticed within a minute is changed without a reason; later it needs one.
func TestUndo(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	task := label
	task.Again = study.Again{}
	d := open(t, at(t, &clock), task, "anna")
	k, _, _, _ := d.next()
	if err := d.send(t, k, eventSubmit, "yes"); err != nil {
		t.Fatal(err)
	}
	revise := func() error {
		return d.permits(&said{Kind: eventRevise}, k)
	}
	clock = clock.Add(50 * time.Second)
	if err := revise(); err != nil {
		t.Error(err)
	}
	clock = clock.Add(20 * time.Second)
	if err := revise(); err == nil || !strings.Contains(err.Error(), "give a reason") {
		t.Error(err)
	}
}

// The page of a field lists those of the text with the person's own values.
func TestUnitsOfAText(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	d := open(t, at(t, &clock), study.Task{Name: "t", Kind: "gold", Draw: 2}, "anna")
	first, place, _, _ := d.next()
	_, ev, err := d.see(first)
	if err != nil {
		t.Fatal(err)
	}
	ev.Place, ev.Answer = place, Answer{}
	ev.Answer.put("exists", study.UnitPresent)
	ev.Answer.put("value", "2024")
	if _, err := d.append(eventSubmit, ev); err != nil {
		t.Fatal(err)
	}
	second, _, _, _ := d.next()
	list, at := d.beside(second)
	if !slices.Equal(list, []slot{first, second}) || at != 1 {
		t.Fatalf("%v from %d", list, at)
	}
	shown, ev, err := d.see(second)
	if err != nil {
		t.Fatal(err)
	}
	fresh := newFreshness(d.task, d.source)
	for k, want := range map[slot]sheet{
		first:  {Key: d.key(first), Kind: eventRevise, Said: "2024", Draft: `{"exists":"present","value":"2024"}`},
		second: {Key: d.key(second), Kind: eventSubmit, Said: "open", Here: true, SkipPermitted: true},
	} {
		got, err := d.sheet(k, second, shown, ev, fresh)
		if err != nil || got.Key != want.Key || got.Kind != want.Kind || got.Said != want.Said || got.Here != want.Here || got.Draft != want.Draft || got.SkipPermitted != want.SkipPermitted {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}
