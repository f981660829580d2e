package view

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/internal/serve"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/text"
)

// A Viewer answers requests for pages.
type Viewer struct {
	Options
	ctx    context.Context // ends streams and work in the background
	mux    *http.ServeMux
	pages  *template.Template
	style  serve.Asset
	script serve.Asset

	watch   *store.Watch
	watched sync.Mutex // of watch, which is one connection
	streams chan struct{}

	mu      sync.Mutex
	indexes map[string]*indexed // by run
	studies map[string]*studied // by run

	results memo[experiment.Result]
	tallies memo[progress]

	standings standings

	many, most int // manyTrials and mostIndexed, but in tests
}

// A request is a request for a page, and what most pages need.
type request struct {
	*http.Request
	w    http.ResponseWriter
	base string // leads to the first page: all links are relative
	run  *store.Run
	item string // that the page is about, "" for many

	studies map[string]*loaded // that the page read so far, by run
}

// study is the study of a run, the same for the whole page.
func (r *request) study(v *Viewer, run *store.Run) *loaded {
	if r.studies[run.ID] == nil {
		r.studies[run.ID] = v.study(run)
	}
	return r.studies[run.ID]
}

// notes says of the studies that the page read what changed since their runs.
func (r *request) notes() (list []string) {
	for _, id := range slices.Sorted(maps.Keys(r.studies)) {
		l := r.studies[id]
		if r.item != "" {
			if l.gold[r.item] {
				list = append(list, "The gold of this item changed since it was scored: the page shows today's. `scruple score` scores again at no cost.")
			}
			continue
		}
		if l.regraded != nil {
			list = append(list, "Right answers and problems are shown by today's gold, beside scores by the former: "+l.regraded.Error())
		}
		if n := len(l.reworded); n > 0 {
			names := slices.Clone(l.reworded[:min(n, 5)])
			if n > len(names) {
				names = append(names, "…")
			}
			list = append(list, fmt.Sprintf("The data of %s changed since run %s asked: %s. Their trials are shown without gold, and every stratum has them as %s.",
				text.Plural(n, "item", "items"), id, strings.Join(names, ", "), changedItem))
		}
	}
	return slices.Compact(list) // two runs can say the same of an item
}

func (r *request) param(name string) string { return r.URL.Query().Get(name) }

// link returns the address of a page. Parts of the path are escaped, and empty
// parameters left out.
func (r *request) link(path []string, params ...string) string {
	var b strings.Builder
	b.WriteString(r.base)
	for i, p := range path {
		if i > 0 {
			b.WriteByte('/')
		}
		b.WriteString(url.PathEscape(p))
	}
	sep := byte('?')
	for i := 0; i+1 < len(params); i += 2 {
		if params[i+1] != "" {
			b.WriteByte(sep)
			b.WriteString(params[i] + "=" + url.QueryEscape(params[i+1]))
			sep = '&'
		}
	}
	return b.String()
}

// A badRequest is an error in the address of a page.
type badRequest struct{ error }

func bad(format string, args ...any) error { return badRequest{fmt.Errorf(format, args...)} }

// shown is a page about answers: those of an unfinished TEST run are not shown.
func shown(db *store.DB, page func(*request) error) func(*request) error {
	return func(r *request) error {
		if err := experiment.CheckShown(r.Context(), db, r.run); err != nil {
			return err
		}
		return page(r)
	}
}

