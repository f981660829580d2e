package extraction

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/text"
)

// Gold and answers for tests, short enough to read in a table.

func presentGold(correct string, acceptable ...string) Gold {
	yes := true
	g := Gold{Field: "f", Exists: &yes, Correct: literal(correct)}
	for _, a := range acceptable {
		g.Acceptable = append(g.Acceptable, literal(a))
	}
	return g
}

func missingGold() Gold {
	no := false
	return Gold{Field: "f", Exists: &no}
}

func ambiguousGold(candidates ...string) Gold {
	yes := true
	g := Gold{Field: "f", Exists: &yes, Ambiguous: true}
	for _, c := range candidates {
		g.Candidates = append(g.Candidates, literal(c))
	}
	return g
}

// q is a value as JSON; null is null.
func q(s string) string {
	if s == "null" {
		return s
	}
	b, _ := json.Marshal(s)
	return string(b)
}

// entryJSON is an entry as a model writes it; value, quote and page may be
// "null", and extra is more of the object.
func entryJSON(value, quote, page, status string, candidates ...string) string {
	return fmt.Sprintf(`{"field":"f","value":%s,"evidence":{"quote":%s,"page":%s},"status":%s,"confidence":"high","candidates":[%s]}`,
		q(value), q(quote), page, q(status), strings.Join(candidates, ","))
}

// named is an entry about another field.
func named(entry, field string) string { return strings.Replace(entry, `"f"`, `"`+field+`"`, 1) }

func ok(value, quote, page string) string { return entryJSON(value, quote, page, "ok") }
func missing() string                     { return entryJSON("null", "null", "null", "missing") }
func ambiguous(candidates ...string) string {
	return entryJSON("null", "null", "null", "ambiguous", candidates...)
}

func candidate(value, quote, page string) string {
	return fmt.Sprintf(`{"value":%s,"quote":%s,"page":%s}`, q(value), q(quote), page)
}

func extractions(entries ...string) string {
	return `{"extractions":[` + strings.Join(entries, ",") + `]}`
}

// prepare makes a document of one field f.
func prepare(t text.Type, doc string, gold Gold) *prepared {
	s := &Schema{Name: "s", Fields: []Field{{Name: "f", Type: t}}}
	d := &prepared{Document: Document{ID: "d", Text: doc, Schema: "s", Truth: []Gold{gold}}, schema: s}
	return d.ready()
}

// manyCandidates is a document that lists 4,000 dates in some order, and an answer
// with n of them as candidates.
func manyCandidates(n int) (*prepared, *eval.Outcome) {
	var doc strings.Builder
	var candidates []string
	for i := range 4000 {
		j := i * 1777 % 4000 // the candidates stand anywhere in the document
		day := fmt.Sprintf("%04d-%02d-%02d", 1000+j/300, 1+j/25%12, 1+j%25)
		doc.WriteString(day + "\n")
		if j < n {
			candidates = append(candidates, candidate(day, day, "1"))
		}
	}
	d := prepare(text.Date, doc.String(), ambiguousGold("1000-01-01", "1000-01-02"))
	return d, &eval.Outcome{Kind: eval.OK, Data: []byte(extractions(ambiguous(candidates...)))}
}

// The work for a candidate does not depend on their number: sixteen times the
// candidates take sixteen times the allocations, of which parsing needs some.
func TestScoringIsLinearInCandidates(t *testing.T) {
	work := func(n int) float64 {
		d, o := manyCandidates(n)
		return testing.AllocsPerRun(2, func() { plainBench.score(nil, d, o, nil, eval.RoleArm) })
	}
	if few, many := work(100), work(1600); many > 17*few {
		t.Errorf("%v allocations for 100 candidates, %v for 1600", few, many)
	}
	d, o := manyCandidates(50)
	_, results := plainBench.assess(d, o, nil)
	if want := 2. * 2 / 52; results[0].Value != want || results[0].Page != want {
		t.Errorf("value %v, page %v; want %v: 2 of 50 are right, and all are on their page", results[0].Value, results[0].Page, want)
	}
}

// BenchmarkScoreCandidates shows that the time grows with the number of candidates.
func BenchmarkScoreCandidates(b *testing.B) {
	for _, n := range []int{250, 1000, 4000} {
		d, o := manyCandidates(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				plainBench.score(nil, d, o, nil, eval.RoleArm)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(n), "µs/candidate")
		})
	}
}

var plainBench = &bench{weights: DefaultWeights, mix: trustedJudge}

