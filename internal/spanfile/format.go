package spanfile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/measure/span"
	"github.com/scruple-eval/scruple/internal/table"
	"github.com/scruple-eval/scruple/internal/text"
)

// The formats.
const (
	JSONL       = "jsonl"       // one text per line: id, text, spans
	Prompts     = "prompts"     // golden set or prompts of the tool for video prompts
	Snapshot    = "snapshot"    // results of the same tool
	WNUT17      = "wnut17"      // tokens, gold and the submissions of several systems
	LabelStudio = "labelstudio" // JSON export
	Prodigy     = "prodigy"     // JSON Lines export of ner or spans
	CoNLL       = "conll"       // a token and its tag per line
)

// A Format is a format that texts can be written in.
type Format struct {
	Name, Extension string
	Read, Written   string // what a file has, for help
	Write           func(w io.Writer, docs []Doc) error
}

// Formats lists the formats that can be written. Snapshots have more than texts.
var Formats = []Format{
	{JSONL, ".jsonl", "", "", byLine(lineOf)},
	{Prompts, ".json", "golden set or prompts of the video prompt tool: {\"prompts\": [{\"id\", \"text\", \"groundTruth\"}]}", "a golden set", writePrompts},
	{WNUT17, ".jsonl", "WNUT17, one sentence per line: id, tokens, gold, systems", "sentences as of WNUT17, with the spans as gold", byLine(wnutOf)},
	{LabelStudio, ".json", "JSON export of Label Studio: the first annotation of each task", "tasks for Label Studio", writeLabelStudio},
	{Prodigy, ".jsonl", "JSON Lines export of Prodigy: ner.manual or spans.manual", "examples for Prodigy", byLine(prodigyOf)},
	{CoNLL, ".conll", "CoNLL file: a token and its tag per line (BIO, BIOES, IOB1)", "BIO tags of the words", writeCoNLL},
}

// A Doc is a labelled text.
type Doc struct {
	ID, Text              string // an id is "" if the file has none
	Group, Cluster, Split string
	Line                  int // in the file; 0 if unknown
	Spans                 []Span
	Labelled              bool // spans were given, if only an empty list
	Realigned, Unaligned  int
	Tokens, Tags          []string       // in tagged formats
	Other                 []string       // tags of the second-last column of a CoNLL file with three
	Failed                string         // why there are no spans
	Result                jsontext.Value // of a snapshot, as the file has it; see Recorded
}

// Options say how to read a file.
type Options struct {
	Name    string // of the file, for errors
	Offsets Unit   // of spans; "" is the format's own
	System  string // of a WNUT17 file: read its spans instead of gold
	Tagged  bool   // the file is a CoNLL file, however it begins
}

// A Data is a file that was read.
type Data struct {
	Format   string
	Docs     []Doc
	Snapshot *SnapshotFile
	Warnings []string // about data that look wrong but are legal
}

// ReadFrom is [Parse] for an open file.
func ReadFrom(r io.Reader, o Options) (*Data, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("%s: reading: %w", o.Name, err)
	}
	return Parse(data, o)
}

