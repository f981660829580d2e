// Command records loads the analysis records of a run into BigQuery:
//
//	scruple export study.yaml --table records --embeddings --format parquet --out records.parquet
//	records bigquery records.parquet --project P --dataset D --table records
//
// It is a module of its own: the library of BigQuery would make the program much larger,
// and few need it. Credentials for BigQuery are those of the environment
// (Application Default Credentials).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
)

const usage = `usage:
  records bigquery RECORDS.parquet --project P --dataset D --table T [--append] [--location L]

RECORDS.parquet is the output of: scruple export STUDY --table records --format parquet
A table is replaced unless --append is given.`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "records:", err)
		os.Exit(2)
	}
}

// run executes one command line.
func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) < 2 || args[0] != "bigquery" {
		return errors.New(usage)
	}
	flags := flag.NewFlagSet("bigquery", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	var to destination
	flags.StringVar(&to.project, "project", "", "")
	flags.StringVar(&to.dataset, "dataset", "", "")
	flags.StringVar(&to.table, "table", "", "")
	flags.StringVar(&to.location, "location", "", "")
	flags.StringVar(&to.endpoint, "endpoint", "", "")
	flags.BoolVar(&to.append, "append", false, "")
	if err := flags.Parse(args[2:]); err != nil {
		return fmt.Errorf("%w\n%s", err, usage)
	}
	switch {
	case flags.NArg() > 0:
		return fmt.Errorf("unexpected argument %q\n%s", flags.Arg(0), usage)
	case to.project == "" || to.dataset == "" || to.table == "":
		return errors.New("bigquery: give --project, --dataset and --table")
	}
	n, err := load(ctx, args[1], to)
	if err == nil {
		fmt.Fprintf(out, "loaded %d records into %s.%s.%s\n", n, to.project, to.dataset, to.table)
	}
	return err
}
