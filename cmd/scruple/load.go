package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/gate"
	"github.com/scruple-eval/scruple/internal/plan"
	"github.com/scruple-eval/scruple/internal/report"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// A loaded study is a study file that was found to be right, with its data.
type loaded struct {
	file      *study.File
	study     *study.Study
	entry     kit.Suite
	bench     kit.Bench
	plan      *plan.Plan
	rules     *gate.Rules
	pairs     []analyse.Pair
	primary   []string
	secondary []string
	treatment []eval.Part
}

func (l *loaded) close() error { return l.bench.Close() }

// loadFor loads the study that an argument stands for, a file or the id of a
// run.
func (a *app) loadFor(ctx context.Context, arg string) (*loaded, error) {
	path, err := a.studyPath(ctx, arg)
	if err != nil {
		return nil, err
	}
	return a.load(path)
}

// load reads a study file and everything it names. All that is wrong is
// reported before anything else happens.
func (a *app) load(path string) (*loaded, error) {
	r, err := a.read(path)
	if err != nil {
		return nil, err
	}
	bench, err := r.entry.Open(r.file, r.own)
	if err != nil {
		return nil, err
	}
	l := &loaded{file: r.file, study: r.own.Common(), entry: r.entry, bench: bench}
	if err := l.resolve(); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// A readStudy is a study file whose data were not looked at yet.
type readStudy struct {
	file  *study.File
	entry kit.Suite
	own   study.Any
}

func (a *app) read(path string) (readStudy, error) {
	name, err := study.Suite(path, a.overrides)
	if err != nil {
		return readStudy{}, err
	}
	entry, err := suiteCalled(name)
	if err != nil {
		return readStudy{}, fmt.Errorf("%s: suite: %w", path, err)
	}
	own := entry.Study()
	file, err := study.Load(path, a.overrides, own)
	return readStudy{file, entry, own}, err
}

// warnOf says on standard error what the data of a study have that may be
// meant: the first few, and how many more there are.
func (a *app) warnOf(l *loaded) {
	w, ok := l.bench.(kit.Warner)
	if !ok {
		return
	}
	const few = 5
	list := w.Warnings()
	for _, text := range list[:min(few, len(list))] {
		fmt.Fprintf(a.err, "warning: %s\n", report.PlainLine(text))
	}
	if more := len(list) - few; more > 0 {
		fmt.Fprintf(a.err, "warning: and %d more; `scruple validate` lists them\n", more)
	}
}

// resolve checks what the study says of arms and metrics against the suite.
func (l *loaded) resolve() error {
	s, arms := l.study, l.bench.Arms()
	var problems []error
	var err error
	if l.plan, err = plan.New(l.bench.Items(), arms, s.Execution.Replicates, s.Execution.Seed); err != nil {
		problems = append(problems, err)
	}
	l.primary, l.secondary = s.Metrics.Primary, s.Metrics.Secondary
	if len(l.primary) == 0 {
		l.primary = l.entry.Primary
	}
	if len(l.secondary) == 0 {
		l.secondary = l.entry.Secondary
	}
	problems = append(problems, l.checkMetrics("metrics.primary", s.Metrics.Primary)...)
	problems = append(problems, l.checkMetrics("metrics.secondary", s.Metrics.Secondary)...)
	for i, c := range s.Comparisons {
		problems = append(problems, l.checkMetrics(fmt.Sprintf("comparisons[%d].metrics", i), c.Metrics)...)
	}
	l.pairs, err = analyse.Pairs(s.Comparisons, arms)
	var unpaired *analyse.PairError
	if errors.As(err, &unpaired) {
		problems = append(problems, l.file.Errorf(unpaired.At, "%w", unpaired.Err))
	}
	l.addContrasts()
	if len(problems) == 0 {
		problems = l.compileRules(arms)
	}
	if err := l.checkBudget(); err != nil {
		problems = append(problems, err)
	}
	l.treatment = plan.Treatment(s, arms)
	return errors.Join(problems...)
}

// addContrasts adds the pairs that the suite wants compared beside the study's.
func (l *loaded) addContrasts() {
	c, ok := l.bench.(eval.Contraster)
	if !ok {
		return
	}
	for _, k := range c.Contrasts() {
		if !slices.ContainsFunc(l.pairs, func(p analyse.Pair) bool { return p.A == k.A && p.B == k.B || p.A == k.B && p.B == k.A }) {
			l.pairs = append(l.pairs, analyse.Pair{A: k.A, B: k.B, Metrics: k.Metrics, Contrast: true})
		}
	}
}

// checkBudget refuses a bound on cost that could not be kept.
func (l *loaded) checkBudget() error {
	used := l.usedModels()
	for _, m := range l.study.Models {
		if _, known := priceOf(m); l.study.Execution.MaxCost > 0 && used[m.ID] && !known {
			return l.file.Errorf("execution.max_cost", "no price is known for model %s (%s %s), so its cost cannot be bounded: give it one with price: {input, output}, in US dollars per million tokens", m.ID, m.Provider, m.Name)
		}
	}
	return nil
}

// checkMetrics refuses names in a list of the study that are not metrics.
func (l *loaded) checkMetrics(path string, names []string) []error {
	var known []string
	for _, m := range l.entry.Suite.Metrics {
		known = append(known, m.Name)
	}
	var problems []error
	for i, name := range names {
		if !slices.Contains(known, name) {
			problems = append(problems, l.file.Errorf(fmt.Sprintf("%s[%d]", path, i), "no metric is called %q; the metrics are %s", name, strings.Join(known, ", ")))
		}
	}
	return problems
}

func (l *loaded) compileRules(arms []eval.Arm) []error {
	names := gate.Names{Metrics: l.entry.Suite.Metrics, Compared: l.compared}
	for _, a := range arms {
		if a.Role != eval.RoleCalibration {
			names.Arms = append(names.Arms, a.ID)
		}
	}
	rules, wrong := gate.Compile(l.study.Decide, names)
	l.rules = rules
	var problems []error
	for _, w := range wrong {
		problems = append(problems, l.file.Errorf(w.At, "%v", w))
	}
	return problems
}

// compared reports whether analysis will compare two arms on a metric.
func (l *loaded) compared(a, b, metric string) bool {
	for _, p := range l.pairs {
		if p.A == a && p.B == b || p.A == b && p.B == a {
			metrics := p.Metrics
			if len(metrics) == 0 {
				metrics = append(slices.Clone(l.primary), l.secondary...)
			}
			if slices.Contains(metrics, metric) {
				return true
			}
		}
	}
	return false
}

func suiteCalled(name string) (kit.Suite, error) {
	var known []string
	for _, e := range suites.All() {
		if e.Suite.Name == name {
			return e, nil
		}
		known = append(known, e.Suite.Name)
	}
	return kit.Suite{}, fmt.Errorf("no suite is called %q; the suites are %s", name, strings.Join(known, ", "))
}

// storeFor is the store of a study file: --store, or .scruple/scruple.db in
// the study's folder, or in this one where studyPath is "".
func (a *app) storeFor(studyPath string) string {
	if a.storePath != "" {
		return a.storePath
	}
	return filepath.Join(filepath.Dir(studyPath), ".scruple", "scruple.db")
}

// isStudyFile tells a study file from a run id.
func isStudyFile(arg string) bool {
	if strings.HasSuffix(arg, ".yaml") || strings.HasSuffix(arg, ".yml") {
		return true
	}
	info, err := os.Stat(arg)
	return err == nil && !info.IsDir()
}

// findRun finds the run a study file or run id stands for, in a store opened
// to read. For a study file it is the newest run of that study.
func (a *app) findRun(ctx context.Context, arg string) (*store.DB, *store.Run, error) {
	path := a.storeFor("")
	if isStudyFile(arg) {
		path = a.storeFor(arg)
	}
	db, err := store.OpenRead(ctx, path)
	if errors.Is(err, store.ErrNotFound) && a.storePath == "" && !isStudyFile(arg) {
		return nil, nil, fmt.Errorf("%s is no study file, and to find a run of that id: %w, or name its store with --store", arg, err)
	}
	if err != nil {
		return nil, nil, err
	}
	run, err := a.lookUp(ctx, db, arg)
	if err != nil {
		db.Close()
		return nil, nil, err
	}
	return db, run, nil
}

func (a *app) lookUp(ctx context.Context, db *store.DB, arg string) (*store.Run, error) {
	if !isStudyFile(arg) {
		return db.Run(ctx, arg)
	}
	name, err := study.Name(arg, a.overrides)
	if err != nil {
		return nil, err
	}
	return db.LastRun(ctx, name)
}

// studyPath gives the study file that an argument stands for, also when it is
// the id of a run.
func (a *app) studyPath(ctx context.Context, arg string) (string, error) {
	if isStudyFile(arg) {
		return arg, nil
	}
	db, run, err := a.findRun(ctx, arg)
	if err != nil {
		return "", err
	}
	defer db.Close()
	if a.storePath == "" {
		a.storePath = db.Path()
	}
	a.overrides = append(slices.Clone(run.Overrides), a.overrides...)
	return run.StudyPath, nil
}
