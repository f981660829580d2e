package eval

import (
	"cmp"
	"context"
	"iter"
	"slices"
)

// A Suite is one kind of evaluation, with its documentation.
type Suite struct {
	Name    string
	Title   string
	Doc     string
	Metrics []Metric
	// Primary and Secondary are the default metrics of a study.
	Primary, Secondary []string
	// Reads is the version of the rules that read answers. Where it rises, those of earlier
	// runs are read again.
	Reads int
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
	// Basis returns what a trial of the bench depends on. It is fast: it is called for every
	// trial whenever a run is opened.
	Basis(t Trial) Basis
	// Perform performs a trial. It may ask many times and in parallel. When it is
	// called again, it must send the same requests in the same steps: that is how an
	// interrupted trial resumes at no cost. It returns only errors of the asker or
	// the context.
	Perform(ctx context.Context, t Trial, ask Asker) (Outcome, error)
	// Judge judges an outcome with the arm's judges: models, rules, pipelines or
	// several of them. It is called for arms with Judges.
	Judge(ctx context.Context, t Trial, o Outcome, ask Asker) ([]Verdict, error)
	Scorer
}

// A Scorer turns stored outcomes into scores and exhibits.
type Scorer interface {
	// Score appends the scores of a case to dst in the order described at [Scored].
	// It is pure: it uses no model, clock or file except the bench's own data. It is
	// called for cases with a trial that did not fail, and must not score failed
	// trials.
	Score(dst []Score, c Case) []Score
	// Show returns a case in readable form: text, marks, gold beside answer. For one
	// replicate, pass a case of that trial alone.
	Show(c Case) (Exhibit, error)
	// Capabilities lists what the bench can do beside.
	Capabilities() Capabilities
}

// Capabilities are what a bench can do beside what every bench does. A bench sets the
// fields that it has; the others are nil, and their callers do without.
type Capabilities struct {
	// Warnings are about data that look wrong but are legal. Notes are about data and ask
	// for nothing: they are said once, when a study is validated. Facts count the data.
	Warnings func() []string
	Notes    func() []string
	Facts    func() []Fact
	// Metrics are those of the bench, if they depend on the study, instead of the suite's.
	Metrics func() []Metric
	// Offered are others that the bench scores, and that count only if the study names them.
	Offered func() []Metric
	// Weight estimates the bytes that a trial holds while it is open: prompts, tables.
	// The engine opens fewer trials that hold much.
	Weight func(t Trial) int
	// MostCalls returns the most requests of a trial of an arm, and of judging it, where
	// that may be more than predicted answers need, as in suites that ask again for an
	// answer in a readable format. Retries of failed requests are not among them.
	MostCalls func(arm string) (asked, judged int)
	// Contrasts are pairs of arms compared in addition to those of the study.
	Contrasts func() []Contrast
	// Report makes the suite's own tables and figures.
	Report func(r Results) ([]Block, error)
	// OtherQuestion reports whether an outcome of another run is about another question than that of
	// a trial, although the item has the same input: what is drawn by a seed.
	OtherQuestion func(t Trial, o Outcome) bool
	// Changes makes tables of what differs between the cases of an arm in two runs.
	Changes func(was, is iter.Seq2[Case, error]) ([]Table, error)
	// Pick picks the trials of each arm that a report shows in full, those to be read
	// first at the front, instead of the best and worst by the first primary metric. few
	// is the number of trials of an arm that a report of many arms has room for.
	Pick func(cases iter.Seq2[Case, error], few int) ([]Picked, error)
	// Records appends the analysis records of a case: those of its trials in their order,
	// and of a trial in the order of its units.
	Records func(dst []Record, c Case) ([]Record, error)
	// Ratings reads the verdicts of the judge on each trial that did not fail as yes or
	// no, so that the judge can be measured by people: of the units of an answer, or, if
	// RatesTrials, of whole answers.
	Ratings     func(c Case) []Rating
	RatesTrials bool
	// Criteria are those of the study that the judge is asked with, so that people who
	// measure it are shown them too.
	Criteria []string
	// Practice are items for people's practice, apart from those of the study. Show shows
	// them too.
	Practice   func() []Item
	Calibrator Calibrator
	Annotated  Annotated
	Queuer     Queuer
	GoldKeeper GoldKeeper
}

