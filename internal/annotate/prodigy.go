package annotate

import (
	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/study"
)

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

func prodigyOf(_ study.Task, x record) any {
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

// fromProdigy reads a task of Prodigy. One that was not accepted has no answer.
func fromProdigy(_ File, _ study.Task, data []byte) (record, error) {
	var d prodigy
	err := dataset.DecodeLoose(data, &d)
	x := record{Subject: d.Meta.Subject, ShownAsA: d.Meta.ShownAsA, Text: d.Text}
	if err != nil || d.Answer != "accept" { // not answered yet, ignored or rejected
		return x, err
	}
	x.By, x.Answer = d.SessionID, d.Meta.Answer
	for _, s := range d.Spans {
		x.named(s.Start, s.End, s.Text, s.Label)
	}
	return x, nil
}
