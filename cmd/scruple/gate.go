package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/bundle"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/gate"
	"github.com/scruple-eval/scruple/internal/report"
	"github.com/scruple-eval/scruple/internal/store"
)

func (a *app) gateVerb(o *opened) error {
	output, comment, baseline := o.text("out"), o.text("comment"), o.text("baseline")
	write, err := a.verdictFormat(o.text("format"))
	if err != nil {
		return err
	}
	if o.from, err = a.locate(o.ctx, o.arg); err != nil {
		return err
	}
	if err := checkOut(output, o.from); err != nil {
		return err
	}
	decided := false
	defer func() {
		if _, missing := os.Stat(output); !decided && missing == nil {
			a.warn("%s was not written: it has an earlier verdict", output)
		}
	}()
	if o.is("live") {
		if err := a.live(o.ctx, o.arg); err != nil {
			return err
		}
	}
	if baseline != "" && comment == "" {
		return errors.New("gate --baseline: give the file for the comment on the pull request with --comment, such as --comment comment.md")
	}
	if comment != "" {
		if err := checkOut(comment, o.from); err != nil {
			return err
		}
		write = a.andComment(o, write, comment, baseline)
	}
	decided, err = a.gate(o, write, output)
	return err
}

// verdictFormat returns how to write a verdict.
func (a *app) verdictFormat(format string) (func(io.Writer, report.Report) error, error) {
	if a.json {
		format = "json"
	}
	switch format {
	case "terminal":
		return func(w io.Writer, r report.Report) error {
			return errors.Join(report.Gate(w, r.Verdict, a.terminal()), report.Tables(w, worstCases(r), r.Analysis.Study.Alpha, a.terminal()))
		}, nil
	case "markdown", "md":
		return report.GateMarkdown, nil
	case "github":
		return a.gateGitHub, nil
	case "junit":
		return report.GateJUnit, nil
	case "json":
		return func(w io.Writer, r report.Report) error { return printJSON(w, r.Verdict) }, nil
	}
	return nil, fmt.Errorf("--format %q: the formats are terminal, markdown, github, junit, json", format)
}

// gateGitHub writes annotations, and the verdict to the job summary, which has a limit.
func (a *app) gateGitHub(w io.Writer, r report.Report) error {
	if err := report.GateGitHub(w, r); err != nil {
		return err
	}
	summary := a.getenv("GITHUB_STEP_SUMMARY")
	if summary == "" {
		return nil
	}
	f, err := os.OpenFile(summary, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("writing the job summary: %w", err)
	}
	var text bytes.Buffer
	err = report.GateMarkdown(&text, r)
	if info, _ := f.Stat(); err == nil && info != nil && info.Size()+int64(text.Len()) > report.MostSummary {
		a.warn("the job summary is full: the verdict is not in it")
	} else if err == nil {
		_, err = f.Write(text.Bytes())
	}
	return errors.Join(err, f.Close())
}

// andComment writes a verdict, and a comment on it for a pull request.
func (a *app) andComment(o *opened, write func(io.Writer, report.Report) error, file, baseline string) func(io.Writer, report.Report) error {
	return func(w io.Writer, r report.Report) error {
		var base *report.Baseline
		if baseline != "" {
			var err error
			if base, err = a.against(o, baseline); err != nil {
				return fmt.Errorf("gate --baseline %s: %w", baseline, err)
			}
		}
		if err := a.print(file, o.from, func(w io.Writer) error { return report.Comment(w, r, o.from.path, base) }); err != nil {
			return err
		}
		return write(w, r)
	}
}

// against compares the run that was opened with a baseline: a run, or a bundle of one.
func (a *app) against(o *opened, baseline string) (_ *report.Baseline, err error) {
	ctx, r := o.ctx, o.run
	x, err := source{path: r.StudyPath, overrides: r.Overrides, store: o.db.Path(), run: r.ID}.load()
	if err != nil {
		return nil, err
	}
	defer x.Close()
	var older experiment.Side
	if info, missing := os.Stat(baseline); missing == nil && info.Mode().IsRegular() {
		m, packed, closeBundle, err := bundle.Open(ctx, baseline)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, closeBundle()) }()
		run, err := packed.Run(ctx, m.Run)
		if err != nil {
			return nil, err
		}
		older = experiment.Side{DB: packed, Run: run}
	} else {
		if older, err = a.side(ctx, baseline, o.arg); err != nil {
			return nil, err
		}
		defer older.DB.Close()
	}
	const answers = 20
	days := int(r.CreatedAt.Sub(older.Run.CreatedAt).Hours() / 24)
	base := &report.Baseline{Run: older.Run.ID, Version: older.Run.Version, Days: days}
	if older.Run.Study != r.Study {
		base.Study = older.Run.Study
	}
	base.Changes, err = x.ChangesOf(ctx, older, experiment.Side{DB: o.db, Run: r}, answers)
	if why, ok := errors.AsType[*experiment.IncomparableError](err); ok { // the verdict does not depend on it
		base.Incomparable, err = why.Error(), nil
	}
	return base, err
}

