package atoms

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/scruple-eval/scruple/internal/suites/suitetest"
)

// TestWalk: a run that followed its study says what a new run says.
func TestWalk(t *testing.T) {
	suitetest.Walk(t, suitetest.Changing{Suite: Suite(), Arms: 3, Readers: 2, Judges: 2, Files: func(s suitetest.State) map[string]string {
		corpus, extractors := "", ""
		files := map[string]string{}
		for _, it := range s.Items {
			n := it.N % suitetest.Inputs
			line, err := json.Marshal(map[string]any{"id": it.ID,
				"documents": []map[string]string{{"name": "a.md", "text": fmt.Sprintf("# Decision: Close early %d\n\nOwner: Clerk\n\nThe shop closes at noon because it rains on day %d.\n", n, n)}},
				"gold": map[string]string{
					"role/clerk.md":       "---\nid: clerk\ntype: role\ntitle: Clerk\n---\n# Clerk\n",
					"decision/closing.md": fmt.Sprintf("---\nid: closing\ntype: decision\ntitle: Close early %d\nowner: clerk\nrationale:\n  - It rains on day %d.\n---\n# Close early\n", n, n+it.Gold%2)}})
			if err != nil {
				panic(err)
			}
			corpus += string(line) + "\n"
		}
		for i, version := range s.Arms {
			if version >= 0 {
				files[fmt.Sprintf("arm%d.txt", i)] = fmt.Sprintf("Arm %d, version %d: find the atoms.", i, version)
				extractors += fmt.Sprintf("  - {name: arm%d, path: arm%d.txt, models: [%s]}\n", i, i, []string{"m", "s", "m"}[i])
			}
		}
		files["corpus.jsonl"] = corpus
		files["ontology.yaml"] = fmt.Sprintf(`types:
  - {name: role, owns: true}
  - {name: decision, required: [%s]}
edges:
  - {name: owner, kind: single, to: [role]}
`, []string{"rationale", "rationale, owner"}[s.Reader])
		files["study.yaml"] = fmt.Sprintf(`name: walk
suite: atoms
data: {path: corpus.jsonl, allow_gaps: true}
ontology: ontology.yaml
arms:
  - {name: outline}
%smodels:
  - {id: m, provider: openai, name: x, base_url: "http://localhost:1/v1"}
  - {id: s, provider: simulated, name: x}
  - {id: j, provider: openai, name: j, base_url: "http://localhost:1/v1", temperature: 0, max_tokens: %d}
judge_model: j
comparisons: [{a: arm0, b: outline, primary: true}]
`, extractors, 500+s.Judge)
		return files
	}})
}
