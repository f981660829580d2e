package documents

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/text"
)

// A Rule is the result of converting an annotation. Rules whose name starts with
// "excluded" exclude a field from gold.
type Rule struct {
	Name string
	Doc  string // in one sentence
}

// The rules, those that keep a field first.
var (
	Verbatim   = Rule{"present", "The annotated quote contains the value, and the text contains the quote."}
	Restored   = Rule{"present, quote restored", "The same, after restoring the document's punctuation and spacing in the quote."}
	Contained  = Rule{"present, place not annotated", "The text contains the value; a quote must contain it."}
	Ambiguous  = Rule{"ambiguous", "The text contains several values; each is a candidate."}
	Missing    = Rule{"missing", "The corpus says that the document has no value."}
	Set        = Rule{"excluded: a set", "The annotation is a set of values; a field has one value."}
	Incomplete = Rule{"excluded: incomplete date", "Day, month or year is blank in the document."}
	Perpetual  = Rule{"excluded: perpetual", "The answer is a conclusion from the clause, not a date."}
	Derived    = Rule{"excluded: not in the quote", "No quote contains the answer: it was computed, inferred or mistyped."}
	Several    = Rule{"excluded: several values", "The answer joins values that are not alternatives."}
	NoAnswer   = Rule{"excluded: no answer", "A clause is annotated without a normalised answer that parses."}
	NoQuote    = Rule{"excluded: no quote", "An answer is annotated without a clause."}
	NotInText  = Rule{"excluded: not in the text", "The text does not contain the value or the quote in readable form."}
)

// Rules lists all rules.
func Rules() []Rule {
	return []Rule{Verbatim, Restored, Contained, Ambiguous, Missing,
		Set, Incomplete, Perpetual, Derived, Several, NoAnswer, NoQuote, NotInText}
}

// Kept reports whether the rule makes the field gold.
func (r Rule) Kept() bool { return !strings.HasPrefix(r.Name, "excluded") }

// A Report counts what a conversion did. Every field of every written document
// is counted once.
type Report struct {
	Written int      // documents
	TooLong int      // left out by Options.MaxText
	NoGold  int      // left out because no field became gold
	Fields  []string // in the order of the corpus
	counts  map[decision]int
}

// Count is how often a rule applied to a field.
func (r *Report) Count(field string, rule Rule) int { return r.counts[decision{field, rule}] }

// Total is how often a rule applied.
func (r *Report) Total(rule Rule) int {
	n := 0
	for _, f := range r.Fields {
		n += r.Count(f, rule)
	}
	return n
}

// count reports whether the document is to be written, and counts it.
func (r *Report) count(d *Document, o Options) bool {
	switch {
	case o.MaxText > 0 && len(d.Text) > o.MaxText:
		r.TooLong++
		return false
	case len(d.Truth) == 0:
		r.NoGold++
		return false
	}
	r.Written++
	if r.counts == nil {
		r.counts = make(map[decision]int)
	}
	for _, made := range d.decisions {
		if !slices.Contains(r.Fields, made.field) {
			r.Fields = append(r.Fields, made.field)
		}
		r.counts[made]++
	}
	return true
}

// Markdown formats the report as a table with one row per rule and one column per
// field.
func (r *Report) Markdown() string {
	var b strings.Builder
	row := func(cells ...string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	row(append(append([]string{""}, r.Fields...), "all")...)
	row(append([]string{"---"}, slices.Repeat([]string{"--:"}, len(r.Fields)+1)...)...)
	for _, rule := range Rules() {
		if r.Total(rule) == 0 {
			continue
		}
		cells := []string{rule.Name}
		for _, f := range r.Fields {
			cells = append(cells, number(r.Count(f, rule)))
		}
		row(append(cells, number(r.Total(rule)))...)
	}
	return b.String()
}

// number writes zero as a dot, so that what happened stands out.
func number(n int) string {
	if n == 0 {
		return "·"
	}
	return strconv.Itoa(n)
}

// String sums the report up in one line.
func (r *Report) String() string {
	kept, dropped := 0, 0
	for _, rule := range Rules() {
		if rule.Kept() {
			kept += r.Total(rule)
		} else {
			dropped += r.Total(rule)
		}
	}
	s := fmt.Sprintf("%s written, %s kept as gold, %d excluded", text.Plural(r.Written, "document", "documents"), text.Plural(kept, "field", "fields"), dropped)
	if r.TooLong > 0 {
		s += fmt.Sprintf("; %d too long", r.TooLong)
	}
	if r.NoGold > 0 {
		s += fmt.Sprintf("; %d without gold", r.NoGold)
	}
	return s
}
