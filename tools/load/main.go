// Command load measures the overhead of Scruple: rate, CPU and memory of `scruple
// run` compared with a bare loop over the same SDK that stores nothing, with a fake
// provider on loopback, in one session on one machine. Only ratios are meaningful;
// see docs/performance.md.
//
//	go run ./tools/load
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

const (
	concurrency = 64
	latency     = 50 * time.Millisecond
	rounds      = 5 // of the comparison with a bare loop
)

var (
	calls = flag.Int("calls", 10_000, "calls per measurement")
	large = flag.Int("large", 50_000, "calls of the large memory measurement")
	store = flag.String("store", "", "measure runs at 50 ms alone, on a file and on this PostgreSQL database")
)

func main() {
	flag.Parse()
	log.SetFlags(0)
	dir, err := os.MkdirTemp("", "scruple-load")
	check(err)
	defer os.RemoveAll(dir)
	build(dir, "scruple", ".", "./cmd/scruple")
	build(dir, "fakellm", ".", "./tools/fakellm")
	if *store != "" {
		compareStores(dir)
		return
	}
	build(dir, "bare", "tools/sdk", "./bare") // a module of its own

	fmt.Printf("%-34s %10s %12s %10s %10s\n", "", "calls/s", "CPU µs/call", "peak MB", "ratio")
	for _, provider := range []string{"openai", "anthropic"} {
		fake := start(dir, 0)
		var bare, scruple measured
		for round := range rounds { // alternating, and the least CPU of each: a shared machine is never quiet for long
			bare = cheaper(bare, fake.measure("", filepath.Join(dir, "bare"), "-sdk", provider, "-url", fake.url, "-calls", fmt.Sprint(*calls)))
			scruple = cheaper(scruple, fake.scruple(dir, fmt.Sprint("cpu-", provider, round), provider, *calls))
		}
		show("bare "+provider+" SDK, 0 ms", bare, *calls, "")
		show("scruple, "+provider+", 0 ms", scruple, *calls, fmt.Sprintf("CPU ×%.2f", scruple.cpu.Seconds()/bare.cpu.Seconds()))
		fake.stop()
	}

	fake := start(dir, latency)
	s := fake.scruple(dir, "rate", "openai", *calls)
	ideal := concurrency / latency.Seconds()
	show("scruple, openai, 50 ms", s, *calls, fmt.Sprintf("%.1f %% of ideal", 100*s.rate/ideal))
	fake.stop()

	fake = start(dir, 0)
	m := fake.scruple(dir, "large", "openai", *large)
	show(fmt.Sprintf("scruple, %d trials, 0 ms", *large), m, *large, fmt.Sprintf("memory ×%.2f", m.peak/s.peak))
	fake.stop()

	path := filepath.Join(dir, "large", "study.yaml")
	r := run(dir, filepath.Join(dir, "scruple"), "score", path, "--json")
	fmt.Printf("%-34s %10.0f answers/s, all of `scruple score` on %d calls\n", "scruple score", float64(*large)/r.wall.Seconds(), *large)
}

// compareStores runs the same study on a file and on PostgreSQL in turn, and shows the fastest
// run of each. Later runs look for each answer in earlier ones, whose server is another.
func compareStores(dir string) {
	fmt.Printf("%-34s %10s %12s %10s %10s\n", "", "calls/s", "CPU µs/call", "peak MB", "ratio")
	var file, shared measured
	for range 3 {
		for _, to := range []struct {
			best *measured
			name string
		}{{&file, filepath.Join(dir, "store.db")}, {&shared, *store}} {
			fake := start(dir, latency)
			if m := fake.scruple(dir, "store", "openai", *calls, "--new", "--store", to.name); m.rate > to.best.rate {
				*to.best = m
			}
			fake.stop()
		}
	}
	ideal := concurrency / latency.Seconds()
	show("scruple, openai, 50 ms, SQLite", file, *calls, fmt.Sprintf("%.1f %% of ideal", 100*file.rate/ideal))
	show("scruple, openai, 50 ms, PostgreSQL", shared, *calls, fmt.Sprintf("%.1f %% of SQLite", 100*shared.rate/file.rate))
}

func cheaper(a, b measured) measured {
	if a.cpu == 0 || b.cpu < a.cpu {
		return b
	}
	return a
}

func show(name string, m measured, n int, ratio string) {
	fmt.Printf("%-34s %10.0f %12.1f %10.1f %s\n", name, m.rate, float64(m.cpu.Microseconds())/float64(n), m.peak, ratio)
}

func build(dir, name, module, pkg string) {
	out, err := exec.Command("go", "-C", module, "build", "-trimpath", "-ldflags=-s -w", "-o", filepath.Join(dir, name), pkg).CombinedOutput()
	if err != nil {
		log.Fatalf("building %s: %v\n%s", pkg, err, out)
	}
}

type measured struct {
	wall, cpu time.Duration
	peak      float64 // MB
	rate      float64 // calls a second, as the server saw them
}

