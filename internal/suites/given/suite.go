// Package given analyses scores that come with the data, such as those of another tool or
// of a scorer of one's own: a table with a row for each trial, for each score, or with a
// column for each arm.
//
// suite.go has the keys of a study; data.go reads the table; bench.go makes items and arms
// of it, and scores. No model is called.
//
// The package must not import the store, statistics or clients of models.
package given

import (
	"embed"
	"slices"

	"github.com/scruple-eval/scruple/internal/effort"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

//go:embed template
var template embed.FS

// Suite is the suite as a value.
func Suite() kit.Suite {
	return kit.Suite{
		Suite: eval.Suite{
			Name:    "given",
			Title:   "Given scores",
			Doc:     "Which arm is better, by scores that come with the data?",
			Metrics: []eval.Metric{kit.OwnMetric(theScore)},
			Primary: []string{theScore.Name},
		},
		Blind:   study.Blind{Data: []study.Datum{{Key: "data", Keep: []string{"path", "columns"}}}, Arms: "arms"},
		Study:   func() study.Any { return new(Study) },
		Open:    kit.Opener(open),
		Starter: kit.Template(template),
	}
}

// theScore is the metric of a study that declares none.
var theScore = study.Metric{Name: "score", Title: "Score", Doc: "The score of the data, from 0 to 1, of a study that declares no metrics of its own."}

// A Study is a study file of this suite: the common keys and its own.
type Study struct {
	study.Study
	Data Data  `json:"data" jsonschema:"required,description=Table of scores"`
	Arms []Arm `json:"arms,omitempty" jsonschema:"description=Arms\\, in the order of the report (default: all of the column arm\\, in the order of the table)"`
}

// Data names the table.
type Data struct {
	Path    string            `json:"path" jsonschema:"required,minLength=1,description=Table: CSV\\, XLSX\\, JSON or JSON Lines\\, relative to the study file"`
	Columns map[string]string `json:"columns,omitempty" jsonschema:"description=Names of columns in the file if they differ\\, such as {item: question_id}; an empty name says that the file does not have the column"`
	Strata  []string          `json:"strata,omitempty" jsonschema:"uniqueItems=true,description=Further columns of the file to break results down by"`
}

// An Arm is an arm of the table.
type Arm struct {
	Name   string `json:"name" jsonschema:"required,description=Name of the arm"`
	Value  string `json:"value,omitempty" jsonschema:"description=What the column arm says for it (default: the name)"`
	Column string `json:"column,omitempty" jsonschema:"description=Column with the scores of this arm\\, in a table with a row for each item"`
}

// columns are the columns that the suite knows, beside those of metrics.
var columns = append([]string{"item", "arm", "replicate", "cluster", "split", "input", "expected", "answer", "error", "unscored", "metric", "simulated"}, effort.Columns()...)

// UnscoredPrefix begins the columns with the reason why one metric has no score.
const UnscoredPrefix = "unscored_"

// Columns lists the columns that have a meaning, so that no metric or stratum can be called so.
func Columns() []string { return slices.Clone(columns) }
