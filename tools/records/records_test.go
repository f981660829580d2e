package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// lines are records as scruple exports them, with and without vectors.
const lines = `{"item":"d1","arm":"ctn","replicate":1,"unit":"total","candidate":0,"status":"ok","value":"5","quote":"Total 5","description":"sum","value_length":1,"quote_length":7,"value_words":1,"quote_words":2,"token_ratio":2,"judge_score":1,"cosine_quote_to_value":0.5,"cosine_quote_to_description":-0.25,"extra_fields":["tax"],"embedding":"m","value_embedding":[1,0.5],"quote_embedding":[0.25,-1],"description_embedding":[3,4]}
{"item":"d1","arm":"ctn","replicate":1,"unit":"date","candidate":0,"status":"missing","value":"","quote":"","description":"day","value_length":0,"quote_length":0,"value_words":0,"quote_words":0,"token_ratio":null,"judge_score":null,"cosine_quote_to_value":null,"cosine_quote_to_description":null,"extra_fields":[],"embedding":"m"}
`

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "records.jsonl")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestParquetReadsBack(t *testing.T) {
	out := filepath.Join(t.TempDir(), "x.parquet")
	var said bytes.Buffer
	if err := run(t.Context(), []string{"parquet", write(t, lines), "--out", out}, &said); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(said.String(), "2 records") {
		t.Errorf("said %q", &said)
	}
	rows, err := parquet.ReadFile[record](out)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 2 {
		t.Fatalf("%d rows", len(rows))
	}
	r := rows[0]
	if r.Item != "d1" || r.Quote != "Total 5" || *r.QuoteAbout != -0.25 || r.ExtraFields[0] != "tax" || r.QuoteVector[1] != -1 || len(r.DescriptionVector) != 2 {
		t.Errorf("the first row is %+v", r)
	}
	if r := rows[1]; r.TokenRatio != nil || len(r.ValueVector) != 0 || r.Status != "missing" {
		t.Errorf("the second row is %+v", r)
	}
}

func TestRefusals(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"empty", "\n", "has no records"},
		{"prose", "hello\n", ":1: "},
		{"other table", `{"item":"d1","arm":"a","metric":"m"}`, `unknown field "metric"`},
		{"two records in a line", `{"item":"d1","unit":"u"} {"item":"d2","unit":"u"}`, ":1: more after the record: want one record in a line"},
		{"a comma after the record", `{"item":"d1","unit":"u"},`, ":1: more after the record"},
		{"no unit", `{"item":"d1"}`, "no item or unit"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "x.parquet")
			if err := os.WriteFile(out, []byte("keep"), 0o600); err != nil {
				t.Fatal(err)
			}
			err := run(t.Context(), []string{"parquet", write(t, tt.text), "--out", out}, io.Discard)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if kept, _ := os.ReadFile(out); string(kept) != "keep" {
				t.Error("the file that was there is gone")
			}
		})
	}
	for _, args := range [][]string{nil, {"parquet", "x"}, {"bigquery", "x"}, {"fly", "x"}, {"parquet", "x", "--no"},
		{"bigquery", write(t, lines), "--project", "p", "--dataset", "d", "--table", "t", "--endpoint", "http://example.org/"}} {
		if err := run(t.Context(), args, io.Discard); err == nil {
			t.Errorf("%v was accepted", args)
		}
	}
}

// A fake BigQuery takes one load job, and says that it is done or why not.
type warehouse struct {
	t       *testing.T
	load    map[string]any // the configuration of the job
	rows    []record
	problem string
}

func (s *warehouse) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	status := map[string]any{"state": "DONE"}
	if s.problem != "" {
		status["errorResult"] = map[string]string{"reason": "invalid", "message": s.problem}
	}
	job := map[string]any{"jobReference": map[string]string{"projectId": "p", "jobId": "j1", "location": "EU"}, "status": status,
		"configuration": map[string]any{"load": s.load}}
	if r.Method == http.MethodPost && strings.Contains(r.URL.Path, "/projects/p/jobs") {
		_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
		if err != nil {
			s.t.Error(err)
			return
		}
		parts := multipart.NewReader(r.Body, params["boundary"])
		for i := 0; ; i++ {
			p, err := parts.NextPart()
			if err != nil {
				break
			}
			body, err := io.ReadAll(p)
			if err != nil {
				s.t.Error(err)
			}
			if i == 0 {
				var sent struct {
					Configuration struct{ Load map[string]any }
				}
				if err := json.Unmarshal(body, &sent); err != nil {
					s.t.Error(err)
				}
				s.load = sent.Configuration.Load
				job["configuration"] = map[string]any{"load": s.load}
				continue
			}
			if s.rows, err = parquet.Read[record](bytes.NewReader(body), int64(len(body))); err != nil {
				s.t.Error(err)
			}
		}
	}
	_ = json.NewEncoder(w).Encode(job)
}

func TestBigQuery(t *testing.T) {
	s := &warehouse{t: t}
	server := httptest.NewServer(s)
	defer server.Close()
	args := []string{"bigquery", write(t, lines), "--project", "p", "--dataset", "d", "--table", "records", "--location", "EU", "--endpoint", server.URL + "/bigquery/v2/"}
	var said bytes.Buffer
	if err := run(t.Context(), args, &said); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(said.String(), "loaded 2 records into p.d.records") || len(s.rows) != 2 {
		t.Errorf("%s; %d rows arrived", &said, len(s.rows))
	}
	to, _ := s.load["destinationTable"].(map[string]any)
	if s.load["sourceFormat"] != "PARQUET" || s.load["writeDisposition"] != "WRITE_TRUNCATE" || to["tableId"] != "records" {
		t.Errorf("the job is %v", s.load)
	}
	if err := run(context.Background(), append(args, "--append"), io.Discard); err != nil || s.load["writeDisposition"] != "WRITE_APPEND" {
		t.Errorf("%v; the job is %v", err, s.load)
	}
	s.problem = "no such dataset"
	if err := run(t.Context(), args, io.Discard); err == nil || !strings.Contains(err.Error(), "load job j1") || !strings.Contains(err.Error(), s.problem) {
		t.Errorf("got %v", err)
	}
}
