package extraction

import (
	_ "embed" // the words
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

// heuristicVersion is part of the arm's hash. It changes when the rules change.
const heuristicVersion = "3"

// heuristicAnswer extracts by rule. Every value of the field's type in the
// document is a candidate; the words around it are its label. The candidate
// whose label best matches the field wins. Strings have separate rules, chosen
// by the words of the field name. No rule is specific to a document or corpus.
func heuristicAnswer(d *prepared) string {
	h := heuristic{d.ready()}
	entries := []Entry{}
	for i, l := range labelsOf(d.schema) {
		if f := &d.schema.Fields[i]; !inList(f.Name) { // it finds no records
			entries = append(entries, h.entry(f, &l))
		}
	}
	return answerText(entries)
}

type heuristic struct{ *prepared }

func (h *heuristic) entry(f *Field, l *label) Entry {
	value, quote, ok := h.find(f.Type, l)
	found := text.Minimal(h.Text[value.start:value.end])
	passage := h.Text[quote.start:quote.end]
	switch {
	case !ok || !h.index.Has(found):
		return missingEntry(f.Name)
	case !h.index.Has(passage): // it has a page marker
		return okEntry(f.Name, cited(found, found, h.index.PageAt(value.start)))
	}
	return okEntry(f.Name, cited(found, passage, h.index.PageAt(quote.start)))
}

// find finds the value of a field and a passage that shows it.
func (h *heuristic) find(t text.Type, l *label) (value, quote span, ok bool) {
	switch t {
	case text.Date, text.Money, text.Number:
		value, ok = h.typed(t, l)
	case text.ID:
		value, ok = h.identifier(l)
	default:
		if value, ok = h.labelled(l.words); !ok {
			return h.words(l)
		}
	}
	return value, h.around(value), ok
}

// lexicon is the words of the rules.
var lexicon = kit.Embedded[struct {
	// Synonyms of words of field names in business documents. Other words have none.
	Synonyms map[string][]string
	// Generic words name the kind of a value and do not identify a field.
	Generic []string
	// Documents are kinds of documents. An invoice_date may be labelled just "date" on an
	// invoice.
	Documents []string
	// OtherAmounts are labels of amounts that count only if the field names them.
	OtherAmounts []string
}](heuristicJSON)

//go:embed heuristic.json
var heuristicJSON []byte

// A label is the words to look for around the values of a field.
type label struct {
	words []string // of the field's name
	clues []clue
	named bool // a word of its name is neither generic nor that of a kind of document
}

// A clue is words near a value that speak for a field, or against it.
type clue struct {
	words []string
	form  *regexp.Regexp // one of the words as a whole, in lower-case text
	kind  int
}

// The kinds of clues.
const (
	specific = iota // words of the name
	generic         // those that name the kind of a value
	rival           // specific words of another field
	other           // labels of other amounts
)

// clueWeights are those of clues on the line of a value, and before or above it.
var clueWeights = [...]struct{ line, before float64 }{specific: {4, 2}, generic: {1, 1}, rival: {-3, -1}, other: {-4, 0}}

func newClue(kind int, words []string) clue {
	const edge = `[^0-9a-z\x{80}-\x{10ffff}]`
	return clue{words, regexp.MustCompile(`(?:^|` + edge + `)(?:` + alternatives(words) + `)(?:$|` + edge + `)`), kind}
}

func (c *clue) in(s string) bool { return c.form.MatchString(s) }

func (l *label) clue(kind int, words []string) bool {
	return slices.ContainsFunc(l.clues, func(c clue) bool { return c.kind == kind && slices.Equal(c.words, words) })
}

func labelsOf(s *Schema) []label {
	labels := make([]label, len(s.Fields))
	for i, f := range s.Fields {
		l := &labels[i]
		l.words = strings.FieldsFunc(strings.ToLower(f.Name), func(r rune) bool { return strings.ContainsRune("_-.", r) })
		others := slices.Clone(lexicon.OtherAmounts)
		for _, w := range l.words {
			kind := generic
			if !slices.Contains(lexicon.Generic, w) {
				kind, l.named = specific, l.named || !slices.Contains(lexicon.Documents, w)
			}
			l.clues = append(l.clues, newClue(kind, synonyms(w)))
			others = slices.DeleteFunc(others, func(o string) bool { return slices.Contains(synonyms(w), o) })
		}
		if f.Type != text.Date {
			l.clues = append(l.clues, newClue(other, others))
		}
	}
	for i := range labels {
		for j := range labels {
			if i == j || s.Fields[i].Type != s.Fields[j].Type {
				continue
			}
			for _, c := range labels[j].clues {
				if c.kind == specific && !labels[i].clue(specific, c.words) {
					labels[i].clues = append(labels[i].clues, clue{c.words, c.form, rival})
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

func synonyms(word string) []string {
	if list := lexicon.Synonyms[word]; list != nil {
		return list
	}
	return []string{word}
}

// alternatives is a pattern of words.
func alternatives(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = regexp.QuoteMeta(w)
	}
	return strings.Join(quoted, "|")
}

// typed finds the date or number whose label fits best. Ties go to the first
// date or the largest amount: a total is at least as large as its parts.
func (h *heuristic) typed(t text.Type, l *label) (best span, ok bool) {
	enough := 2.0
	if !l.named {
		enough = 0
	}
	for _, p := range h.index.Pages() {
		at := p.Start
		for _, v := range text.Values(t, h.Text[p.Start:p.End]) {
			i := strings.Index(h.Text[at:p.End], v)
			if i < 0 {
				break
			}
			s := span{at + i, at + i + len(v)}
			at = s.end
			score := h.fit(l, s)
			if score > enough || score == enough && (!ok || t != text.Date && h.larger(s, best)) {
				best, enough, ok = s, score, true
			}
		}
	}
	return best, ok
}

// fit scores how well the words around a value match a label. Words on the same
// line count most, as does a definition that follows, such as: March 1, 2020
// (the "Effective Date"). The words before and the heading above count less.
func (h *heuristic) fit(l *label, s span) (score float64) {
	line := lower(h.lineBefore(s.start))
	before := lower(strings.ToValidUTF8(h.Text[max(0, s.start-90):s.start], "")) + " " + lower(h.above(s.start))
	after := strings.ToValidUTF8(h.Text[s.end:min(len(h.Text), s.end+60)], "")
	definition, _, _ := strings.Cut(lower(after), ")")
	if !strings.HasPrefix(strings.TrimLeft(definition, " ,"), "(") {
		definition = ""
	}
	for _, c := range l.clues {
		if c.in(line) || c.kind == specific && c.in(definition) {
			score += clueWeights[c.kind].line
		} else if c.in(before) {
			score += clueWeights[c.kind].before
		}
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

var (
	email = regexp.MustCompile(`[\w.+-]+@[\w-]+(?:\.[\w-]+)+`)
	phone = regexp.MustCompile(`\+?\(?\d[\d ().-]{6,}\d`)
	// code is a run of letters, digits and connecting punctuation.
	code = regexp.MustCompile(`[A-Za-z0-9][A-Za-z0-9/_.-]*`)
)

// identifier finds a number or code after its label, or an e-mail address or
// phone number by its form.
func (h *heuristic) identifier(l *label) (best span, ok bool) {
	switch name := strings.Join(l.words, " "); {
	case strings.Contains(name, "mail"):
		return spanOf(email.FindStringIndex(h.Text))
	case strings.Contains(name, "phone"):
		return spanOf(phone.FindStringIndex(h.Text))
	}
	enough := 3.0 // more than one specific word nearby
	for _, p := range h.index.Pages() {
		for _, m := range code.FindAllStringIndex(h.Text[p.Start:p.End], -1) {
			v := strings.TrimRight(h.Text[p.Start+m[0]:p.Start+m[1]], ".-/_")
			if len(v) < 3 || !strings.ContainsAny(v, "0123456789") {
				continue
			}
			if _, notDate := text.ParseDate(v); notDate == nil {
				continue
			}
			if score := h.fitCode(l, p.Start+m[0]); score > enough {
				best, enough, ok = span{p.Start + m[0], p.Start + m[0] + len(v)}, score, true
			}
		}
	}
	return best, ok
}

func spanOf(match []int) (span, bool) {
	if match == nil {
		return span{}, false
	}
	return span{match[0], match[1]}, true
}

// fitCode is fit for codes, which directly follow their label or are directly
// below it.
func (h *heuristic) fitCode(l *label, at int) (score float64) {
	near := lower(h.lineBefore(at))
	near = near[max(0, len(near)-30):]
	if near == "" {
		near = lower(h.above(at))
	}
	last := near[strings.LastIndexByte(near, ' ')+1:]
	for _, c := range l.clues {
		switch {
		case c.kind == specific && c.in(last): // directly after the label
			score += 4
		case c.kind == specific && c.in(near):
			score += 3
		case c.kind == generic && c.in(near):
			score += 2
		}
	}
	return score
}

// labelled finds "Label: value" and takes the value up to the end of the line
// or the next column.
func (h *heuristic) labelled(words []string) (span, bool) {
	parts := make([]string, len(words))
	for i, w := range words {
		parts[i] = `(?:` + alternatives(synonyms(w)) + `)`
	}
	form := regexp.MustCompile(`(?im)(?:^|[ \t]{2,})[ \t]*` + strings.Join(parts, `[ \t_-]*`) + `[ \t]*:[ \t]*(\S[^\n]*)`)
	m := form.FindStringSubmatchIndex(h.Text)
	if m == nil {
		return span{}, false
	}
	value, _, _ := strings.Cut(h.Text[m[2]:m[3]], "  ")
	value, _, _ = strings.Cut(value, "\t")
	value = strings.TrimRight(value, " \r")
	return span{m[2], m[2] + len(value)}, value != "" && len(value) <= longestQuote
}

// words finds a string by a rule chosen by the words of the field's name.
func (h *heuristic) words(l *label) (value, quote span, ok bool) {
	switch {
	case l.has("law", "jurisdiction"):
		return h.governingLaw()
	case l.has("title") || l.has("document", "contract", "agreement") && l.has("name"):
		value, ok = h.title()
	case l.has("address"):
		value, ok = h.address()
	case l.has("vendor", "merchant", "company", "seller", "supplier", "issuer", "store", "shop"):
		value, ok = h.organisation()
	case l.has("candidate", "applicant") && l.has("name"):
		value, ok = h.firstLine()
	}
	return value, value, ok
}

// That of laws has the quote and, in it, the place.
var (
	lawOf = regexp.MustCompile(`(?i:governed|construed|interpreted|enforced|accordance)[^.;]{0,160}?` +
		`\b((?i:laws?\s+of\s+(?:the\s+)?(?:(?:State|Commonwealth|Province|Republic|Kingdom)\s+of\s+(?:the\s+)?)?)` +
		`([A-Z][A-Za-z'.]+(?:\s+(?:of\s+)?[A-Z][A-Za-z'.]+){0,3}))`)
	// afterLaw is what may follow the place of a law.
	afterLaw = regexp.MustCompile(`(?is)\s+(?:without|applicable|as|in|except|excluding|irrespective|regardless|` +
		`including|but|any|for|with|or|to|which)\b.*`)
	titleWord = regexp.MustCompile(`(?i)\b(?:agreement|contract|lease|license|amendment|addendum|memorandum|` +
		`guarantee|guaranty|deed|plan|policy)\b`)
	suffix = regexp.MustCompile(`(?i)\b(?:sdn\.?\s*bhd|bhd|inc|llc|l\.l\.c|ltd|limited|corp|corporation|company|gmbh|plc|` +
		`s\.a\.?|pte|co\.|enterprises?|trading|restaurant|hardware|stores?|mart|group|services?)(?:\b|\.|$)`)
	street = regexp.MustCompile(`(?i)^(?:no|lot|unit|suite|block|blk|ground|level)\b|\b(?:jalan|jln|street|st\.|road|rd|` +
		`avenue|ave|lane|drive|boulevard|blvd|lorong|persiaran|taman|bandar|highway|way|square)\b`)
	thisDocument = regexp.MustCompile(`(?i)^this `)
	postcode     = regexp.MustCompile(`\b\d{5}\b`)
	// registration is a company number in parentheses after the name.
	registration = regexp.MustCompile(`\s*\([0-9][0-9A-Za-z -]*\)$`)
)

// governingLaw finds the place in "governed by the laws of …".
func (h *heuristic) governingLaw() (value, quote span, ok bool) {
	m := lawOf.FindStringSubmatchIndex(h.Text)
	if m == nil {
		return span{}, span{}, false
	}
	place := afterLaw.ReplaceAllString(h.Text[m[4]:m[5]], "")
	end := m[4] + len(strings.TrimRight(place, ".' \n\t"))
	return span{m[4], end}, span{m[2], end}, true
}

// title finds the name of a document: near the start, a short line in capitals
// or title case with a word such as "agreement".
func (h *heuristic) title() (span, bool) {
	lines := h.firstLines(60)
	for i, l := range lines {
		t := h.Text[l.start:l.end]
		if len(t) > longestQuote || !titleWord.MatchString(t) || !titled(t) || thisDocument.MatchString(t) {
			continue
		}
		if i > 0 && len(t) < 20 && titleWord.FindStringIndex(t)[0] == 0 { // AGREEMENT below the rest of its title
			above := lines[i-1]
			if strings.Count(h.Text[above.end:l.start], "\n") == 1 && titled(h.Text[above.start:above.end]) {
				l.start = above.start
			}
		}
		return l, true
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

// organisation finds the issuer of a document: near the start, the first line
// that looks like a company, else the first line with letters.
func (h *heuristic) organisation() (span, bool) {
	for _, l := range h.firstLines(10) {
		if t := h.Text[l.start:l.end]; suffix.MatchString(t) && !strings.Contains(t, ":") && len(t) <= longestQuote/2 {
			return span{l.start, l.start + len(registration.ReplaceAllString(t, ""))}, true
		}
	}
	return h.firstLine()
}

// firstLine is the first line that has letters.
func (h *heuristic) firstLine() (span, bool) {
	for _, l := range h.firstLines(10) {
		if t := h.Text[l.start:l.end]; strings.ContainsFunc(t, unicode.IsLetter) && len(t) <= longestQuote/2 {
			return l, true
		}
	}
	return span{}, false
}

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
			if strings.HasSuffix(t, ",") && j+1 < len(lines) {
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
