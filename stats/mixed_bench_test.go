package stats_test

import (
	"testing"

	"github.com/scruple-eval/scruple/internal/shapes"
	"github.com/scruple-eval/scruple/stats"
)

// BenchmarkMixedCrossed fits 2,000 documents × 7 kernels × 5 fields.
func BenchmarkMixedCrossed(b *testing.B) {
	benchmarkMixed(b, shapes.Crossed(2000, 7, 5, 1), "score ~ kernel + (1|document) + (1|field)")
}

// BenchmarkMixedCells has a random effect of each document and kernel too.
func BenchmarkMixedCells(b *testing.B) {
	benchmarkMixed(b, shapes.Crossed(2000, 7, 5, 1), "score ~ kernel + (1|document) + (1|document:kernel) + (1|field)")
}

// BenchmarkMixedInstEval has the shape of lme4's InstEval: 73,421 ratings of
// 1,128 lecturers by 2,972 students in 14 departments.
func BenchmarkMixedInstEval(b *testing.B) {
	benchmarkMixed(b, shapes.InstEval(1), "y ~ service + (1|s) + (1|d) + (1|dept)")
}

func benchmarkMixed(b *testing.B, t shapes.Table, formula string) {
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
