// Package graph compares graphs of atoms: it matches atoms, counts atoms and edges
// that are right, finds errors of one graph, and lays it out for drawing.
//
// The package must not know models, trials or judges.
package graph

import (
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/suites/atoms/okf"
	"github.com/scruple-eval/scruple/internal/suites/atoms/ontology"
)

// A Matching pairs gold atoms with predicted ones, one to one.
type Matching struct {
	Gold []int // predicted atom of each gold atom; -1 if there is none
	Pred []int // gold atom of each predicted atom
}

// Match pairs atoms with the same id first, then those with the same type and
// normalised title. No other one-to-one matching has more pairs by id or, with as many,
// more by title: where several atoms have one id, those whose titles are needed elsewhere
// stay free. Within an id, atoms of equal title pair first, then those of equal type.
func Match(gold, pred *okf.Base) Matching {
	m := Matching{none(len(gold.Atoms)), none(len(pred.Atoms))}
	ids := idsOf(gold, pred)
	for _, title := range spare(ids, gold, pred) {
		for i := range title.gold {
			m.pair(title.gold[i], title.pred[i])
		}
	}
	for _, alike := range []func(g, p *okf.Atom) bool{
		func(g, p *okf.Atom) bool { return titleKey(g) == titleKey(p) },
		func(g, p *okf.Atom) bool { return g.Type == p.Type },
		func(*okf.Atom, *okf.Atom) bool { return true },
	} {
		for _, id := range ids {
			for _, g := range id.gold {
				for _, p := range id.pred {
					if m.Gold[g] < 0 && m.Pred[p] < 0 && alike(&gold.Atoms[g], &pred.Atoms[p]) {
						m.pair(g, p)
					}
				}
			}
		}
	}
	return m
}

// none is a list of n places without a partner.
func none(n int) []int { return slices.Repeat([]int{-1}, n) }

func (m *Matching) pair(g, p int) { m.Gold[g], m.Pred[p] = p, g }

// A group is the atoms with one id, and a title those that are paired by one.
type group struct{ gold, pred []int }

type title struct {
	group
	node int // of the network
}

// idsOf groups the atoms by id, in order of appearance. An atom without an id is a
// group of its own.
func idsOf(gold, pred *okf.Base) (list []*group) {
	at := map[string]*group{}
	of := func(a *okf.Atom) *group {
		g := at[a.ID]
		if g == nil {
			g = new(group)
			list = append(list, g)
			if a.ID != "" {
				at[a.ID] = g
			}
		}
		return g
	}
	for i := range gold.Atoms {
		g := of(&gold.Atoms[i])
		g.gold = append(g.gold, i)
	}
	for i := range pred.Atoms {
		g := of(&pred.Atoms[i])
		g.pred = append(g.pred, i)
	}
	return list
}

// titleKey is the type and normalised title of an atom; "" if it has no title.
func titleKey(a *okf.Atom) string {
	if t := okf.Normal(a.Title); t != "" {
		return a.Type + "\x00" + t
	}
	return ""
}

// spare pairs as many atoms by title as can be without a pair by id less. An id with
// more atoms on one side than on the other can spare the difference, so this is a
// maximum flow from the ids that spare gold atoms, through titles, to the ids that spare
// predicted ones.
func spare(ids []*group, gold, pred *okf.Base) []*title {
	var net network
	source, sink := net.node(), net.node()
	var titles []*title
	byKey := map[string]*title{}
	type arc struct {
		edge, atom int
		paired     *[]int // the atoms of its title that are
	}
	var arcs []arc
	each := func(atoms []int, base *okf.Base, lead func(atom int, t *title)) {
		for _, i := range atoms {
			key := titleKey(&base.Atoms[i])
			if key == "" {
				continue
			}
			if byKey[key] == nil {
				byKey[key] = &title{node: net.node()}
				titles = append(titles, byKey[key])
			}
			lead(i, byKey[key])
		}
	}
	for _, id := range ids {
		switch n := len(id.gold) - len(id.pred); {
		case n > 0:
			node := net.node()
			net.edge(source, node, n)
			each(id.gold, gold, func(g int, t *title) { arcs = append(arcs, arc{net.edge(node, t.node, 1), g, &t.gold}) })
		case n < 0:
			node := net.node()
			net.edge(node, sink, -n)
			each(id.pred, pred, func(p int, t *title) { arcs = append(arcs, arc{net.edge(t.node, node, 1), p, &t.pred}) })
		}
	}
	net.fill(source, sink)
	for _, a := range arcs {
		if net.edges[a.edge].free == 0 {
			*a.paired = append(*a.paired, a.atom)
		}
	}
	return titles
}

