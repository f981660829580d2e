package convert

import (
	"io"
	"strings"

	"github.com/scruple-eval/scruple/internal/text"
)

// SROIE converts SROIE receipts. The package comment says by which rules.
func SROIE(r io.Reader, w io.Writer, o Options) (Report, error) {
	return stream(r, w, o, (*receipt).convert)
}

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

func (r *receipt) convert() (*document, error) {
	s, err := newSource(r.ID, r.Pages)
	if err != nil {
		return nil, err
	}
	d := &document{ID: r.ID, Schema: "sroie", Text: s.text, Cluster: strings.ToLower(string(lettersOf(r.Gold.Company)))}
	convertCopy(d, "company", r.Gold.Company, s)
	convertReceiptDate(d, r.Gold.Date, s)
	convertCopy(d, "address", r.Gold.Address, s)
	convertTotal(d, r.Gold.Total, s)
	return d, nil
}

// convertCopy makes gold of a value that was copied from the receipt.
func convertCopy(d *document, field, value string, s *source) {
	if value == "" {
		d.decide(field, NoAnswer)
		return
	}
	q, ok := s.find(value)
	if !ok {
		d.decide(field, NotInText)
		return
	}
	d.present(field, q.text, q, value)
}

// convertReceiptDate takes the first place where the receipt has the annotated
// day, in whatever form.
func convertReceiptDate(d *document, value string, s *source) {
	const field = "date"
	r, err := text.ParseDate(value)
	if err != nil {
		d.decide(field, NoAnswer)
		return
	}
	day := dayFirst(r)
	for _, form := range formsOf(day, s.text, dayFirst) {
		if q, ok := s.find(form); ok {
			d.present(field, day.String(), q, form, value)
			return
		}
	}
	d.decide(field, NotInText)
}

// convertTotal takes an amount that stands in the text, at whatever place.
func convertTotal(d *document, value string, s *source) {
	const field = "total"
	switch {
	case value == "":
		d.decide(field, NoAnswer)
	case !s.index.Has(value) || !text.Contains(text.Money, s.text, value):
		d.decide(field, NotInText)
	default:
		d.Truth = append(d.Truth, truth{Field: field, Exists: true, Correct: value, Acceptable: []string{value}, MustContain: value})
		d.decide(field, Contained)
	}
}
