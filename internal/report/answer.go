package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/gate"
	"github.com/scruple-eval/scruple/internal/say"
)

// An answer is a sentence that answers the study's question, or the reason why
// there is no answer.
type answer struct {
	Text  string
	Tone  tone
	Tags  []string
	Notes []string // warnings of the comparison
	Href  string
}

func (a answer) cell() cell { return cell{Text: a.Text, Tags: a.Tags} }

const noRules = "The study has no rules, so there is no verdict."

// A verdict is the verdict of the gate, in words.
type verdict struct {
	*gate.Verdict
	CI   string // name of the usual interval
	Tone tone
	// Advice is that of the outcome and of the diagnosis.
	Advice string
	Word   string // "PASS"
	Exit   string
	Tags   []string
	// Warnings are all that qualifies the verdict, for every format of it. A report has the troubles
	// of arms among its own.
	Warnings []string
}

// answer is the first section: the answer in brief. After many answers, a summary would be
// overlooked, so it comes first.
func (b *builder) answer() section {
	answers := []block{{Answers: b.answers()}}
	summary := b.suiteBlocks(true, everywhere)
	s := section{ID: "answer", Title: "Answer", Blocks: slices.Concat(answers, summary)}
	if len(answers[0].Answers) > 3 {
		s.Blocks = slices.Concat(summary, answers)
	}
	if b.v == nil {
		s.Blocks = append(s.Blocks, block{Prose: noRules})
	} else {
		s.Blocks = append(s.Blocks, block{Verdict: b.verdict()})
	}
	// The banner says what is simulated, and the verdict what changed.
	warnings := filter(b.a.Warnings, func(w string) bool {
		return !strings.HasPrefix(w, "simulated ") && (b.v == nil || w != b.v.History)
	})
	if len(warnings) > 0 {
		s.Blocks = append(s.Blocks, block{Warning: warnings})
	}
	return s
}

// suiteBlocks have the tables of the suite that are a summary, or those that are not.
func (b *builder) suiteBlocks(summary bool, in shown) []block {
	of := filter(b.a.Tables, func(t eval.Table) bool { return t.Summary == summary })
	return mapped(of, func(t eval.Table) block { return block{Table: suiteTable(t, b.a.Study.Alpha), In: in} })
}

// answers returns one sentence per primary comparison on a primary metric.
func (b *builder) answers() []answer {
	list := mapped(b.primaryComparisons(), b.sentence)
	if len(list) == 0 {
		named := "The study names no primary comparison"
		if slices.ContainsFunc(b.a.Comparisons, func(c analyse.Comparison) bool { return c.Primary }) {
			named += " on a primary metric"
		}
		list = append(list, answer{Text: named + ": the results below are only descriptive.", Tone: unsure})
	}
	return list
}

// primaryComparisons returns the primary comparisons on primary metrics, over all
// items.
func (b *builder) primaryComparisons() []analyse.Comparison {
	return filter(b.a.Comparisons, b.inAnswer)
}

func (b *builder) found(c analyse.Comparison) analyse.Finding {
	return c.Found(b.metric(c.Metric).HigherIsBetter, b.a.Study.Alpha)
}

// sentence describes the result of a comparison. It never claims a proof or that
// two arms are equal.
func (b *builder) sentence(c analyse.Comparison) answer {
	m := b.metric(c.Metric)
	f := b.found(c)
	on := " on " + m.Title
	evidence := m.Scale().Value(c.Diff, true) + " (" + b.evidence(c, m) + ")"
	a := answer{Tone: unsure, Notes: b.remarks(c, false), Href: b.href(behindComparison(c))}
	switch f {
	case analyse.OtherJudge:
		a.Text = "No verdict on " + c.A + " and " + c.B + on + ", since " + c.JudgesDiffer + ": the difference is " + evidence
	case analyse.OtherPrice:
		a.Text = "No verdict on " + c.A + " and " + c.B + on + ", since " + c.PricesDiffer + ": the difference is " + evidence
	case analyse.NotCompared:
		a.Text = c.A + " and " + c.B + " could not be compared" + on + ": " + strings.Join(comparisonReasons(c), "; ")
		a.Notes = nil
	case analyse.NotTested:
		a.Text = "Descriptive only: " + c.A + minusBetween + c.B + on + " is " + evidence + "; no test was made"
		if b.a.Run.Exploratory() {
			split := "With items of DEV, "
			if b.a.Run.OnDev() {
				split = "On DEV, "
			}
			a.Text = split + c.A + minusBetween + c.B + on + " is " + evidence
		}
	case analyse.NoEvidence:
		a.Text = "No evidence of a difference between " + c.A + " and " + c.B + on + ": " + evidence
	case analyse.Better:
		a.Text, a.Tone = c.A+" beats "+c.B+on+" by "+evidence, good
	case analyse.Worse:
		a.Text, a.Tone = c.A+" does worse than "+c.B+on+": "+evidence, bad
	}
	if (f == analyse.NoEvidence || f == analyse.NotTested) && c.Low <= 0 && c.High >= 0 {
		a.Text += "; the interval contains 0"
	}
	a.Text += "."
	if f != analyse.NotCompared && !m.HigherIsBetter {
		a.Text += " Lower is better."
	}
	if f != analyse.NotCompared && !b.a.Run.Complete() {
		a.Tone = unsure
		a.Text += " Interim: the run is unfinished."
	}
	var unread []string
	for _, t := range b.a.TroublesOf(c.A, c.B) {
		if t.Unread() && f != analyse.NotCompared {
			unread = append(unread, fmt.Sprintf("No answer of %s could be read: %s.", t.Arm, say.Plural(t.N, "malformed answer", "malformed answers")))
		}
	}
	if unread != nil {
		a.Tone = unsure
		a.Text = strings.Join(unread, " ") + " As it stands, " + a.Text
	}
	if a.Tags = b.simulatedIn(c.A, c.B); a.Tags != nil {
		a.Tone = unsure
	}
	return a
}

