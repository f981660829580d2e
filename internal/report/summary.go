package report

import (
	"cmp"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/gate"
	"github.com/scruple-eval/scruple/internal/say"
)

// SummaryRows is the most rows of a summary: a terminal has 24, and an error or the
// prompt may follow.
const SummaryRows = 22

// itemRows is the most rows of one sentence of a summary that has to fit a terminal, and
// fewAnswers the number of answers that come before a second rule or warning.
const (
	itemRows   = 5
	fewAnswers = 3
)

// An Ending is what a summary ends with: the files written, and the commands that show
// the whole report and the worst items.
type Ending struct {
	Files         []string
	Report, Worst string
	// Decides: the command exits with the code of the verdict, as gate does.
	Decides bool
}

// Summary writes the answer in brief, for the end of a run: the primary comparisons,
// the verdict and the warnings, as many of each as fit into the rows of the terminal, the
// most important first. Without a terminal it has all of them in full.
func Summary(w io.Writer, r Report, opt TerminalOptions, end Ending) error {
	if err := r.check(); err != nil {
		return err
	}
	b := newBuilder(r)
	b.brief = true
	s := newScreen(opt)
	answers := s.briefAnswers(&b)
	parts := []*part{s.heading(&b), answers, s.briefGate(&b, end.Decides), s.briefWarnings(&b), s.ending(end)}
	s.fill(parts, answers)
	for i, p := range parts {
		if lines := p.lines(p.shown); len(lines) > 0 {
			if i > 0 {
				s.blank()
			}
			s.b.WriteString(strings.Join(lines, "\n") + "\n")
		}
	}
	return s.writeTo(w, "summary")
}

// A part of a summary has lines that are always there, and items, of which it shows
// the first and counts the rest.
type part struct {
	head  []string
	items [][]string
	whole [][]string               // longer forms of items, if there is room; or nil
	more  func(shown int) []string // counts the items behind the shown ones
	shown int
}

// lines returns the part with n items.
func (p *part) lines(n int) []string {
	lines := slices.Concat(append([][]string{p.head}, p.items[:n]...)...)
	if n < len(p.items) {
		lines = append(lines, p.more(n)...)
	}
	return lines
}

// fill shows one item of each part, then more of the answers, then one more of each
// part in turn, and items in full, while all parts fit.
func (s *screen) fill(parts []*part, answers *part) {
	fit := func() bool { return s.rows == 0 || rows(parts, s.width) <= s.rows }
	grow := func(p *part) bool {
		if p.shown == len(p.items) {
			return false
		}
		p.shown++
		if !fit() {
			p.shown--
			return false
		}
		return true
	}
	answers.shown = min(1, len(answers.items)) // even if the paths are long
	for _, p := range parts {
		if p.shown == 0 {
			grow(p)
		}
	}
	for (answers.shown < fewAnswers || s.rows == 0) && grow(answers) {
	}
	for grown := true; grown; {
		grown = false
		for _, p := range parts {
			grown = grow(p) || grown
		}
	}
	for _, p := range parts {
		for i := range min(p.shown, len(p.whole)) {
			short := p.items[i]
			if p.items[i] = p.whole[i]; !fit() {
				p.items[i] = short
			}
		}
	}
}

// rows returns how many rows parts take, with a blank row between them.
func rows(parts []*part, width int) int {
	n := -1
	for _, p := range parts {
		lines := p.lines(p.shown)
		if len(lines) > 0 {
			n++
		}
		for _, line := range lines {
			n += max(1, (ansi.StringWidth(line)+width-1)/width) // a path may be longer than a row
		}
	}
	return n
}

// item returns a text as lines, cut to some rows if it has to fit a terminal.
func (s *screen) item(t tone, lead, text string, rows int) []string {
	line := newScreen(TerminalOptions{Width: s.width, Color: s.color})
	if text = s.clean(text); text == "" {
		return nil
	}
	if all := wrapped(text, s.width-ansi.StringWidth(lead)); s.rows > 0 && len(all) > rows {
		all = all[:rows]
		ellipsis := s.clean("…")
		all[rows-1] = cutAtWord(all[rows-1], s.width-ansi.StringWidth(lead)-ansi.StringWidth(ellipsis)) + ellipsis
		text = strings.Join(all, " ")
	}
	line.text(t, lead, text)
	return strings.Split(strings.TrimSuffix(line.b.String(), "\n"), "\n")
}

// cutAtWord cuts a line to a width, between words unless it is a single one.
func cutAtWord(line string, width int) string {
	cut := ansi.Truncate(line, width, "")
	if i := strings.LastIndexByte(cut, ' '); i > 0 && cut != line && line[len(cut)] != ' ' {
		cut = cut[:i]
	}
	return strings.TrimRight(cut, " ,;:")
}

