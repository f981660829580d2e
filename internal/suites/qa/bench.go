package qa

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/table"
	"github.com/scruple-eval/scruple/internal/text"
)

// A Bench is the suite bound to one study. It is safe for
// concurrent use.
type Bench struct {
	questions []question
	items     []eval.Item
	byID      map[string]int
	arms      []*arm
	byArm     map[string]*arm
	judge     *study.Model // nil for studies without rubrics
	trusted   bool         // whether the judge's verdicts count
	warnings  []string
	notes     []string
}

type arm struct {
	kit.Arm
	prompt, system string
	local          func(q *question) string // answers without a call
}

// The built-in prompts and the baseline.
const (
	direct     = "Answer the question. Give only the answer, without an explanation.\n\n{{QUESTION}}"
	stepwise   = "Answer the question. Think step by step. End with a line that begins with \"Answer:\" and gives only the answer.\n\n{{QUESTION}}"
	hole       = "{{QUESTION}}"
	mostCommon = "most_common"
)

var builtins = []string{"direct", "stepwise", mostCommon}

// The arms that calibrate the judge, with right and with wrong answers.
const (
	calibrationRight = "calibration:gold"
	calibrationWrong = "calibration:other"
)

// Open binds the suite to a study: it reads and validates questions and prompts.
// The error is a [study.Errors].
func Open(f *study.File, s *Study) (*Bench, error) {
	var errs study.Errors
	b := &Bench{byID: map[string]int{}, trusted: true}
	b.load(f, s, &errs)
	rubrics := b.count(matchRubric)
	if rubrics > 0 && s.JudgeModel == "" && errs.Err() == nil {
		errs.Add(f.Errorf("judge_model", "%s a rubric: name the model that judges answers", text.Plural(rubrics, "question has", "questions have")))
	}
	if rubrics > 0 {
		b.judge = s.Judge()
	}
	b.plan(f, s, &errs)
	if err := errs.Err(); err != nil {
		return nil, err
	}
	b.byArm = kit.ByID(b.arms)
	return b, nil
}

func (b *Bench) count(match string) (n int) {
	for i := range b.questions {
		if b.questions[i].match == match {
			n++
		}
	}
	return n
}

func (b *Bench) load(f *study.File, s *Study, errs *study.Errors) {
	for _, ours := range slices.Sorted(maps.Keys(s.Questions.Columns)) {
		if !slices.Contains(columns, ours) {
			errs.Add(f.Errorf("data.columns."+ours, "unknown column %q: want one of %s%s", ours, strings.Join(columns, ", "), kit.DidYouMean(ours, columns)))
		}
	}
	t, err := table.Read(f.Resolve(s.Questions.Path))
	if errors.Is(err, fs.ErrNotExist) {
		err = f.Errorf("data.path", "%w", err)
	}
	if err != nil {
		kit.AddAll(errs, err)
		return
	}
	misnamed := false
	known := t.Bind(table.Names{Known: columns, File: s.Questions.Columns, Remedy: func(known, found string) string {
		return fmt.Sprintf("rename it, or write data.columns: {%s: %s} in the study; {%s: ''} says that it is something else", known, found, known)
	}}, func(ours string, err error) {
		misnamed = true
		if ours != "" {
			err = f.Errorf("data.columns."+ours, "%w", err)
		}
		errs.Add(err)
	})
	kit.CheckStrata(f, "data.strata", s.Questions.Strata, []string{"match", "group"}, known, errs)
	if misnamed {
		return
	}
	if !known.Has("question") {
		errs.Add(fmt.Errorf("%s: no column %q: give the name of the column of questions in data.columns, as in {question: NAME}; the columns are %s", t.File, "question", strings.Join(t.Header, ", ")))
		return
	}
	if !known.Has("answer") && !known.Has("rubric") {
		errs.Add(fmt.Errorf("%s: no column %q: give the name of the column of right answers in data.columns, as in {answer: NAME}; the columns are %s", t.File, "answer", strings.Join(t.Header, ", ")))
		return
	}
	b.notes = kit.OtherColumns(known, s.Questions.Strata, "data.strata")
	made := map[string]int{}   // ids of questions without one
	lineOf := map[string]int{} // of each question that is valid
	for _, row := range t.Rows {
		if s.Questions.Count > 0 && len(b.questions) == s.Questions.Count {
			break
		}
		record := cellsOf(t, known, row)
		q, err := parse(record, cmp.Or(s.Questions.Match, matchNormalized))
		if q.id == "" {
			q.id = kit.ContentID(made, "q", append([]string{q.text}, q.choices...)...)
		}
		if err != nil {
			errs.Add(t.Errorf(row, -1, "question %s: %w", q.id, err))
			continue
		}
		if line, ok := lineOf[q.id]; ok {
			errs.Add(t.Errorf(row, -1, "duplicate id %q: also in line %d", q.id, line))
			continue
		}
		lineOf[q.id] = row.Line
		q.strata, q.others = kit.SplitColumns(known.Others(row), s.Questions.Strata)
		b.questions = append(b.questions, q)
	}
	// In the order of ids: the order of the file has no effect, not even on ties of
	// the baseline and on the wrong answers that calibrate a judge.
	slices.SortFunc(b.questions, func(a, b question) int { return strings.Compare(a.id, b.id) })
	for i := range b.questions {
		q := &b.questions[i]
		b.byID[q.id] = i
		b.items = append(b.items, q.item())
	}
	if len(b.questions) == 0 && errs.Err() == nil {
		errs.Add(fmt.Errorf("%s has no questions", t.File))
	}
}

