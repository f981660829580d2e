package method_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
	"github.com/scruple-eval/scruple/internal/suites/rerank/method"
	"github.com/scruple-eval/scruple/internal/suites/rerank/request"
	"github.com/scruple-eval/scruple/internal/suites/rerank/sqltable"
)

func find(t *testing.T, name string) method.Method {
	t.Helper()
	m, err := method.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// steps answers by the name of the step, and rightly where nothing is said.
func steps(answers map[string]string) *script {
	return &script{answer: func(step string, p method.Prompt) (method.Answer, error) {
		if a, ok := answers[step]; ok {
			return said(a)
		}
		return right(step, p)
	}}
}

func trace(r method.Result) string {
	var b strings.Builder
	for _, e := range r.Trace {
		fmt.Fprintf(&b, "%s %s %s\n", e.Step, e.Kind, e.Text)
	}
	return b.String()
}

// With 400 requests gold is first 1 in 10 times: 40, SD 6.
func TestRandomIsEvenAndStable(t *testing.T) {
	m, hits := find(t, "random"), 0
	for i := range 400 {
		task := scene(10)
		task.Text = fmt.Sprint("R", i)
		r := perform(t, m, task, &script{answer: right})
		if len(r.Ranking) != len(task.Candidates) {
			t.Fatal("random does not rank all")
		}
		if r.Ranking[0] == gold {
			hits++
		}
		slices.Reverse(task.Candidates) // the order of items stays, under other numbers
		turned := perform(t, m, task, &script{answer: right})
		if turned.Ranking[0] != 11-r.Ranking[0] {
			t.Fatal("chance depends on the order of the candidates")
		}
	}
	if !(math.Abs(float64(hits)-40) <= 24) {
		t.Errorf("gold is first in %d of 400", hits)
	}
}

func TestOracle(t *testing.T) {
	for name, task := range tasks() {
		if r := perform(t, find(t, "oracle"), task, &script{answer: right}); r.Ranking[0] != gold || len(r.Ranking) != len(task.Candidates) {
			t.Errorf("%s: %v", name, r.Ranking)
		}
	}
	blind := scene(10)
	blind.Structure = nil
	if r := perform(t, find(t, "oracle"), blind, &script{answer: right}); r.Invalid != method.InvalidRequest {
		t.Errorf("without a structure: %v", r)
	}
}

func TestBM25FindsWords(t *testing.T) {
	task := scene(10)
	task.Text = "purple piano"
	task.Candidates[4].Reviews = []catalog.Review{{Text: "There is a Purple PIANO."}}
	if r := perform(t, find(t, "bm25"), task, &script{answer: right}); r.Ranking[0] != 5 || r.Ranking[1] != 1 {
		t.Errorf("ranking %v: want 5 and then the order of the list", r.Ranking)
	}
}

func TestListwiseKeepsWhatAnAnswerLeavesOut(t *testing.T) {
	r := perform(t, find(t, "listwise"), scene(6), steps(map[string]string{"pass1/window1": "Ranking: 5, 2"}))
	if want := []int{5, 2, 1, 3, 4, 6}; !slices.Equal(r.Ranking, want) {
		t.Errorf("ranking %v, want %v", r.Ranking, want)
	}
}

func TestListwiseWithoutAWindowIsNoPrediction(t *testing.T) {
	r := perform(t, find(t, "listwise"), scene(25), steps(map[string]string{"pass1/window1": "I like them all.", "pass1/window1/retry1": "All."}))
	if r.Invalid != method.InvalidNoRanking {
		t.Errorf("ranking %v, reason %q", r.Ranking, r.Invalid)
	}
}

func TestPlanActActs(t *testing.T) {
	s := steps(map[string]string{
		"act/01": `{"action":"hours","argument":"someday"}`,
		"act/02": `Let me see: {"action":"reviews","candidate":2} and so on`,
		"act/03": `{"action":"reviews","candidate":99}`,
		"act/04": `{"action":"dance"}`,
		"act/05": `hm`,
		"act/06": `{"action":"search","argument":"(["}`,
		"act/07": `{"action":"people","argument":"Alice"}`,
		"act/08": `{"action":"people","argument":"Nobody"}`,
		"act/09": `{"action":"finish","ranking":[7,1]}`,
	})
	r := perform(t, find(t, "plan_act"), social(8), s)
	if !slices.Equal(r.Ranking, []int{7, 1}) {
		t.Fatalf("ranking %v, %s", r.Ranking, r.Detail)
	}
	for _, want := range []string{`"someday" is not a day`, "Coffee was fine", "Candidate 99 does not exist", `Unknown action "dance"`, "Invalid action", "No review matches",
		"Alice (a): Bob (b)", "Guest7 (u7)", `No person is named "Nobody"`} {
		if !strings.Contains(s.prompts["act/09"], want) {
			t.Errorf("the model was not told %q", want)
		}
	}
}

func TestPlanActEnds(t *testing.T) {
	endless := &script{answer: func(step string, p method.Prompt) (method.Answer, error) {
		if step == "plan" {
			return right(step, p)
		}
		return said(`{"action":"attribute","argument":"WiFi"}`)
	}}
	r := perform(t, find(t, "plan_act"), scene(8), endless)
	if r.Invalid != method.InvalidUnfinished || len(endless.prompts) != 15 {
		t.Errorf("%q after %d steps", r.Invalid, len(endless.prompts))
	}
	for _, bad := range []string{`{"action":"finish","ranking":[99]}`, `{"action":"finish","ranking":[7,0]}`, `{"action":"finish","ranking":["x"]}`, `{"action":"finish"}`} {
		once := steps(map[string]string{"act/01": bad, "act/02": `{"action":"finish","ranking":[7]}`})
		if r := perform(t, find(t, "plan_act"), scene(8), once); !slices.Equal(r.Ranking, []int{7}) || !slices.Equal(r.Notes, []string{method.NoteAgain}) || !strings.Contains(once.prompts["act/02"], "That ranking cannot be used: ") {
			t.Errorf("%s and then a ranking give %v %q", bad, r.Ranking, r.Notes)
		}
		if r := perform(t, find(t, "plan_act"), scene(8), steps(map[string]string{"act/01": bad, "act/02": bad})); r.Invalid == "" {
			t.Errorf("%s twice gives %v", bad, r.Ranking)
		}
		const lookUp, noAction = `{"action":"attribute","argument":"WiFi"}`, `{"action":"","ranking":["x"]}`
		for again, want := range map[string]string{bad: bad, "hm": "hm", noAction: noAction, lookUp: lookUp, `{"action":"finish","ranking":[7]}`: ""} {
			late := &script{answer: func(step string, p method.Prompt) (method.Answer, error) {
				switch step {
				case "plan":
					return right(step, p)
				case "finish":
					return said(cmp.Or(want, bad))
				case "finish/retry1":
					return said(again)
				}
				return said(`{"action":"attribute","argument":"WiFi"}`)
			}}
			if r := perform(t, find(t, "plan_act"), scene(8), late); (r.Invalid == "") != (want == "") || late.prompts["finish/retry1"] == "" {
				t.Errorf("at the end, %s and then %s give %v %q", cmp.Or(want, bad), again, r.Ranking, r.Invalid)
			} else if again == lookUp && !strings.Contains(late.prompts["finish/retry1"], "No look-ups are left: finish.") {
				t.Errorf("a look-up after the last one shows %s", late.prompts["finish/retry1"])
			}
		}
	}
}

// SQL tells a closed day from one of which nothing is known.
func TestWeaverKnowsClosedDays(t *testing.T) {
	task := scene(8)
	task.Candidates[2].Item.Hours.Known[6] = false
	r := perform(t, find(t, "weaver"), task, steps(map[string]string{
		"plan": `{"sql": "SELECT item FROM items WHERE NOT EXISTS (SELECT 1 FROM hours h WHERE h.item = items.item AND day = 'Sunday' AND opens IS NULL)", "questions": []}`,
	}))
	if !slices.Equal(r.Ranking, []int{3}) {
		t.Errorf("%v are not known to be closed on Sunday, want 3", r.Ranking)
	}
}

// The plan of weaver says how many questions it may have; those beyond are noted.
func TestWeaverNotesQuestionsThatAreNotAsked(t *testing.T) {
	for n, want := range map[int]bool{8: false, 9: true} {
		s := steps(map[string]string{"plan": `{"sql": "SELECT item FROM items", "questions": ["Is it cozy?"` + strings.Repeat(`, "Is it loud?"`, n-1) + `]}`})
		r := perform(t, find(t, "weaver"), scene(8), s)
		if slices.Contains(r.Notes, method.NoteUnasked) != want || slices.Contains(r.Notes, method.NoteUnread) || !strings.Contains(s.prompts["plan"], "has at most 8.") {
			t.Errorf("%d questions: %q", n, r.Notes)
		}
	}
}

// In a study with several right items, no prompt says that one alone is right.
func TestPromptsAllowSeveral(t *testing.T) {
	for _, m := range asking() {
		task := scene(8)
		task.Several = true
		s := &script{answer: right}
		perform(t, m, task, s)
		for step, prompt := range s.prompts {
			for _, one := range []string{"the one ", "he candidate that satisfies", "the item that satisfies", "Exactly one"} {
				if strings.Contains(prompt, one) {
					t.Errorf("%s, %s: the prompt says %q", m.Name, step, one)
				}
			}
		}
	}
}

func TestWeaverMendsQueries(t *testing.T) {
	s := steps(map[string]string{
		"plan":        `{"sql": "DELETE FROM items", "questions": []}`,
		"plan/retry1": `{"sql": "SELECT name FROM items", "questions": []}`,
		"plan/retry2": `{"sql": "SELECT i.item FROM items i JOIN attributes a ON a.item = i.item WHERE a.path = 'attributes.WiFi' AND lower(a.value) = 'free'", "questions": [{"id":"x","question":"Is it cozy?"},{"id":"x","question":"Is it loud?"}]}`,
		"text/q2/1":   `no idea`,
		"order":       `{"sql": "SELECT item FROM answers WHERE question = 'q1' ORDER BY truth DESC, item"}`,
	})
	r := perform(t, find(t, "weaver"), scene(10), s)
	if r.Invalid != "" || r.Ranking[0] != gold {
		t.Fatalf("ranking %v, %s %s", r.Ranking, r.Invalid, r.Detail)
	}
	if p := s.prompts["plan/retry2"]; !strings.Contains(p, "refused: only SELECT") || !strings.Contains(p, `no column "item"`) {
		t.Errorf("the model was not told what was wrong:\n%s", p)
	}
	if _, ok := s.prompts["text/q2/1"]; !ok {
		t.Errorf("two questions of one name were not told apart: %v", s.steps())
	}
}

func TestWeaverGivesUp(t *testing.T) {
	for _, sql := range []string{"SELECT item FROM items WHERE 0", "SELECT 99 AS item", "SELECT 'x' AS item", "SELECT NULL AS item", "PRAGMA query_only = 0",
		"ATTACH 'x' AS y", "nonsense"} {
		r := perform(t, find(t, "weaver"), scene(10), &script{answer: func(string, method.Prompt) (method.Answer, error) {
			return said(fmt.Sprintf(`{"sql": %q, "questions": []}`, sql))
		}})
		if r.Invalid != method.InvalidQuery {
			t.Errorf("%s gives %v, %q", sql, r.Ranking, r.Invalid)
		}
	}
}

const twoConditions = `{"conditions": [
{"id":"W","kind":"ATTR","path":"attributes.WiFi","test":"is","value":"FREE","text":"free WiFi"},
{"id":"C","kind":"REVIEW","text":"guests call it cozy"},
{"id":"F","kind":"REVIEW","text":"coffee is fine"}], "logic": "AND(W, C, F)"}`

func TestANoTPrunesAndLayers(t *testing.T) {
	var mu sync.Mutex
	var order []string
	s := &script{}
	s.answer = func(step string, p method.Prompt) (method.Answer, error) {
		mu.Lock()
		order = append(order, step)
		mu.Unlock()
		switch step {
		case "plan":
			return said(twoConditions)
		case "expand/01":
			return said(`{"tool":"set","step":{"id":"S2","after":["S1"]}}`)
		case "expand/02":
			return said(`{"tool":"done"}`)
		case "execute/L1/S1":
			return said(`{"yes":[7],"no":[3,6]}`)
		case "execute/L2/S2":
			return said(`{"yes":[7],"no":[]}`)
		}
		return method.Answer{}, fmt.Errorf("step %s is not expected", step)
	}
	r := perform(t, find(t, "anot"), scene(9), s)
	if r.Invalid != "" || r.Ranking[0] != gold {
		t.Fatalf("ranking %v, %s %s", r.Ranking, r.Invalid, r.Detail)
	}
	if want := []string{"plan", "expand/01", "expand/02", "execute/L1/S1", "execute/L2/S2"}; !slices.Equal(order, want) {
		t.Errorf("steps %v, want %v", order, want)
	}
	first, second := s.prompts["execute/L1/S1"], s.prompts["execute/L2/S2"]
	if !strings.Contains(first, "[3] Place C") || strings.Contains(first, "[1] Place A") {
		t.Error("the first layer is not asked about what attributes left")
	}
	if !strings.Contains(second, "[7] Place G") || strings.Contains(second, "[3] Place C") {
		t.Error("the second layer is asked about what the first ruled out")
	}
	if !strings.Contains(trace(r), "1 ruled out: W no") {
		t.Errorf("the trace does not say why 1 is out:\n%s", trace(r))
	}
}

// A layer is done at once: its steps wait for each other here, and would wait
// for ever one after the other.
func TestANoTLayersRunAtOnce(t *testing.T) {
	var both sync.WaitGroup
	both.Add(2)
	s := &script{answer: func(step string, p method.Prompt) (method.Answer, error) {
		switch step {
		case "plan":
			return said(twoConditions)
		case "expand/01":
			return said(`{"tool":"done"}`)
		case "execute/L1/S1", "execute/L1/S2":
			both.Done()
			met := make(chan struct{})
			go func() { both.Wait(); close(met) }()
			select {
			case <-met:
			case <-time.After(10 * time.Second):
				return method.Answer{}, errors.New("the other step of the layer was not asked")
			}
			return said(`{"yes":[7],"no":[]}`)
		}
		return right(step, p)
	}}
	if r := perform(t, find(t, "anot"), scene(9), s); r.Ranking[0] != gold {
		t.Errorf("ranking %v", r.Ranking)
	}
}

func TestANoTStepsThatFailAreUnknown(t *testing.T) {
	for name, answer := range map[string]func() (method.Answer, error){
		"garbage": func() (method.Answer, error) { return said("I cannot tell.") },
		"refused": func() (method.Answer, error) { return refusal("", method.Prompt{}) },
		"failed":  func() (method.Answer, error) { return method.Answer{Failed: "overloaded"}, nil },
		"both":    func() (method.Answer, error) { return said(`{"yes":[7],"no":[7]}`) },
		"others":  func() (method.Answer, error) { return said(`{"yes":[55],"no":[-1]}`) },
	} {
		s := &script{answer: func(step string, p method.Prompt) (method.Answer, error) {
			switch step {
			case "plan":
				return said(twoConditions)
			case "execute/L1/S1":
				return answer()
			case "execute/L1/S2":
				return said(`{"yes":[7],"no":[3,6]}`)
			case "decide":
				t.Errorf("%s: one candidate is ahead, there is nothing to decide", name)
			}
			return right(step, p)
		}}
		if r := perform(t, find(t, "anot"), scene(9), s); r.Invalid != "" || r.Ranking[0] != gold {
			t.Errorf("%s: ranking %v, %s\n%s", name, r.Ranking, r.Detail, trace(r))
		}
	}
}

func TestANoTGraphFaults(t *testing.T) {
	s := steps(map[string]string{
		"plan":          twoConditions,
		"expand/01":     `{"tool":"insert","step":{"id":"X","condition":"C","candidates":[3,3,7],"question":"","after":["Y"]}}`,
		"expand/02":     `{"tool":"insert","step":{"id":"Y","condition":"C","candidates":[7],"question":"Cozy?","after":["X"]}}`,
		"expand/03":     `{"tool":"insert","step":{"id":"Z","condition":"F","candidates":[7],"question":"Fine?","after":["missing"]}}`,
		"expand/04":     `{"tool":"insert","step":{"id":"S1","condition":"C","candidates":[7]}}`,
		"expand/05":     `{"tool":"insert","step":{"id":"V","condition":"W","candidates":[7]}}`,
		"expand/06":     `{"tool":"set","step":{"id":"S2","candidates":[77]}}`,
		"expand/07":     `{"tool":"read","candidate":7}`,
		"expand/08":     `{"tool":"list"}`,
		"execute/L1/S1": `{"yes":[7],"no":[3,6]}`,
		"execute/L1/S2": `{"yes":[7],"no":[]}`,
	})
	r := perform(t, find(t, "anot"), scene(9), s)
	if r.Invalid != "" || r.Ranking[0] != gold {
		t.Fatalf("ranking %v, %s %s", r.Ranking, r.Invalid, r.Detail)
	}
	for _, want := range []string{"step X skipped: a dependency is cyclic or missing", "step Y skipped: a dependency is cyclic or missing", "step Z skipped: it depends on step missing, which does not exist",
		"Step S1 already exists", `"W" is not a condition of kind REVIEW or SOCIAL`, "candidate 77 does not exist", "limit of 8 rounds reached"} {
		if !strings.Contains(trace(r), want) {
			t.Errorf("the trace does not say %q:\n%s", want, trace(r))
		}
	}
}

func TestANoTPlansThatCannotBeUsed(t *testing.T) {
	for what, plan := range map[string]string{
		"no condition":      `{"conditions": [], "logic": ""}`,
		"unknown kind":      `{"conditions": [{"id":"A","kind":"MOOD","text":"x"}], "logic": "A"}`,
		"bad logic":         `{"conditions": [{"id":"A","kind":"REVIEW","text":"x"}], "logic": "XOR(A"}`,
		"unknown condition": `{"conditions": [{"id":"A","kind":"REVIEW","text":"x"}], "logic": "AND(A, B)"}`,
		"ids twice":         `{"conditions": [{"id":"A","kind":"REVIEW","text":"x"},{"id":"A","kind":"REVIEW","text":"y"}], "logic": "A"}`,
		"no day":            `{"conditions": [{"id":"A","kind":"HOURS","day":"Noday","from":"09:00","to":"10:00","text":"x"}], "logic": "A"}`,
		"no test":           `{"conditions": [{"id":"A","kind":"ATTR","path":"attributes.WiFi","text":"x"}], "logic": "A"}`,
		"nobody":            `{"conditions": [{"id":"A","kind":"SOCIAL","hops":1,"text":"x"}], "logic": "A"}`,
		"too far":           `{"conditions": [{"id":"A","kind":"SOCIAL","names":["Alice"],"hops":3,"text":"x"}], "logic": "A"}`,
	} {
		r := perform(t, find(t, "anot"), scene(9), steps(map[string]string{"plan": plan, "plan/retry1": plan}))
		if r.Invalid != method.InvalidPlan {
			t.Errorf("%s: ranking %v, reason %q", what, r.Ranking, r.Invalid)
		}
		mended := steps(map[string]string{"plan": plan})
		if r := perform(t, find(t, "anot"), scene(9), mended); r.Invalid != "" || r.Ranking[0] != gold {
			t.Errorf("%s: mended, the ranking is %v, %s", what, r.Ranking, r.Detail)
		}
		if !strings.Contains(mended.prompts["plan/retry1"], "That plan cannot be used") {
			t.Errorf("%s: the model is not told", what)
		}
	}
}

func TestANoTDecidesWhatIsEqual(t *testing.T) {
	plan := `{"conditions": [{"id":"F","kind":"ATTR","path":"city","test":"is","value":"mannheim","text":"in Mannheim"}], "logic": "F"}`
	r := perform(t, find(t, "anot"), scene(10), steps(map[string]string{"plan": plan, "decide": "Ranking: 7, 1"}))
	if r.Invalid != "" || !slices.Equal(r.Ranking[:2], []int{7, 1}) || len(r.Ranking) != 10 {
		t.Errorf("ranking %v, %s", r.Ranking, r.Detail)
	}
	r = perform(t, find(t, "anot"), scene(12), steps(map[string]string{"plan": plan, "decide": "All are good.", "decide/retry1": "All."}))
	if r.Invalid != method.InvalidNoRanking {
		t.Errorf("undecided, the ranking is %v", r.Ranking)
	}
}

// Where more candidates are equal than one prompt shows, neither who is shown
// nor the order of the others depends on where they stand.
func TestANoTChanceKnowsNoPlaces(t *testing.T) {
	const n = 25
	plan := `{"conditions": [{"id":"F","kind":"ATTR","path":"city","test":"is","value":"mannheim","text":"in Mannheim"}], "logic": "F"}`
	first := 0 // requests for which the first candidate is shown
	for i := range 100 {
		task := scene(n)
		task.Text = fmt.Sprint("R", i)
		rank := func() (shown, rest []string) {
			s := steps(map[string]string{"plan": plan, "decide": "Ranking: 1"})
			r := perform(t, find(t, "anot"), task, s)
			for _, k := range r.Ranking {
				name := task.Candidates[k-1].Item.Name
				if strings.Contains(s.prompts["decide"], "] "+name+"\n") {
					shown = append(shown, name)
				} else {
					rest = append(rest, name)
				}
			}
			if len(shown) != 10 || len(rest) != n-10 {
				t.Fatalf("%d candidates are shown, %d are not", len(shown), len(rest))
			}
			return slices.Sorted(slices.Values(shown)), rest
		}
		shown, rest := rank()
		if slices.Contains(shown, "Place A") {
			first++
		}
		slices.Reverse(task.Candidates)
		if shown2, rest2 := rank(); !slices.Equal(shown, shown2) || !slices.Equal(rest, rest2) {
			t.Fatalf("turned round, %v are shown and then come %v, and not %v and %v", shown2, rest2, shown, rest)
		}
	}
	if first < 20 || first > 60 { // 40 expected, SD 5
		t.Errorf("the first candidate is shown for %d of 100 requests", first)
	}
}

func TestANoTAsksNobodyWhereNoFriendWrote(t *testing.T) {
	s := &script{answer: right}
	r := perform(t, find(t, "anot"), social(12), s)
	if p := s.prompts["execute/L1/S1"]; !strings.Contains(p, "[7] Place G") || strings.Contains(p, "[1] Place A") || strings.Contains(p, "Coffee was fine") {
		t.Errorf("asked about others than those whom somebody near Alice reviewed:\n%s", p)
	}
	if !strings.Contains(trace(r), "none of them wrote a review") {
		t.Error("the trace does not say why others are out")
	}
}

// An error of the asker ends the trial even where another step of the layer
// was answered.
func TestErrorsOfTheAskerArePassedOn(t *testing.T) {
	down := errors.New("the provider is down")
	for _, m := range asking() {
		whole := &script{answer: right}
		perform(t, m, scene(10), whole)
		for _, broken := range whole.steps() {
			s := &script{answer: func(step string, p method.Prompt) (method.Answer, error) {
				if step == broken {
					return method.Answer{}, down
				}
				return right(step, p)
			}}
			if r, err := m.Rank(context.Background(), scene(10), s.ask); !errors.Is(err, down) || r.Ranking != nil {
				t.Errorf("%s: the error of step %s ends as %v, %v", m.Name, broken, r.Ranking, err)
			}
		}
	}
}

func TestANoTKeepsWhatItKnows(t *testing.T) {
	r := perform(t, find(t, "anot"), scene(9), steps(map[string]string{
		"plan":          twoConditions,
		"expand/01":     `{"tool":"insert","step":{"id":"again","condition":"C","candidates":[3,6,7],"after":["S1"]}}`,
		"expand/02":     `{"tool":"done"}`,
		"execute/L1/S1": `{"yes":[7,3],"no":[]}`, "execute/L1/S2": `{"yes":[],"no":[]}`,
		"execute/L2/again": `{"yes":[],"no":[3]}`, "decide": "There is nothing to decide.",
	}))
	if r.Invalid != "" || r.Ranking[0] != gold {
		t.Errorf("ranking %v, %s\n%s", r.Ranking, r.Detail, trace(r))
	}
}

func TestANoTPlansAreBounded(t *testing.T) {
	plan := `{"conditions": [`
	for i := range 12 {
		plan += fmt.Sprintf(`{"id":"C%d","kind":"REVIEW","text":"x"},`, i)
	}
	plan = strings.TrimSuffix(plan, ",") + `], "logic": "AND(C0, C1, C2, C3, C4, C5, C6, C7, C8, C9, C10, C11)"}`
	s := steps(map[string]string{"plan": plan, "expand/01": `{"tool":"insert","step":{"id":"More","condition":"C1","candidates":[1]}}`, "expand/02": `{"tool":"done"}`})
	s.answer = func(answer func(string, method.Prompt) (method.Answer, error)) func(string, method.Prompt) (method.Answer, error) {
		return func(step string, p method.Prompt) (method.Answer, error) {
			if strings.HasPrefix(step, "execute/") {
				return said(`{"yes":[7],"no":[]}`)
			}
			return answer(step, p)
		}
	}(s.answer)
	r := perform(t, find(t, "anot"), scene(50), s) // 12 conditions for 5 times 10 candidates
	if !strings.Contains(trace(r), "The plan already has the maximum of 60 steps.") {
		t.Errorf("one more step is not refused:\n%s", trace(r))
	}
	if n := len(s.prompts); n > 65 {
		t.Errorf("%d calls for one request", n)
	}
}

func TestWeaverResults(t *testing.T) {
	for sql, want := range map[string]string{
		"SELECT a.item FROM attributes a, attributes b":                            "the result is too large (more than 5000 rows)",
		"SELECT i.item, printf('%.*c', 9000, 'x') AS long FROM items i":            "the result is too large (more than 64 KiB of text)",
		"SELECT i.item FROM items i JOIN reviews r ON r.item = i.item ORDER BY 1":  "", // every candidate twice
		"SELECT name, ITEM FROM items WHERE item >= 3 ORDER BY item = 7 DESC":      "",
		"SELECT count(*) AS item FROM items HAVING 0":                              "the query returns no candidates",
		"SELECT item FROM items WHERE name = (SELECT value FROM attributes)  -- x": "the query returns no candidates",
	} {
		plan := fmt.Sprintf(`{"sql": %q, "questions": []}`, sql)
		r := perform(t, find(t, "weaver"), scene(26), steps(map[string]string{"plan": plan, "order": plan}))
		if want == "" && (r.Invalid != "" || len(r.Ranking) < 20) {
			t.Errorf("%s: %v, %s", sql, r.Ranking, r.Detail)
		}
		if !strings.Contains(trace(r), want) {
			t.Errorf("%s: the trace does not say %q:\n%s", sql, want, trace(r))
		}
	}
}

// Stars that are not known are none: no query finds them below a number.
func TestWeaverKnowsNoStarsWhereThereAreNone(t *testing.T) {
	task := scene(8)
	task.Candidates[1].Reviews[0].Stars = 0
	for sql, want := range map[string]string{
		"SELECT item FROM reviews WHERE stars IS NULL":                        "[2]",
		"SELECT item FROM reviews GROUP BY item HAVING avg(stars) < 3":        "[2]", // the other review has 2
		"SELECT item FROM reviews GROUP BY item HAVING min(stars) < 2":        "[]",
		"SELECT item FROM reviews WHERE stars = 2 AND item < 3 ORDER BY item": "[1 2]",
	} {
		plan := fmt.Sprintf(`{"sql": %q, "questions": []}`, sql)
		if r := perform(t, find(t, "weaver"), task, steps(map[string]string{"plan": plan, "plan/retry1": plan, "plan/retry2": plan, "order": plan})); fmt.Sprint(r.Ranking) != want {
			t.Errorf("%s gives %v, want %s", sql, r.Ranking, want)
		}
	}
}

// Of an item without reviews it is not known what people think of it.
func TestANoTKnowsNothingWithoutReviews(t *testing.T) {
	task := social(8)
	task.Candidates[0].Reviews = nil
	r := perform(t, find(t, "anot"), task, &script{answer: right})
	if s := trace(r); strings.Contains(s, "C1: 1 no") || !strings.Contains(s, "1: C1 unknown") || !strings.Contains(s, "C1: 2 no, none of them wrote a review") {
		t.Errorf("of the candidate without reviews:\n%s", s)
	}
}

func TestPathsNeedNoPrefix(t *testing.T) {
	plan := `{"conditions": [{"id":"W","kind":"ATTR","path":"WiFi","test":"is","value":"free","text":"free WiFi"}, {"id":"N","kind":"ATTR","path":"city","test":"is","value":"Mannheim","text":"x"}], "logic": "AND(W, N)"}`
	r := perform(t, find(t, "anot"), scene(8), steps(map[string]string{"plan": plan}))
	if s := trace(r); !strings.Contains(s, "1: W no, N yes; all: no") || !strings.Contains(s, "7: W yes, N yes; all: yes") {
		t.Errorf("truths are\n%s", s)
	}
	s := steps(map[string]string{"act/01": `{"action":"attribute","argument":"WiFi"}`, "act/02": `{"action":"attribute","argument":"nothing"}`})
	perform(t, find(t, "plan_act"), scene(8), s)
	if p := s.prompts["act/03"]; !strings.Contains(p, "[1] paid\n[2] no\n[3] free") || !strings.Contains(p, "[8] unknown") {
		t.Errorf("the model was told\n%s", p)
	}
}

func TestOverviewsAreShort(t *testing.T) {
	s := &script{answer: right}
	task := scene(12)
	for i := range task.Candidates {
		task.Candidates[i].Item.Fields["street"] = fmt.Sprintf("Street %02d", i)
	}
	perform(t, find(t, "ps"), task, s)
	if p := s.prompts["plan"]; !strings.Contains(p, "- street: Street 00, Street 01, Street 02, Street 03, Street 04, Street 05, Street 06, Street 07, … (12 values)") || strings.Contains(p, "Place A") {
		t.Errorf("the overview is\n%s", p)
	}
}

// A query that the clock stopped ends the trial before it can change what the
// model is asked next: on a faster machine the trial goes on from the same prompts.
func TestWeaverStopsWithTheClock(t *testing.T) {
	const slow = `{"sql": "SELECT item FROM items WHERE (SELECT count(*) FROM reviews a, reviews b WHERE a.text||b.text||items.item LIKE '%%nothing%%') = 0", "questions": []}`
	answers := map[string]string{"plan": slow, "order": `{"sql": "SELECT item FROM items ORDER BY item = 7 DESC"}`}
	stopped, whole := steps(answers), steps(answers)
	r := perform(t, method.WeaverWithin(sqltable.Limits{Time: time.Nanosecond}), scene(25), stopped)
	if r.Invalid != method.InvalidTime || len(stopped.prompts) != 1 {
		t.Errorf("stopped: %v, %q after the steps %v", r.Ranking, r.Invalid, stopped.steps())
	}
	r = perform(t, find(t, "weaver"), scene(25), whole)
	if r.Invalid != "" || r.Ranking[0] != gold || whole.prompts["plan"] != stopped.prompts["plan"] {
		t.Errorf("not stopped: %v, %q", r.Ranking, r.Invalid)
	}
}

// A simulated model that answers correctly ranks several right candidates by grade,
// with every method.
func TestRightAnswersRankByGrade(t *testing.T) {
	task := scene(12)
	task.K, task.Several = 12, true
	task.Text, task.Structure = "Somewhere with free WiFi and coffee.", and(
		leaf("free WiFi", &request.Evidence{Kind: request.ItemMeta, Path: "attributes.WiFi", Test: "true", Value: "free"}),
		leaf("guests mention coffee", &request.Evidence{Kind: request.ReviewText, Pattern: "coffee"}))
	want := []int{9, 7, 12, 3, 6}
	for i, grade := range map[int]int{9: 3, 7: 2, 12: 2, 3: 1, 6: 1} {
		task.Candidates[i-1].Grade = grade
	}
	for _, m := range method.All() {
		if !m.Asks {
			continue
		}
		r := perform(t, m, task, &script{answer: right})
		if r.Invalid != "" || !slices.Equal(r.Ranking[:len(want)], want) {
			t.Errorf("%s ranks %v, want %v first; %s", m.Name, r.Ranking, want, r.Detail)
		}
	}
	if r := perform(t, find(t, "weaver"), task, &script{answer: wrong}); len(r.Ranking) == 0 || slices.Contains(want, r.Ranking[0]) {
		t.Errorf("weaver: after wrong answers only, the ranking is %v", r.Ranking)
	}
}
