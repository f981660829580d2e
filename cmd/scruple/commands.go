package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"math"
	"net/http"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/annotate"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/model"
	"github.com/scruple-eval/scruple/internal/model/openai"
	"github.com/scruple-eval/scruple/internal/run"
	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

// suiteCommand makes a command that a suite declares.
func (a *app) suiteCommand(path string, own kit.Command) *cobra.Command {
	flags := flag.NewFlagSet(own.Name, flag.ContinueOnError)
	run := own.New(flags)
	c := a.verb(path, verb{do: func(_ *app, o *opened) error {
		defer a.collectLess()()
		result, err := run(kit.Call{Args: o.args, Open: a.open})
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if n, ok := result.(kit.Noter); ok && a.json {
			for _, note := range n.Notes() {
				a.warn("%s", note)
			}
		}
		return a.result(result, func() { fmt.Fprint(a.out, result) })
	}})
	c.Short, c.Long = own.Short, own.Short+".\n\n"+own.Long
	c.Flags().AddGoFlagSet(flags)
	return c
}

// collectLess makes garbage collection rare, for verbs that decode much and keep
// little of it: it saves a quarter of their time. It returns what restores the
// collector.
func (a *app) collectLess() (restore func()) {
	if a.getenv("GOGC") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(400)
	if before < 100 { // there are many items, see manyItems
		debug.SetGCPercent(before)
	}
	return func() { debug.SetGCPercent(before) }
}

// explained says of which items the truth is explained, for help.
func explained() string {
	suite, err := suiteCalled("rerank")
	if err != nil || suite.Explain == nil {
		return ""
	}
	return suite.Explain.Doc
}

func (a *app) explain(o *opened) error {
	from, err := a.locate(o.ctx, o.arg)
	if err != nil {
		return err
	}
	file, own, suite, err := experiment.Read(from.path, from.overrides, experimentEnv())
	if err != nil {
		return err
	}
	if err := annotate.Of(from.path, own.Common().Name, time.Now).CheckLocks(); err != nil {
		return exit(exitNotAllowed, err)
	}
	if suite.Explain == nil {
		return fmt.Errorf("explain: suite %s has annotated gold, not computed truth; `scruple show` prints gold beside the answers", suite.Name)
	}
	of := append(o.rest, "")[1]
	truth, err := suite.Explain.Show(file, own, o.rest[0], of)
	if err != nil {
		return err
	}
	return a.result(truth, func() {
		for line := range strings.Lines(truth.String()) {
			fmt.Fprintln(a.out, say.PlainText(strings.TrimRight(line, "\n")))
		}
	})
}

func (a *app) embed(o *opened) error {
	ctx, x := o.ctx, o.x
	r, err := o.attached()
	if err != nil {
		return err
	}
	texts, requests, doubts, err := r.Unembedded(ctx)
	if err != nil {
		return err
	}
	m := x.Study.Output.Embeddings
	if m == nil {
		return a.result(map[string]any{"run": o.run.ID, "model": nil}, func() {
			a.say("the study has no embedding model, so its records have no cosines; a model is output: {embeddings: {provider, name}}")
		})
	}
	if texts > 0 {
		connected, err := embeddingModel(x.File, m, a.getenv, model.NewTransport(x.Study.Execution.Concurrency))
		if err != nil {
			return err
		}
		a.say("asking %s for the embeddings of %s in %s", m.Name, text.Plural(texts, "text", "texts"), text.Plural(requests, "request", "requests"))
		observer, closeObserver := a.observer()
		defer closeObserver()
		ctx, stop, restore := interruptible(ctx, "run the same command to resume")
		defer restore()
		if err := r.Embed(ctx, experiment.Asking{Models: map[string]*run.Model{experiment.EmbeddingModel: connected}, Observer: observer, Stop: stop}); err != nil {
			return err
		}
		if texts, _, doubts, err = r.Unembedded(ctx); err != nil {
			return err
		}
	}
	a.warnEach(doubts)
	if texts > 0 {
		return exit(exitInfrastructure, fmt.Errorf("%s no embedding: `scruple status %s` has the errors; run the same command to ask again", text.Plural(texts, "text has", "texts have"), o.arg))
	}
	return a.result(map[string]any{"run": o.run.ID, "model": m.Name, "without_embedding": texts, "doubts": doubts}, func() {
		a.say("all texts of %s have embeddings", o.run.ID)
	})
}

// embeddingModel makes the connection to an embedding model.
func embeddingModel(f *study.File, m *study.Embeddings, getenv func(string) string, transport http.RoundTripper) (*run.Model, error) {
	getenv, err := study.DotEnv(filepath.Join(f.Dir, ".env"), getenv)
	if err != nil {
		return nil, err
	}
	p, ok := findPreset(m.Provider)
	if !ok || p.wire != "openai" && p.wire != "openai_responses" {
		return nil, f.Errorf("output.embeddings.provider", "provider %q has no embeddings in OpenAI's format: use openai, with base_url for another server", m.Provider)
	}
	e, noKey := p.endpoint(study.Model{ID: experiment.EmbeddingModel, BaseURL: m.BaseURL, APIKeyEnv: m.APIKeyEnv}, getenv)
	e.HTTP = &http.Client{Transport: transport}
	client, err := openai.NewEmbeddings(e)
	if err := errors.Join(err, noKey); err != nil {
		return nil, err
	}
	cost := func(u eval.Usage) float64 {
		if m.Price == nil {
			return math.NaN()
		}
		return float64(u.Input) * *m.Price / 1e6
	}
	return &run.Model{Client: client, Group: "embeddings " + cmp.Or(m.BaseURL, p.baseURL) + " " + m.Name, Cost: cost, Reuse: true}, nil
}
