//go:build unix

package annotate

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/serve"
	"github.com/scruple-eval/scruple/internal/study"
)

// A second server for a person is no fault of the server: it says where to answer.
func TestASecondSession(t *testing.T) {
	clock := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	p := at(t, &clock)
	page := func() (int, string) {
		s, err := Open(p, []study.Task{label}, corpus{9}, "test", false)
		if err != nil {
			t.Fatal(err)
		}
		web, err := serve.Open(serve.Config{Holders: []string{"anna", Owner}, Writes: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { web.Close(); s.Close() })
		w := httptest.NewRecorder()
		web.Guard(s.Handler()).ServeHTTP(w, httptest.NewRequest("GET", web.URL("anna")+"t/t/", nil))
		return w.Code, w.Body.String()
	}
	if code, body := page(); code >= 400 {
		t.Fatal(code, body)
	}
	if code, body := page(); code != http.StatusConflict || !strings.Contains(body, "another session of anna is open") {
		t.Errorf("%d: %s", code, body)
	}
}
