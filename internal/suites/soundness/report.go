package soundness

import (
	"cmp"
	_ "embed"
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
func (b *bench) Report(r eval.Results) (blocks []eval.Block, err error) {
	failures := newSynthesis(b)
	counts := make([]counted, len(b.OwnArms))
	for i, a := range b.OwnArms {
		counts[i] = counted{a, map[string]int{}, map[string]int{}}
	}
	for c, err := range r.Cases() {
		if err != nil {
			return nil, err
		}
		if x := b.cell(c); x != nil && x.arm != nil {
			failures.add(x)
			for _, a := range x.runs {
				counts[slices.Index(b.OwnArms, x.arm)].add(a)
			}
		}
	}
	add := func(tables ...*eval.Table) {
		for _, t := range tables {
			blocks = append(blocks, eval.Block{Table: t})
		}
	}
	p, ok := r.(eval.Panel)
	var tested []tested
	if ok {
		tested = b.hypotheses(p)
		blocks = append(blocks, eval.Block{Figure: b.bars(p, "model", b.models)})
		if groups := b.groupNames(); len(groups) > 1 {
			blocks = append(blocks, eval.Block{Figure: b.bars(p, "group", groups)})
		}
		add(b.summary(p, tested, counts))
	}
	add(b.matrix(r))
	if ok {
		add(b.collapsed(p), tests(tested))
	}
	add(perArm(tableOf("failure_types"), counts, "valid", "pass", failureType1, failureType2, failureType3, ambiguous,
		"refused", "no label", reasonUnresolved),
		perArm(tableOf("coherence", "{task}", b.tasks.coherence), counts, "indicators", "judge", "person", ambiguous), exclusions(counts))
	if ok {
		add(b.design(p))
		blocks = append(blocks, failures.blocks(r)...)
	}
	return blocks, nil
}

// armsOf lists the arms that have a level and a condition; "" stands for any.
func (b *bench) armsOf(level, value, condition string) (ids []string) {
	for _, a := range b.OwnArms {
		if (value == "" || eval.LevelOf(a.Levels, level) == value) && (condition == "" || a.condition == condition) {
			ids = append(ids, a.ID)
		}
	}
	return ids
}

// valuesOf lists the values of a level of arms, in their order.
func (b *bench) valuesOf(level string, arms []string) (values []string) {
	for _, id := range arms {
		if v := eval.LevelOf(b.Arm(id).Levels, level); v != "" && !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return values
}

func (b *bench) groupNames() []string { return b.valuesOf("group", b.armsOf("", "", "")) }

// matrix has the three rates of every combination of model and condition.
func (b *bench) matrix(r eval.Results) *eval.Table {
	t := tableOf("performance_matrix")
	for _, a := range b.OwnArms {
		e, ok := r.Estimate(a.ID, metricFragment)
		t.Add(a.family(), a.condition, eval.MeasuredShare(e, ok), eval.MeasuredShare(r.Estimate(a.ID, metricUnanimous)),
			eval.MeasuredShare(r.Estimate(a.ID, metricRun)), e.N)
	}
	return t
}

// collapsed has the three rates by model, by condition and by group.
func (b *bench) collapsed(p eval.Panel) *eval.Table {
	t := tableOf("collapsed_rates")
	add := func(name string, arms []string) {
		share := func(metric string) eval.Cell {
			r, ok := p.Rate(arms, metric)
			return eval.MeasuredShare(r.Measured, ok)
		}
		if f, ok := p.Rate(arms, metricFragment); ok {
			t.Add(name, share(metricFragment), f.Outcomes, eval.Share(f.Value).Within(f.ClusterLow, f.ClusterHigh),
				share(metricUnanimous), share(metricRun))
		}
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
// condition. Its intervals are those of the clusters of fragments, as in the tables beside it.
func (b *bench) bars(p eval.Panel, level string, values []string) *eval.Figure {
	f := &eval.Figure{Name: "pass_by_" + level, Title: "Fragment pass rate by " + level + " and condition", XTitle: level, YTitle: "fragments that pass", Ticks: values, Bars: true}
	for _, c := range b.conditions {
		s := eval.Series{Name: c}
		for i, v := range values {
			if r, ok := p.Rate(b.armsOf(level, v, c), metricFragment); ok {
				r.Low, r.High = r.ClusterLow, r.ClusterHigh
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
func (b *bench) hypotheses(p eval.Panel) (list []tested) {
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
		common := slices.DeleteFunc(slices.Clone(b.conditions), func(c string) bool { // not on every model
			return len(b.valuesOf("model", b.armsOf("", "", c))) < len(b.models)
		})
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
			sides[2*g], sides[2*g+1] = paired(c, b.conditions[0], b.valuesOf("model", b.armsOf("group", name, "")))
		}
		if t, ok := p.Interaction(sides[0], sides[1], sides[2], sides[3], metricFragment); ok {
			add("interaction", fmt.Sprintf("%s − %s, %s against %s", c, b.conditions[0], names[0], names[1]), eval.Hypothesis{Respecting: []eval.Test{t}}, true)
		}
	}
	return list
}

// armOf is the arm of a model in a condition, "" if there is none.
func (b *bench) armOf(model, condition string) string {
	if arms := b.armsOf("model", model, condition); len(arms) > 0 {
		return arms[0]
	}
	return ""
}

// tests lists the planned tests and, beside them, those that respect the repeated
// fragments.
func tests(list []tested) *eval.Table {
	t := tableOf("hypotheses")
	var notes, agree []string
	for _, h := range list {
		rows := func(kind string, tests []eval.Test) {
			for _, x := range tests {
				p := eval.P(x.P)
				if x.Undefined != "" {
					p = eval.Missing(eval.KindP, x.Undefined)
				}
				size := eval.Quantity(x.Size.Value).Within(x.Size.Low, x.Size.High)
				t.Add(h.question, kind, x.Name, x.Statistic, p, x.Effect, size)
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

// counted are the runs of one arm, by what became of them. Excluded ones, failed calls too, are
// counted by reason.
type counted struct {
	arm      *arm
	n        map[string]int
	excluded map[string]int
}

// add counts a run.
func (c *counted) add(a Assessment) {
	if a.Excluded {
		c.excluded[a.Reason]++
		c.n[reasonUnresolved] += indicator(a.Reason == reasonUnresolved)
		return
	}
	c.n["valid"]++
	c.n["pass"] += indicator(a.Pass)
	c.n[a.Failure]++
	switch {
	case a.Reason == reasonRefusal || a.Reason == reasonSafety:
		c.n["refused"]++
	case a.HasGold && a.Label == wording.None:
		c.n["no label"]++
	}
	switch {
	case !a.Checked:
	case a.Sure:
		c.n["indicators"]++
	case a.Automatic != ambiguous:
		c.n["judge"]++
	case a.Manual != "":
		c.n["person"]++
	default:
		c.n[ambiguous]++
	}
}

// perArm is a table of counts with a row for each arm.
func perArm(t *eval.Table, counts []counted, what ...string) *eval.Table {
	for _, c := range counts {
		row := []any{c.arm.family(), c.arm.condition}
		for _, w := range what {
			row = append(row, c.n[w])
		}
		t.Add(row...)
	}
	return t
}

// exclusions lists the runs that are left out, with their reasons.
func exclusions(counts []counted) *eval.Table {
	all := 0
	for _, n := range counts {
		for _, runs := range n.excluded {
			all += runs
		}
	}
	t := tableOf("exclusions", "{runs}", text.Plural(all, "run is", "runs are"))
	for _, n := range counts {
		for _, reason := range slices.Sorted(maps.Keys(n.excluded)) {
			t.Add(n.arm.family(), n.arm.condition, reason, n.excluded[reason])
		}
	}
	if all == 0 {
		t.Add("all", "all", "none", 0)
	}
	return t
}

// The re-assessment of an expert, by which kappa is shown.
const (
	againItems  = 20
	targetKappa = 0.8
)

// design says what the study can find with its fragments.
func (b *bench) design(p eval.Panel) *eval.Table {
	shares := []float64{0.15, 0.2, 0.3, 0.4}
	t := tableOf("design", "{fragments}", text.Plural(len(b.Data), "fragment", "fragments"))
	for _, s := range shares {
		t.Columns = append(t.Columns, fmt.Sprintf("%.0f %% discordant", 100*s))
	}
	for _, d := range []float64{0.05, 0.10, 0.15} {
		var power []eval.Cell
		for _, s := range shares {
			power = append(power, eval.Share(p.Power(len(b.Data), s, d)))
		}
		t.Add(fmt.Sprintf("%.0f", 100*d), power)
	}
	if k, ok := p.Agreement([2][2]int{{againItems/2 - 1, 1}, {1, againItems/2 - 1}}); ok {
		t.Note += fmt.Sprintf(" An expert who judges %d fragments twice and differs on two has kappa %.2f with an interval"+
			" from %.2f to %.2f: too wide to show that kappa is at least %.2f.",
			againItems, float64(k.Value), float64(k.Low), min(1, float64(k.High)), targetKappa)
	}
	return t
}

// summary is the executive summary: one line for each question.
func (b *bench) summary(p eval.Panel, list []tested, counts []counted) *eval.Table {
	t := tableOf("executive_summary")
	add := func(question, format string, args ...any) { t.Add(question, eval.Textf(format, args...)) }
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
			if float64(first.P) < p.Alpha() {
				says = "A difference"
			}
			line = eval.Textf("%s by the %s (p %s).", says, kind, eval.P(first.P))
			if h.Disagree != "" {
				line = eval.Textf("%s %s", line, h.Disagree)
			}
		}
		add(fmt.Sprintf(questions[h.of], h.question), "%s", line)
	}
	n, of, excluded, valid := map[string]int{}, cmp.Or(b.main, "all models"), 0, 0
	for _, c := range counts {
		for _, x := range c.excluded {
			excluded += x
		}
		valid += c.n["valid"]
		for what, x := range c.n {
			n[what] += x * indicator(b.main == "" || c.arm.family() == b.main)
		}
	}
	add("How do runs of "+of+" fail?", "%d coherent and incorrect (type 1), %d correct and not coherent (type 2), %d neither"+
		" (type 3, %s among them); %d ambiguous, which no person has decided.", n[failureType1], n[failureType2], n[failureType3],
		text.Plural(n["refused"], "refusal", "refusals"), n[ambiguous])
	add("What is left out?", "%d of %s.", excluded, text.Plural(valid+excluded, "run", "runs"))
	return t
}

// extremes names the models with the highest and the lowest fragment pass rate.
func (b *bench) extremes(p eval.Panel) (best, worst eval.Cell) {
	type rated struct {
		rate eval.Number
		line eval.Cell
	}
	var list []rated
	for _, m := range b.models {
		if r, ok := p.Rate(b.armsOf("model", m, ""), metricFragment); ok {
			list = append(list, rated{r.Value, eval.Textf("%s, %s", m, eval.MeasuredShare(r.Measured, true))})
		}
	}
	by := func(x, y rated) int { return cmp.Compare(x.rate, y.rate) }
	if len(list) > 0 {
		best, worst = slices.MaxFunc(list, by).line, slices.MinFunc(list, by).line
	}
	return best, worst
}
