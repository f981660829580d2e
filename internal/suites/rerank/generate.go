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
			var m making
			f.Uint64Var(&m.Seed, "seed", 42, "of everything that is drawn")
			f.IntVar(&m.Items, "items", 0, "items (default 100, or all of --from)")
			f.IntVar(&m.Reviews, "reviews", 0, "reviews (default 12 an item)")
			f.IntVar(&m.Users, "users", 0, "people (default a tenth of the reviews)")
			f.IntVar(&m.Requests, "requests", 60, "requests")
			f.StringVar(&m.From, "from", "", "file of items to build upon")
			return func(args []string) (fmt.Stringer, error) {
				d, notes, err := makeData(m)
				if err != nil {
					return nil, err
				}
				files, err := kit.WriteFiles(args[0], d.Files())
				return kit.Written{Files: files, Notes: append([]string{}, notes...)}, err
			}
		},
	}
}

// A making says what data set to generate.
type making struct {
	Seed                            uint64
	Items, Reviews, Users, Requests int
	// From is a file of items to take instead of generating them.
	From string
}

// makeData generates a data set. The notes say what of real items could not be
// read.
func makeData(m making) (d *generate.Data, notes []string, err error) {
	var base []*catalog.Item
	source := ""
	if m.From != "" {
		if base, notes, err = given(m.From); err != nil {
			return nil, nil, err
		}
		source = filepath.Base(m.From)
	} else if m.Items == 0 {
		m.Items = 100
	}
	if m.Reviews == 0 {
		m.Reviews = 12 * m.Items
		if m.Items == 0 {
			m.Reviews = 12 * len(base)
		}
	}
	d, err = generate.Generate(generate.Options{Seed: m.Seed, Items: m.Items, Reviews: m.Reviews, Users: m.Users, Requests: m.Requests, Base: base, Source: source})
	if err != nil {
		return nil, notes, fmt.Errorf("making data: %w", err)
	}
	if d.Repeated > 0 {
		notes = append(notes, fmt.Sprintf("%d of %d requests repeat another: there are not enough different ones for so few items", d.Repeated, m.Requests))
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
