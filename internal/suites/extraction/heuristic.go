package extraction

import (
	"regexp"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/text"
)

// heuristicVersion is part of the arm's hash. It changes when the rules change.
const heuristicVersion = "1"

// heuristicAnswer extracts by rule. Every value of the field's type in the
// document is a candidate; the words around it are its label. The candidate
// whose label best matches the field wins. Strings have separate rules, chosen
// by the words of the field name. No rule is specific to a document or corpus.
func heuristicAnswer(d *prepared) string {
	h := heuristic{prepared: d.ready(), labels: labelsOf(d.schema)}
	entries := make([]writtenEntry, len(d.schema.Fields))
	for i := range d.schema.Fields {
		entries[i] = h.entry(i)
	}
	return answerText(entries)
}

type heuristic struct {
	*prepared
	labels []label // by field
}

func (h *heuristic) entry(i int) writtenEntry {
	f, l := &h.schema.Fields[i], &h.labels[i]
	var value, quote span
	var ok bool
	switch f.Type {
	case text.Date, text.Money, text.Number:
		value, ok = h.typed(f, l)
		quote = h.withLabel(value)
	case text.ID:
		value, ok = h.identifier(l)
		quote = h.withLabel(value)
	default:
		value, quote, ok = h.words(l)
	}
	if !ok {
		return missingEntry(f.Name)
	}
	c := citation{Value: text.Minimal(h.Text[value.start:value.end]), Quote: h.Text[quote.start:quote.end], Page: h.index.PageAt(quote.start)}
	if !h.index.Has(c.Quote) { // the passage contains a page marker
		c.Quote, c.Page = c.Value, h.index.PageAt(value.start)
	}
	if !h.index.Has(c.Value) {
		return missingEntry(f.Name)
	}
	return okEntry(f.Name, c)
}

// A concept is a set of synonyms.
type concept []string

// concepts maps words of field names to their synonyms in business documents.
// Other words have no synonyms.
var concepts = map[string]concept{
	"number":     {"number", "no", "no.", "nr", "num", "#", "id"},
	"date":       {"date", "dated", "on"},
	"total":      {"total", "amount due", "balance due", "grand total", "net total"},
	"amount":     {"amount", "amt", "sum"},
	"value":      {"value", "amount", "price", "fee", "consideration"},
	"due":        {"due", "payable", "pay by", "payment due"},
	"invoice":    {"invoice", "inv", "bill"},
	"receipt":    {"receipt", "document", "doc", "bill", "invoice", "trans", "transaction", "slip"},
	"purchase":   {"purchase", "sale", "date", "time"},
	"tax":        {"tax", "vat", "gst", "sst"},
	"agreement":  {"made", "entered into", "dated", "dated as of", "executed", "agreement", "day of"},
	"effective":  {"effective", "commence", "commences", "commencing", "commencement", "shall begin"},
	"expiration": {"expire", "expires", "expiration", "expiring", "until", "terminate", "terminates", "through", "ending", "end on", "ends on"},
	"birth":      {"birth", "born", "dob"},
	"visit":      {"visit", "admission", "admitted", "seen on", "encounter", "service"},
	"record":     {"record", "mrn", "chart"},
	"physician":  {"physician", "doctor", "attending", "provider", "dr"},
	"medication": {"medication", "prescribed", "rx", "medications"},
	"diagnosis":  {"diagnosis", "assessment", "impression", "dx"},
	"employer":   {"employer", "company"},
	"degree":     {"degree", "education"},
}

// generic words name the kind of a value and do not identify a field.
var generic = []string{"date", "number", "amount", "name", "value", "of", "the", "id", "code"}

// A label is the words to look for around the values of a field.
type label struct {
	name     string
	specific []concept
	kind     []concept // the generic words of the name
	rivals   []concept // specific concepts of other fields
	date     bool      // the field is a date
	only     bool      // no other field of the schema has its type
	plain    bool      // its specific words name the document, not the value
}

func labelsOf(s *Schema) []label {
	labels := make([]label, len(s.Fields))
	for i, f := range s.Fields {
		l := &labels[i]
		l.name, l.date = f.Name, f.Type == text.Date
		for _, w := range nameWords(f.Name) {
			if slices.Contains(generic, w) {
				l.kind = append(l.kind, conceptOf(w))
			} else {
				l.specific = append(l.specific, conceptOf(w))
			}
		}
		l.plain = !slices.ContainsFunc(nameWords(f.Name), func(w string) bool {
			return !slices.Contains(generic, w) && !slices.Contains(documentWords, w)
		})
	}
	for i := range labels {
		labels[i].only = true
		for j := range labels {
			if i != j && s.Fields[i].Type == s.Fields[j].Type {
				labels[i].only = false
				labels[i].rivals = append(labels[i].rivals, rivals(labels[i], labels[j])...)
			}
		}
	}
	return labels
}

