package spans

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	strict "github.com/go-json-experiment/json"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/spanfile"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

// An answerSpan is a span in the answer of a labeller. Offsets are code points;
// without them the text is looked for. Models also write numbers as text.
type answerSpan struct {
	Text       string      `json:"text"`
	Role       string      `json:"role"`
	Label      string      `json:"label,omitempty"`
	Confidence *text.Loose `json:"confidence,omitempty"`
	Start      *text.Loose `json:"start,omitempty"`
	End        *text.Loose `json:"end,omitempty"`
}

// place returns the offsets, unless one of them is none.
func (a *answerSpan) place() (start, end int, ok bool) {
	whole := func(x *text.Loose) bool {
		return x != nil && float64(*x) == math.Trunc(float64(*x)) && math.Abs(float64(*x)) <= 1e9
	}
	if !whole(a.Start) || !whole(a.End) {
		return -1, -1, false
	}
	return int(*a.Start), int(*a.End), true
}

// complete reports whether a span has what it needs.
func (a *answerSpan) complete() bool {
	_, _, placed := a.place()
	return (a.Role != "" || a.Label != "") && (a.Text != "" || placed)
}

// An answer is the parsed answer of a labeller.
type answer struct {
	spans    []spanfile.Span
	notes    []string // of spans: realigned, unaligned, else ""
	dropped  int      // entries that are not spans
	outside  int      // confidences that are not from 0 to 1: they count as not stated
	repaired bool
	wrapped  bool // its object was in another one
	several  bool // it has others, which differ
}

// The errors of an answer without a list of spans.
var (
	errSpans   = errors.New(`want an object with the key "spans"`)
	errEntries = errors.New(`no entry of the list is a span: want "text" or offsets, and "role"`)
)

// readAnswer reads the answer of a labeller about a text. Entries without a text
// or role are dropped and counted.
func (b *bench) readAnswer(raw []byte, of string) (a answer, err error) {
	list, ok := asWritten(raw)
	if !ok {
		if list, err = a.entries(string(raw)); err != nil {
			return a, err
		}
	}
	ruler := spanfile.NewRuler(of)
	sections := b.reader.Sectioner.Detect(ruler)
	for _, w := range list {
		s := spanfile.Span{Text: w.Text, Role: cmp.Or(w.Role, w.Label), Confidence: spanfile.Unstated}
		if w.Confidence != nil {
			s.Confidence = float64(*w.Confidence)
			if !s.Stated() {
				s.Confidence = spanfile.Unstated
				a.outside++
			}
		}
		note, placed := "", false
		if s.Start, s.End, placed = w.place(); placed {
			note = ruler.Place(&s)
		} else {
			note = ruler.Find(&s, a.spans)
		}
		s.Section = b.reader.Sectioner.Of(sections, s.Start)
		a.spans, a.notes = append(a.spans, s), append(a.notes, note)
	}
	return a, nil
}

// asWritten reads an answer as [encodeAnswer] writes it, in one pass. Of any other it knows nothing.
func asWritten(raw []byte) (list []answerSpan, ok bool) {
	var object struct {
		Spans []answerSpan `json:"spans"`
	}
	if len(raw) > 1<<20 || strict.Unmarshal(raw, &object, strict.RejectUnknownMembers(true)) != nil || object.Spans == nil {
		return nil, false
	}
	incomplete := func(w answerSpan) bool { return !w.complete() }
	return object.Spans, !slices.ContainsFunc(object.Spans, incomplete)
}

// entries are the spans of an answer, with what is to be said of it.
func (a *answer) entries(raw string) (spans []answerSpan, err error) {
	list, reading, err := spanList(raw)
	if err != nil {
		return nil, err
	}
	a.repaired, a.wrapped, a.several = reading.Repaired, reading.Wrapped, len(reading.Others) > 0
	for _, one := range list {
		var w answerSpan
		switch {
		case string(one) == "{}": // nothing
		case json.Unmarshal(one, &w) == nil && w.complete():
			spans = append(spans, w)
		default:
			a.dropped++
		}
	}
	if a.dropped > 0 && len(spans) == 0 {
		return nil, errEntries
	}
	return spans, nil
}

