package main

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/measure/trec"
	"github.com/scruple-eval/scruple/internal/text"
)

func measureVerb(a *app) *cobra.Command {
	c := &cobra.Command{Use: "measure", Short: "compute measures on files from other programs", Long: "Computes measures on files from other programs."}
	c.AddCommand(measureRankingVerb(a))
	return c
}

func measureRankingVerb(a *app) *cobra.Command {
	var run, qrels string
	var perQuery bool
	c := verb("ranking", "measure a TREC run against judgements, as trec_eval does",
		`Reads a run (query Q0 document rank score tag) and judgements (query iter
document relevance), plain or gzipped, and prints the means over the queries that
both files have. One file may be -, standard input. success_K is Hits@K. Ties are
broken as in trec_eval: by document id, descending; the rank column is ignored.
Queries left out are listed below the table, with --json on standard error.`, cobra.NoArgs,
		func(*cobra.Command, []string) error { return a.measureRanking(run, qrels, perQuery) })
	f := c.Flags()
	f.StringVar(&run, "run", "", "run file, - for standard input")
	f.StringVar(&qrels, "qrels", "", "judgements, - for standard input")
	f.BoolVar(&perQuery, "per-query", false, "also print every query")
	return c
}

func (a *app) measureRanking(runFile, qrelsFile string, perQuery bool) error {
	if runFile == "" || qrelsFile == "" {
		return fmt.Errorf("measure ranking: --run and --qrels are both needed")
	}
	if runFile == "-" && qrelsFile == "-" {
		return fmt.Errorf("measure ranking: only one of --run and --qrels can be -")
	}
	run, errRun := readTREC(a, runFile, trec.ReadRun)
	qrels, errQrels := readTREC(a, qrelsFile, trec.ReadQrels)
	if err := errors.Join(errRun, errQrels); err != nil {
		return err
	}
	result, err := trec.Evaluate(run, qrels)
	if err != nil {
		return fmt.Errorf("measuring %s against %s: %w", runFile, qrelsFile, err)
	}
	if !a.json {
		return a.printRanking(result, perQuery)
	}
	for _, note := range result.Notes {
		fmt.Fprintln(a.err, note)
	}
	return printJSON(a.out, map[string]any{"all": result.All, "per_query": result.PerQuery})
}

func readTREC[T any](a *app, file string, read func(io.Reader, string) (T, error)) (T, error) {
	r, err := a.open(file)
	if err != nil {
		var none T
		return none, err
	}
	defer r.Close()
	if file == "-" {
		file = "stdin"
	}
	return read(r, file)
}

func (a *app) printRanking(r *trec.Result, perQuery bool) error {
	t := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "query\t")
	for _, m := range trec.Measures {
		fmt.Fprintf(t, "%s\t", m)
	}
	fmt.Fprintln(t)
	row := func(name string, values map[string]float64) {
		fmt.Fprintf(t, "%s\t", name)
		for _, m := range trec.Measures {
			fmt.Fprintf(t, "%.4f\t", values[m])
		}
		fmt.Fprintln(t)
	}
	if perQuery {
		for _, q := range r.Queries {
			row(q, r.PerQuery[q])
		}
	}
	row("all", r.All)
	if err := t.Flush(); err != nil {
		return err
	}
	a.say("\n%s", text.Plural(len(r.Queries), "query", "queries"))
	for _, note := range r.Notes {
		a.say("%s", note)
	}
	return nil
}
