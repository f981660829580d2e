package graph_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/suites/atoms/graph"
	"github.com/scruple-eval/scruple/internal/suites/atoms/okf"
	"github.com/scruple-eval/scruple/internal/suites/atoms/ontology"
)

// base parses atoms in the form "id|type|title|edge: a, b|edge: c".
func base(lines ...string) *okf.Base {
	var files []okf.File
	for i, l := range lines {
		parts := strings.Split(l, "|")
		front := fmt.Sprintf("---\nid: %s\ntype: %s\ntitle: %s\n", parts[0], parts[1], parts[2])
		for _, e := range parts[3:] {
			name, targets, _ := strings.Cut(e, ": ")
			front += fmt.Sprintf("%s: [%s]\n", name, targets)
		}
		files = append(files, okf.File{Path: fmt.Sprintf("%04d.md", i), Data: []byte(front + "---\n")})
	}
	return okf.Load(files, nil, ontology.Default())
}

func compare(gold, pred *okf.Base) graph.Comparison {
	return graph.Compare(gold, pred, graph.Match(gold, pred))
}

// TestMatch: by id first, then by type and title, one to one.
func TestMatch(t *testing.T) {
	gold := base("a|role|Clerk", "b|role|The Desk", "c|system|Desk", "d|role|Same", "e|role|Same")
	for name, test := range map[string]struct {
		pred *okf.Base
		want []int
	}{
		"ids":                     {base("b|role|x", "a|role|y"), []int{1, 0, -1, -1, -1}},
		"id of another type":      {base("a|system|Clerk"), []int{0, -1, -1, -1, -1}},
		"title":                   {base("x|role|desk!"), []int{-1, 0, -1, -1, -1}},
		"title of another type":   {base("x|process|desk"), []int{-1, -1, -1, -1, -1}},
		"id before title":         {base("x|role|Clerk", "a|role|Other"), []int{1, -1, -1, -1, -1}},
		"two of one title":        {base("x|role|same", "y|role|SAME", "z|role|same"), []int{-1, -1, -1, 0, 1}},
		"two of one id":           {base("a|role|Other", "a|role|Clerk"), []int{1, -1, -1, -1, -1}},
		"no id, no title":         {base("''|role|''"), []int{-1, -1, -1, -1, -1}},
		"the plural is not equal": {base("x|role|Clerks"), []int{-1, -1, -1, -1, -1}},
	} {
		if d := cmp.Diff(test.want, graph.Match(gold, test.pred).Gold); d != "" {
			t.Errorf("%s (-want +got)\n%s", name, d)
		}
	}
}

// TestEdges: sets without order, stages with it, ends through the matching.
func TestEdges(t *testing.T) {
	atoms := []string{"p|process|P", "q|process|Q", "r|process|R", "s|system|S", "u|system|U"}
	gold := base(append(atoms, "w|workflow|W|stages: p, q, r|uses: s, u")...)
	for name, test := range map[string]struct {
		line         string
		stages, uses graph.Counts
	}{
		"perfect":          {"w|workflow|W|stages: p, q, r|uses: s, u", graph.Counts{True: 3, Predicted: 3, Gold: 3}, graph.Counts{True: 2, Predicted: 2, Gold: 2}},
		"sets swapped":     {"w|workflow|W|stages: p, q, r|uses: u, s", graph.Counts{True: 3, Predicted: 3, Gold: 3}, graph.Counts{True: 2, Predicted: 2, Gold: 2}},
		"stages swapped":   {"w|workflow|W|stages: q, p, r|uses: s, u", graph.Counts{True: 2, Predicted: 3, Gold: 3}, graph.Counts{True: 2, Predicted: 2, Gold: 2}},
		"stages reversed":  {"w|workflow|W|stages: r, q, p", graph.Counts{True: 1, Predicted: 3, Gold: 3}, graph.Counts{Gold: 2}},
		"stage twice":      {"w|workflow|W|stages: p, p, q, r", graph.Counts{True: 3, Predicted: 4, Gold: 3}, graph.Counts{Gold: 2}},
		"set twice":        {"w|workflow|W|uses: s, s", graph.Counts{Gold: 3}, graph.Counts{True: 1, Predicted: 1, Gold: 2}},
		"by id and title":  {"w|workflow|W|uses: s, S", graph.Counts{Gold: 3}, graph.Counts{True: 1, Predicted: 1, Gold: 2}},
		"dangling":         {"w|workflow|W|stages: p, z|uses: z", graph.Counts{True: 1, Predicted: 2, Gold: 3}, graph.Counts{Predicted: 1, Gold: 2}},
		"workflow renamed": {"x|workflow|w|stages: p, q|uses: s", graph.Counts{True: 2, Predicted: 2, Gold: 3}, graph.Counts{True: 1, Predicted: 1, Gold: 2}},
		"not matched":      {"x|workflow|X|stages: p, q|uses: s", graph.Counts{Predicted: 2, Gold: 3}, graph.Counts{Predicted: 1, Gold: 2}},
	} {
		c := compare(gold, base(append(atoms, test.line)...))
		for _, n := range c.Edges {
			switch n.Name {
			case "stages":
				test.stages.Name = n.Name
				if n != test.stages {
					t.Errorf("%s: %+v, want %+v", name, n, test.stages)
				}
			case "uses":
				test.uses.Name = n.Name
				if n != test.uses {
					t.Errorf("%s: %+v, want %+v", name, n, test.uses)
				}
			}
		}
	}
}

