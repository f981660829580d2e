package extraction

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/scruple-eval/scruple/internal/text"
)

// The statuses an entry can have.
const (
	statusOK        = "ok"
	statusMissing   = "missing"
	statusAmbiguous = "ambiguous"
)

// Reasons of malformed and refused answers.
const (
	reasonEmpty    = "empty answer"
	reasonNotJSON  = "not JSON"
	reasonNoList   = "no list of extractions"
	reasonDeclined = "declined by the model" // of refusals
)

// Notes on an outcome.
const (
	noteRepaired = "repaired"
)

// An Answer is a parsed answer.
type Answer struct {
	Entries  []Entry
	Repaired bool // it was not valid JSON and was repaired
	Wrapped  bool // it was in another object or in an array
	Cut      bool // it ended inside the object
}

// An Entry is the answer for one field.
type Entry struct {
	Field      string
	Value      Scalar
	Quote      Scalar
	Page       PageRef
	Status     string
	Candidates []Candidate
	Fault      string // why the entry is invalid, or ""
	Confidence string // high, medium, low or what else the answer says
}

// A Candidate is one possible value of an ambiguous field.
type Candidate struct {
	Value Scalar
	Quote Scalar
	Page  PageRef
}

// A Scalar is a string, the text of a number or boolean, or null.
type Scalar struct {
	Text  string
	Given bool // false: null or missing
	Bad   bool // given, but an array or object: never right
}

// A PageRef is the page number of an answer. Null may be right; a value that is
// not an integer never is.
type PageRef struct {
	Number int
	Given  bool // false: null or missing
	Bad    bool // given, but not an integer
}

// A readError is the error of an answer that does not parse.
type readError struct {
	reason string // one of the constants
	detail string
}

func (e *readError) Error() string {
	if e.detail == "" {
		return e.reason
	}
	return e.reason + ": " + e.detail
}

// ReadAnswer parses an answer: a JSON object with an array "extractions", or
// the array alone, possibly within prose or code fences. Invalid JSON is
// repaired once. After an error no field counts as answered.
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
	a := Answer{Repaired: r.Repaired, Wrapped: r.Wrapped, Cut: r.Cut}
	if !newAnswerReader(r.JSON).answer(&a) {
		return Answer{}, &readError{reason: reasonNoList}
	}
	return a, nil
}

// ReadReason is the reason of an error of [ReadAnswer], one of the constants.
func ReadReason(err error) string {
	var e *readError
	if errors.As(err, &e) {
		return e.reason
	}
	return reasonNotJSON
}

// wrapList wraps an answer that is an array of entries in an object.
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
		const open = `{"extractions":`
		if end, _ := text.Balanced([]byte(answer[at:])); end >= 0 {
			return open + answer[at:at+end] + `}`
		}
		return open + answer[at:]
	}
}

// An answerReader decodes the object of an answer. The object is valid JSON, so
// reading a token cannot fail. If it did, every array and object would end there.
type answerReader struct{ *jsontext.Decoder }

