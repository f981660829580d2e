package annotate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/text"
	"github.com/scruple-eval/scruple/internal/workbook"
)

// What offsets count.
const (
	CodePoints = "codepoint"
	utf16Units = "utf16"
	byteUnits  = "byte"
)

// Offsets lists what offsets can count.
func Offsets() []string { return []string{CodePoints, utf16Units, byteUnits} }

// Formats lists the formats of exports and imports.
func Formats() []string {
	return []string{"jsonl", "csv", "xlsx", "label-studio", "doccano", "prodigy", "argilla", "brat"}
}

// A record is an answer on its way from or to another tool. Its text is all pages,
// with a line feed between them.
type record struct {
	Subject Subject `json:"subject"`
	// ShownAsA is the arm of a pair that was shown as A.
	ShownAsA string    `json:"shown_as_a,omitempty"`
	By       string    `json:"by,omitempty"`
	At       string    `json:"at,omitempty"`
	Answer   Answer    `json:"answer"`
	Shown    string    `json:"shown,omitempty"`
	Seconds  float64   `json:"seconds,omitempty"`
	Text     string    `json:"text,omitempty"`
	Spans    []outSpan `json:"spans,omitempty"`
}

// An outSpan is a passage of the text of a record.
type outSpan struct {
	Start    int    `json:"start"`
	End      int    `json:"end"`
	Text     string `json:"text"` // "" in formats without it
	Question string `json:"question"`
	Label    string `json:"label,omitempty"`
}

// name is the label of a passage in tools that have one list of labels.
func (s outSpan) name() string { return strings.TrimSuffix(s.Question+": "+s.Label, ": ") }

// blank reports whether a record has no answer.
func (x record) blank() bool { return len(x.Answer) == 0 && len(x.Spans) == 0 }

// unanswered reports whether nobody answered a record. Nothing is an answer of a person
// if the task asks nothing that it must.
func (x record) unanswered(t study.Task) bool {
	needed := func(q study.Question) bool { return !q.Optional && q.When == "" }
	return x.blank() && (x.By == "" || slices.ContainsFunc(t.Ask, needed))
}

// text is all that is shown, for tools that show one text. Pages come first, so that
// offsets count in them.
func (s Shown) text() string {
	var texts []string
	if len(s.Pages) > 0 {
		texts = append(texts, joined(s.Pages))
	}
	if s.Lead != "" {
		texts = append(texts, s.Lead)
	}
	for _, p := range s.Parts {
		texts = append(texts, p.Name+":\n"+p.Text)
	}
	return strings.Join(texts, "\n\n")
}

// joined is the text of all pages.
func joined(pages []Page) string {
	var texts []string
	for _, p := range pages {
		texts = append(texts, p.Text)
	}
	return strings.Join(texts, "\n")
}

// split finds the page of a passage of the joined text, in code points.
func split(pages []Page, start, end int) (Span, error) {
	from := 0
	for _, p := range pages {
		n := utf8.RuneCountInString(p.Text)
		if start >= from && end <= from+n && start < end {
			return Span{Page: p.Number, Start: start - from, End: end - from}, nil
		}
		from += n + 1
	}
	return Span{}, fmt.Errorf("the passage %d to %d is on no page, or on several", start, end)
}

// units converts an offset in code points to other units.
func units(text string, at int, offsets string) int {
	runes := []rune(text)[:at]
	switch offsets {
	case utf16Units:
		return len(utf16.Encode(runes))
	case byteUnits:
		return len(string(runes))
	}
	return at
}

// points converts an offset in other units to code points. An offset inside of a
// character is an error.
func points(text string, at int, offsets string) (int, error) {
	n, count := 0, 0
	for _, r := range text {
		if n >= at {
			break
		}
		switch offsets {
		case utf16Units:
			n += utf16.RuneLen(r)
		case byteUnits:
			n += utf8.RuneLen(r)
		default:
			n++
		}
		count++
	}
	if n != at {
		return 0, fmt.Errorf("offset %d (%s) is not between two characters of the text: give what the offsets count with --offsets", at, offsets)
	}
	return count, nil
}

