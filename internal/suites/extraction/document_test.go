package extraction

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/text"
)

// noSchema has no field that a plain answer could have.
var noSchema = &Schema{root: &node{members: []*node{}}}

var invoiceSchema = &Schema{Name: "invoice", Fields: []Field{
	{Name: "invoice_number", Type: text.ID}, {Name: "due_date", Type: text.Date}, {Name: "total_amount", Type: text.Money}}}

// Contradictory gold is an error that names document and field (X1.3).
// Each row is one record of gold for the text below.
func TestGoldContradictions(t *testing.T) {
	const doc = "---PAGE 1---\nInvoice INV-7\nTotal: 12.50\n---PAGE 2---\nDue: March 1, 2024\n"
	tests := []struct{ gold, want string }{
		{`{"field":"total_amount","exists_in_document":true,"correct_value":"12.50","evidence_quote":"Total: 12.50","page":1}`, ""},
		{`{"field":"total_amount","exists_in_document":true,"correct_value":12.50,"evidence_quote":"Total:   12.50"}`, ""},
		{`{"field":"total_amount","exists_in_document":true,"correct_value":"12.50","evidence_must_contain":"12.50","evidence_quote":null,"page":null,"candidate_values":[]}`, ""},
		{`{"field":"total_amount","exists_in_document":true,"correct_value":"12.50","evidence_quote":"12.50 Due: March"}`, ""}, // across pages
		{`{"field":"invoice_number","exists_in_document":true,"correct_value":"12.50 Due","evidence_quote":"Total: 12.50\n---PAGE 2---\nDue","page":1}`, ""},
		{`{"field":"total_amount","exists_in_document":false,"correct_value":null,"acceptable_values":[]}`, ""},
		{`{"field":"total_amount","exists_in_document":true,"is_ambiguous":true,"candidate_values":["1","2"],"note":"two totals"}`, ""},

		{`{"field":"total_amount","correct_value":"12.50"}`, `field "total_amount": exists_in_document is missing`},
		{`{"field":"total","exists_in_document":false}`, `field "total": schema invoice has no such field`},
		{`{"field":"total_amout","exists_in_document":false}`, `did you mean "total_amount"?`},
		{`{"exists_in_document":false}`, `ground_truth[0] has no field name`},
		{`{"field":"total_amount","exists_in_document":true}`, `exists in the document but has no correct_value`},
		{`{"field":"total_amount","exists_in_document":true,"correct_value":"1","candidate_values":["1","2"]}`, `has candidate_values but is not ambiguous`},
		{`{"field":"total_amount","exists_in_document":true,"is_ambiguous":true,"candidate_values":["1"]}`, `is ambiguous but candidate_values has 1 distinct value`},
		{`{"field":"total_amount","exists_in_document":true,"is_ambiguous":true,"candidate_values":["a","A "]}`, `is ambiguous but candidate_values has 1 distinct value`},
		{`{"field":"total_amount","exists_in_document":true,"is_ambiguous":true,"correct_value":"1","candidate_values":["1","2"]}`, `is ambiguous but has correct_value "1"`},
		{`{"field":"total_amount","exists_in_document":false,"is_ambiguous":true,"candidate_values":["1","2"]}`, `is ambiguous but does not exist`},
		{`{"field":"total_amount","exists_in_document":false,"correct_value":"1"}`, `does not exist in the document but has a value`},
		{`{"field":"total_amount","exists_in_document":false,"acceptable_values":["1"]}`, `does not exist in the document but has a value`},
		{`{"field":"total_amount","exists_in_document":false,"evidence_quote":"Total"}`, `does not exist in the document but has evidence`},
		{`{"field":"total_amount","exists_in_document":false,"page":1}`, `does not exist in the document but has page 1`},
		{`{"field":"total_amount","exists_in_document":true,"correct_value":"12.50","evidence_quote":"total: 12.50"}`, `evidence_quote "total: 12.50" is not in the text`},
		{`{"field":"total_amount","exists_in_document":true,"correct_value":"12.50","evidence_must_contain":"13.50"}`, `evidence_must_contain "13.50" is not in the text`},
		{`{"field":"total_amount","exists_in_document":true,"correct_value":"12.50","evidence_quote":"Total: 12.50","page":2}`, `evidence_quote "Total: 12.50" is on page 1, not on page 2`},
		{`{"field":"total_amount","exists_in_document":true,"correct_value":"12.50","page":3}`, `page 3: the document has no such page`},
	}
	for _, tt := range tests {
		record, _ := json.Marshal(map[string]any{"document_id": "d1", "schema": "invoice", "text": doc, "ground_truth": []json.RawMessage{json.RawMessage(tt.gold)}})
		var d Document
		if err := dataset.DecodeStrict(record, &d); err != nil {
			t.Errorf("%s: %v", tt.gold, err)
			continue
		}
		err := d.check(invoiceSchema, goldRules{}, func(string) {})
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", tt.gold, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), `document "d1"`)):
			t.Errorf("%s:\n got %v\nwant %s", tt.gold, err, tt.want)
		}
	}
}

