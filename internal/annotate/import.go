package annotate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/text"
)

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
	_, errUnit := offsetsOf(f.Offsets)
	if err := errors.Join(errUnit, CheckPerson(f.Person), p.checkOpen(t.Name)); err != nil {
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

// records reads the answers of a file.
func (f File) records(t study.Task) ([]record, error) {
	from, err := formatOf("--format", f.Format)
	if err != nil {
		return nil, err
	}
	return from.read(f, t)
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

// own returns the records of the person. A file of one other person, or without names, is
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
	ruler := text.NewRuler(joined(shown.Pages))
	byQuestion := map[string][]Span{}
	for _, s := range x.Spans {
		start, errStart := ruler.Exactly(s.Start, text.Unit(offsets))
		end, errEnd := ruler.Exactly(s.End, text.Unit(offsets))
		if err := cmp.Or(errStart, errEnd); err != nil {
			return fmt.Errorf("%w: give what the offsets count with --offsets", err)
		}
		span, err := split(shown.Pages, start, end)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(shown.Ask, func(q study.Question) bool { return q.Name == s.Question && q.Type == "span" })
		if i < 0 {
			return fmt.Errorf("the task has no question %q about passages", s.Question)
		}
		span.Text, span.Label = ruler.Slice(start, end), s.Label
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

// offsetsOf is what the offsets of an exchange count.
func offsetsOf(name string) (text.Unit, error) {
	unit, err := text.ParseUnit(name)
	if err != nil {
		return "", fmt.Errorf("--offsets %w", err)
	}
	return unit, nil
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
