//go:build unix

package disk

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func put(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// names lists a folder, hidden files included.
func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return strings.Join(list, " ")
}

func TestWriteReplacesAFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	for _, mode := range []fs.FileMode{0, 0o600, 0o640, 0o755} {
		if mode != 0 {
			put(t, path, "before", mode)
		}
		if err := (File{Path: path}).Write(Bytes([]byte("after"))); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil || content(t, path) != "after" || mode != 0 && info.Mode().Perm() != mode {
			t.Errorf("mode %v: %v, %q, %v", mode, info.Mode(), content(t, path), err)
		}
	}
	if got := names(t, dir); got != "a" {
		t.Errorf("left: %s", got)
	}
}

// A link stays, and what it leads to gets the content, however many there are and
// whether or not the last one leads to a file.
func TestWriteFollowsLinks(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "elsewhere")
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	link := func(to, name string) string {
		name = filepath.Join(dir, name)
		if err := os.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
		return name
	}
	put(t, filepath.Join(other, "real"), "before", 0o600)
	link("elsewhere/real", "one")
	link("elsewhere", "folder")
	for path, want := range map[string]string{
		link("one", "two"):                   "elsewhere/real",
		link("elsewhere/new", "dangling"):    "elsewhere/new",
		filepath.Join(dir, "folder", "new2"): "elsewhere/new2",
	} {
		if err := (File{Path: path}).Write(Bytes([]byte(path))); err != nil {
			t.Fatal(err)
		}
		if got := content(t, filepath.Join(dir, want)); got != path {
			t.Errorf("%s: %s has %q", path, want, got)
		}
	}
	for _, name := range []string{"one", "two", "dangling", "folder"} {
		if info, err := os.Lstat(filepath.Join(dir, name)); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("%s is no link any more: %v, %v", name, info, err)
		}
	}
	link("loop", "loop")
	if err := (File{Path: filepath.Join(dir, "loop")}).Write(Bytes(nil)); err == nil {
		t.Error("a link to itself was written")
	}
}

// /dev/stdout is a link to a descriptor, so links in a temporary folder stand for it here.
func TestWriteToDescriptorsAndPipes(t *testing.T) {
	dir := t.TempDir()
	appended := filepath.Join(dir, "log")
	put(t, appended, "", 0o644)
	log, err := os.OpenFile(appended, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	fmt.Fprint(log, "first, ")
	stdout := filepath.Join(dir, "stdout")
	if err := os.Symlink(fmt.Sprintf("/dev/fd/%d", log.Fd()), stdout); err != nil {
		t.Fatal(err)
	}
	if err := (File{Path: stdout}).Write(Bytes([]byte("second, "))); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(log, "third")
	if got := content(t, appended); got != "first, second, third" {
		t.Errorf("the file of the descriptor has %q", got)
	}

	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	toPipe := filepath.Join(dir, "to pipe")
	if err := os.Symlink("pipe", toPipe); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, toPipe} {
		read := make(chan string)
		go func() { b, _ := os.ReadFile(pipe); read <- string(b) }()
		if err := (File{Path: path}).Write(Bytes([]byte("through"))); err != nil {
			t.Fatal(err)
		}
		if got := <-read; got != "through" {
			t.Errorf("%s: read %q", path, got)
		}
	}
	if got := names(t, dir); got != "log pipe stdout to pipe" {
		t.Errorf("left: %s", got)
	}
	if info, err := os.Lstat(pipe); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		t.Errorf("the pipe was replaced: %v, %v", info, err)
	}
}

func TestWriteRefuses(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	put(t, path, "gold", 0o444)
	mine := errors.New("the study reads it")
	for name, f := range map[string]File{
		"read-only": {Path: path},
		"a folder":  {Path: dir},
		"allowed":   {Path: filepath.Join(dir, "b"), Allow: func(Target) error { return mine }},
		"no folder": {Path: filepath.Join(path, "b")},
	} {
		if f.Write(Bytes(nil)) == nil || f.Check() == nil {
			t.Errorf("%s: it was written, or Check did not say so", name)
		}
	}
	failed := errors.New("cannot render")
	err := File{Path: filepath.Join(dir, "b")}.Write(func(w io.Writer) error { fmt.Fprint(w, "half"); return failed })
	if err != failed {
		t.Errorf("got %v", err)
	}
	if err := (File{Path: path, New: true}).Write(Bytes(nil)); !errors.Is(err, fs.ErrExist) || content(t, path) != "gold" {
		t.Errorf("a file that exists: %v", err)
	}
	if err := (File{Path: filepath.Join(dir, "c"), New: true}).Write(func(io.Writer) error { return failed }); !errors.Is(err, failed) {
		t.Errorf("a new file: %v", err)
	}
	if got := names(t, dir); got != "a" {
		t.Errorf("left: %s", got)
	}
}

