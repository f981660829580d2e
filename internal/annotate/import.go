package annotate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/text"
)

// Import adds the answers in a file to a person's work: all or none. An answer that was
// imported before is left out, so that an import that was interrupted can be repeated;
// another answer to its subject is an error. Subjects without an answer are skipped.
func (p Place) Import(t study.Task, source Source, f File) (n, skipped int, err error) {
	t = t.Full()
	if err := errors.Join(CheckPerson(f.Person), p.checkOpen(t.Name)); err != nil {
		return 0, 0, err
	}
	list, err := f.records(t)
	if err == nil {
		list, err = f.own(list)
	}
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("%s has no answers", f.Name)
	}
	if err != nil {
		return 0, 0, err
	}
	q, err := p.queue(t, source)
	if err != nil {
		return 0, 0, err
	}
	d, err := p.open(t, q, source, f.Person, f.Version)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, d.log.Close()) }()
	events, skipped, err := d.imported(list, f)
	if err == nil && skipped == len(list) {
		err = fmt.Errorf("%s has no answers, only %s without one", f.Name, text.Plural(skipped, "subject", "subjects"))
	}
	if err != nil {
		return 0, 0, err
	}
	for _, e := range events {
		if _, err := d.append(eventImport, e); err != nil {
			return n, skipped, err
		}
		n++
	}
	return n, skipped, d.record()
}

// records reads the answers of a file.
func (f File) records(t study.Task) ([]record, error) {
	from, _, err := formatOf("--format", f.Format, f.Offsets)
	if err != nil {
		return nil, err
	}
	return from.read(f, t)
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

// imported checks all answers of a file, and counts the subjects without one.
func (d *desk) imported(list []record, f File) (events []Event, skipped int, err error) {
	seen := map[Subject]bool{}
	for i := range list {
		x := &list[i]
		e, err := d.event(x, f)
		switch {
		case err != nil:
		case e == nil:
			skipped++
			continue
		case seen[x.Subject]:
			err = fmt.Errorf("%v has two answers", x.Subject)
		case d.work.given[slot{x.Subject, passFirst}] == nil:
			events = append(events, *e)
		case !d.has(e):
			err = fmt.Errorf("%v was answered already", x.Subject)
		}
		if err != nil {
			return nil, 0, fmt.Errorf("%s: answer %d: %w", f.Name, i+1, err)
		}
		seen[x.Subject] = true
	}
	return events, skipped, nil
}

// has reports whether an answer was imported before.
func (d *desk) has(e *Event) bool {
	g := d.work.given[slot{*e.Subject, passFirst}]
	return g.Final != nil && g.First == g.Final && g.First.Sighted && strings.HasPrefix(g.First.Reason, importedFrom) &&
		g.First.Swapped == e.Swapped && g.First.Answer.equal(e.Answer)
}

const importedFrom = "imported from "

// event is a record as an event; nil if it has no answer.
func (d *desk) event(x *record, f File) (*Event, error) {
	s := x.Subject
	if !slices.Contains(d.queue.Subjects, s) {
		return nil, fmt.Errorf("the task has no subject %v", s)
	}
	swapped := s.Other != "" && x.ShownAsA == s.Other
	list, err := forms(d.task, d.source, s, swapped)
	if err != nil {
		return nil, err
	}
	shown := list[0]
	// The text, all of it or its pages, tells whether the file is of this study.
	if x.Text != "" && !slices.ContainsFunc(list, func(shown Shown) bool { return x.Text == shown.text() || x.Text == shown.joined() }) {
		return nil, fmt.Errorf("the text of %v is not that of the study", s)
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
	// What another tool showed is not known: the answers count in no agreement of
	// blind ones.
	return &Event{Pass: passFirst, Subject: &s, Shown: shown.Hash(), Swapped: swapped, Answer: x.Answer.exact(shown), Sighted: true, Reason: importedFrom + f.Name}, nil
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
		if s.Text != "" && s.Text != span.Text {
			return fmt.Errorf("the passage %d to %d is %q, not %q: give what the offsets count with --offsets", s.Start, s.End, span.Text, s.Text)
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
