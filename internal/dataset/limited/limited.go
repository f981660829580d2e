// Package limited reads files that are not trusted in a process of their own, with limits
// of memory and time.
//
// Libraries allocate what a file tells them to, recurse as deep as it says, and loop with
// it. No program can recover when memory or stack run out, and no check before reading
// finds all such files, since the numbers are in packed streams too.
//
// The package must not know the format: it is a value of [Reader].
package limited

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"syscall"
	"time"
)

// A Reader reads files of one format.
type Reader struct {
	Name   string // of the format
	Memory uint64 // bytes that the process may have
	Time   time.Duration
	// Read reads a file. Option says what of it, and is "" for formats without a choice.
	Read func(data []byte, option string) ([]byte, error)
}

// An Exceeded is a limit that reading a file exceeded.
type Exceeded string

func (e Exceeded) Error() string { return string(e) }

// argument starts the program as a reader; the option follows.
const argument = "read-from-standard-input"

// refused is the exit code of a reader whose output is an error.
const refused = 3

// hosted reports whether [Host] was called.
var hosted bool

// Host lets [Reader.Run] read every file in a process of its own, which is this program,
// started by itself. Main calls it first: in such a process it reads, and does not return.
func Host(r Reader) {
	if len(os.Args) == 3 && os.Args[1] == argument {
		os.Exit(r.serve(os.Args[2], os.Stdin, os.Stdout))
	}
	hosted = true
}

// Run reads a file, in this process if [Host] was not called. An error is that of Read or
// an [Exceeded].
func (r Reader) Run(data []byte, option string) ([]byte, error) {
	if !hosted {
		return r.Read(data, option)
	}
	program, err := os.Executable()
	if err != nil {
		return nil, r.failed(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), r.Time)
	defer cancel()
	c := exec.CommandContext(ctx, program)
	c.Args = []string{os.Args[0], argument, option}
	c.Env = []string{} // it needs no keys
	c.Stdin = bytes.NewReader(data)
	out, err := c.Output()
	var ended *exec.ExitError
	switch {
	case err == nil:
		return out, nil
	case ctx.Err() != nil:
		return nil, Exceeded(fmt.Sprintf("reading it takes longer than %v", r.Time))
	case !errors.As(err, &ended):
		return nil, r.failed(err)
	case ended.ExitCode() == refused:
		return nil, errors.New(string(out))
	case interrupted(ended):
		return nil, errors.New("reading it was interrupted")
	}
	return nil, Exceeded(fmt.Sprintf("reading it needs more than %d MB of memory", r.Memory>>20))
}

func (r Reader) failed(err error) error {
	return fmt.Errorf("starting the process that reads %s files: %w", r.Name, err)
}

// serve reads a file in this process, whose memory it limits.
func (r Reader) serve(option string, in io.Reader, out io.Writer) int {
	limitMemory(r.Memory)
	runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0)))
	debug.SetMaxStack(int(r.Memory / 16))
	debug.SetMemoryLimit(int64(r.Memory / 4 * 3))
	go r.watchMemory()
	data, err := io.ReadAll(in)
	var result []byte
	if err == nil {
		result, err = r.Read(data, option)
	}
	code := 0
	if err != nil {
		result, code = []byte(err.Error()), refused
	}
	if _, err := out.Write(result); err != nil {
		return 1
	}
	return code
}

// watchMemory ends the process when it has more memory than it may. It is slower than
// [limitMemory], and works on every system.
func (r Reader) watchMemory() {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	for {
		if metrics.Read(sample); sample[0].Value.Uint64() > r.Memory {
			os.Exit(1)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// interrupted reports whether a person ended the process, such as with Ctrl-C, which
// ends all processes of a terminal.
func interrupted(e *exec.ExitError) bool {
	status, ok := e.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && (status.Signal() == syscall.SIGINT || status.Signal() == syscall.SIGTERM)
}
