package rerank

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/rerank/attack"
	"github.com/scruple-eval/scruple/internal/suites/rerank/method"
	"github.com/scruple-eval/scruple/internal/suites/rerank/request"
)

// A listener records requests and always gives the same answer.
type listener struct {
	requests []eval.Request
	answer   eval.Response
	err      error
}

func (l *listener) Ask(_ context.Context, _ string, r eval.Request) (eval.Response, error) {
	l.requests = append(l.requests, r)
	return l.answer, l.err
}

func (l *listener) perform(t *testing.T, b *bench, arm string) (eval.Outcome, record) {
	t.Helper()
	l.requests = nil
	o, err := b.Perform(t.Context(), eval.Trial{Item: b.Items()[0].ID, Arm: arm, Replicate: 1}, l)
	if err != nil {
		t.Fatal(err)
	}
	rec, _ := read(&o)
	return o, rec
}

const asking = `candidates: {k: 4}
review_budget: {reviews: 2}
models: [{id: plain, provider: openai, name: x}, {id: schema, provider: openai, name: y, structured: schema}, {id: tool, provider: google, name: z, structured: tool}]
arms: [{name: cot, models: [plain]}, {name: weaver, models: [schema]}, {name: anot, models: [tool]}, {name: e, exec: cat}, {name: o, outputs: answers.jsonl}, {name: bm25}]
attacks: {names: [inject_override], defence: both}
`

// TestRequests: the study's settings reach the request: defence, attack and
// structured output.
func TestRequests(t *testing.T) {
	b, err := starter(t, asking)
	if err != nil {
		t.Fatal(err)
	}
	l := &listener{answer: eval.Response{Text: "Ranking: 2, 1", Stop: eval.StopEnd}}
	for _, arm := range []string{"cot", "weaver", "anot"} {
		l.perform(t, b, arm+"/defended")
		if len(l.requests) == 0 || !strings.HasPrefix(l.requests[0].System, attack.Defence()) {
			t.Errorf("%s/defended has a request without the defence", arm)
		}
		l.perform(t, b, arm)
		if system := l.requests[0].System; strings.Contains(system, attack.Defence()) || strings.Contains(strings.ToLower(system), "instructions") {
			t.Errorf("%s has a request with the defence: %s", arm, system)
		}
	}
	if r := l.requests[0]; r.Schema != nil || len(r.Tools) != 1 || r.Force != "answer" {
		t.Errorf("a model with tools gets schema %v, tools %v, force %q", r.Schema, r.Tools, r.Force)
	}
	l.perform(t, b, "weaver")
	if r := l.requests[0]; r.Schema == nil || len(r.Tools) > 0 {
		t.Errorf("a model with a schema gets %v, %v", r.Schema, r.Tools)
	}
	l.perform(t, b, "cot")
	clean := l.requests[0].Messages[0].Content
	_, rec := l.perform(t, b, "cot/inject_override")
	if l.requests[0].Messages[0].Content == clean || rec.Changed == 0 || rec.Promoted == rec.Gold {
		t.Errorf("the injection does not change the request: %d candidates, promoted %d, gold %d", rec.Changed, rec.Promoted, rec.Gold)
	}
	for _, id := range []string{"o/inject_override", "o/defended", "bm25/defended"} {
		if b.Arm(id) != nil {
			t.Errorf("arm %s is redundant", id)
		}
	}
}

// TestToolAnswers: the answer of a step that forced the tool is its call, whatever
// text stands beside it.
func TestToolAnswers(t *testing.T) {
	b, err := starter(t, asking)
	if err != nil {
		t.Fatal(err)
	}
	const arguments = `{"ranking": [2, 1]}`
	l := &listener{answer: eval.Response{Text: "Ranking: 1, 2", Stop: eval.StopTool,
		ToolCalls: []eval.ToolCall{{Name: "search", Arguments: []byte(`{}`)}, {Name: "answer", Arguments: []byte(arguments)}}}}
	schema := &eval.Schema{Name: "ranking", JSON: []byte(`{"type":"object"}`)}
	for arm, want := range map[string]string{"anot": arguments, "weaver": "Ranking: 1, 2"} { // structured: tool and schema
		answer, err := b.asker(b.Arm(arm), &b.requests[0], l, new(atomic.Int64))(t.Context(), "rank", method.Prompt{Schema: schema})
		if err != nil || answer.Text != want {
			t.Errorf("%s: answer %q, %v; want %q", arm, answer.Text, err, want)
		}
	}
}

