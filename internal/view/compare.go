package view

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/report"
	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/text"
)

// A side of a comparison.
type side struct {
	Run *store.Run
	Arm string
	x   *index
	// but are the items that the other run asked otherwise.
	but map[string]bool
}

// A sum adds up the scores of an item in an arm, those of all replicates.
type sum struct {
	num, den float64
	run      *store.Run
	ids      []int64 // of the trials, in plan order
	from, to int     // places in the plan between which these are
	units    bool    // see column
}

func (s sum) mean() float64 { return s.num / s.den }

// A match is an item with its scores on both sides.
type match struct {
	item  string
	a, b  *sum
	worse int // 1: a is worse, -1: b is, 0: equal
}

func (m match) diff() float64 { return m.a.mean() - m.b.mean() }

// matches pairs the items of two arms.
type matches struct {
	list []match
	record
	Without int // items that only one side has a score of
}

// A record counts what the first side wins, ties and loses.
type record struct{ Wins, Ties, Losses int }

func (r *record) add(worse int) {
	*[]*int{&r.Wins, &r.Ties, &r.Losses}[worse+1]++
}

// Of is how many items are compared, at least 1 for a bar.
func (m matches) Of() int { return max(1, len(m.list)) }

const noise = 1e-9

// worse compares two scores: 1 if a is worse than b, -1 if it is better.
func worse(a, b float64, higher bool) int {
	switch d := a - b; {
	case math.Abs(d) < noise:
		return 0
	case (d > 0) == higher:
		return -1
	}
	return 1
}

// rows are those of the arm that a filter selects.
func (s side) rows(ctx context.Context, q string) ([]int32, error) {
	rows, err := s.x.order(ctx, q, "")
	if err != nil {
		return nil, err
	}
	arm := s.x.column("arm")
	wanted := slices.Index(arm.words, s.Arm)
	if wanted < 0 {
		return nil, bad("run %s has no arm %q; its arms are %s", s.Run.ID, s.Arm, strings.Join(arm.words, ", "))
	}
	item := s.x.column("item")
	return slices.DeleteFunc(slices.Clone(rows), func(i int32) bool {
		return int(arm.codes[i]) != wanted || len(s.but) > 0 && s.but[item.word(int(i))]
	}), nil
}

// sums adds up the scores of each item in some rows.
func (s side) sums(rows []int32, metric string) (map[string]*sum, error) {
	item, c := s.x.column("item"), s.x.titled(metric, true)
	switch {
	case !slices.ContainsFunc(s.x.columns, func(c *column) bool { return c.metric }):
		return nil, bad("run %s has no scores yet", s.Run.ID)
	case c == nil:
		return nil, bad("run %s has no scores of a metric %q", s.Run.ID, metric)
	}
	items := map[string]*sum{}
	for _, i := range rows {
		m := items[item.word(int(i))]
		if m == nil {
			m = &sum{run: s.Run, from: int(i), units: c.units}
			items[item.word(int(i))] = m
		}
		m.ids, m.to = append(m.ids, s.x.ids[i]), int(i)+1
		if x := c.numbers[i]; !math.IsNaN(x) {
			den := 1.0
			if c.den != nil {
				den = c.den[i]
			}
			m.num, m.den = m.num+x*den, m.den+den
		}
	}
	return items, nil
}

// pair joins the sums of two sides.
func pair(a, b map[string]*sum, higher bool) matches {
	var m matches
	for id, x := range a {
		y := b[id]
		if y == nil || x.den == 0 || y.den == 0 {
			m.Without++
			continue
		}
		p := match{id, x, y, worse(x.mean(), y.mean(), higher)}
		m.add(p.worse)
		m.list = append(m.list, p)
	}
	for id := range b {
		if a[id] == nil {
			m.Without++
		}
	}
	return m
}

// arrange sorts items by "item", "a", "b" or "diff"; a minus sign before it turns the order.
// By default the largest losses of the first side come first.
func arrange(list []match, by string, higher bool) error {
	if by == "" {
		if by = "diff"; !higher {
			by = "-diff"
		}
	}
	name, down := strings.CutPrefix(by, "-")
	key := map[string]func(match) float64{
		"item": func(match) float64 { return 0 },
		"a":    func(m match) float64 { return m.a.mean() }, "b": func(m match) float64 { return m.b.mean() }, "diff": match.diff,
	}[name]
	if key == nil {
		return bad("sort: no column %q; the columns are item, a, b and diff", name)
	}
	sign := 1
	if down {
		sign = -1
	}
	slices.SortFunc(list, func(x, y match) int {
		if name == "item" {
			return sign * cmp.Compare(x.item, y.item)
		}
		return cmp.Or(sign*cmp.Compare(key(x), key(y)), cmp.Compare(x.item, y.item))
	})
	return nil
}

