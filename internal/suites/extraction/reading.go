package extraction

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/scruple-eval/scruple/internal/text"
)

// The statuses an entry can have.
const (
	statusOK        = "ok"
	statusMissing   = "missing"
	statusAmbiguous = "ambiguous"
)

// Why an answer could not be read: the suite's closed set of reasons.
const (
	reasonEmpty    = "empty answer"
	reasonNotJSON  = "not JSON"
	reasonNoList   = "no list of extractions"
	reasonDeclined = "declined by the model" // of refusals
)

// Notes on an outcome.
const (
	noteRepaired  = "repaired"
	noteTruncated = "truncated"
)

// An Answer is what could be read from what a model wrote.
type Answer struct {
	Entries  []Entry
	Repaired bool // one repair was needed to make JSON of it
	Cut      bool // it ended inside the object
}

// An Entry is what an answer says of one field.
type Entry struct {
	Field      string
	Value      Scalar
	Quote      Scalar
	Page       PageRef
	Status     string
	Candidates []Candidate
	Fault      string // in what way the entry breaks the rules of its form, "" if it keeps them
}

// A Candidate is one possible value of an ambiguous field.
type Candidate struct {
	Value Scalar
	Quote Scalar
	Page  PageRef
}

// A Scalar is a string, or a number or boolean as it was written, or null.
type Scalar struct {
	Text  string
	Given bool // false: null, or not there
	Bad   bool // given, but a list or an object: never right
}

// A PageRef is a page as an answer names it. Null and what is no whole number
// are different things: the one may be right, the other never is.
type PageRef struct {
	Number int
	Given  bool // false: null, or not there
	Bad    bool // given, but not a whole number
}

// A readError says why an answer could not be read.
type readError struct {
	reason string // of the closed set
	detail string
}

func (e *readError) Error() string {
	if e.detail == "" {
		return e.reason
	}
	return e.reason + ": " + e.detail
}

// ReadAnswer reads an answer: a JSON object that holds a list "extractions",
// or the list alone, possibly within prose or code fences. What is not JSON is
// repaired once. An error means that no field counts as answered.
func ReadAnswer(answer string) (Answer, error) {
	if strings.TrimSpace(answer) == "" {
		return Answer{}, &readError{reason: reasonEmpty}
	}
	if !utf8.ValidString(answer) {
		answer = strings.ToValidUTF8(answer, "\uFFFD")
	}
	r, err := text.ReadObjectWith(answer, "extractions")
	if errors.Is(err, text.ErrArray) || errors.Is(err, text.ErrNoObject) && strings.TrimSpace(answer)[0] == '[' {
		r, err = text.ReadObject(wrapList(answer))
	}
	if err != nil {
		return Answer{}, &readError{reasonNotJSON, err.Error()}
	}
	a := Answer{Repaired: r.Repaired, Cut: r.Cut}
	c := cursor{b: r.JSON}
	found := c.answer(&a)
	if c.bad {
		return Answer{}, &readError{reason: reasonNotJSON}
	}
	if !found {
		return Answer{}, &readError{reason: reasonNoList}
	}
	return a, nil
}

// ReadReason is the reason of an error of [ReadAnswer], from a closed set.
func ReadReason(err error) string {
	var e *readError
	if errors.As(err, &e) {
		return e.reason
	}
	return reasonNotJSON
}

// wrapList makes an object of an answer that is a list of entries.
func wrapList(answer string) string {
	if _, after, ok := strings.Cut(answer, "</think>"); ok {
		answer = after
	}
	for at := 0; ; at++ {
		i := strings.IndexByte(answer[at:], '[')
		if i < 0 {
			return answer
		}
		at += i
		if inside := strings.TrimLeft(answer[at+1:], " \t\r\n"); inside == "" || inside[0] != '{' && inside[0] != ']' {
			continue // a bracket in prose
		}
		end, closed := listEnd(answer, at)
		if closed {
			return `{"extractions":` + answer[at:end] + `}`
		}
		return `{"extractions":` + answer[at:]
	}
}

// listEnd finds the end of the list that starts at start.
func listEnd(s string, start int) (end int, closed bool) {
	depth, quoted := 0, false
	for i := start; i < len(s); i++ {
		switch ch := s[i]; {
		case quoted && ch == '\\':
			i++
		case ch == '"':
			quoted = !quoted
		case quoted:
		case ch == '[', ch == '{':
			depth++
		case ch == ']', ch == '}':
			if depth--; depth == 0 {
				return i + 1, true
			}
		}
	}
	return len(s), false
}

// answer reads the object of an answer and reports whether it has the list.
// Of keys given twice the last one counts, as everywhere in JSON practice.
func (c *cursor) answer(a *Answer) (found bool) {
	c.take('{')
	for n := 0; c.more('}', n); n++ {
		if c.key() == "extractions" && c.peek() == '[' {
			a.Entries, found = make([]Entry, 0, 8), true
			c.entries(a)
			continue
		}
		c.skip()
	}
	return found
}

func (c *cursor) entries(a *Answer) {
	c.take('[')
	for n := 0; c.more(']', n); n++ {
		var e Entry
		if c.peek() != '{' {
			c.skip()
			e.fault("the entry is not an object")
		} else {
			c.entry(&e)
		}
		a.Entries = append(a.Entries, e)
	}
}

// fault records the first thing that is wrong.
func (e *Entry) fault(format string, args ...any) {
	if e.Fault == "" {
		e.Fault = fmt.Sprintf(format, args...)
	}
}

// The keys of an entry that must be there.
const (
	keyValue = 1 << iota
	keyEvidence
	keyQuote
	keyPage
)

