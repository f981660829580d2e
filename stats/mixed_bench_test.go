package stats_test

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/scruple-eval/scruple/stats"
)

// BenchmarkMixedCrossed fits 2,000 documents × 7 kernels × 5 fields.
func BenchmarkMixedCrossed(b *testing.B) {
	benchmarkMixed(b, crossed(2000, 7, 5, 1), "score ~ kernel + (1|document) + (1|field)")
}

// BenchmarkMixedCells has a random effect of each document and kernel too.
func BenchmarkMixedCells(b *testing.B) {
	benchmarkMixed(b, crossed(2000, 7, 5, 1), "score ~ kernel + (1|document) + (1|document:kernel) + (1|field)")
}

// BenchmarkMixedInstEval has the shape of lme4's InstEval: 73,421 ratings of
// 1,128 lecturers by 2,972 students in 14 departments.
func BenchmarkMixedInstEval(b *testing.B) {
	benchmarkMixed(b, instEval(1), "y ~ service + (1|s) + (1|d) + (1|dept)")
}

func benchmarkMixed(b *testing.B, t ratingsTable, formula string) {
	f, err := stats.ParseFormula(formula)
	if err != nil {
		b.Fatal(err)
	}
	frame := stats.NewFrame(len(t.Response))
	if err := frame.AddNumbers(f.Response, t.Response); err != nil {
		b.Fatal(err)
	}
	for name, labels := range t.Labels {
		if err := frame.AddFactor(name, labels, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		m, err := stats.FitMixed(frame, f, stats.MixedOptions{})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(m.Evaluations), "evaluations")
	}
}

// A ratingsTable is a response and columns of labels.
type ratingsTable struct {
	Response []float64
	Labels   map[string][]string
}

// crossed draws a score for each document, kernel and field, with effects of
// each and of document by kernel.
func crossed(documents, kernels, fields int, seed uint64) ratingsTable {
	r := rand.New(rand.NewPCG(seed, 0))
	kernel, field := effects(r, kernels, 0.05), effects(r, fields, 0.05)
	t := ratingsTable{Labels: map[string][]string{}}
	for d := range documents {
		doc := 0.12 * r.NormFloat64()
		for k := range kernels {
			cell := 0.04 * r.NormFloat64()
			for f := range fields {
				t.Response = append(t.Response, 0.7+doc+kernel[k]+cell+field[f]+0.1*r.NormFloat64())
				t.add("document", 'd', d)
				t.add("kernel", 'k', k)
				t.add("field", 'f', f)
			}
		}
	}
	return t
}

// instEval draws ratings in the shape of lme4's InstEval data: students rate
// lecturers, most of their own department, and about half of the lectures are
// a service for another one.
func instEval(seed uint64) ratingsTable {
	const rows, students, lecturers, departments = 73421, 2972, 1128, 14
	r := rand.New(rand.NewPCG(seed, 0))
	student, lecturer, dept := effects(r, students, 0.33), effects(r, lecturers, 0.51), effects(r, departments, 0.08)
	t := ratingsTable{Labels: map[string][]string{}}
	for i := range rows {
		s := i % students
		if i >= students {
			s = r.IntN(students)
		}
		d := i % lecturers
		if i >= lecturers {
			// Lecturers of a student's own department are the nearest ones.
			d = (s*lecturers/students + int(80*r.NormFloat64()) + lecturers) % lecturers
			if r.IntN(3) == 0 {
				d = r.IntN(lecturers)
			}
		}
		p, service := d%departments, r.IntN(2)
		t.Response = append(t.Response, 3.3-0.07*float64(service)+student[s]+lecturer[d]+dept[p]+1.18*r.NormFloat64())
		t.add("s", 's', s)
		t.add("d", 'd', d)
		t.add("dept", 'p', p)
		t.add("service", 'v', service)
	}
	return t
}

func effects(r *rand.Rand, n int, sd float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = sd * r.NormFloat64()
	}
	return out
}

func (t *ratingsTable) add(column string, prefix rune, level int) {
	t.Labels[column] = append(t.Labels[column], string(prefix)+strconv.Itoa(level))
}
