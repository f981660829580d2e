// Package documents converts published corpora to documents of the extraction
// suite: one JSON object per line, with the text (a line "---PAGE n---" before
// each page), the name of a schema, and the gold of each field.
//
// Corpora were annotated for other purposes, so each annotation is checked: does
// the text alone determine the answer? If so, it becomes gold. Otherwise the field
// is excluded from the document's gold, so that no arm is scored on it, and
// counted under the rule that excluded it. No annotation is corrected by hand. The
// rules are documented values ([Rule]); [Report] counts them; the README files of
// the examples show the counts. A corpus needs a type for its records and a
// function that converts one to a [Document]; lines does the rest.
//
// # Quotes
//
// A gold quote must occur in the text after NFKC and white space normalisation,
// like a model's quote. Annotation tools replace curly quotation marks and dashes
// and lose blanks at line ends. So a quote that is not verbatim is searched for by
// its letters and digits alone, in order and case; if it is found, the document's
// own characters become the quote. Otherwise it is not gold.
//
// # CUAD
//
// CUAD has contracts with lawyers' quotes and normalised answers. A normalised
// answer is gold only if the quotes contain it:
//
//   - Dates: the answer (month first) is gold if a quote contains that day in any
//     written form. The value is the ISO day; the written forms are accepted too.
//     Excluded: days that must be computed from a term ("two years from the
//     Effective Date"), which is not extraction; days with blanks ("March ___,
//     1999", "[*]"), where neither "March 1999" nor "missing" is wrong;
//     "perpetual", a conclusion that is not in the clause.
//   - Two different days for one field, both written: ambiguous, both candidates.
//   - Governing law: gold if the quote names it. "State of Delaware" is accepted if
//     the quote says so, and the full name of an abbreviation in the quote ("PRC").
//     "Either Illinois or New York" is ambiguous, "England and Wales" is one law.
//   - Document name: as written in the quote. A name composed from several places is
//     gold only if the text contains it as a whole.
//   - Renewal term and notice period: gold if the quote contains that duration, in
//     figures or words ("sixty (60) days"). The value is the written form. "Annual"
//     for "1 year" is a conclusion and excluded.
//   - Parties: excluded. The annotation is a set (every party and its defined term),
//     the schema has single values, and scoring one party as the answer would reward
//     half of it.
//   - No clause annotated: missing. A clause without a normalised answer, or an
//     answer without a clause: excluded.
//
// Document types are five groups of CUAD's twenty-five, so that none is too
// small to report. Contracts filed by one company form one cluster.
//
// examples/contracts was generated so, which a test verifies.
//
// # SROIE
//
// Malaysian receipts with four values each and no quotes.
//
//   - Company, address: gold if the text contains the value, in the text's own
//     spelling; the annotated spelling is accepted too. Values that the OCR
//     garbled are excluded, since a model that copies the text would be scored as
//     wrong.
//   - Date: Malaysia writes the day first, so 03/04/2018 is the 3rd of April. The
//     value is the ISO day; accepted is also the form as written.
//   - Total: the amount occurs in several places and SROIE does not say which is
//     meant, so a quote must only contain it.
//
// Receipts of one company form one cluster.
package documents

import (
	"bytes"
	"flag"
	"fmt"
	"io"

	"github.com/scruple-eval/scruple/internal/dataset"
)

// Options narrow a conversion. The zero value converts everything.
type Options struct {
	MaxText int // skip documents with more bytes of text; 0 means no limit
	Limit   int // maximum number of documents; 0 means no limit
}

// CUAD converts a file of contracts.
func CUAD(path string, o Options) ([]byte, Report, error) { return lines(path, o, (*contract).convert) }

// SROIE converts a file of receipts.
func SROIE(path string, o Options) ([]byte, Report, error) { return lines(path, o, (*receipt).convert) }

// Main returns the command of a corpus: documents go to standard output, the table of
// what was kept and excluded to standard error.
func Main(name string, corpus func(path string, o Options) ([]byte, Report, error)) func(args []string, stdout, stderr io.Writer) int {
	return func(args []string, stdout, stderr io.Writer) int {
		var o Options
		flags := flag.NewFlagSet(name, flag.ContinueOnError)
		flags.SetOutput(stderr)
		flags.IntVar(&o.Limit, "limit", 0, "convert at most `N` documents")
		flags.IntVar(&o.MaxText, "max-text", 0, "skip documents with more than `BYTES` of text")
		if flags.Parse(args) != nil || flags.NArg() != 1 {
			fmt.Fprintf(stderr, "usage: go run ./tools/convert %s [--limit N] [--max-text BYTES] FILE > OUT.jsonl\n", name)
			return 2
		}
		out, report, err := corpus(flags.Arg(0), o)
		if err == nil {
			_, err = stdout.Write(out)
		}
		if err != nil {
			fmt.Fprintln(stderr, err)
			return 1
		}
		fmt.Fprintf(stderr, "%s\n%s\n", report.Markdown(), report.String())
		return 0
	}
}

// lines converts the records of a JSON Lines file, of type R, to lines of documents.
func lines[R any](path string, o Options, convert func(*R) (*Document, error)) ([]byte, Report, error) {
	var report Report
	in, err := dataset.OpenLines(path)
	if err != nil {
		return nil, report, err
	}
	defer in.Close()
	var documents []*Document
	for i := 0; i < in.Len() && (o.Limit == 0 || report.Written < o.Limit); i++ {
		var record R
		if _, err := in.Decode(i, nil, &record); err != nil {
			return nil, report, err
		}
		d, err := convert(&record)
		if err != nil {
			return nil, report, in.Locate(i, err)
		}
		if report.count(d, o) {
			documents = append(documents, d)
		}
	}
	var out bytes.Buffer
	err = dataset.EncodeLines(documents)(&out)
	return out.Bytes(), report, err
}
