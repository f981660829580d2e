package measure

import "math"

// CountStated counts cases by confidence, sorted. Confidences that are not numbers
// are left out.
func CountStated(confidence []float64, right []bool) []Stated {
	at := map[float64]int{} // place in counts
	var counts []Stated
	for i, c := range confidence {
		if math.IsNaN(c) {
			continue
		}
		k, seen := at[c]
		if !seen {
			k = len(counts)
			at[c], counts = k, append(counts, Stated{Confidence: c})
		}
		if right[i] {
			counts[k].Right++
		} else {
			counts[k].Wrong++
		}
	}
	return MergeStated(counts)
}
