// Package snapshot reads, writes, summarises and compares snapshots: one JSON file
// with the results of a span labeller and of its judge, in the format of the tool
// that the suite replaces. A snapshot comes without a run, so the package computes
// the intervals that a run gets from its analysis.
//
// Results are read one by one, so that a snapshot need not fit into memory.
package snapshot

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/scruple-eval/scruple/internal/suites/spans/label"
	"github.com/scruple-eval/scruple/internal/suites/spans/verdict"
)

// A Header is a snapshot without its results.
type Header struct {
	Timestamp   string         `json:"timestamp"`
	PromptCount int            `json:"promptCount"`
	SourceFile  string         `json:"sourceFile"`
	JudgeModel  string         `json:"judgeModel"`
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

// A brief is what a summary needs of a result. It is decoded without the rest in
// half the time, if every part has its usual type.
type brief struct {
	PromptID string                     `json:"promptId"`
	Input    string                     `json:"input"`
	Output   string                     `json:"output"`
	Spans    briefSpans                 `json:"spans"`
	Meta     meta                       `json:"meta"`
	Metadata kept                       `json:"metadata"`
	Sections map[string]*label.Boundary `json:"sections"`
	Judge    *verdict.Result            `json:"judgeResult"`
	Error    *string                    `json:"error"`

	raw jsontext.Value // of the judgement, if Judge is nil
}

// kept is the metadata of a result.
type kept struct {
	Sections map[string]*label.Boundary `json:"sections"`
}

// A meta is what a labeller says of its work.
type meta struct {
	Source      string `json:"source"`
	ClosedVocab int    `json:"closedVocab"`
	OpenVocab   int    `json:"openVocab"`
}

// Text is the text that was labelled: the output of the prompt optimiser, or the
// input if there is none.
func (r *Result) Text() string { return cmp.Or(r.Output, r.Input) }

// A Reader reads results by a study's taxonomy and sections.
type Reader struct {
	Taxonomy  *label.Taxonomy
	Sectioner *label.Sectioner
	Offsets   label.Unit // of spans; "" means UTF-16
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

// Open opens a file, which may be compressed with gzip.
func Open(path string) (io.ReadCloser, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening spans: %w", err)
	}
	r, err := Unpack(f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return struct {
		io.Reader
		io.Closer
	}{r, f}, nil
}

// Unpack unpacks what is compressed with gzip.
func Unpack(r io.Reader) (io.Reader, error) {
	b := bufio.NewReaderSize(r, 1<<18)
	if magic, _ := b.Peek(2); string(magic) != "\x1f\x8b" { // too short is not compressed
		return b, nil
	}
	z, err := gzip.NewReader(b)
	if err != nil {
		return nil, fmt.Errorf("unpacking: %w", err)
	}
	return z, nil
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

// batch is the number of results that are decoded together.
const batch = 64

// Each reads a snapshot and visits every result in order, already decoded. Results
// are decoded by several goroutines; prepare is called in one of them, and its
// value given to visit.
func Each[T any](r io.Reader, name string, prepare func(*Result) T, visit func(index int, value T) error) (*Header, error) {
	return read(r, name, decodeResult, prepare, visit)
}

func read[R, T any](r io.Reader, name string, decode func([]byte) (R, error), prepare func(R) T, visit func(index int, value T) error) (*Header, error) {
	d := jsontext.NewDecoder(r)
	fail := func(what string, err error) error { return fmt.Errorf("%s: reading %s: %w", name, what, err) }
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return nil, fail("a snapshot", cmp.Or(err, errors.New("want a JSON object with results")))
	}
	rest := map[string]jsontext.Value{}
	found := false
	for {
		key, err := d.ReadToken()
		if err != nil {
			return nil, fail("a snapshot", err)
		}
		if key.Kind() == '}' {
			break
		}
		field := key.String()
		if _, ok := rest[field]; ok || found && field == "results" {
			return nil, fail("a snapshot", fmt.Errorf("duplicate key %q: want each key once", field))
		}
		if field != "results" {
			value, err := d.ReadValue()
			if err != nil {
				return nil, fail(field, err)
			}
			rest[field] = value.Clone()
			continue
		}
		found = true
		if t, err := d.ReadToken(); err != nil || t.Kind() != '[' {
			return nil, fail("results", cmp.Or(err, errors.New("want a list")))
		}
		all := bufio.NewReaderSize(io.MultiReader(bytes.NewReader(bytes.Clone(d.UnreadBuffer())), r), 1<<18)
		if err := each(&splitter{all, true}, name, decode, prepare, visit); err != nil {
			return nil, err
		}
		// The rest of the object, as an object of its own.
		c, err := (&splitter{r: all}).skip()
		if err != nil {
			return nil, fail("a snapshot", err)
		}
		r = all
		switch c {
		case ',':
			r = io.MultiReader(strings.NewReader("{"), all)
		case '}':
			r = io.MultiReader(strings.NewReader("{}"), all)
		default:
			return nil, fail("a snapshot", errors.New("want a comma or the end of the object after results"))
		}
		d = jsontext.NewDecoder(r)
		if _, err := d.ReadToken(); err != nil {
			return nil, fail("a snapshot", err)
		}
	}
	switch _, err := d.ReadToken(); {
	case err == nil:
		return nil, fail("a snapshot", errors.New("there is more after its end: want one JSON object in a file"))
	case !errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fail("what follows the snapshot", err)
	}
	if !found {
		return nil, fail("a snapshot", errors.New("there are no results: want timestamp, judgeModel, results and summary"))
	}
	data, err := json.Marshal(rest, json.Deterministic(true))
	if err != nil {
		return nil, fail("a snapshot", err)
	}
	h := new(Header)
	if err := json.Unmarshal(data, h); err != nil {
		return nil, fail("a snapshot", err)
	}
	return h, nil
}

// A work is a batch of results: raw, then decoded.
type work[T any] struct {
	first  int
	raw    []byte // of all, one after the other
	ends   []int
	values []T
	err    error
	done   chan struct{}
}

func each[R, T any](in *splitter, name string, decode func([]byte) (R, error), prepare func(R) T, visit func(int, T) error) error {
	workers := runtime.GOMAXPROCS(0)
	todo, order := make(chan *work[T], workers), make(chan *work[T], 2*workers)
	for range workers {
		go func() {
			for w := range todo {
				w.err = decodeAll(w, name, decode, prepare)
				close(w.done)
			}
		}()
	}
	finished := make(chan error, 1)
	stop := make(chan struct{})
	go func() {
		var failed error
		for w := range order {
			<-w.done
			if failed != nil {
				continue
			}
			for i, v := range w.values {
				if failed = visit(w.first+i, v); failed != nil {
					break
				}
			}
			if failed = cmp.Or(failed, w.err); failed != nil {
				close(stop)
			}
		}
		finished <- failed
	}()
	read := func() error {
		for n := 0; ; {
			w := &work[T]{first: n, done: make(chan struct{})}
			done := false
			for len(w.ends) < batch {
				var err error
				w.raw, err = in.next(w.raw)
				if done = errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF); done {
					break
				}
				if err != nil {
					return fmt.Errorf("%s: reading results[%d]: %w", name, n, err)
				}
				w.ends = append(w.ends, len(w.raw))
				n++
			}
			if len(w.ends) == 0 {
				return nil
			}
			select {
			case <-stop:
				return nil
			case order <- w:
				todo <- w
			}
			if done {
				return nil
			}
		}
	}
	err := read()
	close(todo)
	close(order)
	return cmp.Or(<-finished, err)
}

func decodeAll[R, T any](w *work[T], name string, decode func([]byte) (R, error), prepare func(R) T) error {
	start := 0
	for i, end := range w.ends {
		r, err := decode(w.raw[start:end])
		if err != nil {
			return fmt.Errorf("%s: results[%d]: %w", name, w.first+i, err)
		}
		w.values = append(w.values, prepare(r))
		start = end
	}
	w.raw = nil
	return nil
}

// decodeResult decodes a whole result.
func decodeResult(data []byte) (*Result, error) {
	r := new(Result)
	return r, json.Unmarshal(data, r)
}

// decodeBrief decodes what a summary needs, or the whole result if a part has
// another type than usual.
func decodeBrief(data []byte) (*brief, error) {
	b := new(brief)
	if err := json.Unmarshal(data, b); err == nil && (b.Judge == nil || b.Judge.Complete()) {
		return b, nil
	}
	r, err := decodeResult(data)
	if err != nil {
		return nil, err
	}
	return r.brief(), nil
}

// A File is a snapshot in memory.
type File struct {
	Header
	Results []Result
}

// Read reads a whole snapshot.
func Read(r io.Reader, name string) (*File, error) {
	f := new(File)
	h, err := Each(r, name, func(r *Result) Result { return *r }, func(_ int, r Result) error {
		f.Results = append(f.Results, r)
		return nil
	})
	if err != nil {
		return nil, err
	}
	f.Header = *h
	return f, nil
}

// Write writes a snapshot that the original tool accepts, with a new summary. What
// was unknown when it was read is written again.
func (f *File) Write(w io.Writer, s *Summary) error {
	summary, err := s.over(f.Summary)
	if err != nil {
		return fmt.Errorf("writing a snapshot: %w", err)
	}
	out := struct {
		Timestamp   string         `json:"timestamp"`
		PromptCount int            `json:"promptCount"`
		SourceFile  string         `json:"sourceFile"`
		JudgeModel  string         `json:"judgeModel"`
		Results     []Result       `json:"results"`
		Summary     jsontext.Value `json:"summary"`
		Unknown     jsontext.Value `json:",unknown"`
	}{f.Timestamp, len(f.Results), f.SourceFile, f.JudgeModel, f.Results, summary, f.Unknown}
	if err := json.MarshalWrite(w, out, json.Deterministic(true), jsontext.WithIndent("  ")); err != nil {
		return fmt.Errorf("writing a snapshot: %w", err)
	}
	_, err = io.WriteString(w, "\n")
	return err
}

// over merges the summary into an earlier one, whose unknown fields are kept.
func (s *Summary) over(was jsontext.Value) (jsontext.Value, error) {
	keys := map[string]jsontext.Value{}
	if len(was) > 0 {
		_ = json.Unmarshal(was, &keys) // a summary that is not an object is replaced
	}
	own, err := json.Marshal(s, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	if keys == nil {
		keys = map[string]jsontext.Value{}
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

// A Labelled is a result by a taxonomy: spans with offsets in code points and
// sections, and the judgement.
type Labelled struct {
	Spans    []label.Span
	Notes    []string // of spans: realigned, unaligned, else ""
	Sections label.Sections
	State    State
	Why      string // the judge or the labeller failed
	Verdict  verdict.Parsed
	Known    bool // the sections were recorded
}

// Label reads a result by the taxonomy.
func (d *Reader) Label(r *Result) Labelled { return d.label(r.brief()) }

func (d *Reader) label(r *brief) Labelled {
	ruler := label.NewRuler(r.text())
	l := Labelled{Sections: d.recorded(r, ruler)}
	l.Known = l.Sections != nil
	if !l.Known {
		l.Sections = d.Sectioner.Detect(ruler)
	}
	l.Spans, l.Notes = make([]label.Span, len(r.Spans)), make([]string, len(r.Spans))
	unit := cmp.Or(d.Offsets, label.UTF16)
	for i, s := range r.Spans {
		at := label.Span{Text: s.Text, Role: s.Role, Confidence: s.Confidence, Section: s.Section, Start: ruler.Point(s.Start, unit), End: ruler.Point(s.End, unit)}
		l.Notes[i] = ruler.Place(&at)
		if !slices.Contains(d.Sectioner.Names, at.Section) || l.Notes[i] != "" {
			at.Section = d.Sectioner.Of(l.Sections, at.Start)
		}
		l.Spans[i] = at
	}
	switch {
	case r.Error != nil && *r.Error != "":
		l.State, l.Why = Errored, *r.Error
	case r.Judge == nil && (len(r.raw) == 0 || r.raw.Kind() == 'n'):
		l.State, l.Why = NotJudged, "no judgement"
	default:
		if r.Judge != nil {
			l.Verdict = verdict.Taken(r.Judge, d.Taxonomy, l.Spans)
		} else {
			l.Verdict = verdict.Recorded(r.raw, d.Taxonomy, l.Spans)
		}
		if why, failed := l.Verdict.Result.Failure(); failed {
			l.State, l.Why = JudgeFailed, why
		} else {
			l.State = Judged
		}
	}
	return l
}

// brief is the part of a result that labels and summaries need. What has another
// type than usual counts as missing.
func (r *Result) brief() *brief {
	b := &brief{PromptID: r.PromptID, Input: r.Input, Output: r.Output, raw: r.JudgeResult, Error: r.Error}
	for _, s := range r.Spans {
		b.Spans = append(b.Spans, s.brief())
	}
	if json.Unmarshal(r.Meta, &b.Meta) != nil {
		b.Meta = meta{}
	}
	if json.Unmarshal(r.Metadata, &b.Metadata) != nil {
		b.Metadata = kept{}
	}
	var beside kept
	if json.Unmarshal(r.Unknown, &beside) == nil {
		b.Sections = beside.Sections
	}
	return b
}

func (b *brief) text() string { return cmp.Or(b.Output, b.Input) }

// recorded are the sections of a result, as the original tool recorded them in its
// metadata or beside it; nil if it did not.
func (d *Reader) recorded(r *brief, ruler *label.Ruler) label.Sections {
	raw := r.Metadata.Sections
	if raw == nil {
		raw = r.Sections
	}
	if raw == nil {
		return nil
	}
	found := make(label.Sections, len(d.Sectioner.Names))
	for i, name := range d.Sectioner.Names {
		b := raw[name]
		if b == nil {
			continue
		}
		at := label.Boundary{Start: ruler.Point(b.Start, label.UTF16), End: ruler.Point(b.End, label.UTF16)}
		if at.Start < 0 || at.End < at.Start {
			return nil
		}
		found[i] = &at
	}
	if found[0] == nil {
		return nil
	}
	return found
}

// Metadata is what the original tool records of a text: its length, sections and
// spans by section. Offsets are UTF-16.
func (d *Reader) Metadata(text string, spans []label.Span, sections label.Sections) jsontext.Value {
	r := label.NewRuler(text)
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