const minusBetween = " " + say.Minus + " "

// evidence returns the text in brackets after a difference.
func (b *builder) evidence(c analyse.Comparison, m analyse.Metric) string {
	parts := []string{nEquals(say.Plural(c.Pairs, "pair", "pairs"))}
	if !b.a.Run.Exploratory() {
		parts = append([]string{b.ciOf(b.simultaneous(c)) + " " + m.Scale().Interval(c.Low, c.High, true)}, parts...)
	}
	if c.P.Defined() {
		parts = append(parts, b.pOf(c, c.P, c.PAdjusted))
	}
	if c.D.Defined() {
		d := "d =" + say.NBSP + say.Fixed(c.D, 2)
		if c.DLow.Defined() && c.DHigh.Defined() {
			d += " [" + say.Scale{Decimals: 2}.Interval(c.DLow, c.DHigh, false) + "]"
		}
		parts = append(parts, d)
	}
	return strings.Join(parts, ", ")
}

func nEquals(n string) string { return "n" + say.NBSP + "=" + say.NBSP + n }

// simultaneous reports whether the interval of a comparison is one of several that
// cover all differences at once.
func (b *builder) simultaneous(c analyse.Comparison) bool {
	return float64(c.Level) > 1-b.a.Study.Alpha+1e-9
}

// ciOf names the interval of a comparison, or one of several that cover all at once.
func (b *builder) ciOf(simultaneous bool) string {
	if simultaneous {
		return "simultaneous " + b.ci
	}
	return b.ci
}

// corrects reports whether the study corrects p-values.
func (b *builder) corrects() bool {
	return b.a.Study.Correction != "" && b.a.Study.Correction != "none"
}

// corrected reports whether the analysis corrected a comparison together with others.
func corrected(c analyse.Comparison) bool { return c.PAdjusted.Defined() }

// covered names the comparisons that are corrected together.
func (b *builder) covered() string {
	return map[analyse.FamilyOf]string{
		analyse.OfPrimary: "the primary comparisons on primary metrics",
		analyse.OfRules:   "the comparisons that are alternatives in the rules",
		analyse.OfRuns:    "the differences of the two runs on primary metrics",
	}[b.a.Study.Family.Of]
}

// coveredAll is covered with the number of tests.
func (b *builder) coveredAll() string {
	most := ""
	if slices.ContainsFunc(b.a.Comparisons, func(c analyse.Comparison) bool { return corrected(c) && c.Family != "" }) {
		most = "at most "
	}
	return b.covered() + " (" + most + say.Plural(b.a.Study.Family.Tests, "test", "tests") + ")"
}

// correction returns the name of the correction.
func (b *builder) correction() string {
	name := []rune(b.a.Study.Correction)
	return strings.ToUpper(string(name[:1])) + string(name[1:])
}

func (b *builder) verdict() *verdict {
	v := newVerdict(b.v)
	v.CI = b.ci
	return v
}

