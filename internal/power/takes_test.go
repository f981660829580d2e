package power_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/power"
)

// TestTakes: twenty equal answers leave room for a loss of 16 points, 73 for one of 5, by
// Tango's z²/(n + z²). A rule that more of the same contradicts takes no number.
func TestTakes(t *testing.T) {
	equal := func(string, string) (num, den []float64) {
		for range 20 {
			num, den = append(num, 1), append(den, 1)
		}
		return num, den
	}
	for rule, want := range map[string]int{"diff_low('a','b','passed') > -0.05": 73, "diff_low('a','b','passed') > 0": 0, "low('a','passed') > 0.95": 73} {
		d := design(t, "auto", 20, 1, rule)
		if n, most, err := d.Takes(d.Rules.All(), equal); err != nil || n[0] != want && n[0] != want+1 || want == 0 && most != power.MostItems {
			t.Errorf("%s takes %d items, want %d; %d were tried (%v)", rule, n, want, most, err)
		}
	}
}

// TestTakesInAnyOrder: scores come in the order of ids, and the order of the file has no effect.
func TestTakesInAnyOrder(t *testing.T) {
	d := design(t, "auto", 6, 4, "diff_low('a','b','passed') > 0")
	slices.SortFunc(d.Items, func(x, y eval.Item) int { return strings.Compare(x.ID, y.ID) })
	failed := map[string]bool{} // of b: all of two clusters
	for _, it := range d.Items {
		failed[it.ID] = it.Cluster == "c1" || it.Cluster == "c4"
	}
	byID := slices.Clone(d.Items)
	scores := func(arm, metric string) (num, den []float64) {
		for _, it := range byID {
			passed := 1.0
			if arm == "b" && failed[it.ID] {
				passed = 0
			}
			num, den = append(num, passed), append(den, 1)
		}
		return num, den
	}
	want, _, err := d.Takes(d.Rules.All(), scores)
	if err != nil || want[0] == 0 {
		t.Fatal(want, err)
	}
	slices.SortFunc(d.Items, func(x, y eval.Item) int { return len(x.ID) - len(y.ID) })
	slices.Reverse(d.Items)
	if got, _, err := d.Takes(d.Rules.All(), scores); err != nil || got[0] != want[0] {
		t.Errorf("%v items in another order, want %v (%v)", got, want, err)
	}
}
