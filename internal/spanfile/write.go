package spanfile

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/text"
)

// A Loss counts what a format has no place for.
type Loss struct {
	Open     int // texts without labels, where the format would say that they have no spans
	Dropped  int // spans without a place, and of tags those that overlap an earlier one
	Widened  int // spans that are parts of words
	Wordless int // texts of which a CoNLL file has no line, or one that is not text
}

// String says what is lost; "" is nothing.
func (l Loss) String() string {
	var list []string
	for _, lost := range []struct {
		n               int
		one, many, what string
	}{{l.Open, "text", "texts", "without an answer that could be read left out"}, {l.Dropped, "span", "spans", "overlapping others, or without a place, left out"}, {l.Widened, "span", "spans", "widened to whole words"},
		{l.Wordless, "text", "texts", "without words, or with a NUL character, left out"}} {
		if lost.n > 0 {
			list = append(list, text.Plural(lost.n, lost.one, lost.many)+" "+lost.what)
		}
	}
	return strings.Join(list, "; ")
}

// Fit returns the texts that the format has a place for.
func (f Format) Fit(docs []Doc) (fit []Doc, lost Loss) {
	tagged := f.Name == WNUT17 || f.Name == CoNLL
	for i := range docs {
		d := &docs[i]
		switch {
		case !d.Labelled && (tagged || f.Name == Prodigy):
			lost.Open++
			continue
		case tagged:
			tokens, _, of := bio(d)
			if f.Name == CoNLL && (len(tokens) == 0 || strings.Contains(d.Text, "\x00")) {
				lost.Wordless++
				continue
			}
			lost.Dropped, lost.Widened = lost.Dropped+of.Dropped, lost.Widened+of.Widened
		default:
			lost.Dropped += len(d.Spans) - len(d.lineSpans(CodePoints))
		}
		fit = append(fit, *d)
	}
	return fit, lost
}

// byLine is a format with a line of JSON for each text.
func byLine(of func(*Doc) any) func(io.Writer, []Doc) error {
	return func(w io.Writer, docs []Doc) error {
		lines := make([]any, len(docs))
		for i := range docs {
			lines[i] = of(&docs[i])
		}
		return dataset.EncodeLines(lines)(w)
	}
}

// writeJSON writes one value.
func writeJSON(w io.Writer, value any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	return e.Encode(value)
}

type lineSpan struct {
	Start      int      `json:"start"`
	End        int      `json:"end"`
	Label      string   `json:"label"`
	Text       string   `json:"text"`
	Confidence *float64 `json:"confidence,omitempty"`
}

// lineSpans are the spans of a text that have a place, since no format but snapshots has
// others.
func (d *Doc) lineSpans(unit Unit) []lineSpan {
	ruler, out := NewRuler(d.Text), []lineSpan{}
	for _, s := range d.Spans {
		if !s.Placed() {
			continue
		}
		l := lineSpan{Start: ruler.In(s.Start, unit), End: ruler.In(s.End, unit), Label: s.Role, Text: s.Text}
		if s.Stated() {
			l.Confidence = &s.Confidence
		}
		out = append(out, l)
	}
	return out
}

func lineOf(d *Doc) any {
	var spans *[]lineSpan
	if d.Labelled {
		spans = new(d.lineSpans(CodePoints))
	}
	return struct {
		ID      string      `json:"id"`
		Text    string      `json:"text"`
		Group   string      `json:"group,omitempty"`
		Cluster string      `json:"cluster,omitempty"`
		Split   string      `json:"split,omitempty"`
		Spans   *[]lineSpan `json:"spans,omitempty"`
	}{d.ID, d.Text, d.Group, d.Cluster, d.Split, spans}
}

// prodigyOf is an example that Prodigy imports. Prodigy adds its own hashes.
func prodigyOf(d *Doc) any {
	return struct {
		ID     string     `json:"id"`
		Text   string     `json:"text"`
		Spans  []lineSpan `json:"spans"`
		Answer string     `json:"answer"`
	}{d.ID, d.Text, d.lineSpans(CodePoints), "accept"}
}

