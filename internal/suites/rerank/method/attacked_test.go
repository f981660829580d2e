package method_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/suites/rerank/attack"
	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
	"github.com/scruple-eval/scruple/internal/suites/rerank/method"
)

// attacked is the task as an attack leaves it.
func attacked(task method.Task, a *attack.Attack) method.Task {
	items := make([]*catalog.Item, len(task.Candidates))
	reviews := make([][]catalog.Review, len(task.Candidates))
	for i, c := range task.Candidates {
		items[i], reviews[i] = c.Item, c.Reviews
	}
	after, _ := attack.Plan{Attack: a, Seed: 42, Request: task.ID, Right: func(id string) bool { return id == items[gold-1].ID }, Options: attack.Options{Strength: 2}}.Run(items, reviews)
	out := task
	out.Candidates = nil
	for i := range items {
		out.Candidates = append(out.Candidates, method.Candidate{Item: items[i], Reviews: after[i]})
	}
	return out
}

// sections cuts a prompt that shows all candidates into what it says of each.
func sections(t *testing.T, task method.Task) []string {
	t.Helper()
	s := &script{answer: right}
	perform(t, find(t, "cot"), task, s)
	prompt, list := s.prompts["answer"], make([]string, len(task.Candidates))
	for i := range list {
		head := fmt.Sprintf("\n[%d] Place %c\n", i+1, 'A'+i)
		_, rest, ok := strings.Cut(prompt, head)
		if !ok {
			t.Fatalf("the prompt does not show candidate %d", i+1)
		}
		list[i], _, _ = strings.Cut(rest, "\n\n[")
	}
	return list
}

// What an attack claims to change is changed in the bytes of the prompt, for
// every candidate but gold, whose section stays as it is, or of gold alone.
func TestAttacksChangeThePrompt(t *testing.T) {
	clean := sections(t, scene(10))
	for _, a := range attack.All() {
		after := sections(t, attacked(scene(10), &a))
		for i := range clean {
			if changed := clean[i] != after[i]; changed == ((i+1 == gold) != a.Blames) {
				t.Errorf("%s: section of candidate %d (gold is %d) changed: %v", a.Name, i+1, gold, changed)
			}
			if a.Name == "inject_fake_sys" && strings.Count(after[i], "</review>") != strings.Count(after[i], "<review ") {
				t.Errorf("an injection ends the fence:\n%s", after[i])
			}
		}
	}
}

// Attacks change what is read and not what is right: the oracle stays right,
// and so do methods whose model is.
func TestAttacksDoNotChangeWhatIsRight(t *testing.T) {
	for _, a := range attack.All() {
		for _, m := range append(asking(), find(t, "oracle")) {
			for name, task := range map[string]method.Task{"scene": scene(10), "social": social(12)} {
				if r := perform(t, m, attacked(task, &a), &script{answer: right}); r.Invalid != "" || r.Ranking[0] != gold {
					t.Errorf("%s, %s, %s: %v %s", a.Name, m.Name, name, r.Ranking, r.Detail)
				}
			}
		}
	}
}
