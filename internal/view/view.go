// Package view shows the runs of a store in a browser: runs with their progress, the
// report of a run with the trials behind each number, lists of trials with a filter,
// single trials with their calls, and two arms or runs item by item.
//
// It only reads: there is no request that changes anything, and it sends none itself.
// Package serve decides who may ask. The browser gets pages, never tables: filtering,
// sorting and paging happen here, and the whole state of a page is in its address.
// Pages work without their script.
//
// view.go has the routes and the report, samples.go lists of trials by index.go;
// runs.go, trial.go (and items), judge.go, compare.go and pair.go have the other pages.
//
// The package computes nothing but filters, sums of one item, and counts: numbers with an
// interval come from the analysis. It knows no suite; what a trial looks like comes from
// the study of its run, and where the study changed since, pages show what the store
// holds and say so.
package view

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/keys"
	"github.com/scruple-eval/scruple/internal/report"
	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/internal/store"
)

//go:embed view.css
var ownStyle string

//go:embed view.js
var script string

//go:embed page.tmpl
var pages string

// Options are what a viewer needs from the calling program.
type Options struct {
	DB    *store.DB               // open for reading
	Study func(*store.Run) string // returns the file of the study of a run
	// Load loads the study of a run from its file.
	Load func(*store.Run, string) (*experiment.Experiment, error)
	// Command returns the command line of a verb on a run.
	Command func(r *store.Run, verb string, rest ...string) string
}

// A Viewer answers requests for pages.
type Viewer struct {
	Options
	ctx    context.Context // ends streams and work in the background
	mux    *http.ServeMux
	pages  *template.Template
	style  string // name of the style sheet, with its hash
	script string

	watch   *store.Watch
	watched sync.Mutex // of watch, which is one connection
	streams chan struct{}

	mu      sync.Mutex
	indexes map[string]*indexed // by run
	studies map[string]*loaded
	files   map[string]string // of studies, by run

	results memo[experiment.Result]
	tallies memo[store.Tally]

	standings standings

	many, most int // manyTrials and mostIndexed, but in tests
}

// New returns a viewer of a store. Its streams end with the context.
func New(ctx context.Context, o Options) (*Viewer, error) {
	v := &Viewer{Options: o, ctx: ctx, mux: http.NewServeMux(), streams: make(chan struct{}, mostStreams),
		indexes: map[string]*indexed{}, studies: map[string]*loaded{}, files: map[string]string{}, many: manyTrials, most: mostIndexed}
	v.results.kept, v.tallies.kept = map[string]stated[experiment.Result]{}, map[string]stated[store.Tally]{}
	v.standings = standings{last: map[string]standing{}, next: map[string]time.Time{}, busy: map[string]chan struct{}{}}
	var err error
	if v.watch, err = o.DB.Watch(ctx); err != nil {
		return nil, err
	}
	v.pages = template.Must(template.New("page").Funcs(template.FuncMap{
		"show": say.Visible,
	}).Parse(pages))
	v.style = v.asset("style", "css", "text/css; charset=utf-8", report.Style()+keys.Style+ownStyle)
	v.script = v.asset("view", "js", "text/javascript; charset=utf-8", keys.Script+script)
	for pattern, page := range map[string]func(*request) error{
		"GET /{$}":                     v.runsPage,
		"GET /r/{run}":                 v.runPage,
		"GET /r/{run}/report":          v.runPage,
		"GET /r/{run}/samples":         shown(v.DB, v.samplesPage),
		"GET /r/{run}/export":          shown(v.DB, v.export),
		"GET /r/{run}/t/{trial}":       shown(v.DB, v.trialPage),
		"GET /r/{run}/t/{trial}/calls": shown(v.DB, v.callsPage),
		"GET /r/{run}/i":               shown(v.DB, v.itemPage),
		"GET /r/{run}/judge":           shown(v.DB, v.judgePage),
		"GET /c":                       v.comparePage,
		"GET /c/item":                  v.pairPage,
	} {
		v.mux.HandleFunc(pattern, v.answer(page))
	}
	v.mux.HandleFunc("GET /events", v.events)
	return v, nil
}

// asset serves a file under a name with its hash, which browsers may keep.
func (v *Viewer) asset(name, ext, kind, content string) string {
	hash := sha256.Sum256([]byte(content))
	path := "a/" + name + "." + hex.EncodeToString(hash[:6]) + "." + ext
	v.mux.HandleFunc("GET /"+path, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Cache-Control", "private, max-age=31536000, immutable")
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(content))
	})
	return path
}

