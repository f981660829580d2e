package spanfile

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/scruple-eval/scruple/internal/dataset"
)

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
		list := d.lineSpans(CodePoints)
		spans = &list
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
	tokens, tags := bio(d)
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
		for k, s := range d.lineSpans(UTF16) {
			r := Passage("label", s.Start, s.End, s.Text, s.Label)
			r.ID, r.Score = fmt.Sprintf("s%d", k), s.Confidence
			regions = append(regions, r)
		}
		tasks[i].Annotations = append(tasks[i].Annotations, Annotation{Result: regions})
	}
	return WriteTasks(w, tasks)
}
