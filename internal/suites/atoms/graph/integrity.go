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

// Codes lists the codes, errors first.
func Codes() []okf.Code {
	return []okf.Code{CodeSeveral, CodeNone, CodeNotFrom, CodeDangling, CodeCycle, CodeOrphan, CodeIdle}
}

// Integrity finds the problems of a graph. Several producers, none, or one of a
// wrong type, and dangling edges are errors; cycles of stages, atoms without edges
// and roles that own nothing are warnings.
func Integrity(b *okf.Base) []okf.Finding {
	var list []okf.Finding
	add := func(code okf.Code, s okf.Severity, i, line int, format string, args ...any) {
		list = append(list, okf.Finding{Code: code, Severity: s, File: b.Atoms[i].File, Line: line, Text: fmt.Sprintf(format, args...)})
	}
	connected := make([]bool, len(b.Atoms))
	owns := make([]bool, len(b.Atoms))
	for _, e := range b.Ontology.Edges {
		sources := map[int][]int{} // of each target
		for i := range b.Atoms {
			a := &b.Atoms[i]
			first := true
			for _, l := range a.Links {
				if l.Edge != e.Name {
					continue
				}
				if _, known := b.Ontology.Type(a.Type); first && known && e.Exclusive && !ontology.Allows(e.From, a.Type) {
					add(CodeNotFrom, okf.Error, i, l.Line, "a %s must not have %s: only %s", a.Type, e.Name, strings.Join(e.From, ", "))
				}
				first = false
				if l.To < 0 {
					add(CodeDangling, okf.Error, i, l.Line, "%s leads to %q, which does not exist", e.Name, l.Written)
					continue
				}
				connected[i], connected[l.To] = true, true
				if e.Name == ontology.Owner {
					owns[l.To] = true
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
					names = append(names, name(b, s))
				}
				add(CodeSeveral, okf.Error, i, 0, "%d atoms have %s to it: %s", n, e.Name, strings.Join(names, ", "))
			case e.Total && n == 0 && known && len(e.To) > 0 && slices.Contains(e.To, b.Atoms[i].Type):
				add(CodeNone, okf.Error, i, 0, "no atom has %s to this %s", e.Name, b.Atoms[i].Type)
			}
		}
		if e.Kind == ontology.Ordered {
			for _, i := range cycles(b, e.Name) {
				add(CodeCycle, okf.Warning, i, 0, "%s comes back to %s", e.Name, name(b, i))
			}
		}
	}
	for i := range b.Atoms {
		t, _ := b.Ontology.Type(b.Atoms[i].Type)
		switch {
		case !connected[i]:
			add(CodeOrphan, okf.Warning, i, 0, "no edge leads to or from it")
		case t.Owns && !owns[i]:
			add(CodeIdle, okf.Warning, i, 0, "no atom has this %s as owner", t.Name)
		}
	}
	slices.SortStableFunc(list, func(a, b okf.Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Code, b.Code))
	})
	return list
}

func name(b *okf.Base, i int) string {
	return cmp.Or(b.Atoms[i].ID, b.Atoms[i].Title, b.Atoms[i].File)
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
