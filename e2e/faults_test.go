//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/experiment"
)

// A provider is an OpenAI-compatible server whose faults depend on the document.
type provider struct {
	*httptest.Server
	requests atomic.Int64
	inside   atomic.Int64
	peak     atomic.Int64
}

// usage is sent with answers of providers that count tokens.
const usage = `{"prompt_tokens": 90, "completion_tokens": 10, "total_tokens": 100}`

// provide starts a provider. fault returns the status of the answer about a
// document, and how long it takes; usage is the JSON of token counts, or "".
func provide(t testing.TB, usage string, fault func(document int) (status int, takes time.Duration)) *provider {
	t.Helper()
	number := regexp.MustCompile(`M-(\d{4})`)
	p := &provider{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.requests.Add(1)
		if in := p.inside.Add(1); in > p.peak.Load() {
			p.peak.Store(in)
		}
		defer p.inside.Add(-1)
		body, _ := io.ReadAll(r.Body)
		document := 0
		if m := number.FindSubmatch(body); m != nil {
			_, _ = fmt.Sscanf(string(m[1]), "%d", &document)
		}
		status, takes := fault(document)
		time.Sleep(takes)
		w.Header().Set("Content-Type", "application/json")
		if status != http.StatusOK {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, `{"error": {"message": "this text is not to our liking"}}`)
			return
		}
		answer := map[string]any{"id": "c", "object": "chat.completion", "model": "any-1",
			"choices": []any{map[string]any{"index": 0, "finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": `{"extractions": []}`}}}}
		if usage != "" {
			answer["usage"] = json.RawMessage(usage)
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(p.Close)
	return p
}

// attempt runs the program and returns its exit code and output.
func attempt(t testing.TB, program string, args ...string) (code int, out string) {
	t.Helper()
	var b bytes.Buffer
	c := exec.Command(program, args...)
	c.Stdout, c.Stderr = &b, &b
	var failed *exec.ExitError
	if err := c.Run(); err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), strings.Join(strings.Fields(b.String()), " ") // lines are wrapped
}

// killed runs the program and kills it after the provider was sent n more requests.
func (p *provider) killed(t testing.TB, n int64, program string, args ...string) {
	t.Helper()
	before := p.requests.Load()
	c := exec.Command(program, args...)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	for len(ended) == 0 && p.requests.Load() < before+n {
		time.Sleep(time.Millisecond)
	}
	_ = c.Process.Kill()
	<-ended
}

func statusOfRun(t testing.TB, program, path string) (s experiment.Status) {
	t.Helper()
	if err := json.Unmarshal([]byte(output(t, program, "status", path, "--json")), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// Six of 120 documents are rejected whenever they are asked, in the order that the
// provider's speed makes of it: the run ends, and they are counted.
func TestRejectedDocuments(t *testing.T) {
	t.Parallel()
	scruple := findScruple(t)
	for _, test := range []struct {
		name        string
		status      int
		concurrency int
		kills       int
		maxFailed   float64
		code        int
	}{
		{"one at a time", 400, 1, 0, 0.06, exitOK},
		{"sixteen", 422, 16, 0, 0.06, exitOK},
		{"all at once", 403, 128, 0, 0.06, exitOK},
		{"five kills", 400, 8, 5, 0.06, exitOK},
		{"more than allowed", 404, 16, 0, 0.04, exitInfrastructure},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := provide(t, usage, func(document int) (int, time.Duration) {
				if document%20 == 7 {
					return test.status, 0 // rejected at once, before any answer
				}
				return http.StatusOK, 5 * time.Millisecond
			})
			path := invoices(t, t.TempDir(), p.URL, 120, fmt.Sprintf("{concurrency: %d, retries: [10ms], max_failed: %v}", test.concurrency, test.maxFailed))
			args := []string{"run", path}
			for range test.kills {
				p.killed(t, 18, scruple, args...)
			}
			code, out := attempt(t, scruple, args...)
			if code != test.code {
				t.Fatalf("exit code %d, want %d\n%s", code, test.code, out)
			}
			if s := statusOfRun(t, scruple, path); s.Done != 2*120 || s.Failed != 6 {
				t.Errorf("%d trials done, %d failed; want 240 and 6", s.Done, s.Failed)
			}
			outcomes := output(t, scruple, "export", path, "--table", "outcomes")
			ok := strings.Count(outcomes, `"arm":"k","replicate":1,"outcome":"ok"`)
			failed := strings.Count(outcomes, `"outcome":"failed","reason":"`)
			if ok != 114 || failed != 6 {
				t.Errorf("%d ok, %d failed; want 114 and 6", ok, failed)
			}
			sent := p.requests.Load()
			if code, out := attempt(t, scruple, append(args, "--retry-failed")...); code != test.code || p.requests.Load() != sent+6 {
				t.Errorf("retrying: exit code %d, want %d; %d requests, want 6\n%s", code, test.code, p.requests.Load()-sent, out)
			}
		})
	}
}

