package extraction

import (
	_ "embed" // the words
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/scruple-eval/scruple/internal/text"
)

// heuristicVersion is part of the arm's hash. It changes when the rules change.
const heuristicVersion = "1"

// heuristicAnswer extracts by rule. Every value of the field's type in the
// document is a candidate; the words around it are its label. The candidate
// whose label best matches the field wins. Strings have separate rules, chosen
// by the words of the field name. No rule is specific to a document or corpus.
func heuristicAnswer(d *prepared) string {
	h := heuristic{prepared: d, labels: labelsOf(d.schema)}
	entries := []Entry{}
	for i, f := range d.schema.Fields {
		if !inList(f.Name) { // it finds no records
			entries = append(entries, h.entry(i))
		}
	}
	return answerText(entries)
}

type heuristic struct {
	*prepared
	labels []label // by field
}

func (h *heuristic) entry(i int) Entry {
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
	found := text.Minimal(h.Text[value.start:value.end])
	if !h.index.Has(found) {
		return missingEntry(f.Name)
	}
	if passage := h.Text[quote.start:quote.end]; h.index.Has(passage) {
		return okEntry(f.Name, cited(found, passage, h.index.PageAt(quote.start)))
	}
	return okEntry(f.Name, cited(found, found, h.index.PageAt(value.start))) // the passage contains a page marker
}

// lexicon is the words of the rules.
var lexicon = func() (l struct {
	// Synonyms of words of field names in business documents. Other words have none.
	Synonyms map[string]concept
	// Generic words name the kind of a value and do not identify a field.
	Generic []string
	// Documents are kinds of documents. An invoice_date may be labelled just "date" on an
	// invoice.
	Documents []string
	// OtherAmounts are labels of amounts that count only if the field names them.
	OtherAmounts []string
	// AfterLaw are words that may follow the place of a law and end it.
	AfterLaw []string
}) {
	if err := json.Unmarshal(heuristicJSON, &l); err != nil {
		panic("extraction: " + err.Error()) // it is a constant
	}
	return l
}()

//go:embed heuristic.json
var heuristicJSON []byte

// A label is the words to look for around the values of a field.
type label struct {
	words    []string // of the field's name
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
		l.words = strings.FieldsFunc(strings.ToLower(f.Name), func(r rune) bool { return strings.ContainsRune("_-.", r) })
		l.date, l.only, l.plain = f.Type == text.Date, true, true
		for _, w := range l.words {
			if slices.Contains(lexicon.Generic, w) {
				l.kind = append(l.kind, conceptOf(w))
				continue
			}
			l.specific = append(l.specific, conceptOf(w))
			l.plain = l.plain && slices.Contains(lexicon.Documents, w)
		}
	}
	for i := range labels {
		for j := range labels {
			if i == j || s.Fields[i].Type != s.Fields[j].Type {
				continue
			}
			labels[i].only = false
			for _, c := range labels[j].specific {
				if !slices.ContainsFunc(labels[i].specific, func(o concept) bool { return slices.Equal(o, c) }) {
					labels[i].rivals = append(labels[i].rivals, c)
				}
			}
		}
	}
	return labels
}

// has reports whether the name of the field has one of the words.
func (l *label) has(words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(l.words, w) })
}

// A concept is a set of synonyms.
type concept []string

