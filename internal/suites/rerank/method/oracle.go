package method

import "context"

// Oracle evaluates the request's structure on the unmodified data. It is the
// upper bound, and it checks the data.
func Oracle() Method {
	return Method{
		Name: "oracle",
		Rank: ranks(func(_ context.Context, s *session) ([]int, error) {
			if s.Structure == nil {
				return nil, fault(InvalidRequest, "request %s has no structure to evaluate", s.ID)
			}
			truths := s.sheet.truths()
			return s.sorted(func(a, b int) int { return s.sheet.compare(truths, a, b) }), nil
		}),
	}
}
