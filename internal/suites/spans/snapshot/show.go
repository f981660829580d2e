package snapshot

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/spans/label"
	"github.com/scruple-eval/scruple/internal/suites/spans/verdict"
	"github.com/scruple-eval/scruple/internal/text"
)

// plain makes a text from a file safe for a terminal and for a Markdown table.
func plain(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t', r == '\r':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, s)
	return text.Shorten(s, 120)
}

// A painter writes text for a terminal or Markdown.
type painter struct {
	strings.Builder
	color, markdown bool
}

func (p *painter) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

func (p *painter) heading(s string) {
	switch {
	case p.markdown:
		p.line("\n## %s\n", s)
	case p.color:
		p.line("\n\x1b[1m%s\x1b[0m", s)
	default:
		p.line("\n%s", s)
	}
}

// The tones of a cell.
const (
	good   = "\x1b[32m"
	bad    = "\x1b[31m"
	unsure = "\x1b[33m"
)

func (p *painter) tone(tone, s string) string {
	switch {
	case tone == "":
		return s
	case p.color:
		return tone + s + "\x1b[0m"
	}
	return s
}

// change formats a difference, with its sign and its tone.
func (p *painter) change(n eval.Number) (tone, s string) {
	switch {
	case !n.Defined():
		return "", "–"
	case n > 0:
		return good, "+" + fixed(n)
	case n < 0:
		return bad, "−" + fixed(-n)
	}
	return "", fixed(0)
}

func fixed(n eval.Number) string {
	if !n.Defined() {
		return "–"
	}
	return strings.Replace(fmt.Sprintf("%.2f", float64(n)), "-", "−", 1)
}

// A cell of a table may have a tone.
type cell struct{ tone, text string }

// table writes rows with columns of equal width. Colours have no width.
func (p *painter) table(head []string, rows [][]cell) {
	if p.markdown {
		p.line("| %s |\n|%s", strings.Join(head, " | "), strings.Repeat("---|", len(head)))
		for _, row := range rows {
			p.WriteString("|")
			for _, c := range row {
				p.WriteString(" " + strings.NewReplacer("|", `\|`, "<", "&lt;", "`", "'").Replace(c.text) + " |")
			}
			p.WriteByte('\n')
		}
		return
	}
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, strings.Join(head, "\t"))
	for _, row := range rows {
		var texts []string
		for _, c := range row {
			texts = append(texts, c.text)
		}
		fmt.Fprintln(t, strings.Join(texts, "\t"))
	}
	t.Flush() // to memory
	lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	for i, line := range lines {
		if i > 0 {
			for _, c := range rows[i-1] {
				if c.tone != "" && c.text != "" {
					line = strings.Replace(line, c.text, p.tone(c.tone, c.text), 1)
				}
			}
		}
		p.line("  %s", strings.TrimRight(line, " "))
	}
}

func percent(a, b int) string {
	if b == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(a)/float64(b))
}

// bar draws a change of scores: a block for each tenth, at most ten.
func bar(n eval.Number) string {
	if !n.Defined() {
		return ""
	}
	return strings.Repeat("█", min(10, int(10*max(float64(n), -float64(n))+0.5)))
}

// Text is the comparison for a terminal.
func (c *Comparison) Text(color bool) string { return c.render(&painter{color: color}) }

// Markdown is the comparison as Markdown.
func (c *Comparison) Markdown() string { return c.render(&painter{markdown: true}) }

// String is the comparison without colours.
func (c *Comparison) String() string { return c.Text(false) }

// mostChanges are the prompts and confusions that a text lists.
const mostChanges = 10

