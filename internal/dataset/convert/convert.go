// Package convert converts published corpora to documents of the extraction
// suite: one JSON object per line, with the text (a line "---PAGE n---" before
// each page), the name of a schema, and the gold of each field.
//
// Corpora were annotated for other purposes, so each annotation is checked: does
// the text alone determine the answer? If so, it becomes gold. Otherwise the field
// is excluded from the document's gold, so that no arm is scored on it, and
// counted under the rule that excluded it. No annotation is corrected by hand. The
// rules are documented values ([Rule]); [Report] counts them; the README files of
// the examples show the counts. A corpus needs a type for its records and a
// function that converts one to a [Document]; [Stream] does the rest.
//
// # Quotes
//
// A gold quote must occur in the text after NFKC and white space normalisation,
// like a model's quote. Annotation tools replace curly quotation marks and dashes
// and lose blanks at line ends. So a quote that is not verbatim is searched for by
// its letters and digits alone, in order and case; if it is found, the document's
// own characters become the quote. Otherwise it is not gold.
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
//
// The package must not know the suite's code, nor stores or models.
package convert

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/scruple-eval/scruple/internal/dataset"
)

// Options narrow a conversion. The zero value converts everything.
type Options struct {
	Schema  string // schema the documents name; the corpus's own when empty
	MaxText int    // skip documents with more bytes of text; 0 means no limit
	Limit   int    // maximum number of documents; 0 means no limit
}

// Lines converts the records of a JSON Lines file, of type R, to lines of
// documents.
func Lines[R any](path string, o Options, convert func(*R) (*Document, error)) ([]byte, Report, error) {
	var report Report
	in, err := dataset.OpenLines(path)
	if err != nil {
		return nil, report, err
	}
	defer in.Close()
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	var buf []byte
	for i := range in.Len() {
		if o.Limit > 0 && report.Written == o.Limit {
			break
		}
		var record R
		if buf, err = in.Decode(i, buf, &record); err != nil {
			return nil, report, err
		}
		d, err := convert(&record)
		if err != nil {
			return nil, report, in.Locate(i, err)
		}
		d.Schema = cmp.Or(o.Schema, d.Schema)
		if !report.count(d, o) {
			continue
		}
		if err := encoder.Encode(d); err != nil {
			return nil, report, fmt.Errorf("writing document %s: %w", d.ID, err)
		}
	}
	return out.Bytes(), report, nil
}
