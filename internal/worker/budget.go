package worker

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scruple-eval/scruple/internal/run"
	"github.com/scruple-eval/scruple/internal/store"
)

// A purse is what this process may spend of the budget of a run. It draws parts that last for
// some seconds, and smaller ones the less is left, so that all workers together spend at most
// what was in flight beyond the budget. What a lost worker had drawn is free again when the
// run is entrusted the next time: what is spent is then counted again, so a worker that wakes
// afterwards gives nothing back.
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
			part := left / parts
			if mine > 0 {
				part = min(part, mine*share)
			}
			return over + min(left, max(part, least, mine/per))
		}
		calls := math.Floor(more(float64(p.most.Calls), float64(reserved.Calls), float64(p.drawn.Calls), float64(mine.Calls), 1))
		tokens := math.Ceil(more(float64(p.most.Tokens), float64(reserved.Tokens), float64(p.drawn.Tokens), float64(mine.Tokens), 1))
		cost := more(p.most.Cost, reserved.Cost, p.drawn.Cost, mine.Cost, 0)
		if exhausted { // what was spent beyond is noted at the end
			return nil
		}
		p.drawn = run.Spent{Calls: p.drawn.Calls + int(calls), Tokens: p.drawn.Tokens + int(tokens), Cost: p.drawn.Cost + cost}
		_, err = tx.Exec(ctx, `UPDATE budgets SET calls = calls + $2, tokens = tokens + $3, cost = cost + $4 WHERE run = $1`, p.run.N, int(calls), int(tokens), cost)
		return err
	})
	switch {
	case err != nil:
		return run.Budget{}, p.q.db.Explain(fmt.Errorf("drawing a part of the budget of %s: %w", p.run.ID, err))
	case exhausted:
		return run.Budget{}, fmt.Errorf("%w: %s", run.ErrBudget, p.most.Of(reserved))
	}
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

func minus(a, b run.Spent) run.Spent {
	return run.Spent{Calls: a.Calls - b.Calls, Tokens: a.Tokens - b.Tokens, Cost: a.Cost - b.Cost}
}
