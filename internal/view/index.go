package view

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/text"
)

// An index holds the trials of a run in memory, by columns, to filter and sort them.
type index struct {
	n       int
	ids     []int64
	columns []*column
	byName  map[string]*column
	lacks   error // why it has no strata, nil if it has

	mu     sync.Mutex
	orders []order
}

// A column has a text or a number for each trial. Texts are numbered, and those of items
// are found through the item.
type column struct {
	name, title string
	words       []string // different texts
	codes       []int32  // by trial, or by item
	item        *column  // set if codes are by item
	numbers     []float64
	den         []float64 // of scores; nil if all are 1
	metric      bool
	units       bool // some scores of the metric are of units with names
	lookup      map[string]int32
}

func (c *column) text() bool { return c.numbers == nil }

func (c *column) code(i int) int32 {
	if c.item != nil {
		return c.codes[c.item.codes[i]]
	}
	return c.codes[i]
}

func (c *column) word(i int) string { return c.words[c.code(i)] }

// ranks returns the places of the texts in order.
func (c *column) ranks() []int32 {
	sorted := make([]int32, len(c.words))
	for i := range sorted {
		sorted[i] = int32(i)
	}
	slices.SortFunc(sorted, func(a, b int32) int { return cmp.Compare(c.words[a], c.words[b]) })
	ranks := make([]int32, len(sorted))
	for rank, i := range sorted {
		ranks[i] = int32(rank)
	}
	return ranks
}

// add numbers a text.
func (c *column) add(s string) int32 {
	k, ok := c.lookup[s]
	if !ok {
		k = int32(len(c.words))
		c.words = append(c.words, s)
		c.lookup[s] = k
	}
	return k
}

func (x *index) column(name string) *column { return x.byName[name] }

// titled returns the column of a metric, or of a factor; nil if there is none. Its name is not always
// its title in the language: see name.
func (x *index) titled(title string, metric bool) *column {
	i := slices.IndexFunc(x.columns, func(c *column) bool {
		return c.title == title && c.metric == metric && (metric || c.item != nil)
	})
	if i < 0 {
		return nil
	}
	return x.columns[i]
}

func (x *index) addColumn(c *column) *column {
	x.columns = append(x.columns, c)
	x.name(c)
	return c
}

// name makes a column known by its name, which gets a number if another column has it: names of the
// program come first, then metrics.
func (x *index) name(c *column) {
	own := c.name
	for n := 2; x.byName[c.name] != nil; n++ {
		c.name = fmt.Sprint(own, "_", n)
	}
	x.byName[c.name] = c
}

func (x *index) addText(name, title string) *column {
	return x.addColumn(&column{name: name, title: title, lookup: map[string]int32{}, codes: make([]int32, 0, x.n)})
}

func (x *index) addNumbers(name, title string) *column { return x.addColumn(x.numbers(name, title)) }

func (x *index) numbers(name, title string) *column {
	c := &column{name: name, title: title, numbers: make([]float64, x.n)}
	for i := range c.numbers {
		c.numbers[i] = math.NaN()
	}
	return c
}

