package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/gate"
	"github.com/scruple-eval/scruple/internal/say"
)

// content is a report independent of the format. Every string is plain text, which
// the format must escape.
type content struct {
	Title    string // the study's name
	Version  string
	Suite    string
	Question string
	Banner   []string // prominent notices: simulated, unfinished
	Facts    []fact   // short ones
	Record   []fact   // what was registered before the run, and what was done since
	Sections []section
}

// A fact is a name and a value.
type fact = eval.Level

// told formats facts as name, separator, value.
func told(facts []fact, between string) []string {
	return mapped(facts, func(f fact) string { return f.Name + between + f.Value })
}

// A section is a chapter of the report.
type section struct {
	ID     string
	Title  string
	Blocks []block
}

// show adds tables, except those without rows.
func (s *section) show(in shown, tables ...*table) {
	for _, t := range tables {
		if len(t.Rows) > 0 {
			s.Blocks = append(s.Blocks, block{Table: t, In: in})
		}
	}
}

// visible returns the blocks that a format shows, and how many tables it leaves out.
func (s section) visible(shows ...shown) (blocks []block, left int) {
	for _, b := range s.Blocks {
		if slices.Contains(shows, b.In) {
			blocks = append(blocks, b)
		} else if b.Table != nil && (b.In == atLength || b.In == inFull) {
			left++
		}
	}
	return blocks, left
}

// shown says which formats show a block. By default all do.
type shown int

const (
	everywhere shown = iota
	inText           // a terminal and Markdown: HTML draws it
	atLength         // not a terminal, unless verbose
	inFull           // HTML, folded, and a verbose terminal: it tells a reader little
	filed            // Markdown and HTML: it is too long for a terminal
	drawn            // HTML alone
)

// A block is one element of a section. Exactly one field is set, besides In.
type block struct {
	In      shown
	Heading string
	Prose   string
	Answers []answer
	Verdict *verdict
	Warning []string
	List    []string
	Table   *table
	Figure  *figure
	Metrics []definition
	Samples *samples
	Prompts []prompt
	// Of documents: a text as it is, and Markdown of people.
	Verbatim, Written string
}

// builder makes the content of one report.
type builder struct {
	a  *analyse.Analysis
	v  *gate.Verdict
	ci string // "95 % CI"
	to func(Behind) string

	brief bool // sentences leave out effect sizes
	whole bool // the report has a list of warnings, so that comparisons need not repeat them
}

// href returns the address of the trials behind a number, or "".
func (b *builder) href(of Behind) string {
	if b.to == nil {
		return ""
	}
	return b.to(of)
}

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
	b.whole = true
	c.Question, c.Facts, c.Record = b.a.Study.Description, b.facts(), b.record()
	all := []section{b.answer(), b.figures(), b.arms(), b.comparisons(), b.breakdown(), b.samples(), b.methods(), b.asked()}
	c.Sections = filter(all, func(s section) bool { return len(s.Blocks) > 0 })
	return c
}

func (b *builder) suite() string {
	if s := b.a.Study; s.Title != "" && s.Title != s.Suite {
		return s.Title + " (" + s.Suite + ")"
	}
	return b.a.Study.Suite
}

// notices are what the ledger says against results.
func (b *builder) notices() (lines []string) {
	if d := b.a.Discipline; d != nil {
		lines = unblinded(d.Reasons())
		if d.Problem != "" {
			lines = append(lines, "LEDGER: "+d.Problem+".")
		}
	}
	return lines
}

