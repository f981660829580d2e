package kit

import (
	"encoding/json"
	"iter"

	"github.com/scruple-eval/scruple/internal/eval"
)

// An Export writes a run in a form of the suite's own, as files in a folder.
type Export struct {
	Name string // as --format takes it
	Doc  string // what is written, to follow the name in help
	// Write writes the run of a bench into dir and says what it wrote, to follow
	// the word "wrote".
	Write func(b Bench, k Kept, dir string) (string, error)
}

// Kept reads what is kept of a run. Outcomes and calls come in the order of the
// plan.
type Kept interface {
	Run() Run
	Outcomes() iter.Seq2[eval.Judged, error]
	Calls() iter.Seq2[eval.Call, error]
	// Estimates lists those of metrics over all items, by arm and then in the
	// order of the names. An error says that the run was not analysed.
	Estimates(metrics ...string) ([]Estimate, error)
}

// A Run is what is known of a run as a whole. Times are RFC 3339.
type Run struct {
	ID         string
	Study      string // its name
	StudyJSON  json.RawMessage
	Overrides  []string
	Seed       int64
	Replicates int
	Created    string
	Version    string // of the program that made it
	Exported   string
	ExportedBy string // version of the program that exports it
}

// An Estimate is a metric of an arm over all items.
type Estimate struct {
	Arm    string
	Levels []eval.Level
	Metric string
	eval.Measured
}
