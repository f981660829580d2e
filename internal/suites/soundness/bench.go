package soundness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/suites/soundness/wording"
	"github.com/scruple-eval/scruple/internal/text"
)

// A bench is the suite bound to one study. It is safe for
// concurrent use.
type bench struct {
	kit.Base[*Fragment, *arm]
	labels     []Label
	domains    []Domain
	examples   []Example
	conditions []string // in the order of the study
	models     []string // of the panel, in the order of the study
	main       string
	judge      *study.Model // nil: the indicators decide, or a person
	judging    kit.Judging
	byChance   bool // the judge is no better than chance
	reader     *reader
	margin     int
	reading    eval.Hash // of what answers are read and checked with
	attempts   int
	replicates int
	tasks      tasks
	practice   []*Fragment
	goldPath   string
	validity   Validity
	plain      prompt
	worked     prompt
}

// tasks are the names of annotation tasks, by what people decide in them; "" for none.
type tasks struct {
	coherence string // of ambiguous runs
	failures  string // their codes
	single    string // the codes of single failures
	labels    string // whose reading is in doubt
}

type arm struct {
	kit.Arm
	condition string
	group     string
	prompt    *prompt // nil for a pipeline
}

// open binds the suite to a study: it reads and validates the files. The error is a
// [study.Errors] with every finding, and behind it one with the warnings.
func open(f *study.File, s *Study) (*bench, error) {
	var errs study.Errors
	b := &bench{labels: s.Labels, domains: s.Domains, main: s.Main, margin: s.Coherence.Margin, attempts: s.Reading.Attempts,
		replicates: s.Execution.Replicates, tasks: tasks{coherence: s.Coherence.Task}}
	b.checkLabels(f, s, &errs)
	b.reader = newReader(s)
	l := &loader{bench: b, file: f, errs: &errs}
	fragments, corpus := l.fragments(s.Corpus)
	l.judged(s.Gold, fragments, corpus)
	b.examples = l.worked(s.Examples, s.Corpus, fragments)
	b.practice = l.practice(s.Practice, s.Corpus, fragments)
	b.checkValidity(f, s, &errs)
	b.checkChecklists(f, s, &errs)
	if s.Gold.Path != "" {
		b.goldPath = f.Resolve(s.Gold.Path)
	}
	byQueue := map[string]*string{queueFailures: &b.tasks.failures, queueSingle: &b.tasks.single, queueLabel: &b.tasks.labels}
	for _, t := range s.Annotation {
		if name := byQueue[t.Queue]; name != nil {
			*name = cmp.Or(*name, t.Name)
		}
	}
	b.Fill(fragments, func(f *Fragment) eval.Item { return f.item(b.labels) })
	if s.Gold.Path == "" {
		b.Warn("the study has no gold: nothing is scored until gold.path names the expert's judgements")
	}
	b.reading = kit.HashOf(s.Labels, s.Reading, s.Coherence, string(englishWording))
	b.judge, b.judging = s.Judge(), s.Judging.Words()
	s.Judging.Check(f, []string{holeLabel, holeRationale}, kit.Lacks{}, &errs)
	b.readCases(f, s, &errs)
	if b.judge == nil {
		b.Warn("the study has no judge_model: runs whose coherence the indicators do not decide are ambiguous until a person decides")
	}
	b.plain, b.worked = b.prompts(f, s, &errs)
	b.plan(f, s, &errs)
	if err := errs.Err(); err != nil {
		return b, errors.Join(err, l.warned.Err())
	}
	return b, nil
}

