package experiment

import (
	"context"
	"errors"
	"math"
	"sync"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/store"
)

// A Standing says what of a study's plan a store has.
type Standing struct {
	Run   string `json:"run"`   // newest run of the study, "" if there is none
	Done  int    `json:"done"`  // trials with an outcome in it
	New   int    `json:"new"`   // the others
	Calls int    `json:"calls"` // expected of new trials
	// Known estimates how many of these calls have an answer in the store, from a sample.
	Known   int      `json:"known_calls"`
	CostUSD *float64 `json:"max_cost_usd"` // of the others; null if a price is missing
}

// sampledForStanding is the number of new trials of an arm whose requests are looked
// up.
const sampledForStanding = 40

// Standing looks up what of the plan is in a store. Answers of the models for which
// reusable is true may be taken from other runs.
func (x *Experiment) Standing(ctx context.Context, db *store.DB, e *Estimate, reusable func(model string) bool) (*Standing, error) {
	s := &Standing{}
	done := make([]bool, x.Plan.Len())
	last, err := db.LastRun(ctx, x.Study.Name, x.Study.Split)
	switch {
	case errors.Is(err, store.ErrNotFound):
	case err != nil:
		return nil, err
	default:
		s.Run = last.ID
		items, err := db.Items(ctx, last)
		if err != nil {
			return nil, err
		}
		if err := x.bind(ctx, db); err != nil {
			return nil, err
		}
		moved, err := x.moved(ctx, db, last)
		if err != nil {
			return nil, err
		}
		if done, err = db.Answered(ctx, last, x.Plan, x.ArmIDs(), moved, x.unchanged(last, items)); err != nil {
			return nil, err
		}
	}
	pending := map[string][]eval.Trial{}
	for seq, is := range done {
		if is {
			s.Done++
			continue
		}
		t := x.Plan.Trial(seq)
		pending[t.Arm] = append(pending[t.Arm], t)
	}
	s.New = len(done) - s.Done
	cost := 0.0
	for _, arm := range e.PerArm {
		trials := pending[arm.Arm]
		if len(trials) == 0 || arm.Trials == 0 {
			continue
		}
		share := float64(len(trials)) / float64(arm.Trials)
		calls := share * float64(arm.Calls)
		known, err := x.knownShare(ctx, db, trials, reusable)
		if err != nil {
			return nil, err
		}
		s.Calls += int(math.Round(calls))
		s.Known += int(math.Round(calls * known))
		if arm.CostUSD == nil {
			cost = math.NaN()
		} else {
			cost += *arm.CostUSD * share * (1 - known)
		}
	}
	if !math.IsNaN(cost) {
		s.CostUSD = &cost
	}
	return s, nil
}

// knownShare is the share of the calls of trials whose answers are in the store, from
// trials at even distances.
func (x *Experiment) knownShare(ctx context.Context, db *store.DB, trials []eval.Trial, reusable func(model string) bool) (float64, error) {
	look := &looker{db: db, reusable: reusable}
	n := min(sampledForStanding, len(trials))
	for k := range n {
		look.trial = trials[k*len(trials)/n]
		if _, err := x.Bench.Perform(ctx, look.trial, look); err != nil {
			return 0, err
		}
	}
	if look.calls == 0 {
		return 0, nil
	}
	return float64(look.known) / float64(look.calls), nil
}

// A looker answers the requests of a trial from the store, else as predicted.
type looker struct {
	db       *store.DB
	reusable func(model string) bool
	trial    eval.Trial

	mu           sync.Mutex
	calls, known int
}

func (l *looker) Ask(ctx context.Context, step string, r eval.Request) (eval.Response, error) {
	r.Replicate = l.trial.Replicate
	var found bool
	var response eval.Response
	if l.reusable(r.Model) {
		var err error
		if response, found, err = l.db.Answer(ctx, r.Key(), eval.StageRun, step); err != nil {
			return response, err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls++
	if found {
		l.known++
		return response, nil
	}
	if r.Foreseen != nil {
		return eval.Response{Text: r.Foreseen(), Stop: eval.StopEnd}, nil
	}
	return eval.Response{}, nil
}
