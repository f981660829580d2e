package spans

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/spanfile"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/suites/spans/verdict"
	"github.com/scruple-eval/scruple/internal/table"
	"github.com/scruple-eval/scruple/internal/text"
)

// peopleFormat is the export that people fill in.
const peopleFormat = "people"

// A peopleLine is a line of the file of errors that people found. It has the spans
// that they checked: a verdict does not hold for other spans of the same text.
type peopleLine struct {
	ID     string         `json:"id"`
	Arm    string         `json:"arm"`
	By     string         `json:"by,omitempty"`
	Text   *string        `json:"text,omitempty"`
	Spans  jsontext.Value `json:"spans"`
	Result jsontext.Value `json:"result"` // null if nobody has checked the spans
}

// A peopleResult is a verdict in the judge's format. Scores are accepted, but people
// need not give them: only the errors are compared.
type peopleResult struct {
	Missed      *[]missedElement `json:"missedElements"`
	False       *[]spanError     `json:"falsePositives"`
	Taxonomy    *[]spanError     `json:"taxonomyErrors"`
	Granularity *[]spanError     `json:"granularityErrors"`

	Scores     jsontext.Value `json:"scores"`
	TotalScore jsontext.Value `json:"totalScore"`
	Categories jsontext.Value `json:"categoryScores"`
	Notes      string         `json:"notes"`
}

type missedElement verdict.Missed

// A spanError is an error of any kind that concerns a span.
type spanError struct {
	SpanIndex    *int   `json:"spanIndex"`
	Text         string `json:"text"`
	AssignedRole string `json:"assignedRole"`
	ExpectedRole string `json:"expectedRole"`
	Reason       string `json:"reason"`
	Issue        string `json:"issue"`
	Suggestion   string `json:"suggestion"`
}

// checked is what people say of the spans of an answer.
type checked struct {
	arm    string
	spans  []spanfile.Span
	flags  []uint8  // of spans, as [verdict.Result.Flags]
	missed []string // elements without a span
}

// checkedOf is what people say of a trial; nil if they did not check its spans.
func (b *bench) checkedOf(t *trial) *checked {
	if len(b.people) == 0 {
		return nil
	}
	return b.people[checkedKey(t.Trial.Item, t.Trial.Arm, t.spans)]
}

// checkedKey names the spans of an answer without their confidences, which people do not check.
func checkedKey(id, arm string, spans []spanfile.Span) string {
	return fmt.Sprintf("%q %q %s", id, arm, spansOnly(spans))
}

// readPeople reads the file of errors that people found.
func (b *bench) readPeople(f *study.File, s *Study, errs *study.Errors) {
	if s.Human == "" {
		return
	}
	path := f.Resolve(s.Human)
	unchecked := 0
	err := kit.Records(path, table.Texts{Names: []string{"id", "arm", "by"}, Verbatim: "text"}, errs, func(_ int, w *peopleLine) error {
		if w.Result.Kind() == 'n' {
			unchecked++
			return nil
		}
		return b.addChecked(w)
	})
	if err != nil {
		errs.Add(f.Errorf("human", "%w", err))
	}
	var said []string
	for _, key := range slices.Sorted(maps.Keys(b.people)) {
		said = append(said, key, fmt.Sprintf("%v %q", b.people[key].flags, b.people[key].missed))
	}
	b.Cases.Beside, b.Cases.What = kit.Hash(said...), "verdicts of people on "+text.Plural(len(b.people), "answer", "answers")
	if unchecked > 0 {
		b.Warn("%s: %s without a result: nobody has checked the spans", path, text.Plural(unchecked, "line", "lines"))
	}
}

// addChecked adds a verdict of people.
func (b *bench) addChecked(w *peopleLine) error {
	r := b.Datum(w.ID)
	switch {
	case r == nil:
		return fmt.Errorf("the study has no text %q", w.ID)
	case b.Arm(w.Arm) == nil:
		var names []string
		for _, a := range b.OwnArms {
			names = append(names, a.ID)
		}
		slices.Sort(names)
		return fmt.Errorf("the study has no arm %q%s", w.Arm, text.DidYouMean(w.Arm, names))
	case w.Text != nil && *w.Text != "" && *w.Text != r.Text:
		return fmt.Errorf("the text differs from that of %q in the records: people checked another text", w.ID)
	case w.Spans.Kind() != '[':
		return fmt.Errorf("spans is missing: want the list of spans that were checked; scruple export RUN --format %s writes it", peopleFormat)
	}
	a, err := b.readAnswer(w.Spans, r.Text)
	if err != nil || a.dropped > 0 {
		return fmt.Errorf(`spans: want a list of {"text", "role", "start", "end"}; %s it`, "scruple export RUN --format "+peopleFormat+" writes")
	}
	k := &checked{arm: w.Arm, spans: a.spans}
	if err := k.read(w.Result); err != nil {
		return fmt.Errorf("result: %w", err)
	}
	key := checkedKey(w.ID, w.Arm, a.spans)
	if b.people[key] != nil {
		return fmt.Errorf("duplicate verdict on these spans of %s by %s", w.ID, w.Arm)
	}
	b.people[key] = k
	return nil
}

