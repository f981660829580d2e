package eval

// A Record describes one unit of an answer for analysis: what explains scores and must
// not decide. It is a type of its own, apart from [Score] and [Metric], so that no
// rule, comparison or primary metric can name what it holds.
type Record struct {
	Trial Trial
	Unit  string
	// Candidate numbers the candidates of an answer that gives several, from 1; it is 0
	// for the answer itself.
	Candidate int
	Status    string // the answer's own word
	Value     string
	Quote     string
	About     string // what the unit asks for. Nothing that is scored sees it
	// The layers of the suite's score that explain it; NaN if it has none.
	TokenRatio float64
	JudgeScore float64
	Extra      []string // units of the answer that nobody asked for
}
