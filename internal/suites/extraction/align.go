package extraction

import (
	"fmt"
	"math"
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

// mostPairs limits the pairs of records of a list that are compared, with those of the lists in
// them. Beyond it, values of lists in records count wherever they stand; where the records alone
// make as many pairs, equal ones are aligned, then those with equal keys, and the others by order.
// The report says so.
const mostPairs = 1 << 21

// An arranged answer has the entries of the points of gold.
type arranged struct {
	of      [][]*Entry // by point
	surplus []Entry    // of records that gold does not have; their fields are paths such as items[+2].price
	own     []string   // the paths of surplus in the answer
	partner []string   // of points in lists: the path of the record in the answer, if its number is another
	answer  *tree
	extra   []string // fields that the schema does not have
	faults  []string // what has the wrong shape
	long    []string // lists that are too long to compare all pairs of records
	entries int      // of the answer
	plain   bool     // the answer has no evidence
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
	x := aligner{d: d, arranged: &arranged{answer: answer, of: make([][]*Entry, len(d.points)), partner: make([]string, len(d.points)),
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
			x.surplus, x.own = append(x.surplus, e), append(x.own, from)
		}
	}
}

func (x *aligner) list(n *node, gold, answer *tree, at, from string) {
	of, in := gold.numbers(), answer.numbers()
	pairs := slices.Repeat([]int{-1}, len(of)) // index in the answer, -1 for none
	if x.d.lists[n.name].Ordered {
		copy(pairs, measure.UpTo(min(len(of), len(in))))
	} else {
		var long bool
		if pairs, _, long = pairRecords(x.records(n, gold), x.records(n, answer)); long {
			x.long = append(x.long, n.name+"[]")
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

// Records are those of a list, of gold or of an answer.
type records struct {
	list    []record
	weights []int32 // of the leaves of a record; one key counts more than all other values
	keys    bool
	ordered bool
}

// A record is what is compared of a record.
type record struct {
	leaves [][]string // the keys of the values of each leaf that is in no list of the record
	lists  []records  // in the record
	equal  string     // is the same for equal records
	values int        // of it and of its lists
	size   int        // of its lists in records, and 1
}

func (x *aligner) records(n *node, t *tree) records {
	how := x.d.lists[n.name]
	r, most := records{ordered: how.Ordered, keys: len(how.Keys) > 0}, 0
	for _, number := range t.numbers() {
		one := record{size: 1}
		x.compared(&one, n.records, t.get(number))
		b, inner := one.key(nil), 0
		for _, l := range one.lists {
			var equal []string
			for i := range l.list {
				equal = append(equal, l.list[i].equal)
				inner += l.list[i].values
				one.size += l.list[i].size
			}
			if !l.ordered {
				slices.Sort(equal)
			}
			b = append(kit.AppendParts(b, equal...), '\n')
		}
		one.equal, one.values, most = string(b), one.values+inner, max(most, inner)
		r.list = append(r.list, one)
	}
	leaves := n.records.leaves()
	pairs := min(len(r.list), 1<<11)                                                 // at most, of mostPairs
	key := int32(min(len(leaves)+most, math.MaxInt32/2/max(1, len(how.Keys)*pairs))) // sums have 31 bits
	for _, l := range leaves {
		w := int32(1)
		if slices.Contains(how.Keys, strings.TrimPrefix(l.name, n.name+"[].")) {
			w = key
		}
		r.weights = append(r.weights, w)
	}
	return r
}

// compared adds the leaves and the lists of a tree to a record. The keys of values are equal for
// equal values of the type of the field: in gold of all acceptable values, the correct one first.
func (x *aligner) compared(r *record, n *node, t *tree) {
	var leaf []string
	switch {
	case n.isObject():
		for i, m := range n.members {
			x.compared(r, m, t.get(i))
		}
		return
	case n.isList():
		r.lists = append(r.lists, x.records(n, t))
		return
	case t == nil:
	case t.point > 0:
		leaf = x.d.points[t.point-1].keys
	case len(t.entries) > 0:
		if v := t.entries[0].Value; v.Given && !v.Bad {
			leaf = []string{text.Key(x.d.schema.Fields[n.field].Type, v.Text)}
		}
	}
	r.leaves = append(r.leaves, leaf)
	r.values += min(1, len(leaf))
}

// key is the same for records of which the leaves, or those with a weight above 1, are equal.
func (r *record) key(weights []int32) []byte {
	var b []byte
	for k, leaf := range r.leaves {
		if weights == nil || weights[k] > 1 {
			b = append(kit.AppendParts(b, leaf[:min(1, len(leaf))]...), '\n')
		}
	}
	return b
}

// agreeing weighs the leaves in which a record agrees with one of gold, or counts them.
func (r *record) agreeing(answer *record, weights []int32) (n int32) {
	for k, leaf := range r.leaves {
		if said := answer.leaves[k]; len(said) > 0 && slices.Contains(leaf, said[0]) {
			if weights != nil {
				n += weights[k]
			} else {
				n++
			}
		}
	}
	return n
}

// agreeingInLists counts the values of the lists in a record that agree with those of gold, as
// their records are aligned.
func (r *record) agreeingInLists(answer *record) (n int32) {
	for k, of := range r.lists {
		in := answer.lists[k]
		if !of.ordered {
			_, agree, _ := pairRecords(of, in)
			n += agree
			continue
		}
		for i := range min(len(of.list), len(in.list)) {
			g, a := &of.list[i], &in.list[i]
			n += g.agreeing(a, nil) + g.agreeingInLists(a)
		}
	}
	return n
}

// bag counts the values of the lists in a record by their leaves and keys, wherever they stand.
func (r *record) bag(of map[string]int32, at string) map[string]int32 {
	for k, l := range r.lists {
		at := fmt.Sprint(at, k, " ")
		for i := range l.list {
			in := &l.list[i]
			for leaf, keys := range in.leaves {
				if len(keys) > 0 {
					of[fmt.Sprint(at, leaf, " ", keys[0])]++
				}
			}
			in.bag(of, at)
		}
	}
	return of
}

// anywhere counts the values of the lists in a record that agree with those of gold wherever they
// stand, which takes no pairs of records.
func anywhere() func(gold, answer *record) int32 {
	bags := map[*record]map[string]int32{}
	bagOf := func(r *record) map[string]int32 {
		if bags[r] == nil {
			bags[r] = r.bag(map[string]int32{}, "")
		}
		return bags[r]
	}
	return func(gold, answer *record) (n int32) {
		in := bagOf(answer)
		for value, count := range bagOf(gold) {
			n += min(count, in[value])
		}
		return n
	}
}

// size is that of some of the records, with those of their lists.
func (r *records) size(of []int) (n int) {
	for _, i := range of {
		n += r.list[i].size
	}
	return n
}

// pairRecords aligns records so that as many values as possible agree, and returns for each
// record of gold that of the answer, -1 for none, and how many values agree. Records without an
// equal value stay alone. It is long, and agree not counted, if there are too many pairs to compare.
func pairRecords(gold, answer records) (pairs []int, agree int32, long bool) {
	pairs = slices.Repeat([]int{-1}, len(gold.list))
	left, right := measure.UpTo(len(gold.list)), measure.UpTo(len(answer.list))
	// Equal records are a pair of some best alignment: a third record agrees with each of
	// the two in the same values.
	left, right = measure.PairEqual(pairs, left, right, func(i int) string { return gold.list[i].equal },
		func(j int) string { return answer.list[j].equal })
	for i, j := range pairs {
		if j >= 0 {
			agree += int32(gold.list[i].values)
		}
	}
	if long = len(left)*len(right) > mostPairs; long && gold.keys {
		left, right = measure.PairEqual(pairs, left, right, func(i int) string { return string(gold.list[i].key(gold.weights)) },
			func(j int) string { return string(answer.list[j].key(gold.weights)) })
	}
	if len(left)*len(right) > mostPairs {
		for k := range min(len(left), len(right)) {
			pairs[left[k]] = right[k]
		}
		return pairs, 0, true
	}
	inLists := (*record).agreeingInLists
	if gold.size(left)*answer.size(right) > mostPairs {
		inLists, long = anywhere(), true
	}
	cost := make([][]int32, len(left))
	for r, i := range left {
		cost[r] = make([]int32, len(right))
		for c, j := range right {
			g, a := &gold.list[i], &answer.list[j]
			cost[r][c] = -g.agreeing(a, gold.weights) - inLists(g, a)
		}
	}
	for r, c := range measure.Assign(cost) {
		if c >= 0 && cost[r][c] < 0 {
			g, a := &gold.list[left[r]], &answer.list[right[c]]
			pairs[left[r]] = right[c]
			agree += g.agreeing(a, nil) - g.agreeing(a, gold.weights) - cost[r][c]
		}
	}
	return pairs, agree, long
}
