package method

import "context"

// oracle evaluates the request's structure on the unmodified data. It is the
// upper bound, and it checks the data.
func oracle(_ context.Context, s *session) ([]int, error) {
	if s.Structure == nil {
		return nil, fault(InvalidRequest, "request %s has no structure to evaluate", s.ID)
	}
	return s.sorted(s.compare), nil
}
