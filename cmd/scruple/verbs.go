package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/text"
)

// verb makes a command. A wrong number of arguments is an error that names them.
func verb(use, short, long string, args cobra.PositionalArgs, run func(*cobra.Command, []string) error) *cobra.Command {
	counted := func(c *cobra.Command, given []string) error {
		if args(c, given) == nil {
			return nil
		}
		return wrongCount(c, given)
	}
	return &cobra.Command{Use: use, Short: short, Long: short + ".\n\n" + strings.TrimLeft(long, "\n"), Args: counted, RunE: run}
}

// wrongCount says which arguments of a command are missing, or what it takes.
func wrongCount(c *cobra.Command, given []string) error {
	name := strings.TrimPrefix(c.CommandPath(), c.Root().Name()+" ")
	names := strings.Fields(c.Use)[1:]
	var needed []string
	for _, n := range names {
		if !strings.HasPrefix(n, "[") {
			needed = append(needed, n)
		}
	}
	if len(given) < len(needed) {
		text := fmt.Sprintf("%s needs %s", name, strings.Join(needed[len(given):], " and "))
		if len(given) > 0 {
			text += " after " + strings.Join(given, " ")
		} else if hasDefault(c) {
			text += ": the current folder has no " + defaultStudy
		}
		return fmt.Errorf("%s; usage: %s", text, c.UseLine())
	}
	takes := "no arguments"
	if len(names) > 0 {
		takes = strings.Join(names, " ")
	}
	return fmt.Errorf("%s takes %s, got %s: %s; usage: %s", name, takes, text.Plural(len(given), "argument", "arguments"), strings.Join(given, " "), c.UseLine())
}

// defaultStudy is the default study file of a folder.
const defaultStudy = "study.yaml"

// takesStudy reports whether a command works on a study, and hasDefault whether
// defaultStudy is its default.
func takesStudy(c *cobra.Command) bool {
	return strings.Contains(c.Use, "STUDY|RUN")
}

func hasDefault(c *cobra.Command) bool { return strings.Contains(c.Use, " STUDY") }

// takeStudy gives a verb on a study its flags and its default.
func (a *app) takeStudy(c *cobra.Command) {
	if takesStudy(c) {
		a.studyFlags(c)
	}
	if !takesStudy(c) && !hasDefault(c) {
		return
	}
	args, run := c.Args, c.RunE
	c.Args = func(c *cobra.Command, given []string) error { return args(c, a.withStudy(c, given)) }
	c.RunE = func(c *cobra.Command, given []string) error {
		given = a.withStudy(c, given)
		if takesStudy(c) {
			if err := a.applyShortcuts(c, given); err != nil {
				return err
			}
		}
		return run(c, given)
	}
}

// withStudy puts the default study before the arguments if the current folder has it
// and there are none, or they begin with an item.
func (a *app) withStudy(c *cobra.Command, args []string) []string {
	if !hasDefault(c) {
		return args
	}
	if info, err := os.Stat(defaultStudy); err != nil || info.IsDir() {
		return args
	}
	ofItem := strings.Contains(c.Use, "ITEM")
	if len(args) == 0 || ofItem && !a.isStudyOrRun(c.Context(), args[0]) {
		return append([]string{defaultStudy}, args...)
	}
	return args
}

// isStudyOrRun reports whether an argument names a study file or a run of the
// store.
func (a *app) isStudyOrRun(ctx context.Context, arg string) bool {
	if isStudyFile(arg) {
		return true
	}
	db, _, err := a.findRun(ctx, arg)
	if err != nil {
		return false
	}
	db.Close()
	return true
}

// printJSON prints a value as indented JSON.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// result prints what a verb found: as JSON with --json, else as text, for which say is
// called.
func (a *app) result(found any, say func()) error {
	if a.json {
		return printJSON(a.out, found)
	}
	say()
	return nil
}

// onStudy is a verb that works on the study that its first argument names: do gets it
// loaded.
func (a *app) onStudy(do func(c *cobra.Command, args []string, x *experiment.Experiment, from source) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		x, from, err := a.loadFor(c.Context(), args[0])
		if err != nil {
			return err
		}
		defer x.Close()
		return do(c, args, x, from)
	}
}

// opened is a study with its store, open for writing, and a run in it.
type opened struct {
	x   *experiment.Experiment
	db  *store.DB
	run *store.Run
}

// onRun is a verb that adds to the run that its first argument names.
func (a *app) onRun(do func(ctx context.Context, arg string, o opened) error) func(*cobra.Command, []string) error {
	return a.onStudy(func(c *cobra.Command, args []string, x *experiment.Experiment, from source) error {
		db, err := store.Open(c.Context(), from.store)
		if err != nil {
			return err
		}
		defer db.Close()
		found, err := from.find(c.Context(), db)
		if err != nil {
			return err
		}
		return do(c.Context(), args[0], opened{x, db, found})
	})
}

// say prints text, or nothing with --json.
func (a *app) say(format string, args ...any) {
	if !a.json {
		fmt.Fprintln(a.out, say.PlainLines(fmt.Sprintf(format, args...)))
	}
}

// warn prints text on standard error.
func (a *app) warn(format string, args ...any) {
	fmt.Fprintln(a.err, say.PlainLines(fmt.Sprintf(format, args...)))
}

// open opens a file for reading; - is standard input.
func (a *app) open(file string) (io.ReadCloser, error) {
	if file == "-" {
		return io.NopCloser(a.in), nil
	}
	return os.Open(file)
}
