package pdf

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

// Limits of the process that reads a file.
const (
	maxMemory = 1 << 30
	maxTime   = 60 * time.Second
)

// readerArgument starts the program as a reader.
const readerArgument = "read-a-pdf-from-standard-input"

// refused is the exit code of a reader whose output is an error.
const refused = 3

// hosted reports whether [Host] was called.
var hosted bool

// Host lets [Text] read every file in a process of its own, which is this program,
// started by itself. Main calls it first: in such a process it reads, and does not return.
//
// The library allocates what a file tells it to, recurses as deep as it says, and loops
// with it. Of memory and stack that run out no program can recover, and no check before
// it can find all such files: the numbers are in packed streams too.
func Host() {
	if len(os.Args) == 2 && os.Args[1] == readerArgument {
		os.Exit(serve(os.Stdin, os.Stdout))
	}
	hosted = true
}

// serve reads a file in this process, whose memory it limits.
func serve(in io.Reader, out io.Writer) int {
	limitMemory()
	runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0)))
	debug.SetMaxStack(maxMemory / 16)
	go watchMemory()
	data, err := io.ReadAll(in)
	text := ""
	if err == nil {
		text, err = read(data)
	}
	code := 0
	if err != nil {
		text, code = err.Error(), refused
	}
	if _, err := io.WriteString(out, text); err != nil {
		return 1
	}
	return code
}

// watchMemory ends the process when it has more memory than it may. It is slower than
// [limitMemory], and works on every system.
func watchMemory() {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	for {
		if metrics.Read(sample); sample[0].Value.Uint64() > maxMemory {
			os.Exit(1)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// isolated reads a file in a process of its own.
func isolated(data []byte, limit time.Duration) (string, error) {
	program, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("starting the process that reads PDFs: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	c := exec.CommandContext(ctx, program)
	c.Args = []string{os.Args[0], readerArgument}
	c.Env = []string{} // it needs no keys
	c.Stdin = bytes.NewReader(data)
	out, err := c.Output()
	var ended *exec.ExitError
	switch {
	case err == nil:
		return string(out), nil
	case ctx.Err() != nil:
		return "", damaged(fmt.Errorf("reading it takes longer than %v", limit))
	case !errors.As(err, &ended):
		return "", fmt.Errorf("starting the process that reads PDFs: %w", err)
	case ended.ExitCode() == refused:
		return "", errors.New(string(out))
	case interrupted(ended):
		return "", errors.New("reading it was interrupted")
	}
	return "", damaged(fmt.Errorf("reading it needs more than %d GB of memory", maxMemory>>30))
}

// interrupted reports whether a person ended the process, such as with Ctrl-C, which
// ends all processes of a terminal.
func interrupted(e *exec.ExitError) bool {
	status, ok := e.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && (status.Signal() == syscall.SIGINT || status.Signal() == syscall.SIGTERM)
}
