package store_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/plan"
	"github.com/scruple-eval/scruple/internal/store"
)

func planOf(t require, items []eval.Item, arms []eval.Arm, replicates int) *plan.Plan {
	p, err := plan.New(items, arms, replicates, 42)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func unrecorded(store.Amendment) []store.Event { return nil }

type require interface{ Fatal(args ...any) }

// Whatever a plan becomes, its trials are read in its order, each with an answer to its
// own question or none, and no answer is lost.
func TestAmend(t *testing.T) { onBoth(t, testAmend) }

func testAmend(t *testing.T, place place) {
	checks := 0
	ctx := t.Context()
	db := open(t, place(t))
	rapid.Check(t, func(rt *rapid.T) {
		if checks++; checks > 20 && strings.HasSuffix(t.Name(), "PostgreSQL") { // which takes three times as long
			return
		}
		var r *store.Run
		var err error
		answers := 0
		for step := range rapid.IntRange(2, 4).Draw(rt, "steps") {
			var items []eval.Item
			inputs := map[string]int{}
			for i := range 4 {
				if input := rapid.IntRange(0, 2).Draw(rt, "input"); input > 0 { // 0: not in the study
					items = append(items, eval.Item{ID: fmt.Sprint("doc", i), Input: eval.Hash(input), Gold: 1})
					inputs[items[len(items)-1].ID] = input
				}
			}
			var arms []eval.Arm
			hashes := map[string]string{}
			for _, id := range []string{"a", "b", "c"} {
				if hash := rapid.SampledFrom([]string{"", "h", "i"}).Draw(rt, "arm"); hash != "" {
					arms = append(arms, eval.Arm{ID: id, Hash: hash})
					hashes[id] = hash
				}
			}
			if len(items) == 0 || len(arms) == 0 {
				continue
			}
			p := planOf(rt, items, arms, rapid.IntRange(1, 2).Draw(rt, "replicates"))
			now := store.Run{Study: "s", StudyJSON: []byte(`{}`), Replicates: p.Replicates(), Treatment: []eval.Part{{Name: "step", Value: fmt.Sprint(step)}}}
			if r == nil {
				r, err = db.CreateRun(ctx, now, items, p)
			} else {
				_, err = db.Amend(ctx, r, now, items, p, store.Moved{}, func(eval.Trial) bool { return false }, unrecorded)
			}
			if err != nil {
				rt.Fatal(err)
			}
			question := func(t eval.Trial) string {
				return fmt.Sprint(t.Item, " ", inputs[t.Item], " ", hashes[t.Arm], " ", t.Replicate)
			}
			j, err := db.Journal(ctx, r)
			if err != nil {
				rt.Fatal(err)
			}
			progress, err := db.Progress(ctx, r)
			if err != nil {
				rt.Fatal(err)
			}
			for seq := range p.Len() {
				if trial := p.Trial(seq); !progress.Done.Has(seq) && rapid.Bool().Draw(rt, "answer") {
					if err := errors.Join(j.Append(call(trial, question(trial))), j.Outcome(trial, eval.Outcome{Kind: eval.OK, Data: []byte(question(trial))})); err != nil {
						rt.Fatal(err)
					}
					answers++
				}
			}
			if err := j.Close(); err != nil {
				rt.Fatal(err)
			}
			last, cases := -1, 0
			for o, err := range db.Outcomes(ctx, r) {
				seq, ok := p.Seq(o.Trial)
				if err != nil || !ok || seq <= last {
					rt.Fatalf("outcome of %v at %d after %d, %v", o.Trial, seq, last, err)
				}
				if last = seq; string(o.Outcome.Data) != question(o.Trial) {
					rt.Fatalf("%v has the answer to %q, its question is %q", o.Trial, o.Outcome.Data, question(o.Trial))
				}
			}
			for c, err := range db.Cases(ctx, r) {
				if cases++; err != nil || len(c.Trials) > p.Replicates() {
					rt.Fatalf("case %+v, %v", c, err)
				}
			}
			if progress, err = db.Progress(ctx, r); err != nil || progress.Calls != answers {
				rt.Fatalf("%d answers are counted, want %d: %v", progress.Calls, answers, err)
			}
		}
	})
	found, err := store.Examine(ctx, db.Path())
	if err != nil || slices.ContainsFunc(found, func(c store.Check) bool { return c.State == store.CheckDamaged }) {
		t.Fatalf("doctor says %+v, %v", found, err)
	}
}

// What an amendment says of a plan that grew, shrank and grew back.
func TestAmendments(t *testing.T) { onBoth(t, testAmendments) }

func testAmendments(t *testing.T, place place) {
	ctx := t.Context()
	db := open(t, place(t))
	items := func(n, first int) (list []eval.Item) {
		for i := range n {
			list = append(list, eval.Item{ID: fmt.Sprint("doc", i), Input: eval.Hash(1), Gold: 1})
		}
		list[0].Input = eval.Hash(first)
		return list
	}
	a, a2, b := eval.Arm{ID: "a", Hash: "h"}, eval.Arm{ID: "a", Hash: "i"}, eval.Arm{ID: "b", Hash: "j"}
	renamed := eval.Arm{ID: "a@m", Hash: "h"}
	p := planOf(t, items(3, 1), []eval.Arm{a}, 1)
	r, err := db.CreateRun(ctx, store.Run{Study: "s", StudyJSON: []byte(`{}`), Replicates: 1}, items(3, 1), p)
	if err != nil {
		t.Fatal(err)
	}
	answer := func(trials ...eval.Trial) {
		j := journal(t, db, r)
		for _, trial := range trials {
			if err := j.Outcome(trial, eval.Outcome{Kind: eval.OK}); err != nil {
				t.Fatal(err)
			}
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	answer(p.Trial(0), p.Trial(1), p.Trial(2))
	if err := db.SaveAnalysis(ctx, r, []byte(`{}`), nil, "b"); err != nil {
		t.Fatal(err)
	}
	if r, err = db.Run(ctx, r.ID); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		name  string
		items []eval.Item
		arms  []eval.Arm
		want  store.Amendment
	}{
		{"an arm", items(3, 1), []eval.Arm{a, b}, store.Amendment{Added: []string{"b"}, New: 3, Done: 3, Seen: true}},
		{"an item", items(4, 1), []eval.Arm{a, b}, store.Amendment{ItemsAdded: 1, New: 2, Done: 3, Seen: true}},
		{"another prompt", items(4, 1), []eval.Arm{a2, b}, store.Amendment{Changed: []string{"a"}, New: 4, Left: 4, Done: 3, Seen: true}},
		{"the first one again", items(4, 1), []eval.Arm{a, b}, store.Amendment{Changed: []string{"a"}, New: 1, Back: 3, Left: 4, Seen: true}},
		{"another text", items(4, 2), []eval.Arm{a, b}, store.Amendment{ItemsChanged: 1, New: 2, Left: 2, Done: 3, Seen: true}},
		{"the text again", items(4, 1), []eval.Arm{a, b}, store.Amendment{ItemsChanged: 1, New: 1, Back: 1, Left: 2, Done: 2, Seen: true}},
		{"fewer items and arms", items(2, 1), []eval.Arm{a}, store.Amendment{Removed: []string{"b"}, ItemsRemoved: 2, Left: 6, Done: 3, Seen: true}},
		{"another name", items(2, 1), []eval.Arm{renamed}, store.Amendment{Renamed: [][2]string{{"a", "a@m"}}, Done: 2, Seen: true}},
	} {
		p = planOf(t, step.items, step.arms, 1)
		got, err := db.Amend(ctx, r, store.Run{StudyJSON: []byte(`{}`), Replicates: 1}, step.items, p, store.Moved{}, func(eval.Trial) bool { return false }, unrecorded)
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", step.want) {
			t.Errorf("%s: %+v\nwant %+v", step.name, got, step.want)
		}
	}
	planned, err := db.PlannedItems(ctx, r)
	all, errAll := db.Items(ctx, r)
	if err := errors.Join(err, errAll); err != nil || len(planned) != 2 || len(all) != 4 {
		t.Errorf("%d items of %d are in the plan, want 2 of 4: %v", len(planned), len(all), err)
	}
	if same, err := db.SetPlan(ctx, r, p); err != nil || !same {
		t.Errorf("the plan after it all: %v, %v", same, err)
	}
}

// A server with another port is the same in a run, whose history says so, and may be
// another one in another run.
func TestTakeFromAnotherPort(t *testing.T) { onBoth(t, testTakeFromAnotherPort) }

func testTakeFromAnotherPort(t *testing.T, place place) {
	ctx := t.Context()
	db := open(t, place(t))
	older, p := newRun(t, db, 1, 1)
	at := func(url string) *eval.Call {
		c := call(p.Trial(0), "")
		c.Parts = append(c.Parts, eval.Part{Name: "endpoint", Value: url})
		return c
	}
	j := journal(t, db, older)
	if err := errors.Join(j.Append(at("http://localhost:8000/v1")), j.Close()); err != nil {
		t.Fatal(err)
	}
	newer, _ := newRun(t, db, 1, 1)
	j = journal(t, db, newer)
	defer j.Close()
	for _, test := range []struct {
		url  string
		want bool
	}{{"http://localhost:8001/v1", false}, {"http://localhost:8000/v1", true}} {
		if ok, err := j.Take(ctx, at(test.url), true, false); ok != test.want || err != nil {
			t.Errorf("%s: took an answer %v, want %v: %v", test.url, ok, test.want, err)
		}
	}
}

// A run takes each answer once, from the same step and arm; judges share theirs.
func TestTake(t *testing.T) { onBoth(t, testTake) }

func testTake(t *testing.T, place place) {
	ctx := t.Context()
	db := open(t, place(t))
	older, p := newRun(t, db, 1, 2)
	asked := func(arm, step, text string, stage eval.Stage, replicate int) *eval.Call {
		c := call(eval.Trial{Item: "doc-000", Arm: arm, Replicate: replicate}, text)
		c.Step, c.Stage, c.Key = step, stage, fmt.Sprintf("key %d", replicate)
		return c
	}
	j := journal(t, db, older)
	failed := asked("b", "other", "", eval.StageRun, 1)
	failed.ErrKind = eval.ErrTimeout
	for _, c := range []*eval.Call{asked("a", "ask", "first", eval.StageRun, 1), asked("b", "ask", "of b", eval.StageRun, 1), asked("a", "judge", "verdict", eval.StageJudge, 1), failed,
		asked("b", "rubric", "unread", eval.StageJudge, 2), asked("b", "rubric again", "unread too", eval.StageJudge, 2), asked("b", "rubric again again", "read", eval.StageJudge, 2),
		asked("b", "try", "of a run", eval.StageRun, 1), asked("b", "try again", "of the run's next step", eval.StageRun, 1)} {
		if err := j.Append(c); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	newer, _ := newRun(t, db, 1, 2)
	j = journal(t, db, newer)
	defer j.Close()
	for _, test := range []struct {
		name          string
		c             *eval.Call
		other, shared bool
		want          string // "" if there is none
	}{
		{"another replicate", asked("a", "ask", "", eval.StageRun, 2), true, false, ""},
		{"this plan alone", asked("a", "ask", "", eval.StageRun, 1), false, false, ""},
		{"another step", asked("a", "ask2", "", eval.StageRun, 1), true, false, ""},
		{"a failure", asked("b", "other", "", eval.StageRun, 1), true, false, ""},
		{"of its own arm", asked("b", "ask", "", eval.StageRun, 1), true, false, "of b"},
		{"taken before", asked("b", "ask", "", eval.StageRun, 1), true, false, ""},
		{"of arm a", asked("a", "ask", "", eval.StageRun, 1), true, false, "first"},
		{"a judge's that was asked again", asked("b", "rubric", "", eval.StageJudge, 2), true, false, "read"},
		{"a judge's that was asked again, once", asked("b", "rubric again", "", eval.StageJudge, 2), true, false, ""},
		{"a step that ends alike", asked("b", "try", "", eval.StageRun, 1), true, false, "of a run"},
		{"a judge's", asked("b", "judge/2", "", eval.StageJudge, 1), true, true, "verdict"},
		{"a judge's again", asked("a", "judge/3", "", eval.StageJudge, 1), true, true, "verdict"},
		{"a judge's of this plan alone", asked("a", "judge/3", "", eval.StageJudge, 1), false, true, ""},
	} {
		ok, err := j.Take(ctx, test.c, test.other, test.shared)
		if err != nil || ok != (test.want != "") || test.c.Response.Text != test.want {
			t.Errorf("%s: took %q, %v, %v; want %q", test.name, test.c.Response.Text, ok, err, test.want)
		}
		if ok && (test.c.SourceRun != older.ID || test.c.Source == 0 || test.c.CostUSD != 0.25) {
			t.Errorf("%s: %+v", test.name, test.c)
		}
	}
	taken := asked("a", "ask", "first", eval.StageRun, 1)
	taken.Attempts, taken.Sent = 0, nil
	for c, err := range db.Calls(ctx, older) {
		if err != nil {
			t.Fatal(err)
		}
		if c.Trial.Arm == "a" && c.Stage == eval.StageRun {
			taken.Source, taken.SourceNumber = 1, older.N
		}
	}
	if err := j.Append(taken); err != nil {
		t.Fatal(err)
	}
	used, err := db.Reused(ctx, newer)
	if err != nil || len(used) != 1 || used[0] != (eval.Reuse{Run: older.ID, Answers: 1, CostUSD: 0.25}) {
		t.Errorf("reused %+v, %v", used, err)
	}
	if progress, err := db.Progress(ctx, newer); err != nil || progress.Calls != 0 || progress.Tokens != 0 || progress.Cost != 0 {
		t.Errorf("a taken answer costs %+v, %v", progress, err)
	}
	if checks, err := store.Examine(ctx, db.Path()); err != nil || strings.Contains(fmt.Sprint(checks), store.CheckDamaged) {
		t.Errorf("doctor says %+v, %v", checks, err)
	}
	_ = p
}

// unhashed is the plan of a store of an older format, which has no questions.
type unhashed struct{ *plan.Plan }

func (unhashed) Question(int) int64 { return 0 }

// The trials of an older store get their questions when its plan first changes. What
// they were asked is not known later.
func TestAmendOlderFormat(t *testing.T) {
	ctx := t.Context()
	items := func(n int) (list []eval.Item) {
		for i := range n {
			list = append(list, eval.Item{ID: fmt.Sprint("doc", i), Input: 1, Gold: 1})
		}
		return list
	}
	a, a2, b := eval.Arm{ID: "a", Hash: "h"}, eval.Arm{ID: "a", Hash: "i"}, eval.Arm{ID: "b", Hash: "j"}
	type step struct {
		items int
		arms  []eval.Arm
		old   bool // whether the treatment is that of the run
		done  int
	}
	for name, steps := range map[string][]step{
		"an arm changed, then one is new":           {{3, []eval.Arm{a2}, false, 0}, {3, []eval.Arm{a2, b}, true, 0}},
		"an item left, its arm changed, it is back": {{2, []eval.Arm{a}, true, 2}, {2, []eval.Arm{a2}, false, 0}, {3, []eval.Arm{a2}, true, 0}},
		"an arm is new, another changed, and back":  {{3, []eval.Arm{a, b}, true, 3}, {3, []eval.Arm{a2, b}, true, 0}, {3, []eval.Arm{a, b}, true, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			db := open(t, filepath.Join(t.TempDir(), "s.db"))
			p := planOf(t, items(3), []eval.Arm{a}, 1)
			r, err := db.CreateRun(ctx, store.Run{Study: "s", StudyJSON: []byte(`{}`), Replicates: 1}, items(3), unhashed{p})
			if err != nil {
				t.Fatal(err)
			}
			j := journal(t, db, r)
			for seq := range p.Len() {
				if err := j.Outcome(p.Trial(seq), eval.Outcome{Kind: eval.OK}); err != nil {
					t.Fatal(err)
				}
			}
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
			for i, s := range steps {
				p := planOf(t, items(s.items), s.arms, 1)
				if _, err := db.Amend(ctx, r, store.Run{StudyJSON: []byte(`{}`), Replicates: 1}, items(s.items), p, store.Moved{}, func(eval.Trial) bool { return s.old }, unrecorded); err != nil {
					t.Fatalf("step %d: %v", i+1, err)
				}
				if progress, err := db.Progress(ctx, r); err != nil || progress.Done.Count() != s.done {
					t.Errorf("step %d: %d trials have outcomes, want %d: %v", i+1, progress.Done.Count(), s.done, err)
				}
			}
		})
	}
}

// Gold that changed while an arm was not in the plan: what depends on it does not come
// back with the arm, verdicts of people do.
func TestGoldOfTrialsThatLeft(t *testing.T) { onBoth(t, testGoldOfTrialsThatLeft) }

func testGoldOfTrialsThatLeft(t *testing.T, place place) {
	ctx := t.Context()
	db := open(t, place(t))
	items := []eval.Item{{ID: "doc", Input: 1, Gold: 1}}
	a, b := eval.Arm{ID: "a", Hash: "h"}, eval.Arm{ID: "b", Hash: "i"}
	both := planOf(t, items, []eval.Arm{a, b}, 1)
	r, err := db.CreateRun(ctx, store.Run{Study: "s", StudyJSON: []byte(`{}`), Replicates: 1}, items, both)
	if err != nil {
		t.Fatal(err)
	}
	j := journal(t, db, r)
	for seq := range both.Len() {
		trial := both.Trial(seq)
		if err := errors.Join(j.Outcome(trial, eval.Outcome{Kind: eval.OK}), j.Judged(trial, []eval.Verdict{{Step: "judge", Source: eval.ByModel, By: "m"}, {Step: "judge", Source: eval.ByHuman, By: "ann"}})); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	amend := func(arms ...eval.Arm) {
		if _, err := db.Amend(ctx, r, store.Run{StudyJSON: []byte(`{}`), Replicates: 1}, items, planOf(t, items, arms, 1), store.Moved{}, func(eval.Trial) bool { return false }, unrecorded); err != nil {
			t.Fatal(err)
		}
	}
	amend(a)
	amend(a, b)
	for seq := range both.Len() {
		renewed := []store.Renewal{{Trial: both.Trial(seq), Stage: eval.StageJudge}, {}}
		event := store.Event{What: "judged again", Note: fmt.Sprint(seq)}
		if err := db.Renew(ctx, r, renewed, []store.Event{event}); err == nil {
			t.Fatal("a trial without a name was renewed")
		}
		if err := db.Renew(ctx, r, renewed[:1], []store.Event{event}); err != nil {
			t.Fatal(err)
		}
	}
	if events, err := db.Events(ctx, r); err != nil || len(events) != both.Len() {
		t.Errorf("%+v, %v: want one event of each renewal that was recorded", events, err)
	}
	progress, err := db.Progress(ctx, r)
	if err != nil || progress.Done.Count() != 2 || progress.Judged.Count() != 0 {
		t.Errorf("%+v, %v: want two answers and no judgment", progress, err)
	}
	for o, err := range db.Outcomes(ctx, r) {
		if err != nil || len(o.Verdicts) != 1 || o.Verdicts[0].By != "ann" {
			t.Errorf("%v has the verdicts %+v, %v: want that of a person", o.Trial, o.Verdicts, err)
		}
	}
}

// Answers that may be of two programs are taken by no run.
func TestDistrustedAnswersAreNotTaken(t *testing.T) { onBoth(t, testDistrustedAnswersAreNotTaken) }

func testDistrustedAnswersAreNotTaken(t *testing.T, place place) {
	ctx := t.Context()
	db := open(t, place(t))
	older, p := newRun(t, db, 1, 1)
	j := journal(t, db, older)
	if err := errors.Join(j.Append(call(p.Trial(0), "of two programs")), j.Close(), db.Retire(ctx, older, []eval.Trial{p.Trial(0)}, store.Distrusted)); err != nil {
		t.Fatal(err)
	}
	newer, _ := newRun(t, db, 1, 1)
	j = journal(t, db, newer)
	defer j.Close()
	if ok, err := j.Take(ctx, call(p.Trial(0), ""), true, false); ok || err != nil {
		t.Errorf("took a distrusted answer, %v", err)
	}
}

// An arm that comes back does not share its answer with the arm that took it meanwhile.
func TestAnArmComesBackWithoutATakenAnswer(t *testing.T) {
	onBoth(t, testAnArmComesBackWithoutATakenAnswer)
}

func testAnArmComesBackWithoutATakenAnswer(t *testing.T, place place) {
	ctx := t.Context()
	db := open(t, place(t))
	items := []eval.Item{{ID: "doc", Input: 1, Gold: 1}}
	a, b := eval.Arm{ID: "a", Hash: "h"}, eval.Arm{ID: "b", Hash: "i"} // which ask the same
	p := planOf(t, items, []eval.Arm{a}, 1)
	r, err := db.CreateRun(ctx, store.Run{Study: "s", StudyJSON: []byte(`{}`), Replicates: 1}, items, p)
	if err != nil {
		t.Fatal(err)
	}
	of := func(arm string) *eval.Call { return call(eval.Trial{Item: "doc", Arm: arm, Replicate: 1}, "answer") }
	for _, arms := range [][]eval.Arm{{a}, {b}} {
		if arms[0].ID == "b" {
			if _, err := db.Amend(ctx, r, store.Run{StudyJSON: []byte(`{}`), Replicates: 1}, items, planOf(t, items, arms, 1), store.Moved{}, func(eval.Trial) bool { return false }, unrecorded); err != nil {
				t.Fatal(err)
			}
		}
		j, c := journal(t, db, r), of(arms[0].ID)
		if ok, err := j.Take(ctx, c, true, false); err != nil || ok != (arms[0].ID == "b") {
			t.Fatalf("arm %s took an answer: %v, %v", arms[0].ID, ok, err)
		}
		if err := errors.Join(j.Append(c), j.Outcome(c.Trial, eval.Outcome{Kind: eval.OK}), j.Close()); err != nil {
			t.Fatal(err)
		}
	}
	p = planOf(t, items, []eval.Arm{a, b}, 1)
	got, err := db.Amend(ctx, r, store.Run{StudyJSON: []byte(`{}`), Replicates: 1}, items, p, store.Moved{}, func(eval.Trial) bool { return false }, unrecorded)
	if err != nil || got.New != 1 || got.Back != 0 {
		t.Errorf("%+v, %v: want a new trial", got, err)
	}
	progress, err := db.Progress(ctx, r)
	if err != nil || progress.Done.Has(0) || !progress.Done.Has(1) {
		t.Errorf("outcomes of a and b: %v, %v; want that of b", progress.Done, err)
	}
}

// The answer to the former question of an arm goes to the arm that asks it now.
func TestAnArmTakesWhatAnotherNoLongerAsks(t *testing.T) {
	onBoth(t, testAnArmTakesWhatAnotherNoLongerAsks)
}

func testAnArmTakesWhatAnotherNoLongerAsks(t *testing.T, place place) {
	ctx := t.Context()
	db := open(t, place(t))
	items := []eval.Item{{ID: "doc", Input: 1, Gold: 1}}
	of := func(arm string) *eval.Call { return call(eval.Trial{Item: "doc", Arm: arm, Replicate: 1}, "answer") }
	before := planOf(t, items, []eval.Arm{{ID: "a", Hash: "one"}}, 1)
	r, err := db.CreateRun(ctx, store.Run{Study: "s", StudyJSON: []byte(`{}`), Replicates: 1}, items, before)
	if err != nil {
		t.Fatal(err)
	}
	j, c := journal(t, db, r), of("a")
	if err := errors.Join(j.Append(c), j.Outcome(c.Trial, eval.Outcome{Kind: eval.OK}), j.Close()); err != nil {
		t.Fatal(err)
	}
	takes := func(name string, j *store.Journal, want bool) {
		t.Helper()
		if ok, err := j.Take(ctx, of("b"), true, false); err != nil || ok != want {
			t.Errorf("%s: b took the answer of a: %v, %v; want %v", name, ok, err, want)
		}
	}
	for hash, want := range map[string]bool{"one": false, "two": true} { // of a
		after := planOf(t, items, []eval.Arm{{ID: "a", Hash: hash}, {ID: "b", Hash: "one"}}, 1)
		newer, err := db.CreateRun(ctx, store.Run{Study: "s", StudyJSON: []byte(`{}`), Replicates: 1}, items, after)
		if err != nil {
			t.Fatal(err)
		}
		j := journal(t, db, newer)
		takes("a new run", j, want)
		j.Close()
	}
	after := planOf(t, items, []eval.Arm{{ID: "a", Hash: "two"}, {ID: "b", Hash: "one"}}, 1)
	if _, err := db.Amend(ctx, r, store.Run{StudyJSON: []byte(`{}`), Replicates: 1}, items, after, store.Moved{}, func(eval.Trial) bool { return false }, unrecorded); err != nil {
		t.Fatal(err)
	}
	j = journal(t, db, r)
	defer j.Close()
	takes("the run that follows", j, true)
}

// Answers of a TEST run whose results are not shown are taken by TEST runs alone.
func TestAnswersOfTestAreNotTakenBeforeTheyAreShown(t *testing.T) {
	onBoth(t, testAnswersOfTestAreNotTakenBeforeTheyAreShown)
}

func testAnswersOfTestAreNotTakenBeforeTheyAreShown(t *testing.T, place place) {
	ctx := t.Context()
	db := open(t, place(t))
	items := []eval.Item{{ID: "doc", Input: 1, Gold: 1}}
	p := planOf(t, items, []eval.Arm{{ID: "a", Hash: "one"}}, 1)
	of := func(split string) *store.Run {
		t.Helper()
		r, err := db.CreateRun(ctx, store.Run{Study: "s", StudyJSON: fmt.Appendf(nil, `{"split": %q}`, split), Replicates: 1}, items, p)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	test := of("test")
	j := journal(t, db, test)
	if err := errors.Join(j.Append(call(p.Trial(0), "answer")), j.Outcome(p.Trial(0), eval.Outcome{Kind: eval.OK}), j.Close()); err != nil {
		t.Fatal(err)
	}
	for _, shown := range []bool{false, true, false, true} {
		if shown {
			if err := db.SaveAnalysis(ctx, test, []byte(`{}`), nil, ""); err != nil {
				t.Fatal(err)
			}
		} else if err := db.DropAnalysis(ctx, test); err != nil { // as between two looks
			t.Fatal(err)
		}
		for _, split := range []string{"", "dev", "test"} {
			r := of(split)
			j := journal(t, db, r)
			for _, shared := range []bool{true, false} {
				c := call(p.Trial(0), "")
				if got, err := j.Take(ctx, c, true, shared); err != nil || got != (shown || split == "test") {
					t.Errorf("shown: %t; a run of split %q took the answer of a TEST run: %t, %v", shown, split, got, err)
				}
			}
			j.Close()
		}
	}
}