func newVerdict(v *gate.Verdict) *verdict {
	said := &verdict{Verdict: v, Tone: cmp.Or(map[gate.State]tone{gate.Pass: good, gate.Fail: bad}[v.State], unsure), Word: strings.ToUpper(string(v.State)), Exit: "exit code " + strconv.Itoa(v.ExitCode())}
	if v.Simulated {
		said.Tags = []string{tagSimulated}
	}
	for _, of := range []struct {
		tag     string
		applies bool
	}{{tagJudgeFailed, len(v.FailedJudges) > 0}, {tagUnblinded, len(v.Unblinded) > 0}, {tagLedger, v.Ledger != ""}, {tagRulesChanged, len(v.Changed) > 0}} {
		if of.applies {
			said.Tags = append(said.Tags, of.tag)
		}
	}
	said.Advice = v.Advice
	if v.Diagnosis != "" {
		said.Advice = strings.TrimSpace(said.Advice + " Diagnosis: " + strings.TrimSuffix(v.Diagnosis+": "+v.DiagnosisAdvice, ": "))
	}
	said.Warnings = slices.Concat(v.FailedJudges, nonEmpty(v.Looked), rulesChanged(v), unblinded(v.Unblinded, v.Ledger), prefixed("not registered: ", v.Unknown), nonEmpty(v.Uncorrected, v.OtherTests, v.NoTests, v.History), byEstimateAlone(v))
	return said
}

// alone is a verdict without a report: with the troubles of arms, which a
// report has elsewhere.
func alone(v *gate.Verdict) *verdict {
	said := newVerdict(v)
	said.Warnings = append(said.Warnings, mapped(v.Troubles, analyse.Trouble.String)...)
	return said
}

// rulesChanged lists the changes of rules that came after results.
func rulesChanged(v *gate.Verdict) []string {
	return prefixed("rules changed after results were seen: ", v.Changed)
}

// byEstimateAlone lists the rules that hold by estimates whose intervals do not meet them.
func byEstimateAlone(v *gate.Verdict) (list []string) {
	for _, c := range v.Conditions {
		list = append(list, prefixed("rule "+strconv.Quote(c.Name)+" ", c.Warnings)...)
	}
	return list
}

// unblinded are the notices that TEST was looked at again, and that the ledger has a problem.
func unblinded(reasons []string, problem string) []string {
	list := prefixed("UNBLINDED: TEST was run again, or with other inputs than were registered. ", reasons)
	return append(list, prefixed("LEDGER: ", nonEmpty(problem))...)
}

// line returns the verdict on one line: "Gate: PASS (exit code 0), outcome A".
func (v *verdict) line() string {
	text := tagged(say.PlainLine, cell{Text: "Gate: " + v.Word + " (" + v.Exit + ")", Tags: v.Tags})
	if v.Outcome != "" {
		text += ", outcome " + v.Outcome
	}
	return text
}

// values returns the values a rule read, one per line. Why one is undefined is not
// repeated if the rule gives it as its reason.
func values(c gate.Condition) []string {
	return mapped(c.Values, func(u gate.Used) string { return used(u, c, basis(u)) })
}

// conditionState returns the result of a rule. Only one outcome applies, so an
// outcome that does not apply is not a failure.
func conditionState(c gate.Condition, outcome string) (string, tone) {
	switch {
	case c.Kind == gate.Outcome && c.Name == outcome, c.Kind == gate.Diagnosis && c.State == gate.Pass:
		return "applies", ""
	case c.State == gate.Undecided:
		return "undecided", unsure
	case c.Kind == gate.Outcome && c.State == gate.Pass && c.That != gate.Otherwise:
		return "holds too, after the one that applies", muted
	case c.Kind != gate.Require:
		return "does not apply", muted
	case c.State == gate.Pass:
		return "pass", good
	}
	return string(c.State), bad
}

// used formats a value that a rule read, with what it rests on: "diff(a, b, composite) = 0.0408".
func used(u gate.Used, c gate.Condition, basis string) string {
	text := u.Name + " = "
	if u.Value == nil {
		text += say.Dash
	} else {
		text += exact(*u.Value)
	}
	more := nonEmpty(basis)
	if u.Note != "" && !strings.Contains(c.Reason, u.Note) {
		more = append([]string{u.Note}, more...)
	}
	if len(more) > 0 {
		text += " (" + strings.Join(more, "; ") + ")"
	}
	return text
}

// basis is what a value that a rule read rests on: "95 % CI 0.0151 to 0.0665, n = 39 pairs".
func basis(u gate.Used) string {
	var parts []string
	if u.Interval != nil {
		parts = append(parts, intervalOf(*u.Interval))
	}
	if n := observations(u); n != "" {
		parts = append(parts, nEquals(n))
	}
	return strings.Join(parts, ", ")
}

// intervalOf formats the interval of a result in the units of rules.
func intervalOf(i gate.Interval) string {
	return i.Name() + " " + say.Significant(i.Low, 4) + " to " + say.Significant(i.High, 4)
}

func observations(u gate.Used) string {
	if u.N == nil {
		return ""
	}
	return say.Plural(*u.N, strings.TrimSuffix(u.Of, "s"), u.Of)
}

// exact formats a value that a rule read for comparison with the threshold.
func exact(x float64) string { return say.Significant(x, 6) }
