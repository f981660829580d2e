package convert

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/text"
)

const minimal = `{"id":"%s","source_file":"A_1.pdf","contract_type":"Service","pages":["%s"],"gold":[{"field":"Governing Law","exists_in_document":false,"evidence":[],"answer":null}]}`

func TestStream(t *testing.T) {
	one, two, long := fmt.Sprintf(minimal, "one", "x"), fmt.Sprintf(minimal, "two", "x"), fmt.Sprintf(minimal, "long", strings.Repeat("x", 100))
	noGold := `{"id":"none","source_file":"A_1.pdf","contract_type":"Service","pages":["x"],"gold":[]}`
	tests := []struct {
		name, in string
		o        Options
		ids      []string
		report   string
	}{
		{"nothing", "", Options{}, nil, "0 documents written, 0 fields kept as gold, 0 left out"},
		{"two, with a blank line, CRLF and a byte order mark", "\ufeff" + one + "\r\n\r\n" + two, Options{}, []string{"one", "two"},
			"2 documents written, 2 fields kept as gold, 0 left out"},
		{"a limit", one + "\n" + two, Options{Limit: 1}, []string{"one"}, "1 documents written, 1 fields kept as gold, 0 left out"},
		{"a limit counts what is written", long + "\n" + one + "\n" + two, Options{Limit: 1, MaxText: 50}, []string{"one"},
			"1 documents written, 1 fields kept as gold, 0 left out; 1 documents are too long"},
		{"a document without gold", noGold + "\n" + one, Options{}, []string{"one"},
			"1 documents written, 1 fields kept as gold, 0 left out; 1 documents have no gold"},
	}
	for _, tt := range tests {
		for _, packed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/packed=%t", tt.name, packed), func(t *testing.T) {
				in := []byte(tt.in)
				if packed {
					in = gzipped(t, in)
				}
				var out strings.Builder
				report, err := CUAD(bytes.NewReader(in), &out, tt.o)
				if err != nil {
					t.Fatal(err)
				}
				if report.String() != tt.report {
					t.Errorf("got %q, want %q", report.String(), tt.report)
				}
				if got := strings.Count(out.String(), "\n"); got != len(tt.ids) {
					t.Errorf("%d lines, want %d", got, len(tt.ids))
				}
				for _, id := range tt.ids {
					if !strings.Contains(out.String(), `"document_id":"`+id+`"`) {
						t.Errorf("%s is not there", id)
					}
				}
			})
		}
	}
}

func gzipped(t testing.TB, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestStreamErrors(t *testing.T) {
	ok := fmt.Sprintf(minimal, "one", "x")
	tests := []struct{ name, in, want string }{
		{"another corpus", `{"id":"a","pages":[],"gold":{"company":"x"}}`, "line 1: column 29: gold: want a list, got an object"},
		{"misspelt key", ok + "\n\n" + strings.Replace(ok, `"pages"`, `"page"`, 1), `line 3: column 63: unknown key "page": did you mean "pages"?`},
		{"page that reads like a marker", fmt.Sprintf(minimal, "one", `a\n---PAGE 7---\nb`), "line 1: document one: joining 1 pages: a line of a page reads like a page marker: take it out of the text"},
		{"broken marker in a page", fmt.Sprintf(minimal, "one", `a\n---PAGE x---\nb`), "line 1: document one: joining 1 pages: reading pages: line 3"},
		{"type of contract", strings.Replace(ok, "Service", "Lease", 1), `line 1: document one: contract_type "Lease" is none of CUAD's`},
		{"damaged gzip", "\x1f\x8bxxxxxxxxxxxx", "unpacking: gzip: invalid header"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := CUAD(strings.NewReader(tt.in), new(strings.Builder), Options{})
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got  %v\nwant %s…", err, tt.want)
			}
		})
	}
	if _, err := CUAD(strings.NewReader(ok), full{}, Options{}); !errors.Is(err, errFull) {
		t.Errorf("disk full: got %v", err)
	}
}

var errFull = errors.New("no space left on device")

