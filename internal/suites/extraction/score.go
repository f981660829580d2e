package extraction

import (
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

// Components are the five component scores of a field, each in [0, 1].
type Components struct {
	Value, Evidence, Page, Status, Schema float64
}

// Weights weigh the components; they sum to 1.
type Weights Components

// DefaultWeights are the weights of the evaluation plan, §3.5.
var DefaultWeights = Weights{Value: 0.30, Evidence: 0.30, Page: 0.10, Status: 0.15, Schema: 0.15}

// Composite is the weighted sum. The conversions keep compilers from fusing a product with a sum, by
// which processors would differ in the last bit, and so in rules at a score.
func (w Weights) Composite(c Components) float64 {
	sum := float64(w.Value*c.Value) + float64(w.Evidence*c.Evidence) + float64(w.Page*c.Page) + float64(w.Status*c.Status) + float64(w.Schema*c.Schema)
	return min(sum, 1) // rounding must not lift a perfect field above 1
}

// A mix weights the two layers of evidence: the length of the quote and the
// judge's opinion.
type mix struct{ token, judge float64 }

// The mixes, by the judge's accuracy.
var (
	trustedJudge  = mix{0.3, 0.7}
	doubtedJudge  = mix{0.8, 0.2}
	withoutJudge  = mix{1, 0}
	judgeAccuracy = struct{ trusted, usable float64 }{0.95, 0.80}
)

// ofCandidate is the mix for the quotes of candidates. A trusted judge decides
// alone: while the value is ambiguous, the length of a quote means nothing.
func (m mix) ofCandidate() mix {
	if m == trustedJudge {
		return mix{0, 1}
	}
	return m
}

// A point is a field of a document to score, with its gold.
type point struct {
	*prepared
	field Field  // its name is that of the point, such as items[2].price
	unit  string // its name in the schema, such as items[].price
	gold  *Gold
	keys  []string // of the right values, in lists, see [aligner.compared]
}

// An opinion is a judge's score of a quote: 1 if it reads the claimed value from
// it, else 0. If failed is set there is no score.
type opinion struct {
	score  float64
	failed string
}

// A claim is a value and its quote.
type claim struct{ value, quote string }

// A judge gives an opinion on a claim about a field.
type judge func(p *point, c claim) opinion

// value is the value score.
func (p *point) value(e *Entry) float64 {
	switch {
	case p.gold.Ambiguous:
		if e.Status != statusAmbiguous || len(e.Candidates) == 0 {
			return 0
		}
		return p.candidatesF1(e.Candidates)
	case p.gold.missing():
		return kit.Indicator(!e.Value.Given && e.Status == statusMissing)
	case !e.Value.Given, e.Value.Bad:
		return 0
	case slices.ContainsFunc(p.rightValues(), func(v string) bool { return text.Equal(p.field.Type, e.Value.Text, v) }):
		return 1
	case text.Near(p.field.Type, e.Value.Text, string(p.gold.Correct)):
		return 0.5
	}
	return 0
}

// candidatesF1 is the F1 of the candidates' values against gold, as sets.
// Values are compared as the field's type, each claimed one with one of gold.
func (p *point) candidatesF1(candidates []Candidate) float64 {
	claimed, actual := text.NewSet(p.field.Type), text.NewSet(p.field.Type)
	void := 0 // all candidates without a valid value count as one wrong value
	for _, c := range candidates {
		if c.Value.Given && !c.Value.Bad {
			claimed.Add(c.Value.Text)
		} else {
			void = 1
		}
	}
	hits := 0
	for _, v := range p.gold.Candidates {
		if actual.Add(string(v)) && claimed.Take(string(v)) {
			hits++
		}
	}
	return 2 * float64(hits) / float64(actual.Len()+claimed.Len()+void)
}

// A support holds the gates of evidence that a quote passed.
type support struct {
	found bool // it is in the document
	holds bool // it contains the value, as written or as a typed value
	typed bool // it contains the value only as a typed value
}

// supports checks a quote against the gates of evidence.
func (p *point) supports(value string, quote Scalar) (s support) {
	s.found = !quote.blank() && (p.index.Has(quote.Text) || p.loose && p.index.HasTypography(quote.Text))
	if !s.found {
		return s
	}
	v, q := text.Minimal(value), text.MinimalQuote(quote.Text)
	written := v != "" && strings.Contains(q, v)
	s.typed = !written && text.Contains(p.field.Type, q, value)
	s.holds = written || s.typed
	return s
}

// tokenScore penalises long quotes: 1 up to five quote words per value word, 0
// from fifteen.
func tokenScore(value, quote string) float64 {
	return min(max(1-float64(0.1*(tokenRatio(value, quote)-5)), 0), 1)
}

func tokenRatio(value, quote string) float64 {
	return float64(text.Words(quote)) / float64(max(text.Words(value), 1))
}

// claims are the values that an entry claims, each with its evidence: the candidates of an
// ambiguous field, one value of a present one.
func (p *point) claims(e *Entry) []Candidate {
	if p.gold.Ambiguous {
		return e.Candidates
	}
	return []Candidate{{e.Value, e.Evidence}}
}

// evidence is the evidence score, with its layers, before gating by value: the mean over
// the claims.
func (p *point) evidence(e *Entry, m mix, ask judge) (mean evidence) {
	if p.gold.missing() {
		return evidence{score: kit.Indicator(!e.Quote.Given)}
	}
	if p.gold.Ambiguous {
		m = m.ofCandidate()
	}
	claims, judged := p.claims(e), 0.0
	for _, c := range claims {
		if !c.Value.Given {
			continue
		}
		ev := p.quoteEvidence(c.Value.Text, c.Quote, m, ask)
		if ev.failed != "" {
			return ev
		}
		if !p.gold.Ambiguous {
			mean.support, mean.token = ev.support, ev.token
		}
		mean.score += ev.score
		mean.judge += ev.judge
		judged += kit.Indicator(ev.judged)
	}
	mean.score /= max(float64(len(claims)), 1)
	mean.judge, mean.judged = mean.judge/max(judged, 1), judged > 0
	return mean
}

// An evidence is an evidence score and its layers.
type evidence struct {
	score   float64
	support support // of a present field's quote; the layers are valid if it holds
	token   float64
	judge   float64
	judged  bool
	failed  string // why the judge gave no opinion: there is no score
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
	o := ask(p, claim{value, quote.Text})
	if o.failed != "" {
		ev.failed = o.failed
		return ev
	}
	ev.judge, ev.judged = o.score, true
	ev.score = float64(m.token*ev.token) + float64(m.judge*ev.judge)
	return ev
}

// page is the page score before gating by value: the share of claims with the right page.
func (p *point) page(e *Entry) float64 {
	if p.gold.missing() {
		return kit.Indicator(!e.Page.Given)
	}
	claims, right := p.claims(e), 0.0
	for _, c := range claims {
		right += kit.Indicator(p.standsOn(c.Quote, c.Page))
	}
	return right / max(float64(len(claims)), 1)
}

// standsOn reports whether the quote begins on the page.
func (p *point) standsOn(quote Scalar, page PageRef) bool {
	if quote.blank() || !page.Given || page.Bad {
		return false
	}
	return p.index.BeginsOn(quote.Text, page.Number) || p.loose && p.looselyOn(quote.Text, page.Number)
}

// looselyOn reports whether the quote is on the page in other typography.
func (p *point) looselyOn(quote string, page int) bool {
	for _, at := range p.index.Pages() {
		if at.Number == page && p.index.HasTypography(quote) {
			index, err := text.NewIndex(p.Text[at.Start:at.End])
			return err == nil && index.HasTypography(quote)
		}
	}
	return false
}

// status is the status score.
func (p *point) status(e *Entry) float64 {
	want := statusOK
	switch {
	case p.gold.Ambiguous:
		want = statusAmbiguous
	case p.gold.missing():
		want = statusMissing
	}
	return kit.Indicator(e.Status == want)
}

// A verdict is the score of one entry.
type verdict struct {
	Components
	evidence
}

// score scores the only entry of a field. If the value is wrong, evidence, page
// and status are 0. For an ambiguous field evidence and page are multiplied by
// the value score.
func (p *point) score(e *Entry, m mix, ask judge) verdict {
	v := verdict{Components: Components{Value: p.value(e), Schema: kit.Indicator(e.Fault == "")}}
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

func stringsOf[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}
