package text

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// An Index is a document prepared for looking up quotes. It holds the text of
// the pages in minimal form, as one text without the marker lines, so that a
// quote that runs over a page break is found; and the way back from there to
// the bytes of the document. Any number of goroutines may use it: nothing changes once it
// is built, but the text for [Index.HasTypography], which is made when first needed.
type Index struct {
	text  string // minimal form of all pages, joined
	spans []span // ascending, the way back to the document
	pages []Page
	from  []int // where each page begins in text

	typographic func() [2]string // see [Index.HasTypography]
	folded      func() string
	numbers     func() map[string]bool // every value that a number of the text can have
}

// A span maps the normal text from at on (up to the next span) to the
// document. In a plain span bytes correspond one to one; in any other the
// whole of it came from the whole of [from, to).
type span struct {
	at       int32 // offset in the normal text
	from, to int32 // offsets in the document
	plain    bool
}

// An Occurrence is one place where a quote stands: bytes of the document, and
// the number of the page it starts on.
type Occurrence struct {
	Start, End int
	Page       int
}

// maxDocument keeps the offsets of spans small; normal forms are longer than
// their text, eighteen characters for one at most.
const maxDocument = 64 << 20

// NewIndex prepares a document. Its pages are read by [Pages], whose errors
// it returns.
func NewIndex(doc string) (*Index, error) {
	if len(doc) > maxDocument {
		return nil, fmt.Errorf("indexing a document: %d bytes, limit %d; split it", len(doc), maxDocument)
	}
	pages, err := Pages(doc)
	if err != nil {
		return nil, err
	}
	b := builder{doc: doc}
	b.text.Grow(len(doc))
	b.spans = make([]span, 0, 64+len(doc)/64)
	from := make([]int, len(pages))
	for i, p := range pages {
		from[i] = b.text.Len()
		b.page(p.Start, p.End) // ends in a line break if another page follows
	}
	x := &Index{text: b.text.String(), spans: b.spans, pages: pages, from: from}
	x.typographic = sync.OnceValue(func() [2]string { return typographic(doc, pages) })
	x.folded = sync.OnceValue(func() string { return Fold(x.text) })
	x.numbers = sync.OnceValue(func() map[string]bool { return everyNumber(x.text) })
	return x, nil
}

// Pages are the pages of the document.
func (x *Index) Pages() []Page { return x.pages }

// Has reports whether the document contains the quote, comparing minimal forms. It
// returns false for an empty quote.
func (x *Index) Has(quote string) bool {
	q := MinimalQuote(quote)
	return q != "" && strings.Contains(x.text, q)
}

// Holds reports whether the document contains a value as a quote must: as written, or
// as a value of the type. See [Contains].
func (x *Index) Holds(t Type, value string) bool {
	switch {
	case isBlank(value):
		return false
	case strings.Contains(x.text, Minimal(value)):
		return true
	case t == String || t == Enum: // as Contains does, but the document is folded once
		return containsWords(x.folded(), Fold(value))
	case t == Number || t == Integer || t == Money: // most values that are not there need no search
		if v, err := readValue(t, value); err == nil && !slices.ContainsFunc(v.anyValue(), func(n string) bool { return x.numbers()[n] }) {
			return Equal(t, x.text, value)
		}
	}
	return Contains(t, x.text, value)
}

// BeginsOn reports whether the quote stands in the document and begins on the page
// of this number.
func (x *Index) BeginsOn(quote string, page int) bool {
	q := MinimalQuote(quote)
	if q == "" {
		return false
	}
	for i, p := range x.pages {
		if p.Number != page {
			continue
		}
		end := len(x.text)
		if i+1 < len(x.pages) {
			end = min(end, x.from[i+1]+len(q)-1)
		}
		if strings.Contains(x.text[x.from[i]:end], q) {
			return true
		}
	}
	return false
}

// Find gives every place where the quote stands, from left to right, none
// overlapping the one before. An empty quote stands nowhere. A quote that
// begins or ends inside a character that has several in its normal form (a
// ligature, a fraction) is taken to cover the whole character.
func (x *Index) Find(quote string) []Occurrence {
	q := MinimalQuote(quote)
	if q == "" {
		return nil
	}
	var found []Occurrence
	for at := 0; ; {
		i := strings.Index(x.text[at:], q)
		if i < 0 {
			return found
		}
		at += i
		first, last := x.spanAt(at), x.spanAt(at+len(q)-1)
		start, end := first.offset(at, first.from), last.offset(at+len(q), last.to)
		found = append(found, Occurrence{Start: start, End: end, Page: x.PageAt(start)})
		at += len(q)
	}
}

