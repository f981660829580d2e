package extraction

import (
	"fmt"
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
)

// A record for each field, also of one that is omitted, and for each candidate. The
// ratio is that of the quote's words, 2, to the value's.
func TestRecords(t *testing.T) {
	b := mustOpen(t, map[string]string{
		"study.yaml":        "name: s\nsuite: extraction\ndata: {source: jsonl, path: d.jsonl}\narms: [{name: heuristic}]\n",
		"schemas/memo.json": `{"name": "memo", "fields": [{"name": "number", "type": "id", "description": "its number"}, {"name": "day", "type": "date", "description": "its day"}, {"name": "sum", "type": "money", "description": "its sum"}]}`,
		"d.jsonl": `{"document_id": "d", "schema": "memo", "text": "Number: A-1, 5 or 6 EUR", "ground_truth": [` +
			`{"field": "number", "exists_in_document": true, "is_ambiguous": false, "correct_value": "A-1", "evidence_quote": "A-1", "page": 1},` +
			`{"field": "day", "exists_in_document": false, "is_ambiguous": false},` +
			`{"field": "sum", "exists_in_document": true, "is_ambiguous": true, "candidate_values": ["5", "6"], "note": "two"}]}` + "\n",
	})
	answer := `{"extractions": [
		{"field": "number", "value": "A-1", "evidence": {"quote": "Number: A-1", "page": 1}, "status": "ok", "confidence": "high", "candidates": []},
		{"field": "sum", "value": null, "evidence": null, "status": "ambiguous", "confidence": "low", "candidates": [{"value": "5", "quote": "5", "page": 1}, {"value": "6", "quote": "6 EUR", "page": 1}]},
		{"field": "tax", "value": "1", "evidence": null, "status": "ok", "confidence": "low", "candidates": []}]}`
	trial := eval.Trial{Item: "d", Arm: "heuristic", Replicate: 1}
	got, err := b.Records(nil, eval.CaseOf(trial, eval.Outcome{Kind: eval.OK, Data: []byte(answer)}, nil))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"number 0 ok A-1|Number: A-1|its number 2 1 [tax]",
		"day 0  ||its day NaN NaN [tax]",
		"sum 0 ambiguous ||its sum NaN 1 [tax]",
		"sum 1 ambiguous 5|5|its sum 1 NaN [tax]",
		"sum 2 ambiguous 6|6 EUR|its sum 2 NaN [tax]",
	}
	if len(got) != len(want) {
		t.Fatalf("%d records, want %d", len(got), len(want))
	}
	for i, r := range got {
		if s := fmt.Sprintf("%s %d %s %s|%s|%s %v %v %v", r.Unit, r.Candidate, r.Status, r.Value, r.Quote, r.About, r.TokenRatio, r.JudgeScore, r.Extra); s != want[i] {
			t.Errorf("record %d is %s, want %s", i, s, want[i])
		}
		if r.Trial != trial {
			t.Errorf("record %d is of %v", i, r.Trial)
		}
	}
	if more, err := b.Records(nil, eval.CaseOf(trial, eval.Outcome{Kind: eval.Failed}, nil)); err != nil || len(more) > 0 {
		t.Errorf("a failed trial has records: %v, %v", more, err)
	}
	trial.Item = "elsewhere"
	if _, err := b.Records(nil, eval.CaseOf(trial, eval.Outcome{Kind: eval.OK, Data: []byte(answer)}, nil)); err == nil {
		t.Error("a document that cannot be read has records")
	}
}