// Gold that no answer can match is an error; gold that answers may match, but that
// looks wrong, is a warning. Both name document, field and value.
func TestUnreachableGold(t *testing.T) {
	const doc = "Invoice INV-7 of 3. Lenzmond 2024\nTotal: EUR 1.200,50 for twelve months at 7%\nDue March 1, 2024 or Apr 2, 2024. The law of Ohio governs. Paid 05/06/2024.\n"
	schema := &Schema{Name: "s", Fields: []Field{{Name: "number", Type: text.ID}, {Name: "due", Type: text.Date}, {Name: "total", Type: text.Money},
		{Name: "law", Type: text.String}, {Name: "kind", Type: text.Enum}, {Name: "rate", Type: text.Number}}}
	const none, doubt, wrong = "", "doubt", "wrong"
	for _, test := range []struct{ gold, how, want string }{
		{`{"field":"due","correct_value":"2024-03-01"}`, none, ""},
		{`{"field":"due","correct_value":"2024-03-01","evidence_quote":"Due March 1, 2024"}`, none, ""},
		{`{"field":"rate","correct_value":"7%"}`, doubt, `value "7%" is compared as the number before the percent sign`},
		{`{"field":"rate","correct_value":"7%","acceptable_values":["0.07"]}`, none, ""},
		{`{"field":"rate","correct_value":"7"}`, none, ""},
		{`{"field":"due","correct_value":"2024-04"}`, doubt, `value "2024-04" is nowhere in the text`},
		{`{"field":"due","correct_value":"32/13/2020"}`, wrong, `value "32/13/2020": no such day in the calendar`},
		{`{"field":"due","correct_value":"2024-02-30"}`, wrong, `value "2024-02-30": no such day in the calendar`},
		{`{"field":"due","correct_value":"February 30, 2024"}`, wrong, `value "February 30, 2024": no such day`},
		{`{"field":"due","correct_value":"2024-03-01","acceptable_values":["00.00.0000"]}`, wrong, `value "00.00.0000": no such day`},
		{`{"field":"due","is_ambiguous":true,"candidate_values":["2024-03-01","2024-04-31"]}`, wrong, `value "2024-04-31": no such day`},
		{`{"field":"due","correct_value":"Due"}`, doubt, `value "Due" cannot be read as type date and is compared as text: not a calendar day in a known format`},
		{`{"field":"due","correct_value":"2024-03-03"}`, doubt, `value "2024-03-03" is nowhere in the text, so no quote can show it: add its spelling in the text to acceptable_values`},
		{`{"field":"due","correct_value":"2024-03-03","acceptable_values":["3. Lenzmond 2024"]}`, doubt, `value "3. Lenzmond 2024" cannot be read as type date`},
		{`{"field":"due","correct_value":"2024-03-03","evidence_quote":"3. Lenzmond 2024"}`, wrong, `evidence_quote "3. Lenzmond 2024" does not contain the value "2024-03-03": add its spelling`},
		{`{"field":"due","correct_value":"2024-03-03","evidence_must_contain":"3. Lenzmond 2024"}`, wrong, `value "2024-03-03" is nowhere in the text`},
		{`{"field":"due","is_ambiguous":true,"candidate_values":["2024-03-01","2024-04-02"]}`, none, ""},
		{`{"field":"due","is_ambiguous":true,"candidate_values":["2024-03-01","2024-04-03"]}`, doubt, `candidate value "2024-04-03" is not in the text`},
		{`{"field":"due","correct_value":"05/06/2024"}`, doubt, `value "05/06/2024" can be two days and is compared as written: add the one that is meant`},
		{`{"field":"due","correct_value":"05/06/2024","acceptable_values":["2024-06-05"]}`, none, ""},
		{`{"field":"total","correct_value":"1200.50","evidence_quote":"Total: EUR 1.200,50"}`, none, ""},
		{`{"field":"total","correct_value":"1200.50","evidence_must_contain":"1.200,50"}`, none, ""},
		{`{"field":"total","correct_value":"1200.50","evidence_quote":"for twelve months"}`, wrong, `evidence_quote "for twelve months" does not contain the value "1200.50"`},
		{`{"field":"total","correct_value":"twelve"}`, doubt, `value "twelve" cannot be read as type money and is compared as text: no digits`},
		{`{"field":"total","correct_value":"5 cents","acceptable_values":["5 cents"],"evidence_quote":"for twelve months"}`, wrong, `evidence_quote`},
		{`{"field":"number","correct_value":"inv-7"}`, none, ""},
		{`{"field":"number","correct_value":"INV-8"}`, doubt, `value "INV-8" is nowhere in the text`},
		{`{"field":"number","correct_value":"INV-8","evidence_quote":"Invoice INV-7"}`, wrong, `evidence_quote "Invoice INV-7" does not contain the value "INV-8"`},
		{`{"field":"law","correct_value":"Ohio law","acceptable_values":["OHIO"],"evidence_quote":"law of Ohio"}`, none, ""},
		{`{"field":"law","correct_value":"Ohio law"}`, doubt, `value "Ohio law" is nowhere in the text`},
		{`{"field":"kind","correct_value":"annual","evidence_quote":"twelve months"}`, doubt, `evidence_quote "twelve months" does not contain the value "annual"`},
		{`{"field":"kind","exists_in_document":false}`, none, ""},
	} {
		gold := test.gold
		if !strings.Contains(gold, "exists_in") {
			gold = strings.Replace(gold, "}", `,"exists_in_document":true}`, 1)
		}
		record, _ := json.Marshal(map[string]any{"document_id": "d1", "schema": "s", "text": doc, "ground_truth": []json.RawMessage{json.RawMessage(gold)}})
		var d Document
		if err := dataset.DecodeStrict(record, &d); err != nil {
			t.Fatalf("%s: %v", gold, err)
		}
		how, said := none, ""
		if err := d.check(schema, goldRules{}, func(text string) {
			if text == said {
				t.Errorf("%s: twice %s", gold, said)
			}
			how, said = doubt, text
		}); err != nil {
			how, said = wrong, err.Error()
		}
		field, _, _ := strings.Cut(strings.TrimPrefix(gold, `{"field":"`), `"`)
		if how != test.how || how != none && !strings.Contains(said, `document "d1": field "`+field+`": `+test.want) {
			t.Errorf("%s:\n got %s %s\nwant %s %s", gold, how, said, test.how, test.want)
		}
	}
}