// PageAt is the number of the page that the byte at offset belongs to; marker
// lines belong to the page before them.
func (x *Index) PageAt(offset int) int {
	i := sort.Search(len(x.pages), func(i int) bool { return x.pages[i].Start > offset })
	return x.pages[max(i-1, 0)].Number
}

// offset is the place in the document of a place in the normal text of the span. A span that is not
// plain has no such places: it is otherwise, an end of the span.
func (s span) offset(at int, otherwise int32) int {
	if s.plain {
		return int(s.from) + at - int(s.at)
	}
	return int(otherwise)
}

// spanAt is the span of a character of the normal text.
func (x *Index) spanAt(at int) span {
	i := sort.Search(len(x.spans), func(i int) bool { return int(x.spans[i].at) > at })
	return x.spans[i-1]
}

// A builder makes the normal text of an index from left to right.
type builder struct {
	doc   string
	text  strings.Builder
	spans []span
	space span // white space before the next character, if due
	due   bool
	buf   []byte
}

// page adds the text of doc[from:to].
func (b *builder) page(from, to int) {
	for i := from; i < to; {
		// An ASCII character is its own normal form unless a mark follows, and so is a space
		// between two of them.
		end := i
		letter := func(at int) bool { return at < to && ' ' < b.doc[at] && b.doc[at] < utf8.RuneSelf }
		for letter(end) || end > i && end < to && b.doc[end] == ' ' && letter(end+1) {
			end++
		}
		if end < to && b.doc[end] >= utf8.RuneSelf {
			end--
		}
		if end > i {
			b.put(b.doc[i:end], span{from: int32(i), plain: true})
			i = end
			continue
		}
		s := b.doc[i:to]
		end = i + max(1, validLength(s[:max(1, norm.NFKC.NextBoundaryInString(s, true))]))
		b.together(i, end)
		i = end
	}
}

// together adds the characters of doc[from:to], which are normalised together. A normal
// form may hold a space of its own (that of ´ does), which collapses with the white space
// around it like any other.
func (b *builder) together(from, to int) {
	b.buf = norm.NFKC.AppendString(b.buf[:0], b.doc[from:to])
	plain := string(b.buf) == b.doc[from:to]
	for i, size := 0, 0; i < len(b.buf); i += size {
		var r rune
		r, size = utf8.DecodeRune(b.buf[i:])
		of := span{from: int32(from), to: int32(to)}
		if plain {
			of = span{from: int32(from + i), plain: true}
		}
		if !isSpace(r) {
			b.put(string(b.buf[i:i+size]), of)
		} else if !b.due && b.text.Len() > 0 {
			b.space, b.due = span{from: of.from, plain: true}, true
		}
	}
}

// put adds a text, after the one space that a run of white space comes to. The space maps
// to the first character of the run; no quote begins or ends with it.
func (b *builder) put(s string, of span) {
	if b.due {
		b.due = false
		b.put(" ", b.space)
	}
	of.at = int32(b.text.Len())
	if last := len(b.spans) - 1; last < 0 || !b.spans[last].continues(of) {
		b.spans = append(b.spans, of)
	}
	b.text.WriteString(s)
}

// continues reports whether what another span begins with is a part of this one.
func (s span) continues(next span) bool {
	if s.plain && next.plain {
		return s.from+next.at-s.at == next.from
	}
	return !s.plain && !next.plain && s.from == next.from && s.to == next.to
}

// A Page is the byte range of one page's text in a document, without the
// marker line before it.
type Page struct {
	Number     int
	Start, End int
}

const markerPrefix = "---PAGE"

// Pages finds the pages of a document. A page begins after a line
// "---PAGE n---"; numbers increase, from whatever the first one is. A document
// without any marker is one page, numbered 1. An invalid marker, or text before the
// first marker, is an error with the line number.
func Pages(doc string) ([]Page, error) {
	var pages []Page
	for pos, line := 0, 1; pos < len(doc); line++ {
		next := len(doc)
		if i := strings.IndexByte(doc[pos:], '\n'); i >= 0 {
			next = pos + i + 1
		}
		if strings.HasPrefix(doc[pos:next], markerPrefix) {
			number, err := readMarker(doc[pos:next])
			if err != nil {
				return nil, fmt.Errorf("reading pages: line %d: %w", line, err)
			}
			if len(pages) == 0 && !isBlank(doc[:pos]) {
				return nil, fmt.Errorf("reading pages: line %d: text before the first page marker; put a marker line before it or remove it", line)
			}
			if n := len(pages); n > 0 {
				last := &pages[n-1]
				last.End = pos
				if number <= last.Number {
					return nil, fmt.Errorf("reading pages: line %d: page %d comes after page %d; number the pages in increasing order", line, number, last.Number)
				}
			}
			pages = append(pages, Page{Number: number, Start: next, End: len(doc)})
		}
		pos = next
	}
	if pages == nil {
		pages = []Page{{Number: 1, Start: 0, End: len(doc)}}
	}
	return pages, nil
}

