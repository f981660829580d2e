package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/gonum"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// A system is the normal equations of a linear model with random intercepts,
//
//	⎡ΛᵀZᵀZΛ+I  ΛᵀZᵀX⎤ ⎡u⎤   ⎡ΛᵀZᵀy⎤
//	⎣XᵀZΛ      XᵀX  ⎦ ⎣β⎦ = ⎣Xᵀy  ⎦ ,  Λ = diag(θ) by term,
//
// gathered in one pass over the rows, so that everything at a θ costs nothing
// that grows with them. Terms are sorted by levels, most first. Each row has
// one level of a term, so ZᵀZ of the first term is diagonal and eliminated at
// once; the next one too, if that leaves it diagonal (nested terms do). What
// remains is dense and small.
//
// The blocks follow MixedModels.jl (Bates et al.).
type system struct {
	n      int
	terms  []Factor
	rows   fixedRows
	weight byRow
	y      byRow
	blocks []block
	diag   int // how many blocks are eliminated as diagonals
	q, p   int // columns of Z and of X
	from   int // first column of the dense remainder
	m      int // its columns, those of X included, without y

	dense []float64 // m×m cross-products, upper triangle
	rhs   []float64 // of the dense columns with y
	yy    float64

	// State at the θ last factored.
	theta   []float64 // by block
	scale   []float64 // θ of each column; 1 for X
	upper   []float64 // Cholesky factor of the dense remainder
	inverse []float64
	logDetZ float64
	logDetX float64
	rss     float64
	x       []float64 // solution: spherical random effects, then β
}

// A block is one random term: its columns are offset … offset+levels−1.
type block struct {
	levels, offset int
	count          []float64 // ZᵀZ
	zy             []float64 // Zᵀy
	rows           []sparse  // only of diagonal blocks

	pivot []float64 // at θ, after elimination
	inv   []float64 // diagonal of the inverse
}

// sparse is one level's cross-products with the columns after its block, the
// ones that can be other than 0, in order.
type sparse struct {
	col   []int32
	cross []float64 // as counted
	cur   []float64 // at θ, after elimination
	inv   []float64 // of the inverse, at the same places
}

// fixedRows gives the rows of X; a weight of its rows and the response are
// functions of the row.
type fixedRows interface {
	columns() int
	each(row int, visit func(col int, x float64))
}

type byRow func(row int) float64

// newSystem computes the cross-products of the terms that are eliminated first, and
// the size of the rest, for which gatherDense is then called. Terms must be sorted
// by levels, descending.
func newSystem(n int, terms []Factor, x fixedRows, weight, y byRow) *system {
	s := &system{n: n, p: x.columns(), terms: terms, rows: x, weight: weight, y: y}
	for _, t := range terms {
		k := len(t.Levels)
		s.blocks = append(s.blocks, block{levels: k, offset: s.q, count: make([]float64, k), zy: make([]float64, k)})
		s.q += k
	}
	for b := range s.blocks {
		for i, c := range terms[b].Codes {
			w := weight(i)
			s.blocks[b].count[c] += w
			s.blocks[b].zy[c] += w * y(i)
		}
	}
	s.gatherDiagonal()
	return s
}

// allocate makes room for the dense remainder and the solution.
func (s *system) allocate() {
	s.dense, s.upper = make([]float64, s.m*s.m), make([]float64, s.m*s.m)
	s.rhs = make([]float64, s.m)
	s.theta = make([]float64, len(s.blocks))
	s.scale = make([]float64, s.q+s.p)
	s.x = make([]float64, s.q+s.p)
}

// denseTerm is the size up to which a term is simply left to the dense
// remainder.
const denseTerm = 24

// gatherDiagonal makes the sparse rows of the leading blocks that stay
// diagonal.
func (s *system) gatherDiagonal() {
	for b := range s.blocks {
		if b > 0 && (s.blocks[b].levels <= denseTerm || !s.staysDiagonal(b)) {
			break
		}
		s.blocks[b].rows = s.crossRows(b)
		s.fill(b)
		s.diag++
	}
	s.from = s.q
	if s.diag < len(s.blocks) {
		s.from = s.blocks[s.diag].offset
	}
	for b := range s.blocks[:s.diag] {
		k := &s.blocks[b]
		k.pivot, k.inv = make([]float64, k.levels), make([]float64, k.levels)
		for j := range k.rows {
			k.rows[j].cur = make([]float64, len(k.rows[j].col))
			k.rows[j].inv = make([]float64, len(k.rows[j].col))
		}
	}
	s.m = s.q + s.p - s.from
}