func (b *builder) banner() []string {
	lines, arms, judges := b.notices(), b.a.SimulatedArms(), b.a.SimulatedJudges
	if b.a.Run.Exploratory() {
		if r := b.a.Run; r.OnDev() {
			lines = append(lines, "DEV: results of the split on which prompts are changed. They describe; they decide nothing.")
		} else {
			lines = append(lines, "DEV: "+withoutTests(r)+".")
		}
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

// withoutTests says why a run without a split has no tests.
func withoutTests(r analyse.Run) string {
	text := say.Count(r.Dev) + " of " + say.Plural(r.Items, "item is", "items are") + " marked dev, for changing prompts on them, and the run has no split: no test is made"
	if r.Dev < r.Items {
		text += "; --split test leaves them out"
	}
	return text
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
		facts = append(facts, fact{Name: "Registered", Value: text}, fact{Name: "Planned test", Value: g.Test})
	}
	if n := len(d.Others); n > 0 {
		list := mapped(d.Others, func(t analyse.OtherTest) string {
			const few = 6
			arms := t.Arms
			if len(arms) > few {
				arms = append(slices.Clone(arms[:few]), "…")
			}
			return t.Run + " of study " + t.Study + ", " + t.Date + ", entry " + say.Count(t.Entry) + " (" + strings.Join(arms, ", ") + ")"
		})
		facts = append(facts, fact{Name: "Other TEST runs", Value: "this ledger has " + say.Plural(n, "other TEST run", "other TEST runs") + " with arms of this one: " + strings.Join(list, "; ")})
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

// metric finds a metric. If the analysis lacks it, only its name is set.
func (b *builder) metric(name string) analyse.Metric {
	if m, ok := b.a.Metric(name); ok {
		m.Title = cmp.Or(m.Title, m.Name)
		return m
	}
	return analyse.Metric{Name: name, Title: name, Min: analyse.Undefined(), Max: analyse.Undefined(), HigherIsBetter: true}
}

// metrics lists all metrics.
func (b *builder) metrics() []analyse.Metric {
	return mapped(b.a.Metrics, func(m analyse.Metric) analyse.Metric { return b.metric(m.Name) })
}

// ranked lists the metrics of the given ranks, rank by rank.
func (b *builder) ranked(ranks ...string) []analyse.Metric {
	var ms []analyse.Metric
	for _, rank := range ranks {
		ms = append(ms, filter(b.metrics(), func(m analyse.Metric) bool { return m.Rank == rank })...)
	}
	return ms
}

// contestants returns all arms except those that answer from gold to measure the
// judges.
func (b *builder) contestants() []analyse.Arm {
	return filter(b.a.Arms, func(a analyse.Arm) bool { return a.Role != eval.RoleCalibration })
}

// Crowd is the number of arms up to which reports show each arm.
const Crowd = 12

// crowded reports whether there are so many arms that tables merge equal rows and
// show strata side by side.
func (b *builder) crowded() bool { return len(b.contestants()) > Crowd }

// Tags of what must not be overlooked.
const (
	tagSimulated      = "simulated"
	tagSimulatedJudge = "simulated judge"
	tagJudgeFailed    = "judge failed"
)

// simulatedTag marks results of simulated arms, and of arms that a simulation judged.
func (b *builder) simulatedTag(arms ...string) []string {
	has := func(is func(analyse.Arm) bool) bool {
		return slices.ContainsFunc(b.a.Arms, func(a analyse.Arm) bool { return is(a) && slices.Contains(arms, a.ID) })
	}
	switch {
	case has(func(a analyse.Arm) bool { return a.Simulated }):
		return []string{tagSimulated}
	case has(func(a analyse.Arm) bool { return a.SimulatedJudge }):
		return []string{tagSimulatedJudge}
	}
	return nil
}

func armTags(arm analyse.Arm) []string {
	var tags []string
	if arm.Role != eval.RoleArm {
		tags = append(tags, string(arm.Role))
	}
	switch {
	case arm.Simulated:
		tags = append(tags, tagSimulated)
	case arm.SimulatedJudge:
		tags = append(tags, tagSimulatedJudge)
	}
	return tags
}

func armCell(arm analyse.Arm) cell {
	c := cell{Text: arm.ID, Tags: armTags(arm)}
	if arm.Role != eval.RoleArm {
		c.Tone = muted
	}
	return c
}

// listed joins names for a sentence: "a, b and c".
func listed(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// counted joins counts for a cell: "timeout (2), not_json (1)".
func counted(counts []analyse.Count) string {
	return strings.Join(mapped(counts, func(c analyse.Count) string { return c.Name + " (" + say.Count(c.N) + ")" }), ", ")
}

// fraction formats a score: its value if the denominator is 1, else "3/4".
func fraction(s eval.Score) string {
	switch {
	case s.Unscored != "":
		return say.Dash
	case s.Den == 1:
		return say.Short(s.Num)
	}
	return say.Short(s.Num) + "/" + say.Short(s.Den)
}

// confidence returns the name of a study's intervals: "95 % CI".
func confidence(alpha float64) string {
	if !(alpha > 0 && alpha < 1) {
		return "interval"
	}
	return gate.Percent(alpha) + say.NBSP + "% CI"
}
