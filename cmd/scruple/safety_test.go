package main

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/run"
	"github.com/scruple-eval/scruple/internal/store"
)

// scrupleIn runs a command line in a folder, in a process without keys.
func scrupleIn(t *testing.T, dir string, args ...string) (code int, out, errOut string) {
	t.Helper()
	program, err := exec.LookPath("scruple")
	must(t, err)
	var o, e bytes.Buffer
	c := exec.Command(program, args...)
	c.Dir, c.Stdout, c.Stderr = dir, &o, &e
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
	var failed *exec.ExitError
	if err := c.Run(); err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), o.String(), e.String()
}

const sums = `name: sums
suite: qa
data: {path: q.csv, match: numeric}
arms: [{name: a, prompt: "{{QUESTION}}"}]
models: [{id: m, provider: simulated, name: m}]
decide: {require: [{name: good, that: 'value("a", "correct") >= 0.01'}]}
`

func sumsStudy(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	writeTestFile(t, filepath.Join(dir, "study.yaml"), sums)
	writeTestFile(t, filepath.Join(dir, "q.csv"), "id,question,answer\nq1,1 + 1,2\nq2,2 + 2,4\nq3,3 + 3,6\n")
	return dir
}

// A TEST run whose results had been shown and that was killed while it was scored again, or behind
// its last look, has no analysis. It is finished by the same commands, and is no second TEST run.
func TestAKilledScoringOfTESTIsFinished(t *testing.T) {
	t.Parallel()
	dir := sumsStudy(t)
	writeTestFile(t, filepath.Join(dir, "study.yaml"), "name: sums\nsuite: qa\ndata: {path: q.csv, match: numeric}\narms: [{name: a, outputs: a.jsonl}]\n")
	writeTestFile(t, filepath.Join(dir, "a.jsonl"), `{"item": "q1", "output": "2"}`+"\n"+`{"item": "q2", "output": "4"}`+"\n"+`{"item": "q3", "output": "7"}`+"\n")
	do := func(want int, args ...string) (out string) {
		code, out, errOut := scrupleIn(t, dir, append(args, "study.yaml", "--split", "test")...)
		if code != want {
			t.Fatalf("%q ends with %d, want %d: %s", args, code, want, out+errOut)
		}
		return out + errOut
	}
	kill := func() {
		db, err := sql.Open("sqlite", filepath.Join(dir, ".scruple", "scruple.db"))
		must(t, err)
		_, err = db.Exec("DELETE FROM analyses")
		must(t, err)
		must(t, db.Close())
		do(exitNotAllowed, "report")
	}
	do(exitOK, "test", "register")
	do(exitOK, "run")
	kill()
	do(exitOK, "run")
	do(exitOK, "report")
	do(exitNotAllowed, "run") // TEST runs once
	kill()
	do(exitOK, "score")

	writeTestFile(t, filepath.Join(dir, "q.csv"), "id,question,answer\nq1,1 + 1,2\nq2,2 + 2,4\nq3,3 + 3,7\n")
	do(exitNotAllowed, "score")
	do(exitOK, "score", "--unblind", "a typo")
	kill()
	if out := do(exitOK, "run"); strings.Contains(out, "sums-2") {
		t.Errorf("TEST ran again: %s", out)
	}
	kill()
	do(exitOK, "score")
	do(exitOK, "report")
}

func TestTooManyTrials(t *testing.T) {
	dir := sumsStudy(t)
	var rows strings.Builder
	for i := range 10_001 {
		fmt.Fprintf(&rows, "q%d,%d + 1,%d\n", i, i, i+1)
	}
	writeTestFile(t, filepath.Join(dir, "q.csv"), "id,question,answer\n"+rows.String())
	code, _, errOut := scrupleIn(t, dir, "validate", "study.yaml", "-o", "execution.replicates=100000")
	if code != exitUsage || !strings.Contains(errOut, "execution.replicates: 10001 items, 2 arms and 100000 replicates are more than 1000000000 trials") {
		t.Errorf("ends with %d: %s", code, errOut)
	}
}

