package codetest

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// make update runs every package whose tests write golden files.
func TestUpdate(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	listed := strings.Fields(string(regexp.MustCompile(`(?m)^\t\$\(GO\) test .*-update$`).Find(makefile)))
	for _, pattern := range []string{"*/*", "*/*/*", "*/*/*/*", "*/*/*/*/*"} {
		files, err := filepath.Glob(filepath.Join("../..", pattern) + "_test.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			dir, _ := filepath.Rel("../..", filepath.Dir(file))
			if dir = "./" + filepath.ToSlash(dir); bytes.Contains(src, []byte("flag.Bool("+`"update"`)) && !slices.Contains(listed, dir) {
				t.Errorf("%s has golden files and is not in make update", dir)
			}
		}
	}
}
