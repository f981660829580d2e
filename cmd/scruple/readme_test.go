package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The sessions of the README are executed verbatim in an empty folder. A line with
// only … matches any number of lines.
func TestReadmeSessions(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	sessions := regexp.MustCompile("(?ms)^```console\n(.*?)^```").FindAllSubmatch(readme, -1)
	if len(sessions) == 0 {
		t.Fatal("the README shows no session")
	}
	for _, s := range sessions {
		for _, step := range strings.Split("\n"+string(s[1]), "\n$ ")[1:] {
			command, want, _ := strings.Cut(step, "\n")
			args := strings.Fields(command)
			if args[0] != "scruple" {
				t.Fatalf("the README runs %q", args[0])
			}
			var out, errs bytes.Buffer
			if code := execute(t.Context(), args[1:], strings.NewReader(""), &out, &errs, func(string) string { return "" }); code != exitOK {
				t.Fatalf("%s: exit code %d\n%s", command, code, errs.String())
			}
			if !matches(strings.Split(strings.TrimSpace(want), "\n"), strings.Split(strings.TrimSpace(out.String()), "\n")) {
				t.Errorf("%s prints\n%s\nand the README says\n%s", command, out.String(), want)
			}
		}
	}
}

// matches compares lines; … in want matches any number of lines.
func matches(want, got []string) bool {
	if len(want) == 0 {
		return len(got) == 0
	}
	if want[0] == "…" {
		for skip := 0; skip <= len(got); skip++ {
			if matches(want[1:], got[skip:]) {
				return true
			}
		}
		return false
	}
	return len(got) > 0 && strings.TrimRight(got[0], " ") == want[0] && matches(want[1:], got[1:])
}
