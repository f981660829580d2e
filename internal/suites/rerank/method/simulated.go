package method

import (
	"cmp"
	"slices"

	"github.com/scruple-eval/scruple/internal/suites/rerank/evidence"
	"github.com/scruple-eval/scruple/internal/suites/rerank/request"
)

// The answers of a simulated model are made from the truth of the request's structure, which
// the oracle reads too. Real runs never come here.

// A Mind is how a simulated model answers a step.
type Mind int

// The minds of a simulated model.
const (
	Rightly Mind = iota
	Wrongly
)

// evaluate returns the truth of the structure for every candidate.
func (s *session) evaluate() []evidence.Truth {
	truths := make([]evidence.Truth, len(s.Candidates))
	for i := range truths {
		truths[i] = s.Evaluator.Evaluate(s.Structure, s.Candidates[i].Item)
	}
	return truths
}

// leaves are the conditions of the structure from left to right.
func (s *session) leaves() []*request.Node {
	if s.Structure == nil {
		return nil
	}
	return s.Structure.Leaves()
}

// leaf returns the truth of a condition for a candidate.
func (s *session) leaf(n *request.Node, candidate int) evidence.Truth {
	return s.Evaluator.Leaf(n.Evidence, s.Candidates[candidate-1].Item)
}

// nth is the truth of a condition at an index; unknown if the index is out of range.
func (s *session) nth(list []*request.Node, at int) func(candidate int) evidence.Truth {
	return func(candidate int) evidence.Truth {
		if at >= len(list) {
			return evidence.Unknown
		}
		return s.leaf(list[at], candidate)
	}
}

// compare sorts the candidate that is right, or graded higher, first.
func (s *session) compare(a, b int) int {
	truths := s.truths()
	return cmp.Or(cmp.Compare(truths[b-1], truths[a-1]), cmp.Compare(s.Candidates[b-1].Grade, s.Candidates[a-1].Grade))
}

// order sorts candidates by truth; the sort is stable. Wrongly, the right ones, or
// else the first, come last.
func (s *session) order(shown []int, m Mind) []int {
	order := slices.Clone(shown)
	slices.SortStableFunc(order, s.compare)
	if m == Rightly {
		return order
	}
	right := 1
	for right < len(order)-1 && s.truths()[order[right]-1] == evidence.True {
		right++
	}
	return slices.Concat(order[right:], order[:right])
}

// places is a simulated ranking of the first k of the candidates shown, by their
// place in shown. Misled reports that an earlier step was wrong; then the right
// answer is wrong too.
func (s *session) places(shown []int, k int, misled bool, m Mind) []int {
	if misled && m == Rightly {
		m = Wrongly
	}
	order := s.order(shown, m)
	places := make([]int, 0, k)
	for _, i := range order[:min(k, len(order))] {
		places = append(places, slices.Index(shown, i)+1)
	}
	return places
}

// judged lists the candidates for which a condition holds and those for which it fails; its
// negation wrongly.
func (s *session) judged(asked []int, truth func(candidate int) evidence.Truth, m Mind) (yes, no []int) {
	yes, no = []int{}, []int{}
	for _, i := range asked {
		t := truth(i)
		if m == Wrongly {
			t = -t
		}
		switch t {
		case evidence.True:
			yes = append(yes, i)
		case evidence.False:
			no = append(no, i)
		}
	}
	return yes, no
}

// possible lists the candidates that attributes and hours do not rule out.
func (s *session) possible() []int {
	list := slices.DeleteFunc(s.everyone(), func(i int) bool {
		return evidence.False == evidence.Combine(s.Structure, func(n *request.Node) evidence.Truth {
			if n.Evidence.AboutReviews() {
				return evidence.Unknown
			}
			return s.leaf(n, i)
		})
	})
	if len(list) == 0 { // invalid data; the query must still work
		list = []int{1}
	}
	return list
}

// The plans of a simulated model. The wrong one misleads the step that uses it.
const (
	simulatedPlan  = "Check every condition of the request in turn and combine them as the request does."
	simulatedFault = "Check the last condition of the request only."
)

// misled reports whether a plan is the simulated wrong one.
func misled(plan Answer) bool { return plan.Text == simulatedFault }
