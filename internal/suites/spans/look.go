package spans

import (
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/measure/span"
	"github.com/scruple-eval/scruple/internal/spanfile"
	"github.com/scruple-eval/scruple/internal/suites/spans/verdict"
	"github.com/scruple-eval/scruple/internal/text"
)

// A trial is a trial as it was read: its spans, how they match gold, and its judgement.
type trial struct {
	*eval.Judged
	answer
	record   *record
	arm      *arm // nil for a trial of another study
	absent   bool // the file of the arm does not have the text
	readable bool
	matches  []match // of texts with gold
	judgement
}

// read reads a trial on a text.
func (b *bench) read(r *record, of *eval.Judged) *trial {
	t := &trial{Judged: of, record: r, arm: b.Arm(of.Trial.Arm), absent: absent(&of.Outcome)}
	err := errSpans
	if of.Outcome.Kind == eval.OK && !t.absent {
		t.answer, err = b.readAnswer(of.Outcome.Data, r.Text) // without spans there are none
	}
	t.readable = err == nil
	if r.Labelled && !t.absent {
		t.matches = b.match(r, t.spans)
	}
	b.readJudgement(t)
	return t
}

// A match is a gold span, a predicted span, or both if they overlap.
type match struct {
	gold  *spanfile.Span
	span  *spanfile.Span
	index int // of the span
	iou   float64
	// role and borders say which of them differ.
	role, borders bool
}

// match pairs the spans of an answer with gold, by overlap.
func (b *bench) match(r *record, spans []spanfile.Span) (list []match) {
	as := b.taxonomy.Canonical
	for _, p := range span.Pairs(spansIn(r.Spans, as), spansIn(spans, as)) {
		m := match{index: p.Predicted, iou: p.IoU}
		if p.Gold >= 0 {
			m.gold = &r.Spans[p.Gold]
		}
		if p.Predicted >= 0 {
			m.span = &spans[p.Predicted]
		}
		if m.gold != nil && m.span != nil {
			m.role = as(m.gold.Role) != as(m.span.Role)
			m.borders = m.gold.Start != m.span.Start || m.gold.End != m.span.End
		}
		list = append(list, m)
	}
	return list
}

// A judgement is what is known of an answer from its verdicts.
type judgement struct {
	missing string // why there is none
	parsed  verdict.Parsed
	flags   []uint8 // of spans
	failed  bool    // the judge was asked and failed
}

// noJudgement begins the reason for scores that are missing because the judge failed.
const noJudgement = "no judgement: "

// readJudgement reads the judge's verdict on a trial.
func (b *bench) readJudgement(t *trial) {
	j := &t.judgement
	if j.missing = "not judged"; t.absent {
		j.missing = noText
		return
	}
	for _, v := range t.Verdicts {
		if v.Step != judgeStep || v.Source == eval.ByHuman {
			continue
		}
		switch {
		case v.Err != "":
			j.missing, j.failed = noJudgement+text.Shorten(text.FirstLine(v.Err), 120), true
			j.parsed = verdict.Parsed{Result: verdict.Empty(), Step: verdict.None, Raw: string(v.Data)}
			return
		case !t.readable:
			j.missing = "the answer has no spans"
			return
		case v.Source == eval.ByPipeline:
			j.parsed = verdict.Recorded(v.Data, b.taxonomy, t.spans)
		default:
			j.parsed = verdict.Parse(string(v.Data), b.taxonomy, t.spans)
		}
		if j.missing = ""; j.parsed.Step == verdict.None {
			j.missing, j.failed = unparsed, true
		}
		j.flags = j.parsed.Result.Flags(len(t.spans))
		return
	}
}
