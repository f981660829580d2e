package view

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/internal/text"
)

// rowsPerPage is how many trials a page of a list has.
const rowsPerPage = 100

// A state is what the address of a list says.
type state struct {
	q, sort string
	cols    []string // nil: those of the first page
	page    int      // from 1
}

func stateOf(r *request) (state, error) {
	s := state{q: strings.TrimSpace(r.param("q")), sort: r.param("sort"), page: 1}
	// The form of facets adds conditions.
	sent := r.URL.Query()
	for _, name := range slices.Sorted(maps.Keys(sent)) {
		if field, ok := strings.CutPrefix(name, "f."); ok && len(sent[name]) == 1 && sent[name][0] != "" {
			s.q = with(s.q, equals(field, sent[name][0]))
		}
	}
	if cols := r.URL.Query()["col"]; len(cols) > 0 {
		s.cols = cols
	} else if cols := r.param("cols"); cols != "" {
		s.cols = strings.Split(cols, ",")
	}
	if p := r.param("page"); p != "" {
		n, err := strconv.Atoi(p)
		if err != nil || n < 1 || n > mostPages {
			return s, bad("page %q: must be a number from 1 to %d", p, mostPages)
		}
		s.page = n
	}
	return s, nil
}

// mostPages keeps the place of a row within the numbers that there are.
const mostPages = 1_000_000

// turn returns the place of the first of n rows on the page. An address can be of a list
// that was longer: it gets the last page.
func (s *state) turn(n, perPage int) (first int) {
	s.page = min(s.page, max(1, (n+perPage-1)/perPage))
	return (s.page - 1) * perPage
}

// params returns the parameters of an address with the state.
func (s state) params() []string {
	page := ""
	if s.page > 1 {
		page = strconv.Itoa(s.page)
	}
	return []string{"q", s.q, "sort", s.sort, "cols", strings.Join(s.cols, ","), "page", page}
}

// A head is a column of a list.
type head struct {
	Name, Title string
	Href        string // sorts by it
	Sorted      string // ascending | descending
	Shown       bool
	Number      bool
}

// head is a column of a list whose heading sorts by it, upwards, downwards and not at all in turn.
func (s state) head(name, title string, number bool, link func(state) string) head {
	h, to := head{Name: name, Title: title, Number: number, Shown: true}, s
	to.sort, to.page = name, 1
	switch s.sort {
	case name:
		h.Sorted, to.sort = "ascending", "-"+name
	case "-" + name:
		h.Sorted, to.sort = "descending", ""
	}
	h.Href = link(to)
	return h
}

// A listed trial.
type listed struct {
	Href  string
	Cells []string
}

// A facet is a column with few values, and how often each occurs in the list.
type facet struct {
	Title  string
	Values []choice
}

type choice struct {
	Text, Href string
	Key        string // of the keyboard
	N          int
}

func (v *Viewer) samplesPage(r *request) error {
	s, err := stateOf(r)
	if err != nil {
		return err
	}
	list := func(s state) string { return r.link([]string{"r", r.run.ID, "samples"}, s.params()...) }
	for name := range r.URL.Query() {
		if strings.HasPrefix(name, "f.") || name == "col" { // a form was sent: the address gets the expression
			s.page = 1
			r.w.Header().Set("Location", list(s))
			r.w.WriteHeader(303)
			return nil
		}
	}
	if s.q == "" && s.sort == "" && v.ready(r.run) == nil {
		first := s.turn(r.run.Trials, rowsPerPage)
		// The list of all trials needs no index.
		x, err := buildIndex(r.Context(), v.DB, r.run, first, first+rowsPerPage)
		if err != nil {
			return err
		}
		rows, err := x.order(r.Context(), "", "")
		if err != nil {
			return err
		}
		return v.showSamples(r, s, x, nil, rows, r.run.Trials, "")
	}
	x, err := v.indexSoon(r.Context(), r.run)
	if err != nil {
		return err
	}
	all, err := x.order(r.Context(), s.q, s.sort)
	wrong := ""
	if err != nil {
		if r.Context().Err() != nil {
			return err
		}
		wrong, all = err.Error(), []int32{}
	}
	first := s.turn(len(all), rowsPerPage)
	return v.showSamples(r, s, x, all, all[first:min(first+rowsPerPage, len(all))], len(all), wrong)
}

