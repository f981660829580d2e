package evalout

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"

	"github.com/scruple-eval/scruple/internal/eval"
)

// spansInBatch is how many spans one request has.
const spansInBatch = 512

// OTel sends a run as OTLP in JSON: a trace for each trial, with a span for each call and an
// event gen_ai.evaluation.result for each score, by the semantic conventions for generative AI
// of November 2026, which are in development. send gets batches, each a whole request. Without
// content, no prompt and no answer is in them. Calls are in the order of the trials; those of
// trials that have no outcome are skipped.
func OTel(send func(body []byte) error, r Run, trials Trials, calls iter.Seq2[eval.Call, error], content bool) (spans, skipped int, err error) {
	next, stop := iter.Pull2(calls)
	defer stop()
	call, err, more := next()
	var batch []object
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		body, err := json.Marshal(object{"resourceSpans": []object{{"resource": object{"attributes": attributes("service.name", "scruple", "service.version", r.Version, "scruple.run", r.ID, "scruple.study", r.Study, "scruple.suite", r.Suite)},
			"scopeSpans": []object{{"scope": object{"name": "scruple", "version": r.Version}, "spans": batch}}}}})
		if err != nil {
			return err
		}
		spans, batch = spans+len(batch), batch[:0]
		return send(body)
	}
	for t, failed := range trials {
		if failed != nil {
			return spans, skipped, failed
		}
		for more && err == nil && r.Place(call.Trial) < r.Place(t.Trial) {
			skipped++
			call, err, more = next()
		}
		start, end := r.Created.UnixNano(), r.Created.UnixNano()
		root := id(8, r.ID, t.Trial.String())
		for first := true; more && err == nil && call.Trial == t.Trial; call, err, more = next() {
			from, to := times(r, call)
			if first {
				start, end, first = from, to, false
			}
			start, end = min(start, from), max(end, to)
			batch = append(batch, callSpan(r, call, from, to, root, content))
		}
		if err != nil {
			return spans, skipped, err
		}
		batch = append(batch, trialSpan(r, t, root, start, end, content))
		if len(batch) >= spansInBatch {
			if err := flush(); err != nil {
				return spans, skipped, err
			}
		}
	}
	for ; more && err == nil; _, err, more = next() {
		skipped++
	}
	return spans, skipped, errors.Join(err, flush())
}

// times are when the request that was answered was sent and when it ended, in nanoseconds.
func times(r Run, c eval.Call) (start, end int64) {
	start = r.Created.UnixNano() // of an answer that was taken from another call
	if n := len(c.Sent); n > 0 {
		start = 1000 * c.Sent[n-1].At
	}
	if c.FromFile() { // the time to read a line says nothing
		return start, start
	}
	return start, start + int64(1e6*c.LatencyMS)
}

func traceOf(r Run, t eval.Trial) string { return id(16, r.ID, t.String()) }

func callSpan(r Run, c eval.Call, start, end int64, parent string, content bool) object {
	u := c.Response.Usage
	list := attributes("gen_ai.operation.name", "chat", "gen_ai.provider.name", c.Provider, "gen_ai.request.model", c.Model, "gen_ai.response.model", c.Response.ModelVersion, "gen_ai.response.id", c.Response.RequestID,
		"gen_ai.response.finish_reasons", finishReasons(&c.Response), "scruple.step", c.Step, "scruple.stage", string(c.Stage), "scruple.attempts", c.Attempts, "error.type", string(c.ErrKind), "scruple.reused_from", c.SourceRun)
	if !c.FromFile() && !u.Uncounted {
		list = append(list, attributes("gen_ai.usage.input_tokens", u.TotalInput(), "gen_ai.usage.output_tokens", u.TotalOutput(),
			"gen_ai.usage.cache_read.input_tokens", u.Cached, "gen_ai.usage.cache_creation.input_tokens", u.CacheWrite, "gen_ai.usage.reasoning.output_tokens", u.Reasoning)...)
	}
	if cost := orNil(c.CostUSD); cost != nil && !c.FromFile() {
		list = append(list, attributes("scruple.cost_usd", cost)...)
	}
	if content && c.Err == "" {
		list = append(list, attributes("gen_ai.output.messages", messages(&c.Response))...)
	}
	status := object{}
	if c.Err != "" {
		status = object{"code": 2, "message": c.Err}
	}
	return object{"traceId": traceOf(r, c.Trial), "spanId": id(8, r.ID, c.Trial.String(), string(c.Stage), c.Step), "parentSpanId": parent, "name": "chat " + c.Model, "kind": 3,
		"startTimeUnixNano": strconv.FormatInt(start, 10), "endTimeUnixNano": strconv.FormatInt(end, 10), "attributes": list, "status": status}
}