// TestPipelinesSeeWhatMethodsSee: pipelines get text, attributes, fields, writers
// and their friends, attacked reviews within the budget, and the defence.
func TestPipelinesSeeWhatMethodsSee(t *testing.T) {
	b, err := starter(t, asking)
	if err != nil {
		t.Fatal(err)
	}
	l := &listener{answer: eval.Response{Text: `{"ranking": [2, 1]}`, Stop: eval.StopEnd}}
	o, rec := l.perform(t, b, "e/defended")
	if o.Kind != eval.OK || !slices.Equal(rec.Ranking, []int{2, 1}) {
		t.Errorf("%s: %v", o.Kind, rec.Ranking)
	}
	var p payload
	if err := json.Unmarshal(l.requests[0].Payload, &p); err != nil {
		t.Fatal(err)
	}
	if p.Defence != attack.Defence() || p.K != 4 || p.Text != b.requests[0].Text || len(p.Candidates) != 10 || len(p.People) == 0 {
		t.Errorf("%+v", p)
	}
	friends, known := 0, 0
	for _, person := range p.People {
		friends += len(person.Friends)
	}
	for _, c := range p.Candidates {
		if len(c.Reviews) > 2 {
			t.Errorf("%s has %d reviews, the budget is 2", c.ID, len(c.Reviews))
		}
		for _, r := range c.Reviews {
			if slices.ContainsFunc(p.People, func(q *catalog.User) bool { return q.ID == r.UserID }) {
				known++
			}
		}
	}
	if friends == 0 || known == 0 {
		t.Errorf("%d friends, %d writers known: a request about friends could not be answered", friends, known)
	}
	if strings.Contains(string(l.requests[0].Payload), "structure") || strings.Contains(string(l.requests[0].Payload), b.requests[0].Shorthand) {
		t.Error("the request contains its structure")
	}
}

// TestOutcomes: refused, truncated and malformed answers give no prediction,
// each with its reason. Reviews removed by the budget are counted by candidate.
func TestOutcomes(t *testing.T) {
	b, err := starter(t, asking)
	if err != nil {
		t.Fatal(err)
	}
	for _, arm := range []string{"cot", "e"} {
		for _, c := range []struct {
			answer eval.Response
			kind   eval.OutcomeKind
			reason string
		}{
			{eval.Response{Text: "Ranking: 1, 3", Stop: eval.StopEnd}, eval.OK, ""},
			{eval.Response{Text: "Ranking: 1", Stop: eval.StopLength}, eval.Malformed, method.InvalidCutOff},
			{eval.Response{Text: "no", Refusal: "no", Stop: eval.StopRefused}, eval.Refused, method.InvalidRefused},
			{eval.Response{Text: "1, 3", Stop: eval.StopEnd}, eval.Malformed, method.InvalidNoRanking},
		} {
			o, rec := (&listener{answer: c.answer}).perform(t, b, arm)
			if o.Kind != c.kind || o.Reason != c.reason {
				t.Errorf("%s, %q (%s): %s %q, want %s %q", arm, c.answer.Text, c.answer.Stop, o.Kind, o.Reason, c.kind, c.reason)
			}
			if !slices.Contains(o.Notes, "reviews left out by the budget") || len(rec.Lost) != 10 {
				t.Errorf("%s: %q, %v", arm, o.Notes, rec.Lost)
			}
			sum := 0
			for i, id := range rec.Candidates {
				want := max(0, len(b.catalog.Item(id).Reviews)-2)
				if rec.Lost[i] != want {
					t.Errorf("%s lost %d reviews, want %d", id, rec.Lost[i], want)
				}
				sum += want
			}
			if rec.Coverage.Lost() != sum {
				t.Errorf("%d are lost in total, want %d", rec.Coverage.Lost(), sum)
			}
		}
	}
}

