package annotate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/table"
)

// columns are those before the columns of the questions.
var columns = []string{"item", "arm", "other", "replicate", "unit", "shown_as_a", "by", "at"}

// tableOf has a column for each question; passages are JSON.
func tableOf(t study.Task, list []record) [][]string {
	rows := [][]string{columnsOf(t)}
	for _, x := range list {
		s := x.Subject
		row := []string{s.Item, s.Arm, s.Other, fmt.Sprint(s.Replicate), s.Unit, x.ShownAsA, x.By, x.At}
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
		names = append(names, q.Name)
	}
	return names
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
		cell := func(name string) string { return strings.TrimSpace(c.Cell(row, name).Text) }
		x := record{Subject: Subject{Item: cell("item"), Arm: cell("arm"), Other: cell("other"), Unit: cell("unit")}, ShownAsA: cell("shown_as_a"), By: cell("by"), Answer: Answer{}}
		if number := cell("replicate"); number != "" { // of an item
			if x.Subject.Replicate, err = strconv.Atoi(number); err != nil {
				return nil, c.Errorf(row, "replicate", "replicate: %q is not a number", number)
			}
		}
		for _, q := range t.Ask {
			if err := x.fromCell(q, cell(q.Name)); err != nil {
				return nil, c.Errorf(row, q.Name, "%s: %w", q.Name, err)
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
	case q.Type == "choice" || q.Type == "text":
		x.Answer.put(q.Name, cell)
		return nil
	}
	if !jsontext.Value(cell).IsValid() {
		return fmt.Errorf("%q is not JSON: want a number, or a list such as [\"a\",\"b\"]", cell)
	}
	x.Answer[q.Name] = jsontext.Value(cell)
	return nil
}
