package eval

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// A Message is one turn of a conversation.
type Message struct {
	Role    string // "user" or "assistant"; the system prompt has its own place
	Content string
}

// A Tool is a function a model may be told of.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON Schema of the arguments
}

// A Schema asks for structured output: an answer that validates against it.
type Schema struct {
	Name   string
	Strict bool
	JSON   json.RawMessage
}

// Sampling holds what decides how tokens are drawn. Nil means "not sent".
type Sampling struct {
	Temperature *float64
	TopP        *float64
	Seed        *int64
	Stop        []string
}

// Reasoning holds what reasoning models are told about thinking.
type Reasoning struct {
	Effort string // provider's word ("low", "high" …), "" is not sent
	Budget int    // thinking tokens allowed, 0 is not sent
}

// A Request is everything that is sent to one model once: an immutable value.
// Two requests with the same [Request.Key] are the same request.
type Request struct {
	Model     string // id of the study's model entry, which decides client, limits and prices
	Provider  string // wire format: openai, openai_responses, anthropic, google, exec, http, outputs, simulated …
	Endpoint  string // base URL, command or file; "" is the provider's own
	Name      string // the provider's name of the model
	System    string
	Messages  []Message
	Schema    *Schema
	Tools     []Tool
	Force     string // name of the tool the model must call, "" leaves it free
	Sampling  Sampling
	MaxTokens int // visible output tokens; 0 is not sent
	// Allowance is added to MaxTokens where a provider counts thinking in the
	// same limit, so that a reasoning model is not starved of visible output.
	Allowance int
	Reasoning Reasoning
	// Item and Replicate are part of the request: replicates never share an
	// answer, and pipelines outside (exec, http, outputs) are told which item
	// they are asked about.
	Item      string
	Replicate int
	// Payload is what a pipeline outside is given instead of messages: one
	// JSON object. Nil for models.
	Payload json.RawMessage
	// Optional says that the trial goes on without this answer: a call that
	// failed for good is then a [NoAnswer]. It is no part of what is sent.
	Optional bool
	// Foreseen is what a model that does well would answer, for estimates of
	// what a trial will ask; nil where the suite does not know. It is no part of
	// what is sent either.
	Foreseen func() string
}

// NoAnswer is the error of an optional request that failed for good. It is the
// same when the trial is performed again.
type NoAnswer struct{ Kind ErrorKind }

func (e *NoAnswer) Error() string { return "no answer: " + string(e.Kind) }

// A Part is one named piece of a request, as it is kept in the journal so that
// a later difference can be named. Long pieces are kept as a hash.
type Part struct{ Name, Value string }

// Key is a SHA-256 over length-delimited canonical bytes of every field, so no
// two different requests share one and order or spacing cannot fake equality.
func (r *Request) Key() string { return KeyOf(r.Parts()) }

