package measure_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/measure"
)

func TestRank(t *testing.T) {
	ranking := []string{"b", "a", "c"}
	for gold, want := range map[string]int{"b": 1, "a": 2, "c": 3, "z": 0} {
		if got := measure.Rank(ranking, gold); got != want {
			t.Errorf("rank of %s is %d, want %d", gold, got, want)
		}
	}
	if measure.Hit(0, 5) != 0 || measure.Hit(3, 2) != 0 || measure.Hit(2, 2) != 1 {
		t.Error("hits")
	}
	if measure.ReciprocalRank(0, 0) != 0 || measure.ReciprocalRank(4, 0) != 0.25 || measure.ReciprocalRank(4, 3) != 0 {
		t.Error("reciprocal ranks")
	}
}

// TestNDCGBounds: the ideal ranking gains 1 and no other gains more.
func TestNDCGBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "documents")
		relevance := map[string]float64{}
		var ids []string
		for i := range n {
			id := fmt.Sprint(i)
			ids = append(ids, id)
			relevance[id] = float64(rapid.IntRange(0, 3).Draw(t, "relevance"))
		}
		k := rapid.IntRange(1, 10).Draw(t, "k")
		for _, gain := range []measure.Gain{measure.Linear, measure.Exponential} {
			got := measure.NDCG(rapid.Permutation(ids).Draw(t, "ranking"), relevance, k, gain)
			best := slices.Clone(ids)
			slices.SortStableFunc(best, func(a, b string) int { return int(relevance[b] - relevance[a]) })
			ideal := measure.NDCG(best, relevance, k, gain)
			if math.IsNaN(got) != math.IsNaN(ideal) {
				t.Fatal("one of two is undefined")
			}
			if !math.IsNaN(ideal) && (!(math.Abs(ideal-1) <= 1e-12) || got < 0 || got > 1+1e-12) {
				t.Fatalf("nDCG %v, of the ideal ranking %v", got, ideal)
			}
		}
	})
}
