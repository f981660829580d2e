// Package plan lists every trial of a study before anything runs, and says
// what carrying it out would take. It asks no model and opens no store.
package plan

import (
	"fmt"
	"math/rand/v2"

	"github.com/scruple-eval/scruple/internal/eval"
)

// A Plan is every trial of a study: items × arms × replicates. It holds no
// list of them, so that its size does not grow with replicates and arms.
//
// Trials are ordered by item, then arm, then replicate, with items in a seeded
// shuffle: a run that is stopped early has seen a random sample of the items,
// each with all arms, so that what it has is already paired.
type Plan struct {
	items      []string
	order      []int // index in the study's list, by position
	arms       []string
	replicates int
	itemIndex  map[string]int32
	armIndex   map[string]int32
}

// New makes the plan of a study. Ids must be unique.
func New(items []eval.Item, arms []eval.Arm, replicates int, seed int64) (*Plan, error) {
	p := &Plan{replicates: replicates, itemIndex: make(map[string]int32, len(items)), armIndex: make(map[string]int32, len(arms))}
	p.order = order(len(items), seed)
	for _, i := range p.order {
		id := items[i].ID
		if _, dup := p.itemIndex[id]; dup {
			return nil, fmt.Errorf("two items have the id %q: ids must be unique in a study", id)
		}
		p.itemIndex[id] = int32(len(p.items))
		p.items = append(p.items, id)
	}
	for _, a := range arms {
		if _, dup := p.armIndex[a.ID]; dup {
			return nil, fmt.Errorf("two arms have the id %q: rename one of them", a.ID)
		}
		p.armIndex[a.ID] = int32(len(p.arms))
		p.arms = append(p.arms, a.ID)
	}
	if replicates < 1 {
		return nil, fmt.Errorf("replicates is %d: an item is given to an arm at least once", replicates)
	}
	return p, nil
}

// order is a permutation of 0 … n−1 that depends on n and seed only.
func order(n int, seed int64) []int {
	return rand.New(rand.NewPCG(uint64(seed), 0x5c4b1e)).Perm(n)
}

// Len is the number of trials.
func (p *Plan) Len() int { return len(p.items) * len(p.arms) * p.replicates }

// Replicates is how often each item is given to each arm.
func (p *Plan) Replicates() int { return p.replicates }

// Trial is the trial at a position of the plan, from 0.
func (p *Plan) Trial(seq int) eval.Trial {
	r := seq % p.replicates
	cell := seq / p.replicates
	return eval.Trial{Item: p.items[cell/len(p.arms)], Arm: p.arms[cell%len(p.arms)], Replicate: r + 1}
}

// Seq is the position of a trial, and whether the plan holds it.
func (p *Plan) Seq(t eval.Trial) (int, bool) {
	i, okItem := p.itemIndex[t.Item]
	a, okArm := p.armIndex[t.Arm]
	if !okItem || !okArm || t.Replicate < 1 || t.Replicate > p.replicates {
		return 0, false
	}
	return (int(i)*len(p.arms)+int(a))*p.replicates + t.Replicate - 1, true
}

// Position is the place of an item in the plan, from 0, and At the index in
// the study's list of items of the one at a place.
func (p *Plan) Position(item string) (int, bool) {
	i, ok := p.itemIndex[item]
	return int(i), ok
}

// At is the inverse of Position, as an index.
func (p *Plan) At(position int) int { return p.order[position] }
