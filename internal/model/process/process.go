// Package process calls external pipelines: a command that it starts ([Exec]) or a
// running service ([HTTP]). Both are [model.Client]s, so their answers are
// journalled, limited and retried like a model's.
//
// # Protocol
//
// A request is one JSON object. To a command it is one line on standard input,
// to a service the body of a POST:
//
//	{"id": "9f…", "item": "doc-17", "replicate": 1, "input": {…}}
//
// "input" is defined by the suite and described in its documentation. The answer is
// one JSON object, from a command on one line of
// standard output, from a service as the body of a response with status 2xx:
//
//	{"id": "9f…", "output": "…", "usage": {"input_tokens": 812, "output_tokens": 93, "cost_usd": 0.0012}, "model": "my-pipeline 1.4"}
//
// Only "id" and "output" are required, and a service may omit "id". "output" is the
// text of a model's answer, or an object or a list, which means its compact JSON. Tokens need
// both counts; those and a cost that an answer does not say are unknown, and no 0. A
// pipeline reports a failure with {"id": "9f…", "error": "what went wrong"}; the
// request is retried as the study says. Other keys are ignored.
//
// # Commands
//
// A command is split into words by [text.SplitCommand], never by a shell, and started in
// the study's folder once per call in flight, on demand. A process answers requests
// sequentially until its standard input is closed, and should then exit; the rest
// of its process group is killed. If Scruple is killed, so are the groups of its commands. A process may also answer one request, exit with
// status 0, and be restarted for the next. Standard output must contain only
// answers, each flushed; the last 4 KB of standard error are part of error
// messages.
//
// Of the environment, a command gets PATH, HOME, LANG, LC_*, TMPDIR and TZ, on
// Windows also what programs need there, and the variables that the study lists:
// no key of a provider unless the study names it.
//
// The package must not know any suite, nor who asks or why.
package process

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/internal/text"
)

// maxAnswer is the most bytes one answer may take. It is far above any real one
// and keeps a pipeline that has lost its way from filling the memory.
const maxAnswer = 64 << 20

type request struct {
	ID        string          `json:"id"`
	Item      string          `json:"item"`
	Replicate int             `json:"replicate"`
	Input     json.RawMessage `json:"input"`
}

// encode writes a request without a line break in it or at its end. It is
// named by its key, so that a pipeline may keep answers under it.
func encode(r *eval.Request) (id string, body []byte, err error) {
	id = r.Key()
	input := r.Payload
	if len(input) == 0 {
		input = nil
	}
	body, err = eval.EncodeJSON(request{id, r.Item, r.Replicate, input})
	if err != nil {
		return id, nil, &model.Error{Kind: eval.ErrBadRequest, Err: err,
			Message: fmt.Sprintf("writing the request about item %q: its input is not JSON: %v", r.Item, err)}
	}
	return id, body, nil
}

// An answer is the decoded answer of a pipeline, with parts of variable type raw.
type answer struct {
	ID     model.Word     `json:"id"`
	Output jsontext.Value `json:"output"`
	Error  jsontext.Value `json:"error"`
	Model  model.Word     `json:"model"`
	Usage  jsontext.Value `json:"usage"`
}

// lenient accepts escapes of half a character, which models do produce, and
// reads them as U+FFFD.
var lenient = jsontext.AllowInvalidUTF8(true)

// decode reads an answer. Its errors are malformed.
func decode(data []byte) (answer, error) {
	var a answer
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff")))
	switch {
	case len(data) == 0:
		return a, model.Malformed("the answer is empty")
	case !utf8.Valid(data):
		return a, model.Malformed("the answer is not UTF-8: %s", shorten(data))
	case !json.Valid(data):
		return a, model.Malformed("the answer is not JSON: %s", shorten(data))
	case data[0] != '{':
		return a, model.Malformed("the answer is no object: %s", shorten(data))
	}
	if err := jsonv2.Unmarshal(data, &a, lenient); err != nil {
		return a, model.Malformed("reading the answer: %v: %s", err, shorten(data))
	}
	if !model.Present(json.RawMessage(a.Output)) && a.complaint() == "" {
		return a, noOutput(data, a.Output)
	}
	return a, nil
}

