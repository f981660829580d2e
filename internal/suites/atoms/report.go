package atoms

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/atoms/graph"
	"github.com/scruple-eval/scruple/internal/suites/atoms/okf"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

// A trial is what the report shows of a trial of an arm.
type trial struct {
	eval.Trial
	own      map[string]eval.Fraction // its scores
	problems []string
	broken   float64 // sum of the shortfalls, for the order
}

// A tally is what the report collects of an arm beyond the sums of its scores.
type tally struct {
	arm           *arm
	before, after map[okf.Code]int
	worst         []trial
	partly        int // trials without the answer about some of their documents
	unread        int // those documents
}

// Report lists the worst cases first, then counts by edge and type, problems of
// graphs, what claims are worth by the judge's error, and the cost of an atom.
func (b *bench) Report(r eval.Results) ([]eval.Block, error) {
	tallies, err := b.tallies(r.Cases())
	if err != nil {
		return nil, err
	}
	var edges []string
	for _, e := range b.ontology.Edges {
		edges = append(edges, e.Name)
	}
	return kit.Blocks(
		worstTable(tallies),
		b.countTable(r, "edges", "Edges by name", edges, metricEdgePrecision, metricEdgeRecall),
		b.countTable(r, "types", "Atoms by type", append(b.ontology.TypeNames(), graph.OtherType), metricAtomPrecision, metricAtomRecall),
		problemTable(tallies),
		unreadTable(tallies),
		b.claimTable(r),
		b.costTable(r),
	), nil
}

// tallies collects the trials of each arm that has some, the worst first.
func (b *bench) tallies(cases iter.Seq2[eval.Case, error]) (list []*tally, err error) {
	byArm := map[*arm]*tally{}
	for c, err := range cases {
		if err != nil {
			return nil, err
		}
		s, a := b.Datum(c.Item), b.Arm(c.Arm)
		if s == nil || a == nil {
			continue
		}
		n := byArm[a]
		if n == nil {
			n = &tally{arm: a, before: map[okf.Code]int{}, after: map[okf.Code]int{}}
			byArm[a] = n
		}
		for t := range c.Answered() {
			n.add(b.assess(s, t), s, t)
		}
	}
	for _, a := range b.OwnArms {
		if n := byArm[a]; n != nil {
			slices.SortStableFunc(n.worst, func(x, y trial) int {
				return cmp.Or(cmp.Compare(y.broken, x.broken), cmp.Compare(x.Item, y.Item), cmp.Compare(x.Replicate, y.Replicate))
			})
			list = append(list, n)
		}
	}
	return list, nil
}

func (n *tally) add(a *assessment, of *sample, t *eval.Judged) {
	for _, f := range a.issues {
		n.before[f.Code]++
	}
	for _, f := range a.repaired {
		n.after[f.Code]++
	}
	w := trial{Trial: t.Trial, own: pool(a.score(nil)), problems: a.problems()}
	if t.Outcome.Kind != eval.OK {
		w.problems = append([]string{string(t.Outcome.Kind) + ": " + t.Outcome.Reason}, w.problems...)
	} else if unread := of.unread(t.Outcome.Notes); len(unread) > 0 {
		n.partly, n.unread = n.partly+1, n.unread+len(unread)
		w.problems = append(unread, w.problems...)
	}
	for _, metric := range []string{metricAtomF1, metricEdgeF1, metricFaithfulness, metricValidity} {
		if x := w.value(metric); x.Defined() {
			w.broken += 1 - float64(x)
		}
	}
	w.broken += min(1, w.own[metricErrors].Num/4)
	n.worst = append(n.worst, w)
}

// value is the trial's own value of a metric.
func (t *trial) value(metric string) eval.Number {
	of := t.own[metric]
	return eval.Number(of.Num / of.Den) // NaN without one
}

// maxPicked is the number of cases of an arm that a report shows, and maxWorst that in the
// table of worst cases.
const (
	maxPicked = 12
	maxWorst  = 20
)