// Parse reads the content of a file of any format, which is known by it, and which must not
// change. It may be compressed with gzip. The error joins all errors, with their lines.
func Parse(data []byte, o Options) (*Data, error) {
	data, err := dataset.Unpack(data)
	if err != nil {
		return nil, fmt.Errorf("%s: reading: %w", o.Name, err)
	}
	if data, err = o.text(data); err != nil {
		return nil, err
	}
	data = unfenced(data)
	d := &reader{Options: o, data: &Data{}, ids: map[string]int{}}
	switch start := bytes.TrimLeft(data, " \t\r\n"); {
	case len(start) == 0:
		return nil, fmt.Errorf("%s is empty: want labelled texts", o.Name)
	case o.Tagged || start[0] != '[' && start[0] != '{':
		err = d.tagged(data)
	case start[0] == '[':
		err = d.list(start)
	case hasKey(start[:min(len(start), 1<<16)], "results", "judgeModel", "promptCount"): // before large ones
		err = d.snapshot(start)
	case hasKey(start, "prompts"):
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
	realigned, unaligned := 0, 0
	for i := range d.data.Docs {
		realigned += d.data.Docs[i].Realigned
		unaligned += d.data.Docs[i].Unaligned
	}
	d.warn(realigned, "span was", "spans were", "realigned: the text is not at the offsets; check the unit of offsets")
	d.warn(unaligned, "span is", "spans are", "not in the text")
	return d.data, nil
}

// unfenced is what a file has that is a reply of a model: JSON in a code fence. Lines keep their
// numbers.
func unfenced(data []byte) []byte {
	start := bytes.TrimLeft(data, " \t\r\n")
	if !bytes.HasPrefix(start, []byte("```")) {
		return data
	}
	for _, language := range []string{"json", "jsonl"} {
		if code, ok := text.CodeOf(string(start), language); ok {
			return append(bytes.Repeat([]byte("\n"), bytes.Count(data[:len(data)-len(start)], []byte("\n"))+1), code...)
		}
	}
	return data
}

// text is the content of a file as text. A workbook, CSV by its name, and TSV that is not CoNLL are
// JSON Lines.
func (o Options) text(data []byte) ([]byte, error) {
	named := func(ending string) bool {
		return strings.HasSuffix(strings.TrimSuffix(strings.ToLower(o.Name), ".gz"), ending)
	}
	if o.Tagged || !bytes.HasPrefix(data, []byte("PK\x03\x04")) && !named(".csv") {
		plain, err := dataset.Text(o.Name, data)
		if err != nil || o.Tagged || !named(".tsv") || !hasHeader(plain) {
			return plain, err
		}
	}
	t, err := table.Parse(o.Name, "", data)
	if err != nil {
		return nil, err
	}
	return t.Lines(table.Texts{Names: []string{"id", "group", "cluster", "split"}, Verbatim: "text", Keys: []string{"group", "cluster", "split"}})
}

// hasHeader reports whether the first line has a column of texts and is not a token with its tag.
func hasHeader(data []byte) bool {
	line, _, _ := bytes.Cut(bytes.TrimLeft(data, "\r\n"), []byte("\n"))
	cells := strings.Split(strings.TrimRight(string(line), "\r"), "\t")
	return slices.Contains(cells, "text") && span.CheckTag(cells[len(cells)-1]) != nil
}

// Unlabelled is an error about the texts without a list of spans: it is not known that they have none.
func (d *Data) Unlabelled(file string) error {
	var first *Doc
	n := 0
	for i := range d.Docs {
		if doc := &d.Docs[i]; !doc.Labelled && doc.Failed == "" {
			first, n = cmp.Or(first, doc), n+1
		}
	}
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%s: text %q has no list \"spans\" (%s): write it, [] for no spans, or remove the text", first.At(file), first.ID, text.Plural(n, "such text", "such texts"))
}

type reader struct {
	Options
	data *Data
	errs []error
	ids  map[string]int // place in the file
}

func (d *reader) fail(line int, format string, args ...any) {
	d.errs = append(d.errs, fmt.Errorf("%s: %w", (&Doc{Line: line}).At(d.Name), fmt.Errorf(format, args...)))
}

// At names the place of a text in its file: FILE:LINE, if its line is known.
func (d *Doc) At(file string) string {
	if d.Line > 0 {
		file += ":" + strconv.Itoa(d.Line)
	}
	return file
}

func (d *reader) warn(n int, one, many, what string) {
	if n > 0 {
		d.data.Warnings = append(d.data.Warnings, fmt.Sprintf("%s: %s %s", d.Name, text.Plural(n, one, many), what))
	}
}

// hasKey reports whether a text begins with a JSON object that has one of the keys.
func hasKey(data []byte, keys ...string) bool {
	d := jsontext.NewDecoder(bytes.NewReader(data))
	_, err := d.ReadToken() // {
	for err == nil && d.PeekKind() == '"' {
		name, _ := d.ReadToken()
		if slices.Contains(keys, name.String()) {
			return true
		}
		err = d.SkipValue()
	}
	return false
}

// wireSpan is a span in any of the formats.
type wireSpan struct {
	Text       string   `json:"text"`
	Start      *int     `json:"start"`
	End        *int     `json:"end"`
	Label      string   `json:"label"`
	Role       string   `json:"role"`
	Confidence *float64 `json:"confidence"`
}

