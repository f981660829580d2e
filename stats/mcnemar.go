package stats

import (
	"fmt"
	"math"

	"github.com/scruple-eval/scruple/stats/dist"
)

// McNemar compares two arms that pass or fail the same items.
type McNemar struct {
	A              int      `json:"a"`            // both pass
	B              int      `json:"b"`            // only the first
	C              int      `json:"c"`            // only the second
	D              int      `json:"d"`            // neither
	Discordant     int      `json:"n_discordant"` // B + C
	Chi2           float64  `json:"chi2"`         // without continuity correction
	P              float64  `json:"p_chi2"`
	Chi2Continuity float64  `json:"chi2_continuity"` // Edwards' correction, never below 0
	PContinuity    float64  `json:"p_chi2_continuity"`
	PExact         float64  `json:"p_exact"` // two-sided binomial; 1 without discordant items
	PMid           float64  `json:"p_mid"`
	OddsRatio      float64  `json:"odds_ratio"`               // B/C; +Inf where C = 0
	OddsExact      Interval `json:"odds_ratio_ci95_exact"`    // from Clopper-Pearson limits of B/(B+C)
	OddsWald       Interval `json:"odds_ratio_ci95_wald_log"` // undefined with an empty cell
	Diff           float64  `json:"diff_proportions"`         // that pass, first − second
	DiffSE         float64  `json:"diff_se_wald"`
	Wald           Interval `json:"diff_ci95_wald"`            // too short with few discordant items; undefined where DiffSE is 0
	Tango          Interval `json:"diff_ci95_tango"`           // score interval
	Newcombe       Interval `json:"diff_ci95_newcombe"`        // hybrid of Wilson's
	Undefined      string   `json:"undefined_reason,omitzero"` // why the odds ratio and χ² are NaN
}

// McNemarOutcomes tests paired outcomes: a[i] and b[i] are of the same item.
func McNemarOutcomes(a, b []bool, level float64) (McNemar, error) {
	if len(a) != len(b) {
		return McNemar{}, fmt.Errorf("stats: pairs need equal lengths, got %d and %d", len(a), len(b))
	}
	var t [2][2]int
	for i := range a {
		t[1-int(truth(a[i]))][1-int(truth(b[i]))]++
	}
	return McNemarTable(t, level)
}

// McNemarTable tests whether the discordant items of a 2×2 table fall to both
// sides alike; table[i][j] counts items with outcome i of the first arm and j
// of the second, 0 pass and 1 fail. Items are independent; several rows of one
// item are not.
//
// References: R mcnemar.test, binom.test; Edwards (1948); Fagerland, Lydersen
// & Laake (2013) for mid-p.
func McNemarTable(table [2][2]int, level float64) (McNemar, error) {
	if err := checkLevel(level); err != nil {
		return McNemar{}, err
	}
	r := McNemar{A: table[0][0], B: table[0][1], C: table[1][0], D: table[1][1]}
	r.Discordant = r.B + r.C
	n := 0
	for _, row := range table {
		for _, x := range row {
			if x < 0 {
				return McNemar{}, fmt.Errorf("stats: a count of a table is %d", x)
			}
			n += x
		}
	}
	if n == 0 {
		return McNemar{}, errEmpty
	}
	nan := math.NaN()
	b, c, m := float64(r.B), float64(r.C), float64(n)
	r.Diff = (b - c) / m
	r.DiffSE = math.Sqrt(math.Max(0, b+c-(b-c)*(b-c)/m)) / m
	r.Wald = undefinedInterval(level)
	if r.DiffSE > 0 {
		r.Wald = zInterval(r.Diff, r.DiffSE, level)
	}
	r.Tango, r.Newcombe = Tango(r.B, r.C, n, level), NewcombePaired(table, level)
	r.Chi2, r.P, r.Chi2Continuity, r.PContinuity, r.PMid, r.OddsRatio = nan, nan, nan, nan, nan, nan
	r.OddsExact, r.OddsWald = undefinedInterval(level), undefinedInterval(level)
	if r.Discordant == 0 {
		r.PExact = 1
		r.Undefined = "no item is passed by only one arm"
		return r, nil
	}
	chi := dist.ChiSquared{DF: 1}
	r.Chi2 = (b - c) * (b - c) / (b + c)
	r.P = chi.Survival(r.Chi2)
	corrected := math.Max(0, math.Abs(b-c)-1)
	r.Chi2Continuity = corrected * corrected / (b + c)
	r.PContinuity = chi.Survival(r.Chi2Continuity)
	binomial := dist.Binomial{N: r.Discordant, P: 0.5}
	least := min(r.B, r.C)
	lower := 2 * binomial.CDF(float64(least))
	r.PExact = math.Min(1, lower)
	r.PMid = math.Min(1, lower-binomial.Prob(least))
	r.OddsRatio = b / c
	r.OddsExact = Interval{leastOdds(r.B, r.C, level), 1 / leastOdds(r.C, r.B, level), level}
	if r.B > 0 && r.C > 0 {
		half := zQuantile((1-level)/2) * math.Sqrt(1/b+1/c)
		r.OddsWald = Interval{r.OddsRatio * math.Exp(-half), r.OddsRatio * math.Exp(half), level}
	}
	return r, nil
}

// leastOdds is the odds of the lower Clopper-Pearson limit of x/(x+y), with all
// digits also where the limit is nearly 1.
func leastOdds(x, y int, level float64) float64 {
	if x == 0 {
		return 0
	}
	tail, a, b := (1-level)/2, float64(x), float64(y)+1
	return dist.Beta{A: a, B: b}.Quantile(tail) / dist.Beta{A: b, B: a}.Quantile(1-tail)
}

// Cochran is Cochran's Q test of several arms on the same items.
type Cochran struct {
	N         int     `json:"n"`      // items
	Passes    []int   `json:"passes"` // by arm
	Q         float64 `json:"q"`
	DF        float64 `json:"df"`
	P         float64 `json:"p"`
	Undefined string  `json:"undefined_reason,omitzero"`
}

// CochranQ tests whether arms pass equally often; pass[i][j] is item i, arm j.
// It is the paired test where chi-squared over arms would take the same items
// for independent ones. Undefined where no item tells arms apart.
//
// Reference: statsmodels cochrans_q; Cochran (1950).
func CochranQ(pass [][]bool) (Cochran, error) {
	if len(pass) == 0 {
		return Cochran{}, errEmpty
	}
	k := len(pass[0])
	if k < 2 {
		return Cochran{}, fmt.Errorf("stats: Cochran's Q compares 2 arms or more, got %d", k)
	}
	r := Cochran{N: len(pass), Passes: make([]int, k), DF: float64(k - 1), Q: math.NaN(), P: math.NaN()}
	var total, rowSquares float64
	for i, row := range pass {
		if len(row) != k {
			return Cochran{}, rowError(i, "has %d outcomes, the first has %d", len(row), k)
		}
		var passed float64
		for j, ok := range row {
			if ok {
				r.Passes[j]++
				passed++
			}
		}
		total += passed
		rowSquares += passed * passed
	}
	var squares float64
	for _, c := range r.Passes {
		squares += float64(c) * float64(c)
	}
	below := float64(k)*total - rowSquares
	if below == 0 {
		r.Undefined = "every item is passed by all arms or by none"
		return r, nil
	}
	r.Q = float64(k-1) * (float64(k)*squares - total*total) / below
	r.P = dist.ChiSquared{DF: r.DF}.Survival(r.Q)
	return r, nil
}
