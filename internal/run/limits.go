package run

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/scruple-eval/scruple/internal/eval"
)

// A gate bounds the calls in flight to one provider and adapts the bound by
// what becomes of a generation: as many calls as are let in at a time, all
// begun since the bound last moved. More than a tenth refused for load halve
// it, at once when half are; none refused raise it by an eighth. (Halving at
// the first refusal would let a provider that refuses at random stall a run.)
// It starts at the ceiling: a provider that takes everything is not made to
// wait.
type gate struct {
	mu         sync.Mutex
	ceiling    int
	limit      int
	inside     int
	generation int
	good       int // answers of this generation
	refused    int
	waiting    []chan int // first come, first served; each is sent the generation of its place
}

func newGate(ceiling int) *gate {
	return &gate{ceiling: ceiling, limit: ceiling}
}

// tryEnter takes a place if one is free, and tells its generation.
func (g *gate) tryEnter() (generation int, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inside >= g.limit || len(g.waiting) > 0 {
		return 0, false
	}
	g.inside++
	return g.generation, true
}

// enter waits for a place. It reports false when the run stops first.
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
	} else { // handed over at the same moment: pass it on
		g.inside--
		g.admit()
	}
	return 0, false
}

// admit hands free places to those who wait. The lock is held.
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
	unsaid  ending = iota // nothing about load: broken off, another error
	took                  // an answer
	tooMuch               // refused for load
)

// leave gives the place of a call of some generation back.
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

// adapt moves the bound when enough of the generation is known.
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
