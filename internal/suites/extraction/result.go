package extraction

import (
	"slices"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/text"
)

// A result is the scoring of one field of one answer.
type result struct {
	point
	entries []*Entry // that name the field; one in a valid answer
	verdict
	quotes   quoteCounts
	failures failures
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
	required, absent, fabricated int
	ok, okQuoted                 int
	ambiguous, covered           int
}

// assess scores every annotated field of a document, in schema order.
func (d *prepared) assess(a Answer, m mix, ask judge) []result {
	results := make([]result, 0, len(d.points))
	for i := range d.points {
		r := result{point: d.points[i]}
		for e := range a.Entries {
			if a.Entries[e].Field == r.field.Name {
				r.entries = append(r.entries, &a.Entries[e])
				r.quotes.count(&r.point, &a.Entries[e])
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
		case !p.index.Has(quote.Text):
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

// hallucinated reports whether a missing field has a value.
func (r *result) hallucinated() bool {
	return r.gold.missing() && slices.ContainsFunc(r.entries, func(e *Entry) bool { return e.Value.Given })
}

func (r *result) classify() failures {
	f := failures{
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
		f[modeMissed] = !e.Value.Given
		f[modeWrong] = e.Value.Given && r.Value == 0
		f[modeInexact] = r.Value > 0 && r.Value < 1
		f[modeNotInQuote] = r.Value > 0 && r.support.found && !r.support.holds
	}
	f[modeWrongPage] = r.Value > 0 && r.Page < r.Value && !r.gold.missing()
	return f
}

// An emitter collects scores in a fixed order.
type emitter struct {
	scores []eval.Score
	unit   string
}

func (m *emitter) add(metric string, num, den float64) {
	m.scores = append(m.scores, eval.Score{Unit: m.unit, Metric: metric, Num: num, Den: den})
}

// rate adds a ratio of counts, unless the denominator is 0.
func (m *emitter) rate(metric string, hits, of int) {
	if of > 0 {
		m.add(metric, float64(hits), float64(of))
	}
}

// score adds a component or the reason why it is unscored.
func (m *emitter) score(metric string, score float64, unscored string) {
	if unscored != "" {
		m.scores = append(m.scores, eval.Score{Unit: m.unit, Metric: metric, Den: 1, Unscored: unscored})
		return
	}
	m.add(metric, score, 1)
}

// components adds the composite of a field and its components.
func (m *emitter) components(r *result, w Weights) {
	m.unit = r.field.Name
	m.score(metricComposite, w.Composite(r.Components), r.failed)
	m.score(metricValue, r.Value, "")
	m.score(metricEvidence, r.Evidence, r.failed)
	m.score(metricPage, r.Page, "")
	m.score(metricStatus, r.Status, "")
	m.score(metricSchema, r.Schema, "")
}

// field adds the scores of a field.
func (m *emitter) field(r *result, w Weights) {
	m.components(r, w)
	if r.gold.missing() {
		m.score(metricHallucination, indicator(r.hallucinated()), "")
	}
	m.rate(metricFabrication, r.quotes.fabricated, r.quotes.required)
	m.rate(metricUnquoted, r.quotes.absent, r.quotes.required)
	m.rate(metricQuoteCoverage, r.quotes.okQuoted, r.quotes.ok)
	m.rate(metricCandidateCoverage, r.quotes.covered, r.quotes.ambiguous)
	m.score(metricDuplicate, indicator(len(r.entries) > 1), "")
	m.score(metricOmitted, indicator(len(r.entries) == 0), "")
	m.analysis(r)
}

// analysis adds the measures that explain scores.
func (m *emitter) analysis(r *result) {
	if e := r.entry(); e != nil && slices.Contains(confidences, e.Confidence) {
		m.add(rightAt(e.Confidence), indicator(r.Value == 1), 1)
	}
	if r.support.holds {
		m.add(metricEvidenceToken, r.token, 1)
		m.add(metricEvidenceTyped, indicator(r.support.typed), 1)
	}
	if r.judged {
		m.add(metricEvidenceJudge, r.verdict.judge, 1)
	}
	if e := r.entry(); e != nil && e.Value.Given && !e.Quote.blank() {
		quote, value := float64(text.Words(e.Quote.Text)), float64(text.Words(e.Value.Text))
		m.add(metricQuoteWords, quote, 1)
		m.add(metricValueWords, value, 1)
		m.add(metricTokenRatio, quote/max(value, 1), 1)
	}
}

// answer adds the scores of the answer as a whole.
func (m *emitter) answer(o *eval.Outcome, a Answer, s *Schema, results []result) {
	m.unit = ""
	m.rate(metricExtraField, len(a.extra(s)), len(a.Entries))
	m.add(metricParseFailure, indicator(o.Kind == eval.Malformed), 1)
	m.add(metricRepaired, indicator(slices.Contains(o.Notes, noteRepaired)), 1)
	m.add(metricTruncated, indicator(slices.Contains(o.Notes, eval.NoteTruncated)), 1)
	for i, mode := range modes {
		n := 0.0
		for j := range results {
			n += indicator(results[j].failures[i])
		}
		m.add(mode.metric, n, float64(len(results)))
	}
}

// extra lists the fields of entries that the schema does not have.
func (a *Answer) extra(s *Schema) (names []string) {
	for _, e := range a.Entries {
		if s.field(e.Field) < 0 {
			names = append(names, e.Field)
		}
	}
	return names
}

// distribution adds the shares of missing and ambiguous gold and the expected
// composite of the null baseline. It is called once per document, for the null
// baseline.
func (m *emitter) distribution(points []point, w Weights) {
	m.unit = ""
	missing, ambiguous := 0.0, 0.0
	for _, p := range points {
		missing += indicator(p.gold.missing())
		ambiguous += indicator(p.gold.Ambiguous)
	}
	n := float64(len(points))
	m.add(metricGoldMissing, missing, n)
	m.add(metricGoldAmbiguous, ambiguous, n)
	perfect := w.Composite(Components{1, 1, 1, 1, 1})
	m.add(metricNullExpected, perfect*missing+w.Schema*(n-missing), n)
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
