package documents

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/text"
)

// monthFirst is the day that a date such as 03/04/2018 is in America.
func monthFirst(r text.DateReading) text.Day { return r.MonthFirst }

// convertDate makes gold of a day that the quotes of a contract hold in
// writing. Answers list several days with ";".
func convertDate(d *Document, field, answer string, quotes []Quote) {
	var days []text.Day
	for part := range strings.SplitSeq(answer, ";") {
		switch part = strings.TrimSpace(part); {
		case strings.EqualFold(part, "perpetual"):
			d.Decide(field, Perpetual)
			return
		case strings.ContainsAny(part, "[]*_"):
			d.Decide(field, Incomplete)
			return
		}
		r, err := text.ParseDate(part)
		if err != nil {
			d.Decide(field, NoAnswer)
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
func withBareDates(days []text.Day, quotes []Quote) []text.Day {
	for _, q := range quotes {
		r, err := text.ParseDate(strings.TrimRight(q.Text, ".,"))
		if err == nil && !slices.Contains(days, monthFirst(r)) {
			days = append(days, monthFirst(r))
		}
	}
	return days
}

// decideDays makes gold of the days that stand in the quotes.
func decideDays(d *Document, field string, days []text.Day, quotes []Quote) {
	var (
		held  []text.Day
		where Quote
		forms []string
	)
	for _, day := range days {
		for _, q := range quotes {
			if f := FormsOf(day, q.Text, monthFirst); len(f) > 0 {
				held, where, forms = append(held, day), q, f
				break
			}
		}
	}
	switch {
	case len(held) == 0:
		d.Decide(field, Derived)
	case len(held) < len(days):
		d.Decide(field, Several)
	case len(days) == 1:
		d.Present(field, days[0].String(), where, forms...)
	default:
		var candidates []string
		for _, day := range days {
			candidates = append(candidates, day.String())
		}
		d.Ambiguous(field, fmt.Sprintf("%d different days are annotated as %s", len(days), strings.ReplaceAll(field, "_", " ")), candidates)
	}
}
