package report

import (
	"cmp"
	_ "embed"
	"reflect"
	"slices"
	"strings"
	"text/template"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/say"
)

//go:embed methods.tmpl
var methodsText string

// A definition is the documentation of a metric.
type definition struct {
	analyse.Metric
	Facts []fact
}

// sentence is a definition in words.
func (d definition) sentence() string {
	text := d.Title + " (" + d.Name + ")"
	if d.Doc != "" {
		text += ": " + d.Doc
	}
	if d.Formula != "" {
		text += " Formula: " + d.Formula + "."
	}
	for _, f := range d.Facts {
		text += " " + f.Name + ": " + strings.TrimSuffix(f.Value, ".") + "."
	}
	return text
}

// methods is the section of definitions, methods and provenance for reviewers.
func (b *builder) methods() section {
	s := section{ID: "methods", Title: "Methods", Blocks: []block{{Heading: "Metrics"}, {Metrics: b.definitions()}}}
	line := func(text string) string { return strings.TrimLeft(say.PlainLine(text), "#") }
	var text strings.Builder
	page := template.Must(template.New("methods").Funcs(template.FuncMap{
		"ci":           func() string { return b.ci },
		"line":         line,
		"join":         func(list []string) string { return line(strings.Join(list, ", ")) },
		"methods":      b.methodsUsed,
		"simultaneous": b.atOnce,
		"over":         b.over,
		"plural":       say.Plural,
		"counted":      func(list []analyse.Count) string { return line(counted(list)) },
		"percent":      func(share any) string { return percentOf(reflect.ValueOf(share).Float()) },
		"metric":       func(name string) string { return line(b.metric(name).Title) },
	}).Parse(methodsText))
	if err := page.Execute(&text, b.a); err != nil {
		panic("report: " + err.Error()) // the template is ours
	}
	for item := range strings.SplitSeq(text.String(), "\n") {
		if title, ok := strings.CutPrefix(item, "# "); ok {
			s.Blocks = append(s.Blocks, block{Heading: title}, block{})
		} else if list := &s.Blocks[len(s.Blocks)-1].List; item != "" {
			*list = append(*list, item)
		}
	}
	for i := range s.Blocks {
		s.Blocks[i].In = filed
	}
	return s
}

func (b *builder) definitions() []definition {
	end := func(n analyse.Number) string {
		if n.Defined() {
			return say.Short(float64(n))
		}
		return "unbounded"
	}
	var ds []definition
	for _, m := range b.metrics() {
		ds = append(ds, definition{m, []fact{
			{Name: "Range", Value: end(m.Min) + " to " + end(m.Max)},
			{Name: "Direction", Value: strings.ToLower(strings.TrimSuffix(direction(m), "."))},
			{Name: "Pooling", Value: cmp.Or(poolings[m.Pooling], string(m.Pooling))},
			{Name: "Rank", Value: strings.Join(nonEmpty(m.Rank, analysisOnly(m)), "; ")},
		}})
	}
	return ds
}

var poolings = map[eval.Pooling]string{
	eval.MeanOfItems: "mean of items: each item counts once, however many units it has",
	eval.RatioOfSums: "ratio of sums: all numerators over all denominators",
	eval.ByEstimator: "estimator of all rows of all items",
}

// analysisOnly describes metrics that no gate may name.
func analysisOnly(m analyse.Metric) string {
	if m.Kind == eval.Analysis {
		return "not for decisions"
	}
	return ""
}

// methodsUsed lists the methods for intervals and tests, as named by the analysis.
func (b *builder) methodsUsed() []string {
	of := nonEmpty(factors(b.a.Estimates, func(e analyse.Estimate) string { return e.Method })...)
	return append(prefixed("Intervals of estimates: ", mapped(of, say.PlainLine)), prefixed("Comparisons: ", mapped(methodsOf(b.a.Comparisons), say.PlainLine))...)
}

// methodsOf lists the methods of comparisons.
func methodsOf(list []analyse.Comparison) []string {
	return nonEmpty(factors(list, func(c analyse.Comparison) string { return c.Method })...)
}

