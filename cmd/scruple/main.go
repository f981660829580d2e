// Command scruple answers whether a prompt, model, method or pipeline is
// really better than another one, and whether it may be shipped.
//
// A verb has a file, with those that are like it: register.go has those of TEST and its ledger,
// blind.go those of a blind validation, show.go those that print results, doctor.go those of a
// store, sample.go track too. What a suite has as its own verbs is in its package, and
// commands.go makes commands of it. The shared files are: help.md describes the commands in the
// order of work, with examples and flags, and help.go makes them of it; verbs.go has their
// arguments, and opens the study, store and run that a verb works on, providers.go lists the
// providers, wire.go makes models and pipelines, load.go lists the suites and finds studies and
// stores, observe.go shows progress, output.go prints and writes results, and texts.tmpl has
// what verbs with much to say print. The work of a verb is in package experiment.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/scruple-eval/scruple/internal/dataset/limited"
	"github.com/scruple-eval/scruple/internal/disk"
	"github.com/scruple-eval/scruple/internal/errno"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/run"
	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/table"
)

func main() {
	limited.Host(table.Reader())
	os.Exit(execute(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
}

// execute runs one command line and returns its exit code.
func execute(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer, getenv func(string) string) int {
	printed := &output{Writer: out}
	a := &app{in: in, out: printed, err: errOut, getenv: getenv}
	root := newRoot(a)
	a.storePath = getenv("SCRUPLE_STORE") // unless --store is given
	args, err := withoutPasswords(args, valued(root))
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(printed)
	root.SetErr(errOut)
	if err == nil {
		err = root.ExecuteContext(ctx)
	}
	var known *exitError
	quiet := err == nil || errors.As(err, &known) && known.err == nil
	if quiet && printed.err != nil && !errno.PipeClosed.Of(printed.err) { // whose reader has seen enough
		err, quiet = exit(exitInfrastructure, printed.err), false
	}
	if err == nil {
		return exitOK
	}
	code := exitCode(err)
	if !quiet {
		printError(errOut, err, code, asksJSON(args))
	}
	return code
}

// An output keeps the first error of writing it, which not every verb looks at.
type output struct {
	io.Writer
	err error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	o.err = cmp.Or(o.err, err)
	return n, err
}

// Exit codes, the same for every verb.
const (
	exitOK             = 0   // done, or the gate passed
	exitFail           = 1   // the gate failed, verify found a difference, or compare --fail-on-regression a regression
	exitUsage          = 2   // bad usage or bad input
	exitNotAllowed     = 3   // not allowed, or not enough evidence to decide
	exitInfrastructure = 4   // a provider, the store, the disk or too many trials failed, or the output was closed
	exitInterrupted    = 130 // stopped by Ctrl-C
)

const exitCodes = `Exit codes, the same for every command:

  0    done; for gate: passed. Also of run --max-calls, which may leave trials for the next session
  1    the gate failed, verify found a difference, or compare --fail-on-regression a regression
  2    bad usage or bad input
  3    not allowed, such as a run whose budget is used up; or not enough evidence to decide
  4    infrastructure: a provider, the store, the disk, output that its reader closed, or
       more failed trials than the study allows
  130  interrupted; run the same command to resume
`

// An exitError carries the exit code of an error. With a nil err nothing more
// is printed.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func exit(code int, err error) error { return &exitError{code, err} }

// exitCode classifies an error by its type, never by its text. Unclassified
// errors count as bad input.
func exitCode(err error) int {
	var e *exitError
	switch {
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	case errors.Is(err, run.ErrStopped), errors.As(err, new(*experiment.NotAllowedError)):
		return exitNotAllowed
	case errors.As(err, &e):
		return e.code
	case disk.Full(err), errno.PipeClosed.Of(err): // the reader of a pipe has ended, as head does
		return exitInfrastructure
	case errors.Is(err, store.ErrNotFound):
		return exitUsage
	case errors.As(err, new(*experiment.TooManyFailedError)), errors.As(err, new(*run.CallError)), errors.As(err, new(*store.Error)):
		return exitInfrastructure
	}
	return exitUsage
}

// An app holds what every verb needs.
type app struct {
	in       io.Reader
	out, err io.Writer
	getenv   func(string) string

	json      bool
	storePath string
	overrides []string
	looks     bool   // the verb only looks at runs
	tag       string // that the run is to get
	fresh     bool   // the study is to have another run
	first     string // a tag that no other run has, where an arm is to take answers of one
}

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "scruple",
		Short: "is it really better, and may we ship it?",
		Long: `Scruple compares prompts, models, methods and pipelines the way a published
experiment would: every answer is kept, every number has its interval, and the
rules that decide are in the study file.

Start with:  scruple init qa my-study && scruple run my-study/study.yaml`,
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetVersionTemplate("scruple {{.Version}}\n")
	flags := root.PersistentFlags()
	flags.BoolVar(&a.json, "json", false, "print JSON, for programs")
	flags.StringVar(&a.storePath, "store", "", "file or postgres:// address of the runs (default SCRUPLE_STORE, or .scruple/scruple.db beside the study)")
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		var err error
		a.storePath, err = storeNamed(a.storePath)
		return err
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		if bad := (*pflag.InvalidValueError)(nil); errors.As(err, &bad) && errors.As(err, new(*strconv.NumError)) {
			want := map[string]string{"float64": "a number", "bool": "true or false"}
			err = fmt.Errorf("--%s %q: want %s", bad.GetFlag().Name, bad.GetValue(), cmp.Or(want[bad.GetFlag().Value.Type()], "a whole number"))
		}
		return exit(exitUsage, fmt.Errorf("%w; `%s --help` lists the flags", err, c.CommandPath()))
	})
	a.addVerbs(root)
	offerNames(root)
	return root
}