// A killed run has answers but no analysis.
func TestGateOfAKilledRunIsUndecided(t *testing.T) {
	t.Parallel()
	dir := sumsStudy(t)
	if code, _, errOut := scrupleIn(t, dir, "run", "study.yaml"); code != exitOK {
		t.Fatal(errOut)
	}
	db, err := store.Open(t.Context(), filepath.Join(dir, ".scruple", "scruple.db"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := db.LastRun(t.Context(), "sums", "")
	if err == nil {
		err = db.DropAnalysis(t.Context(), r)
	}
	if err != nil {
		t.Fatal(err)
	}
	db.Close()
	for _, arg := range []string{"study.yaml", "sums-1"} {
		if code, _, errOut := scrupleIn(t, dir, "gate", arg); code != exitNotAllowed || !strings.Contains(errOut, "finish the run with `scruple run`") {
			t.Errorf("gate %s ends with %d: %s", arg, code, errOut)
		}
	}
	if code, _, _ := scrupleIn(t, dir, "gate", "--store", "other.db", "study.yaml"); code != exitUsage {
		t.Errorf("gate without a store ends with %d", code)
	}
}

func TestAStoreIsAFile(t *testing.T) {
	for _, path := range []string{"postgresql:secret", "sqlite:secret.db", "file:secret.db", "https://host/secret"} {
		dir := sumsStudy(t)
		code, _, errOut := scrupleIn(t, dir, "run", "study.yaml", "--store", path)
		if code != exitUsage || strings.Contains(errOut, "secret") || !strings.Contains(errOut, "a store is a file") {
			t.Errorf("--store %s ends with %d: %s", path, code, errOut)
		}
		if made, _ := os.ReadDir(dir); len(made) != 2 {
			t.Errorf("--store %s left %v", path, made)
		}
	}
	for _, path := range []string{`C:\runs\s.db`, "./a:b.db"} {
		if named, err := storeNamed(path); err != nil || named != path {
			t.Errorf("%s is named %s: %v", path, named, err)
		}
	}
}

func TestAPastedAddressMayHaveSpaces(t *testing.T) {
	if named, err := storeNamed(" postgres://u:secret@h/x\n"); err != nil || named != "postgres://u@h/x" {
		t.Errorf("named %s: %v", named, err)
	}
}

func TestNoArgumentRepeatsAPassword(t *testing.T) {
	dir := sumsStudy(t)
	for _, args := range [][]string{
		{"report", "host=h dbname=x password=secret"},
		{"report", "password=secret user=u"},
		{"run", "--new", "host=h dbname=x password=secret"},
		{"--json", "status", "host=h dbname=x password=secret"},
		{"status", "--json", "host=h dbname=x password=secret"},
		{"report", "Postgres://u:secret@h/x"},
		{"run", "study.yaml", "--max-calls=postgres://u:secret@h/x"},
		{"run", "study.yaml", "--max-calls=POSTGRESQL://u:secret@h/x"},
		{"init", "qa", "postgres://u:secret@h/x"},
		{"report", " \tpostgres://u:secret@h/x"},
		{"status", "--store", `"postgres://u:secret@h/x"`},
		{"status", "--store", "postgres://u:2024#secret@127.0.0.1:1/x"},
		{"status", "--store", "postgres://u:2024/secret@127.0.0.1:1/x"},
		{"status", "--store", "postgres://127.0.0.1:20?secret@127.0.0.1:1/x"},
		{"status", "--store", "postgres://u:a@b/secret@127.0.0.1:1/x"},
	} {
		code, out, errOut := scrupleIn(t, dir, args...)
		if code != exitUsage || strings.Contains(out+errOut, "secret") {
			t.Errorf("%q ends with %d: %s", args, code, out+errOut)
		}
	}
	if made, _ := os.ReadDir(dir); len(made) != 2 {
		t.Errorf("the folder has %v", made)
	}
	// Nor is a text with the word an address.
	for _, text := range []string{"description=what is a password = secret", "description=Find password=X. {{QUESTION}}"} {
		if code, _, errOut := scrupleIn(t, dir, "validate", "study.yaml", "-o", text); code != 0 {
			t.Errorf("-o %q ends with %d: %s", text, code, errOut)
		}
	}
}

const escape = "\x1b]0;owned\x07\x1b[2J\u009b31m\r\u202e"

func TestForeignTextCannotSteerTheTerminal(t *testing.T) {
	t.Parallel()
	event := run.Event{Kind: "retry", Trial: eval.Trial{Item: "q" + escape, Arm: "a"}, Note: "unavailable: " + escape + "down\nline"}
	for _, kind := range []string{"retry", "failed", "stopping"} {
		event.Kind = kind
		var plain, lines bytes.Buffer
		(&plainObserver{w: &plain}).Event(event)
		a := &app{out: &lines, err: &lines}
		a.say("run %s", event.Note)
		a.warn("run %s", event.Note)
		for _, got := range []string{strings.TrimSuffix(plain.String(), "\n"), strings.ReplaceAll(lines.String(), "\n", "")} {
			if strings.ContainsAny(got, "\x1b\x07\u009b\r\u202e\n") || !strings.Contains(got, "down") {
				t.Errorf("%s: %q", kind, got)
			}
		}
	}
	// The error that ends a run is printed as well.
	_, _, errOut := scrupleIn(t, sumsStudy(t), "show", "study.yaml", "q"+escape)
	if strings.ContainsAny(errOut, "\x1b\u009b\u202e") {
		t.Errorf("%q", errOut)
	}
}

// What was found shows also if something else could not be read.
func TestDoctorOnAFailingDisk(t *testing.T) {
	t.Parallel()
	dir := sumsStudy(t)
	for _, args := range [][]string{{"run", "study.yaml"}, {"archive", "study.yaml", "--to", "archive"}} {
		if code, _, errOut := scrupleIn(t, dir, args...); code != exitOK {
			t.Fatal(errOut)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "archive", "*", "*.parquet"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%q, %v", files, err)
	}
	if err := errors.Join(os.Remove(files[0]), os.Mkdir(files[0], 0o700)); err != nil {
		t.Fatal(err)
	}
	code, out, errOut := scrupleIn(t, dir, "doctor", "study.yaml")
	if code != exitInfrastructure || !strings.Contains(out, "pages and indexes are sound") || !strings.Contains(errOut, files[0]) || strings.Contains(out+errOut, "damaged") {
		t.Errorf("doctor ends with %d: %s%s", code, out, errOut)
	}
}

func TestDoctorAndADamagedStore(t *testing.T) {
	t.Parallel()
	dir := sumsStudy(t)
	path := filepath.Join(dir, ".scruple", "scruple.db")
	if code, _, errOut := scrupleIn(t, dir, "doctor", "study.yaml"); code != exitUsage {
		t.Errorf("no store: %d: %s", code, errOut)
	}
	if code, _, errOut := scrupleIn(t, dir, "run", "study.yaml"); code != exitOK {
		t.Fatal(errOut)
	}
	for _, arg := range []string{"study.yaml", path} {
		if code, out, errOut := scrupleIn(t, dir, "doctor", arg); code != exitOK || !strings.Contains(out, "calls as written: 3") {
			t.Errorf("doctor %s ends with %d: %s%s", arg, code, out, errOut)
		}
	}
	db, err := sql.Open("sqlite", path)
	if err == nil {
		_, err = db.Exec(`UPDATE trials SET item = 'q9' WHERE id = 1; UPDATE calls SET text = '8'`)
	}
	if err != nil {
		t.Fatal(err)
	}
	db.Close()
	code, out, _ := scrupleIn(t, dir, "doctor", "study.yaml", "--json")
	if code != exitInfrastructure || !strings.Contains(out, `"damaged": true`) || !strings.Contains(out, "calls not as written: 3") {
		t.Errorf("doctor ends with %d: %s", code, out)
	}
	// Resuming names the cause, and does not blame the study.
	if code, _, errOut := scrupleIn(t, dir, "run", "study.yaml"); code != exitInfrastructure || !strings.Contains(errOut, "the file is damaged") || strings.Contains(errOut, "--new") {
		t.Errorf("run ends with %d: %s", code, errOut)
	}
}
