package run

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/scruple-eval/scruple/internal/eval"
)

// A gate limits the calls in flight, to one provider or to all. It adapts the limit to the
// results of a generation: as many calls as the limit allows, all started since
// it last changed. If more than a tenth are rejected for load, the limit is
// halved, at once when half are rejected. If none are rejected, it grows by an
// eighth. (If the first rejection halved it, a provider that rejects at random
// could stall a run.) It starts at the ceiling, so a provider that accepts
// everything is not slowed down.
type gate struct {
	mu         sync.Mutex
	whole      int // ceiling of all that share it
	ceiling    int
	limit      int
	inside     int
	generation int
	good       int // answers of this generation
	refused    int
	waiting    []chan int // FIFO; each receives the generation of its place
}

func newGate(ceiling int) *gate { return &gate{whole: ceiling, ceiling: ceiling, limit: ceiling} }

// share makes the ceiling one of n parts.
func (g *gate) share(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	free := g.limit == g.ceiling
	g.ceiling = max(1, g.whole/max(1, n))
	if g.limit = min(g.limit, g.ceiling); free {
		g.limit = g.ceiling
	}
	g.admit()
}

// tryEnter takes a place if one is free, and returns its generation.
func (g *gate) tryEnter() (generation int, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inside >= g.limit || len(g.waiting) > 0 {
		return 0, false
	}
	g.inside++
	return g.generation, true
}

// enter waits for a place. It reports false if the run stops first.
func (g *gate) enter(ctx context.Context, stopping <-chan struct{}) (generation int, ok bool) {
	turn := make(chan int, 1)
	g.mu.Lock()
	g.waiting = append(g.waiting, turn)
	g.admit() // a place may be free
	g.mu.Unlock()
	select {
	case n := <-turn:
		return n, true
	case <-stopping:
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(g.waiting, turn); i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
	} else { // received a place at the same time: release it
		g.inside--
		g.admit()
	}
	return 0, false
}

// admit gives free places to waiting calls. The lock must be held.
func (g *gate) admit() {
	for g.inside < g.limit && len(g.waiting) > 0 {
		g.waiting[0] <- g.generation
		g.waiting = g.waiting[1:]
		g.inside++
	}
}

// How a call ended, for the gate.
type ending int

const (
	unsaid  ending = iota // not about load: canceled, another error
	took                  // an answer
	tooMuch               // rejected for load
)

// leave releases the place of a call and counts its result for its generation.
func (g *gate) leave(generation int, how ending) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	if generation == g.generation {
		switch how {
		case took:
			g.good++
		case tooMuch:
			g.refused++
		}
		g.adapt()
	}
	g.admit()
}

// adapt changes the limit when enough of the generation has finished.
func (g *gate) adapt() {
	all := g.good + g.refused
	switch {
	case 2*g.refused >= g.limit, all >= g.limit && 10*g.refused > all:
		g.limit = max(1, g.limit/2)
	case all < g.limit:
		return
	case g.refused == 0:
		g.limit = min(g.ceiling, g.limit+max(1, g.limit/8))
	}
	g.generation++
	g.good, g.refused = 0, 0
}

// A Pace limits the requests to a model.
type Pace interface {
	// Free reports whether there is nothing to wait for, and Open whether no time is left for
	// which the provider wants no request.
	Free() bool
	Open() bool
	// Wait waits until a request may be sent. It reports false if the run stops first.
	Wait(ctx context.Context, stopping <-chan struct{}) bool
	// Used is told what an answer used, and Refused that the provider wants no request for a
	// while.
	Used(eval.Usage)
	Refused(time.Duration)
}

// A Closing is until when a provider wants no request to a model. The zero value is open.
type Closing struct {
	mu    sync.Mutex
	until time.Time // by the monotonic clock
}

// Left returns how long the model is closed still: not at all if it is not positive.
func (c *Closing) Left() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Until(c.until)
}

func (c *Closing) Open() bool { return c.Left() <= 0 }

// Refused closes the model for a time, unless it is closed for longer.
func (c *Closing) Refused(wait time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if until := time.Now().Add(wait); until.After(c.until) {
		c.until = until
	}
}

// A pace limits requests and tokens per minute of one process. Tokens are known only after an
// answer and are then subtracted from the allowance. If it is negative, the next
// request waits.
type pace struct {
	*Closing // of all models of the group
	requests *rate.Limiter
	tokens   *rate.Limiter
}

func newPace(of *Closing, requestsPerMinute, tokensPerMinute float64) *pace {
	p := &pace{Closing: of}
	if requestsPerMinute > 0 {
		p.requests = rate.NewLimiter(rate.Limit(requestsPerMinute/60), max(1, int(requestsPerMinute/60)))
	}
	if tokensPerMinute > 0 {
		p.tokens = rate.NewLimiter(rate.Limit(tokensPerMinute/60), max(1, int(tokensPerMinute)))
	}
	return p
}

func (p *pace) Free() bool { return p.requests == nil && p.tokens == nil && p.Open() }

func (p *pace) Wait(ctx context.Context, stopping <-chan struct{}) bool {
	if p.Free() {
		return true
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-stopping:
			cancel()
		case <-ctx.Done():
		}
	}()
	for left := p.Left(); left > 0; left = p.Left() {
		select {
		case <-time.After(left):
		case <-ctx.Done():
			return false
		}
	}
	if p.tokens != nil && p.tokens.WaitN(ctx, 1) != nil {
		return false
	}
	return p.requests == nil || p.requests.Wait(ctx) == nil
}

// Used subtracts the tokens of an answer from the allowance.
func (p *pace) Used(u eval.Usage) {
	if p.tokens == nil {
		return
	}
	n := u.TotalInput() + u.TotalOutput() - 1 // one was subtracted before
	for burst := p.tokens.Burst(); n > 0; n -= burst {
		p.tokens.ReserveN(time.Now(), min(n, burst))
	}
}
