package main

import (
	"archive/zip"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/pressly/goose/v3"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/scruple-eval/scruple/internal/postgrestest"
)

// updating reports whether to rewrite golden files. The flag is defined in
// wiretest, which tests of this package import.
func updating() bool { return flag.Lookup("update").Value.String() == "true" }

func TestMain(m *testing.M) {
	testscript.Main(postgrestest.M{M: m}, map[string]func(){"scruple": main})
}

// TestScripts runs testdata/script/*.txtar: what a user types and sees.
func TestScripts(t *testing.T) {
	t.Parallel()
	fakellm := findFake(t)
	testscript.Run(t, testscript.Params{
		Dir:           filepath.Join("testdata", "script"),
		UpdateScripts: updating(),
		Setup: func(e *testscript.Env) error {
			repo, err := filepath.Abs(filepath.Join("..", ".."))
			if err != nil {
				return err
			}
			e.Setenv("REPO", repo)
			e.Setenv("NO_COLOR", "1")
			e.Setenv("GOGC", os.Getenv("GOGC"))
			if cache, err := os.UserCacheDir(); err == nil {
				e.Setenv("XDG_CACHE_HOME", cache) // PDFium is compiled once for all scripts
			}
			e.Values["fakellm"] = fakellm
			e.Values["t"] = t
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exit": exitCommand, "fakellm": fakeCommand, "requests": requestsCommand, "lines": linesCommand, "asked": askedCommand,
			"edit": editCommand, "unzip": unzipCommand, "follow": followCommand, "postgres": postgresCommand,
		},
	})
}

// postgres [FORMAT] sets SCRUPLE_STORE to the address of an empty database, or of one with the tables of an
// older format; its password is secret-word.
func postgresCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 1 {
		ts.Fatalf("usage: postgres [FORMAT]")
	}
	t := ts.Value("t").(testing.TB)
	address := postgrestest.Address(t)
	ts.Setenv("SCRUPLE_STORE", address)
	if len(args) == 0 {
		return
	}
	format, err := strconv.ParseInt(args[0], 10, 64)
	ts.Check(err)
	db, err := sql.Open("pgx", address)
	ts.Check(err)
	defer db.Close()
	folder := os.DirFS("../../internal/store/migrations/postgres")
	old := fstest.MapFS{}
	names, err := fs.Glob(folder, "*.sql")
	ts.Check(err)
	for _, name := range names {
		if version, err := goose.NumericComponent(name); err == nil && version <= format {
			text, err := fs.ReadFile(folder, name)
			ts.Check(err)
			old[name] = &fstest.MapFile{Data: text}
		}
	}
	p, err := goose.NewProvider(goose.DialectPostgres, db, old)
	ts.Check(err)
	_, err = p.Up(t.Context())
	ts.Check(err)
}

// exit CODE COMMAND ARGS… runs a command and checks its exit code.
func exitCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exit CODE COMMAND [ARGS…]")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		code = failed.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

// fakellm NAME [FLAGS…] starts a fake provider until the script ends and sets
// $NAME to its URL.
func fakeCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: fakellm NAME [FLAGS…]")
	}
	url, stop, err := startFake(ts.Value("fakellm").(string), args[1:]...)
	ts.Check(err)
	ts.Defer(stop)
	ts.Setenv(args[0], url)
}

// asked FILE reduces an exported table of calls to the key of each step, which is a
// hash of the whole request.
func askedCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: asked FILE")
	}
	var kept strings.Builder
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		var call struct {
			Item, Arm, Step, Key string
			Replicate            int
		}
		ts.Check(json.Unmarshal([]byte(line), &call))
		if call.Key == "" {
			ts.Fatalf("a call has no key: %s", line)
		}
		fmt.Fprintln(&kept, call.Item, call.Arm, call.Replicate, call.Step, call.Key)
	}
	if kept.Len() == 0 {
		ts.Fatalf("%s holds no call", args[0])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(kept.String()), 0o644))
}

// requests URL N checks the number of requests to a fake provider.
func requestsCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: requests URL N")
	}
	stats, err := fakeStats(args[0])
	ts.Check(err)
	if got := regexp.MustCompile(`"requests":(\d+)`).FindStringSubmatch(stats); got == nil || got[1] != args[1] {
		ts.Fatalf("the provider was sent %v, want %s requests", got, args[1])
	}
}