// A new file has its name when it is whole, and takes that of no other.
func TestWriteMakesANewFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	if err := (File{Path: path, New: true}).Write(func(w io.Writer) error {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("half a file: %v", err)
		}
		return Bytes([]byte("whole"))(w)
	}); err != nil || content(t, path) != "whole" || names(t, dir) != "a" {
		t.Errorf("%v: there is %s", err, names(t, dir))
	}
	if err := errors.Join(os.Remove(path), os.Symlink("nowhere", path)); err != nil {
		t.Fatal(err)
	}
	if err := (File{Path: path, New: true}).Write(Bytes(nil)); !errors.Is(err, fs.ErrExist) || names(t, dir) != "a" {
		t.Errorf("through a link: %v", err)
	}
	err := os.Remove(path)
	if err == nil {
		err = File{Path: path, New: true}.Write(func(io.Writer) error { put(t, path, "of another", 0o600); return nil })
	}
	if !errors.Is(err, fs.ErrExist) || content(t, path) != "of another" || names(t, dir) != "a" {
		t.Errorf("another process wrote it meanwhile: %v, %s", err, names(t, dir))
	}
}

func TestCheckLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{"a", "not/yet/there/a"} {
		if err := (File{Path: filepath.Join(dir, path)}).Check(); err != nil {
			t.Error(err)
		}
	}
	if got := names(t, dir); got != "" {
		t.Errorf("left: %s", got)
	}
}

// /dev/full accepts no byte. It is written through and not replaced.
func TestAFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("needs /dev/full")
	}
	link := filepath.Join(t.TempDir(), "full")
	if err := os.Symlink("/dev/full", link); err != nil {
		t.Fatal(err)
	}
	if err := (File{Path: link}).Write(Bytes(bytes.Repeat([]byte("x"), 1<<20))); !Full(err) {
		t.Errorf("got %v", err)
	}
	if Full(fs.ErrPermission) || Full(nil) {
		t.Error("the disk is not full")
	}
}

// held keeps the lock of a folder: a file that nobody refers to is closed.
var held func() error

// TestLeave plays a process that is killed while it writes a file and a folder.
func TestLeave(t *testing.T) {
	dir := os.Getenv("SCRUPLE_LEAVE")
	if dir == "" {
		t.Skip("played in a process of its own")
	}
	var err error
	if _, held, err = Temp("test", "run-1"); err != nil {
		t.Fatal(err)
	}
	_ = File{Path: filepath.Join(dir, "a")}.Write(func(io.Writer) error {
		fmt.Println("writing")
		time.Sleep(time.Hour) // select {} would end the process: the runtime sees a deadlock
		return nil
	})
}

// leaver starts a process that holds a file and a folder.
func leaver(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run=^TestLeave$")
	c.Env = append(os.Environ(), "SCRUPLE_LEAVE="+dir, "TMPDIR="+dir)
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err == nil {
		_, err = out.Read(make([]byte, 7))
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTheNextRemovesWhatKilledProcessesLeft(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	killed := leaver(t, dir)
	_ = killed.Process.Kill()
	_ = killed.Wait()
	alive := leaver(t, dir)
	defer func() { _ = alive.Process.Kill(); _ = alive.Wait() }()
	if err := (File{Path: filepath.Join(dir, "a")}).Write(Bytes([]byte("whole"))); err != nil {
		t.Fatal(err)
	}
	temp, remove, err := Temp("test", "run-2")
	if err != nil {
		t.Fatal(err)
	}
	parts, _ := filepath.Glob(filepath.Join(dir, ".a.*"+partSuffix))
	folders, _ := filepath.Glob(filepath.Join(dir, "scruple-test-*"+tempSuffix))
	if len(parts) != 1 || len(folders) != 2 {
		t.Errorf("files %q and folders %q: want those of the process that lives, and %s", parts, folders, temp)
	}
	if !strings.Contains(temp, "run-2") {
		t.Errorf("the name %s does not have the run", temp)
	}
	if err := remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(temp); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s was not removed: %v", temp, err)
	}
}

// A file that another process has locked, to remove it as left, is not held: another one is made.
func TestAFileThatIsAboutToBeRemovedIsNotHeld(t *testing.T) {
	n := 0
	var others []*os.File
	f, err := hold(func() (*os.File, error) {
		n++
		name := filepath.Join(t.TempDir(), "f")
		f, err := os.Create(name)
		if other, errOther := os.Open(name); n == 1 && errors.Join(err, errOther, Lock(other)) == nil {
			others = append(others, other)
		}
		return f, err
	})
	if err != nil || n != 2 || len(others) != 1 {
		t.Fatalf("%d files, %v", n, err)
	}
	_, _ = f.Close(), others[0].Close()
}
