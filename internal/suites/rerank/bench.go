package rerank

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model/simulated"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/suites/rerank/attack"
	"github.com/scruple-eval/scruple/internal/suites/rerank/candidates"
	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
	"github.com/scruple-eval/scruple/internal/suites/rerank/evidence"
	"github.com/scruple-eval/scruple/internal/suites/rerank/method"
	"github.com/scruple-eval/scruple/internal/suites/rerank/request"
)

// A bench is the suite bound to one study. It is safe for
// concurrent use.
type bench struct {
	kit.Base[*request.Request, *arm]
	study *Study
	seed  uint64
	k     int
	hits  []int // cut-offs of Hits@K
	sizes []int

	*studyData
	evaluator *evidence.Evaluator
	cards     method.Cards
	itemBytes int // of an item in a prompt, on average
	arranger  candidates.Arranger
	drawn     sync.Map // drawn → []string: candidates in their order
	itemIDs   []string
	statuses  map[string]int // number of requests by validation status
	rivals    int            // number of rivals that may satisfy a request
	several   bool           // some request has several right items
}

// Capabilities are what the suite has of them.
func (b *bench) Capabilities() eval.Capabilities {
	return eval.Capabilities{Warnings: b.Warnings, Facts: b.Facts, Weight: b.Weight, Contrasts: b.Contrasts, OtherQuestion: b.otherCandidates, Report: b.Report, Offered: b.moreHits}
}

// A record is the stored data of a trial: ranking, order of candidates and
// trace. Positions count from 1.
type record struct {
	Ranking    []int               `json:"ranking"`
	Candidates []string            `json:"candidates"`
	Gold       int                 `json:"gold_position"` // of gold at the time of the trial; see placeOf
	Detail     string              `json:"detail,omitempty"`
	Coverage   candidates.Coverage `json:"coverage"`
	Lost       []int               `json:"lost_reviews,omitempty"` // by candidate: number removed by the budget
	Unproved   []int               `json:"unproved,omitempty"`     // positions of candidates that only reviews removed by the budget make right or rule out
	Attack     string              `json:"attack,omitempty"`
	Changed    int                 `json:"attacked_candidates,omitempty"` // candidates whose reviews the attack changed
	Refused    []int               `json:"refused_attacks,omitempty"`     // positions of candidates left unattacked: the change would have made them right or wrong
	Promoted   int                 `json:"promoted,omitempty"`            // position of the candidate that the injection promotes
	Namesakes  []int               `json:"namesakes,omitempty"`           // positions of the others with its name, by which the injection speaks for it
	Trace      []method.Event      `json:"trace,omitempty"`
	Parallel   [][]string          `json:"parallel,omitempty"` // groups of steps that ran in parallel
}

// untouched reports that an attack changed nothing: the trial asks nothing, since
// its prompts are those of the clean arm.
func (r *record) untouched() bool { return r.Attack != "" && r.Changed == 0 }

// Basis returns what a trial depends on beside the text of the request and the data: the
// right items, which are among the candidates and fix their order, as the rank of the request
// does if gold is balanced; and the truth of the request where requests or outcomes depend on it.
func (b *bench) Basis(t eval.Trial) (on eval.Basis) {
	r, a, err := b.Of(t)
	if err != nil {
		return on
	}
	on.Read = b.Item(t.Item).Gold
	if on.Asked = on.Read; !a.knowsTruth() && a.attack == nil {
		on.Asked = hashed(append([]string{r.Gold}, r.IDs()...)...)
	}
	if b.arranger.Shuffle == candidates.Balanced {
		on.Asked = hashed(on.Asked.String(), strconv.Itoa(r.Rank))
	}
	return on
}

// A drawn is a request with a number of candidates.
type drawn struct {
	request *request.Request
	size    int
}

// shown lists the candidates of a request in the order shown to an arm. They are drawn by
// the text of the request: its id may change.
func (b *bench) shown(r *request.Request, a *arm) []string {
	if kept, ok := b.drawn.Load(drawn{r, a.size}); ok {
		return kept.([]string)
	}
	list := b.arranger.Arrange(r.Text, r.Rank, r.Gold, candidates.Draw(b.seed, r.Text, r.IDs(), b.itemIDs, a.size))
	b.drawn.Store(drawn{r, a.size}, list)
	return list
}

