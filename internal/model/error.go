package model

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/text"
)

// A complaint is an error body, whoever wrote it: OpenAI's, Anthropic's and
// Google's own forms and those of the services and servers that imitate them.
type complaint struct {
	code    string // the provider's short word or number
	kind    string // its type or status word
	param   string // the parameter it is about
	message string
	id      string        // request id
	wait    time.Duration // how long to wait, where the body says so (Google)
	flagged bool          // a moderation service in front of the model stopped the input
	wrote   string        // what the model wrote, which the service rejected (Groq)
}

// errorBody holds every field of the known forms. The outer object and the one
// under "error" share it.
type errorBody struct {
	Error     json.RawMessage `json:"error"`
	RequestID Word            `json:"request_id"`
	Message   Word            `json:"message"`
	Msg       Word            `json:"msg"`
	Detail    json.RawMessage `json:"detail"` // FastAPI: a string or a list
	Code      Word            `json:"code"`
	Type      Word            `json:"type"`
	Status    Word            `json:"status"`
	Param     Word            `json:"param"`
	Wrote     Word            `json:"failed_generation"` // Groq
	Metadata  json.RawMessage `json:"metadata"`          // OpenRouter
	Details   json.RawMessage `json:"details"`           // Google
}

// readComplaint parses an error body. A body that is not JSON is the message.
func readComplaint(body []byte) complaint {
	body = bytes.TrimSpace(body)
	if len(body) > 0 && body[0] == '[' { // Google's OpenAI endpoint wraps its errors in a list
		var list []json.RawMessage
		if json.Unmarshal(body, &list) == nil && len(list) > 0 {
			body = list[0]
		}
	}
	var outer errorBody
	if json.Unmarshal(body, &outer) != nil {
		return complaint{message: plainText(body)}
	}
	c := complaint{id: string(outer.RequestID)}
	inner := outer
	if Present(outer.Error) {
		inner = errorBody{}
		if text := wordOf(outer.Error); text != "" {
			inner.Message, inner.Code, inner.Type = Word(text), outer.Code, outer.Type
		} else if json.Unmarshal(outer.Error, &inner) != nil {
			inner.Message = Word(plainText(outer.Error))
		}
	}
	c.code, c.param, c.wrote = string(inner.Code), string(inner.Param), string(inner.Wrote)
	c.kind = string(cmp.Or(inner.Type, inner.Status))
	c.message = cmp.Or(string(inner.Message), string(inner.Msg), detailText(inner.Detail), plainText(body))
	c.readMetadata(inner.Metadata)
	c.readDetails(inner.Details)
	return c
}

func detailText(raw json.RawMessage) string {
	if !Present(raw) {
		return ""
	}
	return cmp.Or(wordOf(raw), plainText(raw))
}

// readMetadata reads what OpenRouter says of the service behind it.
func (c *complaint) readMetadata(raw json.RawMessage) {
	var m struct {
		Raw     json.RawMessage `json:"raw"`
		Reasons json.RawMessage `json:"reasons"`
		Flagged json.RawMessage `json:"flagged_input"`
	}
	if !Present(raw) || json.Unmarshal(raw, &m) != nil {
		return
	}
	c.flagged = Present(m.Reasons) || Present(m.Flagged)
	if Present(m.Raw) {
		said := wordOf(m.Raw)
		c.message += ": " + cmp.Or(said, plainText(m.Raw))
		if behind := readComplaint([]byte(said)); behind.wrote != "" {
			c.wrote, c.code = behind.wrote, behind.code
		}
	}
}

// readDetails reads Google's typed details.
func (c *complaint) readDetails(raw json.RawMessage) {
	var details []struct {
		RetryDelay Word `json:"retryDelay"` // "34.5s"
		Reason     Word `json:"reason"`
	}
	if !Present(raw) || json.Unmarshal(raw, &details) != nil {
		return
	}
	for _, d := range details {
		if wait, err := time.ParseDuration(string(d.RetryDelay)); err == nil && wait > 0 {
			c.wait = wait
		}
		if d.Reason != "" && c.code != string(d.Reason) {
			c.code = string(d.Reason)
		}
	}
}

