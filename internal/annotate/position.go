package annotate

import (
	"fmt"

	"github.com/scruple-eval/scruple/internal/text"
	"github.com/scruple-eval/scruple/stats"
)

// A Position is how often a person preferred the answer that was shown first, of the
// pairs that they judged blind, in the first round, and without a tie. Without an effect
// of the position it is a half: each pair's sides are drawn.
type Position struct {
	Task    string         `json:"task"`
	Person  string         `json:"person"`
	Pairs   int            `json:"pairs"`
	Swapped int            `json:"swapped"` // with the second arm first
	Ties    int            `json:"ties"`
	First   int            `json:"first"` // the answer shown first was preferred
	CI      stats.Interval `json:"-"`     // of the share in pairs without a tie, Wilson's
}

// Positions returns the effect of the position, by person, of a task about pairs.
func (r *Result) Positions() (list []Position) {
	if r.Task.Of != "pair" || r.Task.Ask[0].Type != "choice" {
		return nil
	}
	for _, w := range r.Everyone {
		p := Position{Task: r.Task.Name, Person: w.Person}
		for _, g := range w.order {
			if g.pass != passFirst || g.First == nil || g.First.Sighted {
				continue
			}
			p.Pairs++
			p.Swapped += one(g.First.Swapped)
			switch g.First.Answer.Text(r.Task.Ask[0].Name) {
			case "A":
				p.First++
			case "B":
			default:
				p.Ties++
			}
		}
		if p.Pairs > 0 {
			p.CI = stats.Wilson(p.First, p.Pairs-p.Ties, level)
			list = append(list, p)
		}
	}
	return list
}

// Share is the share of the answers shown first in those preferred.
func (p Position) Share() float64 { return float64(p.First) / float64(p.Pairs-p.Ties) }

// String is the position effect as text.
func (p Position) String() string {
	decided := p.Pairs - p.Ties
	s := fmt.Sprintf("%s, position: %s judged %s, %d with the second arm first; %s", p.Task, p.Person, text.Plural(p.Pairs, "pair", "pairs"), p.Swapped, text.Plural(p.Ties, "tie", "ties"))
	if decided == 0 {
		return s
	}
	s += fmt.Sprintf("; the answer shown first was preferred in %d of %d: %.3f, 95 %% [%.3f, %.3f]", p.First, decided, p.Share(), p.CI.Low, p.CI.High)
	if p.CI.Low > 0.5 || p.CI.High < 0.5 {
		s += "; the position has an effect, which the drawn sides spread over both arms"
	}
	return s
}
