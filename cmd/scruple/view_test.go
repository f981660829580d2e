package main

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/postgrestest"
	"github.com/scruple-eval/scruple/internal/store"
)

// pageOf asks a viewer of a store for a page, and returns it without tags.
func pageOf(t *testing.T, path, study, page string) string {
	t.Helper()
	db, err := store.OpenRead(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	v, err := viewer(t.Context(), db, study)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Close() })
	w := httptest.NewRecorder()
	v.ServeHTTP(w, httptest.NewRequest("GET", page, nil))
	if w.Code != 200 {
		t.Fatalf("%s: status %d: %s", page, w.Code, w.Body)
	}
	return w.Body.String()
}

// ran is the folder of a study of questions that was run.
func ran(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "qa") // the name of the study
	for _, args := range [][]string{{"init", "qa", dir}, {"run", filepath.Join(dir, "study.yaml")}} {
		if code, _, errs := cli(t, args...); code != 0 {
			t.Fatalf("%q: exit code %d: %s", args, code, errs)
		}
	}
	return dir
}

// A run whose folder was copied, or moved, is shown and scored from where it is now, not from
// where it was made.
func TestAMovedStudyIsShown(t *testing.T) {
	t.Parallel()
	dir := ran(t)
	moved := filepath.Join(t.TempDir(), "moved")
	if err := os.CopyFS(moved, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "questions.jsonl")
	for _, state := range []string{"copied", "moved"} {
		if state == "copied" { // what is there now is not what was asked
			was, err := os.ReadFile(data)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(data, []byte(strings.ReplaceAll(string(was), "Oslo", "Bergen")), 0o600); err != nil {
				t.Fatal(err)
			}
		} else if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		db := filepath.Join(moved, ".scruple", "scruple.db")
		for _, study := range []string{filepath.Join(moved, "study.yaml"), ""} {
			page := pageOf(t, db, study, "/r/qa-1/i?item=capital-norway")
			if !strings.Contains(page, "Oslo") || strings.Contains(page, "Bergen") || strings.Contains(page, "cannot be shown") {
				t.Errorf("%s, study %q: the page is not of the study beside the store", state, study)
			}
		}
		other := filepath.Join(t.TempDir(), "other.db")
		store, err := os.ReadFile(db)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(other, store, 0o600); err != nil {
			t.Fatal(err)
		}
		if page := pageOf(t, other, filepath.Join(moved, "study.yaml"), "/r/qa-1/i?item=capital-norway"); !strings.Contains(page, "Oslo") || strings.Contains(page, "cannot be shown") {
			t.Errorf("%s: the study that the command names is not shown", state)
		}
		if code, out, errs := cli(t, "score", "qa-1", "--store", db); code != 0 || strings.Contains(out, "follows the study") {
			t.Errorf("%s: score has exit code %d: %s%s", state, code, out, errs)
		}
	}
}

// The pages of a team's store are those of a file.
func TestPagesOfADatabase(t *testing.T) {
	t.Parallel()
	address, dir := postgrestest.Address(t), filepath.Join(t.TempDir(), "qa")
	for _, args := range [][]string{{"init", "qa", dir}, {"run", filepath.Join(dir, "study.yaml"), "--store", address}} {
		if code, _, errs := cli(t, args...); code != 0 {
			t.Fatalf("%q: exit code %d: %s", args, code, errs)
		}
	}
	for page, has := range map[string]string{"/": "qa-1", "/r/qa-1": "stepwise", "/r/qa-1/samples": "gas", "/r/qa-1/i?item=capital-norway": "Oslo"} {
		if got := pageOf(t, address, "", page); !strings.Contains(got, has) || strings.Contains(got, "cannot be shown") || strings.Contains(got, "secret-word") {
			t.Errorf("%s lacks %q, or says that it cannot be shown: %.2000s", page, has, got)
		}
	}
}

