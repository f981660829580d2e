package soundness

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/text"
)

// A synthesis has the failures of the main model and what the panel did on the same
// fragments.
type synthesis struct {
	b        *Bench
	failures []*failure
	others   []*cell // in which another model fails
	judged   int     // fragments × conditions of the main model with an outcome
	by       map[string]int
	wrong    map[string]int // fragment → combinations of model and condition that fail
	decided  map[string]int // fragment → combinations with an outcome
	coded    []*failure     // those of the failures that people coded
	singles  []*failure     // failed runs of fragments that pass, if people code them
}

func newSynthesis(b *Bench) *synthesis {
	return &synthesis{b: b, by: map[string]int{}, wrong: map[string]int{}, decided: map[string]int{}}
}

// blocks are the tables about failures, challenge cases and validity.
func (s *synthesis) blocks(r eval.Results) (blocks []eval.Block) {
	if s.b.main == "" || s.judged == 0 {
		return nil
	}
	s.order()
	tables := []*eval.Table{s.types()}
	if len(s.coded) > 0 {
		tables = append(tables, s.codes(), s.domains(r), s.pairs(r), s.origin(), s.signature())
	}
	if s.b.explored != "" {
		tables = append(tables, s.single())
	}
	cases := s.challenges()
	tables = append(tables, s.challengeTable(cases), s.overlap(cases), s.features(r, cases), s.questions(r, cases), s.defensible(cases))
	for _, t := range tables {
		if t != nil {
			blocks = append(blocks, eval.Block{Table: t})
		}
	}
	return blocks
}

// add adds a cell.
func (s *synthesis) add(c *cell) {
	if c.fragment.Gold == nil || c.Outcome == outcomeUndecided {
		return
	}
	s.decided[c.fragment.ID]++
	if c.Outcome == outcomeFail {
		s.wrong[c.fragment.ID]++
	}
	switch {
	case s.b.isMain(c.arm):
		s.judged++
		s.by[c.arm.condition]++
		if x := s.b.failed(c); x != nil {
			s.failures = append(s.failures, x)
		}
		if x := s.b.single(c); x != nil && s.b.explored != "" {
			s.singles = append(s.singles, x)
		}
	case c.Outcome == outcomeFail && c.arm.Settings != nil:
		s.others = append(s.others, c)
	}
}

// order sorts the failures, and adds the other models that fail where the main one does.
func (s *synthesis) order() {
	slices.SortStableFunc(s.failures, func(x, y *failure) int {
		return cmp.Or(strings.Compare(x.fragment.ID, y.fragment.ID), strings.Compare(x.condition, y.condition))
	})
	for _, x := range s.failures {
		for _, c := range s.others {
			if c.fragment == x.fragment && c.arm.condition == x.condition {
				x.others = append(x.others, c.arm.Settings.ID)
			}
		}
		slices.Sort(x.others)
		if x.coding != nil {
			s.coded = append(s.coded, x)
		}
	}
}

// types counts failures by condition and type.
func (s *synthesis) types() *eval.Table {
	t := &eval.Table{Name: "fragment_failures", Title: "Failures of " + s.b.main, Columns: []string{"condition", "fragments", "failed", "type 1", "type 2", "type 3", "coded"},
		Note: "The type of a fragment is that of its clearest failed run: type 1, coherent and incorrect, if there is one. Only type 1 is coded."}
	for _, condition := range s.b.conditions {
		n := map[string]int{}
		coded, all := 0, 0
		for _, x := range s.failures {
			if x.condition == condition {
				n[x.kind]++
				all++
				if x.coding != nil {
					coded++
				}
			}
		}
		t.Row(eval.Text(condition), eval.Count(s.by[condition]), eval.Count(all), eval.Count(n[failureType1]), eval.Count(n[failureType2]),
			eval.Count(n[failureType3]), eval.Count(coded))
	}
	return t
}

// single has the failed runs of fragments that pass, with their codes.
func (s *synthesis) single() *eval.Table {
	t := &eval.Table{Name: "single_failures", Title: "Single failures of " + s.b.main, Columns: []string{"condition", "fragments", "pass with a failed run of type 1", "coded", "codes"},
		Note: "Exploratory: of fragments that pass by most of their runs. No other table counts them."}
	for _, condition := range s.b.conditions {
		n, coded := 0, 0
		uses := map[string]int{}
		for _, x := range s.singles {
			if x.condition != condition {
				continue
			}
			n++
			if x.coding != nil {
				coded++
				for _, c := range x.coding.codes {
					uses[c]++
				}
			}
		}
		var list []string
		for _, c := range slices.Sorted(maps.Keys(uses)) {
			list = append(list, fmt.Sprintf("%s (%d)", c, uses[c]))
		}
		t.Row(eval.Text(condition), eval.Count(s.by[condition]), eval.Count(n), eval.Count(coded), eval.Text(strings.Join(list, ", ")))
	}
	return t
}

