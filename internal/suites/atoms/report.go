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

// maxWorst limits the rows of the table of worst cases.
const maxWorst = 20

// tally is what the report collects of an arm.
type tally struct {
	trials        int
	emitted       int
	atoms, edges  map[string]*graph.Counts
	before, after map[okf.Code]int
	repairs       bool
	said, covered []eval.Labelled
	worst         []worstCase
}

// A worstCase is a trial with what is wrong with it.
type worstCase struct {
	id                       string
	replicate                int
	broken                   float64 // sum of the shortfalls, for the order
	atomF1, edgeF1, faithful eval.Number
	valid                    float64
	errors                   int
	wrong                    []string
}

// Report lists the worst cases first, then counts by edge and type, problems of
// graphs, what claims are worth by the judge's error, and the cost of an atom.
func (b *Bench) Report(r eval.Results) ([]eval.Block, error) {
	tallies, err := b.tallies(r.Cases())
	if err != nil {
		return nil, err
	}
	var blocks []eval.Block
	add := func(t eval.Table) {
		if len(t.Rows) > 0 {
			blocks = append(blocks, eval.Block{Table: &t})
		}
	}
	add(b.worstTable(tallies))
	add(b.countTable(tallies, "edges", "Edges by name", b.edgeNames(), func(n *tally) map[string]*graph.Counts { return n.edges }))
	add(b.countTable(tallies, "types", "Atoms by type", append(b.ontology.TypeNames(), graph.OtherType), func(n *tally) map[string]*graph.Counts { return n.atoms }))
	add(b.problemTable(tallies))
	add(b.claimTable(r, tallies))
	add(b.costTable(r, tallies))
	return blocks, nil
}

// tallies collects the trials of each arm.
func (b *Bench) tallies(cases iter.Seq2[eval.Case, error]) (map[string]*tally, error) {
	tallies := map[string]*tally{}
	for c, err := range cases {
		if err != nil {
			return nil, err
		}
		s, a := b.Datum(c.Item), b.Arm(c.Arm)
		if s == nil || a == nil {
			continue
		}
		n := tallies[a.ID]
		if n == nil {
			n = &tally{atoms: map[string]*graph.Counts{}, edges: map[string]*graph.Counts{}, before: map[okf.Code]int{}, after: map[okf.Code]int{}}
			tallies[a.ID] = n
		}
		for t := range c.Answered() {
			n.add(b, s, t)
		}
	}
	return tallies, nil
}

// Pick picks the cases that a report shows with their graphs, worst first.
func (b *Bench) Pick(cases iter.Seq2[eval.Case, error], few int) ([]eval.Picked, error) {
	tallies, err := b.tallies(cases)
	if err != nil {
		return nil, err
	}
	most := max(maxPicked, 2*few)
	if len(b.On) > maxPicked {
		most = few
	}
	var list []eval.Picked
	b.inOrder(tallies, func(id string, n *tally) {
		n.sort()
		for i, w := range n.worst[:min(most, len(n.worst))] {
			p := eval.Picked{Trial: eval.Trial{Item: w.id, Arm: id, Replicate: w.replicate}}
			switch {
			case w.broken == 0:
				p.Rank = "best"
			case i < (len(n.worst)+1)/2:
				p.Rank = "worst"
			}
			list = append(list, p)
		}
	})
	return list, nil
}

// maxPicked is the number of cases of an arm that a report shows.
const maxPicked = 12

// sort sorts the trials, worst first.
func (n *tally) sort() {
	slices.SortStableFunc(n.worst, func(x, y worstCase) int {
		return cmp.Or(cmp.Compare(y.broken, x.broken), cmp.Compare(x.id, y.id), cmp.Compare(x.replicate, y.replicate))
	})
}

