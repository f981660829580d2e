package run_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"
	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
	"github.com/scruple-eval/scruple/internal/run"
)

// memory is an in-memory journal that can fail on request.
type memory struct {
	mu       sync.Mutex
	calls    map[string]eval.Call
	outcomes map[eval.Trial]eval.Outcome
	full     bool
	sent     int // attempts recorded
	unsure   int // of them those that were not waited for
	judged   int // trials
}

func newMemory() *memory {
	return &memory{calls: map[string]eval.Call{}, outcomes: map[eval.Trial]eval.Outcome{}}
}

func id(t eval.Trial, s eval.Stage, step string) string { return fmt.Sprint(t, s, step) }

func (m *memory) Append(c *eval.Call) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.full {
		return errors.New("disk full")
	}
	m.calls[id(c.Trial, c.Stage, c.Step)] = *c
	return nil
}

func (m *memory) Attempt(_ *eval.Call, wait bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.full {
		return errors.New("disk full")
	}
	m.sent++
	if !wait {
		m.unsure++
	}
	return nil
}

func (m *memory) Lookup(_ context.Context, t eval.Trial, s eval.Stage, step string) (eval.Call, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, ok := m.calls[id(t, s, step)]
	return c, ok, nil
}

// Take finds answers as store.Journal does, but knows one run alone.
func (m *memory) Take(_ context.Context, c *eval.Call, _, shared bool) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, from := range m.calls {
		if shared && from.Key == c.Key && from.Stage == c.Stage && from.ErrKind == "" {
			c.Response, c.CostUSD, c.SourceRun = from.Response, from.CostUSD, "r"
			return true, nil
		}
	}
	return false, nil
}

func (m *memory) Outcome(t eval.Trial, o eval.Outcome) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.outcomes[t] = o
	return nil
}

func (m *memory) Judged(eval.Trial, []eval.Verdict) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.judged++
	return nil
}

// steps is a bench whose trials ask a number of steps, one after the other.
type steps struct {
	eval.Bench
	n    int
	text string
}

func (steps) Capabilities() (none eval.Capabilities) { return none }

func (b steps) Perform(ctx context.Context, t eval.Trial, ask eval.Asker) (eval.Outcome, error) {
	var answer eval.Response
	for i := range b.n {
		var err error
		answer, err = ask.Ask(ctx, fmt.Sprintf("step %d", i), eval.Request{Model: "m", Item: t.Item, System: b.text + answer.Text})
		if err != nil {
			return eval.Outcome{}, err
		}
	}
	return eval.Outcome{Kind: eval.OK, Data: []byte(answer.Text)}, nil
}

// A performer is a bench whose trials are a function.
type performer struct {
	eval.Bench
	f func(context.Context, eval.Trial, eval.Asker) (eval.Outcome, error)
}

func (performer) Capabilities() (none eval.Capabilities) { return none }

func (p performer) Perform(ctx context.Context, t eval.Trial, ask eval.Asker) (eval.Outcome, error) {
	return p.f(ctx, t, ask)
}

// client answers by a function of the number of earlier requests.
type client struct {
	n        atomic.Int64
	inside   atomic.Int64
	peak     atomic.Int64
	complete func(ctx context.Context, n int, r *eval.Request) (eval.Response, error)
}

func (c *client) Complete(ctx context.Context, r *eval.Request) (eval.Response, error) {
	if in := c.inside.Add(1); in > c.peak.Load() {
		c.peak.Store(in)
	}
	defer c.inside.Add(-1)
	return c.complete(ctx, int(c.n.Add(1)), r)
}

// replying answers with the length of the request, or with the error of fail.
func replying(fail func(n int, r *eval.Request) error) *client {
	return &client{complete: func(_ context.Context, n int, r *eval.Request) (eval.Response, error) {
		if fail != nil {
			if err := fail(n, r); err != nil {
				return eval.Response{}, err
			}
		}
		return eval.Response{Text: fmt.Sprint("answer to ", len(r.System)), Usage: eval.Usage{Input: 3, Output: 2}}, nil
	}}
}

func delayed(d time.Duration) *client {
	return replying(func(int, *eval.Request) error {
		time.Sleep(d)
		return nil
	})
}

func models(c model.Client) map[string]*run.Model {
	return map[string]*run.Model{"m": {Client: c, Group: "g", Cost: func(eval.Usage) float64 { return 0.5 }}}
}

func trials(n int, called bool) iter.Seq2[run.Task, error] { return replicated(n, 1, called) }

func replicated(items, replicates int, called bool) iter.Seq2[run.Task, error] {
	return func(yield func(run.Task, error) bool) {
		for n := range items * replicates {
			t := eval.Trial{Item: fmt.Sprint("item ", n/replicates), Arm: "a", Replicate: n%replicates + 1}
			if !yield(run.Task{Trial: t, Called: called}, nil) {
				return
			}
		}
	}
}

func perform(t *testing.T, s run.Settings, j *memory, m map[string]*run.Model, b eval.Bench, tasks iter.Seq2[run.Task, error]) {
	t.Helper()
	if err := run.New(s, j, m, run.Spent{}, nil).Perform(t.Context(), b, nil, tasks); err != nil {
		t.Fatal(err)
	}
}

