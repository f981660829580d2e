package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/dataset/convert"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/report"
	"github.com/scruple-eval/scruple/internal/study"
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
			return printJSON(a.out, map[string]any{"suite": entry.Suite.Name, "files": files})
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
		x, _, err := a.loadFor(c.Context(), args[0])
		if err != nil {
			return err
		}
		defer x.Close()
		if err := errors.Join(x.CheckScorer(), a.tryPipelines(x)); err != nil {
			return err
		}
		summary := map[string]any{"study": x.Study.Name, "suite": x.Study.Suite, "items": len(x.Bench.Items()), "arms": x.ArmIDs(), "trials": x.Plan.Len()}
		a.say("%s is good: %d items, %d arms (%s), %d trials", args[0], len(x.Bench.Items()), len(x.Bench.Arms()), strings.Join(x.ArmIDs(), ", "), x.Plan.Len())
		if list := x.Facts(); list != nil {
			facts := map[string]int{}
			var words []string
			for _, f := range list {
				facts[f.Name] = f.N
				words = append(words, fmt.Sprintf("%s %d", f.Name, f.N))
			}
			a.say("%s", strings.Join(words, ", "))
			summary["facts"], summary["warnings"] = facts, append([]string{}, x.Warnings()...)
			for _, text := range x.Warnings() {
				a.say("warning: %s", report.PlainLine(text))
			}
		}
		if a.json {
			return printJSON(a.out, summary)
		}
		return nil
	})
}

func schemaVerb(a *app) *cobra.Command {
	return verb("schema SUITE", "print the JSON Schema of a suite's study files", `
For editors: save it, and begin the study file with
  # yaml-language-server: $schema=FILE`, cobra.ExactArgs(1), func(_ *cobra.Command, args []string) error {
		entry, err := suiteCalled(args[0])
		if err != nil {
			return err
		}
		b, err := study.Schema(entry.NewStudy(), "https://scruple.invalid/schema/"+entry.Suite.Name+".json", "Scruple study: "+entry.Suite.Title)
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
		x, _, err := a.loadFor(c.Context(), args[0])
		if err != nil {
			return err
		}
		defer x.Close()
		results, err := x.Preflight()
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
		return experiment.CheckCases(results)
	})
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
