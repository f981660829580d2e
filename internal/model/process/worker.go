package process

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
)

const (
	maxStderr = 4 << 10
	// patience is how long is waited for what ought to be over: the exit of a
	// process that has closed its output, and output that is still in a pipe
	// when its process is gone.
	patience = 2 * time.Second
)

// errSpent: the process answered before, and has ended in good order since.
var errSpent = errors.New("the process has exited")

// A worker is one process. It is asked by one goroutine at a time.
type worker struct {
	cmd     *exec.Cmd
	stdin   *os.File
	stdout  *os.File
	errors  *os.File      // its standard error
	lines   *bufio.Reader // over stdout
	maxLine int
	keys    model.Keys // not shown in what it says
	stderr  tail
	place   model.Place // of an answer that is large
	served  int         // requests answered
	broken  bool        // must not be asked again

	exited chan struct{} // closed when the process is gone and its stderr read
	state  *os.ProcessState
}

// startWorker starts a process; the caller must call [worker.watch]. It does not
// use the pipes of package exec, because they have no deadlines, and because Wait
// would wait for the children of the process.
func startWorker(cmd *exec.Cmd, maxLine int, keys model.Keys) (*worker, error) {
	var pipes [3]struct{ read, write *os.File }
	for i := range pipes {
		r, w, err := os.Pipe()
		if err != nil {
			for _, p := range pipes[:i] {
				p.read.Close()
				p.write.Close()
			}
			return nil, err
		}
		pipes[i].read, pipes[i].write = r, w
	}
	in, out, errs := pipes[0], pipes[1], pipes[2]
	ownGroup(cmd)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in.read, out.write, errs.write
	err := cmd.Start()
	in.read.Close()
	out.write.Close()
	errs.write.Close()
	if err != nil {
		in.write.Close()
		out.read.Close()
		errs.read.Close()
		return nil, err
	}
	return &worker{
		cmd: cmd, stdin: in.write, stdout: out.read, errors: errs.read,
		lines: bufio.NewReaderSize(out.read, 64<<10), maxLine: maxLine,
		keys: keys, stderr: tail{most: maxStderr + keys.Longest()}, exited: make(chan struct{}),
	}, nil
}

// watch reads standard error and waits for the process to end.
func (w *worker) watch() {
	var reading sync.WaitGroup
	reading.Go(func() { _, _ = io.Copy(&w.stderr, w.errors) })
	_ = w.cmd.Wait() // how it ended is in its state
	w.state = w.cmd.ProcessState
	killGroup(w.cmd)
	// A descendant that left the group may still hold the pipes.
	late := time.Now().Add(patience)
	_ = w.errors.SetReadDeadline(late)
	_ = w.stdout.SetReadDeadline(late)
	reading.Wait()
	w.errors.Close()
	close(w.exited)
}

// said is the end of what the process wrote to standard error, without the keys.
func (w *worker) said() string {
	ended := w.gone()
	raw := w.stderr.String()
	if !ended { // it may be writing a line
		raw = raw[:strings.LastIndexByte(raw, '\n')+1]
	}
	said := string(w.keys.Scrub([]byte(raw), false))
	if len(raw) > maxStderr { // the beginning is cut, perhaps within a key
		said = said[min(w.keys.Longest(), len(said)):]
	}
	return said
}

// gone reports whether the process has exited.
func (w *worker) gone() bool {
	select {
	case <-w.exited:
		return true
	default:
		return false
	}
}

// waitExit waits for the process to end, for a while.
func (w *worker) waitExit(most time.Duration) bool {
	t := time.NewTimer(most)
	defer t.Stop()
	select {
	case <-w.exited:
		return true
	case <-t.C:
		return w.gone()
	}
}

// kill ends the process and whoever waits for its pipes.
func (w *worker) kill() {
	if !w.gone() {
		killGroup(w.cmd)
	}
	now := time.Now()
	_ = w.stdin.SetWriteDeadline(now)
	_ = w.stdout.SetReadDeadline(now)
}

// discard ends the process and lets go of it.
func (w *worker) discard() {
	w.kill()
	w.stdin.Close()
	w.stdout.Close()
}

// end asks the process to end by closing its standard input, and kills it when
// it has not ended after the grace.
func (w *worker) end(grace time.Duration) {
	w.stdin.Close()
	if !w.waitExit(grace) {
		w.kill()
		<-w.exited
	}
}

