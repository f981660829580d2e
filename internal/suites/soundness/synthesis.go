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
	b        *bench
	failures []*failure
	others   map[string][]string // fragment and condition → other models that fail
	by       map[string]int      // condition → fragments of the main model with an outcome
	wrong    map[string]int      // fragment → combinations of model and condition that fail
	decided  map[string]int      // fragment → combinations with an outcome
	coded    []*failure          // those of the failures that people coded
	singles  []*failure          // failed runs of fragments that pass, if people code them
}

func newSynthesis(b *bench) *synthesis {
	return &synthesis{b: b, others: map[string][]string{}, by: map[string]int{}, wrong: map[string]int{}, decided: map[string]int{}}
}

// blocks are the tables about failures, challenge cases and validity.
func (s *synthesis) blocks(r eval.Results) (blocks []eval.Block) {
	if s.b.main == "" || len(s.by) == 0 {
		return nil
	}
	s.order()
	tables := []*eval.Table{s.types()}
	if len(s.coded) > 0 {
		tables = append(tables, s.codes(), s.domains(r), s.pairs(r), s.origin(), s.signature())
	}
	if s.b.tasks.single != "" {
		tables = append(tables, s.single())
	}
	cases := s.challenges()
	tables = append(tables, s.challengeTable(cases), s.overlap(cases), s.features(r, cases), s.questions(r, cases),
		s.defensible(cases))
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
	s.wrong[c.fragment.ID] += indicator(c.Outcome == outcomeFail)
	switch {
	case s.b.isMain(c.arm):
		s.by[c.arm.condition]++
		if x := s.b.failed(c); x != nil {
			s.failures = append(s.failures, x)
		}
		if x := s.b.single(c); x != nil && s.b.tasks.single != "" {
			s.singles = append(s.singles, x)
		}
	case c.Outcome == outcomeFail && c.arm.Settings != nil:
		at := c.fragment.ID + "/" + c.arm.condition
		s.others[at] = append(s.others[at], c.arm.Settings.ID)
	}
}

// order sorts the failures, and adds the other models that fail where the main one does.
func (s *synthesis) order() {
	slices.SortStableFunc(s.failures, func(x, y *failure) int {
		return cmp.Or(strings.Compare(x.fragment.ID, y.fragment.ID), strings.Compare(x.condition, y.condition))
	})
	for _, x := range s.failures {
		x.others = slices.Sorted(slices.Values(s.others[x.fragment.ID+"/"+x.condition]))
		if x.coding != nil {
			s.coded = append(s.coded, x)
		}
	}
}

// counts are how many failures of a list there are under a condition, in all, by kind, and
// coded; and the uses of each code.
func countsOf(list []*failure, condition string) (n, uses map[string]int) {
	n, uses = map[string]int{}, map[string]int{}
	for _, x := range list {
		if x.condition != condition {
			continue
		}
		n["all"]++
		n[x.kind]++
		if x.coding != nil {
			n["coded"]++
			for _, c := range x.coding.codes {
				uses[c]++
			}
		}
	}
	return n, uses
}

// types counts failures by condition and type.
func (s *synthesis) types() *eval.Table {
	t := tableOf("fragment_failures", "{model}", s.b.main)
	for _, c := range s.b.conditions {
		n, _ := countsOf(s.failures, c)
		t.Add(c, s.by[c], n["all"], n[failureType1], n[failureType2], n[failureType3], n["coded"])
	}
	return t
}

// single has the failed runs of fragments that pass, with their codes.
func (s *synthesis) single() *eval.Table {
	t := tableOf("single_failures", "{model}", s.b.main)
	for _, c := range s.b.conditions {
		n, uses := countsOf(s.singles, c)
		t.Add(c, s.by[c], n["all"], n["coded"], numbered(slices.Sorted(maps.Keys(uses)), uses))
	}
	return t
}

// numbered lists names with their numbers, as in F4.1 (2), F2.2 (1).
func numbered(names []string, n map[string]int) string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = fmt.Sprintf("%s (%d)", name, n[name])
	}
	return strings.Join(list, ", ")
}

