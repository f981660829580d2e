package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/internal/serve"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

// verb makes a command of help.md. A wrong number of arguments is an error with the usage;
// a study has a default, and flags that set keys of it.
func (a *app) verb(path string, of verb) *cobra.Command {
	t := called(path)
	_, name := splitLast(path)
	c := &cobra.Command{Use: strings.Join(append([]string{name}, t.args...), " "), Short: t.short, Long: t.short + ".\n\n" + t.long}
	if len(t.examples) > 0 {
		c.Example = "  " + strings.Join(t.examples, "\n  ")
	}
	for _, line := range t.flags {
		addFlag(c.Flags(), line)
	}
	a.addFlags(c, path)
	if path == "show" {
		c.ValidArgsFunction = a.offerItems
	}
	most := len(t.args)
	least := most - strings.Count(c.Use, " [")
	if strings.Contains(c.Use, "…") || strings.Contains(c.Use, "...") {
		most = math.MaxInt
	}
	c.Args = func(c *cobra.Command, given []string) error {
		if n := len(withStudy(c, given)); n < least || n > most {
			return fmt.Errorf("%s: got %s; usage: %s", path, text.Plural(len(given), "argument", "arguments"), c.UseLine())
		}
		return nil
	}
	c.RunE = func(c *cobra.Command, given []string) error {
		given = withStudy(c, given)
		a.looks = slices.Contains(looking, path)
		if err := a.applyShortcuts(c, given); err != nil {
			return err
		}
		o := &opened{ctx: c.Context(), cmd: c, args: given}
		if len(given) > 0 {
			o.arg, o.rest = given[0], given[1:]
		}
		defer o.close()
		if err := a.opens(o, of.opens); err != nil {
			return err
		}
		return of.do(a, o)
	}
	return c
}

// defaultStudy is the default study file of a folder.
const defaultStudy = "study.yaml"

// hasDefault reports whether defaultStudy is the default of a command.
func hasDefault(c *cobra.Command) bool { return strings.Contains(c.Use, " STUDY") }

