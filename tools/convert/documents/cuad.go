package documents

import (
	"bytes"
	"fmt"
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
