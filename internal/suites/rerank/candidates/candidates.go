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
	"fmt"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/suites/rerank/stable"
)

// Draw returns the candidates of a request: its right items and, up to n in all,
// the other items with the smallest hash of run seed, request and item. The set of
// a smaller n is a subset of the set of a larger one. The result has no duplicates
// and is in the order of items; right items that are not among them are last. Draw
// returns all items if there are fewer than n, and nil for n < 1.
func Draw(runSeed uint64, requestID string, right, items []string, n int) []string {
	if n < 1 {
		return nil
	}
	chosen := map[string]bool{}
	for _, id := range right {
		chosen[id] = true
	}
	for _, r := range smallest(runSeed, requestID, right, items, max(0, n-len(chosen))) {
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
func smallest(runSeed uint64, requestID string, right, items []string, n int) []rival {
	prefix := stable.Seed(runSeed, "draw", requestID)
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
	Balanced Shuffle = "balanced" // gold moves through the positions over the requests of each group; the others drawn
)

// A Request has one set of candidates at every N.
type Request struct{ ID, Group string }

// An Arranger orders the candidates of the requests of a study.
type Arranger struct {
	seed    uint64
	shuffle Shuffle
	ranks   map[string]int // of requests, by group, then in a drawn order
}

// NewArranger takes all requests of the study, in any order. It balances over
// all of them at every N, so a request excluded at one N must be excluded at
// all. The requests go around one ring of positions group after group, so that
// gold is at each position equally often, plus or minus one, within each group
// and overall. Within a group they are ranked by hash, since ids may follow the
// order of creation.
//
// Adding requests moves gold: positions that are fixed for later requests cannot
// be balanced both within groups and overall.
func NewArranger(runSeed uint64, s Shuffle, requests []Request) *Arranger {
	prefix := stable.Seed(runSeed, "rank")
	sorted := slices.Clone(requests)
	slices.SortFunc(sorted, func(a, b Request) int {
		return cmp.Or(strings.Compare(a.Group, b.Group), rival{stable.Seed(prefix, a.ID), a.ID}.compare(rival{stable.Seed(prefix, b.ID), b.ID}))
	})
	ranks := make(map[string]int, len(sorted))
	for i, r := range slices.Compact(sorted) {
		ranks[r.ID] = i
	}
	return &Arranger{runSeed, s, ranks}
}

// Arrange orders the candidates drawn for a request. Candidates other than gold
// keep their relative order from one N to the next.
func (a *Arranger) Arrange(requestID, gold string, drawn []string) []string {
	if a.shuffle == None {
		return slices.Clone(drawn)
	}
	order := a.mixed(requestID, drawn)
	if a.shuffle == Random {
		return order
	}
	at := slices.Index(order, gold)
	if at < 0 {
		return order
	}
	order = slices.Delete(order, at, at+1)
	return slices.Insert(order, a.position(requestID, len(drawn)), gold)
}

// position returns the 0-based position of gold among n. The ring of positions
// is drawn for each n, so that a request's gold is not early at every n, and the
// positions of a group smaller than the ring are not contiguous.
func (a *Arranger) position(requestID string, n int) int {
	if a.shuffle == Middle {
		return n / 2
	}
	prefix := stable.Seed(a.seed, "balance", fmt.Sprint(n))
	hashes, ring := make([]uint64, n), make([]int, n)
	for i := range ring {
		hashes[i], ring[i] = stable.Seed(prefix, fmt.Sprint(i)), i
	}
	slices.SortStableFunc(ring, func(i, j int) int { return cmp.Compare(hashes[i], hashes[j]) })
	return ring[a.ranks[requestID]%n]
}

// mixed returns a request's candidates in a seeded order.
func (a *Arranger) mixed(requestID string, drawn []string) []string {
	prefix := stable.Seed(a.seed, "order", requestID)
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
