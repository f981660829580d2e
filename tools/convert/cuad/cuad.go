// Package cuad converts CUAD, the Contract Understanding Atticus Dataset, into
// documents of the extraction suite, by the rules of package convert and these:
//
// Contracts with lawyers' quotes and, beside them, a normalised answer. Of the
// normalised answers only those are gold that the quotes hold in writing:
//
//   - Dates: the answer (month first) is gold when a quote holds that day in any
//     written form. The value is the ISO day; accepted are also the written
//     forms. Left out: days that must be computed from a term ("two years from
//     the Effective Date"), which is not extraction; days with blanks ("March
//     ___, 1999", "[*]"), where neither "March 1999" nor "missing" is wrong;
//     "perpetual", a conclusion from the clause that stands nowhere in it.
//   - Two different days for one field, both written: ambiguous, both candidates.
//   - Governing law: gold when the quote names it. Accepted are also "State of
//     Delaware" where the quote says so, and the full name of what the quote
//     abbreviates ("PRC"). "Either Illinois or New York" is ambiguous, "England
//     and Wales" is one law.
//   - Document name: as the quote writes it. A name put together from several
//     places is gold only if the whole stands in the text.
//   - Renewal term and notice period: gold when the quote holds that duration,
//     in figures or words ("sixty (60) days"). The value is the written form.
//     "Annual" for "1 year" is a conclusion and left out.
//   - Parties: left out. The annotation is a set (every party and its defined
//     term), the schema holds single values, and scoring one party as the answer
//     would reward half of one.
//   - No clause annotated: missing. A clause without a normalised answer, or an
//     answer without a clause: left out.
//
// Document types are five groups of CUAD's twenty-five, so that none is too
// small to report. Contracts filed by one company form one cluster.
//
// It made examples/contracts, and a test makes it again.
package cuad

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/scruple-eval/scruple/internal/dataset/convert"
	"github.com/scruple-eval/scruple/internal/text"
)

// Convert converts a file of contracts.
func Convert(path string, o convert.Options) ([]byte, convert.Report, error) {
	return convert.Lines(path, o, (*contract).convert)
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

func (c *contract) convert() (*convert.Document, error) {
	s, err := convert.NewSource(c.ID, c.Pages)
	if err != nil {
		return nil, err
	}
	group, err := contractGroup(c.Type)
	if err != nil {
		return nil, fmt.Errorf("document %s: %w", c.ID, err)
	}
	d := &convert.Document{ID: c.ID, Schema: "cuad", DocType: group, Cluster: filer(c.Source), Text: s.Text}
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
func (g *clause) convert(d *convert.Document, s *convert.Source) {
	field := snakeCase(g.Field)
	switch {
	case field == "parties":
		d.Decide(field, convert.Set)
		return
	case len(g.Evidence) == 0 && g.Answer == nil:
		d.Missing(field)
		return
	case len(g.Evidence) == 0:
		d.Decide(field, convert.NoQuote)
		return
	case g.Answer == nil:
		d.Decide(field, convert.NoAnswer)
		return
	}
	quotes := g.quotes(s)
	if len(quotes) == 0 {
		d.Decide(field, convert.NotInText)
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
		d.Decide(field, convert.NoAnswer)
	}
}

// quotes are the annotated quotes that stand in the text.
func (g *clause) quotes(s *convert.Source) []convert.Quote {
	var found []convert.Quote
	for _, e := range g.Evidence {
		if q, ok := s.Find(e.Quote); ok {
			found = append(found, q)
		}
	}
	return found
}

// convertName takes a title as the quote writes it. Annotators' selections
// often end in the bracket or quotation mark that follows the title.
func convertName(d *convert.Document, field, answer string, quotes []convert.Quote, s *convert.Source) {
	if len(quotes) > 1 {
		if whole, ok := s.Find(trimTitle(answer)); ok { // the quotes follow each other
			d.Present(field, whole.Text, whole)
		} else {
			d.Decide(field, convert.Several)
		}
		return
	}
	q := quotes[0]
	q.Text = trimTitle(q.Text)
	if !sameLetters(answer, q.Text) {
		d.Decide(field, convert.Derived)
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
	return bytes.Equal(convert.LettersOf(text.Fold(a)), convert.LettersOf(text.Fold(b)))
}

// snakeCase turns "Agreement Date" into agreement_date.
func snakeCase(s string) string {
	return strings.ToLower(strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == '-' || r == '/' }), "_"))
}
