//go:build e2e

package e2e

import (
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// examined runs the starting study of qa, which has a judge and a rule, and returns the
// study file and the bytes of its store.
func examined(t *testing.T) (study, db string, whole []byte) {
	t.Helper()
	study = filepath.Join(t.TempDir(), "mine", "study.yaml")
	ok(t, "init", "qa", filepath.Dir(study))
	edit(t, study, "replicates: 3", "replicates: 1")
	ok(t, "run", study)
	db = filepath.Join(filepath.Dir(study), ".scruple", "scruple.db")
	whole, err := os.ReadFile(db)
	must(t, err)
	return study, db, whole
}

// broken writes a store and forgets what SQLite has beside it.
func broken(t *testing.T, path string, content []byte) {
	t.Helper()
	must(t, os.WriteFile(path, content, 0o600))
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
}

// What is computed from answers is computed again: doctor names the rows that somebody
// edited, though SQLite and the checksums of answers find nothing.
func TestDoctorRecomputes(t *testing.T) {
	t.Parallel()
	study, db, whole := examined(t)
	if out := ok(t, "doctor", study); !strings.Contains(out, " verdicts of judges follow from the stored answers, and scores and analysis from them") {
		t.Errorf("doctor says\n%s", out)
	}
	for _, test := range []struct{ statement, want string }{
		{`UPDATE analyses SET verdict = replace(verdict, '"state":"pass"', '"state":"fail"')`, "not what the outcomes give: verdict."},
		{`UPDATE analyses SET analysis = replace(analysis, '"value":0.', '"value":1.')`, "not what the outcomes give: analysis.estimates["},
		{`UPDATE verdicts SET data = 'PASS: it agrees with the reference answer.'`, "not what the stored answers give: verdict on "},
		{`DELETE FROM verdicts WHERE id % 2`, "not what the stored answers give: verdict on "},
		{`INSERT INTO verdicts (run, item, trial, unit, step, source, judge, round, at, data, error) SELECT run, item, trial, unit, step, source, 'another', round, at, data, error FROM verdicts WHERE id = 1`, "not what the stored answers give: verdict on "},
		{`DELETE FROM calls WHERE id <= 39 AND stage = 'run'`, "answers that came and are gone: "},
		{`DELETE FROM calls WHERE stage = 'judge'`, "answers that came and are gone: "},
		{`DELETE FROM attempts; DELETE FROM calls WHERE id = 1`, " has no answer to step "},
		{`DELETE FROM outcomes WHERE trial <= 39`, "not what the outcomes give: scores of "},
		{`UPDATE outcomes SET data = CAST(coalesce(CAST(data AS TEXT), (SELECT c.text FROM calls c WHERE c.trial = outcomes.trial AND c.step = outcomes.step)) || ' ' AS BLOB), step = NULL WHERE trial = 7`, "not what the stored answers give: outcome of "},
		{`UPDATE outcomes SET kind = 'malformed' WHERE trial = 7`, "not what the stored answers give: outcome of "},
		{`UPDATE scores SET data = replace(data, '0', '1') WHERE trial <= 20`, "not what the outcomes give: scores of "},
		{`DELETE FROM scores WHERE trial = 7`, "not what the outcomes give: scores of "},
		{`UPDATE prompts SET texts = replace(texts, 'question', 'Question')`, "not what the stored answers give: prompt of "},
		{`UPDATE trials SET place = -id WHERE id = 7`, "not what was written: mine-1"},
		{`UPDATE events SET note = replace(note, '0.05', '0.06')`, "not what the outcomes give: verdict.rules_changed"},
	} {
		broken(t, db, whole)
		if edited(t, db, test.statement) == 0 {
			t.Errorf("%s changes nothing", test.statement)
		}
		out, errs, code := line(t, "doctor", study)
		if code != exitInfrastructure || !strings.Contains(out, test.want) {
			t.Errorf("%s: exit code %d\n%s%s", test.statement, code, out, errs)
		}
	}
}

// edited executes statements and returns how many rows they changed.
func edited(t *testing.T, path, statements string) (rows int) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	must(t, err)
	db.SetMaxOpenConns(1)
	_, err = db.Exec(statements)
	must(t, err)
	must(t, db.QueryRow("SELECT total_changes()").Scan(&rows))
	must(t, db.Close())
	return rows
}

// A study that moved on since a trial is no damage: doctor and verify say so.
func TestDoctorAndVerifyOfAChangedStudy(t *testing.T) {
	t.Parallel()
	study, db, _ := examined(t)
	edited(t, db, `UPDATE outcomes SET basis = 0; UPDATE analyses SET analysis = replace(analysis, '"prompts"', '"shown"')`)
	if out := ok(t, "doctor", study); !strings.Contains(out, "scores and analysis of an older version of scruple") {
		t.Errorf("doctor of an older analysis says\n%s", out)
	}
	edit(t, study, "wrong: 0.2,", "wrong: 0.3,")
	if out := ok(t, "doctor", study); !strings.Contains(out, "results      warning  mine-1: ") || !strings.Contains(out, "of an earlier plan: the study moved on since") {
		t.Errorf("doctor of a changed study says\n%s", out)
	}
	ok(t, "run", study)
	questions := filepath.Join(filepath.Dir(study), "questions.jsonl")
	data, err := os.ReadFile(questions)
	must(t, err)
	_, rest, _ := strings.Cut(string(data), "\n")
	must(t, os.WriteFile(questions, []byte(rest), 0o600))
	ok(t, "score", study)
	if out := ok(t, "doctor", study); !strings.Contains(out, "results      ok       mine-1: ") || !strings.Contains(out, " that left the plan") {
		t.Errorf("doctor of a run that shrank says\n%s", out)
	}
	zip := filepath.Join(filepath.Dir(study), "b.zip")
	ok(t, "bundle", study, "--out", zip)
	if out := ok(t, "verify", zip); !strings.Contains(out, " that left the plan") {
		t.Errorf("verify of a run that shrank says\n%s", out)
	}
}

// A bit that flips anywhere in a store is found, or it changes nothing that is shown or
// decided.
func TestDoctorFindsFlippedBits(t *testing.T) {
	t.Parallel()
	study, db, whole := examined(t)
	shown := func() string {
		var all strings.Builder
		for _, args := range [][]string{{"score", study}, {"gate", study}, {"export", study, "--table", "summary"}, {"export", study, "--table", "scores"}} {
			out, _, code := line(t, args...)
			fmt.Fprintln(&all, code, out)
		}
		return all.String()
	}
	want := shown()
	found, same := 0, 0
	for seed := range uint64(24) {
		bit := rand.New(rand.NewPCG(seed, 0)).IntN(8 * len(whole))
		flipped := append([]byte{}, whole...)
		flipped[bit/8] ^= 1 << (bit % 8)
		broken(t, db, flipped)
		out, _, code := line(t, "doctor", study)
		switch {
		case code == exitInfrastructure:
			found++
		case strings.Contains(out, "warning"):
			found++
		case shown() == want:
			same++
		default:
			t.Errorf("bit %d changes what is shown, and doctor says\n%s", bit, out)
		}
	}
	t.Logf("found %d, without effect %d", found, same)
}
