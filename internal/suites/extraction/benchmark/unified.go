package benchmark

import (
	"errors"
	"slices"
	"strconv"

	"github.com/scruple-eval/scruple/internal/measure"
)

// The unified value F1 of ExtractBench, as llama-extract-bench 1.0.0 computes it
// (evaluation/metrics/extract/unified_evidence_metric.py and array_record_match_metric.py). An
// answer and gold are cells: the leaves of the schema, in each record of a list. Records are paired
// so that as few cells as possible differ. A cell is right if its value equals that of gold or of
// an entry of its evidence. Precision is right cells by those of the answer, recall by those of
// gold.
//
// A member that is not there is its default of the schema, or else no cell: it lowers one of the two
// alone. (The README of 1.0.0 says that it counts as null, as it did before.)

// mostPairs limits the pairs of records of a list, whose costs are in memory.
const mostPairs = 100_000_000

var errTooLong = errors.New("a list has more than 100 million pairs of records")

// A cell is a value of a leaf. A cell of gold has every value that is right.
type cell struct {
	value
	others      []value
	normalizers []string
	strict      bool // no value but the first is right
}

// A record has cells and lists, in the order of the schema.
type record struct {
	cells []cell
	lists []list
	count int // of cells that are there, with those in its lists
}

type list struct {
	of      *field
	records []record
	paged   bool // a cell has the number of a page
}

// counts are cells.
type counts struct{ right, answered, expected int }

func (c counts) f1() float64 {
	if c.right == 0 {
		return 0
	}
	p, r := float64(c.right)/float64(c.answered), float64(c.right)/float64(c.expected)
	return 2 * p * r / (p + r)
}

// A citation is where an answer has a value from.
type citation struct {
	Path string   `json:"field_path"`
	Page *float64 `json:"page"`
}

// unifiedCounts are the cells of an answer and of gold. Without any, the score is not defined.
func unifiedCounts(t testCase, extracted any, cited []citation) (counts, error) {
	expected, err := decode(t.Expected)
	if err != nil {
		return counts{}, err
	}
	schema, err := inlined(t.Schema)
	if err != nil {
		return counts{}, err
	}
	extracted, expected = sameClaims(extracted, expected)
	answer, isObject := dated(unwrapped(extracted)).(map[string]any)
	gold, both := dated(unwrapped(expected)).(map[string]any)
	if !isObject || !both {
		return counts{}, nil
	}
	from := reader{ids: map[string]int{}, paged: map[string]bool{}, longest: map[*field]int{}}
	of := from
	of.paged, of.longest, of.others, of.rules = map[string]bool{}, map[*field]int{}, map[string][]any{}, t.Rules
	for _, c := range cited {
		from.paged[c.Path] = from.paged[c.Path] || c.Page != nil
	}
	for path, rule := range t.Rules {
		for _, e := range rule.Evidence {
			of.paged[path] = of.paged[path] || e.Page != nil
			v, err := decode(e.Value)
			if err != nil {
				return counts{}, err
			}
			if v != nil {
				of.others[path] = append(of.others[path], dated(v))
			}
		}
	}
	names := map[string]bool{} // a member that the schema does not have is a cell
	known := object(object(schema)["properties"])
	for _, m := range []map[string]any{known, gold, answer} {
		for name := range m {
			names[name] = true
		}
	}
	delete(names, "_provenance")
	var golds, answers record
	for _, name := range sortedKeys(names) {
		f := newField(name, known[name])
		of.read(&golds, f, gold, name)
		from.read(&answers, f, answer, name)
	}
	for f, n := range of.longest {
		if n*from.longest[f] > mostPairs {
			return counts{}, errTooLong
		}
	}
	return counts{right: rightCells(&golds, &answers), answered: answers.count, expected: golds.count}, nil
}

// A reader makes records of gold or of an answer.
type reader struct {
	ids     map[string]int
	paged   map[string]bool  // by path
	longest map[*field]int   // records of a list
	others  map[string][]any // by path
	rules   map[string]fieldRule
}

