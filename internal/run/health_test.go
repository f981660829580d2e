package run_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
	"github.com/scruple-eval/scruple/internal/run"
)

var rejection = &model.Error{Kind: eval.ErrBadRequest, Status: 400, Message: "no"}

// TestRejections: what decides whether rejected items fail or the run ends. Requests
// are numbered in the order of sending, one at a time.
func TestRejections(t *testing.T) {
	const items = 40
	first := func(most int) func(int) bool { return func(n int) bool { return n <= most } }
	tests := []struct {
		name     string
		rejected func(n int) bool
		err      *model.Error
		planned  []run.ArmPlan
		outcomes int // recorded
		failed   int
		ends     string // the error of the run, or ""
	}{
		{"the first", first(1), rejection, nil, items, 1, ""},
		{"the first four", first(4), rejection, nil, items, 4, ""},
		{"all", first(items), rejection, nil, 0, 0, "no request of arm a was accepted"},
		{"every second", func(n int) bool { return n%2 == 0 }, rejection, nil, items, 20, ""},
		{"four in a row", func(n int) bool { return n%5 > 0 }, rejection, nil, items, 32, ""},
		{"all after ten", func(n int) bool { return n > 10 }, rejection, nil, 10 + inARow, inARow, "5 items of arm a were rejected in a row"},
		{"the first four of a resumed run", first(4), rejection, []run.ArmPlan{{Arm: "a", Planned: 50, Done: 10}}, items, 4, ""},
		{"all of a resumed run", first(items), rejection, []run.ArmPlan{{Arm: "a", Planned: 50, Done: 10}}, inARow, inARow, "5 items of arm a were rejected in a row"},
		{"all, as before", first(items), rejection, []run.ArmPlan{{Arm: "a", Planned: 50, Done: 10, Failed: 10}}, 0, 0, "no request of arm a was accepted"},
		{"forbidden", func(n int) bool { return n%9 == 0 }, &model.Error{Kind: eval.ErrAuth, Status: 403}, nil, items, 4, ""},
		{"a wrong key", func(n int) bool { return n == 10 }, &model.Error{Kind: eval.ErrAuth, Status: 401}, nil, 9, 0, "auth"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := replying(func(n int, _ *eval.Request) error {
					time.Sleep(time.Second)
					if test.rejected(n) {
						return test.err
					}
					return nil
				})
				j := newMemory()
				err := run.New(run.Settings{Concurrency: 1}, j, models(c), run.Spent{}, nil).Perform(t.Context(), steps{n: 1}, test.planned, sequence(items))
				if ends := err != nil; ends != (test.ends != "") || ends && !strings.Contains(err.Error(), test.ends) {
					t.Fatalf("the run ended with %v", err)
				}
				var call *run.CallError
				if err != nil && !errors.As(err, &call) {
					t.Errorf("%v is not the error of a call", err)
				}
				failed := 0
				for _, o := range j.outcomes {
					if o.Kind == eval.Failed {
						failed++
					}
				}
				if len(j.outcomes) != test.outcomes || failed != test.failed {
					t.Errorf("%d outcomes, %d failed; want %d and %d", len(j.outcomes), failed, test.outcomes, test.failed)
				}
			})
		})
	}
}

// A provider that refuses a key once, which has served before, does not end the run; one
// that goes on refusing it does, and so does one that refuses it from the beginning.
func TestAKeyRefusedOnce(t *testing.T) {
	for _, test := range []struct {
		name     string
		refused  func(n int) bool
		outcomes int
		ends     bool
	}{
		{"once", func(n int) bool { return n == 10 }, 20, false},
		{"from then on", func(n int) bool { return n >= 10 }, 9, true},
		{"at first", func(n int) bool { return n == 1 }, 0, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := replying(func(n int, _ *eval.Request) error {
					time.Sleep(time.Second)
					if test.refused(n) {
						return &model.Error{Kind: eval.ErrAuth, Status: 401}
					}
					return nil
				})
				j := newMemory()
				err := run.New(run.Settings{Concurrency: 1, Retries: []time.Duration{time.Second, time.Second}}, j, models(c), run.Spent{}, nil).Perform(t.Context(), steps{n: 1}, nil, sequence(20))
				if (err != nil) != test.ends || len(j.outcomes) != test.outcomes {
					t.Errorf("%d outcomes, want %d; %v", len(j.outcomes), test.outcomes, err)
				}
			})
		})
	}
}

