package report

import (
	"io"
	"strings"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/gate"
)

// Gate writes a verdict with every condition and the values it used, as
// [Terminal] shows it.
func Gate(w io.Writer, v *gate.Verdict, opt TerminalOptions) error {
	s := newScreen(opt)
	s.verdict(newVerdict(v))
	if v.Simulated {
		s.blank()
		s.text(loud, "", "*** "+simulated("some answers")+" ***")
	}
	return s.writeTo(w, "verdict")
}

// Comparisons writes the comparisons of an analysis, as [Terminal] shows them.
func Comparisons(w io.Writer, a *analyse.Analysis, opt TerminalOptions) error {
	b := builder{a: a, ci: confidence(a.Study.Alpha)}
	opt.Verbose = true // who asks for comparisons wants all of them
	s := newScreen(opt)
	s.section(b.comparisons())
	return s.writeTo(w, "comparisons")
}

func (s *screen) writeTo(w io.Writer, what string) error {
	_, err := io.WriteString(w, strings.TrimPrefix(s.finished(), "\n"))
	return written("the "+what+" to the terminal", err)
}
