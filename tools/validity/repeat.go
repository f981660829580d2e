package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/gate"
	"github.com/scruple-eval/scruple/internal/run"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

func env() experiment.Env {
	suite := scoresSuite()
	return experiment.Env{
		Suite: func(name string) (kit.Suite, error) {
			if name != suite.Name {
				return kit.Suite{}, fmt.Errorf("unknown suite %q", name)
			}
			return suite, nil
		},
		Price:   func(study.Model) (func(eval.Usage) float64, bool) { return nil, false },
		Now:     func() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) },
		Version: "validity",
	}
}

// runsPerStore bounds the runs of one store: creating a store costs more than a
// run, and so does reading a large one.
const runsPerStore = 100

// A bench takes repetitions through the program, one after the other, in a
// folder of its own.
type bench struct {
	dir  string
	env  experiment.Env
	db   *store.DB
	runs int
}

func newBench(dir string) (*bench, error) {
	dir, err := os.MkdirTemp(dir, "bench")
	return &bench{dir: dir, env: env()}, err
}

func (b *bench) close() error {
	if b.db == nil {
		return nil
	}
	err := b.db.Close()
	b.db = nil
	return err
}

// store returns the open store, or a new one if it has too many runs.
func (b *bench) store(ctx context.Context) (_ *store.DB, err error) {
	if b.db != nil && b.runs%runsPerStore != 0 {
		b.runs++
		return b.db, nil
	}
	if err := b.close(); err != nil {
		return nil, err
	}
	if err := os.RemoveAll(filepath.Join(b.dir, "store")); err != nil {
		return nil, err
	}
	b.runs++
	b.db, err = store.Open(ctx, filepath.Join(b.dir, "store", "runs.db"))
	return b.db, err
}

// repeat simulates one repetition of a cell: it writes a study with its data,
// and runs, scores, analyses and decides it as the program does.
func (b *bench) repeat(ctx context.Context, c cell, data []observation, repetition int) (result, error) {
	x, err := b.load(c, data, repetition)
	if err != nil {
		return result{}, err
	}
	defer x.Close()
	db, err := b.store(ctx)
	if err != nil {
		return result{}, err
	}
	r, err := x.StartOrResume(ctx, db, "")
	if err != nil {
		return result{}, err
	}
	for k := 1; k < c.looks; k++ {
		if at, err := b.look(ctx, c, x, r, experiment.Part{Limit: k * len(data) / c.looks}); err != nil || at.state == gate.Pass {
			return at, err
		}
	}
	return b.look(ctx, c, x, r, experiment.Part{})
}

// look answers a part of the study, scores, analyses and decides it.
func (b *bench) look(ctx context.Context, c cell, x *experiment.Experiment, r *experiment.Run, part experiment.Part) (result, error) {
	left, err := r.Left(ctx, part)
	if err != nil {
		return result{}, err
	}
	if err := r.Ask(ctx, left, experiment.Asking{Models: map[string]*run.Model{}}); err != nil {
		return result{}, err
	}
	scored, err := r.Rescore(ctx, 0)
	if err != nil {
		return result{}, err
	}
	kept, err := experiment.Kept(ctx, b.db, r.Record)
	if err != nil {
		return result{}, err
	}
	decided, err := x.Decide(ctx, b.db, r.Record, kept)
	if err != nil {
		return result{}, err
	}
	if decided.Verdict == nil || scored.Verdict == nil || decided.Verdict.State != scored.Verdict.State {
		return result{}, errors.New("the gate decides otherwise on the stored analysis than after the run")
	}
	return read(c, decided)
}

// promise is the power of the rule that `scruple plan` promises for the assumption of
// a cell. It reports false where the cell has none.
func (b *bench) promise(c cell, seed uint64) (power float64, ok bool, err error) {
	x, err := b.load(c, c.source()(stream(seed, c.name, 0)), 0)
	if err != nil {
		return 0, false, err
	}
	defer x.Close()
	if len(x.Study.Assume) == 0 {
		return 0, false, nil
	}
	rules, err := x.RulePlans()
	if err != nil || len(rules) == 0 || len(rules[0].Power) == 0 {
		return 0, false, err
	}
	p := rules[0].Power[0]
	if p.Pass == nil {
		return 0, false, fmt.Errorf("no power of %q: %s", rules[0].That, p.Missing)
	}
	return *p.Pass, true, nil
}

// load writes a study and its data and loads them.
func (b *bench) load(c cell, data []observation, repetition int) (*experiment.Experiment, error) {
	var lines bytes.Buffer
	arms := c.arms()
	for i, o := range data {
		r := record{ID: fmt.Sprintf("i%03d", i), Cluster: o.cluster, Scores: map[string][]float64{}}
		for a, arm := range arms {
			r.Scores[arm] = o.scores[a]
		}
		line, err := json.Marshal(r)
		if err != nil {
			return nil, err
		}
		lines.Write(append(line, '\n'))
	}
	if err := os.WriteFile(filepath.Join(b.dir, "scores.jsonl"), lines.Bytes(), 0o644); err != nil {
		return nil, err
	}
	path := filepath.Join(b.dir, "study.yaml")
	// Another name starts another run.
	if err := os.WriteFile(path, fmt.Appendf(nil, "name: %s %d\n%s", strings.ReplaceAll(c.name, "/", " "), repetition, studyOf(c, repetition)), 0o644); err != nil {
		return nil, err
	}
	return experiment.Load(path, nil, b.env)
}

// studyOf is the study of a cell without its name. The seed is that of
// bootstraps and drawn permutations, so it must vary.
func studyOf(c cell, seed int) string {
	var s strings.Builder
	fmt.Fprintf(&s, "suite: scores\nscores: scores.jsonl\nmetric: %s\narms: [%s]\n", c.metric, strings.Join(c.arms(), ", "))
	fmt.Fprintf(&s, "execution: {seed: %d, concurrency: 1}\nmetrics: {primary: [%s]}\n", seed, c.metric)
	if c.method != "" {
		fmt.Fprintf(&s, "statistics: {method: %s", c.method)
		if c.looks > 0 {
			fmt.Fprintf(&s, ", looks: %d", c.looks)
		}
		if len(c.compare) == 1 {
			// Below 50 clusters the bootstrap stands for the cluster-robust t alone.
			fmt.Fprintf(&s, ", beside: [%s]", map[bool]string{true: "paired_ttest", false: "bootstrap"}[c.design.size == 1])
		}
		s.WriteString("}\ncomparisons:\n")
		for _, arm := range c.compare {
			fmt.Fprintf(&s, "  - {a: %s, b: %s, primary: true}\n", arm, base)
		}
	}
	if c.classes {
		s.WriteString("decide: {outcomes: [")
		for i, arm := range c.compare {
			fmt.Fprintf(&s, "{name: o%d, when: \"%s\", verdict: pass}, ", i, better("", []string{arm}, c.metric, c.margin))
		}
		s.WriteString("{name: rest, verdict: undecided}]}\n")
	} else {
		fmt.Fprintf(&s, "decide: {require: [{name: verdict, that: \"%s\"}]}\n", c.rule)
	}
	return s.String() + c.assume
}