// A network is a graph with capacities. Edge i^1 is the reverse of edge i.
type network struct {
	edges []struct{ to, free int }
	of    [][]int // edges of each node
}

func (n *network) node() int {
	n.of = append(n.of, nil)
	return len(n.of) - 1
}

func (n *network) edge(from, to, capacity int) int {
	i := len(n.edges)
	n.edges = append(n.edges, struct{ to, free int }{to, capacity}, struct{ to, free int }{from, 0})
	n.of[from], n.of[to] = append(n.of[from], i), append(n.of[to], i+1)
	return i
}

// fill makes the flow the largest possible, one unit after the other.
func (n *network) fill(source, sink int) {
	seen := make([]int, len(n.of)) // the last unit that came by each node
	for unit := 1; n.push(source, sink, unit, seen); unit++ {
	}
}

// push sends one unit along a path.
func (n *network) push(at, sink, unit int, seen []int) bool {
	seen[at] = unit
	for _, i := range n.of[at] {
		if e := n.edges[i]; e.free > 0 && seen[e.to] != unit && (e.to == sink || n.push(e.to, sink, unit, seen)) {
			n.edges[i].free--
			n.edges[i^1].free++
			return true
		}
	}
	return false
}

// Counts are what precision, recall and F1 need.
type Counts struct {
	Name            string // of the type or edge
	True            int
	Predicted, Gold int
}

// A Comparison is the counts of a predicted graph.
type Comparison struct {
	Atoms    []Counts // by type in the ontology's order; a pair counts for the type of gold
	Edges    []Counts // by edge
	Evidence Counts   // sentences given as evidence of right edges
	Matched  int
	Typed    int // matched atoms of the right type
	Links    []LinkState
	Missing  []MissingLink
}

// A LinkState is what became of a predicted edge: Atom and Link are its place.
type LinkState struct {
	Atom, Link int
	State      string
}

// A MissingLink is a gold edge that was not found.
type MissingLink struct{ Atom, Link int }

// The states of atoms and edges.
const (
	Found    = "found"
	Missing  = "missing"
	Spurious = "spurious"
	Retyped  = "wrong type"
	Broken   = "broken"
)

// edgeKey is an edge between gold atoms.
type edgeKey struct{ edge, from, to int }

// Compare counts the atoms and edges of a prediction that are right. Ends of edges
// are mapped through the matching. Edges of a set count once; those of an ordered
// edge by the longest common subsequence.
func Compare(gold, pred *okf.Base, m Matching) Comparison {
	o := gold.Ontology
	c := Comparison{Edges: make([]Counts, len(o.Edges))}
	c.atoms(gold, pred, m)
	edgeAt := map[string]int{}
	ordered := map[string]bool{}
	for i, e := range o.Edges {
		c.Edges[i].Name, edgeAt[e.Name], ordered[e.Name] = e.Name, i, e.Kind == ontology.Ordered
	}
	want, wanted := map[edgeKey]MissingLink{}, []edgeKey{} // by their place in gold, and in its order
	for g := range gold.Atoms {
		c.orderedPair(gold, pred, m, g)
		for k, l := range gold.Atoms[g].Links {
			key := edgeKey{edgeAt[l.Edge], g, l.To}
			if _, twice := want[key]; twice || l.To < 0 || ordered[l.Edge] {
				continue
			}
			want[key], wanted = MissingLink{g, k}, append(wanted, key)
			c.Edges[key.edge].Gold++
			c.Evidence.Gold += len(l.Evidence)
		}
	}
	got := map[edgeKey]bool{}
	for p := range pred.Atoms {
		seen := map[string]bool{}
		for k, l := range pred.Atoms[p].Links {
			if ordered[l.Edge] {
				if m.Pred[p] < 0 {
					c.Edges[edgeAt[l.Edge]].Predicted++
					c.Links = append(c.Links, LinkState{p, k, wrong(l)})
				}
				continue
			}
			e, known := edgeAt[l.Edge]
			if !known {
				continue
			}
			target := l.Edge + "\x00" + strings.TrimSpace(l.Written)
			key := edgeKey{e, m.Pred[p], -1}
			if l.To >= 0 {
				target = l.Edge + "\x01" + pred.Atoms[l.To].File
				key.to = m.Pred[l.To]
			}
			if seen[target] {
				continue // a set
			}
			seen[target] = true
			c.Edges[e].Predicted++
			c.Evidence.Predicted += len(l.Evidence)
			state := wrong(l)
			if at, right := want[key]; right && !got[key] {
				got[key], state = true, Found
				c.Edges[e].True++
				c.Evidence.True += common(gold.Atoms[at.Atom].Links[at.Link].Evidence, l.Evidence)
			}
			c.Links = append(c.Links, LinkState{p, k, state})
		}
	}
	for _, key := range wanted {
		if !got[key] {
			c.Missing = append(c.Missing, want[key])
		}
	}
	return c
}

