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

		few := candidates.Draw(seed, request, []string{gold}, items, small)
		many := candidates.Draw(seed, request, []string{gold}, items, large)
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
		if again := candidates.Draw(seed, request, []string{gold}, shuffled, small); !slices.Equal(sorted(again), sorted(few)) {
			t.Fatalf("another order of the data drew %v, not %v", again, few)
		}
	})
}

// Who is gold decides nothing about who the rivals are: for two golds the
// candidates differ in at most the two golds and one rival for each.
func TestRivalsDoNotDependOnGold(t *testing.T) {
	items := ids("i", 100)
	a := candidates.Draw(1, "R1", []string{"i003"}, items, 20)
	b := candidates.Draw(1, "R1", []string{"i077"}, items, 20)
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
		for _, id := range candidates.Draw(7, fmt.Sprint(r), []string{"i000"}, items, 10) {
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
		if got := candidates.Draw(1, "R", []string{"g"}, c.items, c.n); !slices.Equal(got, c.want) {
			t.Errorf("%s: drew %v, want %v", c.name, got, c.want)
		}
	}
}

func TestArrangeProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shuffle := rapid.SampledFrom([]candidates.Shuffle{candidates.Balanced, candidates.None, candidates.Middle, candidates.Random}).Draw(t, "shuffle")
		requests := ids("R", rapid.IntRange(1, 30).Draw(t, "requests"))
		items := ids("i", 80)
		seed := rapid.Uint64().Draw(t, "seed")
		gold := rapid.SampledFrom(items).Draw(t, "gold")
		request := rapid.SampledFrom(requests).Draw(t, "request")
		rank := rapid.IntRange(0, 100).Draw(t, "rank")
		a := candidates.Arranger{seed, shuffle}
		b := candidates.Arranger{seed, shuffle}
		for _, other := range rapid.SliceOf(rapid.SampledFrom(requests)).Draw(t, "requests before") {
			b.Arrange(other, 1, gold, items)
		}

		few := candidates.Draw(seed, request, []string{gold}, items, 10)
		many := candidates.Draw(seed, request, []string{gold}, items, 20)
		before := slices.Clone(few)
		got := a.Arrange(request, rank, gold, few)
		if !slices.Equal(sorted(got), sorted(few)) {
			t.Fatalf("%v is no permutation of %v", got, few)
		}
		if !slices.Equal(few, before) {
			t.Fatal("the list that was given changed")
		}
		if !slices.Equal(got, b.Arrange(request, rank, gold, few)) {
			t.Fatal("the order depends on other requests")
		}
		without := func(list []string) []string {
			return slices.DeleteFunc(slices.Clone(list), func(id string) bool { return id == gold })
		}
		if !subsequence(without(got), without(a.Arrange(request, rank, gold, many))) {
			t.Fatal("rivals change places from N = 10 to N = 20")
		}
	})
}

// At every N gold stands at each position once in every N requests of the file, and in
// another order in the next.
func TestBalancedGoesThroughAllPositions(t *testing.T) {
	items := ids("i", 60)
	for _, n := range []int{1, 2, 10, 50} {
		a := candidates.Arranger{42, candidates.Balanced}
		var rounds [2][]int
		for i, r := range ids("R", 2*n) {
			gold := items[i%n]
			rounds[i/n] = append(rounds[i/n], slices.Index(a.Arrange(r, i, gold, items[:n]), gold))
		}
		for i, round := range rounds {
			all := slices.Sorted(slices.Values(round))
			for at, got := range all {
				if got != at {
					t.Fatalf("N = %d, round %d: positions %v", n, i, round)
				}
			}
		}
		if n >= 10 && slices.Equal(rounds[0], rounds[1]) {
			t.Errorf("N = %d: gold moves in one order: %v", n, rounds[0])
		}
	}
}

// The order is drawn for each request and by the run's seed: that of rivals, of
// gold's places, and of the places from one N to the next.
func TestOrdersDependOnRequestAndSeed(t *testing.T) {
	items, asked := ids("i", 40), ids("R", 40)
	for _, shuffle := range []candidates.Shuffle{candidates.Random, candidates.Middle, candidates.Balanced} {
		a, b := candidates.Arranger{1, shuffle}, candidates.Arranger{2, shuffle}
		rivals := func(a candidates.Arranger, request string) []string {
			return slices.DeleteFunc(a.Arrange(request, 0, "i007", items), func(id string) bool { return id == "i007" })
		}
		if slices.Equal(rivals(a, "R000"), rivals(a, "R001")) {
			t.Errorf("%s: two requests have one order", shuffle)
		}
		if slices.Equal(rivals(a, "R000"), rivals(b, "R000")) {
			t.Errorf("%s: two seeds have one order", shuffle)
		}
		if shuffle == candidates.Middle {
			continue
		}
		places := func(a candidates.Arranger, n int) (list []int) {
			for i, r := range asked {
				list = append(list, slices.Index(a.Arrange(r, i, "i007", items[:n]), "i007"))
			}
			return list
		}
		ten := places(a, 10)
		if slices.Equal(ten, places(b, 10)) {
			t.Errorf("%s: two seeds put gold in the same places", shuffle)
		}
		same := 0
		for i, at := range places(a, 20) {
			if at%10 == ten[i] {
				same++
			}
		}
		if same > 20 {
			t.Errorf("%s: at N = 20 gold of %d of 40 requests stands where it stood at N = 10", shuffle, same)
		}
		if slices.IsSorted(ten[:10]) {
			t.Errorf("%s: gold moves through the positions by id: %v", shuffle, ten)
		}
	}
}

func TestMiddleAndNone(t *testing.T) {
	items := ids("i", 30)
	drawn := candidates.Draw(1, "R", []string{"i029"}, items, 10)
	if got := (candidates.Arranger{1, candidates.Middle}).Arrange("R", 0, "i029", drawn); got[5] != "i029" {
		t.Errorf("gold is not in the middle of %v", got)
	}
	if got := (candidates.Arranger{1, candidates.None}).Arrange("R", 0, "i029", drawn); !slices.Equal(got, drawn) {
		t.Errorf("none changed %v to %v", drawn, got)
	}
}

func BenchmarkDraw(b *testing.B) {
	items := ids("i", 10_000)
	for b.Loop() {
		candidates.Draw(42, "R1", []string{"i0001"}, items, 50)
	}
}
