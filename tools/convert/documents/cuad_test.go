package documents

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// convertOne runs one contract through the converter and returns its gold for
// the first field and the rule that was counted.
func convertOne(t *testing.T, pages []string, g clause) (*Truth, Rule) {
	t.Helper()
	record, err := json.Marshal(contract{ID: "c", Source: "ACME_2000-EX-1.pdf", Type: "Service", Pages: pages, Gold: []clause{
		g, {Field: "Filler"}, // so that the document is written whatever comes of g
	}})
	if err != nil {
		t.Fatal(err)
	}
	out, report, err := CUAD(write(t, record), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var d Document
	if err := json.Unmarshal(out, &d); err != nil {
		t.Fatal(err)
	}
	var rule Rule
	for _, r := range Rules() {
		if report.Count(report.Fields[0], r) > 0 {
			rule = r
		}
	}
	if len(d.Truth) == 2 {
		return &d.Truth[0], rule
	}
	return nil, rule
}

// annotated is a clause with an answer and quotes.
func annotated(field, answer string, quotes ...string) clause {
	g := clause{Field: field, Exists: true, Answer: &answer}
	for _, q := range quotes {
		g.Evidence = append(g.Evidence, evidence{Quote: q})
	}
	return g
}

// The cases are CUAD's own, shortened; the comment after each is its document.
func TestCUADRules(t *testing.T) {
	tests := []struct {
		name string
		text string // one page, in which quotes are looked for
		gold clause
		rule Rule
		want *Truth
	}{
		{"a day in words", // cuad-0153bb
			"is made as of the 20th day of\nDecember, 2007 by and", annotated("Agreement Date", "12/20/2007", "20th day of December, 2007"),
			Verbatim, &Truth{Correct: "2007-12-20", Acceptable: []string{"2007-12-20", "20th day of December, 2007"}, Quote: "20th day of December, 2007", Page: 1}},
		{"American order of day and month", // cuad-2c3c9b
			"Date: 4/8/2020", annotated("Agreement Date", "4/8/2020", "4/8/2020"),
			Verbatim, &Truth{Correct: "2020-04-08", Acceptable: []string{"2020-04-08", "4/8/2020"}, Quote: "4/8/2020", Page: 1}},
		{"an answer written day first where it can only be so", // cuad-71adc2
			"ending on January 31, 2025.", annotated("Expiration Date", "31/01/2025", "ending on January 31, 2025."),
			Verbatim, &Truth{Correct: "2025-01-31", Acceptable: []string{"2025-01-31", "January 31, 2025"}, Quote: "ending on January 31, 2025.", Page: 1}},
		{"the second of two quotes holds the day", // cuad-79a1f6
			"Effective Date means the date of this Agreement. This Agreement is dated April 29, 2010.",
			annotated("Effective Date", "4/29/2010", "Effective Date means the date of this Agreement.", "This Agreement is dated April 29, 2010."),
			Verbatim, &Truth{Correct: "2010-04-29", Acceptable: []string{"2010-04-29", "April 29, 2010"}, Quote: "This Agreement is dated April 29, 2010.", Page: 1}},
		{"one of two days in a sentence", // cuad-4c8bc2, whose quotation marks are curly
			"“Contract Period” shall mean from February 21, 2011 through December 31, 2012.",
			annotated("Expiration Date", "12/31/2012", `"Contract Period" shall mean from February 21, 2011 through December 31, 2012.`),
			Restored, &Truth{Correct: "2012-12-31", Acceptable: []string{"2012-12-31", "December 31, 2012"},
				Quote: "Contract Period” shall mean from February 21, 2011 through December 31, 2012", Page: 1}},
		{"a day that must be computed", // cuad-04d1c9
			"will terminate on the third anniversary of the Effective Date. September 21, 2001",
			annotated("Expiration Date", "9/21/2001", "will terminate on the third anniversary of the Effective Date"), Derived, nil},
		{"a day that is not the quote's", // cuad-135d5e
			"November 11, 2005", annotated("Agreement Date", "11/18/2005", "November 11, 2005"), Derived, nil},
		{"a day left blank", // cuad-01aaba
			"dated March ___, 1999", annotated("Agreement Date", "03/[]/1999", "March ___, 1999"), Incomplete, nil},
		{"one day and one blank", // cuad-543101
			"July __, 2000 31 day of July, 2000", annotated("Agreement Date", "07/31/2000; 07/[]/2000", "July __, 2000", "31 day of July, 2000"), Incomplete, nil},
		{"no end", // cuad-3b41b4
			"This Agreement shall remain in effect until terminated.", annotated("Expiration Date", "perpetual", "shall remain in effect until terminated"), Perpetual, nil},
		{"a day and no end", // cuad-70a43d
			"until full performance", annotated("Expiration Date", "09/05/2019; perpetual", "until full performance"), Perpetual, nil},
		{"the same day twice", // cuad-04d1c9
			"9/21/98 September 21, 1998.", annotated("Agreement Date", "9/21/1998", "9/21/98", "September 21, 1998."),
			Verbatim, &Truth{Correct: "1998-09-21", Acceptable: []string{"1998-09-21", "9/21/98"}, Quote: "9/21/98", Page: 1}},
		{"two agreement dates, one normalised", // made up: the 150 contracts have none
			"May 1, 2010 … June 2, 2010", annotated("Agreement Date", "5/1/2010", "May 1, 2010", "June 2, 2010"),
			Ambiguous, &Truth{Ambiguous: true, Candidates: []string{"2010-05-01", "2010-06-02"}, Note: "2 different days are annotated as agreement date"}},
		{"two effective dates, both normalised", // made up
			"from May 1, 2010 … from June 2, 2010", annotated("Effective Date", "5/1/2010; 6/2/2010", "from May 1, 2010", "from June 2, 2010"),
			Ambiguous, &Truth{Ambiguous: true, Candidates: []string{"2010-05-01", "2010-06-02"}, Note: "2 different days are annotated as effective date"}},
		{"two effective dates, one of them written", // made up
			"from May 1, 2010 … a month later", annotated("Effective Date", "5/1/2010; 6/1/2010", "from May 1, 2010", "a month later"), Several, nil},
		{"an answer that is no date", // made up
			"the Closing", annotated("Effective Date", "the Closing", "the Closing"), NoAnswer, nil},

		{"a state", // cuad-0372c3
			"by the laws of the State of Delaware without", annotated("Governing Law", "Delaware", "by the laws of the State of Delaware"),
			Verbatim, &Truth{Correct: "Delaware", Acceptable: []string{"Delaware", "State of Delaware", "the State of Delaware"}, Quote: "by the laws of the State of Delaware", Page: 1}},
		{"a state in capitals", // cuad-01297b
			"THE LAWS OF THE SIATE OF TEXAS.", annotated("Governing Law", "Texas", "THE LAWS OF THE SIATE OF TEXAS."),
			Verbatim, &Truth{Correct: "Texas", Acceptable: []string{"Texas"}, Quote: "THE LAWS OF THE SIATE OF TEXAS.", Page: 1}},
		{"a country abbreviated", // cuad-0bd2fd
			"shall be governed by PRC Laws.", annotated("Governing Law", "People's Republic of China", "shall be governed by PRC Laws."),
			Verbatim, &Truth{Correct: "PRC", Acceptable: []string{"PRC", "People's Republic of China", "the People's Republic of China", "the PRC"}, Quote: "shall be governed by PRC Laws.", Page: 1}},
		{"a people in place of its country", // cuad-5ee3d6
			"in accordance with Italian law", annotated("Governing Law", "Italy", "in accordance with Italian law"), Derived, nil},
		{"a state and its country, in one breath", // cuad-2ce03d
			"by the laws of Victoria, Australia", annotated("Governing Law", "Victoria, Australia", "by the laws of Victoria, Australia"),
			Verbatim, &Truth{Correct: "Victoria, Australia", Acceptable: []string{"Victoria, Australia"}, Quote: "by the laws of Victoria, Australia", Page: 1}},
		{"a province and its country, apart", // cuad-624d70
			"by the laws of Nova Scotia and the laws of Canada", annotated("Governing Law", "Nova Scotia, Canada", "by the laws of Nova Scotia and the laws of Canada"),
			Verbatim, &Truth{Correct: "Nova Scotia", Acceptable: []string{"Nova Scotia", "Nova Scotia, Canada"}, Quote: "by the laws of Nova Scotia and the laws of Canada", Page: 1}},
		{"one law of two countries", // cuad-86c25f
			"the laws of England and Wales.", annotated("Governing Law", "England; Wales", "the laws of England and Wales."),
			Verbatim, &Truth{Correct: "England and Wales", Acceptable: []string{"England and Wales", "England; Wales"}, Quote: "the laws of England and Wales.", Page: 1}},
		{"one law or the other", // cuad-6bd17d
			"being either Illinois or New York", annotated("Governing Law", "Illinois; New York", "being either Illinois or New York"),
			Ambiguous, &Truth{Ambiguous: true, Candidates: []string{"Illinois", "New York"}, Note: "several laws govern, depending on who sues or where"}},
		{"a law for each party", // cuad-1de87f
			"in McLean, Virginia … in San Antonio, Texas", annotated("Governing Law", "Virginia, Texas", "in McLean, Virginia", "in San Antonio, Texas"),
			Ambiguous, &Truth{Ambiguous: true, Candidates: []string{"Virginia", "Texas"}, Note: "several laws govern, depending on who sues or where"}},

		{"a title with other spacing", // cuad-11857c
			"EXCLUSIVE DISTRIBUTOR\n   AGREEMENT", annotated("Document Name", "EXCLUSIVE   DISTRIBUTOR  AGREEMENT", "EXCLUSIVE DISTRIBUTOR AGREEMENT"),
			Verbatim, &Truth{Correct: "EXCLUSIVE DISTRIBUTOR AGREEMENT", Acceptable: []string{"EXCLUSIVE DISTRIBUTOR AGREEMENT"}, Quote: "EXCLUSIVE DISTRIBUTOR AGREEMENT", Page: 1}},
		{"a title with the start of what follows", // cuad-458985
			"This DEVELOPMENT AGREEMENT (“Agreement”)", annotated("Document Name", "DEVELOPMENT AGREEMENT (“", "DEVELOPMENT AGREEMENT (\""),
			Restored, &Truth{Correct: "DEVELOPMENT AGREEMENT", Acceptable: []string{"DEVELOPMENT AGREEMENT"}, Quote: "DEVELOPMENT AGREEMENT", Page: 1}},
		{"a title with straightened apostrophe", // cuad-7f7cac
			"AGENTS’ CERTIFICATE", annotated("Document Name", "AGENTS’ CERTIFICATE", "AGENTS' CERTIFICATE"),
			Restored, &Truth{Correct: "AGENTS’ CERTIFICATE", Acceptable: []string{"AGENTS’ CERTIFICATE"}, Quote: "AGENTS’ CERTIFICATE", Page: 1}},
		{"a title put together from two places", // cuad-135d5e
			"Wireless License Number 1 … AMENDMENT NO. 1", annotated("Document Name", "AMENDMENT NO. 1\n\nWireless License Number 1", "Wireless License Number 1", "AMENDMENT NO. 1"), Several, nil},
		{"a title in two quotes that follow each other", // cuad-76ff1b, in the other order
			"AMENDMENT NO. 1\n\nMANUFACTURING AGREEMENT", annotated("Document Name", "AMENDMENT NO. 1\n\nMANUFACTURING AGREEMENT", "MANUFACTURING AGREEMENT", "AMENDMENT NO. 1"),
			Verbatim, &Truth{Correct: "AMENDMENT NO. 1 MANUFACTURING AGREEMENT", Acceptable: []string{"AMENDMENT NO. 1 MANUFACTURING AGREEMENT"}, Quote: "AMENDMENT NO. 1 MANUFACTURING AGREEMENT", Page: 1}},
		{"a title that is not the quote's", // made up
			"LICENSE AGREEMENT", annotated("Document Name", "SUPPLY AGREEMENT", "LICENSE AGREEMENT"), Derived, nil},

		{"a notice period", // cuad-01297b
			"at least sixty (60) days prior", annotated("Notice Period To Terminate Renewal", "60 days", "at least sixty (60) days prior"),
			Verbatim, &Truth{Correct: "sixty (60) days", Acceptable: []string{"sixty (60) days", "60 days", "sixty days", "60-day", "sixty-day"}, Quote: "at least sixty (60) days prior", Page: 1}},
		{"one period under two names", // cuad-188221
			"at least six (6) months prior", annotated("Notice Period To Terminate Renewal", "180 days / 6 months", "at least six (6) months prior"),
			Verbatim, &Truth{Correct: "six (6) months", Acceptable: []string{"six (6) months", "6 months", "six months", "6-month", "six-month", "180 days / 6 months"}, Quote: "at least six (6) months prior", Page: 1}},
		{"two periods", // cuad-1392c8
			"sixty (60) days … and 180 days", annotated("Notice Period To Terminate Renewal", "60 days; 180 days", "sixty (60) days … and 180 days"), Several, nil},
		{"a renewal in words", // cuad-01578a
			"for successive one year periods", annotated("Renewal Term", "successive 1 year", "for successive one year periods"),
			Verbatim, &Truth{Correct: "one year", Acceptable: []string{"one year", "1 year", "one (1) year", "1-year", "one-year", "successive 1 year"}, Quote: "for successive one year periods", Page: 1}},
		{"a renewal that is implied", // cuad-11857c
			"with automatic annual renewals", annotated("Renewal Term", "successive 1 year", "with automatic annual renewals"), Derived, nil},
		{"twelve months are not copied as a year", // cuad-3fc7cd
			"one (1) additional twelve month period", annotated("Renewal Term", "1 year", "one (1) additional twelve month period"), Derived, nil},
		{"an answer that cannot be read", // cuad-3cbca4
			"one (1) year terms for up to another ten (10) years", annotated("Renewal Term", "10 1 years", "one (1) year terms"), NoAnswer, nil},

		{"parties", // cuad-01aaba
			"theglobe.com, Inc. (\"theglobe\")", annotated("Parties", "theglobe.com, Inc. (\"theglobe\")", "theglobe.com, Inc.", "theglobe"), Set, nil},
		{"nothing annotated", "text", clause{Field: "Governing Law"}, Missing, &Truth{}},
		{"a clause and no answer", // cuad-30dab5
			"dated [*]", clause{Field: "Agreement Date", Exists: true, Evidence: []evidence{{Quote: "[*]"}}}, NoAnswer, nil},
		{"an answer and no clause", // cuad-180c56
			"text", annotated("Governing Law", "Beijing"), NoQuote, nil},
		{"a quote from another document", // made up
			"text", annotated("Governing Law", "Texas", "the laws of Texas"), NotInText, nil},
		{"a category without rules", // another of CUAD's 41
			"shall not assign", annotated("Anti-Assignment", "Yes", "shall not assign"), NoAnswer, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, rule := convertOne(t, []string{tt.text}, tt.gold)
			if rule != tt.rule {
				t.Errorf("rule %q, want %q", rule.Name, tt.rule.Name)
			}
			if (got != nil) != rule.Kept() {
				t.Errorf("rule %q, but gold is %v", rule.Name, got)
			}
			if tt.want != nil {
				tt.want.Field, tt.want.Exists = snakeCase(tt.gold.Field), tt.rule != Missing
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("gold (-want +got):\n%s", diff)
			}
		})
	}
}

