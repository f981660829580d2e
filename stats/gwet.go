package stats

import (
	"fmt"
	"math"
)

// Gwet is Gwet's first-order agreement coefficient, AC1.
type Gwet struct {
	Subjects   int      `json:"n_subjects"`          // with one rating or more
	Pairable   int      `json:"n_subjects_pairable"` // with two or more: the others count for chance agreement only
	Ratings    int      `json:"n_ratings"`
	Categories int      `json:"n_categories"`
	Observed   float64  `json:"observed_agreement"`
	Chance     float64  `json:"chance_agreement"`
	AC1        float64  `json:"ac1"`
	SE         float64  `json:"se"`
	CI         Interval `json:"ci95"` // t with DF degrees of freedom, cut off at 1; undefined where SE is 0
	T          float64  `json:"t"`    // of AC1 = 0; NaN where SE is 0
	DF         float64  `json:"df"`
	P          float64  `json:"p_two_sided"`
	Undefined  string   `json:"undefined_reason,omitzero"`
	Warnings   []string `json:"warnings,omitempty"`
}

// GwetAC1 takes, for each subject and category, how many raters gave it. The
// number of raters may differ between subjects, as it does where ratings are
// missing. The columns are all categories that could be given: one that nobody
// gave lowers chance agreement.
//
// Unlike kappa, AC1 stays near the observed agreement when one category is far
// more frequent than the others. The standard error is that of subjects drawn
// from a large population, rated by these raters.
//
// Source: Gwet (2008), Br. J. Math. Stat. Psychol. 61, 29–48; with missing
// ratings Gwet (2014), Handbook of Inter-Rater Reliability, 4th ed. Reference: R
// irrCAC gwet.ac1.raw.
func GwetAC1(counts [][]int, level float64) (Gwet, error) {
	if err := checkLevel(level); err != nil {
		return Gwet{}, err
	}
	raters, _, total, err := margins(counts)
	if err != nil {
		return Gwet{}, err
	}
	nan := math.NaN()
	g := Gwet{Ratings: int(total), Categories: len(counts[0]), Observed: nan, Chance: nan, AC1: nan, SE: nan, T: nan, DF: nan, P: nan, CI: undefinedInterval(level)}
	share := make([]float64, g.Categories) // the mean share of a category in a subject's ratings
	var observed float64
	for i, row := range counts {
		if raters[i] == 0 {
			continue
		}
		g.Subjects++
		if raters[i] > 1 {
			g.Pairable++
			observed += sameRating(row, raters[i])
		}
		for k, x := range row {
			share[k] += float64(x) / raters[i]
		}
	}
	switch {
	case g.Subjects == 0:
		return Gwet{}, errEmpty
	case g.Categories < 2:
		g.Undefined = "only one category: name all categories that could be given"
		return g, nil
	case g.Pairable == 0:
		g.Undefined = "no subject has two ratings"
		return g, nil
	}
	n, others := float64(g.Subjects), float64(g.Categories-1)
	g.Observed, g.Chance = observed/float64(g.Pairable), 0
	for k := range share {
		share[k] /= n
		g.Chance += share[k] * (1 - share[k]) / others
	}
	g.AC1 = (g.Observed - g.Chance) / (1 - g.Chance)
	// Each subject's contribution to the estimate, linearised in the shares.
	parts := make([]float64, 0, g.Subjects)
	for i, row := range counts {
		if raters[i] == 0 {
			continue
		}
		var chance, part float64
		for k, x := range row {
			chance += float64(x) / raters[i] * (1 - share[k]) / others
		}
		if raters[i] > 1 {
			part = n / float64(g.Pairable) * (sameRating(row, raters[i]) - g.Chance) / (1 - g.Chance)
		}
		parts = append(parts, part-2*(1-g.AC1)*(chance-g.Chance)/(1-g.Chance))
	}
	g.DF = n - 1
	if g.SE = standardError(parts); !(g.SE > 0) {
		g.Warnings = append(g.Warnings, noSpread(g.Subjects))
		return g, nil
	}
	g.T = g.AC1 / g.SE
	g.P = 2 * tCDF(-math.Abs(g.T), g.DF)
	g.CI = tInterval(g.AC1, g.SE, g.DF, level).Clamp(-1/others, 1) // -1/others: no rating agrees, and all categories are as frequent
	return g, nil
}

// noSpread is the warning of an agreement without a standard error.
func noSpread(subjects int) string {
	if subjects == 1 {
		return "only one subject: no interval"
	}
	return fmt.Sprintf("all %d subjects contribute the same: no interval", subjects)
}

// sameRating is the share of pairs of a subject's raters that agree.
func sameRating(row []int, raters float64) float64 {
	var same float64
	for _, x := range row {
		same += float64(x) * float64(x-1)
	}
	return same / (raters * (raters - 1))
}

// standardError is that of the mean of xs; 0 for rounding noise around 1.
func standardError(xs []float64) float64 {
	n := float64(len(xs))
	return root0(sumSquares(xs, mean(xs)) / (n - 1) / n)
}
