package annotate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/spanfile"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/table"
	"github.com/scruple-eval/scruple/internal/text"
)

// A format writes and reads the records of a task.
type format struct {
	name  string
	write func(t study.Task, list []record) ([]byte, error)
	read  func(f File, t study.Task) ([]record, error)
}

// formats are those of exports and imports.
var formats = [...]format{
	{"jsonl", func(_ study.Task, list []record) ([]byte, error) {
		var b bytes.Buffer
		err := dataset.EncodeLines(list)(&b)
		return b.Bytes(), err
	}, File.fromLines},
	{"csv", func(t study.Task, list []record) ([]byte, error) { return table.CSV(tableOf(t, list)) }, File.fromTable},
	{"xlsx", func(t study.Task, list []record) ([]byte, error) {
		return table.Write(table.Sheet{Name: "Answers", Rows: tableOf(t, list)})
	}, File.fromTable},
	{"label-studio", exportLabelStudio, File.fromLabelStudio},
}

// Formats lists the names of the formats of exports and imports.
func Formats() (names []string) {
	for _, f := range formats {
		names = append(names, f.name)
	}
	return names
}

// formatOf finds the format that a flag names, and what its offsets count.
func formatOf(flag, name, offsets string) (format, text.Unit, error) {
	i := slices.Index(Formats(), name)
	if i < 0 {
		return format{}, "", fmt.Errorf("%s %s: the formats are %s", flag, name, strings.Join(Formats(), ", "))
	}
	unit, err := text.ParseUnit(offsets)
	if err != nil {
		return format{}, "", fmt.Errorf("--offsets %w", err)
	}
	return formats[i], unit, nil
}

// A File is answers of one person to import.
type File struct {
	Name    string
	Data    []byte
	Format  string // "" for the one that the name ends in, jsonl if that is none
	Offsets string
	Person  string
	From    string // the person's name in the file, if it is another
	Reason  string // of answers that correct those that are stored; "": there are none
	Version string
}

// Imported counts what became of the records of a file.
type Imported struct {
	Answers int    // stored now
	Skipped int    // subjects without an answer
	Others  int    // records of other people, which are left out
	Named   string // the person's name in the file, if it is another
	// Unchecked are answers that do not say what text they are about.
	Unchecked int
	// Spaced are passages that have other white space than the text, as Label Studio writes it.
	Spaced int
}

// A record is an answer on its way from or to another tool. Its text is all pages,
// with a line feed between them, and what else is shown.
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

	textHash string // of Text, which tables do not have
	spaced   int    // see [Imported]
	from     string // place in a file
}

// An outSpan is a passage of the text of a record.
type outSpan struct {
	Start    int    `json:"start"`
	End      int    `json:"end"`
	Text     string `json:"text"`
	Question string `json:"question"`
	Label    string `json:"label,omitempty"`
	Value    string `json:"value,omitempty"`
	Record   int    `json:"record,omitempty"`
}

// blank reports whether a record has no answer.
func (x record) blank() bool { return len(x.Answer) == 0 && len(x.Spans) == 0 }

// Exported is an export and what is in it.
type Exported struct {
	Data       []byte
	Answers    int
	Unanswered int // subjects without an answer
	// Withheld are subjects without an answer that are left out, because the export would
	// name their arms.
	Withheld int
	Aside    int // subjects about what failed or was replaced since: they are left out
}

