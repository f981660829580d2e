// Command records writes the analysis records of a run as Parquet, or loads them into
// BigQuery. It reads what `scruple export --table records` writes:
//
//	scruple export study.yaml --table records --embeddings --out records.jsonl
//	records parquet records.jsonl --out records.parquet
//	records bigquery records.jsonl --project P --dataset D --table records
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
	"path/filepath"
)

const usage = `usage:
  records parquet  RECORDS.jsonl --out FILE.parquet
  records bigquery RECORDS.jsonl --project P --dataset D --table T [--append] [--location L]

RECORDS.jsonl is the output of: scruple export STUDY --table records --embeddings
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
	if len(args) < 2 {
		return errors.New(usage)
	}
	verb, file := args[0], args[1]
	flags := flag.NewFlagSet(verb, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	output := flags.String("out", "", "")
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
	case verb == "parquet" && *output == "":
		return errors.New("parquet: give the file to write with --out")
	case verb == "parquet":
		n, err := toFile(file, *output)
		if err == nil {
			fmt.Fprintf(out, "wrote %s: %d records\n", *output, n)
		}
		return err
	case verb == "bigquery" && (to.project == "" || to.dataset == "" || to.table == ""):
		return errors.New("bigquery: give --project, --dataset and --table")
	case verb == "bigquery":
		n, err := load(ctx, file, to)
		if err == nil {
			fmt.Fprintf(out, "loaded %d records into %s.%s.%s\n", n, to.project, to.dataset, to.table)
		}
		return err
	}
	return fmt.Errorf("unknown command %q\n%s", verb, usage)
}

// toFile writes records to a Parquet file, which is replaced only when it is whole.
func toFile(from, to string) (n int, err error) {
	tmp, err := os.CreateTemp(filepath.Dir(to), "."+filepath.Base(to)+".*")
	if err != nil {
		return 0, fmt.Errorf("writing %s: %w", to, err)
	}
	defer os.Remove(tmp.Name())
	if n, err = convert(from, tmp); err != nil {
		return 0, errors.Join(err, tmp.Close())
	}
	if err := errors.Join(tmp.Chmod(0o644), tmp.Sync(), tmp.Close()); err != nil {
		return 0, fmt.Errorf("writing %s: %w", to, err)
	}
	return n, os.Rename(tmp.Name(), to)
}
