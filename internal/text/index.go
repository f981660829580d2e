package text

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"
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
	q := Minimal(unmarked(quote))
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
	q := Minimal(unmarked(quote))
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
	q := Minimal(unmarked(quote))
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
		start, end := x.start(at), x.end(at+len(q))
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

// start is the offset in the document of the character at normal offset at.
func (x *Index) start(at int) int {
	s := x.spanAt(at)
	if s.plain {
		return int(s.from) + at - int(s.at)
	}
	return int(s.from)
}

// end is the offset in the document just after the character that ends at
// normal offset at.
func (x *Index) end(at int) int {
	s := x.spanAt(at - 1)
	if s.plain {
		return int(s.from) + at - int(s.at)
	}
	return int(s.to)
}

func (x *Index) spanAt(at int) span {
	i := sort.Search(len(x.spans), func(i int) bool { return int(x.spans[i].at) > at })
	return x.spans[i-1]
}

// A builder makes the normal text of an index from left to right.
type builder struct {
	doc   string
	text  strings.Builder
	spans []span
	space bool // white space is due before the next character
	from  int  // where that white space begins in the document
	buf   []byte
}

// page adds the text of doc[from:to].
func (b *builder) page(from, to int) {
	s := b.doc[:to]
	for i := from; i < to; {
		// An ASCII character is its own normal form unless a mark follows.
		j := i
		for j < to && s[j] < utf8.RuneSelf {
			j++
		}
		if j < to && j > i {
			j--
		}
		if j > i {
			b.same(i, j)
			i = j
			continue
		}
		n := max(1, validLength(s[i:i+max(1, norm.NFKC.NextBoundaryInString(s[i:], true))]))
		b.other(i, i+n)
		i += n
	}
}

// other adds the characters of doc[from:to], which are normalised together.
func (b *builder) other(from, to int) {
	raw := b.doc[from:to]
	b.buf = norm.NFKC.AppendString(b.buf[:0], raw)
	if r, size := utf8.DecodeRuneInString(raw); size == len(raw) && isSpace(r) {
		b.spaceAt(from)
		return
	}
	if string(b.buf) == raw {
		b.same(from, to)
		return
	}
	// A normal form may hold a space of its own (that of ´ does), which
	// collapses with the white space around it like any other.
	for i := 0; i < len(b.buf); {
		r, size := utf8.DecodeRune(b.buf[i:])
		if isSpace(r) {
			b.spaceAt(from)
		} else {
			b.due()
			b.mark(span{at: int32(b.text.Len()), from: int32(from), to: int32(to)})
			b.text.Write(b.buf[i : i+size])
		}
		i += size
	}
}

// same adds doc[from:to], which is in normal form but may hold white space.
func (b *builder) same(from, to int) {
	for i := from; i < to; {
		r, size := utf8.DecodeRuneInString(b.doc[i:to])
		if isSpace(r) {
			b.spaceAt(i)
			i += size
			continue
		}
		end := words(b.doc, i, to)
		b.due()
		b.plain(i)
		b.text.WriteString(b.doc[i:end])
		i = end
	}
}

// words is where the words that begin at from end: before the next white space
// that is not a single space between two of them.
func words(s string, from, to int) int {
	for i := from; i < to; {
		switch c := s[i]; {
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRuneInString(s[i:to])
			if isSpace(r) {
				return i
			}
			i += size
		case c == ' ' && i+1 < to && ' ' < s[i+1] && s[i+1] < utf8.RuneSelf:
			i += 2
		case c <= ' ' && isSpace(rune(c)):
			return i
		default:
			i++
		}
	}
	return to
}

// plain begins a span of unchanged document text, unless it continues the last one.
func (b *builder) plain(from int) {
	at := b.text.Len()
	if n := len(b.spans); n == 0 || !b.spans[n-1].plain || int(b.spans[n-1].from)+at-int(b.spans[n-1].at) != from {
		b.spans = append(b.spans, span{at: int32(at), from: int32(from), plain: true})
	}
}

// mark begins a span that is not plain, unless it continues the last one.
func (b *builder) mark(s span) {
	if n := len(b.spans); n > 0 {
		last := b.spans[n-1]
		if !last.plain && last.from == s.from && last.to == s.to {
			return
		}
	}
	b.spans = append(b.spans, s)
}

func (b *builder) spaceAt(i int) {
	if !b.space && b.text.Len() > 0 {
		b.space, b.from = true, i
	}
}

// due writes the one space that a run of white space comes to. The space maps
// to the first character of the run; no quote begins or ends with it.
func (b *builder) due() {
	if !b.space {
		return
	}
	b.space = false
	b.plain(b.from)
	b.text.WriteByte(' ')
}
