//go:build e2e

// Package e2e tests the program as it is installed: processes that are killed, providers
// that fail, pages in a browser, studies of full size, every suite. `make e2e` runs it.
package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/postgrestest"
)

// Exit codes of the program.
const (
	exitOK             = 0
	exitFail           = 1
	exitUsage          = 2
	exitNotAllowed     = 3
	exitInfrastructure = 4
)

// TestMain builds the program and the fake provider, and puts them on the path.
func TestMain(m *testing.M) {
	code := 1
	defer func() { os.Exit(code) }()
	dir, err := sharedDir("bin")
	defer func() {
		for _, do := range slices.Backward(atEnd.list) {
			do()
		}
	}()
	if err == nil {
		build := exec.Command("go", "build", "-ldflags=-s -w", "-o", dir+string(filepath.Separator), "../cmd/scruple", "../tools/fakellm")
		build.Stdout, build.Stderr = os.Stderr, os.Stderr
		err = build.Run()
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "building the program: %v\n", err)
		return
	}
	os.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	code = postgrestest.M{M: m}.Run()
}

var atEnd struct {
	sync.Mutex
	list []func()
}

// afterAll has something done after the last test.
func afterAll(do func()) {
	atEnd.Lock()
	defer atEnd.Unlock()
	atEnd.list = append(atEnd.list, do)
}

// sharedDir makes a folder for what several tests use.
func sharedDir(name string) (string, error) {
	dir, err := os.MkdirTemp("", "scruple-e2e-"+name)
	afterAll(func() { _ = os.RemoveAll(dir) })
	return dir, err
}

// execute runs a command line in a process without keys, and returns its exit code. The
// end of the context is a Ctrl-C.
func execute(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	c := exec.CommandContext(ctx, "scruple", args...)
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = time.Minute
	c.Env = environment("")
	c.Stdin, c.Stdout, c.Stderr = in, out, errOut
	if err := c.Run(); c.ProcessState == nil {
		fmt.Fprintln(errOut, err)
		return -1
	}
	return c.ProcessState.ExitCode()
}

// environment is the environment of the program, with this home if it is not "".
func environment(home string) []string {
	if home == "" {
		home = os.Getenv("HOME")
	}
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + os.TempDir()}
}

// line runs a command line.
func line(t *testing.T, args ...string) (out, errs string, code int) {
	t.Helper()
	var o, e bytes.Buffer
	code = execute(context.WithoutCancel(t.Context()), args, strings.NewReader(""), &o, &e)
	return o.String(), e.String(), code
}

// ok runs a command line that must succeed and returns what it prints.
func ok(t *testing.T, args ...string) string {
	t.Helper()
	out, errs, code := line(t, args...)
	if code != exitOK {
		t.Fatalf("scruple %s: exit code %d: %s", strings.Join(args, " "), code, errs)
	}
	return out
}

// refusedWith runs a command line that must fail with an exit code and words.
func refusedWith(t *testing.T, code int, words string, args ...string) {
	t.Helper()
	if _, errs, got := line(t, args...); got != code || !strings.Contains(errs, words) {
		t.Errorf("scruple %s: exit code %d: %s\nwant %d and %q", strings.Join(args, " "), got, errs, code, words)
	}
}

// scrupleIn runs a command line in a folder.
func scrupleIn(t *testing.T, dir string, args ...string) (code int, out, errOut string) {
	t.Helper()
	var o, e bytes.Buffer
	c := exec.Command("scruple", args...)
	c.Dir, c.Stdout, c.Stderr, c.Env = dir, &o, &e, environment(dir)
	var failed *exec.ExitError
	if err := c.Run(); err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), o.String(), e.String()
}

// findScruple and findFake find the programs.
func findScruple(t testing.TB) string { return find(t, "scruple") }
func findFake(t testing.TB) string    { return find(t, "fakellm") }

func find(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// startFake starts a fake provider on a free loopback port.
func startFake(program string, flags ...string) (url string, stop func(), err error) {
	c := exec.Command(program, append([]string{"-port", "0"}, flags...)...)
	out, err := c.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := c.Start(); err != nil {
		return "", nil, err
	}
	stop = func() { _ = c.Process.Kill(); _ = c.Wait() }
	said := make([]byte, 200)
	n, err := out.Read(said)
	if err != nil {
		stop()
		return "", nil, fmt.Errorf("starting %s: %w", program, err)
	}
	go io.Copy(io.Discard, out)
	return string(regexp.MustCompile(`http://\S+`).Find(said[:n])), stop, nil
}

func fakeStats(url string) (string, error) {
	r, err := http.Get(url + "/stats")
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	return string(b), err
}

// shipped is a folder of examples without what a run there creates.
func shipped(example string) fs.FS {
	return unrun{os.DirFS(filepath.Join("..", "examples", example))}
}

type unrun struct{ fs.FS }

func (u unrun) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(u.FS, name)
	return slices.DeleteFunc(list, func(d fs.DirEntry) bool {
		return slices.Contains([]string{".scruple", "results", "annotations"}, d.Name())
	}), err
}

func writeTestFile(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