// TestFailedStep: a failed optional step is unknown, counted and not
// fatal.
func TestFailedStep(t *testing.T) {
	b, err := starter(t, asking)
	if err != nil {
		t.Fatal(err)
	}
	conditions := `{"reasoning":"","conditions":[{"id":"C1","kind":"REVIEW","text":"it is quiet","path":"","test":"","value":"","day":"","from":"","to":"","names":[],"hops":0}],"logic":"C1"}`
	optional, required := 0, 0
	asker := askerFunc(func(step string, r eval.Request) (eval.Response, error) {
		if r.Optional {
			optional++
			return eval.Response{}, &eval.NoAnswer{Kind: eval.ErrTimeout}
		}
		required++
		if step != "plan" {
			return eval.Response{Text: "Ranking: 1", Stop: eval.StopEnd}, nil
		}
		return eval.Response{Text: conditions, Stop: eval.StopEnd}, nil
	})
	o, err := b.Perform(t.Context(), eval.Trial{Item: b.Items()[0].ID, Arm: "anot", Replicate: 1}, asker)
	if err != nil {
		t.Fatal(err)
	}
	if o.Kind != eval.OK || !slices.Contains(o.Notes, "a step got no answer and counts as unknown") || optional == 0 || required == 0 {
		t.Errorf("%s %q %q after %d optional and %d other steps", o.Kind, o.Reason, o.Notes, optional, required)
	}
	fatal := askerFunc(func(string, eval.Request) (eval.Response, error) { return eval.Response{}, context.Canceled })
	if _, err := b.Perform(t.Context(), eval.Trial{Item: b.Items()[0].ID, Arm: "anot", Replicate: 1}, fatal); err == nil {
		t.Error("an error of the asker was taken for a step without an answer")
	}
}

type askerFunc func(step string, r eval.Request) (eval.Response, error)

func (f askerFunc) Ask(_ context.Context, step string, r eval.Request) (eval.Response, error) {
	return f(step, r)
}

// TestHiddenGold: if the budget removes the evidence for gold the trial has a
// note. With all reviews none has.
func TestHiddenGold(t *testing.T) {
	for budget, want := range map[string]bool{"review_budget: {chars: 1}\n": true, "": false} {
		b, err := starter(t, budget+"arms: [{name: bm25}]\n")
		if err != nil {
			t.Fatal(err)
		}
		hidden := 0
		for i := range b.Items() {
			if o, _ := perform(t, b, "bm25", i); slices.Contains(o.Notes, "review budget removed the evidence for gold") {
				hidden++
			}
		}
		if hidden > 0 != want || hidden == len(b.Items()) {
			t.Errorf("%q: of %d golds %d are hidden", budget, len(b.Items()), hidden)
		}
	}
}

// TestArmHashes: the hash of an arm covers what its id does not say.
func TestArmHashes(t *testing.T) {
	hash := func(text string) string {
		b, err := starter(t, text)
		if err != nil {
			t.Fatal(err)
		}
		if len(b.OwnArms) != 1 {
			t.Fatalf("%d arms", len(b.OwnArms))
		}
		return b.OwnArms[0].Hash
	}
	model := "models: [{id: m, provider: openai, name: x}]\n"
	seen := map[string]string{}
	for _, text := range []string{
		"arms: [{name: mine, builtin: random}]\n",
		"arms: [{name: mine, builtin: bm25}]\n",
		"arms: [{name: mine, builtin: bm25}]\ncandidates: {sizes: [20]}\n",
		"arms: [{name: mine, builtin: bm25}]\ncandidates: {shuffle: none}\n",
		"arms: [{name: mine, builtin: bm25}]\ncandidates: {k: 3}\n",
		"arms: [{name: mine, builtin: bm25}]\nreview_budget: {reviews: 3}\n",
		"arms: [{name: mine, builtin: bm25}]\nattacks: {strength: 2}\n",
		"arms: [{name: mine, builtin: bm25}]\nattacks: {reviews: 2}\n",
		"arms: [{name: mine, builtin: bm25}]\nexecution: {seed: 7}\n",
		model + "arms: [{name: mine, builtin: cot}]\n",
		model + "arms: [{name: mine, builtin: ps}]\n",
		model + "arms: [{name: mine, builtin: cot}]\nattacks: {defence: \"on\"}\n",
		strings.Replace(model, "name: x", "name: x, temperature: 1", 1) + "arms: [{name: mine, builtin: cot}]\n",
		"arms: [{name: mine, exec: cat}]\n",
		"arms: [{name: mine, exec: tac}]\n",
		"arms: [{name: mine, http: \"http://127.0.0.1:1/cat\"}]\n",
	} {
		h := hash(text)
		if other, ok := seen[h]; ok {
			t.Errorf("the same hash: a run would resume with the other's answers:\n%s\n%s", other, text)
		}
		seen[h] = text
	}
}

