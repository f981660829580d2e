package method

import (
	"context"
	"fmt"
	"slices"
)

// Windows are the settings of listwise ranking. A zero takes the default.
type Windows struct {
	Size   int // candidates a prompt shows, default 20
	Stride int // places the window moves, default half its size
	Passes int // how often it goes through the list, default 1
}

func (w Windows) orDefault() Windows {
	if w.Size < 2 {
		w.Size = 20
	}
	if w.Stride < 1 || w.Stride > w.Size {
		w.Stride = (w.Size + 1) / 2
	}
	w.Passes = max(1, w.Passes)
	return w
}

// Listwise orders windows of candidates, from the end of the list to its
// front, so that what is best moves to the top by one stride a window.
func Listwise(w Windows) Method {
	w = w.orDefault()
	return Method{
		Name: "listwise", Title: "Listwise, sliding window",
		Doc: fmt.Sprintf("Orders windows of %d candidates from back to front, stride %d, passes %d. A window that cannot be read leaves no prediction; "+
			"candidates that a window's answer leaves out follow in their order.", w.Size, w.Stride, w.Passes),
		Source: "Sun et al. (RankGPT), EMNLP 2023",
		Asks:   true,
		Rank: ranks(func(ctx context.Context, s *session) ([]int, error) {
			order := s.everyone()
			for pass := range w.Passes {
				for k, begin := range w.begins(len(order)) {
					window := order[begin:min(begin+w.Size, len(order))]
					sorted, err := s.window(ctx, fmt.Sprintf("pass%d/window%d", pass+1, k+1), window)
					if err != nil {
						return nil, err
					}
					copy(window, sorted)
				}
			}
			return order, nil
		}),
	}
}

// begins is where the windows over n candidates begin, the last first.
func (w Windows) begins(n int) []int {
	var list []int
	for begin := max(0, n-w.Size); ; begin = max(0, begin-w.Stride) {
		list = append(list, begin)
		if begin == 0 {
			return list
		}
	}
}

// window orders the candidates of one window.
func (s *session) window(ctx context.Context, step string, shown []int) ([]int, error) {
	shown = slices.Clone(shown)
	p := Prompt{System: rankSystem, Messages: ask1(s.request(), s.show(shown), listwiseTask, finalLineOf(len(shown), len(shown)))}
	a, err := s.query(ctx, step, s.rankingRight(p, shown, len(shown), false))
	if err != nil {
		return nil, err
	}
	places, err := readRanking(a, len(shown), false)
	if err != nil {
		return nil, err
	}
	sorted := make([]int, 0, len(shown))
	for _, place := range places {
		sorted = append(sorted, shown[place-1])
	}
	for _, i := range shown {
		if !slices.Contains(sorted, i) {
			sorted = append(sorted, i)
		}
	}
	s.record(step, "order", join(sorted))
	return sorted, nil
}

const listwiseTask = `Order these candidates by how completely they satisfy the request. The numbers are those of this list. A candidate for which every condition is shown to hold comes first, then those with conditions left open, then those that fail one, then those that fail more.`
