// Package kit holds what every suite needs, written once: the suite as one
// value ([Suite]), the files of a new study, pre-flight cases, exports and
// commands of a suite's own, the ways a study can give an arm ([Planner]), and
// requests to models and pipelines.
//
// The program reads a [Suite] and knows no more of it: help, flags, exports and
// commands are made from its fields. A suite works in types of its own; they
// are erased here, in [Opener].
//
// The package must not know any suite, provider or store, and it asks nothing
// itself.
package kit

import (
	"fmt"
	"io/fs"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
)

// A Suite is one kind of evaluation, with everything the program needs of it.
type Suite struct {
	eval.Suite

	// Study makes an empty study of the suite's own type to load a file into.
	Study func() study.Any
	// Open binds the suite to a loaded study that Study made. The error lists
	// everything that is wrong with the study's data.
	Open func(f *study.File, own study.Any) (Bench, error)
	// Starter lists the files of a study that runs offline, study.yaml first.
	// The text NAME in it is replaced by the study's name.
	Starter func() ([]File, error)
	// Cases has pre-flight cases in its folder preflight; Check puts one of
	// them through the suite's reader and scorer.
	Cases fs.FS
	Check func(data []byte) (Result, error)
	// Explain is nil for suites whose truth is annotated.
	Explain *Explain

	Shortcuts []Shortcut
	Commands  []Command
	Exports   []Export
}

// An Explain shows what is true for an item of a study, or of one thing that
// is asked of it: in words, and as a value that can be JSON. The study's data
// need not be valid.
type Explain struct {
	Doc  string // what items are, and what is shown of them
	Show func(f *study.File, own study.Any, item, of string) (fmt.Stringer, error)
}

// A Bench is a suite bound to a study, with the pipelines outside that its
// arms ask. It holds files open until it is closed.
type Bench interface {
	eval.Bench
	Pipelines() []eval.Pipeline
	Close() error
}

// A Warner is a bench that warns of data that look wrong but are legal, and
// counts what its data hold.
type Warner interface {
	Warnings() []string
	Facts() []eval.Fact
}

// Opener erases the types of a suite's study and bench. The function it
// returns panics when it is given the study of another suite.
func Opener[S any, B Bench](open func(*study.File, *S) (B, error)) func(*study.File, study.Any) (Bench, error) {
	return func(f *study.File, own study.Any) (Bench, error) {
		b, err := open(f, any(own).(*S))
		if err != nil {
			return nil, err
		}
		return b, nil
	}
}

// A Shortcut is a flag that overrides one key of a study.
type Shortcut struct {
	Flag string
	Key  string // as -o takes it
	List bool   // the value is the elements of a list, with commas between
	Doc  string
}

// Assignment is the shortcut as -o takes it.
func (s Shortcut) Assignment(value string) string {
	if s.List {
		value = "[" + value + "]"
	}
	return s.Key + "=" + value
}