// scoresOf scores an answer with the deterministic judge, by metric.
func scoresOf(d *prepared, answer string) map[string]eval.Score {
	o := outcomeOf(answer, eval.StopEnd, noSchema)
	byMetric := map[string]eval.Score{}
	for _, s := range plainBench.score(nil, d, &o, nil, eval.RoleArm) {
		byMetric[s.Metric] = s
	}
	return byMetric
}

// twoPages is a document of two pages.
const twoPages = `---PAGE 1---
Invoice INV-7 of March 15, 2024
Total: 1,234.56 EUR
Deposit: 100.00
Vendor: Acme  Corp
---PAGE 2---
Deposit: 100.00
Terms run over the
---PAGE 3---
page break.
`

// Every row is a rule of the specification (X3, X4) with its arithmetic. The
// composite is 0.30·value + 0.30·evidence + 0.10·page + 0.15·status +
// 0.15·schema throughout.
var scoreTests = []struct {
	rule   string
	typ    text.Type
	gold   Gold
	answer string // entries of the answer
	want   Components
	total  float64
}{
	// X4.1, present.
	{"right: everything", text.String, presentGold("INV-7"), ok("INV-7", "Invoice INV-7", "1"), Components{1, 1, 1, 1, 1}, 1},
	{"null for a present field", text.String, presentGold("INV-7"), missing(), Components{Schema: 1}, 0.15},
	{"another acceptable value", text.String, presentGold("Acme Corporation", "Acme Corp"), ok("Acme Corp", "Vendor: Acme Corp", "1"), Components{1, 1, 1, 1, 1}, 1},
	{"another acceptable value, written otherwise", text.String, presentGold("Acme Corporation", "ACME corp"), ok("Acme Corp", "Vendor: Acme Corp", "1"), Components{1, 1, 1, 1, 1}, 1},
	{"wrong value, all else right", text.String, presentGold("INV-7"), ok("Acme Corp", "Vendor: Acme Corp", "1"), Components{Schema: 1}, 0.15},
	// One letter of eleven is wrong: similarity 1 − 1/11 = 0.909 > 0.9. The
	// quote holds the value as returned neither raw nor as a word: evidence 0.
	{"nearly right", text.String, presentGold("Invoice INV"), ok("Invoice INW", "Invoice INV", "1"), Components{0.5, 0, 1, 1, 1}, 0.30*0.5 + 0.10 + 0.15 + 0.15},
	// One of ten: similarity is 0.9 and not more.
	{"0.9 is not above 0.9", text.String, presentGold("abcdefghij"), ok("abcdefghiX", "Vendor", "1"), Components{Schema: 1}, 0.15},
	{"one digit off has no partial credit", text.Money, presentGold("1234.56"), ok("1234.57", "1,234.56", "1"), Components{Schema: 1}, 0.15},
	{"rounded to gold's precision is half right", text.Number, presentGold("1235"), ok("1234.56", "Total: 1,234.56", "1"), Components{0.5, 1, 1, 1, 1}, 0.85},
	{"case and outer punctuation do not count", text.String, presentGold("acme corp"), ok("Acme Corp.", "Vendor: Acme Corp", "1"), Components{1, 1, 1, 1, 1}, 1},

	// X4.1, missing.
	{"rightly missing", text.String, missingGold(), missing(), Components{1, 1, 1, 1, 1}, 1},
	{"hallucinated", text.String, missingGold(), ok("INV-7", "Invoice INV-7", "1"), Components{Schema: 1}, 0.15},
	{"null with status ok", text.String, missingGold(), entryJSON("null", "null", "null", "ok"), Components{}, 0},
	{"null with status ambiguous", text.String, missingGold(), ambiguous(candidate("INV-7", "INV-7", "1"), candidate("INV-8", "INV-7", "1")), Components{Schema: 1}, 0.15},
	{"missing with a quote", text.String, missingGold(), entryJSON("null", "Invoice INV-7", "null", "missing"), Components{1, 0, 1, 1, 0}, 0.55},
	{"missing with a page", text.String, missingGold(), entryJSON("null", "null", "1", "missing"), Components{1, 1, 0, 1, 0}, 0.75},
	{"missing with a page that is text", text.String, missingGold(), entryJSON("null", "null", `"1"`, "missing"), Components{1, 1, 0, 1, 0}, 0.75},
	{"missing with an empty value", text.String, missingGold(), entryJSON("", "null", "null", "missing"), Components{}, 0},

	// X4.1, ambiguous: F1 = 2·hits/(gold + claimed).
	{"both candidates", text.Money, ambiguousGold("100.00", "1234.56"),
		ambiguous(candidate("100.00", "Deposit: 100.00", "2"), candidate("1,234.56", "Total: 1,234.56", "1")), Components{1, 1, 1, 1, 1}, 1},
	// F1 = 2·1/(2+2) = 0.5; evidence (1+1)/2 · 0.5, page (1+1)/2 · 0.5.
	{"one of two right", text.Money, ambiguousGold("100.00", "50.00"),
		ambiguous(candidate("100.00", "Deposit: 100.00", "1"), candidate("1,234.56", "Total: 1,234.56", "1")), Components{0.5, 0.5, 0.5, 1, 1}, 0.35 + 0.30},
	// The same value twice is one member of the set: F1 = 2·1/(2+1) = 2/3.
	{"duplicates count once", text.Money, ambiguousGold("100.00", "50.00"),
		ambiguous(candidate("100.00", "Deposit: 100.00", "1"), candidate("100", "Deposit: 100.00", "2")), Components{2. / 3, 2. / 3, 2. / 3, 1, 1}, 0.70*2/3 + 0.30},
	{"none right", text.Money, ambiguousGold("7.00", "8.00"),
		ambiguous(candidate("100.00", "Deposit: 100.00", "1"), candidate("1,234.56", "Total: 1,234.56", "1")), Components{Schema: 1}, 0.15},
	// F1 = 1; one of two quotes is fabricated: evidence 1/2, page 1/2.
	{"one candidate's quote is fabricated", text.Money, ambiguousGold("100.00", "1234.56"),
		ambiguous(candidate("100.00", "Deposit: 100.00", "1"), candidate("1,234.56", "Sum: 1,234.56", "1")), Components{1, 0.5, 0.5, 1, 1}, 0.30 + 0.15 + 0.05 + 0.30},
	// F1 = 2·1/(2+1) = 2/3, one candidate breaks the form.
	{"one candidate only", text.Money, ambiguousGold("100.00", "1234.56"),
		ambiguous(candidate("100.00", "Deposit: 100.00", "1")), Components{2. / 3, 2. / 3, 2. / 3, 1, 0}, 0.70*2/3 + 0.15},
	{"one value instead of candidates", text.Money, ambiguousGold("100.00", "1234.56"), ok("100.00", "Deposit: 100.00", "1"), Components{Schema: 1}, 0.15},
	{"status missing", text.Money, ambiguousGold("100.00", "1234.56"), missing(), Components{Schema: 1}, 0.15},
	// F1 of {100} ∪ {void} against two: 2·1/(2+2) = 0.5, quotes 1 of 2.
	{"a candidate without a value counts against the set", text.Money, ambiguousGold("100.00", "1234.56"),
		ambiguous(candidate("100.00", "Deposit: 100.00", "1"), candidate("null", "null", "null")), Components{0.5, 0.25, 0.25, 1, 0}, 0.15 + 0.075 + 0.025 + 0.15},

	// X4.2, dates.
	{"a date in another form", text.Date, presentGold("2024-03-15"), ok("15 March 2024", "March 15, 2024", "1"), Components{1, 1, 1, 1, 1}, 1},
	{"the day before", text.Date, presentGold("2024-03-15"), ok("2024-03-14", "March 15, 2024", "1"), Components{Schema: 1}, 0.15},

	// X4.3, the gates.
	{"no quote", text.String, presentGold("INV-7"), entryJSON("INV-7", "null", "1", "ok"), Components{1, 0, 0, 1, 0}, 0.45},
	{"empty quote", text.String, presentGold("INV-7"), ok("INV-7", "", "1"), Components{1, 0, 0, 1, 0}, 0.45},
	{"quote not in the text", text.String, presentGold("INV-7"), ok("INV-7", "No. INV-7", "1"), Components{1, 0, 0, 1, 1}, 0.60},
	{"quotes are not case folded", text.String, presentGold("INV-7"), ok("INV-7", "invoice INV-7", "1"), Components{1, 0, 0, 1, 1}, 0.60},
	{"white space of a quote does not count", text.String, presentGold("Acme Corp"), ok("Acme Corp", "Vendor:\n Acme Corp", "1"), Components{1, 1, 1, 1, 1}, 1},
	{"value not in the quote", text.String, presentGold("INV-7"), ok("INV-7", "Vendor: Acme", "1"), Components{1, 0, 1, 1, 1}, 0.70},
	{"a date rewritten to ISO keeps its evidence", text.Date, presentGold("2024-03-15"), ok("2024-03-15", "March 15, 2024", "1"), Components{1, 1, 1, 1, 1}, 1},
	{"an amount without its separator too", text.Money, presentGold("1234.56"), ok("1234.56", "Total: 1,234.56 EUR", "1"), Components{1, 1, 1, 1, 1}, 1},
	{"a word up to its dash", text.String, presentGold("INV"), ok("INV", "Invoice INV-7 of March", "1"), Components{1, 1, 1, 1, 1}, 1},
	// The quote contains the value but not as a word: the gate
	// holds, the judge does not. Evidence = 0.3·1 + 0.7·0.
	{"part of a word", text.String, presentGold("Dep"), ok("Dep", "Deposit: 100.00", "1"), Components{1, 0.3, 1, 1, 1}, 0.30 + 0.09 + 0.40},
	// words(quote) = 9, words(value) = 1: token = 1 − 0.1·(9 − 5) = 0.6;
	// evidence = 0.3·0.6 + 0.7 = 0.88.
	{"a padded quote", text.String, presentGold("INV-7"), ok("INV-7", "Invoice INV-7 of March 15, 2024 Total: 1,234.56 EUR", "1"), Components{1, 0.88, 1, 1, 1}, 0.30 + 0.264 + 0.40},
	// 16 words a word: token = clamp(1 − 0.1·11) = 0; evidence = 0.7.
	{"a quote of the whole page", text.String, presentGold("INV-7"), ok("INV-7", "Invoice INV-7 of March 15, 2024 Total: 1,234.56 EUR Deposit: 100.00 Vendor: Acme Corp Deposit: 100.00 Terms", "1"), Components{1, 0.7, 1, 1, 1}, 0.30 + 0.21 + 0.40},

	// X4.5, pages.
	{"on the first of two pages", text.Money, presentGold("100.00"), ok("100.00", "Deposit: 100.00", "1"), Components{1, 1, 1, 1, 1}, 1},
	{"or on the second", text.Money, presentGold("100.00"), ok("100.00", "Deposit: 100.00", "2"), Components{1, 1, 1, 1, 1}, 1},
	{"but not on the third", text.Money, presentGold("100.00"), ok("100.00", "Deposit: 100.00", "3"), Components{1, 1, 0, 1, 1}, 0.90},
	{"a crossing quote belongs to its first page", text.String, presentGold("page break"), ok("page break", "over the page break", "2"), Components{1, 1, 1, 1, 1}, 1},
	{"and not to its last", text.String, presentGold("page break"), ok("page break", "over the page break", "3"), Components{1, 1, 0, 1, 1}, 0.90},
	// words(quote) = 6 with the marker's two: token = 1.
	{"a value across a page break, copied with its marker", text.String, presentGold("the page break"), ok("the page break", "over the\n---PAGE 3---\npage break", "2"), Components{1, 1, 1, 1, 1}, 1},
	{"2.0 is 2", text.Money, presentGold("100.00"), ok("100.00", "Deposit: 100.00", "2.0"), Components{1, 1, 1, 1, 1}, 1},

	// X3.1 and X4.6: form and status.
	{"page as text", text.String, presentGold("INV-7"), ok("INV-7", "Invoice INV-7", `"1"`), Components{1, 1, 0, 1, 0}, 0.75},
	{"ok without page", text.String, presentGold("INV-7"), ok("INV-7", "Invoice INV-7", "null"), Components{1, 1, 0, 1, 0}, 0.75},
	{"unknown status", text.String, presentGold("INV-7"), entryJSON("INV-7", "Invoice INV-7", "1", "found"), Components{1, 1, 1, 0, 0}, 0.70},
	{"value with status ambiguous", text.String, presentGold("INV-7"), entryJSON("INV-7", "Invoice INV-7", "1", "ambiguous"), Components{1, 1, 1, 0, 0}, 0.70},
	{"evidence null is the object with nulls", text.String, missingGold(), `{"field":"f","value":null,"evidence":null,"status":"missing","candidates":[]}`, Components{1, 1, 1, 1, 1}, 1},
	{"a number as value is taken as written", text.Money, presentGold("100"), `{"field":"f","value":100.00,"evidence":{"quote":"Deposit: 100.00","page":1},"status":"ok"}`, Components{1, 1, 1, 1, 1}, 1},

	// X3.2.
	{"omitted", text.String, presentGold("INV-7"), "", Components{}, 0},
	{"omitted, though missing is right", text.String, missingGold(), "", Components{}, 0},
	{"twice", text.String, presentGold("INV-7"), ok("INV-7", "Invoice INV-7", "1") + "," + ok("INV-7", "Invoice INV-7", "1"), Components{}, 0},
	{"fields not in the schema change nothing", text.String, presentGold("INV-7"), ok("INV-7", "Invoice INV-7", "1") + `,{"field":"x","value":1}`, Components{1, 1, 1, 1, 1}, 1},
}

