package anthropic

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
		`{"type":"message","id":"m","model":"c","content":[{"type":"thinking","thinking":"…"},{"type":"text","text":"a"},{"type":"tool_use","id":"t","name":"f","input":{"a":1}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":2.0,"cache_read_input_tokens":null}}`,
		`{"content":[],"stop_reason":"refusal","stop_details":{"type":"refusal","category":"bio","explanation":null}}`,
		`{"error":{"type":"overloaded_error"}}`, `{"content":[null]}`, `{"usage":[]}`, `[]`,
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
