// Package snapshot reads, writes and summarises snapshots: one JSON file with the
// results of a span labeller and of its judge, in the format of the tool that the
// suite replaces. A study has a snapshot as an arm, and a run exports one; the summary
// is that of the file and of the run's report.
package snapshot

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/scruple-eval/scruple/internal/suites/spans/label"
	"github.com/scruple-eval/scruple/internal/suites/spans/verdict"
)

// A File is a snapshot. What its tool does not know is kept, at every level.
type File struct {
	Timestamp   string         `json:"timestamp"`
	PromptCount int            `json:"promptCount"`
	SourceFile  string         `json:"sourceFile"`
	JudgeModel  string         `json:"judgeModel"`
	Results     []Result       `json:"results"`
	Summary     jsontext.Value `json:"summary,omitempty"` // as it was
	Unknown     jsontext.Value `json:",unknown"`
}

// A Result is the result of one prompt. Offsets of spans are UTF-16 units, as in
// JavaScript, until [Reader.Label] converts them.
type Result struct {
	PromptID    string         `json:"promptId"`
	Input       string         `json:"input"`
	Output      string         `json:"output"`
	SpanCount   int            `json:"spanCount"`
	Spans       []Span         `json:"spans"`
	Meta        jsontext.Value `json:"meta"`
	Metadata    jsontext.Value `json:"metadata,omitempty"`
	JudgeResult jsontext.Value `json:"judgeResult"`
	Error       *string        `json:"error"`
	LatencyMS   float64        `json:"latencyMs"`
	Unknown     jsontext.Value `json:",unknown"`
}

// A Span is a labelled span of a snapshot.
type Span struct {
	Text       string         `json:"text"`
	Role       string         `json:"role"`
	Confidence *float64       `json:"confidence,omitempty"` // nil if the file has none
	Start      int            `json:"start"`
	End        int            `json:"end"`
	Section    string         `json:"section,omitempty"`
	Unknown    jsontext.Value `json:",unknown"`
}

// Text is the text that was labelled: the output of the prompt optimiser, or the
// input if there is none.
func (r *Result) Text() string { return cmp.Or(r.Output, r.Input) }

// A Reader reads results by a study's taxonomy and sections.
type Reader struct {
	Taxonomy  *label.Taxonomy
	Sectioner *label.Sectioner
}

// DefaultReader reads snapshots of video prompts.
func DefaultReader() *Reader {
	t := new(label.Taxonomy)
	errTaxonomy := t.Complete()
	s, errSections := label.NewSectioner(nil)
	if err := errors.Join(errTaxonomy, errSections); err != nil {
		panic("snapshot: " + err.Error()) // the defaults are constants
	}
	return &Reader{Taxonomy: t, Sectioner: s}
}

// Is reports whether a file begins like a snapshot: an object with results or with
// what a snapshot has before them.
func Is(head []byte) bool {
	d := jsontext.NewDecoder(bytes.NewReader(head))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return false
	}
	for {
		name, err := d.ReadToken()
		if err != nil || name.Kind() != '"' {
			return false
		}
		switch name.String() {
		case "results", "judgeModel", "promptCount":
			return true
		}
		if d.SkipValue() != nil {
			return false
		}
	}
}

// Read decodes a snapshot. A key that an object has twice is an error: its values would be
// merged.
func Read(data []byte, name string) (*File, error) {
	f := new(File)
	if err := json.Unmarshal(data, f); err != nil {
		return nil, fmt.Errorf("%s: reading a snapshot: %w", name, err)
	}
	if f.Results == nil {
		return nil, fmt.Errorf("%s: reading a snapshot: there are no results: want timestamp, judgeModel, results and summary", name)
	}
	seen := map[string]bool{}
	for i := range f.Results {
		switch id := f.Results[i].PromptID; {
		case id == "":
			return nil, fmt.Errorf("%s: results[%d] has no promptId", name, i)
		case seen[id]:
			return nil, fmt.Errorf("%s: results[%d]: duplicate promptId %q", name, i, id)
		default:
			seen[id] = true
		}
	}
	return f, nil
}

