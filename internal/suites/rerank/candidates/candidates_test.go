package candidates_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/scruple-eval/scruple/internal/suites/rerank/candidates"
	"pgregory.net/rapid"
)

func ids(prefix string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("%s%03d", prefix, i)
	}
	return list
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

// subsequence reports whether all of a stands in b, in a's order.
func subsequence(a, b []string) bool {
	for _, id := range b {
		if len(a) > 0 && a[0] == id {
			a = a[1:]
		}
	}
	return len(a) == 0
}

func TestDrawProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items := ids("i", rapid.IntRange(1, 120).Draw(t, "items"))
		gold := rapid.SampledFrom(items).Draw(t, "gold")
		seed, request := rapid.Uint64().Draw(t, "seed"), rapid.String().Draw(t, "request")
		small := rapid.IntRange(1, 60).Draw(t, "small")
		large := small + rapid.IntRange(0, 60).Draw(t, "more")

		few := candidates.Draw(seed, request, gold, items, small)
		many := candidates.Draw(seed, request, gold, items, large)
		if len(few) != min(small, len(items)) {
			t.Fatalf("drew %d of %d items for N = %d", len(few), len(items), small)
		}
		if len(slices.Compact(sorted(few))) != len(few) || !slices.Contains(few, gold) {
			t.Fatalf("gold %s is not once among %v", gold, few)
		}
		if !subsequence(few, many) {
			t.Fatalf("not nested: %v in %v", few, many)
		}
		if !subsequence(few, items) {
			t.Fatalf("not in the order of the data: %v", few)
		}
		// The set depends on no order of the data, nor on repetitions.
		shuffled := rapid.Permutation(items).Draw(t, "shuffled")
		shuffled = append(shuffled, items[0])
		if again := candidates.Draw(seed, request, gold, shuffled, small); !slices.Equal(sorted(again), sorted(few)) {
			t.Fatalf("another order of the data drew %v, not %v", again, few)
		}
	})
}

// Who is gold decides nothing about who the rivals are: for two golds the
// candidates differ in at most the two golds and one rival for each.
func TestRivalsDoNotDependOnGold(t *testing.T) {
	items := ids("i", 100)
	a := candidates.Draw(1, "R1", "i003", items, 20)
	b := candidates.Draw(1, "R1", "i077", items, 20)
	differ := 0
	for _, id := range a {
		if !slices.Contains(b, id) {
			differ++
		}
	}
	if differ > 2 {
		t.Errorf("%d of 20 candidates differ", differ)
	}
}

// Every item is a rival about equally often: 99 of 100 items are drawn nine
// at a time over 2,000 requests, so each 180 times or so (binomial, SD 13).
func TestDrawIsEven(t *testing.T) {
	items, count := ids("i", 100), map[string]int{}
	for r := range 2000 {
		for _, id := range candidates.Draw(7, fmt.Sprint(r), "i000", items, 10) {
			count[id]++
		}
	}
	for _, id := range items[1:] {
		if n := count[id]; n < 120 || n > 240 { // 4.7 SD
			t.Errorf("%s was drawn %d times, expected about 182", id, n)
		}
	}
}

func TestDrawAtTheEdges(t *testing.T) {
	for _, c := range []struct {
		name  string
		items []string
		n     int
		want  []string
	}{
		{"nothing asked", []string{"a", "g"}, 0, nil},
		{"gold alone", []string{"a", "g", "b"}, 1, []string{"g"}},
		{"fewer than asked", []string{"a", "g"}, 10, []string{"a", "g"}},
		{"gold is not listed", []string{"a"}, 2, []string{"a", "g"}},
		{"no items", nil, 3, []string{"g"}},
	} {
		if got := candidates.Draw(1, "R", "g", c.items, c.n); !slices.Equal(got, c.want) {
			t.Errorf("%s: drew %v, want %v", c.name, got, c.want)
		}
	}
}

func TestArrangeProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shuffle := rapid.SampledFrom(candidates.Shuffles()).Draw(t, "shuffle")
		requests := ids("R", rapid.IntRange(1, 30).Draw(t, "requests"))
		items := ids("i", 80)
		seed := rapid.Uint64().Draw(t, "seed")
		gold := rapid.SampledFrom(items).Draw(t, "gold")
		request := rapid.SampledFrom(requests).Draw(t, "request")
		a := candidates.NewArranger(seed, shuffle, requests)
		b := candidates.NewArranger(seed, shuffle, append(rapid.Permutation(requests).Draw(t, "order"), requests[0]))

		few := candidates.Draw(seed, request, gold, items, 10)
		many := candidates.Draw(seed, request, gold, items, 20)
		before := slices.Clone(few)
		got := a.Arrange(request, gold, few)
		if !slices.Equal(sorted(got), sorted(few)) {
			t.Fatalf("%v is no permutation of %v", got, few)
		}
		if !slices.Equal(few, before) {
			t.Fatal("the list that was given changed")
		}
		if !slices.Equal(got, b.Arrange(request, gold, few)) {
			t.Fatal("the order depends on the order of the requests")
		}
		without := func(list []string) []string {
			return slices.DeleteFunc(slices.Clone(list), func(id string) bool { return id == gold })
		}
		if !subsequence(without(got), without(a.Arrange(request, gold, many))) {
			t.Fatal("rivals change places from N = 10 to N = 20")
		}
	})
}

func TestBalancedVisitsEveryPositionEquallyOften(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{2, 7, 10, 20, 50}).Draw(t, "N")
		requests := ids("R", rapid.IntRange(1, 120).Draw(t, "requests"))
		seed := rapid.Uint64().Draw(t, "seed")
		items := ids("i", 60)
		a := candidates.NewArranger(seed, candidates.Balanced, requests)
		counts := make([]int, n)
		for i, r := range requests {
			gold := items[i%len(items)]
			counts[slices.Index(a.Arrange(r, gold, candidates.Draw(seed, r, gold, items, n)), gold)]++
		}
		if slices.Max(counts)-slices.Min(counts) > 1 {
			t.Fatalf("gold stood at the positions %v times", counts)
		}
	})
}

// Ids that go through the groups in turn must not tie a group to a position:
// with ranks by id each group's gold would stand in one place at N = 10.
func TestBalancedIsNotTiedToIDs(t *testing.T) {
	requests, items := ids("R", 100), ids("i", 50)
	a := candidates.NewArranger(42, candidates.Balanced, requests)
	places := map[int]bool{}
	for i := 0; i < 100; i += 10 {
		places[slices.Index(a.Arrange(requests[i], "i001", candidates.Draw(42, requests[i], "i001", items, 10)), "i001")] = true
	}
	if len(places) < 4 {
		t.Errorf("gold of every tenth request stands in %d places only", len(places))
	}
}

func TestMiddleAndNone(t *testing.T) {
	items := ids("i", 30)
	drawn := candidates.Draw(1, "R", "i029", items, 10)
	if got := candidates.NewArranger(1, candidates.Middle, []string{"R"}).Arrange("R", "i029", drawn); got[5] != "i029" {
		t.Errorf("gold is not in the middle of %v", got)
	}
	if got := candidates.NewArranger(1, candidates.None, []string{"R"}).Arrange("R", "i029", drawn); !slices.Equal(got, drawn) {
		t.Errorf("none changed %v to %v", drawn, got)
	}
}

func TestParseShuffle(t *testing.T) {
	if s, err := candidates.ParseShuffle(""); err != nil || s != candidates.Balanced {
		t.Errorf("the default is %q, %v", s, err)
	}
	if _, err := candidates.ParseShuffle("riffle"); err == nil {
		t.Error("riffle is taken for a shuffle")
	}
	for _, s := range candidates.Shuffles() {
		if got, err := candidates.ParseShuffle(string(s)); err != nil || got != s {
			t.Errorf("%s reads as %q, %v", s, got, err)
		}
	}
}

func BenchmarkDraw(b *testing.B) {
	items := ids("i", 10_000)
	for b.Loop() {
		candidates.Draw(42, "R1", "i0001", items, 50)
	}
}
