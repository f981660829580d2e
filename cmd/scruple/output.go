package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/scruple-eval/scruple/internal/annotate"
	"github.com/scruple-eval/scruple/internal/bundle"
	"github.com/scruple-eval/scruple/internal/discipline"
	"github.com/scruple-eval/scruple/internal/disk"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/ledger"
	"github.com/scruple-eval/scruple/internal/report"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/text"
)

// notOurs refuses what only scruple writes: the files beside its store.
func notOurs(t disk.Target) error {
	if dir := filepath.Dir(discipline.StorePath(t.Path)); filepath.Base(filepath.Dir(t.Path)) == filepath.Base(dir) {
		return fmt.Errorf("%s has the store and the ledger: choose another folder", filepath.Dir(t.Path))
	}
	return nil
}

// keeps returns what [disk.File] asks before it writes a result of the study: it refuses
// the store, the ledger, people's answers, and what the study reads. x is nil if the
// study is not loaded; it is then read if a file exists.
func (s source) keeps(x *experiment.Experiment) func(disk.Target) error {
	return func(t disk.Target) error {
		if err := notOurs(t); err != nil {
			return err
		}
		for _, path := range storeFiles(s.store) {
			if leadsTo(t, path) {
				return errors.New("it belongs to the store: choose another name")
			}
		}
		if t.Info == nil {
			return nil
		}
		if within(filepath.Dir(filepath.Dir(t.Path)), annotate.Of(s.path, "", time.Now).Dir) {
			return errors.New("it has people's answers: choose another name")
		}
		for _, path := range s.reads(x) {
			if leadsTo(t, path) || within(t.Path, path) && !within(s.path, path) {
				return fmt.Errorf("the study %s reads it: choose another name", s.path)
			}
		}
		return nil
	}
}

// storeFiles lists the files of a store and of the ledger beside it.
func storeFiles(path string) []string {
	if path == "" {
		return nil
	}
	log := filepath.Join(filepath.Dir(path), ledger.Name)
	return []string{path, path + "-wal", path + "-shm", path + "-journal", path + ".lock", log, log + ledger.HeadSuffix}
}

// reads lists the files and folders that a study reads, itself included.
func (s source) reads(x *experiment.Experiment) []string {
	list := []string{s.path, filepath.Join(filepath.Dir(s.path), ".env")}
	var file *study.File
	var models []study.Model
	if x != nil {
		file, models = x.File, x.Study.Models
	} else {
		f, own, suite, err := experiment.Read(s.path, s.overrides, experimentEnv())
		if err != nil {
			return list
		}
		if bench, err := suite.Open(f, own); err == nil { // after an error, what was read up to it
			bench.Close()
		}
		file, models = f, own.Common().Models
	}
	for _, rel := range file.Used() {
		list = append(list, file.Place(rel))
	}
	for _, m := range models {
		if m.Cassette != "" {
			list = append(list, file.Place(m.Cassette))
		}
	}
	return list
}

// leadsTo reports whether a path leads to a target.
func leadsTo(t disk.Target, path string) bool {
	info, err := os.Stat(path)
	if err == nil && t.Info != nil {
		return os.SameFile(info, t.Info)
	}
	return withoutLinks(path) == t.Path
}

// within reports whether a file is in a folder or in one below.
func within(file, folder string) bool {
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return false
	}
	rel, err := filepath.Rel(withoutLinks(folder), withoutLinks(file))
	return err == nil && filepath.IsLocal(rel)
}

// withoutLinks is a path as [disk.Target] has it: the last part need not exist.
func withoutLinks(path string) string {
	if to, err := disk.Follow(path); err == nil {
		return to
	}
	return path
}

// notInput refuses to write over a file that the verb reads.
func notInput(inputs ...string) func(disk.Target) error {
	return func(t disk.Target) error {
		if err := notOurs(t); err != nil {
			return err
		}
		if slices.ContainsFunc(inputs, func(path string) bool { return leadsTo(t, path) }) {
			return errors.New("it is what is read: choose another name")
		}
		return nil
	}
}

// print writes to standard output or, if it is given, to the file of --out.
func (a *app) print(to string, from source, write func(io.Writer) error) error {
	if to == "" {
		return write(a.out)
	}
	return disk.File{Path: to, Allow: from.keeps(nil)}.Write(write)
}

// checkOut returns an error if --out cannot be written, for verbs that take long before.
func checkOut(to string, from source) error {
	if to == "" {
		return nil
	}
	return disk.File{Path: to, Allow: from.keeps(nil)}.Check()
}

// checkResults returns an error if the reports of a study cannot be written, before
// anything is paid.
func (s source) checkResults(x *experiment.Experiment) error {
	for _, f := range reportFiles(context.Background(), nil, x, nil, report.Report{}) { // their names
		if err := (disk.File{Path: filepath.Join(resultsDir(x), f.Name), Allow: s.keeps(x)}).Check(); err != nil {
			return x.File.Errorf("output.results_dir", "the results cannot be written: %w; give another folder, or output.generate_report: false", err)
		}
	}
	return nil
}

// samplesPerArm is how many of the best and of the worst trials of an arm a
// report shows. If there are many arms it shows one of each.
func samplesPerArm(arms int) int {
	if arms > report.Crowd {
		return 1
	}
	return 3
}

