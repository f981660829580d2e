package method_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/rerank/method"
)

// A script answers for a model and keeps what it was asked.
type script struct {
	answer func(step string, p method.Prompt) (method.Answer, error)

	mu      sync.Mutex
	prompts map[string]string // what each step asked, as bytes
	twice   []string          // steps that were asked twice
}

func (s *script) ask(_ context.Context, step string, p method.Prompt) (method.Answer, error) {
	a, err := s.answer(step, p)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.prompts == nil {
		s.prompts = map[string]string{}
	}
	if _, ok := s.prompts[step]; ok {
		s.twice = append(s.twice, step)
	}
	s.prompts[step] = bytesOf(p)
	return a, err
}

func bytesOf(p method.Prompt) string {
	var b strings.Builder
	fmt.Fprintf(&b, "system:\n%s\n", p.System)
	for _, m := range p.Messages {
		fmt.Fprintf(&b, "\n%s:\n%s\n", m.Role, m.Content)
	}
	if p.Schema != nil {
		fmt.Fprintf(&b, "\nschema %s:\n%s\n", p.Schema.Name, p.Schema.JSON)
	}
	return b.String()
}

func (s *script) steps() []string { return slices.Sorted(maps.Keys(s.prompts)) }

func said(text string) (method.Answer, error) {
	return method.Answer{Text: text, Stop: eval.StopEnd}, nil
}

func right(_ string, p method.Prompt) (method.Answer, error) {
	return said(p.Simulated(method.Rightly))
}
func wrong(_ string, p method.Prompt) (method.Answer, error) {
	return said(p.Simulated(method.Wrongly))
}
func garbage(_ string, _ method.Prompt) (method.Answer, error) {
	return said("Candidates 1, 2 and 3 all look nice! {")
}
func refusal(_ string, _ method.Prompt) (method.Answer, error) {
	return method.Answer{Text: "I cannot help with that.", Stop: eval.StopRefused}, nil
}

// perform ranks and checks what every result must keep.
func perform(t *testing.T, m method.Method, task method.Task, s *script) method.Result {
	t.Helper()
	r, err := m.Rank(t.Context(), task, s.ask)
	if err != nil {
		t.Fatalf("%s: %v", m.Name, err)
	}
	if len(s.twice) > 0 {
		t.Errorf("%s asks twice in the steps %v", m.Name, s.twice)
	}
	if (r.Invalid == "") == (len(r.Ranking) == 0) {
		t.Errorf("%s: ranking %v and reason %q", m.Name, r.Ranking, r.Invalid)
	}
	seen := map[int]bool{}
	for _, i := range r.Ranking {
		if i < 1 || i > len(task.Candidates) || seen[i] {
			t.Errorf("%s: ranking %v of %d candidates", m.Name, r.Ranking, len(task.Candidates))
		}
		seen[i] = true
	}
	return r
}

// asking lists the methods that ask models.
func asking() []method.Method {
	return slices.DeleteFunc(append(method.All(), method.Listwise(4, 2)),
		func(m method.Method) bool { return !m.Asks })
}

// tasks are the scenes at several sizes.
func tasks() map[string]method.Task {
	return map[string]method.Task{"10": scene(10), "25": scene(25), "social": social(12)}
}
