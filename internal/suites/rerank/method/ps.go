package method

import "context"

// planAndSolve asks twice: for a plan from the request alone, and for its
// execution on the candidates (Wang et al., ACL 2023).
func planAndSolve(ctx context.Context, s *session) ([]int, error) {
	plan, err := s.plan(ctx, rankSystem)
	if err != nil {
		return nil, err
	}
	return s.rank(ctx, "solve", s.everyone(), s.K, misled(plan), "Plan:\n"+plan.Text, wording("ps_solve"))
}

// plan asks for a plan in words.
func (s *session) plan(ctx context.Context, system string) (Answer, error) {
	return s.complete(ctx, "plan", Prompt{System: system, Messages: ask1(s.request(), s.schemaText(), wording("ps_plan")), Simulated: func(m Mind) string {
		if m == Wrongly {
			return simulatedFault
		}
		return simulatedPlan
	}})
}
