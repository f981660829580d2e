package snapshot

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/measure"
	"github.com/scruple-eval/scruple/internal/spanfile"
	"github.com/scruple-eval/scruple/internal/suites/spans/label"
	"github.com/scruple-eval/scruple/internal/suites/spans/verdict"
	"github.com/scruple-eval/scruple/internal/text"
	"github.com/scruple-eval/scruple/stats"
)

// A Summary has the fields of the original tool, and below them what it lacked.
type Summary struct {
	AvgScore              float64                          `json:"avgScore"`     // over judged results
	AvgSpanCount          float64                          `json:"avgSpanCount"` // over results that the labeller answered
	ScoreDistribution     Distribution                     `json:"scoreDistribution"`
	ErrorCount            int                              `json:"errorCount"` // results with an error
	PipelineSources       Pipelines                        `json:"pipelineSources"`
	SpanSources           Sources                          `json:"spanSources"`
	AvgCategoryScores     map[string]verdict.CategoryScore `json:"avgCategoryScores"`
	FalsePositiveReasons  map[string]int                   `json:"falsePositiveReasons"`
	TopTaxonomyErrors     []Count                          `json:"topTaxonomyErrors"`
	ErrorsBySection       map[string]SectionErrors         `json:"errorsBySection"`
	ConfidenceAnalysis    *Confidence                      `json:"confidenceAnalysis,omitempty"`
	Results               int                              `json:"resultCount"`
	JudgedResults         int                              `json:"judgedCount"`
	JudgeFailures         int                              `json:"judgeFailureCount"`
	NotJudged             int                              `json:"notJudgedCount"`
	AvgScoreWithFailures  float64                          `json:"avgScoreWithFailures"`   // failures counted as 0, as recorded
	AvgSpanCountAll       float64                          `json:"avgSpanCountWithErrors"` // over all results, as the original tool computed it
	ZeroScores            int                              `json:"zeroScoreCount"`         // judged, with a total of 0
	JudgeFailureReasons   map[string]int                   `json:"judgeFailureReasons"`
	ParseSteps            map[verdict.Step]int             `json:"parseSteps"`
	LostLists             int                              `json:"lostListCount,omitempty"` // judged, with a list of errors that is not complete
	Unplaced              int                              `json:"errorsOfUnknownSpans,omitempty"`
	UncountableConfusions int                              `json:"uncountableConfusions"`  // equal or unknown roles
	SpanNotes             map[string]int                   `json:"spanNotes"`              // realigned, unaligned
	NoConfidence          int                              `json:"spansWithoutConfidence"` // none, or not from 0 to 1: not in the analysis of confidences
	Warnings              []string                         `json:"warnings,omitempty"`

	errored    int               // results of which the labeller failed
	confusions map[[2]string]int // all that can be counted
	categories map[string]int    // judged results with a score
	texts      map[string]outcome
}

// An outcome is what became of a text.
type outcome struct {
	state State
	total float64 // of the first replicate, as the state
	// The number of totals of its replicates, their mean, and the sum of squares about it.
	n            int
	mean, spread float64
}

// A Distribution counts judged results by bands of the total.
type Distribution struct {
	Excellent  int `json:"excellent (23-25)"`
	Good       int `json:"good (18-22)"`
	Acceptable int `json:"acceptable (13-17)"`
	Poor       int `json:"poor (8-12)"`
	Failing    int `json:"failing (0-7)"`
}

// A band has the totals from a number on. Totals that are not whole belong to the band below.
type band struct {
	name string
	from float64
	n    *int
}

func (d *Distribution) bands() [5]band {
	return [5]band{{"excellent (23–25)", 23, &d.Excellent}, {"good (18–22)", 18, &d.Good}, {"acceptable (13–17)", 13, &d.Acceptable},
		{"poor (8–12)", 8, &d.Poor}, {"failing (0–7)", math.Inf(-1), &d.Failing}}
}

// add counts a total.
func (d *Distribution) add(total float64) {
	for _, b := range d.bands() {
		if total >= b.from {
			*b.n++
			return
		}
	}
}