// plan makes the arms: every prompt on each of its models, pipelines, always the
// baseline, and the calibration arms if there is a judge.
func (b *Bench) plan(f *study.File, s *Study, errs *study.Errors) {
	p := kit.NewPlanner(f, &s.Study, "prompt", "use outputs, exec, http or run", errs)
	kit.CheckNames(p, s.Prompts, func(e Prompt) string { return e.Name })
	for i := range s.Prompts {
		b.entry(p, i, &s.Prompts[i])
	}
	if !slices.ContainsFunc(b.arms, func(a *arm) bool { return a.Role == eval.RoleBaseline }) && !slices.ContainsFunc(s.Prompts, func(e Prompt) bool { return e.Name == mostCommon }) {
		b.add(mostCommon, b.baseline())
	}
	if b.judge == nil {
		return
	}
	b.calibration(calibrationRight, b.gold)
	b.calibration(calibrationWrong, b.other)
	for _, a := range b.arms {
		a.Judges = []string{b.judge.ID}
	}
}

func (b *Bench) calibration(id string, local func(*question) string) {
	b.add(id, &arm{local: local, Arm: kit.Local(eval.RoleCalibration, id, "1")})
}

func (b *Bench) add(name string, a *arm) {
	a.Place("prompt", name)
	b.arms = append(b.arms, a)
}

// entry makes the arms of one entry of the study.
func (b *Bench) entry(p *kit.Planner, i int, e *Prompt) {
	given := kit.Given(e.Outside, kit.Way{Key: "prompt", Value: e.Prompt}, kit.Way{Key: "path", Value: e.Path}, kit.Way{Key: "builtin", Value: e.Builtin})
	if !p.One(i, e.Name, given) {
		return
	}
	if len(given) == 0 {
		e.Builtin, given = e.Name, []string{"builtin"}
	}
	prompt := e.Prompt
	switch given[0] {
	case "outputs", "exec", "http", "run":
		if a, ok := p.Pipeline(i, e.Name, e.Models, e.Outside); ok {
			b.add(e.Name, &arm{Arm: a})
		}
		return
	case "path":
		text, ok := p.Text(i, e.Path, "prompt")
		if !ok {
			return
		}
		prompt = text
	case "builtin":
		switch e.Builtin {
		case mostCommon:
			p.NoModels(i, e.Name, e.Models)
			b.add(e.Name, b.baseline())
			return
		case "direct":
			prompt = direct
		case "stepwise":
			prompt = stepwise
		default:
			p.Fault(p.Key(i), "prompt %q: no built-in prompt %q%s; the built-in prompts are %s; or give it one of prompt, path, outputs, exec, http, run", e.Name, e.Builtin, kit.DidYouMean(e.Builtin, builtins), strings.Join(builtins, ", "))
			return
		}
	}
	if strings.Count(prompt, hole) != 1 {
		p.Fault(p.Key(i), "prompt %q contains %s %s: want it once, in place of the question", e.Name, hole, text.Plural(strings.Count(prompt, hole), "time", "times"))
		return
	}
	for _, on := range p.OnModels(i, e.Name, e.Models) {
		a := &arm{Arm: on, prompt: prompt, system: e.System}
		r := kit.RequestTo(a.Settings)
		a.Hash = kit.Hash(r.Key(), a.system, a.prompt).String()
		b.add(e.Name, a)
	}
}