// A Case is an item and an arm: all trials with an outcome, and the verdicts of
// people on the item.
type Case struct {
	Item, Arm string
	Trials    []Judged  // by replicate, failed ones included
	Verdicts  []Verdict // on the item itself, for any arm
}

// CaseOf returns a case of one trial.
func CaseOf(t Trial, o Outcome, vs []Verdict) Case {
	return Case{Item: t.Item, Arm: t.Arm, Trials: []Judged{{t, o, vs}}}
}

// Answered returns the trials that did not fail.
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

// An Asker sends a request to its model and returns when the answer is durable. A
// step already in the journal is answered from it. Step names are unique within a
// trial and stage. Errors are the engine's typed errors; a suite must return them,
// except [NoAnswer], which only optional requests get.
type Asker interface {
	Ask(ctx context.Context, step string, r Request) (Response, error)
}

// A Calibrator is a bench whose scoring depends on the accuracy of its judge. Measure
// counts how often the judge was right on the cases of the calibration arms. Calibrate is
// called once, before scoring, with that measurement or with one of an earlier run.
type Calibrator interface {
	Measure(cases iter.Seq2[Case, error]) (Measurement, error)
	Calibrate(m Measurement) (Scorer, Calibration)
}

// Judged is a trial with its outcome and the verdicts on it: the latest of each
// judge, step and round.
type Judged struct {
	Trial    Trial
	Outcome  Outcome
	Verdicts []Verdict
}

// A ScoredTrial is a trial with its own scores and what its calls took.
type ScoredTrial struct {
	Judged
	Scores []Score
	Taken  Taken
	Show   func() (Exhibit, error)
}

// PipelinePrefix starts the model id of a pipeline's client. Study files cannot
// give a model such an id.
const PipelinePrefix = "arm:"

// ScorerModel is the model id of the program that scores by metrics of the study: no arm can be
// called so. ScorerName is what its verdicts are by. It is asked as judges are, and is none.
const (
	ScorerModel = PipelinePrefix + ":" + ScorerName
	ScorerName  = "scorer"
)

// WithoutScorer returns judges without the program that scores by metrics of the study.
func WithoutScorer(judges []string) []string {
	return slices.DeleteFunc(slices.Clone(judges), func(id string) bool { return id == ScorerModel })
}

// A Pipeline is an external program or file that answers for an arm.
type Pipeline struct {
	Model  string // model id of its requests
	Kind   string // outputs, exec, http or run
	Target string // file (resolved), command, URL or RUN:ARM
	// Version identifies the program behind a command or URL: given by the study, or a
	// hash of its files. "" means that a change of the program is not noticed.
	Version string
	// Files are the files whose content is in Version. Current computes the version
	// again, from the files whose size or time changed or, if all, from all; nil if there is
	// no program.
	Files   []string
	Watched []string // those that the study says are files of the program
	Program string   // the first file that the command names, "" if it names none
	Current func(all bool) (string, error)
}

// Asked reports whether a program is asked, which alone knows what its answers take. Those of the
// other kinds are stored answers, which are read.
func (p Pipeline) Asked() bool { return p.Kind == "exec" || p.Kind == "http" }

// Changed reports whether the program is no longer that of Version, or cannot be read. It reads
// the files whose size or time changed or, if all, all.
func (p Pipeline) Changed(all bool) bool {
	if p.Current == nil {
		return false
	}
	version, err := p.Current(all)
	return err != nil || version != p.Version
}

// A Fact is a count of a study's data.
type Fact struct {
	Name string
	N    int
}

