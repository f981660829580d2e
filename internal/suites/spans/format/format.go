// Package format reads and writes labelled texts in the formats of other tools:
// golden sets and snapshots of video prompts, WNUT17, Label Studio, Prodigy, CoNLL
// files, and JSON Lines of the suite's own.
//
// It knows files, not studies: a role that no taxonomy has is read like any other.
package format

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/measure/span"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/suites/spans/label"
	"github.com/scruple-eval/scruple/internal/suites/spans/snapshot"
	"github.com/scruple-eval/scruple/internal/text"
)

// The formats.
const (
	JSONL       = "jsonl"       // one text per line: id, text, spans
	Prompts     = "prompts"     // golden set or prompts of the original tool
	Snapshot    = "snapshot"    // results of the original tool
	WNUT17      = "wnut17"      // tokens, gold and the submissions of several systems
	LabelStudio = "labelstudio" // JSON export
	Prodigy     = "prodigy"     // JSON Lines export of ner or spans
	CoNLL       = "conll"       // a token and its tag per line
)

// A Doc is a labelled text.
type Doc struct {
	ID, Text              string
	Group, Cluster, Split string
	Line                  int // in the file; 0 if unknown
	Spans                 []label.Span
	Labelled              bool // spans were given, if only an empty list
	Realigned, Unaligned  int
	Tags                  []string // of the tokens, in tagged formats
	Tokens                []string
	Failed                string           // why there are no spans
	Result                *snapshot.Result // of a snapshot
}

// Options say how to read a file.
type Options struct {
	Name    string     // of the file, for errors
	Offsets label.Unit // of spans; "" is the format's own
	System  string     // of a WNUT17 file: read its spans instead of gold
}

// A Data is a file that was read.
type Data struct {
	Format   string
	Docs     []Doc
	Snapshot *snapshot.File
	Warnings []string // about data that look wrong but are legal
}

// Read reads a file of any format, which is known by its content. The file may be
// compressed with gzip. The error joins all errors, with their lines.
func Read(path string, o Options) (*Data, error) {
	data, err := dataset.ReadFile(path)
	if err != nil {
		return nil, err
	}
	o.Name = cmp.Or(o.Name, path)
	return ReadFrom(bytes.NewReader(data), o)
}

// ReadFrom is [Read] for an open file.
func ReadFrom(r io.Reader, o Options) (*Data, error) {
	data, err := io.ReadAll(r)
	if err == nil {
		data, err = dataset.Unpack(data)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: reading: %w", o.Name, err)
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("%s is not UTF-8: save it as UTF-8", o.Name)
	}
	d := &reader{Options: o, data: &Data{}, raw: data, ids: map[string]int{}, made: map[string]int{}}
	switch start := bytes.TrimLeft(data, " \t\r\n"); {
	case len(start) == 0:
		return nil, fmt.Errorf("%s is empty: want labelled texts", o.Name)
	case start[0] == '[':
		err = d.list(start)
	case start[0] != '{':
		err = d.tagged(data)
	case snapshot.Is(start[:min(len(start), 1<<16)]):
		err = d.snapshot(start)
	case wholeObject(start):
		err = d.prompts(start)
	default:
		err = d.lines(data)
	}
	if err = errors.Join(append(d.errs, err)...); err != nil {
		return nil, err
	}
	if len(d.data.Docs) == 0 {
		return nil, fmt.Errorf("%s has no texts", o.Name)
	}
	d.warn()
	return d.data, nil
}

type reader struct {
	Options
	data *Data
	raw  []byte
	errs []error
	ids  map[string]int // place in the file
	made map[string]int // ids of texts without one

}

func (d *reader) fail(line int, format string, args ...any) {
	at := d.Name
	if line > 0 {
		at += ":" + strconv.Itoa(line)
	}
	d.errs = append(d.errs, fmt.Errorf("%s: %w", at, fmt.Errorf(format, args...)))
}

