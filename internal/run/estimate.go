package run

import (
	"math/bits"

	"github.com/scruple-eval/scruple/internal/eval"
)

const (
	// mostTokens is the largest credible count. No model has a context of this size.
	mostTokens = 100_000_000
	// perMessage is counted for the marks around a message or tool.
	perMessage = 8
	// assumedOutput is the output of a request that sets no limit.
	assumedOutput = 1024
)

// estimateOf estimates the tokens of a request and the most that its answer may
// have. It errs on the high side: a token of English has four bytes or more, and one
// of Chinese or Russian two or more.
func estimateOf(r *eval.Request, stage eval.Stage) eval.Usage {
	n := perMessage + tokensOf(r.System) + tokensOf(string(r.Payload))
	for _, m := range r.Messages {
		n += perMessage + tokensOf(m.Content)
	}
	for _, t := range r.Tools {
		n += perMessage + tokensOf(t.Name) + tokensOf(t.Description) + tokensOf(string(t.Parameters))
	}
	if r.Schema != nil {
		n += perMessage + tokensOf(string(r.Schema.JSON))
	}
	out := r.MaxTokens
	switch {
	case stage == eval.StageEmbed:
		return eval.Usage{Input: n} // vectors are not tokens
	case out == 0:
		out = assumedOutput
	}
	return eval.Usage{Input: n, Output: out, Reasoning: r.Allowance + r.Reasoning.Budget} // Anthropic's limit is raised by a budget that reaches it
}

// tokensOf counts a token for three bytes of ASCII or two of anything else.
func tokensOf(s string) int {
	other, i := 0, 0
	for ; i+8 <= len(s); i += 8 { // prompts are long: eight bytes at once
		eight := uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
			uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
		other += bits.OnesCount64(eight & 0x8080808080808080)
	}
	for ; i < len(s); i++ {
		if s[i] >= 0x80 {
			other++
		}
	}
	return (len(s)-other+2)/3 + (other+1)/2
}

// credible returns the counts of a provider, or none if one cannot be true: a negative
// one would refill a budget.
func credible(u eval.Usage) eval.Usage {
	for _, n := range [...]int{u.Input, u.Output, u.Cached, u.CacheWrite, u.Reasoning} {
		if n < 0 || n > mostTokens {
			return eval.Usage{Uncounted: true, CostUSD: u.CostUSD}
		}
	}
	return u
}

// countMissing replaces counts that the provider did not send by estimates. Thinking
// is not visible in an answer, so its limit is counted.
func countMissing(a *eval.Response, estimate eval.Usage) {
	u := &a.Usage
	u.Uncounted = false
	shown := tokensOf(a.Text)
	for _, c := range a.ToolCalls {
		shown += perMessage + tokensOf(c.Name) + tokensOf(string(c.Arguments))
	}
	if u.TotalInput() == 0 { // of a refused prompt too: Azure bills what its filter read
		u.Input, u.Estimated = estimate.Input, true
	}
	if shown == 0 && a.Stop == eval.StopRefused {
		return // stopped before the model wrote; the refusal is a filter's message
	}
	shown += tokensOf(a.Refusal)
	if u.TotalOutput() == 0 && shown > 0 && estimate.Output > 0 {
		u.Output, u.Reasoning, u.ReasoningInOutput, u.Estimated = shown, estimate.Reasoning, false, true
	}
}