// A contest is what the address of a comparison says.
type contest struct {
	state
	A, B   side
	metric analyse.Metric
	known  []analyse.Metric
	All    string // not empty: equal items too
	Better string // what a side is that is ahead: "better" or, where it is not known whether that is better, "higher"
	// Reworded counts the items whose input or gold differs between the runs.
	Reworded int
}

// contest reads the address of a comparison. Without arms it takes those that the study
// compares first.
func (v *Viewer) contest(r *request) (c contest, err error) {
	if c.state, err = stateOf(r); err != nil {
		return c, err
	}
	for _, s := range []struct {
		to       *side
		run, arm string
	}{{&c.A, "r", "a"}, {&c.B, "s", "b"}} {
		id := cmp.Or(r.param(s.run), r.param("r"))
		if s.to.Run, err = v.DB.Run(r.Context(), id); err == nil {
			err = experiment.CheckShown(r.Context(), v.DB, s.to.Run)
		}
		if err == nil {
			s.to.x, err = v.indexSoon(r.Context(), s.to.Run)
		}
		if err != nil {
			return c, err
		}
		s.to.Arm = r.param(s.arm)
	}
	of := c.B.Arm
	if c.A.Run.ID != c.B.Run.ID {
		c.A.Arm, of = cmp.Or(c.A.Arm, c.B.Arm), ""
	}
	compared := v.opponents(r.Context(), c.A, c.A.Arm, of)
	if c.A.Arm = compared.A; c.A.Run.ID == c.B.Run.ID {
		c.B.Arm = compared.B
	} else {
		c.B.Arm = cmp.Or(c.B.Arm, c.A.Arm)
		if c.Reworded, err = v.reworded(r.Context(), &c.A, &c.B); err != nil {
			return c, err
		}
	}
	r.run = c.A.Run
	r.study(v, c.B.Run) // for what changed since
	c.metric, c.known = v.metric(r, c.A, r.param("metric"), compared.Metrics...)
	if c.Better = "better"; c.metric.NoDirection {
		c.Better, c.metric.HigherIsBetter = "higher", true // in this order
	}
	c.All = r.param("all")
	return c, nil
}

// reworded leaves out of two runs the items that they asked or scored otherwise, and counts them.
func (v *Viewer) reworded(ctx context.Context, a, b *side) (int, error) {
	items, err := v.DB.Items(ctx, a.Run)
	if err != nil {
		return 0, err
	}
	others, err := v.DB.Items(ctx, b.Run)
	but := map[string]bool{}
	asked, regraded := experiment.Differing(items, others)
	for _, id := range slices.Concat(asked, regraded) {
		but[id] = true
	}
	a.but, b.but = but, but
	return len(but), err
}

// opponents completes two arms of a run, of which one or both may be "": by the comparisons of its
// study, primary ones first, else by the arms in the order of the plan. The metrics are those of
// the comparison, if it names any.
func (v *Viewer) opponents(ctx context.Context, of side, a, b string) analyse.Pair {
	var pairs []analyse.Pair
	var order []string // calibration and baselines come last
	arms := of.x.column("arm").words
	if kept, err := v.analysis(ctx, of.Run); err == nil {
		for _, c := range kept.Analysis.Comparisons {
			pairs = append(pairs, analyse.Pair{A: c.A, B: c.B, Primary: c.Primary, Contrast: c.Contrast, Metrics: []string{c.Metric}})
		}
		for _, arm := range kept.Analysis.Arms {
			if arm.Role == eval.RoleArm {
				order = append(order, arm.ID)
			}
		}
	} else if l := v.study(of.Run); l.err == nil {
		pairs = slices.Clone(l.x.Pairs)
		for _, arm := range l.x.Bench.Arms() {
			if arm.Role == eval.RoleArm {
				order = append(order, arm.ID)
			}
		}
	}
	experiment.PrimaryFirst(pairs)
	order = append(order, arms...)
	for _, one := range order {
		for _, other := range order {
			pairs = append(pairs, analyse.Pair{A: one, B: other})
		}
	}
	for _, p := range pairs {
		switch {
		case p.A == p.B || !slices.Contains(arms, p.A) || !slices.Contains(arms, p.B):
		case (a == "" || a == p.A) && (b == "" || b == p.B):
			return p
		case (a == "" || a == p.B) && (b == "" || b == p.A):
			p.A, p.B = p.B, p.A
			return p
		}
	}
	return analyse.Pair{A: a, B: cmp.Or(b, a)} // unknown, or a run with one arm
}

