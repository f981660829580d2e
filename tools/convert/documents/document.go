package documents

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

// A Document is one line of the extraction suite's data.
type Document struct {
	ID      string  `json:"document_id"`
	Schema  string  `json:"schema"`
	DocType string  `json:"doc_type,omitempty"`
	Cluster string  `json:"cluster,omitempty"`
	Text    string  `json:"text"`
	Truth   []Truth `json:"ground_truth"`

	decisions []decision
}

// A Truth is the gold of one field.
type Truth struct {
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

// Missing adds a field that the document does not have.
func (d *Document) Missing(field string) {
	d.Truth = append(d.Truth, Truth{Field: field})
	d.Decide(field, Missing)
}

// Present adds a field whose value is in the text at q. Accepted values are
// deduplicated, with the correct one first.
func (d *Document) Present(field, correct string, q Quote, accepted ...string) {
	t := Truth{Field: field, Exists: true, Correct: correct, Quote: q.Text, Page: q.Page}
	for _, v := range append([]string{correct}, accepted...) {
		if v = text.Minimal(v); v != "" && !slices.Contains(t.Acceptable, v) {
			t.Acceptable = append(t.Acceptable, v)
		}
	}
	d.Truth = append(d.Truth, t)
	d.Decide(field, map[bool]Rule{true: Restored, false: Verbatim}[q.Restored])
}

// Ambiguous adds a field for which the text gives several values.
func (d *Document) Ambiguous(field, note string, candidates []string) {
	d.Truth = append(d.Truth, Truth{Field: field, Exists: true, Ambiguous: true, Candidates: candidates, Note: note})
	d.Decide(field, Ambiguous)
}

// Decide records the rule for a field; without gold, the field is excluded.
func (d *Document) Decide(field string, rule Rule) {
	d.decisions = append(d.decisions, decision{field, rule})
}

// A Source is a document's text prepared for finding quotes in it.
type Source struct {
	Text    string
	Index   *text.Index
	letters letters
}

// NewSource joins pages to the text that is both sent and scored.
func NewSource(id string, pages []string) (*Source, error) {
	var b strings.Builder
	var s Source
	for i, page := range pages {
		fmt.Fprintf(&b, "---PAGE %d---\n", i+1)
		s.letters.add(page, b.Len())
		b.WriteString(page)
		b.WriteByte('\n')
	}
	s.Text = b.String()
	found, err := text.Pages(s.Text)
	if err == nil && len(found) != len(pages) {
		err = errors.New("a line of a page looks like a page marker: remove it from the text")
	}
	if err == nil {
		s.Index, err = text.NewIndex(s.Text)
	}
	if err != nil {
		return nil, fmt.Errorf("document %s: joining %d pages: %w", id, len(pages), err)
	}
	return &s, nil
}

// A Quote is a stretch of the text, white space collapsed, with the number of
// the page it starts on.
type Quote struct {
	Text     string
	Page     int
	Restored bool // annotated with other punctuation or spacing
}

// Find searches for an annotated quote verbatim, then by its letters and digits. It
// returns the first match.
func (s *Source) Find(annotated string) (Quote, bool) {
	if at := s.Index.Find(annotated); len(at) > 0 {
		return Quote{text.Minimal(annotated), at[0].Page, false}, true
	}
	start, end := s.letters.find(annotated)
	if start == end {
		return Quote{}, false
	}
	own := s.Text[start:end]
	at := s.Index.Find(own)
	if len(at) == 0 { // it runs over a page marker
		return Quote{}, false
	}
	return Quote{text.Minimal(own), at[0].Page, true}, true
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
	want := LettersOf(s)
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

// LettersOf gives the letters and digits of s.
func LettersOf(s string) []byte {
	var l []byte
	for _, r := range s {
		l = appendLetters(l, r)
	}
	return l
}

// appendLetters appends what NFKC makes of r, if that is letters and digits.
func appendLetters(to []byte, r rune) []byte {
	for _, c := range norm.NFKC.String(string(r)) {
		if unicode.IsLetter(c) || unicode.IsDigit(c) {
			to = utf8.AppendRune(to, c)
		}
	}
	return to
}

// FormsOf finds the dates in s that are the given day, as they are written. Of
// a date such as 03/04/2018, read gives the day it is where it was written.
func FormsOf(day text.Day, s string, read func(text.DateReading) text.Day) []string {
	var forms []string
	for _, form := range text.Values(text.Date, s) {
		if r, err := text.ParseDate(form); err == nil && read(r) == day {
			forms = append(forms, form)
		}
	}
	return forms
}
