package stats_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/stats"
)

// irrCAC's data sets, one row a rater; 0 is a missing rating.
var (
	raw4Raters = [][]int{
		{1, 2, 3, 3, 2, 1, 4, 1, 2, 0, 0, 0},
		{1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 0, 0},
		{0, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 3},
		{1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, 0},
	}
	raw5Observers = [][]int{ // irrCAC's scores 0 to 3 as 1 to 4
		{2, 2, 3, 0, 1, 1, 2, 2, 3, 3, 0, 1, 2, 4, 2},
		{2, 2, 4, 1, 1, 1, 1, 0, 3, 2, 2, 1, 3, 4, 2},
		{3, 1, 4, 1, 1, 1, 3, 3, 3, 2, 1, 1, 3, 3, 2},
		{0, 2, 4, 0, 0, 0, 0, 1, 0, 2, 1, 1, 3, 3, 0},
		{3, 0, 0, 1, 1, 1, 2, 0, 3, 0, 0, 0, 0, 4, 2},
	}
	rawGender = [][]int{ // a, b, c
		{1, 1, 1, 1, 1, 2, 2, 2, 3, 1, 1, 1, 1, 1, 2},
		{1, 1, 1, 1, 2, 1, 2, 3, 3, 1, 1, 1, 1, 2, 1},
		{1, 2, 2, 3, 1, 1, 2, 2, 3, 1, 2, 2, 3, 1, 1},
		{3, 3, 3, 3, 1, 1, 2, 2, 3, 3, 3, 3, 3, 1, 1},
	}
)

// bySubject counts ratings by subject and category.
func bySubject(raters [][]int, categories int) [][]int {
	counts := make([][]int, len(raters[0]))
	for i := range counts {
		counts[i] = make([]int, categories)
		for _, ratings := range raters {
			if c := ratings[i]; c > 0 {
				counts[i][c-1]++
			}
		}
	}
	return counts
}

