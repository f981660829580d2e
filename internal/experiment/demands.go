package experiment

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/plan"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/study"
)

// Demands are the time and the room that what is not yet answered of a plan takes.
type Demands struct {
	Trials   int     `json:"trials"`
	Calls    int     `json:"calls"`
	Hours    float64 `json:"hours"`
	InFlight int     `json:"concurrency"`
	Bytes    int64   `json:"store_bytes"` // that the store grows by
	Answers  []Pace  `json:"answers"`     // of each model, what is known or assumed
}

// A Pace is how a model or program answers. What no call in the store tells is assumed.
type Pace struct {
	Model   string  `json:"model"`
	Seconds float64 `json:"seconds"` // of a call
	Bytes   float64 `json:"bytes"`   // of an answer
	Known   int     `json:"known_from_calls"`
}

const (
	// assumedLatency is that of a model whose calls the store does not have.
	assumedLatency = 5 * time.Second
	// bytesOfToken is the length of English text, of which models write most.
	bytesOfToken = 4.0
)

// Demands says what the plan takes, of what the store at a path does not have. db may be nil.
func (x *Experiment) Demands(ctx context.Context, db *store.DB, path string, e *Estimate) (*Demands, error) {
	var recent map[string]store.Recent
	derived := 0.0
	if db != nil {
		var errRecent, err error
		recent, errRecent = db.Recent(ctx)
		if derived, err = db.Derived(ctx); err != nil || errRecent != nil {
			return nil, cmp.Or(errRecent, err)
		}
	}
	d := &Demands{InFlight: x.Study.Execution.Concurrency, Answers: []Pace{}, Trials: e.Trials, Calls: e.Calls}
	loads := e.loads
	if s := e.Standing; s != nil {
		d.Trials, d.Calls, loads = s.New, s.Calls, s.loads
	}
	limits := map[string]plan.Limit{}
	bytes, calls := 0.0, 0.0
	asked := slices.Clone(x.Study.Models)
	for _, p := range x.Bench.Pipelines() {
		if p.Asked() {
			asked = append(asked, study.Model{ID: p.Model, Name: strings.TrimPrefix(p.Model, eval.PipelinePrefix)})
		}
	}
	for _, m := range asked {
		kept, known := recent[cmp.Or(m.Name, m.ID)]
		p := Pace{Model: strings.TrimPrefix(strings.TrimPrefix(m.ID, eval.PipelinePrefix), ":"), Seconds: assumedLatency.Seconds(), Known: kept.Calls}
		switch {
		case known:
			p.Seconds, p.Bytes = kept.LatencyMS/1000, kept.Bytes
		case m.Provider == "simulated", m.Provider == "recorded":
			p.Seconds = 0
		}
		limits[m.ID] = plan.Limit{Concurrency: m.Limits.Concurrency, RequestsPerMinute: m.Limits.RequestsPerMinute, TokensPerMinute: m.Limits.TokensPerMinute,
			Latency: time.Duration(p.Seconds * float64(time.Second))}
		of := plan.Load{}
		for party, load := range e.loads {
			if party.Model == m.ID {
				of = of.Plus(load, 1)
			}
		}
		if of.Calls == 0 {
			continue
		}
		if p.Known == 0 {
			p.Bytes = bytesOfToken * cmp.Or(of.Output/of.Calls, plan.AssumedOutput)
		}
		d.Answers = append(d.Answers, p)
		bytes, calls = bytes+of.Calls*p.Bytes, calls+of.Calls
	}
	d.Hours = loads.Duration(d.InFlight, limits).Hours()
	d.Bytes = store.BytesOf(path, d.Trials, d.Calls, derived, bytes/max(1, calls))
	return d, nil
}