// TestCountsAddUp: whatever the two graphs, states add up to the counts, a graph
// matches itself, and the drawing stays inside its size.
func TestCountsAddUp(t *testing.T) {
	draw := func(t *rapid.T, name string) *okf.Base {
		var lines []string
		for i := range rapid.IntRange(0, 8).Draw(t, name) {
			id := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "id")
			kind := rapid.SampledFrom([]string{"process", "role", "workflow", "artifact", "odd"}).Draw(t, "type")
			line := fmt.Sprintf("%s|%s|T%s", id, kind, rapid.SampledFrom([]string{id, "x", fmt.Sprint(i)}).Draw(t, "title"))
			for _, e := range []string{"uses", "stages", "produces", "owner"} {
				if to := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "z"}), 0, 4).Draw(t, e); len(to) > 0 {
					line += "|" + e + ": " + strings.Join(to, ", ")
				}
			}
			lines = append(lines, line)
		}
		return base(lines...)
	}
	rapid.Check(t, func(t *rapid.T) {
		gold, pred := draw(t, "gold"), draw(t, "pred")
		m := graph.Match(gold, pred)
		c := graph.Compare(gold, pred, m)
		atoms, edges := graph.Sum(c.Atoms), graph.Sum(c.Edges)
		if atoms.Gold != len(gold.Atoms) || atoms.Predicted != len(pred.Atoms) || atoms.True != c.Matched {
			t.Fatalf("%+v for %d and %d atoms", atoms, len(gold.Atoms), len(pred.Atoms))
		}
		states := map[string]int{}
		for _, l := range c.Links {
			states[l.State]++
		}
		if len(c.Links) != edges.Predicted || states[graph.Found] != edges.True || len(c.Missing) != edges.Gold-edges.True {
			t.Fatalf("%+v, states %v, %d missing", edges, states, len(c.Missing))
		}
		self := graph.Compare(gold, gold, graph.Match(gold, gold))
		if n := graph.Sum(self.Atoms); n.True != n.Gold || n.Predicted != n.Gold {
			t.Fatalf("a graph against itself: %+v", n)
		}
		g := graph.Draw(gold, pred, m, c)
		seen := map[[2]float64]bool{}
		for _, n := range g.Nodes {
			if n.X < 0 || n.Y < 0 || n.X+g.NodeWidth > g.Width || n.Y+g.NodeHeight > g.Height || seen[[2]float64{n.X, n.Y}] {
				t.Fatalf("node %+v in %v × %v", n, g.Width, g.Height)
			}
			seen[[2]float64{n.X, n.Y}] = true
		}
		if d := cmp.Diff(g, graph.Draw(gold, pred, m, c)); d != "" {
			t.Fatal("drawing again differs\n", d)
		}
		graph.Integrity(pred)
	})
}

// TestIntegrity: every problem by its code.
func TestIntegrity(t *testing.T) {
	sound := []string{"r|role|R", "x|artifact|X", "p|process|P|owner: r|produces: x"}
	for want, lines := range map[string][]string{
		"":                        sound,
		"error several-producers": append(sound[:3:3], "q|process|Q|owner: r|produces: x"),
		"error no-producer":       append(sound[:3:3], "y|artifact|Y|owner: r"),
		"error wrong-producer":    {"r|role|R|produces: x", "x|artifact|X", "p|process|P|owner: r"},
		"error wrong-producer of an unknown type": {"r|role|R", "x|artifact|X", "p|widget|P|owner: r|produces: x"},
		"warning orphan-atom by itself":           append(sound[:3:3], "s|system|S|relates_to: s"),
		"error dangling-edge":                     append(sound[:3:3], "q|process|Q|owner: r|uses: gone"),
		"error dangling-edge listed twice":        append(sound[:3:3], "q|process|Q|owner: r|uses: gone, gone"),
		"warning stage-cycle":                     append(sound[:3:3], "w|workflow|W|owner: r|stages: p, v", "v|workflow|V|owner: r|stages: w"),
		"warning stage-cycle twice":               append(sound[:3:3], "w|workflow|W|owner: r|stages: p, p"),
		"warning orphan-atom":                     append(sound[:3:3], "s|system|S"),
		"warning owns-nothing":                    append(sound[:3:3], "o|role|O|relates_to: r"),
	} {
		var got []string
		for _, f := range graph.Integrity(base(lines...)) {
			got = append(got, fmt.Sprintf("%s %s", f.Severity, f.Code))
		}
		if f := strings.Fields(want); len(f) > 2 {
			want = strings.Join(f[:2], " ")
		}
		if text := strings.Join(got, ", "); text != want {
			t.Errorf("%v: got %q, want %q", lines, text, want)
		}
	}
}

