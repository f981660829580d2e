package bundle

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestClimb(t *testing.T) {
	for path, want := range map[string]int{"a/b": 0, "../a": 1, "a/../../b": 1, "../../x/../y": 2, ".": 0, "..": 1, "...": 0} {
		if got := climb(path); got != want {
			t.Errorf("climb(%q) = %d, want %d", path, got, want)
		}
	}
}

func TestIsLocal(t *testing.T) {
	if !isLocal("/usr/bin/env", 2, false) {
		t.Error("data in /usr count as an installed program")
	}
	for word, want := range map[string]bool{
		"/etc/passwd":         true,
		"/no/such/file":       false, // a text that begins like a path
		"/usr/bin/python3":    false, // installed
		"/usr/../etc/passwd":  true,
		"../../../x":          true,
		"../../x":             false,
		"data/../x":           false,
		"/etc/passwd\nand so": false,
		"x\n/../../../../x":   true,
		"/x\n/../etc/passwd":  true,
		"/no/../etc/passwd":   true,
		"/dev/stdin":          false, // each machine has it
		"/dev/../etc/passwd":  true,
		"/":                   false, // a separator
	} {
		if got := isLocal(word, 2, true); got != want {
			t.Errorf("isLocal(%q) = %v, want %v", word, got, want)
		}
	}
}

// Two files of a study that would have one place in the bundle are refused.
func TestPlacesOfFiles(t *testing.T) {
	dir := t.TempDir()
	g := &gathering{dir: t.TempDir(), from: map[string]string{}}
	for _, f := range []struct{ from, content, place string }{
		{"foo/x.jsonl", "a", "files/study/x.jsonl"},
		{"foo/x.jsonl", "a", "files/study/x.jsonl"}, // named twice
		{"copy/x.jsonl", "a", "files/study/x.jsonl"},
		{"study/x.jsonl", "b", "files/study/x.jsonl"},
	} {
		from := filepath.Join(dir, f.from)
		if err := errors.Join(os.MkdirAll(filepath.Dir(from), 0o700), os.WriteFile(from, []byte(f.content), 0o600)); err != nil {
			t.Fatal(err)
		}
		g.file(from, f.place)
	}
	if got := strings.Join(g.reasons, "\n"); g.err != nil || strings.Count(got, "\n") != 0 || !strings.Contains(got, filepath.Join(dir, "foo/x.jsonl")) || !strings.Contains(got, filepath.Join(dir, "study/x.jsonl")) {
		t.Errorf("refused with %q, %v", got, g.err)
	}
}

// Names that differ in case are found also where others stand between them.
func TestListRefusesNamesOfOneFile(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"A.txt", "B.txt", "a.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) < 3 {
		t.Skip("the file system has one name for both", err)
	}
	if _, err := list(dir); err == nil || err.Error() != "A.txt and a.txt are the same file on some systems: rename one" {
		t.Error(err)
	}
}

// A text is found wherever it lies between the parts in which a file is read.
func TestSearch(t *testing.T) {
	private := []Private{{What: "the key", Text: "secret-key"}, {What: "a path", Text: "/home/a/"}}
	for _, at := range []int{0, 5, 1<<20 - 5, 1<<20 - 1, 1 << 20, 3<<20 - 3} {
		b := bytes.Repeat([]byte("x"), 3<<20+20)
		copy(b[at:], "secret-key")
		found, err := search(bytes.NewReader(b), private)
		if err != nil || strings.Join(found, ",") != "the key" {
			t.Errorf("at %d: found %v %v", at, found, err)
		}
	}
	if found, err := search(strings.NewReader("/home/b/secret-ke"), private); err != nil || len(found) > 0 {
		t.Errorf("found %v %v", found, err)
	}
}
