package spans

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/spanfile"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/suites/spans/label"
	"github.com/scruple-eval/scruple/internal/suites/spans/snapshot"
	"github.com/scruple-eval/scruple/internal/suites/spans/verdict"
)

const judgeStep = "judge"

// Judge asks the judge about the spans of an answer. Recorded judgements need no
// call.
func (b *bench) Judge(ctx context.Context, t eval.Trial, o eval.Outcome, ask eval.Asker) ([]eval.Verdict, error) {
	r, a, err := b.Of(t)
	if err != nil || o.Kind != eval.OK || absent(&o) {
		return nil, nil
	}
	if a.snapshot != nil {
		return b.judged(a, r.ID), nil
	}
	if b.judge == nil || a.Role == eval.RoleCalibration && b.plantedAt(r) < 0 {
		return nil, nil
	}
	found, err := b.readAnswer(o.Data, r.Text)
	if err != nil {
		return nil, nil // the outcome would be malformed
	}
	return b.ask(ctx, r, found.spans, func() *verdict.Result { return b.foreseen(r, found.spans) }, ask)
}

// ask asks the judge about spans. right is what a simulated judge says of them.
func (b *bench) ask(ctx context.Context, r *record, spans []spanfile.Span, right func() *verdict.Result, ask eval.Asker) ([]eval.Verdict, error) {
	return kit.AskJudge(ctx, ask, judgeStep, b.judgeRequest(r, spans, right), func(v *eval.Verdict) string {
		if verdict.Parse(string(v.Data), b.taxonomy, spans).Step == verdict.None {
			return unparsed
		}
		return ""
	})
}

// JudgeCase asks the judge about a known case.
func (b *bench) JudgeCase(ctx context.Context, c kit.KnownCase, ask eval.Asker) ([]eval.Verdict, error) {
	r := b.Datum(c.Item)
	found, err := b.readAnswer([]byte(c.Answer), r.Text)
	if err != nil {
		return nil, nil // it was read when the study was opened
	}
	right := faultless
	if !c.Pass {
		right = func() *verdict.Result { // an error even where gold has none
			v := b.foreseen(r, found.spans)
			v.MissedElements = append(v.MissedElements, verdict.Missed{Text: r.Text, ExpectedRole: b.taxonomy.Roles()[0],
				Category: b.taxonomy.Categories[0].Name, Severity: b.taxonomy.Severities[0]})
			return v
		}
	}
	return b.ask(ctx, r, found.spans, right, ask)
}

// CaseVerdict is whether the judge finds no error in the spans of a known case, missed
// elements included.
func (b *bench) CaseVerdict(c kit.KnownCase, vs []eval.Verdict) (pass bool, missing string) {
	r := b.Datum(c.Item)
	t := b.read(r, &eval.Judged{Trial: eval.Trial{Item: c.Item}, Outcome: eval.Outcome{Kind: eval.OK, Data: []byte(c.Answer)}, Verdicts: vs})
	if t.missing != "" {
		return false, t.missing
	}
	v := &t.parsed.Result
	if v.Entries() > 0 { // of whichever span
		return false, ""
	}
	missing = cmp.Or(v.UnknownMissed(), v.UnknownSpans())
	return missing == "", missing
}

// readCases reads the known cases of the study.
func (b *bench) readCases(f *study.File, s *Study, errs *study.Errors) {
	b.Cases.Read(f, s.Judging, b.judge, b.Items(), func(c kit.KnownCase) error {
		a, err := b.readAnswer([]byte(c.Answer), b.Datum(c.Item).Text)
		if err == nil && (a.dropped > 0 || slices.Contains(a.notes, spanfile.Unaligned)) {
			err = errors.New("a span of it is not in the text")
		}
		return err
	}, errs)
}

// unparsed is why a judgement is missing though the judge answered.
const unparsed = "the judgement could not be parsed"

// judged is the judgement that a snapshot has of a text.
func (b *bench) judged(a *arm, id string) []eval.Verdict {
	was := a.recorded[id].Recorded()
	if was == nil {
		return nil
	}
	v := eval.Verdict{Step: judgeStep, Source: eval.ByPipeline, By: b.judgeOf(a), Data: was.JudgeResult}
	switch l := b.reader.Label(was); l.State {
	case snapshot.NotJudged:
		v.Data, v.Err = nil, "the snapshot has no judgement"
	case snapshot.JudgeFailed:
		if v.Err = "recorded as a total of 0: " + l.Why; l.Unanswered() {
			v.Data, v.Err = nil, l.Why
		}
	}
	return []eval.Verdict{v}
}

func (b *bench) judgeRequest(r *record, spans []spanfile.Span, foreseen func() *verdict.Result) eval.Request {
	q := kit.JudgeRequest(b.judge)
	q.Item, q.System = r.ID, b.system
	q.Messages = []eval.Message{{Role: "user", Content: verdict.User(r.Text, spans)}}
	kit.Structure(&q, b.judge, eval.Schema{Name: "judgement", Strict: true, JSON: b.schema},
		eval.Tool{Name: "report_judgement", Description: "Reports the judgement of the spans."})
	right := func() string { return string(foreseen().Encode()) }
	if b.judge.Provider == kit.SimulatedProvider {
		blind := faultless()
		blind.Notes = "No errors."
		q.Payload = kit.SimulatedAnswer(right(), string(blind.Encode()))
	}
	q.Foreseen = right
	return q
}

// faultless is the judgement of spans without an error.
func faultless() *verdict.Result {
	v := verdict.Empty()
	v.Scores = verdict.Scores{Coverage: 5, Precision: 5, Granularity: 5, Taxonomy: 5, TechnicalSpecs: 5}
	v.TotalScore = v.Scores.Total()
	return &v
}

