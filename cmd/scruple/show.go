package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/gate"
	"github.com/scruple-eval/scruple/internal/report"
	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/text"
)

func (a *app) show(o *opened) error {
	query, err := queryOf(o)
	if err == nil {
		err = a.opens(o, shownRun)
	}
	if err != nil {
		return err
	}
	if query != nil {
		return a.list(o, *query)
	}
	which := experiment.Selection{Item: o.rest[0], Arms: o.rest[1:], Replicate: o.number("replicate"), Prompts: o.is("prompts")}
	if err := o.x.CheckSelection(which); err != nil { // before the run has its say
		return err
	}
	r, err := o.attached()
	if err != nil {
		return err
	}
	shown, err := r.Show(o.ctx, which)
	if err != nil {
		return err
	}
	return a.render(o, report.Report{Analysis: shown, Trials: true, Replicate: which.Replicate}, false)
}

// offerItems has the shell complete items and arms of the last run of a study.
func (a *app) offerItems(c *cobra.Command, given []string, begin string) (names []string, _ cobra.ShellCompDirective) {
	if len(given) == 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	db, r, err := a.findRun(c.Context(), given[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp // there is no place for an error
	}
	defer db.Close()
	if len(given) == 1 {
		items, _ := db.PlannedItems(c.Context(), r)
		names = slices.Sorted(maps.Keys(items))
	} else {
		names, _ = db.PlanArms(c.Context(), r)
	}
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, begin) }), cobra.ShellCompDirectiveNoFileComp
}

// queryOf returns the query of the flags, or nil if they ask for no list.
func queryOf(o *opened) (*experiment.Query, error) {
	q := &experiment.Query{Worst: o.number("worst"), Arm: o.text("arm"), Against: o.text("against")}
	for _, kind := range []eval.OutcomeKind{eval.Malformed, eval.Refused, eval.Failed} {
		if o.is(string(kind)) {
			q.Outcomes = append(q.Outcomes, kind)
		}
	}
	changed := o.cmd.Flags().Changed
	lists := changed("worst") || len(q.Outcomes) > 0
	switch {
	case lists && o.text("format") != "csv" && (changed("format") || changed("out")):
		return nil, errors.New("show: a list is text, JSON with --json, or a file with --format csv: other formats, and --out without it, are for an item")
	case lists && len(o.args) > 1:
		return nil, fmt.Errorf("show: %s is an item to show, and the flags ask for a list: leave one out", o.args[1])
	case !lists && len(o.args) == 1:
		return nil, errors.New("show needs ITEM, or a list: --worst N, --malformed, --refused or --failed; usage: " + o.cmd.UseLine())
	case !lists && (q.Arm != "" || q.Against != ""):
		return nil, errors.New("show: --arm and --against are for lists; for an item, name the arms after it")
	case !lists:
		return nil, nil
	case changed("worst") && q.Worst < 1:
		return nil, fmt.Errorf("--worst %d: give the number of items, 1 or more", q.Worst)
	case q.Worst > 0 && len(q.Outcomes) > 0:
		return nil, errors.New("show: --worst and lists of outcomes are separate: give one of them")
	case q.Against != "" && q.Worst == 0:
		return nil, errors.New("show: --against is for --worst")
	}
	return q, nil
}

// list prints a list of items or trials, with the command that shows each.
func (a *app) list(o *opened, q experiment.Query) error {
	r, err := o.attached()
	if err != nil {
		return err
	}
	found, err := r.List(o.ctx, q)
	if err != nil {
		return err
	}
	shown := shownList{List: found, Entries: []listed{}}
	shown.Outcomes = strings.Join(mapped(q.Outcomes, func(k eval.OutcomeKind) string { return string(k) }), ", ")
	for _, e := range found.Entries {
		rest := append([]string{e.Item}, e.Arms...)
		if e.Replicate > 1 {
			rest = append(rest, "--replicate", strconv.Itoa(e.Replicate))
		}
		shown.Entries = append(shown.Entries, listed{e, a.again("show", o.arg, r.Record, o.db.Path(), rest...)})
		shown.Wide = max(shown.Wide, utf8.RuneCountInString(say.PlainLine(e.Item)))
	}
	if o.text("format") == "csv" && !a.json {
		return a.print(o.text("out"), o.from, func(w io.Writer) error { return shown.csv(a.csv(w, listColumns)) })
	}
	return a.answer(shown, "list", shown)
}