// Two runs compared without a test have no p-value, and the sign of the table: A − B. So has a
// comparison that the study makes the other way round.
func TestSignOfAComparison(t *testing.T) {
	t.Parallel()
	dir := ran(t)
	questions := filepath.Join(dir, "questions.jsonl") // of which the second run has one less
	data, err := os.ReadFile(questions)
	if err != nil {
		t.Fatal(err)
	}
	_, data, _ = bytes.Cut(data, []byte("\n"))
	if err := os.WriteFile(questions, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := cli(t, "run", filepath.Join(dir, "study.yaml"), "--new"); code != 0 {
		t.Fatal(errs)
	}
	db := filepath.Join(dir, ".scruple", "scruple.db")
	for _, c := range [][4]string{{"qa-1", "stepwise", "qa-2", "direct"}, {"qa-2", "direct", "qa-1", "stepwise"}, {"qa-1", "stepwise", "qa-1", "direct"}, {"qa-1", "direct", "qa-1", "stepwise"}} {
		page := pageOf(t, db, "", "/c?r="+c[0]+"&a="+c[1]+"&s="+c[2]+"&b="+c[3]+"&metric=correct&analyse=1")
		names := [2]string{c[0] + ":" + c[1], c[2] + ":" + c[3]}
		if c[0] == c[2] {
			names = [2]string{c[1], c[3]}
		}
		_, said, _ := strings.Cut(page, `<div class="finding`)
		said, _, _ = strings.Cut(said, "</div>")
		first, second := strings.Index(said, names[0]), strings.Index(said, names[1])
		if first < 0 || second < first {
			t.Errorf("%q: the headline is not of A − B: %s", c, said)
		}
		if c[0] != c[2] && !strings.Contains(page, "1 item that only the older run has: left out") {
			t.Errorf("%q: what is left out is not said: %s", c, page)
		}
		if tested := strings.Contains(said, "p\u00a0&lt;") || strings.Contains(said, "p\u00a0="); tested != (c[0] == c[2]) {
			t.Errorf("%q: a test is shown: %v: %s", c, tested, said)
		}
	}
}

// The list of trials has question, right answer, answer and problem, also as a file, and finds
// texts; a comparison counts units by what is wrong with them.
func TestTextsOfTrials(t *testing.T) {
	t.Parallel()
	db := filepath.Join(ran(t), ".scruple", "scruple.db")
	plain := func(page string) string {
		return strings.Join(strings.Fields(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, " ")), " ")
	}
	list := plain(pageOf(t, db, "", "/r/qa-1/samples?q=arm+%3D%3D+%22most_common%22+%26%26+item+%3D%3D+%22capital-norway%22"))
	if want := "Question Right answer Answer Problem"; !strings.Contains(list, want) || !strings.Contains(list, "most_common 1 What is the capital of Norway? Oslo Canberra wrong ok") {
		t.Errorf("the list has no texts: %s", list)
	}
	found := plain(pageOf(t, db, "", "/r/qa-1/samples?text=CAPITAL+of+nor&q=arm+%3D%3D+%22direct%22+%26%26+item+matches+%22^capital%22"))
	if !strings.Contains(found, "3 found in trials 1 to 24 of 24") || strings.Count(found, "What is the capital of Norway?") != 3 || strings.Contains(found, "Kenya") {
		t.Errorf("the search finds: %s", found)
	}
	if none := plain(pageOf(t, db, "", "/r/qa-1/samples?text=nowhere+to+be+found&q=item+%3D%3D+%22capital-norway%22")); !strings.Contains(none, "0 found in trials 1 to 15 of 15") || !strings.Contains(none, "none of those searched has this text") {
		t.Errorf("nothing is found: %s", none)
	}
	file := pageOf(t, db, "", "/r/qa-1/export?format=csv&texts=1&q=arm+%3D%3D+%22most_common%22")
	if !strings.Contains(file, "text_question,text_right,text_answer,text_problem\n") || !strings.Contains(file, "What is the capital of Norway?,Oslo,Canberra,wrong\n") {
		t.Errorf("the file has no texts: %.300s", file)
	}
	if with := plain(pageOf(t, db, "", "/c?r=qa-1")); !strings.Contains(with, "By problem units of answers Problem A B wrong") {
		t.Errorf("the comparison counts no problems: %s", with)
	}
	pair := plain(pageOf(t, db, "", "/c/item?r=qa-1&a=direct&s=qa-1&b=most_common&metric=correct&item=capital-norway"))
	for _, words := range []string{"What is the capital of Norway?", "Right answer", "Oslo", "Canberra wrong", "Replicate 3"} {
		if !strings.Contains(pair, words) {
			t.Errorf("the pair has no %q: %s", words, pair)
		}
	}
}

