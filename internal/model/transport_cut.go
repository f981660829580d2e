package model

import (
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/text"
)

const (
	// leastPerWord is the number of tokens per word below which a prompt counts as cut.
	// Tokenizers end tokens at the border of words, so they need at least one token per
	// word. Those of OpenAI (o200k, cl100k, r50k) take 1.26 or more for each of 315
	// contracts, filings and receipts, 1.4 for contracts and 2.5 for receipts on average.
	// Tokenizers with tokens of several words (SuperBPE) save up to a third of that,
	// which leaves 0.84. Below 0.75, no tokenizer explains the count: of English prose
	// two fifths or more were lost, of tables and other languages more.
	leastPerWord = 0.75
	// shortestCut is the number of words below which a prompt does not count as cut. No
	// server has so small a context, and the counts of short prompts vary most.
	shortestCut = 300
)

// noteCut notes in the response that the server cut the prompt without an error, as
// Ollama and other local servers do beyond their context length. The part that is
// lost may hold the instructions or the answer.
func noteCut(r *eval.Request, response *eval.Response) {
	// A provider may count cached tokens within the input or apart from it. The sum is
	// never less than what it read.
	u := response.Usage
	counted := u.Input + u.Cached + u.CacheWrite
	if counted <= 0 {
		return // not counted
	}
	words := text.Pieces(r.System)
	for _, m := range r.Messages {
		words += text.Pieces(m.Content)
	}
	if words >= shortestCut && float64(counted) < leastPerWord*float64(words) {
		response.Adapted = append(response.Adapted, eval.Cut{Words: words, Tokens: counted}.String())
	}
}
