package soundness

import (
	"cmp"
	"slices"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/measure"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/suites/soundness/wording"
)

// The types of failure, as in schema 5. Every run that fails has one.
const (
	failureType1 = "type_1" // coherent and incorrect: its reasoning can be diagnosed
	failureType2 = "type_2" // correct and not coherent
	failureType3 = "type_3" // neither, or no label at all, as in a refusal
)

// The outcomes of runs and fragments.
const (
	outcomePass      = "pass"
	outcomeFail      = "fail"
	outcomeUndecided = "undecided"
)

// An Assessment is the score of one run.
type Assessment struct {
	*eval.Judged // the run
	tier1
	Label     int // wording.None without one
	Rationale string
	Method    string // json or text
	Reason    string // from the closed set; "" for a label with a substantive rationale
	Failed    bool   // the call failed: it has a reason, and nothing else
	Excluded  bool   // it has no outcome: its answer is unreadable, or waits for a person or the judge
	Read      string // the label that a person read, or noLabel; "" if nobody was asked
	Unjudged  string // why the judge gave no verdict that the run needs: it is excluded
	Checked   bool   // coherence was checked: there is a label with a substantive rationale
	Screen    string // the judge's word, or not_checked
	Automatic string // what rule and judge say: coherent, incoherent or ambiguous; "" without a label
	Coherence string // the same, with a person's word on an ambiguous run
	Manual    string // a person's word, or ""
	Correct   bool   // the label is the expert's, coherent or not
	HasGold   bool
	Pass      bool
	Failure   string // the type of failure; "" for a pass, an ambiguous run, and if nothing is to be compared
}

// reply reads the answer of an outcome. A safety stop may be the provider's, who gives no
// answer.
func (b *bench) reply(o *eval.Outcome) reply {
	if o.Kind == eval.Refused && o.Reason != reasonRefusal {
		return reply{label: wording.None, rationale: string(o.Data), method: byText, reason: cmp.Or(o.Reason, reasonSafety)}
	}
	return b.reader.read(string(o.Data), slices.Contains(o.Notes, eval.NoteTruncated))
}

// assess scores one run that did not fail. It reads the answer again, so that other
// phrases need no other answers.
func (b *bench) assess(f *Fragment, t *eval.Judged) Assessment {
	p := b.reply(&t.Outcome)
	read := b.readByPeople(&p, t.Verdicts)
	a := Assessment{Judged: t, Label: p.label, Rationale: p.rationale, Method: p.method, Reason: p.reason, Read: read, Screen: notChecked, HasGold: f.Gold != nil,
		Excluded: unreadable(p.reason) || p.reason == reasonUnresolved && read == ""}
	if p.label != wording.None {
		a.Correct = f.Gold != nil && f.Gold.Label == p.label
		switch {
		case a.Excluded:
		case p.reason != "": // nothing in the rationale supports the label
			a.tier1, a.Automatic, a.Coherence = b.rule(p), incoherent, incoherent
			a.Rule, a.Sure = incoherent, true
		default:
			a.Checked, a.tier1 = true, b.rule(p)
			a.Manual = manual(t.Verdicts, b.tasks.coherence, coherent, incoherent)
			if !a.Sure {
				var unjudged string
				a.Screen, unjudged = screened(t.Verdicts)
				if b.byChance {
					a.Screen, unjudged = notChecked, eval.JudgeFailed
				}
				if unjudged != "" && b.judge != nil && a.Manual == "" {
					if a.Read != "" {
						unjudged = "a person read the label, so task " + b.tasks.coherence + " decides on its coherence"
					}
					a.Excluded, a.Reason, a.Unjudged = true, reasonUnjudged, unjudged
				}
			}
			a.Automatic, a.Coherence = a.Rule, a.Rule
			if !a.Sure && a.Screen != a.Rule { // they disagree, or the judge did not answer
				a.Automatic, a.Coherence = ambiguous, cmp.Or(a.Manual, ambiguous)
			}
		}
	}
	a.Pass = !a.Excluded && a.Coherence == coherent && a.Correct
	if !a.Excluded && a.HasGold && !a.Pass && a.Coherence != ambiguous {
		switch {
		case a.Coherence == coherent:
			a.Failure = failureType1
		case a.Correct:
			a.Failure = failureType2
		default:
			a.Failure = failureType3
		}
	}
	return a
}

// noLabel is what people choose for an answer that gives none of the labels, or both.
const noLabel = "no single label"

// readByPeople gives a reply whose label is in doubt the one that people read in it. People
// change no other reply.
func (b *bench) readByPeople(p *reply, vs []eval.Verdict) (says string) {
	if b.tasks.labels == "" || !inDoubt(p.reason) {
		return ""
	}
	names := b.names()
	says = manual(vs, b.tasks.labels, append(names, noLabel)...)
	if i := slices.Index(names, says); i >= 0 {
		p.label, p.reason = i, ""
		b.reader.weigh(p)
	}
	return says
}

// An Adjudication is the outcome of a fragment: that of most of its runs.
type Adjudication struct {
	Passes, Fails, Missing int    // Missing: excluded and failed runs
	Outcome                string // pass, fail or undecided
}

// adjudicate counts runs. Two runs of three decide; with two valid runs both must
// agree.
func adjudicate(runs []Assessment, planned int) Adjudication {
	var d Adjudication
	for _, a := range runs {
		switch {
		case a.Excluded:
		case a.Pass:
			d.Passes++
		default:
			d.Fails++
		}
	}
	d.Missing = max(0, planned-d.Passes-d.Fails)
	d.Outcome = outcomeUndecided
	switch need := planned/2 + 1; {
	case d.Passes >= need:
		d.Outcome = outcomePass
	case d.Fails >= need:
		d.Outcome = outcomeFail
	}
	return d
}