// checkLabels checks that the two labels and their phrasings differ.
func (b *bench) checkLabels(f *study.File, s *Study, errs *study.Errors) {
	if s.Labels[0].Side == s.Labels[1].Side {
		errs.Add(f.Errorf("labels[1].side", "both labels are supported by indicators of %s: one must be supported by strength, the other by weakness", s.Labels[1].Side))
	}
	phrases := map[string]int{}
	for i, l := range s.Labels {
		for _, p := range l.ways() {
			key := strings.Join(wording.Words(p), " ")
			if key == "" {
				errs.Add(f.Errorf(fmt.Sprintf("labels[%d].phrases", i), "phrase %q has no letter or digit", p))
			}
			if other, ok := phrases[key]; ok && other != i {
				errs.Add(f.Errorf(fmt.Sprintf("labels[%d]", i), "phrase %q stands for both labels: remove it from one", p))
			}
			phrases[key] = i
		}
	}
}

// plan makes the arms: every condition on each of its models, and pipelines.
func (b *bench) plan(f *study.File, s *Study, errs *study.Errors) {
	p := kit.NewPlanner(f, &s.Study, "condition", "use outputs, exec, http or run", errs)
	kit.CheckNames(p, s.Conditions)
	groups := b.groups(f, s, errs)
	for i := range s.Conditions {
		c := &s.Conditions[i]
		b.conditions = append(b.conditions, c.Name)
		if c.Given() {
			p.Make(&c.Entry, func(on kit.Arm) { b.Add("condition", c.Name, &arm{Arm: on, condition: c.Name}) })
			continue
		}
		prompt := &b.plain
		if c.Examples {
			prompt = &b.worked
			if s.Examples.Path == "" {
				errs.Add(f.Errorf(p.Key(&c.Entry)+".examples", "the study has no worked examples: name their file in examples.path"))
			}
		}
		for _, on := range p.OnModels(&c.Entry) {
			a := &arm{Arm: on, condition: c.Name, prompt: prompt, group: groups[on.Settings.ID]}
			if !strings.Contains(a.ID, "@") {
				a.ID += "@" + on.Settings.ID // one model is a panel too
			}
			if a.Settings.Reasoning.Allowance == 0 {
				own := *a.Settings
				own.Reasoning.Allowance = s.ReasoningAllowance
				a.Settings = &own
			}
			r := kit.RequestTo(a.Settings)
			a.Hash = kit.Hash(r.Key(), a.Settings.Structured, prompt.before, prompt.after).String()
			a.Shape = a.ID // arms of a condition differ in price and speed
			b.Add("condition", c.Name, a)
			if a.group != "" {
				a.Levels = append(a.Levels, eval.Level{Name: "group", Value: a.group})
			}
		}
	}
	for _, a := range b.OwnArms {
		if b.judge != nil {
			a.Judges = []string{b.judge.ID}
		}
		if a.Settings != nil && !slices.Contains(b.models, a.Settings.ID) {
			b.models = append(b.models, a.Settings.ID)
		}
	}
	b.standard()
	if s.Main != "" && !slices.Contains(b.models, s.Main) {
		errs.Add(f.Errorf("main_model", "no condition runs on model %q%s", s.Main, text.DidYouMean(s.Main, b.models)))
	}
}

// groups returns the group of each model. A study that has groups must give each model
// one.
func (b *bench) groups(f *study.File, s *Study, errs *study.Errors) map[string]string {
	var ids []string
	for _, m := range s.Models {
		if m.ID != s.JudgeModel {
			ids = append(ids, m.ID)
		}
	}
	groups := map[string]string{}
	for i, family := range s.Families {
		key := fmt.Sprintf("families[%d].model", i)
		switch {
		case !slices.Contains(ids, family.Model):
			errs.Add(f.Errorf(key, "the study has no model %q%s", family.Model, text.DidYouMean(family.Model, ids)))
		case groups[family.Model] != "":
			errs.Add(f.Errorf(key, "duplicate model %q", family.Model))
		}
		groups[family.Model] = family.Group
	}
	for _, id := range ids {
		if len(s.Families) > 0 && groups[id] == "" {
			errs.Add(f.Errorf("families", "model %q has no group", id))
		}
	}
	return groups
}

