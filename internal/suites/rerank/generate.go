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
data. With --from, a JSON Lines file of items, only the reviews, people and
requests are synthetic.`,
		New: func(f *flag.FlagSet) func(kit.Call) (fmt.Stringer, error) {
			var size dataSize
			f.Uint64Var(&size.Seed, "seed", 42, "random seed")
			f.IntVar(&size.Items, "items", 0, "items (default 100, or all of --from)")
			f.IntVar(&size.Reviews, "reviews", 0, "reviews (default 12 per item)")
			f.IntVar(&size.Users, "users", 0, "people (default one per 10 reviews)")
			f.IntVar(&size.Requests, "requests", 60, "requests")
			f.StringVar(&size.From, "from", "", "file of items to use")
			return func(c kit.Call) (fmt.Stringer, error) {
				d, notes, err := generateData(size)
				if err != nil {
					return nil, err
				}
				files, err := kit.WriteFiles(c.Args[0], d.Files())
				return kit.Written{Files: files, Notes: append([]string{}, notes...)}, err
			}
		},
	}
}

// A dataSize is the size of a data set to generate; 0 means the default.
type dataSize struct {
	Seed                            uint64
	Items, Reviews, Users, Requests int
	From                            string // file of items to use instead of synthetic ones
}

// generateData generates a data set. The notes are warnings about the file of
// items and about repeated requests.
func generateData(size dataSize) (d *generate.Data, notes []string, err error) {
	var base []*catalog.Item
	source := ""
	if size.From != "" {
		if base, notes, err = given(size.From); err != nil {
			return nil, nil, err
		}
		source = filepath.Base(size.From)
	} else if size.Items == 0 {
		size.Items = 100
	}
	if size.Reviews == 0 {
		size.Reviews = 12 * size.Items
		if size.Items == 0 {
			size.Reviews = 12 * len(base)
		}
	}
	d, err = generate.Generate(generate.Options{Seed: size.Seed, Items: size.Items, Reviews: size.Reviews, Users: size.Users, Requests: size.Requests, Base: base, Source: source})
	if err != nil {
		return nil, notes, fmt.Errorf("generating data: %w", err)
	}
	if d.Repeated > 0 {
		notes = append(notes, fmt.Sprintf("%d of %d requests are duplicates: generate more items to avoid them", d.Repeated, size.Requests))
	}
	return d, notes, nil
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
