package stats

import (
	"fmt"
	"math"
	"strings"
)

// A designMatrix is the matrix of the fixed effects: an intercept, numbers as they
// are, and factors in treatment contrasts (one column a level but the first,
// which is the reference). It is never laid out: rows are made on request.
type designMatrix struct {
	Names   []string // of columns, as R names them: "(Intercept)", "kernelctn"
	Terms   []designTerm
	Dropped []string // columns that are linear combinations of earlier ones

	n int
}

// A designTerm is one effect and its columns.
type designTerm struct {
	Name    string
	Columns []int     // where each is in Names; -1: dropped
	Factor  *Factor   // nil: a number
	Number  []float64 // nil: a factor
}

// newDesignMatrix makes the design of a formula's fixed effects. Columns that are
// linear combinations of earlier ones are dropped and listed.
func newDesignMatrix(f *Frame, fixed []string) (*designMatrix, error) {
	d := &designMatrix{Names: []string{"(Intercept)"}, n: f.n}
	if f.n == 0 {
		return nil, errEmpty
	}
	for _, name := range fixed {
		t := designTerm{Name: name}
		if xs, ok := f.numbers[name]; ok {
			t.Number = xs
			t.Columns = []int{len(d.Names)}
			d.Names = append(d.Names, name)
		} else {
			factor, err := f.factor(name)
			if err != nil {
				return nil, err
			}
			if len(factor.Levels) < 2 {
				return nil, fmt.Errorf("stats: factor %s has only the level %q: nothing to compare", name, strings.Join(factor.Levels, ""))
			}
			t.Factor = &factor
			for _, level := range factor.Levels[1:] {
				t.Columns = append(t.Columns, len(d.Names))
				d.Names = append(d.Names, name+level)
			}
		}
		d.Terms = append(d.Terms, t)
	}
	d.dropAliased()
	return d, nil
}

// columns is the number of columns, the intercept included.
func (d *designMatrix) columns() int { return len(d.Names) }

// row writes row i's columns to dst.
func (d *designMatrix) row(i int, dst []float64) {
	clear(dst)
	d.each(i, func(col int, x float64) { dst[col] = x })
}

// each yields the nonzero columns of a row, in order.
func (d *designMatrix) each(i int, visit func(col int, x float64)) {
	visit(0, 1)
	for k := range d.Terms {
		t := &d.Terms[k]
		if t.Factor == nil {
			if t.Columns[0] >= 0 && t.Number[i] != 0 {
				visit(t.Columns[0], t.Number[i])
			}
		} else if c := t.Factor.Codes[i]; c > 0 && t.Columns[c-1] >= 0 {
			visit(t.Columns[c-1], 1)
		}
	}
}

// aliased is the share of a column's centred sum of squares that must remain after
// projecting out earlier columns; lm() and lme4 compare norms with 1e-7.
const aliased = 1e-12

// dropAliased goes through the cross-products of the centred, scaled columns,
// eliminating one column after the other.
func (d *designMatrix) dropAliased() {
	p := len(d.Names) - 1
	if p == 0 {
		return
	}
	mean, scale := d.moments()
	gram := make([]float64, p*p)
	row := make([]float64, p+1)
	for i := range d.n {
		d.row(i, row)
		for c := range row {
			if row[c] -= mean[c]; scale[c] > 0 {
				row[c] /= scale[c]
			} else {
				row[c] = 0
			}
		}
		for a := range p {
			for b := range a + 1 {
				gram[a*p+b] += row[a+1] * row[b+1]
			}
		}
	}
	own := make([]float64, p)
	for a := range p {
		own[a] = gram[a*p+a]
	}
	drop := make([]bool, p+1)
	for a := range p {
		pivot := gram[a*p+a]
		if !(pivot > aliased*own[a]) || own[a] == 0 {
			drop[a+1] = true
			continue
		}
		for b := a + 1; b < p; b++ {
			w := gram[b*p+a] / pivot
			for c := a + 1; c <= b; c++ {
				gram[b*p+c] -= w * gram[c*p+a]
			}
		}
	}
	d.drop(drop)
}

// moments gives each column's mean and root mean square deviation, which is 0
// for a constant column.
func (d *designMatrix) moments() (mean, scale []float64) {
	p := len(d.Names)
	mean, scale = make([]float64, p), make([]float64, p)
	for i := range d.n {
		d.each(i, func(c int, x float64) { mean[c] += x })
	}
	n := float64(d.n)
	for c := range mean {
		mean[c] /= n
	}
	row := make([]float64, p)
	for i := range d.n {
		d.row(i, row)
		for c, x := range row {
			scale[c] += (x - mean[c]) * (x - mean[c])
		}
	}
	for c := range scale {
		if scale[c] = math.Sqrt(scale[c] / n); negligible(scale[c], mean[c]) {
			scale[c] = 0
		}
	}
	return mean, scale
}

func (d *designMatrix) drop(drop []bool) {
	to := make([]int, len(drop))
	var names []string
	for c, name := range d.Names {
		to[c] = len(names)
		if drop[c] {
			to[c] = -1
			d.Dropped = append(d.Dropped, name)
		} else {
			names = append(names, name)
		}
	}
	d.Names = names
	for k := range d.Terms {
		for i, c := range d.Terms[k].Columns {
			d.Terms[k].Columns[i] = to[c]
		}
	}
}
