// Package candidates selects what a method is shown: the items that compete with
// gold, their order, and the amount of their reviews.
//
// Everything is drawn by name (package stable): a set depends on the run's
// seed, the request and N, never on the order of the data, on other requests,
// or on how often an item is gold. Only the balanced position of gold depends on
// the place of the request in its file. Sets are nested over N, so that a scaling
// curve compares like with like.
//
// The package must not know what a request means, nor any method or prompt.
package candidates

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/stable"
)

// Draw returns the candidates of a request: its right items and, up to n in all,
// the other items with the smallest hash of run seed, request and item. The set of
// a smaller n is a subset of the set of a larger one. The result has no duplicates
// and is in the order of items; right items that are not among them are last. Draw
// returns all items if there are fewer than n, and nil for n < 1.
func Draw(runSeed uint64, request string, right, items []string, n int) []string {
	if n < 1 {
		return nil
	}
	chosen := map[string]bool{}
	for _, id := range slices.Concat(right, mixed(runSeed, "draw", request, items)) {
		if len(chosen) < max(n, len(right)) {
			chosen[id] = true
		}
	}
	var list []string
	for _, id := range slices.Concat(items, right) {
		if chosen[id] {
			list = append(list, id)
			delete(chosen, id)
		}
	}
	return list
}

// mixed returns a request's items in an order drawn by a seed.
func mixed(runSeed uint64, purpose, request string, items []string) []string {
	prefix := stable.Seed(runSeed, purpose, request)
	hashes := make(map[string]uint64, len(items))
	for _, id := range items {
		hashes[id] = stable.Seed(prefix, id)
	}
	return slices.SortedFunc(slices.Values(items), func(a, b string) int {
		return cmp.Or(cmp.Compare(hashes[a], hashes[b]), strings.Compare(a, b))
	})
}

// A Shuffle is a way to order candidates.
type Shuffle string

// The ways to order candidates.
const (
	None     Shuffle = "none"     // order of the data
	Middle   Shuffle = "middle"   // gold in the middle, position n/2 from 0; the others drawn
	Random   Shuffle = "random"   // all drawn
	Balanced Shuffle = "balanced" // gold at each of n positions once in every n requests; the others drawn
)

// An Arranger orders candidates by a seed. An order depends on the seed, the request, its
// candidates and, if balanced, its rank, so that requests may be added after the others.
type Arranger struct {
	Seed    uint64 // of the run
	Shuffle Shuffle
}

// Arrange orders the candidates drawn for a request. Candidates other than gold
// keep their relative order from one N to the next. Rank is the request's in its file, from 0.
func (a Arranger) Arrange(request string, rank int, gold string, drawn []string) []string {
	if a.Shuffle == None {
		return slices.Clone(drawn)
	}
	order := mixed(a.Seed, "order", request, drawn)
	at, n := slices.Index(order, gold), len(order)
	if a.Shuffle == Random || at < 0 {
		return order
	}
	to := n / 2
	if a.Shuffle == Balanced { // in an order drawn for each n, so that gold is not early at every n
		places := make([]string, n)
		for i := range places {
			places[i] = strconv.Itoa(i)
		}
		round := strconv.Itoa(n) + " " + strconv.Itoa(rank/n)
		to = slices.Index(places, mixed(a.Seed, "balance", round, places)[rank%n])
	}
	return slices.Insert(slices.Delete(order, at, at+1), to, gold)
}