// withStudy is the arguments, or without any the default study if the current folder has it.
func withStudy(c *cobra.Command, args []string) []string {
	if len(args) == 0 && hasDefault(c) && isFile(defaultStudy) {
		return []string{defaultStudy}
	}
	return args
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

// answer prints what a verb found: as JSON with --json, else as one of the texts, made of data.
func (a *app) answer(found any, text string, data any) error {
	return a.result(found, func() { a.tell(text, data) })
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

// opened is what a verb works on: its arguments and flags, and as far as the verb needs them
// the study that the first argument names, its store, and a run in it.
type opened struct {
	ctx  context.Context
	cmd  *cobra.Command
	args []string
	arg  string   // the first
	rest []string // the others
	from source
	x    *experiment.Experiment
	db   *store.DB
	run  *store.Run
}

// A need is what a verb has opened.
type need int

const (
	nothing     need = iota
	theStudy         // its Experiment
	itsStore         // for reading; there may be none yet
	storeOfTest      // the same, of the split TEST
	itsRun           // with its store for writing
	shownRun         // for reading, if its results may be shown
	// With these the study is not loaded.
	aRun         // for reading
	aShownRun    // for reading, if its results may be shown
	aRunToChange // for writing
)

// opens opens what a verb needs. Some need it once they know their flags.
func (a *app) opens(o *opened, what need) (err error) {
	switch what {
	case nothing:
		return nil
	case storeOfTest:
		a.overrides = append(slices.Clip(a.overrides), "split="+study.SplitTest)
		what = itsStore
	}
	if what == itsStore && !strings.Contains(o.cmd.Use, "STUDY|RUN") && !isStudyFile(o.arg) {
		return fmt.Errorf("%s is not a study file: give the study, not a run", o.arg)
	}
	if o.from, err = a.locate(o.ctx, o.arg); err != nil {
		return err
	}
	if what < aRun {
		if o.x, err = o.from.load(); err != nil {
			return err
		}
	}
	switch what {
	case itsStore:
		if o.db, err = store.OpenRead(o.ctx, o.from.store); errors.Is(err, store.ErrNotFound) {
			err = nil
		}
	case itsRun, aRunToChange:
		if o.db, err = store.Open(o.ctx, o.from.store); err == nil {
			o.run, err = o.from.find(o.ctx, o.db)
		}
	case aRun:
		o.db, o.run, err = a.findRun(o.ctx, o.arg)
	case shownRun, aShownRun:
		o.db, o.run, err = a.findShown(o.ctx, o.arg)
	}
	return err
}

// close closes what was opened.
func (o *opened) close() {
	if o.db != nil {
		o.db.Close()
	}
	if o.x != nil {
		o.x.Close()
	}
}

// The values of the flags of a verb.
func (o *opened) text(flag string) string        { return valueOf(o.cmd.Flags().GetString, flag) }
func (o *opened) is(flag string) bool            { return valueOf(o.cmd.Flags().GetBool, flag) }
func (o *opened) number(flag string) int         { return valueOf(o.cmd.Flags().GetInt, flag) }
func (o *opened) time(flag string) time.Duration { return valueOf(o.cmd.Flags().GetDuration, flag) }

// list is the value of a flag that can be repeated. An empty value, as of --as "$UNSET", is not taken
// for no flag.
func (o *opened) list(flag string) []string {
	f := o.cmd.Flags().Lookup(flag)
	list := f.Value.(pflag.SliceValue).GetSlice()
	if f.Changed && len(list) == 0 {
		return []string{""}
	}
	return list
}

func valueOf[T any](get func(string) (T, error), flag string) T {
	value, err := get(flag)
	if err != nil {
		panic("help.md: " + err.Error())
	}
	return value
}

// attached is the run with its study.
func (o *opened) attached() (*experiment.Run, error) { return o.x.Attach(o.ctx, o.db, o.run) }

// commonShortcuts apply to every study.
func commonShortcuts() []kit.Shortcut {
	return []kit.Shortcut{
		{Flag: "seed", Key: "execution.seed", Doc: "seed of all random draws"},
		{Flag: "split", Key: "split", Doc: "split to use: dev or test"},
		{Flag: "temperature", Key: "models[*].temperature", Doc: "temperature of every model"},
	}
}

// Flags of a study are only where they act. Verbs of asking have -o and the flags that set one
// key, settable ones -o and --split. Verbs that look at the newest run of a study, or of one of
// its splits, have --split: a run keeps the settings it was made with.
var (
	asking   = []string{"validate", "plan", "run", "score", "gate", "test register", "test unblind", "blind build"}
	settable = []string{"preflight", "export", "bundle", "annotate", "test revise", "test lock", "blind commitment", "blind result",
		"rerank explain", "extraction embed"}
	looking = []string{"status", "show", "report", "compare", "soundness appendix"}
)

// addFlags gives a verb on a study its flags. Those of suites are hidden: only the help of a
// study of the suite shows them.
func (a *app) addFlags(c *cobra.Command, path string) {
	asks := slices.Contains(asking, path)
	if asks || slices.Contains(settable, path) {
		c.Flags().StringArrayVarP(&a.overrides, "override", "o", nil, "override a key of the study, as in -o execution.concurrency=8")
	} else if !slices.Contains(looking, path) {
		return
	}
	for _, s := range commonShortcuts() {
		if asks || s.Flag == "split" {
			c.Flags().String(s.Flag, "", fmt.Sprintf("%s (-o %s)", s.Doc, s.Key))
		}
	}
	if !asks {
		return
	}
	for _, e := range suites.All() {
		for _, s := range e.Shortcuts {
			if c.Flags().Lookup(s.Flag) == nil {
				doc := fmt.Sprintf("%s: %s (-o %s)", e.Name, s.Doc, s.Key)
				if s.Switch {
					c.Flags().Bool(s.Flag, false, doc)
				} else {
					c.Flags().String(s.Flag, "", doc)
				}
				c.Flags().Lookup(s.Flag).Hidden = true
			}
		}
	}
}

// applyShortcuts turns the given flags into overrides. They come before those of -o,
// so -o takes precedence. A flag of another suite than the study's is an error.
func (a *app) applyShortcuts(c *cobra.Command, args []string) error {
	list := commonShortcuts()
	known := len(list)
	for _, e := range suites.All() {
		for _, s := range e.Shortcuts {
			if !c.Flags().Changed(s.Flag) {
				continue
			}
			suite, err := a.suiteOf(c.Context(), args)
			if err != nil {
				return fmt.Errorf("--%s: %w", s.Flag, err)
			}
			if !slices.ContainsFunc(suite.Shortcuts, func(own kit.Shortcut) bool { return own.Flag == s.Flag }) {
				return fmt.Errorf("--%s is a flag of suite %s, and the suite of %s is %s: leave it out", s.Flag, e.Name, args[0], suite.Name)
			}
			if suite.Name == e.Name {
				list = append(list, s)
			}
		}
	}
	var set []string
	for i, s := range list {
		if i >= known || c.Flags().Changed(s.Flag) {
			set = append(set, s.Assignment(c.Flags().Lookup(s.Flag).Value.String()))
		}
	}
	a.overrides = slices.Concat(set, a.overrides)
	return nil
}

// suiteOf finds the suite of the study or run that the arguments name.
func (a *app) suiteOf(ctx context.Context, args []string) (kit.Suite, error) {
	if len(args) == 0 {
		return kit.Suite{}, errors.New("no study is given")
	}
	from, err := a.locate(ctx, args[0])
	if err != nil {
		return kit.Suite{}, err
	}
	_, name, err := study.Suite(from.path, from.overrides)
	if err != nil {
		return kit.Suite{}, err
	}
	return suiteCalled(name)
}

// serving is how a verb shows pages in a browser.
func (o *opened) serving() serve.Config {
	return serve.Config{Port: o.number("port"), Listen: o.text("listen"),
		Cert: o.text("tls-cert"), Key: o.text("tls-key"), BehindProxy: o.text("behind-proxy")}
}