func conceptOf(word string) concept {
	if c := lexicon.Synonyms[word]; c != nil {
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
	names := func(word string) bool {
		return slices.ContainsFunc(l.specific, func(c concept) bool { return slices.Contains(c, word) })
	}
	if !l.date && slices.ContainsFunc(lexicon.OtherAmounts, func(w string) bool { return holdsWord(line, w) && !names(w) }) {
		score -= 4
	}
	return score
}

// larger compares two amounts.
func (h *heuristic) larger(a, b span) bool {
	x, errX := text.ParseNumber(h.Text[a.start:a.end])
	y, errY := text.ParseNumber(h.Text[b.start:b.end])
	return errX == nil && errY == nil && x.Cmp(y) > 0
}

func lower(s string) string { return strings.ToLower(text.Minimal(s)) }

// lineStart is the start of the line of a position.
func (h *heuristic) lineStart(at int) int { return strings.LastIndexByte(h.Text[:at], '\n') + 1 }

// lineBefore is the part of the line before a position.
func (h *heuristic) lineBefore(at int) string { return h.Text[h.lineStart(at):at] }

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
	start := h.lineStart(at)
	line := strings.TrimRightFunc(h.Text[:start], unicode.IsSpace)
	line = line[strings.LastIndexByte(line, '\n')+1:]
	best, distance := "", 16
	for _, c := range cell.FindAllStringIndex(line, -1) {
		if d := max(c[0], at-start) - min(c[0], at-start); d < distance {
			best, distance = line[c[0]:c[1]], d
		}
	}
	return best
}

var cell = regexp.MustCompile(`\S+(?: \S+)*`)