func noOutput(data []byte, output jsontext.Value) error {
	if len(output) > 0 {
		return model.Malformed(`the answer's "output" is null: want a text, an object or a list, or a reason in "error"`)
	}
	return model.Malformed(`the answer has no "output": %s`, shorten(data))
}

// asFailure is an error as one of a model: an answer must not end the program by one of another kind.
func asFailure(err error) *model.Error {
	if failure, ok := errors.AsType[*model.Error](err); ok {
		return failure
	}
	return &model.Error{Kind: eval.ErrMalformed, Message: err.Error(), Err: err}
}

// otherID is the error of an answer that is not to this request.
func otherID(got model.Word, want string, data []byte) error {
	if got == "" {
		return model.Malformed(`the answer has no "id", the request had %q: %s`, want, shorten(data))
	}
	return model.Malformed(`the answer has the "id" %q, the request had %q: %s`, shorten([]byte(got)), want, shorten(data))
}

// complaint is why the pipeline could not answer, "" when it could.
func (a *answer) complaint() string {
	if !model.Present(json.RawMessage(a.Error)) {
		return ""
	}
	if a.Error.Kind() != '"' {
		return shorten(a.Error)
	}
	var s string
	_ = jsonv2.Unmarshal(a.Error, &s, lenient)
	return s
}

// response is the answer as a model's, or an error when the pipeline gave none.
func (a *answer) response() (eval.Response, error) {
	stated := usageOf(a.Usage)
	failed := eval.Response{Usage: stated}
	failed.Usage.Uncounted = false // there is no answer to count for
	if said := a.complaint(); said != "" {
		return failed, &model.Error{Kind: eval.ErrUnavailable, Message: "the pipeline reported: " + say.PlainLine(said)}
	}
	text, err := textOf(a.Output)
	if err != nil {
		return failed, err
	}
	return eval.Response{Text: text, Stop: eval.StopEnd, ModelVersion: string(a.Model), Usage: stated}, nil
}

func textOf(output jsontext.Value) (string, error) {
	switch output.Kind() {
	case '"':
		var s string
		err := jsonv2.Unmarshal(output, &s, lenient)
		return s, err
	case '{', '[':
		var b bytes.Buffer
		err := json.Compact(&b, output)
		return b.String(), err
	}
	return "", model.Malformed(`the answer's "output" is %s: want a text, an object or a list`, shorten(output))
}

// usageOf parses token counts and the cost. What is missing or no number from 0 is not known, so
// that the answer is not lost.
func usageOf(raw jsontext.Value) eval.Usage {
	var u struct {
		Input  model.Word `json:"input_tokens"`
		Output model.Word `json:"output_tokens"`
		Cost   model.Word `json:"cost_usd"`
	}
	if raw.Kind() != '{' || jsonv2.Unmarshal(raw, &u, lenient) != nil {
		return eval.Usage{Uncounted: true}
	}
	number := func(w model.Word) (float64, bool) {
		x, err := strconv.ParseFloat(string(w), 64)
		if err != nil || !(0 <= x && x < 1<<53) {
			return 0, false
		}
		return x, true
	}
	var usage eval.Usage
	in, counted := number(u.Input)
	out, both := number(u.Output)
	usage.Input, usage.Output, usage.Uncounted = int(in), int(out), !counted || !both
	if cost, known := number(u.Cost); known {
		usage.CostUSD = &cost
	}
	return usage
}

// shorten shows the beginning of what a pipeline wrote, on one line.
func shorten(b []byte) string {
	return text.Shorten(say.PlainLine(string(b)), 200)
}
