package given

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/effort"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/table"
	"github.com/scruple-eval/scruple/internal/text"
)

// An item is what the table says of an item, with its trials by arm and replicate.
type item struct {
	id             string
	texts          [4]string // by itemColumns
	strata, others []eval.Level
	trials         []*trial // by cell
	has            []bool   // by metric: whether it applies
	line           int
}

var itemColumns = [4]string{"input", "expected", "cluster", "split"}

// The places of itemColumns.
const (
	input = iota
	expected
	cluster
	split
)

// A cell is an arm, by the index in the study, and a replicate from 1.
type cell struct{ arm, replicate int }

func (c cell) compare(d cell) int {
	return cmp.Or(cmp.Compare(c.arm, d.arm), cmp.Compare(c.replicate, d.replicate))
}

// A trial is what the table says of one answer. There may be millions.
type trial struct {
	cell
	line   int // of its row, unless each score has one
	answer string
	scores []float64 // by metric; NaN is unscored
	*more
}

// more is what tables say of few trials: one value of all others says that there is no more.
type more struct {
	failed   string
	unscored []string  // why there is no score, by metric
	took     []float64 // by effort.Columns; NaN is unknown
}

// of returns a trial of an item; nil if there is none.
func (it *item) of(c cell) *trial {
	if i, ok := slices.BinarySearchFunc(it.trials, c, (*trial).compareTo); ok {
		return it.trials[i]
	}
	return nil
}

func (t *trial) compareTo(c cell) int { return t.compare(c) }

// A reader reads the rows of a table into items.
type reader struct {
	*bench
	s      *Study
	t      *table.Table
	known  *table.Columns
	errs   *study.Errors
	list   []*item
	byID   map[string]*item
	values map[string]int   // arms by the value of the column arm
	lines  map[*trial][]int // of scores by metric, of a table with a row for each
	none   *more
	// most is the highest replicate, and beyond counts the trials that the study leaves out.
	most, beyond int
}

// wide reports whether each arm has a column.
func wide(arms []Arm) bool {
	return slices.ContainsFunc(arms, func(a Arm) bool { return a.Column != "" })
}

func (b *bench) load(f *study.File, s *Study, errs *study.Errors) {
	r := &reader{bench: b, s: s, errs: errs, byID: map[string]*item{}, values: map[string]int{}, lines: map[*trial][]int{}}
	names, keys := slices.Clone(columns), []string{"arm", "cluster", "split", "error", "unscored", "metric"}
	for _, m := range b.metrics {
		names, keys = append(names, UnscoredPrefix+m.Name), append(keys, UnscoredPrefix+m.Name)
	}
	for _, m := range b.metrics {
		if slices.Contains(names, m.Name) {
			errs.Add(f.Errorf("metrics.own", "a metric cannot be called %q: the column has a meaning", m.Name))
			return
		}
		names = append(names, m.Name)
	}
	for _, a := range s.Arms {
		names = append(names, a.Column)
	}
	names = slices.DeleteFunc(append(names, theScore.Name), func(name string) bool { return name == "" })
	var ok bool
	if r.t, r.known, ok = kit.ReadTable(f, kit.TableKeys{Key: "data", Path: s.Data.Path, Columns: names, Names: keys, Renamed: s.Data.Columns, Strata: s.Data.Strata}, errs); !ok || !r.shaped() {
		return
	}
	r.none = &more{unscored: make([]string, len(r.metrics)), took: unknown(len(effort.Columns()))}
	b.Note(kit.OtherColumns(r.known, s.Data.Strata)...)
	if r.known.Has(theScore.Name) && !r.known.Has("metric") && !slices.ContainsFunc(b.metrics, func(m study.Metric) bool { return m.Name == theScore.Name }) {
		b.Note(fmt.Sprintf("%s: column score is left out: metrics.own does not name it", r.t.File))
	}
	for i, row := range r.t.Rows {
		r.row(row)
		r.t.Rows[i] = table.Row{} // what is kept takes its room
	}
	r.applied()
	if b.Fill(r.list, (*item).item); len(r.list) == 0 && errs.Err() == nil {
		errs.Add(fmt.Errorf("%s has no scores", r.t.File))
	}
	if r.beyond > 0 {
		r.Warn("%s: %s of replicates above execution.replicates, which is %d: write execution: {replicates: %d} to use all", r.t.File, text.Plural(r.beyond, "trial is left out, one", "trials are left out, those"), s.Execution.Replicates, r.most)
	}
}

