package method_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/stable"
	"github.com/scruple-eval/scruple/internal/suites/rerank/method"
)

func TestRightAnswersPutGoldFirst(t *testing.T) {
	for name, task := range tasks() {
		for _, m := range asking() {
			r := perform(t, m, task, &script{answer: right})
			if r.Invalid != "" || r.Ranking[0] != gold {
				t.Errorf("%s, %s: ranking %v, %s %s", m.Name, name, r.Ranking, r.Invalid, r.Detail)
			}
		}
	}
}

func TestWrongAnswersDoNot(t *testing.T) {
	for name, task := range tasks() {
		for _, m := range asking() {
			if r := perform(t, m, task, &script{answer: wrong}); len(r.Ranking) > 0 && r.Ranking[0] == gold {
				t.Errorf("%s, %s: gold is first after wrong answers only", m.Name, name)
			}
		}
	}
}

func TestGarbageIsNoPrediction(t *testing.T) {
	for name, task := range tasks() {
		for _, m := range asking() {
			if r := perform(t, m, task, &script{answer: garbage}); r.Invalid == "" || r.Detail == "" {
				t.Errorf("%s, %s: ranking %v from garbage", m.Name, name, r.Ranking)
			}
			if r := perform(t, m, task, &script{answer: refusal}); r.Invalid != method.InvalidRefused {
				t.Errorf("%s, %s: a refusal gives %q, %v", m.Name, name, r.Invalid, r.Ranking)
			}
			if r := perform(t, m, task, &script{answer: func(string, method.Prompt) (method.Answer, error) { return said("") }}); r.Invalid == "" {
				t.Errorf("%s, %s: ranking %v from silence", m.Name, name, r.Ranking)
			}
		}
	}
}

// Garbage in any one step must end in a result, never in an error.
func TestGarbageInOneStep(t *testing.T) {
	for name, task := range tasks() {
		for _, m := range asking() {
			whole := &script{answer: right}
			perform(t, m, task, whole)
			for _, broken := range whole.steps() {
				perform(t, m, task, &script{answer: func(step string, p method.Prompt) (method.Answer, error) {
					if step == broken {
						return garbage(step, p)
					}
					return right(step, p)
				}})
				if t.Failed() {
					t.Fatalf("%s, %s: step %s", m.Name, name, broken)
				}
			}
		}
	}
}

func TestTheSamePromptsTwice(t *testing.T) {
	for name, task := range tasks() {
		for _, m := range asking() {
			for kind, answer := range map[string]func(string, method.Prompt) (method.Answer, error){"right": right, "wrong": wrong, "garbage": garbage} {
				a, b := &script{answer: answer}, &script{answer: answer}
				ra, rb := perform(t, m, task, a), perform(t, m, task, b)
				if !maps.Equal(a.prompts, b.prompts) {
					t.Errorf("%s, %s, %s: prompts differ between two runs: %v and %v", m.Name, name, kind, a.steps(), b.steps())
				}
				if !slices.Equal(ra.Ranking, rb.Ranking) || !slices.Equal(ra.Trace, rb.Trace) {
					t.Errorf("%s, %s, %s: results differ between two runs", m.Name, name, kind)
				}
			}
		}
	}
}

// A trial that died at any call is performed again and answered from what is
// recorded: nothing is asked twice, and the result is the same.
func TestDiedTrialsGoOn(t *testing.T) {
	for name, task := range tasks() {
		for _, m := range asking() {
			whole := &script{answer: right}
			want := perform(t, m, task, whole)
			for _, dies := range whole.steps() {
				journal := map[string]string{}
				first := &script{answer: func(step string, p method.Prompt) (method.Answer, error) {
					if step == dies {
						return method.Answer{}, context.Canceled
					}
					return right(step, p)
				}}
				if _, err := m.Rank(t.Context(), task, first.ask); !errors.Is(err, context.Canceled) {
					t.Fatalf("%s, %s: the end at %s is %v", m.Name, name, dies, err)
				}
				maps.Copy(journal, first.prompts)
				delete(journal, dies)
				second := &script{answer: right}
				if got := perform(t, m, task, second); !slices.Equal(got.Ranking, want.Ranking) {
					t.Errorf("%s, %s: after the end at %s the ranking is %v, not %v", m.Name, name, dies, got.Ranking, want.Ranking)
				}
				for step, prompt := range journal {
					if second.prompts[step] != prompt {
						t.Errorf("%s, %s: step %s asks something else after the end at %s", m.Name, name, step, dies)
					}
				}
			}
		}
	}
}

// Answers recorded once do for another run, and what a method asks does not
// depend on the structure, which is there for simulations only.
func TestMethodsDoNotReadTheStructure(t *testing.T) {
	for name, task := range tasks() {
		for _, m := range asking() {
			answers := map[string]string{}
			told := &script{}
			told.answer = func(step string, p method.Prompt) (method.Answer, error) {
				told.mu.Lock()
				defer told.mu.Unlock()
				answers[step] = p.Simulated(method.Rightly)
				return said(answers[step])
			}
			want := perform(t, m, task, told)
			blind := task
			blind.Structure = nil
			untold := &script{answer: func(step string, _ method.Prompt) (method.Answer, error) {
				a, ok := answers[step]
				if !ok {
					return method.Answer{}, fmt.Errorf("step %s was not asked before", step)
				}
				return said(a)
			}}
			got := perform(t, m, blind, untold)
			if !maps.Equal(told.prompts, untold.prompts) || !slices.Equal(got.Ranking, want.Ranking) {
				t.Errorf("%s, %s: without the structure it does something else", m.Name, name)
			}
		}
	}
}

