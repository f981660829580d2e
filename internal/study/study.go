// Package study reads study files: one strict YAML file that says what is
// compared with what, on which data, and what would count as an answer. Keys
// common to all suites are typed here; each suite adds its own section by
// embedding [Study] inline in a struct of its own.
//
// Reading goes in five steps, each a file: YAML text becomes a tree that knows
// where everything stands (parse.go, tree.go), overrides change the tree
// (override.go), the JSON Schema made from the Go types checks it and fills in
// defaults (schema.go, check.go), encoding/json decodes it (load.go), and what
// a schema cannot say is validated last (validate.go). The schema that editors
// are given is the schema that checks, so the two cannot disagree.
//
// The package must not know any suite or provider, and it asks nothing of the
// network or a store.
package study

// A Study holds the keys every suite shares.
type Study struct {
	Name        string     `yaml:"name" json:"name" jsonschema:"required,minLength=1,maxLength=100,pattern=^[A-Za-z0-9_]([A-Za-z0-9._ -]*[A-Za-z0-9_-])?$,description=Name of the study; results are filed under it" jsonschema_extras:"errorMessage=want a name that can be a folder: letters and digits with . _ - or spaces between"`
	Version     string     `yaml:"version,omitempty" json:"version,omitempty" jsonschema:"description=Version of the study file\\, for your own records"`
	Suite       string     `yaml:"suite" json:"suite" jsonschema:"required,minLength=1,description=Which suite evaluates: extraction"`
	Description string     `yaml:"description,omitempty" json:"description,omitempty" jsonschema:"description=What is asked and why\\, for the report"`
	Models      []Model    `yaml:"models,omitempty" json:"models,omitempty" jsonschema:"description=The models arms can ask"`
	JudgeModel  string     `yaml:"judge_model,omitempty" json:"judge_model,omitempty" jsonschema:"description=Id of the model that judges; none means the deterministic judge"`
	Execution   Execution  `yaml:"execution,omitempty" json:"execution,omitempty"`
	Comparisons []Compare  `yaml:"comparisons,omitempty" json:"comparisons,omitempty" jsonschema:"description=Pairs of arms to compare"`
	Metrics     Metrics    `yaml:"metrics,omitempty" json:"metrics,omitempty"`
	Statistics  Statistics `yaml:"statistics,omitempty" json:"statistics,omitempty"`
	Decide      Decide     `yaml:"decide,omitempty" json:"decide,omitempty"`
	Output      Output     `yaml:"output,omitempty" json:"output,omitempty"`
}

// A Model is one model as the study uses it. Every key but id, provider and
// name is optional; what is not given is not sent.
type Model struct {
	ID          string   `yaml:"id" json:"id" jsonschema:"required,minLength=1,maxLength=64,pattern=^[A-Za-z0-9][A-Za-z0-9._-]*$,description=What arms call this model" jsonschema_extras:"errorMessage=want an id of letters and digits with . _ or - inside"`
	Provider    string   `yaml:"provider" json:"provider" jsonschema:"required,minLength=1,description=Wire format or preset: anthropic openai openai_responses google deepseek moonshot zai openrouter ollama vllm llamacpp simulated recorded"`
	Name        string   `yaml:"name,omitempty" json:"name,omitempty" jsonschema:"description=The provider's name of the model"`
	BaseURL     string   `yaml:"base_url,omitempty" json:"base_url,omitempty" jsonschema:"pattern=^https?://[^/@]+(/.*)?$,description=Another endpoint that speaks the provider's wire format" jsonschema_extras:"errorMessage=want an address such as http://127.0.0.1:8080/v1 without a password in it"`
	APIKeyEnv   string   `yaml:"api_key_env,omitempty" json:"api_key_env,omitempty" jsonschema:"writeOnly=true,maxLength=64,pattern=^[A-Z_][A-Z0-9_]*$,description=Environment variable that holds the key; a default per provider; not needed on loopback" jsonschema_extras:"errorMessage=want the name of an environment variable such as OPENAI_API_KEY"`
	Temperature *float64 `yaml:"temperature,omitempty" json:"temperature,omitempty" jsonschema:"minimum=0,maximum=2"`
	TopP        *float64 `yaml:"top_p,omitempty" json:"top_p,omitempty" jsonschema:"minimum=0,maximum=1"`
	Seed        *int64   `yaml:"seed,omitempty" json:"seed,omitempty" jsonschema:"description=Sent to providers that take one"`
	MaxTokens   int      `yaml:"max_tokens,omitempty" json:"max_tokens,omitempty" jsonschema:"minimum=0,description=Limit of visible output tokens"`
	Reasoning   struct {
		Effort    string `yaml:"effort,omitempty" json:"effort,omitempty" jsonschema:"description=The provider's word: minimal low medium high …"`
		Budget    int    `yaml:"budget,omitempty" json:"budget,omitempty" jsonschema:"minimum=0,description=Thinking tokens allowed"`
		Allowance int    `yaml:"allowance,omitempty" json:"allowance,omitempty" jsonschema:"minimum=0,description=Tokens added to max_tokens where thinking counts in the same limit"`
	} `yaml:"reasoning,omitempty" json:"reasoning,omitempty"`
	Structured string `yaml:"structured,omitempty" json:"structured,omitempty" jsonschema:"enum=none,enum=schema,enum=tool,description=How a structured answer is asked for: not at all (default) or by JSON Schema or by a forced tool call"`
	Limits     struct {
		RequestsPerMinute float64 `yaml:"requests_per_minute,omitempty" json:"requests_per_minute,omitempty" jsonschema:"minimum=0"`
		TokensPerMinute   float64 `yaml:"tokens_per_minute,omitempty" json:"tokens_per_minute,omitempty" jsonschema:"minimum=0"`
		Concurrency       int     `yaml:"concurrency,omitempty" json:"concurrency,omitempty" jsonschema:"minimum=0,description=Ceiling for this model; execution.concurrency when not given"`
	} `yaml:"limits,omitempty" json:"limits,omitempty"`
	Price    *Price `yaml:"price,omitempty" json:"price,omitempty" jsonschema:"description=Overrides the shipped price list"`
	Cassette string `yaml:"cassette,omitempty" json:"cassette,omitempty" jsonschema:"description=File of recorded HTTP exchanges (provider: recorded)"`
	// Skill is the profile of a simulated model.
	Skill *Skill `yaml:"skill,omitempty" json:"skill,omitempty" jsonschema:"description=Error rates of a simulated model (provider: simulated)"`
}

