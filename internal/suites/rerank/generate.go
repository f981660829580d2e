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
		Long: `Writes a data set of the suite into DIR, the same for the same seed and sizes,
and checks it. Nothing in it is real but what --from gives: a file of items
(JSON Lines), for which reviews, people and requests are then generated.`,
		New: func(f *flag.FlagSet) func(args []string) (fmt.Stringer, error) {
			var size dataSize
			f.Uint64Var(&size.Seed, "seed", 42, "of everything that is drawn")
			f.IntVar(&size.Items, "items", 0, "items (default 100, or all of --from)")
			f.IntVar(&size.Reviews, "reviews", 0, "reviews (default 12 an item)")
			f.IntVar(&size.Users, "users", 0, "people (default a tenth of the reviews)")
			f.IntVar(&size.Requests, "requests", 60, "requests")
			f.StringVar(&size.From, "from", "", "file of items to build upon")
			return func(args []string) (fmt.Stringer, error) {
				d, notes, err := generateData(size)
				if err != nil {
					return nil, err
				}
				files, err := kit.WriteFiles(args[0], d.Files())
				return kit.Written{Files: files, Notes: append([]string{}, notes...)}, err
			}
		},
	}
}

// A dataSize says what data set to generate; 0 stands for the default.
type dataSize struct {
	Seed                            uint64
	Items, Reviews, Users, Requests int
	From                            string // file of items to take instead of generating them
}

// generateData generates a data set. The notes say what of real items could not be
// read.
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
		notes = append(notes, fmt.Sprintf("%d of %d requests repeat another: there are not enough different ones for so few items", d.Repeated, size.Requests))
	}
	return d, notes, nil
}

// given reads items, and what may be wrong with them.
func given(path string) (items []*catalog.Item, notes []string, err error) {
	c, findings, err := catalog.Load(catalog.Files{Items: path})
	if err != nil {
		return nil, nil, fmt.Errorf("reading items: %w", err)
	}
	errs, notes := catalog.Split(findings)
	return c.Items, notes, study.Errors(errs).Err()
}
