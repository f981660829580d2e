package extraction

import (
	"github.com/invopop/jsonschema"

	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/extraction/synthetic"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// A Study is a study file of this suite: the common keys and its own.
type Study struct {
	study.Study
	Documents Documents       `json:"data" jsonschema:"required,description=Source of the documents and their gold" jsonschema_extras:"former=documents"`
	Schemas   string          `json:"schemas,omitempty" jsonschema:"default=schemas,description=Folder of schema files; shipped schemas are found without it (default schemas)"`
	Kernels   []Kernel        `json:"arms,omitempty" jsonschema:"description=What is compared: prompts and pipelines. Each .txt file of the folder kernels next to the study is a prompt too\\, unless an entry has its name" jsonschema_extras:"former=kernels"`
	Answers   string          `json:"answers,omitempty" jsonschema:"enum=evidence,enum=plain,description=What prompts ask for: entries with evidence (the default)\\, or a plain object of values; answers are read in both forms"`
	Quotes    string          `json:"quotes,omitempty" jsonschema:"enum=strict,enum=typography,description=strict (the default): a quote is in the document character for character but for white space; typography: curly quotes\\, dashes and hyphens at line ends may differ"`
	Lists     map[string]List `json:"lists,omitempty" jsonschema:"description=How the records of lists are aligned with gold\\, by the name of the list\\, such as {items: {keys: [sku]}}"`
	Metrics   Metrics         `json:"metrics,omitempty"`

	// forPeople lets the study be opened to make its gold: documents need none, and the file
	// that will have it need not exist.
	forPeople bool
}

// Metrics selects the reported metrics and the weights of the composite.
type Metrics struct {
	study.Metrics
	CompositeWeights map[string]float64 `json:"composite_weights,omitempty" jsonschema:"description=Weights of the composite; they must sum to 1"`
}

// Common is the part common to all suites.
func (s *Study) Common() *study.Study {
	if s.plain() && len(s.Metrics.Primary) == 0 {
		s.Metrics.Primary = []string{metricF1}
		if len(s.Metrics.Secondary) == 0 {
			s.Metrics.Secondary = []string{metricPrecision, metricRecall, metricValue, metricHallucination}
		}
	}
	s.Study.Metrics = s.Metrics.Metrics
	return &s.Study
}

func (s *Study) plain() bool { return s.Answers == "plain" }

// JSONSchemaExtend rejects negative weights.
func (Metrics) JSONSchemaExtend(s *jsonschema.Schema) {
	if p, ok := s.Properties.Get("composite_weights"); ok {
		p.AdditionalProperties = &jsonschema.Schema{Type: "number", Minimum: "0"}
	}
}

// Documents is the source of documents.
type Documents struct {
	Source string `json:"source" jsonschema:"required,enum=jsonl,enum=directory,enum=mixed,enum=synthetic,description=jsonl: one record per line of JSON Lines\\, or per row of a table. directory: NAME.txt or NAME.pdf with NAME.json. mixed: several of these. synthetic: generated from a seed"`
	Path   string `json:"path,omitempty" jsonschema:"description=File or folder, relative to the study file"`
	Count  int    `json:"count,omitempty" jsonschema:"minimum=0,description=Use only so many documents\\, drawn by execution.seed so that each type\\, difficulty and split has its share (default all)"`
	Parts  []Part `json:"parts,omitempty" jsonschema:"description=The parts of a mixed source"`
	Gold   string `json:"gold,omitempty" jsonschema:"description=File of gold that scruple annotate --lock wrote: the study has its documents only\\, with this gold instead of their own"`
	Mapping
	Synthetic
	Verification string `json:"verification,omitempty" jsonschema:"description=Checklist of the verification of gold\\, a CSV file of scruple extraction generate"`
}

// Synthetic are the keys of a synthetic source.
type Synthetic struct {
	Seed  *uint64 `json:"seed,omitempty" jsonschema:"description=Seed of synthetic documents (default 42)"`
	Split string  `json:"split,omitempty" jsonschema:"enum=dev,enum=test,description=Use only this set of synthetic documents (default both)"`
	synthetic.Levers
}

func (s Synthetic) zero() bool { return s.Seed == nil && s.Split == "" && s.Levers.Zero() }

// A Part is one source of a mixed one.
type Part struct {
	Name   string `json:"name,omitempty" jsonschema:"description=Stratum of the results (default: the file name)"`
	Source string `json:"source" jsonschema:"required,enum=jsonl,enum=directory,enum=synthetic"`
	Path   string `json:"path,omitempty"`
	Synthetic
	Count int    `json:"count,omitempty" jsonschema:"minimum=0,description=Use only so many documents\\, drawn by execution.seed so that each type\\, difficulty and split has its share (default all)"`
	Set   string `json:"set,omitempty" jsonschema:"enum=dev,enum=test,description=Split of the documents that have none"`
}

// A Kernel is one thing under test. It has exactly one of Path, Outputs, Exec,
// HTTP, Builtin and Of.
type Kernel struct {
	kit.Entry
	Path    string   `json:"path,omitempty" jsonschema:"description=Prompt file with {{SCHEMA}} and {{OUTPUT_FORMAT}}"`
	Builtin string   `json:"builtin,omitempty" jsonschema:"enum=null_baseline,enum=heuristic,enum=ctn_extraction,enum=idiomatic,enum=literal,enum=idiomatic_long,enum=placebo_math,enum=no-v1,enum=no-v2,enum=no-v5,enum=no-v7,enum=minimal,description=Something that ships with the suite"`
	Of      string   `json:"of,omitempty" jsonschema:"description=Name of the kernel this one is made from by leaving out blocks"`
	Remove  []string `json:"remove,omitempty" jsonschema:"description=Tensor blocks to remove, such as v1"`
	Enabled *bool    `json:"enabled,omitempty" jsonschema:"description=false leaves the kernel out (default true)"`
}

func (k *Kernel) enabled() bool { return k.Enabled == nil || *k.Enabled }

// weights are the weights of the composite. The schema rejects negative ones and
// [checkWeights] checks the sum.
func (s *Study) weights() Weights {
	given := s.Metrics.CompositeWeights
	if len(given) == 0 {
		return DefaultWeights
	}
	return Weights{Value: given[metricValue], Evidence: given[metricEvidence], Page: given[metricPage],
		Status: given[metricStatus], Schema: given[metricSchema]}
}