// staysDiagonal reports whether no level of an earlier block meets two levels
// of block b.
func (s *system) staysDiagonal(b int) bool {
	lo, hi := int32(s.blocks[b].offset), int32(s.blocks[b].offset+s.blocks[b].levels)
	for _, earlier := range s.blocks[:b] {
		for _, r := range earlier.rows {
			at, _ := slices.BinarySearch(r.col, lo)
			if at+1 < len(r.col) && r.col[at+1] < hi {
				return false
			}
		}
	}
	return true
}

// crossRows counts what each level of block b meets after it.
func (s *system) crossRows(b int) []sparse {
	levels := s.blocks[b].levels
	order, start := byLevel(s.terms[b].Codes, levels)
	value := make([]float64, s.q+s.p)
	seen := make([]bool, s.q+s.p)
	rows := make([]sparse, levels)
	for j := range levels {
		var touched []int32
		add := func(col int, v float64) {
			if !seen[col] {
				seen[col] = true
				touched = append(touched, int32(col))
			}
			value[col] += v
		}
		for _, i := range order[start[j]:start[j+1]] {
			w := s.weight(int(i))
			for later := b + 1; later < len(s.blocks); later++ {
				add(s.blocks[later].offset+int(s.terms[later].Codes[i]), w)
			}
			s.rows.each(int(i), func(col int, v float64) { add(s.q+col, w*v) })
		}
		slices.Sort(touched)
		rows[j] = sparse{col: touched, cross: make([]float64, len(touched))}
		for k, col := range touched {
			rows[j].cross[k] = value[col]
			value[col], seen[col] = 0, false
		}
	}
	return rows
}

// byLevel lists row indices level by level.
func byLevel(codes []int32, levels int) (order []int32, start []int32) {
	start = make([]int32, levels+1)
	for _, c := range codes {
		start[c+1]++
	}
	for j := range levels {
		start[j+1] += start[j]
	}
	next := slices.Clone(start)
	order = make([]int32, len(codes))
	for i, c := range codes {
		order[next[c]] = int32(i)
		next[c]++
	}
	return order, start
}

// fill adds to block b's rows the places that eliminating earlier blocks will
// fill.
func (s *system) fill(b int) {
	lo, hi := int32(s.blocks[b].offset), int32(s.blocks[b].offset+s.blocks[b].levels)
	for _, earlier := range s.blocks[:b] {
		for _, r := range earlier.rows {
			at, _ := slices.BinarySearch(r.col, lo)
			if at < len(r.col) && r.col[at] < hi {
				s.blocks[b].rows[r.col[at]-lo].include(r.col[at+1:])
			}
		}
	}
}

// include makes room for columns.
func (r *sparse) include(cols []int32) {
	for _, c := range cols {
		if at, found := slices.BinarySearch(r.col, c); !found {
			r.col = slices.Insert(r.col, at, c)
			r.cross = slices.Insert(r.cross, at, 0)
		}
	}
}

// gatherDense adds up the cross-products of the dense remainder.
func (s *system) gatherDense() {
	terms, x := s.terms, s.rows
	cols := make([]int, 0, len(terms)+s.p)
	vals := make([]float64, 0, len(terms)+s.p)
	for i := range s.n {
		v, weight := s.y(i), s.weight(i)
		cols, vals = cols[:0], vals[:0]
		for b := s.diag; b < len(s.blocks); b++ {
			cols = append(cols, s.blocks[b].offset-s.from+int(terms[b].Codes[i]))
			vals = append(vals, 1)
		}
		x.each(i, func(c int, w float64) {
			cols = append(cols, s.q-s.from+c)
			vals = append(vals, w)
		})
		for a, c := range cols {
			wv := weight * vals[a]
			s.rhs[c] += wv * v
			row := s.dense[c*s.m : (c+1)*s.m]
			for e := a; e < len(cols); e++ {
				row[cols[e]] += wv * vals[e]
			}
		}
		s.yy += weight * v * v
	}
}

// factor eliminates at θ and solves. It reports false where the equations are
// singular to working precision or nothing is left to explain.
func (s *system) factor(theta []float64) bool {
	if !s.factorMatrix(theta) {
		return false
	}
	for b, k := range s.blocks[:s.diag] {
		for j, v := range k.zy {
			s.x[k.offset+j] = theta[b] * v
		}
	}
	for c, v := range s.rhs {
		s.x[s.from+c] = s.scale[s.from+c] * v
	}
	s.rss = s.yy - s.solve(s.x)
	return s.rss > 0
}