// A shownList is a list as it is printed.
type shownList struct {
	*experiment.List
	Entries  []listed `json:"entries"`
	Outcomes string   `json:"-"` // those that are listed, "" if items are
	Wide     int      `json:"-"` // characters of the longest item
}

// A listed is an entry with the command that shows it.
type listed struct {
	experiment.Listed
	Show string `json:"show"`
}

var listColumns = strings.Fields("item arm against replicate score against_score difference outcome reason detail " +
	"question right_answer answer problem against_answer show")

// csv writes a list for a spreadsheet.
func (l shownList) csv(write func([]any) error, end func() error) error {
	number := func(x *float64) any {
		if x == nil {
			return nil
		}
		return *x
	}
	for _, e := range l.Entries {
		arms := append(slices.Clone(e.Arms), "")
		err := write([]any{e.Item, arms[0], arms[1], e.Replicate, number(e.Score), number(e.Other), number(e.Difference), string(e.Outcome), e.Reason, e.Detail,
			e.Question, e.Right, e.Answer, e.Problem, e.OtherAnswer, e.Show})
		if err != nil {
			return err
		}
	}
	return end()
}

// kept returns the results of a run as they were scored. It warns of gold that changed since, and
// of the newest run of a study of all that did: of runs so small that reading their study takes
// no time, if it can be read.
func (a *app) kept(o *opened) (experiment.Result, error) {
	result, err := experiment.Kept(o.ctx, o.db, o.run)
	if err != nil || o.run.Trials > manyItems {
		return result, err
	}
	x, err := o.from.load()
	if err != nil {
		return result, nil
	}
	defer x.Close()
	var outdated *experiment.NotAllowedError
	if errors.As(x.CheckGold(o.ctx, o.db, o.run), &outdated) || isStudyFile(o.arg) && errors.As(x.Current(o.ctx, o.db, o.run, result), &outdated) {
		a.warn("warning: these are the results as last analysed: %v", outdated)
	}
	return result, nil
}

func (a *app) report(o *opened) error {
	result, err := a.kept(o)
	if err != nil {
		return err
	}
	return a.render(o, report.Report{Analysis: result.Analysis, Verdict: result.Verdict}, o.is("verbose"))
}

func (a *app) compare(o *opened) error {
	format := o.text("format")
	switch a.json = a.json || format == "json"; format {
	case "terminal", "markdown", "md", "json":
	default:
		return fmt.Errorf("--format %q: the formats are terminal, markdown, json", format)
	}
	if len(o.args) == 2 {
		return a.compareRuns(o, o.arg, o.args[1])
	}
	if o.is("fail-on-regression") {
		return fmt.Errorf("compare --fail-on-regression %s: name two runs: of one, `scruple gate` decides by the rules of its study", o.arg)
	}
	if err := a.opens(o, aShownRun); err != nil {
		return err
	}
	result, err := a.kept(o)
	if err != nil {
		return err
	}
	return a.showComparisons(o, report.Differences{Analysis: result.Analysis})
}

