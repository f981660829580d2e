package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/suites"
)

// cli runs a command line and returns its exit code and what it printed.
func cli(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	code = execute(t.Context(), args, strings.NewReader(""), &o, &e, func(string) string { return "" })
	return code, o.String(), e.String()
}

// After a lock every verb on a study refuses it when the locked file changed, in every
// suite: with exit code 3, the file, both hashes and the remedy.
func TestEveryVerbRefusesChangedGold(t *testing.T) {
	for _, s := range suites.All() {
		t.Run(s.Name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			do := func(args ...string) string {
				t.Helper()
				code, out, errs := cli(t, args...)
				if code != exitOK {
					t.Fatalf("%v: exit code %d\n%s", args, code, errs)
				}
				return out
			}
			do("init", s.Name, "mine")
			do("run", "mine/study.yaml")
			gold := dataFile(t, "mine")
			out := do("lock", "mine/study.yaml", gold, "--sign", "Anna Example", "--declare", "Judged without seeing any answer.")
			data, err := os.ReadFile(gold)
			must(t, err)
			if info, err := os.Stat(gold); err != nil || info.Mode().Perm()&0o222 != 0 {
				t.Errorf("%s can be written: %v", gold, info.Mode())
			}
			if !strings.Contains(out, hashOfBytes(data)) {
				t.Errorf("the hash is not printed:\n%s", out)
			}
			do("validate", "mine/study.yaml")
			must(t, os.Chmod(gold, 0o600))
			// A spreadsheet saves a byte order mark and CRLF; nothing else differs.
			changed := append([]byte("\ufeff"), bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n"))...)
			must(t, os.WriteFile(gold, changed, 0o600))

			for _, c := range newRoot(&app{}).Commands() {
				if !takesStudy(c) && !hasDefault(c) {
					continue
				}
				args := []string{c.Name(), "mine/study.yaml"}
				switch {
				case c.Name() == "compare":
					args = append(args, "mine/study.yaml")
				case strings.Contains(c.Use, "ITEM"):
					args = append(args, "nobody")
				case c.Name() == "export":
					args = append(args, "--table", "outcomes")
				case c.Name() == "bundle":
					args = append(args, "--out", "study.zip")
				case c.Name() == "unblind":
					args = append(args, "--reason", "why")
				case c.Name() == "revise":
					args = append(args, "--hypothesis", "this", "--change", "that")
				case c.Name() == "view":
					args = append(args, "--check")
				}
				code, _, errs := cli(t, args...)
				for _, want := range []string{gold, "changed after the file was locked", hashOfBytes(changed), hashOfBytes(data), "restore the file from a copy"} {
					if code != exitNotAllowed || !strings.Contains(strings.Join(strings.Fields(errs), " "), want) {
						t.Errorf("%v: exit code %d without %q:\n%s", args, code, want, errs)
						break
					}
				}
			}
			must(t, os.WriteFile(gold, data, 0o600))
			do("validate", "mine/study.yaml")
			must(t, os.Remove(gold))
			if code, _, _ := cli(t, "status", "mine/study.yaml"); code != exitNotAllowed {
				t.Errorf("without the file: exit code %d", code)
			}
		})
	}
}

// dataFile returns a data file of a study.
func dataFile(t *testing.T, dir string) (path string) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		name := strings.ToLower(p)
		switch {
		case err != nil:
			return err
		case strings.Contains(p, ".scruple") || strings.Contains(p, "results"):
		case strings.Contains(name, "gold") && !d.IsDir() && path == "", strings.HasSuffix(name, ".jsonl") && path == "":
			path = p
		}
		return nil
	}))
	if path == "" {
		t.Fatal("the study has no data")
	}
	return path
}

func hashOfBytes(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
