package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/serve"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/view"
)

// isStore reports whether an argument names a store and not a study.
func isStore(arg string) bool {
	switch {
	case store.IsAddress(arg):
		return true
	case strings.HasSuffix(arg, ".yaml"), strings.HasSuffix(arg, ".yml"):
		return false
	}
	f, err := os.Open(arg)
	if err != nil {
		return filepath.Ext(arg) == ".db"
	}
	defer f.Close()
	head := make([]byte, 16)
	_, err = f.Read(head)
	return err == nil && strings.HasPrefix(string(head), "SQLite format 3")
}

// view shows a store until the user interrupts.
func (a *app) view(o *opened) error {
	ctx, path, study := o.ctx, a.storeFor(""), "" // the study file that the command names
	if len(o.args) == 1 {
		if err := isFolder(o.arg); err != nil {
			return err
		}
		if path = a.storeFor(o.arg); isStore(o.arg) {
			var err error
			if path, err = storeNamed(o.arg); err != nil {
				return err
			}
		} else {
			study = o.arg
			x, err := source{path: study, overrides: a.overrides, store: path}.load()
			if err == nil {
				x.Close()
			} else if exitCode(err) == exitNotAllowed { // other errors do not keep from looking at runs
				return err
			}
		}
	}
	if full, err := filepath.Abs(path); err == nil && !store.IsAddress(path) {
		path = full // commands on pages work in any folder
	}
	db, err := store.OpenRead(ctx, path)
	if err != nil {
		return err
	}
	defer db.Close()
	listen := o.serving()
	listen.Errors = a.err
	server, err := serve.Open(listen)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	v, err := viewer(ctx, db, study)
	if err != nil {
		server.Close()
		return err
	}
	if o.is("check") {
		server.Close()
		err := a.result(map[string]string{"url": server.URL("")}, func() { a.say("%s", server.URL("")) })
		return errors.Join(err, v.Close())
	}
	a.say("%s\nCtrl-C ends it.", server.URL(""))
	err = server.Serve(ctx, v)
	stop()
	return errors.Join(err, v.Close())
}

// viewer returns a viewer of a store. study is the file that the command names, or "".
func viewer(ctx context.Context, db *store.DB, study string) (*view.Viewer, error) {
	return view.New(ctx, view.Options{
		DB:    db,
		Study: func(r *store.Run) string { return studyOf(r, study) },
		Load: func(r *store.Run, study string) (*experiment.Experiment, error) {
			return source{path: study, overrides: r.Overrides, store: db.Path()}.load()
		},
		Command: func(r *store.Run, verb string, rest ...string) string {
			return commandOf(append([]string{verb, r.ID}, rest...), nil, db.Path())
		},
	})
}
