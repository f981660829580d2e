package cuad

import (
	"bytes"
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
	out := flags.String("out", "", "file to write (required)")
	var o convert.Options
	flags.StringVar(&o.Schema, "schema", "", `schema the documents name (default "cuad")`)
	flags.IntVar(&o.Limit, "limit", 0, "stop after this many documents")
	flags.IntVar(&o.MaxText, "max-text", 0, "leave out documents with a longer text, in bytes")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() != 1 || *out == "" {
		fmt.Fprintln(stderr, "usage: go run ./tools/convert cuad -out OUT.jsonl [flags] FILE.jsonl[.gz]")
		flags.PrintDefaults()
		return 2
	}
	report, err := convertFile(flags.Arg(0), *out, o)
	if err != nil {
		fmt.Fprintln(stderr, "convert cuad:", err)
		return 2
	}
	fmt.Fprintf(stdout, "%s\n%s\n", report.Markdown(), report.String())
	return 0
}

// convertFile writes nothing where the input has an error.
func convertFile(path, out string, o convert.Options) (convert.Report, error) {
	in, err := os.Open(path)
	if err != nil {
		return convert.Report{}, err
	}
	defer in.Close()
	var b bytes.Buffer
	report, err := Convert(in, &b, o)
	if err != nil {
		return report, fmt.Errorf("%s: %w", path, err)
	}
	return report, os.WriteFile(out, b.Bytes(), 0o644)
}