// spanList finds the list of spans in an answer: an object with spans, or a list, perhaps in a
// code fence.
func spanList(raw string) (list []json.RawMessage, reading text.Reading, err error) {
	reading, err = text.ReadObjectWith(raw, "spans")
	bare := text.Ended(raw).Text
	if code, ok := text.CodeOf(bare, "json"); ok && err != nil {
		bare = code
	}
	if !reading.Wrapped && strings.HasPrefix(bare, "[") && json.Unmarshal([]byte(bare), &list) == nil {
		return list, text.Reading{}, nil
	}
	if err != nil {
		return nil, reading, err
	}
	var object struct {
		Spans *[]json.RawMessage `json:"spans"`
	}
	if err := json.Unmarshal(reading.JSON, &object); err != nil || object.Spans == nil {
		return nil, reading, errSpans
	}
	return *object.Spans, reading, nil
}

// entryOf is a span as an answer has it.
func entryOf(s spanfile.Span) answerSpan {
	a := answerSpan{Text: s.Text, Role: s.Role}
	if s.Stated() {
		a.Confidence = (*text.Loose)(&s.Confidence)
	}
	if s.Placed() {
		a.Start, a.End = new(text.Loose(s.Start)), new(text.Loose(s.End))
	}
	return a
}

// encodeAnswer is the answer with these spans.
func encodeAnswer(spans []spanfile.Span) []byte {
	list := make([]answerSpan, len(spans))
	for i, s := range spans {
		list[i] = entryOf(s)
	}
	return kit.JSON(map[string]any{"spans": list})
}

// Why an answer is malformed or a trial has no spans, and notes on answers.
const (
	reasonUnreadable = "not readable"
	reasonCutOff     = "cut off"
	reasonRefused    = "refused"
	noteRepaired     = "repaired"
	noteAbsent       = "not in the file"
)

// outcomeOf stores an answer unchanged. A model may have been told to answer with a
// tool.
func (b *bench) outcomeOf(r eval.Response, tool, of string) eval.Outcome {
	o := kit.Outcome(r, tool, reasonRefused)
	if o.Kind != eval.OK {
		return o
	}
	a, err := b.readAnswer(o.Data, of)
	switch {
	case err != nil && r.Stop == eval.StopLength:
		o.Kind, o.Reason, o.Detail = eval.Malformed, reasonCutOff, err.Error()
	case err != nil:
		o.Kind, o.Reason, o.Detail = eval.Malformed, reasonUnreadable, err.Error()
	}
	o.Notes = append(o.Notes, a.outcomeNotes()...)
	return o
}

func (a *answer) outcomeNotes() (notes []string) {
	if a.repaired {
		notes = append(notes, noteRepaired)
	}
	if a.wrapped {
		notes = append(notes, eval.NoteLenient)
	}
	if a.several {
		notes = append(notes, eval.NoteSeveral)
	}
	n := map[string]int{}
	for _, note := range a.notes {
		n[note]++
	}
	notes = append(notes, placeNotes(n[spanfile.Realigned], n[spanfile.Unaligned])...)
	if a.outside > 0 {
		notes = append(notes, fmt.Sprintf("%s outside 0 to 1, not used", text.Plural(a.outside, "confidence", "confidences")))
	}
	if a.dropped > 0 {
		notes = append(notes, fmt.Sprintf("%s dropped", text.Plural(a.dropped, "entry", "entries")))
	}
	return notes
}

// placeNotes count the spans whose text was not at their offsets.
func placeNotes(realigned, unaligned int) (notes []string) {
	if realigned > 0 {
		notes = append(notes, text.Plural(realigned, "span", "spans")+" "+spanfile.Realigned)
	}
	if unaligned > 0 {
		notes = append(notes, text.Plural(unaligned, "span", "spans")+" "+spanfile.Unaligned)
	}
	return notes
}

// absent reports whether the file of an arm does not have the text.
func absent(o *eval.Outcome) bool { return slices.Contains(o.Notes, noteAbsent) }
