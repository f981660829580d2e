package run

import (
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/text"
)

// A Budget limits the usage of a run over all its sessions. 0 means no limit.
type Budget struct {
	Calls  int // requests sent, retries included
	Tokens int
	Cost   float64 // US dollars
}

// Spent is the usage of a run.
type Spent struct {
	Calls    int // requests sent, retries included
	Tokens   int
	Cost     float64 // US dollars, of the calls with a known cost
	Unpriced int     // answered calls of unknown cost
}

// A ledger adds up usage. Calls are counted before they are sent. Tokens and cost
// are known only afterwards, so calls in flight can exceed those two limits.
// Requests of an earlier session whose end is unknown count as estimated.
type ledger struct {
	mu     sync.Mutex
	budget Budget
	spent  Spent
	begun  int // requests sent before this session
	most   int // requests of this session; 0 means no limit
}

// session returns the number of requests of this session.
func (l *ledger) session() int { return l.total().Calls - l.begun }

// reserve counts one request. It returns an error if the budget is exhausted, or one of
// [ErrSessionEnd] if the session has sent as many as it may.
func (l *ledger) reserve() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.budget
	if b.Calls > 0 && l.spent.Calls >= b.Calls || b.Tokens > 0 && l.spent.Tokens >= b.Tokens || b.Cost > 0 && l.spent.Cost >= b.Cost {
		return fmt.Errorf("the budget is exhausted: %v", l.used())
	}
	if l.most > 0 && l.spent.Calls-l.begun >= l.most {
		return fmt.Errorf("%w: %s sent, and the items begun need more", ErrSessionEnd, text.Plural(l.most, "request", "requests"))
	}
	l.spent.Calls++
	return nil
}

// limited reports whether there is a budget.
func (l *ledger) limited() bool { return l.budget != Budget{} }

func (l *ledger) add(u eval.Usage, cost float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spent.Tokens += u.TotalInput() + u.TotalOutput()
	l.spent.Cost += orZero(cost)
	if math.IsNaN(cost) {
		l.spent.Unpriced++
	}
}

func (l *ledger) total() Spent {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.spent
}

// used lists the usage of each limit. The lock must be held.
func (l *ledger) used() string {
	s := l.spent
	var parts []string
	if l.budget.Calls > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s", s.Calls, text.Plural(l.budget.Calls, "call", "calls")))
	}
	if l.budget.Tokens > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s", s.Tokens, text.Plural(l.budget.Tokens, "token", "tokens")))
	}
	if l.budget.Cost > 0 {
		parts = append(parts, fmt.Sprintf("$%.4f of $%.4f", s.Cost, l.budget.Cost))
	}
	return strings.Join(parts, ", ")
}
