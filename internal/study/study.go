// Package study loads study files: a strict YAML file that defines the arms, the
// data, the comparisons and the decision rules. This package defines the keys
// common to all suites; each suite embeds [Study] in a struct with its own keys.
//
// Loading has five steps: YAML is parsed into a tree with positions (parse.go),
// overrides change the tree (tree.go), the JSON Schema generated
// from the Go types validates it and fills in defaults (schema.go, check.go),
// encoding/json decodes it (load.go), and the remaining checks run last
// (validate.go). Editors get the same schema that validates.
//
// The package must not know any suite or provider, and uses neither the network
// nor a store.
package study

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"slices"

	"github.com/invopop/jsonschema"
)

// A Study holds the keys every suite shares.
type Study struct {
	Name        string  `json:"name" jsonschema:"required,minLength=1,maxLength=100,pattern=^[A-Za-z0-9_]([A-Za-z0-9._ -]*[A-Za-z0-9_-])?$,description=Name of the study and of its results folder" jsonschema_extras:"errorMessage=want a name that can be a folder: letters and digits with . _ - or spaces between"`
	Version     string  `json:"version,omitempty" jsonschema:"description=Version of the study file\\, for your own records"`
	Suite       string  `json:"suite" jsonschema:"required,minLength=1,description=Name of the suite"`
	Description string  `json:"description,omitempty" jsonschema:"description=The question of the study\\, for the report"`
	Models      []Model `json:"models,omitempty" jsonschema:"description=The models of the arms"`
	JudgeModel  string  `json:"judge_model,omitempty" jsonschema:"description=Id of the model that judges; default: the rules of the suite"`
	Split       string  `json:"split,omitempty" jsonschema:"enum=dev,enum=test,description=Use only the items of this split. dev is for exploring: no test is made. test needs scruple test register and runs once (default: all items\\, without these rules)"`
	// SharedClusters allows what would make TEST confirm DEV.
	SharedClusters bool        `json:"shared_clusters,omitempty" jsonschema:"description=Allow clusters with items on DEV and on TEST: what was chosen on DEV then passes on TEST more often by chance"`
	Budget         Budget      `json:"budget,omitempty,omitzero" jsonschema:"description=Limits of a study with splits\\, shown as used / allowed"`
	Execution      Execution   `json:"execution,omitempty"`
	Comparisons    Comparisons `json:"comparisons,omitempty"`
	Scorer         *Scorer     `json:"scorer,omitempty" jsonschema:"description=A program that scores answers by metrics of the study"`
	Metrics        Metrics     `json:"metrics,omitempty"`
	Statistics     Statistics  `json:"statistics,omitempty"`
	Decide         Decide      `json:"decide,omitempty"`
	// Assume does not affect a run: plan computes the power of the rules from it.
	Assume []Assumption `json:"assume,omitempty" jsonschema:"description=True scores under which plan computes how often each rule would be met"`
	Output Output       `json:"output,omitempty"`
	// ReplicationOf names results that rules read.
	ReplicationOf string `json:"replication_of,omitempty" jsonschema:"description=Name of an earlier study\\, or id of a run of it\\, in the same store: rules read how its differences changed" jsonschema_extras:"former=replicates"`
	// Annotation does not affect a run: people answer these tasks.
	Annotation []Task `json:"annotation,omitempty" jsonschema:"description=Tasks for people: scruple annotate"`
}

// The splits of a study.
const (
	SplitDev  = "dev"
	SplitTest = "test"
)

// A Budget limits what goes before a TEST run. A key that is not set has no limit.
type Budget struct {
	Cycles *int     `json:"cycles,omitempty" jsonschema:"minimum=0,description=Revision cycles on DEV: scruple test revise"`
	Days   *int     `json:"days,omitempty" jsonschema:"minimum=1,description=Days from the first run of the study"`
	Cost   *float64 `json:"cost,omitempty" jsonschema:"minimum=0,description=Cost of all runs of the study in US dollars"`
}

// Any is a study in the type of its suite: a pointer to a struct that embeds
// [Study]. A suite that adds keys to a section declares that section again,
// embedding the one here, and gives Common a method of its own that copies what
// is shared into the [Study].
type Any interface{ Common() *Study }

// Common is the part that every study has.
func (s *Study) Common() *Study { return s }

// Judge is the model that judges, nil for a study without one.
func (s *Study) Judge() *Model {
	if i := slices.IndexFunc(s.Models, func(m Model) bool { return m.ID == s.JudgeModel }); i >= 0 {
		return &s.Models[i]
	}
	return nil
}

