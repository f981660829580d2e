//go:build e2e

package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/suites"
)

// After a lock every verb on a study refuses it when the locked file changed, in every
// suite: with exit code 3, the file, both hashes and the remedy.
func TestEveryVerbRefusesChangedGold(t *testing.T) {
	t.Parallel()
	verbs := verbsOnStudies(t)
	for _, s := range suites.All() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			do := func(args ...string) string {
				t.Helper()
				code, out, errs := scrupleIn(t, dir, args...)
				if code != exitOK {
					t.Fatalf("%v: exit code %d\n%s", args, code, errs)
				}
				return out
			}
			do("init", s.Name, "mine")
			do("run", "mine/study.yaml")
			file := dataFile(t, filepath.Join(dir, "mine"))
			gold, err := filepath.Rel(dir, file)
			must(t, err)
			out := do("test", "lock", "mine/study.yaml", gold, "--sign", "Anna Example", "--declare", "Judged without seeing any answer.")
			data, err := os.ReadFile(file)
			must(t, err)
			if info, err := os.Stat(file); err != nil || info.Mode().Perm()&0o222 != 0 {
				t.Errorf("%s can be written: %v", gold, info.Mode())
			}
			if !strings.Contains(out, hashOfBytes(data)) {
				t.Errorf("the hash is not printed:\n%s", out)
			}
			do("validate", "mine/study.yaml")
			must(t, os.Chmod(file, 0o600))
			// A spreadsheet saves a byte order mark and CRLF; nothing else differs.
			changed := append([]byte("\ufeff"), bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n"))...)
			must(t, os.WriteFile(file, changed, 0o600))

			for _, of := range verbs {
				args := append(slices.Clone(of.verb), "mine/study.yaml")
				for part, needs := range map[string][]string{
					"ITEM":         {"nobody"},
					" export ":     {"--table", "outcomes"},
					" bundle ":     {"--out", "study.zip"},
					" archive ":    {"--to", "archive"},
					" compare ":    {"mine/study.yaml"},
					" unblind ":    {"--reason", "why"},
					" revise ":     {"--hypothesis", "this", "--change", "that"},
					" view ":       {"--check"},
					" STUDY HASH ": {strings.Repeat("0", 64), "--from", "a group"},
					" STUDY FILE ": {"blind-result.json"},
				} {
					if strings.Contains(of.line, part) {
						args = append(args, needs...)
					}
				}
				code, _, errs := scrupleIn(t, dir, args...)
				for _, want := range []string{gold, "changed after the file was locked", hashOfBytes(changed), hashOfBytes(data), "restore the file from a copy"} {
					if code != exitNotAllowed || !strings.Contains(strings.Join(strings.Fields(errs), " "), want) {
						t.Errorf("%v: exit code %d without %q:\n%s", args, code, want, errs)
						break
					}
				}
			}
			must(t, os.WriteFile(file, data, 0o600))
			do("validate", "mine/study.yaml")
			must(t, os.Remove(file))
			if code, _, _ := scrupleIn(t, dir, "status", "mine/study.yaml"); code != exitNotAllowed {
				t.Errorf("without the file: exit code %d", code)
			}
		})
	}
}

// A verbUsage is a verb with its line of usage.
type verbUsage struct {
	verb []string
	line string
}

// verbsOnStudies lists the verbs whose first argument is a study, as help has them.
func verbsOnStudies(t *testing.T) (list []verbUsage) {
	t.Helper()
	var below func(verb ...string)
	below = func(verb ...string) {
		args := append(slices.Clone(verb), "--help")
		if len(verb) == 0 {
			args = append(args, "--all")
		}
		_, help, _ := strings.Cut(ok(t, args...), "\nUsage:\n")
		help, _, _ = strings.Cut(help, "\nFlags:\n")
		first, _, _ := strings.Cut(help, "\n")
		// These neither read the data of a study nor show what follows from them.
		name := strings.Join(verb, " ")
		if strings.Contains(first, "STUDY") && name != "blind build" && name != "test ledger show" && name != "test ledger merge" {
			list = append(list, verbUsage{verb, first + " "})
		}
		for _, m := range regexp.MustCompile(`(?m)^  ([a-z][a-z-]*) +[^ ]`).FindAllStringSubmatch(help, -1) {
			if name := m[1]; name != "scruple" && name != "help" && name != "completion" {
				below(append(slices.Clone(verb), name)...)
			}
		}
	}
	below()
	if len(list) < 15 {
		t.Fatalf("help has %d verbs on studies: %v", len(list), list)
	}
	return list
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
		case strings.Contains(name, "gold") && !d.IsDir() && path == "", (strings.HasSuffix(name, ".jsonl") || strings.HasSuffix(name, "scores.csv")) && path == "":
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

// A study of any suite has a kit: with data in the places of the kit it runs, and no file
// of the study's data is in it.
func TestKitOfEverySuite(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ suite, data string }{
		{"qa", "questions.jsonl"},
		{"soundness", "data/fragment_corpus.csv data/gold_standard.csv"},
		{"atoms", "corpus"},
		{"rerank", "data/items.jsonl data/reviews.jsonl data/users.jsonl data/requests.jsonl"},
		{"spans", "prompts.jsonl>data/records.jsonl"},
		{"given", "scores.csv"},
	} {
		t.Run(test.suite, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			do := func(want int, args ...string) string {
				t.Helper()
				code, out, errs := scrupleIn(t, dir, args...)
				if code != want {
					t.Fatalf("scruple %s: exit %d, want %d\n%s%s", strings.Join(args, " "), code, want, out, errs)
				}
				return out + errs
			}
			do(0, "init", test.suite, "mine")
			out := do(0, "blind", "build", "mine/study.yaml", "--out", "kit")
			for pair := range strings.FieldsSeq(test.data) {
				from, to, moved := strings.Cut(pair, ">")
				if !moved {
					to = from
				}
				if !strings.Contains(out, "not sent") || !strings.Contains(out, from) {
					t.Errorf("%s is not listed as not sent: %s", from, out)
				}
				from, to = filepath.Join(dir, "mine", from), filepath.Join(dir, "kit", to)
				info, err := os.Stat(from)
				if err != nil {
					t.Fatal(err)
				}
				if info.IsDir() {
					if entries, _ := os.ReadDir(to); len(entries) > 0 {
						t.Errorf("%s has files", to)
					}
					err = os.CopyFS(to, os.DirFS(from))
				} else {
					var data []byte
					if _, err := os.Stat(to); err == nil {
						t.Errorf("%s is in the kit", to)
					}
					if data, err = os.ReadFile(from); err == nil {
						err = os.WriteFile(to, data, 0o600)
					}
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			committed := do(0, "blind", "commit", "kit", "--by", "a group")
			do(0, "blind", "commitment", "mine/study.yaml", regexp.MustCompile(`[0-9a-f]{64}`).FindString(committed), "--from", "a group")
			do(0, "blind", "run", "kit")
			do(0, "blind", "result", "mine/study.yaml", "kit/blind-result.json")
		})
	}
}