var quick = run.Settings{Concurrency: 4, Retries: []time.Duration{10 * time.Second, 30 * time.Second}, Timeout: time.Minute}

func TestAStartedTrialIsContinuedForFree(t *testing.T) {
	j := newMemory()
	broken := replying(func(n int, _ *eval.Request) error {
		if n == 3 {
			return &model.Error{Kind: eval.ErrAuth, Message: "no"}
		}
		return nil
	})
	bench := steps{n: 4, text: "x"}
	err := run.New(quick, j, models(broken), run.Spent{}, nil).Perform(t.Context(), bench, nil, trials(1, false))
	var call *run.CallError
	if !errors.As(err, &call) || !call.Fatal() {
		t.Fatalf("an auth error gave %v", err)
	}
	if len(j.outcomes) != 0 {
		t.Error("a canceled trial has an outcome")
	}
	again := replying(nil)
	perform(t, quick, j, models(again), bench, trials(1, true))
	if again.n.Load() != 2 {
		t.Errorf("%d requests in the second session, want the 2 that had no answer", again.n.Load())
	}
}

// A request that differs from the journal fails its trial, also one that is a step
// late, and the other trials go on. No answer is asked for again.
func TestAChangedRequestFailsItsTrial(t *testing.T) {
	j := newMemory()
	perform(t, quick, j, models(replying(nil)), steps{n: 2, text: "old"}, trials(3, false))
	again := replying(nil)
	perform(t, quick, j, models(again), performer{f: func(ctx context.Context, t eval.Trial, ask eval.Asker) (eval.Outcome, error) {
		if t.Item == "item 1" {
			return steps{n: 2, text: "new"}.Perform(ctx, t, ask)
		}
		return steps{n: 2, text: "old"}.Perform(ctx, t, ask)
	}}, trials(3, true))
	for trial, o := range j.outcomes {
		switch failed := trial.Item == "item 1"; {
		case failed && (o.Kind != eval.Failed || o.Reason != "changed_request" || !strings.Contains(o.Detail, "system: was ") || !strings.Contains(o.Detail, "--new")):
			t.Errorf("the changed trial ended with %+v", o)
		case !failed && o.Kind != eval.OK:
			t.Errorf("%v ended with %+v", trial, o)
		}
	}
	if n := again.n.Load(); n != 0 || len(j.outcomes) != 3 {
		t.Errorf("%d requests, %d outcomes, want 0 and 3", n, len(j.outcomes))
	}
}

func TestRetriesFollowTheScheduleAndRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failing := func(failures int, e model.Error) *client {
			return replying(func(n int, _ *eval.Request) error {
				if n <= failures {
					return &e
				}
				return nil
			})
		}
		for _, c := range []struct {
			name   string
			client *client
			took   time.Duration
			kind   eval.OutcomeKind
			reason string
			tries  int64
		}{
			{"two failures", failing(2, model.Error{Kind: eval.ErrUnavailable}), 40 * time.Second, eval.OK, "", 3},
			{"retry-after", failing(1, model.Error{Kind: eval.ErrRateLimited, RetryAfter: 7 * time.Second}), 7 * time.Second, eval.OK, "", 2},
			{"never", failing(99, model.Error{Kind: eval.ErrMalformed}), 40 * time.Second, eval.Failed, "malformed", 3},
			{"final", failing(99, model.Error{Kind: eval.ErrUnavailable, Final: true}), 0, eval.Failed, "unavailable", 1},
		} {
			j := newMemory()
			begun := time.Now()
			if err := run.New(quick, j, models(c.client), run.Spent{}, nil).Perform(t.Context(), steps{n: 1}, nil, trials(1, false)); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			o := j.outcomes[eval.Trial{Item: "item 0", Arm: "a", Replicate: 1}]
			if took := time.Since(begun); took != c.took || o.Kind != c.kind || o.Reason != c.reason || c.client.n.Load() != c.tries {
				t.Errorf("%s: took %v, %s %q after %d tries", c.name, took, o.Kind, o.Reason, c.client.n.Load())
			}
			for _, call := range j.calls {
				if int64(call.Attempts) != c.tries {
					t.Errorf("%s: the journal says %d attempts", c.name, call.Attempts)
				}
			}
		}
	})
}

// Whatever becomes of requests, what is counted is at least what a provider counted: all that it
// received, answered in time or not.
func TestWhatIsCountedIsAtLeastWhatWasSent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var mu sync.Mutex
		paid, ends := 0, rapid.SliceOfN(rapid.IntRange(0, 6), 20, 20).Draw(t, "ends")
		c := replying(func(n int, _ *eval.Request) error {
			mu.Lock()
			defer mu.Unlock()
			paid++
			switch ends[n-1] {
			case 0:
				return context.DeadlineExceeded
			case 1:
				return io.ErrUnexpectedEOF
			case 2:
				return &model.Error{Kind: eval.ErrTimeout, Status: 504}
			case 3:
				paid--
				return &model.Error{Kind: eval.ErrUnavailable, Status: 500}
			case 4:
				return &model.Error{Kind: eval.ErrMalformed, Status: 200}
			case 5:
				return &model.Error{Kind: eval.ErrUnavailable, Status: 200}
			}
			return nil
		})
		answer := c.complete
		c.complete = func(ctx context.Context, n int, r *eval.Request) (eval.Response, error) {
			response, err := answer(ctx, n, r)
			if ends[n-1] == 5 {
				response.Usage = eval.Usage{Input: 3, Output: 2}
			}
			return response, err
		}
		s := quick
		s.Concurrency, s.Retries = 1, make([]time.Duration, 3)
		p, m := &refusals{}, models(c)
		m["m"].Pace = p
		e := run.New(s, newMemory(), m, run.Spent{}, nil)
		if err := e.Perform(context.Background(), steps{n: 1}, nil, trials(5, false)); err != nil {
			t.Fatal(err)
		}
		spent := e.Spent()
		if p.used != spent.Tokens {
			t.Fatalf("%d tokens count in tokens_per_minute, and %d in the budget", p.used, spent.Tokens)
		}
		if spent.Tokens < 5*paid || spent.Cost != float64(paid)/2 {
			t.Fatalf("%d tokens and $%v are counted, and %d requests were paid", spent.Tokens, spent.Cost, paid)
		}
	})
}