// TestGwetAC1OfIrrCAC compares with irrCAC: R's gwet.ac1.raw (vignette "overview")
// and the tests of its Python port (afergadis/irrCAC, tests/test_gwet.py), which
// print five decimals.
func TestGwetAC1OfIrrCAC(t *testing.T) {
	for name, c := range map[string]struct {
		counts            [][]int
		ac1, low, high, p float64
	}{
		"raw4raters": {bySubject(raw4Raters, 5), 0.77544, 0.46081, 1, 0.00021},
		"raw5obser":  {bySubject(raw5Observers, 4), 0.49662, 0.23502, 0.75823, 0.00114},
		"raw.gender": {bySubject(rawGender, 3), 0.20808, 0.01356, 0.40261, 0.03776},
	} {
		g, err := stats.GwetAC1(c.counts, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		for what, pair := range map[string][2]float64{"AC1": {g.AC1, c.ac1}, "low": {g.CI.Low, c.low}, "high": {g.CI.High, c.high}, "p": {g.P, c.p}} {
			if !(math.Abs(pair[0]-pair[1]) <= 0.5e-5) {
				t.Errorf("%s: %s = %.7f, irrCAC %v", name, what, pair[0], pair[1])
			}
		}
	}
	// Two categories that are as frequent, and no agreement: AC1 is -1, and can be no less.
	if g, err := stats.GwetAC1([][]int{{1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {2, 0}}, 0.95); err != nil || g.CI.Low != -1 || !(math.Abs(g.AC1+0.622) < 1e-3) {
		t.Errorf("AC1 %v (%v to %v), %v; want -0.622 from -1", g.AC1, g.CI.Low, g.CI.High, err)
	}
	g, _ := stats.GwetAC1(bySubject(raw4Raters, 5), 0.95)
	for what, pair := range map[string][2]float64{"SE": {g.SE, 0.14295}, "agreement": {g.Observed, 0.81818}, "t": {g.T, 5.42458}} {
		if !(math.Abs(pair[0]-pair[1]) <= 0.5e-5) {
			t.Errorf("%s = %.7f, irrCAC %v", what, pair[0], pair[1])
		}
	}
	if g.Subjects != 12 || g.Pairable != 11 || g.Ratings != 41 {
		t.Errorf("%+v", g)
	}
}

// TestFleissIntervalOfIrrCAC: fleiss.kappa.raw of the data set without missing
// ratings, in the Python port's tests/test_fleiss.py.
func TestFleissIntervalOfIrrCAC(t *testing.T) {
	f, err := stats.FleissKappa(bySubject(rawGender, 3))
	if err != nil {
		t.Fatal(err)
	}
	ci := f.Interval(0.95)
	for what, pair := range map[string][2]float64{"kappa": {f.Kappa, 0.12889}, "low": {ci.Low, -0.17246}, "high": {ci.High, 0.43023}} {
		if !(math.Abs(pair[0]-pair[1]) <= 0.5e-5) {
			t.Errorf("%s = %.7f, irrCAC %v", what, pair[0], pair[1])
		}
	}
	perfect, _ := stats.FleissKappa([][]int{{3, 0}, {0, 3}, {3, 0}})
	if ci := perfect.Interval(0.95); perfect.Kappa != 1 || !math.IsNaN(ci.Low) || !math.IsNaN(ci.High) {
		t.Errorf("perfect agreement: %v ± %v, %v", perfect.Kappa, perfect.SE, ci)
	}
}

// TestGwetAC1ByHand: 2 raters, 10 subjects, 8 agree on the first category, 2
// disagree. Shares are 0.9 and 0.1: chance agreement is 2·0.9·0.1/(2 − 1) = 0.18.
func TestGwetAC1ByHand(t *testing.T) {
	counts := slices.Repeat([][]int{{2, 0}}, 8)
	counts = append(counts, []int{1, 1}, []int{1, 1})
	g, err := stats.GwetAC1(counts, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "chance", g.Chance, 0.18)
	same(t, "AC1", g.AC1, (0.8-0.18)/(1-0.18))
}

func TestGwetAC1AtTheEdge(t *testing.T) {
	for name, c := range map[string]struct {
		counts    [][]int
		ac1       float64
		undefined bool
	}{
		"one category":      {[][]int{{3}, {2}}, math.NaN(), true},
		"nothing to pair":   {[][]int{{1, 0}, {0, 1}}, math.NaN(), true},
		"one that is given": {[][]int{{3, 0}, {2, 0}}, 1, false},
		"one subject":       {[][]int{{2, 1}}, (1.0/3 - 4.0/9) / (5.0 / 9), false},
	} {
		g, err := stats.GwetAC1(c.counts, 0.95)
		if err != nil || (g.Undefined != "") != c.undefined || !(math.Abs(g.AC1-c.ac1) < 1e-12 || math.IsNaN(c.ac1) && math.IsNaN(g.AC1)) || !math.IsNaN(g.CI.Low) || !math.IsNaN(g.P) {
			t.Errorf("%s: %+v, %v", name, g, err)
		}
	}
	if _, err := stats.GwetAC1([][]int{{0, 0}}, 0.95); err == nil {
		t.Error("a table without ratings was accepted")
	}
}

// Subjects in another order, and subjects without a rating, change nothing.
func TestGwetAC1Ignores(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		counts := rapid.SliceOfN(rapid.SliceOfN(rapid.IntRange(0, 3), 3, 3), 2, 20).Draw(t, "counts")
		g, err := stats.GwetAC1(counts, 0.9)
		if err != nil {
			return
		}
		other := slices.Clone(counts)
		slices.Reverse(other)
		h, err := stats.GwetAC1(append(other, []int{0, 0, 0}), 0.9)
		if err != nil || math.IsNaN(g.AC1) != math.IsNaN(h.AC1) || math.IsNaN(g.SE) != math.IsNaN(h.SE) || math.Abs(g.AC1-h.AC1) > 1e-12 || math.Abs(g.SE-h.SE) > 1e-9 || g.AC1 > 1+1e-12 {
			t.Fatalf("%+v\n%+v, %v", g, h, err)
		}
	})
}
