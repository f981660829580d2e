package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/scruple-eval/scruple/internal/text"
)

// A server of embeddings: the vector of a text is its length and the number of its
// words.
type embedder struct {
	mu       sync.Mutex
	texts    map[string]int // how often each was sent
	requests int
	fail     bool
	version  string
	refuses  func(text string) bool // refuses the whole request, as of a text that is too long
}

func (e *embedder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var in struct{ Input []string }
	_ = json.NewDecoder(r.Body).Decode(&in)
	e.requests++
	if e.fail && e.requests > 1 || e.refuses != nil && slices.ContainsFunc(in.Input, e.refuses) {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	type datum struct {
		Index     int       `json:"index"`
		Embedding []float64 `json:"embedding"`
	}
	var data []datum
	for i, s := range in.Input {
		e.texts[s]++
		data = append(data, datum{i, []float64{float64(len(s)), float64(len(strings.Fields(s)))}})
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"data": data, "model": cmp.Or(e.version, "vectors-1"), "usage": map[string]int{"prompt_tokens": 10, "total_tokens": 10}})
}

// Embeddings are asked for once a text, kept, and used for the cosines of records; the
// results of the run do not change.
func TestEmbed(t *testing.T) {
	t.Chdir(t.TempDir())
	e := &embedder{texts: map[string]int{}}
	server := httptest.NewServer(e)
	defer server.Close()
	do := commands(t)
	study := filepath.Join("mine", "study.yaml")
	do(0, "init", "extraction", "mine")
	do(0, "run", study)
	if out := do(0, "extraction", "embed", study); !strings.Contains(out, "its records have no cosines") {
		t.Errorf("without a model: %s", out)
	}
	with := func(more ...string) []string {
		return append([]string{study, "-o", fmt.Sprintf("output.embeddings={provider: openai, name: small, base_url: %s/v1, batch: 5, price: 1}", server.URL)}, more...)
	}
	before := do(0, "report", study, "--format", "json")
	if out := do(0, append([]string{"export"}, with("--table", "records")...)...); !strings.Contains(out, "have no embedding by small") {
		t.Error("missing embeddings were not named")
	}

	// A budget stops it; what was answered is kept.
	do(3, append([]string{"extraction", "embed"}, with("-o", "execution.max_calls=2", "-o", "execution.concurrency=1")...)...)
	if e.requests != 2 {
		t.Errorf("%d requests under a budget of 2", e.requests)
	}
	if out := do(0, append([]string{"extraction", "embed"}, with()...)...); !strings.Contains(out, "all texts of mine-1 have embeddings") {
		t.Error(out)
	}
	asked := e.requests
	do(0, append([]string{"extraction", "embed"}, with()...)...)
	if e.requests != asked {
		t.Error("embeddings were asked for again")
	}
	for s, n := range e.texts {
		if n > 1 {
			t.Errorf("%q was embedded %d times", s, n)
		}
	}
	if after := do(0, "report", study, "--format", "json"); after != before {
		t.Error("embeddings changed the report")
	}
	if out := do(0, "status", study); !strings.Contains(out, fmt.Sprintf("%d calls", asked)) {
		t.Errorf("the calls are not in the status:\n%s", out)
	}

	out := do(0, append([]string{"export"}, with("--table", "records", "--embeddings")...)...)
	var record struct {
		Value, Quote string
		Embedding    string
		Vector       []float64 `json:"value_embedding"`
		Cosine       *float64  `json:"cosine_quote_to_value"`
	}
	if err := json.Unmarshal([]byte(strings.SplitN(out, "\n", 2)[0]), &record); err != nil {
		t.Fatal(err)
	}
	if record.Embedding != "small" || record.Cosine == nil || len(record.Vector) != 2 || record.Vector[0] != float64(len(record.Value)) {
		t.Errorf("the first record is %+v", record)
	}
	quoted := 0
	for line := range strings.Lines(out) {
		record.Value, record.Quote, record.Cosine = "", "", nil
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatal(err)
		}
		if record.Value != "" && record.Quote != "" {
			quoted++
			if record.Cosine == nil {
				t.Errorf("a record with value and quote has no cosine: %s", line)
			}
		}
	}
	if quoted == 0 {
		t.Error("no record has value and quote")
	}
	// Vectors are those of one model, server and size.
	second := httptest.NewServer(e)
	defer second.Close()
	none := func(what string, args ...string) {
		t.Helper()
		out := do(0, append([]string{"export", study, "--table", "records"}, args...)...)
		if !strings.Contains(out, "have no embedding by") || strings.Contains(out, `"cosine_quote_to_description":0`) || strings.Contains(out, `"cosine_quote_to_description":1`) {
			t.Errorf("vectors of %s were taken", what)
		}
	}
	model := "output.embeddings={provider: openai, name: %s, base_url: %s/v1, batch: 5, price: 1}"
	none("another model", "-o", fmt.Sprintf(model, "large", server.URL))
	none("another server", "-o", fmt.Sprintf(model, "small", second.URL))
	none("another size", with("-o", "output.embeddings.dimensions=2")[1:]...)
	wide := strings.Replace(model, "batch: 5", "batch: 200", 1) // so many words that the server cannot have counted 10 tokens
	if out := do(0, "extraction", "embed", study, "-o", fmt.Sprintf(wide, "small", second.URL)); !strings.Contains(out, "all texts of mine-1 have embeddings") {
		t.Errorf("at another server: %s", out)
	}
	if out := do(0, "status", study); !strings.Contains(out, "for embeddings: of one with") {
		t.Errorf("the status does not say that texts were cut:\n%s", out)
	}
	if out := do(0, "export", study, "--table", "calls"); !strings.Contains(out, "prompt cut: ") {
		t.Error("the table of calls does not say that texts were cut")
	}
	if after := do(0, "report", study, "--format", "json"); after != before {
		t.Error("embeddings that were cut changed the report")
	}

	// A size that the server does not have is refused at once, and said.
	if out := do(4, append([]string{"extraction", "embed"}, with("-o", "output.embeddings.dimensions=3", "-o", "execution.concurrency=1")...)...); !strings.Contains(out, "2 components, although dimensions is 3") {
		t.Errorf("another size: %s", out)
	}
	if out := do(0, "status", study); !strings.Contains(out, "2 components, although dimensions is 3") {
		t.Errorf("the status has no error:\n%s", out)
	}

	// An export that fails leaves the file that was there.
	file := filepath.Join("mine", "records.jsonl")
	do(0, append([]string{"export"}, with("--table", "records", "--out", file)...)...)
	whole, err := os.ReadFile(file)
	if err != nil || len(whole) == 0 {
		t.Fatal(err)
	}
	do(2, append([]string{"export"}, with("--table", "nothing", "--out", file)...)...)
	if now, err := os.ReadFile(file); err != nil || !bytes.Equal(now, whole) {
		t.Errorf("a failed export left %d of %d bytes, %v", len(now), len(whole), err)
	}

	do(0, append([]string{"score"}, with()...)...)
	do(0, append([]string{"bundle"}, with("--out", "x.zip")...)...)
	do(0, "verify", "x.zip")

	// Rejected texts are an error, and the run stays as it is.
	if err := os.RemoveAll(filepath.Join("mine", ".scruple")); err != nil {
		t.Fatal(err)
	}
	do(0, "run", study)
	e.fail, e.requests = true, 0
	do(4, append([]string{"extraction", "embed"}, with("-o", "execution.concurrency=1")...)...)
}

