package label

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/scruple-eval/scruple/internal/spanfile"
)

// Main is the section before the first header.
const Main = "main"

// A Header begins a section.
type Header struct {
	Section string `json:"section" jsonschema:"required,minLength=1,description=Name of the section"`
	Pattern string `json:"pattern" jsonschema:"required,minLength=1,description=Regular expression (RE2) of the header\\, in any case; ^ and $ match at lines"`
}

// videoHeaders are those of video prompts. Alternatives begin with a bold
// header whose first word is ALTERNATIVE or VARIATIONS, at the start of a line:
// real prompts say **ALTERNATIVE APPROACHES**.
var videoHeaders = []Header{
	{"technicalSpecs", `\*\*(?:TECHNICAL SPECS|Technical Specifications)\*\*`},
	{"alternatives", `^[ \t]*\*\*(?:ALTERNATIVE|VARIATIONS)`},
}

// A Sectioner finds sections by their headers.
type Sectioner struct {
	Names    []string // main first
	patterns []*regexp.Regexp
}

// NewSectioner compiles headers; nil means those of video prompts.
func NewSectioner(headers []Header) (*Sectioner, error) {
	if headers == nil {
		headers = videoHeaders
	}
	s := &Sectioner{Names: []string{Main}}
	for _, h := range headers {
		if slices.Contains(s.Names, h.Section) {
			return nil, fmt.Errorf("duplicate section %q", h.Section)
		}
		re, err := regexp.Compile("(?im)" + h.Pattern)
		if err != nil {
			return nil, fmt.Errorf("section %q: %w", h.Section, err)
		}
		s.Names, s.patterns = append(s.Names, h.Section), append(s.patterns, re)
	}
	return s, nil
}

// A Boundary is a section's range of code points.
type Boundary struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// Sections are the ranges of the sections, in the order of [Sectioner.Names]; nil
// for a section that the text does not have.
type Sections []*Boundary

// Detect finds the sections of a text. Of repeated headers the first counts. Main
// reaches to the first header, every other section to the next one.
func (s *Sectioner) Detect(r *spanfile.Ruler) Sections {
	found := make(Sections, len(s.Names))
	found[0] = &Boundary{0, r.Len()}
	for i, re := range s.patterns {
		at := re.FindStringIndex(r.Text)
		if at == nil {
			continue
		}
		start := at[0]
		for start < at[1] && (r.Text[start] == ' ' || r.Text[start] == '\t') {
			start++ // white space that indents the header belongs to the section before
		}
		found[i+1] = &Boundary{r.Point(start, spanfile.Bytes), r.Len()}
	}
	for i, b := range found {
		if b == nil {
			continue
		}
		for j, next := range found {
			if j > 0 && j != i && next != nil && (i == 0 || next.Start > b.Start) {
				b.End = min(b.End, next.Start)
			}
		}
	}
	return found
}

// Of is the name of the section that has an offset.
func (s *Sectioner) Of(sections Sections, start int) string {
	for i, b := range sections {
		if i > 0 && b != nil && start >= b.Start && start < b.End {
			return s.Names[i]
		}
	}
	return Main
}
