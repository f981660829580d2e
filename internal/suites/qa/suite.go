// Package qa evaluates answers to questions with known answers, or with a rubric
// that a judge applies. Questions are read from a table. Each is
// matched as exact, normalized, numeric, choice, regex or rubric.
//
// suite.go, question.go and bench.go lead from the study to an answer (Perform, outcome);
// match.go reads and compares it, score.go scores and shows it, judge.go asks about it.
//
// The package must not import the store, statistics or clients of models.
package qa

import (
	"embed"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

//go:embed template
var template embed.FS

//go:embed preflight/*.json
var shippedCases embed.FS

// Suite is the suite as a value.
func Suite() kit.Suite {
	return kit.Suite{
		Suite: eval.Suite{
			Name:      "qa",
			Title:     "Questions and answers",
			Doc:       "Which prompt, model or pipeline answers more questions correctly?",
			Metrics:   kit.Metrics(metricsJSON, nil),
			Primary:   []string{metricCorrect},
			Secondary: []string{metricF1, metricReadable, metricMajority, metricConsistency},
			Reads:     3,
		},
		Study:   func() study.Any { return new(Study) },
		Open:    kit.Opener(open),
		Starter: kit.Template(template),
		Blind:   study.Blind{Data: []study.Datum{{Key: "data", Keep: []string{"path", "columns", "match"}}}, Arms: "arms"},
		Cases:   shippedCases,
		Check:   checkCase,
	}
}

// A Study is a study file of this suite: the common keys and its own.
type Study struct {
	study.Study
	Questions Questions   `json:"data" jsonschema:"required,description=File of questions and how answers are matched" jsonschema_extras:"former=questions"`
	Judging   kit.Judging `json:"judge,omitempty" jsonschema:"description=How the judge of rubrics is asked"`
	Prompts   []Prompt    `json:"arms" jsonschema:"required,minItems=1,description=What is compared: prompts and pipelines" jsonschema_extras:"former=prompts"`
}

// Questions names the file of questions and the default match.
type Questions struct {
	Path    string            `json:"path" jsonschema:"required,minLength=1,description=Table: CSV\\, XLSX\\, JSON or JSON Lines\\, relative to the study file"`
	Columns map[string]string `json:"columns,omitempty" jsonschema:"description=Names of columns in the file if they differ\\, such as {answer: gold}; an empty name says that the file does not have the column"`
	Strata  []string          `json:"strata,omitempty" jsonschema:"uniqueItems=true,description=Further columns of the file to break results down by"`
	Match   string            `json:"match,omitempty" jsonschema:"enum=exact,enum=normalized,enum=numeric,enum=choice,enum=regex,enum=rubric,default=normalized,description=Match of questions without their own (default normalized)"`
	Count   int               `json:"count,omitempty" jsonschema:"minimum=0,description=Use only the first count questions (default all)"`
}

// A Prompt is one thing under test: a prompt on its models, or a pipeline.
type Prompt struct {
	kit.Entry
	Prompt  string `json:"prompt,omitempty" jsonschema:"description=Text with {{QUESTION}}"`
	Path    string `json:"path,omitempty" jsonschema:"description=File with the text\\, relative to the study file"`
	Builtin string `json:"builtin,omitempty" jsonschema:"enum=direct,enum=stepwise,enum=most_common,description=A built-in prompt\\, or the baseline that always gives the most common answer (default: that of the arm's name)"`
	System  string `json:"system,omitempty" jsonschema:"description=System prompt"`
}

// The metrics.
const (
	metricCorrect     = "correct"
	metricF1          = "token_f1"
	metricReadable    = "readable"
	metricMajority    = "majority"
	metricConsistency = "consistency"
)

//go:embed metrics.json
var metricsJSON []byte
