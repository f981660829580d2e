package kit

import (
	"encoding/json"
	"iter"

	"github.com/scruple-eval/scruple/internal/eval"
)

// An Export writes a run in a format of the suite, as files in a folder.
type Export struct {
	Name string // value of --format
	Doc  string // the files written, to follow the name in help
	// Packed is whether bundles have the files too. They then depend on the run alone.
	Packed bool
	// Write writes the run of a bench into dir and describes the files, to follow
	// the word "wrote".
	Write func(b Bench, k Kept, dir string) (string, error)
}

// Kept reads a stored run. Outcomes and calls are in the order of the plan.
type Kept interface {
	Run() Run
	Outcomes() iter.Seq2[eval.Judged, error]
	Calls() iter.Seq2[eval.Call, error]
	// Estimates lists the estimates of metrics over all items and by stratum, by arm and
	// then in the order of the names. It is an error if the run was not analysed.
	Estimates(metrics ...string) ([]Estimate, error)
	// Sessions lists the sessions of the run, oldest first.
	Sessions() ([]eval.Session, error)
	// Time writes the time of an [eval.Attempt] or [eval.Session] as RFC 3339.
	Time(micros int64) string
}

// A Run describes a run. Times are RFC 3339.
type Run struct {
	ID         string
	Study      string // its name
	StudyJSON  json.RawMessage
	Overrides  []string
	Seed       int64
	Replicates int
	Created    string
	Version    string // of the program that created it
	Exported   string
	ExportedBy string // version of the exporting program
}

// An Estimate is the estimate of a metric for an arm over all items.
type Estimate struct {
	Arm     string
	Levels  []eval.Level
	Metric  string
	Stratum *eval.Level // nil: all items
	eval.Measured
}