// wholeObject reports whether a text is one JSON object over several lines that
// has prompts.
func wholeObject(data []byte) bool {
	d := json.NewDecoder(bytes.NewReader(data))
	var keys map[string]json.RawMessage
	if d.Decode(&keys) != nil {
		return false
	}
	_, ok := keys["prompts"]
	return ok && !d.More()
}

// wireSpan is a span in any of the formats.
type wireSpan struct {
	Text       *string  `json:"text"`
	Start      *int     `json:"start"`
	End        *int     `json:"end"`
	Label      string   `json:"label"`
	Role       string   `json:"role"`
	Confidence *float64 `json:"confidence"`
}

// add places the spans of a text and adds it. Spans are in units of the format
// unless the options say otherwise.
func (d *reader) add(doc Doc, spans []wireSpan, unit label.Unit) {
	where := doc.Line
	if doc.ID == "" {
		doc.ID = kit.ContentID(d.made, "t", doc.Text)
	}
	if doc.Text == "" && doc.Failed == "" {
		d.fail(where, "text %s: the text is missing", doc.ID)
		return
	}
	if first, ok := d.ids[doc.ID]; ok {
		d.fail(where, "duplicate id %q: also text %d of the file", doc.ID, first)
		return
	}
	d.ids[doc.ID] = len(d.data.Docs) + 1
	ruler := label.NewRuler(doc.Text)
	unit = cmp.Or(d.Offsets, unit)
	for i, w := range spans {
		role := cmp.Or(w.Role, w.Label)
		s := label.Span{Role: role, Confidence: label.Unstated, Start: -1, End: -1}
		if role == "" {
			d.fail(where, "text %s: spans[%d] has no label", doc.ID, i)
			continue
		}
		if w.Text != nil {
			s.Text = *w.Text
		}
		if w.Confidence != nil {
			s.Confidence = *w.Confidence
			if !s.Stated() {
				d.fail(where, "text %s: spans[%d]: confidence %v: want 0 to 1", doc.ID, i, s.Confidence)
				continue
			}
		}
		var note string
		if w.Start == nil || w.End == nil {
			if s.Text == "" {
				d.fail(where, "text %s: spans[%d] has neither start and end nor text", doc.ID, i)
				continue
			}
			note = ruler.Find(&s, doc.Spans)
		} else {
			s.Start, s.End = ruler.Point(*w.Start, unit), ruler.Point(*w.End, unit)
			if s.Text == "" && (s.Start < 0 || s.End <= s.Start) {
				d.fail(where, "text %s: spans[%d] from %d to %d is not a range of the text, which has %d %s", doc.ID, i, *w.Start, *w.End,
					ruler.In(ruler.Len(), unit), strings.ReplaceAll(string(cmp.Or(unit, label.CodePoints)), "_", " "))
				continue
			}
			note = ruler.Place(&s)
		}
		switch note {
		case label.Realigned:
			doc.Realigned++
		case label.Unaligned:
			doc.Unaligned++
		}
		doc.Spans = append(doc.Spans, s)
	}
	d.data.Docs = append(d.data.Docs, doc)
}

func (d *reader) warn() {
	realigned, unaligned := 0, 0
	for i := range d.data.Docs {
		realigned += d.data.Docs[i].Realigned
		unaligned += d.data.Docs[i].Unaligned
	}
	if realigned > 0 {
		d.data.Warnings = append(d.data.Warnings, fmt.Sprintf("%s: %s realigned: the text is not at the offsets; check the unit of offsets", d.Name, text.Plural(realigned, "span was", "spans were")))
	}
	if unaligned > 0 {
		d.data.Warnings = append(d.data.Warnings, fmt.Sprintf("%s: %s not in the text", d.Name, text.Plural(unaligned, "span is", "spans are")))
	}
}