// A quote belongs to the page it starts on, and is found across a page break.
func TestCUADPages(t *testing.T) {
	pages := []string{"Title", "governed by the\nlaws of the State", "of Texas. The laws of the State of Ohio"}
	tests := []struct {
		law, quote string
		page       int
	}{
		{"Texas", "the laws of the State of Texas", 2},
		{"Ohio", "The laws of the State of Ohio", 3},
	}
	for _, tt := range tests {
		got, _ := convertOne(t, pages, annotated("Governing Law", tt.law, tt.quote))
		if got == nil || got.Page != tt.page || got.Quote != tt.quote {
			t.Errorf("%q: got %+v, want page %d", tt.quote, got, tt.page)
		}
	}
}

func TestCUADDocument(t *testing.T) {
	record := `{"id":"cuad-1","source_file":"ACME,INC_2000-EX-1.pdf","contract_type":"License_Agreements","pages":["One","Two"],` +
		`"gold":[{"field":"Governing Law","exists_in_document":false,"evidence":[],"answer":null}]}`
	want := `{"document_id":"cuad-1","schema":"cuad","doc_type":"rights","cluster":"acme,inc","text":"---PAGE 1---\nOne\n---PAGE 2---\nTwo\n",` +
		`"ground_truth":[{"field":"governing_law","exists_in_document":false,"is_ambiguous":false}]}` + "\n"
	out, _, err := CUAD(write(t, []byte(record)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(out)); diff != "" {
		t.Error(diff)
	}
}

// Every name that CUAD's folders have for its types belongs to a group.
func TestContractGroups(t *testing.T) {
	tests := map[string][]string{
		"alliance":     {"Collaboration", "Cooperation Agreement", "Joint Venture", "Joint Venture _ Filing", "Strategic Alliance"},
		"distribution": {"Affiliate Agreement", "Affiliate_Agreements", "Agency Agreements", "Distributor", "Franchise", "Manufacturing", "Reseller", "Supply"},
		"rights":       {"IP", "License_Agreements", "Non_Compete_Non_Solicit"},
		"marketing":    {"Co_Branding", "Endorsement", "Endorsement Agreement", "Marketing", "Promotion", "Sponsorship"},
		"services":     {"Consulting Agreements", "Development", "Hosting", "Maintenance", "Outsourcing", "Service", "Services", "Transportation"},
	}
	for want, names := range tests {
		for _, name := range names {
			if got, err := contractGroup(name); err != nil || got != want {
				t.Errorf("%s: %q (%v), want %q", name, got, err, want)
			}
		}
	}
	if _, err := contractGroup("Lease"); err == nil {
		t.Error("Lease: want an error")
	}
}

func TestFiler(t *testing.T) {
	tests := map[string]string{
		"KUBIENT,INC_07_02_2020-EX-10.14-MASTER SERVICES AGREEMENT_Part1.pdf":        "kubient,inc",
		"Cerus Corporation - FIRST AMEND TO SUPPLY AND MANUFACTURING AGREEMENT.PDF":  "cerus corporation",
		"GluMobileInc_20070319_S-1A_EX-10.09_436630_EX-10.09_Content License Ag.pdf": "glumobileinc",
	}
	for file, want := range tests {
		if got := filer(file); got != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
}

// However a duration is written, it is read back, and nothing else with it.
func TestDurationsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := duration{rapid.IntRange(1, 999).Draw(t, "n"), rapid.SampledFrom([]string{"day", "week", "month", "year"}).Draw(t, "unit")}
		for _, form := range d.forms() {
			got := writtenDurations("not less than " + form + " before the 3rd of May")
			if len(got) != 1 || got[0].duration != d || got[0].form != form {
				t.Fatalf("%q of %+v was read as %+v", form, d, got)
			}
		}
	})
}

