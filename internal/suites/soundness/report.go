package soundness

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/soundness/wording"
	"github.com/scruple-eval/scruple/internal/text"
)

// Report makes the tables and figures of the suite: rates of every combination of model
// and condition, the planned hypotheses beside tests that respect the repeated
// fragments, failures and exclusions, and what the design can find.
func (b *Bench) Report(r eval.Results) ([]eval.Block, error) {
	counts, failures := b.counts(), newSynthesis(b)
	for c, err := range r.Cases() {
		if err != nil {
			return nil, err
		}
		if x := b.cell(c); x != nil && x.arm != nil {
			counts[slices.Index(b.On, x.arm)].add(c, x)
			failures.add(x)
		}
	}
	p, ok := r.(eval.Panel)
	if !ok {
		return []eval.Block{{Table: b.matrix(r)}, {Table: b.failures(counts)}, {Table: b.coherenceTable(counts)}, {Table: b.exclusions(counts)}}, nil
	}
	tested := b.hypotheses(p)
	blocks := []eval.Block{{Figure: b.bars(p, "model", b.models)}}
	if groups := b.groupNames(); len(groups) > 1 {
		blocks = append(blocks, eval.Block{Figure: b.bars(p, "group", groups)})
	}
	for _, t := range []*eval.Table{b.summary(p, tested, counts), b.matrix(r), b.collapsed(p), tests(tested), b.failures(counts), b.coherenceTable(counts), b.exclusions(counts), b.design(p)} {
		blocks = append(blocks, eval.Block{Table: t})
	}
	return append(blocks, failures.blocks(r)...), nil
}

// armsOf lists the arms that have a level and a condition; "" stands for any.
func (b *Bench) armsOf(level, value, condition string) (ids []string) {
	for _, a := range b.On {
		if (value == "" || eval.LevelOf(a.Levels, level) == value) && (condition == "" || a.condition == condition) {
			ids = append(ids, a.ID)
		}
	}
	return ids
}

// groupNames lists the groups of models in the order of the arms.
func (b *Bench) groupNames() (names []string) {
	for _, a := range b.On {
		if a.group != "" && !slices.Contains(names, a.group) {
			names = append(names, a.group)
		}
	}
	return names
}

// matrix has the three rates of every combination of model and condition.
func (b *Bench) matrix(r eval.Results) *eval.Table {
	t := &eval.Table{Name: "performance_matrix", Title: "Performance by model and condition", Columns: []string{"model", "condition", "fragments pass", "unanimous pass", "runs pass", "fragments"},
		Note: "With each value: its interval of the level of the study, Wilson's for fragments. Fragments pass by the majority of their runs; unanimous: all runs pass."}
	for _, a := range b.On {
		e, ok := r.Estimate(a.ID, metricFragment)
		t.Row(eval.Text(a.family()), eval.Text(a.condition), eval.MeasuredShare(e, ok), eval.MeasuredShare(r.Estimate(a.ID, metricUnanimous)),
			eval.MeasuredShare(r.Estimate(a.ID, metricRun)), eval.Count(e.N))
	}
	return t
}

// collapsed has the three rates by model, by condition and by group.
func (b *Bench) collapsed(p eval.Panel) *eval.Table {
	t := &eval.Table{Name: "collapsed_rates", Title: "Performance by model, condition and group", Columns: []string{"", "fragments pass", "of", "with the interval of whole fragments", "unanimous pass", "runs pass"},
		Note: "With each value: Wilson's interval, which takes outcomes for independent. The interval of the fourth column respects that a fragment is judged several times."}
	add := func(name string, arms []string) {
		f, ok := p.Rate(arms, metricFragment)
		if !ok {
			return
		}
		u, okU := p.Rate(arms, metricUnanimous)
		runs, okR := p.Rate(arms, metricRun)
		t.Row(eval.Text(name), eval.MeasuredShare(f.Measured, ok), eval.Count(f.Outcomes), eval.Share(f.Value).Within(f.ClusterLow, f.ClusterHigh),
			eval.MeasuredShare(u.Measured, okU), eval.MeasuredShare(runs.Measured, okR))
	}
	for _, level := range []struct {
		name   string
		values []string
	}{{"model", b.models}, {"condition", b.conditions}, {"group", b.groupNames()}} {
		for _, value := range level.values {
			add(level.name+" "+value, b.armsOf(level.name, value, ""))
		}
	}
	add("all", b.armsOf("", "", ""))
	return t
}

