package extraction

import (
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/text"
)

// Components are the five component scores of a field, each in [0, 1].
type Components struct {
	Value, Evidence, Page, Status, Schema float64
}

// Weights weigh the components; they sum to 1.
type Weights Components

// DefaultWeights are those of the evaluation plan, §3.5.
var DefaultWeights = Weights{Value: 0.30, Evidence: 0.30, Page: 0.10, Status: 0.15, Schema: 0.15}

// Composite is the weighted sum.
func (w Weights) Composite(c Components) float64 {
	sum := w.Value*c.Value + w.Evidence*c.Evidence + w.Page*c.Page + w.Status*c.Status + w.Schema*c.Schema
	return min(sum, 1) // the weights' rounding must not lift a perfect field above 1
}

// A mix is how the two layers of evidence are weighed: the length of the quote
// and what the judge found in it.
type mix struct{ token, judge float64 }

// The mixes, by how far the judge can be trusted.
var (
	trustedJudge  = mix{0.3, 0.7}
	doubtedJudge  = mix{0.8, 0.2}
	withoutJudge  = mix{1, 0}
	judgeAccuracy = struct{ trusted, usable float64 }{0.95, 0.80}
)

// ofCandidate is the mix for candidates' quotes, which a trusted judge decides
// alone: their length says nothing while the value is open.
func (m mix) ofCandidate() mix {
	if m == trustedJudge {
		return mix{0, 1}
	}
	return m
}

// A point is a field under scoring: what was asked, what is true, and the
// document to look quotes up in.
type point struct {
	field Field
	gold  *Gold
	text  string // of the document
	index *text.Index
}

// An opinion is what a judge made of a quote: 1 if it reads the claimed value
// out of it, else 0. With a reason there is none.
type opinion struct {
	score  float64
	failed string
}

// A claim is a value and the quote that is to show it.
type claim struct {
	value, quote string
	support      support
}

// A judge gives an opinion on a claim about a field. It is only asked where
// that counts.
type judge func(p *point, c claim) opinion

// value is the value score: is it the right value, or rightly none?
func (p *point) value(e *Entry) float64 {
	switch {
	case p.gold.Ambiguous:
		if e.Status != statusAmbiguous || len(e.Candidates) == 0 {
			return 0
		}
		return p.candidatesF1(e.Candidates)
	case p.gold.missing():
		return indicator(!e.Value.Given && e.Status == statusMissing)
	case !e.Value.Given, e.Value.Bad:
		return 0
	case slices.ContainsFunc(p.rightValues(), func(v string) bool { return text.Equal(p.field.Type, e.Value.Text, v) }):
		return 1
	case text.Similarity(p.field.Type, e.Value.Text, string(p.gold.Correct)) > 0.9:
		return 0.5
	}
	return 0
}

// candidatesF1 is F1 of the set of candidates' values against gold's, values
// being the same when they are equal for the field's type.
func (p *point) candidatesF1(candidates []Candidate) float64 {
	var claimed []string
	void := 0 // candidates without a readable value are one wrong member of the set
	for _, c := range candidates {
		if c.Value.Given && !c.Value.Bad {
			claimed = append(claimed, c.Value.Text)
		} else {
			void = 1
		}
	}
	actual := p.set(stringsOf(p.gold.Candidates))
	claimed = p.set(claimed)
	hits := 0
	for _, t := range actual {
		if slices.ContainsFunc(claimed, func(c string) bool { return text.Equal(p.field.Type, c, t) }) {
			hits++
		}
	}
	return 2 * float64(hits) / float64(len(actual)+len(claimed)+void)
}

// set drops values that repeat an earlier one.
func (p *point) set(values []string) []string {
	var out []string
	for _, v := range values {
		if !slices.ContainsFunc(out, func(o string) bool { return text.Equal(p.field.Type, o, v) }) {
			out = append(out, v)
		}
	}
	return out
}

// A support says how far a quote supports a value, gate by gate.
type support struct {
	quoted bool // there is a quote
	found  bool // it stands in the document
	holds  bool // the value stands in it, as returned or as a typed value
	typed  bool // only the typed value does
}

// supports puts a quote through the gates of evidence.
func (p *point) supports(value string, quote Scalar) support {
	s := support{quoted: !quote.blank()}
	s.found = s.quoted && p.index.Has(quote.Text)
	if !s.found {
		return s
	}
	v := text.Minimal(value)
	s.holds = v != "" && strings.Contains(text.Minimal(quote.Text), v)
	if !s.holds {
		s.holds = text.Contains(p.field.Type, text.Minimal(quote.Text), value)
		s.typed = s.holds
	}
	return s
}

// tokenScore penalises quotes padded with words: full marks up to five words
// of quote a word of value, none from fifteen on.
func tokenScore(value, quote string) float64 {
	return min(max(1-0.1*(tokenRatio(value, quote)-5), 0), 1)
}