func checkOffsets(offsets string) error {
	if !slices.Contains(Offsets(), offsets) {
		return fmt.Errorf("--offsets %s: want one of %s", offsets, strings.Join(Offsets(), ", "))
	}
	return nil
}

// Exported is an export and what is in it.
type Exported struct {
	Data       []byte
	Answers    int
	Unanswered int // subjects that nobody answered, without an answer
	// Withheld are subjects that nobody answered and that are left out, because their
	// arms would be named.
	Withheld int
}

// Export writes the final answers of everyone's first round, and the subjects that
// nobody answered. It draws the task if that was not done, so that the work can begin
// in another tool.
func (p Place) Export(t study.Task, source Source, format, offsets string) (Exported, error) {
	var out Exported
	if err := checkOffsets(offsets); err != nil {
		return out, err
	}
	if _, err := p.queue(t.Full(), source); err != nil {
		return out, err
	}
	r, err := p.Result(t, source)
	if err != nil {
		return out, err
	}
	list, err := r.given(source, offsets)
	if err != nil {
		return out, err
	}
	out.Answers = len(list)
	answered := map[Subject]bool{}
	for _, x := range list {
		answered[x.Subject] = true
	}
	for _, s := range r.queue.Subjects {
		switch {
		case answered[s]:
		case s.Arm != "":
			out.Withheld++
		default:
			shown, err := show(r.Task, source, s, false)
			if err != nil {
				return out, err
			}
			out.Unanswered++
			list = append(list, record{Subject: s, Answer: Answer{}, Text: shown.text()})
		}
	}
	out.Data, err = encoded(r.Task, list, format, offsets)
	return out, err
}

// given are the final answers of everyone's first round.
func (r *Result) given(source Source, offsets string) (list []record, err error) {
	for _, w := range r.Everyone {
		for _, k := range w.order {
			g := w.given[k]
			if k.pass != passFirst || g.Final == nil {
				continue
			}
			shown, err := show(r.Task, source, k.subject, g.Final.Swapped)
			if err != nil {
				return nil, err
			}
			if shown.Hash() != g.Final.Shown {
				return nil, fmt.Errorf("exporting %v: the study shows something else now than %s saw", k.subject, w.Person)
			}
			list = append(list, exported(r.Task, shown, w.Person, g, offsets))
		}
	}
	return list, nil
}

// encoded writes records in a format.
func encoded(t study.Task, list []record, format, offsets string) ([]byte, error) {
	switch format {
	case "jsonl":
		return jsonLines(list, func(x record) any { return x })
	case "csv":
		rows, err := tableOf(t, list)
		if err != nil {
			return nil, err
		}
		return workbook.CSV(rows)
	case "xlsx":
		rows, err := tableOf(t, list)
		if err != nil {
			return nil, err
		}
		return workbook.Write(workbook.Sheet{Name: "Answers", Rows: rows})
	case "label-studio":
		return exportLabelStudio(t, list)
	case "doccano":
		return jsonLines(list, doccanoOf)
	case "prodigy":
		return jsonLines(list, prodigyOf)
	case "argilla":
		return exportArgilla(t, list)
	case "brat":
		return exportBrat(t, list, offsets)
	}
	return nil, fmt.Errorf("--export %s: the formats are %s", format, strings.Join(Formats(), ", "))
}

func exported(t study.Task, shown Shown, person string, g *Given, offsets string) record {
	x := record{Subject: g.Subject, ShownAsA: armOf("A", g.Subject, g.Final.Swapped), By: person, At: g.FinalAt.UTC().Format("2006-01-02T15:04:05Z"), Answer: Answer{}, Shown: g.Final.Shown,
		Seconds: float64(g.Final.WallMS) / 1000, Text: shown.text()}
	for _, q := range t.Ask {
		value, given := g.Final.Answer[q.Name]
		if !given {
			continue
		}
		if q.Type != "span" {
			x.Answer[q.Name] = value
			continue
		}
		for _, s := range g.Final.Answer.Spans(q.Name) {
			from := 0
			for _, page := range shown.Pages {
				if page.Number == s.Page {
					break
				}
				from += utf8.RuneCountInString(page.Text) + 1
			}
			x.Spans = append(x.Spans, outSpan{units(x.Text, from+s.Start, offsets), units(x.Text, from+s.End, offsets), s.Text, q.Name, s.Label})
		}
	}
	return x
}

