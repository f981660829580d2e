// Package plan enumerates every trial of a study and estimates its usage and cost.
// It calls no model and opens no store.
//
// plan.go numbers trials, treatment.go has what their answers depend on.
package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
)

// A Plan enumerates the trials of a study: items × arms × replicates. It stores no
// list of them, so its size does not grow with replicates and arms.
//
// Trials are ordered by item, then arm, then replicate. Arms are sorted, and
// items are sorted and then shuffled by the seed, so that the order in which a
// study lists them does not matter. A run that is stopped early has a random
// sample of the items, each with all arms, so its results are paired.
type Plan struct {
	items      []eval.Item
	index      *eval.ItemIndex
	order      []int32 // index of the item at a position
	position   []int32 // its inverse
	arms       []string
	hashes     []string // of the arms
	replicates int

	// Reads is the version of the suite's rules that read answers.
	Reads int
	// Depends says what trials depend on, as the bench does; nil for nothing.
	Depends func(eval.Trial) eval.Basis
	// Judges has a hash of the settings of the judges of an arm, see [Judges].
	Judges map[string]string
	// Sources give arms that take their answers from another run the questions of the trials there,
	// which become part of their own.
	Sources map[string]func(item string, replicate int) int64
}

// New returns the plan of a study. Ids must be unique. The list of items must not
// be modified later. The hash of an arm covers everything that determines its
// requests, see [Questions].
func New(items []eval.Item, arms []eval.Arm, replicates int, seed int64) (*Plan, error) {
	p := &Plan{items: items, index: eval.IndexItems(items), position: make([]int32, len(items)), replicates: replicates}
	p.order = p.index.Sorted()
	shuffle(p.order, seed)
	for k, i := range p.order {
		p.position[i] = int32(k)
	}
	if a, _, dup := p.index.Duplicate(); dup {
		return nil, fmt.Errorf("duplicate item id %q", items[a].ID)
	}
	arms = slices.SortedFunc(slices.Values(arms), func(a, b eval.Arm) int { return strings.Compare(a.ID, b.ID) })
	for i, a := range arms {
		if i > 0 && arms[i-1].ID == a.ID {
			return nil, fmt.Errorf("duplicate arm id %q: rename one", a.ID)
		}
		p.arms, p.hashes = append(p.arms, a.ID), append(p.hashes, a.Hash)
	}
	if replicates < 1 {
		return nil, fmt.Errorf("replicates is %d: want at least 1", replicates)
	}
	return p, nil
}

// shuffle permutes by length and seed only.
func shuffle(list []int32, seed int64) {
	rand.New(rand.NewPCG(uint64(seed), 0x5c4b1e)).Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}

// Len is the number of trials.
func (p *Plan) Len() int { return len(p.items) * len(p.arms) * p.replicates }

// Replicates is the number of trials per item and arm.
func (p *Plan) Replicates() int { return p.replicates }

// Trial returns the trial at a position of the plan, from 0.
func (p *Plan) Trial(seq int) eval.Trial {
	r := seq % p.replicates
	cell := seq / p.replicates
	return eval.Trial{Item: p.items[p.order[cell/len(p.arms)]].ID, Arm: p.arms[cell%len(p.arms)], Replicate: r + 1}
}

// of returns what a trial depends on.
func (p *Plan) of(seq int) eval.Basis {
	if p.Depends == nil {
		return eval.Basis{}
	}
	return p.Depends(p.Trial(seq))
}

// Question returns a hash of what determines the requests of a trial: its arm, the
// input of its item, and what its bench says they depend on. It is never 0 or negative.
func (p *Plan) Question(seq int) int64 {
	cell := seq / p.replicates
	item := p.items[p.order[cell/len(p.arms)]]
	parts := item.Input.String() + p.hashes[cell%len(p.arms)]
	if asked := p.of(seq).Asked; asked != 0 {
		parts += asked.String()
	}
	h := eval.HashOf([]byte(parts))
	if source := p.Sources[p.arms[cell%len(p.arms)]]; source != nil {
		h = eval.HashOf([]byte(h.String() + strconv.FormatInt(source(item.ID, seq%p.replicates+1), 10)))
	}
	return positive(h)
}

// Asking returns the plan with other hashes of its arms.
func (p *Plan) Asking(arms []eval.Arm) *Plan {
	other := *p
	other.hashes = make([]string, len(p.arms))
	for _, a := range arms {
		if i := slices.Index(p.arms, a.ID); i >= 0 {
			other.hashes[i] = a.Hash
		}
	}
	return &other
}

// Basis returns hashes of what the outcome of a trial depends on beside its answers, and
// its verdicts beside the outcome. They are never 0 or negative.
func (p *Plan) Basis(seq int) (read, judged int64) {
	b := p.of(seq)
	arm := p.arms[seq/p.replicates%len(p.arms)]
	return readBy(b, p.Reads), positive(eval.HashOf([]byte("judged " + b.Judged.String() + p.Judges[arm])))
}

// ReadEarlier reports whether the outcome of a trial depended on this if the rules of an earlier
// version read its answers.
func (p *Plan) ReadEarlier(seq int, read int64) bool {
	for version := range p.Reads {
		if readBy(p.of(seq), version) == read {
			return true
		}
	}
	return false
}

func readBy(b eval.Basis, version int) int64 {
	by := ""
	if version > 0 {
		by = strconv.Itoa(version)
	}
	return positive(eval.HashOf([]byte("read " + b.Read.String() + by)))
}

func positive(h eval.Hash) int64 { return max(1, int64(h>>1)) }

// Seq returns the position of a trial, and whether the plan contains it.
func (p *Plan) Seq(t eval.Trial) (int, bool) {
	k, ok := p.Position(t.Item)
	a := slices.Index(p.arms, t.Arm)
	if !ok || a < 0 || t.Replicate < 1 || t.Replicate > p.replicates {
		return 0, false
	}
	return (k*len(p.arms)+a)*p.replicates + t.Replicate - 1, true
}

// Position returns the place of an item in the plan, from 0, and At the index in
// the study's list of items of the item at a place.
func (p *Plan) Position(item string) (int, bool) {
	i, ok := p.index.Find(item)
	if !ok {
		return 0, false
	}
	return int(p.position[i]), true
}

// At is the inverse of Position, as an index.
func (p *Plan) At(position int) int { return int(p.order[position]) }
