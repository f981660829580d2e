package extraction

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/scruple-eval/scruple/internal/dataset/pdf"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/extraction/benchmark"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

//go:embed template
var template embed.FS

// blindFiles are a guide and examples of an outsider's documents.
//
//go:embed blind
var blindFiles embed.FS

// Suite is the suite as a value.
func Suite() kit.Suite {
	guide, err := blindFiles.ReadFile("blind/guide.md")
	templates, err2 := fs.Sub(blindFiles, "blind/templates")
	if err := errors.Join(err, err2); err != nil {
		panic("extraction: " + err.Error()) // the names are constants
	}
	return kit.Suite{
		Suite: eval.Suite{
			Name:      "extraction",
			Title:     "Structured extraction with evidence",
			Doc:       "Which prompt kernel, model or pipeline is best at extracting the fields of a schema, with a quote from the document for every value?",
			Metrics:   metrics(),
			Primary:   []string{metricComposite},
			Secondary: []string{metricValue, metricEvidence, metricPage, metricStatus, metricSchema, metricHallucination, metricFabrication},
			Reads:     4,
		},
		GoldKey: "data.gold",
		Blind: study.Blind{Data: []study.Datum{
			{Key: "data", Kit: `{"source": "directory", "path": "documents"}`, Places: []string{"documents"}},
			{Key: "schemas", Kit: `"schemas"`, Places: []string{"schemas"}},
		}, Arms: "arms", Guide: string(guide), Templates: templates},
		Study:     func() study.Any { return new(Study) },
		Open:      kit.Opener(open),
		ForPeople: func(own study.Any) { own.(*Study).forPeople = true },
		Starter:   starterFiles,
		Cases:     shippedPreflight,
		Check:     checkCase,
		Imports:   append(benchmark.Imports(), kit.Import{Name: "pdf", Doc: "text of a PDF file as studies read it, with page markers, to write gold by", Convert: importPDF}),
		Commands:  []kit.Command{generateCommand()},
	}
}

// starterKernels are the prompts of a new study, which are arms once it has a model.
var starterKernels = []string{ablated, "idiomatic"}

// starterFiles are a study, its documents and schema, and two of the shipped kernels.
func starterFiles() ([]kit.File, error) {
	files, err := kit.Template(template)()
	if err != nil {
		return nil, err
	}
	for _, k := range starterKernels {
		files = append(files, kit.Bytes("kernels/"+k+".txt", []byte(shippedKernel(k))))
	}
	return files, nil
}

func importPDF(file string, o kit.ImportOptions) ([]byte, fmt.Stringer, error) {
	if o != (kit.ImportOptions{}) {
		return nil, nil, errors.New("--limit and --max-text are not for pdf")
	}
	content, err := pdf.Text(file)
	return []byte(content), pages(strings.Count(content, "---PAGE ")), err
}

// pages is the report of an imported PDF.
type pages int

func (n pages) String() string { return text.Plural(int(n), "page", "pages") }
