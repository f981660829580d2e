// Package shapes draws data sets of known shape for benchmarks of stats, the
// same for everybody. It knows no method.
package shapes

import (
	"math/rand/v2"
	"strconv"
)

// A Table is a response and columns of labels.
type Table struct {
	Response []float64
	Labels   map[string][]string
}

// Crossed draws a score for each document, kernel and field, with effects of
// each and of document by kernel.
func Crossed(documents, kernels, fields int, seed uint64) Table {
	r := rand.New(rand.NewPCG(seed, 0))
	kernel, field := effects(r, kernels, 0.05), effects(r, fields, 0.05)
	t := Table{Labels: map[string][]string{}}
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

// InstEval draws ratings in the shape of lme4's InstEval data: students rate
// lecturers, most of their own department, and about half of the lectures are
// a service for another one.
func InstEval(seed uint64) Table {
	const ratings, students, lecturers, departments = 73421, 2972, 1128, 14
	r := rand.New(rand.NewPCG(seed, 0))
	student, lecturer, dept := effects(r, students, 0.33), effects(r, lecturers, 0.51), effects(r, departments, 0.08)
	t := Table{Labels: map[string][]string{}}
	for i := range ratings {
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

func (t *Table) add(column string, prefix rune, level int) {
	t.Labels[column] = append(t.Labels[column], string(prefix)+strconv.Itoa(level))
}
