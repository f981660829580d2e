package eval

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A Message is one turn of a conversation.
type Message struct {
	Role    string // "user" or "assistant"; the system prompt has its own place
	Content string
}

// A Tool is a function that a model may call.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON Schema of the arguments
}

// A Schema requests structured output that validates against it.
type Schema struct {
	Name   string
	Strict bool
	JSON   json.RawMessage
}

// Sampling holds sampling parameters. Nil parameters are not sent.
type Sampling struct {
	Temperature *float64
	TopP        *float64
	Seed        *int64
	Stop        []string
}

// Reasoning holds parameters for reasoning models.
type Reasoning struct {
	Effort string // provider's word ("low", "high" …), "" is not sent
	Budget int    // thinking tokens allowed, 0 is not sent
}

// A Request is one request to a model. It is immutable. Two requests with the same
// [Request.Key] are the same request.
type Request struct {
	Model     string // id of the study's model entry, which determines client, limits and prices
	Provider  string // the study's word: a preset (deepseek, ollama …) or a kind of pipeline (exec, http, outputs …); the client knows its wire format
	Endpoint  string // base URL, command or file; "" is the provider's own
	Name      string // the provider's name of the model
	Program   string // version of the external program that answers
	System    string
	Messages  []Message
	Schema    *Schema
	Tools     []Tool
	Force     string // name of the tool the model must call, "" leaves it free
	Sampling  Sampling
	MaxTokens int // visible output tokens; 0 is not sent
	// Allowance is added to MaxTokens if the provider's limit includes thinking, so
	// that reasoning does not use up the visible output.
	Allowance int
	Reasoning Reasoning
	// Replicate is part of the request: replicates never share an answer. Item is part
	// of it where it is sent: external pipelines (exec, http, outputs) and simulated
	// models receive it. A model receives only the prompt, so that equal prompts of
	// two items, or of an item before and after it was renamed, are one request.
	Item      string
	Replicate int
	// Payload is one JSON object that an external pipeline receives instead of
	// messages. Nil for models.
	Payload json.RawMessage
	// Optional means that the trial can continue without this answer: a call that
	// fails after all retries returns [NoAnswer]. It is not sent.
	Optional bool
	// Foreseen is the expected answer of a good model, for estimates of later
	// requests; nil if the suite does not know it. It is not sent.
	Foreseen func() string

	// SealedKey is the key of a request that is [Request.Sealed]. It is not sent.
	SealedKey string
}

// NoAnswer is the error of an optional request that failed after all retries. It
// is the same when the trial is performed again.
type NoAnswer struct{ Kind ErrorKind }

func (e *NoAnswer) Error() string { return "no answer: " + string(e.Kind) }

// A Part is one named part of a request, stored in the journal to report later
// differences. Long parts are stored as a hash.
type Part struct{ Name, Value string }

// Key returns a hash of [Request.Parts] as 32 hexadecimal digits. It identifies
// the request.
func (r *Request) Key() string {
	if r.SealedKey != "" {
		return r.SealedKey
	}
	return KeyOf(r.Parts())
}

// Sealed returns the request with its key computed, and its parts: a prompt may be
// long, and hashing it once is enough. The fields of a sealed request must not change.
func (r Request) Sealed() (Request, []Part) {
	parts := r.Parts()
	r.SealedKey = KeyOf(parts)
	return r, parts
}

// KeyOf returns the key of the request with these parts: the first half of a
// SHA-256 over the names and values, each with its length before it. The port of an
// endpoint is not in it: a server that moved is asked the same.
func KeyOf(parts []Part) string {
	b := make([]byte, 0, 1024)
	for _, p := range parts {
		if p.Name == "endpoint" {
			p.Value = WithoutPort(p.Value)
		}
		b = appendDelimited(appendDelimited(b, p.Name), p.Value)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

// Parts lists the parts that identify the request, in a fixed order: every field except
// Optional, Foreseen and SealedKey, and Item only where it is sent. Long values are hashed. It is the journal's record
// of the request.
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
	add("program", r.Program)
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
	if r.SendsItem() {
		add("item", r.Item)
	}
	add("replicate", optionalInt(r.Replicate))
	return parts
}

// SendsItem reports whether the id of the item is sent with the request.
func (r *Request) SendsItem() bool {
	return len(r.Payload) > 0 || strings.HasPrefix(r.Model, PipelinePrefix)
}

// FormerKey returns the key that earlier versions gave the request for an item: the id
// of the item was part of every request.
func FormerKey(parts []Part, item string) string {
	i := slices.IndexFunc(parts, func(p Part) bool { return p.Name == "replicate" })
	if i < 0 {
		i = len(parts)
	}
	return KeyOf(slices.Insert(slices.Clone(parts), i, Part{"item", item}))
}

// digest hashes length-delimited strings and returns 16 hexadecimal digits, enough
// to tell parts apart.
func digest(texts ...string) string {
	h := sha256.New()
	var buffer [1024]byte // texts are long: no copy of the whole
	for _, t := range texts {
		h.Write(binary.BigEndian.AppendUint64(buffer[:0], uint64(len(t))))
		for len(t) > 0 {
			n := copy(buffer[:], t)
			h.Write(buffer[:n])
			t = t[n:]
		}
	}
	var sum [sha256.Size]byte
	return Hash(binary.BigEndian.Uint64(h.Sum(sum[:0]))).String()
}

// port matches a URL up to its host, and its port.
var port = regexp.MustCompile(`^([a-z]+://(?:\[[^\]/]*\]|[^:/\[\]]*)):[0-9]+`)

// WithoutPort removes the port of a URL. Other texts stay as they are.
func WithoutPort(url string) string { return port.ReplaceAllString(url, "$1") }

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

// EncodeParts encodes parts as lines of the form name=value. Values with a line
// break, quote or backslash are quoted. Names must not contain "=".
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

// DiffParts lists the differences between two lists of parts as
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

// A ToolCall is a function call in a model's answer.
type ToolCall struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"` // as the model wrote them: may be invalid JSON
}

