package view

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/report"
	"github.com/scruple-eval/scruple/internal/store"
)

// A side of a comparison.
type side struct {
	Run *store.Run
	Arm string
	x   *index
}

// A match is an item with its scores on both sides: the means of its replicates.
type match struct {
	item     string
	a, b     float64
	idA, idB int64 // of the first trial of each
	worse    int   // 1: a is worse, -1: b is, 0: equal
}

// matches pairs the items of two arms.
type matches struct {
	list               []match
	Wins, Ties, Losses int // of the first side
	Without            int // items that only one side has a score of
}

// Of is how many items are compared, at least 1 for a bar.
func (m matches) Of() int { return max(1, len(m.list)) }

const noise = 1e-9

// sums adds up the scores of each item of an arm, of the rows that a filter selects.
func (s side) sums(ctx context.Context, metric, q string) (map[string]*match, error) {
	rows, err := s.x.order(ctx, q, "")
	if err != nil {
		return nil, err
	}
	item, arm, c := s.x.column("item"), s.x.column("arm"), s.x.column(metric)
	if c == nil || !c.metric {
		return nil, bad("run %s has no scores of a metric %q", s.Run.ID, metric)
	}
	wanted := slices.Index(arm.words, s.Arm)
	if wanted < 0 {
		return nil, bad("run %s has no arm %q; its arms are %s", s.Run.ID, s.Arm, strings.Join(arm.words, ", "))
	}
	items := map[string]*match{}
	for _, i := range rows {
		if int(arm.codes[i]) != wanted {
			continue
		}
		m := items[item.word(int(i))]
		if m == nil {
			m = &match{item: item.word(int(i)), idA: s.x.ids[i]}
			items[m.item] = m
		}
		if x := c.numbers[i]; !math.IsNaN(x) {
			den := 1.0
			if c.den != nil {
				den = c.den[i]
			}
			m.a, m.b = m.a+x*den, m.b+den // the sums of both sides, until they are joined
		}
	}
	return items, nil
}

// pair joins the sums of two sides.
func pair(a, b map[string]*match, higher bool) matches {
	var m matches
	for id, x := range a {
		y := b[id]
		if y == nil || x.b == 0 || y.b == 0 {
			m.Without++
			continue
		}
		p := match{item: id, a: x.a / x.b, b: y.a / y.b, idA: x.idA, idB: y.idA}
		switch d := p.a - p.b; {
		case math.Abs(d) < noise:
			m.Ties++
		case (d > 0) == higher:
			p.worse = -1
			m.Wins++
		default:
			p.worse = 1
			m.Losses++
		}
		m.list = append(m.list, p)
	}
	for id := range b {
		if a[id] == nil {
			m.Without++
		}
	}
	// The largest losses of the first side come first.
	slices.SortFunc(m.list, func(x, y match) int {
		dx, dy := x.a-x.b, y.a-y.b
		if !higher {
			dx, dy = -dx, -dy
		}
		return cmp.Or(cmp.Compare(dx, dy), cmp.Compare(x.item, y.item))
	})
	return m
}

// sides reads the two sides from the address of a page.
func (v *Viewer) sides(r *request) (a, b side, err error) {
	for _, s := range []struct {
		to       *side
		run, arm string
	}{{&a, "r", "a"}, {&b, "s", "b"}} {
		id := cmp.Or(r.param(s.run), r.param("r"))
		if s.to.Run, err = v.shownRun(r.Context(), id); err != nil {
			return a, b, err
		}
		if s.to.x, err = v.indexSoon(r.Context(), s.to.Run); err != nil {
			return a, b, err
		}
		s.to.Arm = r.param(s.arm)
	}
	arms := a.x.column("arm").words
	if a.Arm == "" && len(arms) > 0 {
		a.Arm = arms[0]
	}
	if b.Arm == "" {
		b.Arm = a.Arm
		if i := slices.IndexFunc(b.x.column("arm").words, func(arm string) bool { return a.Run.ID != b.Run.ID || arm != a.Arm }); i >= 0 && a.Run.ID == b.Run.ID {
			b.Arm = b.x.column("arm").words[i]
		}
	}
	r.run = a.Run
	return a, b, nil
}

// metric returns the metric to compare by: the given one, or the first that has scores.
func (v *Viewer) metric(ctx context.Context, s side, name string) (analyse.Metric, []analyse.Metric) {
	var known []analyse.Metric
	for _, m := range v.metrics(ctx, s.Run) {
		if c := s.x.column(identifier(m.Name)); c != nil && c.metric {
			known = append(known, m)
		}
	}
	if len(known) == 0 {
		for _, c := range s.x.columns {
			if c.metric {
				known = append(known, analyse.Metric{Name: c.title, Title: c.title, HigherIsBetter: true})
			}
		}
	}
	for _, m := range known {
		if m.Name == name {
			return m, known
		}
	}
	if name != "" || len(known) == 0 {
		return analyse.Metric{Name: name, Title: name, HigherIsBetter: true}, known
	}
	return known[0], known
}

// A compared item.
type compared struct {
	Item, A, B, Delta, Tone string
	Changed                 []string
	Href                    string
}

