// Package convert turns published corpora into documents of the extraction
// suite: one JSON object a line, with the text (a line "---PAGE n---" before
// each page), the name of a schema, and per field what a careful reader of that
// text should answer.
//
// Corpora were annotated for other purposes, so each annotation is put to one
// question: does the text itself, and nothing but the text, settle the answer?
// What passes becomes gold. What does not is left out of the document's gold,
// so that no arm is scored on it, and is counted under the rule that left it
// out. No annotation is corrected by hand. The rules are values ([Rule]) that
// document themselves; [Report] counts them; the README files of the examples
// show the counts. A corpus brings a type for its records and a function that
// makes a [Document] of one; [Stream] does the rest.
//
// # Quotes
//
// A gold quote must stand in the text after NFKC and white space normalisation,
// since that is how a model's quote is checked. Annotation tools replace
// curly quotation marks and dashes and lose blanks at line ends. So a quote
// that is not verbatim is looked for by its letters and digits alone, in order
// and in the same case; when it stands in the text so, the document's own
// characters become the quote. What is not found even so is not gold.
//
// # SROIE
//
// Malaysian receipts with four values each and no quotes.
//
//   - Company, address: gold when the value stands in the text, in the text's
//     own spelling; the annotated one is accepted too. Values that the OCR
//     garbled are left out, since a model that copies what it is given would be
//     called wrong.
//   - Date: Malaysia writes the day first, so 03/04/2018 is the 3rd of April. The
//     value is the ISO day; accepted is also the form as written.
//   - Total: the amount stands in several places and SROIE does not say which
//     is meant, so a quote must only contain it.
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
	MaxText int    // leave out documents whose text is longer, in bytes; 0 is no limit
	Limit   int    // stop after so many documents; 0 is no limit
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