// A Measurement counts how often a judge was right on cases with known answers.
type Measurement struct {
	// Right and Cases count per item that has cases, so that intervals can account for
	// dependent cases of one item.
	Right, Cases []float64
	Missing      int         // cases without a verdict
	Known        []Known     // of each kind of case; nil if only the counts are known
	Wrong        []WrongCase // that the judge got wrong, or said nothing about; nil if only the counts are known
	On           string      // the documents of the cases, such as DEV; "" for all of the run
}

// A Known counts the cases of a calibration arm with the same right verdict. A case counts
// once, whatever the number of replicates.
type Known struct {
	Arm     string `json:"arm"`
	Pass    bool   `json:"pass"` // the right verdict
	Right   int    `json:"right"`
	Cases   int    `json:"cases"`
	Missing int    `json:"missing,omitempty"` // cases without a verdict
}

// A WrongCase is what a judge should have said of an answer, and what it said.
type WrongCase struct {
	Trial
	Answer, Want, Said string
}

// Totals returns the number of cases that the judge got right, and that of all.
func (m Measurement) Totals() (right, cases float64) {
	for i := range m.Cases {
		right, cases = right+m.Right[i], cases+m.Cases[i]
	}
	return right, cases
}

// A Calibration is the accuracy of a judge, and its effect on scoring.
type Calibration struct {
	Judge string // the model or rule that judged
	Measurement
	Effect string // effect on scoring, in words
	Failed bool   // the judge is too often wrong: its verdicts do not count
	Tables []Table
}

// A Block is a part of a suite's own report: a table or a figure.
type Block struct {
	Table  *Table
	Figure *Figure
}

// A Contrast is a pair of arms that a suite compares in addition to those of the
// study: never a primary comparison, and only over all items.
type Contrast struct {
	A, B    string
	Metrics []string
}

// Picked is a trial with a word for why it is shown, such as worst, or "".
type Picked struct {
	Trial
	Rank string
}

// Measured is a number with its interval and number of items.
type Measured struct {
	Value Number `json:"value"`
	Low   Number `json:"low"`
	High  Number `json:"high"`
	N     int    `json:"n,omitempty"`
}

// Results gives a suite the results of the analysis, and the cases. Those of an analysis
// are a [Panel] too.
type Results interface {
	// Cases yields every case of the run in plan order.
	Cases() iter.Seq2[Case, error]
	Estimate(arm, metric string) (Measured, bool)
	// EstimateIn is Estimate over the items of a stratum, if the analysis has it.
	EstimateIn(arm, metric string, stratum Level) (Measured, bool)
	// Sum adds up the fractions of a metric over all trials of an arm, and ByUnit those of
	// each unit, for a metric whose scores have units to add up: see [Metric].
	Sum(arm, metric string) Fraction
	ByUnit(arm, metric string) map[string]Fraction
	// Difference returns the difference a − b, if the analysis compared the arms.
	Difference(a, b, metric string) (Measured, bool)
	// SameRate tests, for each of the arms, whether a rate is the same over
	// several metrics on different items: p-values of Fisher's exact test of hits
	// and misses, with Holm's correction for the number of tested arms. An item with
	// several outcomes, such as replicates, counts once, by its share of hits; hits are
	// then rounded. NaN if there is nothing to compare or the test is too large.
	SameRate(arms, metrics []string) []float64
	// Corrected estimates what a metric would be if people had judged what it counts, from
	// the judge's labels and the judge's error on other claims with human labels. Clusters
	// group claims that may depend on each other. Labels are 0 or 1.
	Corrected(arm, metric string, known []LabelledTwice) (Measured, bool)
	// Effort is the cost of a trial of an arm: dollars if the price of every arm is
	// known, else calls.
	Effort(arm string) (perTrial float64, unit string)
}

// A LabelledTwice is a claim with the label of a judge, 0 or 1, and the mean label of people.
type LabelledTwice struct {
	Cluster string
	Judge   float64
	Human   float64
}