func TestDocumentContradictions(t *testing.T) {
	missing := missingGold()
	missing.Field = "due_date"
	tests := []struct {
		doc  Document
		want string
	}{
		{Document{Text: " \n", Truth: []Gold{missing}}, "text is empty"},
		{Document{Text: "x", Split: "train", Truth: []Gold{missing}}, `split is "train": want dev or test`},
		{Document{Text: "x"}, "ground_truth is empty"},
		{Document{Text: "x", Truth: []Gold{missing, missing}}, `field "due_date": duplicate gold`},
		{Document{Text: "---PAGE one---\nx", Truth: []Gold{missing}}, "line 1"},
	}
	for _, tt := range tests {
		if err := tt.doc.check(invoiceSchema, goldRules{}, func(string) {}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want %s", err, tt.want)
		}
	}
}

func TestDecodeDocumentErrors(t *testing.T) {
	tests := []struct{ record, want string }{
		{`{"document_id":"d","text":"x","schma":"invoice","ground_truth":[]}`, `did you mean "schema"`},
		{`{"document_id":"d","text":"x","schema":"invoice","ground_truth":[{"field":"f","exists":true}]}`, `exists`},
		{`{"document_id":true,"text":"x"}`, "document_id: want a string"},
		{`{"document_id":"d","document_id":"e"}`, "duplicate key"},
		{`{"document_id":"d"`, "unexpected end of JSON"},
		{`{"document_id":"\ud800"}`, "column 17: reading JSON: invalid surrogate pair"},
		{`{"document_id":"d"} {}`, "want one value per line"},
		{`{"ground_truth":[{"correct_value":["a"]}]}`, "correct_value: want a string, got a list"},
		{`{"ground_truth":[{"acceptable_values":["a",{}]}]}`, "acceptable_values[1]: want a string, got an object"},
		{`[]`, "want an object"},
		{`null`, "want an object"},
	}
	for _, tt := range tests {
		if _, err := new(Mapping).decode([]byte(tt.record), true); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.record, err, tt.want)
		}
	}
}

