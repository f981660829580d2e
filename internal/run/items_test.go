package run_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/run"
)

// TestItemByItem: the last trial of an item ends before the first of the next begins,
// though places are free; without the setting it does not.
func TestItemByItem(t *testing.T) {
	for _, byItem := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			open := map[string]int{}
			mixed := false
			bench := performer{f: func(ctx context.Context, tr eval.Trial, ask eval.Asker) (eval.Outcome, error) {
				mu.Lock()
				open[tr.Item]++
				mixed = mixed || len(open) > 1
				mu.Unlock()
				_, err := ask.Ask(ctx, "s", eval.Request{Model: "m", Item: tr.Item})
				mu.Lock()
				if open[tr.Item]--; open[tr.Item] == 0 {
					delete(open, tr.Item)
				}
				mu.Unlock()
				return eval.Outcome{Kind: eval.OK}, err
			}}
			s := quick
			s.ItemByItem = byItem
			perform(t, s, newMemory(), models(delayed(time.Second)), bench, replicated(5, 3, false))
			if mixed == byItem {
				t.Errorf("item_by_item %v: trials of two items at a time: %v", byItem, mixed)
			}
		})
	}
}

// TestStopEndsReading: a run that stops does not read the tasks of the items that are left.
func TestStopEndsReading(t *testing.T) {
	for _, byItem := range []bool{true, false} {
		s := quick
		s.ItemByItem = byItem
		e := run.New(s, newMemory(), models(replying(nil)), run.Spent{}, nil)
		bench := performer{f: func(context.Context, eval.Trial, eval.Asker) (eval.Outcome, error) {
			e.Stop(errors.New("enough"))
			return eval.Outcome{Kind: eval.OK}, nil
		}}
		read := 0
		err := e.Perform(t.Context(), bench, nil, func(yield func(run.Task, error) bool) {
			for task, err := range replicated(1000, 3, false) {
				if read++; !yield(task, err) {
					return
				}
			}
		})
		if !errors.Is(err, run.ErrStopped) || read == 3000 {
			t.Errorf("item_by_item %v: %d tasks are read: %v", byItem, read, err)
		}
	}
}

// TestSessionEndsBetweenItems: a session sends no more requests than it may, retries
// included. It ends before the item that does not fit by what the items before it took.
func TestSessionEndsBetweenItems(t *testing.T) {
	for _, test := range []struct {
		limit, retries int // retries per trial
		want           int // trials
	}{
		{limit: 1, want: 1},             // the first item begins in any case, and ends at the limit
		{limit: 3, retries: 1, want: 0}, // three trials failed once, and none may be retried
		{limit: 6, want: 6},             // exactly two items
		{limit: 8, want: 6},             // no third
		{limit: 99, want: 15},           // all
		{limit: 12, retries: 1, want: 6},
		{limit: 11, retries: 1, want: 3},
	} {
		t.Run(fmt.Sprintf("%+v", test), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tried, requests := map[string]int{}, 0
				var mu sync.Mutex
				c := replying(func(_ int, r *eval.Request) error {
					mu.Lock()
					defer mu.Unlock()
					requests++
					key := fmt.Sprint(r.Item, r.Replicate)
					if tried[key]++; tried[key] <= test.retries {
						return errors.New("connection reset by peer")
					}
					return nil
				})
				s, j := quick, newMemory()
				s.Session = test.limit
				err := run.New(s, j, models(c), run.Spent{Calls: 100}, nil).Perform(t.Context(), steps{n: 1}, nil, replicated(5, 3, false))
				if ended := errors.Is(err, run.ErrSessionEnd); ended != (test.want < 15) || err != nil && !ended {
					t.Fatalf("got %v", err)
				}
				if len(j.outcomes) != test.want || requests > test.limit {
					t.Errorf("%d trials with %d requests, want %d", len(j.outcomes), requests, test.want)
				}
			})
		})
	}
}

