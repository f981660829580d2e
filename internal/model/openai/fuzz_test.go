package openai

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
)

// Whatever a server sends, it is read or it is a typed error.
func FuzzDecodeChat(f *testing.F) {
	for _, seed := range []string{
		`{"id":1,"model":null,"choices":[{"message":{"content":[{"type":"thinking"},{"type":"text","text":"a"},"b"],"tool_calls":[{"id":"c","function":{"name":"f","arguments":{"a":1}}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":"3"}}`,
		`{"choices":[{"message":{"content":null,"refusal":"no"},"finish_reason":null}],"usage":null}`,
		`{"choices":[{"error":{"code":502},"finish_reason":"error"}]}`, `{"choices":[{"message":{"content":{}}}]}`, `{"error":"x"}`,
		`{"choices":[{"message":{"function_call":{"name":"f","arguments":"{"}},"finish_reason":"function_call"}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) { checkDecode(t, body, chatWire{}) })
}

func FuzzDecodeResponse(f *testing.F) {
	for _, seed := range []string{
		`{"id":"r","status":"completed","output":[{"type":"reasoning"},{"type":"message","content":[{"type":"output_text","text":"a"},{"type":"refusal","refusal":"no"}]},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}],"usage":{"input_tokens":1}}`,
		`{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[]}`,
		`{"status":"failed","error":{"code":"server_error","message":"x"}}`, `{"status":"failed","error":null}`, `{"output":[{"type":"message","content":"a"}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) { checkDecode(t, body, responsesWire{}) })
}

func checkDecode(t *testing.T, body []byte, w interface {
	Decode([]byte) (eval.Response, error)
}) {
	r, err := w.Decode(body)
	if err == nil && (r.Stop == "" || !json.Valid(body)) {
		t.Errorf("read %q as %+v", body, r)
	}
	var typed *model.Error
	if errors.As(err, &typed) && typed.Kind != eval.ErrMalformed {
		t.Errorf("got %s", typed.Kind)
	}
}
