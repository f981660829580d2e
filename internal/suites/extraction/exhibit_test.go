package extraction

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/eval"
)

func TestExhibit(t *testing.T) {
	b := mustOpen(t, map[string]string{"study.yaml": invoiceStudy, "docs.jsonl": `{"document_id":"d","schema":"invoice","difficulty":"hard","split":"dev","text":"---PAGE 1---\nInvoice  INV-7 for\n---PAGE 2---\nAcme\nTotal: 12.50\n","ground_truth":[` +
		`{"field":"invoice_number","exists_in_document":true,"correct_value":"INV-7","evidence_quote":"Invoice INV-7","page":1},` +
		`{"field":"vendor_name","exists_in_document":true,"correct_value":"Acme","acceptable_values":["Acme","ACME Inc"],"evidence_quote":"for Acme"},` +
		`{"field":"due_date","exists_in_document":false},` +
		`{"field":"total_amount","exists_in_document":true,"is_ambiguous":true,"candidate_values":["12.50","13.50"],"note":"two totals"}]}`})
	answer := extractions(
		named(ok("INV-7", "Invoice INV-7", "2"), "invoice_number"),
		named(ok("Bcme", "Acme", "2"), "vendor_name"),
		named(ok("12.50", "Total: 12.50", `"2"`), "total_amount"))
	o := outcomeOf(answer, eval.StopLength, noSchema)
	x, err := b.Show(eval.CaseOf(trial("d", "ctn"), o, nil))
	if err != nil {
		t.Fatal(err)
	}
	wantPages := []eval.ExhibitPage{
		{Number: 1, Text: "Invoice  INV-7 for\n", Marks: []eval.Mark{{Start: 0, End: 14, Kind: "both", Label: "invoice_number"}, {Start: 15, End: 19, Kind: "gold", Label: "vendor_name"}}},
		{Number: 2, Text: "Acme\nTotal: 12.50\n", Marks: []eval.Mark{{Start: 0, End: 4, Kind: "both", Label: "vendor_name"}, {Start: 5, End: 17, Kind: "answer", Label: "total_amount"}}},
	}
	if d := cmp.Diff(wantPages, x.Pages); d != "" {
		t.Errorf("pages (-want +got)\n%s", d)
	}
	var rows []string
	for _, r := range x.Rows {
		rows = append(rows, fmt.Sprintf("%s | %s | %s | %s | %s", r.Unit, r.Gold, r.Answer, r.Quote, r.Note))
		if len(r.Scores) != 6 {
			t.Errorf("%s has %d scores", r.Unit, len(r.Scores))
		}
	}
	wantRows := []string{
		"invoice_number | INV-7 | INV-7 | “Invoice INV-7” (page 2) | wrong page",
		"due_date | not in the document | omitted |  | omitted",
		`total_amount | ambiguous: 12.50 or 13.50 | 12.50 | “Total: 12.50” | ambiguity not flagged; evidence.page is "2", not an integer; gold: two totals`,
		"vendor_name | Acme or ACME Inc | Bcme | “Acme” (page 2) | wrong value",
	}
	if d := cmp.Diff(wantRows, rows); d != "" {
		t.Errorf("rows (-want +got)\n%s", d)
	}
	wantFacts := []eval.Level{{Name: "doc_type", Value: "invoice"}, {Name: "difficulty", Value: "hard"}, {Name: "split", Value: "dev"}, {Name: "answer", Value: "ok, truncated"}}
	if d := cmp.Diff(wantFacts, x.Facts); d != "" {
		t.Errorf("facts (-want +got)\n%s", d)
	}
	if x.Raw != answer {
		t.Error("the raw answer is not what was answered")
	}
	// What was expected is what the study asks for.
	for plain, want := range map[bool]string{false: "a JSON object whose list “extractions” has the fields invoice_number = INV-7", true: "a JSON object with the fields invoice_number = INV-7"} {
		b.plain = plain
		if x, err := b.Show(eval.CaseOf(trial("d", "ctn"), o, nil)); err != nil || !strings.HasPrefix(x.Expected, want) {
			t.Errorf("plain %v: expected %q, %v", plain, x.Expected, err)
		}
	}
}

// Marks are within their page, sorted by start, and contain a quote.
func TestMarksAreInTheirPage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDocument(t)
		o := outcomeOf(extractions(drawAnswer(t, d)...), eval.StopEnd, noSchema)
		_, results := plainBench.assess(d, &o, nil)
		for _, p := range d.pages(results) {
			last := 0
			for _, m := range p.Marks {
				if m.Start < last || m.End <= m.Start || m.End > len(p.Text) {
					t.Fatalf("mark %+v in a page of %d bytes, the one before starts at %d", m, len(p.Text), last)
				}
				last = m.Start
			}
		}
	})
}

func TestTables(t *testing.T) {
	b := mustOpen(t, map[string]string{"study.yaml": invoiceStudy, "docs.jsonl": judgedLineWithoutVendor()})
	sums := map[string][2]float64{}
	for _, arm := range []string{"rules", "null_baseline"} {
		o, err := b.Perform(t.Context(), trial("d", arm), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range b.Score(nil, eval.CaseOf(trial("d", arm), o, nil)) {
			v := sums[arm+" "+s.Metric]
			sums[arm+" "+s.Metric] = [2]float64{v[0] + s.Num, v[1] + s.Den}
		}
	}
	value := func(arm, metric string) eval.Number {
		v := sums[arm+" "+metric] // 0/0 of none
		return eval.Number(v[0] / v[1])
	}
	tables := []eval.Table{*b.nullTable(value), *b.modesTable(value)}
	// Four annotated fields: 2 present, 1 missing, 1 ambiguous; the null
	// baseline scores (1 + 3·0.15)/4 = 0.3625, and gold has a short quote for every value.
	want := [][]string{{"null_baseline", "50.0 %", "25.0 %", "25.0 %", "0.362", "0.362", "1.000"}}
	if d := cmp.Diff(want, tables[0].Strings()); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if !strings.Contains(tables[0].Note, "because they have no gold: 1 field.") {
		t.Errorf("note: %s", tables[0].Note)
	}
	modes := tables[1]
	if d := cmp.Diff([]string{"failure", "ctn", "rules", "null_baseline"}, modes.Columns); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	for _, row := range modes.Strings() {
		if row[0] == "missed" && row[3] != "50.0 %" || row[1] != "–" {
			t.Errorf("row %v", row)
		}
	}
}

func judgedLineWithoutVendor() string {
	line := oneLine(judgedLine("d", ""))
	return line[:strings.Index(line, `,{"field":"vendor_name"`)] + "]}"
}

// Metric names are unique and documented.
func TestMetricsAreDocumented(t *testing.T) {
	s := Suite()
	seen := map[string]bool{}
	for _, m := range s.Metrics {
		if seen[m.Name] || m.Name == "" || m.Title == "" || m.Doc == "" || m.Formula == "" || m.Source == "" || m.Max <= m.Min || m.Kind == "" || m.Pooling == "" {
			t.Errorf("%q is undocumented or a duplicate: %+v", m.Name, m)
		}
		seen[m.Name] = true
	}
	for _, name := range append(s.Primary, s.Secondary...) {
		if m, ok := s.Metric(name); !ok || m.Kind != eval.Scoring {
			t.Errorf("%s is reported first but is not a scoring metric", name)
		}
	}
}