// Pipelines counts results by the pipeline that labelled them.
type Pipelines struct {
	NLP     int `json:"nlp"`
	LLM     int `json:"llm"`
	Unknown int `json:"unknown"`
}

// Sources counts spans by where they come from, as labellers say.
type Sources struct {
	ClosedVocab int `json:"closedVocab"`
	OpenVocab   int `json:"openVocab"`
	LLM         int `json:"llm"`
}

// A Count is how often one role was assigned where another was expected.
type Count struct {
	AssignedRole string `json:"assignedRole"`
	ExpectedRole string `json:"expectedRole"`
	Count        int    `json:"count"`
}

// SectionErrors counts the errors of a section.
type SectionErrors struct {
	FalsePositives int `json:"falsePositives"`
	Missed         int `json:"missed"`
}

// Unknown is the section of an error whose place is not known.
const Unknown = "unknown"

// mostConfusions are in a summary.
const mostConfusions = 10

// A Tally collects results for a summary.
type Tally struct {
	reader *Reader
	s      Summary
	scores map[string]verdict.CategoryScore // sums by category
	total  float64
	spans  int
	failed int // spans of results of which the labeller failed
	conf   confidences
}

// NewTally makes an empty tally.
func (d *Reader) NewTally() *Tally {
	t := &Tally{reader: d, scores: map[string]verdict.CategoryScore{}, s: Summary{
		FalsePositiveReasons: map[string]int{}, ErrorsBySection: map[string]SectionErrors{Unknown: {}},
		JudgeFailureReasons: map[string]int{}, ParseSteps: map[verdict.Step]int{},
		SpanNotes: map[string]int{}, confusions: map[[2]string]int{}, categories: map[string]int{}, texts: map[string]outcome{}}}
	for _, reason := range d.Taxonomy.Reasons {
		t.s.FalsePositiveReasons[reason] = 0
	}
	for _, name := range d.Sectioner.Names {
		t.s.ErrorsBySection[name] = SectionErrors{}
	}
	for _, step := range verdict.Steps {
		t.s.ParseSteps[step] = 0
	}
	return t
}

// Add adds a result.
func (t *Tally) Add(l *Labelled) {
	s := &t.s
	s.Results++
	t.source(l)
	for _, n := range l.Notes {
		if n != "" {
			s.SpanNotes[n]++
		}
	}
	t.spans += len(l.Spans)
	for _, one := range l.Spans {
		if !one.Stated() {
			s.NoConfidence++
		}
	}
	total := l.Verdict.Result.TotalScore
	o, again := s.texts[l.ID]
	if !again {
		o = outcome{state: l.State, total: total}
	}
	if l.State == Judged {
		o.n++
		by := total - o.mean
		o.mean += by / float64(o.n)
		o.spread += by * (total - o.mean)
	}
	s.texts[l.ID] = o
	switch l.State {
	case Errored:
		s.ErrorCount, s.errored = s.ErrorCount+1, s.errored+1
		t.failed += len(l.Spans)
	case NotJudged:
		s.NotJudged++
	case JudgeFailed:
		s.JudgeFailures++
		s.JudgeFailureReasons[reason(l.Why)]++
		s.ParseSteps[cmp.Or(l.Verdict.Step, verdict.None)]++
		if l.Unanswered() {
			s.ErrorCount++
		}
	case Judged:
		t.judged(l)
	}
}

