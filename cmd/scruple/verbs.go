package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/report"
	"github.com/scruple-eval/scruple/internal/text"
)

// verb makes a command. A wrong number of arguments is an error with the usage.
func verb(use, short, long string, args cobra.PositionalArgs, run func(*cobra.Command, []string) error) *cobra.Command {
	counted := func(c *cobra.Command, given []string) error {
		if args(c, given) == nil {
			return nil
		}
		return fmt.Errorf("%s: got %s; usage: %s", strings.TrimPrefix(c.CommandPath(), c.Root().Name()+" "), text.Plural(len(given), "argument", "arguments"), c.UseLine())
	}
	return &cobra.Command{Use: use, Short: short, Long: short + ".\n\n" + strings.TrimLeft(long, "\n"), Args: counted, RunE: run}
}

// printJSON prints a value as indented JSON.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// say prints text, or nothing with --json.
func (a *app) say(format string, args ...any) {
	if !a.json {
		fmt.Fprintln(a.out, report.PlainLines(fmt.Sprintf(format, args...)))
	}
}

// warn prints text on standard error.
func (a *app) warn(format string, args ...any) {
	fmt.Fprintln(a.err, report.PlainLines(fmt.Sprintf(format, args...)))
}

// open opens a file for reading; - is standard input.
func (a *app) open(file string) (io.ReadCloser, error) {
	if file == "-" {
		return io.NopCloser(a.in), nil
	}
	return os.Open(file)
}

// writeFile replaces a file atomically: neither a reader nor a crash can leave
// a partial file.
func writeFile(path string, data []byte) error {
	if err := replaceFile(path, data); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

func replaceFile(path string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	if err := errors.Join(err, tmp.Chmod(0o644), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
