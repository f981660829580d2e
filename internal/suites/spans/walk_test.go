package spans

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/suites/suitetest"
)

// TestWalk: a run that followed its study says what a new run says.
func TestWalk(t *testing.T) {
	suitetest.Walk(t, suitetest.Changing{Suite: Suite(), Arms: 3, Readers: 2, Judges: 2, NoIDs: true, Files: func(s suitetest.State) map[string]string {
		records, labellers := "", ""
		for _, it := range s.Items {
			n := it.N % suitetest.Inputs
			text := fmt.Sprintf("Ann met Bob in Oslo on day %d.", n)
			r := map[string]any{"text": text, "spans": []map[string]any{
				{"start": 0, "end": 3, "label": "person"}, {"start": 8, "end": 11, "label": []string{"person", "place", "person"}[it.Gold]}}[:1+(n+it.Gold)%2]}
			if it.ID != "" {
				r["id"] = it.ID
			}
			line, err := json.Marshal(r)
			if err != nil {
				panic(err)
			}
			records += string(line) + "\n"
		}
		for i, version := range s.Arms {
			if version >= 0 {
				labellers += fmt.Sprintf("  - {name: arm%d, models: [%s], prompt: \"Arm %d, version %d. Roles: {{ROLES}}\"}\n", i, []string{"m", "s", "m"}[i], i, version)
			}
		}
		return map[string]string{
			"lexicon.json": `{"person": ["Ann", "Cid"], "place": ["Oslo"]}`, "records.jsonl": records,
			"study.yaml": fmt.Sprintf(`name: walk
suite: spans
data: [{path: records.jsonl}]
taxonomy:
  task: notes
  guidelines: Label names.
  categories: [{name: person}, {name: place}%s]
arms:
  - {name: words, builtin: lexicon, lexicon: lexicon.json}
%smodels:
  - {id: m, provider: openai, name: x, base_url: "http://localhost:1/v1"}
  - {id: s, provider: simulated, name: x}
  - {id: j, provider: openai, name: j, base_url: "http://localhost:1/v1", temperature: 0, max_tokens: %d}
judge_model: j
comparisons: [{a: arm0, b: words, primary: true}]
`, strings.Repeat(", {name: time}", s.Reader), labellers, 1000+s.Judge),
		}
	}})
}
