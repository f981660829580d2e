package stats

import (
	"cmp"
	"fmt"
	"math"

	"github.com/scruple-eval/scruple/stats/dist"
)

// Judged are the verdicts of a judge on units, 0 or 1, and those of people where they are
// known, else NaN. A unit that needs no judge, such as an answer that cannot be read, has
// its score in Human and NaN in Judge. Units with the same number in Cluster may be
// correlated.
type Judged struct {
	Judge, Human []float64
	Cluster      []int
}

// Add adds a unit; human is NaN if no person judged it.
func (j *Judged) Add(cluster int, judge, human float64) {
	j.Judge, j.Human, j.Cluster = append(j.Judge, judge), append(j.Human, human), append(j.Cluster, cluster)
}

// labelled counts the units that people judged.
func (j Judged) labelled() (n int) {
	for _, h := range j.Human {
		if !math.IsNaN(h) {
			n++
		}
	}
	return n
}

// clusters lists the clusters of units, in order of appearance.
func (j Judged) clusters() (list []int) {
	codes, _ := numbered(j.Cluster, len(j.Judge))
	for i, code := range codes {
		if code == len(list) {
			list = append(list, clusterOf(j.Cluster, i))
		}
	}
	return list
}

// split separates the units that need no judge.
func (j Judged) split() (judged, sure Judged) {
	for i, x := range j.Judge {
		if math.IsNaN(x) {
			sure.Add(clusterOf(j.Cluster, i), x, j.Human[i])
		} else {
			judged.Add(clusterOf(j.Cluster, i), x, j.Human[i])
		}
	}
	return judged, sure
}

// A JudgedRate is the share of units that people would say yes to.
type JudgedRate struct {
	Judge    float64 // share by the judge, of all units
	People   float64 // share by people, of the units they judged
	Labelled int     // those units
	// Value and CI are the corrected rate; NaN without an interval, since a corrected rate
	// would look certain.
	Value     float64
	SE, DF    float64 // NaN for a rate corrected by other units, whose interval is not symmetric
	CI        Interval
	Method    string
	Undefined string
	Warnings  []string

	parts []float64 // contributions of the clusters to the variance, by order of appearance
	added float64   // to the sum of their squares, for what is too rare to show
	// unseen is the variance of what no label shows, though other units may have it.
	unseen float64
}

// CorrectedRate corrects the rate by a judge of units. Where people judged some of these
// units, drawn at random, it is [PredictionPoweredClusters]. Else it is corrected by the
// judge's sensitivity and specificity on known units, all of which people judged:
//
//	(p + specificity − 1) / (sensitivity + specificity − 1)
//
// with p the rate by the judge (Rogan & Gladen 1978) and the interval of Lang & Reiczigel,
// which adds z²/2 to both kinds of verdicts and one to right and wrong ones. It does not
// depend on the share of yes among the known units, and assumes that the judge is right as
// often on yes and on no as there. Each of the three shares counts the effective number of
// its units for their clusters.
//
// A judge whose verdicts on the known units cannot be told from chance corrects nothing.
//
// Source: Rogan & Gladen (1978), American Journal of Epidemiology 107, 71–76; Lang &
// Reiczigel (2014), Preventive Veterinary Medicine 113, 13–22.
func CorrectedRate(units, known Judged, level float64) (JudgedRate, error) {
	if judged, sure := units.split(); len(sure.Judge) > 0 {
		return withSure(units, judged, sure, level)
	}
	if units.labelled() == 0 && len(known.Judge) > 0 {
		return roganGladen(units, known, level)
	}
	p, err := PredictionPoweredClusters(units.Judge, units.Human, units.Cluster, level)
	if err != nil {
		return JudgedRate{}, err
	}
	r := JudgedRate{Judge: p.JudgeMean, People: p.HumanMean, Labelled: p.Labelled, Value: math.Max(0, math.Min(1, p.Estimate)), SE: p.SE, DF: p.DF, CI: p.CI.Clamp(0, 1),
		Method: "prediction-powered", Undefined: p.Undefined, Warnings: p.Warnings}
	s := newLabelled(units.Judge, units.Human, units.Cluster, 1)
	r.unseen = s.rare(make([]float64, len(s.y))).disagreement
	if r.Undefined != "" {
		r.Value, r.CI = math.NaN(), undefinedInterval(level)
		return r, nil
	}
	r.added = r.SE * r.SE
	r.parts = s.contributions(p.Lambda)
	for i := range r.parts {
		r.parts[i] *= math.Sqrt(float64(p.Clusters) / p.DF)
		r.added -= r.parts[i] * r.parts[i]
	}
	return r, nil
}

