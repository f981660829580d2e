package google

import (
	"testing"

	"github.com/scruple-eval/scruple/internal/model/wiretest"
)

func FuzzDecode(f *testing.F) {
	wiretest.Fuzz(f, wire{}.Decode,
		`{"candidates":[{"content":{"parts":[{"text":"a","thought":true},{"text":"b"},{"functionCall":{"name":"f","args":{"a":1}}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"thoughtsTokenCount":"3"}}`,
		`{"promptFeedback":{"blockReason":"SAFETY"}}`, `{"candidates":[{"finishReason":"MODEL_ARMOR","finishMessage":"no"}]}`,
		`{"candidates":[null]}`, `{"error":{"code":503}}`, `{"usageMetadata":[]}`,
	)
}