func (s *system) factorMatrix(theta []float64) bool {
	copy(s.theta, theta)
	for b, k := range s.blocks {
		for j := range k.levels {
			s.scale[k.offset+j] = theta[b]
		}
	}
	for c := range s.p {
		s.scale[s.q+c] = 1
	}
	s.assemble()
	s.logDetZ, s.logDetX = 0, 0
	for b := range s.blocks[:s.diag] {
		s.eliminate(b)
	}
	if s.m > 0 {
		sym := blas64.Symmetric{N: s.m, Stride: s.m, Data: s.upper, Uplo: blas.Upper}
		if _, ok := lapack64.Potrf(sym); !ok {
			return false
		}
	}
	for c := range s.m {
		l := 2 * math.Log(s.upper[c*s.m+c])
		if s.from+c < s.q {
			s.logDetZ += l
		} else {
			s.logDetX += l
		}
	}
	return !math.IsInf(s.logDetZ, 0) && !math.IsNaN(s.logDetZ+s.logDetX)
}

// solve replaces a right-hand side by the solution and gives their inner
// product.
func (s *system) solve(x []float64) float64 {
	var product float64
	for b := range s.blocks[:s.diag] {
		k := &s.blocks[b]
		for j := range k.rows {
			v := x[k.offset+j]
			if v == 0 {
				continue
			}
			w := v / k.pivot[j]
			product += w * v
			r := &k.rows[j]
			for e, c := range r.col {
				x[c] -= w * r.cur[e]
			}
		}
	}
	if s.m > 0 {
		v := blas64.Vector{N: s.m, Inc: 1, Data: x[s.from:]}
		blas64.Trsv(blas.Trans, s.triangle(), v)
		product += squares(v.Data)
		blas64.Trsv(blas.NoTrans, s.triangle(), v)
	}
	for b := s.diag - 1; b >= 0; b-- {
		k := &s.blocks[b]
		for j := range k.rows {
			v := x[k.offset+j]
			r := &k.rows[j]
			for e, c := range r.col {
				v -= r.cur[e] * x[c]
			}
			x[k.offset+j] = v / k.pivot[j]
		}
	}
	return product
}

func (s *system) triangle() blas64.Triangular {
	return blas64.Triangular{N: s.m, Stride: s.m, Data: s.upper, Uplo: blas.Upper, Diag: blas.NonUnit}
}

// assemble scales the cross-products to the current θ.
func (s *system) assemble() {
	for b := range s.blocks[:s.diag] {
		k := &s.blocks[b]
		t := s.theta[b]
		for j := range k.rows {
			k.pivot[j] = t*t*k.count[j] + 1
			r := &k.rows[j]
			for e, c := range r.col {
				r.cur[e] = t * s.scale[c] * r.cross[e]
			}
		}
	}
	for a := range s.m {
		row, out := s.dense[a*s.m:(a+1)*s.m], s.upper[a*s.m:(a+1)*s.m]
		w := s.scale[s.from+a]
		for c := a; c < s.m; c++ {
			out[c] = w * s.scale[s.from+c] * row[c]
		}
		if s.from+a < s.q {
			out[a]++
		}
	}
}

// eliminate eliminates a diagonal block from the rest.
func (s *system) eliminate(b int) {
	k := &s.blocks[b]
	for j := range k.rows {
		r := &k.rows[j]
		s.logDetZ += math.Log(k.pivot[j])
		w := 1 / k.pivot[j]
		for e, c := range r.col {
			f := w * r.cur[e]
			if int(c) >= s.from {
				at := int(c) - s.from
				row := s.upper[at*s.m : (at+1)*s.m]
				for g := e; g < len(r.col); g++ {
					row[int(r.col[g])-s.from] -= f * r.cur[g]
				}
				continue
			}
			later := s.blockOf(c, b+1)
			l := &s.blocks[later]
			i := int(c) - l.offset
			l.pivot[i] -= f * r.cur[e]
			into := &l.rows[i]
			at := 0
			for g := e + 1; g < len(r.col); g++ {
				for into.col[at] != r.col[g] {
					at++
				}
				into.cur[at] -= f * r.cur[g]
			}
		}
	}
}

func (s *system) blockOf(col int32, from int) int {
	for int(col) >= s.blocks[from].offset+s.blocks[from].levels {
		from++
	}
	return from
}

