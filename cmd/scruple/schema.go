package main

import (
	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites"
)

func schemaVerb(a *app) *cobra.Command {
	return a.verb("schema", func(_ *cobra.Command, args []string) error {
		const ids = "https://scruple.invalid/schema/"
		if len(args) == 0 {
			all := map[string]any{}
			for _, s := range suites.All() {
				all[s.Name] = s.Study()
			}
			return a.raw(study.SchemaOfAll(all, ids+"study.json", "Scruple study"))
		}
		entry, err := suiteCalled(args[0])
		if err != nil {
			return err
		}
		return a.raw(study.Schema(entry.Study(), ids+entry.Name+".json", "Scruple study: "+entry.Title))
	})
}

// raw prints data as they are.
func (a *app) raw(data []byte, err error) error {
	if err == nil {
		_, err = a.out.Write(data)
	}
	return err
}
