package main

import (
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
	"github.com/scruple-eval/scruple/internal/model"
	"github.com/scruple-eval/scruple/internal/model/outputs"
	"github.com/scruple-eval/scruple/internal/model/price"
	"github.com/scruple-eval/scruple/internal/model/process"
	"github.com/scruple-eval/scruple/internal/model/recorded"
	"github.com/scruple-eval/scruple/internal/plan"
	"github.com/scruple-eval/scruple/internal/run"
	"github.com/scruple-eval/scruple/internal/study"
)

// models makes a client for every model and pipeline the study's arms and
// judge ask. With record, what is sent and answered is written to that
// cassette, keys taken out. The function it returns ends what they hold open.
func (a *app) models(l *loaded, record string) (models map[string]*run.Model, closeAll func() error, err error) {
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
	getenv, err := study.DotEnv(filepath.Join(l.file.Dir, ".env"), a.getenv)
	if err != nil {
		return nil, nil, err
	}
	base := model.NewTransport(l.study.Execution.Concurrency)
	var transport http.RoundTripper = base
	if record != "" {
		recorder, err := recorded.Record(record, base, l.secrets(getenv)...)
		if err != nil {
			return nil, nil, err
		}
		transport, open = recorder, append(open, recorder)
	}
	models = map[string]*run.Model{}
	used := l.usedModels()
	var problems []error
	for i, m := range l.study.Models {
		if !used[m.ID] {
			continue
		}
		if m.Cassette != "" {
			m.Cassette = l.file.Resolve(m.Cassette)
		}
		client, wire, err := newClient(m, getenv, transport)
		if err != nil {
			problems = append(problems, l.file.Errorf(fmt.Sprintf("models[%d]", i), "%v", err))
			continue
		}
		models[m.ID] = &run.Model{Client: client, Group: wire + " " + m.BaseURL + " " + m.Name, Concurrency: m.Limits.Concurrency,
			RequestsPerMinute: m.Limits.RequestsPerMinute, TokensPerMinute: m.Limits.TokensPerMinute, Cost: costOf(m)}
	}
	for _, p := range l.bench.Pipelines() {
		client, err := a.pipeline(p, l, transport)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		models[p.Model] = &run.Model{Client: client, Group: p.Model}
		if c, ok := client.(io.Closer); ok {
			open = append(open, c)
		}
	}
	return models, shut, errors.Join(problems...)
}

// tryPipelines opens what outside programs and files the arms ask, and asks
// nothing.
func (a *app) tryPipelines(l *loaded) error {
	var problems []error
	transport := model.NewTransport(l.study.Execution.Concurrency)
	for _, p := range l.bench.Pipelines() {
		client, err := a.pipeline(p, l, transport)
		if c, ok := client.(io.Closer); ok && err == nil {
			err = c.Close()
		}
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

// secrets are the keys the study's models may use, so that they can be taken
// out of a recording.
func (l *loaded) secrets(getenv func(string) string) []string {
	var list []string
	for _, m := range l.study.Models {
		names := []string{m.APIKeyEnv}
		if p, ok := findPreset(m.Provider); ok {
			names = append(names, p.keyEnv)
		}
		for _, name := range names {
			if name != "" && getenv(name) != "" {
				list = append(list, getenv(name))
			}
		}
	}
	return list
}

// usedModels are the ids of the models that arms and the judge ask.
func (l *loaded) usedModels() map[string]bool {
	used := map[string]bool{}
	for _, arm := range l.bench.Arms() {
		used[arm.Model] = true
		for _, judge := range arm.Judges {
			used[judge] = true
		}
	}
	return used
}

// judges are the judges of all arms, sorted.
func (l *loaded) judges() []string {
	all := map[string]bool{}
	for _, arm := range l.bench.Arms() {
		for _, judge := range arm.Judges {
			all[judge] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// pipeline makes the client of an arm that something outside answers for.
func (a *app) pipeline(p eval.Pipeline, l *loaded, transport http.RoundTripper) (model.Client, error) {
	switch p.Kind {
	case "outputs":
		return a.answers(p, l)
	case "exec":
		return process.NewExec(p.Target, process.ExecOptions{Dir: l.file.Dir})
	case "http":
		return process.NewHTTP(p.Target, &http.Client{Transport: transport})
	}
	return nil, fmt.Errorf("an arm of kind %q cannot be asked", p.Kind)
}

// answers opens a file of answers made elsewhere and says how it fits the
// study: an item without an answer will count as a failed trial.
func (a *app) answers(p eval.Pipeline, l *loaded) (model.Client, error) {
	client, err := outputs.Open(p.Target)
	if err != nil {
		return nil, err
	}
	var items []string
	for _, it := range l.bench.Items() {
		items = append(items, it.ID)
	}
	missing, unknown := client.Missing(items, l.study.Execution.Replicates), client.Unknown(items)
	if len(missing) == l.plan.Replicates()*len(items) {
		client.Close()
		return nil, fmt.Errorf("%s has no answer for any of the %d items of the study: its items are %s …", p.Target, len(items), strings.Join(plan.Shorten(unknown, 3), ", "))
	}
	if len(missing) > 0 {
		fmt.Fprintf(a.err, "%s: no answer for %d of %d trials (%s); they will fail\n", p.Target, len(missing),
			l.plan.Replicates()*len(items), strings.Join(plan.Shorten(missing, 3), ", "))
	}
	if len(unknown) > 0 {
		fmt.Fprintf(a.err, "%s: %d answers are to items the study does not have (%s); they are not used\n", p.Target, len(unknown),
			strings.Join(plan.Shorten(unknown, 3), ", "))
	}
	return client, nil
}

// costOf prices a model's answers: by the study, else by the shipped list.
func costOf(m study.Model) func(eval.Usage) float64 {
	p, known := priceOf(m)
	return func(u eval.Usage) float64 {
		if !known {
			return math.NaN()
		}
		return p.Cost(u)
	}
}

func priceOf(m study.Model) (price.Price, bool) {
	if s := m.Price; s != nil {
		return price.Price{Input: s.Input, Output: s.Output, Cached: s.Cached, CacheWrite: s.CacheWrite}, true
	}
	if m.Provider == "simulated" {
		return price.Price{}, true
	}
	return price.Lookup(m.Provider, m.Name)
}

// pricer prices what a plan foresees.
func (l *loaded) pricer() plan.Pricer {
	costs := map[string]func(eval.Usage) float64{}
	for _, m := range l.study.Models {
		costs[m.ID] = costOf(m)
	}
	return func(id string, u eval.Usage) float64 {
		if cost, ok := costs[id]; ok {
			return cost(u)
		}
		return 0 // a pipeline outside is the user's own
	}
}
