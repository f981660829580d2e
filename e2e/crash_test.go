//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/postgrestest"
)

// invoices writes a study with n documents and one kernel.
func invoices(t testing.TB, dir, url string, n int, execution string) string {
	t.Helper()
	writeTestFile(t, filepath.Join(dir, "schemas", "memo.json"), `{"name": "memo", "fields": [
		{"name": "number", "type": "id", "description": "number of the memo"},
		{"name": "amount", "type": "money", "description": "amount due"}]}`)
	writeTestFile(t, filepath.Join(dir, "kernel.txt"), "Extract.\n{{SCHEMA}}\n{{OUTPUT_FORMAT}}\n")
	var b strings.Builder
	for i := range n {
		text := fmt.Sprintf("---PAGE 1---\nNumber: M-%04d\nAmount: %d.50\n", i, i)
		line, err := json.Marshal(map[string]any{"document_id": fmt.Sprintf("memo-%04d", i), "text": text, "schema": "memo", "ground_truth": []any{
			map[string]any{"field": "number", "exists_in_document": true, "is_ambiguous": false, "correct_value": fmt.Sprintf("M-%04d", i), "evidence_quote": fmt.Sprintf("M-%04d", i), "page": 1},
			map[string]any{"field": "amount", "exists_in_document": true, "is_ambiguous": false, "correct_value": fmt.Sprintf("%d.50", i), "evidence_quote": fmt.Sprintf("%d.50", i), "page": 1},
		}})
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(line, '\n'))
	}
	writeTestFile(t, filepath.Join(dir, "memos.jsonl"), b.String())
	path := filepath.Join(dir, "study.yaml")
	writeTestFile(t, path, fmt.Sprintf(`name: memos
suite: extraction
data: {source: jsonl, path: memos.jsonl}
arms: [{name: k, path: kernel.txt}]
models: [{id: fake, provider: openai, name: any, base_url: %q, temperature: 0, max_tokens: 256}]
execution: %s
`, url+"/v1", execution))
	return path
}

func output(t testing.TB, program string, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	c := exec.Command(program, args...)
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		t.Fatalf("scruple %s: %v\n%s", strings.Join(args, " "), err, errs.String())
	}
	return out.String()
}

type serverStats struct {
	Requests int `json:"requests"`
	OK       int `json:"ok"`
	Distinct int `json:"distinct_requests"`
	Peak     int `json:"peak_concurrency"`
	Aborted  int `json:"client_aborted"`
}

func statsOf(t testing.TB, url string) (s serverStats) {
	t.Helper()
	text, err := fakeStats(url)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// A run killed twenty times at random loses no answers, repeats no more calls than
// were in flight, and ends with byte-identical scores.
func TestKillNine(t *testing.T) {
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) { testKillNine(t) })
	t.Run("PostgreSQL", func(t *testing.T) {
		s := postgrestest.Start(t)
		t.Cleanup(s.Stop)
		testKillNine(t, "--store", s.Database(t))
	})
}

func testKillNine(t *testing.T, store ...string) {
	t.Parallel()
	const documents, concurrency, kills = 600, 16, 20
	scruple, fake := findScruple(t), findFake(t)
	execution := fmt.Sprintf("{concurrency: %d, retries: [10ms]}", concurrency)

	url, stop, err := startFake(fake, "-latency", "20ms", "-malformed", "0.1", "-wrong", "0.1")
	if err != nil {
		t.Fatal(err)
	}
	calm := invoices(t, t.TempDir(), url, documents, execution)
	output(t, scruple, "run", calm)
	want := output(t, scruple, "export", calm, "--table", "scores")
	stop()

	url, stop, err = startFake(fake, "-latency", "20ms", "-malformed", "0.1", "-wrong", "0.1")
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	path := invoices(t, t.TempDir(), url, documents, execution)
	rng := rand.New(rand.NewPCG(1, 2))
	kept, killed := 0, 0
	for i := range kills {
		until, wait := statsOf(t, url).Requests, 120 // every fourth may be killed before its first request
		if i%4 > 0 {
			until, wait = until+1+rng.IntN(40), 30
		}
		c := exec.Command(scruple, append([]string{"run", path}, store...)...)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- c.Wait() }()
		for len(ended) == 0 && statsOf(t, url).Requests < until { // a loaded machine needs its time
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Duration(rng.IntN(wait)) * time.Millisecond)
		_ = c.Process.Kill()
		if err := <-ended; err != nil {
			killed++
		}
		if _, err := os.Stat(filepath.Join(filepath.Dir(path), ".scruple", "scruple.db")); err != nil && len(store) == 0 {
			continue // killed before the store existed
		}
		now := calls(t, scruple, path, store...)
		if now < kept {
			t.Fatalf("%d calls are kept after a kill, there were %d before", now, kept)
		}
		kept = now
	}
	if killed < kills/2 || kept == 0 {
		t.Fatalf("only %d of %d runs were killed before their end, %d calls kept: make the run longer", killed, kills, kept)
	}
	output(t, scruple, append([]string{"run", path}, store...)...)
	if got := output(t, scruple, append([]string{"export", path, "--table", "scores"}, store...)...); got != want {
		t.Error("the scores of the disturbed run differ from those of the undisturbed one")
	}
	s := statsOf(t, url)
	if repeated := s.Requests - documents; repeated < 0 || repeated > killed*concurrency {
		t.Errorf("%d requests for %d documents after %d kills with %d in flight", s.Requests, documents, killed, concurrency)
	}
	before := statsOf(t, url).Requests
	output(t, scruple, append([]string{"run", path}, store...)...)
	if after := statsOf(t, url).Requests; after != before {
		t.Errorf("running a finished study again sent %d requests", after-before)
	}
}

