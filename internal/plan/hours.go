package plan

import (
	"maps"
	"time"

	"github.com/scruple-eval/scruple/internal/eval"
)

// A Party is a model that is asked in a stage.
type Party struct {
	Model string // its id in the study
	Stage eval.Stage
}

// A Load is what a party is asked. That of a program is its calls: only its answers say more.
type Load struct {
	Calls, Input, Output float64
	Assumed              float64 // of Output: no limit is set
	// Picodollars of an unknown price are NaN. Those of a sample are whole, so that the order of
	// parallel steps does not matter.
	Picodollars float64
}

// Plus adds a load several times.
func (l Load) Plus(m Load, times float64) Load {
	return Load{l.Calls + times*m.Calls, l.Input + times*m.Input, l.Output + times*m.Output, l.Assumed + times*m.Assumed,
		l.Picodollars + times*m.Picodollars}
}

// costUSD is what it costs.
func (l Load) costUSD() float64 { return l.Picodollars / 1e12 }

// Loads are those of all parties.
type Loads map[Party]Load

func (l Loads) plus(m Loads, times float64) Loads {
	sum := maps.Clone(l)
	if sum == nil {
		sum = Loads{}
	}
	for p, x := range m {
		sum[p] = sum[p].Plus(x, times)
	}
	return sum
}

// of is the load of a stage.
func (l Loads) of(stage eval.Stage) (sum Load) {
	for p, x := range l {
		if p.Stage == stage {
			sum = sum.Plus(x, 1)
		}
	}
	return sum
}

// A Limit is how fast a model may be asked, and how fast it answers.
type Limit struct {
	Concurrency       int // 0 is that of the run
	RequestsPerMinute float64
	TokensPerMinute   float64
	Latency           time.Duration
}

// Duration is how long calls take, with most calls in flight in all: the judge begins when the
// run has ended, and the models of a stage are asked side by side.
func (l Loads) Duration(most int, limits map[string]Limit) (all time.Duration) {
	for _, stage := range []eval.Stage{eval.StageRun, eval.StageJudge} {
		var inFlight, slowest float64 // seconds
		for p, x := range l {
			if p.Stage != stage {
				continue
			}
			limit := limits[p.Model]
			seconds := x.Calls * limit.Latency.Seconds()
			inFlight += seconds
			own := most
			if limit.Concurrency > 0 {
				own = min(own, limit.Concurrency)
			}
			slowest = max(slowest, seconds/float64(max(1, own)))
			if limit.RequestsPerMinute > 0 {
				slowest = max(slowest, 60*x.Calls/limit.RequestsPerMinute)
			}
			if limit.TokensPerMinute > 0 {
				slowest = max(slowest, 60*(x.Input+x.Output)/limit.TokensPerMinute)
			}
		}
		all += time.Duration(max(slowest, inFlight/float64(max(1, most))) * float64(time.Second))
	}
	return all
}
