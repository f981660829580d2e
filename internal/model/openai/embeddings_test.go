package openai

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/embed"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
)

func TestEmbeddings(t *testing.T) {
	for _, tt := range []struct{ name, body, want, err string }{
		{"numbers", `{"data":[{"index":1,"embedding":[0,1]},{"index":0,"embedding":[1,0]}],"model":"m-1","usage":{"prompt_tokens":7,"total_tokens":7}}`, "1 0", ""},
		{"base64", `{"data":[{"index":0,"embedding":"AACAPwAAAAA="},{"index":1,"embedding":"AAAAAAAAgD8="}],"model":"m-1","usage":{"prompt_tokens":7}}`, "1 0", ""},
		{"usage as text", `{"data":[{"index":0,"embedding":[1,0]},{"index":1,"embedding":[0,1]}],"model":"m-1","usage":{"prompt_tokens":"7","total_tokens":7.0}}`, "1 0", ""},
		{"too few", `{"data":[{"index":0,"embedding":[1,0]}]}`, "", "1 embeddings for 2 texts"},
		{"twice", `{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}`, "", "numbered wrongly"},
		{"outside", `{"data":[{"index":-1,"embedding":[1]},{"index":9,"embedding":[1]}]}`, "", "numbered wrongly"},
		{"null", `{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[null]}]}`, "", "a component is null"},
		{"lengths", `{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[1,2]}]}`, "", "several lengths"},
		{"another size than asked for", `{"data":[{"index":0,"embedding":[1,0,0]},{"index":1,"embedding":[0,1,0]}]}`, "", "3 components, although dimensions is 2: the server or model cannot shorten them, so remove dimensions"},
		{"empty", `{"data":[{"index":0,"embedding":[]},{"index":1,"embedding":[]}]}`, "", "it is empty"},
		{"no vector", `{"data":[{"index":0},{"index":1}]}`, "", "embedding 0"},
		{"error", `{"error":{"message":"no such model","type":"invalid_request_error"}}`, "", "no such model"},
		{"too few, with usage", `{"data":[{"index":0,"embedding":[1,0]}],"usage":{"prompt_tokens":7}}`, "", "1 embeddings for 2 texts"},
		{"several lengths, with usage", `{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[1,2]}],"usage":{"prompt_tokens":7}}`, "", "several lengths"},
		{"nothing", `{}`, "", "0 embeddings for 2 texts"},
		{"prose", `hello`, "", "not JSON"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var sent map[string]any
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/v1/embeddings" {
					t.Errorf("asked at %s", r.URL.Path)
				}
				_ = json.NewDecoder(r.Body).Decode(&sent)
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(tt.body))
			}))
			defer server.Close()
			c, err := NewEmbeddings(model.Endpoint{BaseURL: server.URL + "/v1"})
			if err != nil {
				t.Fatal(err)
			}
			got, err := c.Complete(t.Context(), &eval.Request{Name: "small", Payload: json.RawMessage(`{"dimensions":2}`),
				Messages: []eval.Message{{Role: "user", Content: "a"}, {Role: "user", Content: strings.Repeat("b ", 400)}}})
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("got %v, want %q", err, tt.err)
				}
				if stated := strings.Contains(tt.body, `"usage"`); stated && got.Usage.Input != 7 {
					t.Errorf("usage %+v, want that of the body", got.Usage)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if sent["model"] != "small" || sent["dimensions"] != 2.0 || len(sent["input"].([]any)) != 2 {
				t.Errorf("sent %v", sent)
			}
			set := embed.NewSet("small")
			if err := set.Add(got.Text, "v1"); err != nil {
				t.Fatal(err)
			}
			if a := set.Of("a"); len(a) != 2 || a[0] != 1 || a[1] != 0 {
				t.Errorf("the embedding of a is %v", a)
			}
			if _, ok := eval.CutIn(got.Adapted); !ok {
				t.Errorf("7 tokens of 401 words are noted as %q", got.Adapted)
			}
			if got.Usage.Input != 7 || got.ModelVersion != "m-1" {
				t.Errorf("usage %v of %s", got.Usage, got.ModelVersion)
			}
		})
	}
}
