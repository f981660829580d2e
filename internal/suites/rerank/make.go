package rerank

import (
	"fmt"
	"path/filepath"

	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
	"github.com/scruple-eval/scruple/internal/suites/rerank/generate"
)

// A Making says what data set to make up.
type Making struct {
	Seed                            uint64
	Items, Reviews, Users, Requests int
	// From is a file of items to take instead of making them up.
	From string
}

// Make makes a data set up and writes it into a folder. It lists the files, and
// what of real items could not be read.
func Make(dir string, m Making) (files, notes []string, err error) {
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

// given reads items, and what may be wrong with them.
func given(path string) (items []*catalog.Item, notes []string, err error) {
	c, findings, err := catalog.Load(catalog.Files{Items: path})
	if err != nil {
		return nil, nil, fmt.Errorf("reading items: %w", err)
	}
	errs, notes := catalog.Split(findings)
	return c.Items, notes, study.Errors(errs).Err()
}