// TestSessionEndsWithinAnItem: items that need more requests than those before them do not
// exceed the limit, also one at a time. The next sessions finish them and ask no step again.
func TestSessionEndsWithinAnItem(t *testing.T) {
	for _, byItem := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			bench := performer{f: func(ctx context.Context, tr eval.Trial, ask eval.Asker) (eval.Outcome, error) {
				steps := 1
				if tr.Item > "item 1" {
					steps = 4
				}
				for n := range steps {
					if _, err := ask.Ask(ctx, fmt.Sprint(n), eval.Request{Model: "m", Item: tr.Item}); err != nil {
						return eval.Outcome{}, err
					}
				}
				return eval.Outcome{Kind: eval.OK}, nil
			}}
			s, j, sent := quick, newMemory(), 0
			s.Session, s.ItemByItem = 5, byItem
			pending := func(yield func(run.Task, error) bool) {
				for task, err := range replicated(5, 2, true) {
					j.mu.Lock()
					_, done := j.outcomes[task.Trial]
					j.mu.Unlock()
					if !done && !yield(task, err) {
						return
					}
				}
			}
			for session := 1; ; session++ {
				var mu sync.Mutex
				requests := 0
				c := replying(func(int, *eval.Request) error { mu.Lock(); requests++; mu.Unlock(); return nil })
				err := run.New(s, j, models(c), run.Spent{Calls: sent}, nil).Perform(t.Context(), bench, nil, pending)
				sent += requests
				if requests > s.Session || session > 12 {
					t.Fatalf("session %d sent %d requests, want at most %d: %v", session, requests, s.Session, err)
				}
				if err == nil {
					break
				}
				if !errors.Is(err, run.ErrSessionEnd) || errors.Is(err, run.ErrStopped) {
					t.Fatal(err)
				}
			}
			if want := 2*2 + 2*3*4; sent != want || len(j.outcomes) != 10 {
				t.Errorf("%d requests and %d trials, want %d and 10", sent, len(j.outcomes), want)
			}
		})
	}
}

// TestSessionOfJudging: the requests of a session count over both stages, and those of a
// trial within its stage.
func TestSessionOfJudging(t *testing.T) {
	for _, test := range []struct{ limit, judged int }{{30, 15}, {29, 12}, {15, 0}, {21, 6}} {
		synctest.Test(t, func(t *testing.T) {
			s, j := quick, newMemory()
			s.Session = test.limit
			e := run.New(s, j, models(replying(nil)), run.Spent{}, nil)
			if err := e.Perform(t.Context(), steps{n: 1}, nil, replicated(5, 3, false)); err != nil {
				t.Fatal(err)
			}
			err := e.Judge(t.Context(), inquiring{}, nil, replicated(5, 3, false))
			if errors.Is(err, run.ErrSessionEnd) != (test.judged < 15) || j.judged != test.judged {
				t.Errorf("limit %d: %d judged, want %d: %v", test.limit, j.judged, test.judged, err)
			}
		})
	}
}

// inquiring is a bench whose judge is asked once for each trial.
type inquiring struct{ eval.Bench }

func (inquiring) Arms() []eval.Arm { return []eval.Arm{{ID: "a", Judges: []string{"m"}}} }

func (inquiring) Judge(ctx context.Context, t eval.Trial, _ eval.Outcome, ask eval.Asker) ([]eval.Verdict, error) {
	_, err := ask.Ask(ctx, "s", eval.Request{Model: "m", Item: t.Item})
	return []eval.Verdict{{Step: "s", Source: eval.ByModel}}, err
}

// TestJudgingDoesNotWaitBetweenReplicates: the delay is for answers of arms.
func TestJudgingDoesNotWaitBetweenReplicates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := quick
		s.Delay = time.Hour
		begun := time.Now()
		if err := run.New(s, newMemory(), models(replying(nil)), run.Spent{}, nil).Judge(t.Context(), ruled{}, nil, replicated(2, 3, false)); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(begun); waited > 0 {
			t.Errorf("judging took %v", waited)
		}
	})
}

// ruled is a bench whose judge needs no model.
type ruled struct{ eval.Bench }

func (ruled) Arms() []eval.Arm { return []eval.Arm{{ID: "a", Judges: []string{"rule"}}} }

func (ruled) Judge(context.Context, eval.Trial, eval.Outcome, eval.Asker) ([]eval.Verdict, error) {
	return []eval.Verdict{{Step: "s", Source: eval.ByRule}}, nil
}
