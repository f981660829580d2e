package rerank

import (
	"fmt"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/suites/suitetest"
)

// TestWalk: a run that followed its study says what a new run says.
func TestWalk(t *testing.T) {
	data, err := starterData()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data["requests.jsonl"])), "\n")
	suitetest.Walk(t, suitetest.Changing{Suite: Suite(), Arms: 4, Readers: 2, Files: func(s suitetest.State) map[string]string {
		var requests, methods strings.Builder
		for _, it := range s.Items {
			n := it.N % suitetest.Inputs
			line := strings.Replace(lines[n], fmt.Sprintf(`"id":"R%02d"`, n+1), fmt.Sprintf("%q:%q", "id", it.ID), 1)
			line = strings.Replace(line, `"aspect":"`, `"aspect":"`+strings.Repeat("x", it.Gold), 1)
			requests.WriteString(line + "\n")
		}
		for i, version := range s.Arms {
			if version >= 0 {
				fmt.Fprintf(&methods, "  - {name: arm%d, builtin: %s, models: [%s]}\n", i, [][]string{{"cot", "ps"}, {"listwise", "cot"}, {"ps", "anot"}, {"cot", "listwise"}}[i][version], []string{"m", "s"}[i%2])
			}
		}
		return map[string]string{
			"items.jsonl": string(data["items.jsonl"]), "reviews.jsonl": string(data["reviews.jsonl"]), "users.jsonl": string(data["users.jsonl"]), "requests.jsonl": requests.String(),
			"study.yaml": fmt.Sprintf(`name: walk
suite: rerank
data: {items: items.jsonl, reviews: reviews.jsonl, users: users.jsonl, requests: requests.jsonl}
candidates: {sizes: [6]}
review_budget: {reviews: %d}
attacks: {names: [inject_hidden]}
models:
  - {id: m, provider: openai, name: x, base_url: "http://localhost:1/v1", temperature: 0.5}
  - {id: s, provider: simulated, name: x}
arms:
  - {name: random}
  - {name: oracle}
%scomparisons: [{a: arm0/n6, b: random/n6, primary: true}]
decide: {require: [{name: better, that: "diff_low('arm0/n6', 'random/n6', 'hits_1') > 0"}]}
`, 3+s.Reader, methods.String()),
		}
	}})
}
