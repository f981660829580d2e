package appendix

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/report"
	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// A Missing is a heading under which nobody wrote yet.
type Missing struct {
	Page    string `json:"page"`
	Heading string `json:"heading"`
}

func (m Missing) String() string {
	return fmt.Sprintf("Not written yet: %s, heading %q", m.Page, m.Heading)
}

func missingTable(list []Missing) report.Part {
	if len(list) == 0 {
		return prose("Every page is written.")
	}
	t := &eval.Table{Title: say.Plural(len(list), "section", "sections") + " not written yet", Columns: []string{"file", "sections", "headings"}}
	for len(list) > 0 {
		n, headings := 0, []string{}
		for ; n < len(list) && list[n].Page == list[0].Page; n++ {
			headings = append(headings, list[n].Heading)
		}
		t.Row(eval.Text(list[0].Page), eval.Count(n), eval.Text(strings.Join(headings, "; ")))
		list = list[n:]
	}
	return report.Part{Table: t}
}

// known returns what the suite knows for an appendix.
func (s Source) known(a kit.Appendix) ([]kit.Part, error) {
	if a.Fill == nil {
		return nil, nil
	}
	return a.Fill(s.Bench, s.Kept)
}

// written returns what the suite knows for an appendix, with what people wrote about it.
func (s Source) written(a kit.Appendix) (parts []report.Part, missing []Missing, err error) {
	known, err := s.known(a)
	if err != nil {
		return nil, nil, err
	}
	page := map[string]string{}
	var order []string
	if a.Page != "" {
		source, _, err := s.Page(a.Page)
		if err != nil {
			return nil, nil, err
		}
		if page, order = sections(source); page[""] != "" {
			parts = append(parts, report.Part{Written: page[""]})
		}
	}
	used := map[string]bool{}
	write := func(heading string) {
		key := keyOf(heading)
		used[key] = true
		if text := page[key]; text != "" {
			parts = append(parts, report.Part{Written: text})
			return
		}
		m := Missing{a.Page, say.PlainLine(heading)}
		missing = append(missing, m)
		parts = append(parts, prose("%s.", m))
	}
	for _, p := range known {
		if p.Heading != "" {
			parts = append(parts, report.Part{Heading: p.Heading})
		}
		if p.Table != nil {
			parts = append(parts, report.Part{Table: p.Table})
		}
		for _, t := range p.Texts {
			parts = append(parts, report.Part{Prose: []string{t.Name + ":"}, Verbatim: t.Text})
		}
		if p.Ask != "" {
			write(p.Heading)
		}
	}
	for _, t := range a.Ask {
		parts = append(parts, report.Part{Heading: t.Heading})
		write(t.Heading)
	}
	for _, heading := range order { // of people's own
		if key := keyOf(heading); !used[key] && page[key] != "" {
			parts = append(parts, report.Part{Heading: heading, Written: page[key]})
			used[key] = true
		}
	}
	return parts, missing, nil
}

// Pages returns the pages that people write, with their headings and what belongs under
// each. A page that would have no heading yet is left out.
func Pages(list []kit.Appendix, s Source) (pages []File, err error) {
	for _, a := range list {
		if a.Page == "" {
			continue
		}
		known, err := s.known(a)
		if err != nil {
			return nil, err
		}
		var topics []kit.Topic
		for _, p := range known {
			if p.Ask != "" {
				topics = append(topics, kit.Topic{Heading: p.Heading, Ask: p.Ask})
			}
		}
		if topics = append(topics, a.Ask...); len(topics) == 0 {
			continue
		}
		var b strings.Builder
		fmt.Fprintf(&b, "# %s\n\n<!-- People write this page in Markdown, under each heading. Comments such as this one are left out. -->\n", title(a))
		for _, t := range topics {
			fmt.Fprintf(&b, "\n## %s\n\n<!-- %s -->\n", say.PlainLine(t.Heading), t.Ask)
		}
		pages = append(pages, File{a.Page, []byte(b.String())})
	}
	return pages, nil
}

// uncommented is a page without its comments, but for those in code.
func uncommented(page string) string {
	code, _ := report.Code(page)
	var b strings.Builder
	for at := 0; ; {
		begin, end := strings.Index(page[at:], "<!--"), -1
		if begin >= 0 {
			begin += at
			end = strings.Index(page[begin+4:], "-->")
		}
		switch {
		case end < 0:
			return b.String() + page[at:]
		case within(code, begin):
			b.WriteString(page[at : begin+4])
			at = begin + 4
		default:
			b.WriteString(page[at:begin])
			at = begin + 4 + end + 3
		}
	}
}

// within reports whether a place is in code.
func within(code [][2]int, at int) bool {
	return slices.ContainsFunc(code, func(c [2]int) bool { return c[0] <= at && at < c[1] })
}

// sections divides a page at its headings of the second level, which are in order. The text
// before them has the key "". Comments and the title are left out, but for those in code.
func sections(page string) (texts map[string]string, order []string) {
	texts = map[string]string{}
	page = uncommented(strings.ReplaceAll(strings.TrimPrefix(page, "\ufeff"), "\r\n", "\n"))
	code, _ := report.Code(page)
	key, at := "", 0
	for line := range strings.Lines(page) {
		heading, is := strings.CutPrefix(line, "## ")
		fenced := within(code, at)
		at += len(line)
		switch {
		case is && !fenced:
			heading = strings.TrimSpace(heading)
			key, order = keyOf(heading), append(order, heading)
			continue
		case key == "" && !fenced && strings.HasPrefix(line, "# "):
			continue
		}
		texts[key] += line
	}
	for key, text := range texts {
		texts[key] = strings.Trim(text, "\n ")
	}
	return texts, order
}

// keyOf is a heading without what a hand may write otherwise.
func keyOf(heading string) string { return strings.ToLower(say.PlainLine(heading)) }