// add places the spans of a text and adds it; it is labelled if it has a list of them. Spans are in
// units of the format unless the options say otherwise.
func (d *reader) add(doc Doc, spans []wireSpan, unit Unit) {
	if doc.Text == "" && doc.Failed == "" {
		d.fail(doc.Line, "text %s: the text is missing", doc.ID)
		return
	}
	if first, ok := d.ids[doc.ID]; ok && doc.ID != "" {
		d.fail(doc.Line, "duplicate id %q: also text %d of the file", doc.ID, first)
		return
	}
	d.ids[doc.ID] = len(d.data.Docs) + 1
	doc.Labelled = doc.Labelled || spans != nil
	ruler := NewRuler(doc.Text)
	for i, w := range spans {
		s, note, err := w.place(ruler, cmp.Or(d.Offsets, unit), doc.Spans)
		if err != nil {
			d.fail(doc.Line, "text %s: spans[%d]%w", doc.ID, i, err)
			continue
		}
		switch note {
		case Realigned:
			doc.Realigned++
		case Unaligned:
			doc.Unaligned++
		}
		doc.Spans = append(doc.Spans, s)
	}
	d.data.Docs = append(d.data.Docs, doc)
}

// place finds a span in its text, behind earlier ones if it has no offsets.
func (w *wireSpan) place(ruler *Ruler, unit Unit, earlier []Span) (s Span, note string, err error) {
	s = Span{Text: w.Text, Role: cmp.Or(w.Role, w.Label), Confidence: Unstated, Start: -1, End: -1}
	if w.Confidence != nil {
		s.Confidence = *w.Confidence
	}
	switch {
	case s.Role == "":
		return s, "", errors.New(" has no label")
	case w.Confidence != nil && !s.Stated():
		return s, "", fmt.Errorf(": confidence %v: want 0 to 1", s.Confidence)
	case w.Start != nil && w.End != nil:
		s.Start, s.End = ruler.Point(*w.Start, unit), ruler.Point(*w.End, unit)
		if s.Text == "" && (s.Start < 0 || s.End <= s.Start) {
			return s, "", fmt.Errorf(" from %d to %d is not a range of the text, which has %d %s", *w.Start, *w.End,
				ruler.In(ruler.Len(), unit), strings.ReplaceAll(string(cmp.Or(unit, CodePoints)), "_", " "))
		}
		note = ruler.Place(&s)
		return s, note, nil
	case s.Text == "":
		return s, "", errors.New(" has neither start and end nor text")
	}
	note = ruler.Find(&s, earlier)
	return s, note, nil
}

// wireLine is a line of JSON Lines: the suite's own, Prodigy's or WNUT17's.
type wireLine struct {
	ID      dataset.ID `json:"id"`
	Text    string     `json:"text"`
	Input   string     `json:"input"`
	Spans   []wireSpan `json:"spans"`
	Group   string     `json:"group"`
	Cluster string     `json:"cluster"`
	Split   string     `json:"split"`
	// Prodigy
	InputHash *int64  `json:"_input_hash"`
	TaskHash  *int64  `json:"_task_hash"`
	Answer    *string `json:"answer"`
	// WNUT17
	Tokens   json.RawMessage `json:"tokens"`
	GoldTags []string        `json:"gold_tags"`
	Gold     []wireSpan      `json:"gold"`
	Systems  map[string]struct {
		Tags  []string   `json:"tags"`
		Spans []wireSpan `json:"spans"`
	} `json:"systems"`
	Others map[string]jsontext.Value `json:",inline"`
}

