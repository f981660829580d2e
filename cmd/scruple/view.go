package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/serve"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/view"
)

func viewVerb(a *app) *cobra.Command {
	var listen serve.Config
	var check bool
	c := a.verb("view", func(c *cobra.Command, args []string) error {
		path := a.storeFor("")
		if len(args) == 1 {
			if path = a.storeFor(args[0]); isStore(args[0]) {
				path = args[0]
			} else if x, err := (source{path: args[0], overrides: a.overrides, store: path}).load(); err == nil {
				x.Close()
			} else if exitCode(err) == exitNotAllowed { // other errors do not keep from looking at runs
				return err
			}
		}
		return a.view(c.Context(), path, listen, check)
	})
	servingFlags(c, &listen)
	c.Flags().BoolVar(&check, "check", false, "open the store and the port, print the address and end")
	return c
}

// isStore reports whether an argument names a store and not a study.
func isStore(arg string) bool {
	if strings.HasSuffix(arg, ".yaml") || strings.HasSuffix(arg, ".yml") {
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
func (a *app) view(ctx context.Context, path string, listen serve.Config, check bool) error {
	if full, err := filepath.Abs(path); err == nil {
		path = full // commands on pages work in any folder
	}
	db, err := store.OpenRead(ctx, path)
	if err != nil {
		return err
	}
	defer db.Close()
	listen.Errors = a.err
	server, err := serve.Open(listen)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	v, err := view.New(ctx, view.Options{
		DB: db,
		Load: func(r *store.Run) (*experiment.Experiment, error) {
			return source{path: r.StudyPath, overrides: r.Overrides, store: path}.load()
		},
		Command: func(r *store.Run, verb string, rest ...string) string {
			named := &app{storePath: db.Path()}
			return named.again(verb, r.ID, r, db.Path(), rest...)
		},
	})
	if err != nil {
		server.Close()
		return err
	}
	if check {
		server.Close()
		a.say("%s", server.URL(""))
		if a.json {
			err = printJSON(a.out, map[string]string{"url": server.URL("")})
		}
		return errors.Join(err, v.Close())
	}
	err = a.serve(ctx, server, v)
	stop()
	return errors.Join(err, v.Close())
}
