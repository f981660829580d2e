package stats

import (
	"fmt"
	"math"

	"github.com/scruple-eval/scruple/stats/dist"
)

// TwoProportions compares two independent proportions.
type TwoProportions struct {
	P1          float64  `json:"p1"`
	P2          float64  `json:"p2"`
	Diff        float64  `json:"diff"`
	CohenH      float64  `json:"cohen_h"` // 2·asin√p₁ − 2·asin√p₂
	Z           float64  `json:"z"`       // pooled
	P           float64  `json:"p_two_sided"`
	PContinuity float64  `json:"p_continuity"` // with Yates' correction
	ZUnpooled   float64  `json:"-"`            // by the standard error of the Wald interval; NaN where both proportions are 0 or 1
	PUnpooled   float64  `json:"-"`
	Wald        Interval `json:"diff_ci95_wald"`
	Newcombe    Interval `json:"diff_ci95_newcombe"`        // of Wilson intervals; defined also where z is not
	Undefined   string   `json:"undefined_reason,omitzero"` // why z is NaN
	Warnings    []string `json:"warnings,omitempty"`
}

// CompareProportions tests whether x₁/n₁ and x₂/n₂ differ. It assumes independent
// observations; for two arms on the same items use [McNemarTable]. If all or none
// pass, there is no test but still Newcombe's interval; the unpooled z needs a
// proportion that is neither 0 nor 1.
//
// References: R prop.test; Newcombe (1998), method 10.
func CompareProportions(x1, n1, x2, n2 int, level float64) (TwoProportions, error) {
	if err := checkLevel(level); err != nil {
		return TwoProportions{}, err
	}
	for _, c := range [][2]int{{x1, n1}, {x2, n2}} {
		if c[1] < 1 || c[0] < 0 || c[0] > c[1] {
			return TwoProportions{}, fmt.Errorf("stats: %d of %d is not a proportion", c[0], c[1])
		}
	}
	nan := math.NaN()
	m1, m2 := float64(n1), float64(n2)
	p1, p2 := float64(x1)/m1, float64(x2)/m2
	r := TwoProportions{P1: p1, P2: p2, Diff: p1 - p2, CohenH: 2*math.Asin(math.Sqrt(p1)) - 2*math.Asin(math.Sqrt(p2)),
		Z: nan, P: nan, PContinuity: nan, ZUnpooled: nan, PUnpooled: nan, Wald: undefinedInterval(level)}
	w1, w2 := Wilson(x1, n1, level), Wilson(x2, n2, level)
	r.Newcombe = Interval{r.Diff - math.Hypot(p1-w1.Low, w2.High-p2), r.Diff + math.Hypot(w1.High-p1, p2-w2.Low), level}
	pooled := float64(x1+x2) / (m1 + m2)
	if x1+x2 == 0 || x1+x2 == n1+n2 {
		r.Undefined = "all outcomes are the same"
		return r, nil
	}
	se := math.Sqrt(pooled * (1 - pooled) * (1/m1 + 1/m2))
	d := dist.Normal{Mean: 0, SD: 1}
	r.Z = r.Diff / se
	r.P = 2 * d.Survival(math.Abs(r.Z))
	correction := math.Min(0.5*(1/m1+1/m2), math.Abs(r.Diff))
	r.PContinuity = math.Min(1, 2*d.Survival((math.Abs(r.Diff)-correction)/se))
	unpooled := math.Sqrt(p1*(1-p1)/m1 + p2*(1-p2)/m2)
	if unpooled > 0 {
		r.Wald = zInterval(r.Diff, unpooled, level)
		r.ZUnpooled = r.Diff / unpooled
		r.PUnpooled = 2 * d.Survival(math.Abs(r.ZUnpooled))
	} else {
		r.Warnings = append(r.Warnings, "no Wald interval: both proportions are 0 or 1")
	}
	return r, nil
}
