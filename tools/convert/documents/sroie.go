package documents

import (
	"strings"

	"github.com/scruple-eval/scruple/internal/text"
)

// A receipt is one record of the corpus.
type receipt struct {
	ID       string          `json:"id"`
	Pages    []string        `json:"pages"`
	Gold     receiptGold     `json:"gold"`
	Verbatim map[string]bool `json:"gold_verbatim"` // not trusted: values are looked for in the text
}

type receiptGold struct {
	Company string `json:"company"`
	Date    string `json:"date"`
	Address string `json:"address"`
	Total   string `json:"total"`
}

func (r *receipt) convert() (*Document, error) {
	s, err := NewSource(r.ID, r.Pages)
	if err != nil {
		return nil, err
	}
	d := &Document{ID: r.ID, Schema: "sroie", Text: s.Text, Cluster: strings.ToLower(string(LettersOf(r.Gold.Company)))}
	convertCopy(d, "company", r.Gold.Company, s)
	convertReceiptDate(d, r.Gold.Date, s)
	convertCopy(d, "address", r.Gold.Address, s)
	convertTotal(d, r.Gold.Total, s)
	return d, nil
}

// convertCopy makes gold of a value that was copied from the receipt.
func convertCopy(d *Document, field, value string, s *Source) {
	if value == "" {
		d.Decide(field, NoAnswer)
		return
	}
	q, ok := s.Find(value)
	if !ok {
		d.Decide(field, NotInText)
		return
	}
	d.Present(field, q.Text, q, value)
}

// dayFirst is the day that a date such as 03/04/2018 is in Malaysia.
func dayFirst(r text.DateReading) text.Day { return r.DayFirst }

// convertReceiptDate takes the first place where the receipt has the annotated
// day, in any form.
func convertReceiptDate(d *Document, value string, s *Source) {
	const field = "date"
	r, err := text.ParseDate(value)
	if err != nil {
		d.Decide(field, NoAnswer)
		return
	}
	day := dayFirst(r)
	for _, form := range FormsOf(day, s.Text, dayFirst) {
		if q, ok := s.Find(form); ok {
			d.Present(field, day.String(), q, form, value)
			return
		}
	}
	d.Decide(field, NotInText)
}

// convertTotal takes an amount that is anywhere in the text.
func convertTotal(d *Document, value string, s *Source) {
	const field = "total"
	switch {
	case value == "":
		d.Decide(field, NoAnswer)
	case !s.Index.Has(value) || !text.Contains(text.Money, s.Text, value):
		d.Decide(field, NotInText)
	default:
		d.Truth = append(d.Truth, Truth{Field: field, Exists: true, Correct: value, Acceptable: []string{value}, MustContain: value})
		d.Decide(field, Contained)
	}
}