func (b *bench) within(item *catalog.Item) ([]catalog.Review, candidates.Coverage) {
	return b.study.Budget.Apply(item.Reviews)
}

// shows reports whether the item satisfies a request according to these reviews.
func (b *bench) shows(item *catalog.Item, reviews []catalog.Review, r *request.Request) bool {
	seen := *item
	seen.Reviews = reviews
	return b.evaluator.Evaluate(r.Structure, &seen) == evidence.True
}

// scene makes the task of a trial and begins its record.
func (b *bench) scene(r *request.Request, a *arm) (method.Task, record) {
	rec := record{Candidates: b.shown(r, a)}
	t := method.Task{ID: r.ID, Text: r.Text, K: b.k, Seed: b.seed, Graph: b.catalog.Graph, Structure: r.Structure, Several: b.several, Evaluator: b.evaluator, Cards: &b.cards}
	if a.defended {
		t.Defence = attack.Defence()
	}
	for i, id := range rec.Candidates {
		item := b.catalog.Item(id)
		reviews, c := b.within(item)
		t.Candidates = append(t.Candidates, method.Candidate{Item: item, Reviews: reviews, Grade: r.Grade(id)})
		rec.Coverage = rec.Coverage.Add(c)
		if id == r.Gold {
			rec.Gold = i + 1
		}
		if c.Lost() == 0 {
			continue
		}
		if rec.Lost == nil {
			rec.Lost = make([]int, len(rec.Candidates))
		}
		rec.Lost[i] = c.Lost()
		if b.shows(item, reviews, r) != r.IsRight(id) {
			rec.Unproved = append(rec.Unproved, i+1)
		}
	}
	if a.attack != nil {
		b.attacked(r, a.attack, &t, &rec)
	}
	return t, rec
}

// attacked attacks the reviews of a task, within the budget, and completes the record. A
// change that makes a rival satisfy the request, or a right candidate fail it, is refused:
// the candidate keeps its reviews.
func (b *bench) attacked(r *request.Request, a *attack.Attack, t *method.Task, rec *record) {
	var items []*catalog.Item
	var reviews [][]catalog.Review
	for _, c := range t.Candidates {
		items, reviews = append(items, c.Item), append(reviews, c.Reviews)
	}
	attacked, report := attack.Plan{Attack: a, Options: b.study.Attacks.Options, Seed: b.seed, Request: r.Text, Right: r.IsRight}.Run(items, reviews)
	rec.Attack, rec.Promoted = a.Name, report.Promoted+1
	for _, i := range report.Namesakes {
		rec.Namesakes = append(rec.Namesakes, i+1)
	}
	read := slices.ContainsFunc(r.Structure.Leaves(), func(n *request.Node) bool { return n.Evidence.AboutReviews() })
	for i, item := range items {
		if !report.Changes[i].Any() {
			continue
		}
		after, less, changed := b.study.Budget.Fit(attacked[i], reviews[i], report.Changes[i].From)
		right := r.IsRight(item.ID)
		switch {
		case !changed:
		case read && b.shows(item, after, r) != right && b.shows(item, reviews[i], r) == right:
			rec.Refused = append(rec.Refused, i+1)
		default:
			t.Candidates[i].Reviews = after
			rec.Changed++
			if rec.Coverage = rec.Coverage.Add(less); less.Kept < 0 && rec.Lost == nil {
				rec.Lost = make([]int, len(items))
			}
			if rec.Lost != nil {
				rec.Lost[i] -= less.Kept
			}
		}
	}
}