// bars is a grouped bar chart of the fragment pass rate over levels, one series per
// condition.
func (b *Bench) bars(p eval.Panel, level string, values []string) *eval.Figure {
	f := &eval.Figure{Name: "pass_by_" + level, Title: "Fragment pass rate by " + level + " and condition", XTitle: level, YTitle: "fragments that pass", Ticks: values, Bars: true}
	for _, c := range b.conditions {
		s := eval.Series{Name: c}
		for i, v := range values {
			if r, ok := p.Rate(b.armsOf(level, v, c), metricFragment); ok {
				s.Points = append(s.Points, eval.Point{X: eval.Number(i), Measured: r.Measured})
			}
		}
		f.Series = append(f.Series, s)
	}
	return f
}

// A tested hypothesis.
type tested struct {
	question string
	of       string // short name, for the summary
	eval.Hypothesis
}

// hypotheses tests conditions, models, groups and their interaction on the fragment pass
// rate.
func (b *Bench) hypotheses(p eval.Panel) (list []tested) {
	group := func(level, value string) eval.ArmGroup {
		g := eval.ArmGroup{Name: value}
		for _, c := range b.conditions {
			g.Arms = append(g.Arms, b.armsOf(level, value, c)...)
		}
		return g
	}
	// in pairs the arms of both conditions on one model
	paired := func(a, c string, models []string) (x, y eval.ArmGroup) {
		x.Name, y.Name = a, c
		for _, m := range models {
			i, j := b.armOf(m, a), b.armOf(m, c)
			if i != "" && j != "" {
				x.Arms, y.Arms = append(x.Arms, i), append(y.Arms, j)
			}
		}
		return x, y
	}
	add := func(of, question string, h eval.Hypothesis, ok bool) {
		if ok {
			list = append(list, tested{question, of, h})
		}
	}
	for _, c := range b.conditions[1:] {
		x, y := paired(c, b.conditions[0], b.models)
		h, ok := p.Pairs(x, y, metricFragment)
		add("conditions", fmt.Sprintf("%s against %s", c, b.conditions[0]), h, ok)
	}
	if len(b.models) > 1 {
		common := b.commonConditions()
		groups := make([]eval.ArmGroup, len(b.models))
		for i, m := range b.models {
			groups[i].Name = m
			for _, c := range common {
				groups[i].Arms = append(groups[i].Arms, b.armOf(m, c))
			}
		}
		h, ok := p.Several(groups, common, metricFragment)
		add("models", "models", h, ok)
	}
	names := b.groupNames()
	if len(names) != 2 {
		return list
	}
	h, ok := p.Two(group("group", names[0]), group("group", names[1]), metricFragment)
	add("groups", names[0]+" against "+names[1], h, ok)
	for _, c := range b.conditions[1:] {
		var sides [4]eval.ArmGroup
		for g, name := range names {
			sides[2*g], sides[2*g+1] = paired(c, b.conditions[0], b.modelsOf(name))
		}
		if t, ok := p.Interaction(sides[0], sides[1], sides[2], sides[3], metricFragment); ok {
			add("interaction", fmt.Sprintf("%s − %s, %s against %s", c, b.conditions[0], names[0], names[1]), eval.Hypothesis{Respecting: []eval.Test{t}}, true)
		}
	}
	return list
}

// commonConditions lists the conditions that run on every model.
func (b *Bench) commonConditions() (names []string) {
	for _, c := range b.conditions {
		if !slices.ContainsFunc(b.models, func(m string) bool { return b.armOf(m, c) == "" }) {
			names = append(names, c)
		}
	}
	return names
}

