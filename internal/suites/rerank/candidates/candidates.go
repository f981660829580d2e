// Package candidates selects what a method is shown: the items that compete with
// gold, their order, and the amount of their reviews.
//
// Everything is drawn by name (package stable): a set depends on the run's
// seed, the request and N, never on the order of the data, on other requests,
// or on how often an item is gold. Sets are nested over N, so that a scaling
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
	for _, id := range right {
		chosen[id] = true
	}
	for _, r := range smallest(runSeed, request, right, items, max(0, n-len(chosen))) {
		chosen[r.id] = true
	}
	list := make([]string, 0, len(chosen))
	for _, id := range items {
		if chosen[id] {
			list = append(list, id)
			delete(chosen, id)
		}
	}
	for _, id := range right {
		if chosen[id] {
			list = append(list, id)
			delete(chosen, id)
		}
	}
	return list
}

// A rival is an item with its place in the request's order.
type rival struct {
	hash uint64
	id   string
}

func (a rival) compare(b rival) int {
	return cmp.Or(cmp.Compare(a.hash, b.hash), strings.Compare(a.id, b.id))
}

// smallest returns the n rivals with the smallest hashes. Most items cost only
// one comparison, with the last one kept.
func smallest(runSeed uint64, request string, right, items []string, n int) []rival {
	prefix := stable.Seed(runSeed, "draw", request)
	kept := make([]rival, 0, n+1)
	for _, id := range items {
		r := rival{stable.Seed(prefix, id), id}
		if slices.Contains(right, id) || (len(kept) == n && (n == 0 || r.compare(kept[n-1]) > 0)) {
			continue
		}
		at, there := slices.BinarySearchFunc(kept, r, rival.compare)
		if there {
			continue // listed twice
		}
		kept = slices.Insert(kept, at, r)
		kept = kept[:min(len(kept), n)]
	}
	return kept
}

// A Shuffle is a way to order candidates.
type Shuffle string

// The ways to order candidates.
const (
	None     Shuffle = "none"     // order of the data
	Middle   Shuffle = "middle"   // gold in the middle, position n/2 from 0; the others drawn
	Random   Shuffle = "random"   // all drawn
	Balanced Shuffle = "balanced" // the position of gold drawn for each request and N; the others drawn
)

// An Arranger orders candidates by a seed. An order depends on the seed, the request and
// its candidates, never on other requests, so that requests may be added to a run.
type Arranger struct {
	seed    uint64
	shuffle Shuffle
}

// NewArranger returns the arranger of a run.
func NewArranger(runSeed uint64, s Shuffle) *Arranger { return &Arranger{runSeed, s} }

// Arrange orders the candidates drawn for a request. Candidates other than gold
// keep their relative order from one N to the next.
func (a *Arranger) Arrange(request, gold string, drawn []string) []string {
	if a.shuffle == None {
		return slices.Clone(drawn)
	}
	order := a.mixed(request, drawn)
	if a.shuffle == Random {
		return order
	}
	at := slices.Index(order, gold)
	if at < 0 {
		return order
	}
	order = slices.Delete(order, at, at+1)
	return slices.Insert(order, a.position(request, len(drawn)), gold)
}

// position returns the 0-based position of gold among n. It is drawn for each n, so that a
// request's gold is not early at every n, and uniform over the requests.
func (a *Arranger) position(request string, n int) int {
	if a.shuffle == Middle {
		return n / 2
	}
	return int(stable.Seed(a.seed, "balance", request, strconv.Itoa(n)) % uint64(n))
}

// mixed returns a request's candidates in a seeded order.
func (a *Arranger) mixed(request string, drawn []string) []string {
	prefix := stable.Seed(a.seed, "order", request)
	order := make([]rival, len(drawn))
	for i, id := range drawn {
		order[i] = rival{stable.Seed(prefix, id), id}
	}
	slices.SortFunc(order, rival.compare)
	ids := make([]string, len(order))
	for i, r := range order {
		ids[i] = r.id
	}
	return ids
}