// unanimousPass reports whether every run passes, and whether that is known: an excluded
// run decides unless another failed.
func (d Adjudication) unanimousPass() (pass, known bool) {
	return d.Fails == 0 && d.Missing == 0, d.Fails > 0 || d.Missing == 0
}

// unanimous reports whether all runs have the same outcome, and whether that is known.
func (d Adjudication) unanimous() (same, known bool) {
	mixed := d.Passes > 0 && d.Fails > 0
	return !mixed && d.Missing == 0, mixed || d.Missing == 0
}

// A cell is a fragment and an arm with its runs, assessed, and what most of them are.
type cell struct {
	fragment *Fragment
	arm      *arm // nil for one that is not in the study
	runs     []Assessment
	Adjudication
}

// cell assesses a case. It is nil for a fragment that is not in the study.
func (b *bench) cell(c eval.Case) *cell {
	x := &cell{fragment: b.Datum(c.Item), arm: b.Arm(c.Arm)}
	if x.fragment == nil {
		return nil
	}
	for i := range c.Trials {
		t := &c.Trials[i]
		a := Assessment{Judged: t, Label: wording.None, Failed: true, Excluded: true, Reason: t.Outcome.Reason}
		if t.Outcome.Kind != eval.Failed {
			a = b.assess(x.fragment, t)
		}
		x.runs = append(x.runs, a)
	}
	x.Adjudication = adjudicate(x.runs, b.replicates)
	return x
}

// Why a score is missing.
const (
	unscoredGold      = "no expert label"
	unscoredUndecided = "undecided: the valid runs do not make a majority"
	unscoredUnknown   = "an excluded run decides"
	unscoredExcluded  = "excluded: "
)

// Score scores the runs on a fragment and the fragment.
func (b *bench) Score(dst []eval.Score, c eval.Case) []eval.Score {
	x := b.cell(c)
	if x == nil {
		return dst
	}
	for _, a := range x.runs {
		if a.Failed {
			continue
		}
		from := len(dst)
		dst = appendRun(dst, x.fragment, a)
		for k := range dst[from:] {
			dst[from+k].Replicate = a.Trial.Replicate
		}
	}
	return appendFragment(dst, x.fragment, x.Adjudication)
}

// scores are those of a case.
type scores []eval.Score

// add adds a score of yes and no if it counts, else why it is missing, if that is known.
func (s *scores) add(metric string, counts, is bool, why string) {
	switch {
	case counts:
		*s = append(*s, kit.Yes(metric, is))
	case why != "":
		*s = append(*s, kit.Unscored(metric, why))
	}
}

// appendRun appends the scores of one run.
func appendRun(dst scores, f *Fragment, a Assessment) scores {
	valid, gold, why := !a.Excluded, f.Gold != nil, ""
	switch {
	case a.Unjudged != "":
		why = "no verdict: " + a.Unjudged
	case a.Excluded:
		why = unscoredExcluded + a.Reason
	}
	dst.add("excluded", true, a.Excluded, "")
	dst.add(metricRun, valid && gold, a.Pass, cmp.Or(why, unscoredGold))
	for _, kind := range []string{failureType1, failureType2, failureType3} {
		dst.add(kind, valid && gold, a.Failure == kind, "")
	}
	dst.add(metricCoherent, valid, a.Coherence == coherent, why)
	dst.add("ambiguous", valid, a.Coherence == ambiguous, "")
	dst.add("refused", valid, a.Reason == reasonRefusal || a.Reason == reasonSafety, "")
	dst.add(metricAccuracy, valid && gold && a.Coherence == coherent, a.Correct, why)
	if a.Unjudged != "" { // the label shows something without its coherence
		valid, why = true, ""
	}
	labelled := valid && gold && a.Label != wording.None
	dst.add(metricMatch, labelled, a.Correct, why)
	if labelled {
		recall := [2]string{"recall_first_label", "recall_second_label"}[f.Gold.Label]
		pair := eval.Row{float64(f.Gold.Label), float64(a.Label)}
		dst = append(dst, kit.Yes(recall, a.Correct), eval.Score{Metric: metricKappa, Row: pair})
	}
	return dst
}

// appendFragment appends the scores of the fragment.
func appendFragment(dst scores, f *Fragment, d Adjudication) scores {
	gold, why := f.Gold != nil, ""
	if !gold {
		why = unscoredGold
	}
	all, allKnown := d.unanimousPass()
	same, sameKnown := d.unanimous()
	dst.add(metricFragment, gold && d.Outcome != outcomeUndecided, d.Outcome == outcomePass, cmp.Or(why, unscoredUndecided))
	dst.add(metricUnanimous, gold && allKnown, all, cmp.Or(why, unscoredUnknown))
	dst.add(metricAgreement, gold && sameKnown, same, cmp.Or(why, unscoredUnknown))
	return dst
}

// kappa is Cohen's kappa of rows with the expert's label and that of a run.
func kappa(rows []eval.Counted) float64 {
	var counts [2][2]float64
	for _, r := range rows {
		counts[int(r.Row[0])&1][int(r.Row[1])&1] += r.N
	}
	return measure.Kappa(counts[0][0], counts[0][1], counts[1][0], counts[1][1])
}
