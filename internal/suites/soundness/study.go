package soundness

import (
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/suites/soundness/wording"
)

// A Study is a study file of this suite: the common keys and its own.
type Study struct {
	study.Study
	Corpus   Table `json:"data" jsonschema:"required,description=The fragments (schema 1)" jsonschema_extras:"former=corpus"`
	Gold     Table `json:"gold,omitempty" jsonschema:"description=The expert's judgements (schema 2); without them nothing is scored"`
	Examples Table `json:"examples,omitempty" jsonschema:"description=The worked examples of prompts (schema 3)"`

	Practice Table `json:"practice,omitempty" jsonschema:"description=Fragments for people's practice (schema 1)\\, with ids outside of the corpus"`

	Labels     []Label     `json:"labels" jsonschema:"required,minItems=2,maxItems=2,description=The two labels"`
	Domains    []Domain    `json:"domains,omitempty" jsonschema:"description=Domains of the checklist\\, each with its checkpoints; failure codes are F1.1 and so on by domain and place in the list"`
	Prompt     string      `json:"prompt,omitempty" jsonschema:"description=Text with {{FRAGMENT}} and {{EXAMPLES}}\\, and perhaps {{CHECKLIST}}\\, {{LABELS}} and {{MEANINGS}} (default: the built-in one)"`
	PromptPath string      `json:"prompt_path,omitempty" jsonschema:"description=File with the prompt\\, relative to the study file"`
	Conditions []Condition `json:"arms" jsonschema:"required,minItems=1,description=What is compared: the prompt with or without worked examples\\, and pipelines" jsonschema_extras:"former=conditions"`
	Families   []Family    `json:"families,omitempty" jsonschema:"description=Groups of the models\\, such as open and closed"`
	// Main is the model whose failures are coded.
	Main               string   `json:"main_model,omitempty" jsonschema:"description=Id of the model whose failures people code"`
	Validity           Validity `json:"validity,omitempty"`
	ReasoningAllowance int      `json:"reasoning_allowance,omitempty" jsonschema:"minimum=0,description=Tokens added to max_tokens where a provider's limit includes thinking\\, for models without their own"`

	Reading   Reading   `json:"reading,omitempty"`
	Coherence Coherence `json:"coherence,omitempty"`

	Judging kit.Judging `json:"judge,omitempty" jsonschema:"description=How the judge is asked whether a rationale supports its label"`
}

// A Table is a file of the study with its checks.
type Table struct {
	Path    string   `json:"path,omitempty" jsonschema:"description=Table: CSV\\, XLSX\\, JSON or JSON Lines\\, relative to the study file"`
	Columns string   `json:"columns,omitempty" jsonschema:"enum=all,enum=essential,default=all,description=all: every column of the schema must exist (default). essential: id and text or label are enough"`
	IDs     string   `json:"ids,omitempty" jsonschema:"description=Range of the ids\\, as in F_001–F_150"`
	Count   int      `json:"count,omitempty" jsonschema:"minimum=0,description=Number of records that there must be"`
	Strata  []string `json:"strata,omitempty" jsonschema:"uniqueItems=true,description=Further columns of the corpus to break results down by"`
	Checks  []Check  `json:"checks,omitempty" jsonschema:"description=What values may be\\, with the severity of others"`
	// PerLabel is the balance rule of worked examples.
	PerLabel int `json:"per_label,omitempty" jsonschema:"minimum=0,description=Number of records with each label that there must be"`
}

// A Check limits the values of a column.
type Check struct {
	Column   string   `json:"column" jsonschema:"required,minLength=1"`
	Values   []string `json:"values,omitempty" jsonschema:"description=Values that are allowed"`
	Min      *float64 `json:"min,omitempty" jsonschema:"description=Smallest number\\, or fewest sentences of a rationale"`
	Max      *float64 `json:"max,omitempty" jsonschema:"description=Largest number\\, or most sentences of a rationale"`
	Severity string   `json:"severity,omitempty" jsonschema:"enum=error,enum=warning,enum=ignore,default=error,description=error: the study cannot be loaded (default). warning: it is listed"`
}

