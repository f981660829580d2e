package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/store"
)

// opened is what a verb works on: the study that its first argument names, and as far as
// the verb needs them its store, and a run in it.
type opened struct {
	ctx  context.Context
	arg  string
	rest []string // the other arguments
	from source
	x    *experiment.Experiment
	db   *store.DB
	run  *store.Run
}

// A need is what a verb has opened.
type need int

const (
	theStudy need = iota
	itsStore      // for reading; there may be none yet
	itsRun        // with its store for writing
	shownRun      // for reading, if its results may be shown
)

// on is a verb that opens what it needs, does its work, and closes it.
func (a *app) on(what need, do func(o *opened) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) (err error) {
		o := &opened{ctx: c.Context(), arg: args[0], rest: args[1:]}
		if what == itsStore && !strings.Contains(c.Use, "STUDY|RUN") && !isStudyFile(o.arg) {
			return fmt.Errorf("%s is not a study file: give the study, not a run", o.arg)
		}
		if o.x, o.from, err = a.loadFor(o.ctx, o.arg); err != nil {
			return err
		}
		defer o.x.Close()
		switch what {
		case itsStore:
			if o.db, err = store.OpenRead(o.ctx, o.from.store); errors.Is(err, store.ErrNotFound) {
				err = nil
			}
		case itsRun:
			if o.db, err = store.Open(o.ctx, o.from.store); err == nil {
				o.run, err = o.from.find(o.ctx, o.db)
			}
		case shownRun:
			o.db, o.run, err = a.findShown(o.ctx, o.arg)
		}
		if o.db != nil {
			defer o.db.Close()
		}
		if err != nil {
			return err
		}
		return do(o)
	}
}

// attached is the run with its study.
func (o *opened) attached() (*experiment.Run, error) { return o.x.Attach(o.ctx, o.db, o.run) }