func jsonLines(list []record, form func(record) any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for _, x := range list {
		if err := e.Encode(form(x)); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// columns are those before the columns of the questions.
var columns = []string{"item", "arm", "other", "replicate", "unit", "shown_as_a", "by", "at"}

// tableOf has a column for each question; passages are JSON.
func tableOf(t study.Task, list []record) ([][]string, error) {
	head := slices.Clone(columns)
	for _, q := range t.Ask {
		head = append(head, q.Name)
	}
	rows := [][]string{head}
	for _, x := range list {
		s := x.Subject
		row := []string{s.Item, s.Arm, s.Other, fmt.Sprint(s.Replicate), s.Unit, x.ShownAsA, x.By, x.At}
		for _, q := range t.Ask {
			value := x.Answer.Text(q.Name)
			if q.Type == "span" {
				var own []outSpan
				for _, s := range x.Spans {
					if s.Question == q.Name {
						own = append(own, s)
					}
				}
				data, err := json.Marshal(own)
				if err != nil {
					return nil, err
				}
				value = strings.TrimPrefix(string(data), "null")
			} else if q.Type != "choice" && q.Type != "text" {
				value = string(x.Answer[q.Name])
			}
			row = append(row, value)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// The formats of other tools keep the subject, the person and the answers that are
// not passages in fields of their own, which the tools pass through.
type doccano struct {
	Text     string   `json:"text"`
	Label    [][3]any `json:"label"`
	Subject  Subject  `json:"subject"`
	ShownAsA string   `json:"shown_as_a,omitempty"`
	By       string   `json:"by,omitempty"`
	Answer   Answer   `json:"answer"`
}

func doccanoOf(x record) any {
	d := doccano{Text: x.Text, Label: [][3]any{}, Subject: x.Subject, ShownAsA: x.ShownAsA, By: x.By, Answer: x.Answer}
	for _, s := range x.Spans {
		d.Label = append(d.Label, [3]any{s.Start, s.End, s.name()})
	}
	return d
}

type prodigy struct {
	Text      string        `json:"text"`
	Spans     []prodigySpan `json:"spans"`
	Answer    string        `json:"answer,omitempty"` // "" before it is answered
	SessionID string        `json:"_session_id,omitempty"`
	Meta      struct {
		Subject  Subject `json:"subject"`
		ShownAsA string  `json:"shown_as_a,omitempty"`
		Answer   Answer  `json:"answer"`
	} `json:"meta"`
}

type prodigySpan struct {
	Start int    `json:"start"`
	End   int    `json:"end"`
	Text  string `json:"text,omitempty"`
	Label string `json:"label"`
}

func prodigyOf(x record) any {
	d := prodigy{Text: x.Text, Spans: []prodigySpan{}, SessionID: x.By}
	if x.By != "" {
		d.Answer = "accept"
	}
	d.Meta.Subject, d.Meta.ShownAsA, d.Meta.Answer = x.Subject, x.ShownAsA, x.Answer
	for _, s := range x.Spans {
		d.Spans = append(d.Spans, prodigySpan{s.Start, s.End, s.Text, s.name()})
	}
	return d
}

type labelStudio struct {
	Data struct {
		Text     string  `json:"text"`
		Subject  Subject `json:"subject"`
		ShownAsA string  `json:"shown_as_a,omitempty"`
	} `json:"data"`
	Annotations []lsAnnotation `json:"annotations"`
}

type lsAnnotation struct {
	CompletedBy  any        `json:"completed_by,omitempty"`
	LeadTime     float64    `json:"lead_time,omitempty"`
	WasCancelled bool       `json:"was_cancelled"`
	GroundTruth  bool       `json:"ground_truth"`
	Result       []lsResult `json:"result"`
}

type lsResult struct {
	FromName string         `json:"from_name"`
	ToName   string         `json:"to_name"`
	Type     string         `json:"type"`
	Value    map[string]any `json:"value"`
}

func exportLabelStudio(t study.Task, list []record) ([]byte, error) {
	out := []labelStudio{}
	for _, x := range list {
		var ls labelStudio
		ls.Data.Text, ls.Data.Subject, ls.Data.ShownAsA = x.Text, x.Subject, x.ShownAsA
		if x.By == "" {
			ls.Annotations = []lsAnnotation{}
			out = append(out, ls)
			continue
		}
		a := lsAnnotation{CompletedBy: map[string]string{"email": x.By}, LeadTime: x.Seconds, Result: []lsResult{}}
		add := func(q, kind string, value map[string]any) {
			a.Result = append(a.Result, lsResult{q, "text", kind, value})
		}
		for _, q := range t.Ask {
			value, given := x.Answer[q.Name]
			switch {
			case !given:
			case q.Type == "choice":
				add(q.Name, "choices", map[string]any{"choices": []any{value}})
			case q.Type == "several":
				add(q.Name, "choices", map[string]any{"choices": value})
			case q.Type == "text":
				add(q.Name, "textarea", map[string]any{"text": []any{value}})
			case q.Type == "number":
				add(q.Name, "number", map[string]any{"number": value})
			}
		}
		for _, s := range x.Spans {
			add(s.Question, "labels", map[string]any{"start": s.Start, "end": s.End, "text": s.Text, "labels": []string{cmp.Or(s.Label, s.Question)}})
		}
		ls.Annotations = []lsAnnotation{a}
		out = append(out, ls)
	}
	data, err := json.MarshalIndent(out, "", " ")
	return append(data, '\n'), err
}

// A File is answers of one person to import.
type File struct {
	Name    string
	Data    []byte
	Format  string
	Offsets string
	Person  string
	Version string
}

// Import adds the answers in a file to a person's work: all or none. An answer that was
// imported before is left out, so that an import that was interrupted can be repeated;
// another answer to its subject is an error. Subjects without an answer are skipped.
func (p Place) Import(t study.Task, source Source, f File) (n, skipped int, err error) {
	if err := errors.Join(checkOffsets(f.Offsets), CheckPerson(f.Person), p.checkOpen(t.Name)); err != nil {
		return 0, 0, err
	}
	list, err := f.records(t.Full())
	if err != nil {
		return 0, 0, err
	}
	if list, err = f.own(list); err != nil {
		return 0, 0, err
	}
	if len(list) == 0 {
		return 0, 0, fmt.Errorf("%s has no answers", f.Name)
	}
	q, err := p.queue(t.Full(), source)
	if err != nil {
		return 0, 0, err
	}
	d, err := p.open(t.Full(), q, source, f.Person, f.Version)
	if err != nil {
		return 0, 0, err
	}
	events, skipped, err := d.imported(list, source, f)
	if err != nil {
		return 0, 0, errors.Join(err, d.log.Close())
	}
	if skipped == len(list) {
		return 0, 0, errors.Join(fmt.Errorf("%s has no answers, only %s without one", f.Name, text.Plural(skipped, "subject", "subjects")), d.log.Close())
	}
	for _, e := range events {
		if _, err := d.append(eventImport, e); err != nil {
			return n, skipped, errors.Join(err, d.log.Close())
		}
		n++
	}
	return n, skipped, errors.Join(d.record(), d.log.Close())
}

// imported checks all answers of a file, and counts the subjects without one.
func (d *desk) imported(list []record, source Source, f File) (events []Event, skipped int, err error) {
	seen := map[Subject]bool{}
	for i, x := range list {
		fail := func(err error) error { return fmt.Errorf("%s: answer %d: %w", f.Name, i+1, err) }
		k := slot{x.Subject, passFirst}
		switch {
		case !slices.Contains(d.queue.Subjects, x.Subject):
			return nil, 0, fail(fmt.Errorf("the task has no subject %v", x.Subject))
		case x.unanswered(d.task):
			// The text tells whether the file is of this study.
			shown, err := show(d.task, source, x.Subject, x.ShownAsA != "" && x.ShownAsA == x.Subject.Other)
			if err == nil {
				err = x.checkText(shown)
			}
			if err != nil {
				return nil, 0, fail(err)
			}
			skipped++
			continue
		case seen[x.Subject]:
			return nil, 0, fail(fmt.Errorf("%v has two answers", x.Subject))
		}
		seen[x.Subject] = true
		swapped := false
		switch {
		case d.task.Of != "pair":
		case x.ShownAsA == x.Subject.Arm || x.ShownAsA == x.Subject.Other:
			swapped = x.ShownAsA == x.Subject.Other
		default:
			return nil, 0, fail(fmt.Errorf("shown_as_a is %q: want the arm that was shown as A, %s or %s, as an export has it", x.ShownAsA, x.Subject.Arm, x.Subject.Other))
		}
		shown, err := show(d.task, source, x.Subject, swapped)
		if err != nil {
			return nil, 0, fail(err)
		}
		if err := x.place(shown, f.Offsets); err != nil {
			return nil, 0, fail(err)
		}
		if err := x.Answer.check(shown, false); err != nil {
			return nil, 0, fail(err)
		}
		answer := x.Answer.exact(shown)
		if g := d.work.given[k]; g != nil {
			if g.Final != nil && g.First == g.Final && g.First.Imported() && g.First.Swapped == swapped && g.First.Answer.equal(answer) {
				continue
			}
			return nil, 0, fail(fmt.Errorf("%v was answered already", x.Subject))
		}
		subject := x.Subject
		// What another tool showed is not known: the answers count in no agreement of
		// blind ones.
		events = append(events, Event{Pass: passFirst, Subject: &subject, Shown: shown.Hash(), Swapped: swapped, Answer: answer, Sighted: true, Reason: importedFrom + f.Name})
	}
	return events, skipped, nil
}

const importedFrom = "imported from "

// Imported reports whether an answer came from a file.
func (e *Event) Imported() bool { return e.Sighted && strings.HasPrefix(e.Reason, importedFrom) }

// equal reports whether two answers say the same in JSON of any form.
func (a Answer) equal(b Answer) bool {
	return maps.EqualFunc(a, b, func(x, y jsontext.Value) bool {
		x, y = x.Clone(), y.Clone()
		return x.Canonicalize() == nil && y.Canonicalize() == nil && bytes.Equal(x, y)
	})
}

// own returns the records of the person. A file of one other person, or of nobody, is
// theirs: names differ between tools.
func (f File) own(list []record) ([]record, error) {
	var names []string
	for _, x := range list {
		if !slices.Contains(names, x.By) && !(x.By == "" && x.blank()) {
			names = append(names, x.By)
		}
	}
	if slices.Contains(names, f.Person) {
		return slices.DeleteFunc(list, func(x record) bool { return x.By != f.Person && !(x.By == "" && x.blank()) }), nil
	}
	if len(names) > 1 {
		slices.Sort(names)
		return nil, fmt.Errorf("%s has the answers of %s: say whose with --as", f.Name, strings.Join(names, ", "))
	}
	return list, nil
}

// checkText compares the text of a record with what is shown: all of it, or its pages.
func (x *record) checkText(shown Shown) error {
	if x.Text != "" && x.Text != shown.text() && x.Text != joined(shown.Pages) {
		return fmt.Errorf("the text of %v is not that of the study", x.Subject)
	}
	return nil
}

// place finds the passages of an answer in the pages.
func (x *record) place(shown Shown, offsets string) error {
	if err := x.checkText(shown); err != nil {
		return err
	}
	text := joined(shown.Pages)
	byQuestion := map[string][]Span{}
	for _, s := range x.Spans {
		start, err := points(text, s.Start, offsets)
		if err != nil {
			return err
		}
		end, err := points(text, s.End, offsets)
		if err != nil {
			return err
		}
		span, err := split(shown.Pages, start, end)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(shown.Ask, func(q study.Question) bool { return q.Name == s.Question && q.Type == "span" })
		if i < 0 {
			return fmt.Errorf("the task has no question %q about passages", s.Question)
		}
		span.Text, span.Label = string([]rune(text)[start:end]), s.Label
		if s.Text != "" && s.Text != span.Text {
			return fmt.Errorf("the passage %d to %d is %q, not %q: give what the offsets count with --offsets", s.Start, s.End, span.Text, s.Text)
		}
		byQuestion[s.Question] = append(byQuestion[s.Question], span)
	}
	for name, spans := range byQuestion {
		data, err := json.Marshal(spans)
		if err != nil {
			return err
		}
		x.Answer[name] = data
	}
	return nil
}

// records reads the answers of a file.
func (f File) records(t study.Task) (list []record, err error) {
	switch f.Format {
	case "label-studio":
		return f.fromLabelStudio(t)
	case "csv", "xlsx":
		return f.fromTable(t)
	case "brat":
		return f.fromBrat(t)
	case "jsonl", "doccano", "prodigy", "argilla":
	default:
		return nil, fmt.Errorf("--format %s: the formats are %s", f.Format, strings.Join(Formats(), ", "))
	}
	line := 0
	for data := range bytes.Lines(f.Data) {
		line++
		if len(bytes.TrimSpace(data)) == 0 {
			continue
		}
		x, err := f.fromLine(t, data)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", f.Name, line, err)
		}
		list = append(list, *x)
	}
	return list, nil
}

// named adds a passage with the name of its question and label.
func (x *record) named(start, end int, text, name string) {
	question, label, _ := strings.Cut(name, ": ")
	x.Spans = append(x.Spans, outSpan{start, end, text, question, label})
}

func (f File) fromLine(t study.Task, data []byte) (*record, error) {
	x := record{Answer: Answer{}}
	switch f.Format {
	case "doccano":
		var d struct {
			Text    string              `json:"text"`
			Label   [][3]jsontext.Value `json:"label"`
			Subject Subject             `json:"subject"`
			Side    string              `json:"shown_as_a"`
			By      string              `json:"by"`
			Answer  Answer              `json:"answer"`
		}
		if err := dataset.DecodeLoose(data, &d); err != nil {
			return nil, err
		}
		x.Subject, x.ShownAsA, x.By, x.Text = d.Subject, d.Side, d.By, d.Text
		x.take(d.Answer)
		for _, l := range d.Label {
			var start, end int
			var name string
			if err := errors.Join(json.Unmarshal(l[0], &start), json.Unmarshal(l[1], &end), json.Unmarshal(l[2], &name)); err != nil {
				return nil, fmt.Errorf("label %v is not [start, end, name]", l)
			}
			x.named(start, end, "", name)
		}
	case "prodigy":
		var d prodigy
		if err := dataset.DecodeLoose(data, &d); err != nil {
			return nil, err
		}
		x.Subject, x.ShownAsA, x.Text = d.Meta.Subject, d.Meta.ShownAsA, d.Text
		if d.Answer != "accept" { // not answered yet, ignored or rejected
			break
		}
		x.By = d.SessionID
		x.take(d.Meta.Answer)
		for _, s := range d.Spans {
			x.named(s.Start, s.End, s.Text, s.Label)
		}
	case "argilla":
		row, err := f.fromArgilla(t, data)
		if err != nil {
			return nil, err
		}
		x = *row
	default:
		if err := dataset.DecodeLoose(data, &x); err != nil {
			return nil, err
		}
		if x.Answer == nil {
			x.Answer = Answer{}
		}
	}
	if x.Subject.Item == "" {
		return nil, errors.New("the record has no subject: export the task, and keep this field in the other tool")
	}
	return &x, nil
}

func (x *record) take(a Answer) {
	for name, value := range a {
		x.Answer[name] = value
	}
}

func (f File) fromTable(t study.Task) (list []record, err error) {
	table, err := workbook.Parse(f.Name, "", f.Data)
	if err != nil {
		return nil, err
	}
	known := slices.Clone(columns)
	for _, q := range t.Ask {
		known = append(known, q.Name)
	}
	for i, name := range table.Header {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("%s: unknown column %q: remove it, or name it as one of %s", f.Name, name, strings.Join(known, ", "))
		}
		if slices.Contains(table.Header[:i], name) {
			return nil, fmt.Errorf("%s: duplicate column %q", f.Name, name)
		}
	}
	for _, row := range table.Rows {
		cell := func(name string) string {
			if i := slices.Index(table.Header, name); i >= 0 {
				return row.Cells[i]
			}
			return ""
		}
		x := record{Subject: Subject{Item: cell("item"), Arm: cell("arm"), Other: cell("other"), Unit: cell("unit")}, ShownAsA: cell("shown_as_a"), By: cell("by"), Answer: Answer{}}
		if number := cell("replicate"); number != "" { // of an item
			if x.Subject.Replicate, err = strconv.Atoi(number); err != nil {
				return nil, fmt.Errorf("%s: replicate: %q is no number", table.Place(row, slices.Index(table.Header, "replicate")), number)
			}
		}
		for _, q := range t.Ask {
			if err := x.fromCell(q, cell(q.Name)); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", table.Place(row, slices.Index(table.Header, q.Name)), q.Name, err)
			}
		}
		list = append(list, x)
	}
	return list, nil
}

func (x *record) fromCell(q study.Question, cell string) error {
	switch {
	case cell == "":
		return nil
	case q.Type == "span":
		var own []outSpan
		if err := dataset.DecodeStrict([]byte(cell), &own); err != nil {
			return err
		}
		x.Spans = append(x.Spans, own...)
		return nil
	case q.Type == "choice" || q.Type == "text":
		data, err := json.Marshal(cell)
		x.Answer[q.Name] = data
		return err
	}
	if !jsontext.Value(cell).IsValid() {
		return fmt.Errorf("%q is not JSON: want a number, or a list such as [\"a\",\"b\"]", cell)
	}
	x.Answer[q.Name] = jsontext.Value(cell)
	return nil
}

func (f File) fromLabelStudio(t study.Task) (list []record, err error) {
	var all []labelStudio
	if err := dataset.DecodeLoose(f.Data, &all); err != nil {
		return nil, dataset.Locate(f.Name, f.Data, err)
	}
	for i, ls := range all {
		made := slices.DeleteFunc(ls.Annotations, func(a lsAnnotation) bool { return a.WasCancelled })
		if len(made) == 0 && ls.Data.Subject.Item != "" {
			list = append(list, record{Subject: ls.Data.Subject, ShownAsA: ls.Data.ShownAsA, Text: ls.Data.Text, Answer: Answer{}})
		}
		for _, a := range made {
			x := record{Subject: ls.Data.Subject, ShownAsA: ls.Data.ShownAsA, By: completedBy(a), Text: ls.Data.Text, Answer: Answer{}}
			if x.Subject.Item == "" {
				return nil, fmt.Errorf("%s: task %d: data.subject is missing: export the task, and keep this field in Label Studio", f.Name, i+1)
			}
			for _, r := range a.Result {
				if err := x.fromResult(t, r); err != nil {
					return nil, fmt.Errorf("%s: task %d, result %s: %w", f.Name, i+1, r.FromName, err)
				}
			}
			list = append(list, x)
		}
	}
	return list, nil
}

// completedBy is who made an annotation: Label Studio has an address or a number.
func completedBy(a lsAnnotation) string {
	if by, ok := a.CompletedBy.(map[string]any); ok {
		return fmt.Sprint(by["email"])
	}
	if a.CompletedBy == nil {
		return ""
	}
	return fmt.Sprint(a.CompletedBy)
}

func (x *record) fromResult(t study.Task, r lsResult) error {
	i := slices.IndexFunc(t.Ask, func(q study.Question) bool { return q.Name == r.FromName })
	if i < 0 {
		return fmt.Errorf("the task asks no %q", r.FromName)
	}
	q := t.Ask[i]
	list := func(key string) []any { l, _ := r.Value[key].([]any); return l }
	first := func(key string) any {
		if l := list(key); len(l) == 1 {
			return l[0]
		}
		return nil
	}
	var value any
	switch q.Type {
	case "choice":
		value = first("choices")
	case "several":
		value = list("choices")
	case "text":
		value = first("text")
	case "number":
		value = r.Value["number"]
	default:
		start, ok1 := r.Value["start"].(float64)
		end, ok2 := r.Value["end"].(float64)
		label, _ := first("labels").(string)
		if !ok1 || !ok2 || label == "" {
			return errors.New("want start, end and one label")
		}
		if len(q.Options) == 0 {
			label = ""
		}
		passage, _ := r.Value["text"].(string)
		x.Spans = append(x.Spans, outSpan{int(start), int(end), passage, q.Name, label})
		return nil
	}
	data, err := json.Marshal(value)
	x.Answer[q.Name] = data
	return err
}
