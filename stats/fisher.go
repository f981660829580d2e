package stats

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// maxTables bounds what exact tests enumerate.
const maxTables = 20_000_000

// Fisher is the two-sided p-value of Fisher's exact test of a table with two
// rows: the probability, with both margins fixed, of all tables that are at
// most as likely as this one. Tables of two columns may hold counts of some
// 10^9; with more columns NaN and [ErrTooManyTables] come sooner.
//
// Reference: R fisher.test, relative tolerance 1e-7 included.
func Fisher(table [][]int) (float64, error) {
	return exact(table, maxTables)
}

// exact is Fisher's test of a table whose margins allow no more tables than
// the limit.
func exact(table [][]int, limit int) (float64, error) {
	rows, cols, n, err := margins(table)
	if err != nil {
		return math.NaN(), err
	}
	if len(rows) != 2 {
		return math.NaN(), fmt.Errorf("stats: Fisher's exact test needs two rows, got %d", len(rows))
	}
	if rows[0] == 0 || rows[1] == 0 {
		return 1, nil // the only table
	}
	f := fisher{row: int(rows[0])}
	for j, c := range cols {
		if c == 0 {
			continue
		}
		m := column(c, rows[0], n, limit)
		if m.terms == nil {
			return math.NaN(), ErrTooManyTables
		}
		f.columns = append(f.columns, m)
		f.observed += m.log(table[0][j])
	}
	// The widest column last: the others decide it.
	slices.SortFunc(f.columns, func(a, b margin) int { return cmp.Compare(len(a.terms), len(b.terms)) })
	tables := 1.0
	for _, c := range f.columns[:len(f.columns)-1] {
		tables *= float64(len(c.terms))
	}
	if tables > float64(limit) {
		return math.NaN(), ErrTooManyTables
	}
	f.walk(0, f.row, 0)
	return math.Min(1, f.unlikely/f.all), nil
}

// A margin is the log weights of the counts that a column can have in the
// first row, from low on, relative to about the likeliest.
type margin struct {
	low   int
	terms []float64
}

// negligibleLog is the log of a probability that no float64 holds.
const negligibleLog = -760

// column weighs the first row's share of a column of c counts by
// C(c, x)·(row/(n−row))^x; over all columns they multiply to the table's
// hypergeometric probability up to a constant. Weights are computed from the mode
// outwards by ratios, since differences of log factorials lose the digits of counts
// in the millions. It returns no terms if there are more than the limit, which is
// decided without counting if 30 standard deviations on either side exceed it:
// there a log weight is about −450.
func column(c, row, n float64, limit int) margin {
	if sd := math.Sqrt(c * (row / n) * (1 - row/n) * (1 - c/n)); sd > 100 && 60*sd > float64(limit) {
		return margin{}
	}
	low, high := math.Max(0, row-(n-c)), math.Min(c, row)
	odds := row / (n - row)
	mode := math.Min(math.Max(math.Floor((c+1)*row/n), low), high)
	var down []float64
	for x, log := mode, 0.0; x > low; x-- {
		log += math.Log(x / ((c - x + 1) * odds))
		if log < negligibleLog {
			break
		}
		if down = append(down, log); len(down) > limit {
			return margin{}
		}
	}
	slices.Reverse(down)
	m := margin{low: int(mode) - len(down), terms: append(down, 0)}
	for x, log := mode, 0.0; x < high; x++ {
		log += math.Log((c - x) * odds / (x + 1))
		if log < negligibleLog {
			break
		}
		if m.terms = append(m.terms, log); len(m.terms) > limit {
			return margin{}
		}
	}
	return m
}

// log returns the log weight of a count; −Inf if it is negligible.
func (m margin) log(x int) float64 {
	if x < m.low || x >= m.low+len(m.terms) {
		return math.Inf(-1)
	}
	return m.terms[x-m.low]
}

type fisher struct {
	columns       []margin
	row           int
	observed      float64
	unlikely, all float64
}

// walk fills in the first row from column j on, with left counts still to place.
func (f *fisher) walk(j, left int, log float64) {
	c := f.columns[j]
	if j < len(f.columns)-1 {
		for i, term := range c.terms {
			f.walk(j+1, left-c.low-i, log+term)
		}
		return
	}
	log += c.log(left)
	weight := math.Exp(log)
	f.all += weight
	if log <= f.observed+1e-7 {
		f.unlikely += weight
	}
}