func (n *tally) add(b *Bench, s *sample, t *eval.Judged) {
	pred, before := b.written(t)
	matched := graph.Match(s.gold, pred)
	compared := graph.Compare(s.gold, pred, matched)
	n.trials++
	n.emitted += len(pred.Atoms)
	count(n.atoms, compared.Atoms)
	count(n.edges, compared.Edges)
	issues := graph.Integrity(before)
	for _, f := range issues {
		n.before[f.Code]++
	}
	if before != pred {
		n.repairs = true
		issues = graph.Integrity(pred)
	}
	for _, f := range issues {
		n.after[f.Code]++
	}
	w := worstCase{id: s.id, replicate: t.Trial.Replicate, atomF1: f1Of(graph.Sum(compared.Atoms)), edgeF1: f1Of(graph.Sum(compared.Edges)), faithful: eval.Undefined()}
	w.errors, _ = severities(graph.Integrity(before))
	files, _, valid := pred.Rates()
	if files > 0 {
		w.valid = float64(valid) / float64(files)
	}
	row := make(eval.Row, 4)
	for _, p := range s.points(pred) {
		j := b.judgement(s, p, t.Verdicts)
		if j.missing {
			continue
		}
		l := eval.Labelled{Cluster: s.item.ClusterID(), Judge: kit.Indicator(j.holds)}
		at := 0
		if p.fromGold {
			n.covered, at = append(n.covered, l), 2
		} else {
			n.said = append(n.said, l)
		}
		row[at], row[at+1] = row[at]+l.Judge, row[at+1]+1
		if !j.holds {
			what := "fabricated"
			if p.fromGold {
				what = "omitted"
			}
			w.wrong = append(w.wrong, fmt.Sprintf("%s: %s", what, text.Shorten(p.claim, 60)))
		}
	}
	w.faithful = eval.Number(faithfulness([]eval.Row{row}))
	if t.Outcome.Kind != eval.OK {
		w.wrong = append([]string{string(t.Outcome.Kind) + ": " + t.Outcome.Reason}, w.wrong...)
	}
	for _, f := range graph.Integrity(before) {
		if f.Severity == okf.Error {
			w.wrong = append(w.wrong, fmt.Sprintf("%s: %s", f.Code, text.Shorten(f.Text, 60)))
		}
	}
	for _, f := range pred.Findings() {
		if f.Severity == okf.Error {
			w.wrong = append(w.wrong, fmt.Sprintf("%s: %s", f.Code, text.Shorten(f.Text, 60)))
		}
	}
	w.wrong = append(w.wrong, differences(s.gold, pred, matched, compared)...)
	short := func(v eval.Number) float64 {
		if !v.Defined() {
			return 0
		}
		return 1 - float64(v)
	}
	w.broken = short(w.atomF1) + short(w.edgeF1) + short(w.faithful) + 1 - w.valid + min(1, float64(w.errors)/4)
	n.worst = append(n.worst, w)
}

// differences names the atoms and edges that are missing or spurious.
func differences(gold, pred *okf.Base, m graph.Matching, c graph.Comparison) (list []string) {
	for i, p := range m.Gold {
		if p < 0 {
			list = append(list, "missing atom: "+describe(&gold.Atoms[i]))
		}
	}
	for i, g := range m.Pred {
		if g < 0 {
			list = append(list, "spurious atom: "+describe(&pred.Atoms[i]))
		}
	}
	for _, l := range c.Missing {
		if m.Gold[l.Atom] >= 0 {
			link := gold.Atoms[l.Atom].Links[l.Link]
			list = append(list, fmt.Sprintf("missing edge: %s %s %s", describe(&gold.Atoms[l.Atom]), link.Edge, link.Written))
		}
	}
	for _, l := range c.Links {
		if l.State == graph.Spurious && m.Pred[l.Atom] >= 0 {
			link := pred.Atoms[l.Atom].Links[l.Link]
			list = append(list, fmt.Sprintf("spurious edge: %s %s %s", describe(&pred.Atoms[l.Atom]), link.Edge, link.Written))
		}
	}
	return list
}

func count(into map[string]*graph.Counts, list []graph.Counts) {
	for _, c := range list {
		if into[c.Name] == nil {
			into[c.Name] = new(graph.Counts)
		}
		n := into[c.Name]
		n.True, n.Predicted, n.Gold = n.True+c.True, n.Predicted+c.Predicted, n.Gold+c.Gold
	}
}

func f1Of(n graph.Counts) eval.Number {
	if n.Predicted+n.Gold == 0 {
		return eval.Undefined()
	}
	return eval.Number(2 * float64(n.True) / float64(n.Predicted+n.Gold))
}

func (b *Bench) edgeNames() []string {
	names := make([]string, len(b.ontology.Edges))
	for i, e := range b.ontology.Edges {
		names[i] = e.Name
	}
	return names
}

// inOrder yields the arms with results in their order.
func (b *Bench) inOrder(tallies map[string]*tally, visit func(id string, n *tally)) {
	for _, a := range b.On {
		if n := tallies[a.ID]; n != nil {
			visit(a.ID, n)
		}
	}
}

func (b *Bench) worstTable(tallies map[string]*tally) eval.Table {
	t := eval.Table{Name: "worst", Title: "Worst cases", Columns: []string{"arm", "case", "atom F1", "edge F1", "validity", "graph errors", "faithfulness", "what is wrong"},
		Note: "Cases that are not perfect, worst first: by the sum of what is missing to 1, and a quarter for each error of the graph."}
	b.inOrder(tallies, func(id string, n *tally) {
		if b.Arm(id).Role != eval.RoleArm {
			return
		}
		n.sort()
		for i, w := range n.worst {
			if w.broken == 0 || i == maxWorst {
				break
			}
			name := w.id
			if w.replicate > 1 {
				name += fmt.Sprintf(" #%d", w.replicate)
			}
			t.Row(eval.Text(id), eval.Text(name), eval.Ratio(w.atomF1), eval.Ratio(w.edgeF1), eval.Ratio(eval.Number(w.valid)), eval.Count(w.errors), eval.Ratio(w.faithful),
				eval.Text(text.Shorten(strings.Join(w.wrong, "; "), 240)))
		}
	})
	return t
}

