package measure

import "slices"

// UpTo lists the numbers from 0 that are below n.
func UpTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// PairEqual pairs the numbers of two lists that have the same key, the first with the first, in
// pairs, and returns the others.
func PairEqual(pairs, left, right []int, leftKey, rightKey func(int) string) (otherLeft, otherRight []int) {
	waiting, taken := map[string][]int{}, map[int]bool{}
	for _, j := range right {
		k := rightKey(j)
		waiting[k] = append(waiting[k], j)
	}
	otherLeft = slices.DeleteFunc(left, func(i int) bool {
		k := leftKey(i)
		same := waiting[k]
		if len(same) == 0 {
			return false
		}
		pairs[i], taken[same[0]], waiting[k] = same[0], true, same[1:]
		return true
	})
	return otherLeft, slices.DeleteFunc(right, func(j int) bool { return taken[j] })
}