func TestScore(t *testing.T) {
	for _, tt := range scoreTests {
		t.Run(tt.rule, func(t *testing.T) {
			got := scoresOf(prepare(tt.typ, twoPages, tt.gold), extractions(tt.answer))
			for _, c := range []struct {
				metric string
				want   float64
			}{{metricValue, tt.want.Value}, {metricEvidence, tt.want.Evidence}, {metricPage, tt.want.Page},
				{metricStatus, tt.want.Status}, {metricSchema, tt.want.Schema}, {metricComposite, tt.total}} {
				s := got[c.metric]
				if s.Den != 1 || !(math.Abs(s.Num-c.want) <= 1e-12) {
					t.Errorf("%s = %v/%v, want %v", c.metric, s.Num, s.Den, c.want)
				}
			}
		})
	}
}

// A quote that repeats across a page break is on both pages, though its
// occurrences overlap.
func TestPageOfOverlappingQuotes(t *testing.T) {
	d := prepare(text.String, "---PAGE 1---\nA 1\n---PAGE 2---\nA 1 A 1\n", presentGold("A 1"))
	for page, want := range map[string]float64{"1": 1, "2": 1, "3": 0} {
		if got := scoresOf(d, extractions(ok("A 1", "A 1 A 1", page)))[metricPage].Num; got != want {
			t.Errorf("page %s scores %v, want %v", page, got, want)
		}
	}
}

