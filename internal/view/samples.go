package view

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/internal/text"
)

// rowsPerPage is how many trials a page of a list has.
const rowsPerPage = 100

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
	to.sort, to.page, to.from = name, 1, 0
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
	Cells []listedCell
}

type listedCell struct {
	Text   string
	Number bool
	Class  string // of a text of the trial
}

// A facet is a column with few values, and how often each occurs in the list.
type facet struct {
	Title  string
	Values []choice
}

func (v *Viewer) samplesPage(r *request) error {
	s, err := stateOf(r)
	if err != nil {
		return err
	}
	if r.URL.Query().Has("col") { // a form was sent: the address gets the list
		return r.see(r.samples(s.at(1)))
	}
	if s.q == "" && s.sort == "" && s.text == "" {
		if _, current := v.ready(r.run); !current { // the list of all trials needs no index
			return v.allSamples(r, s)
		}
	}
	x, err := v.indexSoon(r.Context(), r.run)
	if err != nil {
		return err
	}
	r.study(v, r.run) // for what changed since
	all, err := x.order(r.Context(), s.q, s.sort)
	wrong := ""
	if err != nil {
		if r.Context().Err() != nil {
			return err
		}
		wrong, all = err.Error(), []int32{}
	}
	if s.text != "" {
		if r.param("go") != "" {
			return v.toHit(r, x, all, s)
		}
		found, next := v.search(r, x, all, s.from, s.text, rowsPerPage)
		return v.showSamples(r, s, x, all, found, next, wrong)
	}
	first := s.turn(len(all), rowsPerPage)
	return v.showSamples(r, s, x, all, all[first:min(first+rowsPerPage, len(all))], len(all), wrong)
}

// samples is the address of a list of trials.
func (r *request) samples(s state) string {
	return r.link([]string{"r", r.run.ID, "samples"}, s.params()...)
}

