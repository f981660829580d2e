package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/run"
)

// asking is a bench whose judge is asked one of three questions about each trial.
type asking struct {
	eval.Bench
	request eval.Request
}

func (asking) Arms() []eval.Arm { return []eval.Arm{{ID: "a", Judges: []string{"m"}}} }

func (b asking) Judge(ctx context.Context, t eval.Trial, o eval.Outcome, ask eval.Asker) ([]eval.Verdict, error) {
	r := b.request
	r.Model, r.Item, r.System = "m", t.Item, "question "+t.Item[len(t.Item)-1:]
	answer, err := ask.Ask(ctx, "judge", r)
	return []eval.Verdict{{Step: "judge", Data: []byte(answer.Text)}}, err
}

// One question to one judge at temperature 0 is asked once, however many trials ask it
// at the same time. A judge that draws its answers, and a pipeline that receives the
// item, are asked each time.
func TestJudgesShareAnswers(t *testing.T) {
	zero, half := 0.0, 0.5
	for name, test := range map[string]struct {
		request eval.Request
		asks    int64
	}{
		"temperature 0":   {eval.Request{Sampling: eval.Sampling{Temperature: &zero}}, 10},
		"temperature 0.5": {eval.Request{Sampling: eval.Sampling{Temperature: &half}}, 40},
		"no temperature":  {eval.Request{}, 40},
		"a pipeline":      {eval.Request{Sampling: eval.Sampling{Temperature: &zero}, Payload: json.RawMessage(`{}`)}, 40},
	} {
		j, c := newMemory(), delayed(time.Millisecond)
		s := quick
		s.Concurrency, s.NoReuse = 8, true // which is about other runs
		if err := run.New(s, j, models(c), run.Spent{}, nil).Judge(t.Context(), asking{request: test.request}, nil, replicated(20, 2, false)); err != nil {
			t.Fatal(err)
		}
		if c.n.Load() != test.asks || j.judged != 40 || len(j.calls) != 40 {
			t.Errorf("%s: %d requests for %d judged trials with %d calls, want %d for 40 with 40", name, c.n.Load(), j.judged, len(j.calls), test.asks)
		}
		for _, call := range j.calls {
			if want := fmt.Sprint("answer to ", len("question 0")); call.Response.Text != want {
				t.Errorf("%s: answer %q, want %q", name, call.Response.Text, want)
			}
		}
	}
}

// The calls of a judge in older stores have the item and the replicate in their keys.
func TestSharedCallsOfOlderStores(t *testing.T) {
	zero := 0.0
	j, c := newMemory(), replying(nil)
	bench := asking{request: eval.Request{Sampling: eval.Sampling{Temperature: &zero}}}
	for task := range replicated(2, 2, true) {
		r := bench.request
		r.Model, r.Item, r.System, r.Replicate = "m", task.Trial.Item, "question "+task.Trial.Item[5:], task.Trial.Replicate
		parts := r.Parts()
		if err := j.Append(&eval.Call{Trial: task.Trial, Stage: eval.StageJudge, Step: "judge", Key: eval.KeyOf(parts), Parts: parts, Response: eval.Response{Text: "old"}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := run.New(quick, j, models(c), run.Spent{}, nil).Judge(t.Context(), bench, nil, replicated(2, 2, true)); err != nil {
		t.Fatal(err)
	}
	if c.n.Load() != 0 {
		t.Errorf("%d requests for answers that are there", c.n.Load())
	}
}