// params are the parameters of an address of the comparison, or of one about it.
func (c contest) params(more ...string) []string {
	return append([]string{"r", c.A.Run.ID, "a", c.A.Arm, "s", c.B.Run.ID, "b", c.B.Arm, "metric", c.metric.Name, "q", c.q, "all", c.All, "sort", c.sort, "page", above(c.page, 1)}, more...)
}

// Tone is the colour of a difference on which A is worse or better.
func (c contest) Tone(worse int) string {
	if c.metric.NoDirection {
		return ""
	}
	return map[int]string{1: "bad", -1: "good"}[worse]
}

// list is the address of the list of the comparison in a state.
func (c contest) list(r *request, in state, more ...string) string {
	c.state = in
	return r.link([]string{"c"}, c.params(more...)...)
}

// find pairs the items that the filter selects, and lists those of the page in order.
func (c contest) find(ctx context.Context) (found matches, list []match, err error) {
	var sums [2]map[string]*sum
	for i, s := range []side{c.A, c.B} {
		rows, err := s.rows(ctx, c.q)
		if err != nil {
			return found, nil, err
		}
		if sums[i], err = s.sums(rows, c.metric.Name); err != nil {
			return found, nil, err
		}
	}
	found = pair(sums[0], sums[1], c.metric.HigherIsBetter)
	list = found.list
	if c.All == "" {
		list = slices.DeleteFunc(slices.Clone(list), func(m match) bool { return m.worse == 0 })
	}
	return found, list, arrange(list, c.sort, c.metric.HigherIsBetter)
}

// metric returns the metric to compare by: the given one, or the first that has scores, of those
// that are preferred or of all.
func (v *Viewer) metric(r *request, s side, name string, preferred ...string) (analyse.Metric, []analyse.Metric) {
	var known []analyse.Metric
	for _, m := range v.known(r, s.Run) {
		if s.x.titled(m.Name, true) != nil {
			known = append(known, m)
		}
	}
	if len(known) == 0 {
		for _, c := range s.x.columns {
			if c.metric {
				known = append(known, analyse.Metric{Name: c.title, Title: c.title, NoDirection: true})
			}
		}
	}
	for _, m := range known {
		if m.Name == name {
			return m, known
		}
	}
	if name != "" || len(known) == 0 {
		return analyse.Metric{Name: name, Title: name, NoDirection: true}, known
	}
	for _, name := range preferred {
		if i := slices.IndexFunc(known, func(m analyse.Metric) bool { return m.Name == name }); i >= 0 {
			return known[i], known
		}
	}
	return known[0], known
}

// A compared item.
type compared struct {
	Item, A, B, Delta, Tone string
	Changed                 []string
	Href                    string
}

// A total counts the items on which the sides differ by a unit.
type total struct {
	Unit string
	record
}

// A failing counts the trials of both sides with an outcome, or their units with a problem.
type failing struct {
	What string
	A, B int
}

// A failingTable is a table of what both sides have.
type failingTable struct {
	Title, Of, Head string
	List            []failing
}

// failings counts on both sides, by what is counted.
type failings map[string][2]int

func (f failings) add(what string, side, n int) {
	counts := f[what]
	counts[side] += n
	f[what] = counts
}

// list has the most frequent ones first, and then the others as one.
func (f failings) list() (list []failing) {
	for _, name := range slices.Sorted(maps.Keys(f)) {
		list = append(list, failing{name, f[name][0], f[name][1]})
	}
	slices.SortStableFunc(list, func(x, y failing) int { return cmp.Compare(y.A+y.B, x.A+x.B) })
	if n := len(list) - mostProblems; n > 0 {
		rest := failing{What: fmt.Sprintf("and %d more", n)}
		for _, f := range list[mostProblems:] {
			rest.A, rest.B = rest.A+f.A, rest.B+f.B
		}
		list = append(list[:mostProblems], rest)
	}
	return list
}

// compareData is the page of two arms.
type compareData struct {
	contest
	ArmsA, ArmsB, Runs []string
	Metric             string
	Metrics            []analyse.Metric
	Query, Sort, Wrong string
	Found              matches
	Heads              []head
	Rows               []compared
	Units              []total
	Count              string // address of the page with Units
	Failings           []failingTable
	Answer             template.HTML // of the analysis, with a note
	Note, Analyse      string
	pager
}

