package method

import (
	"embed"
	"fmt"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
)

//go:embed prompts
var prompts embed.FS

func read(name string) string {
	b, err := prompts.ReadFile("prompts/" + name)
	if err != nil {
		panic("method: " + err.Error())
	}
	return strings.TrimSuffix(string(b), "\n")
}

// wording returns the text of a prompt, and schema the strict schema of an answer.
func wording(file string) string { return read(file + ".txt") }

func schema(name, file string) *eval.Schema {
	return &eval.Schema{Name: name, Strict: true, JSON: []byte(read(file + ".json"))}
}

// PromptVersion is part of the hash of every arm that asks a model, so that a run
// never mixes answers to two wordings. It changes with any prompt; a test
// compares it with the prompts.
const PromptVersion = "5"

// rankSystem starts the system prompt of every method that asks a model.
var rankSystem = wording("rank_system")

// system is the system prompt of a method with a task of its own.
func system(method string) string { return rankSystem + "\n\n" + wording(method+"_system") }

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