// samplesData is the page of a list of trials.
type samplesData struct {
	Query, Sort, Cols, Count, Wrong string
	Terms                           []choice
	Heads                           []head
	Rows                            []listed
	Facets                          []facet
	Partial                         bool
	CSV, JSONL                      string
	pager
}

// showSamples shows one page of a list: rows of all, which is nil if there is no index.
func (v *Viewer) showSamples(r *request, s state, x *index, all, rows []int32, total int, wrong string) error {
	partial := all == nil
	list := func(s state) string { return r.link([]string{"r", r.run.ID, "samples"}, s.params()...) }
	export := func(format string) string {
		return r.link([]string{"r", r.run.ID, "export"}, "q", s.q, "sort", s.sort, "format", format)
	}
	shown, heads := v.heads(r, x, s)
	data := samplesData{Query: s.q, Sort: s.sort, Cols: strings.Join(s.cols, ","), Wrong: wrong, Heads: heads, Partial: partial,
		Count: describe(total, r.run.Trials), CSV: export("csv"), JSONL: export("jsonl")}
	data.pager = newPager(s.page, total, rowsPerPage, func(page int) string {
		turned := s
		turned.page = page
		return list(turned)
	})
	for k, t := range terms(s.q) {
		fewer := s
		fewer.q, fewer.page = without(s.q, k), 1
		data.Terms = append(data.Terms, choice{Text: t, Href: list(fewer)})
	}
	for _, i := range rows {
		row := listed{Href: r.trialLink(r.run, x.ids[i], "q", s.q, "sort", s.sort)}
		for _, c := range shown {
			row.Cells = append(row.Cells, c.format(int(i)))
		}
		data.Rows = append(data.Rows, row)
	}
	if !partial && wrong == "" {
		data.Facets = x.facets(all, func(c *column, value string) string {
			more := s
			more.q, more.page = with(s.q, equals(c.name, value)), 1
			return list(more)
		})
	}
	return v.render(r, "samples", r.run.ID+": samples", data)
}

// format formats the cell of a trial.
func (c *column) format(i int) string {
	if c.text() {
		return c.word(i)
	}
	if c.name == "ms" || c.name == "tokens" {
		return number(math.Round(c.numbers[i]))
	}
	return number(c.numbers[i])
}

// shownMetrics is how many metrics a list shows if the address names no columns.
const shownMetrics = 4

// heads returns the columns that a list shows, and all of them with their links.
func (v *Viewer) heads(r *request, x *index, s state) (shown []*column, heads []head) {
	names := s.cols
	if len(names) == 0 {
		names = []string{"item", "arm"}
		if r.run.Replicates > 1 {
			names = append(names, "rep")
		}
		names = append(names, "outcome", "reason")
		for k, m := range v.metrics(r.Context(), r.run) {
			if k < shownMetrics {
				names = append(names, identifier(m.Name))
			}
		}
		names = append(names, "tokens", "cost", "ms")
	}
	for _, name := range names {
		if c := x.column(name); c != nil && !slices.Contains(shown, c) {
			shown = append(shown, c)
		}
	}
	titles := map[string]string{}
	for _, m := range v.metrics(r.Context(), r.run) {
		titles[identifier(m.Name)] = m.Title
	}
	add := func(c *column, is bool) {
		h := s.head(c.name, cmp.Or(titles[c.name], c.title), !c.text(), func(to state) string { return r.link([]string{"r", r.run.ID, "samples"}, to.params()...) })
		h.Shown = is
		heads = append(heads, h)
	}
	for _, c := range shown {
		add(c, true)
	}
	for _, c := range x.columns {
		if !slices.Contains(shown, c) {
			add(c, false)
		}
	}
	return shown, heads
}

// mostChoices is how many values a facet may have.
const mostChoices = 24

