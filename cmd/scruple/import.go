package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/suites"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

func importVerb(a *app) *cobra.Command {
	var opt kit.ImportOptions
	var output string
	c := verb("import FORMAT FILE", "convert a data set into documents with gold", `
Formats:
`+importFormats()+`

Prints how many documents were kept, changed and dropped, and why.`, cobra.ExactArgs(2), func(_ *cobra.Command, args []string) error {
		return a.importData(args[0], args[1], output, opt)
	})
	c.Flags().StringVar(&output, "out", "", "file to write (required)")
	c.Flags().StringVar(&opt.Schema, "schema", "", "schema of the documents (default: that of the format)")
	c.Flags().IntVar(&opt.Limit, "limit", 0, "stop after this many documents")
	c.Flags().IntVar(&opt.MaxText, "max-text", 0, "skip documents with more text than this many bytes")
	return c
}

// importFormats lists the formats of all suites, for help.
func importFormats() string {
	var b strings.Builder
	for _, s := range suites.All() {
		for _, i := range s.Imports {
			fmt.Fprintf(&b, "\n  %-6s (%s)  %s", i.Name, s.Name, i.Doc)
		}
	}
	return b.String()
}

func (a *app) importData(format, path, output string, opt kit.ImportOptions) error {
	for _, s := range suites.All() {
		for _, i := range s.Imports {
			if i.Name != format {
				continue
			}
			if output == "" {
				return errors.New("import: give the output file with --out")
			}
			data, report, err := i.Convert(path, opt)
			if err != nil {
				return fmt.Errorf("import: %w", err)
			}
			if err := writeFile(output, data); err != nil {
				return err
			}
			if a.json {
				return printJSON(a.out, report)
			}
			_, err = fmt.Fprint(a.out, report)
			return err
		}
	}
	return fmt.Errorf("import: unknown format %q; see `scruple import --help`", format)
}