// wnutOf has the spans as gold, without systems.
func wnutOf(d *Doc) any {
	tokens, tags, _ := bio(d)
	return struct {
		ID       string         `json:"id"`
		Text     string         `json:"text"`
		Tokens   []string       `json:"tokens"`
		GoldTags []string       `json:"gold_tags"`
		Gold     []lineSpan     `json:"gold"`
		Systems  map[string]any `json:"systems"`
	}{d.ID, d.Text, tokens, tags, d.lineSpans(CodePoints), map[string]any{}}
}

// writePrompts writes a golden set.
func writePrompts(w io.Writer, docs []Doc) error {
	type span struct {
		Text  string `json:"text"`
		Role  string `json:"role"`
		Start int    `json:"start"`
		End   int    `json:"end"`
	}
	type truth struct {
		Spans []span `json:"spans"`
	}
	type prompt struct {
		ID          string `json:"id"`
		Text        string `json:"text"`
		GroundTruth *truth `json:"groundTruth,omitempty"`
	}
	var file struct {
		Prompts []prompt `json:"prompts"`
	}
	for _, d := range docs {
		p := prompt{ID: d.ID, Text: d.Text}
		if d.Labelled {
			p.GroundTruth = &truth{Spans: []span{}}
			for _, s := range d.lineSpans(UTF16) {
				p.GroundTruth.Spans = append(p.GroundTruth.Spans, span{s.Text, s.Label, s.Start, s.End})
			}
		}
		file.Prompts = append(file.Prompts, p)
	}
	return writeJSON(w, file)
}

func writeLabelStudio(w io.Writer, docs []Doc) error {
	type data struct {
		ID   string `json:"id"`
		Text string `json:"text"`
	}
	tasks := make([]Task[data], len(docs))
	for i, d := range docs {
		tasks[i] = Task[data]{Data: &data{d.ID, d.Text}, Annotations: []Annotation{}}
		if !d.Labelled {
			continue
		}
		regions := []Region{}
		for k, s := range d.lineSpans(CodePoints) {
			r := Passage("label", s.Start, s.End, s.Text, s.Label)
			r.ID, r.Score = fmt.Sprintf("s%d", k), s.Confidence
			regions = append(regions, r)
		}
		tasks[i].Annotations = append(tasks[i].Annotations, Annotation{Result: regions})
	}
	return WriteTasks(w, tasks)
}

// A Task is a task of Label Studio with its data.
type Task[D any] struct {
	ID          dataset.ID   `json:"id,omitempty"`
	Data        *D           `json:"data"`
	Annotations []Annotation `json:"annotations"`
	// Annotator and Annotation are of the export JSON-MIN, which has the data and the answers of one
	// person beside them.
	Annotator  any `json:"annotator,omitempty"`
	Annotation any `json:"annotation_id,omitempty"`
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
// are code points, those of older versions UTF-16.
type Value struct {
	Start   *int     `json:"start,omitempty"`
	End     *int     `json:"end,omitempty"`
	Text    any      `json:"text,omitempty"`
	Labels  []string `json:"labels,omitempty"`
	Choices []string `json:"choices,omitempty"`
	// Number has all of its digits, which a float64 has not.
	Number jsontext.Value `json:"number,omitempty"`
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
	if slices.ContainsFunc(tasks, func(t Task[D]) bool {
		return t.Data == nil && t.Annotations == nil && t.Annotator != nil && t.Annotation != nil
	}) {
		return nil, fmt.Errorf("%s: an export JSON-MIN of Label Studio, which is not read: export it as JSON", name)
	}
	return tasks, nil
}

// WriteTasks writes tasks that Label Studio imports.
func WriteTasks[D any](w io.Writer, tasks []Task[D]) error {
	return writeJSON(w, tasks)
}