// wireLine is a line of JSON Lines: the suite's own, Prodigy's or WNUT17's.
type wireLine struct {
	ID      json.RawMessage `json:"id"`
	Text    string          `json:"text"`
	Input   string          `json:"input"`
	Spans   *[]wireSpan     `json:"spans"`
	Group   string          `json:"group"`
	Cluster string          `json:"cluster"`
	Split   string          `json:"split"`
	// Prodigy
	InputHash *int64  `json:"_input_hash"`
	TaskHash  *int64  `json:"_task_hash"`
	Answer    *string `json:"answer"`
	// WNUT17
	Tokens   json.RawMessage `json:"tokens"`
	GoldTags []string        `json:"gold_tags"`
	Gold     *[]wireSpan     `json:"gold"`
	Systems  map[string]struct {
		Tags  []string   `json:"tags"`
		Spans []wireSpan `json:"spans"`
	} `json:"systems"`
}

func idOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw) // a number
}

func (d *reader) lines(data []byte) error {
	d.data.Format = JSONL
	skipped := 0
	for i, line := range bytes.Split(data, []byte("\n")) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var w wireLine
		if err := dataset.DecodeLoose(line, &w); err != nil {
			d.fail(i+1, "%w", err)
			continue
		}
		doc := Doc{ID: idOf(w.ID), Text: cmp.Or(w.Text, w.Input), Group: w.Group, Cluster: w.Cluster, Split: w.Split, Line: i + 1}
		if doc.Split != "" && doc.Split != "dev" && doc.Split != "test" {
			d.fail(i+1, "text %s: split %q: want dev or test", doc.ID, doc.Split)
			continue
		}
		unit := label.CodePoints
		switch {
		case w.Gold != nil && w.Systems != nil:
			d.data.Format = WNUT17
			if err := json.Unmarshal(w.Tokens, &doc.Tokens); err != nil {
				d.fail(i+1, "text %s: tokens: want a list of texts", doc.ID)
				continue
			}
			spans := *w.Gold
			doc.Tags = w.GoldTags
			if d.System != "" {
				s, ok := w.Systems[d.System]
				if !ok {
					d.fail(i+1, "text %s has no system %q", doc.ID, d.System)
					continue
				}
				spans, doc.Tags = s.Spans, s.Tags
			}
			doc.Labelled = true
			d.add(doc, spans, unit)
			continue
		case w.InputHash != nil || w.Answer != nil:
			d.data.Format = Prodigy
			if w.Answer != nil && *w.Answer != "accept" {
				skipped++
				continue
			}
			if doc.ID == "" && w.TaskHash != nil {
				doc.ID = strconv.FormatInt(*w.TaskHash, 10)
			}
		}
		if d.System != "" {
			return fmt.Errorf("%s: only a WNUT17 file has systems: remove the name %q", d.Name, d.System)
		}
		var spans []wireSpan
		if w.Spans != nil {
			spans, doc.Labelled = *w.Spans, true
		}
		d.add(doc, spans, unit)
	}
	if skipped > 0 {
		d.data.Warnings = append(d.data.Warnings, fmt.Sprintf("%s: %s rejected or ignored by the annotator, and skipped", d.Name, text.Plural(skipped, "text was", "texts were")))
	}
	return nil
}

// prompts reads a golden set, or prompts without labels.
func (d *reader) prompts(data []byte) error {
	d.data.Format = Prompts
	var file struct {
		Metadata struct {
			Category string `json:"category"`
		} `json:"metadata"`
		Prompts []struct {
			ID          string `json:"id"`
			Text        string `json:"text"`
			Input       string `json:"input"`
			Output      string `json:"output"`
			Error       string `json:"error"`
			GroundTruth *struct {
				Spans []wireSpan `json:"spans"`
			} `json:"groundTruth"`
		} `json:"prompts"`
	}
	if err := dataset.DecodeLoose(data, &file); err != nil {
		return fmt.Errorf("%s: reading prompts: %w", d.Name, err)
	}
	failed := 0
	for _, p := range file.Prompts {
		doc := Doc{ID: p.ID, Text: cmp.Or(p.Text, p.Output), Group: file.Metadata.Category}
		if doc.Text == "" && p.Error != "" {
			failed++
			continue
		}
		doc.Text = cmp.Or(doc.Text, p.Input)
		var spans []wireSpan
		if p.GroundTruth != nil {
			spans, doc.Labelled = p.GroundTruth.Spans, true
		}
		d.add(doc, spans, label.UTF16)
	}
	if failed > 0 {
		d.data.Warnings = append(d.data.Warnings, fmt.Sprintf("%s: %s no text, only an error, and skipped", d.Name, text.Plural(failed, "prompt has", "prompts have")))
	}
	return nil
}

