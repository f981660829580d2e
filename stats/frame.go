package stats

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A Frame is a table of equally long columns that a model formula names. It copies
// the columns it is given. Models keep the columns a frame has when they are fitted;
// a frame may be read from several goroutines while none adds to it.
type Frame struct {
	n       int
	numbers map[string][]float64
	factors map[string]Factor
}

// A Factor is a column of labels: Codes[i] is the index of row i's level.
type Factor struct {
	Levels []string
	Codes  []int32
}

// NewFrame makes an empty frame of n rows.
func NewFrame(n int) *Frame {
	return &Frame{n: n, numbers: map[string][]float64{}, factors: map[string]Factor{}}
}

// AddNumbers adds a numeric column. NaN and infinities are refused.
func (f *Frame) AddNumbers(name string, xs []float64) error {
	if err := f.addable(name, len(xs)); err != nil {
		return err
	}
	if err := checkFinite(name, xs); err != nil {
		return err
	}
	f.numbers[name] = slices.Clone(xs)
	return nil
}

// AddFactor adds a column of labels. The first of levels is the reference of
// contrasts; a label that is not among them is refused, a level that no row
// has is dropped. Without levels they are sorted labels found in the data, numbers by
// value.
func (f *Frame) AddFactor(name string, labels, levels []string) error {
	if err := f.addable(name, len(labels)); err != nil {
		return err
	}
	given := levels != nil
	index := map[string]int32{}
	if given {
		for _, l := range levels {
			if _, twice := index[l]; twice {
				return fmt.Errorf("stats: factor %s: duplicate level %q", name, l)
			}
			index[l] = int32(len(index))
		}
	}
	codes := make([]int32, len(labels))
	count := make([]int, len(levels))
	for i, l := range labels {
		c, ok := index[l]
		if !ok {
			if given {
				return rowError(i, "has %q for factor %s, want one of the levels %q", l, name, levels)
			}
			c = int32(len(index))
			index[l] = c
			levels = append(levels, l)
			count = append(count, 0)
		}
		codes[i] = c
		count[c]++
	}
	f.factors[name] = arranged(levels, codes, count, !given)
	return nil
}

func (f *Frame) addable(name string, n int) error {
	switch {
	case n != f.n:
		return fmt.Errorf("stats: column %s has %d rows, the frame has %d", name, n, f.n)
	case f.has(name):
		return fmt.Errorf("stats: duplicate column %s", name)
	}
	return nil
}

// arranged drops empty levels, and sorts levels without a given order.
func arranged(levels []string, codes []int32, count []int, sorted bool) Factor {
	var order []int
	for k := range levels {
		if count[k] > 0 {
			order = append(order, k)
		}
	}
	if sorted {
		slices.SortFunc(order, func(a, b int) int { return CompareLabels(levels[a], levels[b]) })
	}
	return reordered(levels, codes, order)
}

// reordered is the factor that has some levels in an order, all that are coded.
func reordered(levels []string, codes []int32, order []int) Factor {
	to := make([]int32, len(levels))
	out := Factor{Levels: make([]string, len(order)), Codes: codes}
	for k, old := range order {
		out.Levels[k], to[old] = levels[old], int32(k)
	}
	for i, c := range codes {
		codes[i] = to[c]
	}
	return out
}

// CompareLabels orders labels as levels of a factor are sorted: numbers by value,
// and before text.
func CompareLabels(a, b string) int {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	switch {
	case errX == nil && errY == nil && x != y:
		return cmp.Compare(x, y)
	case errX == nil && errY != nil:
		return -1
	case errX != nil && errY == nil:
		return 1
	}
	return strings.Compare(a, b)
}

// has reports whether there is a column of the name.
func (f *Frame) has(name string) bool {
	_, number := f.numbers[name]
	_, factor := f.factors[name]
	return number || factor
}

// snapshot is the frame with the columns that it has now.
func (f *Frame) snapshot() *Frame {
	return &Frame{n: f.n, numbers: maps.Clone(f.numbers), factors: maps.Clone(f.factors)}
}

// Factor gives a copy of a factor, also that of combined levels, "a:b".
func (f *Frame) Factor(name string) (Factor, error) {
	v, err := f.factor(name)
	return Factor{slices.Clone(v.Levels), slices.Clone(v.Codes)}, err
}

// factor gives a factor that shares the frame's slices.
func (f *Frame) factor(name string) (Factor, error) {
	if v, ok := f.factors[name]; ok {
		return v, nil
	}
	parts := strings.Split(name, ":")
	if len(parts) < 2 {
		if _, ok := f.numbers[name]; ok {
			return Factor{}, fmt.Errorf("stats: %s is a column of numbers, a grouping needs labels", name)
		}
		return Factor{}, fmt.Errorf("stats: no column %s", name)
	}
	v, err := f.factor(parts[0])
	for _, p := range parts[1:] {
		var w Factor
		if err == nil {
			w, err = f.factor(p)
		}
		if err == nil {
			v = crossed(v, w)
		}
	}
	return v, err
}

// crossed is the factor of the combinations that occur, in order.
func crossed(a, b Factor) Factor {
	width := int64(len(b.Levels))
	seen := map[int64]int32{}
	var keys []int64
	var levels []string
	codes := make([]int32, len(a.Codes))
	for i := range a.Codes {
		key := int64(a.Codes[i])*width + int64(b.Codes[i])
		c, ok := seen[key]
		if !ok {
			c = int32(len(keys))
			seen[key] = c
			keys, levels = append(keys, key), append(levels, a.Levels[a.Codes[i]]+":"+b.Levels[b.Codes[i]])
		}
		codes[i] = c
	}
	return reordered(levels, codes, ascending(keys))
}
