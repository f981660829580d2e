package rerank

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/rerank/evidence"
	"github.com/scruple-eval/scruple/internal/suites/rerank/request"
)

// mostRivals is how many items that do not satisfy a request its truth table
// shows.
const mostRivals = 20

// Explain is the truth table of a request: gold, all items that satisfy it or
// may, and some that do not. With an item it is what was looked at and found
// there, condition by condition.
func (b *Bench) Explain(id, item string) (string, error) {
	i, ok := b.byID[id]
	if !ok {
		return "", fmt.Errorf("there is no request %q in this study", id)
	}
	r := &b.requests[i]
	var s strings.Builder
	fmt.Fprintf(&s, "%s  %s\n%s\n%s\n\n", r.ID, r.Group, r.Text, r.Shorthand)
	if item != "" {
		it := b.catalog.Item(item)
		if it == nil {
			return "", fmt.Errorf("there is no item %q in this study", item)
		}
		fmt.Fprintf(&s, "%s %s\n%s", it.ID, it.Name, b.evaluator.Explain(r.Structure, it))
		return s.String(), nil
	}
	b.truthTable(&s, r)
	return s.String(), nil
}

func (b *Bench) truthTable(s *strings.Builder, r *request.Request) {
	leaves := r.Structure.Leaves()
	for k, l := range leaves {
		fmt.Fprintf(s, "  %2d  %s\n", k+1, l.Aspect)
	}
	rows := b.evaluator.Table(r.Structure, b.catalog.Items)
	fmt.Fprintf(s, "\n%-24s %-28s", "item", "")
	for k := range leaves {
		fmt.Fprintf(s, " %2d", k+1)
	}
	s.WriteString("  all\n")
	false0 := 0
	for _, pass := range []evidence.Truth{evidence.True, evidence.Unknown, evidence.False} {
		for i, row := range rows {
			if row.Truth != pass {
				continue
			}
			if pass == evidence.False {
				if false0++; false0 > mostRivals {
					continue
				}
			}
			it := b.catalog.Items[i]
			name := it.Name
			if it.ID == r.Gold {
				name += " (gold)"
			}
			fmt.Fprintf(s, "%-24s %-28s", cut(it.ID, 24), cut(name, 28))
			for _, t := range row.Conditions {
				fmt.Fprintf(s, "  %s", evidence.Mark(t))
			}
			fmt.Fprintf(s, "    %s\n", evidence.Mark(row.Truth))
		}
	}
	if more := false0 - mostRivals; more > 0 {
		fmt.Fprintf(s, "and %d more that do not satisfy it\n", more)
	}
	s.WriteString("\n+ true, - false, ? unknown\n")
}

func cut(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}

// Ranking is a trial's ranking as ids, and the id of gold; false where there is
// no prediction.
func (b *Bench) Ranking(t eval.Trial, o eval.Outcome) (ids []string, gold string, ok bool) {
	_, r, err := b.find(t)
	if err != nil {
		return nil, "", false
	}
	rec, found := read(&o)
	if !found || o.Kind != eval.OK {
		return nil, r.Gold, false
	}
	for _, place := range rec.Ranking {
		if place < 1 || place > len(rec.Candidates) {
			return nil, r.Gold, false
		}
		ids = append(ids, rec.Candidates[place-1])
	}
	return ids, r.Gold, true
}

// Warnings are what the data have that may be meant, and how many rivals of
// gold cannot be told apart from it.
func (b *Bench) Warnings() []string {
	list := slices.Clone(b.warnings)
	if b.rivals > 0 {
		list = append(list, fmt.Sprintf("of %d pairs of request and item it cannot be told whether the item satisfies the request: they count as wrong", b.rivals))
	}
	return list
}

// A Placement is how a trial ended, in places from 1.
type Placement struct {
	Gold       int    // where gold stood among the candidates
	Prediction int    // what was ranked first; 0 for no prediction
	Rank       int    // of gold; N+1 where it was not ranked
	N          int    // candidates
	Trace      string // what the method did
}

// Placement reads how a trial ended.
func (b *Bench) Placement(_ eval.Trial, o eval.Outcome) (Placement, bool) {
	rec, ok := read(&o)
	if !ok {
		return Placement{}, false
	}
	p := Placement{Gold: rec.Gold, N: len(rec.Candidates), Rank: len(rec.Candidates) + 1, Trace: traceText(&rec)}
	if o.Kind == eval.OK && len(rec.Ranking) > 0 {
		p.Prediction = rec.Ranking[0]
		if at := rec.place(); at > 0 {
			p.Rank = at
		}
	}
	return p, true
}

// DataHash is that of the files of items, reviews and people.
func (b *Bench) DataHash() string { return b.catalog.Hash }
