package wiretest

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
)

// Fuzz gives a decoder whatever a server may send: it reads it or returns a
// typed error.
func Fuzz(f *testing.F, decode func([]byte) (eval.Response, error), seeds ...string) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := decode(body)
		if err == nil && (r.Stop == "" || !json.Valid(body)) {
			t.Errorf("read %q as %+v", body, r)
		}
		var typed *model.Error
		if errors.As(err, &typed) && typed.Kind != eval.ErrMalformed && !typed.Unanswered {
			t.Errorf("got %s", typed.Kind)
		}
	})
}
