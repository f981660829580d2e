package cuad

import (
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/scruple-eval/scruple/internal/dataset/convert"
)

// Main converts a file as the command line says and prints what became of its
// annotations. It returns the exit code: 0, or 2 for bad usage or bad data.
func Main(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("convert cuad", flag.ContinueOnError)
	flags.SetOutput(stderr)
	out := flags.String("out", "", "output file (required)")
	var o convert.Options
	flags.StringVar(&o.Schema, "schema", "", `schema the documents name (default "cuad")`)
	flags.IntVar(&o.Limit, "limit", 0, "maximum number of documents")
	flags.IntVar(&o.MaxText, "max-text", 0, "skip documents with more bytes of text")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() != 1 || *out == "" {
		fmt.Fprintln(stderr, "usage: go run ./tools/convert cuad -out OUT.jsonl [flags] FILE.jsonl[.gz]")
		flags.PrintDefaults()
		return 2
	}
	documents, report, err := Convert(flags.Arg(0), o)
	if err == nil {
		err = os.WriteFile(*out, documents, 0o644)
	}
	if err != nil {
		fmt.Fprintln(stderr, "convert cuad:", err)
		return 2
	}
	fmt.Fprintf(stdout, "%s\n%s\n", report.Markdown(), report.String())
	return 0
}
