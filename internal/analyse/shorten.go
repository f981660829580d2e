package analyse

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/scruple-eval/scruple/internal/eval"
)

// sampleText is the text of all samples of a report in bytes, so that a report of
// long documents can still be opened. `scruple show` prints whole documents.
const sampleText = 1_200_000

// sampleRows is how many rows of a sample a report has.
const sampleRows = 300

// shortenSamples cuts the pages and the answers of samples to an equal share of sampleText each,
// and their rows to sampleRows.
func shortenSamples(samples []Sample) {
	for i := range samples {
		x := &samples[i].Show
		shortenPages(x.Pages, sampleText/len(samples))
		raw := eval.ExhibitPage{Text: x.Raw}
		cutPage(&raw, sampleText/len(samples))
		x.Raw, x.Rows = raw.Text, shortenRows(x.Rows)
	}
}

// shortenRows keeps those with a problem first, in their order.
func shortenRows(rows []eval.ExhibitRow) []eval.ExhibitRow {
	if len(rows) <= sampleRows {
		return rows
	}
	var noted, others []int
	for i, r := range rows {
		if r.Note != "" {
			noted = append(noted, i)
		} else {
			others = append(others, i)
		}
	}
	var kept []eval.ExhibitRow
	for _, i := range slices.Sorted(slices.Values(append(noted, others...)[:sampleRows])) {
		kept = append(kept, rows[i])
	}
	return append(kept, eval.ExhibitRow{Unit: "…", Note: fmt.Sprintf("%d more rows: scruple show prints them", len(rows)-sampleRows)})
}

// shortenPages cuts pages to a number of bytes in all: pages with marks keep their
// text first, and others share what is left, in order.
func shortenPages(pages []eval.ExhibitPage, room int) {
	total := 0
	for _, p := range pages {
		total += len(p.Text)
	}
	if total <= room {
		return
	}
	for _, marked := range []bool{true, false} {
		for i := range pages {
			if p := &pages[i]; (len(p.Marks) > 0) == marked {
				before := len(p.Text)
				cutPage(p, room)
				room -= min(before, room)
			}
		}
	}
}

// cutPage cuts a page to a number of bytes and drops the marks after it.
func cutPage(p *eval.ExhibitPage, room int) {
	if len(p.Text) <= room {
		return
	}
	for room > 0 && !utf8.RuneStart(p.Text[room]) {
		room--
	}
	rest := len(p.Text) - room
	p.Text = p.Text[:room] + fmt.Sprintf("\n[%d more bytes: scruple show prints them]", rest)
	p.Marks = slices.DeleteFunc(slices.Clone(p.Marks), func(m eval.Mark) bool { return m.End > room })
}
