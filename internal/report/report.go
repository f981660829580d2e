// Package report renders one [analyse.Analysis] and one [gate.Verdict] for
// people and programs: a terminal, a Markdown file, a self-contained HTML page,
// JSON.
//
// What a report says is decided once, in [content], and is the same in every
// format: sections of tables, charts, sentences and samples, made of plain text.
// A format only lays that out, and escapes every string as data, whether the
// words are ours or a model's. So no format can say something another does not
// mean, and no answer of a model can become markup or drive a terminal.
//
// The same input gives the same bytes: there is no clock, no locale and no map
// order in it.
//
// The package must not compute: every number comes from the analysis or the
// verdict and is only written down here. It knows no suite, no store and no
// model.
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

// A Report is what there is to render. Verdict is nil for a study without
// rules.
type Report struct {
	Analysis *analyse.Analysis
	Verdict  *gate.Verdict
	Trials   bool // nothing but the samples, which are trials somebody asked for
}

// A Format is one way to render a report to a file.
type Format struct {
	Name   string
	Ext    string // of the file, with the dot
	Render func(io.Writer, Report) error
}

// Formats lists every format a report can be written in. The terminal format
// is plain and 80 columns wide here; [Terminal] takes options.
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
// trials. The verdict of a study without rules is null.
func JSON(w io.Writer, r Report) error {
	if err := r.check(); err != nil {
		return err
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false) // it is not HTML, and people read it
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

// written says what could not be written.
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
