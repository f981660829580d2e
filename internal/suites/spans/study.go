package spans

import (
	"github.com/scruple-eval/scruple/internal/spanfile"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/suites/spans/label"
)

// A Study is a study file of this suite: the common keys and its own.
type Study struct {
	study.Study
	Records   []Records      `json:"data" jsonschema:"required,minItems=1,description=Files of texts\\, with or without gold spans" jsonschema_extras:"former=records"`
	Taxonomy  label.Taxonomy `json:"taxonomy,omitempty" jsonschema:"description=Roles of spans and kinds of error (default: those of video prompts)"`
	Sections  []label.Header `json:"sections,omitempty" jsonschema:"description=Headers that begin a section (default: technical specifications and alternatives in bold)"`
	Judging   kit.Judging    `json:"judge,omitempty" jsonschema:"description=How the judge is asked about the spans of a text"`
	Labellers []Labeller     `json:"arms" jsonschema:"required,minItems=1,description=What is compared: prompts\\, files of spans\\, pipelines and the lexicon" jsonschema_extras:"former=labellers"`
	Human     string         `json:"human,omitempty" jsonschema:"description=JSON Lines file of errors that people found\\, to measure the judge: id\\, arm\\, spans and result\\, as scruple export --format people writes it"`
}

// Records is a file of texts.
type Records struct {
	Path    string        `json:"path" jsonschema:"required,minLength=1,description=File in any format that the suite reads\\, relative to the study file"`
	Offsets spanfile.Unit `json:"offsets,omitempty" jsonschema:"enum=code_points,enum=utf16,enum=bytes,description=Unit of offsets (default: that of the format)"`
	Group   string        `json:"group,omitempty" jsonschema:"description=Results are broken down by it (default: that of the file)"`
	Count   int           `json:"count,omitempty" jsonschema:"minimum=0,description=Use only the first count texts (default all)"`
}

// A Labeller is one thing under test.
type Labeller struct {
	kit.Entry
	Prompt  string        `json:"prompt,omitempty" jsonschema:"description=Instructions with {{ROLES}}; the text follows as a message of its own"`
	Path    string        `json:"path,omitempty" jsonschema:"description=File with the instructions\\, relative to the study file"`
	Builtin string        `json:"builtin,omitempty" jsonschema:"enum=labeller,enum=lexicon,description=The built-in prompt\\, or the labeller that finds the words of a list (default: that of the arm's name)"`
	Spans   string        `json:"spans,omitempty" jsonschema:"description=File of existing spans in any format that the suite reads\\, such as a snapshot\\, whose judgements are used"`
	Offsets spanfile.Unit `json:"offsets,omitempty" jsonschema:"enum=code_points,enum=utf16,enum=bytes,description=Unit of offsets in spans (default: that of the format)"`
	System  string        `json:"system,omitempty" jsonschema:"description=System whose spans are used\\, of a WNUT17 file"`
	Lexicon string        `json:"lexicon,omitempty" jsonschema:"description=JSON file of words by role\\, for builtin lexicon (default: words of video prompts)"`
}