// calls counts the answers in a store without a writer.
func calls(t testing.TB, scruple, path string, store ...string) int {
	t.Helper()
	c := exec.Command(scruple, append([]string{"export", path, "--table", "calls"}, store...)...)
	out, err := c.Output()
	if err != nil {
		return 0 // the store exists, the run does not
	}
	return bytes.Count(out, []byte("\n"))
}

// For any behaviour of the provider, no answer is lost and no fault of the server
// counts as one of the model.
func TestFaultsOfTheProvider(t *testing.T) {
	t.Parallel()
	scruple, fake := findScruple(t), findFake(t)
	const documents = 120
	quiet, stop, err := startFake(fake)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	execution := "{concurrency: 16, retries: [5ms, 5ms, 5ms, 5ms, 5ms, 5ms, 5ms, 5ms], timeout: 300ms}"
	calm := invoices(t, t.TempDir(), quiet, documents, execution)
	output(t, scruple, "run", calm)
	want := output(t, scruple, "export", calm, "--table", "scores")
	for _, flags := range [][]string{
		{"-p429", "0.3", "-retry-after", "0.01"}, {"-p500", "0.3"}, {"-p529", "0.3"}, {"-pdrop", "0.3"}, {"-phang", "0.1"},
		{"-p429", "0.1", "-retry-after", "0.01", "-p500", "0.1", "-p529", "0.1", "-pdrop", "0.1", "-phang", "0.05"},
	} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			url, stop, err := startFake(fake, flags...)
			if err != nil {
				t.Fatal(err)
			}
			defer stop()
			path := invoices(t, t.TempDir(), url, documents, execution)
			output(t, scruple, "run", path)
			if got := output(t, scruple, "export", path, "--table", "scores"); got != want {
				t.Error("faults of the server changed the scores")
			}
			if s := statsOf(t, url); s.Requests <= documents {
				t.Errorf("%d requests: there were no faults", s.Requests)
			}
		})
	}
}

// A trial that fails after all retries is counted, left out of the scores, and can
// be retried later.
func TestRetryFailed(t *testing.T) {
	t.Parallel()
	scruple, fake := findScruple(t), findFake(t)
	url, stop, err := startFake(fake, "-p500", "0.5")
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	path := invoices(t, t.TempDir(), url, 60, "{concurrency: 8, retries: []}")
	c := exec.Command(scruple, "run", path)
	out, err := c.CombinedOutput()
	if c.ProcessState.ExitCode() != exitInfrastructure {
		t.Fatalf("exit code %d (%v), want 4: half of the trials failed\n%s", c.ProcessState.ExitCode(), err, out)
	}
	var status experiment.Status
	if err := json.Unmarshal([]byte(output(t, scruple, "status", path, "--json")), &status); err != nil {
		t.Fatal(err)
	}
	if status.Failed < 10 || status.State != "failures" {
		t.Fatalf("status %+v", status)
	}
	for range 20 {
		c := exec.Command(scruple, "run", "--retry-failed", path)
		_ = c.Run()
		if c.ProcessState.ExitCode() == exitOK {
			var after experiment.Status
			if err := json.Unmarshal([]byte(output(t, scruple, "status", path, "--json")), &after); err != nil {
				t.Fatal(err)
			}
			if after.Failed > 0 && after.Failed >= status.Failed {
				t.Fatalf("status %+v", after)
			}
			return
		}
	}
	t.Error("the failed trials never came good")
}

// Methods that ask in loops and graphs are killed in the middle of trials: recorded
// answers are kept, and the run ends like an uninterrupted one.
func TestKillNineInALoop(t *testing.T) {
	t.Parallel()
	const kills = 6
	scruple := findScruple(t)
	starter := func() string {
		dir := filepath.Join(t.TempDir(), "mine")
		output(t, scruple, "init", "rerank", dir)
		path := filepath.Join(dir, "study.yaml")
		study := `name: loops
suite: rerank
data: {items: data/items.jsonl, reviews: data/reviews.jsonl, users: data/users.jsonl, requests: data/requests.jsonl}
candidates: {sizes: [20]}
arms: [{name: anot}, {name: plan_act}, {name: weaver}]
models: [{id: sim, provider: simulated, name: sim, skill: {wrong: 0.2}}]
execution: {concurrency: 2}
`
		if err := os.WriteFile(path, []byte(study), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	calm := starter()
	began := time.Now()
	output(t, scruple, "run", calm)
	whole := time.Since(began)
	want := output(t, scruple, "export", calm, "--table", "outcomes")
	asked := calls(t, scruple, calm)

	path := starter()
	rng := rand.New(rand.NewPCG(3, 4))
	kept, killed := 0, 0
	for tries := 0; tries < 5*kills && (killed < kills || kept == 0); tries++ { // a busy machine may be slow to begin
		c := exec.Command(scruple, "run", path)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30*time.Millisecond + time.Duration(rng.Int64N(int64(whole)/4+1)))
		_ = c.Process.Kill()
		if err := c.Wait(); err != nil {
			killed++
		}
		now := calls(t, scruple, path)
		if now < kept {
			t.Fatalf("%d calls are kept after a kill, there were %d before", now, kept)
		}
		kept = now
	}
	if killed < kills/3 || kept == 0 {
		t.Fatalf("only %d runs were killed, want %d, and %d calls kept", killed, kills, kept)
	}
	output(t, scruple, "run", path)
	if got := output(t, scruple, "export", path, "--table", "outcomes"); got != want {
		t.Error("the outcomes of the disturbed run differ from those of the undisturbed one")
	}
	if got := calls(t, scruple, path); got != asked {
		t.Errorf("%d calls are kept, an undisturbed run keeps %d: one was asked twice or lost", got, asked)
	}
}
