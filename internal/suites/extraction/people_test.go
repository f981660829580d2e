package extraction

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
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
	for _, values := range [][]string{{"2030-03-01"}, {"2030-03-01", "March 1, 2030"}} {
		unclear := eval.UnitGold{Unit: "end", Ambiguous: true, Values: values}
		if _, err := b.Gold("d", []eval.UnitGold{unclear}); err == nil || !strings.Contains(err.Error(), "list at least two") {
			t.Errorf("an ambiguous field with the one value %q: %v", values, err)
		}
		if same, err := b.Same("d", unclear, eval.UnitGold{Unit: "end", Values: values[:1]}); err != nil || same {
			t.Errorf("ambiguous and present are the same: %v, %v", same, err)
		}
	}
	if got := b.About("d", "other"); got != "" {
		t.Errorf("a field that does not exist: %q", got)
	}
}

const orderSchema = `{"type": "object", "properties": {
	"day": {"type": "string", "format": "date"},
	"tags": {"type": "array", "items": {"type": "string", "description": "A word in bold"}},
	"lines": {"type": "array", "items": {"type": "object", "properties": {
		"sku": {"type": "string", "format": "id"}, "price": {"type": "number", "description": "Without tax"}}}}}}`

// A list is one unit for people, who give its records in any order. The gold is read as that in
// the data; a value that a record has not does not exist.
func TestGoldOfLists(t *testing.T) {
	files := map[string]string{
		"schemas/order.json": orderSchema,
		"schemas/words.json": `{"type": "object", "properties": {"words": {"type": "array", "items": {"type": "string"}}}}`,
		"schemas/deep.json":  `{"type": "object", "properties": {"a": {"type": "array", "items": {"type": "object", "properties": {"b": {"type": "array", "items": {"type": "string"}}}}}}}`,
		"d.jsonl": `{"document_id":"d","schema":"order","text":"A-1 costs 3.50, B-2 is red and blue"}` + "\n" +
			`{"document_id":"w","schema":"words","text":"none"}` + "\n" + `{"document_id":"x","schema":"deep","text":"none"}` + "\n",
		"gold.jsonl": `{"document_id":"d","ground_truth":[{"field":"day","exists_in_document":false}]}` + "\n",
		"study.yaml": "suite: extraction\nname: s\ndata: {source: jsonl, path: d.jsonl, gold: gold.jsonl}\nschemas: schemas\narms:\n  - {name: null_baseline, builtin: null_baseline}\n",
	}
	dir := t.TempDir()
	write(t, dir, files)
	all := mustOpen(t, map[string]string{"schemas/order.json": orderSchema, "schemas/words.json": files["schemas/words.json"], "schemas/deep.json": files["schemas/deep.json"],
		"d.jsonl":    strings.ReplaceAll(files["d.jsonl"], `"}`+"\n", `","gold":{"day":null,"words":null,"a":[{"b":[]}]}}`+"\n"),
		"study.yaml": strings.Replace(files["study.yaml"], ", gold: gold.jsonl", "", 1)})
	units, err := all.Units("d")
	if got := strings.Join(units, " "); err != nil || got != "day tags[] lines[]" {
		t.Errorf("units are %s: %v", got, err)
	}
	if _, err := all.Units("x"); err == nil || !strings.Contains(err.Error(), "lists in lists (a[].b[])") {
		t.Errorf("lists in lists: %v", err)
	}
	for unit, want := range map[string]string{
		"tags[]":  "A list, in any order. Each of its values:\nA word in bold\nType: string",
		"lines[]": "A list, in any order. Each of its records has:\nsku: Type: id\nprice: Without tax Type: number, such as 1234.5",
	} {
		if got := all.About("d", unit); got != want {
			t.Errorf("%s: %q, want %q", unit, got, want)
		}
	}
	if err := all.Fits("d", "lines[].price", "cheap"); err == nil {
		t.Error("a word is a price")
	}
	one := func(leaf, value string) eval.UnitGold {
		return eval.UnitGold{Unit: leaf, Values: []string{value}, Quote: value, Page: 1}
	}
	said := []eval.UnitGold{{Unit: "day", Missing: true}, {Unit: "tags[]", Records: [][]eval.UnitGold{{one("", "blue")}, {one("", "red")}}},
		{Unit: "lines[]", Records: [][]eval.UnitGold{{one("sku", "A-1"), one("price", "3.50")}, {one("sku", "B-2")}}}}
	line, err := all.Gold("d", said)
	want := `{"document_id":"d","ground_truth":[{"field":"day","exists_in_document":false},` +
		`{"field":"tags[0]","exists_in_document":true,"correct_value":"blue","evidence_quote":"blue","page":1},{"field":"tags[1]","exists_in_document":true,"correct_value":"red","evidence_quote":"red","page":1},` +
		`{"field":"lines[0].sku","exists_in_document":true,"correct_value":"A-1","evidence_quote":"A-1","page":1},{"field":"lines[0].price","exists_in_document":true,"correct_value":"3.50","evidence_quote":"3.50","page":1},` +
		`{"field":"lines[1].sku","exists_in_document":true,"correct_value":"B-2","evidence_quote":"B-2","page":1},{"field":"lines[1].price","exists_in_document":false}]}`
	if got := strings.NewReplacer(`,"is_ambiguous":false`, "", `,"page":0`, "").Replace(string(line)); err != nil || got != want {
		t.Errorf("%s: %v", got, err)
	}
	empty, err := all.Gold("w", []eval.UnitGold{{Unit: "words[]", Missing: true}})
	if err != nil || string(empty) != `{"document_id":"w","ground_truth":[]}` {
		t.Errorf("%s: %v", empty, err)
	}
	green := []eval.UnitGold{{Unit: "tags[]", Records: [][]eval.UnitGold{{{Values: []string{"green"}, Quote: "red", Page: 1}}}}}
	for _, all.plain = range []bool{false, true} { // answers without evidence
		if _, err := all.Gold("d", green); (err == nil) != all.plain {
			t.Errorf("plain %v: a value that is not in the text: %v", all.plain, err)
		}
	}
	all.plain = false

	// The study reads what they said, also where the data have gold.
	write(t, dir, map[string]string{"d.jsonl": strings.ReplaceAll(files["d.jsonl"], `"}`+"\n", `","gold":{"day":null,"tags":["red"]}}`+"\n")})
	if err := os.WriteFile(filepath.Join(dir, "gold.jsonl"), append(append(append(line, '\n'), empty...), '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := openIn(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	d, err := b.document("d")
	if err != nil {
		t.Fatal(err)
	}
	b.plain = true
	for answer, want := range map[string]float64{
		`{"day": null, "lines": [{"sku": "B-2", "price": null}, {"price": 3.5, "sku": "A-1"}], "tags": ["red", "blue"]}`: 1,
		`{"day": null, "lines": [{"sku": "A-1", "price": 3.5}], "tags": ["red"]}`:                                        3.0 / 5,
	} {
		if got := valuesOf(d.ready(), answer)["recall"]; got != want {
			t.Errorf("the recall of %s is %v, want %v", answer, got, want)
		}
	}

	for other, same := range map[string]bool{"tags[]: red|blue": true, "tags[]: red": false, "tags[]: red|blue|red": false, "tags[]: red|green": false, "lines[]: 3.5/A-1|B-2": true, "lines[]: A-1|3.5/B-2": false} {
		unit, values, _ := strings.Cut(other, ": ")
		y := eval.UnitGold{Unit: unit}
		for record := range strings.SplitSeq(values, "|") {
			var list []eval.UnitGold
			for value := range strings.SplitSeq(record, "/") {
				leaf := map[bool]string{true: "", false: map[bool]string{true: "sku", false: "price"}[strings.Contains(value, "-")]}[unit == "tags[]"]
				list = append(list, one(leaf, value))
			}
			y.Records = append(y.Records, list)
		}
		x := said[map[string]int{"tags[]": 1, "lines[]": 2}[unit]]
		if got, err := b.Same("d", x, y); err != nil || got != same {
			t.Errorf("%s is the same: %v, %v", other, got, err)
		}
	}
}

// People are shown the records of an answer as it has them: which of them gold has, where, and what it
// has beside, they cannot tell.
func TestRecordsForPeople(t *testing.T) {
	b := mustOpen(t, map[string]string{
		"schemas/order.json": orderSchema,
		"d.jsonl":            `{"document_id":"d","schema":"order","text":"A-1 costs 3.50, B-2 is red and blue","gold":{"day":null,"lines":[{"sku":"A-1","price":3.5},{"sku":"B-2"}],"tags":["red"]}}` + "\n",
		"study.yaml":         "suite: extraction\nname: s\ndata: {source: jsonl, path: d.jsonl}\nschemas: schemas\narms:\n  - {name: null_baseline, builtin: null_baseline}\n",
	})
	answer := `{"lines":[{"sku":"C-3","price":4},{"price":3.5,"sku":"A-1"}],"tags":["blue"]}`
	x, err := b.Show(eval.CaseOf(eval.Trial{Item: "d", Arm: "null_baseline", Replicate: 1}, eval.Outcome{Kind: eval.OK, Data: []byte(answer)}, nil))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, u := range x.Judged() {
		got = append(got, u.ID+" is "+u.Name+": "+u.Answer)
	}
	want := []string{"day is day: missing", "tags[+0] is tags[0]: blue", "lines[+0].sku is lines[0].sku: C-3", "lines[+0].price is lines[0].price: 4",
		"lines[0].sku is lines[1].sku: A-1", "lines[0].price is lines[1].price: 3.5"}
	if !slices.Equal(got, want) {
		t.Errorf("people are shown\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(x.Rows) != 9 || x.Rows[0].Unit != "day" || x.Rows[8].Unit != "lines[+0].price" {
		t.Errorf("rows %+v", x.Rows)
	}
}
