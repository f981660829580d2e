package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/say"
)

// graphStates are the states of nodes and edges, in the order of the key.
var graphStates = []string{"found", "missing", "spurious", "wrong type", "broken"}

// graphState is the class of a state.
func graphState(state string) string {
	if !slices.Contains(graphStates, state) {
		return "g-other"
	}
	return "g-" + strings.ReplaceAll(state, " ", "-")
}

// graphOutline describes a graph for readers who do not see it.
func graphOutline(g *eval.Graph) string {
	nodes, edges := map[string]int{}, map[string]int{}
	for _, n := range g.Nodes {
		nodes[n.State]++
	}
	for _, e := range g.Edges {
		edges[e.State]++
	}
	tally := func(counts map[string]int) string {
		var parts []string
		for _, s := range graphStates {
			if counts[s] > 0 {
				parts = append(parts, fmt.Sprintf("%d %s", counts[s], s))
			}
		}
		return strings.Join(parts, ", ")
	}
	return fmt.Sprintf("Graph of %s (%s) and %s (%s)", say.Plural(len(g.Nodes), "atom", "atoms"), tally(nodes), say.Plural(len(g.Edges), "edge", "edges"), tally(edges))
}