func (s *screen) heading(b *builder) *part {
	state := cell{}
	switch {
	case slices.ContainsFunc(b.a.Arms, func(arm analyse.Arm) bool { return arm.Simulated }):
		state.Tags = append(state.Tags, tagSimulated)
	case len(b.a.SimulatedJudges) > 0:
		state.Tags = append(state.Tags, tagSimulatedJudge)
	}
	if len(b.a.FailedJudges()) > 0 {
		state.Tags = append(state.Tags, tagJudgeFailed)
	}
	if !b.a.Run.Complete() {
		state.Tags = append(state.Tags, "unfinished")
	}
	facts := tagged(say.PlainLine, state) + " " + b.progress()
	return &part{head: slices.Concat(s.item(strong, "", b.a.Study.Name+" "+b.a.Study.Version, 1), s.item(plain, "", b.a.Study.Description, 1), s.item(muted, "", facts, 1))}
}

// briefAnswers has a sentence for each primary comparison, or the arms in the order of
// a primary metric if there is none.
func (s *screen) briefAnswers(b *builder) *part {
	p := &part{}
	asked := b.primaryComparisons()
	if len(asked) > fewAnswers {
		b.bestFirst(asked)
	}
	for _, c := range asked {
		a := b.sentence(c)
		p.items = append(p.items, s.item(a.Tone, "", a.Text, itemRows))
	}
	p.more = func(shown int) []string {
		said := map[finding]int{}
		for _, c := range asked[shown:] {
			said[found(c, b.metric(c.Metric), b.a.Study.Alpha)]++
		}
		var parts []string
		for _, f := range []struct {
			finding
			words string
		}{{aBetter, "better"}, {bBetter, "worse"}, {noEvidence, "no evidence of a difference"}, {notTested, "not tested"}, {notCompared, "not compared"}} {
			if n := said[f.finding]; n > 0 {
				parts = append(parts, say.Count(n)+" "+f.words)
			}
		}
		return s.item(muted, "", "… and "+say.Count(len(asked)-shown)+" more: "+strings.Join(parts, ", "), 1)
	}
	if len(asked) > 0 {
		return p
	}
	p.head = s.item(unsure, "", b.answers()[0].Text, 2)
	ranked := b.ranked("primary")
	if len(ranked) == 0 {
		return p
	}
	for _, e := range b.bestArms(ranked[0]) {
		scale := scaleOf(ranked[0])
		p.items = append(p.items, s.item(plain, "  ", tagged(say.PlainLine, cell{Text: e.Arm, Tags: b.simulatedTag(e.Arm)})+": "+ranked[0].Title+" "+scale.Value(e.Value, false)+
			" ("+b.ci+" "+scale.Interval(e.Low, e.High, false)+", n"+say.NBSP+"="+say.NBSP+say.Count(e.Items)+")", 2))
	}
	p.more = func(shown int) []string {
		return s.item(muted, "  ", "… and "+say.Plural(len(p.items)-shown, "more arm", "more arms"), 1)
	}
	return p
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
	order := map[finding]int{aBetter: 0, notTested: 1, noEvidence: 1, bBetter: 2, notCompared: 3}
	metrics := factors(list, func(c analyse.Comparison) string { return c.Metric })
	slices.SortStableFunc(list, func(x, y analyse.Comparison) int {
		mx, my := b.metric(x.Metric), b.metric(y.Metric)
		return cmp.Or(cmp.Compare(baseline[x.A]+baseline[x.B], baseline[y.A]+baseline[y.B]),
			cmp.Compare(order[found(x, mx, b.a.Study.Alpha)], order[found(y, my, b.a.Study.Alpha)]),
			cmp.Compare(slices.Index(metrics, x.Metric), slices.Index(metrics, y.Metric)),
			cmp.Compare(gain(y.Diff, my), gain(x.Diff, mx)))
	})
}

// bestArms returns the estimates of contestants, the best first.
func (b *builder) bestArms(m analyse.Metric) []analyse.Estimate {
	list := filter(b.a.Estimates, func(e analyse.Estimate) bool { return e.Stratum == nil && e.Metric == m.Name })
	slices.SortStableFunc(list, func(x, y analyse.Estimate) int { return cmp.Compare(gain(y.Value, m), gain(x.Value, m)) })
	return list
}

// gain returns a number whose size is its worth; an undefined one is the smallest.
func gain(n analyse.Number, m analyse.Metric) float64 {
	if m.HigherIsBetter {
		return float64(n)
	}
	return -float64(n)
}

