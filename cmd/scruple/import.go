package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/dataset/convert"
)

func importVerb(a *app) *cobra.Command {
	var opt importOptions
	c := verb("import FORMAT FILE", "convert a data set into documents with gold", `
Formats:

  sroie      SROIE receipts, one per line: id, pages and gold (company, date, address, total)

Prints how many documents were kept, changed and dropped, and why.`, cobra.ExactArgs(2), func(_ *cobra.Command, args []string) error {
		return a.importData(args[0], args[1], opt)
	})
	c.Flags().StringVar(&opt.output, "out", "", "file to write (required)")
	c.Flags().StringVar(&opt.schema, "schema", "", "schema of the documents (default: that of the format)")
	c.Flags().IntVar(&opt.limit, "limit", 0, "stop after this many documents")
	c.Flags().IntVar(&opt.maxText, "max-text", 0, "skip documents with more text than this many bytes")
	return c
}

type importOptions struct {
	output, schema string
	limit, maxText int
}

func (a *app) importData(format, path string, opt importOptions) error {
	switch {
	case format == "cuad":
		return errors.New("import: CUAD is converted by a tool in the source of Scruple: go run ./tools/convert cuad -out OUT FILE")
	case format != "sroie":
		return fmt.Errorf("import: unknown format %q; see `scruple import --help`", format)
	case opt.output == "":
		return errors.New("import: give the output file with --out")
	}
	documents, report, err := convert.SROIE(path, convert.Options{Schema: opt.schema, Limit: opt.limit, MaxText: opt.maxText})
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	if err := writeFile(opt.output, documents); err != nil {
		return err
	}
	if a.json {
		return printJSON(a.out, report)
	}
	_, err = fmt.Fprintf(a.out, "%s\n%s\n", report.Markdown(), report.String())
	return err
}
