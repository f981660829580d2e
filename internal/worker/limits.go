package worker

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/run"
)

// A pace is the limits of a model for all workers together, in the table limits. Requests are
// a bucket that holds those of two seconds, so that in any minute at most 3 % more are sent
// than allowed. Permits are drawn for the requests that wait here, many at once. Tokens are
// known after an answer; while more were used than allowed, no permit is given.
type pace struct {
	run.Closing
	w                *Worker
	name             string  // of the model, which is closed for all
	row              string  // of its limits: models of one name can have different ones
	requests, tokens float64 // a minute; 0 is no limit

	mu      sync.Mutex
	waiting int
	permits int
	until   time.Time // permits are good for
	used    float64   // tokens since the last draw
	drawing bool
	failed  bool // the last draw
}

const (
	held    = 2 * time.Second // that a bucket holds
	good    = time.Second     // that a permit is
	nothing = 100 * time.Millisecond
)

func (p *pace) Free() bool {
	return p.requests == 0 && p.tokens == 0 && p.Open()
}

// Wait waits for a permit, or until the model is open again.
func (p *pace) Wait(ctx context.Context, stopping <-chan struct{}) bool {
	p.mu.Lock()
	p.waiting++
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		p.waiting--
		p.mu.Unlock()
	}()
	for {
		wait := p.Left()
		if wait <= 0 {
			if p.requests == 0 && p.tokens == 0 || p.take() {
				return true
			}
			wait = p.draw(ctx)
		}
		if wait > 0 {
			select {
			case <-stopping:
				return false
			case <-ctx.Done():
				return false
			case <-time.After(min(wait, time.Second)):
			}
		}
	}
}

func (p *pace) take() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.permits == 0 || time.Now().After(p.until) {
		return false
	}
	p.permits--
	return true
}

// draw draws permits for all that wait, and returns how long to wait before the next try.
func (p *pace) draw(ctx context.Context) time.Duration {
	p.mu.Lock()
	if p.drawing {
		p.mu.Unlock()
		return nothing / 10
	}
	p.drawing = true
	want, used := p.waiting, p.used
	p.used = 0
	p.mu.Unlock()
	n, err := p.w.permits(ctx, p, want, used)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drawing = false
	if err != nil { // the server may be away: answers cannot be recorded then either
		p.used += used
		if !p.failed {
			p.w.Say("%s: asking for permits: %v; trying again", p.name, err)
		}
		p.failed = true
		return time.Second
	}
	p.failed = false
	if p.permits, p.until = n, time.Now().Add(good); n > 0 {
		return 0
	}
	return nothing
}

// permits draws at most n permits, after it has noted the tokens that were used. The last draw is
// ahead of now by more than a bucket holds if the server's clock was set back: it is now.
func (q *Queue) permits(ctx context.Context, p *pace, n int, used float64) (granted int, err error) {
	rate, tokens := p.requests/60, p.tokens/60
	if rate == 0 {
		rate = math.MaxInt32
	}
	err = q.pool.QueryRow(ctx, `WITH a AS (SELECT CAST($2 AS FLOAT8) AS rate, CAST($3 AS FLOAT8) AS of_tokens, CAST($4 AS FLOAT8) AS want, CAST($5 AS FLOAT8) AS used, CAST($6 AS FLOAT8) AS held),
		l AS (SELECT free, tokens, at, clock_timestamp() AS now FROM limits WHERE name = $1 FOR UPDATE),
		p AS (SELECT *, greatest(0, extract(epoch FROM now - at)) AS passed FROM l),
		f AS (SELECT CASE WHEN at > now + make_interval(secs => held) THEN now ELSE greatest(at, now) END AS now, want, least(greatest(1, rate * held), free + rate * passed) AS free,
			CASE WHEN of_tokens = 0 THEN 0 ELSE least(of_tokens * held, tokens + of_tokens * passed) - used END AS tokens FROM p, a),
		g AS (SELECT *, CASE WHEN tokens < 0 THEN 0 ELSE least(want, floor(free)) END AS n FROM f)
		UPDATE limits SET (free, tokens, at) = (g.free - g.n, g.tokens, g.now) FROM g WHERE limits.name = $1 RETURNING CAST(g.n AS INT)`,
		p.row, rate, tokens, n, used, held.Seconds()).Scan(&granted)
	return granted, q.db.Explain(err)
}

// limit makes the limits of a model those of all workers.
func (w *Worker) limit(ctx context.Context, m *run.Model) error {
	p := &pace{w: w, name: m.Group, row: m.Group, requests: m.RequestsPerMinute, tokens: m.TokensPerMinute}
	if p.requests > 0 {
		p.row += " requests"
	}
	if p.tokens > 0 {
		p.row += " tokens"
	}
	if _, err := w.pool.Exec(ctx, `INSERT INTO limits (name, free, tokens, at, closed) SELECT DISTINCT name, 0, 0, clock_timestamp(), timestamptz '-infinity' FROM unnest(ARRAY[$1, $2]) AS name ON CONFLICT DO NOTHING`, p.name, p.row); err != nil {
		return w.db.Explain(err)
	}
	m.Pace = p
	return nil
}

// hear learns which models are closed. A time that is farther ahead than any wait was written before
// the server's clock was set back.
func (w *Worker) hear(ctx context.Context) error {
	type closing struct {
		Name    string
		Seconds float64
	}
	list, err := collect(ctx, w.Queue, pgx.RowToStructByPos[closing],
		`SELECT name, extract(epoch FROM closed - clock_timestamp())::float8 FROM limits WHERE closed BETWEEN clock_timestamp() AND clock_timestamp() + $1::interval`, run.LongestWait)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range list {
		for _, s := range w.sessions {
			for _, m := range s.Models {
				if p, is := m.Pace.(*pace); is && p.name == c.Name {
					p.Closing.Refused(time.Duration(c.Seconds * float64(time.Second)))
				}
			}
		}
	}
	return err
}

// Used notes the tokens of an answer.
func (p *pace) Used(u eval.Usage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used += float64(u.TotalInput() + u.TotalOutput())
}

// Refused closes the model for all workers.
func (p *pace) Refused(wait time.Duration) {
	if wait <= 0 {
		return
	}
	p.Closing.Refused(wait)
	_, _ = p.w.pool.Exec(context.Background(), `UPDATE limits SET closed = clock_timestamp() + $2::interval WHERE name = $1 AND closed NOT BETWEEN clock_timestamp() + $2::interval AND clock_timestamp() + $3::interval`, p.name, wait, run.LongestWait) // without it, the others learn it from the provider
}