// traces gives for each term the trace of its block of the inverse of the
// equations: with X as REML has it, or of ΛᵀZᵀZΛ+I alone. Only the places
// that are not 0 in the factor are computed (Takahashi's recursion).
func (s *system) traces(withX bool) []float64 {
	m, end := s.m, s.q+s.p
	if !withX {
		m, end = s.q-s.from, s.q
	}
	if s.inverse == nil {
		s.inverse = make([]float64, s.m*s.m)
	}
	s.invert(m)
	out := make([]float64, len(s.blocks))
	for b := s.diag; b < len(s.blocks); b++ {
		at := s.blocks[b].offset - s.from
		for j := range s.blocks[b].levels {
			out[b] += s.inverse[(at+j)*s.m+at+j]
		}
	}
	for b := s.diag - 1; b >= 0; b-- {
		out[b] = s.blockTrace(b, end)
	}
	return out
}

// invertPanel is the width of the columns that are inverted together, and
// invertRows the height of the rows that are multiplied together.
const invertPanel, invertRows = 64, 192

// invert makes the inverse of UᵀU, U the leading m×m of the factor: U⁻¹ first,
// panel by panel, then U⁻¹U⁻ᵀ. LAPACK's dtrtri does the same with products of
// triangular matrices, which gonum computes on one core. Below its diagonal
// the inverse is 0, and must be.
func (s *system) invert(m int) {
	block := func(data []float64, row, col, rows, cols int) blas64.General {
		return blas64.General{Rows: rows, Cols: cols, Stride: s.m, Data: data[row*s.m+col:]}
	}
	panel := make([]float64, m*invertPanel)
	for col := 0; col < m; col += invertPanel {
		width := min(invertPanel, m-col)
		corner := blas64.Triangular{N: width, Stride: s.m, Data: s.inverse[col*s.m+col:], Uplo: blas.Upper, Diag: blas.NonUnit}
		for a := col; a < col+width; a++ {
			copy(s.inverse[a*s.m+a:a*s.m+col+width], s.upper[a*s.m+a:a*s.m+col+width])
		}
		lapack64.Trtri(corner)
		// −U⁻¹ of the columns before, times this panel of U, times its corner.
		for row := 0; row < col; row += invertRows {
			height := min(invertRows, col-row)
			into := blas64.General{Rows: height, Cols: width, Stride: width, Data: panel[row*width:]}
			blas64.Gemm(blas.NoTrans, blas.NoTrans, -1, block(s.inverse, row, row, height, col-row), block(s.upper, row, col, col-row, width), 0, into)
			blas64.Trmm(blas.Right, blas.NoTrans, 1, corner, into)
		}
		for row := range col {
			copy(s.inverse[row*s.m+col:row*s.m+col+width], panel[row*width:(row+1)*width])
		}
	}
	if m > 0 {
		gonum.Implementation{}.Dlauum(blas.Upper, m, s.inverse, s.m)
	}
}

// blockTrace computes a diagonal block of the inverse, keeping its other
// places for the blocks before it.
func (s *system) blockTrace(b, end int) float64 {
	k := &s.blocks[b]
	var trace float64
	for j := range k.rows {
		r := &k.rows[j]
		w := 1 / k.pivot[j]
		var own float64
		for e, c := range r.col {
			if int(c) >= end {
				break
			}
			var v float64
			for g, d := range r.col {
				if int(d) >= end {
					break
				}
				v += r.cur[g] * s.inverseAt(c, d)
			}
			r.inv[e] = -w * v
			own += r.cur[e] * v
		}
		k.inv[j] = w + w*w*own
		trace += k.inv[j]
	}
	return trace
}

// inverseAt gives a place of the inverse that was computed before.
func (s *system) inverseAt(a, c int32) float64 {
	if a > c {
		a, c = c, a
	}
	if int(a) >= s.from {
		return s.inverse[(int(a)-s.from)*s.m+int(c)-s.from]
	}
	k := &s.blocks[s.blockOf(a, 0)]
	j := int(a) - k.offset
	if a == c {
		return k.inv[j]
	}
	at, _ := slices.BinarySearch(k.rows[j].col, c)
	return k.rows[j].inv[at]
}

// fixedColumns solves the equations for the unit vectors of X: the columns of
// the inverse that belong to β.
func (s *system) fixedColumns() [][]float64 {
	out := make([][]float64, s.p)
	for c := range out {
		out[c] = make([]float64, s.q+s.p)
		out[c][s.q+c] = 1
		s.solve(out[c])
	}
	return out
}

// effects gives the spherical random effects of a block.
func (s *system) effects(b int) []float64 {
	k := s.blocks[b]
	return s.x[k.offset : k.offset+k.levels]
}