// TestScoresByPosition: Hits@1 by third of the list, and the share of reviews shown
// within the budget.
func TestScoresByPosition(t *testing.T) {
	var candidates []string
	for i := range 10 {
		candidates = append(candidates, string(rune('a'+i)))
	}
	want := []string{"first", "first", "first", "first", "middle", "middle", "middle", "last", "last", "last"}
	for i, id := range candidates {
		rec := record{Ranking: []int{i + 1}, Candidates: candidates}
		rec.Coverage.Reviews, rec.Coverage.Kept, rec.Coverage.Chars, rec.Coverage.KeptChars = 40, 10, 1000, 900
		data, err := json.Marshal(rec)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]eval.Score{}
		for _, s := range (&bench{hits: hitsAt(5)}).score(nil, eval.Outcome{Kind: eval.OK, Data: data}, &request.Request{Gold: id}) {
			got[s.Metric] = s
		}
		for _, third := range thirds {
			if s, scored := got[hitsIn(third)]; scored != (third == want[i]) || scored && s.Num != 1 {
				t.Errorf("gold at %d of 10 counts in the %s third: %v", i+1, third, scored)
			}
		}
		if s := got["reviews_shown"]; s.Num != 10 || s.Den != 40 {
			t.Errorf("10 of 40 reviews are shown, but the score is %v/%v", s.Num, s.Den)
		}
	}
}

// TestBalancedByFile: gold goes through all positions over the requests of a file, those that are
// added after them change nothing, and one that another precedes is asked again.
func TestBalancedByFile(t *testing.T) {
	asked := func(change func(lines []string)) (gold map[string]int, basis map[string]eval.Hash) {
		b, err := open(opened(t, "arms: [{name: bm25}]\n", change))
		if err != nil {
			t.Fatal(err)
		}
		gold, basis = map[string]int{}, map[string]eval.Hash{}
		for i := range b.requests {
			r := &b.requests[i]
			gold[r.ID] = slices.Index(b.shown(r, b.Arm("bm25")), r.Gold)
			basis[r.ID] = b.Basis(eval.Trial{Item: r.ID, Arm: "bm25", Replicate: 1}).Asked
		}
		return gold, basis
	}
	gold, basis := asked(nil)
	counts := map[int]int{}
	for _, at := range gold {
		counts[at]++
	}
	for at := range 10 {
		if n := counts[at]; n < len(gold)/10 || n > len(gold)/10+1 {
			t.Errorf("gold of %d of %d requests is at position %d", n, len(gold), at)
		}
	}
	_, swapped := asked(func(of []string) { of[0], of[1] = of[1], of[0] })
	changed := 0
	for id, was := range basis {
		if swapped[id] != was {
			changed++
		}
	}
	if changed != 2 {
		t.Errorf("two requests change places, %d are to be asked again", changed)
	}
	few, fewBasis := asked(func(of []string) {
		for i := range of[len(of)/2:] {
			of[len(of)/2+i] = ""
		}
	})
	if len(few) >= len(gold) {
		t.Fatalf("%d requests of %d", len(few), len(gold))
	}
	for id, at := range few {
		if gold[id] != at || basis[id] != fewBasis[id] {
			t.Errorf("request %s: requests after it move gold from %d to %d", id, at, gold[id])
		}
	}
}