// KeyOf is the key of the request with these parts.
func KeyOf(parts []Part) string {
	b := make([]byte, 0, 1024)
	for _, p := range parts {
		b = appendDelimited(appendDelimited(b, p.Name), p.Value)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

// Parts lists what the request holds, in a fixed order, leaving out what is
// not sent. It is the journal's record of what was asked.
func (r *Request) Parts() []Part {
	parts := make([]Part, 0, 12)
	add := func(name, value string) {
		if value != "" {
			parts = append(parts, Part{name, value})
		}
	}
	add("model", r.Model)
	add("provider", r.Provider)
	add("endpoint", r.Endpoint)
	add("name", r.Name)
	add("temperature", optionalFloat(r.Sampling.Temperature))
	add("top_p", optionalFloat(r.Sampling.TopP))
	if r.Sampling.Seed != nil {
		add("seed", strconv.FormatInt(*r.Sampling.Seed, 10))
	}
	if len(r.Sampling.Stop) > 0 {
		add("stop", digest(r.Sampling.Stop...))
	}
	add("max_tokens", optionalInt(r.MaxTokens))
	add("allowance", optionalInt(r.Allowance))
	add("effort", r.Reasoning.Effort)
	add("thinking", optionalInt(r.Reasoning.Budget))
	if r.Schema != nil {
		add("schema", digest(r.Schema.Name, strconv.FormatBool(r.Schema.Strict), string(r.Schema.JSON)))
	}
	if len(r.Tools) > 0 {
		texts := make([]string, 0, 3*len(r.Tools))
		for _, t := range r.Tools {
			texts = append(texts, t.Name, t.Description, string(t.Parameters))
		}
		add("tools", digest(texts...))
	}
	add("force", r.Force)
	if r.System != "" {
		add("system", digest(r.System))
	}
	if len(r.Messages) > 0 {
		texts := make([]string, 0, 2*len(r.Messages))
		for _, m := range r.Messages {
			texts = append(texts, m.Role, m.Content)
		}
		add("messages", digest(texts...))
	}
	if len(r.Payload) > 0 {
		add("payload", digest(string(r.Payload)))
	}
	add("item", r.Item)
	add("replicate", optionalInt(r.Replicate))
	return parts
}

// digest hashes strings so that neither their order nor their borders can be
// confused, and keeps 16 hexadecimal digits: enough to tell pieces apart.
func digest(texts ...string) string {
	size := 0
	for _, t := range texts {
		size += 8 + len(t)
	}
	b := make([]byte, 0, size)
	for _, t := range texts {
		b = appendDelimited(b, t)
	}
	return HashOf(b).String()
}

func appendDelimited(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint64(b, uint64(len(s))), s...)
}

func optionalFloat(f *float64) string {
	if f == nil {
		return ""
	}
	return strconv.FormatFloat(*f, 'g', -1, 64)
}

func optionalInt(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// EncodeParts writes parts one a line, and DecodeParts reads them back. Names
// hold no "=" and values no line break, by construction or by quoting.
func EncodeParts(parts []Part) string {
	var b strings.Builder
	for i, p := range parts {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(p.Name)
		b.WriteByte('=')
		if strings.ContainsAny(p.Value, "\n\"\\") {
			b.WriteString(strconv.Quote(p.Value))
		} else {
			b.WriteString(p.Value)
		}
	}
	return b.String()
}

// DecodeParts reads what [EncodeParts] wrote.
func DecodeParts(s string) []Part {
	if s == "" {
		return nil
	}
	var parts []Part
	for line := range strings.SplitSeq(s, "\n") {
		name, value, _ := strings.Cut(line, "=")
		if strings.HasPrefix(value, `"`) {
			if u, err := strconv.Unquote(value); err == nil {
				value = u
			}
		}
		parts = append(parts, Part{name, value})
	}
	return parts
}

// DiffParts names what differs between two lists of parts, as
// "name: was A, now B", in the order of the first and then the second.
func DiffParts(was, now []Part) []string {
	value := func(parts []Part, name string) (string, bool) {
		for _, p := range parts {
			if p.Name == name {
				return p.Value, true
			}
		}
		return "nothing", false
	}
	var diffs []string
	for _, p := range was {
		if v, _ := value(now, p.Name); v != p.Value {
			diffs = append(diffs, p.Name+": was "+p.Value+", now "+v)
		}
	}
	for _, p := range now {
		if _, ok := value(was, p.Name); !ok {
			diffs = append(diffs, p.Name+": was nothing, now "+p.Value)
		}
	}
	return diffs
}

// A ToolCall is a function call a model answered with.
type ToolCall struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"` // as the model wrote them: not always valid JSON
}

// Usage counts tokens as the provider reported them, under the provider's own
// reading of "input" and "output"; the two flags say how to add them up.
type Usage struct {
	Input      int
	Output     int
	Cached     int // input tokens read from the provider's prompt cache
	CacheWrite int // input tokens written to it (Anthropic)
	Reasoning  int // thinking tokens

	CachedInInput     bool // Input already counts Cached (OpenAI, Gemini)
	ReasoningInOutput bool // Output already counts Reasoning (OpenAI, Anthropic)
}

// TotalInput is every token that was read, however the provider counts.
func (u Usage) TotalInput() int {
	if u.CachedInInput {
		return u.Input
	}
	return u.Input + u.Cached + u.CacheWrite
}

// TotalOutput is every token that was written, thinking included.
func (u Usage) TotalOutput() int {
	if u.ReasoningInOutput {
		return u.Output
	}
	return u.Output + u.Reasoning
}

// Stop says why an answer ended, the same word for every provider.
type Stop string

// Why an answer ended.
const (
	StopEnd     Stop = "end"     // the model was done, or met a stop sequence
	StopLength  Stop = "length"  // cut off by a token limit
	StopTool    Stop = "tool"    // it calls a tool
	StopRefused Stop = "refused" // a safety system or the model's own refusal channel ended it
	StopOther   Stop = "other"
)

// A Response is one answer of one model: an immutable value.
type Response struct {
	Text         string
	ToolCalls    []ToolCall
	Stop         Stop
	StopReason   string // the provider's own word
	Refusal      string // the text of a refusal, where the provider sends one
	ModelVersion string // as the provider returned it
	RequestID    string
	Usage        Usage
	// Adapted lists what was changed in the request because the model refuses
	// it, such as "temperature dropped".
	Adapted []string
}

// Answer is what the model gave: its text, or where it answered by a forced
// tool call, the arguments of that call.
func (r *Response) Answer() string {
	if r.Text == "" && len(r.ToolCalls) > 0 {
		return string(r.ToolCalls[0].Arguments)
	}
	return r.Text
}

// ErrorKind classes what went wrong with a call. It is a closed set.
type ErrorKind string

// The kinds of error a call can end in.
const (
	ErrRateLimited ErrorKind = "rate_limited" // 429: wait and try again
	ErrOverloaded  ErrorKind = "overloaded"   // 529, or a 503 that says so
	ErrUnavailable ErrorKind = "unavailable"  // other 5xx, connection lost
	ErrTimeout     ErrorKind = "timeout"      // no answer in time
	ErrAuth        ErrorKind = "auth"         // 401, 403: no retry helps
	ErrBadRequest  ErrorKind = "bad_request"  // 400, 404, 413, 422: no retry helps
	ErrRefused     ErrorKind = "refused"      // a safety system refused; an outcome, not a failure
	ErrMalformed   ErrorKind = "malformed"    // the server's answer could not be read
)

// A Call is the journal's entry of one request: what was asked, what came
// back, and what it took. A call that failed for good has Err set and an empty
// response.
type Call struct {
	Trial     Trial
	Stage     Stage
	Step      string // unique in the trial and stage
	Key       string // [Request.Key]
	Parts     []Part
	Provider  string
	Model     string // the provider's name of the model
	Response  Response
	ErrKind   ErrorKind
	Err       string
	Attempts  int     // requests sent for this answer, the first included
	CostUSD   float64 // NaN where no price is known
	LatencyMS float64 // of the last attempt
}

// Stage tells the calls of arms from the calls of judges.
type Stage string

// The stages that ask models.
const (
	StageRun   Stage = "run"
	StageJudge Stage = "judge"
)

// KnownCost is the cost of the call and whether it is known.
func (c *Call) KnownCost() (float64, bool) { return c.CostUSD, !math.IsNaN(c.CostUSD) }
