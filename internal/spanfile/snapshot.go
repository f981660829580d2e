package spanfile

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A SnapshotFile is a snapshot: the results of a span labeller and of its judge. What its tool does not know is kept, at every level.
type SnapshotFile struct {
	Timestamp   string           `json:"timestamp"`
	PromptCount int              `json:"promptCount"`
	SourceFile  string           `json:"sourceFile"`
	JudgeModel  string           `json:"judgeModel"`
	Results     []SnapshotResult `json:"results"`
	Summary     jsontext.Value   `json:"summary,omitempty"` // as it was
	Unknown     jsontext.Value   `json:",unknown"`
}

// A SnapshotResult is the result of one prompt. Offsets of spans are UTF-16 units, as in
// JavaScript.
type SnapshotResult struct {
	PromptID    string         `json:"promptId"`
	Input       string         `json:"input"`
	Output      string         `json:"output"`
	SpanCount   int            `json:"spanCount"`
	Spans       []SnapshotSpan `json:"spans"`
	Meta        jsontext.Value `json:"meta"`
	Metadata    jsontext.Value `json:"metadata,omitempty"`
	JudgeResult jsontext.Value `json:"judgeResult"`
	Error       *string        `json:"error"`
	LatencyMS   float64        `json:"latencyMs"`
	Unknown     jsontext.Value `json:",unknown"`
}

// A SnapshotSpan is a labelled span of a snapshot.
type SnapshotSpan struct {
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
func (r *SnapshotResult) Text() string { return cmp.Or(r.Output, r.Input) }

// JudgeFailed begins an error that is the judge's: the labeller has answered.
const JudgeFailed = "Judge failed: "

// FailJudge records that there is no judgement, and why.
func (r *SnapshotResult) FailJudge(why string) { r.Error = new(JudgeFailed + why) }

// Failures says why the labeller failed, or else why the judge did.
func (r *SnapshotResult) Failures() (labeller, judge string) {
	if r.Error == nil {
		return "", ""
	}
	if why, ok := strings.CutPrefix(*r.Error, JudgeFailed); ok && r.Spans != nil {
		return "", why
	}
	return *r.Error, ""
}

// ReadSnapshot decodes a snapshot. A key that an object has twice is an error: its values would be
// merged.
func ReadSnapshot(data []byte, name string) (*SnapshotFile, error) {
	var all []SnapshotResult
	f, err := readSnapshot(data, name, func(r *SnapshotResult, _ jsontext.Value) { all = append(all, *r) })
	if err == nil {
		f.Results = append(f.Results, all...)
	}
	return f, err
}

// readSnapshot gives each result to a function, with its part of the data, and keeps none: decoded,
// a result takes several times the memory.
func readSnapshot(data []byte, name string, each func(*SnapshotResult, jsontext.Value)) (*SnapshotFile, error) {
	f, seen := new(SnapshotFile), map[string]bool{}
	var wrong error
	results := func(d *jsontext.Decoder, to *[]SnapshotResult) error {
		if d.PeekKind() != '[' {
			return json.SkipFunc // null, or an error
		}
		_, err := d.ReadToken()
		for *to = []SnapshotResult{}; err == nil && d.PeekKind() != ']'; {
			var r SnapshotResult
			before := bytes.TrimLeft(data[d.InputOffset():], ", \t\r\n")
			from := int64(len(data) - len(before))
			if err = json.UnmarshalDecode(d, &r); err != nil {
				break
			}
			switch id := r.PromptID; {
			case wrong != nil:
			case id == "":
				wrong = fmt.Errorf("%s: results[%d] has no promptId", name, len(seen))
			case seen[id]:
				wrong = fmt.Errorf("%s: results[%d]: duplicate promptId %q", name, len(seen), id)
			default:
				seen[id] = true
				each(&r, data[from:d.InputOffset()])
			}
		}
		if err == nil {
			_, err = d.ReadToken()
		}
		return err
	}
	err := json.UnmarshalRead(bytes.NewBuffer(data), f, json.WithUnmarshalers(json.UnmarshalFromFunc(results)))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: reading a snapshot: %w", name, err)
	case wrong != nil:
		return nil, wrong
	case f.Results == nil:
		return nil, fmt.Errorf("%s: reading a snapshot: there are no results: want timestamp, judgeModel, results and summary", name)
	}
	return f, nil
}

// Recorded decodes the result of a snapshot; nil for a text of another file.
func (d *Doc) Recorded() *SnapshotResult {
	if d == nil || d.Result == nil {
		return nil
	}
	r := new(SnapshotResult)
	if err := json.Unmarshal(d.Result, r); err != nil {
		panic("spanfile: " + err.Error()) // it was decoded when the file was read
	}
	return r
}

// Write writes a snapshot that the original tool accepts, with a new summary. What was
// unknown when it was read is written again, also in the summary.
func (f *SnapshotFile) Write(w io.Writer, summary any) error {
	out := *f
	out.PromptCount = len(f.Results)
	var keys map[string]jsontext.Value
	_ = json.Unmarshal(f.Summary, &keys) // anything but an object is replaced
	own, err := json.Marshal(summary, json.Deterministic(true))
	if err == nil {
		err = json.Unmarshal(own, &keys)
	}
	if err == nil {
		out.Summary, err = json.Marshal(keys, json.Deterministic(true))
	}
	if err == nil {
		err = json.MarshalWrite(w, out, json.Deterministic(true), jsontext.WithIndent("  "))
	}
	if err != nil {
		return fmt.Errorf("writing a snapshot: %w", err)
	}
	_, err = io.WriteString(w, "\n")
	return err
}
