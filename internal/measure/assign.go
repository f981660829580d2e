package measure

import (
	"math"
	"slices"
)

// Assign gives each row a column of its own so that the sum of costs is smallest, and returns the
// column of each row, -1 for none: where there are more rows than columns, rows stay alone. It is
// the Hungarian method with shortest augmenting paths (Jonker and Volgenant 1987), in
// min² · max steps at most. Of several best assignments it takes that of SciPy's
// linear_sum_assignment (Crouse 2016): columns are searched from the last, and a free one wins a tie.
// Sums of costs must fit into 31 bits.
func Assign(cost [][]int32) []int {
	if len(cost) == 0 {
		return nil
	}
	n, m := len(cost), len(cost[0])
	if n > m {
		transposed := make([][]int32, m)
		for j := range transposed {
			transposed[j] = make([]int32, n)
			for i := range cost {
				transposed[j][i] = cost[i][j]
			}
		}
		rows := slices.Repeat([]int{-1}, n)
		for j, i := range Assign(transposed) {
			rows[i] = j
		}
		return rows
	}
	u, v, least := make([]int32, n), make([]int32, m), make([]int32, m)
	columns, rows := slices.Repeat([]int{-1}, n), slices.Repeat([]int{-1}, m) // of rows, of columns
	way, open := make([]int, m), make([]int, m)
	seenRow, seenColumn := make([]bool, n), make([]bool, m)
	for row := range cost {
		for k := range open {
			open[k], least[k] = m-1-k, math.MaxInt32
		}
		clear(seenRow)
		clear(seenColumn)
		left, at, free, sum := m, row, -1, int32(0)
		for free < 0 {
			seenRow[at] = true
			next, lowest, of, offset := -1, int32(math.MaxInt32), cost[at], sum-u[at]
			for k, j := range open[:left] {
				if r := of[j] + offset - v[j]; r < least[j] {
					least[j], way[j] = r, at
				}
				if least[j] < lowest || least[j] == lowest && rows[j] < 0 {
					lowest, next = least[j], k
				}
			}
			sum = lowest
			j := open[next]
			if rows[j] < 0 {
				free = j
			} else {
				at = rows[j]
			}
			seenColumn[j] = true
			left--
			open[next] = open[left]
		}
		u[row] += sum
		for i := range u {
			if seenRow[i] && i != row {
				u[i] += sum - least[columns[i]]
			}
		}
		for j := range v {
			if seenColumn[j] {
				v[j] -= sum - least[j]
			}
		}
		for j, i := free, -1; i != row; {
			i = way[j]
			rows[j] = i
			columns[i], j = j, columns[i]
		}
	}
	return columns
}