// A Price is in US dollars per million tokens.
type Price struct {
	Input      float64  `yaml:"input" json:"input" jsonschema:"required,minimum=0"`
	Output     float64  `yaml:"output" json:"output" jsonschema:"required,minimum=0"`
	Cached     *float64 `yaml:"cached,omitempty" json:"cached,omitempty" jsonschema:"minimum=0,description=Input tokens read from the provider's cache; the input price when not given"`
	CacheWrite *float64 `yaml:"cache_write,omitempty" json:"cache_write,omitempty" jsonschema:"minimum=0"`
}

// A Skill says how often a simulated model errs, and in which way. All rates
// are probabilities of one unit (a field) or one answer.
type Skill struct {
	Miss      float64 `yaml:"miss,omitempty" json:"miss,omitempty" jsonschema:"minimum=0,maximum=1,description=A present value is called missing"`
	Wrong     float64 `yaml:"wrong,omitempty" json:"wrong,omitempty" jsonschema:"minimum=0,maximum=1,description=A present value is read wrong"`
	Invent    float64 `yaml:"invent,omitempty" json:"invent,omitempty" jsonschema:"minimum=0,maximum=1,description=A value is given where there is none"`
	Fabricate float64 `yaml:"fabricate,omitempty" json:"fabricate,omitempty" jsonschema:"minimum=0,maximum=1,description=A quote is made up"`
	Malformed float64 `yaml:"malformed,omitempty" json:"malformed,omitempty" jsonschema:"minimum=0,maximum=1,description=The answer cannot be read"`
}

// Execution says how the plan is carried out. None of it changes what is
// asked, but for Replicates and Seed.
type Execution struct {
	Concurrency int        `yaml:"concurrency" json:"concurrency" jsonschema:"minimum=1,default=16,description=Most calls in flight (default 16)"`
	Retries     []Duration `yaml:"retries" json:"retries" jsonschema:"description=How long to wait before each retry (default 10s 30s 90s)"`
	Timeout     Duration   `yaml:"timeout" json:"timeout" jsonschema:"description=Longest wait for one answer (default 60s)"`
	Delay       Duration   `yaml:"delay,omitempty" json:"delay,omitempty" jsonschema:"description=Pause between replicates of one item and arm"`
	Replicates  int        `yaml:"replicates" json:"replicates" jsonschema:"minimum=1,default=1,description=How often each item is given to each arm (default 1)"`
	Seed        int64      `yaml:"seed" json:"seed" jsonschema:"default=42,description=Seed of every random draw (default 42)"`
	MaxCost     float64    `yaml:"max_cost,omitempty" json:"max_cost,omitempty" jsonschema:"minimum=0,description=US dollars the run may spend"`
	MaxCalls    int        `yaml:"max_calls,omitempty" json:"max_calls,omitempty" jsonschema:"minimum=0,description=Requests the run may send"`
	MaxTokens   int        `yaml:"max_tokens,omitempty" json:"max_tokens,omitempty" jsonschema:"minimum=0,description=Tokens the run may use"`
	MaxFailed   *float64   `yaml:"max_failed,omitempty" json:"max_failed,omitempty" jsonschema:"minimum=0,maximum=1,default=0.05,description=Share of failed trials above which the results are not used to decide (default 0.05)"`
}

