package ledger_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/ledger"
)

// Two sides that each merged the other one say the same, each line once, and a line that was merged
// knows its own side alone.
func TestMergeBothWays(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	add := func(path, what string) string {
		e, err := ledger.Add(path, now, "p", what, map[string]string{"text": "<&>\u2028é"})
		if err != nil {
			t.Fatal(err)
		}
		return e.Hash
	}
	merge := func(path, theirs string, want int) {
		t.Helper()
		if n, err := ledger.Merge(path, theirs, now, "p"); n != want || err != nil {
			t.Fatalf("merged %d lines (%v), want %d", n, err, want)
		}
	}
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.jsonl"), filepath.Join(dir, "b.jsonl")
	add(a, "common")
	for _, end := range []string{"", ledger.HeadSuffix} {
		data, _ := os.ReadFile(a + end)
		if err := os.WriteFile(b+end, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a1, b1 := add(a, "a1"), add(b, "b1")
	before, _ := os.ReadFile(a)
	merge(a, b, 1)
	merge(b, a, 1) // a1, and not what a has of b
	merge(a, b, 0)
	add(a, "a2")
	add(b, "b2")
	merge(a, b, 2) // b2, behind what b has of a
	merge(b, a, 2) // a2, behind what a has of b
	merge(a, b, 0)
	entries, err := ledger.Read(a)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	flat, follows := ledger.Flat(entries)
	for _, e := range flat {
		kinds = append(kinds, e.Kind)
	}
	if got := strings.Join(kinds, " "); got != "common a1 b1 a2 b2" || slices.Contains(follows[b1], a1) {
		t.Errorf("the ledger says %s; b1 follows %v", got, follows[b1])
	}
	if data, _ := os.ReadFile(a); !bytes.HasPrefix(data, before) {
		t.Error("lines that were there changed")
	}

	// A chain whose merged lines lack one is not one that Merge wrote.
	log, err := ledger.Open(filepath.Join(dir, "c.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if _, err := log.Append(now, "p", ledger.Merged, entries[1]); err != nil {
		t.Fatal(err)
	}
	if _, err := ledger.Read(filepath.Join(dir, "c.jsonl")); err == nil || !strings.Contains(err.Error(), "the line before the one that was merged is missing") {
		t.Errorf("a merged line without the one before: %v", err)
	}
}

// What Git leaves in all its styles is read, and Merge writes both files.
func TestMergeConflict(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, base := range map[string]string{"merge": "", "diff3": "||||||| base\n{}\n"} {
		dir := t.TempDir()
		side := func(name string) (lines, head []byte) {
			path := filepath.Join(dir, name)
			if _, err := ledger.Add(path, now, name, "k", 1); err != nil {
				t.Fatal(err)
			}
			lines, _ = os.ReadFile(path)
			head, _ = os.ReadFile(path + ledger.HeadSuffix)
			return lines, head
		}
		a, aHead := side("a") // both began the ledger
		b, bHead := side("b")
		path := filepath.Join(dir, ledger.Name)
		conflict := func(a, b []byte) []byte {
			return slices.Concat([]byte("<<<<<<< HEAD\n"), a, []byte(base+"=======\n"), b, []byte(">>>>>>> b\n"))
		}
		for _, write := range []error{os.WriteFile(path, conflict(a, b), 0o600), os.WriteFile(path+ledger.HeadSuffix, conflict(aHead, bHead), 0o600)} {
			if write != nil {
				t.Fatal(write)
			}
		}
		if n, err := ledger.Merge(path, "", now, "p"); n != 1 || err != nil {
			t.Errorf("%s: merged %d (%v)", name, n, err)
		}
		entries, err := ledger.Read(path)
		if err == nil {
			err = ledger.CheckHead(path, entries)
		}
		if len(entries) != 2 || err != nil {
			t.Errorf("%s: %d entries (%v)", name, len(entries), err)
		}

		// A crash between the two files left the new head beside the conflict: it is merged again.
		merged, _ := os.ReadFile(path + ledger.HeadSuffix)
		for _, write := range []error{os.WriteFile(path, conflict(a, b), 0o600), os.WriteFile(path+ledger.HeadSuffix, merged, 0o600)} {
			if write != nil {
				t.Fatal(write)
			}
		}
		// No side is left out without a word.
		if _, err := ledger.Merge(path, filepath.Join(dir, "a"), now, "p"); err == nil || !strings.Contains(err.Error(), "leave out --theirs") {
			t.Errorf("%s: another side of a file with both: %v", name, err)
		}
		if _, err := ledger.Merge(filepath.Join(dir, "a"), path, now, "p"); !errors.As(err, new(*ledger.BrokenError)) {
			t.Errorf("%s: the other side has two: %v", name, err)
		}
		if n, err := ledger.Merge(path, "", now, "p"); n != 1 || err != nil {
			t.Errorf("%s: merged %d again (%v)", name, n, err)
		}
		if entries, err := ledger.Read(path); len(entries) != 2 || err != nil {
			t.Errorf("%s: %d entries (%v)", name, len(entries), err)
		}
	}
}
