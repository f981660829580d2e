package rerank

import (
	"flag"
	"fmt"
	"path/filepath"

	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
	"github.com/scruple-eval/scruple/internal/suites/rerank/generate"
)

func generateCommand() kit.Command {
	return kit.Command{
		Name:  "generate",
		Args:  []string{"DIR"},
		Short: "generate synthetic data with known answers",
		Long: `Generates and validates a data set in DIR. The same seed and sizes give the same
data. With --from, a file of items, only the reviews, people and
requests are synthetic.`,
		New: func(f *flag.FlagSet) func(kit.Call) (fmt.Stringer, error) {
			var o generate.Options
			f.Uint64Var(&o.Seed, "seed", 42, "random seed")
			f.IntVar(&o.Items, "items", 0, "items (default 100, or all of --from)")
			f.IntVar(&o.Reviews, "reviews", 0, "reviews (default 12 per item)")
			f.IntVar(&o.Users, "users", 0, "people (default one per 10 reviews)")
			f.IntVar(&o.Requests, "requests", 60, "requests")
			from := f.String("from", "", "file of items to use")
			return func(c kit.Call) (fmt.Stringer, error) {
				notes := []string{}
				if *from != "" {
					var err error
					if o.Base, notes, err = given(*from); err != nil {
						return nil, err
					}
					o.Source = filepath.Base(*from)
				}
				d, err := generate.Generate(o)
				if err != nil {
					return nil, fmt.Errorf("generating data: %w", err)
				}
				if d.Repeated > 0 {
					notes = append(notes, fmt.Sprintf("%d of %d requests are duplicates: generate more items to avoid them", d.Repeated, o.Requests))
				}
				files, err := kit.WriteFiles(c.Args[0], d.Files())
				return kit.Written{Files: files, Notes: append([]string{}, notes...)}, err
			}
		},
	}
}

// given reads a file of items. The notes are warnings.
func given(path string) (items []*catalog.Item, notes []string, err error) {
	c, findings, err := catalog.Load(catalog.Files{Items: path})
	if err != nil {
		return nil, nil, fmt.Errorf("reading items: %w", err)
	}
	errs, notes := catalog.Split(findings)
	return c.Items, notes, study.Errors(errs).Err()
}