// baseline answers every question with the most common right answer among
// questions of the same match. Ties go to the first by id.
func (b *Bench) baseline() *arm {
	counts := map[[2]string]int{}
	best := map[string]string{}
	for i := range b.questions {
		q := &b.questions[i]
		for _, a := range q.answers[:min(1, len(q.answers))] {
			counts[[2]string{q.match, normalize(a)}]++
		}
	}
	for i := range b.questions {
		q := &b.questions[i]
		for _, a := range q.answers[:min(1, len(q.answers))] {
			if now, ok := best[q.match]; !ok || counts[[2]string{q.match, normalize(a)}] > counts[[2]string{q.match, normalize(now)}] {
				best[q.match] = a
			}
		}
	}
	return &arm{local: func(q *question) string { return cmp.Or(best[q.match], "I do not know.") }, Arm: kit.Local(eval.RoleBaseline, mostCommon, "1")}
}

// gold is a right answer; for matchRegex it is the pattern.
func (b *Bench) gold(q *question) string {
	if len(q.answers) == 0 {
		return "I do not know."
	}
	return q.answers[0]
}

// other is a wrong answer: another choice, or a different answer from the next
// question of the same match.
func (b *Bench) other(q *question) string {
	if q.match == matchChoice {
		for i := range q.choices {
			if letter := string(rune('A' + i)); !slices.Contains(q.answers, letter) {
				return letter
			}
		}
	}
	at := b.byID[q.id]
	for k := range b.questions {
		o := &b.questions[(at+1+k)%len(b.questions)]
		if o.match != q.match {
			continue
		}
		for _, a := range o.answers {
			if !slices.ContainsFunc(q.answers, func(mine string) bool { return normalize(mine) == normalize(a) }) {
				return a
			}
		}
	}
	return "I do not know."
}

// Items are the questions.
func (b *Bench) Items() []eval.Item { return b.items }

// Arms are the prompts on their models, the pipelines, the baseline and, with a
// judge, the calibration arms.
func (b *Bench) Arms() []eval.Arm { return kit.Arms(b.arms) }

// Pipelines are the external pipelines that arms call.
func (b *Bench) Pipelines() []eval.Pipeline { return kit.Pipelines(b.arms) }

// Close does nothing: the questions are in memory.
func (b *Bench) Close() error { return nil }

// contradictions warns of questions that are the same, with the same choices, and have
// different right answers: no model can be right about both.
func (b *Bench) contradictions() (list []string) {
	const few = 3
	first, n := map[string]*question{}, 0
	for i := range b.questions {
		q := &b.questions[i]
		key := strings.Join(append([]string{q.match, text.Minimal(q.text), q.rubric}, q.choices...), "\x00")
		other, ok := first[key]
		if !ok {
			first[key] = q
			continue
		}
		if slices.Equal(slices.Sorted(slices.Values(q.answers)), slices.Sorted(slices.Values(other.answers))) {
			continue
		}
		if n++; n <= few {
			list = append(list, fmt.Sprintf("questions %q and %q are the same, with different answers: no model can be right about both", other.id, q.id))
		}
	}
	if n > few {
		list = append(list, fmt.Sprintf("%s more have the text of another one and different answers", text.Plural(n-few, "question", "questions")))
	}
	return list
}

