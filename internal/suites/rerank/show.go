package rerank

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
	"github.com/scruple-eval/scruple/internal/suites/rerank/evidence"
	"github.com/scruple-eval/scruple/internal/suites/rerank/request"
	"github.com/scruple-eval/scruple/internal/text"
)

// mostRivals limits the items that do not satisfy the request in the text of a
// truth table.
const mostRivals = 20

// An Asked is the head of an explanation: the request.
type Asked struct {
	Request   string `json:"request"`
	Group     string `json:"group"`
	Text      string `json:"text"`
	Shorthand string `json:"shorthand"`
	Gold      string `json:"gold"`
	// Right holds all right items with their grades, if there are several.
	Right []request.Graded `json:"right,omitempty"`
}

func (a Asked) String() string {
	return fmt.Sprintf("%s  %s\n%s\n%s\n", a.Request, a.Group, a.Text, a.Shorthand)
}

// A TruthTable has the truth of each condition for every item.
type TruthTable struct {
	Asked
	Conditions []string       `json:"conditions"` // from left to right
	Items      []evidence.Row `json:"items"`      // true first, then unknown, then false
}

// An ItemTruth explains the truth of a request for one item.
type ItemTruth struct {
	Asked
	Item  string                `json:"item"`
	Name  string                `json:"name"`
	Truth *evidence.Explanation `json:"truth"`
}

func (x ItemTruth) String() string {
	return fmt.Sprintf("%v\n%s %s\n%v", x.Asked, x.Item, x.Name, x.Truth)
}

// Explain returns the [TruthTable] of a request, or the [ItemTruth] of an item.
// It works with invalid data, to show why validation rejects a request.
func Explain(f *study.File, s *Study, id, item string) (fmt.Stringer, error) {
	d, err := readData(f, s.Data)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(d.requests, func(r request.Request) bool { return r.ID == id })
	if i < 0 {
		return nil, study.Errors(append(d.faults, fmt.Errorf("no valid request %q in %s", id, f.Resolve(s.Data.Requests)))).Err()
	}
	r, evaluator := &d.requests[i], evidence.New(d.catalog.Graph)
	asked := Asked{Request: r.ID, Group: r.Group, Text: r.Text, Shorthand: r.Shorthand, Gold: r.Gold, Right: r.Right}
	if item == "" {
		return truthTable(asked, r.Structure, evaluator, d.catalog.Items), nil
	}
	it := d.catalog.Item(item)
	if it == nil {
		return nil, fmt.Errorf("no valid item %q in %s", item, f.Resolve(s.Data.Items))
	}
	return ItemTruth{asked, it.ID, it.Name, evaluator.Explain(r.Structure, it)}, nil
}

func truthTable(asked Asked, structure *request.Node, evaluator *evidence.Evaluator, items []*catalog.Item) TruthTable {
	t := TruthTable{Asked: asked}
	for _, leaf := range structure.Leaves() {
		t.Conditions = append(t.Conditions, leaf.Title())
	}
	t.Items = evaluator.Table(structure, items)
	slices.SortStableFunc(t.Items, func(a, b evidence.Row) int { return int(b.Truth - a.Truth) })
	return t
}

// String formats the table. It shows the first mostRivals items that do not
// satisfy the request and counts the rest.
func (t TruthTable) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%v\n", t.Asked)
	for k, c := range t.Conditions {
		fmt.Fprintf(&s, "  %2d  %s\n", k+1, c)
	}
	fmt.Fprintf(&s, "\n%-24s %-28s", "item", "")
	for k := range t.Conditions {
		fmt.Fprintf(&s, " %2d", k+1)
	}
	s.WriteString("  all\n")
	rivals := 0
	for _, row := range t.Items {
		if row.Truth == evidence.False {
			if rivals++; rivals > mostRivals {
				continue
			}
		}
		fmt.Fprintf(&s, "%-24s %-28s", text.Shorten(row.Item, 24), text.Shorten(row.Name, 28))
		for _, c := range row.Conditions {
			fmt.Fprintf(&s, "  %s", evidence.Mark(c))
		}
		fmt.Fprintf(&s, "    %s", evidence.Mark(row.Truth))
		if row.Item == t.Gold || slices.ContainsFunc(t.Right, func(g request.Graded) bool { return g.ID == row.Item }) {
			s.WriteString("  (gold)")
		}
		s.WriteByte('\n')
	}
	if more := rivals - mostRivals; more > 0 {
		fmt.Fprintf(&s, "%d more false\n", more)
	}
	s.WriteString("\n+ true, - false, ? unknown\n")
	return s.String()
}

// Warnings are about data that look wrong but are legal, and about attacks that
// find nothing to change.
func (b *bench) Warnings() []string { return append(slices.Clone(b.warnings), b.idleAttacks()...) }

// idleAttacks has a line for every attack and size at which the attack finds
// nothing to change in some requests.
func (b *bench) idleAttacks() []string {
	var list []string
	seen := map[string]bool{}
	for _, a := range b.OwnArms {
		if a.attack == nil || seen[fmt.Sprint(a.attack.Name, a.size)] {
			continue
		}
		seen[fmt.Sprint(a.attack.Name, a.size)] = true
		finds := map[string]bool{}
		for _, item := range b.catalog.Items {
			reviews, _ := b.within(item)
			finds[item.ID] = a.attack.Finds(item, reviews)
		}
		idle := 0
		for i := range b.requests {
			r := &b.requests[i]
			if !slices.ContainsFunc(b.shown(r, a), func(id string) bool { return r.IsRight(id) == a.attack.Blames && finds[id] }) {
				idle++
			}
		}
		then := ": its arms will not be asked"
		if idle == 0 {
			continue
		} else if idle < len(b.requests) {
			then = fmt.Sprintf(" in %d of %s, which will not be asked again", idle, text.Plural(len(b.requests), "request", "requests"))
		}
		list = append(list, fmt.Sprintf("attack %s at %d candidates finds nothing to change%s", a.attack.Name, a.size, then))
	}
	return list
}

// Facts count requests by validation status, and rivals by request. For an
// unknown rival the data do not say whether it satisfies the request; it counts
// as wrong.
func (b *bench) Facts() []eval.Fact {
	var list []eval.Fact
	for _, status := range []string{evidence.OK, evidence.NoMatch, evidence.MultiMatch, evidence.GoldNotMatch} {
		list = append(list, eval.Fact{Name: "requests " + status, N: b.statuses[status]})
	}
	return append(list, eval.Fact{Name: "rivals", N: len(b.requests) * (len(b.catalog.Items) - 1)}, eval.Fact{Name: "unknown rivals", N: b.rivals})
}
