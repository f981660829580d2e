package bundle

import (
	"bytes"
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
	} {
		if got := isLocal(word, 2, true); got != want {
			t.Errorf("isLocal(%q) = %v, want %v", word, got, want)
		}
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