func run(dir, program string, args ...string) measured {
	c := exec.Command(program, args...)
	c.Dir = dir
	var errs bytes.Buffer
	c.Stderr, c.Stdout = &errs, io.Discard
	begun := time.Now()
	check(c.Start())
	peak := make(chan float64)
	over := make(chan struct{})
	go func() { peak <- watch(c.Process.Pid, over) }()
	err := c.Wait()
	close(over)
	if err != nil {
		log.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, errs.String())
	}
	return measured{wall: time.Since(begun), cpu: c.ProcessState.UserTime() + c.ProcessState.SystemTime(), peak: <-peak}
}

// watch reads the peak memory of a process, in MB, until it ends. What wait
// reports would count the memory of this program too, from before the exec.
func watch(pid int, over chan struct{}) float64 {
	var peak float64
	for {
		if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)); err == nil {
			var kb float64
			if _, line, ok := strings.Cut(string(b), "VmHWM:"); ok {
				if _, err := fmt.Sscan(line, &kb); err == nil {
					peak = max(peak, kb/1024)
				}
			}
		}
		select {
		case <-over:
			return peak
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// A server is a fakellm process.
type server struct {
	cmd *exec.Cmd
	url string
}

func start(dir string, latency time.Duration) *server {
	c := exec.Command(filepath.Join(dir, "fakellm"), "-port", "0", "-latency", latency.String())
	out, err := c.StdoutPipe()
	check(err)
	check(c.Start())
	line := make([]byte, 200)
	n, err := out.Read(line)
	check(err)
	url := regexp.MustCompile(`http://\S+`).FindString(string(line[:n]))
	return &server{c, url}
}

func (s *server) stop() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// rate is how many requests a second the server got since it was last asked at /reset.
func (s *server) rate(path string) float64 {
	r, err := http.Get(s.url + path)
	check(err)
	defer r.Body.Close()
	var stats struct {
		Rate float64 `json:"requests_per_s"`
	}
	check(json.NewDecoder(r.Body).Decode(&stats))
	return stats.Rate
}

// measure runs a program that asks the server.
func (s *server) measure(dir, program string, args ...string) measured {
	s.rate("/reset")
	m := run(dir, program, args...)
	m.rate = s.rate("/stats")
	return m
}

// scruple runs a study of n calls.
func (s *server) scruple(dir, name, provider string, n int, flags ...string) measured {
	args := []string{"run", study(dir, name, provider, s.url, n), "--json"}
	return s.measure(dir, filepath.Join(dir, "scruple"), append(args, flags...)...)
}

// study writes a study of n documents of about 1 kB with five fields.
func study(dir, name, provider, url string, n int) string {
	folder := filepath.Join(dir, name)
	check(os.MkdirAll(filepath.Join(folder, "schemas"), 0o755))
	fields := []string{"invoice_number", "invoice_date", "due_date", "total_amount", "vendor_name"}
	schema := map[string]any{"name": "load", "fields": []any{}}
	for _, f := range fields {
		schema["fields"] = append(schema["fields"].([]any), map[string]string{"name": f, "type": "string", "description": f})
	}
	text, err := json.Marshal(schema)
	check(err)
	check(os.WriteFile(filepath.Join(folder, "schemas", "load.json"), text, 0o644))
	var b bytes.Buffer
	for i := range n {
		var text strings.Builder
		var gold []any
		text.WriteString("---PAGE 1---\n")
		for k, f := range fields {
			value := fmt.Sprintf("value %d of %s %d", k, f, i)
			fmt.Fprintf(&text, "%s: %s\n%s\n", strings.ToUpper(f[:1])+f[1:], value, strings.Repeat("some words around it ", 6))
			gold = append(gold, map[string]any{"field": f, "exists_in_document": true, "is_ambiguous": false, "correct_value": value,
				"acceptable_values": []string{value}, "evidence_quote": value, "page": 1})
		}
		line, err := json.Marshal(map[string]any{"document_id": fmt.Sprintf("doc-%06d", i), "text": text.String(), "schema": "load", "ground_truth": gold})
		check(err)
		b.Write(append(line, '\n'))
	}
	check(os.WriteFile(filepath.Join(folder, "documents.jsonl"), b.Bytes(), 0o644))
	check(os.WriteFile(filepath.Join(folder, "kernel.txt"), []byte("Extract these fields.\n{{SCHEMA}}\n{{OUTPUT_FORMAT}}\n"), 0o644))
	if provider == "openai" {
		url += "/v1"
	}
	path := filepath.Join(folder, "study.yaml")
	check(os.WriteFile(path, fmt.Appendf(nil, `name: %s
suite: extraction
data: {source: jsonl, path: documents.jsonl}
arms: [{name: k, path: kernel.txt}]
models: [{id: fake, provider: %s, name: any, base_url: %q, temperature: 0, max_tokens: 256}]
execution: {concurrency: %d}
`, name, provider, url, concurrency), 0o644))
	return path
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