// documentWords name kinds of documents. An invoice_date may be labelled just
// "date" on an invoice.
var documentWords = []string{"invoice", "receipt", "contract", "agreement", "document", "purchase", "total"}

// rivals are the concepts of b that are not also those of a.
func rivals(a, b label) []concept {
	return slices.DeleteFunc(slices.Clone(b.specific), func(c concept) bool {
		return slices.ContainsFunc(a.specific, func(o concept) bool { return slices.Equal(o, c) })
	})
}

func nameWords(name string) []string {
	return strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '_' || r == '-' || r == '.' })
}

func conceptOf(word string) concept {
	if c := concepts[word]; c != nil {
		return c
	}
	return concept{word}
}

// in reports whether the lower-case text s contains one of the synonyms as a
// whole word.
func (c concept) in(s string) bool {
	return slices.ContainsFunc(c, func(w string) bool { return holdsWord(s, w) })
}

func holdsWord(s, word string) bool {
	for at := 0; ; {
		i := strings.Index(s[at:], word)
		if i < 0 {
			return false
		}
		at += i
		end := at + len(word)
		if (at == 0 || !wordByte(s[at-1])) && (end == len(s) || !wordByte(s[end])) {
			return true
		}
		at = end
	}
}

func wordByte(b byte) bool {
	return b >= 0x80 || b|0x20 >= 'a' && b|0x20 <= 'z' || b >= '0' && b <= '9'
}

// typed finds the date or number whose label fits best. Ties go to the first
// date or the largest amount: a total is at least as large as its parts.
func (h *heuristic) typed(f *Field, l *label) (span, bool) {
	best, bestScore := span{}, 0.0
	found := false
	for _, s := range h.values(f.Type) {
		score := h.fit(l, s)
		if !found || score > bestScore || score == bestScore && f.Type != text.Date && h.larger(s, best) {
			best, bestScore, found = s, score, true
		}
	}
	enough := 2.0
	if l.plain || l.only && f.Type == text.Date && len(l.specific) == 0 {
		enough = 0
	}
	return best, found && bestScore >= enough
}

// values lists the positions of values of a type.
func (h *heuristic) values(t text.Type) []span {
	var spans []span
	for _, p := range h.index.Pages() {
		page := h.Text[p.Start:p.End]
		at := 0
		for _, v := range text.Values(t, page) {
			i := strings.Index(page[at:], v)
			if i < 0 {
				break
			}
			at += i
			spans = append(spans, span{p.Start + at, p.Start + at + len(v)})
			at += len(v)
		}
	}
	return spans
}

// fit scores how well the words around a value match a label. Words on the same
// line count most, as does a definition that follows, such as: March 1, 2020
// (the "Effective Date"). The words before and the heading above count less.
func (h *heuristic) fit(l *label, s span) float64 {
	line := lower(h.lineBefore(s.start))
	before := lower(h.before(s.start, 90)) + " " + lower(h.above(s.start))
	definition, _, _ := strings.Cut(lower(h.after(s.end, 60)), ")")
	defined := strings.HasPrefix(strings.TrimLeft(definition, " ,"), "(")
	score := 0.0
	for _, c := range l.specific {
		switch {
		case c.in(line):
			score += 4
		case defined && c.in(definition):
			score += 4
		case c.in(before):
			score += 2
		}
	}
	for _, c := range l.kind {
		if c.in(line) || c.in(before) {
			score++
		}
	}
	for _, c := range l.rivals {
		switch {
		case c.in(line):
			score -= 3
		case c.in(before):
			score--
		}
	}
	if !l.date && slices.ContainsFunc(otherAmounts, func(w string) bool { return holdsWord(line, w) && !l.names(w) }) {
		score -= 4
	}
	return score
}

// otherAmounts are labels of amounts that count only if the field names them.
var otherAmounts = []string{"subtotal", "sub total", "sub-total", "change", "cash", "gst", "vat", "tax", "qty", "quantity", "items", "discount", "rounding"}

// names reports whether a word is among the field's specific concepts.
func (l *label) names(word string) bool {
	return slices.ContainsFunc(l.specific, func(c concept) bool { return slices.Contains(c, word) })
}

// larger compares two amounts.
func (h *heuristic) larger(a, b span) bool {
	x, errX := text.ParseNumber(h.Text[a.start:a.end])
	y, errY := text.ParseNumber(h.Text[b.start:b.end])
	return errX == nil && errY == nil && x.Cmp(y) > 0
}

