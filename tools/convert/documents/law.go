package documents

import (
	"strings"

	"github.com/scruple-eval/scruple/internal/text"
)

// convertLaw makes gold of a jurisdiction that the quotes name. Answers list
// several with ";", and with "," either several or a place and its country.
func convertLaw(d *Document, field, answer string, quotes []Quote) {
	if q, written, ok := nameLaw(answer, quotes); ok {
		d.Present(field, written, q, lawForms(answer, written, q)...)
		return
	}
	parts := strings.FieldsFunc(answer, func(r rune) bool { return r == ';' || r == ',' })
	var named []string
	places := make(map[Quote]bool)
	for i, part := range parts {
		parts[i] = strings.TrimSpace(part)
		if q, written, ok := nameLaw(parts[i], quotes); ok {
			named = append(named, written)
			places[q] = true
		}
	}
	if len(parts) < 2 || len(named) < len(parts) {
		d.Decide(field, Derived)
		return
	}
	joined := strings.Join(parts, " and ")
	if q, written, ok := nameLaw(joined, quotes); ok { // England and Wales: one law
		d.Present(field, written, q, answer)
		return
	}
	if _, _, either := nameLaw(strings.Join(parts, " or "), quotes); either || len(places) > 1 {
		d.Ambiguous(field, "several laws govern, depending on who sues or where", named)
		return
	}
	if q, written, ok := nameLaw(parts[0], quotes); ok && strings.Contains(answer, ",") { // Nova Scotia, Canada
		d.Present(field, written, q, append(lawForms(parts[0], written, q), answer)...)
		return
	}
	d.Decide(field, Several)
}

// nameLaw finds the first quote that names a jurisdiction, in full or by the
// abbreviation contracts use, and returns the name as it is to be given.
func nameLaw(name string, quotes []Quote) (Quote, string, bool) {
	for _, q := range quotes {
		for _, form := range append([]string{name}, abbreviations(name)...) {
			if text.Contains(text.String, q.Text, form) {
				return q, form, true
			}
		}
	}
	return Quote{}, "", false
}

// abbreviations are the short forms contracts use for a country.
func abbreviations(name string) []string {
	switch name {
	case "People's Republic of China", "People’s Republic of China":
		return []string{"PRC", "P.R.C.", "P.R. China"}
	case "United Kingdom":
		return []string{"UK", "U.K."}
	}
	return nil
}

// lawForms are the other names under which the quote gives the jurisdiction.
func lawForms(answer, written string, q Quote) []string {
	forms := []string{answer}
	for _, of := range []string{"State of ", "Commonwealth of ", "Province of "} {
		if text.Contains(text.String, q.Text, of+written) {
			forms = append(forms, of+written, "the "+of+written)
		}
	}
	if written != answer {
		forms = append(forms, "the "+answer, "the "+written)
	}
	return forms
}