// compareData is the page of two arms.
type compareData struct {
	A, B               side
	ArmsA, ArmsB, Runs []string
	Metric             string
	Metrics            []analyse.Metric
	Query, All, Wrong  string
	Found              matches
	Rows               []compared
	Answer             template.HTML // of the analysis, with a note
	Note, Analyse      string
	pager
}

func (v *Viewer) comparePage(r *request) error {
	a, b, err := v.sides(r)
	if err != nil {
		return err
	}
	s, err := stateOf(r)
	if err != nil {
		return err
	}
	metric, known := v.metric(r.Context(), a, r.param("metric"))
	arms := func(s side) []string { return slices.Sorted(slices.Values(s.x.column("arm").words)) }
	data := compareData{A: a, B: b, ArmsA: arms(a), ArmsB: arms(b), Metric: metric.Name, Metrics: known, Query: s.q, All: r.param("all")}
	runs, err := v.DB.Runs(r.Context())
	if err != nil {
		return err
	}
	for _, run := range runs {
		if run.Suite == a.Run.Suite {
			data.Runs = append(data.Runs, run.ID)
		}
	}
	link := func(params ...string) string {
		return r.link([]string{"c"}, append([]string{"r", a.Run.ID, "a", a.Arm, "s", b.Run.ID, "b", b.Arm, "metric", metric.Name, "q", s.q, "all", data.All}, params...)...)
	}
	if data.Found, err = paired(r.Context(), a, b, metric, s.q); err != nil {
		data.Wrong = err.Error()
	}
	list := data.Found.list
	if data.All == "" {
		list = slices.DeleteFunc(slices.Clone(list), func(m match) bool { return m.worse == 0 })
	}
	first := s.turn(len(list), comparedPerPage)
	data.pager = newPager(s.page, len(list), comparedPerPage, func(page int) string { return link("page", strconv.Itoa(page)) })
	for _, m := range list[first:min(first+comparedPerPage, len(list))] {
		row := compared{Item: m.item, A: number(m.a), B: number(m.b), Delta: fmt.Sprintf("%+.3g", m.a-m.b), Tone: map[int]string{1: "bad", -1: "good"}[m.worse],
			Href: r.link([]string{"c", "item"}, "r", a.Run.ID, "s", b.Run.ID, "x", strconv.FormatInt(m.idA, 10), "y", strconv.FormatInt(m.idB, 10), "metric", metric.Name)}
		if m.worse != 0 {
			if row.Changed, err = v.flipped(r.Context(), m.idA, m.idB, metric.Name); err != nil {
				return err
			}
		}
		data.Rows = append(data.Rows, row)
	}
	if data.Wrong == "" {
		data.Answer, data.Note = v.answered(r, a, b, metric.Name)
		if a.Run.ID != b.Run.ID && r.param("analyse") == "" {
			data.Analyse = link("analyse", "1")
		}
	}
	return v.render(r, "compare", "Compare", data)
}

// paired pairs the items of two sides that a filter selects.
func paired(ctx context.Context, a, b side, metric analyse.Metric, q string) (matches, error) {
	sumsA, err := a.sums(ctx, identifier(metric.Name), q)
	if err != nil {
		return matches{}, err
	}
	sumsB, err := b.sums(ctx, identifier(metric.Name), q)
	if err != nil {
		return matches{}, err
	}
	return pair(sumsA, sumsB, metric.HigherIsBetter), nil
}

// comparedPerPage is how many items a page of a comparison has.
const comparedPerPage = 50

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
	newer, older := a, b
	if older.Run.N > newer.Run.N {
		newer, older = b, a
	}
	l := v.study(newer.Run)
	if l.err != nil {
		return "", "The runs cannot be analysed together: " + l.err.Error()
	}
	found, err := l.x.CompareRuns(r.Context(), experiment.Side{DB: v.DB, Run: older.Run, Arm: older.Arm}, experiment.Side{DB: v.DB, Run: newer.Run, Arm: newer.Arm})
	if err != nil {
		return "", err.Error()
	}
	for i := range found.Comparisons { // an interval describes, a test was not planned
		found.Comparisons[i].P, found.Comparisons[i].PAdjusted = analyse.Undefined(), analyse.Undefined()
	}
	said, err := report.Compared(found, newer.Run.ID+":"+newer.Arm, older.Run.ID+":"+older.Arm, metric)
	if err != nil {
		return "", err.Error()
	}
	return said, strings.Join(found.Warnings, "; ")
}

// flipped lists the units of two trials whose scores of a metric differ.
func (v *Viewer) flipped(ctx context.Context, idA, idB int64, metric string) ([]string, error) {
	a, err := v.DB.ScoresOf(ctx, idA)
	if err != nil {
		return nil, err
	}
	b, err := v.DB.ScoresOf(ctx, idB)
	return changed(unitsScored(a, metric), unitsScored(b, metric)), err
}

