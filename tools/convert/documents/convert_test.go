package documents

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/text"
)

const minimal = `{"id":"%s","pages":["9.00 %s"],"gold":{"company":"","date":"","address":"","total":"9.00"}}`

func TestLines(t *testing.T) {
	one, two, long := fmt.Sprintf(minimal, "one", "x"), fmt.Sprintf(minimal, "two", "x"), fmt.Sprintf(minimal, "long", strings.Repeat("x", 100))
	noGold := strings.Replace(fmt.Sprintf(minimal, "none", "x"), `"9.00"}`, `""}`, 1)
	tests := []struct {
		name, in string
		o        Options
		ids      []string
		report   string
	}{
		{"nothing", "", Options{}, nil, "0 documents written, 0 fields kept as gold, 0 excluded"},
		{"two, with a blank line, CRLF and a byte order mark", "\ufeff" + one + "\r\n\r\n" + two, Options{}, []string{"one", "two"},
			"2 documents written, 2 fields kept as gold, 6 excluded"},
		{"a limit", one + "\n" + two, Options{Limit: 1}, []string{"one"}, "1 document written, 1 field kept as gold, 3 excluded"},
		{"a limit counts what is written", long + "\n" + one + "\n" + two, Options{Limit: 1, MaxText: 50}, []string{"one"},
			"1 document written, 1 field kept as gold, 3 excluded; 1 too long"},
		{"a document without gold", noGold + "\n" + one, Options{}, []string{"one"},
			"1 document written, 1 field kept as gold, 3 excluded; 1 without gold"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, report, err := SROIE(write(t, []byte(tt.in)), tt.o)
			if err != nil {
				t.Fatal(err)
			}
			if report.String() != tt.report {
				t.Errorf("got %q, want %q", report.String(), tt.report)
			}
			if got := bytes.Count(out, []byte("\n")); got != len(tt.ids) {
				t.Errorf("%d lines, want %d", got, len(tt.ids))
			}
			for _, id := range tt.ids {
				if !bytes.Contains(out, []byte(`"document_id":"`+id+`"`)) {
					t.Errorf("%s is not there", id)
				}
			}
		})
	}
}

// write puts content into a file.
func write(t testing.TB, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "raw.jsonl")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLinesErrors(t *testing.T) {
	ok := fmt.Sprintf(minimal, "one", "x")
	tests := []struct{ name, in, want string }{
		{"another corpus", `{"id":"a","pages":[],"gold":[{"field":"x"}]}`, "raw.jsonl:1:29: gold: want an object, got a list"},
		{"misspelt key", ok + "\n\n" + strings.Replace(ok, `"pages"`, `"page"`, 1), `raw.jsonl:3:13: unknown key "page": did you mean "pages"?`},
		{"page that reads like a marker", fmt.Sprintf(minimal, "one", `a\n---PAGE 7---\nb`), "raw.jsonl:1: document one: joining 1 pages: a line of a page looks like a page marker: remove it from the text"},
		{"broken marker in a page", fmt.Sprintf(minimal, "one", `a\n---PAGE x---\nb`), "raw.jsonl:1: document one: joining 1 pages: reading pages: line 3"},
		{"damaged gzip", "\x1f\x8bxxxxxxxxxxxx", "raw.jsonl: unpacking: gzip: invalid header"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, _, err := SROIE(write(t, []byte(tt.in)), Options{}); err == nil || !strings.Contains(err.Error(), "/"+tt.want) {
				t.Errorf("got  %v\nwant …/%s…", err, tt.want)
			}
		})
	}
}

func TestRulesAreDocumented(t *testing.T) {
	for _, r := range Rules() {
		if r.Doc == "" || r.Kept() == strings.HasPrefix(r.Name, "excluded") {
			t.Errorf("rule %q: %q, kept %t", r.Name, r.Doc, r.Kept())
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
		s, err := NewSource("d", []string{"---", page.String()})
		if err != nil {
			t.Fatal(err)
		}
		from := rapid.IntRange(0, len(words)-1).Draw(t, "from")
		to := rapid.IntRange(from+1, len(words)).Draw(t, "to")
		annotated := strings.Join(words[from:to], " ")
		q, ok := s.Find(annotated)
		if !ok {
			t.Fatalf("%q is not found in %q", annotated, page.String())
		}
		if string(LettersOf(q.Text)) != string(LettersOf(annotated)) || !strings.Contains(text.Minimal(page.String()), q.Text) || q.Page != 2 {
			t.Fatalf("%q was found as %+v in %q", annotated, q, page.String())
		}
	})
}

func TestFindKeepsWordBorders(t *testing.T) {
	s, err := NewSource("d", []string{"the sponsorship of “Sponsor” and Zweck\u00adverband"})
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
		q, ok := s.Find(tt.quote)
		if q.Text != tt.want || ok != (tt.want != "") {
			t.Errorf("%q: found %q (%t), want %q", tt.quote, q.Text, ok, tt.want)
		}
	}
}

// Whatever a corpus file holds, the converter reports and does not panic.
func FuzzSROIE(f *testing.F) {
	f.Add([]byte(fmt.Sprintf(minimal, "one", "x")))
	f.Add([]byte(`{"id":"r","pages":["3/4/2018 9.00"],"gold":{"company":"x","date":"3/4/18","address":"“","total":"9.00"},"gold_verbatim":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		out, report, err := SROIE(write(t, data), Options{})
		if err == nil && bytes.Count(out, []byte("\n")) != report.Written {
			t.Errorf("%d documents reported, output %q", report.Written, out)
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