func (c *Comparison) render(p *painter) string {
	tone := map[Verdict]string{Improved: good, Regressed: bad, NoEvidence: unsure}[c.Verdict]
	if p.markdown {
		p.line("# Comparison of two snapshots\n\n**%s**: %s.\n", c.Verdict, c.Reason)
	} else {
		p.line("%s: %s", p.tone(tone, string(c.Verdict)), c.Reason)
	}
	d := c.Paired
	_, diff := p.change(d.Diff)
	p.line("Total score of %s judged in both: %s → %s, difference %s, 95 %% interval [%s, %s], p = %s (paired t-test).", text.Plural(d.N, "prompt", "prompts"),
		fixed(d.Baseline), fixed(d.Current), diff, fixed(d.Low), fixed(d.High), probability(d.P))
	p.heading("Snapshots")
	a, b := c.Baseline, c.Current
	both := func(name string, of func(SideFacts) string) []cell {
		return []cell{{text: name}, {text: plain(of(a))}, {text: plain(of(b))}}
	}
	number := func(name string, of func(SideFacts) int) []cell {
		return both(name, func(s SideFacts) string { return fmt.Sprint(of(s)) })
	}
	p.table([]string{"", "baseline", "current"}, [][]cell{
		both("file", func(s SideFacts) string { return s.Name }),
		both("time", func(s SideFacts) string { return s.Timestamp }),
		both("judge", func(s SideFacts) string { return s.JudgeModel }),
		number("results", func(s SideFacts) int { return s.Results }),
		number("judged", func(s SideFacts) int { return s.Judged }),
		number("judge failed", func(s SideFacts) int { return s.JudgeFailures }),
		number("not judged", func(s SideFacts) int { return s.NotJudged }),
		number("labeller failed", func(s SideFacts) int { return s.Errors }),
		number("prompts only here", func(s SideFacts) int { return s.OnlyHere }),
		both("average total of judged", func(s SideFacts) string { return fixed(eval.Number(s.AvgScore)) }),
		both("average with failures as 0", func(s SideFacts) string { return fixed(eval.Number(s.AvgScoreWithFailures)) }),
	})
	if len(c.Regressions) > 0 {
		p.heading("Regressions")
		var rows [][]cell
		for _, r := range c.Regressions[:min(mostChanges, len(c.Regressions))] {
			rows = append(rows, []cell{{bad, r.Rule}, {"", plain(r.PromptID)}, {"", r.Detail}})
		}
		p.table([]string{"rule", "prompt", "what happened"}, rows)
		p.more(len(c.Regressions))
	}
	p.heading("Scores by category")
	var rows [][]cell
	for _, k := range c.Categories {
		toneC, coverage := p.change(k.Coverage)
		toneP, precision := p.change(k.Precision)
		rows = append(rows, []cell{{"", k.Category}, {"", fixed(k.BaselineCoverage) + " → " + fixed(k.CurrentCoverage)}, {toneC, coverage}, {toneC, bar(k.Coverage)},
			{"", fixed(k.BaselinePrecision) + " → " + fixed(k.CurrentPrecision)}, {toneP, precision}, {toneP, bar(k.Precision)}})
	}
	p.table([]string{"category", "coverage", "change", "", "precision", "change", ""}, rows)
	p.confusions("New confusions", c.NewConfusions, bad)
	p.confusions("Resolved confusions", c.ResolvedConfusions, good)
	if len(c.Prompts) > 0 {
		p.heading("Changed prompts")
		p.line("%d changed, %d unchanged, the largest losses first.", len(c.Prompts), c.Unchanged)
		if p.markdown {
			p.line("")
		}
		rows = nil
		for _, k := range c.Prompts[:min(mostChanges, len(c.Prompts))] {
			tone, delta := p.change(k.Delta)
			note := ""
			if k.Was != k.Is {
				note = fmt.Sprintf("%s, now %s", k.Was, k.Is)
			}
			rows = append(rows, []cell{{"", plain(k.ID)}, {"", short(k.Baseline) + " → " + short(k.Current)}, {tone, delta}, {"", note}})
		}
		p.table([]string{"prompt", "total", "change", ""}, rows)
		p.more(len(c.Prompts))
	}
	return p.Builder.String()
}

func (p *painter) more(n int) {
	if n <= mostChanges {
		return
	}
	before := "  "
	if p.markdown {
		before = "\n"
	}
	p.line("%s%d more; all are in the JSON (--json).", before, n-mostChanges)
}

