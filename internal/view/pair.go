package view

import (
	"cmp"
	"html/template"
	"maps"
	"regexp"
	"slices"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/report"
	"github.com/scruple-eval/scruple/internal/store"
)

// A half is one of two trials that are compared.
type half struct {
	Row     store.Row
	Href    string
	Raw     []edit
	Missing string            // why there is no exhibit
	Whole   string            // score of the whole trial or case
	scores  map[string]string // by unit
	raw     string
	exhibit eval.Exhibit
}

// half reads a trial for a comparison by a metric.
func (v *Viewer) half(r *request, run *store.Run, id int64, metric string) (*half, error) {
	h := &half{Href: r.trialLink(run, id), scores: map[string]string{}}
	var err error
	if h.Row, err = v.DB.Row(r.Context(), run, id); err != nil {
		return nil, err
	}
	if h.exhibit, err = v.exhibit(r, run, h.Row.Trial); err != nil {
		h.Missing = err.Error()
	}
	if judged, err := v.DB.OutcomeOf(r.Context(), run, id); err == nil {
		h.raw = cmp.Or(h.exhibit.Raw, indented(judged.Outcome.Data))
	}
	scores, err := v.DB.ScoresOf(r.Context(), run, id)
	for _, s := range scores {
		if s.Metric == metric {
			h.scores[s.Unit] = scoreText(s)
		}
	}
	h.Whole = h.scores[""]
	return h, err
}

// A comparedUnit is a unit with the answers of two trials. Words that only one has are marked.
type comparedUnit struct {
	Unit, Gold     string
	A, B           []edit
	NoteA, NoteB   string // what is wrong with the answers
	ScoreA, ScoreB string
}

// A replicate is a trial of each side with the same number; one of them may be nil.
type replicate struct {
	N      int
	A, B   *half
	Units  []comparedUnit
	differ int // 2: the scores do, 1: only the answers
}

// Differs says how the trials differ.
func (p replicate) Differs() string {
	if p.differ == 0 && p.A.Row.Kind == eval.Failed {
		return "no answer on either side"
	}
	return []string{"same answer", "different answers, same score", "different scores"}[p.differ]
}

// Open says that a page shows it without being asked.
func (p replicate) Open() bool { return p.differ > 0 }

func newReplicate(n int, a, b *half) replicate {
	p := replicate{N: n, A: a, B: b}
	if a == nil || b == nil {
		p.differ = 2
		a, b = cmp.Or(a, &half{}), cmp.Or(b, &half{})
	}
	a.Raw, b.Raw = sidesOf(diff(b.raw, a.raw))
	for _, rows := range sameUnits(a.exhibit.Rows, b.exhibit.Rows) {
		x, y := rows[0], rows[1]
		u := comparedUnit{Unit: cmp.Or(x.Unit, y.Unit), Gold: cmp.Or(x.Gold, y.Gold), NoteA: x.Note, NoteB: y.Note}
		u.A, u.B = sidesOf(diff(y.Answer, x.Answer))
		u.ScoreA, u.ScoreB = a.scores[u.Unit], b.scores[u.Unit]
		p.Units = append(p.Units, u)
	}
	switch {
	case !maps.Equal(a.scores, b.scores), a.Row.Kind != b.Row.Kind:
		p.differ = 2
	case a.raw != b.raw:
		p.differ = max(p.differ, 1)
	}
	return p
}

// sidesOf parts the pieces of two texts, b and then a.
func sidesOf(list []edit) (a, b []edit) {
	for _, e := range list {
		if e.Kind != "del" {
			a = append(a, e)
		}
		if e.Kind != "ins" {
			b = append(b, e)
		}
	}
	return a, b
}