var errMarker = errors.New("a page marker must be on its own line, such as ---PAGE 3---")

// readMarker reads a whole line that begins like a page marker.
func readMarker(line string) (int, error) {
	line = strings.TrimRight(line, " \t\r\n")
	digits, ok := strings.CutPrefix(line, markerPrefix+" ")
	if ok {
		digits, ok = strings.CutSuffix(digits, "---")
	}
	if !ok {
		return 0, fmt.Errorf("%q: %w", clip(line), errMarker)
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 || digits[0] == '+' || digits[0] == '0' {
		return 0, fmt.Errorf("%q: page %q is not a whole number from 1: %w", clip(line), clip(digits), errMarker)
	}
	return n, nil
}

func isBlank(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !isSpace(r) }) < 0
}

// clip shortens a text for an error message.
func clip(s string) string { return Shorten(s, 60) }

// MinimalQuote is the [Minimal] form of a quote, without page markers: that in which an [Index] has its
// document.
func MinimalQuote(quote string) string { return Minimal(unmarked(quote)) }

// unmarked removes page markers from a quote that was copied across a page break,
// since they are not part of the searched text.
func unmarked(quote string) string {
	if !strings.Contains(quote, markerPrefix) {
		return quote
	}
	lines := strings.Split(quote, "\n")
	return strings.Join(slices.DeleteFunc(lines, func(line string) bool {
		_, err := readMarker(strings.TrimRight(line, "\r"))
		return strings.HasPrefix(line, markerPrefix) && err == nil
	}), "\n")
}

// lineEndJoins are what a hyphen between two letters at the end of a line can stand for: it
// divides a word (agree-ment) or is a part of it (well-known).
var lineEndJoins = [2]string{"", "-"}

// HasTypography reports whether the document contains the quote in other typography only:
// [Index.Has] returns false, and comparing texts in which curly quotes are straight, all
// dashes are hyphens, invisible characters are left out and words divided at the end of a
// line are whole returns true. Case counts.
func (x *Index) HasTypography(quote string) bool {
	if x.Has(quote) {
		return false
	}
	for i, text := range x.typographic() {
		if q := foldTypography(unmarked(quote), lineEndJoins[i]); q != "" && strings.Contains(text, q) {
			return true
		}
	}
	return false
}

// typographic is the text of pages with its typography folded, for each of the joins.
func typographic(doc string, pages []Page) (folded [2]string) {
	var all strings.Builder
	for _, p := range pages {
		all.WriteString(doc[p.Start:p.End])
	}
	for i, join := range lineEndJoins {
		folded[i] = foldTypography(all.String(), join)
	}
	return folded
}

var (
	// A soft hyphen shows at the end of a line only.
	unseenMarks = strings.NewReplacer("\u00ad\n", "-\n", "\u00ad\r\n", "-\n",
		"\u00ad", "", "\u200b", "", "\u200c", "", "\u200d", "", "\u2060", "", "\ufeff", "")
	lineEndHyphen = regexp.MustCompile(`[-‐‑]\s*\n\s*`)
)

// foldTypography is the minimal form of s with its typography folded. A hyphen between
// letters at the end of a line becomes the join. It is idempotent.
func foldTypography(s, join string) string {
	s = joinLines(nfkc(unseenMarks.Replace(s)), join)
	s = strings.Map(func(r rune) rune {
		switch {
		case r < utf8.RuneSelf && r != '`':
		case strings.ContainsRune("‘’‚‛`‹›ʼ", r):
			return '\''
		case strings.ContainsRune("“”„‟«»", r):
			return '"'
		case unicode.Is(unicode.Pd, r), r == '−', r == '⁃':
			return '-'
		}
		return r
	}, s)
	return Minimal(s) // what was apart may compose
}

// joinLines joins lines that a hyphen between two letters or digits breaks. Beside a digit
// the hyphen stays, as nothing divides a number.
func joinLines(s, join string) string {
	var b strings.Builder
	done := 0
	for _, at := range lineEndHyphen.FindAllStringIndex(s, -1) {
		left, _ := utf8.DecodeLastRuneInString(s[:at[0]])
		right, _ := utf8.DecodeRuneInString(s[at[1]:])
		if !isWordRune(left) || !isWordRune(right) {
			continue
		}
		hyphen := "-"
		if unicode.IsLetter(left) && unicode.IsLetter(right) {
			hyphen = join
		}
		b.WriteString(s[done:at[0]] + hyphen)
		done = at[1]
	}
	return b.String() + s[done:]
}
