package google_test

import (
	"testing"

	"github.com/scruple-eval/scruple/internal/model/wiretest"
)

func TestRequests(t *testing.T) {
	server := wiretest.NewServer(t)
	client := newClient(t, server.URL)
	server.Answer(200, `{"candidates":[{"finishReason":"STOP"}]}`, nil)
	for _, c := range wiretest.Cases("gemini-2.5-flash") {
		r, err := client.Complete(t.Context(), &c.Request)
		if err != nil {
			t.Fatal(err)
		}
		wiretest.Golden(t, c.Name, server.Requests()[0], r.Adapted)
	}
}