// A Model is a model and its settings. Every key except id, provider and name is
// optional; unset parameters are not sent.
type Model struct {
	ID          string   `json:"id" jsonschema:"required,minLength=1,maxLength=64,pattern=^[A-Za-z0-9][A-Za-z0-9._-]*$,description=Name of this model in arms. It is part of what is asked: with another one\\, the model is asked anew" jsonschema_extras:"errorMessage=want an id of letters and digits with . _ or - inside"`
	Provider    string   `json:"provider" jsonschema:"required,minLength=1,description=Wire format or preset: anthropic openai openai_responses google gemini deepseek moonshot zai openrouter ollama vllm llamacpp simulated recorded"`
	Name        string   `json:"name,omitempty" jsonschema:"description=The provider's name of the model"`
	BaseURL     string   `json:"base_url,omitempty" jsonschema:"pattern=^https?://[^/@]+(/[^@]*)?$,description=Another endpoint that speaks the provider's wire format" jsonschema_extras:"errorMessage=want a URL such as http://127.0.0.1:8080/v1 without a password"`
	APIKeyEnv   string   `json:"api_key_env,omitempty" jsonschema:"writeOnly=true,maxLength=64,pattern=^[A-Z_][A-Z0-9_]*$,description=Environment variable that holds the key; a default per provider; not needed on loopback" jsonschema_extras:"errorMessage=want the name of an environment variable such as OPENAI_API_KEY"`
	Temperature *float64 `json:"temperature,omitempty" jsonschema:"minimum=0,maximum=2"`
	TopP        *float64 `json:"top_p,omitempty" jsonschema:"minimum=0,maximum=1"`
	Seed        *int64   `json:"seed,omitempty" jsonschema:"description=Sent to providers that take one"`
	MaxTokens   int      `json:"max_tokens,omitempty" jsonschema:"minimum=0,description=Limit of visible output tokens"`
	Reasoning   struct {
		Effort    string `json:"effort,omitempty" jsonschema:"description=The provider's word: minimal low medium high …"`
		Budget    int    `json:"budget,omitempty,omitzero" jsonschema:"minimum=0,description=Thinking tokens allowed"`
		Allowance int    `json:"allowance,omitempty" jsonschema:"minimum=0,description=Tokens added to max_tokens where thinking counts in the same limit"`
	} `json:"reasoning,omitempty"`
	Structured string `json:"structured,omitempty" jsonschema:"enum=none,enum=schema,enum=tool,description=How structured output is requested: not at all (default)\\, by JSON Schema or by a forced tool call"`
	Limits     struct {
		RequestsPerMinute float64 `json:"requests_per_minute,omitempty" jsonschema:"minimum=0"`
		TokensPerMinute   float64 `json:"tokens_per_minute,omitempty" jsonschema:"minimum=0"`
		Concurrency       int     `json:"concurrency,omitempty" jsonschema:"minimum=0,description=Ceiling for this model; execution.concurrency when not given"`
	} `json:"limits,omitempty"`
	Price    *Price `json:"price,omitempty" jsonschema:"description=Overrides the shipped price list for answers to come: those that exist keep the cost that they had"`
	Cassette string `json:"cassette,omitempty" jsonschema:"description=File of recorded HTTP exchanges (provider: recorded)"`
	// Skill is the profile of a simulated model.
	Skill *Skill `json:"skill,omitempty" jsonschema:"description=Error rates of a simulated model (provider: simulated)"`
}

// A Price is in US dollars per million tokens.
type Price struct {
	Input      float64  `json:"input" jsonschema:"required,minimum=0"`
	Output     float64  `json:"output" jsonschema:"required,minimum=0"`
	Cached     *float64 `json:"cached,omitempty" jsonschema:"minimum=0,description=Input tokens read from the provider's cache (default: the input price)"`
	CacheWrite *float64 `json:"cache_write,omitempty" jsonschema:"minimum=0"`
}