// Usage counts tokens as reported by the provider. Providers define input and
// output differently; the two flags tell how to add them up.
type Usage struct {
	Input      int
	Output     int
	Cached     int // input tokens read from the provider's prompt cache
	CacheWrite int // input tokens written to it (Anthropic)
	Reasoning  int // thinking tokens

	CachedInInput     bool // Input already counts Cached (OpenAI, Gemini)
	ReasoningInOutput bool // Output already counts Reasoning (OpenAI, Anthropic)
	Estimated         bool // counts that the provider did not send were estimated
	Uncounted         bool // a program did not say what it took: there may be more than what is here
	// CostUSD is what a program says that its answer cost; nil: it does not say.
	CostUSD *float64
}

// TotalInput returns all input tokens, independent of the provider's counting.
func (u Usage) TotalInput() int {
	if u.CachedInInput {
		return u.Input
	}
	return u.Input + u.Cached + u.CacheWrite
}

// TotalOutput returns all output tokens, including thinking.
func (u Usage) TotalOutput() int {
	if u.ReasoningInOutput {
		return u.Output
	}
	return u.Output + u.Reasoning
}

// A Stop is the reason why an answer ended, the same for all providers.
type Stop string

// The reasons why an answer ended.
const (
	StopEnd     Stop = "end"     // the model was done or hit a stop sequence
	StopLength  Stop = "length"  // cut off by a token limit
	StopTool    Stop = "tool"    // it calls a tool
	StopRefused Stop = "refused" // refused by the model or a safety system
	StopOther   Stop = "other"
)

// A Response is one answer of a model. It is immutable.
type Response struct {
	Text         string
	ToolCalls    []ToolCall
	Stop         Stop
	StopReason   string // the provider's own word
	Refusal      string // the text of a refusal, if the provider sends one
	ModelVersion string // as the provider returned it
	RequestID    string
	Usage        Usage
	// Adapted lists how what the model read differs from the request: parameters that
	// it rejects, such as "temperature dropped", and a [Cut] of the prompt.
	Adapted []string
	// Taken is what an answer of another run took there; nil for one that was asked for.
	Taken *Taken `json:"-"`
}

// Answer returns the answer to a request that forced this tool ([Request.Force], ""
// if none): the arguments of the first call of the tool. Text beside the call is
// comment. Without such a call it is the text and, without text, the arguments of
// the first call.
func (r *Response) Answer(tool string) string {
	for _, c := range r.ToolCalls {
		if tool != "" && c.Name == tool && len(c.Arguments) > 0 {
			return string(c.Arguments)
		}
	}
	if r.Text == "" && len(r.ToolCalls) > 0 {
		return string(r.ToolCalls[0].Arguments)
	}
	return r.Text
}

// ErrorKind classifies the error of a call. It is a closed set.
type ErrorKind string

// The kinds of error of a call.
const (
	ErrRateLimited ErrorKind = "rate_limited" // 429: wait and try again
	ErrOverloaded  ErrorKind = "overloaded"   // 529, or 503 with this reason
	ErrUnavailable ErrorKind = "unavailable"  // other 5xx, connection lost
	ErrTimeout     ErrorKind = "timeout"      // no answer in time
	ErrAuth        ErrorKind = "auth"         // 401, 402, 403: no retry helps
	ErrBadRequest  ErrorKind = "bad_request"  // 400, 404, 413, 422: no retry helps
	ErrRefused     ErrorKind = "refused"      // only in exports: a client returns a response with StopRefused
	ErrMalformed   ErrorKind = "malformed"    // the server's answer could not be parsed
)

