package soundness

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/suites/soundness/sheet"
)

// A Fragment is one item: a text that an expert judged.
type Fragment struct {
	ID, Text   string
	Criterion  string
	Report     string // id of its report
	Cluster    string
	Group      string
	Paragraphs int
	Gold       *Gold // nil without one
}

// Gold is the expert's judgement of a fragment.
type Gold struct {
	Label     int // index in the study's labels
	Rationale string
	Salient   []int // domains, from 1
	Boundary  bool
	Notes     string
}

// An Example is a worked example of a prompt.
type Example struct {
	ID, Fragment, Text string
	Label              int
	Rationale          string
}

// fragments reads the corpus.
func (l *loader) fragments(t Table) (list []Fragment, s *sheet.Sheet) {
	if s = l.read("corpus", t, corpusSchema); s == nil {
		return nil, nil
	}
	for i := range s.Records {
		r := &s.Records[i]
		f := Fragment{ID: r.Cell(columnID).Text, Text: r.Cell(columnText).Text, Criterion: r.Cell(columnCriterion).Text, Report: r.Cell(columnReport).Text,
			Cluster: r.Cell(columnCluster).Text, Group: r.Cell(columnGroup).Text}
		f.Paragraphs = paragraphs(f.Text)
		if c := r.Cell(columnParagraphs); c.Text != "" {
			if n, err := strconv.Atoi(c.Text); err == nil && n != f.Paragraphs {
				l.finding("warning", s, c, "%s: %d, but the text has %d", columnParagraphs, n, f.Paragraphs)
				f.Paragraphs = n
			}
		}
		list = append(list, f)
	}
	l.oneReport(list, s)
	return list, s
}

// oneReport makes fragments of one report a cluster, unless the corpus says which depend on
// each other. The design draws one fragment of a report.
func (l *loader) oneReport(list []Fragment, s *sheet.Sheet) {
	if s.Has(columnCluster) {
		return
	}
	of := map[string][]int{}
	for i, f := range list {
		if f.Report != "" {
			of[f.Report] = append(of[f.Report], i)
		}
	}
	for i, f := range list {
		same := of[f.Report]
		if len(same) < 2 {
			continue
		}
		list[i].Cluster = "report " + f.Report
		if i != same[0] {
			l.finding("warning", s, s.Records[i].Cell(columnReport), "%s: %s has more than one fragment: they count as one cluster", columnReport, f.Report)
		}
	}
}

// practice reads the fragments for practice and checks that none is in the corpus.
func (l *loader) practice(t, corpus Table, fragments []Fragment) []Fragment {
	if t.Path == "" {
		return nil
	}
	t.Columns = cmp.Or(t.Columns, corpus.Columns)
	s := l.read("practice", t, corpusSchema)
	if s == nil {
		return nil
	}
	reserved, _ := parseIDs(corpus.IDs) // reported with the corpus
	same := map[string]string{}
	for _, f := range fragments {
		same[f.ID], same[strings.TrimSpace(f.Text)] = f.ID, f.ID
	}
	var list []Fragment
	for i := range s.Records {
		r := &s.Records[i]
		id, text := r.Cell(columnID), r.Cell(columnText)
		of := same[strings.TrimSpace(text.Text)]
		switch {
		case same[id.Text] != "" || reserved != nil && reserved.has(id.Text):
			l.finding("error", s, id, "%s: %q is in the range of the corpus: practice is apart from gold", columnID, id.Text)
		case of != "":
			l.finding("error", s, text, "%s: the text of %s of the corpus: practice is apart from gold", columnText, of)
		}
		list = append(list, Fragment{ID: id.Text, Text: text.Text})
	}
	return list
}

