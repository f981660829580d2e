package method

import (
	"context"
	"fmt"
	"slices"
)

// listwise orders windows of candidates from the end of the list to its front,
// so that the best move up by one stride per window (Sun et al., RankGPT, EMNLP
// 2023). If neither answer for a window parses, there is no prediction; candidates that it leaves out follow in their order.
func listwise(size, stride int) ranker {
	return func(ctx context.Context, s *session) ([]int, error) {
		order := s.everyone()
		for k, begin := range windows(len(order), size, stride) {
			window := order[begin:min(begin+size, len(order))]
			sorted, err := s.window(ctx, fmt.Sprintf("pass1/window%d", k+1), window)
			if err != nil {
				return nil, err
			}
			copy(window, sorted)
		}
		return order, nil
	}
}

// windows returns the starts of the windows over n candidates, last first.
func windows(n, size, stride int) []int {
	var list []int
	for begin := max(0, n-size); ; begin = max(0, begin-stride) {
		list = append(list, begin)
		if begin == 0 {
			return list
		}
	}
}

// window orders the candidates of one window.
func (s *session) window(ctx context.Context, step string, shown []int) ([]int, error) {
	shown = slices.Clone(shown)
	places, err := s.rank(ctx, step, shown, len(shown), false, wording("listwise"))
	if err != nil {
		return nil, err
	}
	if len(places) < len(shown) {
		s.remark(step, NoteAppended)
	}
	sorted := first(places, shown, shown)
	s.record(step, "order", Join(sorted))
	return sorted, nil
}

// first moves the candidates at these 1-based places of list to the front of
// order.
func first(places, list, order []int) []int {
	sorted := make([]int, 0, len(order))
	for _, place := range places {
		sorted = append(sorted, list[place-1])
	}
	for _, i := range order {
		if !slices.Contains(sorted, i) {
			sorted = append(sorted, i)
		}
	}
	return sorted
}