// A Skill holds the error rates of a simulated model. Rates are probabilities per
// unit or per answer.
type Skill struct {
	Miss      float64 `json:"miss,omitempty" jsonschema:"minimum=0,maximum=1,description=A present value is answered as missing"`
	Wrong     float64 `json:"wrong,omitempty" jsonschema:"minimum=0,maximum=1,description=A present value is answered wrongly"`
	Invent    float64 `json:"invent,omitempty" jsonschema:"minimum=0,maximum=1,description=A missing value is answered with a value"`
	Fabricate float64 `json:"fabricate,omitempty" jsonschema:"minimum=0,maximum=1,description=Evidence is fabricated"`
	Malformed float64 `json:"malformed,omitempty" jsonschema:"minimum=0,maximum=1,description=The answer does not parse"`
	// Arms have a skill of their own, so that the true difference of arms is known.
	Arms map[string]ArmSkill `json:"arms,omitempty" jsonschema:"description=Error rates with a prompt\\, by its name\\, instead of those above: so that the true difference between prompts is known"`
}

// An ArmSkill holds the error rates of a simulated model with one prompt.
type ArmSkill struct {
	Miss      float64 `json:"miss,omitempty" jsonschema:"minimum=0,maximum=1"`
	Wrong     float64 `json:"wrong,omitempty" jsonschema:"minimum=0,maximum=1"`
	Invent    float64 `json:"invent,omitempty" jsonschema:"minimum=0,maximum=1"`
	Fabricate float64 `json:"fabricate,omitempty" jsonschema:"minimum=0,maximum=1"`
	Malformed float64 `json:"malformed,omitempty" jsonschema:"minimum=0,maximum=1"`
}

// Of returns the skill with a prompt.
func (s Skill) Of(arm string) Skill {
	own, ok := s.Arms[arm]
	if !ok {
		return s
	}
	return Skill{Miss: own.Miss, Wrong: own.Wrong, Invent: own.Invent, Fabricate: own.Fabricate, Malformed: own.Malformed}
}

// String returns the rates, as stores have them.
func (s Skill) String() string {
	text := fmt.Sprintf("{Miss:%v Wrong:%v Invent:%v Fabricate:%v Malformed:%v", s.Miss, s.Wrong, s.Invent, s.Fabricate, s.Malformed)
	if len(s.Arms) > 0 {
		text += fmt.Sprintf(" Arms:%+v", s.Arms)
	}
	return text + "}"
}

// Embeddings are a model behind an OpenAI-compatible path /embeddings.
type Embeddings struct {
	Provider   string   `json:"provider" jsonschema:"required,minLength=1,description=A provider with OpenAI's format: openai\\, openrouter\\, ollama\\, vllm\\, llamacpp …"`
	Name       string   `json:"name" jsonschema:"required,minLength=1,description=The provider's name of the model"`
	BaseURL    string   `json:"base_url,omitempty" jsonschema:"pattern=^https?://[^/@]+(/[^@]*)?$,description=Another endpoint" jsonschema_extras:"errorMessage=want a URL such as http://127.0.0.1:8080/v1 without a password"`
	APIKeyEnv  string   `json:"api_key_env,omitempty" jsonschema:"writeOnly=true,maxLength=64,pattern=^[A-Z_][A-Z0-9_]*$,description=Environment variable that holds the key" jsonschema_extras:"errorMessage=want the name of an environment variable such as OPENAI_API_KEY"`
	Dimensions int      `json:"dimensions,omitempty" jsonschema:"minimum=1,maximum=16384,description=Number of components\\, for models that can shorten their embeddings"`
	Batch      int      `json:"batch,omitempty" jsonschema:"minimum=1,maximum=2048,default=64,description=Number of texts in one request (default 64)"`
	Price      *float64 `json:"price,omitempty" jsonschema:"minimum=0,description=US dollars per million tokens; unknown if not given"`
}

// Execution configures how a run executes its plan. Only Replicates and Seed
// change the requests.
type Execution struct {
	Concurrency int        `json:"concurrency" jsonschema:"minimum=1,default=16,description=Maximum number of calls in flight (default 16)"`
	Retries     []Duration `json:"retries" jsonschema:"description=Delay before each retry (default 10s 30s 90s)"`
	Timeout     Duration   `json:"timeout" jsonschema:"description=Timeout of one call (default 60s)"`
	Delay       Duration   `json:"delay,omitempty" jsonschema:"description=Pause between replicates of one item and arm"`
	ItemByItem  bool       `json:"item_by_item,omitempty" jsonschema:"description=Finish all trials of an item before the next item begins"`
	Replicates  int        `json:"replicates" jsonschema:"minimum=1,maximum=100000,default=1,description=Number of trials per item and arm (default 1)"`
	Seed        int64      `json:"seed" jsonschema:"default=42,description=Random seed (default 42)"`
	MaxCost     float64    `json:"max_cost,omitempty" jsonschema:"minimum=0,description=Cost limit of the run in US dollars"`
	MaxCalls    int        `json:"max_calls,omitempty" jsonschema:"minimum=0,description=Limit on the number of requests"`
	MaxTokens   int        `json:"max_tokens,omitempty" jsonschema:"minimum=0,description=Limit on the number of tokens"`
	Environment []string   `json:"environment,omitempty" jsonschema:"uniqueItems=true,description=Names of environment variables that exec commands receive in addition to PATH\\, HOME\\, LANG\\, LC_*\\, TMPDIR and TZ"`
	Labels      []string   `json:"labels,omitempty" jsonschema:"uniqueItems=true,description=Labels that a worker must have to take part (scruple worker --label)\\, such as gpu"`
	MaxFailed   *float64   `json:"max_failed,omitempty" jsonschema:"minimum=0,maximum=1,default=0.05,description=Share of failed trials above which the gate does not decide (default 0.05)"`
}

