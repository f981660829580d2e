package anthropic

import (
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model/wiretest"
)

func TestEnds(t *testing.T) {
	tests := []struct {
		body    string
		stop    eval.Stop
		refusal string
	}{
		{`{"content":[],"stop_reason":"max_tokens"}`, eval.StopLength, ""},
		{`{"content":[],"stop_reason":"model_context_window_exceeded"}`, eval.StopLength, ""},
		{`{"content":[],"stop_reason":"refusal"}`, eval.StopRefused, ""},
		{`{"content":[],"stop_reason":"refusal","stop_details":{"type":"refusal","category":"bio","explanation":"Asks for a weapon."}}`, eval.StopRefused, "Asks for a weapon."},
		{`{"content":[],"stop_reason":"refusal","stop_details":{"type":"refusal","category":"bio","explanation":null}}`, eval.StopRefused, "bio"},
		{`{"content":[{"type":"tool_use","id":"t","name":"f","input":{}}],"stop_reason":"end_turn"}`, eval.StopTool, ""},
	}
	for _, test := range tests {
		r, err := wire{}.Decode([]byte(test.body))
		if err != nil || r.Stop != test.stop || r.Refusal != test.refusal {
			t.Errorf("%s: got %+v, %v", test.body, r, err)
		}
	}
}

func TestTraits(t *testing.T) {
	modern := traits{noSampling: true, adaptiveOnly: true, defaultLimit: 8192}
	unforced := traits{noSampling: true, adaptiveOnly: true, noForce: true, defaultLimit: 8192}
	classic := traits{defaultLimit: 8192}
	tests := map[string]traits{
		"claude-3-opus-latest":       {defaultLimit: 4096},
		"claude-3-haiku-20240307":    {defaultLimit: 4096},
		"claude-3-5-haiku-latest":    classic,
		"claude-3-7-sonnet-20250219": classic,
		"claude-sonnet-4-20250514":   classic,
		"claude-sonnet-4-0":          classic,
		"claude-haiku-4-5-20251001":  classic,
		"claude-opus-4-6":            classic,
		"claude-opus-4-7":            modern,
		"claude-opus-4-8":            modern,
		"claude-sonnet-5":            modern,
		"claude-opus-5-20260724":     modern,
		"claude-fable-5":             modern,
		"claude-fable-5-1":           unforced,
		"claude-opus-5-5":            unforced,
		"anthropic/claude-opus-4.7":  modern,
		"some-model":                 classic,
	}
	for name, want := range tests {
		if got := traitsOf(name); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	wiretest.Fuzz(f, wire{}.Decode,
		`{"type":"message","id":"m","model":"c","content":[{"type":"thinking","thinking":"…"},{"type":"text","text":"a"},{"type":"tool_use","id":"t","name":"f","input":{"a":1}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":2.0,"cache_read_input_tokens":null}}`,
		`{"content":[],"stop_reason":"refusal","stop_details":{"type":"refusal","category":"bio","explanation":null}}`,
		`{"error":{"type":"overloaded_error"}}`, `{"content":[null]}`, `{"usage":[]}`, `[]`,
	)
}
