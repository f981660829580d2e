package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
)

// samples are the trials shown, and their arms.
type samples struct {
	Arms   []string
	List   []sample
	Marked bool       // some texts have marks of evidence
	Key    []toneName // of marks with tones
	tones  []int      // of Key
	Ranked bool       // best and worst of their arms
}

// A sample is one trial shown in full.
type sample struct {
	eval.Exhibit
	ID    string // of the HTML element
	Open  bool   // true for the first
	Rank  string
	Arm   cell
	Score string // "composite 0.31"
	Why   string // there is no answer
	Rows  *table
	Pages []samplePage
	// TextFirst says that the pages come before the rows: they have titles, and are
	// what the rows are about.
	TextFirst bool
	// TwoAnswers says that the marks are those of two trials, A and B.
	TwoAnswers bool
}

// A toneName is the name of a tone in the key of marks.
type toneName struct{ Class, Name string }

// A samplePage is a page of the source: its excerpt, and the whole page if the
// excerpt skips text.
type samplePage struct {
	Number int
	Title  string // instead of the number
	Pieces []piece
	Whole  []segment // with the text that the pieces skip
	Cut    bool      // the pieces skip text, and the whole page is shown too
}

// samples is the section of the best and worst trials of each arm.
func (b *builder) samples() section {
	s := section{ID: "samples", Title: "Samples"}
	if shown := b.shownSamples(); len(shown.List) > 0 {
		s.Blocks = []block{{In: drawn, Prose: fmt.Sprintf("The best and worst items of %d of %d arms. `scruple show STUDY ITEM ARM` shows any other trial.",
			len(shown.Arms), len(b.contestants()))}, {In: drawn, Samples: shown}}
	}
	return s
}

func (b *builder) shownSamples() *samples {
	shown := &samples{Arms: factors(b.a.Samples, func(s analyse.Sample) string { return s.Show.Arm })}
	for _, arm := range shown.Arms {
		for _, x := range b.a.Samples {
			if x.Show.Arm == arm {
				shown.List = append(shown.List, b.sample(x, len(shown.List)+1))
				shown.add(x.Show.Pages)
				shown.Ranked = shown.Ranked || x.Rank != ""
			}
		}
	}
	return shown
}

// withoutWhole removes the pages as a whole, and reports whether there were any.
func (s *samples) withoutWhole() (found bool) {
	for _, x := range s.List {
		for i := range x.Pages {
			found = found || x.Pages[i].Cut
			x.Pages[i].Cut = false
		}
	}
	return found
}

// half removes every second sample.
func (s *samples) half() {
	n := 0
	s.List = slices.DeleteFunc(s.List, func(sample) bool {
		n++
		return n%2 == 1
	})
}

// add adds the marks of pages to the key.
func (s *samples) add(pages []eval.ExhibitPage) {
	for _, p := range pages {
		toned := false
		for _, m := range p.Marks {
			if m.Tone == 0 {
				continue
			}
			toned = true
			name := toneName{toneClass(m.Tone), m.Kind}
			at, found := slices.BinarySearchFunc(s.tones, m.Tone, cmp.Compare[int])
			if !found {
				s.tones, s.Key = slices.Insert(s.tones, at, m.Tone), slices.Insert(s.Key, at, name)
			}
		}
		s.Marked = s.Marked || !toned && p.Title == ""
	}
}

func (b *builder) sample(x analyse.Sample, number int) sample {
	m := b.metric(x.Metric)
	s := sample{
		Exhibit: x.Show,
		ID:      "sample-" + strconv.Itoa(number),
		Open:    number == 1,
		Rank:    x.Rank,
		Arm:     cell{Text: x.Show.Arm, Tags: b.tagsOf(x.Show.Arm)},
		Rows:    b.exhibitTable(x.Show.Rows),
	}
	if x.Metric != "" {
		s.Score = m.Title + " " + m.Scale().Value(x.Score, false)
	}
	if x.Show.Failed != "" {
		s.Score = ""
		s.Why = "The trial failed, so there is no answer to show: " + x.Show.Failed
	}
	if t := x.Show.Table; t != nil {
		s.Rows = suiteTable(*t, b.a.Study.Alpha)
	}
	for _, p := range x.Show.Pages {
		s.Pages = append(s.Pages, newSamplePage(p))
		s.TextFirst = s.TextFirst || p.Title != ""
	}
	return s
}

func (b *builder) tagsOf(id string) []string {
	if arm, ok := b.a.Arm(id); ok {
		return armTags(arm)
	}
	return nil
}

func newSamplePage(p eval.ExhibitPage) samplePage {
	segments := split(p.Text, p.Marks)
	page := samplePage{Number: p.Number, Title: p.Title, Pieces: excerpt(segments), Whole: segments}
	page.Cut = len(page.Pieces) > 1 // with a gap between pieces
	return page
}

// exhibitTable shows gold beside the answer for each unit, what is wrong with it, and a column
// for each metric with a score.
func (b *builder) exhibitTable(rows []eval.ExhibitRow) *table {
	// Items without gold have no column for it.
	gold := len(rows) == 0 || slices.ContainsFunc(rows, func(r eval.ExhibitRow) bool { return r.Gold != "" })
	t := newTable("", "Unit", "Gold", "Answer", "Problem")
	t.Answers = true
	metrics := scoredBy(rows)
	for _, name := range metrics {
		t.column(b.metric(name).Title, point)
	}
	for _, r := range rows {
		wrong := words(r.Note)
		if r.Note != "" {
			wrong.Tone = bad
		}
		cells := []cell{words(r.Unit), words(r.Gold), {Text: r.Answer, Detail: nonEmpty(r.Quote)}, wrong}
		for _, name := range metrics {
			cells = append(cells, unitScore(r.Scores, name, &t.Notes))
		}
		t.add(cells...)
	}
	if !gold {
		t.without(1)
	}
	return t
}

// scoredBy lists the metrics of the rows in order of appearance.
func scoredBy(rows []eval.ExhibitRow) []string {
	var scores []eval.Score
	for _, r := range rows {
		scores = append(scores, r.Scores...)
	}
	return factors(scores, func(s eval.Score) string { return s.Metric })
}

func unitScore(scores []eval.Score, metric string, ns *notes) cell {
	for _, s := range scores {
		if s.Metric == metric {
			c := cell{Text: fraction(s)}
			if s.Unscored != "" {
				c.Refs = ns.refs([]string{"unscored: " + s.Unscored})
			}
			return c
		}
	}
	return cell{}
}