// shaped makes the arms of the study, and reports columns that are needed and not there.
func (r *reader) shaped() bool {
	fault := func(format string, args ...any) bool {
		r.errs.Add(fmt.Errorf("%s: %s; the columns are %s", r.t.File, fmt.Sprintf(format, args...), text.Shorten(strings.Join(r.t.Header, ", "), 400)))
		return false
	}
	has := r.known.Has
	if r.s.Scorer != nil && !has("metric") && !wide(r.s.Arms) { // it gives the others
		r.metrics = slices.DeleteFunc(slices.Clone(r.metrics), func(m study.Metric) bool { return !has(m.Name) })
	}
	for i, a := range r.s.Arms {
		switch {
		case r.arm(a.Name, cmp.Or(a.Value, a.Column, a.Name)) != i:
			return fault("duplicate value or column of arm %s", a.Name)
		case (a.Column != "") != wide(r.s.Arms):
			return fault("arm %s has no column, and others do: give each arm one, or none", a.Name)
		case a.Column != "" && !has(a.Column):
			return fault("no column %q of arm %s", a.Column, a.Name)
		}
	}
	switch {
	case !has("item") && !has("input"):
		return fault("no column %q: name the column that says which item a row is about in data.columns, as in {item: NAME}", "item")
	case wide(r.s.Arms) && len(r.metrics) != 1:
		return fault("a table with a column for each arm has one metric, and metrics.own has %d", len(r.metrics))
	case wide(r.s.Arms):
		for _, column := range append(effort.Columns(), "answer", "error", "unscored", UnscoredPrefix+r.metrics[0].Name) {
			if len(r.s.Arms) > 1 && has(column) {
				return fault("column %q of a table with a column for each arm would be of all arms: rename it, or write a row for each answer", column)
			}
		}
		return true
	case !has("arm") && len(r.s.Arms) != 1:
		return fault("no column %q: name it in data.columns, as in {arm: NAME}, or give each arm its column, as in arms: [{name: a, column: NAME}, …]", "arm")
	case has("metric"):
		return has(theScore.Name) || fault("a column %q and no column %q with the number", "metric", theScore.Name)
	}
	for _, m := range r.metrics {
		if !has(m.Name) {
			return fault("no column %q: declare the metrics of the table in metrics.own, as in {name: NAME, min: 0, max: 1}", m.Name)
		}
	}
	return true
}

// arm finds or makes the arm of a value of the column arm.
func (r *reader) arm(name, value string) int {
	i, ok := r.values[value]
	if !ok {
		i = len(r.values)
		r.values[value] = i
		made := &arm{Arm: kit.Local(eval.RoleArm, "given", value), n: i}
		made.Given = true
		made.ID = name
		r.Add("arm", value, made)
	}
	return i
}

// row reads one row.
func (r *reader) row(row table.Row) {
	fault := func(column, format string, args ...any) { r.errs.Add(r.known.Errorf(row, column, format, args...)) }
	cellOf := func(column string) string { return strings.TrimSpace(r.known.Text(row, column)) }
	it := r.item(row)
	if it == nil {
		return
	}
	replicate, err := strconv.Atoi(cmp.Or(cellOf("replicate"), "1"))
	if err != nil || replicate < 1 {
		fault("replicate", "replicate %q: want a whole number from 1", cellOf("replicate"))
		return
	}
	if wide(r.s.Arms) {
		for i, a := range r.s.Arms {
			t := r.trial(row, it, cell{i, replicate})
			r.score(row, t, 0, a.Column, &t.line)
		}
		return
	}
	arm, value := 0, cellOf("arm")
	if r.known.Has("arm") {
		_, known := r.values[value]
		switch {
		case value == "":
			fault("arm", "the arm is missing")
			return
		case !known && len(r.s.Arms) > 0:
			r.left[value]++
			return
		}
		arm = r.arm(armID(value), value)
	}
	t := r.trial(row, it, cell{arm, replicate})
	if !r.known.Has("metric") {
		if t.line > 0 {
			fault("item", "duplicate row of item %s, arm %s, replicate %d, also in line %d: number them in a column replicate", it.id, r.OwnArms[arm].ID, replicate, t.line)
			return
		}
		t.line = row.Line
		for m := range r.metrics {
			r.score(row, t, m, r.metrics[m].Name, new(int))
		}
		return
	}
	metric := cellOf("metric")
	switch m := slices.IndexFunc(r.metrics, func(m study.Metric) bool { return m.Name == metric }); {
	case m >= 0:
		if r.lines[t] == nil {
			r.lines[t] = make([]int, len(r.metrics))
		}
		r.score(row, t, m, theScore.Name, &r.lines[t][m])
	case len(r.s.Metrics.Own) > 0:
		r.left["metric "+metric]++
	default:
		fault("metric", "metric %q: declare the metrics of the table in metrics.own", metric)
	}
}

