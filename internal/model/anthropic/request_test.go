package anthropic_test

import (
	"testing"

	"github.com/scruple-eval/scruple/internal/model/wiretest"
)

// What is sent, for models of three generations.
func TestRequests(t *testing.T) {
	server := wiretest.NewServer(t)
	client := newClient(t, server.URL)
	server.Answer(200, `{"content":[],"stop_reason":"end_turn"}`, nil)
	for _, name := range []string{"claude-3-haiku-20240307", "claude-sonnet-4-5", "claude-opus-5-5"} {
		for _, c := range wiretest.Cases(name) {
			r, err := client.Complete(t.Context(), &c.Request)
			if err != nil {
				t.Fatal(err)
			}
			wiretest.Golden(t, name+" "+c.Name, server.Requests()[0], r.Adapted)
		}
	}
}
