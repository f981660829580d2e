package extraction

import (
	_ "embed" // the schemas of imported data
	"errors"
	"fmt"
	"strings"

	"github.com/scruple-eval/scruple/internal/dataset/convert"
	"github.com/scruple-eval/scruple/internal/dataset/convert/cuad"
	"github.com/scruple-eval/scruple/internal/dataset/pdf"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

// imports are the published corpora that users can convert, and PDF documents.
func imports() []kit.Import {
	return []kit.Import{
		published("sroie", "SROIE receipts, one per line: id, pages and gold (company, date, address, total)", convert.SROIE, sroieSchema),
		published("cuad", "CUAD contracts, one per line: id, source_file, contract_type, pages and gold (field, exists_in_document, evidence, answer)", cuad.Convert, cuadSchema),
		{Name: "pdf", Doc: "text of a PDF file as studies read it, with page markers, to write gold by",
			Convert: func(file string, o kit.ImportOptions) ([]byte, fmt.Stringer, error) {
				if o != (kit.ImportOptions{}) {
					return nil, nil, errors.New("--schema, --limit and --max-text are not for pdf")
				}
				content, err := pdf.Text(file)
				return []byte(content), pages(strings.Count(content, "---PAGE ")), err
			}},
	}
}

// published converts a published corpus to documents with a schema of its name.
func published(name, doc string, from func(file string, o convert.Options) ([]byte, convert.Report, error), schema []byte) kit.Import {
	return kit.Import{Name: name, Doc: doc,
		Convert: func(file string, o kit.ImportOptions) ([]byte, fmt.Stringer, error) {
			documents, report, err := from(file, convert.Options{Schema: o.Schema, Limit: o.Limit, MaxText: o.MaxText})
			return documents, importReport{report}, err
		},
		Files: func(o kit.ImportOptions) []kit.File {
			if o.Schema != "" {
				return nil // the user's
			}
			return []kit.File{kit.Bytes("schemas/"+name+".json", schema)}
		}}
}

// pages is the report of an imported PDF.
type pages int

func (n pages) String() string { return text.Plural(int(n), "page", "pages") }

// The schemas of imported receipts and contracts.
var (
	//go:embed imported/sroie.json
	sroieSchema []byte
	//go:embed imported/cuad.json
	cuadSchema []byte
)

// importReport prints the table of rules, what was excluded and why, and the summary.
type importReport struct{ convert.Report }

func (r importReport) String() string {
	s := r.Markdown() + "\n"
	if reasons := r.Reasons(); reasons != "" {
		s += reasons + "\n"
	}
	return s + r.Report.String() + "\n"
}