// Export writes the final answers of everyone's first round, and the subjects
// without an answer. It draws the task if that was not done, so that the work can begin
// in another tool.
func (p Place) Export(t study.Task, source Source, format, offsets string) (out Exported, err error) {
	to, unit, err := formatOf("--export", format, offsets)
	if err == nil {
		_, err = p.queue(t.Full(), source)
	}
	var r *Result
	if err == nil {
		r, err = p.Result(t, source)
	}
	if err != nil {
		return out, err
	}
	var list []record
	answered := map[Subject]bool{}
	for _, w := range r.Everyone {
		for _, g := range w.order {
			if g.pass != passFirst || g.Final == nil {
				continue
			}
			shown, err := show(r.Task, source, g.subject, g.Final.Swapped)
			if errors.Is(err, eval.ErrGone) {
				continue
			}
			if err != nil {
				return out, err
			}
			if !r.fresh.has(g.Final) {
				return out, fmt.Errorf("exporting %v: the study shows something else now than %s saw", g.subject, w.Person)
			}
			list = append(list, exported(r.Task, shown, w.Person, g, unit))
			answered[g.subject] = true
		}
	}
	out.Answers = len(list)
	for _, s := range r.queue.Subjects {
		switch {
		case answered[s]:
		case r.fresh.gone(s):
			out.Aside++
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
	out.Data, err = to.write(r.Task, list)
	return out, err
}

func exported(t study.Task, shown Shown, person string, g *Given, unit text.Unit) record {
	x := record{Subject: g.subject, ShownAsA: g.subject.armOf("A", g.Final.Swapped), By: person, At: g.FinalAt.UTC().Format("2006-01-02T15:04:05Z"),
		Answer: Answer{}, Shown: g.Final.Shown, Seconds: float64(g.Final.WallMS) / 1000, Text: shown.text()}
	ruler := text.NewRuler(x.Text)
	for _, q := range t.Ask {
		value, given := g.Final.Answer[q.Name]
		if given && q.Type != "span" {
			x.Answer[q.Name] = value
		}
		for _, s := range g.Final.Answer.Spans(q.Name) {
			from := 0
			for _, page := range shown.Pages {
				if page.Number == s.Page {
					break
				}
				from += utf8.RuneCountInString(page.Text) + 1
			}
			x.Spans = append(x.Spans, outSpan{ruler.In(from+s.Start, unit), ruler.In(from+s.End, unit), s.Text, q.Name, s.Label, s.Value, s.Record})
		}
	}
	return x
}

// fromLines reads records, one per line.
func (f File) fromLines(study.Task) (list []record, err error) {
	line := 0
	for data := range bytes.Lines(f.Data) {
		line++
		if len(bytes.TrimSpace(data)) == 0 {
			continue
		}
		x, at := record{Answer: Answer{}}, fmt.Sprintf("%s:%d", f.Name, line)
		err := dataset.DecodeLoose(data, &x)
		if err == nil && x.Subject.Item == "" {
			err = errors.New("the record has no subject: export the task, and keep this field in the other tool")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		x.from = at
		if x.Answer == nil { // null
			x.Answer = Answer{}
		}
		list = append(list, x)
	}
	return list, nil
}

// Import adds the answers in a file to a person's work: all or none. An answer that was
// imported before is left out, so that an import that was interrupted can be repeated;
// another answer to its subject needs a reason, and both stay in the file. Subjects without an
// answer are skipped.
func (p Place) Import(t study.Task, source Source, f File) (in Imported, err error) {
	t = t.Full()
	if err := p.checkMay(t, f.Person); err != nil {
		return in, err
	}
	if f.Format == "" {
		f.Format = "jsonl"
		if ending := strings.TrimPrefix(strings.ToLower(filepath.Ext(f.Name)), "."); slices.Contains(Formats(), ending) {
			f.Format = ending
		}
	}
	from, _, err := formatOf("--format", f.Format, f.Offsets)
	if err != nil {
		return in, err
	}
	list, err := from.read(f, t)
	if err == nil {
		var known []string
		if known, err = p.People(t.Name); err == nil {
			list, err = f.own(list, append(known, t.People...), &in)
		}
	}
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("%s has no answers", f.Name)
	}
	if err != nil {
		return in, err
	}
	q, err := p.queue(t, source)
	if err != nil {
		return in, err
	}
	d, err := p.open(t, q, source, f.Person, f.Version)
	if err != nil {
		return in, err
	}
	defer func() { err = errors.Join(err, d.log.Close()) }()
	events, err := d.imported(list, f, &in)
	if err == nil && in.Skipped == len(list) {
		err = fmt.Errorf("%s has no answers, only %s without one", f.Name, text.Plural(in.Skipped, "subject", "subjects"))
	}
	if err != nil {
		return in, err
	}
	for _, e := range events {
		if _, err := d.append(eventImport, e); err != nil {
			return in, err
		}
		in.Answers++
	}
	return in, d.record()
}

// own returns the records of the person, and counts those of others. A file with one other name is
// theirs, since names differ between tools, unless it is that of somebody who is known to answer. So are
// answers without a name, if the file names no other person.
func (f File) own(list []record, known []string, in *Imported) (own []record, err error) {
	var names []string
	var nameless *record
	for i := range list {
		switch x := &list[i]; {
		case x.By != "" && !slices.Contains(names, x.By):
			names = append(names, x.By)
		case x.By == "" && !x.blank():
			nameless = cmp.Or(nameless, x)
		}
	}
	slices.Sort(names)
	name, all := cmp.Or(f.From, f.Person), cmp.Or(strings.Join(names, ", "), "people without a name")
	has := slices.Contains(names, name)
	switch {
	case nameless != nil && len(names) > one(has):
		return nil, fmt.Errorf("%s: an answer without a name, in a file with those of %s: write whose it is into the column by (in Label Studio: completed_by), or remove it", nameless.from, all)
	case !has && (f.From != "" || len(names) > 1):
		return nil, fmt.Errorf("%s has answers of %s, none of %s: name one of them with --from", f.Name, all, name)
	case has:
		own = slices.DeleteFunc(slices.Clone(list), func(x record) bool { return x.By != "" && x.By != name })
		in.Others = len(list) - len(own)
		return own, nil
	case len(names) == 0 || strings.EqualFold(all, name):
	case slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, all) }):
		return nil, fmt.Errorf("%s has answers of %s, one of the people of this task, and none of %s: import them with --as %s, or with --from %s if they are those of %s", f.Name, all, name, strings.ToLower(all), all, name)
	default:
		in.Named = all
	}
	return list, nil
}