// A refusals pace notes for how long a model is closed for all, and the tokens used.
type refusals struct {
	run.Closing
	used  int
	waits []time.Duration
}

func (*refusals) Free() bool                                 { return true }
func (*refusals) Wait(context.Context, <-chan struct{}) bool { return true }
func (p *refusals) Used(u eval.Usage)                        { p.used += u.TotalInput() + u.TotalOutput() }
func (p *refusals) Refused(wait time.Duration)               { p.waits = append(p.waits, wait) }

// A model is closed for others while a call waits, not for hours after which no call waits.
func TestLongDelaysCloseNoModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &refusals{}
		c := replying(func(n int, _ *eval.Request) error {
			return &model.Error{Kind: eval.ErrRateLimited, RetryAfter: []time.Duration{time.Minute, 5 * time.Hour}[n-1]}
		})
		m := models(c)
		m["m"].Pace = p
		perform(t, quick, newMemory(), m, steps{n: 1}, trials(1, false))
		if len(p.waits) != 1 || p.waits[0] != time.Minute {
			t.Errorf("closed for %v, want a minute", p.waits)
		}
	})
}

func TestAHangingProviderEndsInATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := &client{complete: func(ctx context.Context, _ int, _ *eval.Request) (eval.Response, error) {
			<-ctx.Done()
			return eval.Response{}, ctx.Err()
		}}
		j := newMemory()
		perform(t, quick, j, models(hang), steps{n: 1}, trials(2, false))
		for trial, o := range j.outcomes {
			if o.Kind != eval.Failed || o.Reason != "timeout" {
				t.Errorf("%v: %+v", trial, o)
			}
		}
		if len(j.outcomes) != 2 || hang.n.Load() != 6 {
			t.Errorf("%d outcomes, %d tries", len(j.outcomes), hang.n.Load())
		}
	})
}

func TestConcurrencyIsBoundedAndUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := delayed(50 * time.Millisecond)
		begun := time.Now()
		perform(t, quick, newMemory(), models(slow), steps{n: 1}, trials(400, false))
		if slow.peak.Load() != 4 {
			t.Errorf("%d calls at a time, want 4", slow.peak.Load())
		}
		if took := time.Since(begun); took != 5*time.Second { // 400 calls of 50 ms, 4 at a time
			t.Errorf("took %v, want 5s", took)
		}
	})
}

// One of n parts is of the calls of all models together, and grows again.
func TestAPartOfTheConcurrencyIsOfAllModels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := delayed(50 * time.Millisecond)
		both := map[string]*run.Model{"m": {Client: c, Group: "m"}, "n": {Client: c, Group: "n"}}
		bench := performer{f: func(ctx context.Context, t eval.Trial, ask eval.Asker) (eval.Outcome, error) {
			model := "m"
			if strings.HasSuffix(t.Item, "5") {
				model = "n"
			}
			_, err := ask.Ask(ctx, "s", eval.Request{Model: model, Item: t.Item})
			return eval.Outcome{Kind: eval.OK}, err
		}}
		e := run.New(quick, newMemory(), both, run.Spent{}, nil)
		for _, c2 := range []struct {
			parts int
			most  int64
		}{{1, 4}, {2, 2}, {9, 1}, {1, 4}} {
			c.peak.Store(0)
			e.Share(c2.parts)
			if err := e.Perform(t.Context(), bench, nil, trials(40, false)); err != nil {
				t.Fatal(err)
			}
			if c.peak.Load() != c2.most {
				t.Errorf("%d calls at a time as one of %d, want %d", c.peak.Load(), c2.parts, c2.most)
			}
		}
	})
}

// Models that share a provider's limit use the lowest of their limits.
func TestTheLowestCeilingOfAGroupHolds(t *testing.T) {
	for range 8 { // for any map order
		c, group := replying(nil), map[string]*run.Model{}
		for i, id := range []string{"m", "n", "o"} {
			group[id] = &run.Model{Client: c, Group: "g", Concurrency: 1 + i}
		}
		perform(t, quick, newMemory(), group, steps{n: 1}, trials(50, false))
		if c.peak.Load() != 1 {
			t.Errorf("%d calls at a time, want 1", c.peak.Load())
		}
	}
}

