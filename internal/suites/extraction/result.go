package extraction

import (
	"slices"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

// A result is the scoring of one field of one answer.
type result struct {
	*point
	entries []*Entry // that name the field; one in a valid answer
	verdict
	quotes   quoteCounts
	failures failures
	plain    bool // the answer has no evidence
}

// entry is the scored entry, or nil if there are none or several.
func (r *result) entry() *Entry {
	if len(r.entries) == 1 {
		return r.entries[0]
	}
	return nil
}

// quoteCounts are the numerators and denominators of the quote rates.
type quoteCounts struct {
	required, absent, fabricated float64
	typography                   float64 // are in the document in other typography only
	ok, okQuoted                 float64
	ambiguous, covered           float64
}

// assess scores every annotated field of a document, in schema order.
func (d *prepared) assess(a Answer, m mix, ask judge) []result { return d.arrange(a).assess(d, m, ask) }

func (x *arranged) assess(d *prepared, m mix, ask judge) []result {
	results := make([]result, 0, len(d.points))
	for i := range d.points {
		r := result{point: &d.points[i], entries: x.of[i], plain: x.plain}
		for _, e := range r.entries {
			if !x.plain {
				r.quotes.count(r.point, e)
			}
		}
		if e := r.entry(); e != nil {
			r.verdict = r.point.score(e, m, ask)
		}
		r.failures = r.classify()
		results = append(results, r)
	}
	return results
}

// count adds the quotes of an entry. An ok entry and each candidate of an
// ambiguous entry require one.
func (q *quoteCounts) count(p *point, e *Entry) {
	require := func(quote Scalar) {
		q.required++
		switch {
		case quote.blank():
			q.absent++
		case p.index.Has(quote.Text):
		case p.index.HasTypography(quote.Text):
			q.typography++
		default:
			q.fabricated++
		}
	}
	switch e.Status {
	case statusOK:
		q.ok++
		if !e.Quote.blank() {
			q.okQuoted++
		}
		require(e.Quote)
	case statusAmbiguous:
		q.ambiguous++
		if len(e.Candidates) >= 2 {
			q.covered++
		}
		for _, c := range e.Candidates {
			require(c.Quote)
		}
	}
}

// hallucinated reports whether a missing field has a value or a candidate. A blank one is a fault,
// but none.
func (r *result) hallucinated() bool {
	return r.gold.missing() && slices.ContainsFunc(r.entries, func(e *Entry) bool {
		return !e.Value.blank() || slices.ContainsFunc(e.Candidates, func(c Candidate) bool { return !c.Value.blank() })
	})
}

func (r *result) classify() (f failures) {
	f = failures{
		modeOmitted:     len(r.entries) == 0,
		modeDuplicate:   len(r.entries) > 1,
		modeHallucinate: r.hallucinated(),
		modeUnquoted:    r.quotes.absent > 0,
		modeFabricated:  r.quotes.fabricated > 0,
	}
	e := r.entry()
	if e == nil {
		return f
	}
	f[modeSchema] = r.Schema == 0
	switch {
	case r.gold.Ambiguous:
		f[modeUnflagged] = e.Status != statusAmbiguous
		f[modeWrong] = e.Status == statusAmbiguous && r.Value == 0
	case r.gold.present():
		f[modeMissed] = e.Value.blank()
		f[modeWrong] = !e.Value.blank() && r.Value == 0
		f[modeInexact] = r.Value > 0 && r.Value < 1
		f[modeNotInQuote] = !r.plain && r.Value > 0 && r.support.found && !r.support.holds
	}
	f[modeWrongPage] = !r.plain && r.Value > 0 && r.Page < r.Value && !r.gold.missing()
	return f
}

// An emitter collects scores in a fixed order.
type emitter struct {
	scores []eval.Score
	unit   string
	plain  bool              // the study asks for values without evidence: plain answers lack nothing
	at     map[[3]string]int // where the scores of a unit are, of units with many; else nil
}

func (m *emitter) add(metric string, num, den float64) {
	m.put(eval.Score{Unit: m.unit, Metric: metric, Num: num, Den: den})
}

// put adds a score to the others, or to that of its unit.
func (m *emitter) put(s eval.Score) {
	if m.plain && s.Unscored == noEvidence {
		return
	}
	if m.at != nil {
		key := [3]string{s.Unit, s.Metric, s.Unscored}
		if i, ok := m.at[key]; ok {
			m.scores[i].Num += s.Num
			m.scores[i].Den += s.Den
			return
		}
		m.at[key] = len(m.scores)
	}
	m.scores = append(m.scores, s)
}

// rate adds a ratio of counts, unless the denominator is 0.
func (m *emitter) rate(metric string, hits, of float64) {
	if of > 0 {
		m.add(metric, hits, of)
	}
}

// score adds a component or the reason why it is unscored.
func (m *emitter) score(metric string, score float64, unscored string) {
	if unscored != "" {
		m.put(eval.Score{Unit: m.unit, Metric: metric, Den: 1, Unscored: unscored})
		return
	}
	m.add(metric, score, 1)
}

// components adds the composite of a field and its components.
func (m *emitter) components(r *result, w Weights) {
	m.unit = r.unit
	failed, page := r.failed, ""
	if r.plain {
		failed, page = noEvidence, noEvidence
	}
	m.score(metricComposite, w.Composite(r.Components), failed)
	m.score(metricValue, r.Value, "")
	m.score(metricEvidence, r.Evidence, failed)
	m.score(metricPage, r.Page, page)
	m.score(metricStatus, r.Status, "")
	m.score(metricSchema, r.Schema, "")
}

// field adds the scores of a field.
func (m *emitter) field(r *result, w Weights) {
	m.components(r, w)
	if r.gold.missing() {
		m.score(metricHallucination, kit.Indicator(r.hallucinated()), "")
	}
	if e := r.entry(); e != nil && !e.Value.blank() && len(r.field.Enum) > 0 {
		m.score("out_of_list", kit.Indicator(!slices.ContainsFunc(r.field.Enum, func(v string) bool { return text.Equal(text.Enum, v, e.Value.Text) })), "")
	}
	m.rate(metricFabrication, r.quotes.fabricated, r.quotes.required)
	m.rate("quote_typography", r.quotes.typography, r.quotes.required)
	m.rate("unquoted", r.quotes.absent, r.quotes.required)
	m.rate("quote_coverage", r.quotes.okQuoted, r.quotes.ok)
	m.rate("candidate_coverage", r.quotes.covered, r.quotes.ambiguous)
	m.score("duplicate", kit.Indicator(len(r.entries) > 1), "")
	m.score("omitted", kit.Indicator(len(r.entries) == 0), "")
	m.analysis(r)
}

// analysis adds the measures that explain scores.
func (m *emitter) analysis(r *result) {
	if e := r.entry(); e != nil && slices.Contains(confidences, e.Confidence) {
		m.add(rightAt(e.Confidence), kit.Indicator(r.Value == 1), 1)
	}
	if r.support.holds {
		m.add("evidence_token", r.token, 1)
		m.add("evidence_typed", kit.Indicator(r.support.typed), 1)
	}
	if r.judged {
		m.add("evidence_judge", r.verdict.judge, 1)
	}
	if e := r.entry(); e != nil && e.Value.Given && !e.Quote.blank() {
		quote, value := float64(text.Words(e.Quote.Text)), float64(text.Words(e.Value.Text))
		m.add("quote_words", quote, 1)
		m.add("value_words", value, 1)
		m.add("token_ratio", quote/max(value, 1), 1)
	}
}

// answer adds the scores of the answer as a whole.
func (m *emitter) answer(o *eval.Outcome, x *arranged, results []result) {
	m.unit = ""
	m.rate("extra_field", float64(len(x.extra)), float64(x.entries))
	if x.plain { // no entry says how many quotes it lacks: the answer lacks as many as others have
		m.put(eval.Score{Metric: metricFabrication, Unscored: noEvidence})
	}
	m.add(metricParseFailure, kit.Indicator(o.Kind == eval.Malformed), 1)
	m.add("repaired", kit.Indicator(slices.Contains(o.Notes, noteRepaired)), 1)
	m.add("truncated", kit.Indicator(slices.Contains(o.Notes, eval.NoteTruncated)), 1)
	for i, mode := range modes {
		n := 0.0
		for j := range results {
			n += kit.Indicator(results[j].failures[i])
		}
		m.add(mode.metric, n, float64(len(results)))
	}
}

// values adds precision, recall and F1 of the values, for each list and for the fields in
// none. Values of records that gold does not have are wrong.
func (m *emitter) values(results []result, surplus []Entry) {
	type counts struct{ right, gold, answered float64 }
	of := map[string]*counts{}
	var units []string
	list := func(unit string) *counts {
		if of[unit] == nil {
			of[unit] = &counts{}
			units = append(units, unit)
		}
		return of[unit]
	}
	for i := range results {
		r := &results[i]
		c := list(listOf(r.unit))
		if !r.gold.missing() {
			c.gold++
			c.right += r.Value
		}
		for _, e := range r.entries {
			c.answered += kit.Indicator(!e.Value.blank() || len(e.Candidates) > 0)
		}
	}
	for i := range surplus {
		if e := &surplus[i]; !e.Value.blank() || len(e.Candidates) > 0 {
			list(listOf(pattern(e.Field))).answered++
		}
	}
	for _, m.unit = range units {
		c := of[m.unit]
		m.rate(metricPrecision, c.right, c.answered)
		m.rate(metricRecall, c.right, c.gold)
		m.rate(metricF1, 2*c.right, c.answered+c.gold)
	}
	m.unit = ""
}

// distribution adds the shares of missing and ambiguous gold and the expected
// composite of the null baseline. It is called once per document, for the null
// baseline.
func (m *emitter) distribution(points []point, w Weights) {
	m.unit = ""
	missing, ambiguous := 0.0, 0.0
	for _, p := range points {
		missing += kit.Indicator(p.gold.missing())
		ambiguous += kit.Indicator(p.gold.Ambiguous)
	}
	n := float64(len(points))
	m.add(metricGoldMissing, missing, n)
	m.add(metricGoldAmbiguous, ambiguous, n)
	perfect := w.Composite(Components{1, 1, 1, 1, 1})
	m.add(metricNullExpected, float64(perfect*missing)+float64(w.Schema*(n-missing)), n)
}

// ceiling adds the composite of the answer that gold implies. It is called once per
// document, for the null baseline.
func (m *emitter) ceiling(results []result, w Weights) {
	m.unit = ""
	sum := 0.0
	for i := range results {
		sum += w.Composite(results[i].Components)
	}
	m.add(metricGoldComposite, sum, float64(len(results)))
}
