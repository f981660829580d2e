package spanfile

import (
	"encoding/json"
	"io"

	"github.com/scruple-eval/scruple/internal/dataset"
)

// A Task is a task of Label Studio with its data.
type Task[D any] struct {
	ID          json.RawMessage `json:"id,omitempty"`
	Data        *D              `json:"data"`
	Annotations []Annotation    `json:"annotations"`
}

// An Annotation is the answer of a person to a task.
type Annotation struct {
	ID          int      `json:"id,omitempty"`
	ImportID    int      `json:"import_id,omitempty"`    // the id at the import into Label Studio
	CompletedBy any      `json:"completed_by,omitempty"` // a user of Label Studio
	LeadTime    float64  `json:"lead_time,omitempty"`
	Cancelled   bool     `json:"was_cancelled,omitempty"`
	Result      []Region `json:"result"`
}

// A Region is a passage, or the answer to a question.
type Region struct {
	ID       string   `json:"id,omitempty"`
	FromName string   `json:"from_name"`
	ToName   string   `json:"to_name"`
	Type     string   `json:"type"`
	Score    *float64 `json:"score,omitempty"`
	Value    Value    `json:"value"`
	Meta     *Meta    `json:"meta,omitempty"`
}

// Meta are the notes on a region.
type Meta struct {
	Text []string `json:"text,omitempty"`
}

// A Value is that of a region. Text is of a passage, or a list of what was written. Offsets
// are UTF-16, those of older versions code points.
type Value struct {
	Start   *int     `json:"start,omitempty"`
	End     *int     `json:"end,omitempty"`
	Text    any      `json:"text,omitempty"`
	Labels  []string `json:"labels,omitempty"`
	Choices []string `json:"choices,omitempty"`
	Number  any      `json:"number,omitempty"`
}

// Passage is a region with one label.
func Passage(from string, start, end int, text, label string) Region {
	return Region{FromName: from, ToName: "text", Type: "labels", Value: Value{Start: &start, End: &end, Text: text, Labels: []string{label}}}
}

// ReadTasks reads an export of Label Studio.
func ReadTasks[D any](data []byte, name string) (tasks []Task[D], err error) {
	if err := dataset.DecodeLoose(data, &tasks); err != nil {
		return nil, dataset.Locate(name, data, err)
	}
	return tasks, nil
}

// WriteTasks writes tasks that Label Studio imports.
func WriteTasks[D any](w io.Writer, tasks []Task[D]) error {
	return writeJSON(w, tasks)
}
