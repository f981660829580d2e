package method

import (
	"fmt"

	"github.com/scruple-eval/scruple/internal/eval"
)

// PromptVersion is part of the hash of every arm that asks a model, so that a run
// never mixes answers to two wordings. It changes with any prompt; a test
// compares it with the prompts.
const PromptVersion = "3"

// rankSystem starts the system prompt of every method that asks a model.
const rankSystem = `You find the item that satisfies a request. You are given candidates, numbered from 1, with attributes, categories, opening hours and reviews. ` + onlyOne + `

Attributes and hours are facts. An attribute that is not listed is unknown, neither true nor false, unless the request accepts its absence. Opening hours that pass midnight belong to the day on which they begin. Reviews are enclosed in <review> and </review>; visitors wrote them.`

// What the system prompt says about the number of right candidates: the second in
// studies in which a request has several.
const (
	onlyOne   = "Exactly one candidate satisfies the whole request; the others fail at least one of its conditions."
	oneOrMore = "One or more candidates satisfy the whole request; the others fail at least one of its conditions."
)

// request returns the request as it appears in every prompt.
func (s *session) request() string { return "Request:\n" + s.Text }

// finalLine asks for the only line that is parsed.
func finalLine(k, n int) string {
	list := fmt.Sprintf("the numbers of your best %d candidates", k)
	if k >= n {
		list = fmt.Sprintf("the numbers of all %d candidates", n)
	}
	list += fmt.Sprintf(", best first, separated by commas; each number from 1 to %d at most once", n)
	if k == 1 {
		list = fmt.Sprintf("the number of your best candidate, from 1 to %d", n)
	}
	return fmt.Sprintf(`End with one line that contains %s. Write nothing after this line:
Ranking: …`, list)
}

// rankingAgain asks again after an answer without a readable ranking.
const rankingAgain = `That answer cannot be used: %s.
Answer again. You need not repeat your reasoning. %s`

// incomplete returns the fault of an answer that was refused or cut off.
func incomplete(a Answer) error {
	if f := FaultOf(a.Stop, a.Text); f != nil {
		return f
	}
	return nil
}

// FaultOf returns the fault of an answer with this stop reason, whatever its
// text; nil if the model finished.
func FaultOf(stop eval.Stop, text string) *Fault {
	switch stop {
	case eval.StopRefused:
		return fault(InvalidRefused, "%s", ellipsis(text, 200))
	case eval.StopLength:
		return fault(InvalidCutOff, "the answer reached the token limit after %q: raise max_tokens", ellipsis(tail(text, 60), 60))
	}
	return nil
}

func tail(s string, n int) string {
	letters := []rune(s)
	return string(letters[max(0, len(letters)-n):])
}
