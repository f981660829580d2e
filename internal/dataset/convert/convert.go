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
// document themselves; [Report] counts them; examples/contracts/README.md shows
// the counts.
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
// # CUAD
//
// Contracts with lawyers' quotes and, beside them, a normalised answer. Of the
// normalised answers only those are gold that the quotes hold in writing:
//
//   - Dates: the answer (month first) is gold when a quote holds that day in any
//     written form. The value is the ISO day; accepted are also the written
//     forms. Left out: days that must be computed from a term ("two years from
//     the Effective Date"), which is not extraction; days with blanks ("March
//     ___, 1999", "[*]"), where neither "March 1999" nor "missing" is wrong;
//     "perpetual", a conclusion from the clause that stands nowhere in it.
//   - Two different days for one field, both written: ambiguous, both candidates.
//   - Governing law: gold when the quote names it. Accepted are also "State of
//     Delaware" where the quote says so, and the full name of what the quote
//     abbreviates ("PRC"). "Either Illinois or New York" is ambiguous, "England
//     and Wales" is one law.
//   - Document name: as the quote writes it. A name put together from several
//     places is gold only if the whole stands in the text.
//   - Renewal term and notice period: gold when the quote holds that duration,
//     in figures or words ("sixty (60) days"). The value is the written form.
//     "Annual" for "1 year" is a conclusion and left out.
//   - Parties: left out. The annotation is a set (every party and its defined
//     term), the schema holds single values, and scoring one party as the answer
//     would reward half of one.
//   - No clause annotated: missing. A clause without a normalised answer, or an
//     answer without a clause: left out.
//
// Document types are five groups of CUAD's twenty-five, so that none is too
// small to report. Contracts filed by one company form one cluster.
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

// A Converter turns one corpus into documents of the extraction suite.
type Converter struct {
	Name string // as given on the command line
	Doc  string // what it reads, in one sentence
	// Convert reads records one by one, so the size of the corpus is no matter.
	// Input compressed with gzip is told by its first bytes. Errors name the
	// line, not the file, which the caller knows.
	Convert func(r io.Reader, w io.Writer, o Options) (Report, error)
}

// Converters lists the corpora that can be converted.
func Converters() []Converter {
	return []Converter{
		{"cuad", "CUAD contracts, one a line: id, source_file, contract_type, pages and gold (field, exists_in_document, evidence, answer)", CUAD},
		{"sroie", "SROIE receipts, one a line: id, pages and gold (company, date, address, total)", SROIE},
	}
}

// Options narrow a conversion. The zero value converts everything.
type Options struct {
	Schema  string // schema the documents name; the corpus's own ("cuad", "sroie") when empty
	MaxText int    // leave out documents whose text is longer, in bytes; 0 is no limit
	Limit   int    // stop after so many documents; 0 is no limit
}

// stream converts records of type R until the input or the limit ends.
func stream[R any](r io.Reader, w io.Writer, o Options, convert func(*R) (*document, error)) (Report, error) {
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
