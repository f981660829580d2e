package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/report"
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

// conclude scores and analyses a run from what is stored, writes the report
// files and prints the report.
func (a *app) conclude(ctx context.Context, db *store.DB, r *experiment.Run) error {
	result, err := r.Rescore(ctx, samplesPerArm(len(r.Bench.Arms())))
	if err != nil {
		return err
	}
	shown := report.Report{Analysis: result.Analysis, Verdict: result.Verdict}
	if !a.json {
		if err := report.Terminal(a.out, shown, a.terminal()); err != nil {
			return err
		}
	}
	files, err := writeReports(ctx, db, r, shown)
	if err != nil {
		return exit(exitInfrastructure, err)
	}
	if a.json {
		if err := json.NewEncoder(a.out).Encode(map[string]any{"event": "result", "run": r.Record.ID, "files": files,
			"analysis": result.Analysis, "verdict": result.Verdict}); err != nil {
			return err
		}
	}
	for _, f := range files {
		a.say("wrote %s", f)
	}
	return r.CheckFailures(result)
}

// resultsDir is where a study's report files go.
func resultsDir(x *experiment.Experiment) string {
	if dir := x.Study.Output.ResultsDir; dir != "" && dir != "results" {
		return x.File.Resolve(dir)
	}
	return x.File.Resolve(filepath.Join("results", x.Study.Name))
}

// writeReports writes the report in every file format, and the raw answers if
// the study wants them.
func writeReports(ctx context.Context, db *store.DB, r *experiment.Run, shown report.Report) ([]string, error) {
	if g := r.Study.Output.GenerateReport; g != nil && !*g {
		return nil, nil
	}
	dir := resultsDir(r.Experiment)
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
		if err := f.Render(&b, shown); err != nil {
			return nil, fmt.Errorf("rendering %s: %w", path, err)
		}
		if err := writeFile(path, b.Bytes()); err != nil {
			return nil, err
		}
		files = append(files, path)
	}
	if !r.Study.Output.SaveRaw {
		return files, nil
	}
	for _, table := range []string{"outcomes", "scores"} {
		path := filepath.Join(dir, table+".jsonl")
		var b bytes.Buffer
		if err := exportTable(ctx, &b, db, r.Record, table, "jsonl"); err != nil {
			return nil, err
		}
		if err := writeFile(path, b.Bytes()); err != nil {
			return nil, err
		}
		files = append(files, path)
	}
	return files, nil
}
