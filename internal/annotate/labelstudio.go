package annotate

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/scruple-eval/scruple/internal/spanfile"
	"github.com/scruple-eval/scruple/internal/study"
)

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
			r.Value.Choices = x.Answer.list(q.Name)
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
		plain := record{Subject: ls.Data.Subject, ShownAsA: ls.Data.ShownAsA, Text: ls.Data.Text, Answer: Answer{}}
		made := slices.DeleteFunc(ls.Annotations, func(a spanfile.Annotation) bool { return a.Cancelled })
		if len(made) == 0 {
			list = append(list, plain)
		}
		for _, a := range made {
			x := plain
			x.By, x.Answer = ls.Data.by(a), Answer{}
			for _, r := range a.Result {
				if err := x.fromRegion(t, r); err != nil {
					return nil, fmt.Errorf("%s: task %d, result %s: %w", f.Name, i+1, r.FromName, err)
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
	var value any
	switch q.Type {
	case "choice":
		if len(v.Choices) == 1 {
			value = v.Choices[0]
		}
	case "several":
		value = v.Choices
	case "text":
		if l, _ := v.Text.([]any); len(l) == 1 {
			value = l[0]
		}
	case "number":
		value = v.Number
	default:
		if v.Start == nil || v.End == nil || len(v.Labels) != 1 {
			return errors.New("want start, end and one label")
		}
		s := outSpan{Start: *v.Start, End: *v.End, Question: q.Name}
		if s.Text, _ = v.Text.(string); len(q.Options) > 0 {
			s.Label = v.Labels[0]
		}
		if r.Meta != nil && len(r.Meta.Text) == 2 {
			s.Value = r.Meta.Text[0]
			s.Record, _ = strconv.Atoi(r.Meta.Text[1])
			if s.Record > 0 {
				s.Label = v.Labels[0]
			}
		}
		x.Spans = append(x.Spans, s)
		return nil
	}
	x.Answer.put(q.Name, value)
	return nil
}