// inARow is the documented number of items.
const inARow = 5

// sequence yields trials at the pace of the client of TestRejections, so that one is
// open at a time.
func sequence(items int) iter.Seq2[run.Task, error] {
	return func(yield func(run.Task, error) bool) {
		for task, err := range trials(items, false) {
			if !yield(task, err) {
				return
			}
			time.Sleep(1001 * time.Millisecond)
		}
	}
}

// series answers or fails by the number of the item.
func series(fails func(item int) error) *client {
	return replying(func(_ int, r *eval.Request) error {
		var item int
		_, _ = fmt.Sscanf(r.Item, "item %d", &item)
		return fails(item)
	})
}

// Rejections come back before the answers that were sent with them, so those in
// flight are waited for.
func TestFastRejectionsAndSlowAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := series(func(item int) error {
			if item%6 == 0 {
				return rejection
			}
			time.Sleep(time.Second)
			return nil
		})
		j := newMemory()
		perform(t, run.Settings{Concurrency: 64}, j, models(c), steps{n: 1}, trials(120, false))
		if len(j.outcomes) != 120 {
			t.Errorf("%d outcomes", len(j.outcomes))
		}
	})
}

// Failed trials that are retried and rejected again say nothing new.
func TestKnownRejectionsDoNotEndTheRun(t *testing.T) {
	c := series(func(int) error { return rejection })
	j := newMemory()
	for i := range 20 {
		trial := eval.Trial{Item: fmt.Sprint("item ", i), Arm: "a", Replicate: 1}
		r := eval.Request{Model: "m", Item: trial.Item, Replicate: 1}
		if err := j.Append(&eval.Call{Trial: trial, Stage: eval.StageRun, Step: "step 0", Key: r.Key(), ErrKind: eval.ErrBadRequest}); err != nil {
			t.Fatal(err)
		}
	}
	planned := []run.ArmPlan{{Arm: "a", Planned: 40, Done: 40, Failed: 20}}
	if err := run.New(quick, j, models(c), run.Spent{}, nil).Perform(t.Context(), steps{n: 1}, planned, trials(20, true)); err != nil {
		t.Error(err)
	}
	if len(j.outcomes) != 20 {
		t.Errorf("%d outcomes", len(j.outcomes))
	}
}

// An optional step that is rejected is no answer once the arm is proven, also when
// the trial is performed again.
func TestARejectedOptionalStep(t *testing.T) {
	bench := performer{f: func(ctx context.Context, trial eval.Trial, ask eval.Asker) (eval.Outcome, error) {
		_, err := ask.Ask(ctx, "maybe", eval.Request{Model: "m", Item: trial.Item, Optional: true})
		said := "answered"
		if none := (*eval.NoAnswer)(nil); errors.As(err, &none) {
			said = none.Error()
		} else if err != nil {
			return eval.Outcome{}, err
		}
		return eval.Outcome{Kind: eval.OK, Data: []byte(said)}, nil
	}}
	c := series(func(item int) error {
		if item == 1 {
			return rejection
		}
		return nil
	})
	j := newMemory()
	planned := []run.ArmPlan{{Arm: "a", Planned: 3, Done: 1}}
	for session, requests := range []int64{2, 2} {
		if err := run.New(quick, j, models(c), run.Spent{}, nil).Perform(t.Context(), bench, planned, trials(2, session > 0)); err != nil {
			t.Fatal(err)
		}
		if o := j.outcomes[eval.Trial{Item: "item 1", Arm: "a", Replicate: 1}]; string(o.Data) != "no answer: bad_request" || c.n.Load() != requests {
			t.Errorf("session %d: %+v after %d requests", session, o, c.n.Load())
		}
	}
}

