package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/scruple-eval/scruple/internal/annotate"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/text"
)

func (a *app) doctor(o *opened) error {
	ctx, arg := o.ctx, o.arg
	path := arg
	if strings.HasSuffix(arg, ".yaml") || strings.HasSuffix(arg, ".yml") {
		path = a.storeFor(arg)
	} else {
		err := isFolder(arg)
		if err == nil {
			path, err = storeNamed(arg)
		}
		if err != nil {
			return err
		}
	}
	if isStudyFile(arg) && path != arg {
		if err := annotate.Of(arg, "", time.Now).CheckLocks(); err != nil {
			return exit(exitNotAllowed, err)
		}
	}
	checks, err := store.Examine(ctx, path)
	if err == nil {
		var recomputed []store.Check
		recomputed, err = a.recompute(ctx, path, checks)
		checks = append(checks, recomputed...)
	}
	if err != nil && len(checks) == 0 {
		return err
	}
	damaged := false
	for _, c := range checks {
		damaged = damaged || c.State == store.CheckDamaged
	}
	shown := a.result(map[string]any{"store": path, "damaged": damaged, "checks": checks}, func() {
		for _, c := range checks {
			a.say("%-12s %-8s %s", c.Name, c.State, say.PlainLine(c.Note))
		}
	})
	if err = cmp.Or(err, shown); err != nil {
		return err
	}
	if damaged {
		return exit(exitInfrastructure, &store.Error{Path: path, Err: errors.New("damage is listed, with its remedy if there is one; else restore a copy. What can still be read is in `scruple export`")})
	}
	return nil
}

// recompute computes the results of every run of a store again.
func (a *app) recompute(ctx context.Context, path string, checks []store.Check) (list []store.Check, err error) {
	for _, c := range checks {
		if c.Name == "format" && c.State != store.CheckOK || c.Name == "integrity" && c.State != store.CheckOK || len(checks) == 1 {
			return nil, nil // the check says what is to be done first
		}
	}
	db, err := store.OpenRead(ctx, path)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	runs, err := db.Runs(ctx)
	if store.Unread(err) {
		return nil, err
	}
	if err != nil {
		return []store.Check{{Name: "results", State: store.CheckDamaged, Note: err.Error()}}, nil
	}
	for _, r := range runs {
		c := a.recomputeRun(ctx, db, r)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		c.Name, c.Note = "results", r.ID+": "+c.Note
		list = append(list, c)
	}
	return list, nil
}

const olderAnalysis = "scores and analysis of an older version of scruple: `scruple score` brings them up to date at no cost"

func (a *app) recomputeRun(ctx context.Context, db *store.DB, r *store.Run) store.Check {
	skipped := func(err error) store.Check {
		return store.Check{State: store.CheckWarning, Note: "not computed again: " + err.Error()}
	}
	kept, err := experiment.Kept(ctx, db, r)
	scored := err == nil
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return skipped(err)
	}
	env := experimentEnv()
	if scored {
		env.Version = kept.Analysis.Run.Version // the analysis names it
	}
	x, err := source{path: r.StudyPath, overrides: r.Overrides, store: db.Path(), run: r.ID, except: r.ID}.loadWith(env)
	if err != nil {
		return skipped(err)
	}
	defer x.Close()
	run, err := x.Attach(ctx, db, r)
	if err != nil {
		return skipped(err)
	}
	var differ []string
	rep, err := run.Repeat(ctx)
	if err != nil {
		return skipped(err)
	}
	if err := rep.Err(); err != nil {
		differ = append(differ, err.Error())
	}
	note := text.Plural(rep.Outcomes, "outcome", "outcomes")
	if rep.Verdicts > 0 {
		note += " and " + text.Plural(rep.Verdicts, "verdict", "verdicts") + " of judges"
	}
	note += " follow from the stored answers"
	if rep.Left > 0 {
		note += fmt.Sprintf(", but for %s that left the plan", text.Plural(rep.Left, "trial", "trials"))
	}
	var open []string // what was not compared
	if rep.Earlier > 0 {
		why := ": the study moved on since"
		if r.Version != version() {
			why += ", or another version of scruple reads its documents otherwise, such as PDFs"
		}
		open = append(open, text.Plural(rep.Earlier, "trial", "trials")+" of an earlier plan"+why)
	}
	if rep.Reread > 0 {
		open = append(open, text.Plural(rep.Reread, "trial", "trials")+" whose answers an earlier version of Scruple read otherwise")
	}
	if rep.Unrepeated > 0 {
		open = append(open, fmt.Sprintf("%s could not be performed again, such as %v", text.Plural(rep.Unrepeated, "trial", "trials"), rep.Why))
	}
	other, err := run.PeopleDiff(ctx)
	a.agree(ctx, db, run)
	switch n := other.Len(); {
	case err != nil:
		open = append(open, "people's work: "+err.Error())
	case n > 0:
		open = append(open, text.Plural(n, "verdict", "verdicts")+" of people differ in the store and in their files: `scruple score` takes those of the files")
	case rep.Earlier > 0: // scores are of that plan too
	case !scored:
		note += "; the run has no analysis yet"
	case !run.Analysed(kept):
		open = append(open, "the study or one of its arms changed since the analysis: `scruple score` analyses again at no cost")
	default:
		_, other, err := run.Recompute(ctx, samplesPerArm(len(x.Bench.Arms())), kept)
		switch {
		case err != nil:
			differ = append(differ, err.Error())
		case other != nil && (rep.Older || env.Version != version()):
			open = append(open, olderAnalysis)
		case other != nil:
			differ = append(differ, other.Error())
		default:
			note += ", and scores and analysis from them"
		}
	}
	switch {
	case len(differ) > 0:
		return store.Check{State: store.CheckDamaged, Note: strings.Join(differ, "; ")}
	case len(open) > 0:
		return store.Check{State: store.CheckWarning, Note: note + "; not compared: " + strings.Join(open, "; ")}
	}
	return store.Check{State: store.CheckOK, Note: note}
}

func (a *app) archive(o *opened) error {
	ctx, to := o.ctx, o.text("to")
	if to == "" {
		return errors.New("archive: give the folder for the files with --to, such as --to archive")
	}
	what := aRunToChange // of a run alone, the study may be gone
	if isStudyFile(o.arg) {
		what = itsRun // which refuses gold that changed after it was locked
	}
	if err := a.opens(o, what); err != nil {
		return err
	}
	r := o.run
	kept, err := experiment.Kept(ctx, o.db, r)
	if err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	if n := kept.Analysis.Run.Unjudged; n > 0 {
		return fmt.Errorf("archive: run %s is not finished: the judge has yet to judge %s: finish it with `scruple run`", r.ID, text.Plural(n, "trial", "trials"))
	}
	if err := o.db.Archive(ctx, r, to, version()); err != nil {
		return err
	}
	return a.result(map[string]any{"run": r.ID, "archive": r.Archive}, func() {
		a.say("%s: %s in %s, %s", r.ID, text.Plural(r.Archive.Trials, "trial", "trials"), say.PlainLine(r.Archive.Dir), gigabytes(r.Archive.Bytes()))
		a.say("later runs do not take its answers: they ask again")
	})
}

// gigabytes says a number of bytes in a unit that suits it.
func gigabytes(n int64) string {
	switch {
	case n < 1e6:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	case n < 1e9:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}