// Texts that the model refuses take no others with them, in batches of any size.
func TestEmbedRefusedTexts(t *testing.T) {
	long, short := func(s string) bool { return len(s) > 50 }, func(s string) bool { return len(s) <= 14 }
	most, fewer := func(s string) bool { return len(s) > 20 }, func(s string) bool { return len(s) > 20 && (len(s) < 40 || len(s) > 60) }
	for _, c := range []struct {
		name           string
		batch          int
		refuses, later func(string) bool // later: from the second session on
	}{
		{"long, by 1", 1, long, long}, {"long, by 8", 8, long, long}, {"long, by 1000", 1000, long, long},
		{"short, by 8", 8, short, short}, {"short, by 1000", 1000, short, short}, {"fewer later", 1000, most, fewer},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			e := &embedder{texts: map[string]int{}}
			refused := map[string]bool{}
			e.refuses = func(s string) bool {
				if delete(refused, s); c.refuses(s) {
					refused[s] = true
				}
				return refused[s]
			}
			server := httptest.NewServer(e)
			defer server.Close()
			do := commands(t)
			do(0, "init", "extraction", "mine")
			do(0, "run", "mine/study.yaml")
			embed := []string{"extraction", "embed", "mine/study.yaml", "-o", "execution.concurrency=1", "-o",
				fmt.Sprintf("output.embeddings={provider: openai, name: small, base_url: %s/v1, batch: %d}", server.URL, c.batch)}
			// Each time there is an answer to the texts that can have one, and the rest is counted.
			for range 2 {
				out := do(4, embed...)
				if want := text.Plural(len(refused), "text has", "texts have"); !strings.Contains(out, want+" no embedding") || len(refused) == 0 {
					t.Errorf("want %s none:\n%s", want, out)
				}
				c.refuses = c.later
			}
			for s := range refused {
				if !c.refuses(s) {
					t.Errorf("%q, which the model takes now, has no embedding", s)
				}
			}
			e.refuses, e.version = nil, "vectors-2"
			asked := len(e.texts)
			out := do(0, embed...)
			if len(e.texts) != asked+len(refused) {
				t.Errorf("%d texts, %d of them refused at first, have %d embeddings", asked+len(refused), len(refused), len(e.texts))
			}
			doubt := fmt.Sprintf("vectors of small are of several versions (vectors-1: %d, vectors-2: %d)", asked, len(refused))
			if again, exported := do(0, embed...), do(0, append([]string{"export", "--table", "records"}, embed[2:]...)...); !strings.Contains(out, doubt) || !strings.Contains(again, doubt) || !strings.Contains(exported, doubt) {
				t.Errorf("want that %s:\n%s\n%s", doubt, out, again)
			}
		})
	}
}
