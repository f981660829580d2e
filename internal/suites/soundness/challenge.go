package soundness

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/text"
)

// A challenge is a failure of the main model with the criteria that make it a challenge
// case.
type challenge struct {
	*failure
	systematic bool   // other models fail too
	recurring  string // its primary code, if it is frequent
}

// What makes a failure a challenge case.
const (
	otherModels   = 2  // criterion 1: at least so many other models fail
	frequentShare = 10 // criterion 2: a primary code with at least so many per cent of all failures
)

func (s *synthesis) challenges() (list []challenge) {
	for _, x := range s.failures {
		c := challenge{failure: x, systematic: len(x.others) >= otherModels}
		if x.coding != nil {
			primary := x.coding.codes[0]
			if n, _ := s.count(isPrimary(primary)); 100*n >= frequentShare*len(s.failures) {
				c.recurring = primary
			}
		}
		if c.systematic || c.recurring != "" {
			list = append(list, c)
		}
	}
	return list
}

func (c challenge) criteria() string {
	switch {
	case c.systematic && c.recurring != "":
		return "1 and 2"
	case c.systematic:
		return "1"
	}
	return "2"
}

// criteriaOf are the criteria of each fragment with a challenge case.
func criteriaOf(list []challenge) map[string][]string {
	of := map[string][]string{}
	for _, c := range list {
		of[c.fragment.ID] = append(of[c.fragment.ID], c.criteria())
	}
	return of
}

func (s *synthesis) challengeTable(list []challenge) *eval.Table {
	t := tableOf("challenge_cases", "{model}", s.b.main, "{others}", strconv.Itoa(otherModels),
		"{share}", strconv.Itoa(frequentShare), "{uncoded}", s.uncoded())
	for _, c := range list {
		codes, f := "not coded", c.fragment
		if c.coding != nil {
			codes = strings.Join(c.coding.codes, ", ")
		}
		t.Add(f.ID, c.condition, c.criteria(), eval.Textf("%d: %s", len(c.others), strings.Join(c.others, ", ")), f.Criterion,
			f.Paragraphs, len(strings.Fields(f.Text)), boolean(f.Gold.Boundary), codes)
	}
	return t
}

// overlap compares the cases of the two criteria.
func (s *synthesis) overlap(list []challenge) *eval.Table {
	t := tableOf("challenge_overlap")
	first, second, both := 0, 0, 0
	for _, c := range list {
		first += indicator(c.systematic)
		second += indicator(c.recurring != "")
		both += indicator(c.systematic && c.recurring != "")
	}
	jaccard := eval.Missing(eval.KindRatio, "")
	if len(s.coded) == 0 && len(s.failures) > 0 {
		none := eval.Missing(eval.KindCount, "")
		t.Add(first, eval.Missing(eval.KindCount, "not coded"), none, none, jaccard)
		return t
	}
	if len(list) > 0 {
		jaccard = eval.Ratio(eval.Number(both) / eval.Number(len(list)))
	}
	t.Add(first, second, both, len(list), jaccard)
	return t
}

// features compares challenge fragments with the others by what they address.
func (s *synthesis) features(r eval.Results, list []challenge) *eval.Table {
	var criteria []string
	for _, f := range s.b.Data {
		if f.Criterion != "" {
			criteria = append(criteria, f.Criterion)
		}
	}
	slices.Sort(criteria)
	criteria = slices.Compact(criteria)
	if len(criteria) < 2 || len(list) == 0 {
		return nil
	}
	t := tableOf("challenge_features")
	var tables [][2][2]int
	for _, c := range criteria {
		tables = append(tables, s.table(list, func(f *Fragment) bool { return f.Criterion == c }))
	}
	for i, a := range associate(r, tables) {
		n := tables[i][0]
		t.Add(criteria[i], n[0]+n[1], n[0], eval.ShareOf(n[0], n[0]+n[1]), eval.P(a.P), eval.P(a.Adjusted))
	}
	return t
}

// table counts fragments with an outcome: rows are those that a function selects and the
// others, columns challenge fragments and the others.
func (s *synthesis) table(list []challenge, is func(*Fragment) bool) (n [2][2]int) {
	criteria := criteriaOf(list)
	for _, f := range s.b.Data {
		if s.decided[f.ID] > 0 {
			n[indicator(!is(f))][indicator(criteria[f.ID] == nil)]++
		}
	}
	return n
}

// questions answers those about construct validity that the study asks.
func (s *synthesis) questions(r eval.Results, list []challenge) *eval.Table {
	t := tableOf("validity_questions")
	in := func(name string) func(*failure) bool { return s.inDomain(1 + slices.Index(s.b.domainNames(), name)) }
	add := func(question string, a, b eval.Cell, table [2][2]int, p func(eval.Association) eval.Number) {
		cell := eval.Missing(eval.KindP, "")
		if list := associate(r, [][2][2]int{table}); list != nil {
			cell = eval.P(p(list[0]))
		}
		t.Add(question, a, b, cell)
	}
	fisher := func(a eval.Association) eval.Number { return a.P }
	share := func(what string, n, of int) eval.Cell {
		return eval.Textf("%s: %d of %d (%s)", what, n, of, eval.ShareOf(n, of))
	}
	v, coded, note := s.b.validity, len(s.coded), ""
	if v.Harder != "" && coded > 0 {
		n := s.cross(in(v.Harder), in(v.Easier))
		add("more failures in the first domain?", share(v.Harder, n[0][0]+n[0][1], coded),
			share(v.Easier, n[0][0]+n[1][0], coded), n, func(a eval.Association) eval.Number { return a.Paired })
	}
	if v.Tacit != "" && coded > 0 && len(s.b.conditions) == 2 {
		_, by := s.count(in(v.Tacit))
		var table [2][2]int
		var cells [2]eval.Cell
		for k, c := range s.b.conditions {
			table[k], cells[k] = [2]int{by[c], s.by[c] - by[c]}, share(c, by[c], s.by[c])
		}
		add("fewer failures in "+v.Tacit+" with worked examples?", cells[0], cells[1], table, fisher)
		if open := len(s.failures) - coded; open > 0 {
			note = fmt.Sprintf(" In the question about %s, %s without codes, which may be in that domain or not,"+
				" as fragments without a failure in it.", v.Tacit, text.Plural(open, "failure counts", "failures count"))
		}
	}
	if len(v.Complex) > 0 {
		n := s.table(list, func(f *Fragment) bool { return slices.Contains(v.Complex, f.Criterion) })
		add("challenge cases among complex criteria?", share(strings.Join(v.Complex, ", "), n[0][0], n[0][0]+n[0][1]),
			share("others", n[1][0], n[1][0]+n[1][1]), n, fisher)
	}
	if len(t.Rows) == 0 {
		return nil
	}
	t.Note += note
	return t
}

// defensible lists the fragments whose gold should be read again: challenge cases, and
// those on which most of the panel disagrees with the expert.
func (s *synthesis) defensible(list []challenge) *eval.Table {
	t := tableOf("gold_defensibility")
	criteria := criteriaOf(list)
	for _, f := range s.b.Data {
		of, wrong, decided := criteria[f.ID], s.wrong[f.ID], s.decided[f.ID]
		if f.Gold == nil || of == nil && (decided == 0 || 2*wrong < decided) {
			continue
		}
		if of == nil {
			of = []string{"no"}
		}
		slices.Sort(of)
		t.Add(f.ID, s.b.labels[f.Gold.Label].Name, boolean(f.Gold.Boundary), eval.CountOf(wrong, decided),
			strings.Join(slices.Compact(of), "; "), f.Gold.Notes)
	}
	return t
}