// Warnings are about data that look wrong but are legal.
func (b *Bench) Warnings() []string { return slices.Concat(b.warnings, b.contradictions()) }

// Notes say which columns of the file are only shown.
func (b *Bench) Notes() []string { return b.notes }

// Capabilities are what the suite has of them.
func (b *Bench) Capabilities() eval.Capabilities {
	return eval.Capabilities{Warnings: b.Warnings, Notes: b.Notes, Facts: b.Facts, Report: b.Report, Ratings: b.Ratings, Calibrator: b}
}

// Facts count the questions by match.
func (b *Bench) Facts() []eval.Fact {
	var facts []eval.Fact
	for _, m := range matches {
		if n := b.count(m); n > 0 {
			facts = append(facts, eval.Fact{Name: m, N: n})
		}
	}
	return facts
}

// A payload is the JSON request to an external pipeline.
type payload struct {
	ID       string   `json:"id"`
	Question string   `json:"question"`
	Choices  []string `json:"choices,omitempty"`
}

// Basis returns what a trial depends on beside the question and the prompt: what it takes to
// read an answer, the answers that local arms and simulated models have from gold, and what
// the judge is shown.
func (b *Bench) Basis(t eval.Trial) (on eval.Basis) {
	q, a := b.question(t.Item), b.byArm[t.Arm]
	if q == nil || a == nil {
		return on
	}
	read := append([]string{q.match}, q.choices...)
	if a.local != nil {
		read = append(read, a.local(q))
	}
	on.Read = kit.Hash(read...)
	if a.Simulated {
		on.Asked = kit.Hash(b.gold(q), b.other(q))
	}
	if q.match == matchRubric {
		on.Judged = kit.Hash(append([]string{q.rubric}, q.answers...)...)
	}
	return on
}

// Perform asks a question.
func (b *Bench) Perform(ctx context.Context, t eval.Trial, ask eval.Asker) (eval.Outcome, error) {
	q, a := b.question(t.Item), b.byArm[t.Arm]
	if q == nil || a == nil {
		return eval.Outcome{}, fmt.Errorf("qa: %v is not in this study", t)
	}
	if a.local != nil {
		return q.outcome(eval.Response{Text: a.local(q), Stop: eval.StopEnd}), nil
	}
	r, err := b.request(a, q)
	if err != nil {
		return eval.Outcome{}, err
	}
	response, err := ask.Ask(ctx, "answer", r)
	if err != nil {
		return eval.Outcome{}, err
	}
	return q.outcome(response), nil
}

func (b *Bench) question(id string) *question {
	if i, ok := b.byID[id]; ok {
		return &b.questions[i]
	}
	return nil
}

func (b *Bench) request(a *arm, q *question) (eval.Request, error) {
	if a.Pipeline != nil {
		return a.RequestOutside(q.id, func() any { return payload{q.id, q.text, q.choices} })
	}
	r := kit.RequestTo(a.Settings)
	r.Item, r.System = q.id, a.system
	r.Messages = []eval.Message{{Role: "user", Content: strings.Replace(a.prompt, hole, q.shown(), 1)}}
	if a.Simulated {
		r.Payload = kit.SimulatedAnswer(b.gold(q), b.other(q))
	}
	r.Foreseen = func() string { return b.gold(q) }
	return r, nil
}

// outcome parses a response. No request of the suite forces a tool.
func (q *question) outcome(r eval.Response) eval.Outcome {
	reply := r.Answer("")
	o := eval.Outcome{Kind: eval.OK, Data: []byte(reply)}
	if r.Stop == eval.StopRefused {
		o.Kind, o.Reason, o.Detail = eval.Refused, refusedReason, r.Refusal
		return o
	}
	_, malformed := q.read(reply)
	if r.Stop == eval.StopLength && !marked.MatchString(reply) {
		malformed = cutOff
	}
	if r.Stop == eval.StopLength {
		o.Notes = append(o.Notes, eval.NoteTruncated)
	}
	if malformed != "" {
		o.Kind, o.Reason = eval.Malformed, malformed
	} else if q.lenient(reply) {
		o.Notes = append(o.Notes, eval.NoteLenient)
	}
	return o
}