// imported checks all answers of a file, and counts the subjects without one.
func (d *desk) imported(list []record, f File, in *Imported) (events []Event, err error) {
	seen := map[Subject]bool{}
	for i := range list {
		x := &list[i]
		e, err := d.event(x, f)
		switch {
		case err != nil:
		case e == nil:
			in.Skipped++
			continue
		case seen[x.Subject]:
			err = fmt.Errorf("%v has two answers", x.Subject)
		default:
			g := d.work.given[slot{x.Subject, passFirst}]
			stored := g != nil && g.Final != nil // not skipped
			switch same := stored && g.Final.Swapped == e.Swapped && g.Final.Answer.equal(e.Answer); {
			case stored && !same && f.Reason == "":
				err = fmt.Errorf("%v was answered already, and otherwise: correct the answer with --reason (both stay in the file)", x.Subject)
			case !same:
				in.Unchecked += one(x.textHash == "")
				in.Spaced += x.spaced
				events = append(events, *e)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", x.from, err)
		}
		seen[x.Subject] = true
	}
	return events, nil
}

// event is a record as an event; nil if it has no answer.
func (d *desk) event(x *record, f File) (*Event, error) {
	if !slices.Contains(d.queue.Subjects, x.Subject) { // an id may have blanks at its ends, and a table typed by hand
		x.Subject.Item = strings.TrimSpace(x.Subject.Item)
	}
	s := x.Subject
	if !slices.Contains(d.queue.Subjects, s) {
		return nil, fmt.Errorf("the task has no subject %v", s)
	}
	swapped := s.Other != "" && x.ShownAsA == s.Other
	shown, err := show(d.task, d.source, s, swapped)
	if err != nil {
		return nil, err
	}
	// The text, all of it or its pages, tells whether the file is of this study.
	if x.Text != "" {
		x.textHash = dataset.SHA256([]byte(x.Text))
	}
	exported := func(text string) bool { return dataset.SHA256([]byte(text)) == x.textHash }
	if x.textHash != "" && !exported(shown.text()) && !exported(shown.joined()) {
		return nil, fmt.Errorf("the text of %v is not that of the study: export the task anew, and let people judge the text as it is now", s)
	}
	// A person's empty record counts as an answer if every question may be left open.
	needed := slices.ContainsFunc(d.task.Ask, func(q study.Question) bool { return !q.Optional && q.When == "" })
	if x.blank() && (x.By == "" || needed) {
		return nil, nil
	}
	if d.task.Of == "pair" && !swapped && x.ShownAsA != s.Arm {
		return nil, fmt.Errorf("shown_as_a is %q: want the arm that was shown as A, %s or %s, as an export has it", x.ShownAsA, s.Arm, s.Other)
	}
	if err := x.place(shown, text.Unit(f.Offsets)); err != nil {
		return nil, err
	}
	if err := x.Answer.check(shown, false); err != nil {
		return nil, err
	}
	answer, reason := x.Answer.exact(shown), "imported from "+f.Name
	if err := d.fits(s, answer); err != nil {
		return nil, err
	}
	if f.Reason != "" {
		reason += ": " + f.Reason
	}
	// What another tool showed is not known: the answers count in no agreement of
	// blind ones.
	return &Event{Pass: passFirst, Subject: &s, Shown: shown.Hash(), Swapped: swapped, Answer: answer, Sighted: true, Reason: reason}, nil
}

// place finds the passages of an answer in the pages.
func (x *record) place(shown Shown, unit text.Unit) error {
	ruler := text.NewRuler(shown.joined())
	byQuestion := map[string][]Span{}
	for _, s := range x.Spans {
		start, errStart := ruler.Exactly(s.Start, unit)
		end, errEnd := ruler.Exactly(s.End, unit)
		if err := cmp.Or(errStart, errEnd); err != nil {
			return fmt.Errorf("%w: give what the offsets count with --offsets", err)
		}
		span, err := split(shown.Pages, start, end)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(shown.Ask, func(q study.Question) bool { return q.Name == s.Question && q.Type == "span" }) {
			return fmt.Errorf("the task has no question %q about passages", s.Question)
		}
		span.Text, span.Label, span.Value, span.Record = ruler.Slice(start, end), s.Label, s.Value, s.Record
		switch {
		case s.Text == "" || s.Text == span.Text:
		case spanfile.SameAsShown(s.Text, span.Text):
			x.spaced++
		case slices.ContainsFunc(text.Units[:], func(u text.Unit) bool {
			return spanfile.SameAsShown(s.Text, ruler.Slice(ruler.Point(s.Start, u), ruler.Point(s.End, u)))
		}):
			return fmt.Errorf("the passage %d to %d is %q, not %q: give what the offsets count with --offsets", s.Start, s.End, span.Text, s.Text)
		default:
			return fmt.Errorf("the passage %d to %d is %q in the text, and %q in the file: correct its offsets; if they are right, remove its text from the file", s.Start, s.End, span.Text, s.Text)
		}
		byQuestion[s.Question] = append(byQuestion[s.Question], span)
	}
	for name, spans := range byQuestion {
		x.Answer.put(name, spans)
	}
	return nil
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

// labelData are the data of a task of Label Studio, which passes them through.
type labelData struct {
	Text     string  `json:"text"`
	Subject  Subject `json:"subject"`
	ShownAsA string  `json:"shown_as_a,omitempty"`
	// By are the people of the annotations, in the order of their ids: Label Studio refuses
	// a task that names a user whom it does not have.
	By []string `json:"annotated_by,omitempty"`
}

// exportLabelStudio writes a task for each subject, with the annotations of all people who saw
// its sides in one order.
func exportLabelStudio(t study.Task, list []record) ([]byte, error) {
	type side struct {
		subject Subject
		a       string
	}
	tasks, at := []spanfile.Task[labelData]{}, map[side]int{}
	for _, x := range list {
		key := side{x.Subject, x.ShownAsA}
		if _, ok := at[key]; !ok {
			at[key] = len(tasks)
			data := &labelData{Text: x.Text, Subject: x.Subject, ShownAsA: x.ShownAsA}
			tasks = append(tasks, spanfile.Task[labelData]{Data: data, Annotations: []spanfile.Annotation{}})
		}
		if ls := &tasks[at[key]]; x.By != "" {
			ls.Data.By = append(ls.Data.By, x.By)
			ls.Annotations = append(ls.Annotations, spanfile.Annotation{ID: len(ls.Data.By), LeadTime: x.Seconds, Result: x.regions(t)})
		}
	}
	var b bytes.Buffer
	err := spanfile.WriteTasks(&b, tasks)
	return b.Bytes(), err
}

// regions are the answers of a record.
func (x *record) regions(t study.Task) []spanfile.Region {
	list := []spanfile.Region{}
	for _, q := range t.Ask {
		if len(x.Answer[q.Name]) == 0 {
			continue
		}
		r := spanfile.Region{FromName: q.Name, ToName: "text", Type: "choices"}
		switch q.Type {
		case "choice":
			r.Value.Choices = []string{x.Answer.Text(q.Name)}
		case "several":
			r.Value.Choices = x.Answer.List(q.Name)
		case "text":
			r.Type, r.Value.Text = "textarea", []string{x.Answer.Text(q.Name)}
		case "number":
			r.Type, r.Value.Number = "number", x.Answer[q.Name]
		}
		list = append(list, r)
	}
	for _, s := range x.Spans {
		r := spanfile.Passage(s.Question, s.Start, s.End, s.Text, cmp.Or(s.Label, s.Question))
		if s.Value != "" { // of gold of a list
			r.Meta = &spanfile.Meta{Text: []string{s.Value, strconv.Itoa(s.Record)}}
		}
		list = append(list, r)
	}
	return list
}

// fromLabelStudio reads an export of Label Studio.
func (f File) fromLabelStudio(t study.Task) (list []record, err error) {
	tasks, err := spanfile.ReadTasks[labelData](f.Data, f.Name)
	for i, ls := range tasks {
		if ls.Data == nil || ls.Data.Subject.Item == "" {
			return nil, fmt.Errorf("%s: task %d: data.subject is missing: export the task, and keep this field in Label Studio", f.Name, i+1)
		}
		plain := record{Subject: ls.Data.Subject, ShownAsA: ls.Data.ShownAsA, Text: ls.Data.Text, Answer: Answer{}, from: fmt.Sprintf("%s: task %d", f.Name, i+1)}
		made := slices.DeleteFunc(ls.Annotations, func(a spanfile.Annotation) bool { return a.Cancelled })
		if len(made) == 0 {
			list = append(list, plain)
		}
		for _, a := range made {
			x := plain
			x.By, x.Answer = ls.Data.by(a), Answer{}
			for _, r := range a.Result {
				if err := x.fromRegion(t, r); err != nil {
					return nil, fmt.Errorf("%s, result %s: %w", x.from, r.FromName, err)
				}
			}
			list = append(list, x)
		}
	}
	return list, err
}

// by is who made an annotation: the person who was exported, or the address or number of a user
// of Label Studio.
func (d *labelData) by(a spanfile.Annotation) string {
	if i := cmp.Or(a.ImportID, a.ID); i > 0 && i <= len(d.By) && (a.ImportID > 0 || a.CompletedBy == nil) {
		return d.By[i-1]
	}
	switch by := a.CompletedBy.(type) {
	case nil:
		return ""
	case map[string]any:
		return fmt.Sprint(by["email"])
	default:
		return fmt.Sprint(by)
	}
}

func (x *record) fromRegion(t study.Task, r spanfile.Region) error {
	i := slices.IndexFunc(t.Ask, func(q study.Question) bool { return q.Name == r.FromName })
	if i < 0 {
		return fmt.Errorf("the task asks no %q", r.FromName)
	}
	v, q := r.Value, t.Ask[i]
	said, _ := v.Text.([]any) // of a text
	for _, c := range v.Choices {
		said = append(said, c)
	}
	switch {
	case q.Type == "several":
		x.Answer.put(q.Name, append([]string{}, v.Choices...)) // of none, Label Studio has no key
	case q.Type == "number":
		x.Answer.put(q.Name, v.Number)
	case q.Type != "span" && len(said) == 1:
		x.Answer.put(q.Name, said[0])
	case q.Type != "span":
		x.Answer.put(q.Name, nil) // which the check refuses
	case v.Start == nil || v.End == nil || len(v.Labels) != 1:
		return errors.New("want start, end and one label")
	default:
		s := outSpan{Start: *v.Start, End: *v.End, Question: q.Name}
		s.Text, _ = v.Text.(string)
		if r.Meta != nil && len(r.Meta.Text) == 2 {
			s.Value = r.Meta.Text[0]
			s.Record, _ = strconv.Atoi(r.Meta.Text[1])
		}
		if len(q.Options) > 0 || s.Record > 0 {
			s.Label = v.Labels[0]
		}
		x.Spans = append(x.Spans, s)
	}
	return nil
}

// columns are those before the columns of the questions.
var columns = []string{"item", "arm", "other", "replicate", "unit", "shown_as_a", "by", "at", "text_sha256"}

// tableOf has a column for each question; passages are JSON.
func tableOf(t study.Task, list []record) [][]string {
	rows := [][]string{columnsOf(t)}
	for _, x := range list {
		s := x.Subject
		row := []string{s.Item, s.Arm, s.Other, fmt.Sprint(s.Replicate), s.Unit, x.ShownAsA, x.By, x.At, dataset.SHA256([]byte(x.Text))}
		for _, q := range t.Ask {
			value := string(x.Answer[q.Name])
			switch q.Type {
			case "choice", "text":
				value = x.Answer.Text(q.Name)
			case "span":
				own := slices.DeleteFunc(slices.Clone(x.Spans), func(s outSpan) bool { return s.Question != q.Name })
				if data, err := json.Marshal(own); err == nil && len(own) > 0 {
					value = string(data)
				}
			}
			row = append(row, value)
		}
		rows = append(rows, row)
	}
	return rows
}

func columnsOf(t study.Task) []string {
	names := slices.Clone(columns)
	for _, q := range t.Ask {
		names = append(names, columnOf(q))
	}
	return names
}

// columnOf is the column of a question, whose name may be that of another column.
func columnOf(q study.Question) string {
	if slices.Contains(columns, q.Name) {
		return "answer_" + q.Name
	}
	return q.Name
}

func (f File) fromTable(t study.Task) (list []record, err error) {
	answers, err := table.Parse(f.Name, "", f.Data)
	if err != nil {
		return nil, err
	}
	known := columnsOf(t)
	c := answers.Bind(table.Names{Known: known, Remedy: func(known, _ string) string { return "name it " + known }}, func(_ string, e error) { err = cmp.Or(err, e) })
	if err != nil {
		return nil, err
	}
	if names := c.OtherNames(); len(names) > 0 {
		return nil, fmt.Errorf("%s: unknown column %q: remove it, or name it as one of %s", f.Name, names[0], strings.Join(known, ", "))
	}
	for _, row := range answers.Rows {
		whole := func(name string) string { return c.Cell(row, name).Text }
		cell := func(name string) string { return strings.TrimSpace(whole(name)) }
		x := record{Subject: Subject{Item: whole("item"), Arm: cell("arm"), Other: cell("other"), Unit: cell("unit")}, ShownAsA: cell("shown_as_a"), By: cell("by"), textHash: cell("text_sha256"), Answer: Answer{}, from: answers.Place(row, -1)}
		if number := cell("replicate"); number != "" { // of an item
			if x.Subject.Replicate, err = strconv.Atoi(number); err != nil {
				return nil, c.Errorf(row, "replicate", "replicate: %q is not a number", number)
			}
		}
		for _, q := range t.Ask {
			if q.Type == "text" && cell(columnOf(q)) != "" { // as it was written
				x.Answer.put(q.Name, whole(columnOf(q)))
			} else if err := x.fromCell(q, cell(columnOf(q))); err != nil {
				return nil, c.Errorf(row, columnOf(q), "%s: %w", columnOf(q), err)
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
	case q.Type == "choice":
		_, truth := table.Truth(cell)
		if i := slices.IndexFunc(q.Options, func(o string) bool { return strings.EqualFold(o, cell) }); i >= 0 && truth && !slices.Contains(q.Options, cell) {
			cell = q.Options[i] // spreadsheets write TRUE for true
		}
		x.Answer.put(q.Name, cell)
		return nil
	}
	if !jsontext.Value(cell).IsValid() {
		return fmt.Errorf("%q is not JSON: want a number, or a list such as [\"a\",\"b\"]", cell)
	}
	x.Answer[q.Name] = jsontext.Value(cell)
	return nil
}