// buildIndex reads the trials with the places from up to but not including to.
func buildIndex(ctx context.Context, db *store.DB, run *store.Run, from, to int) (*index, error) {
	from, to = max(from, 0), min(to, run.Trials)
	x := &index{n: max(to-from, 0), byName: map[string]*column{}}
	item, arm, rep := x.addText("item", "Item"), x.addText("arm", "Arm"), x.addNumbers("rep", "Rep")
	outcome, reason := x.addText("outcome", "Outcome"), x.addText("reason", "Reason")
	calls, tokens := x.addNumbers("calls", "Calls"), x.addNumbers("tokens", "Tokens")
	cost, ms := x.addNumbers("cost", "Cost $"), x.addNumbers("ms", "ms")
	n := 0
	for r, err := range db.Rows(ctx, run, from, to) {
		if err != nil {
			return nil, err
		}
		if n == x.n { // the plan grew since the run was read
			break
		}
		x.ids = append(x.ids, r.ID)
		item.codes, arm.codes = append(item.codes, item.add(r.Trial.Item)), append(arm.codes, arm.add(r.Trial.Arm))
		rep.numbers[n] = float64(r.Trial.Replicate)
		outcome.codes = append(outcome.codes, outcome.add(cmp.Or(string(r.Kind), "pending")))
		reason.codes = append(reason.codes, reason.add(r.Reason))
		n++
	}
	x.n = n
	for e, err := range db.Efforts(ctx, run, from, from+n) {
		if err != nil {
			return nil, err
		}
		i := e.Place - from
		calls.numbers[i], ms.numbers[i] = float64(e.Calls), e.LatencyMS
		if e.Tokens != nil {
			tokens.numbers[i] = float64(*e.Tokens)
		}
		if e.CostUSD != nil {
			cost.numbers[i] = *e.CostUSD
		}
	}
	metrics := map[string]*column{}
	for s, err := range db.StoredScores(ctx, run, from, from+n) {
		if err != nil {
			return nil, err
		}
		i := s.Place - from
		err := store.ReadScores(s.Data, func(s eval.Score) {
			if s.Den == 0 {
				return
			}
			metric := s.Metric
			c := metrics[metric]
			if c == nil {
				c = x.numbers(identifier(metric), metric)
				c.metric = true
				metrics[metric], x.columns = c, append(x.columns, c)
			}
			c.addScore(i, s.Num, s.Den)
			c.units = c.units || s.Unit != ""
		})
		if err != nil {
			return nil, err
		}
	}
	for _, own := range []bool{true, false} { // a metric whose name is one of the language has it
		for _, metric := range slices.Sorted(maps.Keys(metrics)) { // not by scores, which change while a run grows
			if c := metrics[metric]; own == (c.name == c.title) {
				x.name(c)
			}
		}
	}
	for _, c := range metrics {
		for i := range c.den {
			c.numbers[i] /= c.den[i]
		}
	}
	for _, c := range x.columns {
		c.lookup = nil
	}
	return x, nil
}

// addScore adds a fraction to the sums of a trial.
func (c *column) addScore(i int, num, den float64) {
	first := math.IsNaN(c.numbers[i])
	if c.den == nil && (!first || den != 1) { // denominators are kept from here on
		c.den = make([]float64, len(c.numbers))
		for i, x := range c.numbers {
			if !math.IsNaN(x) {
				c.den[i] = 1
			}
		}
	}
	if first {
		c.numbers[i] = 0
	}
	c.numbers[i] += num
	if c.den != nil {
		c.den[i] += den
	}
}

// changedItem is the value of every factor of an item that is not what it was.
const changedItem = "(changed)"

// addStrata adds the factors of items, which only the study knows.
func (x *index) addStrata(items []eval.Item) {
	item := x.column("item")
	byID := map[string]eval.Item{}
	var factors []string
	for _, it := range items {
		byID[it.ID] = it
		for _, l := range it.Strata {
			if !slices.Contains(factors, l.Name) {
				factors = append(factors, l.Name)
			}
		}
	}
	if len(items) > 0 && items[0].Split != "" {
		factors = append(factors, "split")
	}
	for _, factor := range factors {
		c := x.addColumn(&column{name: identifier(factor), title: factor, item: item, lookup: map[string]int32{}})
		for _, id := range item.words {
			it, known := byID[id]
			value := eval.LevelOf(it.Strata, factor)
			if !known {
				value = changedItem
			}
			if value == "" && factor == "split" {
				value = it.Split
			}
			c.codes = append(c.codes, c.add(value))
		}
		c.lookup = nil
	}
}

// indexed is the index of a run in one state of the store.
type indexed struct {
	mu      sync.Mutex // held while a new index is built
	version int64
	trials  int
	study   *loaded // that its strata are of, nil for none
	built   time.Time

	last atomic.Pointer[index] // nil until the first is built
	used time.Time             // under the lock of the viewer
}

