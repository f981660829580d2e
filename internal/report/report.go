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
// header.go lists the sections, which answer.go, arms.go, comparisons.go, verdict.go,
// methods.go and samples.go make of table.go and figure.go, with builder.go; content.go says
// what they may hold. comment.go has the comment on a pull request. text.go has Markdown and
// what it shares with terminal.go; html.go has pages, and parts of them for package view;
// formats.go chooses.
//
// The package must not compute: it only formats numbers from the analysis or the
// verdict. It knows no suite, no store and no model.
package report

import (
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

// put writes a text.
func put(w io.Writer, what, text string) error {
	_, err := io.WriteString(w, text)
	return written(what, err)
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