// A long chain of stages that closes needs no deep stack.
func TestLongCycle(t *testing.T) {
	const n = 20_000
	var lines []string
	for i := range n {
		lines = append(lines, fmt.Sprintf("w%d|workflow|W%d|stages: w%d", i, i, (i+1)%n))
	}
	var found int
	for _, f := range graph.Integrity(base(lines...)) {
		if f.Code == graph.CodeCycle {
			found++
		}
	}
	if found != 1 {
		t.Errorf("%d cycles, want 1", found)
	}
}

// BenchmarkScore parses, matches and counts 10,000 atoms with 50,000 edges against
// gold, with the integrity of both graphs.
func BenchmarkScore(b *testing.B) {
	files := func(seed uint64) (list []okf.File) {
		r := rand.New(rand.NewPCG(seed, 1))
		for i := range 10_000 {
			var to []string
			for range 5 {
				to = append(to, fmt.Sprintf("atom-%d", r.IntN(10_000)))
			}
			list = append(list, okf.File{Path: fmt.Sprintf("concept/atom-%d.md", i), Data: okf.Compose([]okf.Entry{okf.ScalarEntry("id", fmt.Sprintf("atom-%d", i)), okf.ScalarEntry("type", "concept"),
				okf.ScalarEntry("title", fmt.Sprintf("Atom %d", i)), okf.ListEntry("relates_to", to)}, "# Atom\n")})
		}
		return list
	}
	o := ontology.Default()
	gold, answer := okf.Load(files(1), nil, o), files(2)
	b.ReportAllocs()
	for b.Loop() {
		pred := okf.Load(answer, nil, o)
		c := graph.Compare(gold, pred, graph.Match(gold, pred))
		if graph.Sum(c.Edges).Predicted < 49_000 {
			b.Fatal("edges are missing")
		}
		pred.Rates()
		graph.Integrity(pred)
	}
}

// TestMatchIsLargest: no one-to-one matching has more pairs by id or, with as many, more
// by title. All matchings of small graphs are tried.
func TestMatchIsLargest(t *testing.T) {
	draw := func(t *rapid.T, name string) *okf.Base {
		var lines []string
		for range rapid.IntRange(0, 5).Draw(t, name) {
			lines = append(lines, rapid.SampledFrom([]string{"a", "b", "c", "''"}).Draw(t, "id")+"|"+
				rapid.SampledFrom([]string{"role", "system"}).Draw(t, "type")+"|"+rapid.SampledFrom([]string{"X", "Y", "Z", "''"}).Draw(t, "title"))
		}
		return base(lines...)
	}
	rapid.Check(t, func(t *rapid.T) {
		gold, pred := draw(t, "gold"), draw(t, "pred")
		kind := func(g, p int) [2]int { // of a pair: by id, or by title
			a, b := &gold.Atoms[g], &pred.Atoms[p]
			switch {
			case a.ID != "" && a.ID == b.ID:
				return [2]int{1, 0}
			case a.Type == b.Type && okf.Normal(a.Title) != "" && okf.Normal(a.Title) == okf.Normal(b.Title):
				return [2]int{0, 1}
			}
			return [2]int{}
		}
		used := make([]bool, len(pred.Atoms))
		var best func(g int) [2]int
		best = func(g int) (most [2]int) {
			if g == len(gold.Atoms) {
				return most
			}
			most = best(g + 1)
			for p := range pred.Atoms {
				k := kind(g, p)
				if used[p] || k == [2]int{} {
					continue
				}
				used[p] = true
				rest := best(g + 1)
				used[p] = false
				if n := [2]int{k[0] + rest[0], k[1] + rest[1]}; n[0] > most[0] || n[0] == most[0] && n[1] > most[1] {
					most = n
				}
			}
			return most
		}
		m := graph.Match(gold, pred)
		var got [2]int
		for g, p := range m.Gold {
			if p < 0 {
				continue
			}
			k := kind(g, p)
			if k == [2]int{} || m.Pred[p] != g {
				t.Fatalf("gold %d is paired with %d", g, p)
			}
			got[0], got[1] = got[0]+k[0], got[1]+k[1]
		}
		if want := best(0); got != want {
			t.Fatalf("%v pairs by id and title, %v are possible: %v", got, want, m.Gold)
		}
	})
}