// manyTrials is the size of a run from which a page does not wait for the index, which
// takes about 17 µs a trial: the first one gets a page that says so, and later ones the
// index before.
const manyTrials = 200_000

// mostIndexed is how many trials the indexes in memory have together, at about 170 bytes
// each. The newest is kept in any case.
const mostIndexed = 2_000_000

// A building error says that the index of a large run is not ready.
type building struct{ trials int }

func (b building) Error() string {
	return fmt.Sprintf("The list of %s is prepared for filters. This page loads again by itself.", text.Plural(b.trials, "trial", "trials"))
}

// indexSoon is index, but does not wait for that of a large run.
func (v *Viewer) indexSoon(ctx context.Context, run *store.Run) (*index, error) {
	if run.Trials < v.many {
		return v.index(ctx, run)
	}
	x, _ := v.ready(run)
	if x == nil {
		return nil, building{run.Trials}
	}
	return x, nil
}

// forget drops the indexes that were not used for longest, so that one of a run fits. The
// caller holds the lock of the viewer.
func (v *Viewer) forget(run *store.Run) {
	for {
		total, oldest := run.Trials, ""
		for id, held := range v.indexes {
			x := held.last.Load()
			if id == run.ID || x == nil {
				continue
			}
			total += x.n
			if oldest == "" || held.used.Before(v.indexes[oldest].used) {
				oldest = id
			}
		}
		if total <= v.most || oldest == "" {
			return
		}
		delete(v.indexes, oldest)
	}
}

// freshFor is how long an index is used at least: a run may change many times a second.
const freshFor = 3 * time.Second

// index returns the index of a run, built again if the store or the study changed.
func (v *Viewer) index(ctx context.Context, run *store.Run) (*index, error) {
	v.mu.Lock()
	held := v.indexes[run.ID]
	if held == nil {
		v.forget(run)
		held = &indexed{}
		v.indexes[run.ID] = held
	}
	held.used = time.Now()
	v.mu.Unlock()
	held.mu.Lock()
	defer held.mu.Unlock()
	version, l, err := v.basis(ctx, run)
	if err != nil {
		return nil, err
	}
	if held.isOf(version, run, l) || time.Since(held.built) < freshFor {
		return held.last.Load(), nil
	}
	// The work is of use to others if this request ends.
	x, err := buildIndex(v.ctx, v.DB, run, 0, run.Trials)
	if err != nil {
		return nil, err
	}
	if l != nil {
		x.addStrata(l.items)
	} else {
		x.lacks = v.study(run).err
	}
	held.version, held.trials, held.study, held.built = version, run.Trials, l, time.Now()
	held.last.Store(x)
	return x, nil
}

// basis is what an index of a run is made of: a state of the store, and the study, nil for none.
func (v *Viewer) basis(ctx context.Context, run *store.Run) (version int64, l *loaded, err error) {
	if version, err = v.version(ctx); err != nil {
		return 0, nil, err
	}
	if l = v.study(run); l.err != nil {
		l = nil
	}
	return version, l, nil
}

func (x *indexed) isOf(version int64, run *store.Run, l *loaded) bool {
	return x.last.Load() != nil && x.version == version && x.trials == run.Trials && x.study == l
}

// ready returns the newest index of a run, nil before the first, and whether it is up to date. If it
// is not, ready begins to build the next.
func (v *Viewer) ready(run *store.Run) (x *index, current bool) {
	v.mu.Lock()
	held := v.indexes[run.ID]
	v.mu.Unlock()
	if held != nil {
		x = held.last.Load()
		if !held.mu.TryLock() {
			return x, false // it is being built
		}
		version, l, err := v.basis(v.ctx, run)
		x, current = held.last.Load(), err == nil && held.isOf(version, run, l)
		held.mu.Unlock()
	}
	if !current {
		go func() { _, _ = v.index(v.ctx, run) }() // an error comes again with the first filter
	}
	return x, current
}

// longestFilter limits the text of a filter in bytes.
const longestFilter = 4000