// A study whose every request is rejected ends early, names the cause, and records
// no trial as failed: the corrected study asks them.
func TestARejectedStudyEndsEarly(t *testing.T) {
	t.Parallel()
	scruple := findScruple(t)
	var bad atomic.Bool
	p := provide(t, usage, func(int) (int, time.Duration) {
		if bad.Load() {
			return http.StatusBadRequest, 0
		}
		return http.StatusOK, 0
	})
	path := invoices(t, t.TempDir(), p.URL, 120, "{concurrency: 4, retries: [10ms]}")
	bad.Store(true)
	code, out := attempt(t, scruple, "run", path)
	if code != exitInfrastructure || !strings.Contains(out, "no request of arm k was accepted") || !strings.Contains(out, "not to our liking") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	// Five, those in flight when they began, and the trials begun when they ended.
	if n := p.requests.Load(); n > 5+4+(4+8) {
		t.Errorf("%d requests before the run ended", n)
	}
	bad.Store(false)
	if code, out := attempt(t, scruple, "run", path); code != exitOK {
		t.Errorf("corrected: exit code %d\n%s", code, out)
	}
	if s := statusOfRun(t, scruple, path); s.Failed != 0 {
		t.Errorf("%d failed", s.Failed)
	}
}

// A provider that nobody runs ends the run at once, and so does a pipeline that
// exits at once, whatever the schedule of retries.
func TestDeadProviders(t *testing.T) {
	scruple := findScruple(t)
	gone := httptest.NewServer(nil)
	gone.Close()
	secure := httptest.NewUnstartedServer(nil)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	const execution = "{concurrency: 4, retries: [1m, 1m, 1m], timeout: 60s}"
	for _, test := range []struct{ name, url, remedy string }{
		{"refused", gone.URL, "server is running"},
		{"certificate", secure.URL, "certificate"},
	} {
		for _, documents := range []int{1, 40} {
			t.Run(fmt.Sprint(test.name, " ", documents), func(t *testing.T) {
				t.Setenv("OPENAI_API_KEY", "sk-of-nobody")
				path := invoices(t, t.TempDir(), test.url, documents, execution)
				begun := time.Now()
				code, out := attempt(t, scruple, "run", path)
				if took := time.Since(begun); code != exitInfrastructure || took > time.Minute || !strings.Contains(out, test.remedy) {
					t.Errorf("exit code %d after %v\n%s", code, took, out)
				}
				if s := statusOfRun(t, scruple, path); s.Failed != 0 {
					t.Errorf("%d trials failed, want none: nobody was asked", s.Failed)
				}
			})
		}
	}
	t.Run("pipeline", func(t *testing.T) {
		path := invoices(t, t.TempDir(), gone.URL, 3, execution)
		writeTestFile(t, path, fmt.Sprintf("name: memos\nsuite: extraction\ndata: {source: jsonl, path: memos.jsonl}\narms: [{name: mine, exec: \"'%s' no-such-verb\"}]\nexecution: %s\n", filepath.ToSlash(scruple), execution))
		begun := time.Now()
		code, out := attempt(t, scruple, "run", path)
		if took := time.Since(begun); code != exitInfrastructure || took > time.Minute || !strings.Contains(out, "exited without an answer") {
			t.Errorf("exit code %d after %v\n%s", code, took, out)
		}
	})
}

// A budget of 300 calls is not exceeded by more than the calls in flight, through
// kills and faults: what waits for a retry is not forgotten.
func TestBudgetThroughKills(t *testing.T) {
	t.Parallel()
	const budget, concurrency, kills = 300, 16, 12
	scruple := findScruple(t)
	var rng = rand.New(rand.NewPCG(5, 6))
	coin := make(chan float64)
	go func() {
		for {
			coin <- rng.Float64()
		}
	}()
	p := provide(t, usage, func(int) (int, time.Duration) {
		if <-coin < 0.3 {
			return http.StatusInternalServerError, 5 * time.Millisecond
		}
		return http.StatusOK, 5 * time.Millisecond
	})
	path := invoices(t, t.TempDir(), p.URL, 600, fmt.Sprintf("{concurrency: %d, retries: [200ms, 200ms, 200ms], max_calls: %d}", concurrency, budget))
	for range kills {
		p.killed(t, 20, scruple, "run", path)
	}
	for range 3 { // a stopped run stays stopped
		if code, out := attempt(t, scruple, "run", path); code != exitNotAllowed || !strings.Contains(out, "300 of 300 calls") {
			t.Fatalf("exit code %d\n%s", code, out)
		}
	}
	if n := p.requests.Load(); n > budget+concurrency || n < budget-kills*concurrency {
		t.Errorf("%d requests for a budget of %d calls", n, budget)
	}
	if s := statusOfRun(t, scruple, path); s.Calls != budget {
		t.Errorf("status shows %d calls, want %d", s.Calls, budget)
	}
}

