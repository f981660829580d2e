package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/study"
)

func schemaVerb(a *app) *cobra.Command {
	return verb("schema SUITE", "print the JSON Schema of a suite's study files", `
For editors: save it and begin the study file with
  # yaml-language-server: $schema=FILE`, cobra.ExactArgs(1), func(_ *cobra.Command, args []string) error {
		entry, err := suiteCalled(args[0])
		if err != nil {
			return err
		}
		b, err := study.Schema(entry.Study(), "https://scruple.invalid/schema/"+entry.Name+".json", "Scruple study: "+entry.Title)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(a.out, strings.TrimSpace(string(b)))
		return err
	})
}
