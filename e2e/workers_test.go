//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/postgrestest"
)

// A crew is workers of one shared store.
type crew struct {
	t       *testing.T
	scruple string
	store   string
	mu      sync.Mutex
	said    bytes.Buffer
	hands   []*exec.Cmd
}

func (c *crew) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.said.Write(p)
}

func (c *crew) start(args ...string) *exec.Cmd {
	w := exec.Command(c.scruple, append([]string{"worker", "--store", c.store, "--slice", "3s"}, args...)...)
	w.Stderr = c
	must(c.t, w.Start())
	return w
}

// status returns how many runs workers have, and the shards in hand of each worker.
func (c *crew) status() (runs int, hands []int) {
	out, err := exec.Command(c.scruple, "status", "--workers", "--json", "--store", c.store).Output()
	var s struct {
		Runs    []json.RawMessage
		Workers []struct{ Shards int }
	}
	if err != nil || json.Unmarshal(out, &s) != nil {
		return -1, nil // the server may be away
	}
	for _, w := range s.Workers {
		hands = append(hands, w.Shards)
	}
	return len(s.Runs), hands
}

func (c *crew) done(most time.Duration) {
	c.t.Helper()
	for begun := time.Now(); ; time.Sleep(200 * time.Millisecond) {
		runs, hands := c.status()
		if runs == 0 {
			return
		}
		if time.Since(begun) > most {
			c.t.Fatalf("after %v workers have %d runs and in hand %v; they said:\n%s", most, runs, hands, c.said.String())
		}
	}
}

func (c *crew) end() {
	for _, w := range c.hands {
		_ = w.Process.Signal(syscall.SIGTERM)
	}
	for _, w := range c.hands {
		_ = w.Wait()
	}
}

// Three workers do a run while one of them is killed again and again, another is stopped for
// longer than it may be silent, and the server crashes: no answer on record is asked again, at most
// what was in flight is, and the report has the bytes of one process on a file.
// SCRUPLE_KILLS sets the number of kills.
func TestWorkersAreKilled(t *testing.T) {
	t.Parallel()
	kills := 10
	if n, soak := soaking(); soak {
		kills = n
	}
	documents := 250 * max(10, kills)
	const concurrency = 16
	m := newMemoStudyOf(t, documents, concurrency, "-latency", "50ms", "-malformed", "0.1", "-wrong", "0.1")
	scruple, url, path, want, quiet := m.scruple, m.url, m.path, m.want, m.quiet

	s := postgrestest.Start(t)
	t.Cleanup(s.Stop)
	c := &crew{t: t, scruple: scruple, store: s.Database(t)}
	for range 3 {
		c.hands = append(c.hands, c.start())
	}
	defer c.end()
	output(t, scruple, "run", path, "--detach", "--store", c.store)
	rng := rand.New(rand.NewPCG(1, 2))
	acknowledged, restarts, every := map[string]string{}, 0, max(5, kills/20)
	for i := range kills {
		before := statsOf(t, url).Requests
		for statsOf(t, url).Requests < before+20 {
			if runs, _ := c.status(); runs == 0 { // -1 while the server is away
				t.Fatalf("the run was done after %d of %d kills: make it longer", i, kills)
			}
			time.Sleep(5 * time.Millisecond)
		}
		time.Sleep(time.Duration(rng.IntN(200)) * time.Millisecond)
		if i%every == every-1 { // at once, and at once again
			restarts++
			maps.Copy(acknowledged, answersOf(t, c.store))
			s.Kill()
			s.Run(t)
		}
		n := rng.IntN(3)
		must(t, c.hands[n].Process.Kill())
		_ = c.hands[n].Wait()
		c.hands[n] = c.start()
	}
	c.done(10 * time.Minute)
	if got := figures(t, scruple, path, "--store", c.store); got != want {
		t.Error("the scores or the report of the disturbed run differ from those of the undisturbed one")
	}
	repeated := statsOf(t, url).Requests - quiet - documents
	lost, last := 0, answersOf(t, c.store)
	for id, sum := range acknowledged {
		if last[id] != sum {
			lost++
		}
	}
	t.Logf("%d kills, %d restarts of the server: %d of %d answers on record before the restarts lost, %d of %d requests repeated", kills, restarts, lost, len(acknowledged), repeated, documents)
	if lost > 0 {
		t.Errorf("%d answers lost", lost)
	}
	if repeated < 0 || repeated > kills*concurrency {
		t.Errorf("%d requests repeated after %d kills with %d in flight", repeated, kills, concurrency)
	}
	output(t, scruple, "doctor", path, "--store", c.store)
	if strings.Contains(c.said.String(), "not taking part") {
		t.Error(c.said.String())
	}
}

