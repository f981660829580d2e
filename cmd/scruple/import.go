package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/scruple-eval/scruple/internal/disk"
	"github.com/scruple-eval/scruple/internal/evallog"
	"github.com/scruple-eval/scruple/internal/suites"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// importFormats lists the formats of all suites, for help.
func importFormats() string {
	var b strings.Builder
	for _, s := range importing() {
		for _, i := range s.Imports {
			fmt.Fprintf(&b, "\n  %-9s (%s)  %s", i.Name, s.Name, i.Doc)
		}
	}
	return b.String()
}

// importing lists the suites with their imports, among them those of results of other tools.
func importing() []kit.Suite {
	list := suites.All()
	for i := range list {
		if list[i].Name == "given" {
			list[i].Imports = evallog.Imports()
		}
	}
	return list
}

func (a *app) importData(o *opened) error {
	format, paths, output, folder := o.arg, o.rest, o.text("out"), o.text("to")
	opt := kit.ImportOptions{Limit: o.number("limit"), MaxText: o.number("max-text")}
	for _, s := range importing() {
		for _, i := range s.Imports {
			if i.Name != format {
				continue
			}
			if i.Folder != nil {
				return a.importFolder(i, paths, output, folder, opt)
			}
			if folder != "" {
				return fmt.Errorf("import: %s writes one file: give it with --out instead of --to", format)
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

// importFolder writes a study of the results of another tool.
func (a *app) importFolder(i kit.Import, paths []string, output, folder string, opt kit.ImportOptions) error {
	if output != "" || opt != (kit.ImportOptions{}) || folder == "" {
		return fmt.Errorf("import: %s writes a study: give its folder with --to, and neither --out, --limit nor --max-text", i.Name)
	}
	report, err := i.Folder(paths, folder)
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	return a.result(map[string]any{"report": report}, func() { a.say("%s", strings.TrimRight(fmt.Sprint(report), "\n")) })
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