// read reads a result. All four lists are required: an empty list says that there
// are not errors of this kind.
func (k *checked) read(data jsontext.Value) error {
	const lists = "missedElements, falsePositives, taxonomyErrors and granularityErrors"
	if data.Kind() != '{' {
		return errors.New("want an object with " + lists)
	}
	var w peopleResult
	if err := dataset.DecodeStrict(data, &w); err != nil {
		return err
	}
	if w.Missed == nil || w.False == nil || w.Taxonomy == nil || w.Granularity == nil {
		return errors.New("want all of " + lists + ": an empty list says that there are no such errors")
	}
	for i, m := range *w.Missed {
		if strings.TrimSpace(m.Text) == "" {
			return fmt.Errorf("missedElements[%d]: text is missing", i)
		}
		k.missed = append(k.missed, m.Text)
	}
	k.flags = make([]uint8, len(k.spans))
	for kind, list := range [len(verdict.Kinds)][]spanError{*w.False, *w.Taxonomy, *w.Granularity} {
		for i := range list {
			at, err := k.about(&list[i])
			if err != nil {
				return fmt.Errorf("%s[%d]: %w", [len(verdict.Kinds)]string{"falsePositives", "taxonomyErrors", "granularityErrors"}[kind], i, err)
			}
			k.flags[at] |= 1 << kind
		}
	}
	return nil
}

// about is the index of the span that an error is about: its spanIndex, or without
// one the only span with its text. Unlike a judge, people can correct what is
// ambiguous, so it is an error.
func (k *checked) about(e *spanError) (int, error) {
	if e.SpanIndex != nil {
		switch i := *e.SpanIndex; {
		case i < 0 || i >= len(k.spans):
			return 0, fmt.Errorf("spanIndex %d is out of range: there are %s, counted from 0", i, text.Plural(len(k.spans), "span", "spans"))
		case e.Text != "" && e.Text != k.spans[i].Text:
			return 0, fmt.Errorf("span %d is %q, not %q: correct spanIndex or text", i, k.spans[i].Text, e.Text)
		default:
			return i, nil
		}
	}
	found, n := 0, 0
	for i, s := range k.spans {
		if s.Text == e.Text {
			found, n = i, n+1
		}
	}
	if n != 1 {
		return 0, fmt.Errorf("spanIndex is missing, and %s the text %q: give the index of the span, from 0", text.Plural(n, "span has", "spans have"), e.Text)
	}
	return found, nil
}

// exportPeople writes the answers of a run as lines for people to check. Equal
// answers of an arm to a text are one line.
func exportPeople(kb kit.Bench, kept kit.Kept, dir string) (string, error) {
	b := kb.(*bench)
	var lines []peopleLine
	for of, err := range kept.Outcomes() {
		if err != nil {
			return "", err
		}
		r, arm, err := b.Of(of.Trial)
		if err != nil || arm.Role == eval.RoleCalibration {
			continue
		}
		if t := b.read(r, &of); t.readable { // without spans there is nothing to check
			lines = append(lines, peopleLine{ID: r.ID, Arm: of.Trial.Arm, Text: &r.Text, Spans: spansOnly(t.spans),
				Result: jsontext.Value("null")})
		}
	}
	order := func(a, b peopleLine) int {
		return cmp.Or(strings.Compare(a.ID, b.ID), strings.Compare(a.Arm, b.Arm), bytes.Compare(a.Spans, b.Spans))
	}
	slices.SortStableFunc(lines, order)
	lines = slices.CompactFunc(lines, func(a, b peopleLine) bool { return order(a, b) == 0 })
	return written(dir, []kit.File{{Path: peopleFormat + ".jsonl", Write: dataset.EncodeLines(lines)}})
}

// spansOnly is the list of the spans of an answer without confidences, which might
// lead people.
func spansOnly(spans []spanfile.Span) jsontext.Value {
	list := []answerSpan{}
	for _, s := range spans {
		s.Confidence = spanfile.Unstated
		list = append(list, entryOf(s))
	}
	return jsontext.Value(kit.JSON(list))
}
