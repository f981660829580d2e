package extraction

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

// Rules on snippets of real documents: CUAD contracts, SROIE receipts,
// invoice2data invoices, shortened. "" means missing.
func TestHeuristic(t *testing.T) {
	contract := []Field{{Name: "document_name", Type: text.String}, {Name: "agreement_date", Type: text.Date}, {Name: "effective_date", Type: text.Date},
		{Name: "expiration_date", Type: text.Date}, {Name: "governing_law", Type: text.String}}
	tests := []struct {
		name   string
		schema *Schema
		doc    string
		want   map[string]string
	}{
		{"contract", &Schema{Name: "cuad", Fields: contract},
			"---PAGE 1---\n  Exhibit 10.4\n\n  STRATEGIC ALLIANCE AGREEMENT\n\n  This Strategic Alliance Agreement is made and entered into this 14th day of March, 2016\n(the \"Agreement\"), between Giga-tronics Inc. and Spanawave.\n" +
				"---PAGE 2---\n  The term shall begin on April 1, 2016 (the \"Effective Date\") and shall expire on\nMarch 31, 2019 unless renewed.\n  12. This Agreement shall be governed by and construed in accordance with the laws of\nthe State of New York without regard to conflicts of law.\n",
			map[string]string{"document_name": "STRATEGIC ALLIANCE AGREEMENT", "agreement_date": "14th day of March, 2016", "effective_date": "April 1, 2016",
				"expiration_date": "March 31, 2019", "governing_law": "New York"}},
		{"contract that says little", &Schema{Name: "cuad", Fields: contract},
			"---PAGE 1---\nSUPPLY CONTRACT\nThe parties agree as follows. All disputes are settled by talking.\n",
			map[string]string{"document_name": "SUPPLY CONTRACT", "agreement_date": "", "effective_date": "", "expiration_date": "", "governing_law": ""}},
		{"invoice", invoiceShipped(t),
			"---PAGE 1---\nAzure Interior Ltd\n4557 De Silva St\n\nInvoice INV/2023/03/0008\nInvoice Date:                                 Due Date:                                   Reference:\n03/20/2023                                    04/04/2023                                  CUSTREF123\n\n" +
				"Subtotal $ 262.90\nTax 15% on $ 112.90                           $ 16.94\nTotal                                        $ 279.84\nPayment terms: 15 Days\n",
			map[string]string{"invoice_number": "INV/2023/03/0008", "invoice_date": "03/20/2023", "due_date": "04/04/2023", "total_amount": "$ 279.84", "vendor_name": "Azure Interior Ltd"}},
		{"a date that is labelled as another field's is not taken", invoiceShipped(t),
			"---PAGE 1---\nAcme Ltd\nPayment due April 4, 2023\nWe thank you for the confidence that you have placed in us, and remain at your service for whatever you may need.\nSpringfield, March 20, 2023\n",
			map[string]string{"invoice_date": "March 20, 2023", "due_date": "April 4, 2023", "vendor_name": "Acme Ltd"}},
		{"receipt", &Schema{Name: "receipt", Fields: []Field{{Name: "company", Type: text.String}, {Name: "date", Type: text.Date}, {Name: "address", Type: text.String}, {Name: "total", Type: text.Money}}},
			"---PAGE 1---\nBOOK TA .K(TAMAN DAYA) SDN BHD\n789417-W\nNO.53 55,57 & 59, JALAN SAGU 18,\nTAMAN DAYA,\n81100 JOHOR BAHRU,\nJOHOR.\nDOCUMENT NO : TD01167104\nDATE:  25/12/2018 8:13:39 PM\nCASH BILL\n9556939040116  KF MODELLING CLAY KIDDY FISH\n1 PC  *  9.000  0.00  9.00\nTOTAL:  9.00\nROUNDING ADJUSTMENT:  0.00\nCASH  10.00\nCHANGE  1.00\n",
			map[string]string{"company": "BOOK TA .K(TAMAN DAYA) SDN BHD", "date": "25/12/2018", "total": "9.00",
				"address": "NO.53 55,57 & 59, JALAN SAGU 18, TAMAN DAYA, 81100 JOHOR BAHRU, JOHOR."}},
		{"labels of one's own", &Schema{Name: "medical", Fields: []Field{{Name: "patient_name", Type: text.String}, {Name: "date_of_birth", Type: text.Date}, {Name: "visit_date", Type: text.Date}, {Name: "record_number", Type: text.ID}}},
			"---PAGE 1---\nPatient Name: Jane Roe      MRN: 88-1234\nDOB: 02/17/1950\nDate of visit: 3 May 2023\n",
			map[string]string{"patient_name": "Jane Roe", "date_of_birth": "02/17/1950", "visit_date": "3 May 2023", "record_number": "88-1234"}},
		{"resume", &Schema{Name: "resume", Fields: []Field{{Name: "candidate_name", Type: text.String}, {Name: "email", Type: text.ID}, {Name: "phone", Type: text.ID}}},
			"---PAGE 1---\nJane Roe\njane.roe@example.org | +1 (870) 931-0505\n",
			map[string]string{"candidate_name": "Jane Roe", "email": "jane.roe@example.org", "phone": "+1 (870) 931-0505"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := &prepared{Document: Document{Text: tt.doc}, schema: tt.schema}
			a, err := readAnswer(heuristicAnswer(d), noSchema)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range a.Entries {
				if e.Value.Text != tt.want[e.Field] {
					t.Errorf("%s = %q, want %q", e.Field, e.Value.Text, tt.want[e.Field])
				}
				checkHonest(t, d, &e)
			}
		})
	}
}