// A provider that rejects everything must not block the other.
func TestWaitingTrialsHoldNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := replying(func(_ int, r *eval.Request) error {
			if strings.HasSuffix(r.Item, "0") || strings.HasSuffix(r.Item, "5") {
				return &model.Error{Kind: eval.ErrUnavailable}
			}
			time.Sleep(time.Second)
			return nil
		})
		begun := time.Now()
		j := newMemory()
		perform(t, quick, j, models(c), steps{n: 1}, trials(200, false))
		// 160 good calls of 1 s by four are 40 s; the failing ones wait 10 s and 30 s beside them. If they
		// kept their places, 40 times 40 s by at most eight would take 200 s.
		if took := time.Since(begun); took > 82*time.Second {
			t.Errorf("took %v: waiting trials blocked others", took)
		}
		if len(j.outcomes) != 200 {
			t.Errorf("%d outcomes", len(j.outcomes))
		}
	})
}

// A trial whose parallel steps all wait must not deadlock the run.
type parallel struct{ eval.Bench }

func (parallel) Capabilities() (none eval.Capabilities) { return none }

func (parallel) Perform(ctx context.Context, t eval.Trial, ask eval.Asker) (eval.Outcome, error) {
	var wg sync.WaitGroup
	errs := make([]error, 12)
	for i := range errs {
		wg.Go(func() {
			_, errs[i] = ask.Ask(ctx, fmt.Sprint("step ", i), eval.Request{Model: "m", Item: t.Item, System: fmt.Sprint(i)})
		})
	}
	wg.Wait()
	return eval.Outcome{Kind: eval.OK}, errors.Join(errs...)
}

func TestParallelStepsThatAllWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := replying(func(n int, _ *eval.Request) error {
			if n%2 == 1 {
				return &model.Error{Kind: eval.ErrOverloaded}
			}
			return nil
		})
		s := quick
		s.Concurrency, s.Retries = 2, []time.Duration{time.Second, time.Second, time.Second, time.Second, time.Second, time.Second}
		j := newMemory()
		perform(t, s, j, models(c), parallel{}, trials(20, false))
		if len(j.outcomes) != 20 || len(j.calls) != 240 {
			t.Errorf("%d outcomes, %d calls; want 20 and 240", len(j.outcomes), len(j.calls))
		}
	})
}

func TestAnOverloadedProviderIsAskedLess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c *client
		c = replying(func(int, *eval.Request) error {
			in := c.inside.Load()
			time.Sleep(100 * time.Millisecond)
			if in > 5 {
				return &model.Error{Kind: eval.ErrRateLimited, RetryAfter: time.Second}
			}
			return nil
		})
		s := run.Settings{Concurrency: 64, Retries: make([]time.Duration, 30)}
		j := newMemory()
		perform(t, s, j, models(c), steps{n: 1}, trials(600, false))
		for trial, o := range j.outcomes {
			if o.Kind != eval.OK {
				t.Fatalf("%v: %+v", trial, o)
			}
		}
		if refused := c.n.Load() - 600; refused > 600 {
			t.Errorf("%d refusals for 600 answers: the pace did not adapt", refused)
		}
	})
}

// A provider that takes 50 requests a minute, and says how long to wait for the next, answers all
// of them at about that pace, whoever waits; the model beside it at its own.
func TestAStatedWaitLosesNoTrial(t *testing.T) {
	for _, c := range []struct {
		concurrency, trials int
		takes               time.Duration // an answer
	}{{16, 90, time.Second}, {16, 400, time.Second}, {64, 400, 10 * time.Millisecond}, {2, 100, 10 * time.Millisecond}} {
		synctest.Test(t, func(t *testing.T) {
			bucket, other := rate.NewLimiter(50./60, 50), delayed(c.takes)
			limited := replying(func(int, *eval.Request) error {
				if r := bucket.Reserve(); r.Delay() > 0 {
					wait := r.Delay()
					r.Cancel()
					return &model.Error{Kind: eval.ErrRateLimited, RetryAfter: wait.Truncate(time.Second) + time.Second}
				}
				time.Sleep(c.takes)
				return nil
			})
			s := run.Settings{Concurrency: c.concurrency, Retries: []time.Duration{10 * time.Second, 30 * time.Second, 90 * time.Second}}
			j, begun := newMemory(), time.Now()
			m := map[string]*run.Model{"m": {Client: limited, Group: "m"}, "n": {Client: other, Group: "n"}}
			perform(t, s, j, m, performer{f: func(ctx context.Context, t eval.Trial, ask eval.Asker) (eval.Outcome, error) {
				for _, name := range []string{"m", "n"} {
					if _, err := ask.Ask(ctx, name, eval.Request{Model: name, Item: t.Item}); err != nil {
						return eval.Outcome{}, err
					}
				}
				return eval.Outcome{Kind: eval.OK}, nil
			}}, trials(c.trials, false))
			for trial, o := range j.outcomes {
				if o.Kind != eval.OK {
					t.Fatalf("%+v: %v: %+v", c, trial, o)
				}
			}
			refused := limited.n.Load() - int64(c.trials)
			needed := time.Duration(float64(c.trials-50) * 1.2 * float64(time.Second))
			if took := time.Since(begun); took > needed*3/2+10*time.Second || refused > int64(2*c.trials) {
				t.Errorf("%+v: took %v where the provider needs %v, with %d refusals", c, took, needed, refused)
			}
		})
	}
}

