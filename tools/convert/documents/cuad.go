package documents

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/text"
)

// A contract is one record of the corpus.
type contract struct {
	ID     string   `json:"id"`
	Source string   `json:"source_file"`
	Type   string   `json:"contract_type"`
	Pages  []string `json:"pages"`
	Gold   []clause `json:"gold"`
}

// A clause is one category's annotation: quotes, and what lawyers made of them.
type clause struct {
	Field    string     `json:"field"`
	Exists   bool       `json:"exists_in_document"`
	Evidence []evidence `json:"evidence"`
	Answer   *string    `json:"answer"`
}

// Pages and Verbatim come with the corpus and are not trusted: the quote is
// looked for in the text that the document will have.
type evidence struct {
	Quote    string `json:"quote"`
	Pages    []int  `json:"pages"`
	Verbatim bool   `json:"verbatim"`
}

func (c *contract) convert() (*Document, error) {
	s, err := NewSource(c.ID, c.Pages)
	if err != nil {
		return nil, err
	}
	group, err := contractGroup(c.Type)
	if err != nil {
		return nil, fmt.Errorf("document %s: %w", c.ID, err)
	}
	d := &Document{ID: c.ID, Schema: "cuad", DocType: group, Cluster: filer(c.Source), Text: s.Text}
	for _, g := range c.Gold {
		g.convert(d, s)
	}
	return d, nil
}

// filer is the company that filed a contract: file names start with it.
func filer(file string) string {
	name, _, _ := strings.Cut(file, "_")
	name, _, _ = strings.Cut(name, " - ")
	return strings.ToLower(strings.TrimSpace(name))
}

// contractGroup puts CUAD's types of contract, under the several names they
// have in its folders, into five groups.
func contractGroup(contractType string) (string, error) {
	name := strings.ToLower(strings.NewReplacer("_", " ", "-", " ").Replace(contractType))
	name, _, _ = strings.Cut(name, " agreement")
	switch strings.Join(strings.Fields(strings.TrimSuffix(name, " filing")), " ") {
	case "collaboration", "cooperation", "joint venture", "strategic alliance":
		return "alliance", nil
	case "affiliate", "agency", "distributor", "franchise", "manufacturing", "reseller", "supply":
		return "distribution", nil
	case "ip", "intellectual property", "license", "non compete non solicit":
		return "rights", nil
	case "co branding", "endorsement", "marketing", "promotion", "sponsorship":
		return "marketing", nil
	case "consulting", "development", "hosting", "maintenance", "outsourcing", "service", "services", "transportation":
		return "services", nil
	}
	return "", fmt.Errorf("unknown contract_type %q", contractType)
}

// convert makes gold of one annotation, or counts why not.
func (g *clause) convert(d *Document, s *Source) {
	field := snakeCase(g.Field)
	switch {
	case field == "parties":
		d.Decide(field, Set)
		return
	case len(g.Evidence) == 0 && g.Answer == nil:
		d.Missing(field)
		return
	case len(g.Evidence) == 0:
		d.Decide(field, NoQuote)
		return
	case g.Answer == nil:
		d.Decide(field, NoAnswer)
		return
	}
	quotes := g.quotes(s)
	if len(quotes) == 0 {
		d.Decide(field, NotInText)
		return
	}
	switch field {
	case "document_name":
		convertName(d, field, *g.Answer, quotes, s)
	case "agreement_date", "effective_date", "expiration_date":
		convertDate(d, field, *g.Answer, quotes)
	case "governing_law":
		convertLaw(d, field, *g.Answer, quotes)
	case "renewal_term", "notice_period_to_terminate_renewal":
		convertDuration(d, field, *g.Answer, quotes)
	default:
		d.Decide(field, NoAnswer)
	}
}

// quotes are the annotated quotes that stand in the text.
func (g *clause) quotes(s *Source) []Quote {
	var found []Quote
	for _, e := range g.Evidence {
		if q, ok := s.Find(e.Quote); ok {
			found = append(found, q)
		}
	}
	return found
}

// convertName takes a title as the quote writes it. Annotators' selections
// often end in the bracket or quotation mark that follows the title.
func convertName(d *Document, field, answer string, quotes []Quote, s *Source) {
	if len(quotes) > 1 {
		if whole, ok := s.Find(trimTitle(answer)); ok { // the quotes follow each other
			d.Present(field, whole.Text, whole)
		} else {
			d.Decide(field, Several)
		}
		return
	}
	q := quotes[0]
	q.Text = trimTitle(q.Text)
	if !sameLetters(answer, q.Text) {
		d.Decide(field, Derived)
		return
	}
	d.Present(field, q.Text, q)
}

// trimTitle takes off what can only be the rest of a longer passage.
func trimTitle(s string) string {
	return strings.TrimRight(text.Minimal(s), " (\"“‘'")
}

// sameLetters reports whether two texts differ in case, punctuation and
// spacing at most.
func sameLetters(a, b string) bool {
	return bytes.Equal(LettersOf(text.Fold(a)), LettersOf(text.Fold(b)))
}

