package qa

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/suites/suitetest"
)

// TestWalk: a run that followed its study says what a new run says.
func TestWalk(t *testing.T) {
	suitetest.Walk(t, suitetest.Changing{Suite: Suite(), Arms: 4, Readers: 3, Judges: 2, NoIDs: true, Files: func(s suitetest.State) map[string]string {
		var questions, prompts strings.Builder
		judge := ""
		for _, it := range s.Items {
			n := it.N % suitetest.Inputs
			q := map[string]any{"question": fmt.Sprintf("How many are %d and %d?", n, n+1)}
			if it.ID != "" {
				q["id"] = it.ID
			}
			if n < 2 {
				judge = "judge_model: j\n"
				q["rubric"] = "It gives a number." + strings.Repeat(" And a reason.", it.Gold)
				q["wrong"] = []string{"None.", "Ask later.", "Some."}[:1+it.Gold]
			}
			if n != 0 || it.Gold != 1 {
				q["answer"] = []string{"seven", "yes", "seven or eight"}[(n+it.Gold)%3]
			}
			if n == 4 {
				q["choices"], q["answer"] = []string{"seven", "eight", "nine"}, string(rune('A'+it.Gold))
			}
			line, err := json.Marshal(q)
			if err != nil {
				panic(err)
			}
			questions.Write(append(line, '\n'))
		}
		for i, version := range s.Arms {
			if version >= 0 {
				fmt.Fprintf(&prompts, "  - {name: arm%d, models: [%s], prompt: \"Arm %d, version %d: {{QUESTION}}\"}\n", i, []string{"m", "s"}[i%2], i, version)
			}
		}
		return map[string]string{
			"questions.jsonl": questions.String(),
			"study.yaml": fmt.Sprintf(`name: walk
suite: qa
data: {path: questions.jsonl, match: %s}
arms:
%smodels:
  - {id: m, provider: openai, name: x, base_url: "http://localhost:1/v1"}
  - {id: s, provider: simulated, name: x}
  - {id: j, provider: openai, name: j, base_url: "http://localhost:1/v1", temperature: 0, max_tokens: %d}
%sexecution: {replicates: 2}
comparisons: [{a: arm0, b: most_common, primary: true}]
decide: {require: [{name: better, that: "diff_low('arm0', 'most_common', 'correct') > 0"}]}
`, []string{"normalized", "exact", "regex"}[s.Reader], prompts.String(), 10+s.Judge, judge),
		}
	}})
}
