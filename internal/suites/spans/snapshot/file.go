// Package snapshot summarises results of a span labeller and of its judge. A study has a
// snapshot as an arm, and a run exports one; the summary is that of the file and of the
// run's report.
package snapshot

import (
	"errors"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/scruple-eval/scruple/internal/spanfile"
	"github.com/scruple-eval/scruple/internal/suites/spans/label"
	"github.com/scruple-eval/scruple/internal/suites/spans/verdict"
)

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

// A State says what is known of a result.
type State string

// The states of a result.
const (
	Judged      State = "judged"
	JudgeFailed State = "judge failed" // recorded as an error, or as a judgement of zeros
	NotJudged   State = "not judged"   // no judgement
	Errored     State = "error"        // the labeller failed
)

// A Labelled is a text with spans and their judgement, by a taxonomy. Offsets are code
// points.
type Labelled struct {
	ID, Text string
	Cluster  string // of texts that may depend on each other; "" for one of its own
	Spans    []spanfile.Span
	Notes    []string // of spans: realigned, unaligned, else ""
	State    State
	Why      string // the judge or the labeller failed
	Verdict  verdict.Parsed
	source   meta
}

// Unanswered reports whether a judge failed that said nothing to record: the result has an error.
func (l *Labelled) Unanswered() bool { return l.State == JudgeFailed && l.Verdict.Raw == "" }

// A meta is what a labeller says of its work.
type meta struct {
	Version     string `json:"version"`
	Notes       string `json:"notes"`
	Source      string `json:"source"`
	ClosedVocab int    `json:"closedVocab"`
	OpenVocab   int    `json:"openVocab"`
}

// By says which labeller made the spans: a model, or else a list of words. It returns that as
// the meta of a result.
func (l *Labelled) By(labeller string, model bool) jsontext.Value {
	if l.source = (meta{Version: labeller, Source: "nlp", ClosedVocab: len(l.Spans)}); model {
		l.source.Source, l.source.ClosedVocab = "llm", 0
	}
	data, err := json.Marshal(l.source)
	if err != nil {
		panic("snapshot: " + err.Error()) // texts and numbers always encode
	}
	return data
}

// Label reads a result by the taxonomy.
func (d *Reader) Label(r *spanfile.SnapshotResult) Labelled {
	ruler := spanfile.NewRuler(r.Text())
	sections := d.Sectioner.Detect(ruler)
	l := Labelled{ID: r.PromptID, Text: r.Text(), Spans: make([]spanfile.Span, len(r.Spans)), Notes: make([]string, len(r.Spans))}
	if json.Unmarshal(r.Meta, &l.source) != nil {
		l.source = meta{} // of another form: unknown
	}
	for i, s := range r.Spans {
		at := spanfile.Span{Text: s.Text, Role: s.Role, Confidence: spanfile.Unstated, Section: s.Section,
			Start: ruler.Point(s.Start, spanfile.UTF16), End: ruler.Point(s.End, spanfile.UTF16)}
		if s.Confidence != nil {
			at.Confidence = *s.Confidence
		}
		l.Notes[i] = ruler.Place(&at)
		if !slices.Contains(d.Sectioner.Names, at.Section) || l.Notes[i] != "" {
			at.Section = d.Sectioner.Of(sections, at.Start)
		}
		l.Spans[i] = at
	}
	switch labeller, judge := r.Failures(); {
	case labeller != "":
		l.State, l.Why = Errored, labeller
	case judge != "":
		l.State, l.Why = JudgeFailed, judge
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
func (d *Reader) Metadata(text string, spans []spanfile.Span) jsontext.Value {
	r := spanfile.NewRuler(text)
	sections := d.Sectioner.Detect(r)
	ranges, count := map[string]*label.Boundary{}, map[string]int{}
	for i, name := range d.Sectioner.Names {
		ranges[name], count[name] = nil, 0
		if b := sections[i]; b != nil {
			ranges[name] = &label.Boundary{Start: r.In(b.Start, spanfile.UTF16), End: r.In(b.End, spanfile.UTF16)}
		}
	}
	for _, s := range spans {
		count[s.Section]++
	}
	data, err := json.Marshal(struct {
		PromptLength   int                        `json:"promptLength"`
		Sections       map[string]*label.Boundary `json:"sections"`
		SpansBySection map[string]int             `json:"spansBySection"`
	}{r.In(r.Len(), spanfile.UTF16), ranges, count}, json.Deterministic(true))
	if err != nil {
		panic("snapshot: " + err.Error()) // numbers always encode
	}
	return data
}