// snakeCase turns "Agreement Date" into agreement_date.
func snakeCase(s string) string {
	return strings.ToLower(strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == '-' || r == '/' }), "_"))
}

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

// A duration is a length of time as contracts count it: twelve months are not
// a year here, since a term is copied and not converted.
type duration struct {
	n    int
	unit string // day, week, month or year
}

// convertDuration makes gold of a length of time that a quote holds. The
// lawyers' answers are such as "successive 1 year" and "180 days / 6 months".
func convertDuration(d *Document, field, answer string, quotes []Quote) {
	wanted, ok := readAnswer(answer)
	if !ok {
		if strings.Contains(answer, ";") {
			d.Decide(field, Several)
		} else {
			d.Decide(field, NoAnswer)
		}
		return
	}
	for _, q := range quotes {
		for _, w := range writtenDurations(q.Text) {
			for _, want := range wanted {
				if w.duration == want {
					d.Present(field, w.form, q, append(want.forms(), answer)...)
					return
				}
			}
		}
	}
	d.Decide(field, Derived)
}

// answerForm is how the lawyers write a duration, with their misspellings of
// "successive".
var answerForm = regexp.MustCompile(`(?i)^(?:succ?ess?i\w+ )?(\d{1,3}) (day|week|month|year)s?$`)

// readAnswer reads a normalised answer; "/" joins names of one duration.
func readAnswer(answer string) ([]duration, bool) {
	var wanted []duration
	for part := range strings.SplitSeq(answer, "/") {
		m := answerForm.FindStringSubmatch(strings.TrimSpace(part))
		if m == nil {
			return nil, false
		}
		n, err := strconv.Atoi(m[1])
		if err != nil || n == 0 {
			return nil, false
		}
		wanted = append(wanted, duration{n, strings.ToLower(m[2])})
	}
	return wanted, true
}

// A written is a duration and the words it stands in.
type written struct {
	duration
	form string
}

const numberWord = `one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|` +
	`twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred`

var writtenForm = regexp.MustCompile(`(?i)(?:\b((?:` + numberWord + `)(?:[\s-]+(?:and\s+)?(?:` + numberWord + `))*)[\s-]*)?` +
	`(?:\(\s*(\d{1,3})\s*\)|\b(\d{1,3}))?[\s-]*\b(?:(?:calendar|business|consecutive)\s+)?(day|week|month|year)s?\b`)

// writtenDurations finds durations in running text: "sixty (60) days", "30-
// days", "a thirty-day notice", "one (1) calendar year".
func writtenDurations(s string) []written {
	var found []written
	for _, m := range writtenForm.FindAllStringSubmatch(s, -1) {
		if n := count(m[1], m[2]+m[3]); n > 0 {
			found = append(found, written{duration{n, strings.ToLower(m[4])}, strings.Trim(m[0], " -")})
		}
	}
	return found
}

// count reads a number given in words, in figures, or in both if they agree; 0 is none.
func count(words, figures string) int {
	inWords := wordsToNumber(words)
	inFigures, _ := strconv.Atoi(figures)
	switch {
	case figures == "":
		return inWords
	case words == "" || inFigures == inWords:
		return inFigures
	}
	return 0
}

// numberNames are one to nineteen, the tens, and hundred.
var numberNames = strings.Split(numberWord, "|")

// wordsToNumber reads English number words below a thousand; 0 is none.
func wordsToNumber(s string) (n int) {
	for _, w := range numberWords(s) {
		switch i := slices.Index(numberNames, w); {
		case w == "hundred":
			n = max(n, 1) * 100
		case i < 19:
			n += i + 1
		default:
			n += 10 * (i - 17)
		}
	}
	if n == 0 || !slices.Equal(numberWords(numberInWords(n)), numberWords(s)) {
		return 0
	}
	return n
}

// numberWords are number words in lower case, without the "and" and the "one"
// before "hundred" that may be left out.
func numberWords(s string) []string {
	words := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return r < 'a' || r > 'z' })
	words = slices.DeleteFunc(words, func(w string) bool { return w == "and" })
	if len(words) > 1 && words[0] == "one" && words[1] == "hundred" {
		words = words[1:]
	}
	return words
}

// numberInWords is the other direction, for the numbers contracts use.
func numberInWords(n int) string {
	switch {
	case n < 1 || n > 999:
		return ""
	case n < 20:
		return numberNames[n-1]
	case n < 100:
		return strings.TrimSuffix(numberNames[n/10+17]+"-"+numberInWords(n%10), "-")
	}
	return strings.TrimSpace(numberNames[n/100-1] + " hundred " + numberInWords(n%100))
}

// forms are the ways to write a duration that mean the same.
func (d duration) forms() []string {
	units := d.unit
	if d.n != 1 {
		units += "s"
	}
	words := numberInWords(d.n)
	return []string{
		fmt.Sprintf("%d %s", d.n, units), fmt.Sprintf("%s %s", words, units), fmt.Sprintf("%s (%d) %s", words, d.n, units),
		fmt.Sprintf("%d-%s", d.n, d.unit), fmt.Sprintf("%s-%s", words, d.unit),
	}
}

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