// names lists the codes that were used, those of the checklist first.
func (s *synthesis) names() []string {
	used := map[string]bool{}
	for _, x := range s.coded {
		for _, c := range x.coding.codes {
			used[c] = true
		}
	}
	last := len(s.b.domains) + 1 // emergent ones, which have the domain 0
	return slices.SortedFunc(maps.Keys(used), func(x, y string) int {
		order := cmp.Compare((s.b.domainOf(x)+last-1)%last, (s.b.domainOf(y)+last-1)%last)
		return cmp.Or(order, strings.Compare(x, y))
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

func has(name string) func(*failure) bool {
	return func(x *failure) bool { return slices.Contains(x.coding.codes, name) }
}

func isPrimary(name string) func(*failure) bool {
	return func(x *failure) bool { return x.coding.codes[0] == name }
}

func (s *synthesis) inDomain(domain int) func(*failure) bool {
	return func(x *failure) bool {
		return slices.ContainsFunc(x.coding.codes, func(c string) bool { return s.b.domainOf(c) == domain })
	}
}

func anyFailure(*failure) bool { return true }

// shares are those of the coded failures of each condition.
func (s *synthesis) shares(by map[string]int) (cells []eval.Cell) {
	_, all := s.count(anyFailure)
	for _, c := range s.b.conditions {
		cells = append(cells, eval.ShareOf(by[c], all[c]))
	}
	return cells
}

func (s *synthesis) codes() *eval.Table {
	t := tableOf("failure_codes", "{failures}", text.Plural(len(s.coded), "failure is", "failures are"))
	t.Columns = append(t.Columns, s.b.conditions...)
	names, meanings := s.b.codes()
	for _, name := range s.names() {
		n, by := s.count(has(name))
		primary, _ := s.count(isPrimary(name))
		meaning := "emergent: appendix D.2 has its definition"
		if i := slices.Index(names, name); i >= 0 {
			meaning = meanings[i]
		}
		t.Add(name, meaning, primary, n, eval.ShareOf(n, len(s.coded)), s.shares(by))
	}
	return t
}

// domains has the failures with a code of each domain. The test of conditions is of the
// first two.
func (s *synthesis) domains(r eval.Results) *eval.Table {
	t := tableOf("failure_domains", "{uncoded}", s.uncoded())
	t.Columns = append(t.Columns, s.b.conditions...)
	_, all := s.count(anyFailure)
	var tables [][2][2]int
	for i, d := range s.b.domains {
		n, by := s.count(s.inDomain(i + 1))
		t.Add(d.Name, n, eval.ShareOf(n, len(s.failures)), s.mostCommon(i+1), s.shares(by))
		if len(s.b.conditions) == 2 {
			var table [2][2]int
			for k, c := range s.b.conditions {
				table[k] = [2]int{by[c], all[c] - by[c]}
			}
			tables = append(tables, table)
		}
	}
	if list := associate(r, tables); list != nil {
		t.Columns = append(t.Columns, "exact p, conditions", "Holm")
		for i, a := range list {
			t.Rows[i] = append(t.Rows[i], eval.P(a.P), eval.P(a.Adjusted))
		}
		t.Note += " Exact test of the share of coded failures with the domain between the conditions." +
			" The failures of a fragment under both conditions are not independent."
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
		return fmt.Sprintf(" %s no codes yet: shares of all failures are at least what is shown.",
			text.Plural(n, "failure has", "failures have"))
	}
	return ""
}

// mostCommon returns the most frequent codes of a domain with their number.
func (s *synthesis) mostCommon(domain int) string {
	most, with := 0, map[int][]string{}
	for _, name := range s.names() {
		if s.b.domainOf(name) == domain {
			n, _ := s.count(has(name))
			most, with[n] = max(most, n), append(with[n], name)
		}
	}
	if most == 0 {
		return "–"
	}
	return fmt.Sprintf("%s (%d)", strings.Join(with[most], ", "), most)
}

// pairs has how often two codes occur together.
func (s *synthesis) pairs(r eval.Results) *eval.Table {
	t := tableOf("failure_co_occurrence")
	names := s.names()
	var tables [][2][2]int
	var of [][2]string
	for i, x := range names {
		for _, y := range names[i+1:] {
			tables, of = append(tables, s.cross(has(x), has(y))), append(of, [2]string{x, y})
		}
	}
	for i, a := range associate(r, tables) {
		if n := tables[i]; n[0][0] > 0 {
			t.Add(of[i][0], of[i][1], n[0][0], n[0][1], n[1][0], n[1][1], eval.Ratio(a.Lift), eval.P(a.P), eval.P(a.Adjusted))
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}

// cross counts the coded failures by two properties.
func (s *synthesis) cross(x, y func(*failure) bool) (n [2][2]int) {
	for _, f := range s.coded {
		n[indicator(!x(f))][indicator(!y(f))]++
	}
	return n
}

// origin compares codes of the checklist with emergent ones.
func (s *synthesis) origin() *eval.Table {
	t := tableOf("failure_origin")
	for _, origin := range []string{"deductive", "inductive"} {
		primary, uses, different := 0, 0, map[string]bool{}
		for _, x := range s.coded {
			for i, c := range x.coding.codes {
				if s.b.codeType(c) == origin {
					primary, uses, different[c] = primary+indicator(i == 0), uses+1, true
				}
			}
		}
		t.Add(origin, primary, eval.ShareOf(primary, len(s.coded)), uses, len(different))
	}
	return t
}

// signature is what is typical of the failures, in a few lines.
func (s *synthesis) signature() *eval.Table {
	t := tableOf("failure_signature", "{model}", s.b.main)
	domains, codes, sequences := map[string]int{}, map[string]int{}, map[string]int{}
	for _, x := range s.coded {
		primary := x.coding.codes[0]
		codes[primary]++
		if d := s.b.domainOf(primary); d > 0 {
			domains[s.b.domains[d-1].Name]++
		}
		if len(x.coding.codes) > 1 {
			sequences[strings.Join(x.coding.codes, " → ")]++
		}
	}
	top := func(what string, names []string, n map[string]int) {
		names = slices.DeleteFunc(names, func(name string) bool { return n[name] == 0 })
		slices.SortStableFunc(names, func(x, y string) int { return n[y] - n[x] })
		if len(names) > 0 {
			t.Add(what, numbered(names[:min(3, len(names))], n))
		}
	}
	top("domains of primary codes", s.b.domainNames(), domains)
	top("primary codes", s.names(), codes)
	top("sequences of codes", slices.Sorted(maps.Keys(sequences)), sequences)
	for _, c := range s.b.conditions {
		n, _ := countsOf(s.failures, c)
		share := eval.ShareOf(n["all"], s.by[c])
		t.Add("failed under "+c, eval.Textf("%d of %d fragments, %s", n["all"], s.by[c], share))
	}
	return t
}
