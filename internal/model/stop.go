package model

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
)

// stops are the reasons why answers end, in lower case: those of all formats, since gateways pass on
// the words of the service behind them. Sources: the references of the Messages API, of
// generateContent, Chat Completions and Responses, and the documentation of the services that
// imitate them. Every other reason is unknown, such as Gemini's OTHER.
var stops = map[string]eval.Stop{
	"stop": eval.StopEnd, "end_turn": eval.StopEnd, "stop_sequence": eval.StopEnd, "completed": eval.StopEnd, "complete": eval.StopEnd,
	"eos": eval.StopEnd, "eos_token": eval.StopEnd,
	"length": eval.StopLength, "max_tokens": eval.StopLength, "max_output_tokens": eval.StopLength, "model_length": eval.StopLength,
	"model_context_window_exceeded": eval.StopLength, overLimit: eval.StopLength,
	"tool_calls": eval.StopTool, "function_call": eval.StopTool, "tool_use": eval.StopTool,
	// The model called a tool, and the call is invalid: that is the model's fault, as invalid arguments are.
	"malformed_function_call": eval.StopTool, "unexpected_tool_call": eval.StopTool, "tool_use_failed": eval.StopTool,
	// The model declined, or the service withholds what it wrote for its content.
	"refusal": eval.StopRefused, "content_filter": eval.StopRefused, "safety": eval.StopRefused, "sensitive": eval.StopRefused,
	"recitation": eval.StopRefused, "language": eval.StopRefused, "blocklist": eval.StopRefused, "prohibited_content": eval.StopRefused,
	"spii": eval.StopRefused, "model_armor": eval.StopRefused,
	"image_safety": eval.StopRefused, "image_prohibited_content": eval.StopRefused, "image_recitation": eval.StopRefused,
}

// lacking is DeepSeek's reason for an answer that it broke off under load.
const lacking = "insufficient_system_resource"

// overLimit is what Groq gives in place of the text of a model that reached its limit in JSON mode.
const overLimit = "max completion tokens reached before generating a valid document"

// unfinished are reasons for which the service ended the answer before the model did, so that its text
// is a part: errors of OpenRouter and Z.AI, an abort of vLLM, a pause of Anthropic, and a response
// that is incomplete for no other reason.
var unfinished = []string{"error", "network_error", "abort", "pause_turn", "incomplete", lacking}

// End sets why a response ended: for the reason that the service gives, with what it said about it.
// It is a refusal if the model says so, whatever the reason, and a call if it calls tools. An answer
// that the service did not finish is an error, and so is an empty one without a known reason: nobody
// knows that it is the model's. A text that ends for an unknown reason is an answer, with
// [eval.StopOther], which reports count.
func End(r *eval.Response, reason, said string) error {
	word := strings.ToLower(reason)
	r.StopReason, r.Stop = reason, cmp.Or(stops[word], eval.StopOther)
	empty := strings.TrimSpace(r.Text) == "" && len(r.ToolCalls) == 0
	switch {
	case r.Refusal != "":
		r.Stop = eval.StopRefused
	case r.Stop == eval.StopRefused:
		r.Refusal = said
	case slices.Contains(unfinished, word), empty && r.Stop == eval.StopOther:
		e := &Error{Kind: eval.ErrUnavailable, Unanswered: true, Message: fmt.Sprintf("the service ended the answer for the reason %q", plainText([]byte(reason)))}
		if reason == "" {
			e.Message = "the answer is empty, without a reason why it ended"
		}
		if said != "" {
			e.Message += ": " + plainText([]byte(said))
		}
		if word == lacking {
			e.Kind = eval.ErrOverloaded
		}
		return e
	case r.Stop == eval.StopEnd && len(r.ToolCalls) > 0:
		r.Stop = eval.StopTool
	}
	return nil
}

// generation is the answer that the service rejected, with the code of the error as its end.
func (c *complaint) generation() (r eval.Response, err error) {
	var call struct {
		Name      Word      `json:"name"`
		Arguments Arguments `json:"arguments"`
	}
	switch {
	case c.wrote == overLimit:
		err = End(&r, overLimit, "")
		return r, err
	case c.code == "tool_use_failed" && json.Unmarshal([]byte(c.wrote), &call) == nil && call.Name != "":
		r.ToolCalls = []eval.ToolCall{{Name: string(call.Name), Arguments: json.RawMessage(call.Arguments)}}
	default:
		r.Text = c.wrote
	}
	err = End(&r, c.code, "")
	return r, err
}
