//go:build e2e

package e2e

import (
	"encoding/base64"
	"encoding/hex"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/lockedfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"
	"golang.org/x/mod/zip"
)

// The module installs as users install it: by name and version, from a proxy,
// outside of any module. The proxy is a folder with this tree. Dependencies are
// in the module cache already, so nothing is downloaded.
func TestGoInstall(t *testing.T) {
	t.Parallel()
	m := module.Version{Path: "github.com/scruple-eval/scruple", Version: testVersion(t)}
	cache := strings.TrimSpace(goCommand(t, nil, "env", "GOMODCACHE"))
	unlock, err := lockedfile.MutexAt(filepath.Join(os.TempDir(), "scruple-install-test.lock")).Lock()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(unlock)
	forget(t, cache, m) // remove files of a killed test
	t.Cleanup(func() { forget(t, cache, m) })

	bin := t.TempDir()
	goCommand(t, []string{
		"GOPROXY=" + fileURL(fileProxy(t, m)) + "," + fileURL(filepath.Join(cache, "cache", "download")),
		"GOBIN=" + bin,
		"GOFLAGS=-modcacherw -trimpath", // as other builds, so that dependencies are compiled once
		"GOSUMDB=off",
		"GOWORK=off",
	}, "install", "-ldflags=-s -w", "-gcflags="+m.Path+"/...=-N -l", m.Path+"/cmd/scruple@"+m.Version) // not optimized: the compiler needs half the time
	program := filepath.Join(bin, "scruple")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	if got, want := output(t, program, "--version"), "scruple "+m.Version+"\n"; got != want {
		t.Errorf("scruple --version prints %q, want %q", got, want)
	}
}

// testVersion derives a version from the tree's content, because the go command
// caches the content of a version forever.
func testVersion(t *testing.T) string {
	t.Helper()
	sum, err := dirhash.HashDir("..", "tree", func(files []string, open func(string) (io.ReadCloser, error)) (string, error) {
		return dirhash.Hash1(slices.DeleteFunc(files, func(f string) bool { return !strings.HasSuffix(f, ".go") && !strings.HasSuffix(f, "/go.mod") }), open)
	})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(sum, "h1:"))
	if err != nil {
		t.Fatal(err)
	}
	return "v0.0.1-test." + hex.EncodeToString(raw[:6]) + "x" // with a letter, because a number must not start with 0
}

// forget removes a version from the module cache.
func forget(t *testing.T, cache string, m module.Version) {
	t.Helper()
	path := filepath.FromSlash(m.Path)
	files, err := filepath.Glob(filepath.Join(cache, "cache", "download", path, "@v", m.Version+".*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, filepath.Join(cache, path+"@"+m.Version)) {
		if err := os.RemoveAll(file); err != nil {
			t.Fatal(err)
		}
	}
}

// fileProxy writes this module in the layout of a module proxy.
func fileProxy(t *testing.T, m module.Version) string {
	t.Helper()
	root := ".."
	proxy := t.TempDir()
	versions := filepath.Join(proxy, filepath.FromSlash(m.Path), "@v")
	gomod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	writeTestFile(t, filepath.Join(versions, "list"), m.Version+"\n")
	writeTestFile(t, filepath.Join(versions, m.Version+".info"), `{"Version":"`+m.Version+`"}`)
	writeTestFile(t, filepath.Join(versions, m.Version+".mod"), string(gomod))
	packed, err := os.Create(filepath.Join(versions, m.Version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	if err := zip.CreateFromDir(packed, m, root); err != nil {
		t.Fatal(err)
	}
	return proxy
}

// goCommand runs the go command outside of any module.
func goCommand(t *testing.T, env []string, args ...string) string {
	t.Helper()
	c := exec.Command("go", args...)
	c.Dir = t.TempDir()
	c.Env = append(os.Environ(), env...)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func fileURL(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/… on Windows
	}
	return "file://" + path
}