// standard warns if the models of the panel have other parameters.
func (b *bench) standard() {
	parameters := func(m *study.Model) string {
		temperature := "none"
		if m.Temperature != nil {
			temperature = fmt.Sprint(*m.Temperature)
		}
		return fmt.Sprintf("temperature %s, max_tokens %d", temperature, m.MaxTokens)
	}
	var first *study.Model
	for _, a := range b.OwnArms {
		if a.Settings == nil {
			continue
		}
		first = cmp.Or(first, a.Settings)
		if x, y := parameters(first), parameters(a.Settings); x != y {
			b.Warn("models differ in their parameters: %s has %s, %s has %s", first.ID, x, a.Settings.ID, y)
			return
		}
	}
}

// Capabilities are what the suite has of them.
func (b *bench) Capabilities() eval.Capabilities {
	can := b.Base.Capabilities()
	can.Facts, can.MostCalls, can.Report, can.Practice, can.Queuer, can.GoldKeeper = b.Facts, b.MostCalls, b.Report, b.Practice, b, b
	if b.Cases.Any() {
		can.Calibrator = b
	}
	return can
}

// Facts count the fragments by expert label, and the worked examples.
func (b *bench) Facts() []eval.Fact {
	facts := make([]eval.Fact, len(b.labels), len(b.labels)+1)
	for i, l := range b.labels {
		facts[i].Name = l.Name
	}
	for _, f := range b.Data {
		if f.Gold != nil {
			facts[f.Gold.Label].N++
		}
	}
	return append(facts, eval.Fact{Name: "worked examples", N: len(b.examples)})
}

// A payload is the JSON request to an external pipeline.
type payload struct {
	ID       string   `json:"id"`
	Fragment string   `json:"fragment"`
	Labels   []string `json:"labels"`
	Attempt  int      `json:"attempt"`
}

// Basis returns what a trial depends on beside the fragment and the prompt: lists of phrases,
// attempts and margin decide how an answer is read, whether it is asked for again, and
// whether the judge is asked. Simulated models answer from gold.
func (b *bench) Basis(t eval.Trial) (on eval.Basis) {
	f, a, err := b.Of(t)
	if err != nil {
		return on
	}
	on.Read, on.Judged = b.reading, b.reading
	if b.judging.Own() {
		on.Judged = kit.HashOf(b.reading.String(), b.judging)
	}
	switch {
	case a.Simulated:
		on.Asked = kit.HashOf(b.expected(f), b.reading)
	case a.Pipeline != nil && !a.Answered():
		on.Asked = kit.Hash(b.labels[0].Name, b.labels[1].Name)
	}
	return on
}

// Perform asks for a judgement. An answer in no readable format is asked for again.
func (b *bench) Perform(ctx context.Context, t eval.Trial, ask eval.Asker) (eval.Outcome, error) {
	f, a, err := b.Of(t)
	if err != nil {
		return eval.Outcome{}, fmt.Errorf("soundness: %w", err)
	}
	for attempt := 1; ; attempt++ {
		step := "judge"
		if attempt > 1 {
			step = fmt.Sprintf("judge, attempt %d", attempt)
		}
		r, err := b.request(a, f, attempt)
		if err != nil {
			return eval.Outcome{}, err
		}
		response, err := ask.Ask(ctx, step, r)
		if err != nil {
			return eval.Outcome{}, err
		}
		o := b.outcome(response, r.Force)
		if attempt > 1 {
			o.Notes = append(o.Notes, fmt.Sprintf("%d attempts", attempt))
		}
		if !unreadable(o.Reason) || attempt >= b.attempts || a.Answered() {
			return o, nil
		}
	}
}

// MostCalls returns the attempts at a readable answer, and the judge's call about a
// rationale that the indicators do not decide.
func (b *bench) MostCalls(arm string) (asked, judged int) {
	a := b.Arm(arm)
	if a.Settings != nil {
		asked = b.attempts
	}
	return asked, len(a.Judges)
}