// briefGate has the verdict and its rules, those that do not pass first, with the
// values they read.
func (s *screen) briefGate(b *builder, decides bool) *part {
	if b.v == nil {
		return &part{head: s.item(muted, "", "The study has no rules, so there is no verdict.", 1)}
	}
	v := newVerdict(b.v)
	if !decides {
		v.Exit = "gate exits with " + strings.TrimPrefix(v.Exit, "exit ")
	}
	p := &part{head: slices.Concat(s.item(v.Tone, "", v.line(), 1), s.item(plain, "  ", v.Advice, 1))}
	rules := slices.Clone(v.Conditions)
	order := map[gate.State]int{gate.Fail: 0, gate.Undecided: 1, gate.Pass: 2}
	rank := func(c gate.Condition) int {
		if c.Kind == "outcome" && c.State == gate.Fail {
			return 3 // does not apply
		}
		return order[c.State]
	}
	slices.SortStableFunc(rules, func(x, y gate.Condition) int { return cmp.Compare(rank(x), rank(y)) })
	for _, reason := range v.Reasons {
		ofRule := func(c gate.Condition) bool { return strings.Contains(reason, strconv.Quote(c.Name)) }
		if !slices.ContainsFunc(rules, ofRule) { // its rule says the same
			p.items = append(p.items, s.item(plain, "  ", reason, itemRows))
		}
	}
	reasons := len(p.items)
	for _, c := range rules {
		word, t := conditionState(c, v.Outcome)
		var said []string
		if c.State != gate.Pass {
			said = append(nonEmpty(c.Reason), values(c)...)
		}
		switch {
		case c.JudgeAlone && len(c.Warnings) > 1:
			word += " by the estimate and the judge alone"
		case c.JudgeAlone && len(c.Warnings) > 0:
			word += " by the judge alone"
		case len(c.Warnings) > 0:
			word += " by the estimate alone"
		}
		p.items = append(p.items, s.item(t, "  ", strings.TrimSuffix(word+": "+c.Name+": "+strings.Join(said, "; "), ": "), itemRows))
	}
	p.more = func(shown int) []string {
		text := ""
		if hidden := reasons - shown; hidden > 0 {
			text = say.Plural(hidden, "more reason", "more reasons") + " and "
		}
		return s.item(muted, "  ", "… and "+text+say.Plural(len(p.items)-max(shown, reasons), "more rule", "more rules"), 1)
	}
	return p
}

func (s *screen) briefWarnings(b *builder) *part {
	p := &part{}
	list := b.warnings()
	if len(list) == 0 {
		return p
	}
	p.head = s.item(unsure, "", "Warnings: "+say.Count(len(list)), 1)
	for _, w := range list {
		p.items = append(p.items, s.item(plain, "  ! ", w, 1))
		p.whole = append(p.whole, s.item(plain, "  ! ", w, 3))
	}
	p.more = func(shown int) []string { return s.item(muted, "  ", "… and "+say.Count(len(list)-shown)+" more", 1) }
	return p
}

// warnings returns the warnings of the study, of judges and of primary comparisons.
func (b *builder) warnings() []string {
	var list []string
	if b.v != nil {
		list = rulesChanged(b.v)
	}
	if d := b.a.Discipline; d != nil {
		list = append(unblinded(d.Reasons()), list...)
	}
	if r := b.a.Run; r.Exploratory() && !r.OnDev() {
		list = append(list, withoutTests(r))
	}
	list = append(list, b.a.Warnings...)
	if b.v != nil {
		list = append(list, byEstimateAlone(b.v)...)
	}
	for _, j := range b.a.Judges {
		for _, w := range j.Warnings {
			if j.Cases > 0 { // else there was no judge to ask
				list = append(list, "judge "+j.Name+": "+w)
			}
		}
	}
	for _, c := range b.primaryComparisons() {
		if c.Diff.Defined() { // else its sentence has them
			for _, note := range b.remarks(c) {
				if note == analyse.NotPlanned || slices.ContainsFunc(b.a.Troubles, func(t analyse.Trouble) bool { return t.Brief() == note }) {
					continue // already in the list, once
				}
				list = append(list, c.A+minusBetween+c.B+", "+b.metric(c.Metric).Title+": "+note)
			}
		}
	}
	return list
}

// ending names the page, with the other formats, and the commands. Neither a path nor
// a command is broken into lines, so that it can be copied.
func (s *screen) ending(end Ending) *part {
	p := &part{}
	page := slices.IndexFunc(end.Files, func(f string) bool { return filepath.Ext(f) == ".html" })
	if page >= 0 {
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
		p.head = append(p.head, say.PlainLine(text))
	}
	p.head = append(p.head, say.PlainLine("All results: "+end.Report), say.PlainLine("Worst items: "+end.Worst))
	return p
}