// allSamples shows a page of the list of all trials, of which alone it makes an index.
func (v *Viewer) allSamples(r *request, s state) error {
	first := s.turn(r.run.Trials, rowsPerPage)
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

// samplesData is the page of a list of trials.
type samplesData struct {
	Query, Sort, Cols, Count, Wrong string
	Text, All, Export               string // what is searched for, the list without a search, and how many that has
	Terms                           []choice
	Heads                           []head
	Rows                            []listed
	Facets                          []facet
	CSV, JSONL, Texts               string
	progress
	pager
}

// showSamples shows one page of a list: rows of all, which is nil if there is no index. total is
// how many are listed, or how many were searched.
func (v *Viewer) showSamples(r *request, s state, x *index, all, rows []int32, total int, wrong string) error {
	partial := all == nil
	export := func(format, texts string) string {
		return r.link([]string{"r", r.run.ID, "export"}, "q", s.q, "sort", s.sort, "format", format, "texts", texts)
	}
	// Texts come from the study: the first page of a large run does not wait for it.
	briefs := make([]experiment.Brief, len(rows))
	if told := !partial || r.run.Trials <= readAtOnce; told && r.study(v, r.run).err == nil {
		for k, i := range rows {
			briefs[k] = v.brief(r, x.trial(i))
		}
	}
	shown, heads := v.heads(r, x, s, briefs)
	data := samplesData{Query: s.q, Sort: s.sort, Cols: strings.Join(s.cols, ","), Wrong: wrong, Heads: heads,
		Text: s.text, Count: describe(total, r.run.Trials), CSV: export("csv", ""), JSONL: export("jsonl", ""), Texts: export("csv", "1")}
	if s.text == "" {
		data.pager = newPager(s.page, total, rowsPerPage, func(page int) string { return r.samples(s.at(page)) })
	} else {
		data.Export = describe(len(all), r.run.Trials)
		turned := s
		data.Count = fmt.Sprintf("%d found in trials %d to %d of %d", len(rows), min(s.from+1, total), total, len(all))
		turned.from, turned.page = total, 1
		if total < len(all) {
			data.Next = r.samples(turned)
		}
		turned.text, turned.from = "", 0
		data.All = r.samples(turned)
	}
	var err error
	if data.progress, err = v.tally(r.Context(), r.run); err != nil {
		return err
	}
	conditions, _ := terms(s.q)
	for k, t := range conditions {
		data.Terms = append(data.Terms, choice{Text: t, Href: r.samples(s.matching(without(s.q, k)))})
	}
	for k, i := range rows {
		row := listed{Href: r.trialLink(r.run, x.ids[i], "q", s.q, "sort", s.sort, "text", s.text, "from", above(s.from, 0))}
		for _, name := range shown {
			if c := x.column(name); c != nil {
				row.Cells = append(row.Cells, listedCell{Text: c.format(int(i)), Number: !c.text()})
			} else {
				row.Cells = append(row.Cells, listedCell{Text: text.Shorten(say.PlainLine(textOf(briefs[k], name)), longestText), Class: name})
			}
		}
		data.Rows = append(data.Rows, row)
	}
	if !partial && wrong == "" {
		data.Facets = x.facets(all, func(c *column, value string) string {
			return r.samples(s.matching(with(s.q, equals(c.name, value))))
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

// textColumns are columns with texts of a trial, which the study shows and no index has. No
// column of an index has a minus sign in its name.
var textColumns = [][2]string{{"text-question", "Question"}, {"text-right", "Right answer"}, {"text-answer", "Answer"}, {"text-problem", "Problem"}}

func textOf(b experiment.Brief, name string) string {
	return map[string]string{"text-question": b.Question, "text-right": b.Right, "text-answer": b.Answer, "text-problem": b.Problem}[name]
}

// longestText is how many characters a cell has of a text.
const longestText = 110

// readAtOnce is the size of a run up to which its first page waits for the study.
const readAtOnce = 20_000

// brief is a trial in a row, empty if it cannot be shown.
func (v *Viewer) brief(r *request, t eval.Trial) experiment.Brief {
	x, err := v.exhibit(r, r.run, t)
	if err != nil {
		return experiment.Brief{}
	}
	return experiment.BriefOf(x)
}

// trial is the trial of a row.
func (x *index) trial(i int32) eval.Trial {
	return eval.Trial{Item: x.column("item").word(int(i)), Arm: x.column("arm").word(int(i)), Replicate: int(x.column("rep").numbers[i])}
}

// searchFor is how long a page searches, and sooner it stops with a full page.
const searchFor = 2 * time.Second

// search finds the first rows from a place in the list on whose trials have a text: in the question,
// the right answer, the answer, its quotes or the problem. It reads them one by one and keeps none.
// next is the place where it stopped.
func (v *Viewer) search(r *request, x *index, rows []int32, from int, what string, most int) (found []int32, next int) {
	what, until := strings.ToLower(what), time.Now().Add(searchFor)
	for next = min(from, len(rows)); next < len(rows) && len(found) < most; next++ {
		if next%16 == 0 && (time.Now().After(until) || r.Context().Err() != nil) && next > from {
			break
		}
		i := rows[next]
		var texts []string
		shown, err := v.exhibit(r, r.run, x.trial(i))
		if err == nil {
			texts = []string{shown.Lead, shown.Expected, shown.Raw, shown.Failed}
			for _, row := range shown.Rows {
				texts = append(texts, row.Gold, row.Answer, row.Quote, row.Note)
			}
		} else if judged, err := v.DB.OutcomeOf(r.Context(), r.run, x.ids[i]); err == nil {
			texts = []string{string(judged.Outcome.Data), judged.Outcome.Detail}
		}
		if strings.Contains(strings.ToLower(strings.Join(texts, "\n")), what) {
			found = append(found, i)
		}
	}
	return found, next
}

// shownMetrics is how many metrics a list shows if the address names no columns; with texts, as
// many as fit beside them.
const shownMetrics, shownBesideTexts = 4, 1

// toHit leads from a trial to the next or the previous one that has the text. Where a page has no
// time to find it, it leads to the list from there on.
func (v *Viewer) toHit(r *request, x *index, rows []int32, s state) error {
	at := slices.IndexFunc(rows, func(i int32) bool { return strconv.FormatInt(x.ids[i], 10) == r.param("at") })
	back, rest := r.param("go") == "previous", rows[at+1:]
	if back {
		rest = slices.Clone(rows[:max(at, 0)])
		slices.Reverse(rest)
	}
	found, searched := v.search(r, x, rest, 0, s.text, 1)
	if len(found) > 0 {
		return r.see(r.trialLink(r.run, x.ids[found[0]], "q", s.q, "sort", s.sort, "text", s.text, "from", above(s.from, 0)))
	}
	if s.from = at + 1 + searched; back {
		s.from = max(at-searched, 0)
	}
	return r.see(r.samples(s))
}

// see redirects to a page.
func (r *request) see(to string) error {
	r.w.Header().Set("Location", to)
	r.w.WriteHeader(303)
	return nil
}

// heads returns the names of the columns that a list shows, and all columns with their links. Texts
// are shown that any trial has.
func (v *Viewer) heads(r *request, x *index, s state, briefs []experiment.Brief) (shown []string, heads []head) {
	names, texts := s.cols, map[string]bool{}
	for _, c := range textColumns {
		texts[c[0]] = slices.ContainsFunc(briefs, func(b experiment.Brief) bool { return textOf(b, c[0]) != "" })
	}
	metrics, titles, most := v.metrics(r.Context(), r.run), map[string]string{}, shownMetrics
	if texts["text-answer"] {
		most = shownBesideTexts
	}
	var first []string
	for k, m := range metrics {
		if c := x.titled(m.Name, true); c != nil {
			titles[c.name] = m.Title
			if k < most {
				first = append(first, c.name)
			}
		}
	}
	if len(names) == 0 {
		names = []string{"item", "arm"}
		if r.run.Replicates > 1 {
			names = append(names, "rep")
		}
		if texts["text-answer"] {
			names = append(names, "text-question", "text-right", "text-answer", "text-problem", "outcome")
		} else {
			names = append(names, "outcome", "reason")
		}
		names = append(names, first...)
		if !texts["text-answer"] {
			names = append(names, "tokens", "cost", "ms")
		}
	}
	for _, name := range names {
		if (x.column(name) != nil || texts[name]) && !slices.Contains(shown, name) {
			shown = append(shown, name)
		}
	}
	all := slices.Clone(shown)
	for _, c := range x.columns {
		all = append(all, c.name)
	}
	for _, c := range textColumns {
		all = append(all, c[0])
		titles[c[0]] = c[1]
	}
	for k, name := range all {
		c := x.column(name)
		switch {
		case slices.Contains(all[:k], name):
		case c == nil && texts[name]:
			heads = append(heads, head{Name: name, Title: titles[name], Shown: k < len(shown)})
		case c != nil:
			h := s.head(name, cmp.Or(titles[name], c.title), !c.text(), r.samples)
			h.Shown = k < len(shown)
			heads = append(heads, h)
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
	var told func(int32) experiment.Brief
	if r.param("texts") != "" {
		told = func(i int32) experiment.Brief { return v.brief(r, x.trial(i)) }
	}
	if x.write(patient{r.w}, format, rows, told) != nil {
		panic(http.ErrAbortHandler) // so that nobody takes the part for the whole
	}
	return nil
}

// patient gives each part of a long file its time.
type patient struct{ http.ResponseWriter }

func (p patient) Write(b []byte) (int, error) {
	_ = http.NewResponseController(p.ResponseWriter).SetWriteDeadline(time.Now().Add(time.Minute))
	return p.ResponseWriter.Write(b)
}

// write writes rows as a file, with the texts of their trials if told is not nil.
func (x *index) write(w io.Writer, format string, rows []int32, told func(int32) experiment.Brief) error {
	type column struct {
		name  string
		value func(i int32, b experiment.Brief) any
	}
	var columns []column
	for _, c := range x.columns {
		columns = append(columns, column{c.name, func(i int32, _ experiment.Brief) any {
			switch {
			case c.text():
				return c.word(int(i))
			case math.IsNaN(c.numbers[i]):
				return nil
			}
			return c.numbers[i]
		}})
	}
	if told == nil {
		told = func(int32) experiment.Brief { return experiment.Brief{} }
	} else {
		for _, c := range textColumns {
			columns = append(columns, column{strings.ReplaceAll(c[0], "-", "_"), func(_ int32, b experiment.Brief) any { return textOf(b, c[0]) }})
		}
	}
	to := experiment.CSV
	if format == "jsonl" {
		to = experiment.JSONLines
		slices.SortFunc(columns, func(a, b column) int { return cmp.Compare(a.name, b.name) })
	}
	row, names := make([]any, len(columns)), make([]string, len(columns))
	for k, c := range columns {
		names[k] = c.name
	}
	write, end := to(w, names)
	for _, i := range rows {
		b := told(i)
		for k, c := range columns {
			row[k] = c.value(i, b)
		}
		if err := write(row); err != nil {
			return err
		}
	}
	return end()
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
	n.List = r.samples(s)
	if s.text != "" { // found when somebody goes there, since that reads trials
		to := func(way string) string {
			return r.link([]string{"r", r.run.ID, "samples"}, append(s.params(), "go", way, "at", strconv.FormatInt(id, 10))...)
		}
		n.Prev, n.Next = to("previous"), to("next")
		return n, nil
	}
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
	n.List = r.samples(s.at(at/rowsPerPage + 1))
	n.Place, n.Of, n.Prev, n.Next = at+1, len(rows), to(at-1), to(at+1)
	return n, nil
}
