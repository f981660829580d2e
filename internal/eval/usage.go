package eval

// ArmCalls sums the calls of an arm in one stage.
type ArmCalls struct {
	Arm       string
	Stage     Stage
	Calls     int
	Requests  int // attempts, retries included
	Input     int
	Output    int
	Cached    int
	Reasoning int
	CostUSD   float64
	Unpriced  int // answered calls whose cost is not known
}

// An ArmLatency is how long the answered calls of an arm took, judges' left
// out: the median and the 95th percentile by nearest rank, in milliseconds.
type ArmLatency struct {
	Arm         string
	Median, P95 float64
}

// An ArmVersion counts the calls of an arm that one model version answered.
type ArmVersion struct {
	Arm, Version string
	Calls        int
}

// SimulatedVersion begins the model version of every simulated answer, whatever
// arm gives it: answers may be taken from another run.
const SimulatedVersion = "simulated-"