// withLabel extends a value to the left to include the label on its line.
func (h *heuristic) withLabel(s span) span {
	from := h.lineStart(s.start)
	for s.start-from > longestQuote/2 {
		i := strings.IndexAny(h.Text[from:s.start], " \t")
		if i < 0 {
			return s
		}
		from += i + 1
	}
	label := h.Text[from:s.start]
	return span{from + len(label) - len(strings.TrimLeft(label, " \t")), s.end}
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
	for _, by := range []struct {
		name string
		form *regexp.Regexp
	}{{"mail", email}, {"phone", phone}} {
		if strings.Contains(strings.Join(l.words, " "), by.name) {
			if m := by.form.FindStringIndex(h.Text); m != nil {
				return span{m[0], m[1]}, true
			}
			return span{}, false
		}
	}
	best, bestScore := span{}, 3.0 // more than one specific word nearby
	for _, p := range h.index.Pages() {
		for _, m := range code.FindAllStringIndex(h.Text[p.Start:p.End], -1) {
			s := span{p.Start + m[0], p.Start + m[1]}
			s.end = s.start + len(strings.TrimRight(h.Text[s.start:s.end], ".-/_"))
			v := h.Text[s.start:s.end]
			if len(v) < 3 || !strings.ContainsAny(v, "0123456789") {
				continue
			}
			if _, notDate := text.ParseDate(v); notDate == nil {
				continue
			}
			if score := h.fitCode(l, s); score > bestScore {
				best, bestScore = s, score
			}
		}
	}
	return best, best.end > 0
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

// words finds a string after a label equal to the field's name, else by a rule
// chosen by the words of the name.
func (h *heuristic) words(l *label) (value, quote span, ok bool) {
	if value, ok = h.labelled(l.words); ok {
		return value, h.withLabel(value), true
	}
	switch {
	case l.has("law", "jurisdiction"):
		return h.governingLaw()
	case l.has("title") || l.has("document", "contract", "agreement") && l.has("name"):
		value, ok = h.title()
	case l.has("party", "parties"):
		return h.party()
	case l.has("vendor", "merchant", "company", "seller", "supplier", "issuer", "store", "shop"):
		if l.has("address") {
			value, ok = h.address()
		} else {
			value, ok = h.organisation()
		}
	case l.has("address"):
		value, ok = h.address()
	case l.has("candidate", "applicant") && l.has("name"):
		value, ok = h.firstLine()
	}
	return value, value, ok
}

// labelled finds "Label: value" and takes the value up to the end of the line
// or the next column.
func (h *heuristic) labelled(words []string) (span, bool) {
	parts := make([]string, len(words))
	for i, w := range words {
		for _, a := range conceptOf(w) {
			parts[i] += "|" + regexp.QuoteMeta(a)
		}
		parts[i] = `(?:` + parts[i][1:] + `)`
	}
	form := regexp.MustCompile(`(?im)(?:^|[ \t]{2,})[ \t]*` + strings.Join(parts, `[ \t_-]*`) + `[ \t]*:[ \t]*(\S[^\n]*)`)
	m := form.FindStringSubmatchIndex(h.Text)
	if m == nil {
		return span{}, false
	}
	return h.cellFrom(m[2], m[3])
}

// cellFrom is the cell that begins at start: up to two spaces or a tab.
func (h *heuristic) cellFrom(start, end int) (span, bool) {
	s, _, _ := strings.Cut(h.Text[start:end], "  ")
	s, _, _ = strings.Cut(s, "\t")
	s = strings.TrimRight(s, " \r")
	return span{start, start + len(s)}, s != "" && len(s) <= longestQuote
}

var (
	lawOf = regexp.MustCompile(`(?i:governed|construed|interpreted|enforced|accordance)[^.;]{0,160}?\b(?i:laws?)\s+(?i:of)\s+(?:(?i:the)\s+)?(?:(?i:State|Commonwealth|Province|Republic|Kingdom)\s+(?i:of)\s+(?:(?i:the)\s+)?)?` +
		`((?-i:[A-Z])[A-Za-z'.]+(?:\s+(?:of\s+|and\s+)?[A-Z][A-Za-z'.]+){0,3})`)
	stateLaw = regexp.MustCompile(`(?i:governed|construed|interpreted)[^.;]{0,80}?\b([A-Z][a-z]+(?:\s+[A-Z][a-z]+)?)\s+(?i:law)\b`)
)

// governingLaw finds the place in "governed by the laws of …".
func (h *heuristic) governingLaw() (value, quote span, ok bool) {
	for _, form := range []*regexp.Regexp{lawOf, stateLaw} {
		m := form.FindStringSubmatchIndex(h.Text)
		if m == nil {
			continue
		}
		value = span{m[2], m[3]}
		v := h.Text[value.start:value.end]
		for _, w := range wordSpan.FindAllStringIndex(v, -1)[1:] {
			if slices.Contains(lexicon.AfterLaw, strings.ToLower(v[w[0]:w[1]])) {
				v = strings.TrimSpace(v[:w[0]])
				break
			}
		}
		v = strings.TrimRight(v, ".' \n\t")
		value.end = value.start + len(v)
		quote = value
		if i := strings.LastIndex(strings.ToLower(h.Text[m[0]:value.start]), "law"); i >= 0 {
			quote.start = m[0] + i
		}
		return value, quote, true
	}
	return span{}, span{}, false
}

var wordSpan = regexp.MustCompile(`\S+`)

var (
	titleWord = regexp.MustCompile(`(?i)\b(?:agreement|contract|lease|license|amendment|addendum|memorandum|guarantee|guaranty|deed|plan|policy)\b`)
	between   = regexp.MustCompile(`(?i)\b(?:between|among)(?:\s+and\s+among)?\s*:?\s+((?-i:[A-Z0-9])[^,;("“]{2,100}?(?:,?\s+(?i:inc|llc|ltd|l\.l\.c|corp|co|lp|l\.p|plc|gmbh|n\.v|s\.a)\b\.?)?)\s*(?:,|\(|;|“|"| a | an | and )`)
	suffix    = regexp.MustCompile(`(?i)\b(?:sdn\.?\s*bhd|bhd|inc|llc|l\.l\.c|ltd|limited|corp|corporation|company|gmbh|plc|s\.a\.?|pte|co\.|enterprises?|trading|restaurant|hardware|stores?|mart|group|services?)(?:\b|\.|$)`)
)

// title finds the name of a document: near the start, a short line in capitals
// or title case with a word such as "agreement".
func (h *heuristic) title() (span, bool) {
	lines := h.firstLines(60)
	for i, l := range lines {
		t := h.Text[l.start:l.end]
		if len(t) <= longestQuote && titleWord.MatchString(t) && titled(t) && !strings.HasPrefix(strings.ToLower(t), "this ") {
			if i > 0 && titleWord.FindStringIndex(t)[0] == 0 && len(t) < 20 { // AGREEMENT below the rest of its title
				if above := lines[i-1]; strings.Count(h.Text[above.end:l.start], "\n") == 1 && titled(h.Text[above.start:above.end]) {
					return span{above.start, l.end}, true
				}
			}
			return l, true
		}
	}
	return span{}, false
}

// titled reports whether most long words of a line begin with a capital.
func titled(s string) bool {
	capital, small := 0, 0
	for _, w := range strings.Fields(s) {
		if len(w) < 4 {
			continue
		}
		if c := w[0]; c >= 'A' && c <= 'Z' || c == '(' || c == '"' {
			capital++
		} else if c >= 'a' && c <= 'z' {
			small++
		}
	}
	return capital > 0 && small <= capital/3
}

// party finds the first name after "between".
func (h *heuristic) party() (value, quote span, ok bool) {
	m := between.FindStringSubmatchIndex(h.Text)
	if m == nil {
		return span{}, span{}, false
	}
	v := strings.TrimRight(h.Text[m[2]:m[3]], " \n\t,.")
	return span{m[2], m[2] + len(v)}, span{m[0], m[2] + len(v)}, true
}

// organisation finds the issuer of a document: near the start, the first line
// that looks like a company, else the first line with letters.
func (h *heuristic) organisation() (span, bool) {
	lines := h.firstLines(10)
	for _, l := range lines {
		if t := h.Text[l.start:l.end]; suffix.MatchString(t) && !strings.Contains(t, ":") && len(t) <= longestQuote/2 {
			if at := registration.FindStringIndex(t); at != nil {
				l.end = l.start + at[0]
			}
			return l, true
		}
	}
	return h.firstLine()
}

// registration is a company number in parentheses after the name.
var registration = regexp.MustCompile(`\s*\([0-9][0-9A-Za-z -]*\)$`)

// firstLine is the first line that has letters.
func (h *heuristic) firstLine() (span, bool) {
	for _, l := range h.firstLines(10) {
		if t := h.Text[l.start:l.end]; strings.ContainsFunc(t, isLetter) && len(t) <= longestQuote/2 {
			c, _ := h.cellFrom(l.start, l.end)
			return c, true
		}
	}
	return span{}, false
}

func isLetter(r rune) bool { return r|0x20 >= 'a' && r|0x20 <= 'z' || r >= 0x80 }

var (
	street   = regexp.MustCompile(`(?i)^(?:no|lot|unit|suite|block|blk|ground|level)\b|\b(?:jalan|jln|street|st\.|road|rd|avenue|ave|lane|drive|boulevard|blvd|lorong|persiaran|taman|bandar|highway|way|square)\b`)
	postcode = regexp.MustCompile(`\b\d{5}\b`)
)

// address finds the lines from the first that names a street to the one with
// the postcode, near the start of the document.
func (h *heuristic) address() (span, bool) {
	lines := h.firstLines(16)
	for i, l := range lines {
		if t := h.Text[l.start:l.end]; !street.MatchString(t) || suffix.MatchString(t) && !strings.ContainsAny(t, "0123456789") {
			continue
		}
		for j := i; j < min(i+5, len(lines)); j++ {
			t := h.Text[lines[j].start:lines[j].end]
			if !postcode.MatchString(t) {
				continue
			}
			if end := strings.TrimRight(t, " ,"); strings.HasSuffix(t, ",") && j+1 < len(lines) && end != "" {
				j++ // the state is on the next line
			}
			return span{l.start, lines[j].end}, true
		}
	}
	return span{}, false
}

// firstLines are the first n non-blank lines of the document.
func (h *heuristic) firstLines(n int) []span {
	var first []span
	for l := range h.lines() {
		if first = append(first, l); len(first) == n {
			break
		}
	}
	return first
}