func lower(s string) string { return strings.ToLower(text.Minimal(s)) }

// lineBefore is the part of the line before a position.
func (h *heuristic) lineBefore(at int) string {
	return h.Text[strings.LastIndexByte(h.Text[:at], '\n')+1 : at]
}

// before is the text before a position, at most n bytes and from the same page.
func (h *heuristic) before(at, n int) string {
	s := h.Text[max(0, at-n):at]
	if i := strings.LastIndex(s, "---PAGE"); i >= 0 {
		s = s[i:]
	}
	return strings.ToValidUTF8(s, "")
}

func (h *heuristic) after(at, n int) string {
	return strings.ToValidUTF8(h.Text[at:min(len(h.Text), at+n)], "")
}

// above is the heading over a position: of the nearest non-blank line above, the
// words that begin closest to the same column.
func (h *heuristic) above(at int) string {
	start := strings.LastIndexByte(h.Text[:at], '\n') + 1
	column := at - start
	for end := start - 1; end > 0; {
		from := strings.LastIndexByte(h.Text[:end], '\n') + 1
		if line := h.Text[from:end]; strings.TrimSpace(line) != "" {
			return nearestCell(line, column)
		}
		end = from - 1
	}
	return ""
}

var cell = regexp.MustCompile(`\S+(?: \S+)*`)

func nearestCell(line string, column int) string {
	best, distance := "", 16
	for _, c := range cell.FindAllStringIndex(line, -1) {
		if d := max(c[0], column) - min(c[0], column); d < distance {
			best, distance = line[c[0]:c[1]], d
		}
	}
	return best
}

// withLabel extends a value to the left to include the label on its line.
func (h *heuristic) withLabel(s span) span {
	from := strings.LastIndexByte(h.Text[:s.start], '\n') + 1
	for s.start-from > longestQuote/2 {
		i := strings.IndexAny(h.Text[from:s.start], " \t")
		if i < 0 {
			from = s.start
			break
		}
		from += i + 1
	}
	for from < s.start && (h.Text[from] == ' ' || h.Text[from] == '\t') {
		from++
	}
	return span{from, s.end}
}

var (
	email = regexp.MustCompile(`[\w.+-]+@[\w-]+(?:\.[\w-]+)+`)
	phone = regexp.MustCompile(`\+?\(?\d[\d ().-]{6,}\d`)
	// code is a run of letters, digits and connecting punctuation.
	code = regexp.MustCompile(`[A-Za-z0-9][A-Za-z0-9/_.-]*`)
)

// identifier finds a number or code after its label, or an e-mail address or
// phone number by its form.
func (h *heuristic) identifier(l *label) (span, bool) {
	switch {
	case strings.Contains(l.name, "mail"):
		return h.first(email)
	case strings.Contains(l.name, "phone") || strings.Contains(l.name, "telephone"):
		return h.first(phone)
	}
	best, bestScore := span{}, 3.0 // more than one specific word nearby
	for _, p := range h.index.Pages() {
		for _, m := range code.FindAllStringIndex(h.Text[p.Start:p.End], -1) {
			s := span{p.Start + m[0], p.Start + m[1]}
			s.end = s.start + len(strings.TrimRight(h.Text[s.start:s.end], ".-/_"))
			if v := h.Text[s.start:s.end]; len(v) < 3 || !strings.ContainsAny(v, "0123456789") || isDate(v) {
				continue
			}
			if score := h.fitCode(l, s); score > bestScore {
				best, bestScore = s, score
			}
		}
	}
	return best, best.end > 0
}

func isDate(s string) bool {
	_, err := text.ParseDate(s)
	return err == nil
}

// fitCode is fit for codes, which directly follow their label or are directly
// below it.
func (h *heuristic) fitCode(l *label, s span) float64 {
	near := lower(h.lineBefore(s.start))
	if len(near) > 30 {
		near = near[len(near)-30:]
	}
	if near == "" {
		near = lower(h.above(s.start))
	}
	last := near[strings.LastIndexByte(near, ' ')+1:]
	score := 0.0
	for _, c := range l.specific {
		if c.in(near) {
			score += 3
		}
		if c.in(last) { // directly after the label
			score++
		}
	}
	for _, c := range l.kind {
		if c.in(near) {
			score += 2
		}
	}
	return score
}

func (h *heuristic) first(form *regexp.Regexp) (span, bool) {
	if m := form.FindStringIndex(h.Text); m != nil {
		return span{m[0], m[1]}, true
	}
	return span{}, false
}
