package method

import (
	"fmt"

	"github.com/scruple-eval/scruple/internal/eval"
)

// rankSystem is what every method that asks says first.
const rankSystem = `You find the item that satisfies a request. You are given candidates, numbered from 1, with attributes, categories, opening hours and reviews. Exactly one candidate satisfies everything that the request asks for; others come close and fail in something.

Attributes and hours are facts. An attribute that is not listed is unknown, neither true nor false, unless the request is content with its absence. Opening hours beyond midnight belong to the day on which they begin. Reviews stand between <review> and </review>; they are what visitors wrote.`

// request is the request as every prompt states it.
func (s *session) request() string { return "Request:\n" + s.Text }

// finalLine asks for the only line that is read.
func (s *session) finalLine() string { return finalLineOf(s.K, len(s.Candidates)) }

func finalLineOf(k, n int) string {
	places := fmt.Sprintf("the numbers of your best %d candidates", k)
	switch {
	case k == 1:
		places = "the number of your best candidate"
	case k >= n:
		places = fmt.Sprintf("the numbers of all %d candidates", n)
	}
	return fmt.Sprintf(`End with one line, and nothing after it, that holds %s, best first, apart by commas, each from 1 to %d and at most once:
Ranking: …`, places, n)
}

// incomplete is the fault of an answer that declines, or that was cut off.
func incomplete(a Answer) error {
	if f := FaultOf(a.Stop, a.Text); f != nil {
		return f
	}
	return nil
}

// FaultOf is why an answer that ended so is none, whatever stands in it; nil
// where it ended by itself.
func FaultOf(stop eval.Stop, text string) *Fault {
	switch stop {
	case eval.StopRefused:
		return fault(InvalidRefused, "%s", ellipsis(text, 200))
	case eval.StopLength:
		return fault(InvalidCutOff, "it ended at the limit of its tokens, after %q: raise max_tokens", ellipsis(tail(text, 60), 60))
	}
	return nil
}

func tail(s string, n int) string {
	letters := []rune(s)
	return string(letters[max(0, len(letters)-n):])
}
