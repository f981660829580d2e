package graph

import (
	"cmp"
	"fmt"
	"math"
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
	sweeps                = 6
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
// that close a cycle, and orders each column by the mean place of the neighbours.
func layOut(g *eval.Graph) {
	n := len(g.Nodes)
	if n == 0 {
		return
	}
	column := columns(g)
	// An edge over several columns has a bend in each column between, which takes a
	// place like a node.
	bends := make([][]int, len(g.Edges))
	neighbours := make([][]int, n)
	join := func(a, b int) { neighbours[a], neighbours[b] = append(neighbours[a], b), append(neighbours[b], a) }
	for k, e := range g.Edges {
		last := e.From
		for c := column[e.From] + 1; c < column[e.To] && len(column) < maxPlaces; c++ {
			at := len(column)
			column, neighbours = append(column, c), append(neighbours, nil)
			bends[k] = append(bends[k], at)
			join(last, at)
			last = at
		}
		join(last, e.To)
	}
	var grid [][]int
	for i, c := range column {
		for len(grid) <= c {
			grid = append(grid, nil)
		}
		grid[c] = append(grid[c], i)
	}
	place := make([]float64, len(column))
	rows := 0
	for _, nodes := range grid {
		rows = max(rows, len(nodes))
		for k, i := range nodes {
			place[i] = float64(k)
		}
	}
	for sweep := range sweeps {
		for k := range grid {
			at := k
			if sweep%2 == 1 {
				at = len(grid) - 1 - k
			}
			nodes := grid[at]
			wish := map[int]float64{}
			for _, i := range nodes {
				sum, count := 0.0, 0.0
				for _, j := range neighbours[i] {
					if column[j] != at {
						sum, count = sum+place[j], count+1
					}
				}
				if wish[i] = place[i]; count > 0 {
					wish[i] = sum / count
				}
			}
			slices.SortStableFunc(nodes, func(i, j int) int { return cmp.Or(cmp.Compare(wish[i], wish[j]), cmp.Compare(i, j)) })
			offset := float64(rows-len(nodes)) / 2
			for k, i := range nodes {
				place[i] = offset + float64(k)
			}
		}
	}
	for i := range g.Nodes {
		g.Nodes[i].X = drawMargin + float64(column[i])*(nodeWidth+columnGap)
		g.Nodes[i].Y = drawMargin + place[i]*(nodeHeight+rowGap)
	}
	g.Width = 2*drawMargin + float64(len(grid))*(nodeWidth+columnGap) - columnGap
	g.Height = 2*drawMargin + float64(rows)*(nodeHeight+rowGap) - rowGap
	g.NodeWidth, g.NodeHeight = nodeWidth, nodeHeight
	route(g, column, func(k int) (ys []float64) {
		for _, at := range bends[k] {
			ys = append(ys, drawMargin+place[at]*(nodeHeight+rowGap)+nodeHeight/2)
		}
		return ys
	})
}

// maxPlaces limits the nodes and bends of a drawing.
const maxPlaces = 2000

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

// route draws the edges as curves from the right side of a node to the left side of
// the next, through their bends, or around for edges that go back.
func route(g *eval.Graph, column []int, bends func(edge int) []float64) {
	for k := range g.Edges {
		e := &g.Edges[k]
		from, to := g.Nodes[e.From], g.Nodes[e.To]
		if column[e.To] <= column[e.From] {
			x1, x2 := from.X+nodeWidth/2, to.X+nodeWidth/2
			y1, y2 := from.Y+nodeHeight, to.Y+nodeHeight
			down := math.Max(y1, y2) + rowGap
			e.Path = fmt.Sprintf("M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f", x1, y1, x1, down, x2, down, x2, y2)
			e.Head = fmt.Sprintf("M%.1f %.1fL%.1f %.1fL%.1f %.1f", x2-4, y2+8, x2, y2+1, x2+4, y2+8)
			e.X, e.Y = (x1+x2)/2, down-4
			continue
		}
		x, y := from.X+nodeWidth, from.Y+nodeHeight/2
		e.Path = fmt.Sprintf("M%.1f %.1f", x, y)
		goTo := func(x2, y2 float64) {
			e.Path += fmt.Sprintf("C%.1f %.1f %.1f %.1f %.1f %.1f", x+columnGap/2, y, x2-columnGap/2, y2, x2, y2)
			if e.X == 0 { // the label is in the first gap, nearer to the end, where edges of one node have parted
				e.X, e.Y = x+float64(0.56*(x2-x)), y+float64(0.6*(y2-y))
			}
			x, y = x2, y2
		}
		for i, at := range bends(k) {
			left := from.X + float64(i+1)*(nodeWidth+columnGap)
			goTo(left, at)
			x += nodeWidth
			e.Path += fmt.Sprintf("L%.1f %.1f", x, y)
		}
		goTo(to.X, to.Y+nodeHeight/2)
		e.Head = fmt.Sprintf("M%.1f %.1fL%.1f %.1fL%.1f %.1f", x-8, y-4, x-1, y, x-8, y+4)
	}
	g.Height += rowGap
}
