package discipline_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/discipline"
	"github.com/scruple-eval/scruple/internal/eval"
)

// What the ledger keeps of a measurement has the same items, and does not depend on their
// order.
func TestTallies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pairs := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) [2]float64 {
			cases := rapid.IntRange(1, 4).Draw(t, "cases")
			return [2]float64{float64(rapid.IntRange(0, cases).Draw(t, "right")), float64(cases)}
		}), 0, 30).Draw(t, "items")
		of := func(pairs [][2]float64) (m eval.Measurement) {
			for _, p := range pairs {
				m.Right, m.Cases = append(m.Right, p[0]), append(m.Cases, p[1])
			}
			return m
		}
		kept := discipline.Measured{Tallies: discipline.TalliesOf(of(pairs)), Missing: 2}
		data, err := json.Marshal(kept)
		if err != nil {
			t.Fatal(err)
		}
		var read discipline.Measured
		if err := json.Unmarshal(data, &read); err != nil {
			t.Fatal(err)
		}
		back := read.Measurement()
		slices.SortFunc(pairs, func(a, b [2]float64) int { return slices.Compare([]float64{a[1], a[0]}, []float64{b[1], b[0]}) })
		want := of(pairs)
		want.Missing = 2
		if d := cmp.Diff(want, back); d != "" {
			t.Fatalf("(-want +got)\n%s", d)
		}
		if !slices.Equal(discipline.TalliesOf(of(rapid.Permutation(pairs).Draw(t, "order"))), kept.Tallies) {
			t.Fatal("the order of items has an effect")
		}
	})
}

// A ledger from elsewhere cannot take much memory, nor end the program.
func TestTalliesAreBounded(t *testing.T) {
	m := discipline.Measured{Tallies: []discipline.Tally{{Right: 1, Cases: 1, Items: -5}, {Right: 0, Cases: 1, Items: 1 << 40}, {Right: 1, Cases: 1, Items: 1}}}
	if n := len(m.Measurement().Cases); n > 1_000_000 {
		t.Errorf("%d items", n)
	}
}
