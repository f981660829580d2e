package extraction

import (
	"embed"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

//go:embed template
var template embed.FS

// Suite is the suite as a value.
func Suite() kit.Suite {
	return kit.Suite{
		Suite: eval.Suite{
			Name:      "extraction",
			Title:     "Structured extraction with evidence",
			Doc:       "Which prompt kernel, model or pipeline is best at extracting the fields of a schema, with a quote from the document for every value?",
			Metrics:   metrics(),
			Primary:   []string{metricComposite},
			Secondary: []string{metricValue, metricEvidence, metricPage, metricStatus, metricSchema, metricHallucination, metricFabrication},
		},
		GoldKey: "data.gold",
		Blind: kit.Blind{Data: []kit.Datum{
			{Key: "data", Kit: `{"source": "directory", "path": "documents"}`, Places: []string{"documents"}},
			{Key: "schemas", Kit: `"schemas"`, Places: []string{"schemas"}},
		}, Arms: "arms", Guide: blindGuide, Templates: blindTemplates()},
		Study:     func() study.Any { return new(Study) },
		Open:      kit.Opener(Open),
		ForPeople: func(own study.Any) { own.(*Study).forPeople = true },
		Starter:   starterFiles,
		Cases:     shippedPreflight,
		Check:     checkCase,
		Imports:   imports(),
		Commands:  []kit.Command{generateCommand()},
	}
}

// starterKernels are the prompts of a new study, which are arms once it has a model.
var starterKernels = []string{ablated, "idiomatic"}

// starterFiles are a study, its documents and schema, and two of the shipped kernels.
func starterFiles() ([]kit.File, error) {
	files, err := kit.Template(template, "template")
	if err != nil {
		return nil, err
	}
	for _, k := range starterKernels {
		files = append(files, kit.Bytes("kernels/"+k+".txt", []byte(shippedKernel(k))))
	}
	return files, nil
}