// A Compare names two arms. The name of an entry of the suite stands for all its
// arms: with several models the pair is compared within each model.
type Compare struct {
	A       string   `json:"a" jsonschema:"required,minLength=1"`
	B       string   `json:"b" jsonschema:"required,minLength=1"`
	Primary bool     `json:"primary,omitempty" jsonschema:"description=The main comparison of the study; others are reported as secondary"`
	Family  string   `json:"family,omitempty" jsonschema:"description=Question that the comparison belongs to: primary comparisons of one family are corrected for their number\\, apart from those of others (default: one family)"`
	Metrics []string `json:"metrics,omitempty" jsonschema:"uniqueItems=true,description=Metrics to compare (default: the primary ones)"`
	Across  []string `json:"across,omitempty" jsonschema:"uniqueItems=true,description=Factors of the arms\\, such as model\\, or strata of the items\\, such as doc_type: a test shows whether the difference depends on them"`
}

// Comparisons are pairs of arms, or the word all for all of them.
type Comparisons []Compare

// AllArms as both names of a comparison stands for every pair of arms.
const AllArms = "*"

// UnmarshalJSON reads a list, or the word all: each pair is then a primary comparison.
func (c *Comparisons) UnmarshalJSON(data []byte) error {
	if string(data) == `"all"` {
		*c = Comparisons{{A: AllArms, B: AllArms, Primary: true}}
		return nil
	}
	return json.Unmarshal(data, (*[]Compare)(c))
}

// JSONSchemaExtend allows the word beside the list.
func (Comparisons) JSONSchemaExtend(s *jsonschema.Schema) {
	s.Type, s.Description = "", "Pairs of arms to compare, or all: every pair of arms but baselines, as primary comparisons"
	s.OneOf = []*jsonschema.Schema{{Type: "array"}, {Const: "all"}}
	s.Extras = map[string]any{"errorMessage": "want a list of pairs such as [{a: new, b: old}], or all"}
}

// Metrics configures the metrics that are reported first, and those that the suite does
// not have.
type Metrics struct {
	Primary   []string `json:"primary,omitempty" jsonschema:"uniqueItems=true"`
	Secondary []string `json:"secondary,omitempty" jsonschema:"uniqueItems=true"`
	Own       []Metric `json:"own,omitempty" jsonschema:"description=Metrics of the study: of scores that come with the data or from a scorer"`
}

// MostScore is the largest score, and -MostScore the smallest: sums of squares stay finite.
const MostScore = 1e100

// A Metric is one of the study. Its scores are from Min to Max, 0 and 1 by default.
type Metric struct {
	Name          string   `json:"name" jsonschema:"required,minLength=1,maxLength=64,pattern=^[A-Za-z_][A-Za-z0-9_.-]*$,description=Name of the metric in rules\\, and of its column or key" jsonschema_extras:"errorMessage=want a name of letters\\, digits and _ . - that begins with a letter"`
	Title         string   `json:"title,omitempty" jsonschema:"description=Name in reports (default: the name)"`
	Doc           string   `json:"doc,omitempty" jsonschema:"description=What is measured\\, for the report"`
	Min           *float64 `json:"min,omitempty" jsonschema:"minimum=-1e100,maximum=1e100,description=The lowest possible score (default 0)"`
	Max           *float64 `json:"max,omitempty" jsonschema:"minimum=-1e100,maximum=1e100,description=The highest possible score (default 1)"`
	Unbounded     bool     `json:"unbounded,omitempty" jsonschema:"description=Scores have no lowest and highest value: missing ones are then taken for the lowest and highest of the study"`
	Counts        bool     `json:"counts,omitempty" jsonschema:"description=Every score is a number of events\\, such as errors\\, of which an item may have any number: intervals allow for several where none were seen"`
	Binary        bool     `json:"binary,omitempty" jsonschema:"description=Every score is pass or fail\\, 1 or 0"`
	LowerIsBetter bool     `json:"lower_is_better,omitempty"`
	Explains      bool     `json:"explains,omitempty" jsonschema:"description=It explains results and must not decide them"`
}

