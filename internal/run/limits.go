package run

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/scruple-eval/scruple/internal/eval"
)

// A gate bounds the calls in flight to one provider and adapts the bound:
// halved when the provider says it is too much, raised by one after as many
// good answers as the bound allows at a time (additive increase,
// multiplicative decrease). It starts at the ceiling: a provider that takes
// everything is not made to wait.
type gate struct {
	mu       sync.Mutex
	ceiling  int
	limit    int
	inside   int
	good     int
	lowered  time.Time
	changed  chan struct{} // closed and replaced when a place may be free
	notified bool
}

// lowerEvery keeps one burst of refusals, all sent before the first was
// answered, from lowering the bound again and again.
const lowerEvery = time.Second

func newGate(ceiling int) *gate {
	return &gate{ceiling: ceiling, limit: ceiling, changed: make(chan struct{})}
}

func (g *gate) tryEnter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inside >= g.limit {
		return false
	}
	g.inside++
	return true
}

// enter waits for a place. It reports false when the run stops first.
func (g *gate) enter(ctx context.Context, stopping <-chan struct{}) bool {
	for {
		g.mu.Lock()
		if g.inside < g.limit {
			g.inside++
			g.mu.Unlock()
			return true
		}
		changed := g.changed
		g.notified = true
		g.mu.Unlock()
		select {
		case <-changed:
		case <-stopping:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// leave gives the place back; tooMuch says that the provider refused for load.
func (g *gate) leave(tooMuch bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	if tooMuch {
		g.good = 0
		if now := time.Now(); now.Sub(g.lowered) >= lowerEvery {
			g.limit, g.lowered = max(1, g.limit/2), now
		}
	} else if g.good++; g.good >= g.limit && g.limit < g.ceiling {
		g.limit, g.good = g.limit+1, 0
	}
	if g.notified {
		close(g.changed)
		g.changed, g.notified = make(chan struct{}), false
	}
}

// A pace keeps requests and tokens per minute. Tokens are known only after an
// answer, so they are taken from the allowance then, and the next request
// waits until the debt is paid.
type pace struct {
	requests *rate.Limiter
	tokens   *rate.Limiter
}

func newPace(requestsPerMinute, tokensPerMinute float64) *pace {
	p := &pace{}
	if requestsPerMinute > 0 {
		p.requests = rate.NewLimiter(rate.Limit(requestsPerMinute/60), max(1, int(requestsPerMinute/60)))
	}
	if tokensPerMinute > 0 {
		p.tokens = rate.NewLimiter(rate.Limit(tokensPerMinute/60), max(1, int(tokensPerMinute)))
	}
	return p
}

func (p *pace) free() bool { return p.requests == nil && p.tokens == nil }

func (p *pace) wait(ctx context.Context, stopping <-chan struct{}) bool {
	if p.free() {
		return true
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	go func() {
		select {
		case <-stopping:
			cancel()
		case <-ctx.Done():
		}
	}()
	if p.tokens != nil && p.tokens.WaitN(ctx, 1) != nil {
		return false
	}
	return p.requests == nil || p.requests.Wait(ctx) == nil
}

// used takes the tokens of an answer from the allowance.
func (p *pace) used(u eval.Usage) {
	if p.tokens == nil {
		return
	}
	n := u.TotalInput() + u.TotalOutput() - 1 // one was taken before
	for burst := p.tokens.Burst(); n > 0; n -= burst {
		p.tokens.ReserveN(time.Now(), min(n, burst))
	}
}