// item finds or makes the item of a row; nil after an error.
func (r *reader) item(row table.Row) *item {
	cellOf := func(column string) string { return strings.TrimSpace(r.known.Text(row, column)) }
	is := &item{id: strings.TrimSpace(r.known.ID(row, "item")), line: row.Line}
	for i, column := range itemColumns {
		is.texts[i] = cellOf(column)
	}
	if is.id == "" && !table.Gap(is.texts[input]) {
		is.id = "i-" + kit.Hash(is.texts[input]).String()
	}
	fault := func(column, format string, args ...any) *item {
		r.errs.Add(r.known.Errorf(row, column, format, args...))
		return nil
	}
	if s := is.texts[split]; is.id == "" {
		return fault("item", "the item is missing")
	} else if s != "" && s != study.SplitDev && s != study.SplitTest {
		return fault("split", "split %q: want dev or test; {split: ''} in data.columns says that it is something else", s)
	}
	is.strata, is.others = kit.SplitColumns(r.known.Others(row), r.s.Data.Strata)
	was := r.byID[is.id]
	if was == nil {
		r.byID[is.id], r.list = is, append(r.list, is)
		return is
	}
	for i, column := range itemColumns {
		if was.texts[i] = cmp.Or(was.texts[i], is.texts[i]); is.texts[i] != "" && is.texts[i] != was.texts[i] {
			return fault(column, "item %s has another %s than in line %d: an item is the same for all arms", is.id, column, was.line)
		}
	}
	for _, l := range is.strata {
		if before := eval.LevelOf(was.strata, l.Name); before == "" {
			was.strata = append(was.strata, l)
		} else if before != l.Value {
			return fault("item", "item %s has %s %q, and %q in line %d: a stratum is one of items, the same for all arms", is.id, l.Name, l.Value, before, was.line)
		}
	}
	return was
}

// trial finds or makes a trial, and reads what the row says of it beside scores.
func (r *reader) trial(row table.Row, it *item, c cell) *trial {
	cellOf := func(column, was string) string { return cmp.Or(strings.TrimSpace(r.known.Text(row, column)), was) }
	at, ok := slices.BinarySearchFunc(it.trials, c, (*trial).compareTo)
	if !ok {
		it.trials = slices.Insert(it.trials, at, &trial{cell: c, scores: unknown(len(r.metrics)), more: r.none})
		if r.most = max(r.most, c.replicate); c.replicate > r.s.Execution.Replicates {
			r.beyond++
		}
	}
	t := it.trials[at]
	t.answer = strings.Clone(cellOf("answer", t.answer)) // not the whole row
	switch s := strings.ToLower(cellOf("simulated", "")); s {
	case "", "false", "no", "0":
	case "true", "yes", "1":
		r.OwnArms[c.arm].Simulated = true
	default:
		r.errs.Add(r.known.Errorf(row, "simulated", "simulated %q: want true or false", s))
	}
	if failed := cellOf("error", t.failed); failed != t.failed {
		r.says(t).failed = strings.Clone(failed)
	}
	for i, column := range effort.Columns() {
		if s := cellOf(column, ""); s != "" {
			x, err := strconv.ParseFloat(s, 64)
			if err != nil || !(x >= 0 && x <= study.MostScore) {
				r.errs.Add(r.known.Errorf(row, column, "%s %q: want a number of at least 0 and at most %v", column, s, study.MostScore))
			}
			r.says(t).took[i] = x
		}
	}
	return t
}

// says is more of a trial, to be written.
func (r *reader) says(t *trial) *more {
	if t.more == r.none {
		t.more = &more{unscored: slices.Clone(r.none.unscored), took: slices.Clone(r.none.took)}
	}
	return t.more
}

// score reads a score of a trial, or the reason for none. line is that of an earlier one, or 0.
func (r *reader) score(row table.Row, t *trial, metric int, column string, line *int) {
	x, err := kit.ParseScore(r.metrics[metric], r.known.Text(row, column))
	if err == nil && *line > 0 {
		err = fmt.Errorf("duplicate score, also in line %d: number them in a column replicate", *line)
	}
	if err != nil {
		r.errs.Add(r.known.Errorf(row, column, "%w", err))
		return
	}
	t.scores[metric], *line = x, row.Line
	if why := strings.TrimSpace(cmp.Or(r.known.Text(row, UnscoredPrefix+r.metrics[metric].Name), r.known.Text(row, "unscored"))); why != "" {
		r.says(t).unscored[metric] = strings.Clone(why)
	}
}

// applied finds which metrics each item has: those of which an arm has a score, or a reason
// for none.
func (r *reader) applied() {
	for m, metric := range r.metrics {
		none := 0
		for _, it := range r.list {
			has := false
			for _, t := range it.trials {
				has = has || !math.IsNaN(t.scores[m]) || t.unscored[m] != ""
			}
			if it.has = append(it.has, has); !has {
				none++
			}
		}
		if none > 0 {
			r.Note(fmt.Sprintf("%s: %s no %s for any arm and %s not count for it", r.t.File, text.Plural(none, "item has", "items have"), metric.Name, map[bool]string{true: "does", false: "do"}[none == 1]))
		}
	}
}

// unknown are numbers that are not known.
func unknown(n int) []float64 { return slices.Repeat([]float64{math.NaN()}, n) }

// item is the item for the plan.
func (it *item) item() eval.Item {
	return eval.Item{ID: it.id, Split: it.texts[split], Cluster: it.texts[cluster], Strata: it.strata,
		Input: kit.Hash(cmp.Or(it.texts[input], it.id)), Gold: kit.Hash("expected", it.texts[expected])}
}
