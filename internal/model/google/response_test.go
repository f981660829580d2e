package google

import (
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model/wiretest"
)

func FuzzDecode(f *testing.F) {
	wiretest.Fuzz(f, wire{}.Decode,
		`{"candidates":[{"content":{"parts":[{"text":"a","thought":true},{"text":"b"},{"functionCall":{"name":"f","args":{"a":1}}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"thoughtsTokenCount":"3"}}`,
		`{"promptFeedback":{"blockReason":"SAFETY"}}`, `{"candidates":[{"finishReason":"MODEL_ARMOR","finishMessage":"no"}]}`,
		`{"candidates":[null]}`, `{"error":{"code":503}}`, `{"usageMetadata":[]}`,
	)
}

// The tokens that the provider's own tools add to a prompt are input, too; they are not in
// promptTokenCount (https://ai.google.dev/api/generate-content#UsageMetadata).
func TestUsageCountsTools(t *testing.T) {
	got, err := wire{}.Decode([]byte(`{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":100,"toolUsePromptTokenCount":40,"cachedContentTokenCount":30,"candidatesTokenCount":7,"thoughtsTokenCount":5}}`))
	if want := (eval.Usage{Input: 140, Output: 7, Cached: 30, Reasoning: 5, CachedInInput: true}); err != nil || got.Usage != want {
		t.Errorf("got %+v, %v, want %+v", got.Usage, err, want)
	}
}
