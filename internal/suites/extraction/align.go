package extraction

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/measure"
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
		leaves := n.records.leaves()
		var long bool
		if pairs, long = pairRecords(x.signatures(n.records, gold, of), x.signatures(n.records, answer, in), weights(n, leaves, how.Keys)); long {
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
func weights(list *node, leaves []*node, keys []string) []int32 {
	w := make([]int32, len(leaves))
	for i, l := range leaves {
		w[i] = 1
		if slices.Contains(keys, strings.TrimPrefix(l.name, list.name+"[].")) {
			w[i] = int32(len(leaves))
		}
	}
	return w
}

// A signature has the values of the leaves of a record, as numbers that are equal for equal
// values of the type of the field, 0 for none.
type signature struct {
	values []int32
	others map[int][]int32 // of gold: other acceptable values by leaf
}

func (x *aligner) signatures(record *node, list *tree, numbers []int) []signature {
	all := make([]signature, len(numbers))
	for i, number := range numbers {
		x.signature(record, list.get(number), &all[i])
	}
	return all
}

func (x *aligner) signature(n *node, t *tree, s *signature) {
	switch {
	case n.isObject():
		for i, m := range n.members {
			x.signature(m, t.get(i), s)
		}
	case n.isList():
	default:
		leaf := int32(0)
		switch {
		case t == nil:
		case t.point > 0:
			p := &x.d.points[t.point-1]
			if leaf = p.key; len(p.otherKeys) > 0 {
				if s.others == nil {
					s.others = map[int][]int32{}
				}
				s.others[len(s.values)] = p.otherKeys
			}
		case len(t.entries) > 0:
			if v := t.entries[0].Value; v.Given && !v.Bad {
				leaf = x.d.number(n.field, v.Text)
			}
		}
		s.values = append(s.values, leaf)
	}
}

// numberGold numbers the values of a point in a list.
func (d *prepared) numberGold(p *point, field int) {
	if !p.gold.present() || !inList(p.unit) {
		return
	}
	p.key = d.number(field, string(p.gold.Correct))
	for _, v := range p.gold.Acceptable {
		p.otherKeys = append(p.otherKeys, d.number(field, string(v)))
	}
}

// number is the number of a value of a field.
func (d *prepared) number(field int, value string) int32 {
	key := text.Key(d.schema.Fields[field].Type, value)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.keys == nil {
		d.keys = map[string]int32{}
	}
	if d.keys[key] == 0 {
		d.keys[key] = int32(len(d.keys) + 1)
	}
	return d.keys[key]
}

// pairRecords aligns records so that as many values as possible agree, and returns for each
// record of gold that of the answer, -1 for none. Records without an equal value stay alone. It is
// long if there are too many pairs to compare.
func pairRecords(gold, answer []signature, w []int32) (pairs []int, long bool) {
	pairs = slices.Repeat([]int{-1}, len(gold))
	left, right := measure.UpTo(len(gold)), measure.UpTo(len(answer))
	// Equal records are a pair of some best alignment: a third record agrees with each of
	// the two in the same values.
	equal := func(least int32) {
		key := func(s *signature) string {
			var b []byte
			for k, v := range s.values {
				if w[k] >= least {
					b = binary.LittleEndian.AppendUint32(b, uint32(v))
				}
			}
			return string(b)
		}
		left, right = measure.PairEqual(pairs, left, right, func(i int) string { return key(&gold[i]) }, func(j int) string { return key(&answer[j]) })
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
	agree := func(gold, answer signature) (sum int32) {
		for k, v := range gold.values {
			if said := answer.values[k]; said != 0 && (said == v || gold.others != nil && slices.Contains(gold.others[k], said)) {
				sum += w[k]
			}
		}
		return sum
	}
	cost := make([][]int32, len(left))
	for r, i := range left {
		cost[r] = make([]int32, len(right))
		for c, j := range right {
			cost[r][c] = -agree(gold[i], answer[j])
		}
	}
	for r, c := range measure.Assign(cost) {
		if c >= 0 && cost[r][c] < 0 {
			pairs[left[r]] = right[c]
		}
	}
	return pairs, long
}
