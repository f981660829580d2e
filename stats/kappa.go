package stats

import (
	"fmt"
	"math"

	"github.com/scruple-eval/scruple/stats/dist"
)

// Agreement weights of Cohen's kappa, by distance of labels in their order.
type Weights int

// The weights: full agreement or none, 1 − |i−j|/(k−1), 1 − (i−j)²/(k−1)².
const (
	Unweighted Weights = iota
	LinearWeights
	QuadraticWeights
)

// Kappa is Cohen's kappa of two raters.
type Kappa struct {
	N         int      `json:"-"`
	Table     [][]int  `json:"-"` // rater a in rows, b in columns, in the order of labels
	Agreement float64  `json:"-"` // share of units with the same label
	Kappa     float64  `json:"kappa"`
	SE        float64  `json:"se"`
	CI        Interval `json:"ci95"`    // κ ± z·SE, not clipped; see Interval
	SENull    float64  `json:"se_null"` // under κ = 0
	Z         float64  `json:"z"`       // NaN where SENull is 0
	P         float64  `json:"p_two_sided"`
	Max       float64  `json:"-"` // the largest κ that these margins allow, unweighted
	Undefined string   `json:"undefined_reason,omitzero"`
}

// KappaTable lays out two raters' labels. A label that is not listed is an
// error.
func KappaTable(a, b, labels []string) ([][]int, error) {
	if len(a) != len(b) {
		return nil, fmt.Errorf("stats: raters need equal lengths, got %d and %d", len(a), len(b))
	}
	if len(a) == 0 {
		return nil, errEmpty
	}
	index := make(map[string]int, len(labels))
	for i, l := range labels {
		if _, twice := index[l]; twice {
			return nil, fmt.Errorf("stats: duplicate label %q", l)
		}
		index[l] = i
	}
	table := make([][]int, len(labels))
	for i := range table {
		table[i] = make([]int, len(labels))
	}
	for i := range a {
		x, okA := index[a[i]]
		y, okB := index[b[i]]
		if !okA || !okB {
			return nil, rowError(i, "is labelled %q and %q, want labels from %q", a[i], b[i], labels)
		}
		table[x][y]++
	}
	return table, nil
}

// CohenKappa is the agreement of two raters beyond chance. It is undefined if
// chance agreement is 1 (only one label). With skewed labels it can be near 0
// despite high agreement; see Agreement and Max.
//
// Source: Cohen (1960, 1968); variances Fleiss, Cohen & Everitt (1969).
// References: statsmodels cohens_kappa, R vcd::Kappa.
func CohenKappa(table [][]int, weights Weights, level float64) (Kappa, error) {
	if err := checkLevel(level); err != nil {
		return Kappa{}, err
	}
	rows, cols, n, err := margins(table)
	if err != nil {
		return Kappa{}, err
	}
	if len(rows) != len(cols) {
		return Kappa{}, fmt.Errorf("stats: agreement needs a square table, got %d × %d", len(rows), len(cols))
	}
	if n == 0 {
		return Kappa{}, errEmpty
	}
	nan := math.NaN()
	r := Kappa{N: int(n), Table: copied(table), Kappa: nan, SE: nan, SENull: nan, Z: nan, P: nan, Max: nan, CI: undefinedInterval(level)}
	// Everything is in terms of disagreement v = 1 − w, and variances are sums
	// of squares about their means: with rare labels agreement and chance are
	// both nearly 1, and their differences would have few digits left.
	v := disagreement(len(rows), weights)
	var observed, chance, same, differ, least float64
	meanRow, meanCol := make([]float64, len(rows)), make([]float64, len(rows))
	for i := range rows {
		same += float64(table[i][i]) / n
		differ += rows[i] * (n - cols[i]) / n / n
		least += math.Max(0, rows[i]-cols[i]) / n
		for j := range cols {
			observed += v[i][j] * float64(table[i][j]) / n
			chance += v[i][j] * rows[i] * cols[j] / n / n
			meanRow[i] += v[i][j] * cols[j] / n
			meanCol[i] += v[j][i] * rows[j] / n
		}
	}
	r.Agreement = same
	if chance == 0 {
		r.Undefined = "both raters give only one label: chance agreement is 1"
		return r, nil
	}
	r.Max = 1 - least/differ
	ratio := observed / chance
	r.Kappa = 1 - ratio
	var spread, null float64
	for i := range rows {
		for j := range cols {
			m := meanRow[i] + meanCol[j] - chance
			x, y := m*ratio-v[i][j], m-v[i][j]
			spread += float64(table[i][j]) / n * x * x
			null += rows[i] * cols[j] / n / n * y * y
		}
	}
	r.SE = root0(spread) / (math.Sqrt(n) * chance)
	r.SENull = root0(null) / (math.Sqrt(n) * chance)
	r.CI = zInterval(r.Kappa, r.SE, level)
	if r.SENull > 0 {
		r.Z = r.Kappa / r.SENull
		r.P = 2 * dist.Normal{Mean: 0, SD: 1}.Survival(math.Abs(r.Z))
	}
	return r, nil
}

// Interval is CI, and undefined where the standard error is 0: with full agreement, or one
// rater who always gives the same label, any number of units would make kappa certain.
func (k Kappa) Interval() Interval {
	if !(k.SE > 0) {
		return undefinedInterval(k.CI.Level)
	}
	return k.CI
}

