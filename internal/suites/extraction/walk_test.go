package extraction

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/suitetest"
)

// TestWalk: a run that followed its study says what a new run says.
func TestWalk(t *testing.T) {
	suitetest.Walk(t, suitetest.Changing{Suite: Suite(), Arms: 3, Readers: 2, Judges: 2, Files: func(s suitetest.State) map[string]string {
		documents, kernels := "", ""
		files := map[string]string{}
		for _, it := range s.Items {
			n := it.N % suitetest.Inputs
			line, err := json.Marshal(map[string]any{"document_id": it.ID, "schema": "note",
				"text":         fmt.Sprintf("---PAGE 1---\nInvoice Number: A-1%d\nTotal: 3%d.50 of A-2%d\n", n, n, n),
				"ground_truth": []map[string]any{{"field": "number", "exists_in_document": true, "correct_value": []string{fmt.Sprintf("A-1%d", n), fmt.Sprintf("A-2%d", n), fmt.Sprintf("A-1%d", n)}[it.Gold], "page": 1}}})
			if err != nil {
				panic(err)
			}
			documents += string(line) + "\n"
		}
		for i, version := range s.Arms {
			name := fmt.Sprintf("arm%d", i)
			files["kernels/"+name+".txt"] = fmt.Sprintf("Kernel %d, version %d.\n{{SCHEMA}}\n{{OUTPUT_FORMAT}}\n", i, version)
			kernels += fmt.Sprintf("  - {name: %s, models: [%s], enabled: %v}\n", name, []string{"m", "s", "m"}[i], version >= 0)
		}
		files["documents.jsonl"] = documents
		files["schemas/note.json"] = fmt.Sprintf(`{"name": "note", "fields": [{"name": "number", "type": "%s", "description": "the number of the invoice"}]}`, []string{"id", "string"}[s.Reader])
		files["study.yaml"] = fmt.Sprintf(`name: walk
suite: extraction
data: {source: jsonl, path: documents.jsonl}
schemas: schemas
arms:
  - {name: rules, builtin: heuristic}
%smodels:
  - {id: m, provider: openai, name: x, base_url: "http://localhost:1/v1"}
  - {id: s, provider: simulated, name: x}
  - {id: j, provider: openai, name: j, base_url: "http://localhost:1/v1", temperature: 0, max_tokens: %d}
judge_model: j
comparisons: [{a: arm0, b: rules, primary: true}]
`, kernels, 50+s.Judge)
		return files
	}, Answer: func(r *eval.Request) string {
		if r.Model == "j" {
			return "A-1" + r.Key()[:1]
		}
		_, number, _ := strings.Cut(r.Messages[0].Content, "Invoice Number: ")
		number, _, _ = strings.Cut(number, "\n")
		return fmt.Sprintf(`{"extractions": [{"field": "number", "value": %q, "status": "found", "evidence_quote": "Invoice Number: %s", "page": 1}]}`, number, number)
	}})
}
