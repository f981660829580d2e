package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"path/filepath"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
	"github.com/scruple-eval/scruple/internal/model/outputs"
	"github.com/scruple-eval/scruple/internal/model/price"
	"github.com/scruple-eval/scruple/internal/model/process"
	"github.com/scruple-eval/scruple/internal/plan"
	"github.com/scruple-eval/scruple/internal/run"
	"github.com/scruple-eval/scruple/internal/study"
)

// models makes a client for every model and pipeline the study's arms and
// judge ask. The function it returns ends what they hold open.
func (a *app) models(l *loaded) (map[string]*run.Model, func(), error) {
	getenv, err := study.DotEnv(filepath.Join(l.file.Dir, ".env"), a.getenv)
	if err != nil {
		return nil, nil, err
	}
	transport := model.NewTransport(l.study.Execution.Concurrency)
	models := map[string]*run.Model{}
	var open []io.Closer
	closeAll := func() {
		for _, c := range open {
			c.Close()
		}
		transport.CloseIdleConnections()
	}
	used := l.usedModels()
	var problems []error
	for i, m := range l.study.Models {
		if !used[m.ID] {
			continue
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
		client, err := pipeline(p.Kind, p.Target, l, transport)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		models[p.Model] = &run.Model{Client: client, Group: p.Model}
		if c, ok := client.(io.Closer); ok {
			open = append(open, c)
		}
	}
	if err := errors.Join(problems...); err != nil {
		closeAll()
		return nil, nil, err
	}
	return models, closeAll, nil
}

// usedModels are the ids of the models that arms and the judge ask.
func (l *loaded) usedModels() map[string]bool {
	used := map[string]bool{}
	for _, arm := range l.bench.Arms() {
		used[arm.Model] = true
	}
	used[l.study.JudgeModel] = l.study.JudgeModel != ""
	return used
}

// pipeline makes the client of an arm that something outside answers for.
func pipeline(kind, target string, l *loaded, transport *http.Transport) (model.Client, error) {
	switch kind {
	case "outputs":
		return outputs.Open(target)
	case "exec":
		return process.NewExec(target, process.ExecOptions{Dir: l.file.Dir, Slots: l.study.Execution.Concurrency})
	case "http":
		return process.NewHTTP(target, &http.Client{Transport: transport})
	}
	return nil, fmt.Errorf("an arm of kind %q cannot be asked", kind)
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
func (l *loaded) pricer() (plan.Pricer, error) {
	costs := map[string]func(eval.Usage) float64{}
	for _, m := range l.study.Models {
		costs[m.ID] = costOf(m)
	}
	return func(id string, u eval.Usage) float64 {
		if cost, ok := costs[id]; ok {
			return cost(u)
		}
		return 0 // a pipeline outside is the user's own
	}, nil
}
