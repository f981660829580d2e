package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/model"
	"github.com/scruple-eval/scruple/internal/model/outputs"
	"github.com/scruple-eval/scruple/internal/model/price"
	"github.com/scruple-eval/scruple/internal/model/process"
	"github.com/scruple-eval/scruple/internal/model/recorded"
	"github.com/scruple-eval/scruple/internal/plan"
	"github.com/scruple-eval/scruple/internal/run"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

// models makes a client for every model and pipeline of the study's arms and
// judges. With record, models send their requests through the returned recorder,
// which is to be started. The returned function closes the clients.
func (a *app) models(ctx context.Context, x *experiment.Experiment, record bool) (models map[string]*run.Model, tape *recorded.Recorder, closeAll func() error, err error) {
	var open []io.Closer
	shut := func() error {
		var errs []error
		for _, c := range open {
			errs = append(errs, c.Close())
		}
		return errors.Join(errs...)
	}
	defer func() {
		if err != nil {
			shut()
		}
	}()
	getenv, err := study.DotEnv(filepath.Join(x.File.Dir, ".env"), a.getenv)
	if err != nil {
		return nil, nil, nil, err
	}
	keys := mapped(secrets(x, getenv), func(name string) string { return keyOf(name, getenv) })
	base := model.NewTransport(x.Study.Execution.Concurrency)
	var transport http.RoundTripper = base
	if record {
		tape = recorded.NewRecorder(base, keys...)
		transport, open = tape, append(open, tape)
	}
	models = map[string]*run.Model{}
	used := x.UsedModels()
	endpoints := map[string]string{} // of the models recorded, by name
	var problems []error
	for i, m := range x.Study.Models {
		if !used[m.ID] {
			continue
		}
		if m.Cassette != "" {
			m.Cassette = x.File.Resolve(m.Cassette)
		}
		client, wire, err := newClient(m, getenv, transport)
		if err != nil {
			problems = append(problems, x.File.Errorf(fmt.Sprintf("models[%d]", i), "%w", err))
			continue
		}
		if p, ok := findPreset(m.Provider); ok && record {
			at := wire + " at " + cmp.Or(m.BaseURL, p.baseURL)
			if other := cmp.Or(endpoints[m.Name], at); other != at {
				problems = append(problems, x.File.Errorf(fmt.Sprintf("models[%d]", i), "%s is asked in format %s and in format %s, and a recording replays a model from one endpoint: record two studies", m.Name, other, at))
			}
			endpoints[m.Name] = at
		}
		cost, _ := costOf(m)
		prices := ""
		if p, known := priceOf(m); known && (m.Price != nil || m.Provider != kit.SimulatedProvider) {
			prices = eval.Price{Model: m.ID + " " + m.Provider + " " + m.Name, Price: p.String()}.String()
		}
		models[m.ID] = &run.Model{Client: client, Group: wire + " " + m.BaseURL + " " + m.Name, Concurrency: m.Limits.Concurrency,
			RequestsPerMinute: m.Limits.RequestsPerMinute, TokensPerMinute: m.Limits.TokensPerMinute, Cost: cost, Prices: prices, Reuse: paid(m)}
	}
	for _, p := range x.Bench.Pipelines() {
		client, err := a.pipeline(ctx, p, x, base, keys)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: arm %s: %w", x.File.Path, strings.TrimPrefix(p.Model, eval.PipelinePrefix), err))
			continue
		}
		models[p.Model] = &run.Model{Client: client, Group: x.Study.Name + " " + p.Model, Stored: !p.Asked(), Reuse: p.Version != ""}
		if c, ok := client.(io.Closer); ok {
			open = append(open, c)
		}
	}
	return models, tape, shut, errors.Join(problems...)
}

// checkModels refuses what a run would refuse before its first call, by opening all
// models and pipelines without asking them. Missing keys are returned as warnings.
func (a *app) checkModels(ctx context.Context, x *experiment.Experiment) (noKeys []string, err error) {
	_, _, closeAll, err := a.models(ctx, x, false)
	if err == nil {
		return nil, closeAll()
	}
	var problems []error
	for _, problem := range apart(err) {
		var noKey *noKeyError
		if errors.As(problem, &noKey) {
			noKeys = append(noKeys, problem.Error())
		} else {
			problems = append(problems, problem)
		}
	}
	return noKeys, errors.Join(problems...)
}

// keysSent says which keys a run sends, and where to; [app.models] has read the variables.
func (a *app) keysSent(x *experiment.Experiment) []string {
	getenv, err := study.DotEnv(filepath.Join(x.File.Dir, ".env"), a.getenv)
	if err != nil {
		getenv = a.getenv
	}
	return keysSent(x.Study.Models, getenv)
}

