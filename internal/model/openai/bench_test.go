package openai_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
	"github.com/scruple-eval/scruple/internal/model/openai"
)

const benchAnswer = `{"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"gpt-4.1","system_fingerprint":"fp","choices":[{"index":0,"message":{"role":"assistant","content":"{\"name\":\"Ada\",\"year\":1843,\"place\":\"London\"}","refusal":null},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":900,"completion_tokens":40,"total_tokens":940,"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":0}}}`

// BenchmarkComplete is one call over loopback.
func BenchmarkComplete(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, benchAnswer)
	}))
	defer server.Close()
	client, err := openai.NewChat(model.Endpoint{BaseURL: server.URL, HTTP: &http.Client{Transport: model.NewTransport(16)}})
	if err != nil {
		b.Fatal(err)
	}
	request := &eval.Request{Name: "gpt-4.1", System: "Answer in JSON.", Messages: []eval.Message{{Role: "user", Content: strings.Repeat("Name: Ada Lovelace. Year: 1843. Place: London. ", 60)}}}
	b.ReportAllocs()
	for b.Loop() {
		r, err := client.Complete(b.Context(), request)
		if err != nil || r.Text == "" {
			b.Fatal(r, err)
		}
	}
}