// A Scorer is a program that gets an item and an answer and gives the scores of metrics.own.
// Watch and Version tell a changed program apart, as for pipelines.
type Scorer struct {
	Exec    string   `json:"exec,omitempty" jsonschema:"description=Command: one JSON request per line on stdin and one JSON answer per line on stdout"`
	HTTP    string   `json:"http,omitempty" jsonschema:"description=URL: receives a POST of one JSON request"`
	Watch   []string `json:"watch,omitempty" jsonschema:"description=Files and folders of the program: if one changes\\, all answers are scored anew"`
	Version string   `json:"version,omitempty" jsonschema:"description=Version of the program: if it changes\\, all answers are scored anew"`
}

// Range returns the lowest and the highest score.
func (m Metric) Range() (low, high float64) {
	low, high = 0, 1
	switch {
	case m.Unbounded:
		low, high = math.Inf(-1), math.Inf(1)
	case m.Counts:
		high = math.Inf(1)
	}
	if m.Min != nil {
		low = *m.Min
	}
	if m.Max != nil {
		high = *m.Max
	}
	return low, high
}

// Statistics configures estimates and comparisons.
type Statistics struct {
	Method      string   `json:"method,omitempty" jsonschema:"enum=auto,enum=permutation,enum=mixed_effects,default=auto,description=What gives a difference its interval and p-value (default auto: the score interval for single items that pass or fail\\, else the cluster-robust t)"`
	Alpha       float64  `json:"alpha,omitempty" jsonschema:"exclusiveMinimum=0,exclusiveMaximum=0.5,default=0.05,description=Significance level; intervals cover 1−alpha (default 0.05)"`
	MaxUnscored *float64 `json:"max_unscored,omitempty" jsonschema:"minimum=0,maximum=1,description=Share of missing scores of an arm and metric above which rules on it stay undecided (default 0.05)"`
	Looks       int      `json:"looks,omitempty" jsonschema:"minimum=2,maximum=50,description=Number of times that results are looked at while answers are added: the level is spent over all looks (O'Brien and Fleming)\\, and a TEST run stops at each"`
	Beside      []string `json:"beside,omitempty" jsonschema:"uniqueItems=true,enum=paired_ttest,enum=wilcoxon,enum=mcnemar,enum=bootstrap,description=Tests that are shown beside what decides\\, such as one that a protocol planned"`
	Correction  string   `json:"correction,omitempty" jsonschema:"enum=none,enum=bonferroni,enum=holm,enum=hochberg,enum=bh,enum=by,default=holm,description=Correction where any of several comparisons would do: of the rules\\, or without rules of the primary comparisons (default holm)"`
	Resamples   int      `json:"resamples,omitempty" jsonschema:"minimum=1000,maximum=1000000,default=10000,description=Resamples of bootstraps\\, and of permutation tests that cannot enumerate (default 10000)"`
	Intervals   string   `json:"intervals,omitempty" jsonschema:"enum=analytic,enum=bootstrap,default=analytic,description=Intervals of single arms: Wilson's for binary metrics and the cluster-robust t for others (default)\\, or a bootstrap over clusters\\, BCa"`
	Random      []string `json:"random,omitempty" jsonschema:"uniqueItems=true,description=Strata that mixed_effects takes as random intercepts in addition to the item (default all)"`
}

// Unscored returns MaxUnscored or its default.
func (s Statistics) Unscored() float64 {
	if s.MaxUnscored == nil {
		return 0.05
	}
	return *s.MaxUnscored
}