func (v *Viewer) comparePage(r *request) error {
	c, err := v.contest(r)
	if err != nil {
		return err
	}
	arms := func(s side) []string { return slices.Sorted(slices.Values(s.x.column("arm").words)) }
	data := compareData{ArmsA: arms(c.A), ArmsB: arms(c.B), Metric: c.metric.Name, Metrics: c.known, Query: c.q, Sort: c.sort}
	runs, err := v.DB.Runs(r.Context())
	if err != nil {
		return err
	}
	for _, run := range runs {
		if run.Suite == c.A.Run.Suite {
			data.Runs = append(data.Runs, run.ID)
		}
	}
	found, list, err := c.find(r.Context())
	if err != nil {
		if r.Context().Err() != nil {
			return err
		}
		data.Wrong = err.Error()
	}
	data.Found = found
	first := c.turn(len(list), comparedPerPage)
	data.contest, data.pager = c, newPager(c.page, len(list), comparedPerPage, func(page int) string { return c.list(r, c.at(page)) })
	for _, h := range [][2]string{{"item", "Item"}, {"a", "A"}, {"b", "B"}, {"diff", "A − B"}} {
		data.Heads = append(data.Heads, c.head(h[0], h[1], h[0] != "item", func(by state) string { return c.list(r, by) }))
	}
	for _, m := range list[first:min(first+comparedPerPage, len(list))] {
		row := compared{Item: m.item, A: number(m.a.mean()), B: number(m.b.mean()), Delta: signed(m.diff()), Tone: c.Tone(m.worse),
			Href: r.link([]string{"c", "item"}, c.params("item", m.item)...)}
		if m.worse != 0 {
			if row.Changed, err = v.changed(r.Context(), m, c.metric.Name); err != nil {
				return err
			}
		}
		data.Rows = append(data.Rows, row)
	}
	if data.Wrong != "" {
		return v.render(r, "compare", "Compare", data)
	}
	trials := len(found.list) * (c.A.Run.Replicates + c.B.Run.Replicates)
	if data.Failings, err = v.failings(r, c, trials <= mostCounted); err != nil {
		return err
	}
	if trials > mostCounted && r.param("units") == "" {
		data.Count = c.list(r, c.state, "units", "1")
	} else if data.Units, err = v.totals(r.Context(), found.list, c.metric); err != nil {
		return err
	}
	data.Answer, data.Note = v.answered(r, c.A, c.B, c.metric.Name)
	if c.A.Run.ID != c.B.Run.ID && r.param("analyse") == "" {
		data.Analyse = c.list(r, c.state, "analyse", "1")
	}
	return v.render(r, "compare", "Compare", data)
}

// comparedPerPage is how many items a page of a comparison has.
const comparedPerPage = 50

// mostCounted is the number of trials of which a page counts units without being asked, which
// takes about 5 µs a trial, and problems, which takes up to a millisecond.
const mostCounted = 500

// totals counts wins and losses by unit, those with most losses first.
func (v *Viewer) totals(ctx context.Context, list []match, metric analyse.Metric) ([]total, error) {
	var totals []total
	at := map[string]int{}
	for _, m := range list {
		units, err := v.units(ctx, m, metric.Name)
		if err != nil {
			return nil, err
		}
		for _, u := range units {
			if u.a.den == 0 || u.b.den == 0 {
				continue
			}
			if _, ok := at[u.name]; !ok {
				at[u.name] = len(totals)
				totals = append(totals, total{Unit: u.name})
			}
			totals[at[u.name]].add(worse(u.a.mean(), u.b.mean(), metric.HigherIsBetter))
		}
	}
	slices.SortStableFunc(totals, func(x, y total) int { return cmp.Or(cmp.Compare(y.Losses, x.Losses), cmp.Compare(y.Wins, x.Wins)) })
	return totals, nil
}