// sameUnits pairs the rows of two trials by unit. A unit that only one has stays, with an
// empty row of the other; of several rows of a unit the first belong together.
func sameUnits(a, b []eval.ExhibitRow) (pairs [][2]eval.ExhibitRow) {
	rest := map[string][]int{} // places in b of the rows of a unit that have none of a yet; there can be thousands
	for i, o := range b {
		rest[o.Unit] = append(rest[o.Unit], i)
	}
	paired := make([]bool, len(b))
	for _, row := range a {
		pairs = append(pairs, [2]eval.ExhibitRow{row})
		if own := rest[row.Unit]; len(own) > 0 {
			pairs[len(pairs)-1][1] = b[own[0]]
			paired[own[0]], rest[row.Unit] = true, own[1:]
		}
	}
	for i, o := range b {
		if !paired[i] {
			pairs = append(pairs, [2]eval.ExhibitRow{{}, o})
		}
	}
	return pairs
}

// bothMarked is the document of two trials with the marks of both.
func bothMarked(a, b []eval.ExhibitPage) []eval.ExhibitPage {
	var pages []eval.ExhibitPage
	for _, p := range a {
		p.Marks = slices.Clone(p.Marks)
		for _, o := range b {
			if o.Number != p.Number || o.Title != p.Title || o.Text != p.Text {
				continue
			}
			for _, m := range o.Marks {
				if m.Tone == 0 && m.Kind != "gold" { // gold is that of A
					m.Kind = report.Other
					p.Marks = append(p.Marks, m)
				}
			}
		}
		slices.SortStableFunc(p.Marks, func(x, y eval.Mark) int { return cmp.Compare(x.Start, y.Start) })
		pages = append(pages, p)
	}
	if len(pages) == 0 {
		return b
	}
	return pages
}

// pairData is the page of an item with the trials of two arms.
type pairData struct {
	contest
	Item, Lead, Metric, Query string
	Facts                     []eval.Level
	MeanA, MeanB, Delta, Tone string
	Missing                   string
	Replicates                []replicate
	Document                  template.HTML // with the marks of the first replicate
	Neighbours                neighbourhood
}

// pairPage shows an item with the trials of two arms beside each other: all replicates, those
// that differ first.
func (v *Viewer) pairPage(r *request) error {
	c, err := v.contest(r)
	if err != nil {
		return err
	}
	_, list, err := c.find(r.Context())
	if err != nil {
		return err
	}
	item := r.param("item")
	r.item = item
	data := pairData{contest: c, Item: shortItem(item), Metric: c.metric.Title, Query: c.q, Neighbours: c.neighbours(r, list, item)}
	var halves [2]map[int]*half
	var means [2]float64
	last := 0
	for i, s := range []side{c.A, c.B} {
		if halves[i], means[i], err = v.halves(r, s, item, c); err != nil {
			return err
		}
		for n, h := range halves[i] {
			last = max(last, n)
			data.Missing = cmp.Or(data.Missing, h.Missing)
			if data.Lead == "" {
				data.Lead, data.Facts = h.exhibit.Lead, h.exhibit.Facts
			}
		}
	}
	for n := 1; n <= last; n++ {
		if halves[0][n] != nil || halves[1][n] != nil {
			data.Replicates = append(data.Replicates, newReplicate(n, halves[0][n], halves[1][n]))
		}
	}
	if c.A.but[item] {
		return bad("item %q: its input or gold differs between the runs", item)
	}
	if len(data.Replicates) == 0 {
		return bad("neither arm was asked item %q", item)
	}
	slices.SortStableFunc(data.Replicates, func(p, q replicate) int { return cmp.Compare(q.differ, p.differ) })
	data.MeanA, data.MeanB = number(means[0]), number(means[1])
	if d := means[0] - means[1]; d == d {
		data.Delta = signed(d)
		data.Tone = c.Tone(worse(means[0], means[1], c.metric.HigherIsBetter))
	}
	if first := data.Replicates[0]; first.A != nil && first.B != nil {
		if data.Document, err = report.Marked(bothMarked(first.A.exhibit.Pages, first.B.exhibit.Pages)); err != nil {
			return err
		}
	}
	return v.render(r, "pair", data.Item, data)
}