// Decide holds the rules of the gate. All conditions of Require must hold; of
// Outcomes, the first whose condition holds is the result.
type Decide struct {
	// RequireMeasured leaves a rule undecided that rests on a judge whom people did not correct.
	RequireMeasured bool        `json:"require_measured,omitempty" jsonschema:"description=A rule that reads a judge's verdicts is undecided unless people judged some of the answers it reads (scruple annotate); one that compares across a factor always is"`
	Require         []Condition `json:"require,omitempty" jsonschema:"description=Conditions that must all hold for the gate to pass"`
	Outcomes        []Class     `json:"outcomes,omitempty" jsonschema:"description=Ordered classes of results; the first that applies is the result"`
	// Diagnose explains a DEV run, and another run that is not a pass. It decides nothing.
	Diagnose []Diagnosis `json:"diagnose,omitempty" jsonschema:"description=Ordered explanations of a DEV run\\, and of another run that does not pass; the first that applies is shown with its advice"`
}

// A Condition is one boolean expression over named results.
type Condition struct {
	Name string `json:"name" jsonschema:"required,minLength=1"`
	That string `json:"that" jsonschema:"required,minLength=1,description=Expression such as diff('new'\\, 'old'\\, 'accuracy') >= 0.05"`
}

// A Class is one possible outcome of a study.
type Class struct {
	Name    string `json:"name" jsonschema:"required,minLength=1"`
	When    string `json:"when,omitempty" jsonschema:"description=Expression; the last outcome may omit it and then always applies"`
	Verdict string `json:"verdict" jsonschema:"required,enum=pass,enum=fail,enum=undecided"`
	Advice  string `json:"advice,omitempty" jsonschema:"description=Recommended action"`
}

// A Diagnosis is one explanation of results.
type Diagnosis struct {
	Name   string `json:"name" jsonschema:"required,minLength=1"`
	When   string `json:"when,omitempty" jsonschema:"description=Expression; the last diagnosis may omit it and then always applies"`
	Advice string `json:"advice,omitempty" jsonschema:"description=Recommended action"`
}

// An Assumption is true scores of arms, and how scores vary.
type Assumption struct {
	Name        string         `json:"name" jsonschema:"required,minLength=1"`
	Scores      []AssumedScore `json:"scores" jsonschema:"required,minItems=1"`
	SD          float64        `json:"sd,omitempty" jsonschema:"minimum=0,description=Standard deviation of scores that are not 0 or 1 (default half of the largest possible one)"`
	ICC         float64        `json:"icc,omitempty" jsonschema:"minimum=0,maximum=0.99,description=Intraclass correlation: share of the variance between clusters (default 0)"`
	Correlation *float64       `json:"correlation,omitempty" jsonschema:"minimum=0,maximum=1,description=Correlation of the scores of two arms on an item (default 0.5)"`
}

// An AssumedScore is the true mean score of an arm.
type AssumedScore struct {
	Arm      string  `json:"arm" jsonschema:"required,minLength=1,description=Id of an arm or a level of arms"`
	Metric   string  `json:"metric" jsonschema:"required,minLength=1"`
	Value    float64 `json:"value" jsonschema:"required"`
	Outcomes int     `json:"outcomes,omitempty" jsonschema:"minimum=1,maximum=10000,description=Opportunities per item of a rate (default 1)"`
}

// A Blind says what is an outsider's own in a kit of a blind validation: the data, and the models
// of arms.
type Blind struct {
	Data []Datum
	Arms string   // the key of the arms
	Drop []string // keys that a kit does not have: what the study's authors know of their data
	// Guide says what the data are and where they belong; Templates are examples of them.
	// Without a guide, the data are at the paths of the study.
	Guide     string
	Templates fs.FS
}

// A Datum is a key of a study that says where its data are.
type Datum struct {
	Key string
	// In a kit it is this JSON, whose data are at Places; or, if it is "", the study's
	// value with only the members that Keep names, whose paths are the places.
	Kit    string
	Places []string
	Keep   []string
}

// Output configures results and reports.
type Output struct {
	ResultsDir string `json:"results_dir,omitempty" jsonschema:"minLength=1,default=results,description=Folder for results\\, relative to the study file (default results)"`
	SaveRaw    bool   `json:"save_raw,omitempty" jsonschema:"description=Also write raw answers"`
	Latency    bool   `json:"latency,omitempty" jsonschema:"description=Show the latency of calls; the report is then not reproducible"`
	// Embeddings are asked for by scruple extraction embed, for analysis records.
	Embeddings     *Embeddings `json:"embeddings,omitempty" jsonschema:"description=Model that embeds the texts of analysis records; without one they have no cosines"`
	GenerateReport *bool       `json:"generate_report,omitempty" jsonschema:"default=true,description=Write report files after a run (default true)"`
}
