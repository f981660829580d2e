// Package verdict has the structured result of a judge of span labelling: its
// types, the JSON Schema made from them, the prompt, and a parser that reads any
// answer. Field names in JSON are those of the snapshots of the original tool.
//
// The package makes no calls and computes no statistics.
package verdict

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/spanfile"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/suites/spans/label"
)

// The range of a score, and of the total.
const (
	LeastScore = 1
	MostScore  = 5
	MostTotal  = 25
)

// Scores are the five scores of a judgement, from 1 to 5; all 0 in a judgement
// that failed.
type Scores struct {
	Coverage       float64 `json:"coverage"`
	Precision      float64 `json:"precision"`
	Granularity    float64 `json:"granularity"`
	Taxonomy       float64 `json:"taxonomy"`
	TechnicalSpecs float64 `json:"technicalSpecs"`
}

// Criteria are the names of the five scores in JSON.
var Criteria = [5]string{"coverage", "precision", "granularity", "taxonomy", "technicalSpecs"}

// List returns the scores in the order of [Criteria].
func (s Scores) List() [5]float64 {
	return [5]float64{s.Coverage, s.Precision, s.Granularity, s.Taxonomy, s.TechnicalSpecs}
}

// Total is the sum of the scores.
func (s Scores) Total() float64 {
	return s.Coverage + s.Precision + s.Granularity + s.Taxonomy + s.TechnicalSpecs
}

// A Missed is an element of the text that has no span.
type Missed struct {
	Text         string `json:"text"`
	ExpectedRole string `json:"expectedRole"`
	Category     string `json:"category"`
	Severity     string `json:"severity"`
}

// A FalsePositive is a span that should not be there.
type FalsePositive struct {
	SpanIndex    Index  `json:"spanIndex"`
	Text         string `json:"text"`
	AssignedRole string `json:"assignedRole"`
	Reason       string `json:"reason"`
}

// A Confusion is a span with the wrong role.
type Confusion struct {
	SpanIndex    Index  `json:"spanIndex"`
	Text         string `json:"text"`
	AssignedRole string `json:"assignedRole"`
	ExpectedRole string `json:"expectedRole"`
}

// A Granularity is a span with wrong borders.
type Granularity struct {
	SpanIndex  Index  `json:"spanIndex"`
	Text       string `json:"text"`
	Issue      string `json:"issue"`
	Suggestion string `json:"suggestion"`
}

// UnmarshalJSON reads an index that is missing as unknown.
func (f *FalsePositive) UnmarshalJSON(data []byte) error {
	type plain FalsePositive
	*f = FalsePositive{SpanIndex: -1}
	return json.Unmarshal(data, (*plain)(f))
}

// UnmarshalJSON reads an index that is missing as unknown.
func (c *Confusion) UnmarshalJSON(data []byte) error {
	type plain Confusion
	*c = Confusion{SpanIndex: -1}
	return json.Unmarshal(data, (*plain)(c))
}

// UnmarshalJSON does the same, and reads the key reason, which real judges use for the issue.
func (g *Granularity) UnmarshalJSON(data []byte) error {
	type plain Granularity
	w := struct {
		plain
		Reason string `json:"reason"`
	}{plain: plain{SpanIndex: -1}}
	err := json.Unmarshal(data, &w)
	*g = Granularity(w.plain)
	g.Issue = cmp.Or(g.Issue, w.Reason)
	return err
}

// An Index is that of a span, from 0: a whole number, which some judges write as 2.0 or "2".
// Anything else is -1, unknown: as 0 the error would count for the first span.
type Index int

// UnmarshalJSON never fails.
func (i *Index) UnmarshalJSON(data []byte) error {
	n, err := strconv.ParseFloat(strings.Trim(string(data), `"`), 64)
	if *i = -1; err == nil && n == math.Trunc(n) && math.Abs(n) < 1e9 {
		*i = Index(n)
	}
	return nil
}

// A CategoryScore has two scores from 1 to 5.
type CategoryScore struct {
	Coverage  float64 `json:"coverage"`
	Precision float64 `json:"precision"`
}

func (c *CategoryScore) valid() bool {
	return c == nil || c.Coverage >= LeastScore && c.Coverage <= MostScore && c.Precision >= LeastScore && c.Precision <= MostScore
}

// A Result is a judgement.
type Result struct {
	Scores            Scores                    `json:"scores"`
	TotalScore        float64                   `json:"totalScore"`
	MissedElements    []Missed                  `json:"missedElements"`
	FalsePositives    []FalsePositive           `json:"falsePositives"`
	TaxonomyErrors    []Confusion               `json:"taxonomyErrors"`
	GranularityErrors []Granularity             `json:"granularityErrors"`
	CategoryScores    map[string]*CategoryScore `json:"categoryScores"` // nil for a category that the text does not have
	Notes             string                    `json:"notes"`
	// Step is how a recorded judgement was read, if it was not valid as written. No judge sets it.
	Step Step `json:"parseStep,omitempty" jsonschema:"-"`
	// Lost names the lists of errors that are not all of what the judge found: they were
	// missing from its answer, cut off, or could not be read in part. No judge sets it.
	Lost []string `json:"lostLists,omitempty" jsonschema:"-"`
}

// The lists of errors, by their names in JSON.
const (
	listMissed      = "missedElements"
	listFalse       = "falsePositives"
	listTaxonomy    = "taxonomyErrors"
	listGranularity = "granularityErrors"
)

// spanLists are those of errors that concern a span, in the order of [Kinds].
var spanLists = [3]string{listFalse, listTaxonomy, listGranularity}

