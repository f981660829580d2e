package graph

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/atoms/okf"
	"github.com/scruple-eval/scruple/internal/text"
)

// The drawing, in its units.
const (
	nodeWidth, nodeHeight = 150.0, 40.0
	columnGap, rowGap     = 90.0, 18.0
	drawMargin            = 12.0
	maxDrawn              = 80 // atoms
)

// Draw lays out gold and prediction as one graph: atoms of both once, with what
// became of them.
func Draw(gold, pred *okf.Base, m Matching, c Comparison) *eval.Graph {
	g := new(eval.Graph)
	nodeOfGold, nodeOfPred := none(len(gold.Atoms)), none(len(pred.Atoms))
	add := func(a *okf.Atom, state, note string) int {
		if len(g.Nodes) == maxDrawn {
			g.Left++
			return -1
		}
		g.Nodes = append(g.Nodes, eval.GraphNode{Label: text.Shorten(cmp.Or(a.Title, a.ID, a.File), 23), Title: cmp.Or(a.Title, a.ID, a.File), Kind: text.Shorten(cmp.Or(a.Type, "no type"), 23), State: state, Note: note})
		return len(g.Nodes) - 1
	}
	for i := range gold.Atoms {
		p := m.Gold[i]
		switch {
		case p < 0:
			nodeOfGold[i] = add(&gold.Atoms[i], Missing, "not found")
		case pred.Atoms[p].Type != gold.Atoms[i].Type:
			nodeOfGold[i] = add(&gold.Atoms[i], Retyped, "typed "+cmp.Or(pred.Atoms[p].Type, "without a type"))
		default:
			nodeOfGold[i] = add(&gold.Atoms[i], Found, "")
		}
		if p >= 0 {
			nodeOfPred[p] = nodeOfGold[i]
		}
	}
	for p := range pred.Atoms {
		if m.Pred[p] < 0 {
			nodeOfPred[p] = add(&pred.Atoms[p], Spurious, "not in gold")
		}
	}
	broken := map[string]int{}
	link := func(from, to int, l okf.Link, state string) {
		if from >= 0 && to >= 0 {
			g.Edges = append(g.Edges, eval.GraphEdge{From: from, To: to, Label: l.Edge, State: state})
		}
	}
	for _, s := range c.Links {
		l := pred.Atoms[s.Atom].Links[s.Link]
		if l.To >= 0 {
			link(nodeOfPred[s.Atom], nodeOfPred[l.To], l, s.State)
			continue
		}
		at, ok := broken[l.Written]
		if !ok {
			at = add(&okf.Atom{Title: l.Written, Type: "nothing"}, Broken, "does not exist")
			broken[l.Written] = at
		}
		link(nodeOfPred[s.Atom], at, l, Broken)
	}
	for _, s := range c.Missing {
		l := gold.Atoms[s.Atom].Links[s.Link]
		link(nodeOfGold[s.Atom], nodeOfGold[l.To], l, Missing)
	}
	layOut(g)
	return g
}

// layOut places nodes in columns by the longest path to them, leaving out edges
// that close a cycle, in their order, and draws the edges straight from side to side.
func layOut(g *eval.Graph) {
	column := columns(g)
	var rows []int // by column
	for i, c := range column {
		for len(rows) <= c {
			rows = append(rows, 0)
		}
		n := &g.Nodes[i]
		n.X, n.Y = drawMargin+float64(c)*(nodeWidth+columnGap), drawMargin+float64(rows[c])*(nodeHeight+rowGap)
		rows[c]++
		g.Width, g.Height = max(g.Width, n.X+nodeWidth+drawMargin), max(g.Height, n.Y+nodeHeight+drawMargin)
	}
	g.NodeWidth, g.NodeHeight = nodeWidth, nodeHeight
	for k := range g.Edges {
		e := &g.Edges[k]
		from, to := g.Nodes[e.From], g.Nodes[e.To]
		x1, x2, back := from.X+nodeWidth, to.X, 8.0
		if column[e.To] <= column[e.From] {
			x1, x2, back = from.X, to.X+nodeWidth, -8
		}
		y1, y2 := from.Y+nodeHeight/2, to.Y+nodeHeight/2
		e.Path = fmt.Sprintf("M%.1f %.1fL%.1f %.1f", x1, y1, x2, y2)
		e.Head = fmt.Sprintf("M%.1f %.1fL%.1f %.1fL%.1f %.1f", x2-back, y2-4, x2, y2, x2-back, y2+4)
		e.X, e.Y = x1+float64(0.56*(x2-x1)), y1+float64(0.6*(y2-y1))
	}
}

// columns numbers the columns of nodes.
func columns(g *eval.Graph) []int {
	n := len(g.Nodes)
	out := make([][]int, n)
	for _, e := range g.Edges {
		if e.From != e.To {
			out[e.From] = append(out[e.From], e.To)
		}
	}
	column := make([]int, n)
	state := make([]uint8, n)
	var order []int // reverse topological; n is small, so recursion is safe
	forward := make([][]int, n)
	var visit func(i int)
	visit = func(i int) {
		state[i] = 1
		for _, j := range out[i] {
			if state[j] != 1 { // else the edge closes a cycle
				forward[i] = append(forward[i], j)
			}
			if state[j] == 0 {
				visit(j)
			}
		}
		state[i] = 2
		order = append(order, i)
	}
	for i := range n {
		if state[i] == 0 {
			visit(i)
		}
	}
	slices.Reverse(order)
	for _, i := range order {
		for _, j := range forward[i] {
			column[j] = max(column[j], column[i]+1)
		}
	}
	return column
}