// A Figure is a suite's own figure: lines or points of series over an axis, or
// a grid of cells.
type Figure struct {
	Name     string   `json:"name"`
	Title    string   `json:"title"`
	Note     string   `json:"note,omitempty"`
	XTitle   string   `json:"x_title,omitempty"`
	YTitle   string   `json:"y_title,omitempty"`
	Ticks    []string `json:"ticks,omitempty"`    // categories of x at 0, 1, …; nil for numbers
	Joined   bool     `json:"joined,omitempty"`   // points of a series are joined by lines
	Bars     bool     `json:"bars,omitempty"`     // points are bars from 0, those of a category side by side
	Frontier bool     `json:"frontier,omitempty"` // join the Pareto frontier: less x, more y
	Series   []Series `json:"series,omitempty"`
	// A grid has Rows, Columns and Cells instead of series: levels from 0 to 1, or
	// differences. Differences below Bad are marked as bad, those above Good as
	// good. Words are the names for bad, neither and good.
	Rows        []string     `json:"rows,omitempty"`
	Columns     []string     `json:"columns,omitempty"`
	Cells       [][]Measured `json:"cells,omitempty"`
	Differences bool         `json:"differences,omitempty"`
	Bad         Number       `json:"bad"`
	Good        Number       `json:"good"`
	Words       [3]string    `json:"words,omitzero"`
}

// A Series is a named list of points.
type Series struct {
	Name   string  `json:"name"`
	Points []Point `json:"points"`
}

// A Point is a number at an x.
type Point struct {
	X     Number `json:"x"`
	Label string `json:"label,omitempty"` // distinguishes points of a series; "" if x does
	Measured
}

// An Exhibit is one trial in readable form. It contains text, never markup.
type Exhibit struct {
	Item  string        `json:"item"`
	Arm   string        `json:"arm"`
	Title string        `json:"title"`
	Facts []Level       `json:"facts,omitempty"` // type, difficulty, reading …
	Lead  string        `json:"lead,omitempty"`  // the question
	Pages []ExhibitPage `json:"pages,omitempty"`
	Rows  []ExhibitRow  `json:"rows,omitempty"`
	// Table replaces Rows if gold and answer do not have units to show side by
	// side.
	Table *Table        `json:"table,omitempty"`
	Graph *Graph        `json:"graph,omitempty"` // gold and answer as one graph
	Steps []ExhibitStep `json:"steps,omitempty"` // the arm's steps
	Raw   string        `json:"raw,omitempty"`   // the raw answer
	// Expected describes the answer that was expected, for an answer that does not
	// parse, is refused or is cut off; "" stands for the gold of the rows.
	Expected string `json:"expected,omitempty"`
	// Failed says why the trial failed. There is no answer, so the exhibit has
	// neither scores nor what the arm said.
	Failed string `json:"failed,omitempty"`
}

// WithoutAnswer returns the exhibit of a failed trial: gold, and why there is no
// answer.
func (x Exhibit) WithoutAnswer(why string) Exhibit {
	x.Failed, x.Table, x.Graph, x.Raw = why, nil, nil, ""
	rows := make([]ExhibitRow, 0, len(x.Rows))
	for _, r := range x.Rows {
		rows = append(rows, ExhibitRow{Unit: r.Unit, Gold: r.Gold})
	}
	x.Rows = rows
	return x
}

// A Graph is a drawing of nodes and edges that is laid out. Its units are those of an
// SVG.
type Graph struct {
	Width      float64     `json:"width"`
	Height     float64     `json:"height"`
	NodeWidth  float64     `json:"node_width"`
	NodeHeight float64     `json:"node_height"`
	Nodes      []GraphNode `json:"nodes"`
	Edges      []GraphEdge `json:"edges"`
	Left       int         `json:"left,omitempty"` // nodes that were left out
}