// recordRules records in the history of a run that its results were seen under other
// rules.
func recordRules(o *opened) error {
	db, err := store.Open(o.ctx, o.db.Path())
	if err != nil {
		return err
	}
	return errors.Join(o.x.RecordRules(o.ctx, db, o.run), db.Close())
}

// live runs a study after saying what it will cost. The report of the run goes to its
// files: the verdict is printed once.
func (a *app) live(ctx context.Context, arg string) error {
	if !isStudyFile(arg) {
		return fmt.Errorf("gate --live %s: a run is not asked again: give the study file", arg)
	}
	x, _, err := a.loadFor(ctx, arg)
	if err != nil {
		return err
	}
	p, err := x.Estimate(ctx, countTokens())
	if err := errors.Join(err, x.Close()); err != nil {
		return err
	}
	cost, unknown := "", ". "+filled("unpriced", nil)
	if p.CostUSD != nil {
		cost, unknown = ", at most "+dollars(p.CostUSD), ""
	}
	a.warn("gate --live: up to %d calls%s; answers that exist are not asked again%s", p.Calls, cost, unknown)
	out := a.out
	a.out = io.Discard
	defer func() { a.out = out }()
	return a.run(ctx, arg, runOptions{})
}

// gate applies the current rules of a study file, which may have changed since
// the run: deciding again costs nothing. For a run id it prints the stored
// verdict. It reports whether a verdict was written.
func (a *app) gate(o *opened, write func(io.Writer, report.Report) error, output string) (decided bool, err error) {
	if err := a.opens(o, aShownRun); err != nil {
		return false, err
	}
	result, err := experiment.Kept(o.ctx, o.db, o.run)
	if errors.Is(err, store.ErrNotFound) {
		return false, exit(exitNotAllowed, fmt.Errorf("gate: nothing to decide by: %w", err))
	}
	if err != nil {
		return false, err
	}
	if isStudyFile(o.arg) {
		if o.x, err = o.from.load(); err != nil {
			return false, err
		}
		if result, err = o.x.Decide(o.ctx, o.db, o.run, result); err != nil {
			return false, err
		}
		if result.NewRules {
			if err := recordRules(o); err != nil {
				a.warn("warning: the change of the rules is not in the history of run %s: %v", o.run.ID, err)
			}
		}
	} else {
		a.warn("the verdict on %s is that of when it was scored: the study may have other rules now, which only `scruple gate FILE` applies", o.run.ID)
	}
	if result.Verdict == nil {
		return false, errNoRules
	}
	shown := report.Report{Analysis: result.Analysis, Verdict: result.Verdict}
	if err := a.print(output, o.from, func(w io.Writer) error { return write(w, shown) }); err != nil {
		return false, err
	}
	return true, exitOf(result.Verdict)
}

var errNoRules = errors.New("the study has no rules: add `decide:` to it (see `scruple help rules`)")

// exitOf returns the exit code of a verdict as an error, or nil for a pass. An unfinished TEST run has
// no verdict yet.
func exitOf(v *gate.Verdict) error {
	if v == nil {
		return exit(exitNotAllowed, nil)
	}
	if code := v.ExitCode(); code != exitOK {
		return exit(code, nil)
	}
	return nil
}

// worstTable is the name of a suite's table of cases, worst first, with the arm in its
// first column.
const worstTable = "worst"

// quotes reports whether a rule has a name in quotation marks of any kind.
func quotes(rule, name string) bool {
	return slices.ContainsFunc([]string{"'", `"`, "`"}, func(q string) bool { return strings.Contains(rule, q+name+q) })
}

// worstCases are the worst cases of the arms in failed conditions, nil if the gate did
// not fail or the suite does not list them.
func worstCases(result report.Report) []eval.Table {
	if result.Verdict.State != gate.Fail {
		return nil
	}
	for _, t := range result.Analysis.Tables {
		if t.Name != worstTable {
			continue
		}
		t.Rows = slices.DeleteFunc(slices.Clone(t.Rows), func(row []eval.Cell) bool {
			return !slices.ContainsFunc(result.Verdict.Conditions, func(c gate.Condition) bool {
				return c.State == gate.Fail && len(row) > 0 && quotes(c.That, row[0].Text)
			})
		})
		if len(t.Rows) > 0 {
			return []eval.Table{t}
		}
	}
	return nil
}
