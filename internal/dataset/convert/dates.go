package convert

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/text"
)

// An order says which day a date such as 03/04/2018 is where it was written.
type order func(text.DateReading) text.Day

func monthFirst(r text.DateReading) text.Day { return r.MonthFirst }
func dayFirst(r text.DateReading) text.Day   { return r.DayFirst }

// formsOf finds the dates in s that are the given day, as they are written.
func formsOf(day text.Day, s string, read order) []string {
	var forms []string
	for _, form := range text.Values(text.Date, s) {
		if r, err := text.ParseDate(form); err == nil && read(r) == day {
			forms = append(forms, form)
		}
	}
	return forms
}

// convertDate makes gold of a day that the quotes of a contract hold in
// writing. Answers list several days with ";".
func convertDate(d *document, field, answer string, quotes []quote) {
	var days []text.Day
	for part := range strings.SplitSeq(answer, ";") {
		switch part = strings.TrimSpace(part); {
		case strings.EqualFold(part, "perpetual"):
			d.decide(field, Perpetual)
			return
		case strings.ContainsAny(part, "[]*_"):
			d.decide(field, Incomplete)
			return
		}
		r, err := text.ParseDate(part)
		if err != nil {
			d.decide(field, NoAnswer)
			return
		}
		days = append(days, monthFirst(r))
	}
	if field == "agreement_date" && len(quotes) > 1 {
		days = withBareDates(days, quotes)
	}
	decideDays(d, field, days, quotes)
}

// withBareDates adds the days of quotes that are a date and nothing else: who
// marks two dates as the agreement's and normalises one leaves the choice open.
func withBareDates(days []text.Day, quotes []quote) []text.Day {
	for _, q := range quotes {
		r, err := text.ParseDate(strings.TrimRight(q.text, ".,"))
		if err == nil && !slices.Contains(days, monthFirst(r)) {
			days = append(days, monthFirst(r))
		}
	}
	return days
}

// decideDays makes gold of the days that stand in the quotes.
func decideDays(d *document, field string, days []text.Day, quotes []quote) {
	var (
		held  []text.Day
		where quote
		forms []string
	)
	for _, day := range days {
		for _, q := range quotes {
			if f := formsOf(day, q.text, monthFirst); len(f) > 0 {
				held, where, forms = append(held, day), q, f
				break
			}
		}
	}
	switch {
	case len(held) == 0:
		d.decide(field, Derived)
	case len(held) < len(days):
		d.decide(field, Several)
	case len(days) == 1:
		d.present(field, days[0].String(), where, forms...)
	default:
		var candidates []string
		for _, day := range days {
			candidates = append(candidates, day.String())
		}
		d.ambiguous(field, fmt.Sprintf("%d different days are annotated as %s", len(days), strings.ReplaceAll(field, "_", " ")), candidates)
	}
}
