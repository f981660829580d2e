package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/annotate"
	"github.com/scruple-eval/scruple/internal/report"
	"github.com/scruple-eval/scruple/internal/store"
)

func doctorVerb(a *app) *cobra.Command {
	return verb("doctor STUDY|STORE", "check that a store is sound and holds what was written", `
Checks the database file, its format, the references between its rows, the plan of
every run and every stored answer by checksum; warns if others can read the file or
the disk is nearly full. It changes nothing, and exits 4 if something is damaged.
Answers stored by an older version have no checksum and are counted.`, cobra.ExactArgs(1),
		func(c *cobra.Command, args []string) error { return a.doctor(c.Context(), args[0]) })
}

func (a *app) doctor(ctx context.Context, arg string) error {
	path := arg
	if strings.HasSuffix(arg, ".yaml") || strings.HasSuffix(arg, ".yml") {
		path = a.storeFor(arg)
	} else if err := checkStorePath(arg); err != nil {
		return err
	}
	if isStudyFile(arg) && path != arg {
		if err := annotate.Of(arg, "", path, time.Now).CheckLocks(); err != nil {
			return exit(exitNotAllowed, err)
		}
	}
	checks, err := store.Examine(ctx, path)
	if err != nil {
		return err
	}
	damaged := false
	for _, c := range checks {
		damaged = damaged || c.State == store.CheckDamaged
	}
	if a.json {
		if err := printJSON(a.out, map[string]any{"store": path, "damaged": damaged, "checks": checks}); err != nil {
			return err
		}
	} else {
		for _, c := range checks {
			a.say("%-12s %-8s %s", c.Name, c.State, report.PlainLine(c.Note))
		}
	}
	if damaged {
		return exit(exitInfrastructure, &store.Error{Path: path, Err: errors.New("the file is damaged: restore a copy; what can still be read is in `scruple export`")})
	}
	return nil
}