// Values are strings, numbers, booleans or null, kept as written.
func TestDecodeValues(t *testing.T) {
	var g Gold
	record := `{"field":"f","exists_in_document":true,"is_ambiguous":true,"correct_value":null,"acceptable_values":null,` +
		`"candidate_values":["a\u00e9\n",-1.50,true,1e2],"evidence_quote":null,"evidence_must_contain":null,"page":null,"note":null}`
	if err := dataset.DecodeStrict([]byte(record), &g); err != nil {
		t.Fatal(err)
	}
	yes := true
	want := Gold{Field: "f", Exists: &yes, Ambiguous: true, Candidates: []literal{"aé\n", "-1.50", "true", "1e2"}}
	if d := cmp.Diff(want, g); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// Hashes depend on the content of documents and gold, not on the encoding.
func TestHashes(t *testing.T) {
	read := func(record string) *Document {
		var d Document
		if err := dataset.DecodeStrict([]byte(record), &d); err != nil {
			t.Fatal(err)
		}
		return &d
	}
	a := read(`{"document_id":"d","schema":"s","text":"x","ground_truth":[{"field":"f","exists_in_document":true,"correct_value":"1"}]}`)
	b := read(`{"ground_truth":[{"correct_value":1,  "exists_in_document":true,"is_ambiguous":false,"field":"f"}],"text":"x","schema":"s","document_id":"d"}`)
	if a.inputHash() != b.inputHash() || a.goldHash() != b.goldHash() {
		t.Error("the same document written otherwise has another hash")
	}
	c := read(`{"document_id":"d","schema":"s","text":"x","ground_truth":[{"field":"f","exists_in_document":true,"correct_value":"1","acceptable_values":["1"]}]}`)
	if a.goldHash() == c.goldHash() || a.inputHash() != c.inputHash() {
		t.Error("another acceptable value must change the hash of gold and of nothing else")
	}
	if d := read(`{"document_id":"d","schema":"sx","text":"","ground_truth":[]}`); d.inputHash() == a.inputHash() {
		t.Error("the border between schema and text does not count")
	}
}

func FuzzDocument(f *testing.F) {
	f.Add([]byte(strings.TrimSpace(invoiceLine("1", 300))))
	f.Add([]byte(`{"document_id":"d","text":"x","schema":"invoice","ground_truth":[{"field":"due_date","exists_in_document":false,"page":1e2,"correct_value":-0.5e3}]}`))
	f.Add([]byte(`{"document_id":"\ud83d\ude00","text":"---PAGE 1---\nx","ground_truth":[{"candidate_values":[null,"a"]}]} `))
	f.Fuzz(func(t *testing.T, data []byte) {
		var d Document
		if dataset.DecodeStrict(data, &d) != nil || d.check(invoiceSchema, goldRules{}, func(string) {}) != nil {
			return
		}
		p := &prepared{Document: d, schema: invoiceSchema}
		checkScores(t, scoreAll(p.ready(), nullAnswer(p.schema), "baseline"))
		checkScores(t, scoreAll(p, heuristicAnswer(p), ""))
	})
}