// atOnce says which intervals cover several differences at once, or is empty.
func (b *builder) atOnce() string {
	i := slices.IndexFunc(b.a.Comparisons, b.simultaneous)
	if i < 0 {
		return ""
	}
	of := "Intervals of "
	if name := b.a.Comparisons[i].Family; name != "" {
		of = "In a family, such as “" + say.PlainLine(name) + "”, intervals of "
	}
	return of + b.covered() + " cover all their differences at once: each at " + say.WithUnit(say.Short(100*float64(b.a.Comparisons[i].Level)), say.NBSP+"%") + "."
}

// over says which comparisons were corrected together, or that none was.
func (b *builder) over() string {
	switch {
	case !b.corrects():
		return ""
	case slices.ContainsFunc(b.a.Comparisons, corrected):
		return ", over " + b.coveredAll()
	}
	return ", which covers only " + b.covered() + ": none here"
}

// A prompt is the text of an example request.
type prompt struct {
	Title string
	Text  string
}

// asked says what was asked of whom. A terminal shows it if verbose.
func (b *builder) asked() section {
	s := section{ID: "asked", Title: "What was asked"}
	a := b.a.Asked
	if a == nil {
		return s
	}
	s.Blocks = append(s.Blocks, block{In: atLength, Prose: "Asked by scruple " + cmp.Or(a.Program, "of unknown version") + "; hashes: study " + a.Study + ", inputs " + a.Inputs + ", gold " + a.Gold + "."})
	if len(a.Parties) == 0 {
		return s
	}
	s.Blocks = append(s.Blocks, block{Table: b.merged(b.partyTable(a.Parties)), In: atLength})
	if prompts := promptsOf(a.Parties); len(prompts) > 0 {
		s.Blocks = append(s.Blocks, block{Prompts: prompts, In: filed})
	}
	return s
}

// promptsOf lists the prompts. Arms that differ in their model alone have one.
func promptsOf(parties []analyse.Party) []prompt {
	var list []prompt
	var names [][]string
	for _, p := range parties {
		for i, x := range p.Prompts {
			if j := slices.IndexFunc(list, func(q prompt) bool { return q.Text == x.Text }); j >= 0 {
				names[j] = append(names[j], p.Name)
				continue
			}
			about := ", step " + x.Step + ", item " + p.Item
			if i == len(p.Prompts)-1 && p.Steps > len(p.Prompts) {
				about += " (and " + say.Plural(p.Steps-len(p.Prompts), "step", "steps") + " more)"
			}
			list, names = append(list, prompt{about, x.Text}), append(names, []string{p.Name})
		}
	}
	for i := range list {
		list[i].Title = "Prompt of " + listed(names[i]) + list[i].Title
	}
	return list
}

func (b *builder) partyTable(parties []analyse.Party) *table {
	t := newTable("Models and pipelines", "Arm or judge", "Provider", "Model asked for", "Answered by", "Settings as sent", "Hash")
	t.Legend = []string{"Settings are those of an example; what is not listed was not sent, so the provider's default holds. Hash: of the prompts and settings of the arm."}
	for _, p := range parties {
		name := cell{Text: p.Name, Tags: b.tagsOf(p.Name)}
		if p.Judge {
			name.Tags = []string{"judge"}
			if p.Name == eval.ScorerModel {
				name.Tags = []string{eval.ScorerName}
			}
		}
		notes := mapped(p.Adapted, func(x string) string { return "differs from the request: " + x })
		if p.Missing != "" {
			notes = append(notes, "no prompt: "+p.Missing)
		}
		t.add(name, words(p.Provider), words(cmp.Or(p.Model, say.Dash)), words(cmp.Or(counted(p.Answered), "not named")),
			cell{Text: cmp.Or(strings.Join(told(p.Settings, " "), ", "), "none"), Refs: t.Notes.refs(notes)}, words(p.Hash))
	}
	return t
}
