package soundness

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/kit"
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
	primary := map[string]int{}
	for _, x := range s.coded {
		primary[x.coding.codes[0]]++
	}
	for _, x := range s.failures {
		c := challenge{failure: x, systematic: len(x.others) >= otherModels}
		if x.coding != nil {
			if code := x.coding.codes[0]; 100*primary[code] >= frequentShare*len(s.failures) {
				c.recurring = code
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

func (s *synthesis) challengeTable(list []challenge) *eval.Table {
	t := &eval.Table{Name: "challenge_cases", Title: "Challenge cases", Columns: []string{"fragment", "condition", "by criterion", "other models that fail", "addresses", "paragraphs", "words", "boundary case", "codes"},
		Note: fmt.Sprintf("Criterion 1: %s and at least %d other models fail under the same condition. Criterion 2: the primary code has at least %d %% of all failures.%s", s.b.main, otherModels, frequentShare, s.uncoded())}
	for _, c := range list {
		codes := "not coded"
		if c.coding != nil {
			codes = strings.Join(c.coding.codes, ", ")
		}
		f := c.fragment
		t.Row(eval.Text(f.ID), eval.Text(c.condition), eval.Text(c.criteria()), eval.Textf("%d: %s", len(c.others), strings.Join(c.others, ", ")), eval.Text(f.Criterion),
			eval.Count(f.Paragraphs), eval.Count(len(strings.Fields(f.Text))), eval.Text(boolean(f.Gold.Boundary)), eval.Text(codes))
	}
	return t
}

// overlap compares the cases of the two criteria.
func (s *synthesis) overlap(list []challenge) *eval.Table {
	first, second, both := 0, 0, 0
	for _, c := range list {
		first += index(c.systematic)
		second += index(c.recurring != "")
		both += index(c.systematic && c.recurring != "")
	}
	row := []eval.Cell{eval.Count(first), eval.Count(second), eval.Count(both), eval.Count(len(list)), eval.Missing(eval.KindRatio, "")}
	switch none := eval.Missing(eval.KindCount, ""); {
	case len(s.coded) == 0 && len(s.failures) > 0:
		row = []eval.Cell{eval.Count(first), eval.Missing(eval.KindCount, "not coded"), none, none, row[4]}
	case len(list) > 0:
		row[4] = eval.Ratio(eval.Number(both) / eval.Number(len(list)))
	}
	return &eval.Table{Name: "challenge_overlap", Title: "Overlap of the criteria", Columns: []string{"criterion 1", "criterion 2", "both", "either", "Jaccard"},
		Rows: [][]eval.Cell{row},
		Note: "Much overlap: the cases are hard for models in general. Little: disagreement of the panel and recurring weaknesses are different things."}
}

// features compares challenge fragments with the others by what they address.
func (s *synthesis) features(r eval.Results, list []challenge) *eval.Table {
	isChallenge := map[string]bool{}
	for _, c := range list {
		isChallenge[c.fragment.ID] = true
	}
	var criteria []string
	for i := range s.b.Data {
		if c := s.b.Data[i].Criterion; c != "" && !slices.Contains(criteria, c) {
			criteria = append(criteria, c)
		}
	}
	slices.Sort(criteria)
	if len(criteria) < 2 || len(list) == 0 {
		return nil
	}
	t := &eval.Table{Name: "challenge_features", Title: "Challenge fragments by what they address", Columns: []string{"addresses", "fragments", "challenge fragments", "share", "exact p", "Holm"},
		Note: "Fisher's exact test of each against all others."}
	var tables [][2][2]int
	for _, c := range criteria {
		tables = append(tables, s.table(isChallenge, func(f *Fragment) bool { return f.Criterion == c }))
	}
	for i, a := range associate(r, tables) {
		n := tables[i][0]
		t.Row(eval.Text(criteria[i]), eval.Count(n[0]+n[1]), eval.Count(n[0]), eval.ShareOf(n[0], n[0]+n[1]), eval.P(a.P), eval.P(a.Adjusted))
	}
	return t
}

// table counts fragments with an outcome: rows are those that a function selects and the
// others, columns challenge fragments and the others.
func (s *synthesis) table(isChallenge map[string]bool, is func(*Fragment) bool) (n [2][2]int) {
	for _, f := range s.b.Data {
		if s.decided[f.ID] == 0 {
			continue
		}
		n[index(!is(f))][index(!isChallenge[f.ID])]++
	}
	return n
}

func index(b bool) int { return int(kit.Indicator(b)) }

// questions answers those about construct validity that the study asks.
func (s *synthesis) questions(r eval.Results, list []challenge) *eval.Table {
	t := &eval.Table{Name: "validity_questions", Title: "Construct validity", Columns: []string{"question", "", "", "exact p"}}
	domain := func(name string) int {
		return 1 + slices.IndexFunc(s.b.domains, func(d Domain) bool { return d.Name == name })
	}
	add := func(question string, a, b eval.Cell, table [2][2]int, paired bool) {
		p := eval.Missing(eval.KindP, "")
		if list := associate(r, [][2][2]int{table}); list != nil && paired {
			p = eval.P(list[0].Paired)
		} else if list != nil {
			p = eval.P(list[0].P)
		}
		t.Row(eval.Text(question), a, b, p)
	}
	share := func(what string, n, of int) eval.Cell {
		return eval.Textf("%s: %d of %d (%s)", what, n, of, eval.ShareOf(n, of))
	}
	v, coded, note := s.b.validity, len(s.coded), ""
	if v.Harder != "" && coded > 0 {
		harder, easier := s.inDomain(domain(v.Harder)), s.inDomain(domain(v.Easier))
		var table [2][2]int
		for _, x := range s.coded {
			table[index(!harder(x))][index(!easier(x))]++
		}
		add("more failures in the first domain?", share(v.Harder, table[0][0]+table[0][1], coded), share(v.Easier, table[0][0]+table[1][0], coded), table, true)
	}
	if v.Tacit != "" && coded > 0 && len(s.b.conditions) == 2 {
		_, by := s.count(s.inDomain(domain(v.Tacit)))
		var table [2][2]int
		var cells [2]eval.Cell
		for k, c := range s.b.conditions {
			all := s.by[c]
			table[k], cells[k] = [2]int{by[c], all - by[c]}, share(c, by[c], all)
		}
		add("fewer failures in "+v.Tacit+" with worked examples?", cells[0], cells[1], table, false)
		if open := len(s.failures) - coded; open > 0 {
			note = fmt.Sprintf(" In the question about %s, %s without codes, which may be in that domain or not, as fragments without a failure in it.", v.Tacit, text.Plural(open, "failure counts", "failures count"))
		}
	}
	if len(v.Complex) > 0 {
		isChallenge := map[string]bool{}
		for _, c := range list {
			isChallenge[c.fragment.ID] = true
		}
		n := s.table(isChallenge, func(f *Fragment) bool { return slices.Contains(v.Complex, f.Criterion) })
		add("challenge cases among complex criteria?", share(strings.Join(v.Complex, ", "), n[0][0], n[0][0]+n[0][1]), share("others", n[1][0], n[1][0]+n[1][1]), n, false)
	}
	if len(t.Rows) == 0 {
		return nil
	}
	t.Note = "Exploratory, without correction. The first question has the exact McNemar test of the coded failures, the others Fisher's. Both take failures and fragments for independent; the failures of one fragment are not." + note
	return t
}

// defensible lists the fragments whose gold should be read again: challenge cases, and
// those on which most of the panel disagrees with the expert.
func (s *synthesis) defensible(list []challenge) *eval.Table {
	t := &eval.Table{Name: "gold_defensibility", Title: "Gold to read again", Columns: []string{"fragment", "expert", "boundary case", "combinations that fail", "challenge case", "the expert's note"},
		Note: "Challenge cases, and fragments on which at least half of the combinations of model and condition fail. The gold stays locked: this is reflection, not revision."}
	criteria := map[string][]string{}
	for _, c := range list {
		criteria[c.fragment.ID] = append(criteria[c.fragment.ID], c.criteria())
	}
	for _, f := range s.b.Data {
		if f.Gold == nil || criteria[f.ID] == nil && (s.decided[f.ID] == 0 || 2*s.wrong[f.ID] < s.decided[f.ID]) {
			continue
		}
		of := criteria[f.ID]
		slices.Sort(of)
		by := strings.Join(slices.Compact(of), "; ")
		if by == "" {
			by = "no"
		}
		t.Row(eval.Text(f.ID), eval.Text(s.b.labels[f.Gold.Label].Name), eval.Text(boolean(f.Gold.Boundary)), eval.CountOf(s.wrong[f.ID], s.decided[f.ID]), eval.Text(by), eval.Text(f.Gold.Notes))
	}
	return t
}