// failings counts the trials of both sides by outcome, if any is not ok, and if it is asked for
// their units by what is wrong with them.
func (v *Viewer) failings(r *request, c contest, units bool) (tables []failingTable, err error) {
	by, with := failings{}, failings{}
	for k, s := range []side{c.A, c.B} {
		rows, err := s.rows(r.Context(), c.q)
		if err != nil {
			return nil, err
		}
		outcome, reason := s.x.column("outcome"), s.x.column("reason")
		l := r.study(v, s.Run)
		counts, shown := map[[2]string]int{}, units && l.err == nil
		for _, i := range rows {
			counts[[2]string{outcome.word(int(i)), reason.word(int(i))}]++
			if !shown || l.gold[s.x.trial(i).Item] { // its problems are not those of its score
				continue
			}
			if x, err := v.exhibit(r, s.Run, s.x.trial(i)); err == nil {
				for _, row := range x.Rows {
					if row.Note != "" {
						with.add(text.Shorten(say.PlainLine(row.Note), longestProblem), k, 1)
					}
				}
			}
		}
		for what, n := range counts {
			by.add(strings.TrimSuffix(what[0]+": "+what[1], ": "), k, n)
		}
	}
	if _, ok := by[string(eval.OK)]; ok && len(by) == 1 {
		by = nil
	}
	for _, t := range []failingTable{{"By problem", "units of answers", "Problem", with.list()}, {"By outcome", "trials", "Outcome", by.list()}} {
		if len(t.List) > 0 {
			tables = append(tables, t)
		}
	}
	return tables, nil
}

// mostProblems is how many problems a comparison lists, and longestProblem the characters of one.
const mostProblems, longestProblem = 10, 60

// answered returns what the analysis says of two arms, or why it says nothing.
func (v *Viewer) answered(r *request, a, b side, metric string) (template.HTML, string) {
	if a.Run.ID == b.Run.ID {
		kept, err := v.analysis(r.Context(), a.Run)
		if err != nil {
			return "", err.Error()
		}
		said, err := report.Compared(kept.Analysis, a.Arm, b.Arm, metric)
		if err != nil || said == "" {
			return "", "The study does not compare these arms by this metric, so there is no interval: list them under comparisons in the study file."
		}
		return said, ""
	}
	if r.param("analyse") == "" {
		return "", "Different runs: no test was planned, so none is shown."
	}
	older, newer := b, a
	if b.Run.N > a.Run.N {
		older, newer = a, b
	}
	l := r.study(v, newer.Run)
	if l.err != nil {
		return "", "The runs cannot be analysed together: " + l.err.Error()
	}
	found, err := l.x.CompareRuns(r.Context(), experiment.Side{DB: v.DB, Run: older.Run, Arm: older.Arm}, experiment.Side{DB: v.DB, Run: newer.Run, Arm: newer.Arm})
	if err != nil {
		return "", err.Error()
	}
	for i := range found.Comparisons { // an interval describes, a test was not planned
		c := &found.Comparisons[i]
		c.P, c.PAdjusted, c.Beside = analyse.Undefined(), analyse.Undefined(), nil
	}
	said, err := report.Compared(found, a.Run.ID+":"+a.Arm, b.Run.ID+":"+b.Arm, metric)
	if err != nil {
		return "", err.Error()
	}
	return said, strings.Join(found.Warnings, "; ")
}

// A unitMatch is a unit of an item with its scores on both sides.
type unitMatch struct {
	name string
	a, b sum
}

// units lists the units of an item that have names.
func (v *Viewer) units(ctx context.Context, m match, metric string) (list []unitMatch, err error) {
	if !m.a.units && !m.b.units {
		return nil, nil
	}
	at := map[string]int{} // in list
	for _, of := range []*sum{m.a, m.b} {
		selected := map[int64]bool{}
		for _, id := range of.ids {
			selected[id] = true
		}
		for stored, err := range v.DB.StoredScores(ctx, of.run, of.from, of.to) {
			if err == nil && selected[stored.ID] {
				err = store.ReadScores(stored.Data, func(s eval.Score) {
					if s.Metric != metric || s.Unit == "" || s.Unscored != "" || s.Row != nil {
						return
					}
					k, known := at[s.Unit]
					if !known {
						k = len(list)
						at[s.Unit] = k
						list = append(list, unitMatch{name: s.Unit})
					}
					to := &list[k].a
					if of == m.b {
						to = &list[k].b
					}
					to.num, to.den = to.num+s.Num, to.den+s.Den
				})
			}
			if err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// changed lists the units of an item whose means differ, from b to a.
func (v *Viewer) changed(ctx context.Context, m match, metric string) (list []string, err error) {
	const most = 8
	said := func(s sum) string { return number(s.mean()) } // a dash without a score
	units, err := v.units(ctx, m, metric)
	for _, u := range units {
		switch {
		case said(u.a) == said(u.b):
		case len(list) == most:
			return append(list, "…"), nil
		default:
			list = append(list, u.name+" "+said(u.b)+" → "+said(u.a))
		}
	}
	return list, err
}