// soaking reports whether this is the long form of the tests of workers, with so many kills.
func soaking() (kills int, soak bool) {
	kills, err := strconv.Atoi(os.Getenv("SCRUPLE_KILLS"))
	return kills, err == nil
}

// figures returns the scores and the report of a run, without the numbers of requests repeated and lost.
func figures(t *testing.T, scruple, study string, flags ...string) string {
	t.Helper()
	report := output(t, scruple, append([]string{"report", study, "--json"}, flags...)...)
	return regexp.MustCompile(`"retried": \d+|,\s*"lost": \{[^}]*\}`).ReplaceAllString(report, "") + output(t, scruple, append([]string{"export", study, "--table", "scores"}, flags...)...)
}

// answersOf returns the checksums of the answers on record, by call.
func answersOf(t *testing.T, address string) map[string]string {
	t.Helper()
	db := connect(t, address)
	defer db.Close()
	rows, err := db.Query("SELECT id::text, md5(text) FROM calls WHERE error_kind = ''")
	must(t, err)
	defer rows.Close()
	answers := map[string]string{}
	for rows.Next() {
		var id, sum string
		must(t, rows.Scan(&id, &sum))
		answers[id] = sum
	}
	must(t, rows.Err())
	return answers
}

// A worker that is stopped for longer than it may be silent, and wakes while others work on what
// it had, drops it and takes nothing from them. It then takes part again.
func TestZombieWorker(t *testing.T) {
	t.Parallel()
	const documents, concurrency = 1200, 8
	m := newMemoStudyOf(t, documents, concurrency, "-latency", "200ms")
	scruple, url, path, want, quiet := m.scruple, m.url, m.path, m.want, m.quiet
	c := &crew{t: t, scruple: scruple, store: postgrestest.Address(t)}
	awake := &crew{t: t, scruple: scruple, store: c.store}
	c.hands = append(c.hands, c.start(), awake.start())
	defer c.end()
	output(t, scruple, "run", path, "--detach", "--store", c.store)
	for both := false; !both || statsOf(t, url).Requests < quiet+40; time.Sleep(5 * time.Millisecond) {
		_, hands := c.status()
		both = len(hands) == 2 && hands[0] > 0 && hands[1] > 0
	}
	must(t, c.hands[0].Process.Signal(syscall.SIGSTOP))
	for there := 2; there != 1; { // until it is lost
		time.Sleep(200 * time.Millisecond)
		_, hands := c.status()
		there = len(hands)
	}
	time.Sleep(2 * time.Second)
	must(t, c.hands[0].Process.Signal(syscall.SIGCONT))
	if runs, _ := c.status(); runs == 0 {
		t.Fatal("the run was done before the worker woke: make it longer")
	}
	c.done(90 * time.Second)
	awake.mu.Lock()
	if said := awake.said.String(); strings.Contains(said, "given to another worker") {
		t.Errorf("the worker that woke took shards from the other, which said:\n%s", said)
	}
	awake.mu.Unlock()
	if got := figures(t, scruple, path, "--store", c.store); got != want {
		t.Error("the scores or the report differ from those of an undisturbed run")
	}
	repeated := statsOf(t, url).Requests - quiet - documents
	t.Logf("%d of %d requests repeated", repeated, documents)
	if repeated < 0 || repeated > concurrency {
		t.Errorf("%d requests repeated with %d in flight: the one that woke asked what others had asked", repeated, concurrency)
	}
	output(t, scruple, "doctor", path, "--store", c.store)
	// It is there for the next run.
	must(t, c.hands[1].Process.Signal(syscall.SIGTERM))
	_ = c.hands[1].Wait()
	output(t, scruple, "run", path, "--new", "--no-reuse", "--limit", "20", "--detach", "--store", c.store)
	c.done(30 * time.Second)
}

