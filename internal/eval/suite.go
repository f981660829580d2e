package eval

import (
	"context"
	"iter"
)

// A Suite is one kind of evaluation, as a value that documents itself.
type Suite struct {
	Name    string
	Title   string
	Doc     string
	Metrics []Metric
	// Primary and Secondary are the metrics reported where a study names none.
	Primary, Secondary []string
}

// Metric finds a metric by name.
func (s *Suite) Metric(name string) (Metric, bool) {
	for _, m := range s.Metrics {
		if m.Name == name {
			return m, true
		}
	}
	return Metric{}, false
}

// A Bench is a suite bound to one study. Its methods are safe for concurrent
// use.
type Bench interface {
	Items() []Item
	Arms() []Arm
	// Perform does the trial. It may ask many times and in parallel; it must
	// ask the same things in the same steps when it is called again, because
	// that is how a trial that died is continued for free. It returns an error
	// only for what the trial could not survive: an error of the asker, or the
	// context's.
	Perform(ctx context.Context, t Trial, ask Asker) (Outcome, error)
	// Judge gives an outcome to the arm's judges, which are models that it asks,
	// rules, pipelines, or several of them. It is called for arms with Judges.
	Judge(ctx context.Context, t Trial, o Outcome, ask Asker) ([]Verdict, error)
	Scorer
}

// A Scorer turns what is stored into scores and into what people see.
type Scorer interface {
	// Score appends the scores of a case to dst, in the order that [Scored]
	// describes. It is pure: no model, clock or file beyond the bench's own data
	// is in reach. It is called for cases with a trial that did not fail, and
	// must not score the trials that did.
	Score(dst []Score, c Case) []Score
	// Show shows a case to a person: text, marks, gold beside answer. A caller
	// that wants one replicate gives a case of that trial alone.
	Show(c Case) (Exhibit, error)
}

// A Case is an item given to an arm: all its trials that have an outcome, and
// what people said of the item.
type Case struct {
	Item, Arm string
	Trials    []Judged  // by replicate, failed ones included
	Verdicts  []Verdict // on the item itself, whatever the arm
}

// CaseOf is a case of one trial.
func CaseOf(t Trial, o Outcome, vs []Verdict) Case {
	return Case{Item: t.Item, Arm: t.Arm, Trials: []Judged{{t, o, vs}}}
}

// Answered gives the trials that did not fail.
func (c Case) Answered() iter.Seq[*Judged] {
	return func(yield func(*Judged) bool) {
		for i := range c.Trials {
			if c.Trials[i].Outcome.Kind != Failed && !yield(&c.Trials[i]) {
				return
			}
		}
	}
}

// Failed reports whether every trial of the case failed.
func (c Case) Failed() bool {
	for range c.Answered() {
		return false
	}
	return true
}

// An Asker sends a request to the model it names and returns when the answer
// is durable. A step already in the journal is answered from it. Step names
// are unique within a trial and stage. Errors are the engine's typed errors;
// a suite passes them on, but for [NoAnswer], which it asked for.
type Asker interface {
	Ask(ctx context.Context, step string, r Request) (Response, error)
}

// A Calibrator is a bench whose scoring depends on how good its judge is.
// Calibrate is given the cases of the calibration arms once, before anything is
// scored.
type Calibrator interface {
	Calibrate(cases iter.Seq2[Case, error]) (Scorer, Calibration, error)
}

// Judged is a trial with its outcome and the verdicts on it: the latest of each
// judge, step and round.
type Judged struct {
	Trial    Trial
	Outcome  Outcome
	Verdicts []Verdict
}

// PipelinePrefix begins the model id under which the engine finds the client of
// a pipeline; study files cannot give a model such an id.
const PipelinePrefix = "arm:"

// A Pipeline is something outside the program that answers for an arm.
type Pipeline struct {
	Model  string // the id its requests carry
	Kind   string // outputs, exec or http
	Target string // file (resolved), command or URL
}

// A Fact is a count of a study's data.
type Fact struct {
	Name string
	N    int
}

// A Calibration is how well a judge did on cases whose answer is known, and
// what follows for scoring.
type Calibration struct {
	Judge string // the model or rule that judged
	// Right and Cases count per item, in item order, so that an interval can
	// respect that cases of one item hang together.
	Right, Cases []float64
	Effect       string // what scoring does in consequence, in words
}

// A Table is a suite's own table or figure, ready to be shown.
type Table struct {
	Name    string     `json:"name"` // stable, for exports
	Title   string     `json:"title"`
	Note    string     `json:"note,omitempty"`
	Columns []string   `json:"columns"`
	Rows    [][]string `json:"rows"`
}

// A Block is a part of a suite's own report: a table or a figure.
type Block struct {
	Table  *Table
	Figure *Figure
}

// A Reporter is a bench with tables and figures of its own.
type Reporter interface {
	Report(r Results) ([]Block, error)
}

