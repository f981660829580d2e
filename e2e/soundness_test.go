//go:build e2e

package e2e

import (
	"encoding/csv"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestSoundnessFullSize: a simulated study of the size that the suite is made for, 150
// fragments × 6 models × 2 conditions × 3 runs, is run and exported: schemas 4 to 6 have
// the rows and keys of their specification.
func TestSoundnessFullSize(t *testing.T) {
	t.Parallel()
	const fragments = 150
	example := filepath.Join("..", "examples", "soundness")
	dir := t.TempDir()
	data, err := os.ReadFile(filepath.Join(example, "study.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	study := strings.NewReplacer("F_001–F_024", "F_001–F_150", "count: 24", "count: 150").Replace(string(data))
	writeTestFile(t, filepath.Join(dir, "study.yaml"), study)
	for _, file := range []string{"fragment_corpus.csv", "gold_standard.csv", "calibration_examples.csv", "practice.csv"} {
		rows := readRows(t, filepath.Join(example, "data", file))
		if file == "fragment_corpus.csv" || file == "gold_standard.csv" {
			header, own := rows[0], rows[1:]
			rows = [][]string{header}
			for i := range fragments {
				row := append([]string{}, own[i%len(own)]...)
				row[0] = fmt.Sprintf("F_%03d", i+1)
				if file == "fragment_corpus.csv" {
					row[11] = fmt.Sprintf("%s This is fragment %d.", row[11], i+1)
				}
				rows = append(rows, row)
			}
		}
		var b strings.Builder
		if err := csv.NewWriter(&b).WriteAll(rows); err != nil {
			t.Fatal(err)
		}
		writeTestFile(t, filepath.Join(dir, "data", file), b.String())
	}
	scruple := findScruple(t)
	for _, args := range [][]string{
		{"run", "study.yaml", "-o", "statistics.resamples=1000"},
		{"export", "study.yaml", "--format", "schemas", "--out", "out"},
	} {
		c := exec.Command(scruple, args...)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	responses := readRows(t, filepath.Join(dir, "out", "response_database.csv"))
	scored := readRows(t, filepath.Join(dir, "out", "scored_database.csv"))
	outcomes := readRows(t, filepath.Join(dir, "out", "fragment_outcomes.csv"))
	if len(responses)-1 != 5400 || len(scored)-1 != 5400 || len(outcomes)-1 != 1800 {
		t.Fatalf("%d responses, %d scored, %d outcomes; want 5400, 5400 and 1800", len(responses)-1, len(scored)-1, len(outcomes)-1)
	}
	passes := map[string]int{} // by fragment, model and condition
	ids := map[string]bool{}
	perFragment := map[string]int{}
	for i, row := range scored[1:] {
		if ids[row[0]] {
			t.Errorf("response_id %s is there twice", row[0])
		}
		ids[row[0]] = true
		perFragment[row[1]]++
		if strings.Join(row[:15], "\x00") != strings.Join(responses[i+1], "\x00") {
			t.Fatalf("scored row %d does not extend the response", i+1)
		}
		if row[23] == "pass" {
			passes[strings.Join(row[1:4], " ")]++
		}
	}
	if len(perFragment) != fragments || perFragment["F_001"] != 36 {
		t.Errorf("%d fragments, %d rows of F_001; want 150 and 36", len(perFragment), perFragment["F_001"])
	}
	keys := map[string]bool{}
	for _, row := range outcomes[1:] {
		key := strings.Join(row[:3], " ")
		if keys[key] {
			t.Errorf("outcome %s is there twice", key)
		}
		keys[key] = true
		if fmt.Sprint(passes[key]) != row[3] || (passes[key] >= 2) != (row[5] == "pass") {
			t.Errorf("%s: %d runs pass, the outcome has %s and %s", key, passes[key], row[3], row[5])
		}
	}
}

func readRows(t *testing.T, path string) [][]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}