func (d *reader) snapshot(data []byte) error {
	f, err := snapshot.Read(data, d.Name)
	if err != nil {
		return err
	}
	d.data.Format, d.data.Snapshot = Snapshot, f
	for i := range f.Results {
		r := &f.Results[i]
		doc := Doc{ID: r.PromptID, Text: r.Text(), Labelled: true, Result: r}
		if r.Error != nil {
			doc.Failed = *r.Error
		}
		spans := make([]wireSpan, len(r.Spans))
		for k := range r.Spans {
			s := &r.Spans[k]
			spans[k] = wireSpan{Text: &s.Text, Start: &s.Start, End: &s.End, Role: s.Role, Confidence: s.Confidence}
		}
		d.add(doc, spans, label.UTF16)
	}
	return nil
}

// list reads an export of Label Studio: tasks with annotations, of which the first
// that was not cancelled counts. Other lists are lists of the records of JSON
// Lines.
func (d *reader) list(data []byte) error {
	var tasks []json.RawMessage
	if err := dataset.DecodeLoose(data, &tasks); err != nil {
		return fmt.Errorf("%s: reading a list: %w", d.Name, err)
	}
	several := 0
	for i, raw := range tasks {
		var task struct {
			ID   json.RawMessage `json:"id"`
			Data *struct {
				ID   json.RawMessage `json:"id"`
				Text string          `json:"text"`
			} `json:"data"`
			Annotations []struct {
				Cancelled bool             `json:"was_cancelled"`
				Result    []labelStudioTag `json:"result"`
			} `json:"annotations"`
		}
		if err := dataset.DecodeLoose(raw, &task); err != nil {
			d.fail(0, "record %d of the list: %w", i+1, err)
			continue
		}
		if task.Data == nil {
			d.data.Format = ""
			break
		}
		d.data.Format = LabelStudio
		id := idOf(task.ID)
		if len(task.Data.ID) > 0 && string(task.Data.ID) != "null" {
			id = idOf(task.Data.ID)
		}
		doc := Doc{ID: id, Text: task.Data.Text}
		var spans []wireSpan
		for _, a := range task.Annotations {
			if a.Cancelled {
				continue
			}
			if doc.Labelled {
				several++
				break
			}
			doc.Labelled = true
			for _, r := range a.Result {
				if r.Type == "labels" && len(r.Value.Labels) > 0 {
					spans = append(spans, wireSpan{Text: r.Value.Text, Start: r.Value.Start, End: r.Value.End, Label: r.Value.Labels[0], Confidence: r.Score})
				}
			}
		}
		d.add(doc, spans, label.UTF16)
	}
	if several > 0 {
		d.data.Warnings = append(d.data.Warnings, fmt.Sprintf("%s: %s several annotations: the first counts", d.Name, text.Plural(several, "task has", "tasks have")))
	}
	if d.data.Format == LabelStudio {
		return nil
	}
	var lines bytes.Buffer
	for _, raw := range tasks {
		if err := json.Compact(&lines, raw); err != nil {
			return fmt.Errorf("%s: %w", d.Name, err)
		}
		lines.WriteByte('\n')
	}
	return d.lines(lines.Bytes())
}

// A labelStudioTag is one region of a Label Studio annotation.
type labelStudioTag struct {
	ID       string           `json:"id,omitempty"`
	FromName string           `json:"from_name"`
	ToName   string           `json:"to_name"`
	Type     string           `json:"type"`
	Score    *float64         `json:"score,omitempty"`
	Value    labelStudioValue `json:"value"`
}