// A Contrast is a pair of arms that a suite wants compared beside those the
// study names: never a primary comparison, and over all items only.
type Contrast struct {
	A, B    string
	Metrics []string
}

// A Contraster is a bench that wants contrasts.
type Contraster interface{ Contrasts() []Contrast }

// Measured is a number with its interval and how many items it rests on.
type Measured struct {
	Value Number `json:"value"`
	Low   Number `json:"low"`
	High  Number `json:"high"`
	N     int    `json:"n,omitempty"`
}

// Results are what analysis made of the numbers, and the cases they rest on.
type Results interface {
	// Cases gives every case of the run in plan order.
	Cases() iter.Seq2[Case, error]
	Estimate(arm, metric string) (Measured, bool)
	// Difference is that of a comparison that was made, a − b.
	Difference(a, b, metric string) (Measured, bool)
	// Level tests, for each of the arms, whether a rate is the same over
	// several metrics that count on different items: p-values of Fisher's exact
	// test of hits and misses, adjusted after Holm for the number of arms that
	// could be tested. NaN where there is nothing to compare or the test is too
	// large.
	Level(arms, metrics []string) []float64
	// Effort is what a trial of an arm takes: dollars where the price of every
	// arm is known, else calls.
	Effort(arm string) (perTrial float64, unit string)
}

// A Figure is a suite's own figure: lines or points of series over an axis, or
// a grid of cells.
type Figure struct {
	Name     string   `json:"name"`
	Title    string   `json:"title"`
	Note     string   `json:"note,omitempty"`
	XTitle   string   `json:"x_title,omitempty"`
	YTitle   string   `json:"y_title,omitempty"`
	Ticks    []string `json:"ticks,omitempty"`    // categories of x, whose points stand at 0, 1, …; nil for numbers
	Joined   bool     `json:"joined,omitempty"`   // points of a series are joined by lines
	Frontier bool     `json:"frontier,omitempty"` // points that none beats at once in less x and more y are joined
	Series   []Series `json:"series,omitempty"`
	// A grid has Rows, Columns and Cells instead of series: levels from 0 to 1,
	// or differences, of which those below Bad stand out as bad and those above
	// Good as good; Words are what to call bad, between and good.
	Rows        []string     `json:"rows,omitempty"`
	Columns     []string     `json:"columns,omitempty"`
	Cells       [][]Measured `json:"cells,omitempty"`
	Differences bool         `json:"differences,omitempty"`
	Bad         Number       `json:"bad"`
	Good        Number       `json:"good"`
	Words       [3]string    `json:"words,omitzero"`
}

// A Series is the points of one name.
type Series struct {
	Name   string  `json:"name"`
	Points []Point `json:"points"`
}

// A Point is a number over an x.
type Point struct {
	X     Number `json:"x"`
	Label string `json:"label,omitempty"` // tells it from the others of its series; "" where x does
	Measured
}

// An Exhibit shows one trial to a person. It holds text, never markup.
type Exhibit struct {
	Item  string        `json:"item"`
	Arm   string        `json:"arm"`
	Title string        `json:"title"`
	Facts []Level       `json:"facts,omitempty"` // type, difficulty, reading …
	Lead  string        `json:"lead,omitempty"`  // what was asked
	Pages []ExhibitPage `json:"pages,omitempty"`
	Rows  []ExhibitRow  `json:"rows,omitempty"`
	// Table stands in place of Rows where gold and answer are no units to be
	// put side by side. Cells that are [VerdictTrue], [VerdictFalse] or
	// [VerdictUnknown] are shown as such.
	Table *Table        `json:"table,omitempty"`
	Steps []ExhibitStep `json:"steps,omitempty"` // what the arm did
	Raw   string        `json:"raw,omitempty"`   // the answer as it stood
}

// The cells of a table that are verdicts.
const (
	VerdictTrue    = "+"
	VerdictFalse   = "-"
	VerdictUnknown = "?"
)

// An ExhibitStep is one thing that an arm did on its way.
type ExhibitStep struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// An ExhibitPage is a page of source text with marked ranges.
type ExhibitPage struct {
	Number int    `json:"number"`
	Text   string `json:"text"`
	Marks  []Mark `json:"marks,omitempty"` // sorted by Start, may overlap
}

// A Mark is a byte range of a page.
type Mark struct {
	Start int    `json:"start"`
	End   int    `json:"end"`
	Kind  string `json:"kind"` // "answer", "gold" or "both"
	Label string `json:"label"`
}

// An ExhibitRow is one unit: what gold says, what was answered, what it scored.
type ExhibitRow struct {
	Unit   string  `json:"unit"`
	Gold   string  `json:"gold"`
	Answer string  `json:"answer"`
	Quote  string  `json:"quote,omitempty"`
	Note   string  `json:"note,omitempty"` // what went wrong, in words
	Scores []Score `json:"scores,omitempty"`
}