// read adds a member of an object to a record.
func (in *reader) read(r *record, f *field, object any, path string) {
	v := any(missing{})
	if object != v {
		v = f.fallback
		if m, ok := object.(map[string]any); ok {
			if inner, ok := m[f.name]; ok {
				v = inner
			}
		}
	}
	switch {
	case f.isList:
		l := list{of: f}
		rows, _ := v.([]any)
		for i, row := range rows {
			var inner record
			at := path + "[" + strconv.Itoa(i) + "]."
			for _, m := range f.members {
				in.read(&inner, m, withoutMembers(row), at+m.name)
				l.paged = l.paged || in.paged[at+m.name]
			}
			l.records = append(l.records, inner)
			r.count += inner.count
		}
		in.longest[f] = max(in.longest[f], len(rows))
		r.lists = append(r.lists, l)
	case len(f.members) > 0:
		for _, m := range f.members {
			in.read(r, m, withoutMembers(v), path+"."+m.name)
		}
	default:
		c := cell{value: in.value(v, f), normalizers: in.rules[path].Normalizers}
		c.strict = len(c.normalizers) == 0
		for _, other := range in.others[path] {
			c.others = append(c.others, in.value(other, f))
			c.strict = c.strict && exactly(other) == exactly(v)
		}
		if c.there {
			r.count++
		}
		r.cells = append(r.cells, c)
	}
}

func (in *reader) value(v any, f *field) value {
	key := equality(v)
	if in.ids[key] == 0 {
		in.ids[key] = len(in.ids) + 1
	}
	made := value{raw: v, id: in.ids[key], there: v != any(missing{}), similarFrom: longTexts[f.name]}
	if s, ok := v.(string); ok && made.similarFrom > 0 {
		made.folded = []rune(fold(s))
	}
	return made
}

// accepts reports whether a value is one of a cell of gold.
func (c *cell) accepts(v *value) bool {
	if c.value.same(v) || c.lenient(&c.value, v) {
		return true
	}
	for i := range c.others {
		if o := &c.others[i]; o.same(v) || c.lenient(o, v) {
			return true
		}
	}
	return false
}

func rightCells(gold, answer *record) (n int) {
	for i := range gold.cells {
		if g, a := &gold.cells[i], &answer.cells[i]; g.there && a.there && g.accepts(&a.value) {
			n++
		}
	}
	for i := range gold.lists {
		g, a := &gold.lists[i], &answer.lists[i]
		for of, in := range g.pair(a) {
			if in >= 0 {
				n += rightCells(&g.records[of], &a.records[in])
			}
		}
	}
	return n
}

// pair gives each record of gold one of the answer, or -1. Which of several best pairings it is
// matters, as two members that are both missing agree and are no cell: the reference pairs equal
// records first in lists of cells that nothing but the equal value is right for.
func (gold *list) pair(answer *list) []int {
	pairs := slices.Repeat([]int{-1}, len(gold.records))
	of, in := measure.UpTo(len(gold.records)), measure.UpTo(len(answer.records))
	exact := !gold.of.deep && !(gold.paged && answer.paged)
	for _, r := range gold.records {
		exact = exact && !slices.ContainsFunc(r.cells, func(c cell) bool { return !c.strict || c.similarFrom > 0 })
	}
	if exact {
		of, in = measure.PairEqual(pairs, of, in, gold.key, answer.key)
	}
	if len(of) == 0 || len(in) == 0 {
		return pairs
	}
	for j, i := range measure.Assign(differences(gold, answer, of, in)) {
		if i >= 0 {
			pairs[of[i]] = in[j]
		}
	}
	return pairs
}

// key is the same for equal records.
func (l *list) key(i int) string {
	var b []byte
	for _, c := range l.records[i].cells {
		b = strconv.AppendInt(append(b, ' '), int64(c.id), 10)
	}
	return string(b)
}

// differences are the numbers of cells in which records of an answer, the rows, differ from those of
// gold.
func differences(gold, answer *list, of, in []int) [][]int32 {
	rows := make([][]int32, len(in))
	for j := range rows {
		rows[j] = make([]int32, len(of))
		for i := range of {
			rows[j][i] = cost(&gold.records[of[i]], &answer.records[in[j]])
		}
	}
	return rows
}

func cost(gold, answer *record) (n int32) {
	for i := range gold.cells {
		if !gold.cells[i].accepts(&answer.cells[i].value) {
			n++
		}
	}
	for k := range gold.lists {
		g, a := &gold.lists[k], &answer.lists[k]
		for _, r := range slices.Concat(g.records, a.records) {
			n += int32(r.count)
		}
		if len(g.records) == 0 || len(a.records) == 0 {
			continue
		}
		costs := differences(g, a, measure.UpTo(len(g.records)), measure.UpTo(len(a.records)))
		for j, i := range measure.Assign(costs) {
			if i >= 0 {
				n += costs[j][i] - int32(g.records[i].count+a.records[j].count)
			}
		}
	}
	return n
}