// Pick picks the cases that a report shows with their graphs, worst first.
func (b *bench) Pick(cases iter.Seq2[eval.Case, error], few int) ([]eval.Picked, error) {
	tallies, err := b.tallies(cases)
	if err != nil {
		return nil, err
	}
	most := max(maxPicked, 2*few)
	if len(b.OwnArms) > maxPicked {
		most = few
	}
	var list []eval.Picked
	for _, n := range tallies {
		for i, w := range n.worst[:min(most, len(n.worst))] {
			p := eval.Picked{Trial: w.Trial}
			switch {
			case w.broken == 0:
				p.Rank = "best"
			case i < (len(n.worst)+1)/2:
				p.Rank = "worst"
			}
			list = append(list, p)
		}
	}
	return list, nil
}

func brief(s string) string { return text.Shorten(s, 60) }

func worstTable(tallies []*tally) eval.Table {
	t := eval.Table{Name: "worst", Title: "Worst cases", Columns: []string{"arm", "case", "atom F1", "edge F1", "validity", "graph errors", "faithfulness", "what is wrong"},
		Note: "Cases that are not perfect, worst first: by the sum of what is missing to 1, and a quarter for each error of the graph."}
	for _, n := range tallies {
		if n.arm.Role != eval.RoleArm {
			continue
		}
		for _, w := range n.worst[:min(maxWorst, len(n.worst))] {
			if w.broken == 0 {
				break
			}
			name := w.Item
			if w.Replicate > 1 {
				name += fmt.Sprintf(" #%d", w.Replicate)
			}
			errors := eval.Text("–")
			if w.value(metricErrors).Defined() {
				errors = eval.Count(int(w.own[metricErrors].Num))
			}
			t.Row(eval.Text(n.arm.ID), eval.Text(name), eval.Ratio(w.value(metricAtomF1)), eval.Ratio(w.value(metricEdgeF1)), eval.Ratio(w.value(metricValidity)),
				errors, eval.Ratio(w.value(metricFaithfulness)), eval.Text(text.Shorten(strings.Join(w.problems, "; "), 240)))
		}
	}
	return t
}

// countTable shows the counts that two shares of the same units have.
func (b *bench) countTable(r eval.Results, name, title string, units []string, precision, recall string) eval.Table {
	t := eval.Table{Name: name, Title: title, Columns: []string{"arm", name[:len(name)-1], "gold", "emitted", "right", "precision", "recall", "F1"}, Note: "Pooled over all trials."}
	for _, a := range b.OwnArms {
		ofEmitted, ofGold := r.ByUnit(a.ID, precision), r.ByUnit(a.ID, recall)
		for _, u := range units {
			emitted, gold := ofEmitted[u], ofGold[u]
			if gold.Den+emitted.Den == 0 {
				continue
			}
			t.Row(eval.Text(a.ID), eval.Text(u), eval.Count(int(gold.Den)), eval.Count(int(emitted.Den)), eval.Count(int(gold.Num)),
				eval.Ratio(eval.Number(emitted.Num/emitted.Den)), eval.Ratio(eval.Number(gold.Num/gold.Den)), eval.Ratio(eval.Number(2*gold.Num/(gold.Den+emitted.Den))))
		}
	}
	return t
}

func problemTable(tallies []*tally) eval.Table {
	t := eval.Table{Name: "integrity", Title: "Problems of graphs", Columns: []string{"arm", "problem", "severity", "before repair", "after"}, Note: "Over all trials. An arm without a repair has the same numbers twice."}
	for _, n := range tallies {
		for _, p := range graph.Problems {
			if n.before[p.Code]+n.after[p.Code] > 0 {
				t.Row(eval.Text(n.arm.ID), eval.Text(string(p.Code)), eval.Text(string(p.Severity)), eval.Count(n.before[p.Code]), eval.Count(n.after[p.Code]))
			}
		}
	}
	return t
}