// A request that is never answered uses up its retries, though others are answered: at once if it
// may be paid, else before it holds up the others for long.
func TestAStatedWaitEnds(t *testing.T) {
	for name, c := range map[string]struct {
		failure model.Error
		most    int           // requests for the item
		longest time.Duration // that the run takes
	}{
		"paid":     {model.Error{Kind: eval.ErrTimeout, RetryAfter: 2 * time.Second}, 4, 3 * time.Minute},
		"too much": {model.Error{Kind: eval.ErrRateLimited, RetryAfter: time.Minute}, 14, 20 * time.Minute},
		"at once":  {model.Error{Kind: eval.ErrRateLimited, RetryAfter: time.Second}, 24, 5 * time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			asked := 0
			c2 := replying(func(_ int, r *eval.Request) error {
				if r.Item == "item 7" {
					asked++
					failure := c.failure
					return &failure
				}
				time.Sleep(time.Second)
				return nil
			})
			s := run.Settings{Concurrency: 16, Retries: []time.Duration{10 * time.Second, 30 * time.Second, 90 * time.Second}}
			j, begun := newMemory(), time.Now()
			perform(t, s, j, models(c2), steps{n: 1}, trials(1000, false))
			if took := time.Since(begun); asked > c.most || took > c.longest || len(j.outcomes) != 1000 {
				t.Errorf("%s: asked %d times, took %v, %d outcomes", name, asked, took, len(j.outcomes))
			}
		})
	}
}

// What a program takes is what it says, and else not known. To read a stored answer costs nothing.
func TestACostNobodySaysIsUnknown(t *testing.T) {
	said := 0.25
	for name, c := range map[string]struct {
		usage  eval.Usage
		stored bool
		want   float64
	}{
		"nothing":         {eval.Usage{Uncounted: true}, false, math.NaN()},
		"tokens":          {eval.Usage{Input: 3, Output: 2}, false, math.NaN()},
		"incredible":      {eval.Usage{Input: 1 << 50, CostUSD: &said}, false, said},
		"a cost":          {eval.Usage{Uncounted: true, CostUSD: &said}, false, said},
		"a stored answer": {eval.Usage{}, true, 0},
	} {
		client := &client{complete: func(context.Context, int, *eval.Request) (eval.Response, error) {
			return eval.Response{Text: "answer", Usage: c.usage}, nil
		}}
		j := newMemory()
		e := run.New(quick, j, map[string]*run.Model{"m": {Client: client, Group: "g", Stored: c.stored}}, run.Spent{}, nil)
		if err := e.Perform(t.Context(), steps{n: 1}, nil, trials(1, false)); err != nil {
			t.Fatal(err)
		}
		for _, call := range j.calls {
			if math.IsNaN(call.CostUSD) != math.IsNaN(c.want) || call.CostUSD != c.want && !math.IsNaN(c.want) {
				t.Errorf("%s: $%v, want $%v", name, call.CostUSD, c.want)
			}
			if counted := name == "tokens" || c.stored; call.Response.Usage.Uncounted == counted || call.Response.Usage.Estimated {
				t.Errorf("%s: usage %+v", name, call.Response.Usage)
			}
		}
		if spent := e.Spent(); (spent.Unpriced == 1) != math.IsNaN(c.want) || spent.Uncounted != 0 && name == "tokens" {
			t.Errorf("%s: spent %+v", name, spent)
		}
	}
}

// A request that may be paid has an unknown cost if the model has no price.
func TestALostRequestWithoutAPriceIsUnpriced(t *testing.T) {
	for price, want := range map[float64]int{math.NaN(): 3, 0: 0, 0.5: 0} {
		c := replying(func(n int, _ *eval.Request) error {
			return []error{context.DeadlineExceeded, &model.Error{Kind: eval.ErrMalformed, Status: 200}, &model.Error{Kind: eval.ErrUnavailable, Status: 500}, nil}[n-1]
		})
		s, m := quick, models(c)
		s.Concurrency, s.Retries, m["m"].Cost = 1, make([]time.Duration, 3), func(eval.Usage) float64 { return price }
		j := newMemory()
		e := run.New(s, j, m, run.Spent{}, nil)
		if err := e.Perform(t.Context(), steps{n: 1}, nil, trials(1, false)); err != nil {
			t.Fatal(err)
		}
		if spent := e.Spent(); spent.Calls != 4 || spent.Unpriced != want || math.IsNaN(spent.Cost) {
			t.Errorf("price %v: spent %+v, want %d requests of unknown cost", price, spent, want)
		}
		for _, call := range j.calls {
			for i, sent := range call.Sent {
				if math.IsNaN(sent.CostUSD) != math.IsNaN(price) {
					t.Errorf("price %v: request %d costs %v", price, i, sent.CostUSD)
				}
			}
		}
	}
}