// names lists the codes that were used, those of the checklist first.
func (s *synthesis) names() []string {
	used := map[string]bool{}
	for _, x := range s.coded {
		for _, c := range x.coding.codes {
			used[c] = true
		}
	}
	return slices.SortedFunc(maps.Keys(used), func(x, y string) int {
		order := func(c string) int { return (s.b.domainOf(c) + len(s.b.domains)) % (len(s.b.domains) + 1) } // emergent ones last
		return cmp.Or(cmp.Compare(order(x), order(y)), strings.Compare(x, y))
	})
}

// count counts the coded failures that a function selects, by condition and in all.
func (s *synthesis) count(is func(*failure) bool) (n int, by map[string]int) {
	by = map[string]int{}
	for _, x := range s.coded {
		if is(x) {
			n++
			by[x.condition]++
		}
	}
	return n, by
}

func (s *synthesis) codedIn(condition string) int {
	n, _ := s.count(func(x *failure) bool { return x.condition == condition })
	return n
}

func has(name string) func(*failure) bool {
	return func(x *failure) bool { return slices.Contains(x.coding.codes, name) }
}

func (s *synthesis) inDomain(domain int) func(*failure) bool {
	return func(x *failure) bool {
		return slices.ContainsFunc(x.coding.codes, func(c string) bool { return s.b.domainOf(c) == domain })
	}
}

func (s *synthesis) conditionColumns(first ...string) []string {
	return append(first, s.b.conditions...)
}

func (s *synthesis) conditionCells(by map[string]int) (cells []eval.Cell) {
	for _, c := range s.b.conditions {
		cells = append(cells, eval.ShareOf(by[c], s.codedIn(c)))
	}
	return cells
}

func (s *synthesis) codes() *eval.Table {
	t := &eval.Table{Name: "failure_codes", Title: "Failure codes", Columns: s.conditionColumns("code", "meaning", "primary", "any place", "of coded failures"),
		Note: fmt.Sprintf("%s coded. A failure has one to three codes; shares count it once for each.", text.Plural(len(s.coded), "failure is", "failures are"))}
	names, meanings := s.b.codes()
	for _, name := range s.names() {
		n, by := s.count(has(name))
		primary, _ := s.count(func(x *failure) bool { return x.coding.codes[0] == name })
		meaning := "emergent: appendix D.2 has its definition"
		if i := slices.Index(names, name); i >= 0 {
			meaning = meanings[i]
		}
		t.Row(append([]eval.Cell{eval.Text(name), eval.Text(meaning), eval.Count(primary), eval.Count(n), eval.ShareOf(n, len(s.coded))}, s.conditionCells(by)...)...)
	}
	return t
}

// domains has the failures with a code of each domain. The test of conditions is of the
// first two.
func (s *synthesis) domains(r eval.Results) *eval.Table {
	t := &eval.Table{Name: "failure_domains", Title: "Failures by domain", Columns: s.conditionColumns("domain", "failures", "of all failures", "most common code"), Note: "The shares of conditions are those of coded failures." + s.uncoded()}
	var tables [][2][2]int
	for i, d := range s.b.domains {
		n, by := s.count(s.inDomain(i + 1))
		t.Row(append([]eval.Cell{eval.Text(d.Name), eval.Count(n), eval.ShareOf(n, len(s.failures)), eval.Text(s.mostCommon(i + 1))}, s.conditionCells(by)...)...)
		if len(s.b.conditions) == 2 {
			var table [2][2]int
			for k, c := range s.b.conditions {
				table[k] = [2]int{by[c], s.codedIn(c) - by[c]}
			}
			tables = append(tables, table)
		}
	}
	if list := associate(r, tables); list != nil {
		t.Columns = append(t.Columns, "exact p, conditions", "Holm")
		for i, a := range list {
			t.Rows[i] = append(t.Rows[i], eval.P(a.P), eval.P(a.Adjusted))
		}
		t.Note += " Exact test of the share of coded failures with the domain between the conditions. The failures of a fragment under both conditions are not independent."
	}
	return t
}

func associate(r eval.Results, tables [][2][2]int) []eval.Association {
	a, ok := r.(eval.Associator)
	if !ok || len(tables) == 0 {
		return nil
	}
	return a.Associate(tables)
}

// uncoded is a note on the failures without codes, which shares of all failures have as
// failures without the code or domain.
func (s *synthesis) uncoded() string {
	if n := len(s.failures) - len(s.coded); n > 0 {
		return fmt.Sprintf(" %s no codes yet: shares of all failures are at least what is shown.", text.Plural(n, "failure has", "failures have"))
	}
	return ""
}

