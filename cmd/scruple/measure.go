package main

import (
	"fmt"
	"os"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/measure/trec"
)

func measureVerb(a *app) *cobra.Command {
	c := &cobra.Command{Use: "measure", Short: "measures for files that were made elsewhere", Long: "Measures for files that were made elsewhere."}
	c.AddCommand(measureRankingVerb(a))
	return c
}

func measureRankingVerb(a *app) *cobra.Command {
	var run, qrels string
	var perQuery bool
	c := verb("ranking", "measure a TREC run against judgements, as trec_eval does",
		`Reads a run (query Q0 document rank score tag) and judgements (query iter
document relevance), plain or gzipped, and prints the means over all queries
that both have. success_K is Hits@K. Ties are broken as trec_eval does: by
document id, last in the alphabet first; the rank column is not read.`, cobra.NoArgs,
		func(*cobra.Command, []string) error { return a.measureRanking(run, qrels, perQuery) })
	f := c.Flags()
	f.StringVar(&run, "run", "", "run file")
	f.StringVar(&qrels, "qrels", "", "judgements")
	f.BoolVar(&perQuery, "per-query", false, "print every query as well")
	return c
}

func (a *app) measureRanking(runFile, qrelsFile string, perQuery bool) error {
	if runFile == "" || qrelsFile == "" {
		return fmt.Errorf("measure ranking: --run and --qrels are both needed")
	}
	r, err := os.Open(runFile)
	if err != nil {
		return err
	}
	defer r.Close()
	q, err := os.Open(qrelsFile)
	if err != nil {
		return err
	}
	defer q.Close()
	run, err := trec.ReadRun(r, runFile)
	if err != nil {
		return err
	}
	qrels, err := trec.ReadQrels(q, qrelsFile)
	if err != nil {
		return err
	}
	result, err := trec.Evaluate(run, qrels)
	if err != nil {
		return fmt.Errorf("%s against %s: %w", runFile, qrelsFile, err)
	}
	if a.json {
		return printJSON(a.out, map[string]any{"all": result.All, "per_query": result.PerQuery})
	}
	return a.printRanking(result, perQuery)
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
		queries := slices.Clone(r.Queries)
		slices.Sort(queries)
		for _, q := range queries {
			row(q, r.PerQuery[q])
		}
	}
	row("all", r.All)
	if err := t.Flush(); err != nil {
		return err
	}
	a.say("\n%d queries", len(r.Queries))
	if len(r.Unjudged) > 0 {
		a.say("left out: %d queries of the run have no judgements", len(r.Unjudged))
	}
	if len(r.Missing) > 0 {
		a.say("left out: %d judged queries are not in the run", len(r.Missing))
	}
	return nil
}