func TestBudgetsStopCleanlyAndCountEarlierSessions(t *testing.T) {
	for name, c := range map[string]struct {
		budget run.Budget
		spent  run.Spent
		want   int // answers of this session, one at a time
		said   string
	}{
		"calls":           {run.Budget{Calls: 10}, run.Spent{}, 10, "10 of 10 calls"},
		"calls continued": {run.Budget{Calls: 10}, run.Spent{Calls: 7}, 3, "10 of 10 calls"},
		"tokens":          {run.Budget{Tokens: 20}, run.Spent{}, 4, "20 of 20 tokens"}, // 5 tokens per call
		"cost":            {run.Budget{Cost: 2}, run.Spent{Cost: 1}, 2, "$2.0000 of $2.0000"},
	} {
		s := quick
		s.Concurrency, s.Budget = 1, c.budget
		j := newMemory()
		err := run.New(s, j, models(replying(nil)), c.spent, nil).Perform(t.Context(), steps{n: 1}, nil, trials(50, false))
		if !errors.Is(err, run.ErrStopped) || !strings.HasSuffix(err.Error(), ": "+c.said) {
			t.Errorf("%s: %v", name, err)
		}
		if len(j.calls) != c.want || len(j.outcomes) != c.want {
			t.Errorf("%s: %d calls, %d outcomes, want %d", name, len(j.calls), len(j.outcomes), c.want)
		}
	}
}

// Nothing is asked for answers of a file or of another run, so limits on requests do not hold for them.
func TestStoredAnswersAreNoRequests(t *testing.T) {
	s, j := quick, newMemory()
	s.Budget, s.Session = run.Budget{Calls: 1}, 1
	m := models(replying(func(n int, _ *eval.Request) error {
		if n == 3 {
			return &model.Error{Kind: eval.ErrUnavailable, Final: true, Message: "no answer"}
		}
		return nil
	}))
	m["m"].Stored = true
	e := run.New(s, j, m, run.Spent{}, nil)
	if err := e.Perform(t.Context(), steps{n: 1}, nil, trials(8, false)); err != nil {
		t.Fatal(err)
	}
	if spent := e.Spent(); spent.Calls != 0 || spent.Cost != 0 || len(j.outcomes) != 8 {
		t.Errorf("spent %+v, %d outcomes", spent, len(j.outcomes))
	}
	for _, c := range j.calls {
		if c.Attempts != 0 || len(c.Sent) != 0 {
			t.Errorf("a request for a stored answer: %+v", c)
		}
	}
}

// Calls that wait while a part of a shared budget is drawn are not sent when there is none,
// and with a budget each is on disk before it is sent.
func TestASharedBudgetIsNotExceeded(t *testing.T) {
	const most, concurrency = 10, 16
	s := quick
	s.Concurrency, s.Budget = concurrency, run.Budget{Calls: 4}
	draws := 0
	s.Draw = func(spent run.Spent) (run.Budget, error) {
		draws++
		time.Sleep(50 * time.Millisecond) // the others have looked whether the run stops
		if spent.Calls >= most {
			return run.Budget{}, fmt.Errorf("%w: all of it", run.ErrBudget)
		}
		return run.Budget{Calls: min(most, spent.Calls+3)}, nil
	}
	j, c := newMemory(), delayed(100*time.Millisecond)
	err := run.New(s, j, models(c), run.Spent{}, nil).Perform(t.Context(), steps{n: 1}, nil, trials(50, false))
	if !errors.Is(err, run.ErrStopped) || !errors.Is(err, run.ErrBudget) {
		t.Error(err)
	}
	if c.n.Load() != most || j.unsure > 0 {
		t.Errorf("%d requests with a budget of %d, %d before they were on disk", c.n.Load(), most, j.unsure)
	}
	if draws != 3 {
		t.Errorf("%d draws, want two of three calls each, and one of nothing", draws)
	}
}

// A request that a client sends again without a refused parameter counts like the others, so
// that a session never sends more than it may.
func TestRequestsSentAgainCount(t *testing.T) {
	again := &client{complete: func(ctx context.Context, n int, r *eval.Request) (eval.Response, error) {
		if err := model.Resend(ctx); err != nil {
			return eval.Response{}, err
		}
		return eval.Response{Text: "ok"}, nil
	}}
	j := newMemory()
	perform(t, run.Settings{Concurrency: 1}, j, models(again), steps{n: 1}, trials(3, false))
	for _, c := range j.calls {
		if len(c.Sent) != 2 || c.Attempts != 2 || c.Sent[0].Err != eval.ErrBadRequest || c.Sent[1].Err != "" || !c.Sent[0].Ended || !c.Sent[1].Ended {
			t.Errorf("%v: %d attempts, %+v", c.Trial, c.Attempts, c.Sent)
		}
	}
	j = newMemory()
	err := run.New(run.Settings{Concurrency: 1, Budget: run.Budget{Calls: 3}}, j, models(again), run.Spent{}, nil).Perform(t.Context(), steps{n: 1}, nil, trials(3, false))
	if !errors.Is(err, run.ErrStopped) || len(j.calls) != 1 || len(j.outcomes) != 1 {
		t.Errorf("%v: %d calls, %d outcomes; want a stop within the second of three", err, len(j.calls), len(j.outcomes))
	}
}

func TestStopLetsCallsUnderWayEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newMemory()
		e := run.New(quick, j, models(delayed(10*time.Second)), run.Spent{}, nil)
		time.AfterFunc(15*time.Second, func() { e.Stop(errors.New("enough")) })
		err := e.Perform(t.Context(), steps{n: 1}, nil, trials(50, false))
		if !errors.Is(err, run.ErrStopped) {
			t.Fatal(err)
		}
		if len(j.calls) != 8 || len(j.outcomes) != 8 { // 4 until 10 s, 4 until 20 s
			t.Errorf("%d calls, %d outcomes, want 8: calls in flight were lost", len(j.calls), len(j.outcomes))
		}
	})
}

func TestAnAnswerThatCannotBeKeptEndsTheRun(t *testing.T) {
	j := newMemory()
	j.full = true
	err := run.New(quick, j, models(replying(nil)), run.Spent{}, nil).Perform(t.Context(), steps{n: 1}, nil, trials(50, false))
	if err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("full disk: %v", err)
	}
	if len(j.outcomes) != 0 {
		t.Error("an answer that is not durable was used")
	}
}

// Answers that are there already are not waited for.
func TestNoDelayAfterReusedAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j, c := newMemory(), replying(nil)
		perform(t, quick, j, models(c), steps{n: 1}, replicated(2, 3, false))
		s := quick
		s.Delay = time.Hour
		asked, begun := c.n.Load(), time.Now()
		perform(t, s, j, models(c), steps{n: 1}, replicated(2, 3, true))
		if took := time.Since(begun); took > 0 || c.n.Load() > asked {
			t.Errorf("%d requests, took %v", c.n.Load()-asked, took)
		}
	})
}

func TestReplicatesKeepTheirDistance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := quick
		s.Delay = 5 * time.Second
		var mu sync.Mutex
		last := map[string]time.Time{}
		c := replying(func(_ int, r *eval.Request) error {
			mu.Lock()
			defer mu.Unlock()
			if before, ok := last[r.Item]; ok && time.Since(before) < 5*time.Second {
				t.Errorf("replicate %d of %s came after %v", r.Replicate, r.Item, time.Since(before))
			}
			last[r.Item] = time.Now()
			return nil
		})
		begun := time.Now()
		perform(t, s, newMemory(), models(c), steps{n: 1}, replicated(3, 3, false))
		if took := time.Since(begun); took != 10*time.Second {
			t.Errorf("took %v, want 10s: different items run side by side", took)
		}
	})
}

func TestAStepIsAskedOnce(t *testing.T) {
	twice := performer{f: func(ctx context.Context, _ eval.Trial, ask eval.Asker) (eval.Outcome, error) {
		for range 2 {
			if _, err := ask.Ask(ctx, "same", eval.Request{Model: "m"}); err != nil {
				return eval.Outcome{}, err
			}
		}
		return eval.Outcome{}, nil
	}}
	err := run.New(quick, newMemory(), models(replying(nil)), run.Spent{}, nil).Perform(t.Context(), twice, nil, trials(1, false))
	if err == nil || !strings.Contains(err.Error(), "unique") {
		t.Errorf("a step asked twice: %v", err)
	}
}

func TestReplicatesNeverShareAKey(t *testing.T) {
	j := newMemory()
	perform(t, quick, j, models(replying(nil)), steps{n: 1}, replicated(1, 2, false))
	keys := map[string]bool{}
	for _, c := range j.calls {
		keys[c.Key] = true
	}
	if len(keys) != 2 {
		t.Errorf("two replicates have %d keys", len(keys))
	}
}

var errKilled = errors.New("killed")

// TestAnOptionalStepMayFail: the trial continues without the answer. When it is
// performed again, the failure is the same and no request is repeated. An error in
// the study still ends the run.
func TestAnOptionalStepMayFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		trial := eval.Trial{Item: "item 0", Arm: "a", Replicate: 1}
		var died bool
		bench := performer{f: func(ctx context.Context, _ eval.Trial, ask eval.Asker) (eval.Outcome, error) {
			_, err := ask.Ask(ctx, "maybe", eval.Request{Model: "m", System: "maybe", Optional: true})
			said := "answered"
			if none := (*eval.NoAnswer)(nil); errors.As(err, &none) {
				said = none.Error()
			} else if err != nil {
				return eval.Outcome{}, err
			}
			if _, err := ask.Ask(ctx, "then", eval.Request{Model: "m", System: "then, " + said}); err != nil {
				return eval.Outcome{}, err
			}
			if died {
				return eval.Outcome{}, errKilled
			}
			return eval.Outcome{Kind: eval.OK, Data: []byte(said)}, nil
		}}
		for _, c := range []struct {
			failure  model.Error
			requests int64 // of the first session
			want     string
			fatal    bool
		}{
			{model.Error{Kind: eval.ErrUnavailable}, 4, "no answer: unavailable", false},
			{model.Error{Kind: eval.ErrRefused}, 2, "no answer: refused", false},
			{model.Error{Kind: eval.ErrBadRequest}, 1, "", true}, // of the only trial
			{model.Error{Kind: eval.ErrAuth}, 1, "", true},
			{model.Error{Kind: eval.ErrRateLimited, RetryAfter: time.Hour}, 1, "", false}, // the trial failed, to be retried later
		} {
			failing := replying(func(_ int, r *eval.Request) error {
				if r.System == "maybe" {
					return &c.failure
				}
				return nil
			})
			j := newMemory()
			died = true
			err := run.New(quick, j, models(failing), run.Spent{}, nil).Perform(t.Context(), bench, nil, trials(1, false))
			if failing.n.Load() != c.requests {
				t.Errorf("%v: %d requests, want %d", c.failure.Kind, failing.n.Load(), c.requests)
			}
			if fatal := err != nil && !errors.Is(err, errKilled); fatal != c.fatal {
				t.Errorf("%v: ends the run: %v (%v)", c.failure.Kind, fatal, err)
			}
			if c.want == "" {
				if o, ok := j.outcomes[trial]; ok && o.Kind != eval.Failed {
					t.Errorf("%v: %+v", c.failure.Kind, o)
				}
				continue
			}
			died = false
			healthy := replying(nil)
			if err := run.New(quick, j, models(healthy), run.Spent{}, nil).Perform(t.Context(), bench, nil, trials(1, true)); err != nil {
				t.Fatalf("%v: %v", c.failure.Kind, err)
			}
			if o := j.outcomes[trial]; o.Kind != eval.OK || string(o.Data) != c.want || healthy.n.Load() != 0 {
				t.Errorf("%v: continued as %s %q with %d requests", c.failure.Kind, o.Kind, o.Data, healthy.n.Load())
			}
		}
	})
}

