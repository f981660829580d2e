package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/scruple-eval/scruple/internal/errno"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/internal/text"
)

// ExecOptions say how a command is run.
type ExecOptions struct {
	Dir string   // where processes are started: the study's folder
	Env []string // NAME=value; nil is this program's own environment
	// Pass are names of variables that processes get in addition to those that
	// every program needs.
	Pass []string
	Keys model.Keys // not shown in what processes say
	// Changed reports that the program is another one than that to ask: no process of it
	// is started. It may be nil.
	Changed func() bool
}

// Exec asks processes of one command, which are started when they are needed
// and kept: as many as calls are in flight at once. It implements
// [model.Client]. Close it.
type Exec struct {
	options ExecOptions
	words   []string
	path    string
	env     []string
	grace   time.Duration // what Close gives processes to end by themselves
	maxLine int

	calls   sync.WaitGroup // in flight
	watched sync.WaitGroup // processes that have not ended

	mu     sync.Mutex
	closed bool
	idle   []*worker            // the last one used comes first
	live   map[*worker]struct{} // every one that has not been discarded
	guard  guard
}

// NewExec returns a client for a command in the form that [text.SplitCommand] reads. The
// program must be there; it is not started yet.
func NewExec(command string, o ExecOptions) (*Exec, error) {
	words, err := text.SplitCommand(command)
	if err != nil {
		return nil, err
	}
	path, err := program(words[0], o.Dir)
	if err != nil {
		return nil, fmt.Errorf("command %q: %w", command, err)
	}
	if err := checkScript(words, o.Dir); err != nil {
		return nil, fmt.Errorf("command %q: %w", command, err)
	}
	vars := o.Env
	if vars == nil {
		vars = os.Environ()
	}
	return &Exec{
		options: o, words: words, path: path, env: environment(vars, o.Dir, o.Pass),
		grace: 2 * time.Second, maxLine: maxAnswer, live: map[*worker]struct{}{},
	}, nil
}

// Complete asks a process. When the context ends first, the process is killed
// with all it has started, and another takes its place.
func (e *Exec) Complete(ctx context.Context, r *eval.Request) (eval.Response, error) {
	id, request, err := encode(r)
	if err != nil {
		return eval.Response{}, err
	}
	if ctx.Err() != nil {
		return eval.Response{}, overdue(ctx)
	}
	if !e.begin() {
		return eval.Response{}, errClosed()
	}
	defer e.calls.Done()
	request = append(request, '\n')
	for {
		w, err := e.take()
		if err != nil {
			return eval.Response{}, err
		}
		line, err := w.ask(ctx, request)
		if errors.Is(err, errSpent) {
			e.release(w)
			continue // a new process has answered nothing yet, so this ends
		}
		var response eval.Response
		if err == nil {
			response, err = w.read(line, id)
		}
		w.place.Leave()
		if err != nil {
			err = e.explain(w, err)
		}
		e.release(w)
		e.options.Keys.CleanAnswer(&response)
		return response, err
	}
}

// explain adds to an error of a worker what the process wrote to standard error, and what
// can be done.
func (e *Exec) explain(w *worker, err error) error {
	failure := asFailure(err)
	if failure.Message == "" && failure.Err != nil {
		failure.Message = failure.Err.Error()
	}
	if said := say.PlainLine(w.said()); said != "" {
		failure.Message += "; its standard error: " + said
	}
	switch {
	case failure.Kind == eval.ErrTimeout && w.served == 0:
		failure.Remedy += ", and check that the command flushes standard output after each answer"
	case failure.Remedy != "":
	case failure.Kind == eval.ErrMalformed:
		failure.Remedy = "standard output must contain only answers, one JSON object per line with the request's id: write everything else to standard error"
	case w.broken:
		failure.Remedy = "run the command by hand: it must answer every line of standard input with one line of standard output, and gets no variables of the environment but those in execution.environment of the study"
	}
	return e.options.Keys.Clean(failure)
}

// begin counts a call that [Exec.Close] has to wait for; it is false when the
// client is closed.
func (e *Exec) begin() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.closed {
		e.calls.Add(1)
	}
	return !e.closed
}

func errClosed() error {
	return &model.Error{Kind: eval.ErrUnavailable, Message: "the command's client is closed"}
}

// take returns a process that waits for a request, or a new one.
func (e *Exec) take() (*worker, error) {
	if w := e.waiting(); w != nil {
		return w, nil
	}
	if e.options.Changed != nil && e.options.Changed() { // reads files: others must not wait for it
		return nil, &model.Error{Kind: eval.ErrUnavailable, Unreachable: true, Final: true, Message: "the program changed since the run began",
			Remedy: "run the same command again"}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, errClosed()
	}
	w, err := startWorker(e.command(), e.maxLine, e.options.Keys)
	if err != nil {
		return nil, notStarted(e.words[0], err)
	}
	e.guard.add(w.cmd.Process.Pid)
	e.live[w] = struct{}{}
	e.watched.Go(func() {
		w.watch()
		e.guard.remove(w.cmd.Process.Pid)
	})
	return w, nil
}

