package kit

import (
	"fmt"

	"github.com/scruple-eval/scruple/internal/study"
)

// Files compares two files of results that other tools wrote: scruple compare
// BASELINE CURRENT.
type Files struct {
	Doc string // the files, for help
	// Is reports whether a file is one that Compare reads.
	Is func(path string) bool
	// Compare compares two files by the rules of a study, which is nil if none was
	// given.
	Compare func(baseline, current string, own study.Any) (Compared, error)
}

// Compared is the result of a comparison. It is printed as text without colours,
// and as JSON.
type Compared interface {
	fmt.Stringer
	// Text is the comparison for a terminal.
	Text(color bool) string
	Markdown() string
	// Regressed reports whether the current file is worse than the baseline.
	Regressed() bool
}