type labelStudioValue struct {
	Start  *int     `json:"start"`
	End    *int     `json:"end"`
	Text   *string  `json:"text,omitempty"`
	Labels []string `json:"labels"`
}

func (d *reader) tagged(data []byte) error {
	d.data.Format = CoNLL
	sentences, err := span.ReadCoNLL(bytes.NewReader(data), d.Name)
	if err != nil {
		return err
	}
	for _, s := range sentences {
		doc := Doc{Line: s.Line, Labelled: true, Tokens: s.Tokens, Tags: s.Tags}
		chunks, err := span.Chunks(s.Tags)
		if err != nil {
			d.fail(s.Line, "%w", err)
			continue
		}
		text, spans := Join(s.Tokens, chunks)
		doc.ID, doc.Text, doc.Spans = kit.ContentID(d.made, "s", text), text, spans
		d.data.Docs = append(d.data.Docs, doc)
	}
	return nil
}

// Join joins tokens with blanks, and converts spans of tokens to spans of the text.
func Join(tokens []string, chunks []span.Span) (string, []label.Span) {
	joined := strings.Join(tokens, " ")
	start := make([]int, len(tokens))
	at := 0
	for i, t := range tokens {
		start[i] = at
		at += utf8.RuneCountInString(t) + 1
	}
	var spans []label.Span
	for _, c := range chunks {
		last := c.End - 1
		spans = append(spans, label.Span{Text: strings.Join(tokens[c.Start:c.End], " "), Role: c.Label, Confidence: label.Unstated,
			Start: start[c.Start], End: start[last] + utf8.RuneCountInString(tokens[last])})
	}
	return joined, spans
}