// compile checks a filter, which is a condition on trials in the language of rules, and finds the columns
// that it reads. The names are the columns of the index and nothing else; the only function is missing.
// The error names what is wrong and what there is.
func (x *index) compile(q string) (program *vm.Program, reads []*column, err error) {
	if len(q) > longestFilter {
		return nil, nil, bad("the filter has %d bytes, the limit is %d", len(q), longestFilter)
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
	program, err = expr.Compile(q, expr.Env(env), expr.AsBool(), expr.DisableAllBuiltins(), expr.MaxNodes(500), expr.Patch(seen),
		expr.Function("missing", func(args ...any) (any, error) {
			n, ok := args[0].(float64)
			return ok && math.IsNaN(n), nil
		}, new(func(float64) bool)))
	if err != nil {
		var known []string
		for _, c := range x.columns {
			known = append(known, c.name)
		}
		if x.lacks != nil {
			err = fmt.Errorf("%w\nStrata are unknown, because the study or its data changed: %w", err, x.lacks)
		}
		return nil, nil, bad("filter: %v\nThe names are %s. Example: arm == %q && outcome != \"ok\"", err, strings.Join(known, ", "), "a")
	}
	for _, c := range x.columns {
		if slices.Contains(seen.list, c.name) {
			reads = append(reads, c)
		}
	}
	return program, reads, nil
}

// names collects the identifiers of an expression.
type names struct{ list []string }

func (n *names) Visit(node *ast.Node) {
	if id, ok := (*node).(*ast.IdentifierNode); ok {
		n.list = append(n.list, id.Value)
	}
}

// selected returns the rows for which a filter holds.
func (x *index) selected(ctx context.Context, q string) ([]int32, error) {
	program, reads, err := x.compile(q)
	if err != nil {
		return nil, err
	}
	env := make(map[string]any, len(reads))
	var machine vm.VM
	var list []int32
	// Values of text are boxed once, not for every row.
	boxed := make([][]any, len(reads))
	for k, c := range reads {
		for _, s := range c.words {
			boxed[k] = append(boxed[k], s)
		}
	}
	for i := range x.n {
		if i%4096 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		for k, c := range reads {
			if c.text() {
				env[c.name] = boxed[k][c.code(i)]
			} else {
				env[c.name] = c.numbers[i]
			}
		}
		holds, err := machine.Run(program, env)
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

// terms are the conditions that a filter joins by its outer conjunctions. alone is false of one
// that needs brackets beside another.
func terms(q string) (list []string, alone bool) {
	tree, err := parser.Parse(q)
	if err != nil {
		if q = strings.TrimSpace(q); q != "" {
			list = []string{q}
		}
		return list, false
	}
	var add func(n ast.Node)
	add = func(n ast.Node) {
		if b, ok := n.(*ast.BinaryNode); ok && (b.Operator == "&&" || b.Operator == "and") {
			add(b.Left)
			add(b.Right)
			return
		}
		term := n.String()
		if loose(n) {
			term = "(" + term + ")"
		}
		list = append(list, term)
	}
	if add(tree.Node); len(list) == 1 {
		list[0] = strings.TrimSpace(q)
	}
	return list, !loose(tree.Node)
}

// loose reports whether an expression binds less than a conjunction.
func loose(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BinaryNode:
		return n.Operator == "||" || n.Operator == "or"
	case *ast.ConditionalNode, *ast.VariableDeclaratorNode, *ast.SequenceNode:
		return true
	}
	return false
}

// with adds a condition to a filter.
func with(q, term string) string {
	list, alone := terms(q)
	switch {
	case len(list) == 0:
		return term
	case !alone:
		return "(" + q + ") && " + term
	case slices.Contains(list, term):
		return q
	}
	return q + " && " + term
}

// without removes the k-th condition.
func without(q string, k int) string {
	list, _ := terms(q)
	return strings.Join(slices.Delete(list, k, k+1), " && ")
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
		var err error
		if rows, err = x.selected(ctx, q); err != nil {
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
		if order := cmp.Compare(a.key, b.key); order != 0 {
			return order
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