// wrong is the state of a predicted edge that is not right.
func wrong(l okf.Link) string {
	if l.To < 0 {
		return Broken
	}
	return Spurious
}

func (c *Comparison) atoms(gold, pred *okf.Base, m Matching) {
	at := map[string]int{}
	count := func(name string) *Counts {
		i, ok := at[name]
		if !ok {
			i = len(c.Atoms)
			at[name] = i
			c.Atoms = append(c.Atoms, Counts{Name: name})
		}
		return &c.Atoms[i]
	}
	for _, t := range gold.Ontology.Types {
		count(t.Name)
	}
	for g := range gold.Atoms {
		n := count(gold.Atoms[g].Type)
		n.Gold++
		if p := m.Gold[g]; p >= 0 {
			n.True++
			n.Predicted++
			c.Matched++
			if pred.Atoms[p].Type == gold.Atoms[g].Type {
				c.Typed++
			}
		}
	}
	for p := range pred.Atoms {
		if m.Pred[p] < 0 {
			name := OtherType
			if t, ok := gold.Ontology.Type(pred.Atoms[p].Type); ok {
				name = t.Name
			}
			count(name).Predicted++
		}
	}
}

// OtherType counts the spurious atoms of types that the ontology does not have.
const OtherType = "(other)"

// orderedPair counts the ordered edges of a gold atom and of its match.
func (c *Comparison) orderedPair(gold, pred *okf.Base, m Matching, g int) {
	for i, e := range gold.Ontology.Edges {
		if e.Kind != ontology.Ordered {
			continue
		}
		n := &c.Edges[i]
		var want, got []int
		var wantAt, gotAt []int
		for k, l := range gold.Atoms[g].Links {
			if l.Edge == e.Name && l.To >= 0 {
				want, wantAt = append(want, l.To), append(wantAt, k)
			}
		}
		p := m.Gold[g]
		if p >= 0 {
			for k, l := range pred.Atoms[p].Links {
				if l.Edge != e.Name {
					continue
				}
				to := -1
				if l.To >= 0 {
					to = m.Pred[l.To]
				}
				got, gotAt = append(got, to), append(gotAt, k)
			}
		}
		inWant, inGot, length := subsequence(want, got)
		n.True += length
		n.Gold += len(want)
		n.Predicted += len(got)
		for i, k := range wantAt {
			if !inWant[i] {
				c.Missing = append(c.Missing, MissingLink{g, k})
			}
		}
		for i, k := range gotAt {
			state := Found
			if !inGot[i] {
				state = wrong(pred.Atoms[p].Links[k])
			}
			c.Links = append(c.Links, LinkState{p, k, state})
		}
	}
}

// maxSequence limits the lengths for which the subsequence is computed, so that a
// hostile answer cannot take quadratic memory.
const maxSequence = 2000

// subsequence finds a longest common subsequence and marks its elements. Negative
// elements equal nothing.
func subsequence(a, b []int) (inA, inB []bool, length int) {
	inA, inB = make([]bool, len(a)), make([]bool, len(b))
	a, b = a[:min(len(a), maxSequence)], b[:min(len(b), maxSequence)]
	best := make([][]int32, len(a)+1)
	for i := range best {
		best[i] = make([]int32, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] && a[i] >= 0 {
				best[i][j] = best[i+1][j+1] + 1
			} else {
				best[i][j] = max(best[i+1][j], best[i][j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j] && a[i] >= 0:
			inA[i], inB[j] = true, true
			i, j = i+1, j+1
		case best[i+1][j] >= best[i][j+1]:
			i++
		default:
			j++
		}
	}
	return inA, inB, int(best[0][0])
}

// common counts the numbers that both lists have, each once.
func common(a, b []int) (n int) {
	have := map[int]bool{}
	for _, x := range a {
		have[x] = true
	}
	for _, x := range b {
		if have[x] {
			n++
			delete(have, x)
		}
	}
	return n
}

// Sum adds up counts.
func Sum(list []Counts) (c Counts) {
	for _, n := range list {
		c.True, c.Predicted, c.Gold = c.True+n.True, c.Predicted+n.Predicted, c.Gold+n.Gold
	}
	return c
}
