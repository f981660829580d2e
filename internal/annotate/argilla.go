package annotate

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/study"
)

// An argillaSpan is a passage in Argilla, which has no text of it.
type argillaSpan struct {
	Label string `json:"label"`
	Start int    `json:"start"`
	End   int    `json:"end"`
}

// argillaOf is a row of a data set of Argilla: text, subject, and for each question its
// responses with their users and status. Suggestions are never written: they would be
// answers that are filled in.
func argillaOf(t study.Task, x record) any {
	row := map[string]any{"text": x.Text, "subject": x.Subject}
	if x.ShownAsA != "" {
		row["shown_as_a"] = x.ShownAsA
	}
	for _, q := range t.Ask {
		var value any
		if answer, given := x.Answer[q.Name]; given {
			value = answer
		}
		if q.Type == "span" {
			spans := []argillaSpan{}
			for _, s := range x.Spans {
				if s.Question == q.Name {
					spans = append(spans, argillaSpan{s.name(), s.Start, s.End})
				}
			}
			value = spans
		}
		if value != nil && x.By != "" {
			row[q.Name+".responses"], row[q.Name+".responses.users"], row[q.Name+".responses.status"] = []any{value}, []string{x.By}, []string{"submitted"}
		}
	}
	return row
}

// fromArgilla reads a row of a data set of Argilla: the responses of the person, or the
// only ones. Responses that were not submitted are left out; a row may have no answer.
func (f File) fromArgilla(t study.Task, data []byte) (x record, err error) {
	var row map[string]jsontext.Value
	if err := dataset.DecodeLoose(data, &row); err != nil {
		return x, err
	}
	x.Answer = Answer{}
	if err := errors.Join(column(row, "subject", &x.Subject), column(row, "shown_as_a", &x.ShownAsA), column(row, "text", &x.Text)); err != nil {
		return x, err
	}
	var everyone []string
	for _, q := range t.Ask {
		var users []string
		if err := column(row, q.Name+".responses.users", &users); err != nil {
			return x, err
		}
		everyone = append(everyone, users...)
	}
	slices.Sort(everyone)
	everyone = slices.Compact(everyone)
	switch {
	case slices.Contains(everyone, f.Person):
		x.By = f.Person
	case len(everyone) > 1:
		return x, fmt.Errorf("the row has the responses of %s: say whose with --as", strings.Join(everyone, ", "))
	case len(everyone) == 1:
		x.By = everyone[0]
	}
	submitted := false
	for _, q := range t.Ask {
		var values []jsontext.Value
		var users, status []string
		name := q.Name + ".responses"
		if err := errors.Join(column(row, name, &values), column(row, name+".users", &users), column(row, name+".status", &status)); err != nil {
			return x, err
		}
		i := slices.Index(users, x.By)
		switch {
		case len(values) > 1 && len(users) == 0:
			return x, fmt.Errorf("%s has several responses and no users: want %s.users", name, name)
		case len(users) == 0:
			i = 0
		}
		if i < 0 || i >= len(values) || i < len(status) && status[i] != "submitted" {
			continue
		}
		submitted = true
		if q.Type != "span" {
			x.Answer[q.Name] = values[i]
			continue
		}
		var spans []argillaSpan
		if err := json.Unmarshal(values[i], &spans); err != nil {
			return x, fmt.Errorf("%s: %w", name, err)
		}
		for _, s := range spans {
			x.named(s.Start, s.End, "", s.Label)
		}
	}
	if !submitted {
		x.By = ""
	}
	return x, nil
}

// column decodes a column of a row, if it is there.
func column(row map[string]jsontext.Value, name string, into any) error {
	value, ok := row[name]
	if !ok {
		return nil
	}
	if err := json.Unmarshal(value, into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
