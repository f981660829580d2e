package extraction

import (
	"errors"
	"fmt"
	"strings"

	"github.com/scruple-eval/scruple/internal/dataset/pdf"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

// imports are PDF documents.
func imports() []kit.Import {
	return []kit.Import{{Name: "pdf", Doc: "text of a PDF file as studies read it, with page markers, to write gold by",
		Convert: func(file string, o kit.ImportOptions) ([]byte, fmt.Stringer, error) {
			if o != (kit.ImportOptions{}) {
				return nil, nil, errors.New("--limit and --max-text are not for pdf")
			}
			content, err := pdf.Text(file)
			return []byte(content), pages(strings.Count(content, "---PAGE ")), err
		}}}
}

// pages is the report of an imported PDF.
type pages int

func (n pages) String() string { return text.Plural(int(n), "page", "pages") }
