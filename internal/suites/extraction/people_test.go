package extraction

import (
	"strings"
	"testing"
)

// People are told of a field what prompts say, and values that could only be compared as text
// are refused when they are entered.
func TestFieldsForPeople(t *testing.T) {
	b := mustOpen(t, map[string]string{
		"schemas/lease.json": `{"name": "lease", "fields": [
			{"name": "end", "type": "date", "description": "Day on which the term ends; do not compute it"},
			{"name": "rent", "type": "money", "description": ""},
			{"name": "kind", "type": "enum", "description": "What is let", "enum": ["flat", "house"]},
			{"name": "owner", "type": "string", "description": "Who lets it"}]}`,
		"d.jsonl":    `{"document_id":"d","schema":"lease","text":"It ends on March 1, 2030.","ground_truth":[{"field":"end","exists_in_document":true,"correct_value":"2030-03-01"}]}` + "\n",
		"study.yaml": "suite: extraction\nname: s\ndata: {source: jsonl, path: d.jsonl}\nschemas: schemas\narms:\n  - {name: h, builtin: heuristic}\n",
	})
	for _, c := range []struct{ field, about, fits, unfit string }{
		{"end", "Day on which the term ends; do not compute it\nType: date, such as 2024-03-15", "March 1, 2030", "01, 2016 Supersedes"},
		{"rent", "Type: money, such as USD 1234.50", "EUR 900", "nine"},
		{"kind", "What is let\nType: enum, one of flat | house", "Flat", "boat"},
		{"owner", "Who lets it\nType: string", "anything", ""},
	} {
		if got := b.About("d", c.field); got != c.about {
			t.Errorf("%s: %q, want %q", c.field, got, c.about)
		}
		if err := b.Fits("d", c.field, c.fits); err != nil {
			t.Error(err)
		}
		if err := b.Fits("d", c.field, c.unfit); c.unfit != "" && (err == nil || !strings.Contains(err.Error(), c.unfit)) {
			t.Errorf("%s takes %q: %v", c.field, c.unfit, err)
		}
	}
	if got := b.About("d", "other"); got != "" {
		t.Errorf("a field that does not exist: %q", got)
	}
}