// withSure is the rate of units of which some need no judge: the mean of both kinds, with
// the variance of the corrected ones, that of the others, and that of their shares.
func withSure(units, judged, sure Judged, level float64) (JudgedRate, error) {
	if err := checkFinite("human", sure.Human); err != nil {
		return JudgedRate{}, err
	}
	if len(judged.Judge) == 0 {
		return JudgedRate{Judge: math.NaN(), People: math.NaN(), Value: math.NaN(), SE: math.NaN(), DF: math.NaN(), CI: undefinedInterval(level), Undefined: "the judge judged no unit"}, nil
	}
	r, err := CorrectedRate(judged, Judged{}, level)
	if err != nil {
		return r, err
	}
	all, rest := float64(len(units.Judge)), float64(len(sure.Judge))
	weight, m := 1-rest/all, mean(sure.Human)
	r.Judge = weight*r.Judge + (1-weight)*m
	if r.Undefined != "" {
		return r, nil
	}
	between := r.Value - m
	own := map[int]float64{} // contributions of the judged units by cluster
	for k, c := range judged.clusters() {
		own[c] = r.parts[k]
	}
	codes, clusters := numbered(units.Cluster, len(units.Judge))
	parts := make([]float64, clusters)
	seen := make([]bool, clusters)
	for i, x := range units.Judge {
		c := codes[i]
		if math.IsNaN(x) {
			parts[c] += (units.Human[i] - m - between*weight) / all
		} else {
			parts[c] += between * (1 - weight) / all
		}
		if !seen[c] {
			seen[c] = true
			parts[c] += weight * own[clusterOf(units.Cluster, i)]
		}
	}
	rare := newLabelled(sure.Human, sure.Human, sure.Cluster, 1).rare(make([]float64, len(sure.Human)))
	r.unseen *= weight * weight
	r.parts, r.added = parts, weight*weight*r.added+(1-weight)*(1-weight)*rare.label
	r.Value = weight*r.Value + (1-weight)*m
	variance := r.added
	for _, x := range parts {
		variance += x * x
	}
	r.SE = math.Sqrt(variance)
	r.CI = tInterval(r.Value, r.SE, r.DF, level).Clamp(0, 1)
	return r, nil
}

func roganGladen(units, known Judged, level float64) (JudgedRate, error) {
	nan := math.NaN()
	r := JudgedRate{Judge: nan, People: nan, Value: nan, SE: nan, DF: nan, CI: undefinedInterval(level), Method: "by sensitivity and specificity (Rogan & Gladen)"}
	// A right verdict is 1: the units of yes and no by people, and all that were judged.
	var of [3]Judged
	of[0] = units
	for i, h := range known.Human {
		k := 1
		right := known.Judge[i]
		if h == 0 {
			k, right = 2, 1-known.Judge[i]
		}
		of[k].Add(clusterOf(known.Cluster, i), right, nan)
	}
	var share, n [3]float64
	for i, name := range []string{"judged units", "known units of yes", "known units of no"} {
		if len(of[i].Judge) == 0 {
			r.Undefined = "there are no " + name
			return r, nil
		}
		cluster, clusters := numbered(of[i].Cluster, len(of[i].Judge))
		num, den := sumByCode(of[i].Judge, nil, cluster, clusters)
		p, err := RatioOfSums(num, den, level)
		if err != nil {
			return JudgedRate{}, err
		}
		if share[i], n[i] = p.Value, effectiveUnits(p, den); p.Clusters < 2 {
			r.Undefined = "the " + name + " are one cluster"
			return r, nil
		}
	}
	r.Judge = share[0]
	z := dist.Normal{Mean: 0, SD: 1}.Quantile(1 - (1-level)/2)
	add := func(i int, yes, all float64) (p, variance float64) {
		p = (n[i]*share[i] + yes) / (n[i] + all)
		return p, p * (1 - p) / (n[i] + all)
	}
	p, ofP := add(0, z*z/2, z*z)
	sensitivity, ofYes := add(1, 1, 2)
	specificity, ofNo := add(2, 1, 2)
	better := sensitivity + specificity - 1 // than chance
	if better <= z*math.Sqrt(ofYes+ofNo) {
		r.Undefined = fmt.Sprintf("the judge cannot be told from chance: it is right on %.0f %% of the known units of yes and %.0f %% of those of no", 100*share[1], 100*share[2])
		return r, nil
	}
	adjusted := (p + specificity - 1) / better
	centre := adjusted + 2*z*z*(adjusted*ofYes-(1-adjusted)*ofNo)
	half := z * math.Sqrt(ofP+adjusted*adjusted*ofYes+(1-adjusted)*(1-adjusted)*ofNo) / better
	r.Value = math.Max(0, math.Min(1, (share[0]+share[2]-1)/(share[1]+share[2]-1)))
	r.CI = Interval{math.Min(r.Value, centre-half), math.Max(r.Value, centre+half), level}.Clamp(0, 1)
	return r, nil
}

