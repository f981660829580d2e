package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/dataset/convert"
	"github.com/scruple-eval/scruple/internal/report"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

func initVerb(a *app) *cobra.Command {
	return verb("init SUITE DIR", "make a study that runs, to start from", `
Writes a study file, data and what else the suite needs into DIR, which must
not hold any of these files yet. The study runs offline; what to change for
your own data and models stands in it.`, cobra.ExactArgs(2), func(_ *cobra.Command, args []string) error {
		entry, err := suiteCalled(args[0])
		if err != nil {
			return err
		}
		files, err := entry.Init(args[1])
		if err != nil {
			return err
		}
		if a.json {
			return printJSON(a.out, map[string]any{"suite": entry.Name, "files": files})
		}
		for _, f := range files {
			a.say("wrote %s", f)
		}
		a.say("\nRun it:  scruple run %s", files[0])
		return nil
	})
}

func validateVerb(a *app) *cobra.Command {
	return verb("validate STUDY|RUN", "check a study file and everything it names", `
Reads the study, its data, gold, schemas and prompts, checks the rules, and
runs the suite's pre-flight cases. Nothing is asked and nothing is written. All
findings are listed, each with file, line and remedy.`, cobra.ExactArgs(1), func(c *cobra.Command, args []string) error {
		l, err := a.loadFor(c.Context(), args[0])
		if err != nil {
			return err
		}
		defer l.close()
		if err := errors.Join(a.preflight(l), a.tryPipelines(l)); err != nil {
			return err
		}
		summary := map[string]any{"study": l.study.Name, "suite": l.study.Suite, "items": len(l.bench.Items()), "arms": armIDs(l), "trials": l.plan.Len()}
		a.say("%s is good: %d items, %d arms (%s), %d trials", args[0], len(l.bench.Items()), len(l.bench.Arms()), strings.Join(armIDs(l), ", "), l.plan.Len())
		if w, ok := l.bench.(kit.Warner); ok {
			facts := map[string]int{}
			var words []string
			for _, f := range w.Facts() {
				facts[f.Name] = f.N
				words = append(words, fmt.Sprintf("%s %d", f.Name, f.N))
			}
			a.say("%s", strings.Join(words, ", "))
			summary["facts"], summary["warnings"] = facts, append([]string{}, w.Warnings()...)
			for _, text := range w.Warnings() {
				a.say("warning: %s", report.PlainLine(text))
			}
		}
		if a.json {
			return printJSON(a.out, summary)
		}
		return nil
	})
}

func armIDs(l *loaded) []string {
	var ids []string
	for _, arm := range l.bench.Arms() {
		ids = append(ids, arm.ID)
	}
	return ids
}

func schemaVerb(a *app) *cobra.Command {
	return verb("schema SUITE", "print the JSON Schema of a suite's study files", `
For editors: save it, and begin the study file with
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

func preflightVerb(a *app) *cobra.Command {
	return verb("preflight STUDY|RUN", "run the suite's scorer on cases whose score is known", `
The same check runs before every run; one wrong case stops it before a call is
spent. Cases of your own go into the folder preflight beside the study.`, cobra.ExactArgs(1), func(c *cobra.Command, args []string) error {
		l, err := a.loadFor(c.Context(), args[0])
		if err != nil {
			return err
		}
		defer l.close()
		results, err := l.preflight()
		if err != nil {
			return err
		}
		if a.json {
			if err := printJSON(a.out, results); err != nil {
				return err
			}
		}
		for _, r := range results {
			a.say("%-6s %s", map[bool]string{true: "ok", false: "WRONG"}[r.OK()], r.Name)
			for _, w := range r.Wrong {
				a.say("         %s", w)
			}
		}
		return wrongCases(results)
	})
}

func (l *loaded) preflight() ([]kit.Result, error) {
	return l.entry.Preflight(l.file.Resolve("preflight"))
}

// preflight stops everything when the scorer is wrong about a known case.
func (a *app) preflight(l *loaded) error {
	results, err := l.preflight()
	if err != nil {
		return err
	}
	return wrongCases(results)
}

func wrongCases(results []kit.Result) error {
	var wrong []string
	for _, r := range results {
		if !r.OK() {
			wrong = append(wrong, r.Name+": "+strings.Join(r.Wrong, ", "))
		}
	}
	if len(wrong) > 0 {
		return exit(exitNotAllowed, fmt.Errorf("the scorer is wrong about %d of %d pre-flight cases; nothing was asked:\n  %s", len(wrong), len(results), strings.Join(wrong, "\n  ")))
	}
	return nil
}

func importVerb(a *app) *cobra.Command {
	var opt importOptions
	c := verb("import FORMAT FILE", "convert a data set into documents with gold", `
Formats:

  sroie      SROIE receipts, one a line: id, pages and gold (company, date, address, total)

What was kept, changed and dropped, and why, is counted and printed.`, cobra.ExactArgs(2), func(_ *cobra.Command, args []string) error {
		return a.importData(args[0], args[1], opt)
	})
	c.Flags().StringVar(&opt.output, "out", "", "file to write (required)")
	c.Flags().StringVar(&opt.schema, "schema", "", "schema the documents name (default: the format's own)")
	c.Flags().IntVar(&opt.limit, "limit", 0, "stop after so many documents")
	c.Flags().IntVar(&opt.maxText, "max-text", 0, "leave out documents with a longer text, in bytes")
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
		return fmt.Errorf("import: no format is called %q; see `scruple import --help`", format)
	case opt.output == "":
		return errors.New("import: name the file to write with --out")
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