// judged adds the gold of fragments. Every fragment must have one.
func (l *loader) judged(t Table, fragments []Fragment, corpus *sheet.Sheet) {
	s := l.read("gold", t, goldSchema)
	if s == nil || corpus == nil {
		return
	}
	byID := map[string]int{}
	for i := range fragments {
		byID[fragments[i].ID] = i
	}
	for i := range s.Records {
		r := &s.Records[i]
		id := r.Cell(columnID)
		k, ok := byID[id.Text]
		if !ok {
			if id.Text != "" {
				l.finding("error", s, id, "%s: %q is not in %s", columnID, id.Text, corpus.Path)
			}
			continue
		}
		g := &Gold{Label: slices.Index(l.labels, r.Cell(columnLabel).Text), Rationale: r.Cell(columnRationale).Text, Notes: r.Cell(columnBoundaryWhy).Text}
		if c := r.Cell(columnSalient); c.Text != "" {
			g.Salient, _ = l.parseDomains(c.Text)
		}
		g.Boundary, _ = parseBoolean(r.Cell(columnBoundary).Text)
		if c := r.Cell(columnBoundaryWhy); g.Boundary && strings.TrimSpace(c.Text) == "" && s.Has(columnBoundaryWhy) {
			l.finding("error", s, c, "%s: empty, though %s is True: say why it is a boundary case", columnBoundaryWhy, columnBoundary)
		}
		if g.Label >= 0 {
			fragments[k].Gold = g
		}
	}
	for i := range corpus.Records {
		id := corpus.Records[i].Cell(columnID)
		if !slices.ContainsFunc(s.Records, func(r sheet.Record) bool { return r.Cell(columnID).Text == id.Text }) {
			l.finding("error", corpus, id, "%s: %q has no judgement in %s", columnID, id.Text, s.Path)
		}
	}
}

// worked reads the worked examples and checks that they are balanced and not in the
// corpus.
func (l *loader) worked(t, corpus Table, fragments []Fragment) (list []Example) {
	s := l.read("examples", t, examplesSchema)
	if s == nil {
		return nil
	}
	reserved, _ := parseIDs(corpus.IDs) // reported with the corpus
	textOf := map[string]string{}
	inCorpus := map[string]bool{}
	for _, f := range fragments {
		textOf[strings.TrimSpace(f.Text)] = f.ID
		inCorpus[f.ID] = true
	}
	count := make([]int, len(l.labels))
	shows := map[string]bool{} // label and characteristic
	levels := map[string]bool{}
	for i := range s.Records {
		r := &s.Records[i]
		id := r.Cell(columnID)
		if c := r.Cell(columnCharacteristic); c.Text != "" {
			key := r.Cell(columnClass).Text + "\x00" + c.Text
			if shows[key] {
				l.finding("warning", s, c, "%s: another example with this label shows %q too: examples should vary", columnCharacteristic, c.Text)
			}
			shows[key] = true
		}
		levels[r.Cell(columnComplexity).Text] = true
		if inCorpus[id.Text] || reserved != nil && reserved.has(id.Text) {
			l.finding("error", s, id, "%s: %q is in the range of the corpus: a worked example must not be judged too", columnID, id.Text)
		}
		if same, ok := textOf[strings.TrimSpace(r.Cell(columnText).Text)]; ok {
			l.finding("error", s, r.Cell(columnText), "%s: the text of %s of the corpus: a worked example must not be judged too", columnText, same)
		}
		e := Example{ID: r.Cell(columnCalibration).Text, Fragment: id.Text, Text: r.Cell(columnText).Text,
			Label: slices.Index(l.labels, r.Cell(columnClass).Text), Rationale: r.Cell(columnWhy).Text}
		if e.Label < 0 {
			continue
		}
		count[e.Label]++
		list = append(list, e)
	}
	if len(s.Records) > 1 && len(levels) == 1 && !levels[""] {
		c := s.Records[0].Cell(columnComplexity)
		l.finding("warning", s, c, "%s: every example is %s: examples should range from simple to moderate", columnComplexity, c.Text)
	}
	for label, n := range count {
		if t.PerLabel > 0 && n != t.PerLabel {
			l.errs.Add(fmt.Errorf("%s: %d of the examples are %s, the study wants %d", s.Path, n, l.labels[label], t.PerLabel))
		}
	}
	slices.SortFunc(list, func(a, b Example) int { return strings.Compare(a.ID, b.ID) })
	return list
}

// item is the fragment as an item.
func (f *Fragment) item(labels []Label) eval.Item {
	it := eval.Item{ID: f.ID, Cluster: f.Cluster, Input: kit.Hash(f.Text), Gold: kit.Hash("none")}
	add := func(name, value string) {
		if value != "" {
			it.Strata = append(it.Strata, eval.Level{Name: name, Value: value})
		}
	}
	add("criterion", f.Criterion)
	add("group", f.Group)
	if f.Gold != nil {
		it.Gold = kit.Hash(labels[f.Gold.Label].Name)
		add("expert", labels[f.Gold.Label].Name)
		add("boundary", strconv.FormatBool(f.Gold.Boundary))
	}
	length := "one paragraph"
	if f.Paragraphs > 1 {
		length = "several paragraphs"
	}
	add("length", length)
	return it
}