// apart returns the errors that errors.Join joined.
func apart(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

// leastKey is the length of the shortest key that is a secret. Servers on one's own machine take
// any word, such as x, which is in every text.
const leastKey = 8

// secrets names the variables with keys that the study's models and commands may use, to remove
// the keys from recordings and from what pipelines say, and refuse them in bundles.
func secrets(x *experiment.Experiment, getenv func(string) string) []string {
	var list []string
	models := x.Study.Models
	if m := x.Study.Output.Embeddings; m != nil {
		models = append(slices.Clone(models), study.Model{Provider: m.Provider, APIKeyEnv: m.APIKeyEnv})
	}
	names := slices.DeleteFunc(slices.Clone(x.Study.Execution.Environment), func(name string) bool { return !model.HoldsKey(name, getenv(name)) })
	for _, m := range models {
		p, _ := findPreset(m.Provider)
		names = append(names, m.APIKeyEnv, p.keyEnv)
	}
	for _, name := range names {
		if name != "" && len(keyOf(name, getenv)) >= leastKey && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

func keyOf(name string, getenv func(string) string) string { return strings.TrimSpace(getenv(name)) }

// pipeline makes the client of an arm that an external pipeline answers.
func (a *app) pipeline(ctx context.Context, p eval.Pipeline, x *experiment.Experiment, transport http.RoundTripper, keys []string) (model.Client, error) {
	switch p.Kind {
	case "outputs":
		return a.answers(p, x)
	case "run":
		return a.openRunAnswers(ctx, a.storeFor(x.File.Path), p, x)
	case "exec":
		return process.NewExec(p.Target, process.ExecOptions{Dir: x.File.Dir, Pass: x.Study.Execution.Environment, Keys: model.NewKeys(keys...), Changed: func() bool { return p.Changed(false) }})
	case "http":
		return process.NewHTTP(p.Target, &http.Client{Transport: transport}, keys...)
	}
	return nil, fmt.Errorf("unknown pipeline kind %q", p.Kind)
}

// answers opens a file of answers from another program and prints what does not
// match the study: an item without an answer will count as a failed trial.
func (a *app) answers(p eval.Pipeline, x *experiment.Experiment) (model.Client, error) {
	client, err := outputs.Open(p.Target)
	if err != nil {
		return nil, err
	}
	items := mapped(x.Items(), func(it eval.Item) string { return it.ID })
	missing, unknown := client.Missing(items, x.Study.Execution.Replicates), client.Unknown(items)
	if len(missing) == x.Plan.Replicates()*len(items) {
		client.Close()
		if len(unknown) == 0 {
			return nil, fmt.Errorf("%s is empty, or has no answer of replicates 1 to %d to any item", p.Target, x.Plan.Replicates())
		}
		return nil, fmt.Errorf("%s has no answer for any item of the study; it has answers for %s …", p.Target, strings.Join(plan.Shorten(unknown, 3), ", "))
	}
	if len(missing) > 0 {
		a.warn("%s: no answer for %d of %s (%s), which will fail", p.Target, len(missing),
			text.Plural(x.Plan.Replicates()*len(items), "trial", "trials"), strings.Join(plan.Shorten(missing, 3), ", "))
	}
	if len(unknown) > 0 {
		a.warn("%s: ignored answers for %s not in the study: %s", p.Target, text.Plural(len(unknown), "item", "items"),
			strings.Join(plan.Shorten(unknown, 3), ", "))
	}
	if most := client.Most(); most > x.Plan.Replicates() {
		a.warn("%s: ignored answers of replicates above execution.replicates, which is %d: write execution: {replicates: %d} to use all", p.Target, x.Plan.Replicates(), most)
	}
	return client, nil
}

// paid reports whether a model's answers are worth taking from another run. Those
// of simulated and recorded models are free, and the same when asked again.
func paid(m study.Model) bool {
	return m.Provider != kit.SimulatedProvider && m.Provider != "recorded"
}

// costOf returns the price function of a model and whether the price is known.
func costOf(m study.Model) (func(eval.Usage) float64, bool) {
	if p, known := priceOf(m); known {
		return p.Cost, true
	}
	return func(eval.Usage) float64 { return math.NaN() }, false
}

// priceOf returns the price of a model and whether it is known: from the study, else from the built-in
// list.
func priceOf(m study.Model) (price.Price, bool) {
	if s := m.Price; s != nil {
		return price.Price{Input: s.Input, Output: s.Output, Cached: s.Cached, CacheWrite: s.CacheWrite}, true
	}
	if m.Provider == kit.SimulatedProvider {
		return price.Price{}, true
	}
	return price.Lookup(m.Provider, m.Name)
}

// runAnswers is the client of an arm that takes its answers from an arm of
// another run in a store.
type runAnswers struct {
	db   *store.DB
	kept *store.Answers
	from string
	// other are the items of which the other run answered another question.
	other map[string]bool
}

// openRunAnswers opens the answers of RUN:ARM in a store, and prints of how many items they
// answer another question.
func (a *app) openRunAnswers(ctx context.Context, path string, p eval.Pipeline, x *experiment.Experiment) (*runAnswers, error) {
	from := p.Target
	id, arm, _ := strings.Cut(from, ":")
	db, err := store.OpenRead(ctx, path)
	if errors.Is(err, store.ErrNotFound) {
		return a.noRun(id, from, false, err)
	}
	if err != nil {
		return nil, fmt.Errorf("answers of run %s: %w", from, err)
	}
	r, err := db.Run(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		_, none := db.Tagged(ctx, id, "")
		db.Close()
		return a.noRun(id, from, none == nil, err)
	}
	var kept *store.Answers
	if err == nil {
		err = experiment.CheckShown(ctx, db, r) // other gold or items would show what it hides
	}
	if err == nil {
		kept, err = db.Answers(ctx, r, arm)
	}
	var other map[string]bool
	if err == nil {
		other, err = x.OtherQuestions(ctx, db, r, p)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("answers of run %s: %w", from, err), db.Close())
	}
	if len(other) > 0 {
		a.warn("arm %s: run %s answered another question of %s (%s): the input changed, or the order of what was shown. The answers are not taken and these trials fail",
			strings.TrimPrefix(p.Model, eval.PipelinePrefix), r.ID, text.Plural(len(other), "item", "items"), strings.Join(plan.Shorten(slices.Sorted(maps.Keys(other)), 3), ", "))
	}
	return &runAnswers{db, kept, from, other}, nil
}

func (a *runAnswers) Close() error {
	if a.db == nil {
		return nil
	}
	return a.db.Close()
}

// noRun is for an arm that names a tag which no earlier run has. It returns no answers if this run
// gets the tag, or has it already; else it returns an error.
func (a *app) noRun(id, from string, alone bool, err error) (*runAnswers, error) {
	if id != a.tag && !alone {
		return nil, fmt.Errorf("answers of run %s: %w; nor has another run this tag: `scruple run STUDY --tag %s` gives it to a run, such as that of the main branch", from, err, id)
	}
	a.first = id
	return &runAnswers{from: from}, nil
}

// errNoTag is the error of a run that is to get the first tag of its name.
var errNoTag = errors.New("no run has the tag yet: this one is the first, and the next run can take its answers")

// Complete gives the answer to the request's item and replicate. A trial that
// failed in the other run, is not in it, or had another question there, fails here too.
func (a *runAnswers) Complete(ctx context.Context, r *eval.Request) (eval.Response, error) {
	replicate := max(1, r.Replicate)
	if a.kept == nil {
		return eval.Response{}, &model.Error{Kind: eval.ErrUnavailable, Err: errNoTag, Final: true, Message: fmt.Sprintf("reading the answer of %s: %v", a.from, errNoTag)}
	}
	if a.other[r.Item] {
		return eval.Response{}, &model.Error{Kind: eval.ErrUnavailable, Final: true, Message: fmt.Sprintf("reading the answer of %s: item %q was another question there", a.from, r.Item),
			Remedy: "run the other study once more with these items, or leave them out"}
	}
	o, version, taken, err := a.kept.Get(ctx, r.Item, replicate)
	if err == nil && o.Kind == eval.Failed {
		err = fmt.Errorf("the trial failed: %s", o.Detail)
	}
	if err != nil {
		return eval.Response{}, &model.Error{Kind: eval.ErrUnavailable, Err: err, Final: true,
			Message: fmt.Sprintf("reading the answer of %s: %v", a.from, err), Remedy: "finish the other run first"}
	}
	taken.Given = taken.Given || taken.Calls == 0 // also of a file that a suite reads itself
	response := eval.Response{Text: string(o.Data), Stop: eval.StopEnd, ModelVersion: version, Taken: &taken,
		Usage:     eval.Usage{Input: taken.TokensIn, Output: taken.TokensOut, CachedInInput: true, ReasoningInOutput: true, Uncounted: taken.Uncounted},
		RequestID: fmt.Sprintf("%s:%s#%d", a.from, r.Item, replicate)}
	if slices.Contains(o.Notes, eval.NoteTruncated) {
		response.Stop = eval.StopLength
	}
	if o.Kind == eval.Refused {
		response.Stop, response.Refusal = eval.StopRefused, o.Detail
	}
	return response, nil
}