// OfOutputs ends the provider of a call that takes the answer of another run, which is from a file
// that does not say what it took, or has no calls.
const OfOutputs = " outputs"

// A Call is the journal's entry of one request: request, response and usage. A
// call that failed after all retries has Err set and an empty response.
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
	Attempts  int       // requests sent for this answer, the first included
	Sent      []Attempt // the requests, oldest first; earlier formats of stores have none
	CostUSD   float64   // NaN if the price is unknown
	Prices    string    // by which CostUSD counts: a [Price] a line; "" if it is unknown
	LatencyMS float64   // of the last attempt
	// Stale is whether its trial no longer asks it, because what the request depends on
	// changed, or because a judge's answer could not be read and was asked for again.
	Stale bool
	ID    int64 // the journal's number of it
	// Source is the journal's number of the call whose answer was taken, and SourceRun
	// the run of that call; 0 and "" if the answer was asked for. Its tokens and cost
	// are those of the answer, but were not paid again.
	Source    int64
	SourceRun string
	// SourceNumber is the journal's number of that run, of a call that is to be written.
	SourceNumber int64
	// After is the number of the answer that could not be read, of a call that is to be written
	// and asks for another one: only a later answer is taken.
	After int64
}

// An Attempt is one request sent for a call.
type Attempt struct {
	N       int    // number of the request in its session, from 1; set by the journal
	At      int64  // when it was sent: microseconds since 1970, UTC
	Process string // the process that sent it, as host:id; set by the journal
	Ended   bool   // an answer or an error came back
	Err     ErrorKind
	// Tokens and CostUSD are estimates, for a request with an unknown end, or no answer in time; or
	// what an error says that it took, of a request that has then not ended.
	Tokens  int
	CostUSD float64 // NaN if the price is unknown
}

// Stage distinguishes calls of arms, of judges and for analysis records.
type Stage string

// The stages that call models.
const (
	StageRun   Stage = "run"
	StageJudge Stage = "judge"
	// StageEmbed embeds texts of analysis records. Its calls cost like others, and are
	// no part of the analysis.
	StageEmbed Stage = "embed"
)

// AskedAgain ends the step of a judge's call that asks the same again, because the answer under the
// name without it could not be read.
const AskedAgain = " again"

// FromFile reports whether the answer is from a file, which does not say what it took.
func (c *Call) FromFile() bool {
	return c.Provider == strings.TrimSpace(OfOutputs) || strings.HasSuffix(c.Provider, OfOutputs)
}

// KnownCost returns the cost of the call and whether it is known.
func (c *Call) KnownCost() (float64, bool) { return c.CostUSD, !math.IsNaN(c.CostUSD) }

// Taken is what the calls of a trial took in its stage of the run.
type Taken struct {
	Trial
	Calls               int
	CostUSD             float64 // NaN if the price of a call is unknown
	Seconds             float64 // the sum of the latencies
	TokensIn, TokensOut int
	Uncounted           bool   // a call does not say how many tokens it took
	Given               bool   // the answer is from a file, which does not say what it took
	Prices              string // as of a [Call]
	Model               string // that of the last of the calls, likewise; of an answer that is taken
	// Call is the journal's number of the last of the calls, of an answer that is taken.
	Call int64
	Run  int64 // the journal's number of its run
}

// A Session is one process's work on a run: what it sent, and what came back.
type Session struct {
	N        int            `json:"n"`        // from 1, in the order of the run
	Process  string         `json:"process"`  // host:id
	First    int64          `json:"first_us"` // time of the first request: microseconds since 1970, UTC
	Last     int64          `json:"last_us"`  // time of the last one
	Requests int            `json:"requests"` // retries included
	Retries  int            `json:"retries"`  // requests beyond the first of a call in the session
	Answers  int            `json:"answers"`
	Items    int            `json:"items"`     // items that it asked about
	New      int            `json:"items_new"` // items not asked about before
	Done     int            `json:"items_sum"` // items of the run asked about by then
	Errors   []SessionError `json:"errors,omitempty"`
}

// A SessionError counts the requests of a session that ended in one kind of error.
// "" stands for requests whose end is unknown, because the process died.
type SessionError struct {
	Kind     ErrorKind `json:"kind"`
	Requests int       `json:"requests"`
}

// Issues are the errors of a session as text, "" if there were none.
func (s Session) Issues() string {
	var list []string
	for _, e := range s.Errors {
		list = append(list, fmt.Sprintf("%s %d", cmp.Or(string(e.Kind), "interrupted"), e.Requests))
	}
	return strings.Join(list, "; ")
}
