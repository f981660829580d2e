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
)

// file is a file that begins like Parquet.
func file(t *testing.T, text string) string {
	t.Helper()
	f := filepath.Join(t.TempDir(), "records.parquet")
	if err := os.WriteFile(f, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestRefusals(t *testing.T) {
	to := []string{"--project", "p", "--dataset", "d", "--table", "t"}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{nil, "usage:"},
		{[]string{"fly", "x"}, "usage:"},
		{[]string{"bigquery", "x", "--no"}, "usage:"},
		{[]string{"bigquery", "x", "y"}, `unexpected argument "y"`},
		{[]string{"bigquery", "x"}, "give --project"},
		{append([]string{"bigquery", "none.parquet"}, to...), "none.parquet"},
		{append([]string{"bigquery", file(t, `{"item":"d1"}`)}, to...), "no Parquet file: want the output of scruple export"},
		{append([]string{"bigquery", file(t, "PA")}, to...), "no Parquet file"},
		{append([]string{"bigquery", file(t, "PAR1"), "--endpoint", "http://example.org/"}, to...), "want a server on loopback"},
	} {
		if err := run(t.Context(), tt.args, io.Discard); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: got %v, want %q", tt.args, err, tt.want)
		}
	}
}

// A fake BigQuery takes one load job, and says that it is done or why not.
type warehouse struct {
	t       *testing.T
	load    map[string]any // the configuration of the job
	data    string
	problem string
}

func (s *warehouse) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	status := map[string]any{"state": "DONE"}
	if s.problem != "" {
		status["errorResult"] = map[string]string{"reason": "invalid", "message": s.problem}
	}
	job := map[string]any{"jobReference": map[string]string{"projectId": "p", "jobId": "j1", "location": "EU"}, "status": status,
		"configuration": map[string]any{"load": s.load},
		"statistics":    map[string]any{"load": map[string]string{"outputRows": "2"}}}
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
			s.data = string(body)
		}
	}
	_ = json.NewEncoder(w).Encode(job)
}

func TestBigQuery(t *testing.T) {
	s := &warehouse{t: t}
	server := httptest.NewServer(s)
	defer server.Close()
	args := []string{"bigquery", file(t, "PAR1 rows"), "--project", "p", "--dataset", "d", "--table", "records", "--location", "EU", "--endpoint", server.URL + "/bigquery/v2/"}
	var said bytes.Buffer
	if err := run(t.Context(), args, &said); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(said.String(), "loaded 2 records into p.d.records") || s.data != "PAR1 rows" {
		t.Errorf("%s; %q arrived", &said, s.data)
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
