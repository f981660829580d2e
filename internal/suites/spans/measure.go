package spans

import (
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/scruple-eval/scruple/internal/measure/span"
	"github.com/scruple-eval/scruple/internal/spanfile"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

//go:embed measure.txt
var measureHelp string

// measureCommand scores spans of other programs.
func measureCommand() kit.Command {
	return kit.Command{
		Name:  "measure",
		Short: "score labelled spans against gold, as conlleval and nervaluate do",
		Long:  measureHelp,
		New: func(f *flag.FlagSet) func(kit.Call) (fmt.Stringer, error) {
			m := new(measured)
			f.StringVar(&m.goldFile, "gold", "", "file with gold spans, - for standard input")
			f.StringVar(&m.file, "pred", "", "file with predicted spans, - for standard input")
			scheme := f.String("scheme", string(span.Strict), "strict | exact | partial | type | conll")
			offsets := f.String("offsets", "", "unit of offsets: code_points | utf16 | bytes (default: that of the format)")
			system := f.String("system", "", "system to score, of a WNUT17 file with several")
			return func(c kit.Call) (fmt.Stringer, error) {
				var err error
				if m.Scheme, err = span.ParseScheme(*scheme); err != nil {
					return nil, err
				}
				m.tally.Scheme = m.Scheme
				return m, m.read(c, spanfile.Options{Offsets: spanfile.Unit(*offsets), System: *system})
			}
		},
	}
}

// read reads the files and scores their spans. o says how the predicted ones are read.
func (m *measured) read(c kit.Call, o spanfile.Options) error {
	if _, err := text.ParseUnit(string(o.Offsets)); o.Offsets != "" && err != nil {
		return fmt.Errorf("--offsets %w", err)
	}
	switch {
	case m.file == "":
		return errors.New("--pred is missing: give the file with predicted spans")
	case m.goldFile == "-" && m.file == "-":
		return errors.New("only one of --gold and --pred can be -")
	case m.goldFile == "":
		d, err := readDocs(c, m.file, spanfile.Options{Tagged: true})
		if err != nil {
			return err
		}
		return m.columns(d)
	}
	gold, errGold := readDocs(c, m.goldFile, spanfile.Options{Offsets: o.Offsets})
	predicted, errPredicted := readDocs(c, m.file, o)
	if err := errors.Join(errGold, errPredicted); err != nil {
		return err
	}
	if err := errors.Join(gold.Unlabelled(m.goldFile), predicted.Unlabelled(m.file)); err != nil {
		return err
	}
	m.Warnings = append(append(m.Warnings, gold.Warnings...), predicted.Warnings...)
	if gold.Format == spanfile.CoNLL && predicted.Format == spanfile.CoNLL {
		if err := spanfile.Align(gold.Docs, predicted.Docs, m.goldFile, m.file); err != nil {
			return err
		}
	}
	return m.docs(gold, predicted)
}

func readDocs(c kit.Call, file string, o spanfile.Options) (*spanfile.Data, error) {
	r, err := c.Open(file)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	o.Name = file
	if file == "-" {
		o.Name = "stdin"
	}
	d, err := spanfile.ReadFrom(r, o)
	if err == nil {
		nameTexts(d)
	}
	return d, err
}

// measured is the result of measure spans.
type measured struct {
	Scheme   span.Scheme
	Warnings []string
	goldFile string // "" if the file has gold too
	file     string // with predicted spans
	tally    span.Tally
	tokens   int // 0 if the files have no tags
	agreeing int
}

// columns scores a CoNLL file with gold and prediction.
func (m *measured) columns(d *spanfile.Data) error {
	for _, s := range d.Docs {
		if s.Other == nil {
			return fmt.Errorf("--gold is missing, and %s has no column for it: want a token, its gold tag and its predicted tag per line", m.file)
		}
		m.tokens += len(s.Tokens)
		if err := m.tags(s.Other, s.Tags, s.Line); err != nil {
			return err
		}
	}
	return nil
}

// tags scores the tags of a text that begins on a line of the file.
func (m *measured) tags(gold, predicted []string, line int) error {
	g, err := span.Chunks(gold)
	if err != nil {
		return fmt.Errorf("%s:%d: gold: %w", m.file, line, err)
	}
	p, err := span.Chunks(predicted)
	if err != nil {
		return fmt.Errorf("%s:%d: %w", m.file, line, err)
	}
	m.tally.Add(g, p)
	m.agreeing += span.Agreeing(gold, predicted)
	return nil
}

// docs scores texts with the same id.
func (m *measured) docs(gold, predicted *spanfile.Data) error {
	byID := map[string]*spanfile.Doc{}
	for i := range predicted.Docs {
		byID[predicted.Docs[i].ID] = &predicted.Docs[i]
	}
	missing := 0
	for i := range gold.Docs {
		g := &gold.Docs[i]
		p := byID[g.ID]
		delete(byID, g.ID)
		switch {
		case p == nil || p.Failed != "":
			missing++
			p = &spanfile.Doc{Text: g.Text}
		case p.Text != g.Text:
			return fmt.Errorf("text %q of %s differs from that of %s: score spans of the same texts", g.ID, m.file, m.goldFile)
		}
		if len(g.Tags) > 0 && len(g.Tags) == len(p.Tags) {
			m.tokens += len(g.Tokens)
			if err := m.tags(g.Tags, p.Tags, p.Line); err != nil {
				return err
			}
			continue
		}
		m.tally.Add(spansIn(g.Spans, same), spansIn(p.Spans, same))
	}
	for i := range predicted.Docs {
		if id := predicted.Docs[i].ID; byID[id] != nil {
			return fmt.Errorf("%s has the text %q, which %s does not have", m.file, id, m.goldFile)
		}
	}
	if missing > 0 {
		m.Warnings = append(m.Warnings, fmt.Sprintf("%s: %s not labelled in it: counted as not labelled", m.file, text.Plural(missing, "text of gold is", "texts of gold are")))
	}
	return nil
}

func same(role string) string { return role }

// Notes are the warnings about the files.
func (m *measured) Notes() []string { return m.Warnings }

type ratios struct {
	Precision float64 `json:"precision"`
	Recall    float64 `json:"recall"`
	F1        float64 `json:"f1"`
}

type scores struct {
	span.Counts
	Gold      int `json:"gold"`
	Predicted int `json:"predicted"`
	ratios
}

func scoresOf(c span.Counts) scores {
	return scores{c, c.Gold(), c.Predicted(), ratios{c.Precision(), c.Recall(), c.F1()}}
}

// MarshalJSON has all counts and unrounded ratios.
func (m *measured) MarshalJSON() ([]byte, error) {
	p, r, f := m.tally.Macro()
	out := struct {
		Scheme   span.Scheme       `json:"scheme"`
		Texts    int               `json:"texts"`
		Tokens   int               `json:"tokens,omitempty"`
		Accuracy *float64          `json:"accuracy,omitempty"`
		Overall  scores            `json:"overall"`
		Macro    ratios            `json:"macro"`
		ByLabel  map[string]scores `json:"by_label"`
	}{m.Scheme, m.tally.Texts, m.tokens, nil, scoresOf(m.tally.Overall), ratios{p, r, f}, map[string]scores{}}
	if m.tokens > 0 {
		out.Accuracy = new(float64(m.agreeing) / float64(m.tokens))
	}
	for label, c := range m.tally.ByLabel {
		out.ByLabel[label] = scoresOf(c)
	}
	return json.Marshal(out)
}

// String is a table; for conll the output of conlleval.
func (m *measured) String() string {
	var b strings.Builder
	if m.Scheme == span.Conll {
		m.conlleval(&b)
	} else {
		m.table(&b)
	}
	return b.String() + notesOf(m.Warnings)
}

func (m *measured) table(b *strings.Builder) {
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "label\tcorrect\tincorrect\tpartial\tmissed\tspurious\tprecision\trecall\tF1\t")
	row := func(name string, c span.Counts) {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t%.4f\t%.4f\t%.4f\t\n", name, c.Correct, c.Incorrect, c.Partial, c.Missed, c.Spurious, c.Precision(), c.Recall(), c.F1())
	}
	for _, l := range m.tally.Labels() {
		row(l, m.tally.ByLabel[l])
	}
	row("all (micro)", m.tally.Overall)
	p, r, f := m.tally.Macro()
	fmt.Fprintf(t, "all (macro)\t\t\t\t\t\t%.4f\t%.4f\t%.4f\t\n", p, r, f)
	t.Flush() // to memory
	fmt.Fprintf(b, "\n%s, scheme %s\n", text.Plural(m.tally.Texts, "text", "texts"), m.Scheme)
}

// conlleval prints as conlleval.pl does. Without tags there is no accuracy.
func (m *measured) conlleval(b *strings.Builder) {
	c := m.tally.Overall
	fmt.Fprintf(b, "processed %d tokens with %d phrases; found: %d phrases; correct: %d.\n", m.tokens, c.Gold(), c.Predicted(), c.Correct)
	if m.tokens > 0 {
		fmt.Fprintf(b, "accuracy: %6.2f%%; ", 100*float64(m.agreeing)/float64(m.tokens))
	}
	fmt.Fprintf(b, "precision: %6.2f%%; recall: %6.2f%%; FB1: %6.2f\n", 100*c.Precision(), 100*c.Recall(), 100*c.F1())
	for _, l := range m.tally.Labels() {
		c := m.tally.ByLabel[l]
		fmt.Fprintf(b, "%17s: precision: %6.2f%%; recall: %6.2f%%; FB1: %6.2f  %d\n", l, 100*c.Precision(), 100*c.Recall(), 100*c.F1(), c.Predicted())
	}
}