// A GraphNode is a box at its upper left corner. State is found, missing, spurious,
// broken or wrong type.
type GraphNode struct {
	Label string  `json:"label"`
	Title string  `json:"title"` // without cuts
	Kind  string  `json:"kind"`
	State string  `json:"state"`
	Note  string  `json:"note,omitempty"`
	X     float64 `json:"x"`
	Y     float64 `json:"y"`
}

// A GraphEdge is a line with its label at a point.
type GraphEdge struct {
	From  int     `json:"from"`
	To    int     `json:"to"`
	Label string  `json:"label"`
	State string  `json:"state"`
	Path  string  `json:"path"`
	Head  string  `json:"head"` // path of the arrow's head
	X     float64 `json:"x"`
	Y     float64 `json:"y"`
}

// An ExhibitStep is a step of an arm, or a verdict of a judge or a person on its answer.
type ExhibitStep struct {
	Name    string `json:"name"`
	Text    string `json:"text"`
	Verdict bool   `json:"-"`
}

// An ExhibitPage is a page of source text with marked ranges.
type ExhibitPage struct {
	Number int    `json:"number"`
	Title  string `json:"title,omitempty"` // instead of the number
	Text   string `json:"text"`
	Marks  []Mark `json:"marks,omitempty"` // sorted by Start, may overlap
	// Gold pages are not shown to people who judge.
	Gold bool `json:"-"`
}

// A Mark is a byte range of a page.
type Mark struct {
	Start int    `json:"start"`
	End   int    `json:"end"`
	Kind  string `json:"kind"` // "answer", "gold" or "both", or the name of a tone
	Label string `json:"label"`
	// Tone is the number of a colour of its own, from 1, for marks that are not
	// evidence; 0 for the others. Fault says what is wrong with a mark.
	Tone  int    `json:"tone,omitempty"`
	Fault string `json:"fault,omitempty"`
}

// An ExhibitRow is one unit with gold, answer and scores.
type ExhibitRow struct {
	Unit   string  `json:"unit"`
	Gold   string  `json:"gold"`
	Answer string  `json:"answer"`
	Quote  string  `json:"quote,omitempty"` // in quotation marks, with its page: the answer's, or what the judge found if the row has an ID
	Note   string  `json:"note,omitempty"`  // description of a problem
	Scores []Score `json:"scores,omitempty"`
	// GoldEvidence is the quote and page that gold gives. Only people who verify gold see it.
	GoldEvidence string `json:"-"`
	// ID names the unit in verdicts, if Unit does not: see [Exhibit.Judged].
	ID string `json:"-"`
	// Own names the unit for people who judge, if Unit says what gold has.
	Own string `json:"-"`
	// Place is that of the unit in the answer, if rows stand in an order that says what is wrong, and
	// below 0 if the answer has no such unit.
	Place int `json:"-"`
}

// Quotes reports whether quotes are the answer's: in rows with IDs they are the judge's.
func (x Exhibit) Quotes() bool {
	return !slices.ContainsFunc(x.Rows, func(r ExhibitRow) bool { return r.ID != "" })
}

// A JudgedUnit is a unit of an answer as people judge it.
type JudgedUnit struct {
	ID, Name, Answer, Quote string // the name is what people are shown
}

// Judged returns the units of an answer that people can judge: rows with an answer. If a
// row has an ID, only those with one are units, and the name of the row is part of the
// answer. Their quote is the judge's, which people who check the judge must not see.
func (x Exhibit) Judged() (list []JudgedUnit) {
	named := !x.Quotes()
	rows := slices.Clone(x.Rows)
	slices.SortStableFunc(rows, func(a, b ExhibitRow) int { return a.Place - b.Place })
	for _, r := range rows {
		switch {
		case r.Answer == "" || r.Place < 0 || named && r.ID == "":
		case named:
			list = append(list, JudgedUnit{r.ID, r.ID, r.Unit + ": " + r.Answer, ""})
		default:
			list = append(list, JudgedUnit{r.Unit, cmp.Or(r.Own, r.Unit), r.Answer, r.Quote})
		}
	}
	return list
}
