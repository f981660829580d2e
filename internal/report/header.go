package report

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/say"
)

func newContent(r Report) content {
	b := newBuilder(r)
	c := content{Title: b.a.Study.Name, Version: b.a.Study.Version, Suite: b.suite(), Banner: b.banner()}
	if r.Trials {
		c.Facts = []fact{{Name: "Run", Value: b.a.Run.ID}}
		if n := b.a.Run.Replicates; n > 1 && r.Replicate > 0 {
			c.Facts = append(c.Facts, fact{Name: "Replicate", Value: strconv.Itoa(r.Replicate) + " of " + strconv.Itoa(n) + "; --replicate N shows another"})
		}
		c.Sections = []section{{ID: "samples", Title: "Trials", Blocks: []block{{Samples: b.shownSamples()}}}}
		return c
	}
	b.warned = true
	c.Question, c.Facts, c.Record = b.a.Study.Description, b.facts(), b.record()
	all := []section{b.answer(), b.figures(), b.arms(), b.comparisons(), b.breakdown(), b.samples(), b.methods(), b.asked()}
	c.Sections = filter(all, func(s section) bool { return len(s.Blocks) > 0 })
	return c
}

// notices are what the ledger says against results.
func (b *builder) notices() []string {
	d := b.a.Discipline
	if d == nil {
		return nil
	}
	return unblinded(d.Reasons(), d.Problem)
}

// Banner has the lines that stand above results wherever they are shown: what of them is
// interim, of DEV, simulated, by a judge that failed, or was seen too early.
func Banner(a *analyse.Analysis) []string { return newBuilder(Report{Analysis: a}).banner() }

func (b *builder) banner() []string {
	lines, arms, judges := b.notices(), b.a.SimulatedArms(), b.a.SimulatedJudges
	switch r := b.a.Run; {
	case r.OnDev():
		lines = append(lines, "DEV: results of the split on which prompts are changed. They describe; they decide nothing.")
	case r.Exploratory():
		lines = append(lines, "DEV: "+r.WithoutTests()+".")
	}
	if len(arms)+len(judges) > 0 || b.v != nil && b.v.Simulated {
		lines = append(lines, simulated(arms, judges))
	}
	lines = append(lines, mapped(b.a.FailedJudges(), func(j string) string { return "JUDGE FAILED: " + j + "." })...)
	if r := b.a.Run; !r.Complete() {
		text := "UNFINISHED: " + say.Count(r.Done) + " of " + say.Plural(r.Planned, "trial", "trials") + " are done."
		if left := r.Planned - r.Done; left > 0 {
			text += " The other " + say.Count(left) + " are excluded from all numbers."
		}
		if r.Unjudged > 0 {
			text += " The judge has not judged " + say.Plural(r.Unjudged, "done trial", "done trials") + ": these are scored without its verdict."
		}
		lines = append(lines, text+" All numbers, p-values included, are interim: run the same command to resume.")
	}
	return lines
}

// simulated is the notice that answers of arms or verdicts of judges are simulated;
// without either, that answers from outside are.
func simulated(arms, judges []string) string {
	var what []string
	switch {
	case len(arms) > 6:
		what = append(what, "the answers of "+say.Plural(len(arms), "arm", "arms")+", "+listed(arms[:3])+" among them,")
	case len(arms) > 0:
		what = append(what, "the answers of "+listed(arms))
	case len(judges) == 0:
		what = append(what, "some answers")
	}
	switch len(judges) {
	case 0:
	case 1:
		what = append(what, "the verdicts of the judge "+judges[0])
	default:
		what = append(what, "the verdicts of the judges "+listed(judges))
	}
	return "SIMULATED: " + listed(what) + " come from a simulation. They show how the study works, not what a model can do."
}

func (b *builder) facts() []fact {
	r := b.a.Run
	facts := []fact{
		{Name: "Items", Value: say.Count(r.Items)},
		{Name: "Replicates", Value: say.Count(r.Replicates)},
		{Name: "Trials", Value: say.Count(r.Planned) + " planned, " + say.Count(r.Done) + " done, " + say.Count(r.Failed) + " failed"},
		{Name: "Run", Value: r.ID},
		{Name: "Seed", Value: strconv.FormatInt(r.Seed, 10)},
		{Name: "Scruple", Value: r.Version},
	}
	if r.Split != "" {
		facts = append(facts, fact{Name: "Split", Value: strings.ToUpper(r.Split)})
	}
	return facts
}

// record says what was registered before a TEST run, what was used of the budget of a
// study with splits, and what outsiders found.
func (b *builder) record() (facts []fact) {
	facts = mapped(b.a.BlindValidations(), func(blind string) fact { return fact{Name: "Blind validation", Value: blind} })
	d := b.a.Discipline
	if d == nil {
		return facts
	}
	if g := d.Registration; g != nil {
		text := g.Date + " by " + cmp.Or(g.By, "an unknown user") + ", SHA-256 " + g.SHA256 + ", entry " + say.Count(g.Entry) + " of the ledger"
		if g.Times > 1 {
			text += "; registered " + say.Plural(g.Times, "time", "times")
		}
		for _, u := range g.Unknown {
			text += "; " + u
		}
		facts = append(facts, fact{Name: "Registered", Value: text}, fact{Name: "Planned test", Value: g.Test})
	}
	if others := d.OtherRuns(); others != "" {
		facts = append(facts, fact{Name: "Other TEST runs", Value: others})
	}
	for _, u := range d.Budget {
		allowed := "no limit"
		if u.Allowed != nil {
			allowed = say.Short(*u.Allowed)
		}
		text := say.Short(u.Used) + " / " + allowed
		if u.Over() {
			text += ", over the budget"
		}
		facts = append(facts, fact{Name: strings.ToUpper(u.Name[:1]) + u.Name[1:], Value: strings.TrimSpace(text + " " + u.Note)})
	}
	for i, v := range d.Revisions {
		after := ""
		if v.After != "" {
			after = " (after TEST began: " + v.After + ")"
		}
		facts = append(facts, fact{Name: "Revision " + say.Count(i+1), Value: v.Date + ": " + v.Hypothesis + " → " + v.Change + after})
	}
	return facts
}
