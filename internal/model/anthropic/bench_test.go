package anthropic_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
	"github.com/scruple-eval/scruple/internal/model/anthropic"
)

const benchAnswer = `{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"{\"name\":\"Ada\",\"year\":1843,\"place\":\"London\"}"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":900,"output_tokens":40,"cache_read_input_tokens":0,"cache_creation_input_tokens":0}}`

func benchServer(b *testing.B) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, benchAnswer)
	}))
	b.Cleanup(s.Close)
	return s.URL
}

func benchPrompt() string {
	return strings.Repeat("Name: Ada Lovelace. Year: 1843. Place: London. ", 60)
}

// BenchmarkBareSDK is a bare loop over the official SDK, the measure for
// BenchmarkAdapter.
func BenchmarkBareSDK(b *testing.B) {
	client := sdk.NewClient(option.WithoutEnvironmentDefaults(), option.WithBaseURL(benchServer(b)), option.WithAPIKey("k"), option.WithMaxRetries(0),
		option.WithHTTPClient(&http.Client{Transport: model.NewTransport(16)}))
	params := sdk.MessageNewParams{Model: "claude-sonnet-4-5", MaxTokens: 1000, System: []sdk.TextBlockParam{{Text: "Answer in JSON."}},
		Messages: []sdk.MessageParam{sdk.NewUserMessage(sdk.NewTextBlock(benchPrompt()))}}
	b.ReportAllocs()
	for b.Loop() {
		r, err := client.Messages.New(b.Context(), params)
		if err != nil || r.Content[0].Text == "" {
			b.Fatal(r, err)
		}
	}
}

func BenchmarkAdapter(b *testing.B) {
	client, err := anthropic.New(model.Endpoint{BaseURL: benchServer(b), APIKey: "k", HTTP: &http.Client{Transport: model.NewTransport(16)}})
	if err != nil {
		b.Fatal(err)
	}
	request := &eval.Request{Name: "claude-sonnet-4-5", MaxTokens: 1000, System: "Answer in JSON.", Messages: []eval.Message{{Role: "user", Content: benchPrompt()}}}
	b.ReportAllocs()
	for b.Loop() {
		r, err := client.Complete(b.Context(), request)
		if err != nil || r.Text == "" {
			b.Fatal(r, err)
		}
	}
}
