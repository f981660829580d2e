package view

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/vm"

	"github.com/scruple-eval/scruple/internal/text"
)

// A filter is a condition on trials in the language of rules. The names are the columns
// of an index and nothing else; the only function is missing.
type filter struct {
	program *vm.Program
	reads   []*column
}

// longestFilter limits the text of a filter in bytes.
const longestFilter = 4000

// compile checks a filter. The error names what is wrong and what there is.
func (x *index) compile(q string) (*filter, error) {
	if len(q) > longestFilter {
		return nil, bad("the filter has %d bytes, the limit is %d", len(q), longestFilter)
	}
	env := map[string]any{}
	for _, c := range x.columns {
		if c.text() {
			env[c.name] = ""
		} else {
			env[c.name] = 0.0
		}
	}
	seen := &names{}
	program, err := expr.Compile(q, expr.Env(env), expr.AsBool(), expr.DisableAllBuiltins(), expr.MaxNodes(500), expr.Patch(seen),
		expr.Function("missing", func(args ...any) (any, error) {
			n, ok := args[0].(float64)
			return ok && math.IsNaN(n), nil
		}, new(func(float64) bool)))
	if err != nil {
		var known []string
		for _, c := range x.columns {
			known = append(known, c.name)
		}
		return nil, bad("filter: %v\nThe names are %s. Example: arm == %q && outcome != \"ok\"", err, strings.Join(known, ", "), "a")
	}
	f := &filter{program: program}
	for _, c := range x.columns {
		if slices.Contains(seen.list, c.name) {
			f.reads = append(f.reads, c)
		}
	}
	return f, nil
}

// names collects the identifiers of an expression.
type names struct{ list []string }

func (n *names) Visit(node *ast.Node) {
	if id, ok := (*node).(*ast.IdentifierNode); ok {
		n.list = append(n.list, id.Value)
	}
}

// select returns the rows for which the filter holds.
func (f *filter) rows(ctx context.Context, x *index) ([]int32, error) {
	env := make(map[string]any, len(f.reads))
	var machine vm.VM
	var list []int32
	// Values of text are boxed once, not for every row.
	boxed := make([][]any, len(f.reads))
	for k, c := range f.reads {
		for _, s := range c.words {
			boxed[k] = append(boxed[k], s)
		}
	}
	for i := range x.n {
		if i%4096 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		for k, c := range f.reads {
			if c.text() {
				env[c.name] = boxed[k][c.code(i)]
			} else {
				env[c.name] = c.numbers[i]
			}
		}
		holds, err := machine.Run(f.program, env)
		if err != nil {
			return nil, bad("filter: %v", err)
		}
		if holds.(bool) {
			list = append(list, int32(i))
		}
	}
	return list, nil
}

// identifier makes a name of a metric or factor one of the language.
func identifier(name string) string {
	id := strange.ReplaceAllString(name, "_")
	if first, _ := utf8.DecodeRuneInString(id); id == "" || unicode.IsDigit(first) || slices.Contains(words, id) {
		id = "_" + id
	}
	return id
}

var strange = regexp.MustCompile(`[^\p{L}\p{Nd}_]`)

// words are those of the language, and the names of our own columns and function.
var words = []string{"and", "or", "not", "in", "let", "if", "else", "true", "false", "nil", "matches", "contains", "startsWith", "endsWith",
	"missing", "item", "arm", "rep", "outcome", "reason", "calls", "tokens", "cost", "ms"}

// equals writes a condition.
func equals(name, value string) string { return name + " == " + strconv.Quote(value) }

// terms splits a filter at its outer conjunctions.
func terms(q string) (list []string) {
	top := outer(q)
	if weaker.MatchString(top) {
		return []string{q}
	}
	start := 0
	for start < len(q) {
		end, next := len(q), len(q)
		if i := strings.Index(top[start:], "&&"); i >= 0 {
			end, next = start+i, start+i+2
		}
		if term := strings.TrimSpace(q[start:end]); term != "" {
			list = append(list, term)
		}
		start = next
	}
	return list
}

// outer is a filter with blanks for its texts and for what is in brackets.
func outer(q string) string {
	top := []byte(q)
	depth := 0
	var quote byte
	for i := 0; i < len(q); i++ {
		inside := quote != 0 || depth > 0
		switch c := q[i]; {
		case quote != 0 && c == '\\' && quote != '`':
			top[i] = ' '
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'' || c == '`':
			quote = c
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			depth--
		}
		if inside && i < len(q) {
			top[i] = ' '
		}
	}
	return string(top)
}

// weaker matches operators that bind less than &&, and the word and.
var weaker = regexp.MustCompile(`[|?]|\b(or|and|let)\b`)

// with adds a condition to a filter.
func with(q, term string) string {
	list := terms(q)
	switch {
	case len(list) == 0:
		return term
	case weaker.MatchString(outer(q)):
		return "(" + q + ") && " + term
	case slices.Contains(list, term):
		return q
	}
	return q + " && " + term
}

// without removes the k-th condition.
func without(q string, k int) string {
	return strings.Join(slices.Delete(terms(q), k, k+1), " && ")
}

// An order is the list of rows that a filter selects, sorted.
type order struct {
	key  string
	rows []int32
}

// mostOrders is how many lists are kept.
const mostOrders = 12

// order returns the rows that a filter selects in the order of a column: by default of
// the plan, "-name" descending. Rows without a number come last.
func (x *index) order(ctx context.Context, q, sort string) ([]int32, error) {
	key := sort + "\x00" + q
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, o := range x.orders {
		if o.key == key {
			return o.rows, nil
		}
	}
	var rows []int32
	if strings.TrimSpace(q) == "" {
		rows = make([]int32, x.n)
		for i := range rows {
			rows[i] = int32(i)
		}
	} else {
		f, err := x.compile(q)
		if err != nil {
			return nil, err
		}
		if rows, err = f.rows(ctx, x); err != nil {
			return nil, err
		}
	}
	if sort != "" {
		name, descending := strings.CutPrefix(sort, "-")
		c := x.column(name)
		if c == nil {
			return nil, bad("sort: no column %q", name)
		}
		sortRows(rows, c, descending)
	}
	x.orders = append(x.orders, order{key, rows})
	if len(x.orders) > mostOrders {
		x.orders = slices.Delete(x.orders, 0, 1)
	}
	return rows, nil
}

func sortRows(rows []int32, c *column, descending bool) {
	type keyed struct {
		key float64
		row int32
	}
	ranks := c.ranks()
	list := make([]keyed, len(rows))
	for k, i := range rows {
		key := 0.0
		if c.text() {
			key = float64(ranks[c.code(int(i))])
		} else {
			key = c.numbers[i]
		}
		if descending {
			key = -key
		}
		if math.IsNaN(key) {
			key = math.Inf(1)
		}
		list[k] = keyed{key, i}
	}
	slices.SortFunc(list, func(a, b keyed) int {
		switch {
		case a.key < b.key:
			return -1
		case a.key > b.key:
			return 1
		}
		return int(a.row - b.row)
	})
	for k, e := range list {
		rows[k] = e.row
	}
}

// describe is the number of rows in words.
func describe(n, of int) string {
	if n == of {
		return text.Plural(n, "trial", "trials")
	}
	return fmt.Sprintf("%d of %s", n, text.Plural(of, "trial", "trials"))
}
