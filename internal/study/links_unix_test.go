//go:build unix

package study

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheckLinks: links that stay in the study's folder or in that of the data, absolute ones too,
// are followed, those that leave both are refused, and a path that leads out as written is allowed.
func TestCheckLinks(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret")
	dir := filepath.Join(t.TempDir(), "study")
	beside := filepath.Join(filepath.Dir(dir), "beside")
	for name, text := range map[string]string{filepath.Join(beside, "bad", "e.txt"): "x", filepath.Join(beside, "good", "e.txt"): "x", outside: "x", filepath.Join(dir, "q.csv"): "x", filepath.Join(dir, "docs", "a.txt"): "x", filepath.Join(dir, "linked", "b.txt"): "x",
		filepath.Join(dir, "hub", "blobs", "ab"): "x", filepath.Join(dir, "hub", "snapshots", "1", "README.md"): "x"} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"same.csv": "q.csv", "out.csv": outside, "linked/c.txt": outside, "out": filepath.Dir(outside), "docs/d.txt": "../q.csv", "../beside/bad/f.txt": outside, "../beside/good/f.txt": "e.txt", "python": outside,
		"absolute.csv": filepath.Join(dir, "q.csv"), "docs/absolute.txt": filepath.Join(dir, "linked", "b.txt"),
		"../beside/good/absolute.txt": filepath.Join(beside, "good", "e.txt"), "../beside/good/study.txt": filepath.Join(dir, "q.csv"),
		"hub/snapshots/1/q.csv": "../../blobs/ab"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for rel, want := range map[string]string{
		"../beside/good": "", "../beside/bad": filepath.Join("bad", "f.txt") + " leads out of the folder ../beside/bad by a link, to " + outside,
		beside: filepath.Join("bad", "f.txt") + " leads out", "q.csv": "", "absolute.csv": "", "hub/snapshots/1": "", filepath.Join(dir, "hub", "snapshots"): "", "same.csv": "", "docs": "", "missing": "", ".": "", outside: "", "../x": "", "python": "",
		"out.csv": "out.csv leads out of the study's folder by a link, to " + outside, "linked": filepath.Join("linked", "c.txt") + " leads out", "out/secret": "leads out", "out/new/file": "out leads out",
	} {
		f := &File{Path: filepath.Join(dir, "study.yaml"), Dir: dir}
		f.Program("python")
		f.Resolve(rel)
		err := f.CheckLinks()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", rel, err, want)
		}
	}
}

// TestSumsOfALinkedFolder: the files of a folder that the study names by a link are read.
func TestSumsOfALinkedFolder(t *testing.T) {
	dir := t.TempDir()
	docs := filepath.Join(dir, "docs-2026")
	err := errors.Join(os.Mkdir(docs, 0o700), os.WriteFile(filepath.Join(docs, "a.txt"), nil, 0o600), os.Symlink("docs-2026", filepath.Join(dir, "docs")))
	f := &File{Path: filepath.Join(dir, "study.yaml"), Dir: dir}
	f.Resolve("docs")
	sums, errSums := f.Sums()
	if err := errors.Join(err, errSums); err != nil || len(sums) != 1 || sums[0].Path != "docs/a.txt" {
		t.Errorf("%v, %v", sums, err)
	}
}
