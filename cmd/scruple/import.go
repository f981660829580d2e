package main

import (
	"errors"
	"fmt"
	"io/fs"
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

Prints how many documents and fields were kept and dropped, and why. Beside the
output it writes the schema that the documents name, schemas/NAME.json, unless a
file has this name; give the folder as schemas in the study. With --schema the
documents name yours, and none is written.`, cobra.MinimumNArgs(2), func(_ *cobra.Command, args []string) error {
		return a.importData(args[0], args[1:], output, opt)
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
			written, kept, err := writeBeside(output, i.Files, opt)
			if err != nil {
				return err
			}
			files := append([]string{output}, written...)
			return a.result(map[string]any{"files": files, "report": report}, func() {
				a.say("%s", strings.TrimRight(fmt.Sprint(report), "\n"))
				for _, file := range files {
					a.say("wrote %s", file)
				}
				for _, file := range kept {
					a.say("kept %s, which exists", file)
				}
			})
		}
	}
	return fmt.Errorf("import: unknown format %q; see `scruple import --help`", format)
}

// converted is what an import makes of files.
func converted(i kit.Import, paths []string, output string, opt kit.ImportOptions) ([]byte, fmt.Stringer, error) {
	switch {
	case i.Study != nil && opt != kit.ImportOptions{}:
		return nil, nil, fmt.Errorf("--schema, --limit and --max-text: %s has no documents to choose from, its files are imported whole", i.Name)
	case i.Study != nil:
		return i.Study(paths, output)
	case len(paths) > 1:
		return nil, nil, fmt.Errorf("%s takes one file, and %d were given", i.Name, len(paths))
	}
	return i.Convert(paths[0], opt)
}

// writeBeside writes the files that imported data refer to into the folder of the
// output. A file that exists may be the user's: it is kept.
func writeBeside(output string, files func(kit.ImportOptions) []kit.File, opt kit.ImportOptions) (written, kept []string, err error) {
	if files == nil {
		return nil, nil, nil
	}
	if info, err := os.Stat(output); err != nil || !info.Mode().IsRegular() {
		return nil, nil, err // a pipe has no folder
	}
	if info, err := os.Lstat(output); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		output = withoutLinks(output)
	}
	var missing []kit.File
	for _, f := range files(opt) {
		path := filepath.Join(filepath.Dir(output), filepath.FromSlash(f.Path))
		if _, err := os.Stat(path); err == nil {
			kept = append(kept, path)
		} else {
			missing = append(missing, f)
		}
	}
	written, err = kit.WriteFiles(filepath.Dir(output), missing)
	return written, kept, err
}

// writeInto writes a file made of others, and creates its folder.
func writeInto(path string, data []byte, from ...string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return disk.File{Path: path, Allow: notInput(from...)}.Write(disk.Bytes(data))
}