// root0 returns the square root of a variance of numbers around 1, treating
// rounding noise as 0.
func root0(v float64) float64 {
	if v < 1e-28 {
		return 0
	}
	return math.Sqrt(v)
}

// disagreement is 1 − weight of all pairs of k labels.
func disagreement(k int, weights Weights) [][]float64 {
	v := square(k)
	for i := range v {
		for j := range v[i] {
			if i == j {
				continue
			}
			d := math.Abs(float64(i-j)) / float64(k-1)
			switch weights {
			case LinearWeights:
				v[i][j] = d
			case QuadraticWeights:
				v[i][j] = d * d
			default:
				v[i][j] = 1
			}
		}
	}
	return v
}

// Fleiss is the agreement of several raters, not the same ones for each
// subject.
type Fleiss struct {
	Subjects  int       `json:"n_subjects"`
	Raters    int       `json:"n_raters"`
	PBar      float64   `json:"p_bar"` // observed agreement
	PE        float64   `json:"p_e"`   // chance agreement
	Kappa     float64   `json:"kappa"`
	SE        float64   `json:"se"`      // of subjects drawn from a large population; see Interval
	SENull    float64   `json:"se_null"` // under κ = 0
	Z         float64   `json:"z"`       // NaN where SENull is 0
	P         float64   `json:"p_two_sided"`
	Category  []float64 `json:"category_kappa"` // NaN for a category that is never or always given
	Randolph  float64   `json:"randolph_kappa"` // chance agreement is 1/categories; NaN for one category
	Undefined string    `json:"undefined_reason,omitzero"`
}

// FleissKappa takes, for each subject and category, how many raters gave it;
// every subject has the same number of raters.
//
// Source: Fleiss (1971); standard error Fleiss, Nee & Landis (1979); Randolph
// (2005); standard error of the estimate Gwet (2014), Handbook of Inter-Rater
// Reliability. Reference: statsmodels fleiss_kappa, R irr::kappam.fleiss, irrCAC
// fleiss.kappa.raw.
func FleissKappa(counts [][]int) (Fleiss, error) {
	rows, cols, n, err := margins(counts)
	if err != nil {
		return Fleiss{}, err
	}
	raters := rows[0]
	for i, r := range rows {
		if r != raters {
			return Fleiss{}, rowError(i, "has %v ratings, the first has %v: Fleiss' kappa needs the same number for each (Krippendorff's alpha does not)", r, raters)
		}
	}
	if raters < 2 {
		return Fleiss{}, fmt.Errorf("stats: agreement needs 2 raters or more, got %v", raters)
	}
	nan := math.NaN()
	f := Fleiss{Subjects: len(rows), Raters: int(raters), Kappa: nan, SE: nan, SENull: nan, Z: nan, P: nan, Randolph: nan}
	subjects := float64(len(rows))
	together, apart := 0.0, make([]float64, len(cols)) // Σ x(x − 1); Σ x(raters − x) by category
	for _, row := range counts {
		for j, x := range row {
			c := float64(x)
			together += c * (c - 1)
			apart[j] += c * (raters - c)
		}
	}
	f.PBar = together / (raters * (raters - 1)) / subjects
	var pq, skew float64
	for j, c := range cols {
		p, q := c/n, (n-c)/n
		f.PE += p * p
		pq += p * q
		skew += p * q * (q - p)
		category := nan
		if p > 0 && p < 1 {
			category = 1 - apart[j]/(subjects*raters*(raters-1)*p*q)
		}
		f.Category = append(f.Category, category)
	}
	if k := float64(len(cols)); k > 1 {
		f.Randolph = (f.PBar - 1/k) / (1 - 1/k)
	}
	if pq == 0 {
		f.Undefined = "all ratings are in one category: chance agreement is 1"
		return f, nil
	}
	f.Kappa = (f.PBar - f.PE) / (1 - f.PE)
	// Each subject's contribution to the estimate, linearised in the shares.
	parts := make([]float64, len(counts))
	for i, row := range counts {
		var chance float64
		for j, x := range row {
			chance += float64(x) / raters * cols[j] / n
		}
		parts[i] = (sameRating(row, raters)-f.PE)/(1-f.PE) - 2*(1-f.Kappa)*(chance-f.PE)/(1-f.PE)
	}
	f.SE = standardError(parts)
	f.SENull = math.Sqrt2 * math.Sqrt(math.Max(0, pq*pq-skew)) / (pq * math.Sqrt(subjects*raters*(raters-1)))
	if f.SENull > 0 {
		f.Z = f.Kappa / f.SENull
		f.P = 2 * dist.Normal{Mean: 0, SD: 1}.Survival(math.Abs(f.Z))
	}
	return f, nil
}

// Interval is κ ± t·SE with subjects − 1 degrees of freedom, cut off at 1. It is
// undefined where all subjects contribute the same, as in perfect agreement.
func (f Fleiss) Interval(level float64) Interval {
	if !(f.SE > 0) || checkLevel(level) != nil {
		return undefinedInterval(level)
	}
	return tInterval(f.Kappa, f.SE, float64(f.Subjects-1), level).Clamp(math.Inf(-1), 1)
}