// heavy is a bench whose trials hold some bytes each and last a second.
type heavy struct {
	performer
	bytes int
}

func (h heavy) Capabilities() eval.Capabilities {
	return eval.Capabilities{Weight: func(eval.Trial) int { return h.bytes }}
}

// Trials are begun as far as what they hold fits; one alone always is.
func TestTrialsInProgressAreBoundedByWhatTheyHold(t *testing.T) {
	for bytes, want := range map[int]int64{14 << 20: 2, 1 << 30: 1, 0: 16} {
		synctest.Test(t, func(t *testing.T) {
			var inside, peak atomic.Int64
			b := heavy{performer{f: func(context.Context, eval.Trial, eval.Asker) (eval.Outcome, error) {
				if n := inside.Add(1); n > peak.Load() {
					peak.Store(n)
				}
				time.Sleep(time.Second)
				inside.Add(-1)
				return eval.Outcome{Kind: eval.OK}, nil
			}}, bytes}
			j := newMemory()
			perform(t, run.Settings{Concurrency: 8}, j, nil, b, trials(40, false))
			if len(j.outcomes) != 40 || peak.Load() != want {
				t.Errorf("%d MB each: %d trials at a time, want %d; %d of 40 done", bytes>>20, peak.Load(), want, len(j.outcomes))
			}
		})
	}
}

// No more trials are begun than keep the provider busy: what waits for a place there
// holds its prompts and its stack.
func TestTrialsThatWaitForAProviderAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var inside, peak atomic.Int64
		ask := steps{n: 1}
		b := performer{f: func(ctx context.Context, trial eval.Trial, asker eval.Asker) (eval.Outcome, error) {
			peak.Store(max(peak.Load(), inside.Add(1)))
			defer inside.Add(-1)
			return ask.Perform(ctx, trial, asker)
		}}
		j := newMemory()
		perform(t, quick, j, models(delayed(time.Second)), b, trials(200, false))
		// In flight, waiting for a place, and begun before the last of these waited.
		if limit := int64(3*quick.Concurrency + 8); len(j.outcomes) != 200 || peak.Load() > limit {
			t.Errorf("%d trials at a time, want at most %d; %d of 200 done", peak.Load(), limit, len(j.outcomes))
		}
	})
}

func (m *memory) SetStale(*eval.Call, bool) error { return nil }

// A local arm that computes for long does not keep a run from ending, and its trial is pending.
func TestLongComputationsAreGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		begun, forever := make(chan bool, 1), make(chan bool)
		b := performer{f: func(context.Context, eval.Trial, eval.Asker) (eval.Outcome, error) {
			begun <- true
			<-forever
			return eval.Outcome{}, nil
		}}
		go func() {
			<-begun
			cancel(run.ErrStopped)
		}()
		j := newMemory()
		if err := run.New(quick, j, models(replying(nil)), run.Spent{}, nil).Perform(ctx, b, nil, trials(1, false)); !errors.Is(err, run.ErrStopped) || len(j.outcomes) > 0 {
			t.Errorf("%v, with %d outcomes", err, len(j.outcomes))
		}
		close(forever)
		synctest.Wait()
		if len(j.outcomes) > 0 {
			t.Error("what was given up is recorded after the end of the run")
		}
	})
}

// What is being recorded when the context ends is recorded before the run ends, however long it takes: the
// journal is closed then.
func TestWhatIsBeingRecordedIsAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		b := performer{f: func(context.Context, eval.Trial, eval.Asker) (eval.Outcome, error) {
			cancel(run.ErrStopped)
			return eval.Outcome{}, nil
		}}
		j := newMemory()
		err := run.New(quick, slow{j}, models(replying(nil)), run.Spent{}, nil).Perform(ctx, b, nil, trials(1, false))
		if !errors.Is(err, run.ErrStopped) || len(j.outcomes) != 1 {
			t.Errorf("%v, with %d outcomes", err, len(j.outcomes))
		}
	})
}

type slow struct{ *memory }

func (s slow) Outcome(t eval.Trial, o eval.Outcome) error {
	time.Sleep(time.Minute)
	return s.memory.Outcome(t, o)
}
