package qa

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

// A bench is the suite bound to one study. It is safe for concurrent use.
type bench struct {
	kit.Base[*question, *arm]
	judge   *study.Model // nil for studies without rubrics
	judging kit.Judging
	trusted bool // whether the judge's verdicts count
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

// open binds the suite to a study: it reads and validates questions and prompts.
// The error is a [study.Errors].
func open(f *study.File, s *Study) (*bench, error) {
	var errs study.Errors
	b := &bench{trusted: true, judging: s.Judging.Words()}
	b.judging.Check(f, []string{holeAnswer}, kit.Lacks{}, &errs)
	b.load(f, s, &errs)
	b.readCases(f, s, &errs)
	if n := b.count(matchRubric); n > 0 {
		if b.judge = s.Judge(); b.judge == nil && errs.Err() == nil {
			errs.Add(f.Errorf("judge_model", "%s a rubric: name the model that judges answers", text.Plural(n, "question has", "questions have")))
		}
	}
	b.plan(f, s, &errs)
	return b, errs.Err()
}

func (b *bench) count(match string) (n int) {
	for _, q := range b.Data {
		if q.match == match {
			n++
		}
	}
	return n
}

func (b *bench) load(f *study.File, s *Study, errs *study.Errors) {
	t, known, ok := kit.ReadTable(f, kit.TableKeys{Key: "data", Path: s.Questions.Path, Columns: columns, Names: []string{"group", "cluster", "split"}, Renamed: s.Questions.Columns,
		Strata: s.Questions.Strata, Own: []string{"match", "group"}}, errs)
	if !ok {
		return
	}
	for _, need := range []struct{ column, or, what string }{{"question", "question", "questions"}, {"answer", "rubric", "right answers"}} {
		if !known.Has(need.column) && !known.Has(need.or) {
			errs.Add(fmt.Errorf("%s: no column %q: give the name of the column of %s in data.columns, as in {%s: NAME}; the columns are %s",
				t.File, need.column, need.what, need.column, strings.Join(t.Header, ", ")))
			return
		}
	}
	b.Note(kit.OtherColumns(known, s.Questions.Strata)...)
	made := map[string]int{}   // ids of questions without one
	lineOf := map[string]int{} // of each question that is valid
	var questions []*question
	var padded, alike []string // ids with white space around them, and of questions with equal choices
	for _, row := range t.Rows {
		if s.Questions.Count > 0 && len(questions) == s.Questions.Count {
			break
		}
		record, bare := cellsOf(t, known, row)
		q, err := parse(record, cmp.Or(s.Questions.Match, matchNormalized))
		if q.match != matchRegex {
			err = errors.Join(err, bare)
		}
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
		if id := record["id"]; len(id) == 1 && id[0] != q.id && strings.TrimSpace(id[0]) != "" {
			padded = append(padded, strconv.Quote(id[0]))
		}
		if len(slices.Compact(slices.Sorted(slices.Values(q.choices)))) < len(q.choices) {
			alike = append(alike, q.id)
		}
		q.strata, q.others = kit.SplitColumns(known.Others(row), s.Questions.Strata)
		questions = append(questions, &q)
	}
	if len(padded) > 0 {
		b.Note(fmt.Sprintf("%s: %s white space around it, such as %s, which is left out", t.File, text.Plural(len(padded), "id has", "ids have"), text.Shorten(padded[0], 60)))
	}
	if len(alike) > 0 {
		b.Note(fmt.Sprintf("%s: %s equal choices, such as %s: the letter of one does not count for the other", t.File, text.Plural(len(alike), "question has", "questions have"), text.Shorten(alike[0], 60)))
	}
	b.Fill(questions, (*question).item)
	if len(questions) == 0 && errs.Err() == nil {
		errs.Add(fmt.Errorf("%s has no questions", t.File))
	}
}

// plan makes the arms: every prompt on each of its models, pipelines, always the
// baseline, and the calibration arms if there is a judge.
func (b *bench) plan(f *study.File, s *Study, errs *study.Errors) {
	p := kit.NewPlanner(f, &s.Study, "prompt", "use outputs, exec, http or run", errs)
	kit.CheckNames(p, s.Prompts)
	for i := range s.Prompts {
		b.entry(p, &s.Prompts[i])
	}
	if !b.Has(eval.RoleBaseline) && !slices.ContainsFunc(s.Prompts, func(e Prompt) bool { return e.Name == mostCommon }) {
		b.local(eval.RoleBaseline, mostCommon, mostCommon, b.mostCommon())
	}
	if b.judge != nil {
		b.local(eval.RoleCalibration, kit.CalibrationRight, kit.CalibrationRight, b.gold)
		b.local(eval.RoleCalibration, kit.CalibrationWrong, kit.CalibrationWrong, b.other)
		b.JudgedBy(b.judge.ID)
	}
}

// local adds an arm that answers without a call.
func (b *bench) local(role eval.Role, name, does string, answer func(q *question) string) {
	b.add(name, &arm{local: answer, Arm: kit.Local(role, does, "1")})
}

func (b *bench) add(name string, a *arm) { b.Add("prompt", name, a) }

// entry makes the arms of one entry of the study.
func (b *bench) entry(p *kit.Planner, e *Prompt) {
	prompt := func(text string) {
		if !p.OneHole(&e.Entry, text, hole, "question") {
			return
		}
		for _, on := range p.OnModels(&e.Entry) {
			r := kit.RequestTo(on.Settings)
			on.Hash = kit.Hash(r.Key(), e.System, text).String()
			b.add(e.Name, &arm{Arm: on, prompt: text, system: e.System})
		}
	}
	p.Make(&e.Entry, func(a kit.Arm) { b.add(e.Name, &arm{Arm: a}) },
		kit.Way{Key: "prompt", Value: e.Prompt, Make: prompt},
		p.FromFile(&e.Entry, e.Path, "prompt", prompt),
		kit.Builtin(e.Builtin,
			kit.Way{Key: "direct", Make: func(string) { prompt(direct) }},
			kit.Way{Key: "stepwise", Make: func(string) { prompt(stepwise) }},
			kit.Way{Key: mostCommon, Make: func(string) {
				p.NoModels(&e.Entry)
				b.local(eval.RoleBaseline, e.Name, mostCommon, b.mostCommon())
			}}))
}

// mostCommon answers every question with the most common first right answer among
// questions of the same match. Ties go to the first by id.
func (b *bench) mostCommon() func(q *question) string {
	counts := map[[2]string]int{}
	best := map[string]string{}
	key := func(q *question) [2]string { return [2]string{q.match, q.key()} }
	answered := slices.DeleteFunc(slices.Clone(b.Data), func(q *question) bool { return len(q.answers) == 0 })
	for _, q := range answered {
		counts[key(q)]++
	}
	most := map[string]int{}
	for _, q := range answered {
		if n := counts[key(q)]; n > most[q.match] {
			most[q.match], best[q.match] = n, q.answers[0]
		}
	}
	return func(q *question) string { return cmp.Or(best[q.match], unknown) }
}

// unknown answers a question without a known answer.
const unknown = "I do not know."

// gold is a right answer; for matchRegex it is the pattern.
func (b *bench) gold(q *question) string {
	if len(q.answers) == 0 {
		return unknown
	}
	return q.answers[0]
}

// other is a wrong answer: one that the study knows, another choice, or a different answer from the next
// question of the same match.
func (b *bench) other(q *question) string {
	if len(q.wrong) > 0 {
		return q.wrong[0]
	}
	if q.match == matchChoice {
		for i := range q.choices {
			if letter := string(rune('A' + i)); !slices.Contains(q.answers, letter) {
				return letter
			}
		}
	}
	for k := range b.Data {
		o := b.Data[(b.Place(q.id)+1+k)%len(b.Data)]
		for _, a := range o.answers {
			if o.match == q.match && !slices.ContainsFunc(q.answers, func(mine string) bool { return normal(mine) == normal(a) }) {
				return a
			}
		}
	}
	return unknown
}

// contradictions warns of questions that are the same, with the same choices, and have
// different right answers: no model can be right about both.
func (b *bench) contradictions() (list []string) {
	first := map[string]*question{}
	for _, q := range b.Data {
		key := strings.Join(append([]string{q.match, text.Minimal(q.text), q.rubric}, q.choices...), "\x00")
		other := first[key]
		if other == nil {
			first[key] = q
		} else if !slices.Equal(slices.Sorted(slices.Values(q.answers)), slices.Sorted(slices.Values(other.answers))) {
			list = append(list, fmt.Sprintf("questions %q and %q are the same, with different answers: no model can be right about both", other.id, q.id))
		}
	}
	return text.Few(list, "question more have the text of another one and different answers", "questions more have the text of another one and different answers")
}

// Capabilities are what the suite has of them.
func (b *bench) Capabilities() eval.Capabilities {
	can := b.Base.Capabilities()
	can.Warnings, can.Facts, can.Ratings, can.RatesTrials, can.Calibrator = b.contradictions, b.facts, b.judging.Scale.PassRatings, true, b
	can.Criteria = b.judging.Asked()
	return can
}

// facts count the questions by match.
func (b *bench) facts() (facts []eval.Fact) {
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
// read an answer, with gold where text is matched, the answers that local arms and simulated
// models have from gold, and what the judge is shown.
func (b *bench) Basis(t eval.Trial) (on eval.Basis) {
	q, a, err := b.Of(t)
	if err != nil {
		return on
	}
	read := append([]string{q.match}, q.choices...)
	if q.byText() && q.match != matchRubric { // nothing is left out of a reply that matches
		read = append(read, q.answers...)
	}
	if a.local != nil {
		read = append(read, a.local(q))
	}
	on.Read = kit.Hash(read...)
	if a.Simulated {
		on.Asked = kit.Hash(b.gold(q), b.other(q))
	}
	if q.match == matchRubric {
		shown := append([]string{q.rubric}, q.answers...)
		if j := b.judging; j.Own() { // studies without them keep their verdicts
			shown = append(shown, kit.HashOf(j).String())
		}
		on.Judged = kit.Hash(shown...)
	}
	return on
}

// Perform asks a question.
func (b *bench) Perform(ctx context.Context, t eval.Trial, ask eval.Asker) (eval.Outcome, error) {
	q, a, err := b.Of(t)
	if err != nil {
		return eval.Outcome{}, fmt.Errorf("qa: %w", err)
	}
	response := eval.Response{Stop: eval.StopEnd}
	if a.local != nil {
		response.Text = a.local(q)
		return q.outcome(response), nil
	}
	r, err := b.request(a, q)
	if err == nil {
		response, err = ask.Ask(ctx, "answer", r)
	}
	if err != nil {
		return eval.Outcome{}, err
	}
	return q.outcome(response), nil
}

func (b *bench) request(a *arm, q *question) (eval.Request, error) {
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
	o := kit.Outcome(r, "", refusedReason)
	if o.Kind != eval.OK {
		return o
	}
	reply := string(o.Data)
	_, malformed := q.read(reply)
	if r.Stop == eval.StopLength {
		malformed = cutOff
	}
	if malformed != "" {
		o.Kind, o.Reason = eval.Malformed, malformed
		return o
	}
	if q.lenient(reply) {
		o.Notes = append(o.Notes, eval.NoteLenient)
	}
	if q.several(reply) {
		o.Notes = append(o.Notes, eval.NoteSeveral)
	}
	return o
}