// unread are the notes on documents whose answers could not be read.
func (s *sample) unread(notes []string) (list []string) {
	for _, d := range s.sources {
		if i := slices.IndexFunc(notes, func(note string) bool { return strings.HasPrefix(note, d.Name+": ") }); i >= 0 {
			list = append(list, notes[i])
		}
	}
	return list
}

func unreadTable(tallies []*tally) eval.Table {
	t := eval.Table{Name: "unread", Title: "Documents without a readable answer", Columns: []string{"arm", "trials", "documents"},
		Note: "Of trials that have the atoms of their other documents and count as answered. What such a document has counts as missed."}
	for _, n := range tallies {
		if n.partly > 0 {
			t.Row(eval.Text(n.arm.ID), eval.Count(n.partly), eval.Count(n.unread))
		}
	}
	return t
}

// claimTable shows the rates of claims as the judge says, and corrected by its error. The
// error is of the question whether a source supports a claim, so coverage is not corrected.
func (b *bench) claimTable(r eval.Results) eval.Table {
	t := eval.Table{Name: "claims", Title: "Claims, and the judge's error", Columns: []string{"arm", "rate", "claims", "judge " + b.judgeName() + " says", "corrected"}}
	if b.quality == nil {
		t.Note = "The judge was not measured on claims with human labels, so nothing is corrected here: see judge_quality. What people say in tasks is in the estimates."
	} else {
		t.Note = "Corrected by the judge's sensitivity and specificity on claims with human labels (Rogan & Gladen). It assumes that the judge is right as often here, on what is supported and on what is not. The labels measure whether a source supports a claim, so coverage and omission are not corrected, and in faithfulness only the emitted claims are. Judge " + b.quality.Judge + ": " + b.quality.describe() + "."
	}
	for _, a := range b.OwnArms {
		said, covers := r.Sum(a.ID, metricGrounded), r.Sum(a.ID, metricCovered)
		grounded, covered := said.Num/said.Den, covers.Num/covers.Den
		var m eval.Measured
		known := false
		if b.quality != nil && said.Den > 0 {
			m, known = r.Corrected(a.ID, metricGrounded, b.quality.known())
		}
		add := func(name string, claims, says float64, correct func(grounded float64) float64) {
			corrected := eval.Missing(eval.KindRatio, "")
			if known && correct != nil {
				low, high := correct(float64(m.Low)), correct(float64(m.High))
				corrected = eval.Ratio(eval.Number(correct(float64(m.Value)))).Within(eval.Number(min(low, high)), eval.Number(max(low, high)))
			}
			if claims > 0 && says == says {
				t.Row(eval.Text(a.ID), eval.Text(name), eval.Count(int(claims)), eval.Ratio(eval.Number(says)), corrected)
			}
		}
		add(metricFaithfulness, said.Den+covers.Den, harmonic(grounded, covered), func(x float64) float64 { return harmonic(x, covered) })
		add(metricGrounded, said.Den, grounded, func(x float64) float64 { return x })
		add(metricFabrication, said.Den, 1-grounded, func(x float64) float64 { return 1 - x })
		add(metricCovered, covers.Den, covered, nil)
		add(metricOmission, covers.Den, 1-covered, nil)
	}
	return t
}

func (b *bench) costTable(r eval.Results) eval.Table {
	t := eval.Table{Name: "cost", Title: "Cost per case and per atom", Columns: []string{"arm", "unit", "of a case", "of the run", "of an atom"},
		Note: "Without answers from files: what they took is not known."}
	for _, a := range b.OwnArms {
		each, unit := r.Effort(a.ID)
		of := r.Sum(a.ID, metricEmitted)
		if each == 0 || of.Den == 0 || a.Given {
			continue
		}
		all, atom := each*of.Den, eval.Undefined()
		if of.Num > 0 {
			atom = eval.Number(all / of.Num)
		}
		t.Row(eval.Text(a.ID), eval.Text(strings.TrimSuffix(unit, " a trial")), eval.Quantity(eval.Number(each)), eval.Quantity(eval.Number(all)), eval.Quantity(atom))
	}
	return t
}