// TestDeadLines: a provider that nobody runs ends the run early, at its start and
// later, and one that comes back does not.
func TestDeadLines(t *testing.T) {
	gone := &model.Error{Kind: eval.ErrUnavailable, Unreachable: true, Message: "refused", Remedy: "start it"}
	exited := &model.Error{Kind: eval.ErrUnavailable, Exited: true, Message: "exit status 1"}
	down := &model.Error{Kind: eval.ErrUnavailable, Status: 503}
	tests := []struct {
		name    string
		n       int // trials
		planned []run.ArmPlan
		fail    func(n int, since time.Duration) error
		took    time.Duration
		dead    bool
	}{
		{"at the start", 100, nil, func(int, time.Duration) error { return gone }, 0, true},
		{"at the start, one trial", 1, nil, func(int, time.Duration) error { return gone }, 2 * time.Second, true},
		{"a slow start", 1, nil, func(n int, _ time.Duration) error {
			if n < 3 {
				return gone
			}
			return nil
		}, 2 * time.Second, false},
		{"a pipeline", 1, nil, func(int, time.Duration) error { return exited }, 2 * time.Second, true},
		{"the pipeline of a proven arm", 3, []run.ArmPlan{{Arm: "a", Planned: 9, Done: 6}}, func(int, time.Duration) error { return exited }, 40 * time.Second, false},
		{"later", 1000, nil, func(_ int, since time.Duration) error {
			if since > 20*time.Second {
				return gone
			}
			time.Sleep(time.Second)
			return nil
		}, 65 * time.Second, true},
		{"a program that changed", 1000, nil, func(n int, since time.Duration) error {
			if n%2 == 0 && since > 20*time.Second { // other processes of it answer
				return &model.Error{Kind: eval.ErrUnavailable, Unreachable: true, Final: true}
			}
			time.Sleep(time.Second)
			return nil
		}, 23 * time.Second, true},
		{"a restart", 1000, nil, func(_ int, since time.Duration) error {
			if since > 20*time.Second && since < 30*time.Second {
				return gone
			}
			time.Sleep(time.Second)
			return nil
		}, 300 * time.Second, false},
		{"answers that a file lacks", 1000, []run.ArmPlan{{Arm: "a", Planned: 1000}}, func(int, time.Duration) error {
			return &model.Error{Kind: eval.ErrUnavailable, Final: true}
		}, 0, false},
		{"an outage without end", 1000, []run.ArmPlan{{Arm: "a", Planned: 1000}}, func(int, time.Duration) error { return down }, 200 * time.Second, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				c := replying(func(n int, _ *eval.Request) error { return test.fail(n, time.Since(begun)) })
				j, s := newMemory(), quick
				s.MaxFailed = 0.05
				err := run.New(s, j, models(c), run.Spent{}, nil).Perform(t.Context(), steps{n: 1}, test.planned, trials(test.n, false))
				if took := time.Since(begun); (err != nil) != test.dead || took > test.took {
					t.Errorf("ended after %v with %v", took, err)
				}
			})
		})
	}
}

// With a budget, a request is durable before it is sent.
func TestARequestIsJournalledBeforeItIsSent(t *testing.T) {
	j := newMemory()
	c := replying(func(n int, _ *eval.Request) error {
		if j.mu.Lock(); j.sent < n {
			t.Errorf("request %d was sent before it was recorded", n)
		}
		j.mu.Unlock()
		return nil
	})
	s := quick
	s.Budget.Calls = 100
	perform(t, s, j, models(c), steps{n: 2}, trials(20, false))
}

