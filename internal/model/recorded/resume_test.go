package recorded_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
	"github.com/scruple-eval/scruple/internal/model/openai"
	"github.com/scruple-eval/scruple/internal/model/recorded"
	"github.com/scruple-eval/scruple/internal/model/wiretest"
)

// asks is a request that does not have the key in it.
func asks(n int) *eval.Request {
	r := request(fmt.Sprint("question ", n))
	r.System = ""
	return r
}

// tape records questions from first up to but not including end. A program that
// is killed closes nothing.
func tape(t *testing.T, server *wiretest.Server, file string, resume bool, first, end int) {
	t.Helper()
	r := recorded.NewRecorder(http.DefaultTransport, secret)
	if err := r.Start(file, resume); err != nil {
		t.Fatal(err)
	}
	client, err := openai.NewChat(model.Endpoint{BaseURL: server.URL + "/v1", APIKey: secret, HTTP: &http.Client{Transport: r}})
	if err != nil {
		t.Fatal(err)
	}
	for n := first; n < end; n++ {
		server.Answer(200, answer(fmt.Sprintf(`answer %d\n—\u2028 \"- {\" 😀`, n)), map[string]string{"X-Request-Id": "id-" + secret, "Content-Type": "application/json"})
		if _, err := client.Complete(t.Context(), asks(n)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAKilledRecordingGoesOn(t *testing.T) {
	server := wiretest.NewServer(t)
	whole := filepath.Join(t.TempDir(), "whole.yaml")
	tape(t, server, whole, false, 0, 0) // killed before the first request: it is as new
	tape(t, server, whole, false, 0, 3)
	data, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), secret) {
		t.Errorf("the cassette has the key: %s", data)
	}
	if info, err := os.Stat(whole); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v (%v), want 0600", info.Mode(), err)
	}
	lines := strings.SplitAfter(string(data), "\n")
	last := len(data) - len(lines[len(lines)-2]) // where the last exchange begins
	for cut := last; cut <= len(data); cut += 37 {
		file := filepath.Join(t.TempDir(), "cut.yaml")
		if err := os.WriteFile(file, data[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := recorded.Open(file, "some-model"); err != nil {
			t.Fatalf("cut at %d: %v", cut-last, err)
		}
		tape(t, server, file, true, 2, 4)
		client := replay(t, file)
		for n := range 4 {
			if r, err := client.Complete(t.Context(), asks(n)); err != nil || !strings.HasPrefix(r.Text, fmt.Sprintf("answer %d\n—\u2028", n)) {
				t.Errorf("cut at %d: question %d: %q, %v", cut-last, n, r.Text, err)
			}
		}
	}
}

// A cassette in another program's notation is continued too.
func TestRecordingContinuesAForeignCassette(t *testing.T) {
	server := wiretest.NewServer(t)
	file := write(t, exchange(server.URL+"/v1/chat/completions", chatBody, 200, answer("first")))
	tape(t, server, file, true, 1, 2)
	client := replay(t, file)
	if r, err := client.Complete(t.Context(), simple()); err != nil || r.Text != "first" {
		t.Errorf("%q, %v", r.Text, err)
	}
	if _, err := client.Complete(t.Context(), asks(1)); err != nil {
		t.Error(err)
	}
}
