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

func exportLabelStudio(t study.Task, list []record, _ string) ([]byte, error) {
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
