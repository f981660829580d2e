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
// page.go has what every page needs of its request, and stored.go what of the store.
//
// The package computes nothing but filters, sums of one item, and counts: numbers with an
// interval come from the analysis. It knows no suite; what a trial looks like comes from
// the study of its run, and where the study changed since, pages show what the store
// holds and say so.
package view

import (
	"context"
	_ "embed"
	"errors"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/keys"
	"github.com/scruple-eval/scruple/internal/report"
	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/internal/serve"
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

// New returns a viewer of a store. Its streams end with the context.
func New(ctx context.Context, o Options) (*Viewer, error) {
	v := &Viewer{Options: o, ctx: ctx, mux: http.NewServeMux(), streams: make(chan struct{}, mostStreams),
		indexes: map[string]*indexed{}, studies: map[string]*studied{}, many: manyTrials, most: mostIndexed}
	v.results.kept, v.tallies.kept = map[string]stated[experiment.Result]{}, map[string]stated[progress]{}
	v.standings = standings{last: map[string]standing{}, next: map[string]time.Time{}, busy: map[string]chan struct{}{}}
	var err error
	if v.watch, err = o.DB.Watch(ctx); err != nil {
		return nil, err
	}
	v.pages = template.Must(template.New("page").Funcs(template.FuncMap{
		"show":     say.Visible,
		"indented": indented,
		"moment":   moment,
	}).Parse(pages))
	v.style = serve.NewAsset("style", "css", "text/css; charset=utf-8", report.Style()+keys.Style+ownStyle)
	v.script = serve.NewAsset("view", "js", "text/javascript; charset=utf-8", keys.Script+script)
	v.style.On(v.mux)
	v.script.On(v.mux)
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

// ServeHTTP answers a request.
func (v *Viewer) ServeHTTP(w http.ResponseWriter, r *http.Request) { v.mux.ServeHTTP(w, r) }

// Close closes what the viewer opened. End its context first.
func (v *Viewer) Close() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	err := v.watch.Close()
	for _, held := range v.studies {
		if held.mu.TryLock() && held.loaded != nil && held.x != nil { // else it is being loaded
			err = errors.Join(err, held.x.Close())
		}
	}
	return err
}

// runData is the page of a run.
type runData struct {
	Body    template.HTML
	Missing string // why there is no report
	Running *standing
	Scoring bool // it is being computed
	progress
	Samples, Judge, Command, Whole string
}

// runPage is the overview of a run: its report, whose numbers lead to trials.
func (v *Viewer) runPage(r *request) error {
	data := runData{Samples: r.link([]string{"r", r.run.ID, "samples"}), Judge: r.link([]string{"r", r.run.ID, "judge"}), Command: v.Command(r.run, "report")}
	short := !strings.HasSuffix(r.URL.Path, "/report")
	if short {
		data.Whole = r.link([]string{"r", r.run.ID, "report"})
	}
	if r.run.Trials <= readAtOnce {
		r.study(v, r.run) // for what changed since
	}
	kept, err := v.analysis(r.Context(), r.run)
	if err == nil {
		data.Body, err = report.Body(report.Report{Analysis: kept.Analysis, Verdict: kept.Verdict, Link: v.behind(r, kept.Analysis)}, short)
		data.progress = analysed(kept.Analysis)
	}
	if err != nil {
		unanalysed := errors.Is(err, store.ErrNotFound)
		data.Missing = err.Error()
		if data.progress, err = v.tally(r.Context(), r.run); err != nil {
			return err
		}
		if unanalysed {
			switch now, ok := v.standing(r.Context(), r.run); {
			case !ok:
				data.Scoring = true
			case now.Missing == "":
				data.Running, data.Missing = &now, ""
			default:
				data.Missing += ". There are no running numbers: " + now.Missing
			}
		}
	}
	return v.render(r, "run", r.run.ID, data)
}

// behind returns what makes the address of the trials behind a number of a report.
func (v *Viewer) behind(r *request, a *analyse.Analysis) func(report.Behind) string {
	var x *index
	if ambiguous(a) { // else it takes no index to know a name
		x, _ = v.indexSoon(r.Context(), r.run)
	}
	named := func(title string, metric bool) string {
		if x != nil {
			if c := x.titled(title, metric); c != nil {
				return c.name
			}
		}
		return identifier(title)
	}
	return func(b report.Behind) string {
		var terms []string
		if b.Stratum != nil {
			terms = append(terms, equals(named(b.Stratum.Name, false), b.Stratum.Value))
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
			name := named(b.Metric, true)
			terms, sort = append(terms, "!missing("+name+")"), name
			if m, ok := a.Metric(b.Metric); ok && !m.HigherIsBetter {
				sort = "-" + name
			}
		}
		return r.link([]string{"r", r.run.ID, "samples"}, "q", strings.Join(terms, " && "), "sort", sort)
	}
}

// ambiguous reports whether two metrics or factors of an analysis have one name in filters.
func ambiguous(a *analyse.Analysis) bool {
	titles := map[string]string{}
	taken := func(title, kind string) bool {
		was, ok := titles[identifier(title)]
		titles[identifier(title)] = kind + title
		return ok && was != kind+title
	}
	return slices.ContainsFunc(a.Metrics, func(m analyse.Metric) bool { return taken(m.Name, "metric ") }) ||
		slices.ContainsFunc(a.Estimates, func(e analyse.Estimate) bool { return e.Stratum != nil && taken(e.Stratum.Name, "factor ") })
}