// ServeHTTP answers a request.
func (v *Viewer) ServeHTTP(w http.ResponseWriter, r *http.Request) { v.mux.ServeHTTP(w, r) }

// Close closes what the viewer opened. End its context first.
func (v *Viewer) Close() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	err := v.watch.Close()
	for _, l := range v.studies {
		if l.x != nil {
			err = errors.Join(err, l.x.Close())
		}
	}
	return err
}

// A request is a request for a page, and what most pages need.
type request struct {
	*http.Request
	w    http.ResponseWriter
	base string // leads to the first page: all links are relative
	run  *store.Run
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

// shownRun finds a run. One on TEST is not shown before it is finished.
func (v *Viewer) shownRun(ctx context.Context, id string) (*store.Run, error) {
	run, err := v.DB.Run(ctx, id)
	if err == nil {
		err = experiment.CheckShown(ctx, v.DB, run)
	}
	return run, err
}

// answer makes a handler of a page.
func (v *Viewer) answer(page func(*request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		q := &request{Request: r, w: w, base: "./"}
		if depth := strings.Count(r.URL.EscapedPath(), "/") - 1; depth > 0 {
			q.base = strings.Repeat("../", depth)
		}
		var err error
		if id := r.PathValue("run"); id != "" {
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

// A shown page.
type page struct {
	Base, Style, Script string
	Title               string
	Run                 *store.Run
	Data                any
}

func (v *Viewer) render(r *request, name, title string, data any) error {
	var b bytes.Buffer
	err := v.pages.ExecuteTemplate(&b, name, page{Base: r.base, Style: r.base + v.style, Script: r.base + v.script, Title: title, Run: r.run, Data: data})
	if err != nil {
		return err
	}
	r.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, err = r.w.Write(b.Bytes())
	return err
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

// version is the state of the store.
func (v *Viewer) version(ctx context.Context) (int64, error) {
	v.watched.Lock()
	defer v.watched.Unlock()
	return v.watch.Version(ctx)
}

// A memo keeps a value for each run in one state of the store.
type memo[T any] struct {
	mu   sync.Mutex
	kept map[string]stated[T]
}

type stated[T any] struct {
	version int64
	value   T
	err     error
}

// of returns the value of a run, made again if the store changed.
func (m *memo[T]) of(ctx context.Context, v *Viewer, run *store.Run, get func() (T, error)) (value T, err error) {
	version, err := v.version(ctx)
	if err != nil {
		return value, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if k, ok := m.kept[run.ID]; ok && k.version == version {
		return k.value, k.err
	}
	value, err = get()
	if ctx.Err() == nil {
		m.kept[run.ID] = stated[T]{version, value, err}
	}
	return value, err
}

// analysis returns the stored analysis and verdict of a run. The error wraps
// [store.ErrNotFound] if it was not analysed.
func (v *Viewer) analysis(ctx context.Context, run *store.Run) (experiment.Result, error) {
	return v.results.of(ctx, v, run, func() (experiment.Result, error) { return experiment.Kept(ctx, v.DB, run) })
}

// tally counts the trials of a run, once for all pages.
func (v *Viewer) tally(ctx context.Context, run *store.Run) (store.Tally, error) {
	return v.tallies.of(ctx, v, run, func() (store.Tally, error) { return v.DB.Tally(ctx, run) })
}

// metrics returns the metrics of a run's analysis, primary ones first.
func (v *Viewer) metrics(ctx context.Context, run *store.Run) []analyse.Metric {
	kept, err := v.analysis(ctx, run)
	if err != nil {
		return nil
	}
	list := slices.Clone(kept.Analysis.Metrics)
	order := map[string]int{"primary": -2, "secondary": -1}
	slices.SortStableFunc(list, func(a, b analyse.Metric) int { return cmp.Compare(order[a.Rank], order[b.Rank]) })
	return list
}

// loaded is the study of a run, or why it cannot show its trials.
type loaded struct {
	once sync.Once
	x    *experiment.Experiment
	run  *experiment.Run
	show func(context.Context, eval.Trial) (eval.Exhibit, error)
	err  error
	// Items whose input or gold is not that of the run.
	input, gold map[string]bool
}

// study loads the study of a run, again if its file or the plan changed.
func (v *Viewer) study(run *store.Run) *loaded {
	v.mu.Lock()
	file, known := v.files[run.ID]
	if !known {
		file = v.Study(run)
		v.files[run.ID] = file
	}
	v.mu.Unlock()
	key := run.ID + " " + strconv.Itoa(run.Trials)
	if info, err := os.Stat(file); err == nil {
		key += " " + info.ModTime().String()
	}
	v.mu.Lock()
	l := v.studies[key]
	if l == nil {
		l = &loaded{}
		v.studies[key] = l
	}
	v.mu.Unlock()
	l.once.Do(func() { l.err = l.load(v, run, file) })
	return l
}

func (l *loaded) load(v *Viewer, run *store.Run, file string) (err error) {
	own := *run // the plan is set in it
	if l.x, err = v.Load(&own, file); err != nil {
		return err
	}
	if l.run, err = l.x.Attach(v.ctx, v.DB, &own); err != nil {
		return err
	}
	if l.show, err = l.run.Exhibits(v.ctx); err != nil {
		return err
	}
	was, err := v.DB.Items(v.ctx, &own)
	l.input, l.gold = map[string]bool{}, map[string]bool{}
	for _, it := range l.x.Items() {
		l.input[it.ID] = was[it.ID].Input != it.Input
		l.gold[it.ID] = was[it.ID].Gold != it.Gold
	}
	return err
}

// runData is the page of a run.
type runData struct {
	Body    template.HTML
	Missing string // why there is no report
	Running *standing
	Scoring bool // it is being computed
	store.Tally
	Samples, Judge, Command, Whole string
}

// runPage is the overview of a run: its report, whose numbers lead to trials.
func (v *Viewer) runPage(r *request) error {
	data := runData{Samples: r.link([]string{"r", r.run.ID, "samples"}), Judge: r.link([]string{"r", r.run.ID, "judge"}), Command: v.Command(r.run, "report")}
	short := !strings.HasSuffix(r.URL.Path, "/report")
	if short {
		data.Whole = r.link([]string{"r", r.run.ID, "report"})
	}
	kept, err := v.analysis(r.Context(), r.run)
	if err == nil {
		data.Body, err = report.Body(report.Report{Analysis: kept.Analysis, Verdict: kept.Verdict, Link: func(b report.Behind) string { return v.behind(r, kept.Analysis, b) }}, short)
		data.Tally = store.Tally{Trials: kept.Analysis.Run.Planned, Done: kept.Analysis.Run.Done, Failed: kept.Analysis.Run.Failed}
	}
	if err != nil {
		data.Missing = err.Error()
		if data.Tally, err = v.tally(r.Context(), r.run); err != nil {
			return err
		}
		if now, ok := v.standing(r.Context(), r.run); ok && now.Missing == "" {
			data.Running, data.Missing = &now, ""
		} else if ok {
			data.Missing += ". There are no running numbers: " + now.Missing
		} else {
			data.Scoring = true
		}
	}
	return v.render(r, "run", r.run.ID, data)
}

// behind returns the address of the trials behind a number of a report.
func (v *Viewer) behind(r *request, a *analyse.Analysis, b report.Behind) string {
	var terms []string
	if b.Stratum != nil {
		terms = append(terms, equals(identifier(b.Stratum.Name), b.Stratum.Value))
	}
	if b.Against != "" {
		return r.link([]string{"c"}, "r", r.run.ID, "a", b.Arm, "s", r.run.ID, "b", b.Against, "metric", b.Metric, "q", strings.Join(terms, " && "))
	}
	terms = append([]string{equals("arm", b.Arm)}, terms...)
	if b.Outcome != "" {
		terms = append(terms, equals("outcome", b.Outcome))
	}
	sort := ""
	if b.Metric != "" {
		name := identifier(b.Metric)
		terms = append(terms, "!missing("+name+")")
		if sort = name; !higherIsBetter(a, b.Metric) {
			sort = "-" + name
		}
	}
	return r.link([]string{"r", r.run.ID, "samples"}, "q", strings.Join(terms, " && "), "sort", sort)
}

func higherIsBetter(a *analyse.Analysis, metric string) bool {
	m, ok := a.Metric(metric)
	return !ok || m.HigherIsBetter
}
