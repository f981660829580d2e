// Package suites lists the evaluation suites there are, each behind the same
// few functions. A suite works in types of its own; this is the edge at which
// they are erased, so that the command needs to know none of them.
//
// The package must not know any provider or store.
package suites

import (
	"fmt"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/extraction"
	"github.com/scruple-eval/scruple/internal/suites/preflight"
	"github.com/scruple-eval/scruple/internal/suites/rerank"
)

// An Entry is a suite as the command uses it.
type Entry struct {
	Suite eval.Suite
	// Primary and Secondary are the metrics reported where a study names none.
	Primary, Secondary []string
	// NewStudy makes an empty study of the suite's own type to load a file
	// into.
	NewStudy func() study.Any
	// Open binds the suite to a loaded study that NewStudy made. The error
	// lists everything that is wrong with the study's data.
	Open func(f *study.File, own study.Any) (Bench, error)
	// Init writes a study that runs into a folder and lists the files, the
	// study file first. It overwrites nothing.
	Init func(dir string) ([]string, error)
	// Preflight puts cases whose score is known through the scorer: the
	// suite's, and the user's from a folder that need not exist.
	Preflight func(dir string) ([]preflight.Result, error)
	// Make makes a data set up whose truth is known and writes it into a
	// folder: it lists the files, and what of real data could not be read. Nil
	// for suites that make nothing up.
	Make func(dir string, m Making) (files, notes []string, err error)
	// Explain shows what is true for an item of a study, or of one thing that is
	// asked of it: in words, and as a value that can be JSON. The study's data
	// need not be right. Nil for suites whose truth is annotated.
	Explain func(f *study.File, own study.Any, item, of string) (fmt.Stringer, error)
	// Shortcuts are flags for keys of the suite's studies.
	Shortcuts []Shortcut
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

// Shortcuts lists those that every study has.
func Shortcuts() []Shortcut {
	return []Shortcut{
		{Flag: "seed", Key: "execution.seed", Doc: "seed of everything that is drawn"},
		{Flag: "temperature", Key: "models[*].temperature", Doc: "temperature of every model"},
	}
}

// A Making says how much of what to make up, in the words of the one suite
// that does.
type Making = rerank.Making

// A Bench is a suite bound to a study, with the pipelines outside that its
// arms ask. It holds files open until it is closed.
type Bench interface {
	eval.Bench
	Pipelines() []eval.Pipeline
	Close() error
}

// opener erases the types of a suite's study and bench. The function it
// returns panics when it is given the study of another suite.
func opener[S any, B Bench](open func(*study.File, *S) (B, error)) func(*study.File, study.Any) (Bench, error) {
	return func(f *study.File, own study.Any) (Bench, error) {
		b, err := open(f, any(own).(*S))
		if err != nil {
			return nil, err
		}
		return b, nil
	}
}

// All lists the suites.
func All() []Entry {
	return []Entry{extractionEntry(), rerankEntry()}
}

func rerankEntry() Entry {
	return Entry{
		Suite:     rerank.Suite(),
		Primary:   rerank.Primary(),
		Secondary: rerank.Secondary(),
		NewStudy:  func() study.Any { return new(rerank.Study) },
		Open:      opener(rerank.Open),
		Init:      rerank.Init,
		Explain: func(f *study.File, own study.Any, item, of string) (fmt.Stringer, error) {
			return rerank.Explain(f, own.(*rerank.Study), item, of)
		},
		Make:      rerank.Make,
		Preflight: rerank.Preflight,
		Shortcuts: []Shortcut{
			{Flag: "attack", Key: "attacks.names", List: true, Doc: "none, all, or names of attacks"},
			{Flag: "defence", Key: "attacks.defence", Doc: "off, on or both"},
			{Flag: "shuffle", Key: "candidates.shuffle", Doc: "balanced, none, middle or random"},
		},
	}
}

// A Ranker is a bench whose outcomes are rankings of which one entry is right.
type Ranker interface {
	Ranking(t eval.Trial, o eval.Outcome) (ids []string, gold string, ok bool)
	Placement(t eval.Trial, o eval.Outcome) (eval.Placement, error)
	// DataHashes are those of what was read, by name.
	DataHashes() any
}

// A Warner is a bench whose data have something that may be meant, and facts to
// know of them.
type Warner interface {
	Warnings() []string
	Facts() []eval.Fact
}

func extractionEntry() Entry {
	return Entry{
		Suite:     extraction.Suite(),
		Primary:   extraction.Primary(),
		Secondary: extraction.Secondary(),
		NewStudy:  func() study.Any { return new(extraction.Study) },
		Open:      opener(extraction.Open),
		Init:      extraction.Init,
		Preflight: extraction.Preflight,
	}
}