// ask sends one request, which ends in a line break, and returns the line that
// comes back. The caller leaves the worker's place when the line is decoded. After an error, or when broken is set, the worker is to be
// discarded. Errors are [*model.Error] or errSpent.
func (w *worker) ask(ctx context.Context, request []byte) ([]byte, error) {
	if w.served > 0 {
		w.stderr.reset() // what is written from here on is about this request
	}
	unwatch := context.AfterFunc(ctx, w.kill)
	wrote := make(chan error, 1)
	go func() { // on the side: the process may write before it has read everything
		_, err := w.stdin.Write(request)
		wrote <- err
	}()
	line, err := readLine(w.lines, w.maxLine, func() error { return w.place.Take(ctx) })
	line = w.keys.Scrub(line, true)
	if err == nil {
		w.served++
		w.broken = <-wrote != nil
		w.broken = !unwatch() || w.broken
		return line, nil
	}
	ended := !errors.Is(err, errLong) && ctx.Err() == nil && w.waitExit(patience)
	w.kill()
	<-wrote
	unwatch()
	w.broken = true
	w.waitExit(patience) // for its last words
	switch {
	case errors.Is(err, errLong):
		return nil, model.Malformed("the answer is longer than %d MB: %s", w.maxLine>>20, shorten(line))
	case isObject(line):
		w.served++ // it did not end its line, and has ended itself
		return line, nil
	case ctx.Err() != nil:
		return nil, overdue(ctx)
	}
	return nil, w.death(line, ended)
}

// read reads an answer line. One that shows the process to be out of step with
// its requests breaks the worker.
func (w *worker) read(line []byte, id string) (eval.Response, error) {
	a, err := decode(line)
	inStep := string(a.ID) == id || a.ID == "" && a.complaint() != ""
	w.broken = w.broken || !inStep
	switch {
	case err != nil:
		return eval.Response{}, err
	case !inStep:
		return eval.Response{}, otherID(a.ID, id, line)
	}
	return a.response()
}

// death returns the error of a process that exited, or closed its standard output,
// without an answer. rest is its last output.
func (w *worker) death(rest []byte, ended bool) error {
	if !ended {
		return &model.Error{Kind: eval.ErrUnavailable, Message: "the process closed its standard output but is still running"}
	}
	blank := len(bytes.TrimSpace(rest)) == 0
	if blank && w.served > 0 && w.state.Success() {
		return errSpent
	}
	message := fmt.Sprintf("the process exited without an answer (%v)", w.state)
	if !blank {
		message = fmt.Sprintf("the process exited in the middle of its answer (%v): %s", w.state, shorten(rest))
	}
	return &model.Error{Kind: eval.ErrUnavailable, Message: message, Exited: w.served == 0}
}

// overdue is the error of a context that ended first.
func overdue(ctx context.Context) *model.Error {
	return model.FromTransport(ctx, fmt.Errorf("waiting for the pipeline: %w", ctx.Err()))
}

// isObject reports whether the bytes are a whole JSON object, which no object
// that was cut off is.
func isObject(b []byte) bool {
	b = bytes.TrimSpace(b)
	return len(b) > 0 && b[0] == '{' && json.Valid(b)
}

var errLong = errors.New("the line is too long")

// readLine reads to the end of the next line that is not blank. Before it keeps more
// than [model.Ordinary] bytes, it calls large. With an error it returns what there was
// of the line.
func readLine(r *bufio.Reader, most int, large func() error) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > model.Ordinary {
			if err := large(); err != nil {
				return line, err
			}
		}
		line = append(line, part...)
		switch {
		case len(line) > most:
			return line, errLong
		case err == bufio.ErrBufferFull:
		case err != nil:
			return line, err
		case len(bytes.TrimSpace(line)) > 0:
			return line, nil
		default:
			line = line[:0]
		}
	}
}

// A tail keeps the last bytes written to it.
type tail struct {
	mu    sync.Mutex
	most  int
	bytes []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	p = p[max(0, n-t.most):]
	excess := max(0, len(t.bytes)+len(p)-t.most)
	t.bytes = append(slices.Delete(t.bytes, 0, excess), p...)
	return n, nil
}

func (t *tail) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bytes = t.bytes[:0]
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.bytes)
}