// TestMissingUsage: what a budget counts if the provider does not say. The request
// has 300 bytes of ASCII, 100 tokens at 3 bytes, and 8 for marks; so has the answer,
// without marks.
func TestMissingUsage(t *testing.T) {
	tests := []struct {
		name    string
		sent    eval.Usage
		stop    eval.Stop
		text    string
		want    int
		input   int
		refusal string
	}{
		{"counted", eval.Usage{Input: 3, Output: 2}, eval.StopEnd, "x", 5, 3, ""},
		{"nothing", eval.Usage{}, eval.StopEnd, strings.Repeat("x", 300), 108 + 100 + 50, 108, ""},
		{"nothing, in Chinese", eval.Usage{}, eval.StopEnd, strings.Repeat("書", 100), 108 + 150 + 50, 108, ""},
		{"input only", eval.Usage{Input: 7}, eval.StopEnd, strings.Repeat("x", 300), 7 + 100 + 50, 7, ""},
		{"output only", eval.Usage{Output: 7, ReasoningInOutput: true}, eval.StopEnd, "x", 108 + 7, 108, ""},
		{"cached input", eval.Usage{Cached: 9, Output: 7}, eval.StopEnd, "x", 16, 0, ""},
		{"negative", eval.Usage{Input: -5, Output: 2}, eval.StopEnd, strings.Repeat("x", 300), 258, 108, ""},
		{"absurd", eval.Usage{Input: 5, Output: 1 << 60}, eval.StopEnd, strings.Repeat("x", 300), 258, 108, ""},
		{"refused prompt", eval.Usage{}, eval.StopRefused, "", 108, 108, ""}, // Azure bills it
		{"refused with a message", eval.Usage{}, eval.StopRefused, "", 108, 108, "flagged by a filter"},
		{"stopped, input counted", eval.Usage{Input: 5}, eval.StopRefused, "", 5, 5, "blocked"},
		{"stopped in the middle", eval.Usage{}, eval.StopRefused, strings.Repeat("x", 300), 108 + 100 + 50, 108, ""},
	}
	for _, test := range tests {
		j := newMemory()
		c := &client{complete: func(context.Context, int, *eval.Request) (eval.Response, error) {
			return eval.Response{Text: test.text, Stop: test.stop, Usage: test.sent, Refusal: test.refusal}, nil
		}}
		bench := performer{f: func(ctx context.Context, _ eval.Trial, ask eval.Asker) (eval.Outcome, error) {
			_, err := ask.Ask(ctx, "s", eval.Request{Model: "m", System: strings.Repeat("x", 300), Reasoning: eval.Reasoning{Budget: 50}})
			return eval.Outcome{Kind: eval.OK}, err
		}}
		perform(t, quick, j, models(c), bench, trials(1, false))
		for _, call := range j.calls {
			u := call.Response.Usage
			if got := u.TotalInput() + u.TotalOutput(); got != test.want || u.Input != test.input || u.Estimated != (test.want != 5 && test.want != 16) {
				t.Errorf("%s: %+v, %d tokens, want %d", test.name, u, got, test.want)
			}
		}
	}
}

// An embedding has no output: the vectors are not tokens.
func TestEmbeddingsHaveNoOutput(t *testing.T) {
	for _, sent := range []eval.Usage{{}, {Input: 108}} {
		c := &client{complete: func(context.Context, int, *eval.Request) (eval.Response, error) {
			return eval.Response{Text: strings.Repeat("vector", 1000), Stop: eval.StopEnd, Usage: sent}, nil
		}}
		e := run.New(quick, newMemory(), models(c), run.Spent{}, nil)
		err := e.Embed(t.Context(), nil, trials(1, false), func(ctx context.Context, _ run.Task, ask eval.Asker) error {
			_, err := ask.Ask(ctx, "s", eval.Request{Model: "m", System: strings.Repeat("x", 300)})
			return err
		})
		if got := e.Spent().Tokens; err != nil || got != 108 {
			t.Errorf("%+v: %d tokens, %v; want 108", sent, got, err)
		}
	}
}

// A judged is a bench whose judge asks once a trial and keeps the error.
type judged struct{ eval.Bench }

func (judged) Arms() []eval.Arm { return []eval.Arm{{ID: "a", Judges: []string{"m"}}} }

func (judged) Judge(ctx context.Context, t eval.Trial, _ eval.Outcome, ask eval.Asker) ([]eval.Verdict, error) {
	_, err := ask.Ask(ctx, "judge", eval.Request{Model: "m", Item: t.Item})
	var call *run.CallError
	if errors.As(err, &call) && !call.Fatal() {
		return []eval.Verdict{{Step: "judge", Err: err.Error()}}, nil
	}
	return []eval.Verdict{{Step: "judge", Data: []byte("yes")}}, err
}

// A judge that rejects an item leaves its verdict out, and one that rejects all ends
// the run without verdicts.
func TestRejectionsOfAJudge(t *testing.T) {
	for rejected, want := range map[int]int{1: 40, 40: 0} {
		c := series(func(item int) error {
			if item < rejected {
				return rejection
			}
			return nil
		})
		j := newMemory()
		err := run.New(quick, j, models(c), run.Spent{}, nil).Judge(t.Context(), judged{}, nil, trials(40, false))
		if (err != nil) != (want == 0) || j.judged != want {
			t.Errorf("%d rejected: %d judged, %v", rejected, j.judged, err)
		}
	}
}