func (p *painter) confusions(title string, list []Count, tone string) {
	if len(list) == 0 {
		return
	}
	p.heading(title)
	var rows [][]cell
	for _, k := range list[:min(mostChanges, len(list))] {
		rows = append(rows, []cell{{tone, plain(k.AssignedRole) + " → " + plain(k.ExpectedRole)}, {"", fmt.Sprint(k.Count)}})
	}
	p.table([]string{"assigned → expected", "times"}, rows)
	p.more(len(list))
}

func probability(n eval.Number) string {
	switch {
	case !n.Defined():
		return "–"
	case n < 0.0001:
		return "< 0.0001"
	}
	return fmt.Sprintf("%.4f", float64(n))
}

// String is the summary for a terminal.
func (s *Summary) String() string {
	p := &painter{}
	for _, t := range s.Tables() {
		p.heading(t.Title)
		var rows [][]cell
		for _, row := range t.Rows {
			var cells []cell
			for _, c := range row {
				cells = append(cells, cell{"", plain(c)})
			}
			rows = append(rows, cells)
		}
		p.table(t.Columns, rows)
		if t.Note != "" {
			p.line("  %s", t.Note)
		}
	}
	return strings.TrimPrefix(p.Builder.String(), "\n")
}

// Tables are the summary's tables.
func (s *Summary) Tables() []eval.Table {
	var tables []eval.Table
	add := func(name, title, note string, columns []string, rows [][]string) {
		if len(rows) > 0 {
			tables = append(tables, eval.Table{Name: name, Title: title, Note: note, Columns: columns, Rows: rows})
		}
	}
	count := func(name string, n int) []string { return []string{name, fmt.Sprint(n)} }
	rows := [][]string{count("results", s.Results), count("judged", s.JudgedResults), count("judge failed", s.JudgeFailures), count("not judged", s.NotJudged),
		count("labeller failed", s.ErrorCount), {"average total of judged", fixed(eval.Number(s.AvgScore))},
		{"average with failures as 0", fixed(eval.Number(s.AvgScoreWithFailures))}, count("judged with a total of 0", s.ZeroScores), {"average number of spans", fixed(eval.Number(s.AvgSpanCount))}, {"average with errors as 0 spans", fixed(eval.Number(s.AvgSpanCountAll))}}
	for _, note := range []string{label.Realigned, label.Unaligned} {
		rows = append(rows, count("spans "+note, s.SpanNotes[note]))
	}
	rows = append(rows, count("spans without a confidence from 0 to 1", s.NoConfidence))
	pipelines, sources := s.PipelineSources, s.SpanSources
	rows = append(rows, []string{"pipelines", fmt.Sprintf("nlp %d, llm %d, unknown %d", pipelines.NLP, pipelines.LLM, pipelines.Unknown)},
		[]string{"sources of spans", fmt.Sprintf("closed vocabulary %d, open vocabulary %d, llm %d", sources.ClosedVocab, sources.OpenVocab, sources.LLM)})
	add("results", "Results", strings.Join(s.Warnings, "; "), []string{"", "value"}, rows)
	rows = nil
	for _, why := range slices.Sorted(maps.Keys(s.JudgeFailureReasons)) {
		rows = append(rows, count(why, s.JudgeFailureReasons[why]))
	}
	add("judge_failures", "Failed judgements", "Recorded as totals of 0. They are not in the averages.", []string{"reason", "times"}, rows)
	if s.JudgedResults > 0 {
		names, counts := s.ScoreDistribution.Bands()
		rows = nil
		for i, name := range names {
			rows = append(rows, []string{name, fmt.Sprint(counts[i]), percent(counts[i], s.JudgedResults)})
		}
		add("distribution", "Distribution of totals", "", []string{"band", "results", "share"}, rows)
		rows = nil
		for _, step := range verdict.Steps {
			rows = append(rows, count(string(step), s.ParseSteps[step]))
		}
		add("parse_steps", "How judgements were parsed", "enhanced: valid as written. repaired: after one repair. basic: only parts were valid. none: nothing was.", []string{"step", "judgements"}, rows)
	}
	rows = nil
	for _, name := range slices.Sorted(maps.Keys(s.categories)) {
		c := s.AvgCategoryScores[name]
		rows = append(rows, []string{name, fixed(eval.Number(c.Coverage)), fixed(eval.Number(c.Precision)), fmt.Sprint(s.categories[name])})
	}
	add("categories", "Average scores by category", "Means of 1 to 5 over the judged results that have the category.", []string{"category", "coverage", "precision", "results"}, rows)
	rows = nil
	for _, name := range slices.SortedFunc(maps.Keys(s.FalsePositiveReasons), byCount(s.FalsePositiveReasons)) {
		if n := s.FalsePositiveReasons[name]; n > 0 {
			rows = append(rows, count(name, n))
		}
	}
	add("false_positive_reasons", "False positives by reason", "", []string{"reason", "times"}, rows)
	rows = nil
	for _, c := range s.TopTaxonomyErrors {
		rows = append(rows, []string{c.AssignedRole, c.ExpectedRole, fmt.Sprint(c.Count)})
	}
	note := ""
	if s.UncountableConfusions > 0 {
		note = fmt.Sprintf("Left out: %s with two equal roles or an expected role that the taxonomy does not have.", text.Plural(s.UncountableConfusions, "confusion", "confusions"))
	}
	add("confusions", "Most frequent confusions", note, []string{"assigned", "expected", "times"}, rows)
	rows = nil
	if s.JudgedResults > 0 {
		for _, name := range slices.Sorted(maps.Keys(s.ErrorsBySection)) {
			e := s.ErrorsBySection[name]
			rows = append(rows, []string{name, fmt.Sprint(e.FalsePositives), fmt.Sprint(e.Missed)})
		}
	}
	add("sections", "Errors by section", "A missed element is located by its text.", []string{"section", "false positives", "missed"}, rows)
	if c := s.ConfidenceAnalysis; c != nil {
		tables = append(tables, c.tables()...)
	}
	return tables
}

