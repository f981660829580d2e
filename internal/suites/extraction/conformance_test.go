package extraction

import (
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/suitetest"
)

// Every kind of arm, with a judge, on the documents of the starter study.
func TestConformance(t *testing.T) {
	dir := t.TempDir()
	suite := Suite()
	if _, err := suite.Init(dir); err != nil {
		t.Fatal(err)
	}
	write(t, dir, map[string]string{
		"answers.jsonl": "{}\n",
		"study.yaml": `name: t
suite: extraction
data: {source: jsonl, path: data/contracts.jsonl}
models:
  - {id: m, provider: openai, name: x}
  - {id: s, provider: anthropic, name: y, structured: schema}
  - {id: tool, provider: google, name: z, structured: tool}
  - {id: sim, provider: simulated, skill: {wrong: 0.2}}
  - {id: judge, provider: openai, name: j}
judge_model: judge
arms:
  - {name: k, path: kernels/ctn_extraction.txt}
  - {name: no-v1, of: k, remove: [v1], models: [m]}
  - {name: rules, builtin: heuristic}
  - {name: o, outputs: answers.jsonl}
  - {name: e, exec: cat}
`})
	b, err := openIn(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	// The answers of the rules, so that there are quotes to judge.
	answers := map[string]string{}
	for _, it := range b.Items() {
		d, err := b.document(it.ID)
		if err != nil {
			t.Fatal(err)
		}
		answers[it.ID] = heuristicAnswer(d)
	}
	suitetest.Bench(t, suite.Suite, b, func(stage eval.Stage, step string, r eval.Request) (eval.Response, error) {
		if stage == eval.StageJudge {
			_, quote, _ := strings.Cut(r.Messages[0].Content, "Text: ")
			return eval.Response{Text: quote, Stop: eval.StopEnd}, nil
		}
		return eval.Response{Text: answers[r.Item], Stop: eval.StopEnd}, nil
	})
}
