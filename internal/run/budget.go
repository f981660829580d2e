package run

import (
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/scruple-eval/scruple/internal/eval"
)

// A Budget bounds what a run may use, over all its sessions. 0 is no bound.
type Budget struct {
	Calls  int // requests sent, retries included
	Tokens int
	Cost   float64 // US dollars
}

// Spent is what a run has used.
type Spent Budget

// A ledger adds up what is spent. Calls are counted before they are sent;
// tokens and cost are known only after, so those two can be overrun by what is
// in flight when the bound is met.
type ledger struct {
	mu     sync.Mutex
	budget Budget
	spent  Spent
}

// reserve counts one request, unless the budget is used up.
func (l *ledger) reserve() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.budget
	if b.Calls > 0 && l.spent.Calls >= b.Calls || b.Tokens > 0 && l.spent.Tokens >= b.Tokens || b.Cost > 0 && l.spent.Cost >= b.Cost {
		return false
	}
	l.spent.Calls++
	return true
}

func (l *ledger) add(u eval.Usage, cost float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spent.Tokens += u.TotalInput() + u.TotalOutput()
	if !math.IsNaN(cost) {
		l.spent.Cost += cost
	}
}

func (l *ledger) total() Spent {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.spent
}

// String names the bounds and what was used of them.
func (l *ledger) String() string {
	s := l.total()
	var parts []string
	if l.budget.Calls > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d calls", s.Calls, l.budget.Calls))
	}
	if l.budget.Tokens > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d tokens", s.Tokens, l.budget.Tokens))
	}
	if l.budget.Cost > 0 {
		parts = append(parts, fmt.Sprintf("$%.4f of $%.4f", s.Cost, l.budget.Cost))
	}
	return strings.Join(parts, ", ")
}