// Why errors that the judge found are unknown.
const (
	lostList = "the judge's list of errors is not complete"
	noSpan   = "the judge does not say which span has an error"
)

// UnknownMissed is why not all missed elements that the judge found are known, "" if they are.
func (r *Result) UnknownMissed() string { return r.lost(listMissed) }

// Unknown is why not all errors of a kind that the judge found, in the order of [Kinds], are known
// with their span, "" if they are. An error of any span may be one of every span.
func (r *Result) Unknown(kind int) string {
	if why := r.lost(spanLists[kind]); why != "" {
		return why
	}
	if r.Unplaced(kind) > 0 {
		return noSpan
	}
	return ""
}

// UnknownSpans is the same of the errors of every kind: without one, a span is right.
func (r *Result) UnknownSpans() string {
	return cmp.Or(r.Unknown(0), r.Unknown(1), r.Unknown(2))
}

// Unplaced counts the errors of a kind whose span is unknown.
func (r *Result) Unplaced(of int) (n int) {
	r.ofSpans(func(kind, _ int, index *Index, _ string) {
		if kind == of && *index < 0 {
			n++
		}
	})
	return n
}

func (r *Result) lost(list string) string {
	if slices.Contains(r.Lost, list) {
		return lostList
	}
	return ""
}

// lose marks a list of errors as incomplete.
func (r *Result) lose(list string) {
	if !slices.Contains(r.Lost, list) {
		r.Lost = append(r.Lost, list)
	}
}

// Empty is the result without scores and errors.
func Empty() Result {
	return Result{MissedElements: []Missed{}, FalsePositives: []FalsePositive{}, TaxonomyErrors: []Confusion{}, GranularityErrors: []Granularity{},
		CategoryScores: map[string]*CategoryScore{}}
}

// Entries counts the errors of all kinds.
func (r *Result) Entries() int {
	return len(r.MissedElements) + len(r.FalsePositives) + len(r.TaxonomyErrors) + len(r.GranularityErrors)
}

// Kinds lists the kinds of error that concern a span.
var Kinds = [3]string{"false_positive", "taxonomy", "granularity"}

// Flags has the kinds of error of each span as bits, in the order of [Kinds].
func (r *Result) Flags(spans int) []uint8 {
	flags := make([]uint8, spans)
	r.ofSpans(func(kind, _ int, index *Index, _ string) {
		if *index >= 0 && int(*index) < spans {
			flags[*index] |= 1 << kind
		}
	})
	return flags
}

// ofSpans visits the errors that concern a span: the place of their kind in [Kinds], their own
// in the list, their index, and their text.
func (r *Result) ofSpans(visit func(kind, i int, index *Index, text string)) {
	for i := range r.FalsePositives {
		visit(0, i, &r.FalsePositives[i].SpanIndex, r.FalsePositives[i].Text)
	}
	for i := range r.TaxonomyErrors {
		visit(1, i, &r.TaxonomyErrors[i].SpanIndex, r.TaxonomyErrors[i].Text)
	}
	for i := range r.GranularityErrors {
		visit(2, i, &r.GranularityErrors[i].SpanIndex, r.GranularityErrors[i].Text)
	}
}

// Countable reports whether a confusion has two different roles, and an expected one that the
// taxonomy knows. Others are kept, but are not among the most frequent.
func Countable(c Confusion, t *label.Taxonomy) bool {
	return t.Known(c.ExpectedRole) && t.Canonical(c.AssignedRole) != t.Canonical(c.ExpectedRole)
}

// failureNotes are how notes of a recorded judgement say that there was none.
var failureNotes = []string{"judge failed", "judge error", "api error", "did not match expected", "no json", "timed out", "timeout", "rate limit", "429"}

// Failure reports why a recorded judgement is invalid: all its scores are 0, which no
// judge can give, it has no errors, and its notes name a failure or are empty. A
// zero with errors or with other notes is what a judge said.
func (r *Result) Failure() (reason string, failed bool) {
	if r.Scores != (Scores{}) || r.TotalScore != 0 || r.Entries() > 0 {
		return "", false
	}
	notes := strings.TrimSpace(r.Notes)
	if notes == "" {
		return "no judgement", true
	}
	lower := strings.ToLower(notes)
	for _, n := range failureNotes {
		if strings.Contains(lower, n) {
			return notes, true
		}
	}
	return "", false
}

// lineBreaks keeps a span on one line.
var lineBreaks = strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ")

// FormatSpans lists spans for the judge: [i] 'text' (role, 0.95), or [i] 'text' (role)
// without a stated confidence.
func FormatSpans(spans []spanfile.Span) string {
	var b strings.Builder
	for i, s := range spans {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "[%d] '%s' (%s", i, lineBreaks.Replace(s.Text), lineBreaks.Replace(s.Role))
		if s.Stated() {
			b.WriteString(", " + fixed2(s.Confidence))
		}
		b.WriteByte(')')
	}
	return b.String()
}

// fixed2 formats as toFixed(2) of JavaScript, which rounds ties up. A tie is an odd
// number of eighths: no other third decimal of 5 is exact in binary.
func fixed2(x float64) string {
	if eighths := 8 * x; eighths == math.Floor(eighths) && math.Mod(eighths, 2) == 1 {
		x += 0.001
	}
	return fmt.Sprintf("%.2f", x)
}

// Encode is the result as JSON, with keys in a fixed order.
func (r *Result) Encode() []byte { return kit.JSON(r) } // the parser gives no NaN