func TestWrittenDurations(t *testing.T) {
	tests := []struct {
		text string
		want string
	}{
		{"at least one hundred and eighty (180) days", "180 day"},
		{"provides 30- days advance notice", "30 day"},
		{"said thirty(30) days", "30 day"},
		{"one (1) calendar year each", "1 year"},
		{"ninety days' prior written notice", "90 day"},
		{"five (5)-year terms", "5 year"},
		{"twelve (12) months from the date, then one (1) additional twelve month period", "12 month, 12 month"},
		{"A Hundred Twenty days", "120 day"},
		{"thirty (60) days", ""},                  // words and figures differ
		{"one (I) year", ""},                      // OCR's figure one
		{"five twenty days", ""},                  // no number
		{"an additional month of service", ""},    // no figure
		{"every day of the year", ""},             //
		{"0 days, zero days, twentyone days", ""}, //
		{"in 2012 years", ""},                     // four digits are no duration
		{"holidays and 10 Mondays", ""},
	}
	for _, tt := range tests {
		var got []string
		for _, w := range writtenDurations(tt.text) {
			got = append(got, fmt.Sprintf("%d %s", w.n, w.unit))
		}
		if strings.Join(got, ", ") != tt.want {
			t.Errorf("%q: got %q, want %q", tt.text, got, tt.want)
		}
	}
}