// waiting returns a process that waits for a request, nil if there is none.
func (e *Exec) waiting() *worker {
	e.mu.Lock()
	defer e.mu.Unlock()
	for n := len(e.idle); n > 0; n = len(e.idle) {
		w := e.idle[n-1]
		e.idle = e.idle[:n-1]
		if !w.gone() {
			return w
		}
		delete(e.live, w)
		w.discard()
	}
	return nil
}

func (e *Exec) command() *exec.Cmd {
	return &exec.Cmd{Path: e.path, Args: e.words, Dir: e.options.Dir, Env: e.env}
}

// notStarted classifies the error of starting a program: an error of the program
// itself affects every request.
func notStarted(name string, err error) error {
	kind, remedy := eval.ErrUnavailable, "check that the program exists and is executable; a script must begin with a line such as #!/usr/bin/env python3"
	if errno.TooManyFiles.Of(err) {
		remedy = "this process may not open more files: lower execution.concurrency, or raise the limit with ulimit -n"
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errno.NotExecutable.Of(err) {
		kind = eval.ErrBadRequest
	}
	return &model.Error{Kind: kind, Err: err, Message: fmt.Sprintf("starting %q: %v", name, err),
		Remedy: remedy}
}

// release puts a process back, or discards it.
func (e *Exec) release(w *worker) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.closed: // Close ends what is live
	case w.broken:
		delete(e.live, w)
		w.discard()
	default:
		e.idle = append(e.idle, w)
	}
}

// Close ends the processes: it closes their standard input, gives them two
// seconds to end, and kills those that have not. Calls in flight get an error,
// unless their answer comes in that time. It returns when no process and no
// call is left.
func (e *Exec) Close() error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil
	}
	e.closed = true
	e.idle = nil
	var ending sync.WaitGroup
	for w := range e.live {
		ending.Go(func() { w.end(e.grace) })
	}
	e.mu.Unlock()
	ending.Wait()
	e.watched.Wait()
	e.calls.Wait()
	for w := range e.live {
		w.discard()
	}
	e.guard.close()
	return nil
}

// program finds the program a command names: on the PATH, or by a path that is
// relative to dir.
func program(name, dir string) (string, error) {
	bare := filepath.Base(name) == name
	path := name
	if !bare && !filepath.IsAbs(name) {
		absolute, err := filepath.Abs(filepath.Join(dir, name))
		if err != nil {
			return "", err
		}
		path = absolute
	}
	found, err := exec.LookPath(path)
	if err == nil {
		return found, nil
	}
	if why, ok := errors.AsType[*exec.Error](err); ok {
		err = why.Err
	}
	if bare {
		return "", fmt.Errorf("program %q: %w: install it, or write ./%s for a program in %s", name, err, name, shownDir(dir))
	}
	return "", fmt.Errorf("program %q (relative paths begin in %s): %w", name, shownDir(dir), err)
}

// script matches a file that an interpreter runs, by its name.
var script = regexp.MustCompile(`(?i)^[^:]+\.(py|js|mjs|cjs|ts|rb|pl|php|sh|bash|r|jl|lua)$`)

// checkScript refuses a command whose first argument is a script that does not exist,
// as in python3 answer.py: every call of it would fail. After a flag that may take a
// word, such as -m or -c, a word can be anything.
func checkScript(words []string, dir string) error {
	if len(words) < 2 || !script.MatchString(words[1]) {
		return nil
	}
	path := words[1]
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("script %q does not exist (relative paths begin in %s)", words[1], shownDir(dir))
	}
	return nil
}

func shownDir(dir string) string {
	if dir == "" {
		return "the current folder"
	}
	return dir
}

// passed are the variables that every command gets: what programs need to start,
// to find the user's files and to write text. All others stay here, so that a
// pipeline cannot spend a study's money, or log its keys, by accident. No list of
// the names of keys would be complete: a study may call its key anything.
var passed = []string{"PATH", "HOME", "LANG", "TMPDIR", "TZ"}

// passedOnWindows are what programs need there as well; names have no case.
var passedOnWindows = []string{
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP", "USERPROFILE", "HOMEDRIVE", "HOMEPATH",
	"APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "COMMONPROGRAMFILES",
	"NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE", "OS",
}

// passes reports whether a variable is passed to commands; more are the names in
// the study.
func passes(name string, more []string, windows bool) bool {
	if windows {
		name = strings.ToUpper(name)
	}
	return slices.Contains(passed, name) || strings.HasPrefix(name, "LC_") || windows && slices.Contains(passedOnWindows, name) ||
		slices.ContainsFunc(more, func(m string) bool { return m == name || windows && strings.EqualFold(m, name) })
}

// environment is what processes are started with, of these variables.
func environment(vars []string, dir string, more []string) (out []string) {
	for _, v := range vars {
		if name, _, _ := strings.Cut(v, "="); passes(name, more, runtime.GOOS == "windows") {
			out = append(out, v)
		}
	}
	if absolute, err := filepath.Abs(dir); err == nil {
		out = append(out, "PWD="+absolute) // the last one counts
	}
	return out
}
