package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Ids with white space at an end, and ids that differ only in how Unicode writes them, are
// said in every suite.
func TestIDsThatLookAlike(t *testing.T) {
	t.Parallel()
	const composed, decomposed = "caf\u00e9", "cafe\u0301"
	first := regexp.MustCompile(`"(?:id|document_id)": ?"([^"]*)"`)
	inJSON := func(files ...string) func(t *testing.T, dir string, ids [3]string) {
		return func(t *testing.T, dir string, ids [3]string) {
			for _, file := range files {
				path := filepath.Join(dir, file)
				data, err := os.ReadFile(path)
				must(t, err)
				lines := strings.SplitAfter(string(data), "\n")
				for i, id := range ids {
					at := first.FindStringSubmatchIndex(lines[i])
					lines[i] = lines[i][:at[2]] + id + lines[i][at[3]:]
				}
				writeTestFile(t, path, strings.Join(lines, ""))
			}
		}
	}
	for suite, test := range map[string]struct {
		rename func(t *testing.T, dir string, ids [3]string)
		padded string // what is said of " x"
	}{
		"qa":         {inJSON("questions.jsonl"), `" x", which is left out`},
		"extraction": {inJSON("data/contracts.jsonl"), `item " x" has white space`},
		"rerank":     {inJSON("data/requests.jsonl"), `item " x" has white space`},
		"spans":      {inJSON("prompts.jsonl"), `item " x" has white space`},
		"soundness": {func(t *testing.T, dir string, ids [3]string) {
			for _, file := range []string{"data/fragment_corpus.csv", "data/gold_standard.csv"} {
				data, err := os.ReadFile(filepath.Join(dir, file))
				must(t, err)
				text := strings.NewReplacer("\nF_001,", "\n"+ids[0]+",", "\nF_002,", "\n"+ids[1]+",", "\nF_003,", "\n"+ids[2]+",").Replace(string(data))
				writeTestFile(t, filepath.Join(dir, file), text)
			}
			study, err := os.ReadFile(filepath.Join(dir, "study.yaml"))
			must(t, err)
			writeTestFile(t, filepath.Join(dir, "study.yaml"), strings.Replace(string(study), ", ids: F_001–F_008", "", 1))
		}, `" x" has white space around it: remove it`},
		"atoms": {func(t *testing.T, dir string, ids [3]string) {
			for i, name := range []string{"hiring", "incident-review", "library-lending"} {
				must(t, os.Rename(filepath.Join(dir, "corpus", name), filepath.Join(dir, "corpus", ids[i])))
			}
		}, `item " x" has white space`},
	} {
		t.Run(suite, func(t *testing.T) {
			for ids, want := range map[[3]string]string{
				{" x", "y", "z"}:            test.padded,
				{"x", composed, decomposed}: "look the same: give one of them another id",
				{"x", "y", "x\u200b"}:       `"x\u200b" look the same`,
			} {
				dir := t.TempDir()
				if code, _, errOut := scrupleIn(t, dir, "init", suite, "mine"); code != exitOK {
					t.Fatal(errOut)
				}
				test.rename(t, filepath.Join(dir, "mine"), ids)
				_, out, errOut := scrupleIn(t, dir, "validate", "mine/study.yaml")
				if !strings.Contains(out+errOut, want) {
					t.Errorf("%q: want %s\n%s%s", ids, want, out, errOut)
				}
			}
		})
	}
}