// armOf is the arm of a model in a condition, "" if there is none.
func (b *Bench) armOf(model, condition string) string {
	for _, a := range b.On {
		if a.condition == condition && a.Settings != nil && a.Settings.ID == model {
			return a.ID
		}
	}
	return ""
}

func (b *Bench) modelsOf(group string) (models []string) {
	for _, a := range b.On {
		if a.group == group && !slices.Contains(models, a.Settings.ID) {
			models = append(models, a.Settings.ID)
		}
	}
	return models
}

// tests lists the planned tests and, beside them, those that respect the repeated
// fragments.
func tests(list []tested) *eval.Table {
	t := &eval.Table{Name: "hypotheses", Title: "Hypotheses on the fragment pass rate", Columns: []string{"question", "", "test", "statistic", "p", "effect", "size"}}
	var notes, agree []string
	row := func(question, kind string, x eval.Test) {
		p := eval.P(x.P)
		if x.Undefined != "" {
			p = eval.Missing(eval.KindP, x.Undefined)
		}
		t.Row(eval.Text(question), eval.Text(kind), eval.Text(x.Name), eval.Text(x.Statistic), p, eval.Text(x.Effect),
			eval.Quantity(x.Size.Value).Within(x.Size.Low, x.Size.High))
	}
	for _, h := range list {
		rows := func(first string, tests []eval.Test) {
			kind := first
			for _, x := range tests {
				row(h.question, kind, x)
				kind = "also"
			}
		}
		rows("planned", h.Planned)
		rows("respects repetition", h.Respecting)
		switch {
		case len(h.Planned) == 0 || len(h.Respecting) == 0: // nothing to compare
		case !h.Planned[0].P.Defined():
			notes = append(notes, h.question+": the planned test cannot be computed, so it is not compared.")
		case !h.Respecting[0].P.Defined():
			notes = append(notes, h.question+": the test that respects repetition cannot be computed, so the planned one is not checked.")
		case h.Disagree != "":
			notes = append(notes, h.question+": "+h.Disagree)
		default:
			agree = append(agree, h.question)
		}
	}
	if len(agree) > 0 {
		notes = append([]string{"The planned test and the one that respects that every model judges the same fragments agree: " + strings.Join(agree, "; ") + "."}, notes...)
	}
	t.Note = strings.Join(notes, " ")
	return t
}

// counted are the runs of one arm.
type counted struct {
	arm       *arm
	valid     int
	types     map[string]int // by type of failure
	refused   int
	unlabeled int // failed without a label, refusals aside
	pass      int
	excluded  map[string]int // by reason, failed calls too
	sure      int            // coherence decided by the indicators
	agreed    int            // by the judge, who agrees with them
	person    int
	ambiguous int
}

// counts are of the arms of the study.
func (b *Bench) counts() (list []*counted) {
	for _, a := range b.On {
		list = append(list, &counted{arm: a, types: map[string]int{}, excluded: map[string]int{}})
	}
	return list
}

// add counts the runs of a case.
func (n *counted) add(c eval.Case, x *cell) {
	for i := range c.Trials {
		if o := &c.Trials[i].Outcome; o.Kind == eval.Failed {
			n.excluded[o.Reason]++
		}
	}
	for _, a := range x.runs {
		n.run(a)
	}
}

func (n *counted) run(a Assessment) {
	if a.Excluded {
		n.excluded[a.Reason]++
		return
	}
	n.valid++
	if a.Pass {
		n.pass++
	}
	if a.Failure != "" && a.Coherence != ambiguous {
		n.types[a.Failure]++
	}
	switch {
	case a.Reason == reasonRefusal || a.Reason == reasonSafety:
		n.refused++
	case a.HasGold && a.Label == wording.None:
		n.unlabeled++
	}
	switch {
	case !a.Checked:
	case a.Sure:
		n.sure++
	case a.Automatic != ambiguous:
		n.agreed++
	case a.Manual != "":
		n.person++
	default:
		n.ambiguous++
	}
}

