package convert

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/scruple-eval/scruple/internal/text"
)

// CUAD converts CUAD contracts. The package comment says by which rules.
func CUAD(r io.Reader, w io.Writer, o Options) (Report, error) {
	return stream(r, w, o, (*contract).convert)
}

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

func (c *contract) convert() (*document, error) {
	s, err := newSource(c.ID, c.Pages)
	if err != nil {
		return nil, err
	}
	group, err := contractGroup(c.Type)
	if err != nil {
		return nil, fmt.Errorf("document %s: %w", c.ID, err)
	}
	d := &document{ID: c.ID, Schema: "cuad", DocType: group, Cluster: filer(c.Source), Text: s.text}
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
	return "", fmt.Errorf("contract_type %q is none of CUAD's", contractType)
}

// convert makes gold of one annotation, or counts why not.
func (g *clause) convert(d *document, s *source) {
	field := snakeCase(g.Field)
	switch {
	case field == "parties":
		d.decide(field, Set)
		return
	case len(g.Evidence) == 0 && g.Answer == nil:
		d.missing(field)
		return
	case len(g.Evidence) == 0:
		d.decide(field, NoQuote)
		return
	case g.Answer == nil:
		d.decide(field, NoAnswer)
		return
	}
	quotes := g.quotes(s)
	if len(quotes) == 0 {
		d.decide(field, NotInText)
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
		d.decide(field, NoAnswer)
	}
}

// quotes are the annotated quotes that stand in the text.
func (g *clause) quotes(s *source) []quote {
	var found []quote
	for _, e := range g.Evidence {
		if q, ok := s.find(e.Quote); ok {
			found = append(found, q)
		}
	}
	return found
}

// convertName takes a title as the quote writes it. Annotators' selections
// often end in the bracket or quotation mark that follows the title.
func convertName(d *document, field, answer string, quotes []quote, s *source) {
	if len(quotes) > 1 {
		if whole, ok := s.find(trimTitle(answer)); ok { // the quotes follow each other
			d.present(field, whole.text, whole)
		} else {
			d.decide(field, Several)
		}
		return
	}
	q := quotes[0]
	q.text = trimTitle(q.text)
	if !sameLetters(answer, q.text) {
		d.decide(field, Derived)
		return
	}
	d.present(field, q.text, q)
}

// trimTitle takes off what can only be the rest of a longer passage.
func trimTitle(s string) string {
	return strings.TrimRight(text.Minimal(s), " (\"“‘'")
}

// sameLetters reports whether two texts differ in case, punctuation and
// spacing at most.
func sameLetters(a, b string) bool {
	return bytes.Equal(lettersOf(text.Fold(a)), lettersOf(text.Fold(b)))
}

// snakeCase turns "Agreement Date" into agreement_date.
func snakeCase(s string) string {
	return strings.ToLower(strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == '-' || r == '/' }), "_"))
}