func (b *bench) request(a *arm, f *Fragment, attempt int) (eval.Request, error) {
	if a.Pipeline != nil {
		return a.RequestOutside(f.ID, func() any { return payload{f.ID, f.Text, []string{b.labels[0].Name, b.labels[1].Name}, attempt} })
	}
	r := kit.RequestTo(a.Settings)
	r.Item = f.ID
	r.Messages = []eval.Message{{Role: "user", Content: a.prompt.with(f.Text)}}
	kit.Structure(&r, a.Settings, eval.Schema{Name: "judgement", Strict: true, JSON: b.answerSchema()},
		eval.Tool{Name: "report_judgement", Description: "Reports the label of the fragment and the rationale."})
	if a.Simulated {
		r.Payload = b.simulated(f, attempt)
	}
	r.Foreseen = func() string { return b.answer(b.expected(f), b.supporting(f, b.expected(f))) }
	return r, nil
}

// outcome keeps an answer. Its label is read when it is scored; here only whether it
// must be asked for again.
func (b *bench) outcome(r eval.Response, tool string) eval.Outcome {
	o := kit.Outcome(r, tool, reasonSafety)
	if o.Kind != eval.OK {
		return o
	}
	p := b.reader.read(string(o.Data), r.Stop == eval.StopLength)
	if p.lenient {
		o.Notes = append(o.Notes, eval.NoteLenient)
	}
	switch p.reason {
	case "":
	case reasonRefusal, reasonSafety:
		o.Kind, o.Reason = eval.Refused, p.reason
	default:
		o.Kind, o.Reason = eval.Malformed, p.reason
	}
	return o
}

// Show shows the first trial of a case: the fragment, and label and rationale beside
// the expert's.
func (b *bench) Show(c eval.Case) (eval.Exhibit, error) {
	page := func(f *Fragment) []eval.ExhibitPage {
		return []eval.ExhibitPage{{Number: 1, Title: f.ID, Text: f.Text}}
	}
	for _, f := range b.practice {
		if f.ID == c.Item && c.Arm == "" {
			return eval.Exhibit{Item: f.ID, Title: f.ID, Pages: page(f)}, nil
		}
	}
	f, t, x, err := b.Shown(c, "judged by")
	if err != nil {
		return x, fmt.Errorf("soundness: %w", err)
	}
	x.Pages, x.Facts = page(f), slices.Concat(x.Facts, f.Others)
	a := b.assess(f, t)
	label := eval.ExhibitRow{Unit: "label", Answer: b.nameOf(a.Label, "–")}
	rationale := eval.ExhibitRow{Unit: "rationale", Answer: a.Rationale}
	if f.Gold != nil {
		label.Gold, rationale.Gold = b.labels[f.Gold.Label].Name, f.Gold.Rationale
	}
	wrong, reason := "", a.Reason
	if a.HasGold && a.Label != wording.None && !a.Correct {
		wrong = "not the expert's label"
	}
	if a.Excluded {
		reason = "excluded: " + reason
	}
	notes := []string{reason, wrong, a.Failure}
	label.Note = strings.Join(slices.DeleteFunc(notes, func(s string) bool { return s == "" }), "; ")
	if a.Checked {
		how := fmt.Sprintf("%s: %s and %s", a.Coherence, text.Plural(a.Strength, "indicator of strength", "indicators of strength"), text.Plural(a.Weakness, "of weakness", "of weakness"))
		if !a.Sure {
			how += "; judge: " + a.Screen
		}
		if a.Manual != "" {
			how += "; person: " + a.Manual
		}
		if a.Coherence == coherent {
			x.Facts = append(x.Facts, eval.Level{Name: "coherence", Value: how})
		} else {
			rationale.Note = how
		}
	}
	for _, s := range appendRun(nil, f, a) {
		switch s.Metric {
		case metricRun, metricCoherent, metricMatch:
			label.Scores = append(label.Scores, s)
		}
	}
	x.Rows = []eval.ExhibitRow{label, rationale}
	x.Steps = kit.Verdicts(slices.DeleteFunc(slices.Clone(t.Verdicts), func(v eval.Verdict) bool { return v.Source == eval.ByHuman }))
	return x, nil
}
