package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/text"
)

func archiveVerb(a *app) *cobra.Command {
	var to string
	c := a.verb("archive", func(c *cobra.Command, args []string) error {
		if to == "" {
			return errors.New("archive: give the folder for the files with --to, such as --to archive")
		}
		return a.archive(c.Context(), args[0], to)
	})
	c.Flags().StringVar(&to, "to", "", "folder for the archives of runs")
	return c
}

func (a *app) archive(ctx context.Context, arg, to string) error {
	from, err := a.locate(ctx, arg)
	if err != nil {
		return err
	}
	if isStudyFile(arg) { // of a run alone, the study may be gone
		x, err := from.load() // which refuses gold that changed after it was locked
		if err != nil {
			return err
		}
		x.Close()
	}
	db, err := store.Open(ctx, from.store)
	if err != nil {
		return err
	}
	defer db.Close()
	r, err := from.find(ctx, db)
	if err != nil {
		return err
	}
	kept, err := experiment.Kept(ctx, db, r)
	if err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	if n := kept.Analysis.Run.Unjudged; n > 0 {
		return fmt.Errorf("archive: run %s is not finished: the judge has yet to judge %s: finish it with `scruple run`", r.ID, text.Plural(n, "trial", "trials"))
	}
	if err := db.Archive(ctx, r, to, version()); err != nil {
		return err
	}
	return a.result(map[string]any{"run": r.ID, "archive": r.Archive}, func() {
		a.say("%s: %s in %s, %s", r.ID, text.Plural(r.Archive.Trials, "trial", "trials"), say.PlainLine(r.Archive.Dir), gigabytes(r.Archive.Bytes()))
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
