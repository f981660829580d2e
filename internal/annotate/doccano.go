package annotate

import (
	"fmt"
	"math"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/study"
)

// A doccano is a line of doccano. As in the formats of other tools, the subject, the person
// and the answers that are not passages have fields of their own, which doccano passes
// through. A label is [start, end, name].
type doccano struct {
	Text     string   `json:"text"`
	Label    [][3]any `json:"label"`
	Subject  Subject  `json:"subject"`
	ShownAsA string   `json:"shown_as_a,omitempty"`
	By       string   `json:"by,omitempty"`
	Answer   Answer   `json:"answer"`
}

func doccanoOf(_ study.Task, x record) any {
	d := doccano{Text: x.Text, Label: [][3]any{}, Subject: x.Subject, ShownAsA: x.ShownAsA, By: x.By, Answer: x.Answer}
	for _, s := range x.Spans {
		d.Label = append(d.Label, [3]any{s.Start, s.End, s.name()})
	}
	return d
}

func fromDoccano(_ File, _ study.Task, data []byte) (record, error) {
	var d doccano
	if err := dataset.DecodeLoose(data, &d); err != nil {
		return record{}, err
	}
	x := record{Subject: d.Subject, ShownAsA: d.ShownAsA, By: d.By, Text: d.Text, Answer: d.Answer}
	for _, l := range d.Label {
		start, ok1 := l[0].(float64)
		end, ok2 := l[1].(float64)
		name, ok3 := l[2].(string)
		if !ok1 || !ok2 || !ok3 || start != math.Trunc(start) || end != math.Trunc(end) {
			return x, fmt.Errorf("label %v is not [start, end, name]", l)
		}
		x.named(int(start), int(end), "", name)
	}
	return x, nil
}