// Write writes a snapshot that the original tool accepts, with a new summary. What
// was unknown when it was read is written again.
func (f *File) Write(w io.Writer, s *Summary) error {
	out := *f
	var err error
	if out.Summary, err = s.over(f.Summary); err == nil {
		out.PromptCount = len(f.Results)
		err = json.MarshalWrite(w, out, json.Deterministic(true), jsontext.WithIndent("  "))
	}
	if err != nil {
		return fmt.Errorf("writing a snapshot: %w", err)
	}
	_, err = io.WriteString(w, "\n")
	return err
}

// over merges the summary into an earlier one, whose unknown fields are kept.
func (s *Summary) over(was jsontext.Value) (jsontext.Value, error) {
	keys := map[string]jsontext.Value{}
	if was.Kind() == '{' { // anything else is replaced
		if err := json.Unmarshal(was, &keys); err != nil {
			return nil, err
		}
	}
	own, err := json.Marshal(s, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(own, &keys); err != nil {
		return nil, err
	}
	return json.Marshal(keys, json.Deterministic(true))
}

// A State says what is known of a result.
type State string

// The states of a result.
const (
	Judged      State = "judged"
	JudgeFailed State = "judge failed" // recorded as a judgement of zeros
	NotJudged   State = "not judged"   // no judgement
	Errored     State = "error"        // the labeller failed
)

// A Labelled is a text with spans and their judgement, by a taxonomy. Offsets are code
// points.
type Labelled struct {
	ID, Text string
	Spans    []label.Span
	Notes    []string // of spans: realigned, unaligned, else ""
	State    State
	Why      string // the judge or the labeller failed
	Verdict  verdict.Parsed
	source   meta
}

// A meta is what a labeller says of its work.
type meta struct {
	Source      string `json:"source"`
	ClosedVocab int    `json:"closedVocab"`
	OpenVocab   int    `json:"openVocab"`
}

// Label reads a result by the taxonomy.
func (d *Reader) Label(r *Result) Labelled {
	ruler := label.NewRuler(r.Text())
	sections := d.Sectioner.Detect(ruler)
	l := Labelled{ID: r.PromptID, Text: r.Text(), Spans: make([]label.Span, len(r.Spans)), Notes: make([]string, len(r.Spans))}
	if json.Unmarshal(r.Meta, &l.source) != nil {
		l.source = meta{} // of another form: unknown
	}
	for i, s := range r.Spans {
		at := label.Span{Text: s.Text, Role: s.Role, Confidence: label.Unstated, Section: s.Section,
			Start: ruler.Point(s.Start, label.UTF16), End: ruler.Point(s.End, label.UTF16)}
		if s.Confidence != nil {
			at.Confidence = *s.Confidence
		}
		l.Notes[i] = ruler.Place(&at)
		if !slices.Contains(d.Sectioner.Names, at.Section) || l.Notes[i] != "" {
			at.Section = d.Sectioner.Of(sections, at.Start)
		}
		l.Spans[i] = at
	}
	switch {
	case r.Error != nil && *r.Error != "":
		l.State, l.Why = Errored, *r.Error
	case len(r.JudgeResult) == 0 || r.JudgeResult.Kind() == 'n':
		l.State, l.Why = NotJudged, "no judgement"
	default:
		l.State, l.Verdict = Judged, verdict.Recorded(r.JudgeResult, d.Taxonomy, l.Spans)
		if why, failed := l.Verdict.Result.Failure(); failed {
			l.State, l.Why = JudgeFailed, why
		}
	}
	return l
}

// Metadata is what the original tool records of a text: its length, sections and
// spans by section. Offsets are UTF-16.
func (d *Reader) Metadata(text string, spans []label.Span) jsontext.Value {
	r := label.NewRuler(text)
	sections := d.Sectioner.Detect(r)
	ranges, count := map[string]*label.Boundary{}, map[string]int{}
	for i, name := range d.Sectioner.Names {
		ranges[name], count[name] = nil, 0
		if b := sections[i]; b != nil {
			ranges[name] = &label.Boundary{Start: r.In(b.Start, label.UTF16), End: r.In(b.End, label.UTF16)}
		}
	}
	for _, s := range spans {
		count[s.Section]++
	}
	data, err := json.Marshal(struct {
		PromptLength   int                        `json:"promptLength"`
		Sections       map[string]*label.Boundary `json:"sections"`
		SpansBySection map[string]int             `json:"spansBySection"`
	}{r.In(r.Len(), label.UTF16), ranges, count}, json.Deterministic(true))
	if err != nil {
		panic("snapshot: " + err.Error()) // numbers always encode
	}
	return data
}
