package documents

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The cases are SROIE's own, shortened.
func TestSROIERules(t *testing.T) {
	tests := []struct {
		name, text, field string
		gold              receiptGold
		rule              Rule
		want              *Truth
	}{
		{"company as printed", "BOOK STORE SDN BHD\n789417-W", "company", receiptGold{Company: "BOOK STORE SDN BHD"},
			Verbatim, &Truth{Correct: "BOOK STORE SDN BHD", Acceptable: []string{"BOOK STORE SDN BHD"}, Quote: "BOOK STORE SDN BHD", Page: 1}},
		{"company the OCR garbled", "MR D.T.Y. (JOHOR) SDN BHD", "company", receiptGold{Company: "MR D.I.Y. (JOHOR) SDN BHD"}, // sroie-002
			NotInText, nil},
		{"address over two lines", "27,JALAN DEDAP 13,\n81100 JOHOR BAHRU,JOHOR.", "address", receiptGold{Address: "27, JALAN DEDAP 13, 81100 JOHOR BAHRU, JOHOR."}, // sroie-001
			Restored, &Truth{Correct: "27,JALAN DEDAP 13, 81100 JOHOR BAHRU,JOHOR",
				Acceptable: []string{"27,JALAN DEDAP 13, 81100 JOHOR BAHRU,JOHOR", "27, JALAN DEDAP 13, 81100 JOHOR BAHRU, JOHOR."},
				Quote:      "27,JALAN DEDAP 13, 81100 JOHOR BAHRU,JOHOR", Page: 1}},
		{"no address", "text", "address", receiptGold{}, NoAnswer, nil},
		{"day first", "Date 03/04/2018 10:11", "date", receiptGold{Date: "03/04/2018"},
			Verbatim, &Truth{Correct: "2018-04-03", Acceptable: []string{"2018-04-03", "03/04/2018"}, Quote: "03/04/2018", Page: 1}},
		{"day first, two digits of a year", "12-01-19 21:13 SH01", "date", receiptGold{Date: "12-01-19"}, // sroie-002
			Verbatim, &Truth{Correct: "2019-01-12", Acceptable: []string{"2019-01-12", "12-01-19"}, Quote: "12-01-19", Page: 1}},
		{"annotated in another form", "04/03/2018 15:41:52", "date", receiptGold{Date: "20180304"}, // sroie-068
			Verbatim, &Truth{Correct: "2018-03-04", Acceptable: []string{"2018-03-04", "04/03/2018", "20180304"}, Quote: "04/03/2018", Page: 1}},
		{"month in letters", "27 MAR 2018 18:46", "date", receiptGold{Date: "27 MAR 2018"}, // sroie-045
			Verbatim, &Truth{Correct: "2018-03-27", Acceptable: []string{"2018-03-27", "27 MAR 2018"}, Quote: "27 MAR 2018", Page: 1}},
		{"another day", "28/03/2018", "date", receiptGold{Date: "28/04/2018"}, NotInText, nil},
		{"no day", "March", "date", receiptGold{Date: "March"}, NoAnswer, nil},
		{"total", "TOTAL:  9.00\nCASH  10.00", "total", receiptGold{Total: "9.00"},
			Contained, &Truth{Correct: "9.00", Acceptable: []string{"9.00"}, MustContain: "9.00"}},
		{"total with currency", "TOTAL RM60.30", "total", receiptGold{Total: "RM60.30"},
			Contained, &Truth{Correct: "RM60.30", Acceptable: []string{"RM60.30"}, MustContain: "RM60.30"}},
		{"total inside another amount", "TOTAL 19.00", "total", receiptGold{Total: "9.00"}, NotInText, nil},
		{"no total", "text", "total", receiptGold{}, NoAnswer, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := receipt{ID: "r", Pages: []string{tt.text}, Gold: tt.gold}
			d, err := r.convert()
			if err != nil {
				t.Fatal(err)
			}
			var got *Truth
			for i := range d.Truth {
				if d.Truth[i].Field == tt.field {
					got = &d.Truth[i]
				}
			}
			if tt.want != nil {
				tt.want.Field, tt.want.Exists = tt.field, true
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("gold (-want +got):\n%s", diff)
			}
			for _, made := range d.decisions {
				if made.field == tt.field && made.rule != tt.rule {
					t.Errorf("rule %q, want %q", made.rule.Name, tt.rule.Name)
				}
			}
		})
	}
}

func TestSROIEDocument(t *testing.T) {
	record, err := json.Marshal(receipt{ID: "sroie-1", Pages: []string{"MR. D.I.Y. (M) SDN BHD\nTOTAL 9.00"},
		Gold: receiptGold{Company: "MR. D.I.Y. (M) SDN BHD", Total: "9.00", Date: "1/2/2018"}})
	if err != nil {
		t.Fatal(err)
	}
	out, report, err := SROIE(write(t, record), Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"document_id":"sroie-1","schema":"sroie","cluster":"mrdiymsdnbhd","text":"---PAGE 1---\nMR. D.I.Y. (M) SDN BHD\nTOTAL 9.00\n",` +
		`"ground_truth":[{"field":"company","exists_in_document":true,"is_ambiguous":false,"correct_value":"MR. D.I.Y. (M) SDN BHD",` +
		`"acceptable_values":["MR. D.I.Y. (M) SDN BHD"],"evidence_quote":"MR. D.I.Y. (M) SDN BHD","page":1},` +
		`{"field":"total","exists_in_document":true,"is_ambiguous":false,"correct_value":"9.00","acceptable_values":["9.00"],"evidence_must_contain":"9.00"}]}` + "\n"
	if diff := cmp.Diff(want, string(out)); diff != "" {
		t.Error(diff)
	}
	if got, want := report.String(), "1 document written, 2 fields kept as gold, 2 excluded"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