// The rates of X4.9 as ratios; "–" where the denominator is 0.
func TestRates(t *testing.T) {
	real, fake := "Invoice INV-7", "Bill INV-7"
	tests := []struct {
		name   string
		gold   Gold
		answer string
		want   string // hallucination fabrication unquoted quote_coverage candidate_coverage duplicate omitted extra_field
	}{
		{"right", presentGold("INV-7"), ok("INV-7", real, "1"), "– 0/1 0/1 1/1 – 0/1 0/1 0/1"},
		{"fabricated quote", presentGold("INV-7"), ok("INV-7", fake, "1"), "– 1/1 0/1 1/1 – 0/1 0/1 0/1"},
		{"an omitted quote counts as required", presentGold("INV-7"), ok("INV-7", "null", "1"), "– 0/1 1/1 0/1 – 0/1 0/1 0/1"},
		{"hallucinated", missingGold(), ok("INV-7", real, "1"), "1/1 0/1 0/1 1/1 – 0/1 0/1 0/1"},
		{"hallucinated candidates", missingGold(), ambiguous(candidate("INV-7", real, "1"), candidate("INV-8", fake, "1")), "1/1 1/2 0/2 – 1/1 0/1 0/1 0/1"},
		{"empty candidates are none", missingGold(), ambiguous(candidate("", "null", "null"), candidate(" ", "null", "null")), "0/1 0/2 2/2 – 1/1 0/1 0/1 0/1"},
		{"an empty value is none", missingGold(), entryJSON("", "null", "null", "missing"), "0/1 – – – – 0/1 0/1 0/1"},
		{"rightly missing", missingGold(), missing(), "0/1 – – – – 0/1 0/1 0/1"},
		{"candidates", ambiguousGold("a", "b"), ambiguous(candidate("a", real, "1"), candidate("b", fake, "1"), candidate("c", "null", "null")), "– 1/3 1/3 – 1/1 0/1 0/1 0/1"},
		{"one candidate", ambiguousGold("a", "b"), ambiguous(candidate("a", real, "1")), "– 0/1 0/1 – 0/1 0/1 0/1 0/1"},
		{"twice", presentGold("INV-7"), ok("INV-7", real, "1") + "," + ok("INV-7", fake, "1"), "– 1/2 0/2 2/2 – 1/1 0/1 0/2"},
		{"omitted", presentGold("INV-7"), "", "– – – – – 0/1 1/1 –"},
		{"missing field omitted", missingGold(), "", "0/1 – – – – 0/1 1/1 –"},
		{"other fields", presentGold("INV-7"), ok("INV-7", real, "1") + `,{"field":"x","value":"1","evidence":{"quote":"nope","page":1},"status":"ok"},{}`, "– 0/1 0/1 1/1 – 0/1 0/1 2/3"},
	}
	metrics := []string{metricHallucination, metricFabrication, "unquoted", "quote_coverage", "candidate_coverage", "duplicate", "omitted", "extra_field"}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			scores := scoresOf(prepare(text.String, twoPages, tt.gold), extractions(tt.answer))
			var got []string
			for _, m := range metrics {
				if s, ok := scores[m]; ok {
					got = append(got, fmt.Sprintf("%v/%v", s.Num, s.Den))
				} else {
					got = append(got, "–")
				}
			}
			if g := strings.Join(got, " "); g != tt.want {
				t.Errorf("\n got %s\nwant %s\n (%s)", g, tt.want, strings.Join(metrics, " "))
			}
		})
	}
}

