package extraction

import (
	"regexp"
	"slices"
	"strings"
)

// words finds a string after a label equal to the field's name, else by a rule
// chosen by the words of the name.
func (h *heuristic) words(l *label) (value, quote span, ok bool) {
	words := nameWords(l.name)
	has := func(any ...string) bool {
		return slices.ContainsFunc(any, func(w string) bool { return slices.Contains(words, w) })
	}
	if value, ok = h.labelled(words); ok {
		return value, h.withLabel(value), true
	}
	switch {
	case has("law", "jurisdiction"):
		return h.governingLaw()
	case has("title") || has("document", "contract", "agreement") && has("name"):
		value, ok = h.title()
	case has("party", "parties"):
		return h.party()
	case has("vendor", "merchant", "company", "seller", "supplier", "issuer", "store", "shop"):
		if has("address") {
			value, ok = h.address()
		} else {
			value, ok = h.organisation()
		}
	case has("address"):
		value, ok = h.address()
	case has("candidate", "applicant") && has("name"):
		value, ok = h.firstLine()
	}
	return value, value, ok
}

// labelled finds "Label: value" and takes the value up to the end of the line
// or the next column.
func (h *heuristic) labelled(words []string) (span, bool) {
	parts := make([]string, len(words))
	for i, w := range words {
		alternatives := conceptOf(w)
		quoted := make([]string, len(alternatives))
		for j, a := range alternatives {
			quoted[j] = regexp.QuoteMeta(a)
		}
		parts[i] = `(?:` + strings.Join(quoted, "|") + `)`
	}
	form, err := regexp.Compile(`(?im)(?:^|[ \t]{2,})[ \t]*` + strings.Join(parts, `[ \t_-]*`) + `[ \t]*:[ \t]*(\S[^\n]*)`)
	if err != nil {
		return span{}, false
	}
	m := form.FindStringSubmatchIndex(h.Text)
	if m == nil {
		return span{}, false
	}
	return h.cellFrom(m[2], m[3])
}

// cellFrom is the cell that begins at start: up to two spaces or a tab.
func (h *heuristic) cellFrom(start, end int) (span, bool) {
	s := h.Text[start:end]
	if i := strings.Index(s, "  "); i > 0 {
		s = s[:i]
	}
	if i := strings.IndexByte(s, '\t'); i > 0 {
		s = s[:i]
	}
	s = strings.TrimRight(s, " \r")
	return span{start, start + len(s)}, s != "" && len(s) <= longestQuote
}

var (
	lawOf = regexp.MustCompile(`(?i:governed|construed|interpreted|enforced|accordance)[^.;]{0,160}?\b(?i:laws?)\s+(?i:of)\s+(?:(?i:the)\s+)?(?:(?i:State|Commonwealth|Province|Republic|Kingdom)\s+(?i:of)\s+(?:(?i:the)\s+)?)?` +
		`((?-i:[A-Z])[A-Za-z'.]+(?:\s+(?:of\s+|and\s+)?[A-Z][A-Za-z'.]+){0,3})`)
	stateLaw = regexp.MustCompile(`(?i:governed|construed|interpreted)[^.;]{0,80}?\b([A-Z][a-z]+(?:\s+[A-Z][a-z]+)?)\s+(?i:law)\b`)
	// afterLaw are words that may follow the place and end it.
	afterLaw = []string{"without", "and", "applicable", "as", "in", "except", "excluding", "irrespective", "regardless", "including", "but", "any", "without,", "for", "with", "or", "to", "which"}
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
			if slices.Contains(afterLaw, strings.ToLower(v[w[0]:w[1]])) {
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
				if above := lines[i-1]; h.adjacent(above, l) && titled(h.Text[above.start:above.end]) {
					return span{above.start, l.end}, true
				}
			}
			return l, true
		}
	}
	return span{}, false
}

// adjacent reports whether no blank line separates two lines.
func (h *heuristic) adjacent(a, b span) bool {
	return strings.Count(h.Text[a.end:b.start], "\n") == 1
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