func (c *cursor) entry(e *Entry) {
	keys := 0
	c.take('{')
	for n := 0; c.more('}', n); n++ {
		switch c.key() {
		case "field":
			e.Field = c.string(e, "field").Text
		case "value":
			keys |= keyValue
			e.Value = c.value(e, "value")
		case "evidence":
			keys |= keyEvidence
			keys = c.evidence(e, keys)
		case "status":
			e.Status = c.string(e, "status").Text
		case "candidates":
			c.candidates(e)
		default: // confidence and whatever else is said does not count
			c.skip()
		}
	}
	e.checkKeys(keys)
	e.checkStatus()
}

// string reads a text or null; anything else is a fault and no text.
func (c *cursor) string(e *Entry, name string) Scalar {
	switch c.peek() {
	case '"':
		return Scalar{Text: c.text(), Given: true}
	case 'n':
		c.null()
		return Scalar{}
	}
	c.skip()
	e.fault("%s is not a string", name)
	return Scalar{}
}

// value reads a value. A list or object is none, but something was said.
func (c *cursor) value(e *Entry, name string) Scalar {
	c.peek()
	start := c.i
	s, null, ok := c.scalar()
	if !ok {
		e.fault("%s is not a string, number or boolean", name)
		return Scalar{Text: string(c.b[start:c.i]), Given: true, Bad: true}
	}
	return Scalar{Text: s, Given: !null}
}

func (c *cursor) evidence(e *Entry, keys int) int {
	switch c.peek() {
	case 'n': // read as the object with nulls
		c.null()
		return keys | keyQuote | keyPage
	case '{':
	default:
		c.skip()
		e.fault("evidence is not an object")
		return keys | keyQuote | keyPage
	}
	c.take('{')
	for n := 0; c.more('}', n); n++ {
		switch c.key() {
		case "quote":
			keys |= keyQuote
			e.Quote = c.string(e, "evidence.quote")
		case "page":
			keys |= keyPage
			e.Page = c.page(e, "evidence.page")
		default:
			c.skip()
		}
	}
	return keys
}

func (c *cursor) page(e *Entry, name string) PageRef {
	switch ch := c.peek(); {
	case ch == 'n':
		c.null()
		return PageRef{}
	case ch == '-', ch-'0' < 10:
		n := c.number()
		if page, ok := wholeNumber(n); ok {
			return PageRef{Number: page, Given: true}
		}
		e.fault("%s is %s, not a whole number", name, clip(n))
	default:
		start := c.i
		c.skip()
		e.fault("%s is %s, not a whole number", name, clip(string(c.b[start:c.i])))
	}
	return PageRef{Given: true, Bad: true}
}

// wholeNumber reads a JSON number whose value is whole: 2, 2.0 and 2e0 are the
// same number.
func wholeNumber(s string) (int, bool) {
	if n, err := strconv.Atoi(s); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != float64(int32(f)) {
		return 0, false
	}
	return int(f), true
}

func (c *cursor) candidates(e *Entry) {
	e.Candidates = nil
	switch c.peek() {
	case 'n':
		c.null()
		return
	case '[':
	default:
		c.skip()
		e.fault("candidates is not a list")
		return
	}
	c.take('[')
	for n := 0; c.more(']', n); n++ {
		var k Candidate
		if c.peek() == '{' {
			c.candidate(e, &k)
		} else {
			c.skip()
			e.fault("candidates[%d] is not an object", n)
		}
		e.Candidates = append(e.Candidates, k)
	}
}

func (c *cursor) candidate(e *Entry, k *Candidate) {
	c.take('{')
	for n := 0; c.more('}', n); n++ {
		switch c.key() {
		case "value":
			k.Value = c.value(e, "a candidate's value")
		case "quote":
			k.Quote = c.string(e, "a candidate's quote")
		case "page":
			k.Page = c.page(e, "a candidate's page")
		default:
			c.skip()
		}
	}
	if !k.Value.Given {
		e.fault("a candidate has no value")
	}
}

// checkKeys holds the entry to "always there, if only as null".
func (e *Entry) checkKeys(keys int) {
	switch {
	case e.Field == "":
		e.fault("field is not given")
	case keys&keyValue == 0:
		e.fault("value is not given, not even as null")
	case keys&keyEvidence == 0:
		e.fault("evidence is not given")
	case keys&keyQuote == 0:
		e.fault("evidence.quote is not given, not even as null")
	case keys&keyPage == 0:
		e.fault("evidence.page is not given, not even as null")
	}
}

// checkStatus holds the entry to the table of statuses.
func (e *Entry) checkStatus() {
	switch e.Status {
	case statusOK:
		switch {
		case e.Value.blank():
			e.fault("ok without a value")
		case e.Quote.blank():
			e.fault("ok without a quote")
		case !e.Page.Given:
			e.fault("ok without a page")
		}
	case statusMissing, statusAmbiguous:
		switch {
		case e.Value.Given:
			e.fault("%s with a value", e.Status)
		case e.Quote.Given:
			e.fault("%s with a quote", e.Status)
		case e.Page.Given:
			e.fault("%s with a page", e.Status)
		case e.Status == statusMissing && len(e.Candidates) > 0:
			e.fault("missing with candidates")
		case e.Status == statusAmbiguous && len(e.Candidates) < 2:
			e.fault("ambiguous with fewer than two candidates")
		}
	case "":
		e.fault("status is not given")
	default:
		e.fault("status is %q, not ok, missing or ambiguous", clip(e.Status))
	}
}

// blank reports that there is nothing: null, or white space.
func (s Scalar) blank() bool { return strings.TrimSpace(s.Text) == "" }