// A record that is no contract of CUAD is an error with its line.
func TestCUADErrors(t *testing.T) {
	record := `{"id":"one","source_file":"A_1.pdf","contract_type":"%s","pages":["x"],"gold":[]}`
	for in, want := range map[string]string{
		`{"id":"a","pages":[],"gold":{"company":"x"}}`:                          "raw.jsonl:1:29: gold: want a list, got an object",
		fmt.Sprintf(record, "Service") + "\n" + fmt.Sprintf(record, "Lease"):    `raw.jsonl:2: document one: unknown contract_type "Lease"`,
		strings.Replace(fmt.Sprintf(record, "Service"), `"pages"`, `"page"`, 1): `raw.jsonl:1:63: unknown key "page": did you mean "pages"?`,
	} {
		if _, _, err := CUAD(write(t, []byte(in)), Options{}); err == nil || !strings.HasSuffix(err.Error(), "/"+want) {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// Whatever a corpus file holds, the converter reports and does not panic.
func FuzzCUAD(f *testing.F) {
	raw, err := os.ReadFile("testdata/cuad.jsonl.gz")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw[:2000])
	f.Add([]byte(`{"id":"one","source_file":"A_1.pdf","contract_type":"Service","pages":["x"],"gold":[{"field":"Governing Law","exists_in_document":false,"evidence":[],"answer":null}]}`))
	f.Add([]byte(`{"id":"a","source_file":"","contract_type":"IP","pages":["May 1, 2010 sixty (60) days"],"gold":[{"field":"Agreement Date","exists_in_document":true,"evidence":[{"quote":"May 1, 2010","pages":[1],"verbatim":true}],"answer":"5/1/2010; 6/1/2010"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		out, report, err := CUAD(write(t, data), Options{})
		if err == nil && bytes.Count(out, []byte("\n")) != report.Written {
			t.Errorf("%d documents reported, output %q", report.Written, out)
		}
	})
}