func tokenRatio(value, quote string) float64 {
	return float64(text.Words(quote)) / float64(max(text.Words(value), 1))
}

// evidence is the evidence score before gating by value, with what it was made
// of.
func (p *point) evidence(e *Entry, m mix, ask judge) evidence {
	switch {
	case p.gold.Ambiguous:
		return p.candidateEvidence(e.Candidates, m.ofCandidate(), ask)
	case p.gold.missing():
		return evidence{score: indicator(!e.Quote.Given)}
	case !e.Value.Given:
		return evidence{}
	}
	return p.quoteEvidence(e.Value.Text, e.Quote, m, ask)
}

// An evidence is an evidence score and its layers.
type evidence struct {
	score   float64
	support support // of a present field's quote; layers count where it holds
	token   float64
	judge   float64
	judged  bool
	failed  string // why there is no score: the judge gave no opinion
}

// quoteEvidence scores one quote for one value.
func (p *point) quoteEvidence(value string, quote Scalar, m mix, ask judge) evidence {
	ev := evidence{support: p.supports(value, quote)}
	if !ev.support.holds {
		return ev
	}
	ev.token = tokenScore(value, quote.Text)
	if m.judge == 0 {
		ev.score = ev.token
		return ev
	}
	o := ask(p, claim{value, quote.Text, ev.support})
	if o.failed != "" {
		ev.failed = o.failed
		return ev
	}
	ev.judge, ev.judged = o.score, true
	ev.score = m.token*ev.token + m.judge*ev.judge
	return ev
}

// candidateEvidence is the mean over candidates.
func (p *point) candidateEvidence(candidates []Candidate, m mix, ask judge) evidence {
	if len(candidates) == 0 {
		return evidence{}
	}
	var mean evidence
	judged := 0
	for _, c := range candidates {
		if !c.Value.Given {
			continue
		}
		ev := p.quoteEvidence(c.Value.Text, c.Quote, m, ask)
		if ev.failed != "" {
			return ev
		}
		mean.score += ev.score
		if ev.judged {
			mean.judge += ev.judge
			judged++
		}
	}
	mean.score /= float64(len(candidates))
	if judged > 0 {
		mean.judge, mean.judged = mean.judge/float64(judged), true
	}
	return mean
}

// page is the page score before gating: is the page named one that the quote
// stands on?
func (p *point) page(e *Entry) float64 {
	switch {
	case p.gold.Ambiguous:
		if len(e.Candidates) == 0 {
			return 0
		}
		right := 0.0
		for _, c := range e.Candidates {
			right += indicator(p.standsOn(c.Quote, c.Page))
		}
		return right / float64(len(e.Candidates))
	case p.gold.missing():
		return indicator(!e.Page.Given)
	}
	return indicator(p.standsOn(e.Quote, e.Page))
}

// standsOn reports whether a page is one the quote begins on. Where a quote
// repeats itself across a page break, the index finds the places from left to
// right and may pass over one that lies within the page; so the page is looked
// at by itself before the answer is no.
func (p *point) standsOn(quote Scalar, page PageRef) bool {
	if quote.blank() || !page.Given || page.Bad {
		return false
	}
	if slices.ContainsFunc(p.index.Find(quote.Text), func(o text.Occurrence) bool { return o.Page == page.Number }) {
		return true
	}
	minimal := text.Minimal(quote.Text)
	return slices.ContainsFunc(p.index.Pages(), func(g text.Page) bool {
		return g.Number == page.Number && strings.Contains(text.Minimal(p.text[g.Start:g.End]), minimal)
	})
}

// status is the status score: is it the one gold calls for?
func (p *point) status(e *Entry) float64 {
	want := statusOK
	switch {
	case p.gold.Ambiguous:
		want = statusAmbiguous
	case p.gold.missing():
		want = statusMissing
	}
	return indicator(e.Status == want)
}

// A verdict is the score of one entry.
type verdict struct {
	Components
	evidence
}

// score scores the one entry of a field. Without the right value there is
// nothing to prove: evidence, page and status are 0 then, and of an ambiguous
// field evidence and page count as far as the candidates are right.
func (p *point) score(e *Entry, m mix, ask judge) verdict {
	v := verdict{Components: Components{Value: p.value(e), Schema: indicator(e.Fault == "")}}
	if v.Value == 0 {
		return v
	}
	share := 1.0
	if p.gold.Ambiguous {
		share = v.Value
	}
	v.evidence = p.evidence(e, m, ask)
	v.Evidence = share * v.evidence.score
	v.Page = share * p.page(e)
	v.Status = p.status(e)
	return v
}

func indicator(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func stringsOf(values []literal) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}
