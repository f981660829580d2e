package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/internal/text"
)

// verb makes a command of help.md. A wrong number of arguments is an error that names them;
// a study has a default, and flags that set keys of it.
func (a *app) verb(path string, run func(*cobra.Command, []string) error) *cobra.Command {
	t := called(path)
	_, name := splitLast(path)
	c := &cobra.Command{Use: strings.Join(append([]string{name}, t.args...), " "), Short: t.short, Long: t.short + ".\n\n" + t.long}
	if len(t.examples) > 0 {
		c.Example = "  " + strings.Join(t.examples, "\n  ")
	}
	a.addFlags(c, path)
	least, most := 0, len(t.args)
	for _, arg := range t.args {
		if !strings.HasPrefix(arg, "[") {
			least++
		}
		if strings.Contains(arg, "…") || strings.Contains(arg, "...") {
			most = math.MaxInt
		}
	}
	c.Args = func(c *cobra.Command, given []string) error {
		if n := len(a.withStudy(c, given)); n < least || n > most {
			return wrongCount(c, a.withStudy(c, given))
		}
		return nil
	}
	c.RunE = func(c *cobra.Command, given []string) error {
		given = a.withStudy(c, given)
		a.looks = slices.Contains(looking, path)
		if err := a.applyShortcuts(c, given); err != nil {
			return err
		}
		return run(c, given)
	}
	return c
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

// hasDefault reports whether defaultStudy is the default of a command.
func hasDefault(c *cobra.Command) bool { return strings.Contains(c.Use, " STUDY") }

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
