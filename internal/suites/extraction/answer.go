package extraction

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/suites/kit"
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
	reasonNoField  = "no field of the schema" // where values are asked for
	reasonDeclined = "declined by the model"  // of refusals
)

// Notes on an outcome.
const (
	noteRepaired = "repaired"
	notePlain    = "plain values, without evidence"
)

// noEvidence is why scores that need evidence are missing for a plain answer.
const noEvidence = "the answer has values without evidence"

// An Answer is a parsed answer.
type Answer struct {
	Entries  []Entry
	Plain    json.RawMessage // an object in the shape of the schema, in place of entries
	Repaired bool            // it was not valid JSON and was repaired
	Wrapped  bool            // it was in another object or in an array
	Cut      bool            // it ended inside the object
	Several  bool            // it has other answers, which differ
}

// An Entry is the answer for one field. The tags are the JSON that answers have.
type Entry struct {
	Field      string `json:"field"`
	Value      Scalar `json:"value"`
	Evidence   `json:"evidence"`
	Status     string      `json:"status"`
	Confidence string      `json:"confidence"` // high, medium, low or what else the answer says
	Candidates []Candidate `json:"candidates"`
	Fault      string      `json:"-"` // why the entry is invalid, or ""
}

// Evidence is where a value was found.
type Evidence struct {
	Quote Scalar  `json:"quote"`
	Page  PageRef `json:"page"`
}

// A Candidate is a value with its evidence: one of those of an ambiguous field.
type Candidate struct {
	Value Scalar `json:"value"`
	Evidence
}

// A Scalar is a string, the text of a number or boolean, or null.
type Scalar struct {
	Text  string
	Given bool // false: null or missing
	Bad   bool // given, but an array or object: never right
}

// MarshalJSON writes a string or null.
func (s Scalar) MarshalJSON() ([]byte, error) {
	if !s.Given {
		return []byte("null"), nil
	}
	return []byte(kit.PlainJSON(s.Text)), nil
}

// blank reports whether the value is null or white space.
func (s Scalar) blank() bool { return strings.TrimSpace(s.Text) == "" }

// A PageRef is the page number of an answer. Null may be right; a value that is
// not an integer never is.
type PageRef struct {
	Number int
	Given  bool // false: null or missing
	Bad    bool // given, but not an integer
}

