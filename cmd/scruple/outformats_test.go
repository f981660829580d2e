package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/columnar"
	"github.com/scruple-eval/scruple/internal/experiment"
)

// TestOTel: spans of calls and trials come at a server of OTLP, without what was asked and
// answered unless that is wanted. A server that refuses is an error.
func TestOTel(t *testing.T) {
	t.Chdir(t.TempDir())
	if code, _, errs := cli(t, "init", "qa", "q"); code != exitOK {
		t.Fatal(errs)
	}
	if code, _, errs := cli(t, "run", "q/study.yaml"); code != exitOK {
		t.Fatal(errs)
	}
	var bodies []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/traces" || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
			http.Error(w, "no such path", http.StatusNotFound)
			return
		}
		data, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(data))
	}))
	defer server.Close()
	if code, out, errs := cli(t, "export", "q/study.yaml", "--format", "otel", "--out", server.URL+"/v1/traces"); code != exitOK || !strings.Contains(out, "sent 648 spans") {
		t.Fatal(out, errs)
	}
	kinds, scores, ids := map[string]int{}, 0, map[string]bool{}
	for _, body := range bodies {
		var q struct {
			ResourceSpans []struct {
				ScopeSpans []struct {
					Spans []struct {
						TraceID, SpanID, ParentSpanID, Name string
						StartTimeUnixNano, EndTimeUnixNano  string
						Events                              []struct{ Name string }
					}
				}
			}
		}
		must(t, json.Unmarshal([]byte(body), &q))
		for _, s := range q.ResourceSpans[0].ScopeSpans[0].Spans {
			name, _, _ := strings.Cut(s.Name, " ")
			kinds[name]++
			scores += len(s.Events)
			if len(s.TraceID) != 32 || len(s.SpanID) != 16 || ids[s.SpanID] || (s.ParentSpanID == "") != (name == "trial") || s.EndTimeUnixNano < s.StartTimeUnixNano {
				t.Fatalf("%+v", s)
			}
			ids[s.SpanID] = true
		}
		if strings.Contains(body, "Nairobi") {
			t.Error("an answer is sent")
		}
	}
	if kinds["trial"] != 420 || kinds["chat"] != 228 || scores < 420 {
		t.Errorf("%v, %d scores", kinds, scores)
	}
	bodies = nil
	if code, _, errs := cli(t, "export", "q/study.yaml", "--format", "otel", "--content", "--out", server.URL+"/v1/traces"); code != exitOK || !strings.Contains(strings.Join(bodies, ""), "Nairobi") {
		t.Error("--content sends no answers", errs)
	}
	if code, _, errs := cli(t, "export", "q/study.yaml", "--format", "otel", "--out", server.URL); code != exitUsage || !strings.Contains(errs, "404") || !strings.Contains(errs, "/v1/traces") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	// What the server rejects is no success, and while it is busy the export waits.
	for _, c := range []struct {
		name     string
		statuses []int // the last one is of all further requests
		answer   string
		code     int
		says     string
	}{
		{"some rejected", []int{200}, `{"partialSuccess": {"rejectedSpans": "2", "errorMessage": "too old"}}`, exitInfrastructure, "rejected 4 spans: too old"},
		{"a warning", []int{200}, `{"partialSuccess": {"errorMessage": "use gzip"}}`, exitOK, "says: use gzip"},
		{"busy at first", []int{503, 429, 200}, "{}", exitOK, ""},
		{"busy", []int{429}, "slow down", exitInfrastructure, "status 429 Too Many Requests: slow down\n"},
		{"no key", []int{401}, "who?", exitInfrastructure, "status 401 Unauthorized: who?\n"},
	} {
		requests := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After-Ms", "1")
			w.WriteHeader(c.statuses[min(requests, len(c.statuses)-1)])
			requests++
			io.WriteString(w, c.answer)
		}))
		code, out, errs := cli(t, "export", "q/study.yaml", "--format", "otel", "--out", server.URL+"/v1/traces")
		server.Close()
		if code != c.code || !strings.Contains(errs, c.says) || c.code == exitOK && !strings.Contains(out, "sent 648 spans") {
			t.Errorf("%s: exit code %d: %s%s", c.name, code, out, errs)
		}
	}
	// Nothing is sent to another address, and what the server says of the key is not shown.
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s is sent elsewhere", r.Method) }))
	defer elsewhere.Close()
	for _, status := range []int{http.StatusFound, http.StatusTemporaryRedirect} {
		moved := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", elsewhere.URL)
			w.WriteHeader(status)
			io.WriteString(w, "wrong key "+r.URL.Query().Get("api-key"))
		}))
		code, out, errs := cli(t, "export", "q/study.yaml", "--format", "otel", "--out", moved.URL+"/v1/traces?api-key=Schluessel77")
		moved.Close()
		if code != exitUsage || !strings.Contains(errs, "status 30") || strings.Contains(out+errs, "Schluessel77") {
			t.Errorf("exit code %d: %s%s", code, out, errs)
		}
	}
	python := os.Getenv("SCRUPLE_PYTHON") // with inspect-ai: what the tool itself reads
	if python == "" {
		t.Skip("SCRUPLE_PYTHON names no Python with inspect-ai")
	}
	if code, _, errs := cli(t, "export", "q/study.yaml", "--format", "inspect", "--out", "logs"); code != exitOK {
		t.Fatal(errs)
	}
	files, err := filepath.Glob("logs/*.eval")
	must(t, err)
	out, err := exec.Command(python, append([]string{"-c", `import sys
from inspect_ai.log import read_eval_log
print(sum(len(read_eval_log(f).samples) for f in sys.argv[1:]))`}, files...)...).CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "252" {
		t.Errorf("inspect-ai reads %s, %v", out, err)
	}
}

// TestKindsOfColumns: every column that is a number in a table is one in Parquet.
func TestKindsOfColumns(t *testing.T) {
	for _, table := range experiment.TableNames() {
		for _, column := range experiment.TableColumns(table) {
			number := strings.HasSuffix(column, "_tokens") || strings.HasSuffix(column, "_ms") || strings.HasSuffix(column, "_usd") || column == "num" || column == "replicate"
			if kind := kindOf(column, table); number != (kind == columnar.Int || kind == columnar.Float) && number {
				t.Errorf("%s of %s is of kind %d", column, table, kind)
			}
		}
	}
}
