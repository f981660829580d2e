package worker

import (
	"context"
	"sync"
	"time"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/run"
	"github.com/scruple-eval/scruple/internal/store"
)

// everyone is an observer that is told the progress of all workers of a run, not only what
// this process did.
type everyone struct {
	run.Observer
	mu     sync.Mutex
	counts map[string]store.Count
	first  int // trials that were done when this process began
	next   time.Time
}

// look counts what is done. Counting may take long, and is then done less often.
func (o *everyone) look(ctx context.Context, db *store.DB, r *store.Run) error {
	begun := time.Now()
	if begun.Before(o.next) {
		return nil
	}
	list, err := db.CountDone(ctx, r)
	if err != nil {
		return err
	}
	o.next = time.Now().Add(20 * time.Since(begun))
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.counts == nil {
		o.counts = map[string]store.Count{}
	}
	for _, c := range list {
		o.counts[c.Arm] = c
	}
	return nil
}

func (o *everyone) Progress(p run.Progress) {
	o.mu.Lock()
	done, left := 0, 0
	for i := range p.Arms {
		a := &p.Arms[i]
		c := o.counts[a.Arm]
		if p.Stage == eval.StageJudge {
			a.Done = max(a.Done, c.Judged)
		} else if a.Done < c.Done {
			a.Done, a.Failed = c.Done, c.Failed
		}
		done, left = done+a.Done, left+a.Planned-a.Done
	}
	if o.first == 0 {
		o.first = max(1, done)
	}
	if p.Left > 0 && done > o.first {
		p.Left = time.Duration(float64(p.Elapsed) / float64(done-o.first) * float64(left))
	}
	o.mu.Unlock()
	o.Observer.Progress(p)
}
