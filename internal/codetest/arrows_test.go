package codetest

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A graph says which files of a package name what other files of it declare: an arrow from
// one file to another for each pair, however many names it has.
type graph struct {
	files  []string
	arrows map[[2]string][]string // from, to: the names
}

// A package as the go command lists it.
type listed struct {
	path, dir string
	files     []string
}

// list asks the go command for the packages of the module and what they import. The
// compiled packages are those that the build left in its cache.
func list(t *testing.T) (packages []listed, exports map[string]string) {
	t.Helper()
	command := exec.Command("go", "list", "-export", "-deps", "-f",
		"{{.ImportPath}}\t{{.Export}}\t{{.Dir}}\t{{join .GoFiles \" \"}}", "./cmd/...", "./internal/...", "./stats/...", "./tools/...")
	command.Dir = filepath.Join("..", "..")
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	exports = map[string]string{}
	for line := range strings.Lines(string(out)) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		exports[cells[0]] = cells[1]
		if strings.HasPrefix(cells[0], module) {
			packages = append(packages, listed{cells[0], cells[2], strings.Fields(cells[3])})
		}
	}
	return packages, exports
}

// graphOf reads which file names what. Names in comments and fields do not count; a method does,
// where it is named on a concrete type.
func graphOf(p listed, lookup importer.Lookup) (graph, error) {
	fset := token.NewFileSet()
	var syntax []*ast.File
	for _, name := range p.files {
		f, err := parser.ParseFile(fset, filepath.Join(p.dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return graph{}, err
		}
		syntax = append(syntax, f)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", lookup)}
	pkg, err := config.Check(p.path, fset, syntax, info)
	if err != nil {
		return graph{}, fmt.Errorf("checking the types of %s: %w", p.path, err)
	}
	file := func(pos token.Pos) string { return filepath.Base(fset.Position(pos).Filename) }
	g := graph{files: p.files, arrows: map[[2]string][]string{}}
	for id, o := range info.Uses {
		if o.Pkg() != pkg || o.Parent() != pkg.Scope() && !isMethod(o) {
			continue
		}
		if from, to := file(id.Pos()), file(o.Pos()); from != to {
			arrow := [2]string{from, to}
			if !slices.Contains(g.arrows[arrow], o.Name()) {
				g.arrows[arrow] = append(g.arrows[arrow], o.Name())
			}
		}
	}
	return g, nil
}

func isMethod(o types.Object) bool {
	f, ok := o.(*types.Func)
	return ok && f.Signature().Recv() != nil && !types.IsInterface(f.Signature().Recv().Type())
}

// back returns the arrows that point against the best order of the files: the one with the fewest.
// It is searched from random orders by moving one file at a time, as far as that helps.
func (g graph) back() [][2]string {
	random := rand.New(rand.NewPCG(1, 1))
	var best [][2]string
	for try := range 50 {
		order := make([]string, len(g.files))
		for i, j := range random.Perm(len(g.files)) {
			order[i] = g.files[j]
		}
		for g.moveOne(order) {
		}
		place := map[string]int{}
		for i, f := range order {
			place[f] = i
		}
		var back [][2]string
		for arrow := range g.arrows {
			if place[arrow[0]] > place[arrow[1]] {
				back = append(back, arrow)
			}
		}
		if try == 0 || len(back) < len(best) {
			best = back
		}
	}
	slices.SortFunc(best, func(a, b [2]string) int { return cmp.Or(strings.Compare(a[0], b[0]), strings.Compare(a[1], b[1])) })
	return best
}

// moveOne moves a file to another place of the order if that leaves fewer arrows back.
func (g graph) moveOne(order []string) bool {
	points := func(from, to string) int { return min(1, len(g.arrows[[2]string{from, to}])) }
	for i, f := range order {
		change, least, at := 0, 0, i
		for j := i - 1; j >= 0; j-- { // f stands before order[j] then
			if change += points(order[j], f) - points(f, order[j]); change < least {
				least, at = change, j
			}
		}
		change = 0
		for j := i + 1; j < len(order); j++ {
			if change += points(f, order[j]) - points(order[j], f); change < least {
				least, at = change, j
			}
		}
		if least < 0 {
			copy(order, slices.Insert(slices.Delete(slices.Clone(order), i, i+1), at, f))
			return true
		}
	}
	return false
}

// largePackage is the number of lines from which the files of a package must have an order.
const largePackage = 3000

// In a package of many lines one reads from the top down only if its files have an order: at most
// a fifth of the arrows between them may point back. With -v the test prints the arrows of all
// packages, and the names behind those that point back.
func TestFilesHaveAnOrder(t *testing.T) {
	packages, exports := list(t)
	lookup := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	for _, p := range packages {
		lines := 0
		for _, name := range p.files {
			data, err := os.ReadFile(filepath.Join(p.dir, name))
			if err != nil {
				t.Fatal(err)
			}
			lines += strings.Count(string(data), "\n")
		}
		g, err := graphOf(p, lookup)
		if err != nil {
			t.Fatal(err)
		}
		back := g.back()
		t.Logf("%-40s %3d arrows, %2d back", strings.TrimPrefix(p.path, module), len(g.arrows), len(back))
		names := func(arrow [2]string) string {
			return fmt.Sprintf("\n\t%s names of %s: %s", arrow[0], arrow[1], strings.Join(slices.Sorted(slices.Values(g.arrows[arrow])), ", "))
		}
		var behind strings.Builder
		for _, arrow := range back {
			behind.WriteString(names(arrow))
		}
		if lines > largePackage && 5*len(back) > len(g.arrows) {
			t.Errorf("%s: %d of %d arrows between files point back, a fifth may: move a declaration to the file that needs it, or join two files%s",
				p.path, len(back), len(g.arrows), &behind)
		} else if len(back) > 0 {
			t.Log(&behind)
		}
	}
}