// A Label is one of the two judgements.
type Label struct {
	Name    string   `json:"name" jsonschema:"required,pattern=^[A-Za-z0-9][A-Za-z0-9._-]*$,description=As in the files and in answers"`
	Means   string   `json:"means,omitempty" jsonschema:"description=Its meaning\\, for the prompt"`
	Phrases []string `json:"phrases,omitempty" jsonschema:"description=How models may write it; its name is always one of them"`
	Side    string   `json:"side" jsonschema:"required,enum=strength,enum=weakness,description=The indicators that support it"`
}

// ways are how an answer may write the label.
func (l Label) ways() []string { return append([]string{l.Name}, l.Phrases...) }

// A Domain is a part of the checklist.
type Domain struct {
	Name        string       `json:"name" jsonschema:"required,minLength=1"`
	Checkpoints []Checkpoint `json:"checkpoints" jsonschema:"required,minItems=1"`
}

// A Checkpoint is one line of the checklist, and a mode of failure.
type Checkpoint struct {
	Text    string `json:"text" jsonschema:"required,minLength=1"`
	Failure string `json:"failure,omitempty" jsonschema:"description=What its failure means\\, for people who code"`
}

// Validity names what the questions about construct validity compare. Each question is
// answered if what it compares is named.
type Validity struct {
	Harder  string   `json:"harder_domain,omitempty" jsonschema:"description=Domain in which more failures are expected\\, such as synthesis"`
	Easier  string   `json:"easier_domain,omitempty" jsonschema:"description=Domain in which fewer are expected\\, such as evidence"`
	Tacit   string   `json:"tacit_domain,omitempty" jsonschema:"description=Domain whose failures worked examples should reduce"`
	Complex []string `json:"complex_criteria,omitempty" jsonschema:"description=Criteria of the corpus among which challenge cases are expected"`
}

// A Condition is a prompt condition, or a pipeline in its place.
type Condition struct {
	kit.Entry
	Examples bool `json:"examples,omitempty" jsonschema:"description=The prompt has the worked examples"`
}

// A Family is a model with its group.
type Family struct {
	Model string `json:"model" jsonschema:"required,minLength=1,description=Id of the model"`
	Group string `json:"group" jsonschema:"required,minLength=1,description=Such as open or closed"`
}

// Reading says how answers are read.
type Reading struct {
	MinWords int             `json:"min_words,omitempty" jsonschema:"minimum=1,default=10,description=Fewest words of a rationale (default 10)"`
	Attempts int             `json:"attempts,omitempty" jsonschema:"minimum=1,maximum=10,default=3,description=Attempts at an answer in a readable format (default 3)"`
	Format   *wording.Format `json:"format,omitempty" jsonschema:"description=How a text without JSON gives its label (default: English words)"`
	Refusal  []string        `json:"refusal,omitempty" jsonschema:"description=Phrases of a refusal (default: English ones)"`
	Safety   []string        `json:"safety,omitempty" jsonschema:"description=Phrases of a safety stop (default: English ones)"`
	Common   []string        `json:"common,omitempty" jsonschema:"description=Words that do not count as a reason (default: English ones)"`
}

// Coherence says how it is checked that a rationale supports its label.
type Coherence struct {
	Margin   int               `json:"margin,omitempty" jsonschema:"minimum=1,default=3,description=Difference of the indicator counts from which the rule decides alone (default 3)"`
	Strength []string          `json:"strength,omitempty" jsonschema:"description=Phrases that speak for strength (default: English ones)"`
	Weakness []string          `json:"weakness,omitempty" jsonschema:"description=Phrases that speak for weakness (default: English ones)"`
	Negation *wording.Negation `json:"negation,omitempty" jsonschema:"description=What negates a phrase (default: English words)"`
	Task     string            `json:"task,omitempty" jsonschema:"default=coherence,description=Name of the annotation task in which people decide about ambiguous runs (default coherence)"`
}
