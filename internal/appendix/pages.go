package appendix

import (
	"fmt"
	"regexp"
	"strings"

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

// comment matches what a page has for those who write it.
var comment = regexp.MustCompile("(?s)<!--.*?-->")

// sections divides a page at its headings of the second level, which are in order. The text
// before them has the key "". Comments and the title are left out. In a fence nothing is a heading.
func sections(page string) (texts map[string]string, order []string) {
	page = strings.ReplaceAll(strings.TrimPrefix(page, "\ufeff"), "\r\n", "\n")
	texts = map[string]string{"": ""}
	key, fence := "", ""
	for line := range strings.Lines(comment.ReplaceAllString(page, "")) {
		heading, is := strings.CutPrefix(line, "## ")
		switch mark := line[:min(3, len(line))]; {
		case fence == "" && (mark == "```" || mark == "~~~"):
			fence = mark
		case fence != "":
			if mark == fence {
				fence = ""
			}
		case is:
			heading = strings.TrimSpace(heading)
			key, order = keyOf(heading), append(order, heading)
			continue
		case key == "" && strings.HasPrefix(line, "# "):
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