// changed lists the units whose scores differ, from b to a.
func changed(a, b []eval.ExhibitRow) (list []string) {
	const most = 8
	for _, unit := range sameUnits(a, b) {
		name, now, was := cmp.Or(unit[0].Unit, unit[1].Unit), cmp.Or(scoresText(unit[0].Scores), "–"), cmp.Or(scoresText(unit[1].Scores), "–")
		switch {
		case name == "" || now == was:
		case len(list) == most:
			return append(list, "…")
		default:
			list = append(list, name+" "+was+" → "+now)
		}
	}
	return list
}

// unitsScored are the scores of a trial by a metric, as rows of units; the row without a name
// has the score of the whole trial.
func unitsScored(scores []eval.Score, metric string) (rows []eval.ExhibitRow) {
	for _, s := range scores {
		if s.Metric == metric {
			rows = append(rows, eval.ExhibitRow{Unit: s.Unit, Scores: []eval.Score{s}})
		}
	}
	return rows
}

// scoresText formats the last of some scores.
func scoresText(scores []eval.Score) string {
	if len(scores) == 0 {
		return ""
	}
	return scoreText(scores[len(scores)-1])
}

// sameUnits pairs the rows of two trials by unit. A unit that only one has stays, with an
// empty row of the other; of several rows of a unit the first belong together.
func sameUnits(a, b []eval.ExhibitRow) (pairs [][2]eval.ExhibitRow) {
	for _, row := range a {
		pairs = append(pairs, [2]eval.ExhibitRow{row})
		if i := slices.IndexFunc(b, func(o eval.ExhibitRow) bool { return o.Unit == row.Unit }); i >= 0 {
			pairs[len(pairs)-1][1] = b[i]
			b = slices.Delete(slices.Clone(b), i, i+1)
		}
	}
	for _, o := range b {
		pairs = append(pairs, [2]eval.ExhibitRow{{}, o})
	}
	return pairs
}

// A comparedUnit is a unit with the answers of two trials.
type comparedUnit struct {
	Unit, Gold, A, B string
	Diff             []edit // from B to A
	Tone             string
}

// A half is one of two trials that are compared.
type half struct {
	Run     *store.Run
	Row     store.Row
	Href    string
	Raw     string
	Missing string
	Whole   string            // score of the whole trial or case
	scores  map[string]string // of units
	exhibit eval.Exhibit
}

// half reads a trial for a comparison by a metric.
func (v *Viewer) half(r *request, run, trial, metric string) (h half, err error) {
	if h.Run, err = v.shownRun(r.Context(), run); err != nil {
		return h, err
	}
	id, err := strconv.ParseInt(trial, 10, 64)
	if err != nil {
		return h, bad("trial %q: must be a number", trial)
	}
	if h.Row, err = v.DB.Row(r.Context(), h.Run, id); err != nil {
		return h, err
	}
	h.Href = r.trialLink(h.Run, id)
	of := *r
	of.run = h.Run
	if h.exhibit, err = v.exhibit(&of, h.Row.Trial); err != nil {
		h.Missing = err.Error()
	}
	if judged, err := v.DB.OutcomeOf(r.Context(), h.Run, id); err == nil {
		h.Raw = cmp.Or(h.exhibit.Raw, string(judged.Outcome.Data))
	}
	scores, err := v.DB.ScoresOf(r.Context(), id)
	h.scores = map[string]string{}
	for _, row := range unitsScored(scores, metric) {
		h.scores[row.Unit] = scoresText(row.Scores)
	}
	h.Whole = h.scores[""]
	return h, err
}

// pairData is the page of two trials of an item.
type pairData struct {
	A, B   half
	Item   string
	Metric string // title
	Scored bool   // units have scores
	Units  []comparedUnit
	Raw    []edit
	Back   string
}

// pairPage shows two trials of an item beside each other.
func (v *Viewer) pairPage(r *request) error {
	metric := r.param("metric")
	a, err := v.half(r, r.param("r"), r.param("x"), metric)
	if err != nil {
		return err
	}
	b, err := v.half(r, r.param("s"), r.param("y"), metric)
	if err != nil {
		return err
	}
	data := pairData{A: a, B: b, Item: shortItem(a.Row.Trial.Item), Metric: metric, Raw: diff(b.Raw, a.Raw),
		Back: r.link([]string{"c"}, "r", a.Run.ID, "a", a.Row.Trial.Arm, "s", b.Run.ID, "b", b.Row.Trial.Arm, "metric", metric)}
	for _, rows := range sameUnits(a.exhibit.Rows, b.exhibit.Rows) {
		row, o := rows[0], rows[1]
		u := comparedUnit{Unit: cmp.Or(row.Unit, o.Unit), Gold: cmp.Or(row.Gold, o.Gold), Diff: diff(o.Answer, row.Answer)}
		u.A, u.B = a.scores[u.Unit], b.scores[u.Unit]
		if u.A != "" && u.B != "" && u.A != u.B {
			u.Tone = "unsure"
		}
		data.Scored = data.Scored || u.A != "" || u.B != ""
		data.Units = append(data.Units, u)
	}
	for _, m := range v.metrics(r.Context(), a.Run) {
		if m.Name == metric {
			data.Metric = m.Title
		}
	}
	r.run = a.Run
	return v.render(r, "pair", data.Item, data)
}
