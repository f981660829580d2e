//go:build e2e

package e2e

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shuffled rewrites a JSON Lines or CSV file with its records in another order.
func shuffled(t *testing.T, path string, seed uint64) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(strings.TrimSpace(string(data))+"\n", "\n")
	lines = lines[:len(lines)-1]
	if filepath.Ext(path) == ".csv" {
		lines = lines[1:] // below the header, which stays
	}
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	head := data[:0:0]
	if filepath.Ext(path) == ".csv" {
		head = data[:strings.IndexByte(string(data), '\n')+1]
	}
	if err := os.WriteFile(path, append(head, strings.Join(lines, "")...), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The order of the records of a data file has no effect on any result: not on
// clusters and strata, nor on bootstraps, permutations and mixed models.
func TestTheOrderOfADataFileHasNoEffect(t *testing.T) {
	t.Parallel()
	for suite, file := range map[string]string{"extraction": "data/contracts.jsonl", "qa": "questions.jsonl"} {
		for _, method := range []string{"auto", "permutation", "mixed_effects"} {
			t.Run(suite+" "+method, func(t *testing.T) {
				var want any
				for n := range 3 {
					dir := t.TempDir()
					if code, _, errOut := scrupleIn(t, dir, "init", suite, "mine"); code != exitOK {
						t.Fatal(errOut)
					}
					if n > 0 {
						shuffled(t, filepath.Join(dir, "mine", file), uint64(n))
					}
					code, _, errOut := scrupleIn(t, dir, "run", "mine/study.yaml", "-o", "statistics.method="+method, "-o", "statistics.intervals=bootstrap", "-o", "statistics.resamples=1000")
					if code != exitOK && code != exitNotAllowed {
						t.Fatal(errOut)
					}
					_, out, _ := scrupleIn(t, dir, "report", "mine/study.yaml", "--format", "json")
					var got any
					if err := json.Unmarshal([]byte(out), &got); err != nil {
						t.Fatal(err)
					}
					if n == 0 {
						want = got
					} else if diff := cmp.Diff(want, got); diff != "" {
						t.Fatalf("order %d:\n%s", n, diff)
					}
				}
			})
		}
	}
}