// A Compare names two arms. Names of kernels (or methods …) stand for every
// arm made of them: with several models the pair is compared within each.
type Compare struct {
	A       string   `yaml:"a" json:"a" jsonschema:"required,minLength=1"`
	B       string   `yaml:"b" json:"b" jsonschema:"required,minLength=1"`
	Primary bool     `yaml:"primary,omitempty" json:"primary,omitempty" jsonschema:"description=The question of the study; others are reported beside it"`
	Metrics []string `yaml:"metrics,omitempty" json:"metrics,omitempty" jsonschema:"description=Metrics to compare (default: the primary ones)"`
}

// Metrics says what is reported first and how a composite is weighed.
type Metrics struct {
	Primary          []string           `yaml:"primary,omitempty" json:"primary,omitempty"`
	Secondary        []string           `yaml:"secondary,omitempty" json:"secondary,omitempty"`
	CompositeWeights map[string]float64 `yaml:"composite_weights,omitempty" json:"composite_weights,omitempty" jsonschema:"description=Weights of the composite; they sum to 1"`
}

// Statistics says how estimates and comparisons are made.
type Statistics struct {
	Method     string   `yaml:"method,omitempty" json:"method,omitempty" jsonschema:"enum=paired_ttest,enum=wilcoxon,enum=permutation,enum=clustered,enum=mixed_effects,enum=mcnemar,default=paired_ttest,description=Planned test of a comparison (default paired_ttest)"`
	Alpha      float64  `yaml:"alpha,omitempty" json:"alpha,omitempty" jsonschema:"exclusiveMinimum=0,exclusiveMaximum=1,default=0.05,description=Significance level; intervals cover 1−alpha (default 0.05)"`
	Correction string   `yaml:"correction,omitempty" json:"correction,omitempty" jsonschema:"enum=none,enum=bonferroni,enum=holm,enum=hochberg,enum=bh,enum=by,default=none,description=Correction over the primary comparisons (default none)"`
	ClusterBy  string   `yaml:"cluster_by,omitempty" json:"cluster_by,omitempty" jsonschema:"enum=document,default=document,description=Unit of resampling (default document)"`
	Resamples  int      `yaml:"resamples,omitempty" json:"resamples,omitempty" jsonschema:"minimum=1000,maximum=1000000,default=10000,description=Resamples of bootstraps and of permutation where it cannot enumerate (default 10000)"`
	Intervals  string   `yaml:"intervals,omitempty" json:"intervals,omitempty" jsonschema:"enum=analytic,enum=bootstrap,default=analytic,description=Intervals of single arms: Wilson's for yes-or-no metrics and the cluster-robust t for others (default)\\, or a bootstrap over clusters\\, BCa"`
	Random     []string `yaml:"random,omitempty" json:"random,omitempty" jsonschema:"uniqueItems=true,description=Strata that mixed_effects takes as random intercepts beside the item (default all)"`
}

// Decide holds the rules a gate applies. Require are conditions that must all
// hold; Outcomes are tried in order and the first whose condition holds names
// the result.
type Decide struct {
	Require  []Condition `yaml:"require,omitempty" json:"require,omitempty" jsonschema:"description=Conditions that must all hold for the gate to pass"`
	Outcomes []Class     `yaml:"outcomes,omitempty" json:"outcomes,omitempty" jsonschema:"description=Ordered classes of result; the first that applies is it"`
}

// A Condition is one boolean expression over named results.
type Condition struct {
	Name string `yaml:"name" json:"name" jsonschema:"required,minLength=1"`
	That string `yaml:"that" json:"that" jsonschema:"required,minLength=1,description=Expression such as diff('ctn'\\, 'idiomatic'\\, 'composite') >= 0.05"`
}

// A Class is one possible outcome of a study.
type Class struct {
	Name    string `yaml:"name" json:"name" jsonschema:"required,minLength=1"`
	When    string `yaml:"when,omitempty" json:"when,omitempty" jsonschema:"description=Expression; the last outcome may leave it out and applies to everything else"`
	Verdict string `yaml:"verdict" json:"verdict" jsonschema:"required,enum=pass,enum=fail,enum=undecided"`
	Advice  string `yaml:"advice,omitempty" json:"advice,omitempty" jsonschema:"description=What to do then"`
}

// Output says where results go.
type Output struct {
	ResultsDir     string `yaml:"results_dir,omitempty" json:"results_dir,omitempty" jsonschema:"minLength=1,default=results,description=Folder for results\\, relative to the study file (default results)"`
	SaveRaw        bool   `yaml:"save_raw,omitempty" json:"save_raw,omitempty" jsonschema:"description=Write raw answers beside the report"`
	Latency        bool   `yaml:"latency,omitempty" json:"latency,omitempty" jsonschema:"description=Show how long calls took: the one thing in a report that is not the same when a study is run again"`
	GenerateReport *bool  `yaml:"generate_report,omitempty" json:"generate_report,omitempty" jsonschema:"default=true,description=Write report files after a run (default true)"`
}
