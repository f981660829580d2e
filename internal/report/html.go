package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/scruple-eval/scruple/internal/say"
)

//go:embed report.tmpl
var reportTemplate string

//go:embed report.css
var reportStyle string

//go:embed report.js
var reportScript string

// page is parsed at first use, not at program start.
var page = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("report").Funcs(template.FuncMap{
		"show":    say.Visible,
		"exact":   say.Exactly,
		"prose":   prose,
		"percent": percent,
		"place":   coordinate,
		"outline": graphOutline,
		"state":   graphState,
		"states":  func() []string { return graphStates },
		"align":   align,
		"spoken":  spoken,
		"folded":  func(b block) bool { return b.In == inFull },
		"inHTML":  func(b block) bool { return b.In != inText },
	}).Parse(reportTemplate))
})

// A run of prose is words, or code.
type run struct {
	Text string
	Code bool
}

// ourCommand is a command in a sentence of ours. Other backticks belong to data, which
// must not make elements.
var ourCommand = regexp.MustCompile("`(scruple [^`]*)`")

// prose divides a sentence at commands between backticks.
func prose(s string) (list []run) {
	at := 0
	for _, m := range ourCommand.FindAllStringSubmatchIndex(s, -1) {
		list = append(list, run{Text: s[at:m[0]]}, run{s[m[2]:m[3]], true})
		at = m[1]
	}
	return append(list, run{Text: s[at:]})
}

// figureSpace is as wide as a digit.
const figureSpace = "\u2007"

// HTML writes the whole report as one self-contained page: no other file, no
// network, and one small script to filter samples, without which the page also
// works.
func HTML(w io.Writer, r Report) error {
	if err := r.check(); err != nil {
		return err
	}
	c := newContent(r)
	b, err := pageOf(c)
	for err == nil && len(b) > maxHTML && lighten(&c) {
		b, err = pageOf(c)
	}
	if err == nil {
		_, err = w.Write(b)
	}
	return written("the report as HTML", err)
}

// maxHTML is the size above which a page shows less of its samples: a browser opens it
// at once, and it can be sent by mail.
const maxHTML = 3_000_000

// pageOf renders a page.
func pageOf(c content) ([]byte, error) {
	var b bytes.Buffer
	err := page().Execute(&b, struct {
		content
		Style  template.CSS
		Script template.JS
		Policy string
	}{c, template.CSS(reportStyle), template.JS(reportScript), policy()})
	return b.Bytes(), err
}

// lighten leaves out of the samples what takes the most room: first the pages as a whole, of
// which excerpts stay, and then every second sample of each arm. It reports whether it did.
func lighten(c *content) bool {
	for _, s := range c.Sections {
		for _, b := range s.Blocks {
			switch {
			case b.Samples == nil:
			case b.Samples.withoutWhole():
				s.Blocks[0].Prose += " Whole pages are left out to keep this file small: the command shows them too."
				return true
			case len(b.Samples.List) > 0:
				b.Samples.half()
				s.Blocks[0].Prose = "Some samples are left out to keep this file small. `scruple show STUDY ITEM ARM` shows any trial."
				return true
			}
		}
	}
	return false
}

// policy allows only the page's own styles and script, so that text is harmless
// even if escaping fails.
func policy() string {
	hash := sha256.Sum256([]byte(reportScript))
	return "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-" +
		base64.StdEncoding.EncodeToString(hash[:]) + "'; base-uri 'none'; form-action 'none'"
}

// align pads the numbers of a table to align their decimal points.
func align(t *table) *table {
	for j, c := range t.Columns {
		var texts []string
		for _, r := range t.Rows {
			if c.Align == point && r.Cells != nil {
				texts = append(texts, r.Cells[j].Text)
			}
		}
		tails := say.Tails(texts)
		for i := range t.Rows {
			if c.Align == point && t.Rows[i].Cells != nil {
				t.Rows[i].Cells[j].lacking, tails = tails[0], tails[1:]
			}
		}
	}
	return t
}

// Long reports whether the title has a word that must be broken to fit, such as the name
// of an arm.
func (c column) Long() bool {
	return slices.ContainsFunc(strings.Fields(c.Title), func(word string) bool { return utf8.RuneCountInString(word) > 15 })
}

// Many reports whether a table has so many columns that they must be narrow.
func (t *table) Many() bool { return len(t.Columns) > 8 }

// Pad returns the text after a number that aligns it.
func (c cell) Pad() string { return strings.Repeat(figureSpace, c.lacking) }

// spoken describes a row of a chart for readers who do not see it.
func spoken(r row, t *table) string {
	parts := []string{tagged(say.Visible, r.Cells[0])}
	for j, c := range r.Cells[1:] {
		parts = append(parts, t.Columns[j+1].Title+" "+c.Text)
	}
	return strings.Join(parts, ", ")
}
