package extraction

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/measure"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

// A List says how the records of a list of an answer are aligned with those of gold.
type List struct {
	Keys    []string `json:"keys,omitempty" jsonschema:"description=Members that say which record it is; records are aligned by these first (default: by all values)"`
	Ordered bool     `json:"ordered,omitempty" jsonschema:"description=The first record of the answer is the first one of gold\\, and so on"`
}

// mostPairs limits the pairs of records of a list that are compared. In longer lists, equal
// records are aligned, then those with equal keys, and the others by order, which the report says.
const mostPairs = 1 << 21

// An arranged answer has the entries of the points of gold.
type arranged struct {
	of      [][]*Entry // by point
	surplus []Entry    // of records that gold does not have; their fields are paths such as items[+2].price
	partner []string   // of points in lists: the path of the record in the answer, if its number is another
	extra   []string   // fields that the schema does not have
	faults  []string   // what has the wrong shape
	byOrder []string   // lists that are too long to compare all pairs of records
	entries int        // of the answer
	plain   bool       // the answer has no evidence
}

// arrange finds the entries of each point: by name, and in lists of the records that are
// aligned.
func (d *prepared) arrange(a Answer) *arranged {
	r, answer, plain := reading{}, &tree{}, a.Plain != nil
	if plain {
		a.Entries = r.plainEntries(d.schema, a)
	}
	for i := range a.Entries {
		e := &a.Entries[i]
		if p, _, err := answer.at(d.schema.root, e.Field); err != nil {
			r.extra = append(r.extra, e.Field)
		} else {
			p.entries = append(p.entries, e)
		}
	}
	x := aligner{d: d, arranged: &arranged{of: make([][]*Entry, len(d.points)), partner: make([]string, len(d.points)),
		extra: r.extra, faults: r.faults, plain: plain}}
	x.walk(d.schema.root, d.gold, answer, "", "")
	for _, of := range x.of {
		x.entries += len(of)
	}
	if x.entries += len(x.surplus) + len(x.extra); !plain {
		x.entries = len(a.Entries)
	}
	return x.arranged
}

type aligner struct {
	*arranged
	d *prepared
}

// walk gives the points of gold the entries of an answer. at is the path in gold, with + before
// the numbers of records that it does not have, from is that in the answer.
func (x *aligner) walk(n *node, gold, answer *tree, at, from string) {
	switch {
	case answer == nil:
	case n.isObject():
		for i, m := range n.members {
			x.walk(m, gold.get(i), answer.get(i), join(at, n.names[i]), join(from, n.names[i]))
		}
	case n.isList():
		x.list(n, gold, answer, at, from)
	case gold != nil && gold.point > 0:
		x.of[gold.point-1] = answer.entries
		if at != from {
			x.partner[gold.point-1] = from
		}
	case strings.Contains(at, "[+"):
		for _, e := range answer.entries {
			e := *e
			e.Field = at
			x.surplus = append(x.surplus, e)
		}
	}
}

func (x *aligner) list(n *node, gold, answer *tree, at, from string) {
	of, in := gold.numbers(), answer.numbers()
	pairs := make([]int, len(of)) // index in the answer, -1 for none
	switch how := x.d.lists[n.name]; {
	case how.Ordered:
		for i := range pairs {
			if pairs[i] = i; i >= len(in) {
				pairs[i] = -1
			}
		}
	default:
		keys := func(t *tree, numbers []int) [][][]string {
			list := make([][][]string, len(numbers))
			for i, number := range numbers {
				list[i] = x.keys(n.records, t.get(number), nil)
			}
			return list
		}
		var long bool
		if pairs, long = pairRecords(keys(gold, of), keys(answer, in), weights(n, how.Keys)); long {
			x.byOrder = append(x.byOrder, n.name+"[]")
		}
	}
	taken := make([]bool, len(in))
	for i, number := range of {
		if j := pairs[i]; j >= 0 {
			taken[j] = true
			x.walk(n.records, gold.get(number), answer.get(in[j]), fmt.Sprintf("%s[%d]", at, number), fmt.Sprintf("%s[%d]", from, in[j]))
		}
	}
	for j, number := range in {
		if !taken[j] {
			x.walk(n.records, nil, answer.get(number), fmt.Sprintf("%s[+%d]", at, number), fmt.Sprintf("%s[%d]", from, number))
		}
	}
}

// weights of the leaves of a record: one key counts more than all other leaves.
func weights(list *node, keys []string) []int32 {
	leaves := list.records.leaves()
	w := make([]int32, len(leaves))
	for i, l := range leaves {
		w[i] = 1
		if slices.Contains(keys, strings.TrimPrefix(l.name, list.name+"[].")) {
			w[i] = int32(len(leaves))
		}
	}
	return w
}

// keys appends those of the values of the leaves of a record, which are equal for equal values of
// the type of the field: in gold of all acceptable values, the correct one first.
func (x *aligner) keys(n *node, t *tree, list [][]string) [][]string {
	switch {
	case n.isObject():
		for i, m := range n.members {
			list = x.keys(m, t.get(i), list)
		}
		return list
	case n.isList():
		return list
	}
	var leaf []string
	switch {
	case t == nil:
	case t.point > 0:
		leaf = x.d.points[t.point-1].keys
	case len(t.entries) > 0:
		if v := t.entries[0].Value; v.Given && !v.Bad {
			leaf = []string{text.Key(x.d.schema.Fields[n.field].Type, v.Text)}
		}
	}
	return append(list, leaf)
}

// pairRecords aligns records so that as many values as possible agree, and returns for each
// record of gold that of the answer, -1 for none. Records without an equal value stay alone. It is
// long if there are too many pairs to compare.
func pairRecords(gold, answer [][][]string, w []int32) (pairs []int, long bool) {
	pairs = slices.Repeat([]int{-1}, len(gold))
	left, right := measure.UpTo(len(gold)), measure.UpTo(len(answer))
	// Equal records are a pair of some best alignment: a third record agrees with each of
	// the two in the same values.
	equal := func(least int32) {
		key := func(record [][]string) string {
			var b []byte
			for k, leaf := range record {
				if w[k] >= least {
					b = kit.AppendParts(b, leaf[:min(1, len(leaf))]...)
					b = append(b, '\n')
				}
			}
			return string(b)
		}
		left, right = measure.PairEqual(pairs, left, right, func(i int) string { return key(gold[i]) },
			func(j int) string { return key(answer[j]) })
	}
	equal(0)
	long = len(left)*len(right) > mostPairs
	if most := slices.Max(append(slices.Clone(w), 1)); long && most > 1 {
		equal(most) // in their keys
	}
	if len(left)*len(right) > mostPairs {
		for k := range min(len(left), len(right)) {
			pairs[left[k]] = right[k]
		}
		return pairs, true
	}
	cost := make([][]int32, len(left))
	for r, i := range left {
		cost[r] = make([]int32, len(right))
		for c, j := range right {
			for k, leaf := range gold[i] {
				if said := answer[j][k]; len(said) > 0 && slices.Contains(leaf, said[0]) {
					cost[r][c] -= w[k]
				}
			}
		}
	}
	for r, c := range measure.Assign(cost) {
		if c >= 0 && cost[r][c] < 0 {
			pairs[left[r]] = right[c]
		}
	}
	return pairs, long
}
