// Package kit is the common code of the suites: the suite as one value
// ([Suite]), the files of a new study, pre-flight cases, exports and commands,
// their benches ([Base]) and arms ([Planner]), judges, and requests to models and pipelines.
//
// The program depends only on [Suite]: it makes help, flags, exports and
// commands from its fields. [Opener] erases the types of a suite.
//
// # What a suite costs
//
// The next suite costs some 500 lines if its task is small, such as to put a text into one
// of k classes; a judge takes 50 more. Package qa, which is one to begin from, has 1,000, of
// which 380 are its own six ways to match answers:
//
//   - suite.go: the value with [Opener] and [Template], and the keys of its studies (75); its
//     metrics are in metrics.json, which [Metrics] reads;
//   - bench.go: a struct that embeds [Base]; [ReadTable] and [Base.Fill] read its data (60),
//     [NewPlanner], [CheckNames] and [Planner.Make] make arms of prompts, built-ins and
//     pipelines, each an [Entry] (60), Basis, Perform, request ([RequestTo],
//     [Arm.RequestOutside], [SimulatedAnswer]) and outcome ask and read (100);
//   - how an answer is read and compared, which is the task itself (100 at the least);
//   - score.go: scores by [ScoreTrials], [Votes] of replicates, Show from [Base.Shown] (95);
//   - judge.go: [AskRubric], [Passed], [PassRatings], [Measure] with [Count] and [Trust], the
//     methods of [CaseJudge], or a judge of its own that [AskJudge] asks (70);
//   - preflight.go and preflight/*.json: answers with known scores (50);
//   - template/: a study that runs offline, for scruple init.
//
// The core does the rest without a line: items that no arm solved are listed for a first
// metric of yes or no, and scores are added up by unit, which [eval.Results] has for tables,
// so that no suite parses an answer twice to count.
//
// It is named in suites.All and tested by suitetest.Bench and suitetest.Walk, which find
// most mistakes; a test of the second writes a changing study in some 50 lines.
// The other tests of all suites, in internal/suites and e2e/every_suite_test.go, take a line or
// two of it each. docs/NAME.md has its table of metrics, which a test compares, docs/README.md a
// row, CHANGELOG.md an entry and ARCHITECTURE.md its budget. These tests and documents are not in
// the numbers above.
//
// The package must not import suites, the store, or providers except the
// simulated one, and it makes no calls.
package kit

import (
	"fmt"
	"io/fs"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
)

// A Suite is one kind of evaluation. What a suite can do beside is in the fields that are
// nil where it cannot, and in the [eval.Capabilities] of its benches; nothing else says so.
type Suite struct {
	eval.Suite

	// Study makes an empty study of the suite's type to load a file into.
	Study func() study.Any
	// Open binds the suite to a loaded study from Study. The error lists all
	// errors in the study's data.
	Open func(f *study.File, own study.Any) (Bench, error)
	// ForPeople lets Open open a study whose gold people have still to make; nil for
	// suites whose studies open only with gold.
	ForPeople func(own study.Any)
	// Task completes a task for people, such as with the labels and the checklist of the
	// study. Keys that the task has stay. Nil for suites that add nothing.
	Task func(b Bench, t study.Task) study.Task
	// Starter lists the files of a study that runs offline, study.yaml first. The
	// first NAME in study.yaml is replaced with the study's name.
	Starter func() ([]File, error)
	// Cases has pre-flight cases in its folder preflight. Check parses and scores
	// one of them; it is nil for a suite without cases.
	Cases fs.FS
	Check func(data []byte) (Result, error)
	Blind study.Blind
	// GoldKey is the key of a study that takes gold of people as it was locked, if any.
	GoldKey string
	// Explain is nil for suites whose gold is annotated, not computed.
	Explain *Explain

	// CheckFolder checks a folder of files of the suite's format: scruple validate
	// FOLDER. Nil for suites without one.
	CheckFolder func(dir string) (Checked, error)

	Shortcuts []Shortcut
	Commands  []Command
	Exports   []Export
	Imports   []Import
	// Appendices are documents about a run and the people in it: scruple soundness appendix.
	Appendices []Appendix
}

// An Appendix is a document with tables of the report, with people's work, and with what
// people write in a file beside the study.
type Appendix struct {
	Name   string // such as H.1; "" for one with a title alone
	Title  string
	Intro  string
	From   Origin
	Tables []string // names of tables and figures of the report, in their order
	// Fill returns what the suite knows. k is nil before a run was scored.
	Fill func(b Bench, k Kept) ([]Part, error)
	// Arms lists the arms whose prompts are shown, of FromPrompts; with Judges, those of judges
	// too.
	Arms   func(b Bench) []string
	Judges bool
	// Page is the path of the file that people write, such as pages/limitations.md, and Ask
	// its headings after those of the parts.
	Page string
	Ask  []Topic
}

// A Part is what a suite knows for an appendix.
type Part struct {
	Heading string
	Texts   []eval.Passage // as they are
	Table   *eval.Table
	// Ask is what people write about the part, under its heading in the page; "" for nothing.
	Ask string
}

// A Topic is a heading under which people write, and what belongs there.
type Topic struct{ Heading, Ask string }

// An Origin is what an appendix is made of beside tables. It is a closed set.
type Origin string

// The origins of appendices.
const (
	FromTables      Origin = ""
	FromPractice    Origin = "practice"    // answers and memos of tasks for practice
	FromSessions    Origin = "sessions"    // of tasks whose answers are gold
	FromSecondRound Origin = "second"      // agreement of their rounds, with discrepancies
	FromLocks       Origin = "locks"       // declarations
	FromRun         Origin = "run"         // sessions of the run
	FromAgreements  Origin = "reliability" // all agreements of people, beside the tables
	FromPrompts     Origin = "prompts"     // texts and parameters of requests, as they were sent
	FromProgram     Origin = "program"     // versions, files and commands
)

// An Explain shows the computed truth of an item, or of one candidate of it, as
// text or JSON. The study's data need not be valid.
type Explain struct {
	Doc  string // what an item is and what is shown
	Show func(f *study.File, own study.Any, item, of string) (fmt.Stringer, error)
}

// Checked is the result of checking files. It is printed as text or JSON.
type Checked interface {
	fmt.Stringer
	OK() bool // no errors
}

// A Bench is a suite bound to a study, with the external pipelines of its arms.
// It may keep files open until it is closed.
type Bench interface {
	eval.Bench
	Pipelines() []eval.Pipeline
	// ScoreFiles are the files of scores that arms bring, by the arm.
	ScoreFiles() map[string]string
	Close() error
}

// Opener erases the types of a suite's study and bench. The returned function
// panics if it gets the study of another suite.
func Opener[S any, B Bench](open func(*study.File, *S) (B, error)) func(*study.File, study.Any) (Bench, error) {
	return func(f *study.File, own study.Any) (Bench, error) {
		b, err := open(f, any(own).(*S))
		if err != nil {
			return nil, err
		}
		return WithCases(b), nil
	}
}

// A Shortcut is a flag that overrides one key of a study.
type Shortcut struct {
	Flag   string
	Key    string // as for -o
	List   bool   // the value is a comma-separated list
	Switch bool   // the value is true or false
	Doc    string
}

// Assignment is the shortcut as a value for -o.
func (s Shortcut) Assignment(value string) string {
	if s.List {
		value = "[" + value + "]"
	}
	return s.Key + "=" + value
}