// effectiveUnits is the number of independent units with the variance of these: that
// between clusters where it shows, else at the intraclass correlation [PriorICC].
func effectiveUnits(p Ratio, den []float64) float64 {
	if p.Value > 0 && p.Value < 1 && p.SE > 0 {
		k := float64(p.Clusters)
		return math.Min(p.Den, p.Value*(1-p.Value)/(p.SE*p.SE)*k/(k-1))
	}
	var n, squares float64
	for _, m := range den {
		n, squares = n+m, squares+m*m
	}
	return n / math.Max(1, 1+(squares/n-1)*PriorICC)
}

func clusterOf(cluster []int, i int) int {
	if cluster == nil {
		return i
	}
	return cluster[i]
}

// A JudgedDiff is the difference of two corrected rates.
type JudgedDiff struct {
	A, B      JudgedRate
	Diff, SE  float64
	DF, T, P  float64
	CI        Interval
	Undefined string
}

// CorrectedDifference is the difference of the rates of two arms, each corrected by what
// people say of some of its own units. Units with the same cluster may be correlated within
// and between the arms, which need not have the same units; if people judged the same items
// of both, the errors that they share cancel out. The variance is that of the clusters'
// contributions to the difference, and at least that of three units of an arm on which people would say
// something else, since labels of both arms may agree; the degrees of freedom are the smaller of the two.
//
// In simulations of 200 units of each arm with 8 to 40 labels, judges that are right on 70 to
// 90 % and rates of 0.3 to 0.95, intervals of 95 % cover the difference in 95 to 100 %; if people
// judge 8 to 40 units and there are no others, in 93 % and more.
func CorrectedDifference(a, b Judged, level float64) (JudgedDiff, error) {
	nan := math.NaN()
	d := JudgedDiff{Diff: nan, SE: nan, DF: nan, T: nan, P: nan, CI: undefinedInterval(level)}
	var err error
	if d.A, err = CorrectedRate(a, Judged{}, level); err != nil {
		return d, err
	}
	if d.B, err = CorrectedRate(b, Judged{}, level); err != nil {
		return d, err
	}
	if d.Undefined = cmp.Or(d.A.Undefined, d.B.Undefined); d.Undefined != "" {
		return d, nil
	}
	var parts []float64
	at := map[int]int{} // place of a cluster in parts
	contribute := func(of Judged, rate JudgedRate, sign float64) {
		for k, c := range of.clusters() {
			if _, ok := at[c]; !ok {
				at[c] = len(parts)
				parts = append(parts, 0)
			}
			parts[at[c]] += sign * rate.parts[k]
		}
	}
	contribute(a, d.A, 1)
	contribute(b, d.B, -1)
	variance := math.Max(0, d.A.added) + math.Max(0, d.B.added)
	for _, x := range parts {
		variance += x * x
	}
	variance = max(variance, d.A.unseen, d.B.unseen)
	d.Diff, d.SE, d.DF = d.A.Value-d.B.Value, math.Sqrt(variance), math.Min(d.A.DF, d.B.DF)
	if negligible(math.Abs(d.Diff), d.A.Value) {
		d.Diff = 0
	}
	d.T = d.Diff / d.SE
	d.P = 2 * tCDF(-math.Abs(d.T), d.DF)
	d.CI = d.Interval(level)
	return d, nil
}

// Interval is the interval of the difference at another level.
func (d JudgedDiff) Interval(level float64) Interval {
	if !(d.SE > 0) {
		return undefinedInterval(level)
	}
	return tInterval(d.Diff, d.SE, d.DF, level).Clamp(-1, 1)
}
