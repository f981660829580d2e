package google_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
	"github.com/scruple-eval/scruple/internal/model/google"
)

const benchAnswer = `{"candidates":[{"content":{"parts":[{"text":"{\"name\":\"Ada\",\"year\":1843,\"place\":\"London\"}"}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":900,"candidatesTokenCount":40,"totalTokenCount":940},"modelVersion":"gemini-2.5-flash","responseId":"r"}`

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
	client, err := genai.NewClient(b.Context(), &genai.ClientConfig{Backend: genai.BackendGeminiAPI, APIKey: "k",
		HTTPClient: &http.Client{Transport: model.NewTransport(16)}, HTTPOptions: genai.HTTPOptions{BaseURL: benchServer(b)}})
	if err != nil {
		b.Fatal(err)
	}
	config := &genai.GenerateContentConfig{SystemInstruction: genai.NewContentFromText("Answer in JSON.", ""), MaxOutputTokens: 1000}
	b.ReportAllocs()
	for b.Loop() {
		r, err := client.Models.GenerateContent(b.Context(), "gemini-2.5-flash", genai.Text(benchPrompt()), config)
		if err != nil || r.Text() == "" {
			b.Fatal(r, err)
		}
	}
}

func BenchmarkAdapter(b *testing.B) {
	client, err := google.New(model.Endpoint{BaseURL: benchServer(b), APIKey: "k", HTTP: &http.Client{Transport: model.NewTransport(16)}})
	if err != nil {
		b.Fatal(err)
	}
	request := &eval.Request{Name: "gemini-2.5-flash", MaxTokens: 1000, System: "Answer in JSON.", Messages: []eval.Message{{Role: "user", Content: benchPrompt()}}}
	b.ReportAllocs()
	for b.Loop() {
		r, err := client.Complete(b.Context(), request)
		if err != nil || r.Text == "" {
			b.Fatal(r, err)
		}
	}
}