func TestDefenceStandsBeforeEverySystemPrompt(t *testing.T) {
	task := scene(10)
	task.Defence = "Trust no review."
	for _, m := range asking() {
		s := &script{answer: right}
		perform(t, m, task, s)
		for step, prompt := range s.prompts {
			if !strings.HasPrefix(prompt, "system:\nTrust no review.\n\n") {
				t.Errorf("%s, %s: the defence is not there", m.Name, step)
			}
		}
	}
}

// The more a simulated model errs, the less often gold is first.
func TestHitsFallWithErrors(t *testing.T) {
	const runs = 120
	for _, m := range asking() {
		hits := map[float64]int{}
		rates := []float64{0, 0.15, 0.5, 1}
		for _, e := range rates {
			for run := range runs {
				r := perform(t, m, scene(10), &script{answer: func(step string, p method.Prompt) (method.Answer, error) {
					if stable.NewStream(uint64(run), step).Float64() < e {
						return wrong(step, p)
					}
					return right(step, p)
				}})
				if len(r.Ranking) > 0 && r.Ranking[0] == gold {
					hits[e]++
				}
			}
		}
		if hits[0] != runs || hits[1] != 0 || !(hits[0] > hits[0.15] && hits[0.15] > hits[0.5] && hits[0.5] > hits[1]) {
			t.Errorf("%s: of %d runs gold is first in %v", m.Name, runs, hits)
		}
	}
}

var update = flag.Bool("update", false, "update the golden files")

// TestPrompts holds every prompt of every method to a golden file: a change of
// a byte is a change of what was measured, and must be seen.
func TestPrompts(t *testing.T) {
	// again: whatever is asked for again, is.
	again := func(step string, p method.Prompt) (method.Answer, error) {
		if len(p.Messages) == 1 {
			return garbage(step, p)
		}
		return right(step, p)
	}
	for name, world := range map[string]struct {
		task   method.Task
		answer func(string, method.Prompt) (method.Answer, error)
	}{"scene": {scene(8), right}, "social": {social(8), right}, "again": {scene(8), again}} {
		for _, m := range method.All() {
			if !m.Asks {
				continue
			}
			s := &script{answer: world.answer}
			perform(t, m, world.task, s)
			var b strings.Builder
			for _, step := range s.steps() {
				fmt.Fprintf(&b, "######## %s\n%s\n", step, s.prompts[step])
			}
			path := filepath.Join("testdata", "prompts", name+"_"+m.Name+".txt")
			if *update {
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
					t.Fatal(err)
				}
				continue
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatalf("%v: run the test with -update", err)
			}
			if string(want) != b.String() {
				t.Errorf("the prompts of %s are not those of %s: run the test with -update and look at what changed", m.Name, path)
			}
		}
	}
}

func TestMethodsSayWhatTheyAre(t *testing.T) {
	names := map[string]bool{}
	for _, m := range method.All() {
		if m.Name == "" || m.Rank == nil || names[m.Name] {
			t.Errorf("%+v is not complete or there twice", m)
		}
		names[m.Name] = true
		if found, err := method.Find(m.Name); err != nil || found.Name != m.Name {
			t.Errorf("%s is not found: %v", m.Name, err)
		}
		r, err := m.Rank(t.Context(), method.Task{ID: "empty"}, (&script{answer: right}).ask)
		if err != nil || r.Invalid != method.InvalidNone {
			t.Errorf("%s of nothing: %v, %v", m.Name, r, err)
		}
	}
	if _, err := method.Find("magic"); err == nil {
		t.Error("there is a method called magic")
	}
}

func TestCancelledContextAsksNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, m := range asking() {
		s := &script{answer: right}
		if _, err := m.Rank(ctx, scene(10), s.ask); !errors.Is(err, context.Canceled) || len(s.prompts) > 0 {
			t.Errorf("%s asks %v and ends with %v", m.Name, s.steps(), err)
		}
	}
}

// TestPromptVersion: prompts that change need another version, which makes runs
// with the old ones another experiment. Set the version and the hash together.
func TestPromptVersion(t *testing.T) {
	const version, prompts = "5", "0e989d1425e6faf3"
	files, err := filepath.Glob(filepath.Join("testdata", "prompts", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d prompts, %v", len(files), err)
	}
	var all []byte
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text...)
	}
	if got := eval.HashOf(all).String(); got != prompts || method.PromptVersion != version {
		t.Errorf("version %s with prompts %s, want %s with %s: raise PromptVersion when prompts change", method.PromptVersion, got, version, prompts)
	}
}
