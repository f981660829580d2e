package power_test

import (
	"testing"

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