// foreseen is the judgement that follows from gold: every difference is an error.
// It is what a simulated judge says.
func (b *bench) foreseen(r *record, spans []spanfile.Span) *verdict.Result {
	v := faultless()
	lower := func(score *float64, n int) { *score = max(1, 5-float64(n)) }
	present := map[string]bool{}
	for _, m := range b.match(r, spans) {
		switch {
		case m.gold == nil:
			v.FalsePositives = append(v.FalsePositives, verdict.FalsePositive{SpanIndex: verdict.Index(m.index), Text: m.span.Text, AssignedRole: m.span.Role, Reason: label.Other})
		case m.span == nil:
			v.MissedElements = append(v.MissedElements, verdict.Missed{Text: m.gold.Text, ExpectedRole: m.gold.Role, Category: b.taxonomy.Category(m.gold.Role),
				Severity: b.taxonomy.Severities[len(b.taxonomy.Severities)-1]})
		default:
			if m.role {
				v.TaxonomyErrors = append(v.TaxonomyErrors, verdict.Confusion{SpanIndex: verdict.Index(m.index), Text: m.span.Text, AssignedRole: m.span.Role, ExpectedRole: m.gold.Role})
			}
			if m.borders {
				issue := b.taxonomy.Granularity[0]
				if m.span.End-m.span.Start > m.gold.End-m.gold.Start {
					issue = b.taxonomy.Granularity[len(b.taxonomy.Granularity)-1]
				}
				v.GranularityErrors = append(v.GranularityErrors, verdict.Granularity{SpanIndex: verdict.Index(m.index), Text: m.span.Text, Issue: issue, Suggestion: m.gold.Text})
			}
		}
		if m.gold != nil {
			present[b.taxonomy.Category(m.gold.Role)] = true
		}
	}
	s := &v.Scores
	lower(&s.Coverage, len(v.MissedElements))
	lower(&s.Precision, len(v.FalsePositives))
	lower(&s.Granularity, len(v.GranularityErrors))
	lower(&s.Taxonomy, len(v.TaxonomyErrors))
	v.TotalScore = s.Total()
	for _, c := range b.taxonomy.Categories {
		v.CategoryScores[c.Name] = nil
		if present[c.Name] {
			v.CategoryScores[c.Name] = &verdict.CategoryScore{Coverage: s.Coverage, Precision: s.Precision}
		}
	}
	return v
}

// planted is gold with an error in one span. Which one depends on the text alone.
func (b *bench) planted(r *record) []spanfile.Span {
	spans := append([]spanfile.Span(nil), r.Spans...)
	if i := b.plantedAt(r); i >= 0 {
		spans[i] = b.faulty(r, spans[i])
	}
	return spans
}

// plantedAt is the span with the error, -1 if there is none that can have one.
func (b *bench) plantedAt(r *record) int {
	if len(r.Spans) == 0 {
		return -1
	}
	i := int(uint64(kit.Hash(r.Text)) % uint64(len(r.Spans)))
	if b.faulty(r, r.Spans[i]) == r.Spans[i] {
		return -1
	}
	return i
}

// Measure measures the judge on gold: it must find the planted error, and none
// in the same span of gold as it is; and on the known cases of the study.
func (b *bench) Measure(cases iter.Seq2[eval.Case, error]) (eval.Measurement, error) {
	return kit.Measure(cases, b, func(c eval.Case, of *eval.Judged) (kit.Counted, error) {
		r := b.Datum(c.Item)
		if r == nil || b.plantedAt(r) < 0 {
			return kit.Counted{}, nil
		}
		t := b.read(r, of)
		missing := t.missing
		if missing == "" {
			missing = t.parsed.Result.UnknownSpans()
		}
		n := kit.Count(c.Arm != calibrationPlanted, missing == "" && t.flags[b.plantedAt(r)] == 0, missing)
		for i := range n.Wrong {
			n.Wrong[i].Want = map[bool]string{true: "no error", false: "an error"}[n.Pass] + fmt.Sprintf(" in span %d", b.plantedAt(r))
		}
		return n, nil
	})
}

// Calibrate returns a scorer that uses the judge's verdicts if it is better than chance.
func (b *bench) Calibrate(m eval.Measurement) (eval.Scorer, eval.Calibration) {
	if b.judge == nil {
		recorded := "none"
		for _, a := range slices.Backward(b.OwnArms) { // the first of them
			if a.snapshot != nil {
				recorded = b.judgeOf(a)
			}
		}
		return b, eval.Calibration{Judge: recorded, Effect: "the study has no judge model: recorded judgements, if any, count as they are"}
	}
	calibrated := *b
	var k eval.Calibration
	calibrated.trusted, k = kit.Trust(b.judge.ID, m, kit.Yardstick{Noun: "sets of spans with a known verdict", Nothing: "there is no gold", Otherwise: "its verdicts are unscored",
		Remedy: "Gold spans have no error, and with a planted error have one: if gold itself is wrong, correct it."})
	return &calibrated, k
}

// Ratings returns whether the judge finds each span of an answer right: without an error
// of any kind. Types are the categories of the roles.
func (b *bench) Ratings(c eval.Case) (list []eval.Rating) {
	r := b.Datum(c.Item)
	if r == nil {
		return nil
	}
	for of := range c.Answered() {
		t := b.read(r, of)
		if t.missing != "" || t.parsed.Result.UnknownSpans() != "" {
			continue
		}
		for i, s := range t.spans {
			list = append(list, eval.Rating{Trial: of.Trial, Unit: unitOf(i), Type: b.taxonomy.Category(s.Role), Yes: t.flags[i] == 0})
		}
	}
	return list
}