// A run without an analysis, as one in progress, has the values of its answers so far: those that
// its analysis would have, without intervals and tests. A study with planned looks has none.
func TestRunningNumbers(t *testing.T) {
	t.Parallel()
	dir := ran(t)
	path := filepath.Join(dir, ".scruple", "scruple.db")
	drop := func(id string) {
		t.Helper()
		db, err := store.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		run, err := db.Run(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.DropAnalysis(t.Context(), run); err != nil {
			t.Fatal(err)
		}
	}
	_, out, _ := cli(t, "export", filepath.Join(dir, "study.yaml"), "--table", "summary", "--format", "csv")
	value := regexp.MustCompile(`(?m)^direct,correct,,([0-9.]+),`).FindStringSubmatch(out)
	if value == nil {
		t.Fatal(out)
	}
	number, err := strconv.ParseFloat(value[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	drop("qa-1")
	page := pageOf(t, path, "", "/r/qa-1")
	if want := fmt.Sprintf(`<bdi>direct</bdi></th><td class="right">84</td><td class="right">0</td><td class="right">%.3f</td>`, number); !strings.Contains(page, want) || strings.Contains(page, "CI") {
		t.Errorf("the page has no %s: %s", want, page)
	}
	for _, args := range [][]string{{"run", filepath.Join(dir, "study.yaml"), "--new", "-o", "statistics.looks=2"}} {
		if code, _, errs := cli(t, args...); code != 0 {
			t.Fatal(errs)
		}
	}
	drop("qa-2")
	if page := pageOf(t, path, "", "/r/qa-2"); strings.Contains(page, "So far") || !strings.Contains(page, "there are none between two looks") {
		t.Errorf("a study with planned looks shows: %s", page)
	}
}

// The list of runs has the primary difference, the question and the cost, and is filtered.
func TestListOfRuns(t *testing.T) {
	t.Parallel()
	dir := ran(t)
	for range 2 {
		if code, _, errs := cli(t, "run", filepath.Join(dir, "study.yaml"), "--new"); code != 0 {
			t.Fatal(errs)
		}
	}
	db := filepath.Join(dir, ".scruple", "scruple.db")
	page := pageOf(t, db, "", "/")
	for _, words := range []string{"stepwise − direct", "&#43;0.036 (−0.153 to &#43;0.226)", "Started, UTC", "Cost", `<svg class="difference"`} {
		if !strings.Contains(page, words) {
			t.Errorf("the list has no %q", words)
		}
	}
	if n := strings.Count(page, "<svg"); n != 3 {
		t.Errorf("%d differences are drawn, want those of 3 runs", n)
	}
	if page := pageOf(t, db, "", "/?q=QA-2"); strings.Count(page, "data-row") != 1 || !strings.Contains(page, "qa-2") {
		t.Error("the filter does not select qa-2")
	}
	if page := pageOf(t, db, "", "/?q=nothing"); !strings.Contains(page, "None of the 3 runs has") {
		t.Error("a filter without runs does not say so")
	}
}

// A viewer shows the study as it is now: corrected gold beside its scores, and data that were
// missing when a page was first asked for.
func TestViewFollowsTheStudy(t *testing.T) {
	t.Parallel()
	dir := ran(t)
	study, data := filepath.Join(dir, "study.yaml"), filepath.Join(dir, "questions.jsonl")
	db, err := store.OpenRead(t.Context(), filepath.Join(dir, ".scruple", "scruple.db"))
	if err != nil {
		t.Fatal(err)
	}
	v, err := viewer(t.Context(), db, study)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Close(); db.Close() })
	// A study that was looked at, or failed, rests for a moment.
	until := func(state, page string, holds func(string) bool) {
		t.Helper()
		text := ""
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			w := httptest.NewRecorder()
			v.ServeHTTP(w, httptest.NewRequest("GET", page, nil))
			if text = w.Body.String(); w.Code == 200 && holds(text) {
				return
			}
		}
		t.Fatalf("%s: %s is\n%s", state, page, text)
	}
	has := func(what string) func(string) bool {
		return func(page string) bool { return strings.Contains(page, what) }
	}
	const changed = "The gold of this item changed since it was scored"
	trial := regexp.MustCompile(`r/qa-1/t/[0-9]+`)
	page := ""
	until("first", "/r/qa-1/i?item=capital-norway", func(text string) bool {
		page = "/" + trial.FindString(text)
		return strings.Contains(text, "Oslo")
	})
	until("first", page, has("Oslo"))
	book := filepath.Join(dir, ".scruple", "ledger.jsonl")
	until("first", "/r/qa-1", has("Correct"))
	if err := os.WriteFile(book, []byte("no entry\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	until("with a broken ledger", "/r/qa-1", has("ledger.jsonl:1"))
	if err := os.Remove(book); err != nil {
		t.Fatal(err)
	}
	was, err := os.ReadFile(data)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(data); err != nil {
		t.Fatal(err)
	}
	until("without data", page, has("questions.jsonl"))
	now := strings.ReplaceAll(string(was), "Oslo", "Bergen")
	if err := os.WriteFile(data, []byte(now), 0o600); err != nil {
		t.Fatal(err)
	}
	until("with other gold", page, func(text string) bool { return strings.Contains(text, "Bergen") && strings.Contains(text, changed) })
	item := []string{"/r/qa-1/i?item=capital-norway", "/c/item?r=qa-1&item=capital-norway"}
	many := []string{"/r/qa-1", "/r/qa-1/samples", "/r/qa-1/samples?q=rep+%3D%3D+1", "/c?r=qa-1"}
	for _, page := range item {
		until("with other gold", page, has(changed))
	}
	for _, page := range many {
		until("with other gold", page, has("the gold of 1 item changed since run qa-1 was scored: capital-norway"))
	}
	until("with other gold", "/c?r=qa-1&q=item+%3D%3D+%22capital-norway%22", func(text string) bool {
		return strings.Contains(text, "A better") && !strings.Contains(text, "By problem")
	})
	if code, _, errs := cli(t, "score", study); code != 0 {
		t.Fatal(errs)
	}
	for _, page := range append(append(item, many...), page) {
		until("scored again", page, func(text string) bool {
			return !strings.Contains(text, changed) && !strings.Contains(text, "changed since run")
		})
	}
	now = strings.ReplaceAll(now, "Norway", "the Norwegians")
	if err := os.WriteFile(data, []byte(now), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, page := range many {
		until("with another question", page, has("The data of 1 item changed since run qa-1 asked: capital-norway"))
	}
	until("with another question", "/r/qa-1/samples?q=group+%3D%3D+%22%28changed%29%22", has(" of 420 trials"))
}
