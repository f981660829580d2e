package analyse

import (
	"fmt"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/text"
)

// CutPrompts are the prompts of an arm that a server cut.
type CutPrompts struct {
	Arm    string `json:"arm"`
	Stage  string `json:"stage"` // run | judge
	N      int    `json:"n"`
	Words  int    `json:"words"`  // of the longest of them
	Tokens int    `json:"tokens"` // that the server counted of it
}

// CutsOf lists the cut prompts of arms.
func CutsOf(cuts []eval.ArmCuts) []CutPrompts {
	var list []CutPrompts
	for _, c := range cuts {
		list = append(list, CutPrompts{Arm: c.Arm, Stage: string(c.Stage), N: c.Cuts, Words: c.Worst.Words, Tokens: c.Worst.Tokens})
	}
	return list
}

// String returns the warning.
func (c CutPrompts) String() string {
	of := ""
	if c.Stage == string(eval.StageJudge) {
		of = " to the judge"
	}
	return fmt.Sprintf("%s: the server cut %s%s: of one with %d words it counted %d tokens, and every word takes at least one; "+
		"the model did not see the rest. Raise the context length of the server (Ollama: num_ctx in the Modelfile or OLLAMA_CONTEXT_LENGTH; llama.cpp: --ctx-size) and ask again with `scruple run --new --no-reuse`",
		c.Arm, text.Plural(c.N, "prompt", "prompts"), of, c.Words, c.Tokens)
}
