package rerank

import (
	"fmt"
	"os"

	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
	"github.com/scruple-eval/scruple/internal/suites/rerank/generate"
	"github.com/scruple-eval/scruple/internal/suites/rerank/osm"
)

// A Making says what data set to make up.
type Making struct {
	Seed                            uint64
	Items, Reviews, Users, Requests int
	// From is a file of restaurants of OpenStreetMap to take instead of making
	// items up; "" makes them up.
	From string
}

// Make makes a data set up and writes it into a folder. It lists the files, and
// what of real items could not be read.
func Make(dir string, m Making) (files, notes []string, err error) {
	var base []*catalog.Item
	source := ""
	if m.From != "" {
		text, err := os.ReadFile(m.From)
		if err != nil {
			return nil, nil, fmt.Errorf("reading restaurants: %w", err)
		}
		items, said, err := osm.Convert(text)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", m.From, err)
		}
		base, source = items, osm.Attribution
		for _, n := range said {
			notes = append(notes, n.String())
		}
	} else if m.Items == 0 {
		m.Items = 100
	}
	if m.Reviews == 0 {
		m.Reviews = 12 * m.Items
		if m.Items == 0 {
			m.Reviews = 12 * len(base)
		}
	}
	d, err := generate.Generate(generate.Options{Seed: m.Seed, Items: m.Items, Reviews: m.Reviews, Users: m.Users, Requests: m.Requests, Base: base, Source: source})
	if err != nil {
		return nil, notes, fmt.Errorf("making data: %w", err)
	}
	if d.Repeated > 0 {
		notes = append(notes, fmt.Sprintf("%d of %d requests repeat another: there are not enough different ones for so few items", d.Repeated, m.Requests))
	}
	files, err = d.Write(dir)
	return files, notes, err
}