// MarshalJSON writes a number or null.
func (p PageRef) MarshalJSON() ([]byte, error) {
	if !p.Given {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, int64(p.Number), 10), nil
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

// readAnswer parses an answer: a JSON object with an array "extractions", or
// the array alone, possibly within prose or code fences. Invalid JSON is
// repaired once. An object with a member of the schema is an answer too, see [Answer.Plain], as
// is an empty one where values are asked for.
// After an error, which is a [*readError], no field counts as answered.
func readAnswer(answer string, s *Schema) (Answer, error) {
	if strings.TrimSpace(answer) == "" {
		return Answer{}, &readError{reason: reasonEmpty}
	}
	answer = strings.ToValidUTF8(answer, "\uFFFD")
	r, err := text.ReadObjectWith(answer, "extractions")
	if errors.Is(err, text.ErrArray) || errors.Is(err, text.ErrNoObject) && strings.TrimSpace(answer)[0] == '[' {
		answer = wrapLists(answer)
		r, err = text.ReadObjectWith(answer, "extractions")
	} else if errors.Is(err, text.ErrNoObject) && s.ofValues {
		r, err = text.ReadObject(answer) // an empty one
	}
	if err != nil {
		return Answer{}, &readError{reasonNotJSON, err.Error()}
	}
	a := Answer{Repaired: r.Repaired, Wrapped: r.Wrapped, Cut: r.Cut, Several: len(text.Others(answer, s.answerIn(r.JSON), s.answerIn)) > 0}
	members := membersOf(r.JSON)
	list, has := members["extractions"]
	entries := text.Elements(list)
	var wrapped bool
	switch {
	case len(members) == 0 && s.ofValues && !r.Repaired:
		a.Plain = r.JSON // without values
	case !has:
		a.Plain, wrapped = s.plain(r.JSON, mostWrappers)
	case len(entries) == 1 && membersOf(entries[0])["field"] == nil: // a list of one answer
		a.Plain, _ = s.plain(entries[0], 1)
		wrapped = a.Plain != nil
	}
	switch {
	case a.Plain != nil:
		a.Wrapped = a.Wrapped || wrapped
		return a, nil
	case entries == nil && s.ofValues:
		return Answer{}, &readError{reason: reasonNoField}
	case entries == nil:
		return Answer{}, &readError{reason: reasonNoList}
	}
	a.Entries = make([]Entry, len(entries))
	for i, raw := range entries {
		a.Entries[i].read(raw)
	}
	return a, nil
}

// mostWrappers is how many objects with one member can be around a plain answer.
const mostWrappers = 3

// plain finds the object with a member of the schema: the answer, or what its only member holds.
func (s *Schema) plain(object json.RawMessage, depth int) (found json.RawMessage, wrapped bool) {
	s.index()
	members := membersOf(object)
	for _, name := range s.root.names {
		if _, ok := members[name]; ok {
			return object, false
		}
	}
	if len(members) == 1 && depth > 1 {
		for _, inside := range members {
			if found, _ = s.plain(inside, depth-1); found != nil {
				return found, true
			}
		}
	}
	return nil, false
}

// answerIn is the answer in an object, nil if it has none.
func (s *Schema) answerIn(object []byte) []byte {
	if inner := text.Unwrap(object, "extractions"); inner != nil {
		return inner
	}
	if membersOf(object)["extractions"] != nil {
		return object
	}
	plain, _ := s.plain(object, mostWrappers)
	return plain
}

// wrapLists wraps the lists of entries in an answer in objects.
func wrapLists(answer string) string {
	answer = text.Ended(answer).Text
	var b strings.Builder
	for {
		i := strings.IndexByte(answer, '[')
		if i < 0 {
			return b.String() + answer
		}
		b.WriteString(answer[:i])
		answer = answer[i:]
		end := 1
		if inside := strings.TrimLeft(answer[1:], " \t\r\n"); inside != "" && inside[0] != '{' && inside[0] != ']' {
			b.WriteByte('[') // a bracket in prose
		} else if end, _ = text.Balanced([]byte(answer)); end < 0 {
			return b.String() + `{"extractions":` + answer
		} else {
			b.WriteString(`{"extractions":` + answer[:end] + `}`)
		}
		answer = answer[end:]
	}
}

// membersOf returns the members of an object, nil for any other value. Of duplicate keys the last
// one wins.
func membersOf(raw []byte) map[string][]byte {
	if kindOf(raw) != '{' {
		return nil
	}
	return maps.Collect(text.Members(raw))
}

// kindOf is the first byte of a value; an absent one counts as null.
func kindOf(raw []byte) byte {
	if len(raw) == 0 {
		return 'n'
	}
	return raw[0]
}

// read reads an entry. Fault is the first fault of it. Unknown keys are ignored.
func (e *Entry) read(raw json.RawMessage) {
	if kindOf(raw) != '{' {
		e.fault("the entry is not an object")
		return
	}
	var field, value, evidence, status, candidates, confidence []byte
	for name, member := range text.Members(raw) { // without a map: answers have many entries
		switch name {
		case "field":
			field = member
		case "value":
			value = member
		case "evidence":
			evidence = member
		case "status":
			status = member
		case "candidates":
			candidates = member
		case "confidence":
			confidence = member
		}
	}
	e.Field = e.text(field, "field").Text
	e.Value = e.scalar(value, "value")
	if kind := kindOf(evidence); kind != '{' && kind != 'n' {
		e.fault("evidence is not an object")
	}
	quote, page := cites(evidence)
	e.Evidence = e.evidence(quote, page, "evidence.")
	e.Status = e.text(status, "status").Text
	e.candidates(candidates)
	if kindOf(confidence) == '"' { // analysed, not scored: any other kind is no fault
		e.Confidence = strings.ToLower(strings.TrimSpace(text.Unquote(confidence)))
	}
	switch { // null is allowed
	case e.Field == "":
		e.fault("no field name")
	case value == nil:
		e.fault("no value: want a value or null")
	case evidence == nil:
		e.fault("no evidence")
	case kindOf(evidence) == '{' && quote == nil:
		e.fault("no evidence.quote: want a quote or null")
	case kindOf(evidence) == '{' && page == nil:
		e.fault("no evidence.page: want a page or null")
	}
	e.checkStatus()
}

// fault records the first fault.
func (e *Entry) fault(format string, args ...any) {
	if e.Fault == "" {
		e.Fault = fmt.Sprintf(format, args...)
	}
}

// scalar reads a scalar. An array or object is a fault, but counts as given.
func (e *Entry) scalar(raw json.RawMessage, name string) Scalar {
	s := Scalar{Text: string(raw), Given: true}
	switch kindOf(raw) {
	case 'n':
		return Scalar{}
	case '{', '[':
		e.fault("%s is not a string, number or boolean", name)
		s.Bad = true
	case '"':
		s.Text = text.Unquote(raw)
	}
	return s
}

// text reads a string or null; anything else is a fault.
func (e *Entry) text(raw json.RawMessage, name string) Scalar {
	if kind := kindOf(raw); kind != '"' && kind != 'n' {
		e.fault("%s is not a string", name)
		return Scalar{}
	}
	return e.scalar(raw, name)
}

// cites returns the quote and the page of an object, nil for what it does not have.
func cites(object []byte) (quote, page []byte) {
	for name, member := range text.Members(object) {
		switch name {
		case "quote":
			quote = member
		case "page":
			page = member
		}
	}
	return quote, page
}

// evidence reads quote and page. The names of both begin with prefix.
func (e *Entry) evidence(quote, page []byte, prefix string) Evidence {
	return Evidence{Quote: e.text(quote, prefix+"quote"), Page: e.page(page, prefix+"page")}
}

// page reads a JSON number with an integer value: 2, 2.0 and 2e0 are equal.
func (e *Entry) page(raw json.RawMessage, name string) PageRef {
	if kindOf(raw) == 'n' {
		return PageRef{}
	}
	n, err := strconv.Atoi(string(raw))
	if err != nil {
		f, err := strconv.ParseFloat(string(raw), 64)
		if n = int(f); err != nil || f != float64(int32(n)) {
			e.fault("%s is %s, not an integer", name, clip(string(raw)))
			return PageRef{Given: true, Bad: true}
		}
	}
	return PageRef{Number: n, Given: true}
}

func (e *Entry) candidates(raw json.RawMessage) {
	list := text.Elements(raw)
	if list == nil && kindOf(raw) != 'n' {
		e.fault("candidates is not a list")
	}
	for i, raw := range list {
		var c Candidate
		if m := membersOf(raw); m == nil {
			e.fault("candidates[%d] is not an object", i)
		} else {
			c = Candidate{e.scalar(m["value"], "a candidate's value"), e.evidence(m["quote"], m["page"], "a candidate's ")}
			if !c.Value.Given {
				e.fault("a candidate has no value")
			}
		}
		e.Candidates = append(e.Candidates, c)
	}
}

// checkStatus checks the entry against the rules of its status.
func (e *Entry) checkStatus() {
	absent := e.Status == statusMissing || e.Status == statusAmbiguous
	switch {
	case e.Status == "":
		e.fault("no status")
	case e.Status != statusOK && !absent:
		e.fault("status is %q, not ok, missing or ambiguous", clip(e.Status))
	case !absent && e.Value.blank():
		e.fault("ok without a value")
	case !absent && e.Quote.blank():
		e.fault("ok without a quote")
	case !absent && !e.Page.Given:
		e.fault("ok without a page")
	case absent && e.Value.Given:
		e.fault("%s with a value", e.Status)
	case absent && e.Quote.Given:
		e.fault("%s with a quote", e.Status)
	case absent && e.Page.Given:
		e.fault("%s with a page", e.Status)
	case e.Status == statusMissing && len(e.Candidates) > 0:
		e.fault("missing with candidates")
	case e.Status == statusAmbiguous && len(e.Candidates) < 2:
		e.fault("ambiguous with fewer than two candidates")
	}
}

// cited is a value with the passage that shows it.
func cited(value, quote string, page int) Candidate {
	return Candidate{given(value), Evidence{given(quote), PageRef{Number: page, Given: true}}}
}

func given(s string) Scalar { return Scalar{Text: s, Given: true} }

// okEntry, missingEntry and ambiguousEntry are valid entries.
func okEntry(field string, c Candidate) Entry {
	return Entry{Field: field, Value: c.Value, Evidence: c.Evidence, Status: statusOK, Confidence: "high", Candidates: []Candidate{}}
}

func missingEntry(field string) Entry {
	return Entry{Field: field, Status: statusMissing, Confidence: "high", Candidates: []Candidate{}}
}

func ambiguousEntry(field string, candidates []Candidate) Entry {
	return Entry{Field: field, Status: statusAmbiguous, Confidence: "high", Candidates: candidates}
}

// answerText encodes entries as an answer.
func answerText(entries []Entry) string {
	return kit.PlainJSON(struct {
		Extractions []Entry `json:"extractions"`
	}{entries})
}
