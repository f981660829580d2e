package report

import (
	"slices"

	"github.com/scruple-eval/scruple/internal/eval"
)

// content is a report independent of the format. Every string is plain text, which
// the format must escape.
type content struct {
	Title    string // the study's name
	Version  string
	Suite    string
	Question string
	Banner   []string // prominent notices: simulated, unfinished
	Facts    []fact   // short ones
	Record   []fact   // what was registered before the run, and what was done since
	Sections []section
}

// A fact is a name and a value.
type fact = eval.Level

// told formats facts as name, separator, value.
func told(facts []fact, between string) []string {
	return mapped(facts, func(f fact) string { return f.Name + between + f.Value })
}

// A section is a chapter of the report.
type section struct {
	ID     string
	Title  string
	Blocks []block
}

// show adds tables, except those without rows.
func (s *section) show(in shown, tables ...*table) {
	for _, t := range tables {
		if len(t.Rows) > 0 {
			s.Blocks = append(s.Blocks, block{Table: t, In: in})
		}
	}
}

// visible returns the blocks that a format shows, and how many tables it leaves out.
func (s section) visible(shows ...shown) (blocks []block, left int) {
	for _, b := range s.Blocks {
		if slices.Contains(shows, b.In) {
			blocks = append(blocks, b)
		} else if b.Table != nil && (b.In == atLength || b.In == inFull) {
			left++
		}
	}
	return blocks, left
}

// shown says which formats show a block. By default all do.
type shown int

const (
	everywhere shown = iota
	inText           // a terminal and Markdown: HTML draws it
	briefly          // a terminal, unless verbose: the others have it at length
	atLength         // not a terminal, unless verbose
	inFull           // HTML, folded, and a verbose terminal: it tells a reader little
	filed            // Markdown and HTML: it is too long for a terminal
	drawn            // HTML alone
)

// A block is one element of a section. Exactly one field is set, besides In.
type block struct {
	In      shown
	Heading string
	Prose   string
	Answers []answer
	Verdict *verdict
	Warning []string
	List    []string
	Table   *table
	Figure  *figure
	Metrics []definition
	Samples *samples
	Prompts []prompt
}
