package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/disk"
	"github.com/scruple-eval/scruple/internal/evallog"
	"github.com/scruple-eval/scruple/internal/suites"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// An ownImport is an import of a suite.
type ownImport struct {
	suite string
	kit.Import
}

// importing lists the imports of all suites, among them those of results of other tools.
func importing() (list []ownImport) {
	for _, s := range suites.All() {
		if s.Name == "given" {
			s.Imports = evallog.Imports()
		}
		for _, i := range s.Imports {
			list = append(list, ownImport{s.Name, i})
		}
	}
	return list
}

// importFormats lists the formats of all suites, for help.
func importFormats() string {
	return strings.Join(mapped(importing(), func(i ownImport) string {
		return fmt.Sprintf("\n  %-9s (%s)  %s", i.Name, i.suite, i.Doc)
	}), "")
}

func (a *app) importData(o *opened) error {
	format, paths, output, folder := o.arg, o.rest, o.text("out"), o.text("to")
	opt := kit.ImportOptions{Limit: o.number("limit"), MaxText: o.number("max-text")}
	known := importing()
	at := slices.IndexFunc(known, func(i ownImport) bool { return i.Name == format })
	switch {
	case at < 0:
		return fmt.Errorf("import: unknown format %q; see `scruple import --help`", format)
	case known[at].Folder != nil:
		return a.importFolder(known[at].Import, paths, output, folder, opt)
	case folder != "":
		return fmt.Errorf("import: %s writes one file: give it with --out instead of --to", format)
	case output == "":
		return errors.New("import: give the output file with --out")
	}
	data, report, err := converted(known[at].Import, paths, output, opt)
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
