package run

import (
	"errors"
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
type Spent = eval.Spent

// A ledger adds up usage. Calls are counted before they are sent. Tokens and cost
// are known only afterwards, so calls in flight can exceed those two limits.
// Requests whose end is unknown count as estimated: those of a session that was killed, and those
// that timed out.
type ledger struct {
	mu     sync.Mutex
	budget Budget
	spent  Spent
	begun  int // requests sent before this session
	most   int // requests of this session; 0 means no limit
	draw   func(Spent) (Budget, error)
	none   error // of draw: there is no more for the calls that waited for it either
}

// session returns the number of requests of this session.
func (l *ledger) session() int { return l.total().Calls - l.begun }

// reserve counts one request. It returns an error if the budget is exhausted, or one of
// [ErrSessionEnd] if the session has sent as many as it may.
func (l *ledger) reserve() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.budget.UsedBy(l.spent) {
		if l.draw == nil {
			return fmt.Errorf("%w: %v", ErrBudget, l.budget.Of(l.spent))
		}
		if l.none != nil {
			return l.none
		}
		drawn, err := l.draw(l.spent)
		if l.none = err; err != nil {
			return err
		}
		l.budget = drawn
	}
	if l.most > 0 && l.spent.Calls-l.begun >= l.most {
		return fmt.Errorf("%w: %s sent, and the items begun need more", ErrSessionEnd, text.Plural(l.most, "request", "requests"))
	}
	l.spent.Calls++
	return nil
}

// ErrBudget is the error of a run whose budget is used.
var ErrBudget = errors.New("the budget is exhausted")

// UsedBy reports whether a limit is reached.
func (b Budget) UsedBy(s Spent) bool {
	return b.Calls > 0 && s.Calls >= b.Calls || b.Tokens > 0 && s.Tokens >= b.Tokens || b.Cost > 0 && s.Cost >= b.Cost
}

// limited reports whether there is a budget.
func (l *ledger) limited() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.budget != Budget{}
}

func (l *ledger) add(u eval.Usage, cost float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spent.Tokens += u.TotalInput() + u.TotalOutput()
	if math.IsNaN(cost) {
		l.spent.Unpriced++
	} else {
		l.spent.Cost += cost
	}
	if u.Uncounted {
		l.spent.Uncounted++
	}
}

func (l *ledger) total() Spent {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.spent
}

// Of lists the usage of each limit.
func (b Budget) Of(s Spent) string {
	var parts []string
	if b.Calls > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s", s.Calls, text.Plural(b.Calls, "call", "calls")))
	}
	if b.Tokens > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s", s.Tokens, text.Plural(b.Tokens, "token", "tokens")))
	}
	if b.Cost > 0 {
		parts = append(parts, fmt.Sprintf("$%.4f of $%.4f", s.Cost, b.Cost))
	}
	return strings.Join(parts, ", ")
}
