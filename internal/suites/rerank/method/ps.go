package method

import "context"

// PlanAndSolve asks twice: for a plan from the request alone, and for its
// execution on the candidates (Wang et al., ACL 2023).
func PlanAndSolve() Method {
	return Method{
		Name: "ps",
		Asks: true,
		Rank: ranks(func(ctx context.Context, s *session) ([]int, error) {
			plan, err := s.plan(ctx, rankSystem)
			if err != nil {
				return nil, err
			}
			return s.rank(ctx, "solve", s.everyone(), s.K, misled(plan), "Plan:\n"+plan.Text, psSolve)
		}),
	}
}

const (
	psPlan = `You do not see the candidates yet. Understand the request and write a plan for finding the one candidate that satisfies it:
- each condition on its own line, with where to look for it (which attribute, which day's hours, the text of reviews, who wrote a review) and what counts as fulfilled;
- how the conditions combine: all of them, one of several, nested, negated;
- the order in which to check them, cheap and selective ones first.
Write the plan and nothing else.`
	psSolve = `Apply the plan to the candidates step by step. After each step, note which candidates are still possible and why the others are ruled out. If the plan turns out to be wrong, follow the request.`
)