// answer makes a handler of a page.
func (v *Viewer) answer(page func(*request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		q := &request{Request: r, w: w, base: "./", studies: map[string]*loaded{}}
		if depth := strings.Count(r.URL.EscapedPath(), "/") - 1; depth > 0 {
			q.base = strings.Repeat("../", depth)
		}
		_, err := v.version(r.Context()) // fails if the store was replaced
		if id := r.PathValue("run"); err == nil && id != "" {
			q.run, err = v.DB.Run(r.Context(), id)
		}
		if err == nil {
			err = page(q)
		}
		if err == nil || r.Context().Err() != nil {
			return
		}
		name, status := "error", http.StatusInternalServerError
		switch {
		case errors.As(err, new(building)):
			name, status = "wait", http.StatusServiceUnavailable
			w.Header().Set("Refresh", "2")
			w.Header().Set("Retry-After", "2")
		case errors.As(err, new(badRequest)):
			status = http.StatusBadRequest
		case errors.As(err, new(*experiment.NotAllowedError)):
			status = http.StatusForbidden
		case errors.Is(err, store.ErrNotFound):
			status = http.StatusNotFound
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(status)
		title := map[string]string{"error": "Error", "wait": "Please wait"}[name]
		_ = v.render(q, name, title, err.Error())
	}
}

// A shown page.
type page struct {
	Base, Style, Script string
	Title               string
	Run                 *store.Run
	Notes               []string
	Data                any
}

func (v *Viewer) render(r *request, name, title string, data any) error {
	var b bytes.Buffer
	err := v.pages.ExecuteTemplate(&b, name, page{Base: r.base, Style: r.base + v.style.Path, Script: r.base + v.script.Path, Title: title, Run: r.run, Notes: r.notes(), Data: data})
	if err != nil {
		return err
	}
	r.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, err = r.w.Write(b.Bytes())
	return err
}

// A pager is the place of a page among those of a list, with the addresses beside it.
type pager struct {
	Page, Pages int
	Prev, Next  string
}

// newPager is the pager of a list of n. to returns the address of a page.
func newPager(page, n, perPage int, to func(page int) string) pager {
	p := pager{Page: page, Pages: max(1, (n+perPage-1)/perPage)}
	if page > 1 {
		p.Prev = to(page - 1)
	}
	if page < p.Pages {
		p.Next = to(page + 1)
	}
	return p
}

// trialLink returns the address of a trial, or of a page about it.
func (r *request) trialLink(run *store.Run, id int64, params ...string) string {
	return r.link([]string{"r", run.ID, "t", strconv.FormatInt(id, 10)}, params...)
}

// signed writes a difference of scores.
func signed(x float64) string {
	if x != x {
		return say.Dash
	}
	return say.Sign(x, true) + strconv.FormatFloat(math.Abs(x), 'g', 3, 64)
}

// number formats a number for a cell, a dash if there is none.
func number(x float64) string {
	switch {
	case x != x:
		return "–"
	case x == float64(int64(x)):
		return strconv.FormatInt(int64(x), 10)
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}

// A state is what the address of a list says.
type state struct {
	q, sort string
	text    string   // to search for
	from    int      // place in the list from which to search
	cols    []string // nil: those of the first page
	page    int      // from 1
}

func stateOf(r *request) (state, error) {
	s := state{q: strings.TrimSpace(r.param("q")), sort: r.param("sort"), text: strings.TrimSpace(r.param("text")), page: 1}
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
	if from := r.param("from"); from != "" {
		n, err := strconv.Atoi(from)
		if err != nil || n < 0 {
			return s, bad("from %q: must be a number of trials", from)
		}
		s.from = n
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

// at is the state on another page, and matching the first page of what a filter selects.
func (s state) at(page int) state {
	s.page = page
	return s
}

func (s state) matching(q string) state {
	s.q, s.page = q, 1
	return s
}

// params returns the parameters of an address with the state.
func (s state) params() []string {
	return []string{"q", s.q, "sort", s.sort, "text", s.text, "from", above(s.from, 0), "cols", strings.Join(s.cols, ","), "page", above(s.page, 1)}
}

// above is a number as a parameter, left out if it is only the default.
func above(n, byDefault int) string {
	if n <= byDefault {
		return ""
	}
	return strconv.Itoa(n)
}

type choice struct {
	Text, Href string
	Key        string // of the keyboard
	N          int
}

// shortItem is an item as a heading shows it.
func shortItem(s string) string { return text.Shorten(say.PlainLine(s), 120) }