// judged adds a judgement.
func (t *Tally) judged(l *Labelled) {
	s, v, x := &t.s, &l.Verdict.Result, t.reader.Taxonomy
	s.JudgedResults++
	s.ParseSteps[l.Verdict.Step]++
	t.total += v.TotalScore
	if len(v.Lost) > 0 {
		s.LostLists++
	}
	if v.TotalScore == 0 {
		s.ZeroScores++
	}
	s.ScoreDistribution.add(v.TotalScore)
	for _, c := range x.Categories {
		if score := v.CategoryScores[c.Name]; score != nil {
			sum := t.scores[c.Name]
			sum.Coverage += score.Coverage
			sum.Precision += score.Precision
			t.scores[c.Name] = sum
			s.categories[c.Name]++
		}
	}
	for _, n := range l.Verdict.Notes {
		if strings.HasPrefix(n, "unknown category") && !slices.Contains(s.Warnings, n) {
			s.Warnings = append(s.Warnings, n)
		}
	}
	for _, f := range v.FalsePositives {
		s.FalsePositiveReasons[f.Reason]++
		name := Unknown
		if f.SpanIndex >= 0 && int(f.SpanIndex) < len(l.Spans) {
			name = l.Spans[f.SpanIndex].Section
		}
		e := s.ErrorsBySection[name]
		e.FalsePositives++
		s.ErrorsBySection[name] = e
	}
	if len(v.MissedElements) > 0 {
		ruler := spanfile.NewRuler(l.Text)
		sections := t.reader.Sectioner.Detect(ruler)
		for _, m := range v.MissedElements {
			name := t.reader.sectionOf(l.Text, m.Text, ruler, sections)
			e := s.ErrorsBySection[name]
			e.Missed++
			s.ErrorsBySection[name] = e
		}
	}
	for _, c := range v.TaxonomyErrors {
		if !verdict.Countable(c, x) {
			s.UncountableConfusions++
			continue
		}
		s.confusions[[2]string{x.Canonical(c.AssignedRole), x.Canonical(c.ExpectedRole)}]++
	}
	for kind := range verdict.Kinds {
		s.Unplaced += v.Unplaced(kind)
	}
	if v.UnknownSpans() == "" {
		t.conf.add(l, v.Flags(len(l.Spans)))
	}
}

// sectionOf is the section of the first occurrence of a text, in any case.
func (d *Reader) sectionOf(text, part string, ruler *spanfile.Ruler, sections label.Sections) string {
	part = strings.TrimSpace(part)
	at := strings.Index(text, part)
	if at < 0 {
		at = strings.Index(spanfile.Lower(text), spanfile.Lower(part))
	}
	if part == "" || at < 0 {
		return Unknown
	}
	return d.Sectioner.Of(sections, ruler.Point(at, spanfile.Bytes))
}

func (t *Tally) source(l *Labelled) {
	s := &t.s
	switch source := strings.ToLower(l.source.Source); {
	case strings.Contains(source, "nlp"), strings.Contains(source, "neuro"), strings.Contains(source, "symbolic"):
		s.PipelineSources.NLP++
		s.SpanSources.ClosedVocab += l.source.ClosedVocab
		s.SpanSources.OpenVocab += l.source.OpenVocab
	case strings.Contains(source, "llm"):
		s.PipelineSources.LLM++
		s.SpanSources.LLM += len(l.Spans)
	default:
		s.PipelineSources.Unknown++
	}
}

// reason is the first line of why a judge failed, without what differs between
// calls.
func reason(why string) string {
	return text.Shorten(strings.TrimRight(text.FirstLine(why), " {-"), 101)
}

// Summary is the summary of what was added.
func (t *Tally) Summary() *Summary {
	s := t.s
	mean := func(sum float64, n int) float64 {
		if n == 0 {
			return 0
		}
		return sum / float64(n)
	}
	s.AvgSpanCount, s.AvgSpanCountAll = mean(float64(t.spans-t.failed), s.Results-s.errored), mean(float64(t.spans), s.Results)
	s.AvgScore, s.AvgScoreWithFailures = mean(t.total, s.JudgedResults), mean(t.total, s.JudgedResults+s.JudgeFailures)
	s.AvgCategoryScores = map[string]verdict.CategoryScore{}
	for _, c := range t.reader.Taxonomy.Categories {
		sum, n := t.scores[c.Name], s.categories[c.Name]
		s.AvgCategoryScores[c.Name] = verdict.CategoryScore{Coverage: mean(sum.Coverage, n), Precision: mean(sum.Precision, n)}
	}
	s.TopTaxonomyErrors = top(s.confusions, mostConfusions)
	s.ConfidenceAnalysis = t.conf.analyse()
	return &s
}

