package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
)

// A graph is drawn with its states in words, and names from answers stay text.
func TestGraph(t *testing.T) {
	g := &eval.Graph{Width: 400, Height: 60, NodeWidth: 150, NodeHeight: 40, Left: 3,
		Nodes: []eval.GraphNode{
			{Label: "<b>A</b>", Title: "</title><script>alert(1)</script>", Kind: "role", State: "found"},
			{Label: "B", Title: "B", Kind: "process\" onload=\"x", State: "wrong type", X: 240},
			{Label: "C", Title: "C", Kind: "x", State: "\" onload=\"x", X: 240},
		},
		Edges: []eval.GraphEdge{{From: 0, To: 1, Label: "uses", State: "missing", Path: "M0 0L1 1", Head: "M0 0"}}}
	var b bytes.Buffer
	if err := page().ExecuteTemplate(&b, "graph", g); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, want := range []string{"Graph of 3 atoms (1 found, 1 wrong type) and 1 edge (1 missing)", `class="g-wrong-type"`, "· wrong type", `class="g-other"`, "3 more atoms are not drawn", `d="M0 0L1 1"`, "&lt;b&gt;A&lt;/b&gt;"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, never := range []string{"<script", "<b>", `onload="x`} {
		if strings.Contains(text, never) {
			t.Errorf("%q in\n%s", never, text)
		}
	}
}
