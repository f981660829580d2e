package soundness

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/table"
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

	Strata, Others []eval.Level // of columns that the suite does not know
}

// Gold is the expert's judgement of a fragment.
type Gold struct {
	Label     int // index in the study's labels
	Rationale string
	Boundary  bool
	Notes     string
}

// An Example is a worked example of a prompt.
type Example struct {
	ID, Text  string
	Label     int
	Rationale string
}

// fragments reads the corpus.
func (l *loader) fragments(t Table) (list []*Fragment, s *table.Columns) {
	if s = l.read("data", t, schemas.Data); s == nil {
		return nil, nil
	}
	for _, r := range s.Table.Rows {
		f := &Fragment{ID: s.ID(r, columnID), Text: s.Text(r, columnText), Criterion: s.Text(r, columnCriterion), Report: s.Text(r, columnReport),
			Cluster: s.Text(r, columnCluster), Group: s.Text(r, columnGroup)}
		f.Paragraphs = paragraphs(f.Text)
		if c := s.Text(r, columnParagraphs); c != "" {
			if n, err := strconv.Atoi(c); err == nil && n != f.Paragraphs {
				l.finding("warning", s, r, columnParagraphs, "%d, but the text has %d", n, f.Paragraphs)
				f.Paragraphs = n
			}
		}
		f.Strata, f.Others = kit.SplitColumns(s.Others(r), t.Strata)
		list = append(list, f)
	}
	l.oneReport(list, s)
	return list, s
}

// oneReport makes fragments of one report a cluster, unless the corpus says which depend on
// each other. The design draws one fragment of a report.
func (l *loader) oneReport(list []*Fragment, s *table.Columns) {
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
			l.finding("warning", s, s.Table.Rows[i], columnReport, "%s has more than one fragment: they count as one cluster", f.Report)
		}
	}
}

// practice reads the fragments for practice and checks that none is in the corpus.
func (l *loader) practice(t, corpus Table, fragments []*Fragment) (list []*Fragment) {
	if t.Path == "" {
		return nil
	}
	t.Columns = cmp.Or(t.Columns, corpus.Columns)
	s := l.read("practice", t, schemas.Data)
	if s == nil {
		return nil
	}
	l.apart(s, corpus, fragments, "practice is apart from gold")
	for _, r := range s.Table.Rows {
		list = append(list, &Fragment{ID: s.ID(r, columnID), Text: s.Text(r, columnText)})
	}
	return list
}

// apart checks that no record has an id or the text of a fragment of the corpus.
func (l *loader) apart(s *table.Columns, corpus Table, fragments []*Fragment, why string) {
	reserved, _ := parseIDs(corpus.IDs) // reported with the corpus
	ids, texts := map[string]bool{}, map[string]string{}
	for _, f := range fragments {
		ids[f.ID], texts[strings.TrimSpace(f.Text)] = true, f.ID
	}
	for _, r := range s.Table.Rows {
		if id := s.ID(r, columnID); ids[id] || reserved != nil && reserved.has(id) {
			l.finding("error", s, r, columnID, "%q is in the range of the corpus: %s", id, why)
		}
		if of, same := texts[strings.TrimSpace(s.Text(r, columnText))]; same {
			l.finding("error", s, r, columnText, "the text of %s of the corpus: %s", of, why)
		}
	}
}

// judged adds the gold of fragments. Every fragment must have one.
func (l *loader) judged(t Table, fragments []*Fragment, corpus *table.Columns) {
	s := l.read("gold", t, schemas.Gold)
	if s == nil || corpus == nil {
		return
	}
	byID, judged := map[string]int{}, map[string]bool{}
	for i := range fragments {
		byID[fragments[i].ID] = i
	}
	for _, r := range s.Table.Rows {
		id := s.ID(r, columnID)
		k, ok := byID[id]
		if !ok {
			if id != "" {
				l.finding("error", s, r, columnID, "%q is not in %s", id, corpus.Table.File)
			}
			continue
		}
		judged[id] = true
		g := &Gold{Label: slices.Index(l.names(), s.Text(r, columnLabel)), Rationale: s.Text(r, columnRationale), Notes: s.Text(r, columnBoundaryWhy)}
		g.Boundary, _ = table.Truth(s.Text(r, columnBoundary))
		if g.Boundary && strings.TrimSpace(g.Notes) == "" && s.Has(columnBoundaryWhy) {
			l.finding("error", s, r, columnBoundaryWhy, "empty, though %s is True: say why it is a boundary case", columnBoundary)
		}
		if g.Label >= 0 {
			fragments[k].Gold = g
		}
	}
	for _, r := range corpus.Table.Rows {
		if id := corpus.ID(r, columnID); !judged[id] {
			l.finding("error", corpus, r, columnID, "%q has no judgement in %s", id, s.Table.File)
		}
	}
}

// worked reads the worked examples and checks that they are balanced and not in the
// corpus.
func (l *loader) worked(t, corpus Table, fragments []*Fragment) (list []Example) {
	s := l.read("examples", t, schemas.Examples)
	if s == nil {
		return nil
	}
	l.apart(s, corpus, fragments, "a worked example must not be judged too")
	count := make([]int, len(l.labels))
	shows := map[string]bool{} // label and characteristic
	levels := map[string]bool{}
	for _, r := range s.Table.Rows {
		if c := s.Text(r, columnCharacteristic); c != "" {
			key := s.Text(r, columnClass) + "\x00" + c
			if shows[key] {
				l.finding("warning", s, r, columnCharacteristic, "another example with this label shows %q too: examples should vary", c)
			}
			shows[key] = true
		}
		levels[s.Text(r, columnComplexity)] = true
		e := Example{ID: s.ID(r, columnCalibration), Text: s.Text(r, columnText),
			Label: slices.Index(l.names(), s.Text(r, columnClass)), Rationale: s.Text(r, columnWhy)}
		if e.Label < 0 {
			continue
		}
		count[e.Label]++
		list = append(list, e)
	}
	if rows := s.Table.Rows; len(rows) > 1 && len(levels) == 1 && !levels[""] {
		l.finding("warning", s, rows[0], columnComplexity, "every example is %s: examples should range from simple to moderate", s.Text(rows[0], columnComplexity))
	}
	for label, n := range count {
		if t.PerLabel > 0 && n != t.PerLabel {
			l.errs.Add(fmt.Errorf("%s: %d of the examples are %s, the study wants %d", s.Table.File, n, l.labels[label].Name, t.PerLabel))
		}
	}
	slices.SortFunc(list, func(a, b Example) int { return strings.Compare(a.ID, b.ID) })
	return list
}

// item is the fragment as an item.
func (f *Fragment) item(labels []Label) eval.Item {
	expert, boundary, length := "", "", "one paragraph"
	if f.Gold != nil {
		expert, boundary = labels[f.Gold.Label].Name, strconv.FormatBool(f.Gold.Boundary)
	}
	if f.Paragraphs > 1 {
		length = "several paragraphs"
	}
	strata := []eval.Level{{Name: "criterion", Value: f.Criterion}, {Name: "group", Value: f.Group}, {Name: "expert", Value: expert}, {Name: "boundary", Value: boundary}, {Name: "length", Value: length}}
	strata = slices.DeleteFunc(strata, func(l eval.Level) bool { return l.Value == "" })
	return eval.Item{ID: f.ID, Cluster: f.Cluster, Input: kit.Hash(f.Text), Gold: kit.Hash(cmp.Or(expert, "none")), Strata: append(strata, f.Strata...)}
}

func indicator(b bool) int { return int(kit.Indicator(b)) }
