package report

import (
	"cmp"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/gate"
	"github.com/scruple-eval/scruple/internal/say"
)

// A short summary has the most important answers, rules and warnings, and counts the others.
const (
	fewAnswers  = 3
	fewRules    = 4
	fewWarnings = 3
)

// An Ending is what a summary ends with: the files written, and the commands that show the
// whole report and the worst items.
type Ending struct {
	Files         []string
	Report, Worst string
	// Decides: the command exits with the code of the verdict, as gate does.
	Decides bool
}

// Summary writes the answer in brief, for the end of a run: the primary comparisons, the
// verdict and the warnings. A short one has the most important of each.
func Summary(w io.Writer, r Report, opt TerminalOptions, end Ending) error {
	if err := r.check(); err != nil {
		return err
	}
	b := newBuilder(r)
	b.brief, b.warned = true, true
	s := newScreen(opt)
	s.briefHeading(b)
	s.briefAnswers(b)
	s.briefGate(b, end.Decides)
	if list := b.warnings(); len(list) > 0 {
		s.para(unsure, "Warnings: "+say.Count(len(list)))
		shown := s.few(len(list), fewWarnings)
		s.list("!", list[:shown])
		s.others("  ", len(list)-shown, "more warning", "more warnings")
	}
	s.ending(end)
	return s.writeTo(w, "summary")
}

// few is how many of a list a summary shows: on a terminal the first ones.
func (s *screen) few(all, most int) int {
	if s.Short {
		return min(all, most)
	}
	return all
}

// others counts what a summary leaves out.
func (s *screen) others(lead string, n int, one, many string) {
	if n > 0 {
		s.text(muted, lead, "… and "+say.Plural(n, one, many))
	}
}

func (s *screen) briefHeading(b *builder) {
	tags := simulatedTags(len(b.a.SimulatedArms()) > 0, len(b.a.SimulatedJudges) > 0)
	if len(b.a.FailedJudges()) > 0 {
		tags = append(tags, tagJudgeFailed)
	}
	if !b.a.Run.Complete() {
		tags = append(tags, "unfinished")
	}
	s.text(strong, "", b.a.Study.Name+" "+b.a.Study.Version)
	if b.a.Study.Description != "" {
		s.text(plain, "", b.a.Study.Description)
	}
	s.text(muted, "", strings.TrimSpace(tagged(say.PlainLine, cell{Tags: tags})+" "+b.progress()))
}

// briefAnswers has a sentence for each primary comparison, or the arms in the order of a
// primary metric if there is none.
func (s *screen) briefAnswers(b *builder) {
	s.b.WriteByte('\n')
	asked := b.primaryComparisons()
	if len(asked) == 0 {
		s.text(unsure, "", b.answers()[0].Text)
		s.rankedArms(b)
		return
	}
	if len(asked) > fewAnswers {
		b.bestFirst(asked)
	}
	shown := s.few(len(asked), fewAnswers)
	for _, c := range asked[:shown] {
		a := b.sentence(c)
		s.text(a.Tone, "", tagged(say.PlainLine, a.cell()))
	}
	if shown == len(asked) {
		return
	}
	said := map[analyse.Finding]int{}
	for _, c := range asked[shown:] {
		said[b.found(c)]++
	}
	var parts []string
	for _, f := range []analyse.Finding{analyse.Better, analyse.Worse, analyse.NoEvidence, analyse.OtherJudge, analyse.OtherPrice, analyse.NotTested, analyse.NotCompared} {
		if n := said[f]; n > 0 {
			parts = append(parts, say.Count(n)+" "+string(f))
		}
	}
	s.text(muted, "", "… and "+say.Count(len(asked)-shown)+" more: "+strings.Join(parts, ", "))
}

func (s *screen) rankedArms(b *builder) {
	ranked := b.ranked("primary")
	if len(ranked) == 0 {
		return
	}
	m := ranked[0]
	arms := filter(b.a.Estimates, func(e analyse.Estimate) bool { return e.Stratum == nil && e.Metric == m.Name })
	slices.SortStableFunc(arms, func(x, y analyse.Estimate) int { return cmp.Compare(gain(y.Value, m), gain(x.Value, m)) })
	shown := s.few(len(arms), fewAnswers)
	for _, e := range arms[:shown] {
		scale := m.Scale()
		s.text(plain, "  ", tagged(say.PlainLine, cell{Text: e.Arm, Tags: b.simulatedIn(e.Arm)})+": "+m.Title+" "+scale.Value(e.Value, false)+
			" ("+b.ci+" "+scale.Interval(e.Low, e.High, false)+", "+nEquals(say.Count(e.Items))+")")
	}
	s.others("  ", len(arms)-shown, "more arm", "more arms")
}

