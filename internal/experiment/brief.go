package experiment

import (
	"cmp"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
)

// A Brief is a trial in a row of a list: what was asked, what is right, what was answered, and
// what is wrong with it. Of an answer with several units it has those with a problem, or all if
// there is none.
type Brief struct {
	Question string `json:"question,omitempty"`
	Right    string `json:"right_answer,omitempty"`
	Answer   string `json:"answer,omitempty"`
	Problem  string `json:"problem,omitempty"`
}

// BriefOf is a trial in a row.
func BriefOf(x eval.Exhibit) Brief {
	b := Brief{Question: x.Lead, Problem: x.Failed}
	wrong := false
	for _, r := range x.Rows {
		wrong = wrong || r.Note != ""
	}
	for _, r := range x.Rows {
		if wrong && r.Note == "" {
			continue
		}
		for _, part := range []struct {
			to   *string
			said string
		}{{&b.Right, r.Gold}, {&b.Answer, r.Answer}, {&b.Problem, r.Note}} {
			if part.said != "" && len(x.Rows) > 1 {
				part.said = r.Unit + ": " + part.said
			}
			*part.to = strings.Trim(*part.to+"; "+part.said, "; ")
		}
	}
	b.Right, b.Answer = cmp.Or(b.Right, x.Expected), cmp.Or(b.Answer, x.Raw)
	return b
}