// TestAttackOptions: strength, number of reviews and seed reach the attack.
func TestAttackOptions(t *testing.T) {
	changed := func(options string) (texts string, reviews int) {
		b, err := starter(t, "arms: [{name: bm25}]\n"+options)
		if err != nil {
			t.Fatal(err)
		}
		task, _ := b.scene(&b.requests[0], b.Arm("bm25/typo_10"))
		clean, _ := b.scene(&b.requests[0], b.Arm("bm25"))
		for i := range task.Candidates {
			for k := range task.Candidates[i].Reviews {
				text := task.Candidates[i].Reviews[k].Text
				texts += text
				if text != clean.Candidates[i].Reviews[k].Text {
					reviews++
				}
			}
		}
		return texts, reviews
	}
	plain, all := changed("attacks: {names: [typo_10]}\n")
	strong, _ := changed("attacks: {names: [typo_10], strength: 5}\n")
	_, one := changed("attacks: {names: [typo_10], reviews: 1}\n")
	other, _ := changed("attacks: {names: [typo_10]}\nexecution: {seed: 7}\ncandidates: {shuffle: none}\n")
	if plain == strong || plain == other || one == 0 || one > 9 || all <= one {
		t.Errorf("%d reviews change, %d where 1 an item is to; strength matters: %v, the seed: %v", all, one, plain != strong, plain != other)
	}
}

// TestAttacksKeepTheBudget: reviews added by an attack replace the item's own.
func TestAttacksKeepTheBudget(t *testing.T) {
	b, err := starter(t, "review_budget: {reviews: 3}\narms: [{name: bm25}]\nattacks: {names: [fake_positive, sarcastic_noise]}\n")
	if err != nil {
		t.Fatal(err)
	}
	added := 0
	for i := range b.requests {
		clean, _ := b.scene(&b.requests[i], b.Arm("bm25"))
		task, rec := b.scene(&b.requests[i], b.Arm("bm25/fake_positive"))
		for k, c := range task.Candidates {
			if len(c.Reviews) > 3 {
				t.Fatalf("%s: candidate %d shows %d reviews, the budget is 3", b.requests[i].ID, k+1, len(c.Reviews))
			}
			if reviews(c.Reviews) != reviews(clean.Candidates[k].Reviews) {
				added++
			}
		}
		if k := rec.Gold - 1; reviews(task.Candidates[k].Reviews) != reviews(clean.Candidates[k].Reviews) {
			t.Fatalf("%s: the reviews shown of gold change", b.requests[i].ID)
		}
	}
	if added < 5*len(b.requests) {
		t.Errorf("of %d candidates %d show an added review", 10*len(b.requests), added)
	}
	applied := 0.0
	for i := range b.Items() {
		o, s := perform(t, b, "bm25/sarcastic_noise", i)
		if idle := slices.Contains(o.Notes, "the attack changed nothing"); idle == (s[metricApplied] == 1) {
			t.Errorf("%s: the note says that it was idle: %v, the metric %v", b.Items()[i].ID, idle, s[metricApplied])
		}
		applied += s[metricApplied]
	}
	t.Logf("sarcastic_noise changes something in %v of %d requests", applied, len(b.Items()))
}

// A query that the clock stopped says nothing about the method: the trial fails,
// is counted, and can be retried.
func TestAQueryThatTheClockStoppedFailsTheTrial(t *testing.T) {
	b, err := starter(t, asking)
	if err != nil {
		t.Fatal(err)
	}
	b.Arm("weaver").method.Rank = func(context.Context, method.Task, method.Asker) (method.Result, error) {
		return method.Result{Invalid: method.InvalidTime, Detail: "2m0s"}, nil
	}
	if o, _ := (&listener{}).perform(t, b, "weaver"); o.Kind != eval.Failed || o.Reason != method.InvalidTime || o.Detail != "2m0s" {
		t.Errorf("the outcome is %+v", o)
	}
}

// What the reader decided is in the notes of the outcome, which reports count, for
// models and pipelines alike.
func TestDecisionsOfTheReaderAreNoted(t *testing.T) {
	b, err := starter(t, asking)
	if err != nil {
		t.Fatal(err)
	}
	l := &listener{answer: eval.Response{Text: "Ranking: #2; #2; #99; #1", Stop: eval.StopEnd}}
	for _, arm := range []string{"cot", "e"} {
		o, rec := l.perform(t, b, arm)
		if o.Kind != eval.OK || !slices.Equal(rec.Ranking, []int{2, 1}) || !slices.Equal(o.Notes[:min(3, len(o.Notes))], []string{method.NoteDuplicate, method.NoteForeign, method.NoteFormat}) {
			t.Errorf("%s: %s, ranking %v, notes %q", arm, o.Kind, rec.Ranking, o.Notes)
		}
	}
}
