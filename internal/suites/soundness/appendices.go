package soundness

import (
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

//go:embed appendices.json
var appendicesJSON []byte

// appendices are those of the design, by name.
func appendices() (list []kit.Appendix) {
	list = kit.Embedded[[]kit.Appendix](appendicesJSON)
	parts := map[string]func(*synthesis) []kit.Part{"D.1": (*synthesis).codeBook, "D.2": (*synthesis).emergentCodes, "D.3": (*synthesis).memos,
		"H.4": (*synthesis).annotated, "H.5": (*synthesis).reflected}
	for i := range list {
		a := &list[i]
		switch {
		case parts[a.Name] != nil:
			a.Fill = filled(parts[a.Name])
		case a.From == kit.FromPrompts:
			a.Arms = func(b kit.Bench) []string { return b.(*bench).prompted(a.Name == "C") }
		case a.Name == "":
			a.Fill = func(b kit.Bench, _ kit.Kept) ([]kit.Part, error) { return []kit.Part{{Table: b.(*bench).scope()}}, nil }
		}
	}
	return list
}

// filled makes parts from the failures of a run; there are none before it is scored.
func filled(parts func(*synthesis) []kit.Part) func(kit.Bench, kit.Kept) ([]kit.Part, error) {
	return func(of kit.Bench, k kit.Kept) ([]kit.Part, error) {
		b := of.(*bench)
		s := newSynthesis(b)
		if k != nil {
			cells, err := b.cells(k)
			if err != nil {
				return nil, err
			}
			for _, c := range cells {
				s.add(c)
			}
			s.order()
		}
		return parts(s), nil
	}
}

// prompted lists the arms whose prompt has worked examples, or has none.
func (b *bench) prompted(examples bool) (ids []string) {
	for _, a := range b.OwnArms {
		if a.prompt != nil && (a.prompt == &b.worked) == examples {
			ids = append(ids, a.ID)
		}
	}
	return ids
}

// codeBook has each code of the checklist, what it means, how often it was used, and the
// first failure with it.
func (s *synthesis) codeBook() (parts []kit.Part) {
	for i, d := range s.b.domains {
		for j, c := range d.Checkpoints {
			means := cmp.Or(c.Failure, c.Text)
			part := s.codePart(code(i, j), "domain", d.Name, "checkpoint", c.Text, "definition", means)
			part.Ask = "Rule: when the code applies, and when another one does (" + text.Shorten(means, 80) +
				"). If no failure has the code, an example of your own."
			parts = append(parts, part)
		}
	}
	return parts
}

// codePart has a code with facts, how often it was used, and an example.
func (s *synthesis) codePart(name string, facts ...any) kit.Part {
	uses, _ := s.count(has(name))
	return kit.Part{Heading: name, Table: factsTable(append(facts, "failures with it", uses)...), Texts: s.exampleOf(name)}
}

// factsTable is a table of names with their values.
func factsTable(facts ...any) *eval.Table {
	t := &eval.Table{Columns: []string{"", ""}}
	for fact := range slices.Chunk(facts, 2) {
		t.Add(fact...)
	}
	return t
}

// exampleOf is the first coded failure with a code, the primary one if there is any.
func (s *synthesis) exampleOf(name string) []eval.Passage {
	for _, is := range []func(*failure) bool{isPrimary(name), has(name)} {
		if i := slices.IndexFunc(s.coded, is); i >= 0 {
			return s.b.passages(s.coded[i])
		}
	}
	return nil
}

// emergentCodes has each code that people added, with an example.
func (s *synthesis) emergentCodes() (parts []kit.Part) {
	for _, name := range s.names() {
		if s.b.domainOf(name) == 0 {
			part := s.codePart(name)
			part.Ask = "Definition: what the code means, when it applies, and why no code of the checklist does."
			parts = append(parts, part)
		}
	}
	return parts
}

// memos has what people wrote of each coding.
func (s *synthesis) memos() (parts []kit.Part) {
	for _, of := range []struct {
		title string
		list  []*failure
	}{{"Codings", s.coded}, {"Exploratory codings of single failures", s.singles}} {
		t := &eval.Table{Title: of.title, Columns: []string{"fragment", "condition", "run", "codes", "by", "date", "justification", "memo"}}
		for _, x := range of.list {
			if c := x.coding; c != nil {
				day, _, _ := strings.Cut(c.at, "T")
				t.Add(x.fragment.ID, x.condition, c.run, strings.Join(c.codes, ", "), c.by, day, c.justification, c.memo)
			}
		}
		if len(t.Rows) > 0 {
			parts = append(parts, kit.Part{Table: t})
		}
	}
	return parts
}

// examplesOf is how many annotated examples there are of each criterion of challenge cases.
const examplesOf = 2

// annotated has examples of challenge cases: of the first criterion those on which most
// other models fail, of the second the first of each code.
func (s *synthesis) annotated() (parts []kit.Part) {
	cases := s.challenges()
	slices.SortStableFunc(cases, func(x, y challenge) int { return cmp.Compare(len(y.others), len(x.others)) })
	of := map[string]int{}
	for _, c := range cases {
		criteria := []string{c.recurring}
		if c.systematic {
			criteria = append(criteria, "systematic")
		}
		wanted := slices.ContainsFunc(criteria, func(k string) bool { return k != "" && of[k] < examplesOf })
		if !wanted {
			continue
		}
		for _, k := range criteria {
			of[k]++
		}
		facts := []any{"by criterion", c.criteria(), "other models that fail", strings.Join(c.others, ", ")}
		if c.coding != nil {
			facts = append(facts, "codes", strings.Join(c.coding.codes, ", "))
		}
		parts = append(parts, kit.Part{Heading: c.fragment.ID + ", " + c.condition, Table: factsTable(facts...),
			Texts: s.b.passages(c.failure),
			Ask:   "What makes the case hard: its content and structure, and whether models lack something or the fragment is ambiguous."})
	}
	return parts
}

// passages are the fragment, the expert's judgement and the representative answer of a
// failure, with the reason of its codes.
func (b *bench) passages(x *failure) []eval.Passage {
	g := x.fragment.Gold
	list := []eval.Passage{{Name: "Fragment " + x.fragment.ID, Text: x.fragment.Text}, {Name: "The expert: " + b.labels[g.Label].Name, Text: g.Rationale}}
	for _, a := range x.runs {
		run := fmt.Sprint(a.Trial.Replicate)
		if a.Failed || x.coding != nil && run != x.coding.run || x.coding == nil && a.Pass {
			continue
		}
		name := fmt.Sprintf("%s, %s, run %s: %s", x.arm.family(), x.condition, run, b.nameOf(a.Label, "no label"))
		list = append(list, eval.Passage{Name: name, Text: a.Rationale})
		break
	}
	if x.coding != nil {
		list = append(list, eval.Passage{Name: "Coded " + strings.Join(x.coding.codes, ", "), Text: x.coding.justification})
	}
	return list
}

// reflected has the fragments whose gold should be read again.
func (s *synthesis) reflected() (parts []kit.Part) {
	if len(s.by) == 0 {
		return nil
	}
	for _, row := range s.defensible(s.challenges()).Rows {
		f := s.b.Datum(row[0].Text)
		parts = append(parts, kit.Part{Heading: f.ID, Texts: []eval.Passage{{Name: "Fragment", Text: f.Text}, {Name: "The expert: " + row[1].Text, Text: f.Gold.Rationale}},
			Ask: fmt.Sprintf("Is the judgement %s still defensible? %v of %d combinations of model and condition fail.", row[1].Text, row[3].Value, row[3].Of)})
	}
	return parts
}

// scope counts what the limitations are about.
func (b *bench) scope() *eval.Table {
	reports, criteria, boundary := map[string]bool{}, map[string]int{}, 0
	for _, f := range b.Data {
		reports[f.Report] = true
		criteria[f.Criterion]++
		boundary += indicator(f.Gold != nil && f.Gold.Boundary)
	}
	delete(reports, "")
	delete(criteria, "")
	facts := []any{"fragments", len(b.Data), "reports", len(reports)}
	for _, name := range slices.Sorted(maps.Keys(criteria)) {
		facts = append(facts, "fragments about "+name, criteria[name])
	}
	t := factsTable(append(facts, "boundary cases of the expert", boundary, "worked examples", len(b.examples),
		"conditions", strings.Join(b.conditions, ", "), "models", strings.Join(b.models, ", "),
		"model whose failures are coded", cmp.Or(b.main, "none"))...)
	t.Title = "What the study has"
	return t
}