// top lists the most frequent confusions, of equally frequent ones by name.
func top(confusions map[[2]string]int, most int) []Count {
	list := []Count{}
	for pair, n := range confusions {
		list = append(list, Count{pair[0], pair[1], n})
	}
	slices.SortFunc(list, func(a, b Count) int {
		return cmp.Or(b.Count-a.Count, strings.Compare(a.AssignedRole, b.AssignedRole), strings.Compare(a.ExpectedRole, b.ExpectedRole))
	})
	return list[:min(most, len(list))]
}

// A Bucket counts the spans with a confidence in a range.
type Bucket struct {
	Range             [2]float64 `json:"range"` // closed only at 1
	Total             int        `json:"total"`
	Errors            int        `json:"errors"` // spans with an error of any kind
	ErrorRate         float64    `json:"errorRate"`
	FalsePositives    int        `json:"falsePositives"`
	FalsePositiveRate float64    `json:"falsePositiveRate"`
	// The interval is that of stats.ProportionOfSums over the clusters of texts.
	ErrorRateLow  eval.Number `json:"errorRateLow"`
	ErrorRateHigh eval.Number `json:"errorRateHigh"`
}

// A Confidence says how well confidences tell right spans from wrong ones. ECE and AUROC have the
// intervals that the analysis of a run has, if it is asked.
type Confidence struct {
	Buckets              Buckets       `json:"buckets"`
	RecommendedThreshold *float64      `json:"recommendedThreshold"`
	Notes                string        `json:"notes"`
	Reliability          []Reliability `json:"reliability"`
	ECE                  eval.Measured `json:"ece"`
	AUROC                eval.Measured `json:"auroc"` // of confidence for spans without an error
}

// Buckets are the three buckets of confidence.
type Buckets struct {
	High   Bucket `json:"high"`
	Medium Bucket `json:"medium"`
	Low    Bucket `json:"low"`
}

// List lists the buckets, the highest first.
func (b Buckets) List() ([3]string, [3]Bucket) {
	return [3]string{"high", "medium", "low"}, [3]Bucket{b.High, b.Medium, b.Low}
}

// A Reliability is a bin of the reliability curve: stated confidence against the
// share of spans without an error.
type Reliability struct {
	Low        float64     `json:"low"`
	High       float64     `json:"high"`
	N          int         `json:"n"`
	Texts      int         `json:"texts"`
	Confidence float64     `json:"confidence"`
	Accuracy   float64     `json:"accuracy"`
	CILow      eval.Number `json:"accuracyLow"` // as that of a [Bucket]
	CIHigh     eval.Number `json:"accuracyHigh"`
}

// The borders of the buckets.
const (
	mediumFrom = 0.6
	highFrom   = 0.8
)

// ECEBins is the number of bins of a reliability curve.
const ECEBins = 10

const level = 0.95

// confidences are the texts with stated confidences.
type confidences struct {
	texts    []*statedText
	at       map[string]*statedText // by id
	clusters map[string]int
}

// A statedText is a text in its cluster, with the spans of all its replicates, which together count as
// much as one.
type statedText struct {
	cluster    int
	replicates float64
	spans      []statedSpan
}

type statedSpan struct {
	confidence float64
	flags      uint8
}

func (c *confidences) add(l *Labelled, flags []uint8) {
	if !slices.ContainsFunc(l.Spans, spanfile.Span.Stated) {
		return
	}
	if c.at == nil {
		c.at, c.clusters = map[string]*statedText{}, map[string]int{}
	}
	of := c.at[l.ID]
	if of == nil {
		cluster := cmp.Or(l.Cluster, l.ID)
		if _, ok := c.clusters[cluster]; !ok {
			c.clusters[cluster] = len(c.clusters)
		}
		of = &statedText{cluster: c.clusters[cluster]}
		c.at[l.ID], c.texts = of, append(c.texts, of)
	}
	of.replicates++
	for i, s := range l.Spans {
		if s.Stated() {
			of.spans = append(of.spans, statedSpan{s.Confidence, flags[i]})
		}
	}
}