// perArm is a table of counts with a row for each arm.
func perArm(t eval.Table, counts []*counted, of func(*counted) []int) *eval.Table {
	t.Columns = append([]string{"model", "condition"}, t.Columns...)
	for _, n := range counts {
		row := eval.Texts(n.arm.family(), n.arm.condition)
		for _, x := range of(n) {
			row = append(row, eval.Count(x))
		}
		t.Row(row...)
	}
	return &t
}

// failures counts what became of the runs.
func (b *Bench) failures(counts []*counted) *eval.Table {
	return perArm(eval.Table{Name: "failure_types", Title: "Outcomes of runs", Columns: []string{"valid runs", "pass", "type 1", "type 2", "type 3", "ambiguous", "of type 3: refused", "of type 3: no label", "label in doubt"},
		Note: "Type 1: coherent and incorrect. Type 2: correct, but the rationale does not support the label. Type 3: incorrect and not coherent; refusals, and answers in which a person read no single label, are of type 3. " +
			"Undecided until a person decides: ambiguous runs, which count as not coherent and have no type yet, and runs whose label is in doubt, which are excluded."},
		counts, func(n *counted) []int {
			return []int{n.valid, n.pass, n.types[failureType1], n.types[failureType2], n.types[failureType3], n.ambiguous, n.refused, n.unlabeled, n.excluded[reasonUnresolved]}
		})
}

// coherenceTable counts who decided about coherence.
func (b *Bench) coherenceTable(counts []*counted) *eval.Table {
	return perArm(eval.Table{Name: "coherence", Title: "How coherence was decided", Columns: []string{"by indicators", "judge agrees with them", "by a person", "ambiguous"},
		Note: fmt.Sprintf("Ambiguous runs count as not coherent until a person decides in the annotation task %q.", b.task)},
		counts, func(n *counted) []int { return []int{n.sure, n.agreed, n.person, n.ambiguous} })
}

// exclusions lists the runs that are left out, with their reasons.
func (b *Bench) exclusions(counts []*counted) *eval.Table {
	t := &eval.Table{Name: "exclusions", Title: "Excluded runs", Columns: []string{"model", "condition", "reason", "runs"}}
	all := 0
	for _, n := range counts {
		for _, reason := range slices.Sorted(maps.Keys(n.excluded)) {
			t.Row(eval.Text(n.arm.family()), eval.Text(n.arm.condition), eval.Text(reason), eval.Count(n.excluded[reason]))
			all += n.excluded[reason]
		}
	}
	if all == 0 {
		t.Row(append(eval.Texts("all", "all", "none"), eval.Count(0))...)
	}
	t.Note = fmt.Sprintf("%s excluded. They never count as failures. Calls that failed after all retries are among them.", text.Plural(all, "run is", "runs are"))
	return t
}

// The re-assessment of an expert, by which kappa is shown.
const (
	againItems  = 20
	targetKappa = 0.8
)

// design says what the study can find with its fragments.
func (b *Bench) design(p eval.Panel) *eval.Table {
	shares := []float64{0.15, 0.2, 0.3, 0.4}
	t := &eval.Table{Name: "design", Title: fmt.Sprintf("Power of McNemar's test with %s", text.Plural(len(b.Data), "fragment", "fragments")), Columns: []string{"difference, points"}}
	for _, s := range shares {
		t.Columns = append(t.Columns, fmt.Sprintf("%.0f %% discordant", 100*s))
	}
	for _, d := range []float64{0.05, 0.10, 0.15} {
		row := []eval.Cell{eval.Text(fmt.Sprintf("%.0f", 100*d))}
		for _, s := range shares {
			row = append(row, eval.Share(p.Power(len(b.Data), s, d)))
		}
		t.Row(row...)
	}
	t.Note = "Exact two-sided test of two conditions on one model, by the share of fragments that pass in one condition alone."
	if k, ok := p.Agreement([2][2]int{{againItems/2 - 1, 1}, {1, againItems/2 - 1}}); ok {
		t.Note += fmt.Sprintf(" An expert who judges %d fragments twice and differs on two has kappa %.2f with an interval from %.2f to %.2f: too wide to show that kappa is at least %.2f.",
			againItems, float64(k.Value), float64(k.Low), min(1, float64(k.High)), targetKappa)
	}
	return t
}

