package spanfile

import (
	"bytes"
	"cmp"
	"fmt"
	"io"

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

// isSnapshot reports whether a file begins like a snapshot: an object with results or with
// what a snapshot has before them.
func isSnapshot(head []byte) bool {
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

// ReadSnapshot decodes a snapshot. A key that an object has twice is an error: its values would be
// merged.
func ReadSnapshot(data []byte, name string) (*SnapshotFile, error) {
	f := new(SnapshotFile)
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

// Write writes a snapshot that the original tool accepts, with a new summary. What was
// unknown when it was read is written again, also in the summary.
func (f *SnapshotFile) Write(w io.Writer, summary any) error {
	out := *f
	out.PromptCount = len(f.Results)
	keys := map[string]jsontext.Value{}
	if f.Summary.Kind() == '{' { // anything else is replaced
		if err := json.Unmarshal(f.Summary, &keys); err != nil {
			return fmt.Errorf("writing a snapshot: %w", err)
		}
	}
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