// misspelled finds a member that the line has under the name of one that it lacks but for case,
// separators or an s at the end: more would find words of their own, such as customer for cluster.
// Spans have other names in doccano and in the short export of Label Studio.
func (w *wireLine) misspelled() (name, meant string) {
	plain := func(s string) string { return strings.TrimSuffix(table.Letters(s), "s") }
	others := slices.Sorted(maps.Keys(w.Others))
	for _, other := range others {
		var list []jsontext.Value
		if w.Spans == nil && slices.Contains([]string{"label", "entitie"}, plain(other)) && json.Unmarshal(w.Others[other], &list) == nil && len(list) > 0 && strings.ContainsRune("[{", rune(list[0].Kind())) {
			return other, "spans"
		}
	}
	for _, own := range []struct {
		name  string
		lacks bool
	}{{"id", w.ID == ""}, {"spans", w.Spans == nil}, {"group", w.Group == ""}, {"cluster", w.Cluster == ""}, {"split", w.Split == ""}} {
		if i := slices.IndexFunc(others, func(other string) bool { return own.lacks && plain(other) == plain(own.name) }); i >= 0 {
			return others[i], own.name
		}
	}
	return "", ""
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
		doc := Doc{ID: string(w.ID), Text: cmp.Or(w.Text, w.Input), Group: w.Group, Cluster: w.Cluster, Split: w.Split, Line: i + 1}
		if doc.Split != "" && doc.Split != "dev" && doc.Split != "test" {
			d.fail(i+1, "text %s: split %q: want dev or test", doc.ID, doc.Split)
			continue
		}
		var err error
		switch {
		case w.Gold != nil && w.Systems != nil:
			d.data.Format = WNUT17
			err = d.wnut(&w, &doc)
		case d.System != "":
			return fmt.Errorf("%s: only a WNUT17 file has systems: remove the name %q", d.Name, d.System)
		case w.InputHash != nil || w.Answer != nil:
			d.data.Format = Prodigy
			if w.Answer != nil && *w.Answer != "accept" {
				skipped++
				continue
			}
			if doc.ID == "" && w.TaskHash != nil {
				doc.ID = strconv.FormatInt(*w.TaskHash, 10)
			}
		default:
			if name, meant := w.misspelled(); name != "" {
				err := fmt.Errorf("%s: %q is not %q: rename it", doc.At(d.Name), name, meant)
				if meant == "spans" {
					err = fmt.Errorf(`%w, and write {"start", "end", "label"} for each`, err)
				}
				return err
			}
		}
		if err != nil {
			d.fail(i+1, "text %s%w", doc.ID, err)
			continue
		}
		d.add(doc, w.Spans, CodePoints)
	}
	d.warn(skipped, "text was", "texts were", "rejected or ignored by the annotator, and skipped")
	return nil
}