// bestFirst sorts comparisons, those with a baseline last: those in which the first arm is better, then those
// without evidence, then the others; in each the largest gain first.
func (b *builder) bestFirst(list []analyse.Comparison) {
	baseline := map[string]int{}
	for _, arm := range b.a.Arms {
		if arm.Role == eval.RoleBaseline {
			baseline[arm.ID] = 1
		}
	}
	order := map[analyse.Finding]int{analyse.Better: 0, analyse.NotTested: 1, analyse.NoEvidence: 1, analyse.OtherJudge: 1, analyse.OtherPrice: 1, analyse.Worse: 2, analyse.NotCompared: 3}
	metrics := factors(list, func(c analyse.Comparison) string { return c.Metric })
	slices.SortStableFunc(list, func(x, y analyse.Comparison) int {
		mx, my := b.metric(x.Metric), b.metric(y.Metric)
		return cmp.Or(cmp.Compare(baseline[x.A]+baseline[x.B], baseline[y.A]+baseline[y.B]),
			cmp.Compare(order[b.found(x)], order[b.found(y)]),
			cmp.Compare(slices.Index(metrics, x.Metric), slices.Index(metrics, y.Metric)),
			cmp.Compare(gain(y.Diff, my), gain(x.Diff, mx)))
	})
}

// gain returns a number whose size is its worth; an undefined one is the smallest.
func gain(n analyse.Number, m analyse.Metric) float64 {
	if m.HigherIsBetter {
		return float64(n)
	}
	return -float64(n)
}

// briefGate has the verdict and its rules, those that do not pass first, with the values
// they read.
func (s *screen) briefGate(b *builder, decides bool) {
	s.b.WriteByte('\n')
	if b.v == nil {
		s.text(muted, "", noRules)
		return
	}
	v := newVerdict(b.v)
	if !decides {
		v.Exit = "gate exits with " + strings.TrimPrefix(v.Exit, "exit ")
	}
	s.text(v.Tone, "", v.line())
	if v.Advice != "" {
		s.text(plain, "  ", v.Advice)
	}
	rules := slices.Clone(v.Conditions)
	order := map[gate.State]int{gate.Fail: 0, gate.Undecided: 1, gate.Pass: 2}
	rank := func(c gate.Condition) int {
		if c.Kind == gate.Outcome && c.State == gate.Fail {
			return 3 // does not apply
		}
		return order[c.State]
	}
	slices.SortStableFunc(rules, func(x, y gate.Condition) int { return cmp.Compare(rank(x), rank(y)) })
	for _, reason := range v.Reasons {
		ofRule := func(c gate.Condition) bool { return strings.Contains(reason, strconv.Quote(c.Name)) }
		if !slices.ContainsFunc(rules, ofRule) { // its rule says the same
			s.text(plain, "  ", reason)
		}
	}
	shown := s.few(len(rules), fewRules)
	for _, c := range rules[:shown] {
		word, t := conditionState(c, v.Outcome)
		var said []string
		if c.State != gate.Pass {
			said = append(nonEmpty(c.Reason), values(c)...)
		}
		switch {
		case c.JudgeAlone && c.EstimateAlone:
			word += " by the estimate and the judge alone"
		case c.JudgeAlone:
			word += " by the judge alone"
		case c.EstimateAlone:
			word += " by the estimate alone"
		case len(c.Warnings) > 0:
			word += " with a warning"
		}
		s.text(t, "  ", strings.TrimSuffix(word+": "+c.Name+": "+strings.Join(said, "; "), ": "))
	}
	s.others("  ", len(rules)-shown, "more rule", "more rules")
}

// ending names the page, with the other formats, and the commands. Neither a path nor a
// command is broken into lines, so that it can be copied.
func (s *screen) ending(end Ending) {
	s.b.WriteByte('\n')
	if page := slices.IndexFunc(end.Files, func(f string) bool { return filepath.Ext(f) == ".html" }); page >= 0 {
		var also []string
		for i, f := range end.Files {
			if i != page {
				also = append(also, strings.TrimPrefix(filepath.Base(f), "report"))
			}
		}
		text := "wrote " + end.Files[page]
		if len(also) > 0 {
			text += " (also " + strings.Join(also, ", ") + ")"
		}
		s.b.WriteString(say.PlainLine(text) + "\n")
	}
	s.b.WriteString(say.PlainLine("All results: "+end.Report) + "\n" + say.PlainLine("Worst items: "+end.Worst) + "\n")
}
