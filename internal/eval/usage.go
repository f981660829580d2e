package eval

import "strings"

// ArmCalls sums the calls of an arm in one stage.
type ArmCalls struct {
	Arm       string
	Stage     Stage
	Calls     int
	Retried   int // requests beyond the first of each call
	Input     int
	Output    int
	Cached    int
	Reasoning int
	CostUSD   float64
	Unpriced  int // answered calls with unknown cost
	Estimated int // answered calls whose usage is estimated
	Uncounted int // answered calls that do not say how many tokens they took
	OddEnds   int // answered calls whose answers ended for an unknown reason
	// Reused counts the calls whose answers were taken from other calls. Their
	// tokens and cost, ReusedUSD, are in the sums but were not paid again.
	Reused    int
	ReusedUSD float64
}

// Add adds other calls of the same arm and stage.
func (a *ArmCalls) Add(b ArmCalls) {
	a.Calls += b.Calls
	a.Retried += b.Retried
	a.Input += b.Input
	a.Output += b.Output
	a.Cached += b.Cached
	a.Reasoning += b.Reasoning
	a.CostUSD += b.CostUSD
	a.Unpriced += b.Unpriced
	a.Estimated += b.Estimated
	a.Uncounted += b.Uncounted
	a.OddEnds += b.OddEnds
	a.Reused += b.Reused
	a.ReusedUSD += b.ReusedUSD
}

// A Reuse counts the answers that a run took from one run.
type Reuse struct {
	Run     string  `json:"run"` // the run itself: answers shared, or kept from trials that left its plan
	Answers int     `json:"answers"`
	CostUSD float64 `json:"cost_usd"` // not paid again, of the answers with a known cost
	// Unpriced are the answers of unknown cost.
	Unpriced int `json:"unpriced_calls,omitempty"`
	// Planned are the answers of arms that take those of a run, as the study says.
	Planned int `json:"planned,omitempty"`
}

// Spent is the usage of a run, of trials included that left its plan. Requests in flight, or
// interrupted by a crash, count as estimated.
type Spent struct {
	Calls     int // requests sent, retries included
	Tokens    int
	Cost      float64 // US dollars, of the calls with a known cost
	Unpriced  int     // requests of unknown cost that were answered or may be paid
	Uncounted int     // answered calls that do not say how many tokens they took
}

// Lost are requests without an answer that may be paid, with what they are estimated to take, or say
// that they took.
type Lost struct {
	Requests int     `json:"requests"`
	Tokens   int     `json:"tokens"`
	CostUSD  float64 `json:"cost_usd"` // of those with a price
	Unpriced int     `json:"unpriced,omitempty"`
}

// An ArmLatency is the median and the 95th percentile, by nearest rank, of the
// latency of an arm's answered calls in milliseconds, without judge calls.
type ArmLatency struct {
	Arm         string
	Median, P95 float64
}

// An ArmVersion counts the calls of an arm answered by one model version.
type ArmVersion struct {
	Arm, Version string
	Calls        int
}

// A Price is what tokens of one model cost.
type Price struct {
	Model string `json:"model"` // its id in the study, its provider and its name
	Price string `json:"price"` // for a million tokens
}

// String is the price as a line of [Call.Prices].
func (p Price) String() string { return p.Model + "\t" + p.Price }

// PricesOf are the prices that the lines say.
func PricesOf(lines string) (list []Price) {
	for line := range strings.Lines(lines) {
		model, price, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		list = append(list, Price{model, price})
	}
	return list
}

// An ArmPrice counts the calls of an arm at one price.
type ArmPrice struct {
	Arm string
	Price
	Calls int
}

// SimulatedVersion begins the model version of every simulated answer, whatever
// arm gives it: answers may be taken from another run.
const SimulatedVersion = "simulated-"