// finishReasons is why an answer ended, in the words of the conventions, or else of the provider.
// A call without an answer has none.
func finishReasons(r *eval.Response) []string {
	words := map[eval.Stop]string{eval.StopEnd: "stop", eval.StopLength: "length", eval.StopTool: "tool_call", eval.StopRefused: "content_filter"}
	if r.Stop == "" {
		return nil
	}
	return []string{cmp.Or(words[r.Stop], r.StopReason, string(r.Stop))}
}

// messages is an answer as the conventions want it: a list with one message, in JSON.
func messages(r *eval.Response) string {
	parts := []object{}
	if text := cmp.Or(r.Text, r.Refusal); text != "" {
		parts = append(parts, object{"type": "text", "content": text})
	}
	for _, c := range r.ToolCalls {
		var arguments any = string(c.Arguments)
		if json.Valid(c.Arguments) {
			arguments = c.Arguments
		}
		parts = append(parts, object{"type": "tool_call", "id": c.ID, "name": c.Name, "arguments": arguments})
	}
	message := object{"role": "assistant", "parts": parts}
	for _, reason := range finishReasons(r) {
		message["finish_reason"] = reason
	}
	b, err := eval.EncodeJSON([]object{message})
	if err != nil {
		panic("evalout: " + err.Error()) // texts and valid JSON
	}
	return string(b)
}

func trialSpan(r Run, t eval.ScoredTrial, span string, start, end int64, content bool) object {
	at := strconv.FormatInt(end, 10)
	var events []object
	for _, v := range values(t.Scores) {
		list := attributes("gen_ai.evaluation.name", v.Metric)
		if x := orNil(v.number()); x != nil {
			list = append(list, attributes("gen_ai.evaluation.score.value", x)...)
		} else {
			list = append(list, attributes("gen_ai.evaluation.score.label", "unscored", "gen_ai.evaluation.explanation", v.Unscored)...)
		}
		events = append(events, object{"name": "gen_ai.evaluation.result", "timeUnixNano": at, "attributes": list})
	}
	list := attributes("scruple.item", t.Trial.Item, "scruple.arm", t.Trial.Arm, "scruple.replicate", t.Trial.Replicate, "scruple.outcome", string(t.Outcome.Kind))
	if content {
		list = append(list, attributes("scruple.answer", string(t.Outcome.Data))...)
	}
	status := object{}
	if t.Outcome.Kind == eval.Failed {
		status = object{"code": 2, "message": t.Outcome.Reason}
	}
	return object{"traceId": traceOf(r, t.Trial), "spanId": span, "name": "trial " + t.Trial.Arm, "kind": 1,
		"startTimeUnixNano": strconv.FormatInt(start, 10), "endTimeUnixNano": at, "attributes": list, "events": events, "status": status}
}

// attributes are pairs of names and values. Empty texts and lists are left out.
func attributes(pairs ...any) (list []object) {
	for i := 0; i+1 < len(pairs); i += 2 {
		var value object
		switch v := pairs[i+1].(type) {
		case string:
			if v == "" {
				continue
			}
			value = object{"stringValue": v}
		case int:
			value = object{"intValue": strconv.Itoa(v)}
		case float64:
			value = object{"doubleValue": v}
		case []string:
			if len(v) == 0 {
				continue
			}
			var of []object
			for _, s := range v {
				of = append(of, object{"stringValue": s})
			}
			value = object{"arrayValue": object{"values": of}}
		default:
			panic(fmt.Sprintf("evalout: attribute %v of type %T", pairs[i], v))
		}
		list = append(list, object{"key": pairs[i], "value": value})
	}
	return list
}
