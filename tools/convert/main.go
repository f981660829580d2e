// Command convert generates the data of the shipped examples from published data
// sets. Run it from the source:
//
//	go run ./tools/convert NAME [flags] FILE
//
// Each data set has its own package below this one, with its rules in the package
// comment.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/scruple-eval/scruple/tools/convert/documents"
	"github.com/scruple-eval/scruple/tools/convert/osm"
)

// converters lists the data sets.
var converters = []struct {
	name, doc string
	main      func(args []string, stdout, stderr io.Writer) int
}{
	{"cuad", "contracts of CUAD, as documents of the extraction suite", documents.Main("cuad", documents.CUAD)},
	{"sroie", "receipts of SROIE, likewise", documents.Main("sroie", documents.SROIE)},
	{"osm", "restaurants of OpenStreetMap, as items of the rerank suite", osm.Main},
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	for _, c := range converters {
		if len(args) > 0 && args[0] == c.name {
			return c.main(args[1:], stdout, stderr)
		}
	}
	fmt.Fprintln(stderr, "usage: go run ./tools/convert NAME [flags] FILE")
	for _, c := range converters {
		fmt.Fprintf(stderr, "  %-6s %s\n", c.name, c.doc)
	}
	return 2
}