// conclude scores and analyses a run from its stored answers, writes the report
// files and prints the answer. arg is the study or run that the command names;
// decides says that the command exits with the verdict.
func (a *app) conclude(ctx context.Context, db *store.DB, r *experiment.Run, arg string, decides bool) (experiment.Result, error) {
	if err := a.setPeoplesVerdicts(ctx, db, r); err != nil {
		return experiment.Result{}, err
	}
	left, err := r.Blinded(ctx)
	if left > 0 {
		a.say("TEST: %s pending; results are shown when all are done: run the same command", text.Plural(left, "trial is", "trials are"))
	}
	if left > 0 || err != nil {
		return experiment.Result{}, err
	}
	if err := r.RecordShown(ctx, db, r.Record, a.user()); err != nil {
		return experiment.Result{}, err
	}
	r.Scored = a.scoring(r.Plan.Len(), 5*time.Second)
	result, err := r.Rescore(ctx, samplesPerArm(len(r.Bench.Arms())))
	if err != nil {
		return result, err
	}
	shown := report.Report{Analysis: result.Analysis, Verdict: result.Verdict}
	files, unwritten := writeReports(ctx, db, r, shown)
	if unwritten != nil { // after the result, which was paid for
		unwritten = exit(exitInfrastructure, fmt.Errorf("%w; `%s` writes the report when the cause is gone", unwritten, a.again("score", arg, r.Record, db.Path())))
	}
	if a.json {
		err = json.NewEncoder(a.out).Encode(map[string]any{"event": "result", "run": r.Record.ID, "files": files,
			"analysis": result.Analysis, "verdict": result.Verdict})
	} else {
		err = report.Summary(a.out, shown, a.terminal(), report.Ending{Files: files, Decides: decides,
			Report: a.again("report", arg, r.Record, db.Path()), Worst: a.again("show", arg, r.Record, db.Path(), "--worst", "10")})
	}
	if err := errors.Join(err, unwritten); err != nil {
		return result, err
	}
	return result, r.CheckFailures(result)
}

// scoring says now and then how much is scored. At the end the analysis begins.
func (a *app) scoring(of int, every time.Duration) func(trials int) {
	last := time.Now()
	return func(trials int) {
		if time.Since(last) >= every && !a.json {
			a.warn("score: %d of %s", trials, text.Plural(of, "trial", "trials"))
			last = time.Now()
		}
	}
}

// resultsDir returns the folder of a study's report files; each split has its own.
func resultsDir(x *experiment.Experiment) string {
	dir := x.Study.Output.ResultsDir
	if dir == "" || dir == "results" {
		dir = filepath.Join("results", x.Study.Name)
	}
	return x.File.Place(filepath.Join(dir, x.Study.Split))
}

// outputsOf lists the report of a run in all formats, and tables.
func outputsOf(ctx context.Context, db *store.DB, r *store.Run, shown report.Report, tables []string) []bundle.Output {
	list := mapped(report.Formats(), func(f report.Format) bundle.Output {
		return bundle.Output{Name: "report" + f.Ext, Write: func(w io.Writer) error { return f.Render(w, shown) }}
	})
	for _, table := range tables {
		list = append(list, bundle.Output{Name: table + ".jsonl", Write: func(w io.Writer) error {
			return experiment.WriteTable(ctx, w, db, r, table, experiment.JSONLines)
		}})
	}
	return list
}

// reportFiles lists the files in the results folder of a study: the report in every format of files,
// and the raw answers if the study asks for them.
func reportFiles(ctx context.Context, db *store.DB, x *experiment.Experiment, r *store.Run, shown report.Report) []bundle.Output {
	if g := x.Study.Output.GenerateReport; g != nil && !*g {
		return nil
	}
	var tables []string
	if x.Study.Output.SaveRaw {
		tables = []string{"outcomes", "scores"}
	}
	return slices.DeleteFunc(outputsOf(ctx, db, r, shown, tables), func(f bundle.Output) bool { return f.Name == "report.txt" })
}

// writeReports writes the files of a run and lists them.
func writeReports(ctx context.Context, db *store.DB, r *experiment.Run, shown report.Report) (files []string, err error) {
	keeps := source{path: r.File.Path, store: db.Path()}.keeps(r.Experiment)
	dir := resultsDir(r.Experiment)
	for _, f := range reportFiles(ctx, db, r.Experiment, r.Record, shown) {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return files, fmt.Errorf("creating the results folder: %w", err)
		}
		path := filepath.Join(dir, f.Name)
		if err := (disk.File{Path: path, Allow: keeps}).Write(f.Write); err != nil {
			return files, err
		}
		files = append(files, path)
	}
	return files, nil
}

// render writes a report in the format and to the file of the flags.
func (a *app) render(o *opened, result report.Report, verbose bool) error {
	format := o.text("format")
	if a.json {
		format = "json"
	}
	write := func(w io.Writer, r report.Report) error {
		to := a.terminal()
		to.Verbose = verbose
		return report.Terminal(w, r, to)
	}
	if format != "terminal" {
		formats := report.Formats()
		i := slices.IndexFunc(formats, func(f report.Format) bool { return f.Name == format || f.Ext == "."+format })
		if i < 0 {
			known := mapped(formats, func(f report.Format) string { return f.Name })
			return fmt.Errorf("--format %q: the formats are %s", format, strings.Join(known, ", "))
		}
		write = formats[i].Render
	}
	return a.print(o.text("out"), o.from, func(w io.Writer) error { return write(w, result) })
}