// summary is the executive summary: one line for each question.
func (b *Bench) summary(p eval.Panel, list []tested, counts []*counted) *eval.Table {
	t := &eval.Table{Name: "executive_summary", Title: "Executive summary", Summary: true, Columns: []string{"question", "finding"}}
	add := func(question, format string, args ...any) {
		t.Row(eval.Text(question), eval.Textf(format, args...))
	}
	if all, ok := p.Rate(b.armsOf("", "", ""), metricFragment); ok {
		best, worst := b.extremes(p)
		line := eval.Textf("%d of %s pass: %s.", all.Hits, text.Plural(all.Outcomes, "fragment outcome", "fragment outcomes"), eval.MeasuredShare(all.Measured, true))
		if best.Text != worst.Text {
			line = eval.Textf("%s Highest: %s. Lowest: %s.", line, best, worst)
		}
		add("How often do models judge as the expert does?", "%s", line)
	}
	if same, ok := p.Rate(b.armsOf("", "", ""), metricAgreement); ok {
		add("How consistent are repeated runs?", "In %d of %s all runs have the same outcome (%s); a cell is a fragment, a model and a condition.", same.Hits, text.Plural(same.Outcomes, "cell", "cells"), eval.MeasuredShare(same.Measured, true))
	}
	questions := map[string]string{"conditions": "Does the condition matter: %s?", "models": "Do %s differ?", "groups": "Do groups differ: %s?", "interaction": "Does the effect differ: %s?"}
	for _, h := range list {
		first := h.Respecting[0]
		kind := "test"
		if len(h.Planned) > 0 {
			first, kind = h.Planned[0], "planned test"
		}
		line := eval.Textf("No test: %s.", first.Undefined)
		if first.P.Defined() {
			says := "No evidence of a difference"
			if float64(first.P) < b.alpha {
				says = "A difference"
			}
			line = eval.Textf("%s by the %s (p %s).", says, kind, eval.P(first.P))
			if h.Disagree != "" {
				line = eval.Textf("%s %s", line, h.Disagree)
			}
		}
		add(fmt.Sprintf(questions[h.of], h.question), "%s", line)
	}
	ambiguous, types, refused, excluded, valid := 0, map[string]int{}, 0, 0, 0
	for _, n := range counts {
		for _, x := range n.excluded {
			excluded += x
		}
		valid += n.valid
		if b.main != "" && n.arm.family() != b.main {
			continue
		}
		for kind, x := range n.types {
			types[kind] += x
		}
		refused, ambiguous = refused+n.refused, ambiguous+n.ambiguous
	}
	of := "all models"
	if b.main != "" {
		of = b.main
	}
	add("How do runs of "+of+" fail?", "%d coherent and incorrect (type 1), %d correct and not coherent (type 2), %d neither (type 3, %s among them); %d ambiguous, which no person has decided.",
		types[failureType1], types[failureType2], types[failureType3], text.Plural(refused, "refusal", "refusals"), ambiguous)
	add("What is left out?", "%d of %s.", excluded, text.Plural(valid+excluded, "run", "runs"))
	return t
}

// extremes names the models with the highest and the lowest fragment pass rate.
func (b *Bench) extremes(p eval.Panel) (best, worst eval.Cell) {
	var high, low eval.Number
	for _, m := range b.models {
		r, ok := p.Rate(b.armsOf("model", m, ""), metricFragment)
		if !ok {
			continue
		}
		line := eval.Textf("%s, %s", m, eval.MeasuredShare(r.Measured, true))
		if best.Text == "" || r.Value > high {
			best, high = line, r.Value
		}
		if worst.Text == "" || r.Value < low {
			worst, low = line, r.Value
		}
	}
	return best, worst
}