func byCount(counts map[string]int) func(a, b string) int {
	return func(a, b string) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return strings.Compare(a, b)
	}
}

// interval is Wilson's interval of the error rate, empty without spans.
func (b *Bucket) interval() string {
	if b.Total == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f to %.1f %%", 100*b.ErrorRateLow, 100*b.ErrorRateHigh)
}

func (c *Confidence) tables() []eval.Table {
	t := eval.Table{Name: "confidence", Title: "Errors by confidence", Columns: []string{"confidence", "spans", "errors", "error rate", "95 % interval", "false positives", "false positive rate"}}
	names, buckets := c.Buckets.List()
	for i, b := range buckets {
		t.Rows = append(t.Rows, []string{fmt.Sprintf("%s, %.1f to %.1f", names[i], b.Range[0], b.Range[1]), fmt.Sprint(b.Total), fmt.Sprint(b.Errors), percent(b.Errors, b.Total),
			b.interval(), fmt.Sprint(b.FalsePositives), percent(b.FalsePositives, b.Total)})
	}
	interval := func(m eval.Measured) string {
		return fmt.Sprintf("%s [%s, %s]", three(m.Value), three(m.Low), three(m.High))
	}
	t.Note = fmt.Sprintf("Threshold: %s. Calibration error %s, AUROC %s, with 95 %% intervals of a bootstrap over prompts. An error is any false positive, wrong role or wrong border.", c.Notes, interval(c.ECE), interval(c.AUROC))
	r := eval.Table{Name: "reliability", Title: "Reliability", Note: "Share of spans without an error, by stated confidence. Intervals are Wilson's, 95 %.", Columns: []string{"confidence", "spans", "mean confidence", "without error", "95 % interval"}}
	for _, b := range c.Reliability {
		r.Rows = append(r.Rows, []string{fmt.Sprintf("%.1f to %.1f", b.Low, b.High), fmt.Sprint(b.N), fmt.Sprintf("%.3f", b.Confidence), fmt.Sprintf("%.3f", b.Accuracy), fmt.Sprintf("%.3f to %.3f", b.CILow, b.CIHigh)})
	}
	return []eval.Table{t, r}
}

func three(n eval.Number) string {
	if !n.Defined() {
		return "–"
	}
	return fmt.Sprintf("%.3f", float64(n))
}