func invoiceShipped(t *testing.T) *Schema {
	s, err := newSchemas("").get("invoice")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// checkHonest checks what the rules guarantee: the entry is valid, and its quote
// is short, in the document, on its page and contains the value.
func checkHonest(t interface{ Fatalf(string, ...any) }, d *prepared, e *Entry) {
	if e.Fault != "" {
		t.Fatalf("%s: %s", e.Field, e.Fault)
	}
	if e.Status != statusOK {
		return
	}
	p := point{prepared: d, field: d.schema.Fields[d.schema.field(e.Field)]}
	if s := p.supports(e.Value.Text, e.Quote); !s.found || !s.holds || s.typed {
		t.Fatalf("%s: the quote %q does not show %q as written (%+v) in\n%s", e.Field, e.Quote.Text, e.Value.Text, s, d.Text)
	}
	if !p.standsOn(e.Quote, e.Page) {
		t.Fatalf("%s: the quote %q is not on page %d", e.Field, e.Quote.Text, e.Page.Number)
	}
}

// On any document.
func TestHeuristicGuarantees(t *testing.T) {
	words := []string{"Invoice", "Number:", "No.", "INV-7", "Total", "$12.50", "1,234.56", "Date", "March 15, 2024", "03/04/2024", "governed by the laws of", "New York", "between", "Acme Inc",
		"\n", "\n", "  ", "“", "é", "ﬁ", "AGREEMENT", "JALAN", "81100", "JOHOR,", "\t", "\u00a0", "´", ":", "Name:", "("}
	schemas := newSchemas("")
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		page := rapid.SliceOfN(rapid.SampledFrom(words), 0, 30)
		between := rapid.SampledFrom([]string{" ", ""}).Draw(t, "between")
		doc := "---PAGE 1---\n" + strings.Join(page.Draw(t, "page 1"), between) + "\n---PAGE 2---\n" + strings.Join(page.Draw(t, "page 2"), between) + "\n---PAGE 7---\n" + strings.Join(page.Draw(t, "page 7"), between)
		s, err := schemas.get(rapid.SampledFrom(shippedSchemaNames()).Draw(t, "schema"))
		if err != nil {
			t.Fatal(err)
		}
		d := &prepared{Document: Document{Text: doc}, schema: s}
		a, err := readAnswer(heuristicAnswer(d), noSchema)
		if err != nil || len(a.Entries) != len(s.Fields) {
			t.Fatalf("%v, %d entries", err, len(a.Entries))
		}
		for i := range a.Entries {
			checkHonest(t, d, &a.Entries[i])
			found += int(kit.Indicator(a.Entries[i].Status == statusOK))
		}
	})
	if found == 0 {
		t.Error("no value was found in any drawn document: nothing was tried")
	}
}

// On the starter study's contracts the rules score well above the null baseline
// and fabricate no quote.
func TestHeuristicOnRealContracts(t *testing.T) {
	b := starterBench(t)
	mean := map[string]float64{}
	for _, arm := range []string{"heuristic", nullBaseline} {
		for _, it := range b.Items() {
			o, err := b.Perform(t.Context(), trial(it.ID, arm), nil)
			if err != nil {
				t.Fatal(err)
			}
			num, den := 0.0, 0.0
			for _, s := range b.Score(nil, eval.CaseOf(trial(it.ID, arm), o, nil)) {
				switch s.Metric {
				case metricComposite:
					num, den = num+s.Num, den+s.Den
				case metricFabrication:
					if s.Num > 0 {
						t.Errorf("%s: a fabricated quote for %s", it.ID, s.Unit)
					}
				}
			}
			mean[arm] += num / den / float64(len(b.Items()))
		}
	}
	t.Logf("composite %.3f against %.3f of the null baseline", mean["heuristic"], mean[nullBaseline])
	if mean["heuristic"] < mean[nullBaseline]+0.10 {
		t.Errorf("composite %.3f against %.3f: want at least ten points more", mean["heuristic"], mean[nullBaseline])
	}
}
