package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/disk"
	"github.com/scruple-eval/scruple/internal/suites"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

func importVerb(a *app) *cobra.Command {
	var opt kit.ImportOptions
	var output string
	c := verb("import FORMAT FILE...", "convert a data set into documents with gold, or recorded results into a study", `
Formats:
`+importFormats()+`

Prints how much was kept and dropped, and why.`, cobra.MinimumNArgs(2), func(_ *cobra.Command, args []string) error {
		return a.importData(args[0], args[1:], output, opt)
	})
	c.Flags().StringVar(&output, "out", "", "file to write (required)")
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

func (a *app) importData(format string, paths []string, output string, opt kit.ImportOptions) error {
	for _, s := range suites.All() {
		for _, i := range s.Imports {
			if i.Name != format {
				continue
			}
			if output == "" {
				return errors.New("import: give the output file with --out")
			}
			data, report, err := converted(i, paths, output, opt)
			if err != nil {
				return fmt.Errorf("import: %w", err)
			}
			if err := writeInto(output, data, paths...); err != nil {
				return err
			}
			return a.result(map[string]any{"files": []string{output}, "report": report}, func() {
				a.say("%s\nwrote %s", strings.TrimRight(fmt.Sprint(report), "\n"), output)
			})
		}
	}
	return fmt.Errorf("import: unknown format %q; see `scruple import --help`", format)
}

// converted is what an import makes of files.
func converted(i kit.Import, paths []string, output string, opt kit.ImportOptions) ([]byte, fmt.Stringer, error) {
	switch {
	case i.Study != nil && opt != kit.ImportOptions{}:
		return nil, nil, fmt.Errorf("--limit and --max-text: %s has no documents to choose from, its files are imported whole", i.Name)
	case i.Study != nil:
		return i.Study(paths, output)
	case len(paths) > 1:
		return nil, nil, fmt.Errorf("%s takes one file, and %d were given", i.Name, len(paths))
	}
	return i.Convert(paths[0], opt)
}

// writeInto writes a file made of others, and creates its folder.
func writeInto(path string, data []byte, from ...string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return disk.File{Path: path, Allow: notInput(from...)}.Write(disk.Bytes(data))
}
