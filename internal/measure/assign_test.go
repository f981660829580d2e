package measure_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/measure"
)

// The assignment is the best of all: it is compared with every one.
func TestAssign(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, m := rapid.IntRange(1, 6).Draw(t, "rows"), rapid.IntRange(1, 6).Draw(t, "columns")
		cost := make([][]int32, n)
		for i := range cost {
			cost[i] = rapid.SliceOfN(rapid.Int32Range(-4, 4), m, m).Draw(t, "row")
		}
		sum, used := int32(0), map[int]bool{}
		for i, c := range measure.Assign(cost) {
			if c < 0 {
				continue
			}
			if used[c] {
				t.Fatalf("column %d twice", c)
			}
			used[c] = true
			sum += cost[i][c]
		}
		if len(used) != min(n, m) {
			t.Errorf("%d pairs", len(used))
		}
		if best, _ := leastSum(cost, 0, min(n, m), map[int]bool{}); sum != best {
			t.Errorf("%d, the best is %d", sum, best)
		}
	})
}

func leastSum(cost [][]int32, row, pairs int, used map[int]bool) (best int32, possible bool) {
	if pairs == 0 {
		return 0, true
	}
	if len(cost)-row < pairs {
		return 0, false
	}
	best, possible = leastSum(cost, row+1, pairs, used)
	for c := range cost[row] {
		if used[c] {
			continue
		}
		used[c] = true
		if rest, ok := leastSum(cost, row+1, pairs-1, used); ok && (!possible || cost[row][c]+rest < best) {
			best, possible = cost[row][c]+rest, true
		}
		delete(used, c)
	}
	return best, possible
}

// Of several best assignments, that of SciPy: these are what scipy.optimize.linear_sum_assignment
// of SciPy 1.18.1 returns.
func TestAssignTies(t *testing.T) {
	for _, c := range []struct {
		cost [][]int32
		want []int
	}{
		{[][]int32{{0, 0}, {0, 0}}, []int{0, 1}},
		{[][]int32{{1, 1, 1}, {1, 1, 1}}, []int{0, 1}},
		{[][]int32{{1, 1}, {1, 1}, {1, 1}}, []int{0, 1, -1}},
		{[][]int32{{0, 1, 0}, {0, 0, 1}, {1, 0, 0}}, []int{0, 1, 2}},
		{[][]int32{{2, 1, 1}, {1, 2, 1}, {1, 1, 2}}, []int{2, 0, 1}},
		{[][]int32{{1, 0, 1, 0}, {0, 0, 1, 1}, {1, 0, 0, 1}}, []int{1, 0, 2}},
		{[][]int32{{2, 2, 1}, {1, 1, 0}, {2, 1, 1}, {0, 1, 0}}, []int{-1, 2, 1, 0}},
	} {
		if got := measure.Assign(c.cost); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, SciPy has %v", c.cost, got, c.want)
		}
	}
}

func BenchmarkAssign1000(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	cost := make([][]int32, 1000)
	for i := range cost {
		cost[i] = make([]int32, 1000)
		for j := range cost[i] {
			cost[i][j] = -int32(r.IntN(4))
		}
		cost[i][(i*7)%1000] = -7
	}
	for b.Loop() {
		measure.Assign(cost)
	}
}