// mostCommon returns the most frequent codes of a domain with their number.
func (s *synthesis) mostCommon(domain int) string {
	most := 0
	var names []string
	for _, name := range s.names() {
		if s.b.domainOf(name) != domain {
			continue
		}
		switch n, _ := s.count(has(name)); {
		case n > most:
			most, names = n, []string{name}
		case n == most:
			names = append(names, name)
		}
	}
	if most == 0 {
		return "–"
	}
	return fmt.Sprintf("%s (%d)", strings.Join(names, ", "), most)
}

// pairs has how often two codes occur together.
func (s *synthesis) pairs(r eval.Results) *eval.Table {
	t := &eval.Table{Name: "failure_co_occurrence", Title: "Codes that occur together", Columns: []string{"code", "and", "both", "first alone", "second alone", "neither", "lift", "exact p", "Holm"},
		Note: "Pairs that occur together at least once. Lift is the share with both over the product of the shares; Fisher's exact test of the coded failures, with Holm's correction for all pairs of used codes."}
	names := s.names()
	var tables [][2][2]int
	var of [][2]string
	for i, x := range names {
		for _, y := range names[i+1:] {
			var table [2][2]int
			for _, f := range s.coded {
				table[index(!has(x)(f))][index(!has(y)(f))]++
			}
			tables, of = append(tables, table), append(of, [2]string{x, y})
		}
	}
	for i, a := range associate(r, tables) {
		if n := tables[i]; n[0][0] > 0 {
			t.Row(eval.Text(of[i][0]), eval.Text(of[i][1]), eval.Count(n[0][0]), eval.Count(n[0][1]), eval.Count(n[1][0]), eval.Count(n[1][1]),
				eval.Ratio(a.Lift), eval.P(a.P), eval.P(a.Adjusted))
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}

// origin compares codes of the checklist with emergent ones.
func (s *synthesis) origin() *eval.Table {
	t := &eval.Table{Name: "failure_origin", Title: "Codes of the checklist and emergent ones", Columns: []string{"origin", "as primary code", "share", "uses", "different codes"},
		Note: "Emergent codes show breakdowns that the checklist does not foresee."}
	for _, origin := range []string{"deductive", "inductive"} {
		primary, uses := 0, 0
		different := map[string]bool{}
		for _, x := range s.coded {
			for i, c := range x.coding.codes {
				if s.b.codeType(c) != origin {
					continue
				}
				uses++
				different[c] = true
				if i == 0 {
					primary++
				}
			}
		}
		t.Row(eval.Text(origin), eval.Count(primary), eval.ShareOf(primary, len(s.coded)), eval.Count(uses), eval.Count(len(different)))
	}
	return t
}

// signature is what is typical of the failures, in a few lines.
func (s *synthesis) signature() *eval.Table {
	t := &eval.Table{Name: "failure_signature", Title: "Signature of the failures of " + s.b.main, Columns: []string{"", ""}}
	type ranked struct {
		name string
		n    int
	}
	top := func(list []ranked) string {
		slices.SortStableFunc(list, func(x, y ranked) int { return cmp.Compare(y.n, x.n) })
		var words []string
		for _, x := range list[:min(3, len(list))] {
			if x.n > 0 {
				words = append(words, fmt.Sprintf("%s (%d)", x.name, x.n))
			}
		}
		return strings.Join(words, ", ")
	}
	var domains, codes, sequences []ranked
	for i, d := range s.b.domains {
		n, _ := s.count(func(x *failure) bool { return s.b.domainOf(x.coding.codes[0]) == i+1 })
		domains = append(domains, ranked{d.Name, n})
	}
	for _, name := range s.names() {
		n, _ := s.count(func(x *failure) bool { return x.coding.codes[0] == name })
		codes = append(codes, ranked{name, n})
	}
	orders := map[string]int{}
	for _, x := range s.coded {
		if len(x.coding.codes) > 1 {
			orders[strings.Join(x.coding.codes, " → ")]++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(orders)) {
		sequences = append(sequences, ranked{name, orders[name]})
	}
	for _, line := range [][2]string{{"domains of primary codes", top(domains)}, {"primary codes", top(codes)}, {"sequences of codes", top(sequences)}} {
		if line[1] != "" {
			t.Row(eval.Texts(line[:]...)...)
		}
	}
	for _, condition := range s.b.conditions {
		n := 0
		for _, x := range s.failures {
			if x.condition == condition {
				n++
			}
		}
		t.Row(eval.Text("failed under "+condition), eval.Textf("%d of %d fragments, %s", n, s.by[condition], eval.ShareOf(n, s.by[condition])))
	}
	return t
}