// plainText makes one short line of a body that is not in a known form.
func plainText(b []byte) string {
	return text.Shorten(strings.Join(strings.Fields(string(bytes.ToValidUTF8(b, nil))), " "), 300)
}

// says reports whether the complaint contains one of the phrases, which are in
// lower case.
func (c *complaint) says(phrases ...string) bool {
	return containsAny(strings.ToLower(c.code+" "+c.kind+" "+c.message), phrases...)
}

func containsAny(text string, phrases ...string) bool {
	return slices.ContainsFunc(phrases, func(p string) bool { return strings.Contains(text, p) })
}

// wrapped is what a gateway puts before the message of the service behind it, whose error it quotes.
var wrapped = regexp.MustCompile(`(?s)^.*?["']message["']\s*:`)

// unpaid reports whether the account has no money left. Gemini's "exceeded
// your current quota" is a rate limit that passes, so the codes decide. Of a message in plain
// English only the beginning counts, and that of one it quotes: it may repeat what a document says.
func (c *complaint) unpaid() bool {
	begins := func(s string) string { return s[:min(len(s), 120)] }
	return c.says("insufficient_quota", "insufficient_balance", "exceeded_current_quota_error", "billing_hard_limit", "billing_not_active") ||
		containsAny(strings.ToLower(c.code+" "+c.kind+" "+begins(c.message)+" "+begins(wrapped.ReplaceAllString(c.message, ""))),
			"credit balance is too low", "insufficient balance", "insufficient credits", "insufficient funds", "requires more credits",
			"doesn't have any credits", "does not have any credits", "run out of credits", "used all available credits", "monthly spending limit",
			"specified api usage limits", "key limit exceeded", "account is suspended")
}

// refusal reports whether a safety system in front of the model stopped the
// request: an outcome, not a failure.
func (c *complaint) refusal() bool {
	return c.flagged || c.code == "1301" || // Z.AI's code for unsafe content
		c.says("content_filter", "content_policy_violation", "data_inspection_failed", "content exists risk", "content management policy",
			"content filtering policy", "violating our usage policy", "considered high risk", "input was flagged",
			"violates usage guidelines", "safety_check_type", "limited access to this content for safety reasons", "moderation_blocked",
			"as a result of our safety system")
}

// wrongKey reports whether the message is about the key, which xAI rejects with 400.
// Only its beginning counts: messages may repeat what a document says. Some of xAI's
// are URL-encoded.
func (c *complaint) wrongKey() bool {
	message := strings.ToLower(strings.ReplaceAll(c.message, "%20", " "))
	return strings.HasPrefix(message, "incorrect api key")
}

func (c *complaint) overloaded() bool {
	return c.says("overload", "high demand", "at capacity", "capacity exceeded", "too busy")
}

// classify gives the kind of an error answer. A success status with an error in
// its body (OpenRouter, proxies) is classed by the code in the body.
func (c *complaint) classify(status int) eval.ErrorKind {
	if status < 300 {
		if n, err := strconv.Atoi(c.code); err == nil && n >= 400 && n < 600 {
			status = n
		} else {
			return c.classifyWords()
		}
	}
	switch {
	case status == http.StatusPaymentRequired, c.unpaid(), c.says("api_key_invalid", "api key not valid", "api key expired"), c.wrongKey():
		return eval.ErrAuth
	case (status >= 500 || status == http.StatusTooManyRequests) && c.says("overloaded_error", "engine_overloaded"),
		status == http.StatusServiceUnavailable && c.overloaded():
		return eval.ErrOverloaded
	case status < 400: // a redirect: the address is wrong, and waiting does not mend it
		return eval.ErrBadRequest
	}
	return KindOfStatus(status)
}

