package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/gate"
	"github.com/scruple-eval/scruple/internal/report"
	"github.com/scruple-eval/scruple/internal/score"
	"github.com/scruple-eval/scruple/internal/store"
)

// samplesPerArm is how many of the best and of the worst trials of an arm a
// report shows; of many arms it is one.
func samplesPerArm(arms int) int {
	if arms > report.Crowd {
		return 1
	}
	return 3
}

// conclude scores and analyses a run from what is stored, keeps the result,
// writes the report files and prints the report. It asks no model.
func (a *app) conclude(ctx context.Context, db *store.DB, r *store.Run, l *loaded) error {
	result, err := a.rescore(ctx, db, r, l)
	if err != nil {
		return err
	}
	if !a.json {
		if err := report.Terminal(a.out, result, a.terminal()); err != nil {
			return err
		}
	}
	files, err := l.writeReports(ctx, db, r, result)
	if err != nil {
		return exit(exitInfrastructure, err)
	}
	if a.json {
		if err := json.NewEncoder(a.out).Encode(map[string]any{"event": "result", "run": r.ID, "files": files,
			"analysis": result.Analysis, "verdict": result.Verdict}); err != nil {
			return err
		}
	}
	for _, f := range files {
		a.say("wrote %s", f)
	}
	if share, of := result.Analysis.WorstFailures(); share > result.Analysis.Run.MaxFailed {
		return exit(exitInfrastructure, fmt.Errorf("%.1f %% of %s, the study allows %.1f %%: `scruple status` says why, and `scruple run --retry-failed %s` asks them again",
			100*share, of, 100*result.Analysis.Run.MaxFailed, l.file.Path))
	}
	return nil
}

// rescore turns outcomes into scores, scores into an analysis and the analysis
// into a verdict, and keeps all three.
func (a *app) rescore(ctx context.Context, db *store.DB, r *store.Run, l *loaded) (report.Report, error) {
	var none report.Report
	scorer, calibration, err := calibrate(ctx, db, r, l)
	if err != nil {
		return none, err
	}
	collector := analyse.NewCollector(&l.entry.Suite, l.bench.Items(), l.bench.Arms(), l.plan)
	err = db.ReplaceScores(ctx, r, func(yield func(eval.Scored, error) bool) {
		for s, err := range score.All(scorer, db.Cases(ctx, r)) {
			if err == nil {
				collector.Add(s)
				err = collector.Err() // nothing of it is kept then
			}
			if !yield(s, err) {
				return
			}
		}
	})
	if err != nil {
		return none, err
	}
	progress, err := db.Progress(ctx, r)
	if err != nil {
		return none, err
	}
	from, err := l.sources(ctx, db, r, scorer)
	if err != nil {
		return none, err
	}
	analysis, err := collector.Analyse(l.question(r, progress, calibration), from)
	if err != nil {
		return none, err
	}
	result := report.Report{Analysis: analysis}
	var verdict []byte
	if !l.rules.Empty() {
		v := l.rules.Decide(analysis)
		result.Verdict = &v
		if verdict, err = json.Marshal(v); err != nil {
			return none, err
		}
	}
	kept, err := json.Marshal(analysis)
	if err != nil {
		return none, err
	}
	return result, db.SaveAnalysis(ctx, r, kept, verdict, l.basis())
}

// calibrate measures the judge first, where scoring depends on how good it is.
func calibrate(ctx context.Context, db *store.DB, r *store.Run, l *loaded) (eval.Scorer, *eval.Calibration, error) {
	bench, ok := l.bench.(eval.Calibrator)
	if !ok {
		return l.bench, nil, nil
	}
	calibrating := map[string]bool{}
	for _, arm := range l.bench.Arms() {
		calibrating[arm.ID] = arm.Role == eval.RoleCalibration
	}
	scorer, calibration, err := bench.Calibrate(func(yield func(eval.Case, error) bool) {
		for c, err := range db.Cases(ctx, r) {
			if (err != nil || calibrating[c.Arm]) && !yield(c, err) {
				return
			}
		}
	})
	return scorer, &calibration, err
}

func (l *loaded) question(r *store.Run, progress *store.Progress, calibration *eval.Calibration) analyse.Question {
	s := l.study
	q := analyse.Question{
		Study: analyse.Study{Name: s.Name, Version: s.Version, Suite: s.Suite, Title: l.entry.Suite.Title, Description: s.Description,
			Alpha: s.Statistics.Alpha, Method: s.Statistics.Method, Correction: s.Statistics.Correction,
			Resamples: s.Statistics.Resamples, Random: s.Statistics.Random, Intervals: s.Statistics.Intervals},
		Run: analyse.Run{ID: r.ID, Version: version(), Items: len(l.bench.Items()), Replicates: s.Execution.Replicates, Seed: s.Execution.Seed,
			Planned: l.plan.Len(), MaxFailed: *s.Execution.MaxFailed},
		Primary: l.primary, Secondary: l.secondary, Comparisons: l.pairs, Calibration: calibration, Samples: samplesPerArm(len(l.bench.Arms())),
	}
	if len(l.judges()) > 0 {
		q.Run.Unjudged, q.Run.JudgeFails = progress.ToJudge(), store.Count(progress.Unjudged)
	}
	return q
}