// facets counts the values of columns with few of them.
func (x *index) facets(rows []int32, link func(*column, string) string) (list []facet) {
	for _, c := range x.columns {
		if !c.text() || c.name == "item" || len(c.words) < 2 || len(c.words) > mostChoices {
			continue
		}
		counts := make([]int, len(c.words))
		for _, i := range rows {
			counts[c.code(int(i))]++
		}
		f := facet{Title: c.title}
		for k, word := range c.words {
			if counts[k] > 0 && word != "" {
				f.Values = append(f.Values, choice{Text: word, N: counts[k], Href: link(c, word)})
			}
		}
		slices.SortFunc(f.Values, func(a, b choice) int { return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Text, b.Text)) })
		if len(f.Values) > 1 {
			list = append(list, f)
		}
	}
	return list
}

// export writes the trials of a list with all columns.
func (v *Viewer) export(r *request) error {
	s, err := stateOf(r)
	if err != nil {
		return err
	}
	format := r.param("format")
	if format != "csv" && format != "jsonl" {
		return bad("format %q: the formats are csv and jsonl", format)
	}
	x, err := v.index(r.Context(), r.run)
	if err != nil {
		return err
	}
	rows, err := x.order(r.Context(), s.q, s.sort)
	if err != nil {
		return err
	}
	kinds := map[string]string{"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl; charset=utf-8"}
	r.w.Header().Set("Content-Type", kinds[format])
	r.w.Header().Set("Content-Disposition", "attachment; filename*=UTF-8''"+url.PathEscape(r.run.ID+"."+format))
	if format == "csv" {
		return writeCSV(r, x, rows)
	}
	out := json.NewEncoder(r.w)
	out.SetEscapeHTML(false)
	for _, i := range rows {
		record := make(map[string]any, len(x.columns))
		for _, c := range x.columns {
			if c.text() {
				record[c.name] = c.word(int(i))
			} else if n := c.numbers[i]; !math.IsNaN(n) {
				record[c.name] = n
			} else {
				record[c.name] = nil
			}
		}
		if err := out.Encode(record); err != nil {
			return nil // the browser has gone
		}
	}
	return nil
}

func writeCSV(r *request, x *index, rows []int32) error {
	out := csv.NewWriter(r.w)
	var cells []string
	for _, c := range x.columns {
		cells = append(cells, c.name)
	}
	_ = out.Write(cells)
	for _, i := range rows {
		cells = cells[:0]
		for _, c := range x.columns {
			switch {
			case c.text():
				cells = append(cells, text.EscapeFormula(c.word(int(i))))
			case math.IsNaN(c.numbers[i]):
				cells = append(cells, "")
			default:
				cells = append(cells, strconv.FormatFloat(c.numbers[i], 'g', -1, 64))
			}
		}
		if out.Write(cells) != nil {
			return nil // the browser has gone
		}
	}
	out.Flush()
	return nil
}

// A neighbourhood is the place of a trial in a list, and the addresses of those beside it.
type neighbourhood struct {
	Place, Of        int
	Prev, Next, List string
}

// neighbours finds the trials beside a trial in the list that the address names.
func (v *Viewer) neighbours(r *request, id int64) (n neighbourhood, err error) {
	s, err := stateOf(r)
	if err != nil {
		return n, err
	}
	n.List = r.link([]string{"r", r.run.ID, "samples"}, s.params()...)
	x, err := v.indexSoon(r.Context(), r.run)
	if errors.As(err, new(building)) {
		return n, nil // the page of a trial does not need its neighbours
	}
	if err != nil {
		return n, err
	}
	rows, err := x.order(r.Context(), s.q, s.sort)
	if err != nil {
		return n, err
	}
	at := slices.IndexFunc(rows, func(i int32) bool { return x.ids[i] == id })
	if at < 0 {
		return n, nil
	}
	to := func(k int) string {
		if k < 0 || k >= len(rows) {
			return ""
		}
		return r.trialLink(r.run, x.ids[rows[k]], "q", s.q, "sort", s.sort)
	}
	page := s
	page.page = at/rowsPerPage + 1
	n.List = r.link([]string{"r", r.run.ID, "samples"}, page.params()...)
	n.Place, n.Of, n.Prev, n.Next = at+1, len(rows), to(at-1), to(at+1)
	return n, nil
}

// shortItem is an item as a heading shows it.
func shortItem(s string) string { return text.Shorten(say.PlainLine(s), 120) }
