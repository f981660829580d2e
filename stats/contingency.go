package stats

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/scruple-eval/scruple/stats/dist"
)

// Independence is a chi-squared test of a table of counts.
type Independence struct {
	Chi2        float64     `json:"chi2"`
	DF          float64     `json:"df"`
	P           float64     `json:"p"`
	G           float64     `json:"g"` // likelihood ratio
	PG          float64     `json:"p_g"`
	CramersV    float64     `json:"cramers_v"` // of χ² without continuity correction, so that 1 is reached
	MinExpected float64     `json:"min_expected"`
	Below5      int         `json:"n_expected_below_5"`
	Expected    [][]float64 `json:"expected"`      // under independence
	Residuals   [][]float64 `json:"std_residuals"` // (O − E)/√(E(1 − row share)(1 − column share))
	Undefined   string      `json:"undefined_reason,omitzero"`
	Warnings    []string    `json:"warnings,omitempty"`
}

// RowPair compares two rows of a table. Its χ² and p are NaN where a column is
// empty in both rows.
type RowPair struct {
	I                int     `json:"i"`
	J                int     `json:"j"`
	Chi2             float64 `json:"chi2"`
	P                float64 `json:"p"`
	PYates           float64 `json:"p_yates"`  // with continuity correction, where 2×2
	PFisher          float64 `json:"p_fisher"` // NaN if there are too many tables
	PBonferroni      float64 `json:"-"`        // of P, over all pairs of rows
	PYatesBonferroni float64 `json:"-"`
}

// ChiSquaredOptions say how a table is tested.
type ChiSquaredOptions struct {
	Continuity bool // with Yates' correction, where the table is 2×2
}

// ChiSquared tests whether rows and columns are independent. Observations must be
// independent; for several arms on the same items use [CochranQ]. An empty row or
// column leaves the test undefined.
//
// Reference: R chisq.test.
func ChiSquared(table [][]int, o ChiSquaredOptions) (Independence, error) {
	rows, cols, n, err := margins(table)
	if err != nil {
		return Independence{}, err
	}
	nan := math.NaN()
	r := Independence{DF: float64((len(rows) - 1) * (len(cols) - 1)), Chi2: nan, P: nan, G: nan, PG: nan, CramersV: nan, MinExpected: nan,
		Expected: [][]float64{}, Residuals: [][]float64{}}
	if len(rows) < 2 || len(cols) < 2 {
		return Independence{}, fmt.Errorf("stats: independence needs 2 rows and 2 columns or more, got %d and %d", len(rows), len(cols))
	}
	if slices.Contains(append(append([]float64{}, rows...), cols...), 0) {
		r.Undefined = "a row or column is empty"
		return r, nil
	}
	yates := 0.0
	if o.Continuity && len(rows) == 2 && len(cols) == 2 {
		yates = math.Min(0.5, math.Abs(float64(table[0][0])-rows[0]*cols[0]/n))
	}
	plain := 0.0
	r.Chi2, r.G, r.MinExpected = 0, 0, math.Inf(1)
	for i, row := range table {
		expected, residuals := make([]float64, len(cols)), make([]float64, len(cols))
		for j, count := range row {
			o, e := float64(count), rows[i]*cols[j]/n
			deviation := math.Abs(o - e)
			plain += deviation * deviation / e
			r.Chi2 += (deviation - yates) * (deviation - yates) / e
			if count > 0 {
				r.G += 2 * o * math.Log(o/e)
			}
			expected[j] = e
			residuals[j] = (o - e) / math.Sqrt(e*(1-rows[i]/n)*(1-cols[j]/n))
			r.MinExpected = math.Min(r.MinExpected, e)
			if e < 5 {
				r.Below5++
			}
		}
		r.Expected, r.Residuals = append(r.Expected, expected), append(r.Residuals, residuals)
	}
	d := dist.ChiSquared{DF: r.DF}
	r.P, r.PG = d.Survival(r.Chi2), d.Survival(math.Max(0, r.G))
	r.CramersV = math.Sqrt(plain / (n * float64(min(len(rows), len(cols))-1)))
	if r.Below5 > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d cells have an expected count below 5: the χ² approximation is rough", r.Below5))
	}
	return r, nil
}

func margins(table [][]int) (rows, cols []float64, n float64, err error) {
	if len(table) == 0 || len(table[0]) == 0 {
		return nil, nil, 0, errEmpty
	}
	rows, cols = make([]float64, len(table)), make([]float64, len(table[0]))
	for i, row := range table {
		if len(row) != len(cols) {
			return nil, nil, 0, rowError(i, "has %d cells, the first has %d", len(row), len(cols))
		}
		for j, x := range row {
			if x < 0 {
				return nil, nil, 0, rowError(i, "has the count %d in column %d", x, j+1)
			}
			rows[i] += float64(x)
			cols[j] += float64(x)
			n += float64(x)
		}
	}
	return rows, cols, n, nil
}

// copied is a table that shares nothing with its original.
func copied(table [][]int) [][]int {
	out := make([][]int, len(table))
	for i, row := range table {
		out[i] = slices.Clone(row)
	}
	return out
}

// RowPairs compares all pairs of rows, i < j. Corrections count every pair,
// also those whose test is undefined. The exact tests of all pairs share the
// tables that [Fisher] may look at for one.
func RowPairs(table [][]int) ([]RowPair, error) {
	var pairs []RowPair
	m := float64(len(table)*(len(table)-1)) / 2
	for i := range table {
		for j := i + 1; j < len(table); j++ {
			two := [][]int{table[i], table[j]}
			plain, err := ChiSquared(two, ChiSquaredOptions{})
			if err != nil {
				return nil, err
			}
			yates, err := ChiSquared(two, ChiSquaredOptions{Continuity: true})
			if err != nil {
				return nil, err
			}
			fisher, err := exact(two, maxTables/int(m))
			if err != nil && !errors.Is(err, ErrTooManyTables) {
				return nil, err
			}
			pairs = append(pairs, RowPair{i, j, plain.Chi2, plain.P, yates.P, fisher, math.Min(1, plain.P*m), math.Min(1, yates.P*m)})
		}
	}
	return pairs, nil
}

// ErrTooManyTables is that of a table whose exact test would look at more
// tables than is sensible.
var ErrTooManyTables = errors.New("stats: too many tables to enumerate for Fisher's exact test")
