package experiment

import (
	"context"
	"errors"
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

// errOtherRequest is why a replay has no answer to a request: the step had another one.
var errOtherRequest = errors.New("had another request")

// A replay answers a trial from the journal and keeps its prompts.
type replay struct {
	calls map[string]eval.Call

	mu    sync.Mutex
	asked map[string]string // text by step
	used  []string          // steps in the journal
}

func (p *replay) Ask(_ context.Context, step string, r eval.Request) (eval.Response, error) {
	c, ok := p.calls[step]
	same, diff := false, []string(nil)
	if ok {
		if same, diff = run.Matches(&c, r); !same && c.Stage == eval.StageJudge {
			c, ok = p.calls[run.SupersedingStep(step, r, c.Trial)]
			if ok {
				same, diff = run.Matches(&c, r)
			}
		}
	}
	switch {
	case !ok:
		return eval.Response{}, &missingAnswerError{step}
	case !same:
		return eval.Response{}, fmt.Errorf("step %s %w (%s): the study or its data changed since", step, errOtherRequest, strings.Join(diff, "; "))
	}
	p.mu.Lock()
	p.asked[step] = requestText(&r)
	p.used = append(p.used, c.Step)
	p.mu.Unlock()
	switch {
	case c.ErrKind == "":
		return c.Response, nil
	case r.Optional:
		return eval.Response{}, &eval.NoAnswer{Kind: c.ErrKind}
	}
	return eval.Response{}, &failedCallError{step, c.Err}
}

// A missingAnswerError is the error of a step that the journal has no call of.
type missingAnswerError struct{ step string }

func (e *missingAnswerError) Error() string {
	return fmt.Sprintf("step %s has no answer in the journal", e.step)
}

// A failedCallError is the error of a step whose call failed.
type failedCallError struct{ step, err string }

func (e *failedCallError) Error() string { return fmt.Sprintf("step %s failed: %s", e.step, e.err) }

// Fatal reports that the error concerns one call, as those of the engine do.
func (e *failedCallError) Fatal() bool { return false }

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
