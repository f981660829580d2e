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

// grouped puts requests into groups of their own making, in turn.
func grouped(ids []string, groups int) []candidates.Request {
	list := make([]candidates.Request, len(ids))
	for i, id := range ids {
		list[i] = candidates.Request{ID: id, Group: fmt.Sprintf("G%02d", i%groups)}
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
		asked := grouped(requests, rapid.IntRange(1, 4).Draw(t, "groups"))
		a := candidates.NewArranger(seed, shuffle, asked)
		b := candidates.NewArranger(seed, shuffle, append(rapid.Permutation(asked).Draw(t, "order"), asked[0]))

		few := candidates.Draw(seed, request, []string{gold}, items, 10)
		many := candidates.Draw(seed, request, []string{gold}, items, 20)
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

// At every N gold stands at each position equally often, give or take one: in
// each group, and over all.
func TestBalancedVisitsEveryPositionEquallyOften(t *testing.T) {
	check := func(t interface{ Fatalf(string, ...any) }, seed uint64, n, requests, groups int) {
		items := ids("i", 60)
		asked := grouped(ids("R", requests), groups)
		a := candidates.NewArranger(seed, candidates.Balanced, asked)
		counts := map[string][]int{}
		for i, r := range asked {
			gold := items[i%len(items)]
			at := slices.Index(a.Arrange(r.ID, gold, candidates.Draw(seed, r.ID, []string{gold}, items, n)), gold)
			for _, of := range []string{r.Group, "all"} {
				if counts[of] == nil {
					counts[of] = make([]int, n)
				}
				counts[of][at]++
			}
		}
		for of, c := range counts {
			if slices.Max(c)-slices.Min(c) > 1 {
				t.Fatalf("N = %d, %d requests in %d groups: gold of %s stood at the positions %v times", n, requests, groups, of, c)
			}
		}
	}
	for _, n := range []int{10, 20, 30, 40, 50} {
		check(t, 42, n, 1000, 10)
		check(t, 42, n, 77, 10)
	}
	rapid.Check(t, func(t *rapid.T) {
		check(t, rapid.Uint64().Draw(t, "seed"), rapid.SampledFrom([]int{2, 7, 10, 50}).Draw(t, "N"),
			rapid.IntRange(1, 120).Draw(t, "requests"), rapid.IntRange(1, 12).Draw(t, "groups"))
	})
}

// Gold of a group that is smaller than N must not stand in one stretch: six of
// fifty drawn positions stand within twelve once in 800 times.
func TestBalancedSpreadsSmallGroups(t *testing.T) {
	items, asked := ids("i", 60), grouped(ids("R", 60), 10)
	a := candidates.NewArranger(42, candidates.Balanced, asked)
	least, most := map[string]int{}, map[string]int{}
	for _, r := range asked {
		at := slices.Index(a.Arrange(r.ID, "i001", candidates.Draw(42, r.ID, []string{"i001"}, items, 50)), "i001")
		if _, ok := least[r.Group]; !ok {
			least[r.Group], most[r.Group] = at, at
		}
		least[r.Group], most[r.Group] = min(least[r.Group], at), max(most[r.Group], at)
	}
	for g := range least {
		if most[g]-least[g] < 12 {
			t.Errorf("gold of %s stands from %d to %d of 50", g, least[g], most[g])
		}
	}
}

// The order is drawn for each request and by the run's seed: that of rivals, of
// gold's places, and of the places from one N to the next.
func TestOrdersDependOnRequestAndSeed(t *testing.T) {
	items, asked := ids("i", 40), grouped(ids("R", 40), 1)
	for _, shuffle := range []candidates.Shuffle{candidates.Random, candidates.Middle, candidates.Balanced} {
		a, b := candidates.NewArranger(1, shuffle, asked), candidates.NewArranger(2, shuffle, asked)
		rivals := func(a *candidates.Arranger, request string) []string {
			return slices.DeleteFunc(a.Arrange(request, "i007", items), func(id string) bool { return id == "i007" })
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
		places := func(a *candidates.Arranger, n int) (list []int) {
			for _, r := range asked {
				list = append(list, slices.Index(a.Arrange(r.ID, "i007", items[:n]), "i007"))
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
	if got := candidates.NewArranger(1, candidates.Middle, []candidates.Request{{ID: "R"}}).Arrange("R", "i029", drawn); got[5] != "i029" {
		t.Errorf("gold is not in the middle of %v", got)
	}
	if got := candidates.NewArranger(1, candidates.None, []candidates.Request{{ID: "R"}}).Arrange("R", "i029", drawn); !slices.Equal(got, drawn) {
		t.Errorf("none changed %v to %v", drawn, got)
	}
}

func BenchmarkDraw(b *testing.B) {
	items := ids("i", 10_000)
	for b.Loop() {
		candidates.Draw(42, "R1", []string{"i0001"}, items, 50)
	}
}
