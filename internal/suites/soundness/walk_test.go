package soundness

import (
	"fmt"
	"testing"

	"github.com/scruple-eval/scruple/internal/suites/suitetest"
)

// TestWalk: a run that followed its study says what a new run says.
func TestWalk(t *testing.T) {
	suitetest.Walk(t, suitetest.Changing{Suite: Suite(), Arms: 3, Readers: 4, Judges: 2, Files: func(s suitetest.State) map[string]string {
		corpus, gold, conditions, cases := "fragment_id,fragment_text\n", "fragment_id,expert_classification\n", "", "item,answer,verdict\n"
		for _, it := range s.Items {
			n := it.N % suitetest.Inputs
			corpus += fmt.Sprintf("%s,\"Fragment %d. The survey of %d farms is the evidence for the conclusion, and its limits are named.\"\n", it.ID, n, n+3)
			for k := range 1 + it.Gold {
				cases += fmt.Sprintf("%s,\"Sound. The survey of the farms is the %s evidence for all that the conclusion says, number %d.\",%s\n", it.ID, []string{"good", "best"}[n%2], k, []string{"pass", "fail"}[k%2])
			}
			gold += fmt.Sprintf("%s,%s\n", it.ID, []string{"sound", "not_sound"}[(n+it.Gold)%2])
		}
		for i, version := range s.Arms {
			if version >= 0 {
				conditions += fmt.Sprintf("  - {name: arm%d, models: [%s]}\n", i, []string{"m0", "s", "m1"}[i])
			}
		}
		reading := []string{"coherence: {margin: 3}", "coherence: {margin: 1}", "coherence: {margin: 3, strength: [evidence, survey]}", "reading: {attempts: 1, min_words: 12}"}[s.Reader]
		return map[string]string{
			"corpus.csv": corpus, "gold.csv": gold, "cases.csv": cases,
			"study.yaml": fmt.Sprintf(`name: walk
suite: soundness
data: {path: corpus.csv, columns: essential}
gold: {path: gold.csv, columns: essential}
labels:
  - {name: sound, side: strength, means: it follows}
  - {name: not_sound, side: weakness, means: it does not follow, phrases: [unsound]}
prompt: "Is it sound? Answer in JSON with classification and rationale. {{EXAMPLES}} {{FRAGMENT}}"
arms:
%smodels:
  - {id: m0, provider: openai, name: x%d, base_url: "http://localhost:1/v1", temperature: 0.5, max_tokens: 500}
  - {id: m1, provider: openai, name: y, base_url: "http://localhost:1/v1", temperature: 0.5, max_tokens: 500}
  - {id: s, provider: simulated, name: x, max_tokens: 500}
  - {id: j, provider: openai, name: j, base_url: "http://localhost:1/v1", temperature: 0, max_tokens: %d}
judge_model: j
judge: {cases: {path: cases.csv}}
execution: {replicates: 2}
%s
`, conditions, s.Arms[0], 10+s.Judge, reading),
		}
	}})
}