// Writers write labelled texts by format.
var Writers = map[string]func(w io.Writer, docs []Doc) error{
	JSONL: byLine(lineOf), Prodigy: byLine(prodigyOf), WNUT17: byLine(wnutOf), CoNLL: writeCoNLL,
	Prompts: whole(promptsOf), LabelStudio: whole(tasksOf),
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

// whole is a format of one JSON value.
func whole(of func([]Doc) any) func(io.Writer, []Doc) error {
	return func(w io.Writer, docs []Doc) error {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		e.SetIndent("", " ")
		return e.Encode(of(docs))
	}
}

type lineSpan struct {
	Start      int      `json:"start"`
	End        int      `json:"end"`
	Label      string   `json:"label"`
	Text       string   `json:"text"`
	Confidence *float64 `json:"confidence,omitempty"`
}

func lineSpans(spans []label.Span, convert func(int) int) []lineSpan {
	out := []lineSpan{}
	for _, s := range spans {
		if !s.Placed() {
			continue // no format but our own snapshots has a span without a place
		}
		l := lineSpan{Start: convert(s.Start), End: convert(s.End), Label: s.Role, Text: s.Text}
		if s.Stated() {
			l.Confidence = &s.Confidence
		}
		out = append(out, l)
	}
	return out
}

func same(i int) int { return i }

func lineOf(d *Doc) any {
	var spans *[]lineSpan
	if d.Labelled {
		list := lineSpans(d.Spans, same)
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

// promptsOf is a golden set, with offsets in UTF-16 as in the original.
func promptsOf(docs []Doc) any {
	type goldSpan struct {
		Text  string `json:"text"`
		Role  string `json:"role"`
		Start int    `json:"start"`
		End   int    `json:"end"`
	}
	type truth struct {
		Spans []goldSpan `json:"spans"`
	}
	type prompt struct {
		ID          string `json:"id"`
		Text        string `json:"text"`
		GroundTruth *truth `json:"groundTruth,omitempty"`
	}
	var file struct {
		Prompts []prompt `json:"prompts"`
	}
	for i := range docs {
		d := &docs[i]
		r := label.NewRuler(d.Text)
		p := prompt{ID: d.ID, Text: d.Text}
		if d.Labelled {
			p.GroundTruth = &truth{Spans: []goldSpan{}}
			for _, s := range d.Spans {
				if s.Placed() {
					p.GroundTruth.Spans = append(p.GroundTruth.Spans, goldSpan{s.Text, s.Role, r.In(s.Start, label.UTF16), r.In(s.End, label.UTF16)})
				}
			}
		}
		file.Prompts = append(file.Prompts, p)
	}
	return file
}

// tasksOf are tasks that Label Studio imports, with its offsets.
func tasksOf(docs []Doc) any {
	type annotation struct {
		Result []labelStudioTag `json:"result"`
	}
	type task struct {
		Data struct {
			ID   string `json:"id"`
			Text string `json:"text"`
		} `json:"data"`
		Annotations []annotation `json:"annotations"`
	}
	tasks := make([]task, len(docs))
	for i := range docs {
		d, t := &docs[i], &tasks[i]
		t.Data.ID, t.Data.Text = d.ID, d.Text
		t.Annotations = []annotation{}
		if !d.Labelled {
			continue
		}
		r := label.NewRuler(d.Text)
		a := annotation{Result: []labelStudioTag{}}
		for k, s := range lineSpans(d.Spans, func(p int) int { return r.In(p, label.UTF16) }) {
			a.Result = append(a.Result, labelStudioTag{ID: fmt.Sprintf("s%d", k), FromName: "label", ToName: "text", Type: "labels", Score: s.Confidence,
				Value: labelStudioValue{Start: &s.Start, End: &s.End, Text: &s.Text, Labels: []string{s.Label}}})
		}
		t.Annotations = append(t.Annotations, a)
	}
	return tasks
}

// prodigyOf is an example that Prodigy imports. Prodigy adds its own hashes.
func prodigyOf(d *Doc) any {
	return struct {
		ID     string     `json:"id"`
		Text   string     `json:"text"`
		Spans  []lineSpan `json:"spans"`
		Answer string     `json:"answer"`
	}{d.ID, d.Text, lineSpans(d.Spans, same), "accept"}
}

// bio returns the tokens that blanks separate, with BIO tags. A span is widened to
// whole tokens; of overlapping spans the first counts.
func bio(d *Doc) (tokens, tags []string) {
	tokens, starts, ends := tokenize(d.Text)
	var spans []span.Span
	for _, s := range d.Spans {
		c := span.Span{Start: -1, Label: s.Role}
		for k := range tokens {
			if s.Placed() && starts[k] < s.End && ends[k] > s.Start {
				if c.Start < 0 {
					c.Start = k
				}
				c.End = k + 1
			}
		}
		if c.Start >= 0 {
			spans = append(spans, c)
		}
	}
	tags, _ = span.Tags(len(tokens), spans)
	return tokens, tags
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
	}{d.ID, d.Text, tokens, tags, lineSpans(d.Spans, same), map[string]any{}}
}

// writeCoNLL writes the tokens of each text with BIO tags.
func writeCoNLL(w io.Writer, docs []Doc) error {
	b := bufio.NewWriter(w)
	for i := range docs {
		d := &docs[i]
		if i > 0 {
			b.WriteByte('\n')
		}
		tokens, tags := bio(d)
		for k, t := range tokens {
			fmt.Fprintf(b, "%s\t%s\n", t, tags[k])
		}
	}
	return b.Flush()
}

// tokenize splits a text at white space, with offsets in code points.
func tokenize(s string) (tokens []string, starts, ends []int) {
	r := label.NewRuler(s)
	at := 0
	for token := range strings.FieldsSeq(s) {
		at += strings.Index(s[at:], token)
		tokens = append(tokens, token)
		starts = append(starts, r.Point(at, label.Bytes))
		at += len(token)
		ends = append(ends, r.Point(at, label.Bytes))
	}
	return tokens, starts, ends
}