// basis tells what the study says of scoring and analysis: an analysis made on
// another basis cannot decide.
func (l *loaded) basis() string {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(l.file.Canonical(), &keys); err != nil {
		panic("scruple: the canonical study is no object: " + err.Error()) // we wrote it
	}
	var execution struct {
		MaxFailed json.RawMessage `json:"max_failed"`
	}
	_ = json.Unmarshal(keys["execution"], &execution)
	parts := []eval.Part{{Name: "max_failed", Value: string(execution.MaxFailed)}}
	for _, key := range []string{"metrics", "comparisons", "statistics", "judge_model"} {
		parts = append(parts, eval.Part{Name: key, Value: string(keys[key])})
	}
	return eval.HashOf([]byte(eval.EncodeParts(parts))).String()[:12] // as stores have it
}

func (l *loaded) sources(ctx context.Context, db *store.DB, r *store.Run, scorer eval.Scorer) (from analyse.Sources, err error) {
	from.Show = func(t eval.Trial) (eval.Exhibit, error) {
		c, err := db.Case(ctx, r, t)
		if err != nil {
			return eval.Exhibit{}, err
		}
		return scorer.Show(c)
	}
	from.Cases = db.Cases(ctx, r)
	if from.Calls, err = db.ArmCalls(ctx, r); err != nil {
		return from, err
	}
	if from.Versions, err = db.Versions(ctx, r); err != nil {
		return from, err
	}
	if l.study.Output.Latency {
		from.Latencies, err = db.Latencies(ctx, r)
	}
	if b, ok := l.bench.(eval.Reporter); ok {
		from.Report = b.Report
	}
	return from, err
}

func mapped[A, B any](seq iter.Seq2[A, error], f func(A) B) iter.Seq2[B, error] {
	return func(yield func(B, error) bool) {
		for a, err := range seq {
			if !yield(f(a), err) {
				return
			}
		}
	}
}

// resultsDir is where a study's report files go.
func (l *loaded) resultsDir() string {
	if dir := l.study.Output.ResultsDir; dir != "" && dir != "results" {
		return l.file.Resolve(dir)
	}
	return l.file.Resolve(filepath.Join("results", l.study.Name))
}

// writeReports writes the report in every file format, and the raw answers if
// the study wants them.
func (l *loaded) writeReports(ctx context.Context, db *store.DB, r *store.Run, result report.Report) ([]string, error) {
	if g := l.study.Output.GenerateReport; g != nil && !*g {
		return nil, nil
	}
	dir := l.resultsDir()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("making the results folder: %w", err)
	}
	var files []string
	for _, f := range report.Formats() {
		if f.Name == "terminal" {
			continue
		}
		path := filepath.Join(dir, "report"+f.Ext)
		var b bytes.Buffer
		if err := f.Render(&b, result); err != nil {
			return nil, fmt.Errorf("rendering %s: %w", path, err)
		}
		if err := writeFile(path, b.Bytes()); err != nil {
			return nil, err
		}
		files = append(files, path)
	}
	if !l.study.Output.SaveRaw {
		return files, nil
	}
	for _, table := range []string{"outcomes", "scores"} {
		path := filepath.Join(dir, table+".jsonl")
		var b bytes.Buffer
		if err := exportTable(ctx, &b, db, r, table, "jsonl"); err != nil {
			return nil, err
		}
		if err := writeFile(path, b.Bytes()); err != nil {
			return nil, err
		}
		files = append(files, path)
	}
	return files, nil
}

// writeFile replaces a file at once, so that a reader or a crash never meets
// half of it.
func writeFile(path string, data []byte) error {
	if err := replaceFile(path, data); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

func replaceFile(path string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	if err := errors.Join(err, tmp.Chmod(0o644), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// keptFor reads back what was kept of the run an argument stands for.
func (a *app) keptFor(ctx context.Context, arg string) (report.Report, error) {
	db, r, err := a.findRun(ctx, arg)
	if err != nil {
		return report.Report{}, err
	}
	defer db.Close()
	return kept(ctx, db, r)
}

// kept reads back the analysis and verdict of a run.
func kept(ctx context.Context, db *store.DB, r *store.Run) (report.Report, error) {
	result, _, err := keptOn(ctx, db, r)
	return result, err
}

// keptOn also tells the basis of the analysis.
func keptOn(ctx context.Context, db *store.DB, r *store.Run) (result report.Report, basis string, err error) {
	analysis, verdict, basis, err := db.Analysis(ctx, r)
	if err != nil {
		return result, "", err
	}
	if err := json.Unmarshal(analysis, &result.Analysis); err != nil {
		return result, "", fmt.Errorf("reading the analysis of run %s: %w", r.ID, err)
	}
	if found := result.Analysis.Format; found != analyse.Format {
		return result, "", fmt.Errorf("run %s was analysed by another version of Scruple (%s, this one writes %s): `scruple score` analyses it again, for nothing", r.ID, found, analyse.Format)
	}
	if verdict != nil {
		result.Verdict = &gate.Verdict{}
		if err := json.Unmarshal(verdict, result.Verdict); err != nil {
			return result, "", fmt.Errorf("reading the verdict on run %s: %w", r.ID, err)
		}
	}
	return result, basis, nil
}