// halves reads all trials of an item in an arm by their replicates, and the mean score of those that
// the filter selects, as the list has it.
func (v *Viewer) halves(r *request, s side, item string, c contest) (map[int]*half, float64, error) {
	items := s.x.column("item")
	code := int32(slices.Index(items.words, item))
	own := func(q string) (sum, error) {
		rows, err := s.rows(r.Context(), q)
		if err != nil {
			return sum{}, err
		}
		sums, err := s.sums(slices.DeleteFunc(rows, func(i int32) bool { return items.codes[i] != code }), c.metric.Name)
		if err != nil || sums[item] == nil {
			return sum{}, err
		}
		return *sums[item], nil
	}
	all, err := own("")
	if err != nil {
		return nil, 0, err
	}
	selected, err := own(c.q)
	if err != nil {
		return nil, 0, err
	}
	list := map[int]*half{}
	for _, id := range all.ids {
		h, err := v.half(r, s.Run, id, c.metric.Name)
		if err != nil {
			return nil, 0, err
		}
		list[h.Row.Trial.Replicate] = h
	}
	return list, selected.mean(), nil
}

// neighbours finds the items beside an item in the list of the comparison.
func (c contest) neighbours(r *request, list []match, item string) neighbourhood {
	at := slices.IndexFunc(list, func(m match) bool { return m.item == item })
	if at < 0 {
		return neighbourhood{List: c.list(r, c.state)}
	}
	n := neighbourhood{Place: at + 1, Of: len(list), List: c.list(r, c.at(at/comparedPerPage+1))}
	c.page = 1
	for k, to := range map[int]*string{at - 1: &n.Prev, at + 1: &n.Next} {
		if k >= 0 && k < len(list) {
			*to = r.link([]string{"c", "item"}, c.params("item", list[k].item)...)
		}
	}
	return n
}

// An edit is a piece of two texts: in both, only in the first, or only in the second.
type edit struct {
	Text string
	Kind string // "" | del | ins
}

// mostPairs bounds the work: texts with more pairs of words between their common beginning
// and end are not compared word by word.
const mostPairs = 4_000_000

// word is a word with the space before it, or one other character. All together are the text.
var word = regexp.MustCompile(`(?s)\s*[\pL\p{Nd}\pM]+|\s*\S|\s+`)

// diff compares two texts word by word, by their longest common subsequence.
func diff(a, b string) (list []edit) {
	add := func(kind string, words ...string) {
		for _, w := range words {
			if n := len(list); n > 0 && list[n-1].Kind == kind {
				list[n-1].Text += w
			} else {
				list = append(list, edit{w, kind})
			}
		}
	}
	x, y := word.FindAllString(a, -1), word.FindAllString(b, -1)
	head, tail := 0, 0
	for head < min(len(x), len(y)) && x[head] == y[head] {
		head++
	}
	for tail < min(len(x), len(y))-head && x[len(x)-1-tail] == y[len(y)-1-tail] {
		tail++
	}
	add("", x[:head]...)
	end := x[len(x)-tail:]
	x, y = x[head:len(x)-tail], y[head:len(y)-tail]
	if len(x)*len(y) > mostPairs {
		add("del", x...)
		add("ins", y...)
		x, y = nil, nil
	}
	// common[i][j] is the length of the longest common subsequence of x[i:] and y[j:].
	common := make([][]int32, len(x)+1)
	for i := range common {
		common[i] = make([]int32, len(y)+1)
	}
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			common[i][j] = max(common[i+1][j], common[i][j+1])
			if x[i] == y[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	i, j := 0, 0
	for i < len(x) || j < len(y) {
		switch {
		case i < len(x) && j < len(y) && x[i] == y[j]:
			add("", x[i])
			i, j = i+1, j+1
		case j == len(y) || i < len(x) && common[i+1][j] >= common[i][j+1]:
			add("del", x[i])
			i++
		default:
			add("ins", y[j])
			j++
		}
	}
	add("", end...)
	return list
}