// A malformed answer omits every field and is one parse failure. A refusal omits
// every field and is not a parse failure.
func TestMalformed(t *testing.T) {
	d := prepare(text.String, twoPages, presentGold("INV-7"))
	scores := scoresOf(d, "I could not find anything, sorry.")
	for metric, want := range map[string]float64{metricParseFailure: 1, metricComposite: 0, metricSchema: 0, "omitted": 1, "repaired": 0} {
		if s := scores[metric]; s.Num != want || s.Den != 1 {
			t.Errorf("unreadable: %s = %v/%v, want %v/1", metric, s.Num, s.Den, want)
		}
	}
	o := eval.Outcome{Kind: eval.Refused, Data: []byte(extractions(ok("INV-7", "Invoice INV-7", "1")))}
	for _, s := range plainBench.score(nil, d, &o, nil, eval.RoleArm) {
		switch s.Metric {
		case metricParseFailure, metricComposite:
			if s.Num != 0 {
				t.Errorf("refused: %s = %v, want 0", s.Metric, s.Num)
			}
		case "omitted":
			if s.Num != 1 {
				t.Errorf("refused: omitted = %v, want 1", s.Num)
			}
		}
	}
}

// The layers of evidence, and which of the two gates passed.
func TestLayers(t *testing.T) {
	tests := []struct {
		name   string
		typ    text.Type
		gold   Gold
		answer string
		want   map[string]float64
	}{
		{"as written", text.String, presentGold("INV-7"), ok("INV-7", "Invoice INV-7", "1"),
			map[string]float64{"evidence_token": 1, "evidence_judge": 1, "evidence_typed": 0, "quote_words": 2, "value_words": 1, "token_ratio": 2}},
		{"as a typed value only", text.Date, presentGold("2024-03-15"), ok("2024-03-15", "of March 15, 2024", "1"),
			map[string]float64{"evidence_token": 1, "evidence_judge": 1, "evidence_typed": 1, "quote_words": 4, "value_words": 1, "token_ratio": 4}},
		{"no gate held", text.String, presentGold("INV-7"), ok("INV-7", "Bill INV-7", "1"),
			map[string]float64{"quote_words": 2, "value_words": 1, "token_ratio": 2}},
	}
	all := []string{"evidence_token", "evidence_judge", "evidence_typed", "quote_words", "value_words", "token_ratio"}
	for _, tt := range tests {
		scores := scoresOf(prepare(tt.typ, twoPages, tt.gold), extractions(tt.answer))
		for _, m := range all {
			want, wanted := tt.want[m]
			got, given := scores[m]
			if wanted != given || got.Num != want {
				t.Errorf("%s: %s = %v (present: %v), want %v (present: %v)", tt.name, m, got.Num, given, want, wanted)
			}
		}
	}
}

// A composite of other weights, and the worked example of the plan's erratum.
func TestComposite(t *testing.T) {
	if got := DefaultWeights.Composite(Components{1, 1, 1, 1, 1}); got != 1 {
		t.Errorf("a perfect field scores %.17g", got)
	}
	if got := DefaultWeights.Composite(Components{Value: 1, Status: 1, Schema: 1}); !(math.Abs(got-0.60) <= 1e-12) {
		t.Errorf("right value with a fabricated quote scores %v, want 0.30 + 0.15 + 0.15 = 0.60 (X4.8)", got)
	}
	if got := (Weights{Value: 1}).Composite(Components{Value: 0.5, Schema: 1}); got != 0.5 {
		t.Errorf("value alone: %v, want 0.5", got)
	}
}
