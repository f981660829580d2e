// Package qa is the suite most evaluations begin with: questions with right
// answers, or with a rubric that a judge applies. Questions come from CSV or
// JSON Lines; a question says how its answer is matched: exact, normalized,
// numeric, choice, regex or rubric.
//
// The package must not know any provider, store or statistic.
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
			Metrics:   metrics(),
			Primary:   []string{metricCorrect},
			Secondary: []string{metricF1, metricReadable, metricMajority, metricConsistency},
		},
		Study:   func() study.Any { return new(Study) },
		Open:    kit.Opener(Open),
		Starter: func() ([]kit.File, error) { return kit.Template(template, "template") },
		Cases:   shippedCases,
		Check:   checkCase,
	}
}

// A Study is a study file of this suite: the keys every suite shares, and its
// own.
type Study struct {
	study.Study
	Questions Questions `json:"questions" jsonschema:"required,description=Where the questions are and how answers are matched"`
	Prompts   []Prompt  `json:"prompts" jsonschema:"required,minItems=1,description=What is compared: prompts and pipelines"`
}

// Questions says where the questions are.
type Questions struct {
	Path    string            `json:"path" jsonschema:"required,minLength=1,description=CSV file with a header or JSON Lines file\\, relative to the study file"`
	Columns map[string]string `json:"columns,omitempty" jsonschema:"description=Names of columns where they differ\\, such as {answer: gold}"`
	Match   string            `json:"match,omitempty" jsonschema:"enum=exact,enum=normalized,enum=numeric,enum=choice,enum=regex,enum=rubric,default=normalized,description=How answers are matched where a question does not say (default normalized)"`
	Count   int               `json:"count,omitempty" jsonschema:"minimum=0,description=Take only the first so many questions (default all)"`
}

// A Prompt is one thing under test: a prompt on its models, or a pipeline.
type Prompt struct {
	Name    string `json:"name" jsonschema:"required,description=What the arm is called; the name of a built-in prompt where nothing else says what it is"`
	Prompt  string `json:"prompt,omitempty" jsonschema:"description=Text with {{QUESTION}}"`
	Path    string `json:"path,omitempty" jsonschema:"description=File with the text\\, relative to the study file"`
	Builtin string `json:"builtin,omitempty" jsonschema:"enum=direct,enum=stepwise,enum=most_common,description=A prompt that ships with the suite\\, or the baseline that always gives the most common answer"`
	System  string `json:"system,omitempty" jsonschema:"description=System prompt"`
	kit.Outside
	Models []string `json:"models,omitempty" jsonschema:"description=Ids of the models to run on (default all but the judge)"`
}

// The metrics.
const (
	metricCorrect     = "correct"
	metricF1          = "token_f1"
	metricReadable    = "readable"
	metricMajority    = "majority"
	metricConsistency = "consistency"
)

func metrics() []eval.Metric {
	return []eval.Metric{
		{Name: metricCorrect, Title: "Correct", Min: 0, Max: 1, HigherIsBetter: true, Kind: eval.Scoring, Pooling: eval.MeanOfItems, Binary: true,
			Doc:     "Whether the answer matches, or satisfies the rubric by the judge's verdict. Answers that cannot be read are wrong.",
			Formula: "1 if the answer matches any right answer, else 0"},
		{Name: metricF1, Title: "Token F1", Min: 0, Max: 1, HigherIsBetter: true, Kind: eval.Scoring, Pooling: eval.MeanOfItems,
			Doc:     "Overlap of words between the answer and the nearest right answer, for questions matched by text.",
			Formula: "2·common / (words of the answer + words of the right answer), after normalization",
			Source:  "Rajpurkar et al. 2016, SQuAD"},
		{Name: metricReadable, Title: "Readable", Min: 0, Max: 1, HigherIsBetter: true, Kind: eval.Analysis, Pooling: eval.MeanOfItems, Binary: true,
			Doc: "Share of answers that could be read and were not refused.", Formula: "readable answers / answers"},
		{Name: metricMajority, Title: "Majority correct", Min: 0, Max: 1, HigherIsBetter: true, Kind: eval.Scoring, Pooling: eval.MeanOfItems, Binary: true,
			Doc:     "Whether the most frequent answer of the replicates matches; of equally frequent ones the first given. Needs two replicates or more.",
			Formula: "1 if the majority answer matches, else 0", Source: "Wang et al. 2023, self-consistency"},
		{Name: metricConsistency, Title: "Consistency", Min: 0, Max: 1, HigherIsBetter: true, Kind: eval.Analysis, Pooling: eval.MeanOfItems,
			Doc: "Share of pairs of replicates that give the same answer.", Formula: "agreeing pairs / pairs"},
	}
}
