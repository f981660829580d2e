package worker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scruple-eval/scruple/internal/run"
	"github.com/scruple-eval/scruple/internal/store"
)

// A purse is what this process may spend of the budget of a run. It draws parts that last for
// some seconds, and smaller ones the less is left, so that all workers together spend at most
// what was in flight beyond the budget. What a lost worker had drawn is free again when the
// run is entrusted the next time, or by [Queue.recount] when the others have nothing left: what is
// spent is then counted again, so a worker that wakes afterwards gives nothing back.
type purse struct {
	q     *Queue
	run   *store.Run
	when  string     // it was entrusted
	most  run.Budget // of the run
	parts func() int // workers that share it
	began time.Time

	mu    sync.Mutex
	base  run.Spent // spent before
	drawn run.Spent // by this process, spent parts included
}

// lasting is how long a part lasts.
const lasting = 5 * time.Second

// errReserved is the error of a worker that finds nothing left of a budget that is not spent.
var errReserved = errors.New("the rest is reserved by other workers, or by lost ones until no worker has a shard")

// Draw extends what this process may spend.
func (p *purse) Draw(spent run.Spent) (run.Budget, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	mine := minus(spent, p.base)
	per := max(1, float64(mine.Calls))
	share := lasting.Seconds() / max(1, time.Since(p.began).Seconds())
	parts := 2 * float64(max(1, p.parts()))
	var reserved run.Spent
	var exhausted bool
	drawn := p.drawn
	err := pgx.BeginFunc(context.Background(), p.q.pool, func(tx pgx.Tx) error {
		ctx := context.Background()
		err := tx.QueryRow(ctx, `SELECT b.calls, b.tokens, b.cost FROM leases l JOIN budgets b ON b.run = l.run WHERE l.run = $1 AND l.process = $2 FOR SHARE OF l FOR UPDATE OF b`,
			p.run.N, p.when).Scan(&reserved.Calls, &reserved.Tokens, &reserved.Cost)
		if errors.Is(err, pgx.ErrNoRows) {
			err = errEnded
		}
		if err != nil {
			return err
		}
		more := func(most, reserved, drawn, mine float64, least float64) float64 {
			over := max(0, mine-drawn) // was in flight when the part was used
			left := most - reserved - over
			switch {
			case most == 0:
				return over
			case left <= 0:
				exhausted = true
				return over
			}
			part := min(left/parts, max(mine*share, most/100)) // the first one small
			return over + min(left, max(part, least, mine/per))
		}
		calls := math.Floor(more(float64(p.most.Calls), float64(reserved.Calls), float64(p.drawn.Calls), float64(mine.Calls), 1))
		tokens := math.Ceil(more(float64(p.most.Tokens), float64(reserved.Tokens), float64(p.drawn.Tokens), float64(mine.Tokens), 1))
		cost := more(p.most.Cost, reserved.Cost, p.drawn.Cost, mine.Cost, 0)
		if exhausted { // what was spent beyond is noted at the end
			return nil
		}
		drawn = run.Spent{Calls: p.drawn.Calls + int(calls), Tokens: p.drawn.Tokens + int(tokens), Cost: p.drawn.Cost + cost}
		_, err = tx.Exec(ctx, `UPDATE budgets SET calls = calls + $2, tokens = tokens + $3, cost = cost + $4 WHERE run = $1`, p.run.N, int(calls), int(tokens), cost)
		return err
	})
	var used store.Usage
	if err == nil && exhausted {
		used, err = p.q.db.Usage(context.Background(), p.run)
	}
	if err != nil {
		return run.Budget{}, p.q.db.Explain(fmt.Errorf("drawing a part of the budget of %s: %w", p.run.ID, err))
	}
	if exhausted {
		err = fmt.Errorf("%w: %s", run.ErrBudget, p.most.Of(used.Spent))
		if !p.most.UsedBy(used.Spent) {
			err = fmt.Errorf("%w: %w", err, errReserved)
		}
		return run.Budget{}, err
	}
	p.drawn = drawn
	return p.allowed(), nil
}

// allowed is what the process may spend, with what was spent before.
func (p *purse) allowed() (b run.Budget) {
	if p.most.Calls > 0 {
		b.Calls = p.base.Calls + p.drawn.Calls
	}
	if p.most.Tokens > 0 {
		b.Tokens = p.base.Tokens + p.drawn.Tokens
	}
	if p.most.Cost > 0 {
		b.Cost = p.base.Cost + p.drawn.Cost
	}
	return b
}

// putBack gives back what was not spent.
func (p *purse) putBack(spent run.Spent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	rest := minus(p.drawn, minus(spent, p.base))
	_, _ = p.q.pool.Exec(context.Background(), `WITH l AS (SELECT run FROM leases WHERE run = $1 AND process = $5 FOR SHARE)
		UPDATE budgets b SET calls = calls - $2, tokens = tokens - $3, cost = cost - $4 FROM l WHERE b.run = l.run`, p.run.N, rest.Calls, rest.Tokens, rest.Cost, p.when) // else it is free when the run is entrusted again
}

// recount counts again what is spent of the budget of a run, unless a worker has a shard of it. From
// then on it is entrusted anew: what workers drew before is void, and they join again.
func (q *Queue) recount(ctx context.Context, r *store.Run, when string) error {
	return q.db.InOne(ctx, func(ctx context.Context, tx store.Tx) error {
		if has, err := store.Locked(ctx, tx, r); err != nil || !has {
			return err
		}
		version := when[:strings.LastIndex(when, " ")]
		done, err := tx.Exec(ctx, `UPDATE leases SET process = $3 WHERE run = $1 AND process = $2 AND NOT EXISTS (SELECT 1 FROM river_job WHERE queue = $4 AND state = 'running')`,
			r.N, when, version+" "+rand.Text(), queueOf(r.N))
		if err != nil || done.RowsAffected() == 0 {
			return err
		}
		return q.count(ctx, tx, r)
	})
}

// count counts what is spent of the budget of a run when nobody sends requests of it.
func (q *Queue) count(ctx context.Context, tx store.Tx, r *store.Run) error {
	spent, err := q.db.Usage(ctx, r)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO budgets (run, calls, tokens, cost) VALUES ($1, $2, $3, $4)
		ON CONFLICT (run) DO UPDATE SET (calls, tokens, cost) = (excluded.calls, excluded.tokens, excluded.cost)`, r.N, spent.Calls, spent.Tokens, spent.Cost)
	return err
}

// still returns an error if the run was entrusted anew: what was drawn before is void. A recount
// that has begun is waited for; one that begins later sees the shard of the caller.
func (q *Queue) still(ctx context.Context, r *store.Run, when string) error {
	held, err := q.pool.Exec(ctx, `SELECT 1 FROM leases WHERE run = $1 AND process = $2 FOR SHARE`, r.N, when)
	if err == nil && held.RowsAffected() == 0 {
		err = errEnded
	}
	return q.db.Explain(err)
}

func minus(a, b run.Spent) run.Spent {
	return run.Spent{Calls: a.Calls - b.Calls, Tokens: a.Tokens - b.Tokens, Cost: a.Cost - b.Cost}
}