// Perform ranks the candidates of a request.
func (b *bench) Perform(ctx context.Context, t eval.Trial, ask eval.Asker) (eval.Outcome, error) {
	r, a, err := b.Of(t)
	if err != nil {
		return eval.Outcome{}, fmt.Errorf("rerank: %w", err)
	}
	task, rec := b.scene(r, a)
	var result method.Result
	var failed atomic.Int64
	if rec.untouched() {
		// The clean arm's answer is this one's.
	} else if a.Pipeline != nil {
		result, err = b.askPipeline(ctx, a, r, task, ask)
	} else {
		result, err = a.method.Rank(ctx, task, b.asker(a, r, ask, &failed))
	}
	if err != nil {
		return eval.Outcome{}, err
	}
	rec.Ranking, rec.Detail, rec.Trace, rec.Parallel = result.Ranking, result.Detail, result.Trace, result.Parallel
	o := eval.Outcome{Kind: eval.Malformed, Data: kit.JSON(rec), Reason: result.Invalid, Detail: result.Detail, Notes: slices.Clone(result.Notes)}
	switch result.Invalid {
	case "":
		o.Kind, o.Detail = eval.OK, ""
	case method.InvalidRefused:
		o.Kind = eval.Refused
	case method.InvalidTime:
		// The machine stopped the query, not the method: another one may finish it.
		// Keeping what each query returned in the journal would make trials
		// reproducible too, but blame the method for a slow machine.
		o.Kind = eval.Failed
	}
	unproved := func(right bool) bool {
		return slices.ContainsFunc(rec.Unproved, func(i int) bool { return r.IsRight(rec.Candidates[i-1]) == right })
	}
	for _, note := range []struct {
		text string
		is   bool
	}{
		{eval.NoteTruncated, result.Invalid == method.InvalidCutOff},
		{"a step got no answer and counts as unknown", failed.Load() > 0},
		{"reviews left out by the budget", rec.Coverage.Lost() > 0},
		{"review budget removed the evidence for gold", unproved(true)},
		{"review budget removed the evidence against another candidate", unproved(false)},
		{"the attack changed nothing", rec.untouched()},
		{"an attack that would have changed the truth of a candidate was refused", len(rec.Refused) > 0},
	} {
		if note.is {
			o.Notes = append(o.Notes, note.text)
		}
	}
	return o, nil
}

// Weight estimates what a trial holds: prompts that show all candidates, and with
// weaver also a database of them.
func (b *bench) Weight(t eval.Trial) int {
	a := b.Arm(t.Arm)
	if a == nil {
		return 0
	}
	shown := a.size * b.itemBytes
	if a.method != nil && a.method.Name == "weaver" {
		return 8 * shown
	}
	return 3 * shown
}

// asker turns a method's prompts into requests to the arm's model and counts the
// optional steps that failed.
func (b *bench) asker(a *arm, r *request.Request, ask eval.Asker, failed *atomic.Int64) method.Asker {
	return func(ctx context.Context, step string, p method.Prompt) (method.Answer, error) {
		q := kit.RequestTo(a.Settings)
		q.Item, q.System, q.Messages = r.ID, p.System, p.Messages
		if p.Schema != nil {
			kit.Structure(&q, a.Settings, *p.Schema, eval.Tool{Name: "answer", Description: "Gives the answer."})
		}
		if a.Simulated {
			q.Payload = sheet(p)
		}
		q.Optional, q.Foreseen = p.Optional, func() string { return p.Simulated(method.Rightly) }
		response, err := ask.Ask(ctx, step, q)
		if none, ok := errors.AsType[*eval.NoAnswer](err); ok {
			failed.Add(1)
			return method.Answer{Failed: none.Error()}, nil
		}
		if err != nil {
			return method.Answer{}, err
		}
		return method.Answer{Text: response.Answer(q.Force), Stop: response.Stop}, nil
	}
}

// sheet gives a simulated model the right answer of a step and a wrong one.
func sheet(p method.Prompt) json.RawMessage {
	part := simulated.Part{Right: p.Simulated(method.Rightly), Alternatives: map[string]string{simulated.Wrong: p.Simulated(method.Wrongly)}}
	return simulated.Encode(simulated.Sheet{Parts: []simulated.Part{part}, Malformed: "I would rather not put these in an order."})
}

// A payload is the JSON request to an external pipeline.
type payload struct {
	RequestID  string             `json:"request_id"`
	Text       string             `json:"text"`
	K          int                `json:"k"`
	Defence    string             `json:"defence,omitempty"` // how to treat reviews, for defended arms
	Several    bool               `json:"several,omitempty"` // more than one candidate may satisfy a request of this study
	Candidates []payloadCandidate `json:"candidates"`        // positions in this order, from 1, are the answer
	// People are the writers of these reviews, their friends, and the friends'
	// friends.
	People []*catalog.User `json:"people,omitempty"`
}

