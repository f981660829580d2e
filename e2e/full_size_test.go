//go:build e2e

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/discipline"
)

// Items of a registered TEST set are known again under another name of the study and
// without its split, also if there are more than the ledger lists.
func TestItemsOfALargeTESTSetAreKnownAgain(t *testing.T) {
	t.Chdir(t.TempDir())
	var documents bytes.Buffer
	for i := range discipline.MostInputs + 100 {
		fmt.Fprintf(&documents, `{"document_id":"d%d","split":"test","schema":"bill","text":"INV-%d","ground_truth":[{"field":"number","exists_in_document":true,"correct_value":"INV-%d"}]}`+"\n", i, i, i)
	}
	must(t, os.Mkdir("schemas", 0o700))
	must(t, os.WriteFile("schemas/bill.json", []byte(`{"name": "bill", "fields": [{"name": "number", "type": "id", "description": "number"}]}`), 0o600))
	must(t, os.WriteFile("documents.jsonl", documents.Bytes(), 0o600))
	must(t, os.WriteFile("study.yaml", []byte(`name: large
suite: extraction
data: {source: jsonl, path: documents.jsonl}
arms: [{name: heuristic}]
comparisons: [{a: heuristic, b: null_baseline, primary: true}]
`), 0o600))
	do := func(args ...string) (int, string) {
		var out bytes.Buffer
		code := execute(t.Context(), args, strings.NewReader(""), &out, &out)
		return code, out.String()
	}
	if code, out := do("test", "register", "study.yaml"); code != 0 {
		t.Fatalf("preregister: exit %d: %s", code, out)
	}
	if code, out := do("run", "study.yaml", "-o", "name=other"); code != exitNotAllowed || !strings.Contains(out, "are in the TEST set that study large registered") {
		t.Errorf("a run of its items under another name: exit %d: %s", code, out)
	}
}
