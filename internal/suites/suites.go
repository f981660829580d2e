// Package suites lists the evaluation suites.
//
// The package must not import providers or the store.
package suites

import (
	"slices"
	"sync"

	"github.com/scruple-eval/scruple/internal/suites/atoms"
	"github.com/scruple-eval/scruple/internal/suites/extraction"
	"github.com/scruple-eval/scruple/internal/suites/given"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/suites/qa"
	"github.com/scruple-eval/scruple/internal/suites/rerank"
	"github.com/scruple-eval/scruple/internal/suites/soundness"
	"github.com/scruple-eval/scruple/internal/suites/spans"
)

// All lists the suites.
func All() []kit.Suite { return slices.Clone(all()) }

// all are made once: each command line asks for them many times.
var all = sync.OnceValue(func() []kit.Suite {
	return []kit.Suite{
		atoms.Suite(),
		extraction.Suite(),
		given.Suite(),
		qa.Suite(),
		rerank.Suite(),
		soundness.Suite(),
		spans.Suite(),
	}
})