// follow README BUNDLE runs the commands that the README of an unpacked bundle has,
// each as it is written.
func followCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: follow README BUNDLE")
	}
	back, n := ts.MkAbs("."), 0
	ts.Check(ts.Chdir(filepath.Dir(ts.MkAbs(args[0]))))
	for line := range strings.Lines(ts.ReadFile("README.md")) {
		command, ok := strings.CutPrefix(line, "    ")
		words := strings.Fields(strings.ReplaceAll(command, "BUNDLE", args[1]))
		switch {
		case !ok:
		case words[0] == "cd":
			ts.Check(ts.Chdir(ts.MkAbs(words[1])))
		default:
			ts.Check(ts.Exec(words[0], words[1:]...))
			n++
		}
	}
	if n < 4 {
		ts.Fatalf("%s has %d commands", args[0], n)
	}
	ts.Check(ts.Chdir(back))
}

// lines FILE N checks the number of lines of a file.
func linesCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: lines FILE N")
	}
	if n := strings.Count(ts.ReadFile(args[0]), "\n"); strconv.Itoa(n) != args[1] {
		ts.Fatalf("%s has %d lines, want %s", args[0], n, args[1])
	}
}

// edit FILE REGEXP TEXT replaces the first match in a file.
func editCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: edit FILE REGEXP TEXT")
	}
	pattern, err := regexp.Compile(args[1])
	ts.Check(err)
	content := ts.ReadFile(args[0])
	match := pattern.FindStringIndex(content)
	if match == nil {
		ts.Fatalf("%s holds no match of %s", args[0], args[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(content[:match[0]]+args[2]+content[match[1]:]), 0o644))
}

// unzip FILE FOLDER unpacks an archive.
func unzipCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: unzip FILE FOLDER")
	}
	z, err := zip.OpenReader(ts.MkAbs(args[0]))
	ts.Check(err)
	defer z.Close()
	ts.Check(os.CopyFS(ts.MkAbs(args[1]), z))
}

// findFake finds the fake provider of tools/fakellm, built once for all tests.
func findFake(t testing.TB) string {
	t.Helper()
	path, err := buildFake()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var buildFake = sync.OnceValues(func() (string, error) {
	scruple, err := exec.LookPath("scruple")
	if err != nil {
		return "", err
	}
	path := filepath.Join(filepath.Dir(scruple), "fakellm"+filepath.Ext(scruple))
	if out, err := exec.Command("go", "build", "-o", path, "../../tools/fakellm").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building tools/fakellm: %w\n%s", err, out)
	}
	return path, nil
})

// startFake starts a fake provider on a free loopback port.
func startFake(program string, flags ...string) (url string, stop func(), err error) {
	c := exec.CommandContext(context.Background(), program, append([]string{"-port", "0"}, flags...)...)
	out, err := c.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := c.Start(); err != nil {
		return "", nil, err
	}
	stop = func() { _ = c.Process.Kill(); _ = c.Wait() }
	line := make([]byte, 200)
	n, err := out.Read(line)
	if err != nil {
		stop()
		return "", nil, fmt.Errorf("starting %s: %w", program, err)
	}
	go io.Copy(io.Discard, out)
	return string(regexp.MustCompile(`http://\S+`).Find(line[:n])), stop, nil
}

func fakeStats(url string) (string, error) {
	r, err := http.Get(url + "/stats")
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	var b bytes.Buffer
	_, err = b.ReadFrom(r.Body)
	return b.String(), err
}

// shipped is a folder of examples without what a run there creates: whoever follows the
// README has run one before the tests.
func shipped(example string) fs.FS {
	return unrun{os.DirFS(filepath.Join("..", "..", "examples", example))}
}

// ofRuns are the folders that runs and people create beside a study.
var ofRuns = []string{".scruple", "results", "annotations"}

type unrun struct{ fs.FS }

func (u unrun) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(u.FS, name)
	return slices.DeleteFunc(list, func(d fs.DirEntry) bool {
		return slices.Contains(ofRuns, d.Name())
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

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// commands returns a function that runs a command line, which must end with an exit code, and returns
// what it prints.
func commands(t testing.TB) func(want int, args ...string) string {
	return func(want int, args ...string) string {
		t.Helper()
		var out bytes.Buffer
		if code := execute(t.Context(), args, strings.NewReader(""), &out, &out, func(string) string { return "" }); code != want {
			t.Fatalf("scruple %s: exit %d, want %d\n%s", strings.Join(args, " "), code, want, &out)
		}
		return out.String()
	}
}
