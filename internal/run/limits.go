package run

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/scruple-eval/scruple/internal/eval"
)

// A gate bounds the calls in flight to one provider and adapts the bound by
// what the provider says in a window of time: halved when more than a tenth of
// the answers are refusals for load, raised by an eighth when there were none
// (additive increase would take minutes at high bounds, and halving at the
// first refusal would let a provider that refuses at random stall a run). It
// starts at the ceiling: a provider that takes everything is not made to wait.
type gate struct {
	mu      sync.Mutex
	ceiling int
	limit   int
	inside  int
	good    int // answers in this window
	refused int
	opened  time.Time // when the window began
	waiting []*waiter // first come, first served
}

// A waiter waits for a place, which is handed to it by closing the channel.
type waiter struct {
	turn chan struct{}
	gone bool
}

const window = time.Second

func newGate(ceiling int) *gate {
	return &gate{ceiling: ceiling, limit: ceiling}
}

func (g *gate) tryEnter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inside >= g.limit || len(g.waiting) > 0 {
		return false
	}
	g.inside++
	return true
}

// enter waits for a place. It reports false when the run stops first.
func (g *gate) enter(ctx context.Context, stopping <-chan struct{}) bool {
	if g.tryEnter() {
		return true
	}
	w := &waiter{turn: make(chan struct{})}
	g.mu.Lock()
	g.waiting = append(g.waiting, w)
	g.admit() // a place may have come free meanwhile
	g.mu.Unlock()
	select {
	case <-w.turn:
		return true
	case <-stopping:
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-w.turn: // handed over at the same moment: pass it on
		g.inside--
		g.admit()
	default:
		w.gone = true
	}
	return false
}

// admit hands free places to those who wait. The lock is held.
func (g *gate) admit() {
	for g.inside < g.limit && len(g.waiting) > 0 {
		w := g.waiting[0]
		g.waiting = g.waiting[1:]
		if !w.gone {
			g.inside++
			close(w.turn)
		}
	}
}

// leave gives the place back; tooMuch says that the provider refused for load.
func (g *gate) leave(tooMuch bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	if tooMuch {
		g.refused++
	} else {
		g.good++
	}
	if tooMuch || g.limit < g.ceiling {
		g.adapt(time.Now())
	}
	g.admit()
}

// adapt moves the bound at the end of a window, or at once when half of what
// is let in is refused.
func (g *gate) adapt(now time.Time) {
	over := now.Sub(g.opened) >= window
	switch {
	case 2*g.refused >= g.limit, over && 10*g.refused > g.good+g.refused:
		g.limit = max(1, g.limit/2)
	case over && g.refused == 0 && g.good >= g.limit:
		g.limit = min(g.ceiling, g.limit+max(1, g.limit/8))
	case !over:
		return
	}
	g.good, g.refused, g.opened = 0, 0, now
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