// wnut takes the spans and tags of gold or a system.
func (d *reader) wnut(w *wireLine, doc *Doc) error {
	if err := json.Unmarshal(w.Tokens, &doc.Tokens); err != nil {
		return errors.New(": tokens: want a list of texts")
	}
	w.Spans, doc.Tags = w.Gold, w.GoldTags
	if d.System != "" {
		s, ok := w.Systems[d.System]
		if !ok {
			return fmt.Errorf(" has no system %q", d.System)
		}
		w.Spans, doc.Tags = s.Spans, s.Tags
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
			GroundTruth struct {
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
		d.add(doc, p.GroundTruth.Spans, UTF16)
	}
	d.warn(failed, "prompt has", "prompts have", "no text, only an error, and skipped")
	return nil
}

func (d *reader) snapshot(data []byte) (err error) {
	d.data.Format = Snapshot
	d.data.Snapshot, err = readSnapshot(data, d.Name, func(r *SnapshotResult, raw jsontext.Value) {
		doc := Doc{ID: r.PromptID, Text: r.Text(), Labelled: r.Spans != nil, Result: raw}
		doc.Failed, _ = r.Failures()
		var spans []wireSpan
		for _, s := range r.Spans {
			spans = append(spans, wireSpan{Text: s.Text, Start: &s.Start, End: &s.End, Role: s.Role, Confidence: s.Confidence})
		}
		d.add(doc, spans, UTF16)
	})
	return err
}

// studioData are the data of a task of Label Studio.
type studioData struct {
	ID   dataset.ID `json:"id,omitempty"`
	Text string     `json:"text"`
}

// studioUnit is what offsets count, by the texts of regions: in newer versions of Label Studio code
// points, in older ones UTF-16. It is "" where no region tells: code points.
func studioUnit(tasks []Task[studioData]) Unit {
	more := 0 // regions that have their text by code points alone, less those by UTF-16 alone
	for _, task := range tasks {
		ruler := NewRuler(task.Data.Text)
		for _, a := range task.Annotations {
			for _, r := range a.Result {
				passage, _ := r.Value.Text.(string)
				if passage == "" || r.Value.Start == nil || r.Value.End == nil {
					continue
				}
				fits := func(u Unit) bool { return SameAsShown(passage, ruler.slice(r.Value, u)) }
				if points, utf16 := fits(CodePoints), fits(UTF16); points && !utf16 {
					more++
				} else if utf16 && !points {
					more--
				}
			}
		}
	}
	switch {
	case more > 0:
		return CodePoints
	case more < 0:
		return UTF16
	}
	return ""
}

// SameAsShown reports whether the text of a region of Label Studio is that at its offsets: Label
// Studio takes it from the page, where runs of white space are one space, and writes line ends as
// the characters \n.
func SameAsShown(region, at string) bool {
	plain := func(s string) string { return strings.Join(strings.Fields(strings.ReplaceAll(s, `\n`, " ")), " ") }
	return region == at || plain(region) == plain(at)
}

// slice is the text at the offsets of a region, "" if they are none of the text.
func (r *Ruler) slice(v Value, u Unit) string {
	if v.Start == nil || v.End == nil {
		return ""
	}
	return r.Slice(r.Point(*v.Start, u), r.Point(*v.End, u))
}

// list reads an export of Label Studio: tasks with annotations, of which the first
// that was not cancelled counts. Other lists are lists of the records of JSON
// Lines.
func (d *reader) list(data []byte) error {
	tasks, err := ReadTasks[studioData](data, d.Name)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(tasks, func(t Task[studioData]) bool { return t.Data == nil }) {
		var records []json.RawMessage
		var lines bytes.Buffer
		if err = dataset.DecodeLoose(data, &records); err == nil {
			err = dataset.EncodeLines(records)(&lines)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", d.Name, err)
		}
		return d.lines(lines.Bytes())
	}
	d.data.Format = LabelStudio
	unit := studioUnit(tasks)
	several, others, labels, unannotated, unsure, shown, otherwise := 0, 0, 0, 0, 0, 0, 0
	for _, task := range tasks {
		doc := Doc{ID: string(cmp.Or(task.Data.ID, task.ID)), Text: task.Data.Text}
		made := slices.DeleteFunc(task.Annotations, func(a Annotation) bool { return a.Cancelled })
		var spans []wireSpan
		if doc.Labelled = len(made) > 0 && made[0].Result != nil; doc.Labelled {
			ruler := NewRuler(doc.Text)
			for _, r := range made[0].Result {
				v := r.Value
				if r.Type != "labels" || len(v.Labels) == 0 {
					others++
					continue
				}
				passage, _ := v.Text.(string)
				if len(v.Labels) > 1 {
					labels++
				}
				if passage == "" && cmp.Or(d.Offsets, unit) == "" && strings.ContainsFunc(doc.Text, func(r rune) bool { return r > 0xffff }) {
					unsure++
				}
				switch at := ruler.slice(v, cmp.Or(d.Offsets, unit)); {
				case passage == "" || passage == at || at == "":
				case SameAsShown(passage, at):
					passage, shown = at, shown+1
				case strings.Contains(at, passage) || !strings.Contains(doc.Text, passage): // else it moved
					passage, otherwise = at, otherwise+1
				}
				spans = append(spans, wireSpan{Text: passage, Start: v.Start, End: v.End, Label: v.Labels[0], Confidence: r.Score})
			}
		}
		if len(made) == 0 {
			unannotated++
		} else if len(made) > 1 {
			several++
		}
		d.add(doc, spans, cmp.Or(unit, CodePoints))
	}
	if unit == UTF16 && d.Offsets == "" {
		d.data.Warnings = append(d.data.Warnings, d.Name+": offsets count UTF-16, as those of older versions of Label Studio do: the texts of regions are there")
	}
	d.warn(shown, "region has", "regions have", "other white space than the text, as Label Studio writes it: the offsets count")
	d.warn(otherwise, "region has", "regions have", "another text than the document at the offsets, which count: check that they are of this text")
	d.warn(several, "task has", "tasks have", "several annotations: the first counts")
	d.warn(others, "region is no labelled passage", "regions are not labelled passages", "and left out")
	d.warn(labels, "region has", "regions have", "several labels: the first counts")
	if unannotated < len(tasks) { // else they are texts alone
		d.warn(unannotated, "task has no annotation: its spans are", "tasks have no annotation: their spans are", "unknown")
	}
	d.warn(unsure, "region has", "regions have", "no text and offsets beside characters beyond U+FFFF: they are taken as code points, older versions of Label Studio count UTF-16: a study that reads the export itself takes them so with `offsets: utf16`")
	return nil
}
