package convert

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/scruple-eval/scruple/internal/text"
)

// A document is one line of the extraction suite's data.
type document struct {
	ID      string  `json:"document_id"`
	Schema  string  `json:"schema"`
	DocType string  `json:"doc_type,omitempty"`
	Cluster string  `json:"cluster,omitempty"`
	Text    string  `json:"text"`
	Truth   []truth `json:"ground_truth"`

	decisions []decision
}

// A truth is the gold of one field.
type truth struct {
	Field       string   `json:"field"`
	Exists      bool     `json:"exists_in_document"`
	Ambiguous   bool     `json:"is_ambiguous"`
	Correct     string   `json:"correct_value,omitempty"`
	Acceptable  []string `json:"acceptable_values,omitempty"`
	Candidates  []string `json:"candidate_values,omitempty"`
	Quote       string   `json:"evidence_quote,omitempty"`
	MustContain string   `json:"evidence_must_contain,omitempty"`
	Page        int      `json:"page,omitempty"`
	Note        string   `json:"note,omitempty"`
}

// A decision is what became of one field of one document.
type decision struct {
	field string
	rule  Rule
}

// missing adds a field that the document does not have.
func (d *document) missing(field string) {
	d.Truth = append(d.Truth, truth{Field: field})
	d.decide(field, Missing)
}

// present adds a field whose value stands in the text at q. Each accepted value
// is kept once, the correct one first.
func (d *document) present(field, correct string, q quote, accepted ...string) {
	t := truth{Field: field, Exists: true, Correct: correct, Quote: q.text, Page: q.page}
	for _, v := range append([]string{correct}, accepted...) {
		if v = text.Minimal(v); v != "" && !slices.Contains(t.Acceptable, v) {
			t.Acceptable = append(t.Acceptable, v)
		}
	}
	d.Truth = append(d.Truth, t)
	if q.restored {
		d.decide(field, Restored)
	} else {
		d.decide(field, Verbatim)
	}
}

// ambiguous adds a field for which the text gives several values.
func (d *document) ambiguous(field, note string, candidates []string) {
	d.Truth = append(d.Truth, truth{Field: field, Exists: true, Ambiguous: true, Candidates: candidates, Note: note})
	d.decide(field, Ambiguous)
}

// decide records what was done with a field; alone, that it was left out.
func (d *document) decide(field string, rule Rule) {
	d.decisions = append(d.decisions, decision{field, rule})
}

// A source is a document's text prepared for finding quotes in it.
type source struct {
	text    string
	index   *text.Index
	letters letters
}

// newSource joins pages to the text that is both sent and scored.
func newSource(id string, pages []string) (*source, error) {
	var (
		b strings.Builder
		s source
	)
	for i, page := range pages {
		fmt.Fprintf(&b, "---PAGE %d---\n", i+1)
		s.letters.add(page, b.Len())
		b.WriteString(page)
		b.WriteByte('\n')
	}
	s.text = b.String()
	found, err := text.Pages(s.text)
	if err == nil && len(found) != len(pages) {
		err = errors.New("a line of a page reads like a page marker: take it out of the text")
	}
	if err == nil {
		s.index, err = text.NewIndex(s.text)
	}
	if err != nil {
		return nil, fmt.Errorf("document %s: joining %d pages: %w", id, len(pages), err)
	}
	return &s, nil
}

// A quote is a stretch of the text, white space collapsed, with the number of
// the page it starts on.
type quote struct {
	text     string
	page     int
	restored bool // annotated with other punctuation or spacing
}

// find looks for an annotated quote as it stands, then by its letters and
// digits. The first place it stands in is meant.
func (s *source) find(annotated string) (quote, bool) {
	if at := s.index.Find(annotated); len(at) > 0 {
		return quote{text.Minimal(annotated), at[0].Page, false}, true
	}
	start, end := s.letters.find(annotated)
	if start == end {
		return quote{}, false
	}
	own := s.text[start:end]
	at := s.index.Find(own)
	if len(at) == 0 { // it runs over a page marker
		return quote{}, false
	}
	return quote{text.Minimal(own), at[0].Page, true}, true
}

// letters holds the letters and digits of a text, one after the other, and for
// each of their bytes where the character stands that it belongs to.
type letters struct {
	folded []byte
	start  []int32
	end    []int32
}

// add appends the letters of page, which starts at byte offset of the text.
func (l *letters) add(page string, offset int) {
	for i, r := range page {
		n := len(l.folded)
		l.folded = appendLetters(l.folded, r)
		for range len(l.folded) - n {
			l.start = append(l.start, int32(offset+i))
			l.end = append(l.end, int32(offset+i+utf8.RuneLen(r)))
		}
	}
}

// find returns the byte range of the first place where the letters and digits
// of s follow each other, from the first of them to the last; an empty range
// when there is none. The place does not start or end inside a word.
func (l *letters) find(s string) (start, end int) {
	want := lettersOf(s)
	if len(want) == 0 {
		return 0, 0
	}
	for from := 0; ; {
		i := bytes.Index(l.folded[from:], want)
		if i < 0 {
			return 0, 0
		}
		first, last := from+i, from+i+len(want)-1
		if (first == 0 || l.end[first-1] != l.start[first]) &&
			(last == len(l.folded)-1 || l.start[last+1] != l.end[last]) {
			return int(l.start[first]), int(l.end[last])
		}
		from = first + 1
	}
}

// lettersOf are the letters and digits of s.
func lettersOf(s string) []byte {
	var l []byte
	for _, r := range s {
		l = appendLetters(l, r)
	}
	return l
}

// appendLetters appends what NFKC makes of r, if that is letters and digits.
func appendLetters(to []byte, r rune) []byte {
	if r < utf8.RuneSelf {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return append(to, byte(r))
		}
		return to
	}
	for _, c := range norm.NFKC.String(string(r)) {
		if unicode.IsLetter(c) || unicode.IsDigit(c) {
			to = utf8.AppendRune(to, c)
		}
	}
	return to
}