// Three workers together keep to the requests a minute of a model and use them, and spend no
// more of a budget than is in flight.
func TestWorkersShareLimits(t *testing.T) {
	t.Parallel()
	scruple, fake := findScruple(t), findFake(t)
	url, stop, err := startFake(fake, "-latency", "100ms")
	must(t, err)
	defer stop()
	const documents, perMinute, budget, concurrency = 900, 1200, 500, 30
	path := invoices(t, t.TempDir(), url, documents, fmt.Sprintf("{concurrency: %d, retries: [10ms], timeout: 2s, max_calls: %d}", concurrency, budget))
	edit(t, path, "max_tokens: 256}", fmt.Sprintf("max_tokens: 256, limits: {requests_per_minute: %d}}", perMinute))
	c := &crew{t: t, scruple: scruple, store: postgrestest.Address(t)}
	for range 3 {
		c.hands = append(c.hands, c.start())
	}
	defer c.end()
	output(t, scruple, "run", path, "--detach", "--store", c.store)
	type at struct {
		when     time.Time
		requests int
	}
	var seen []at
	killed := false
	for begun := time.Now(); time.Since(begun) < 2*time.Minute; time.Sleep(100 * time.Millisecond) {
		n := statsOf(t, url).Requests
		if n > 0 {
			seen = append(seen, at{time.Now(), n})
		}
		if n > budget/2 && !killed {
			killed = true
			must(t, c.hands[0].Process.Kill())
			_ = c.hands[0].Wait()
		}
		if last := len(seen) - 50; last > 0 && seen[last].requests == n { // for 5 s
			break
		}
	}
	sent := seen[len(seen)-1].requests
	used := 0.0 // seconds until the last request
	for i, a := range seen {
		if used == 0 && a.requests == sent {
			used = a.when.Sub(seen[0].when).Seconds()
		}
		for _, b := range seen[i:] {
			const window = 15 * time.Second
			if b.when.Sub(a.when) > window {
				break
			}
			// Those of two seconds may come at once.
			if most := perMinute*(b.when.Sub(a.when)+3*time.Second).Minutes() + 3; float64(b.requests-a.requests) > most {
				t.Fatalf("%d requests in %v, of %d a minute", b.requests-a.requests, b.when.Sub(a.when), perMinute)
			}
		}
	}
	t.Logf("%d requests in %.1f s: %.1f %% of the limit", sent, used, 100*float64(sent)/used/(perMinute/60))
	if sent > budget || sent < budget-60 { // what the killed one had drawn is free in the next session
		t.Errorf("%d requests with a budget of %d", sent, budget)
	}
	said := ""
	for range 50 { // each worker says it
		c.mu.Lock()
		said = c.said.String()
		c.mu.Unlock()
		if strings.Contains(said, "the budget is exhausted") {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if !strings.Contains(said, "not taking part") || !strings.Contains(said, fmt.Sprintf("of %d calls", budget)) {
		t.Errorf("workers said:\n%s", said)
	}
	c.end()
	// The rest of the budget is spent by the command that goes on.
	output(t, scruple, "stop", path, "--store", c.store)
	b := exec.Command(scruple, "run", path, "--store", c.store)
	out, _ := b.CombinedOutput()
	if b.ProcessState.ExitCode() != exitNotAllowed || !strings.Contains(string(out), "the budget is exhausted: 500 of 500 calls") {
		t.Errorf("exit code %d\n%s", b.ProcessState.ExitCode(), out)
	}
	// Each is counted before it is sent: one that is killed between the two sends less.
	if n := statsOf(t, url).Requests; n > budget || n < budget-concurrency {
		t.Errorf("%d requests with a budget of %d", n, budget)
	}
}
