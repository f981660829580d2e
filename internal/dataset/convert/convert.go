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
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/scruple-eval/scruple/internal/dataset"
)

// Options narrow a conversion. The zero value converts everything.
type Options struct {
	Schema  string // schema the documents name; the corpus's own when empty
	MaxText int    // leave out documents whose text is longer, in bytes; 0 is no limit
	Limit   int    // stop after so many documents; 0 is no limit
}

// Stream converts records of type R, one a line, until the input or the limit
// ends. Input compressed with gzip is told by its first bytes. Errors name the
// line, not the file, which the caller knows.
func Stream[R any](r io.Reader, w io.Writer, o Options, convert func(*R) (*Document, error)) (Report, error) {
	var report Report
	in, err := unpacked(r)
	if err != nil {
		return report, err
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 1<<16), dataset.MaxLine)
	out := bufio.NewWriter(w)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	n := 1
	for ; (o.Limit == 0 || report.Written < o.Limit) && lines.Scan(); n++ {
		line := bytes.TrimSpace(bytes.TrimPrefix(lines.Bytes(), []byte("\ufeff")))
		if len(line) == 0 {
			continue
		}
		var record R
		if err := dataset.DecodeStrict(line, &record); err != nil {
			return report, fmt.Errorf("line %d: %w", n, err)
		}
		d, err := convert(&record)
		if err != nil {
			return report, fmt.Errorf("line %d: %w", n, err)
		}
		d.Schema = cmp.Or(o.Schema, d.Schema)
		if !report.count(d, o) {
			continue
		}
		if err := encoder.Encode(d); err != nil {
			return report, fmt.Errorf("writing document %s: %w", d.ID, err)
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return report, fmt.Errorf("line %d: longer than %d MB: is this JSON Lines, one record a line?", n, dataset.MaxLine>>20)
	case err != nil:
		return report, fmt.Errorf("line %d: reading records: %w", n, err)
	}
	if err := out.Flush(); err != nil {
		return report, fmt.Errorf("writing documents: %w", err)
	}
	return report, nil
}

// unpacked reads through gzip where the input is compressed.
func unpacked(r io.Reader) (io.Reader, error) {
	in := bufio.NewReader(r)
	if magic, _ := in.Peek(2); string(magic) != "\x1f\x8b" {
		return in, nil
	}
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, fmt.Errorf("unpacking: %w", err)
	}
	return z, nil
}