func (b *Bench) countTable(tallies map[string]*tally, name, title string, names []string, of func(*tally) map[string]*graph.Counts) eval.Table {
	t := eval.Table{Name: name, Title: title, Columns: []string{"arm", name[:len(name)-1], "gold", "emitted", "right", "precision", "recall", "F1"}, Note: "Pooled over all trials."}
	b.inOrder(tallies, func(id string, n *tally) {
		for _, k := range names {
			c := of(n)[k]
			if c == nil || c.Gold+c.Predicted == 0 {
				continue
			}
			t.Row(eval.Text(id), eval.Text(k), eval.Count(c.Gold), eval.Count(c.Predicted), eval.Count(c.True), share(c.True, c.Predicted), share(c.True, c.Gold), eval.Ratio(f1Of(*c)))
		}
	})
	return t
}

func share(n, of int) eval.Cell {
	if of == 0 {
		return eval.Missing(eval.KindRatio, "")
	}
	return eval.Ratio(eval.Number(n) / eval.Number(of))
}

func (b *Bench) problemTable(tallies map[string]*tally) eval.Table {
	t := eval.Table{Name: "integrity", Title: "Problems of graphs", Columns: []string{"arm", "problem", "severity", "before repair", "after"}, Note: "Over all trials. An arm without a repair has the same numbers twice."}
	b.inOrder(tallies, func(id string, n *tally) {
		for _, code := range graph.Codes() {
			if n.before[code]+n.after[code] == 0 {
				continue
			}
			severity := okf.Error
			if code == graph.CodeCycle || code == graph.CodeOrphan || code == graph.CodeIdle {
				severity = okf.Warning
			}
			t.Row(eval.Text(id), eval.Text(string(code)), eval.Text(string(severity)), eval.Count(n.before[code]), eval.Count(n.after[code]))
		}
	})
	return t
}

// claimTable shows the rates of claims as the judge says, and corrected by its error. The
// error is of the question whether a source supports a claim, so coverage is not corrected.
func (b *Bench) claimTable(r eval.Results, tallies map[string]*tally) eval.Table {
	t := eval.Table{Name: "claims", Title: "Claims, and the judge's error", Columns: []string{"arm", "rate", "claims", "judge " + b.judgeName() + " says", "corrected"}}
	if b.quality == nil {
		t.Note = "The judge was not measured on claims with human labels, so nothing is corrected: see judge_quality."
	} else {
		t.Note = "Corrected by the judge's sensitivity and specificity on claims with human labels (Rogan & Gladen). It assumes that the judge is right as often here, on what is supported and on what is not. The labels measure whether a source supports a claim, so coverage and omission are not corrected, and in faithfulness only the emitted claims are. Judge " + b.quality.Judge + ": " + b.quality.describe() + "."
	}
	b.inOrder(tallies, func(id string, n *tally) {
		var grounded eval.Measured
		known := false
		if b.quality != nil && len(n.said) > 0 {
			grounded, known = r.Corrected(n.said, b.quality.known())
		}
		add := func(name string, claims int, says float64, correct func(grounded float64) float64) {
			corrected := eval.Missing(eval.KindRatio, "")
			if known && correct != nil {
				m := eval.Measured{Value: eval.Number(correct(float64(grounded.Value))), Low: eval.Number(correct(float64(grounded.Low))), High: eval.Number(correct(float64(grounded.High)))}
				if m.Low > m.High {
					m.Low, m.High = m.High, m.Low
				}
				corrected = eval.MeasuredRatio(m, true)
			}
			if claims > 0 && says == says {
				t.Row(eval.Text(id), eval.Text(name), eval.Count(claims), eval.Ratio(eval.Number(says)), corrected)
			}
		}
		said, covers := holding(n.said), holding(n.covered)
		add(metricFaithfulness, len(n.said)+len(n.covered), harmonic(said, covers), func(x float64) float64 { return harmonic(x, covers) })
		add(metricGrounded, len(n.said), said, func(x float64) float64 { return x })
		add(metricFabrication, len(n.said), 1-said, func(x float64) float64 { return 1 - x })
		add(metricCovered, len(n.covered), covers, nil)
		add(metricOmission, len(n.covered), 1-covers, nil)
	})
	return t
}

// holding is the share of claims that hold by the judge; NaN of none.
func holding(list []eval.Labelled) float64 {
	n := 0.0
	for _, l := range list {
		n += l.Judge
	}
	return n / float64(len(list))
}

func (b *Bench) costTable(r eval.Results, tallies map[string]*tally) eval.Table {
	t := eval.Table{Name: "cost", Title: "Cost per case and per atom", Columns: []string{"arm", "unit", "of a case", "of the run", "of an atom"}}
	b.inOrder(tallies, func(id string, n *tally) {
		each, unit := r.Effort(id)
		if each == 0 || n.trials == 0 {
			return
		}
		atom, all := eval.Undefined(), each*float64(n.trials)
		if n.emitted > 0 {
			atom = eval.Number(all / float64(n.emitted))
		}
		t.Row(eval.Text(id), eval.Text(strings.TrimSuffix(unit, " a trial")), eval.Quantity(eval.Number(each)), eval.Quantity(eval.Number(all)), eval.Quantity(atom))
	})
	return t
}