// version returns the tag or commit that Go recorded in the build, or dev if it
// recorded neither.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "dev"
	}
	return versionOf(info)
}

// versionOf names the build: the version of the module, with the commit where the
// version does not name it, and whether the source had changes.
func versionOf(info *debug.BuildInfo) string {
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	v := info.Main.Version
	if v == "" || v == "(devel)" {
		v = "dev"
	}
	commit := settings["vcs.revision"]
	commit = commit[:min(12, len(commit))]
	if commit != "" && !strings.Contains(v, commit) {
		v += " (" + commit + ")"
	}
	if settings["vcs.modified"] == "true" && !strings.Contains(v, "dirty") {
		v += " with changes"
	}
	return v
}

// An errorObject is an error as --json prints it: one line on standard error,
// {"error": {…}}, and the last one there.
type errorObject struct {
	ExitCode int      `json:"exit_code"`
	Kind     string   `json:"kind"`
	Message  string   `json:"message"`
	Findings []string `json:"findings,omitempty"` // of a study, each with file and line
}

// kinds name the exit codes.
var kinds = map[int]string{exitFail: "failed", exitUsage: "usage", exitNotAllowed: "not_allowed", exitInfrastructure: "infrastructure", exitInterrupted: "interrupted"}

// printError prints an error, as text or as JSON. Joined errors may have one that came twice, such as a
// full disk at a write and at closing: a line is printed once.
func printError(w io.Writer, err error, code int, asJSON bool) {
	lines, printed := strings.Split(say.PlainLines(strings.TrimSpace(err.Error())), "\n"), map[string]bool{}
	lines = slices.DeleteFunc(lines, func(line string) bool {
		again := printed[line]
		printed[line] = line != ""
		return again
	})
	message := strings.Join(lines, "\n")
	if !asJSON {
		fmt.Fprintf(w, "scruple: %s\n", message)
		return
	}
	o := errorObject{ExitCode: code, Kind: kinds[code], Message: message}
	var findings study.Errors
	if errors.As(err, &findings) {
		for _, f := range findings {
			o.Findings = append(o.Findings, say.PlainLines(f.Error()))
		}
	}
	line, _ := eval.EncodeJSON(map[string]errorObject{"error": o}) // texts and a number always encode
	fmt.Fprintf(w, "%s\n", line)
}

// asksJSON reports whether a command line has --json, which is not known if another
// flag before it is wrong.
func asksJSON(args []string) bool {
	for _, arg := range args {
		switch arg {
		case "--json", "--json=true":
			return true
		case "--":
			return false
		}
	}
	return false
}

// mapped returns what a function makes of each element.
func mapped[T, R any](list []T, of func(T) R) (made []R) {
	for _, x := range list {
		made = append(made, of(x))
	}
	return made
}