func (c *complaint) classifyWords() eval.ErrorKind {
	words := strings.ToLower(c.code + " " + c.kind)
	switch {
	case c.unpaid(), containsAny(words, "auth", "permission", "api_key"):
		return eval.ErrAuth
	case containsAny(words, "rate_limit", "resource_exhausted", "too_many"):
		return eval.ErrRateLimited
	case c.overloaded():
		return eval.ErrOverloaded
	case containsAny(words, "timeout", "deadline_exceeded"):
		return eval.ErrTimeout
	case containsAny(words, "invalid", "not_found", "unsupported", "bad_request", "context_length"):
		return eval.ErrBadRequest
	}
	return eval.ErrUnavailable
}

// failure makes an [*Error] of an error answer.
func (c *complaint) failure(x *Exchange, keyEnv, name string) *Error {
	e := &Error{Kind: c.classify(x.Status), Status: x.Status, Message: cmp.Or(c.message, strings.ToLower(http.StatusText(x.Status))),
		RequestID: cmp.Or(x.RequestID(), c.id), RetryAfter: cmp.Or(RetryAfter(x.Header, time.Now()), c.wait), Unpaid: c.unpaid()}
	e.Remedy = c.remedy(e, x, keyEnv, name)
	return e
}

func (c *complaint) remedy(e *Error, x *Exchange, keyEnv, name string) string {
	switch {
	case x.Status == http.StatusRequestEntityTooLarge, c.says("context_length_exceeded", "prompt is too long"):
		return "shorten the item, or use a model with a larger context"
	case e.Kind == eval.ErrAuth && (c.unpaid() || x.Status == http.StatusPaymentRequired):
		return "add credit to the provider's account, or raise its spending limit"
	case e.Kind == eval.ErrAuth && keyEnv == "":
		return "set the model's api_key_env to a variable with a valid key"
	case e.Kind == eval.ErrAuth:
		return "check that the key in " + keyEnv + " is valid and may use model " + strconv.Quote(name)
	case x.Status >= 300 && x.Status < 400:
		return fmt.Sprintf("the server redirects to %q: use the final URL as base_url", x.Header.Get("Location"))
	case c.says("model_not_found") || x.Status == http.StatusNotFound:
		return "check the model's name " + strconv.Quote(name) + " and its base_url"
	case e.Kind == eval.ErrRateLimited:
		return "lower execution.concurrency, or set the model's limits"
	case e.Kind == eval.ErrBadRequest && c.param != "":
		return "change " + c.param + " in the study"
	}
	return ""
}

// Malformed is the error of an answer that could not be read.
func Malformed(format string, args ...any) *Error {
	return &Error{Kind: eval.ErrMalformed, Message: fmt.Sprintf(format, args...)}
}

// InBody is the error of a success that carries an error object.
func InBody(raw json.RawMessage) error { return &inBody{raw} }

// errorEvent finds the error of an event stream, nil if it has none: beside a type, in the response
// that failed, or an event that is one.
func errorEvent(stream []byte) json.RawMessage {
	for line := range bytes.Lines(stream) {
		data, ok := bytes.CutPrefix(line, []byte("data:"))
		var event struct {
			Type     Word             `json:"type"`
			Error    json.RawMessage  `json:"error"`
			Response Loose[errorBody] `json:"response"`
		}
		if !ok || json.Unmarshal(data, &event) != nil {
			continue
		}
		for _, raw := range []json.RawMessage{event.Error, event.Response.Value.Error} {
			if Present(raw) {
				return raw
			}
		}
		if event.Type == "error" {
			return bytes.TrimSpace(data)
		}
	}
	return nil
}

type inBody struct{ raw json.RawMessage }

func (*inBody) Error() string { return "the answer is an error" }

// incomplete classes the error of an exchange without a complete answer.
func incomplete(ctx context.Context, x *Exchange) *Error {
	err := x.Err
	if errors.Is(err, ErrTooLarge) {
		return &Error{Kind: eval.ErrMalformed, Status: x.Status, Message: fmt.Sprintf("the answer is larger than %d MiB", MaxBody>>20), Remedy: "check that base_url is the URL of a model's API"}
	}
	e := FromTransport(ctx, err)
	e.Status = x.Status
	return e
}
