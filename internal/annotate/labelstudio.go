package annotate

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/study"
)

// A labelStudio is a task of Label Studio. Its data are passed through.
type labelStudio struct {
	Data struct {
		Text     string  `json:"text"`
		Subject  Subject `json:"subject"`
		ShownAsA string  `json:"shown_as_a,omitempty"`
		// By are the people of the annotations, in the order of their ids: Label Studio refuses
		// a task that names a user whom it does not have.
		By []string `json:"annotated_by,omitempty"`
	} `json:"data"`
	Annotations []lsAnnotation `json:"annotations"`
}

type lsAnnotation struct {
	ID           int        `json:"id,omitempty"`
	ImportID     int        `json:"import_id,omitempty"` // the id at the import into Label Studio
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

// lsTypes are the types of results by those of questions; a passage has another form.
var lsTypes = map[string]string{"choice": "choices", "several": "choices", "text": "textarea", "number": "number"}

// exportLabelStudio writes a task for each subject, with the annotations of all people who saw
// its sides in one order.
func exportLabelStudio(t study.Task, list []record) ([]byte, error) {
	type side struct {
		subject Subject
		a       string
	}
	out, at := []labelStudio{}, map[side]int{}
	for _, x := range list {
		key := side{x.Subject, x.ShownAsA}
		i, ok := at[key]
		if !ok {
			i = len(out)
			at[key] = i
			ls := labelStudio{Annotations: []lsAnnotation{}}
			ls.Data.Text, ls.Data.Subject, ls.Data.ShownAsA = x.Text, x.Subject, x.ShownAsA
			out = append(out, ls)
		}
		if x.By != "" {
			out[i].Data.By = append(out[i].Data.By, x.By)
			out[i].Annotations = append(out[i].Annotations, x.annotation(t, len(out[i].Data.By)))
		}
	}
	data, err := json.MarshalIndent(out, "", " ")
	return append(data, '\n'), err
}

// annotation is a record as an annotation of Label Studio.
func (x *record) annotation(t study.Task, id int) lsAnnotation {
	a := lsAnnotation{ID: id, LeadTime: x.Seconds, Result: []lsResult{}}
	for _, q := range t.Ask {
		var value any = x.Answer[q.Name]
		if len(x.Answer[q.Name]) == 0 {
			continue
		}
		kind := lsTypes[q.Type]
		key := kind
		switch q.Type {
		case "choice":
			value = []any{value}
		case "text":
			key, value = "text", []any{value}
		}
		a.Result = append(a.Result, lsResult{q.Name, "text", kind, map[string]any{key: value}})
	}
	for _, s := range x.Spans {
		a.Result = append(a.Result, lsResult{s.Question, "text", "labels",
			map[string]any{"start": s.Start, "end": s.End, "text": s.Text, "labels": []string{cmp.Or(s.Label, s.Question)}}})
	}
	return a
}

// fromLabelStudio reads an export of Label Studio.
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
			x := record{Subject: ls.Data.Subject, ShownAsA: ls.Data.ShownAsA, By: ls.by(a), Text: ls.Data.Text, Answer: Answer{}}
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

// by is who made an annotation: the person who was exported, or the address or number of a user
// of Label Studio.
func (ls *labelStudio) by(a lsAnnotation) string {
	if i := cmp.Or(a.ImportID, a.ID); i > 0 && i <= len(ls.Data.By) && (a.ImportID > 0 || a.CompletedBy == nil) {
		return ls.Data.By[i-1]
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
		if !ok1 || !ok2 || label == "" || start != math.Trunc(start) || end != math.Trunc(end) {
			return errors.New("want start, end and one label, with whole numbers")
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
