package google

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
)

// Whatever a server sends, it is read or it is a typed error.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"candidates":[{"content":{"parts":[{"text":"a","thought":true},{"text":"b"},{"functionCall":{"name":"f","args":{"a":1}}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"thoughtsTokenCount":"3"}}`,
		`{"promptFeedback":{"blockReason":"SAFETY"}}`, `{"candidates":[{"finishReason":"MODEL_ARMOR","finishMessage":"no"}]}`,
		`{"candidates":[null]}`, `{"error":{"code":503}}`, `{"usageMetadata":[]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := wire{}.Decode(body)
		if err == nil && (r.Stop == "" || !json.Valid(body)) {
			t.Errorf("read %q as %+v", body, r)
		}
		var typed *model.Error
		if errors.As(err, &typed) && typed.Kind != eval.ErrMalformed {
			t.Errorf("got %s", typed.Kind)
		}
	})
}