// showComparisons prints differences on one metric, or on all.
func (a *app) showComparisons(o *opened, d report.Differences) error {
	shown, err := a.compared(d.Analysis, o.text("metric"))
	if err != nil {
		return err
	}
	if a.json {
		if d.Trend == nil {
			return printJSON(a.out, shown)
		}
		return printJSON(a.out, struct {
			gate.Trend
			Comparisons []analyse.Comparison `json:"comparisons"`
			Tables      []eval.Table         `json:"tables"`
		}{*d.Trend, shown, append([]eval.Table{}, d.Tables...)})
	}
	only := *d.Analysis
	only.Comparisons = shown
	d.Analysis = &only
	if strings.HasPrefix(o.text("format"), "m") {
		return d.Markdown(a.out)
	}
	return d.Terminal(a.out, a.terminal())
}

// compared lists the comparisons on a metric, or on all. JSON has no room for notices.
func (a *app) compared(all *analyse.Analysis, metric string) ([]analyse.Comparison, error) {
	for _, reason := range all.Discipline.Reasons() {
		if a.json {
			a.warn("warning: UNBLINDED, TEST was looked at again: %s", say.PlainLine(reason))
		}
	}
	shown := []analyse.Comparison{}
	var others []string // metrics
	for _, k := range all.Comparisons {
		if metric == "" || k.Metric == metric {
			shown = append(shown, k)
		} else if !slices.Contains(others, k.Metric) {
			others = append(others, k.Metric)
		}
	}
	_, known := all.Metric(metric)
	switch run := all.Run.ID; {
	case metric == "" || len(shown) > 0:
		return shown, nil
	case len(others) == 0:
		return nil, fmt.Errorf("--metric %s: run %s has no comparisons; list arms under comparisons in the study", metric, run)
	case known:
		return nil, fmt.Errorf("--metric %s: run %s does not compare it; it compares %s", metric, run, strings.Join(others, ", "))
	default:
		return nil, fmt.Errorf("--metric: unknown metric %q%s; run %s compares %s", metric, text.DidYouMean(metric, others), run, strings.Join(others, ", "))
	}
}

// compareRuns compares the second run with the first.
func (a *app) compareRuns(o *opened, first, second string) error {
	older, err := a.side(o.ctx, first, second)
	if err != nil {
		return err
	}
	defer older.DB.Close()
	newer, err := a.side(o.ctx, second, first)
	if err != nil {
		return err
	}
	defer newer.DB.Close()
	x, err := source{path: newer.Run.StudyPath, overrides: newer.Run.Overrides, store: newer.DB.Path()}.load()
	if err != nil {
		return err
	}
	defer x.Close()
	result, err := x.CompareRuns(o.ctx, older, newer)
	if err != nil {
		return err
	}
	if a.json {
		for _, w := range result.Warnings {
			a.warn("warning: %s", say.PlainLine(w))
		}
	}
	trend := gate.TrendOf(result)
	err = a.showComparisons(o, report.Differences{Analysis: result, Title: newer.Run.ID + " against " + older.Run.ID, Trend: &trend})
	if err == nil && o.is("fail-on-regression") && trend.ExitCode() != exitOK {
		return exit(trend.ExitCode(), nil)
	}
	return err
}

// side opens a run that an argument names: a study file, RUN or RUN:ARM. The store of a run
// is the one in the current folder, or the one beside the study that it is compared with.
func (a *app) side(ctx context.Context, arg, other string) (experiment.Side, error) {
	s, err := a.sideIn(ctx, arg)
	if errors.Is(err, store.ErrNotFound) && a.storePath == "" && !isStudyFile(arg) && isStudyFile(other) {
		a.storePath = a.storeFor(other)
		defer func() { a.storePath = "" }()
		return a.sideIn(ctx, arg)
	}
	return s, err
}

func (a *app) sideIn(ctx context.Context, arg string) (experiment.Side, error) {
	db, run, err := a.findShown(ctx, arg)
	id, arm, named := strings.Cut(arg, ":")
	if named && errors.Is(err, store.ErrNotFound) {
		db, run, err = a.findShown(ctx, id)
		return experiment.Side{DB: db, Run: run, Arm: arm}, err
	}
	return experiment.Side{DB: db, Run: run}, err
}