// Providers that do not count tokens, or count what cannot be, are estimated: the
// budget binds, and status and report tell.
func TestBudgetWithoutUsage(t *testing.T) {
	t.Parallel()
	scruple := findScruple(t)
	for name, sent := range map[string]string{
		"none":     "",
		"null":     "null",
		"zero":     `{"prompt_tokens": 0, "completion_tokens": 0}`,
		"negative": `{"prompt_tokens": -1000000, "completion_tokens": 5}`,
		"absurd":   `{"prompt_tokens": 9000000000000000, "completion_tokens": 5}`,
	} {
		t.Run(name, func(t *testing.T) {
			p := provide(t, sent, func(int) (int, time.Duration) { return http.StatusOK, time.Millisecond })
			path := invoices(t, t.TempDir(), p.URL, 200, "{concurrency: 4}")
			study := []string{path, "-o", "models[fake].price={input: 1, output: 2}"}
			for _, limit := range []string{"execution.max_tokens=5000", "execution.max_cost=0.004"} {
				store := filepath.Join(t.TempDir(), "s.db")
				before := p.requests.Load()
				args := append([]string{"--store", store, "-o", limit}, study...)
				code, out := attempt(t, scruple, append([]string{"run"}, args...)...)
				if code != exitNotAllowed || !strings.Contains(out, "budget is exhausted") || !strings.Contains(out, "did not count the tokens") {
					t.Errorf("%s: exit code %d\n%s", limit, code, out)
				}
				// A request has about 400 bytes and its answer 20: 100 tokens or
				// more, and no more than 1 a byte.
				if n := p.requests.Load() - before; n < 5 || n > 60 {
					t.Errorf("%s: stopped after %d requests", limit, n)
				}
				// Both read the run with the settings that it was made with.
				if _, out = attempt(t, scruple, "report", path, "--store", store); !strings.Contains(out, "are estimated") {
					t.Errorf("%s: report\n%s", limit, out)
				}
				_, out = attempt(t, scruple, "status", path, "--store", store)
				if !strings.Contains(out, "is estimated") {
					t.Errorf("%s: status\n%s", limit, out)
				}
			}
		})
	}
}

// Each call carries when each of its requests was sent and by which process, over
// two sessions.
func TestCallsCarryTimes(t *testing.T) {
	t.Parallel()
	scruple := findScruple(t)
	var down atomic.Bool
	down.Store(true)
	p := provide(t, usage, func(int) (int, time.Duration) {
		if down.Load() {
			return http.StatusInternalServerError, 0
		}
		return http.StatusOK, 0
	})
	path := invoices(t, t.TempDir(), p.URL, 1, "{retries: [10ms], max_failed: 1}")
	begun := time.Now().Add(-time.Microsecond)
	output(t, scruple, "run", path)
	down.Store(false)
	output(t, scruple, "run", "--retry-failed", path)
	var call struct {
		SentAt   time.Time `json:"sent_at"`
		Process  string
		Attempts int
		Sent     []struct {
			At        time.Time
			Process   string
			Ended     bool
			ErrorKind string `json:"error_kind"`
		}
	}
	if err := json.Unmarshal([]byte(output(t, scruple, "export", path, "--table", "calls")), &call); err != nil {
		t.Fatal(err)
	}
	if call.Attempts != 3 || len(call.Sent) != 3 {
		t.Fatalf("%+v", call)
	}
	for i, s := range call.Sent {
		kind := map[bool]string{true: "unavailable"}[i < 2]
		if !s.Ended || s.ErrorKind != kind || s.At.Before(begun) || time.Since(s.At) > time.Minute {
			t.Errorf("request %d: %+v", i, s)
		}
		begun = s.At
	}
	last := call.Sent[2]
	if !call.SentAt.Equal(last.At) || call.Process != last.Process || last.Process == call.Sent[0].Process || call.Sent[0].Process != call.Sent[1].Process {
		t.Errorf("%+v", call)
	}
}

// The words of a refusal, which some providers send beside an empty answer, are shown
// with the trial and in the warning about its arm.
func TestWordsOfARefusal(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id": "c", "object": "chat.completion", "model": "any-1", "usage": `+usage+`,
			"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": null, "refusal": "I will not read memos."}}]}`)
	}))
	t.Cleanup(server.Close)
	scruple := findScruple(t)
	path := invoices(t, t.TempDir(), server.URL, 3, "{concurrency: 1}")
	if out := output(t, scruple, "run", path); !strings.Contains(strings.Join(strings.Fields(out), " "), `is of item memo-0000: "I will not read memos."`) {
		t.Errorf("the warning lacks the words:\n%s", out)
	}
	if out := output(t, scruple, "show", path, "memo-0000", "k"); !strings.Contains(out, "Raw answer\n  I will not read memos.") {
		t.Errorf("the trial lacks the words:\n%s", out)
	}
}
