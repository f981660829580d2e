package experiment

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/run"
)

// withPrompts adds the prompts to the steps of a trial. The journal keeps only
// hashes of requests, so the trial is performed again with the journal's answers
// and its requests are checked against the hashes.
func withPrompts(ctx context.Context, bench eval.Bench, t eval.Trial, calls map[string]eval.Call, steps []eval.ExhibitStep) ([]eval.ExhibitStep, error) {
	again := &replay{calls: calls, asked: map[string]string{}}
	if _, err := bench.Perform(ctx, t, again); err != nil {
		return nil, fmt.Errorf("rebuilding the prompts of %v: %w", t, err)
	}
	var list []eval.ExhibitStep
	show := func(step string) {
		if text, ok := again.asked[step]; ok {
			list = append(list, eval.ExhibitStep{Name: step + " asked", Text: text})
			delete(again.asked, step)
		}
	}
	for _, s := range steps {
		step, _, _ := strings.Cut(s.Name, " ")
		show(step)
		list = append(list, s)
	}
	for _, step := range slices.Sorted(maps.Keys(again.asked)) {
		show(step)
	}
	return list, nil
}

// A replay answers a trial from the journal and keeps its prompts.
type replay struct {
	calls map[string]eval.Call

	mu    sync.Mutex
	asked map[string]string // text by step
}

func (p *replay) Ask(_ context.Context, step string, r eval.Request) (eval.Response, error) {
	c, ok := p.calls[step]
	if !ok {
		return eval.Response{}, fmt.Errorf("step %s has no answer in the journal", step)
	}
	if same, diff := run.Matches(&c, r); !same {
		return eval.Response{}, fmt.Errorf("step %s had another request (%s): the study or its data changed since", step, strings.Join(diff, "; "))
	}
	p.mu.Lock()
	p.asked[step] = requestText(&r)
	p.mu.Unlock()
	switch {
	case c.ErrKind == "":
		return c.Response, nil
	case r.Optional:
		return eval.Response{}, &eval.NoAnswer{Kind: c.ErrKind}
	}
	return eval.Response{}, fmt.Errorf("step %s failed: %s", step, c.Err)
}

// requestText returns a request as readable text.
func requestText(r *eval.Request) string {
	var b strings.Builder
	if r.System != "" {
		b.WriteString(r.System + "\n\n")
	}
	for _, m := range r.Messages {
		fmt.Fprintf(&b, "[%s]\n%s\n\n", m.Role, m.Content)
	}
	if len(r.Messages) == 0 {
		b.Write(r.Payload) // of an external pipeline
	}
	return strings.TrimSpace(b.String())
}