// full is a writer without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestRulesAreDocumented(t *testing.T) {
	for _, r := range Rules() {
		if r.Doc() == "" || r.Kept() == strings.HasPrefix(string(r), "left out") {
			t.Errorf("rule %q: %q, kept %t", r, r.Doc(), r.Kept())
		}
	}
	for _, c := range Converters() {
		if c.Name == "" || c.Doc == "" || c.Convert == nil {
			t.Errorf("converter %+v is not complete", c)
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

// Whatever punctuation and spacing a quote of whole words loses, it is found
// where its letters stand, and what is found are the document's own characters.
func TestFindByLetters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[A-Za-zé0-9]{1,4}`)
		words := rapid.SliceOfN(word, 1, 12).Draw(t, "words")
		between := rapid.SampledFrom([]string{" ", "\n", ", ", " “", "” ", "–", ".  ", " \u200b"})
		var page strings.Builder
		for _, w := range words {
			page.WriteString(w + between.Draw(t, "between"))
		}
		s, err := newSource("d", []string{"---", page.String()})
		if err != nil {
			t.Fatal(err)
		}
		from := rapid.IntRange(0, len(words)-1).Draw(t, "from")
		to := rapid.IntRange(from+1, len(words)).Draw(t, "to")
		annotated := strings.Join(words[from:to], " ")
		q, ok := s.find(annotated)
		if !ok {
			t.Fatalf("%q is not found in %q", annotated, page.String())
		}
		if string(lettersOf(q.text)) != string(lettersOf(annotated)) || !strings.Contains(text.Minimal(page.String()), q.text) || q.page != 2 {
			t.Fatalf("%q was found as %+v in %q", annotated, q, page.String())
		}
	})
}

func TestFindKeepsWordBorders(t *testing.T) {
	s, err := newSource("d", []string{"the sponsorship of “Sponsor” and Zweck­verband"})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		quote, want string
	}{
		{`"Sponsor"`, "Sponsor"},
		{`"sponsor"`, ""}, // only the start of another word, and case counts
		{`"ship"`, ""},
		{"", ""},
		{"…", ""},
	}
	for _, tt := range tests {
		q, ok := s.find(tt.quote)
		if q.text != tt.want || ok != (tt.want != "") {
			t.Errorf("%q: found %q (%t), want %q", tt.quote, q.text, ok, tt.want)
		}
	}
}

// Whatever a corpus file holds, converters report and do not panic, and every
// quote they write stands in the text.
func FuzzConverters(f *testing.F) {
	raw, err := os.ReadFile("testdata/cuad.jsonl.gz")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw[:2000])
	f.Add([]byte(fmt.Sprintf(minimal, "one", "x")))
	f.Add([]byte(`{"id":"a","source_file":"","contract_type":"IP","pages":["May 1, 2010 sixty (60) days"],"gold":[{"field":"Agreement Date","exists_in_document":true,"evidence":[{"quote":"May 1, 2010","pages":[1],"verbatim":true}],"answer":"5/1/2010; 6/1/2010"}]}`))
	f.Add([]byte(`{"id":"r","pages":["3/4/2018 9.00"],"gold":{"company":"x","date":"3/4/18","address":"“","total":"9.00"},"gold_verbatim":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, c := range Converters() {
			var out bytes.Buffer
			report, err := c.Convert(bytes.NewReader(data), &out, Options{})
			if err == nil && bytes.Count(out.Bytes(), []byte("\n")) != report.Written {
				t.Errorf("%s: %d documents reported, output %q", c.Name, report.Written, out.Bytes())
			}
		}
	})
}

// The letters of a page keep their places.
func TestLettersKeepPlaces(t *testing.T) {
	page := "Ｆｕｌｌ width, ½ and ﬁne"
	var l letters
	l.add(page, 10)
	if got, want := string(l.folded), "Fullwidth12andfine"; got != want {
		t.Fatalf("letters %q, want %q", got, want)
	}
	for i := range l.folded {
		r := []rune(page[l.start[i]-10 : l.end[i]-10])
		if len(r) != 1 || unicode.IsSpace(r[0]) || unicode.IsPunct(r[0]) {
			t.Errorf("letter %d belongs to %q", i, string(r))
		}
	}
}
