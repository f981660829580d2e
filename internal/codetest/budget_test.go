package codetest

import (
	"bytes"
	"fmt"
	"go/ast"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A size is what a package has outside of tests, or may have: lines, and structs of at
// least manyFields fields.
type size struct{ lines, wide int }

const manyFields = 15

// budgetRow is a row of the table of budgets in ARCHITECTURE.md.
var budgetRow = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ([0-9]+) \\| ([0-9]+) \\|$")

// Packages grow by a decision, not by accident: one that needs more than its budget raises
// the number in ARCHITECTURE.md in the same commit, which says why. With -v the test prints
// the sizes, and a table with each rounded up.
func TestBudgets(t *testing.T) {
	sizes := map[string]size{}
	for _, f := range sources(t) {
		if strings.HasSuffix(f.path, "_test.go") {
			continue
		}
		data, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(f.path)))
		if err != nil {
			t.Fatal(err)
		}
		s := sizes[f.dir]
		s.lines += bytes.Count(data, []byte("\n"))
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if st, ok := n.(*ast.StructType); ok && fields(st) >= manyFields {
				s.wide++
			}
			return true
		})
		sizes[f.dir] = s
	}
	document, err := os.ReadFile(filepath.Join("..", "..", "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	budgets := map[string]size{}
	for _, m := range budgetRow.FindAllStringSubmatch(string(document), -1) {
		lines, _ := strconv.Atoi(m[2]) // digits
		wide, _ := strconv.Atoi(m[3])
		budgets[m[1]] = size{lines, wide}
	}
	var table strings.Builder
	for _, dir := range slices.Sorted(maps.Keys(sizes)) {
		s, b := sizes[dir], budgets[dir]
		t.Logf("%-40s %6d lines of %6d, %2d wide structs of %2d", dir, s.lines, b.lines, s.wide, b.wide)
		fmt.Fprintf(&table, "| `%s` | %d | %d |\n", dir, (s.lines+49)/50*50, s.wide)
		if s.lines > b.lines || s.wide > b.wide {
			t.Errorf("%s has %d lines and %d structs of %d and more fields, its budget is %d and %d: make it smaller, or raise its row in ARCHITECTURE.md and say why in the commit",
				dir, s.lines, s.wide, manyFields, b.lines, b.wide)
		}
	}
	for dir := range budgets {
		if _, ok := sizes[dir]; !ok {
			t.Errorf("ARCHITECTURE.md has a budget of %s, which has no code: remove the row", dir)
		}
	}
	t.Logf("\n%s", &table)
}

// fields counts the fields of a struct, an embedded one as one.
func fields(st *ast.StructType) (n int) {
	for _, f := range st.Fields.List {
		n += max(1, len(f.Names))
	}
	return n
}
