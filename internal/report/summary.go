package report

import (
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/say"
)

// An Ending is what a summary ends with: the files written, and the commands that show the
// whole report and the worst items.
type Ending struct {
	Files         []string
	Report, Worst string
	// Decides: the command exits with the code of the verdict, as gate does.
	Decides bool
}

// Summary writes the answer, for the end of a run: the primary comparisons, the verdict and the
// warnings.
func Summary(w io.Writer, r Report, opt TerminalOptions, end Ending) error {
	if err := r.check(); err != nil {
		return err
	}
	b, s := newBuilder(r), newScreen(opt)
	warnings, said := b.warnings(), b.banner()
	s.para(strong, b.about())
	s.para(plain, nonEmpty(b.a.Study.Description)...)
	for _, line := range said {
		s.para(loud, line)
	}
	for _, a := range b.answers() {
		s.para(a.Tone, tagged(say.PlainLine, a.cell()))
	}
	if len(b.primaryComparisons()) == 0 {
		for _, x := range b.scoreBlocks("Primary metrics", everywhere, b.ranked("primary")) {
			renderBlock(s, x)
		}
	}
	if b.v == nil {
		s.para(muted, noRules)
	} else {
		v := newVerdict(b.v)
		if !end.Decides {
			v.Exit = "gate exits with " + strings.TrimPrefix(v.Exit, "exit ")
		}
		renderVerdict(s, v)
		said = append(said, v.Warnings...)
	}
	if list := filter(warnings, func(line string) bool { return !slices.Contains(said, line) }); len(list) > 0 {
		s.para(unsure, "Warnings: "+say.Count(len(list)))
		s.list("!", list)
	}
	s.ending(end)
	return s.writeTo(w, "summary")
}

// ending names the page, with the other formats, and the commands. Neither a path nor a
// command is broken into lines, so that it can be copied.
func (s *screen) ending(end Ending) {
	s.b.WriteByte('\n')
	if page := slices.IndexFunc(end.Files, func(f string) bool { return filepath.Ext(f) == ".html" }); page >= 0 {
		var also []string
		for i, f := range end.Files {
			if i != page {
				also = append(also, strings.TrimPrefix(filepath.Base(f), "report"))
			}
		}
		text := "wrote " + end.Files[page]
		if len(also) > 0 {
			text += " (also " + strings.Join(also, ", ") + ")"
		}
		s.b.WriteString(say.PlainLine(text) + "\n")
	}
	s.b.WriteString(say.PlainLine("All results: "+end.Report) + "\n" + say.PlainLine("Worst items: "+end.Worst) + "\n")
}
