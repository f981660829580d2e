package score_test

import (
	"errors"
	"fmt"
	"iter"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/score"
)

// length scores an answer by its length.
type length struct{}

func (length) Score(dst []eval.Score, c eval.Case) []eval.Score {
	for t := range c.Answered() {
		dst = append(dst, eval.Score{Replicate: t.Trial.Replicate, Metric: "length", Num: float64(len(t.Outcome.Data) + len(t.Verdicts)), Den: 1})
	}
	return dst
}

func (length) Show(eval.Case) (eval.Exhibit, error) { return eval.Exhibit{}, nil }

func (length) Capabilities() (none eval.Capabilities) { return none }

func cases(n int, fail error) iter.Seq2[eval.Case, error] {
	return func(yield func(eval.Case, error) bool) {
		for i := range n {
			o := eval.Outcome{Kind: eval.OK, Data: make([]byte, i%7)}
			if i%10 == 9 {
				o.Kind = eval.Failed
			}
			if !yield(eval.CaseOf(eval.Trial{Item: fmt.Sprint(i), Arm: "a", Replicate: 1}, o, nil), nil) {
				return
			}
		}
		if fail != nil {
			yield(eval.Case{}, fail)
		}
	}
}

func TestAllKeepsTheOrder(t *testing.T) {
	i := 0
	for s, err := range score.All(length{}, cases(10_001, nil)) {
		if err != nil {
			t.Fatal(err)
		}
		if s.Item != fmt.Sprint(i) {
			t.Fatalf("case %d is %v", i, s.Item)
		}
		switch failed := i%10 == 9; {
		case failed && s.Scores != nil:
			t.Fatalf("trial %d failed and has scores", i)
		case !failed && s.Scores[0].Num != float64(i%7):
			t.Fatalf("trial %d scored %v", i, s.Scores)
		}
		i++
	}
	if i != 10_001 {
		t.Errorf("%d trials", i)
	}
}

func TestAllEndsWithTheSource(t *testing.T) {
	broken := errors.New("disk gone")
	n := 0
	var last error
	for _, err := range score.All(length{}, cases(300, broken)) {
		if last = err; err == nil {
			n++
		}
	}
	if n != 300 || !errors.Is(last, broken) {
		t.Errorf("%d trials, then %v", n, last)
	}
	read := 0
	for range score.All(length{}, func(yield func(eval.Case, error) bool) {
		for c, err := range cases(100_000, nil) {
			if read++; !yield(c, err) {
				return
			}
		}
	}) {
		break // must not leave workers behind or hang
	}
	if read == 100_000 {
		t.Error("all cases are read, though nobody wants their scores")
	}
}

// Few long answers are in memory at once, and few cases with many replicates.
func TestAllIsBounded(t *testing.T) {
	for name, c := range map[string]eval.Case{
		"long answers": eval.CaseOf(eval.Trial{Item: "i", Arm: "a", Replicate: 1}, eval.Outcome{Kind: eval.OK, Data: make([]byte, 1<<20)}, nil),
		"replicates":   {Item: "i", Arm: "a", Trials: make([]eval.Judged, 3000)},
	} {
		var read atomic.Int64
		n := int64(0)
		for range score.All(length{}, func(yield func(eval.Case, error) bool) {
			for range 100 {
				if read.Add(1); !yield(c, nil) {
					return
				}
			}
		}) {
			n++
			if ahead, most := read.Load()-n, int64(runtime.GOMAXPROCS(0)+2); ahead > most {
				t.Fatalf("%s: %d cases are read ahead, want at most %d", name, ahead, most)
			}
		}
	}
}

func BenchmarkAll(b *testing.B) {
	for b.Loop() {
		for _, err := range score.All(length{}, cases(10_000, nil)) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.N)*10_000/b.Elapsed().Seconds(), "answers/s")
}
