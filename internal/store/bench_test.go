package store_test

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/score"
	"github.com/scruple-eval/scruple/internal/store"
)

// constant is a trivial metric, so that the benchmark measures the overhead.
type constant struct{}

func (constant) Score(dst []eval.Score, c eval.Case) []eval.Score {
	for t := range c.Answered() {
		dst = append(dst, eval.Score{Replicate: t.Trial.Replicate, Metric: "bytes", Num: float64(len(t.Outcome.Data)), Den: 1})
	}
	return dst
}

func (constant) Show(eval.Case) (eval.Exhibit, error) { return eval.Exhibit{}, nil }

func (constant) Capabilities() (none eval.Capabilities) { return none }

// BenchmarkRescore reads stored answers, scores them and writes the scores.
func BenchmarkRescore(b *testing.B) {
	const items = 10_000 // by two arms
	db := open(b, filepath.Join(b.TempDir(), "s.db"))
	r, p := newRun(b, db, items, 1)
	j := journal(b, db, r)
	for seq := range p.Len() {
		if err := j.Outcome(p.Trial(seq), eval.Outcome{Kind: eval.OK, Data: fmt.Appendf(nil, `{"answer": "number %d of a few words"}`, seq)}); err != nil {
			b.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := db.ReplaceScores(b.Context(), r, score.All(constant{}, db.Cases(b.Context(), r))); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*float64(p.Len())/b.Elapsed().Seconds(), "answers/s")
}

// BenchmarkJournal appends calls from 64 goroutines, each waiting for its own.
func BenchmarkJournal(b *testing.B) {
	db := open(b, filepath.Join(b.TempDir(), "s.db"))
	r, p := newRun(b, db, 5_000, 1)
	j := journal(b, db, r)
	defer j.Close()
	var n atomic.Int64
	b.SetParallelism(32)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			k := n.Add(1)
			c := call(p.Trial(int(k)%p.Len()), "an answer of a few words")
			c.Step = fmt.Sprint("step ", k)
			if err := j.Append(c); err != nil {
				b.Error(err)
			}
		}
	})
}

// BenchmarkCallsIn reads the calls of 32 trials at once, and one by one.
func BenchmarkCallsIn(b *testing.B) {
	db := open(b, filepath.Join(b.TempDir(), "s.db"))
	r, p := newRun(b, db, 500, 1)
	j := journal(b, db, r)
	for seq := range p.Len() {
		if err := j.Append(call(p.Trial(seq), "an answer of a few words")); err != nil {
			b.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		b.Fatal(err)
	}
	const atOnce = 32
	b.Run("at once", func(b *testing.B) {
		for b.Loop() {
			if list, err := store.Collect(db.CallsIn(b.Context(), r, 0, atOnce)); err != nil || len(list) != atOnce {
				b.Fatal(len(list), err)
			}
		}
	})
	b.Run("one by one", func(b *testing.B) {
		for b.Loop() {
			for seq := range atOnce {
				if _, err := db.CallsOf(b.Context(), r, p.Trial(seq), eval.StageRun); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