type payloadCandidate struct {
	ID         string            `json:"id"`
	Name       string            `json:"name"`
	Categories []string          `json:"categories,omitempty"`
	Attributes map[string]any    `json:"attributes,omitempty"`
	Hours      map[string]string `json:"hours,omitempty"`
	Fields     map[string]any    `json:"fields,omitempty"`
	Reviews    []catalog.Review  `json:"reviews"`
}

func (b *bench) askPipeline(ctx context.Context, a *arm, r *request.Request, t method.Task, ask eval.Asker) (method.Result, error) {
	q, err := a.RequestOutside(r.ID, func() any {
		p := payload{RequestID: r.ID, Text: r.Text, K: t.K, Defence: t.Defence, Several: t.Several, People: b.people(t)}
		for _, c := range t.Candidates {
			p.Candidates = append(p.Candidates, shown(c))
		}
		return p
	})
	if err != nil {
		return method.Result{}, err
	}
	response, err := ask.Ask(ctx, "rank", q)
	if err != nil {
		return method.Result{}, err
	}
	said := response.Answer(q.Force)
	if response.Stop == eval.StopRefused {
		said = response.Refusal
	}
	var ranking method.Ranking
	f := method.FaultOf(response.Stop, said)
	if f == nil {
		ranking, err = method.ReadRanking(said, len(t.Candidates))
		f, _ = errors.AsType[*method.Fault](err)
	}
	if f != nil {
		return method.Result{Invalid: f.Reason, Detail: f.Detail}, nil
	}
	return method.Result{Ranking: ranking.Places, Notes: ranking.Notes}, err
}

// people lists everyone within two friendships of the writers, sorted by id: a
// request can concern reviews by friends and by their friends.
func (b *bench) people(t method.Task) (list []*catalog.User) {
	near := map[string]bool{}
	for _, c := range t.Candidates {
		for _, r := range c.Reviews {
			near[r.UserID] = true
		}
	}
	b.catalog.Graph.Around(near, 2)
	for _, id := range slices.Sorted(maps.Keys(near)) {
		if u := b.catalog.Users[id]; u != nil {
			list = append(list, u)
		}
	}
	return list
}

func shown(c method.Candidate) payloadCandidate {
	p := payloadCandidate{ID: c.Item.ID, Name: c.Item.Name, Categories: c.Item.Categories, Attributes: c.Item.Attributes, Fields: c.Item.Fields, Reviews: append([]catalog.Review{}, c.Reviews...)}
	for d, day := range catalog.Weekdays {
		if c.Item.Hours.Known[d] {
			if p.Hours == nil {
				p.Hours = map[string]string{}
			}
			p.Hours[day] = c.Item.Hours.On(d)
		}
	}
	return p
}

// otherCandidates reports whether the positions in a ranking are not those of the candidates of a trial.
func (b *bench) otherCandidates(t eval.Trial, o eval.Outcome) bool {
	r, a, err := b.Of(t)
	rec, ok := read(&o)
	return err == nil && ok && !slices.Equal(rec.Candidates, b.shown(r, a))
}

// read decodes the record of a trial, if there is one. Only an answer that counts has a ranking,
// of its candidates.
func read(o *eval.Outcome) (record, bool) {
	var rec record
	if len(o.Data) == 0 || json.Unmarshal(o.Data, &rec) != nil {
		return record{}, false
	}
	if o.Kind != eval.OK || slices.ContainsFunc(rec.Ranking, func(place int) bool { return place < 1 || place > len(rec.Candidates) }) {
		rec.Ranking = nil
	}
	return rec, true
}

// recordOf is the record of a trial; of a failed one the candidates that it was to rank.
func (b *bench) recordOf(r *request.Request, a *arm, o *eval.Outcome) record {
	rec, ok := read(o)
	if !ok {
		rec = record{Candidates: b.shown(r, a)}
	}
	return rec
}

// ranked lists the candidates in their ranking, best first.
func (r *record) ranked() (ids []string) {
	for _, place := range r.Ranking {
		ids = append(ids, r.Candidates[place-1])
	}
	return ids
}

// placeOf is the position of an item among the candidates, or 0. Use it for
// gold, which may have changed since the trial.
func (r *record) placeOf(item string) int { return slices.Index(r.Candidates, item) + 1 }
