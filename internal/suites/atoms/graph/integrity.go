package graph

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/suites/atoms/okf"
	"github.com/scruple-eval/scruple/internal/suites/atoms/ontology"
)

// The codes of problems of a graph.
const (
	CodeSeveral  okf.Code = "several-producers"
	CodeNone     okf.Code = "no-producer"
	CodeNotFrom  okf.Code = "wrong-producer"
	CodeDangling okf.Code = "dangling-edge"
	CodeCycle    okf.Code = "stage-cycle"
	CodeOrphan   okf.Code = "orphan-atom"
	CodeIdle     okf.Code = "owns-nothing"
)

// A Problem is a kind of problem of a graph.
type Problem struct {
	Code     okf.Code
	Severity okf.Severity
}

// Problems are several producers, none, or one of a wrong type, and dangling edges, which
// are errors; and cycles of stages, atoms without edges and roles that own nothing, which
// are warnings.
var Problems = []Problem{{CodeSeveral, okf.Error}, {CodeNone, okf.Error}, {CodeNotFrom, okf.Error}, {CodeDangling, okf.Error},
	{CodeCycle, okf.Warning}, {CodeOrphan, okf.Warning}, {CodeIdle, okf.Warning}}

// Integrity finds the problems of a graph.
func Integrity(b *okf.Base) []okf.Finding {
	var list []okf.Finding
	add := func(code okf.Code, i, line int, format string, args ...any) {
		of := Problems[slices.IndexFunc(Problems, func(p Problem) bool { return p.Code == code })]
		list = append(list, okf.Finding{Code: code, Severity: of.Severity, File: b.Atoms[i].File, Line: line, Text: fmt.Sprintf(format, args...)})
	}
	connected, owns := make([]bool, len(b.Atoms)), make([]bool, len(b.Atoms))
	for _, e := range b.Ontology.Edges {
		sources := map[int][]int{} // of each target
		for i := range b.Atoms {
			a := &b.Atoms[i]
			first, gone := true, map[string]bool{}
			for _, l := range a.Links {
				if l.Edge != e.Name {
					continue
				}
				if first && e.Exclusive && !ontology.Allows(e.From, a.Type) { // an unknown type is not allowed either
					add(CodeNotFrom, i, l.Line, "a %s must not have %s: only %s", a.Type, e.Name, strings.Join(e.From, ", "))
				}
				first = false
				if l.To < 0 {
					if target := strings.TrimSpace(l.Written); !gone[target] {
						gone[target] = e.Kind != ontology.Ordered // a set has it once
						add(CodeDangling, i, l.Line, "%s leads to %q, which does not exist", e.Name, l.Written)
					}
					continue
				}
				if l.To != i { // a link to itself connects an atom to nothing
					connected[i], connected[l.To] = true, true
					owns[l.To] = owns[l.To] || e.Name == ontology.Owner
				}
				if !slices.Contains(sources[l.To], i) && (e.Exclusive || e.Total) {
					sources[l.To] = append(sources[l.To], i)
				}
			}
		}
		for i := range b.Atoms {
			n := len(sources[i])
			switch _, known := b.Ontology.Type(b.Atoms[i].Type); {
			case e.Exclusive && n > 1:
				var names []string
				for _, s := range sources[i] {
					names = append(names, b.Atoms[s].Name())
				}
				add(CodeSeveral, i, 0, "%d atoms have %s to it: %s", n, e.Name, strings.Join(names, ", "))
			case e.Total && n == 0 && known && len(e.To) > 0 && slices.Contains(e.To, b.Atoms[i].Type):
				add(CodeNone, i, 0, "no atom has %s to this %s", e.Name, b.Atoms[i].Type)
			}
		}
		if e.Kind == ontology.Ordered {
			for _, i := range cycles(b, e.Name) {
				add(CodeCycle, i, 0, "%s comes back to %s", e.Name, b.Atoms[i].Name())
			}
		}
	}
	for i := range b.Atoms {
		t, _ := b.Ontology.Type(b.Atoms[i].Type)
		switch {
		case !connected[i]:
			add(CodeOrphan, i, 0, "no edge leads to or from it")
		case t.Owns && !owns[i]:
			add(CodeIdle, i, 0, "no atom has this %s as owner", t.Name)
		}
	}
	slices.SortStableFunc(list, func(a, b okf.Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Code, b.Code))
	})
	return list
}

// cycles lists the atoms at which an edge closes a cycle, and those that name a
// target twice.
func cycles(b *okf.Base, edge string) (list []int) {
	const fresh, open, done = 0, 1, 2
	state := make([]uint8, len(b.Atoms))
	next := func(i int) (to []int) {
		for _, l := range b.Atoms[i].Links {
			if l.Edge == edge && l.To >= 0 {
				to = append(to, l.To)
			}
		}
		return to
	}
	type frame struct {
		at   int
		left []int
	}
	for i := range b.Atoms {
		targets := next(i)
		slices.Sort(targets)
		if len(slices.Compact(slices.Clone(targets))) < len(targets) {
			list = append(list, i)
		}
		if state[i] != fresh {
			continue
		}
		state[i] = open
		stack := []frame{{i, next(i)}}
		for len(stack) > 0 { // without recursion: a hostile chain may be long
			f := &stack[len(stack)-1]
			if len(f.left) == 0 {
				state[f.at] = done
				stack = stack[:len(stack)-1]
				continue
			}
			to := f.left[0]
			f.left = f.left[1:]
			switch state[to] {
			case open:
				list = append(list, to)
			case fresh:
				state[to] = open
				stack = append(stack, frame{to, next(to)})
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
