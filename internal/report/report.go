// Package report renders one [analyse.Analysis] and one [gate.Verdict] for
// people and programs: a terminal, a Markdown file, a self-contained HTML page,
// JSON.
//
// The [content] of a report is the same in every format: sections of tables,
// charts, sentences and samples, made of plain text. A format only lays it out and
// escapes every string as data, whether ours or a model's. So formats cannot
// contradict each other, and no answer of a model can become markup or control a
// terminal.
//
// The same input gives the same bytes, independent of time, locale and map order.
//
// content.go lists the sections, which answer.go, arms.go, comparisons.go, breakdown.go,
// verdict.go, outside.go, methods.go, asked.go and samples.go make of table.go and figure.go.
// text.go with terminal.go and markdown.go, and html.go, lay them out. fragment.go has parts
// for package view.
//
// The package must not compute: it only formats numbers from the analysis or the
// verdict. It knows no suite, no store and no model.
package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/gate"
)

// A Report is the input to render. Verdict is nil for a study without rules.
type Report struct {
	Analysis *analyse.Analysis
	Verdict  *gate.Verdict
	Trials   bool // only the samples, which are the requested trials
	// Replicate is the number of the requested trials, 0 if it is not said.
	Replicate int
	// Link returns the address of the trials behind a number, or "". Nil means no links,
	// as in files; only HTML has links.
	Link func(Behind) string
}

// Behind says which trials a number stands for. An empty field does not restrict them.
type Behind struct {
	Arm, Against    string // with Against, the number is their difference
	Metric, Outcome string
	Stratum         *eval.Level
}

// A Format is one way to render a report to a file.
type Format struct {
	Name   string
	Ext    string // file extension, with the dot
	Render func(io.Writer, Report) error
}

// Formats lists the formats of report files. The terminal format is plain and 80
// columns wide; [Terminal] takes options.
func Formats() []Format {
	return []Format{
		{"markdown", ".md", Markdown},
		{"json", ".json", JSON},
		{"html", ".html", HTML},
		{"terminal", ".txt", func(w io.Writer, r Report) error {
			return Terminal(w, r, TerminalOptions{})
		}},
	}
}

// JSON writes the analysis and the verdict as one indented object, or a list of
// trials. The verdict is null for a study without rules.
func JSON(w io.Writer, r Report) error {
	if err := r.check(); err != nil {
		return err
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false) // for readability: it is not HTML
	var whole any = struct {
		Analysis *analyse.Analysis `json:"analysis"`
		Verdict  *gate.Verdict     `json:"verdict"`
	}{r.Analysis, r.Verdict}
	if r.Trials {
		shown := []eval.Exhibit{}
		for _, x := range r.Analysis.Samples {
			shown = append(shown, x.Show)
		}
		whole = shown
	}
	return written("the report as JSON", enc.Encode(whole))
}

// written wraps a write error.
func written(what string, err error) error {
	if err != nil {
		return fmt.Errorf("writing %s: %w", what, err)
	}
	return nil
}

func (r Report) check() error {
	if r.Analysis == nil {
		return errors.New("writing a report: there is no analysis; run scruple score first")
	}
	return nil
}