// newAnswerReader accepts what encoding/json accepts: the last of duplicate keys
// wins, and an unpaired surrogate is U+FFFD.
func newAnswerReader(object []byte) answerReader {
	return answerReader{jsontext.NewDecoder(bytes.NewBuffer(object), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
}

// scalar reads a string, or the text of a number, boolean or null.
func (r answerReader) scalar() string {
	token, _ := r.ReadToken()
	return token.String()
}

// raw reads the text of any value.
func (r answerReader) raw() string {
	value, _ := r.ReadValue()
	return string(value)
}

// members visits the members of an object. Each visit must read the value.
func (r answerReader) members(visit func(key string)) {
	r.ReadToken()
	for kind := r.PeekKind(); kind != '}' && kind != 0; kind = r.PeekKind() {
		visit(r.scalar())
	}
	r.ReadToken()
}

// elements visits the elements of an array.
func (r answerReader) elements(visit func(i int)) {
	r.ReadToken()
	for i := 0; r.PeekKind() != ']' && r.PeekKind() != 0; i++ {
		visit(i)
	}
	r.ReadToken()
}

// answer reads the object of an answer and reports whether it has the array.
func (r answerReader) answer(a *Answer) (found bool) {
	r.members(func(key string) {
		if key != "extractions" || r.PeekKind() != '[' {
			r.SkipValue()
			return
		}
		a.Entries, found = make([]Entry, 0, 8), true
		r.elements(func(int) {
			var e Entry
			r.entry(&e)
			a.Entries = append(a.Entries, e)
		})
	})
	return found
}

// The required keys of an entry.
const (
	keyValue = 1 << iota
	keyEvidence
	keyQuote
	keyPage
)

func (r answerReader) entry(e *Entry) {
	if r.PeekKind() != '{' {
		r.SkipValue()
		e.fault("the entry is not an object")
		return
	}
	keys := 0
	r.members(func(key string) {
		switch key {
		case "field":
			e.Field = r.text(e, "field").Text
		case "value":
			keys |= keyValue
			e.Value = r.value(e, "value")
		case "evidence":
			keys |= keyEvidence | r.evidence(e)
		case "status":
			e.Status = r.text(e, "status").Text
		case "candidates":
			r.candidates(e)
		case "confidence": // analysed, not scored: any other kind is no fault
			if r.PeekKind() == '"' {
				e.Confidence = strings.ToLower(strings.TrimSpace(r.scalar()))
			} else {
				r.SkipValue()
			}
		default: // unknown keys are ignored
			r.SkipValue()
		}
	})
	e.checkKeys(keys)
	e.checkStatus()
}

// text reads a string or null; anything else is a fault.
func (r answerReader) text(e *Entry, name string) Scalar {
	if kind := r.PeekKind(); kind == '"' || kind == 'n' {
		return r.value(e, name)
	}
	r.SkipValue()
	e.fault("%s is not a string", name)
	return Scalar{}
}

// value reads a scalar. An array or object is a fault, but counts as given.
func (r answerReader) value(e *Entry, name string) Scalar {
	switch r.PeekKind() {
	case 'n':
		r.SkipValue()
		return Scalar{}
	case '{', '[':
		e.fault("%s is not a string, number or boolean", name)
		return Scalar{Text: r.raw(), Given: true, Bad: true}
	}
	return Scalar{Text: r.scalar(), Given: true}
}

// evidence reads quote and page and returns their keys if present. Null stands
// for an object with nulls.
func (r answerReader) evidence(e *Entry) (keys int) {
	if kind := r.PeekKind(); kind != '{' {
		r.SkipValue()
		if kind != 'n' {
			e.fault("evidence is not an object")
		}
		return keyQuote | keyPage
	}
	r.members(func(key string) {
		switch key {
		case "quote":
			keys |= keyQuote
			e.Quote = r.text(e, "evidence.quote")
		case "page":
			keys |= keyPage
			e.Page = r.page(e, "evidence.page")
		default:
			r.SkipValue()
		}
	})
	return keys
}

func (r answerReader) page(e *Entry, name string) PageRef {
	if r.PeekKind() == 'n' {
		r.SkipValue()
		return PageRef{}
	}
	written := r.raw()
	if page, ok := wholeNumber(written); ok {
		return PageRef{Number: page, Given: true}
	}
	e.fault("%s is %s, not an integer", name, clip(written))
	return PageRef{Given: true, Bad: true}
}

// wholeNumber parses a JSON number with an integer value: 2, 2.0 and 2e0 are
// equal.
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

func (r answerReader) candidates(e *Entry) {
	e.Candidates = nil
	if kind := r.PeekKind(); kind != '[' {
		r.SkipValue()
		if kind != 'n' {
			e.fault("candidates is not a list")
		}
		return
	}
	r.elements(func(i int) {
		var k Candidate
		if r.PeekKind() == '{' {
			r.candidate(e, &k)
		} else {
			r.SkipValue()
			e.fault("candidates[%d] is not an object", i)
		}
		e.Candidates = append(e.Candidates, k)
	})
}

func (r answerReader) candidate(e *Entry, k *Candidate) {
	r.members(func(key string) {
		switch key {
		case "value":
			k.Value = r.value(e, "a candidate's value")
		case "quote":
			k.Quote = r.text(e, "a candidate's quote")
		case "page":
			k.Page = r.page(e, "a candidate's page")
		default:
			r.SkipValue()
		}
	})
	if !k.Value.Given {
		e.fault("a candidate has no value")
	}
}

// fault records the first fault.
func (e *Entry) fault(format string, args ...any) {
	if e.Fault == "" {
		e.Fault = fmt.Sprintf(format, args...)
	}
}

// checkKeys reports missing keys. Null is allowed.
func (e *Entry) checkKeys(keys int) {
	switch {
	case e.Field == "":
		e.fault("no field name")
	case keys&keyValue == 0:
		e.fault("no value: want a value or null")
	case keys&keyEvidence == 0:
		e.fault("no evidence")
	case keys&keyQuote == 0:
		e.fault("no evidence.quote: want a quote or null")
	case keys&keyPage == 0:
		e.fault("no evidence.page: want a page or null")
	}
}

// checkStatus checks the entry against the rules of its status.
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
		e.fault("no status")
	default:
		e.fault("status is %q, not ok, missing or ambiguous", clip(e.Status))
	}
}

// blank reports whether the value is null or white space.
func (s Scalar) blank() bool { return strings.TrimSpace(s.Text) == "" }