// where counts the spans with some confidences, those with errors, and their texts. The share of
// errors has the interval of their clusters; undefined with fewer than two. right is the share of
// the others.
func (c *confidences) where(in func(confidence float64) bool) (b Bucket, right float64, texts int) {
	num, den := make([]float64, len(c.clusters)), make([]float64, len(c.clusters))
	var all, wrong, falsely float64
	for _, t := range c.texts {
		var n, errors, spurious int
		for _, s := range t.spans {
			if in(s.confidence) {
				n, errors, spurious = n+1, errors+int(bit(s.flags != 0)), spurious+int(bit(s.flags&1 != 0))
			}
		}
		if n == 0 {
			continue
		}
		texts++
		b.Total, b.Errors, b.FalsePositives = b.Total+n, b.Errors+errors, b.FalsePositives+spurious
		share := func(n int) float64 { return float64(n) / t.replicates }
		all, wrong, falsely = all+share(n), wrong+share(errors), falsely+share(spurious)
		den[t.cluster] += share(n)
		num[t.cluster] += share(errors)
	}
	b.ErrorRateLow, b.ErrorRateHigh = eval.Undefined(), eval.Undefined()
	if b.Total > 0 {
		b.ErrorRate, b.FalsePositiveRate, right = wrong/all, falsely/all, (all-wrong)/all
		if r, err := stats.ProportionOfSums(num, den, float64(b.Total), level); err == nil {
			b.ErrorRateLow, b.ErrorRateHigh = eval.Number(r.CI.Low), eval.Number(r.CI.High)
		}
	}
	return b, right, texts
}

// analyse returns nil without spans.
func (c *confidences) analyse() *Confidence {
	if len(c.texts) == 0 {
		return nil
	}
	bucket := func(from, to float64) Bucket {
		b, _, _ := c.where(func(x float64) bool { return from <= x && (x < to || to == 1) })
		b.Range = [2]float64{from, to}
		return b
	}
	a := &Confidence{Buckets: Buckets{bucket(highFrom, 1), bucket(mediumFrom, highFrom), bucket(0, mediumFrom)}}
	a.threshold()
	var every []measure.Stated
	for _, t := range c.texts {
		for _, s := range t.spans {
			every = append(every, measure.Stated{Confidence: s.confidence, Right: bit(s.flags == 0), Wrong: bit(s.flags != 0)})
		}
	}
	every = measure.MergeStated(every)
	measured := func(x float64) eval.Measured {
		return eval.Measured{Value: eval.Number(x), Low: eval.Undefined(), High: eval.Undefined(), N: len(c.texts)}
	}
	a.ECE, a.AUROC = measured(measure.CalibrationError(every, ECEBins)), measured(measure.AUROC(every))
	for _, r := range measure.ReliabilityCurve(every, ECEBins) {
		b, right, texts := c.where(func(x float64) bool { return r.Low < x && x <= r.High || x == 0 && r.Low == 0 })
		a.Reliability = append(a.Reliability, Reliability{r.Low, r.High, b.Total, texts, r.Confidence, right, 1 - b.ErrorRateHigh, 1 - b.ErrorRateLow})
	}
	return a
}

// threshold is the highest border of a bucket below which more than half of the
// spans are wrong.
func (a *Confidence) threshold() {
	set := func(border float64, name string, rate float64) {
		a.RecommendedThreshold = &border
		a.Notes = fmt.Sprintf("%s have an error rate of %.1f %%: raise the threshold to %.1f", name, 100*rate, border)
	}
	switch b := a.Buckets; {
	case b.Medium.ErrorRate > 0.5:
		set(highFrom, "spans with a confidence from 0.6 to 0.8", b.Medium.ErrorRate)
	case b.Low.ErrorRate > 0.5:
		set(mediumFrom, "spans with a confidence below 0.6", b.Low.ErrorRate)
	default:
		a.Notes = "no bucket below 0.8 has an error rate above 50 %"
	}
}
