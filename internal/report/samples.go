package report

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/internal/text"
)

// samples are the trials shown, and their arms.
type samples struct {
	Arms   []string
	List   []sample
	Marked bool       // some texts have marks of evidence
	Key    []toneName // of marks with tones
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
type toneName struct {
	tone        int
	Class, Name string
}

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

// size is the number of bytes that the samples take in a page.
func (s *samples) size() int {
	var b bytes.Buffer
	_ = page().ExecuteTemplate(&b, "samples", s) // the page has the error
	return b.Len()
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
			at, found := slices.BinarySearchFunc(s.Key, m.Tone, func(n toneName, tone int) int { return cmp.Compare(n.tone, tone) })
			if !found {
				s.Key = slices.Insert(s.Key, at, toneName{m.Tone, toneClass(m.Tone), m.Kind})
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
		whole := split(p.Text, p.Marks)
		pieces := excerpt(whole)
		s.Pages = append(s.Pages, samplePage{Number: p.Number, Title: p.Title, Pieces: pieces, Whole: whole, Cut: len(pieces) > 1})
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

// exhibitTable shows gold beside the answer for each unit, what is wrong with it, and a column
// for each metric with a score.
func (b *builder) exhibitTable(rows []eval.ExhibitRow) *table {
	// Items without gold have no column for it.
	gold := len(rows) == 0 || slices.ContainsFunc(rows, func(r eval.ExhibitRow) bool { return r.Gold != "" })
	t := newTable("", "Unit", "Gold", "Answer", "Problem")
	t.Answers = true
	scores := slices.Concat(mapped(rows, func(r eval.ExhibitRow) []eval.Score { return r.Scores })...)
	metrics := factors(scores, func(s eval.Score) string { return s.Metric })
	for _, name := range metrics {
		t.column(b.metric(name).Title, point)
	}
	for _, r := range rows {
		wrong := words(r.Note)
		if r.Note != "" {
			wrong.Tone = bad
		}
		cells := []cell{words(r.Unit), words(r.Gold), {Text: r.Answer, Detail: nonEmpty(r.Quote)}, wrong}
		scores := mapped(metrics, func(name string) cell { return unitScore(r.Scores, name, &t.Notes) })
		t.add(append(cells, scores...)...)
	}
	if !gold {
		t.without(1)
	}
	return t
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

// A segment is a run of text with the same marks. Marks may overlap; text is split
// at every border, so segments never nest.
type segment struct {
	Text         string
	Answer, Gold bool
	Other        bool     // quoted by another answer
	Labels       []string // of the marks that end here
	Units        string   // labels of all marks that cover it, a line each
	// Tone is that of the shortest mark with one; Names are those of all of them, and
	// Faults what is wrong with them.
	Tone          int
	Names, Faults []string
}

// Marked reports whether any mark covers the segment.
func (s segment) Marked() bool { return s.Answer || s.Gold || s.Other || s.Tone > 0 }

// Kind returns the kind of the marks that cover the segment: "answer", "gold" or
// "both", perhaps with "other", or classes for a tone.
func (s segment) Kind() string {
	switch {
	case s.Tone > 0 && len(s.Faults) > 0:
		return toneClass(s.Tone) + " fault"
	case s.Tone > 0:
		return toneClass(s.Tone)
	}
	kind := "answer"
	switch {
	case s.Answer && s.Gold:
		kind = "both"
	case s.Gold:
		kind = "gold"
	case !s.Answer:
		kind = ""
	}
	if s.Other {
		kind = strings.TrimSpace(kind + " " + Other)
	}
	return kind
}

// tones is the number of different colours of marks.
const tones = 10

// toneClass is the class of a tone. Tones beyond the last colour begin again.
func toneClass(tone int) string { return "tone t" + strconv.Itoa((tone-1)%tones) }

// Title describes the marks, for readers who do not see colours.
func (s segment) Title() string {
	if s.Tone > 0 {
		return say.PlainLine(strings.Join(append(slices.Clone(s.Names), s.Faults...), "; "))
	}
	var list []string
	for _, k := range []struct {
		is   bool
		what string
	}{{s.Gold, "gold evidence"}, {s.Answer, "quoted by the answer"}, {s.Other, "quoted by the other answer"}} {
		if k.is {
			list = append(list, k.what)
		}
	}
	return strings.Join(list, ", ")
}

// Tag returns the labels after the segment, shortened to fit a line.
func (s segment) Tag() string {
	const most = 32
	return text.Shorten(say.PlainLine(strings.Join(s.Labels, ", ")), most)
}

// split splits a text at the borders of its marks. The segments together are the
// text. Offsets come from answers, so marks are clipped to the text and widened to
// whole characters.
func split(text string, marks []eval.Mark) []segment {
	marks = within(text, marks)
	borders := []int{0, len(text)}
	for _, m := range marks {
		borders = append(borders, m.Start, m.End)
	}
	slices.Sort(borders)
	borders = slices.Compact(borders)
	starting := make([]int, len(marks)) // indexes of marks by their start
	for k := range starting {
		starting[k] = k
	}
	slices.SortFunc(starting, func(a, b int) int { return marks[a].Start - marks[b].Start })
	var segments []segment
	var open []int // indexes of the marks that cover the segment
	for i := 1; i < len(borders); i++ {
		start, end := borders[i-1], borders[i]
		s := segment{Text: text[start:end]}
		shortest := len(text) + 1
		open = slices.DeleteFunc(open, func(k int) bool { return marks[k].End <= start })
		for ; len(starting) > 0 && marks[starting[0]].Start == start; starting = starting[1:] {
			open = append(open, starting[0])
		}
		slices.Sort(open)
		for _, k := range open {
			m := marks[k]
			if m.Label != "" {
				s.Units += m.Label + "\n"
			}
			if m.Tone > 0 {
				if m.End-m.Start < shortest {
					s.Tone, shortest = m.Tone, m.End-m.Start
				}
				s.Names = append(s.Names, m.Label)
				if m.Fault != "" {
					s.Faults = append(s.Faults, m.Fault)
				}
				if m.End == end && m.Fault != "" {
					s.Labels = append(s.Labels, m.Label+" ✗")
				} else if m.End == end {
					s.Labels = append(s.Labels, m.Label)
				}
			} else {
				s.Answer = s.Answer || m.Kind != "gold" && m.Kind != Other
				s.Gold = s.Gold || m.Kind != "answer" && m.Kind != Other
				s.Other = s.Other || m.Kind == Other
				if m.End == end && m.Label != "" && !slices.Contains(s.Labels, m.Label) {
					s.Labels = append(s.Labels, m.Label)
				}
			}
		}
		segments = append(segments, s)
	}
	return segments
}

// within clips every mark to the text and to character borders.
func within(text string, marks []eval.Mark) []eval.Mark {
	var kept []eval.Mark
	for _, m := range marks {
		m.Start, m.End = max(m.Start, 0), min(m.End, len(text))
		if m.Start >= m.End {
			continue
		}
		for m.Start > 0 && !utf8.RuneStart(text[m.Start]) {
			m.Start--
		}
		for m.End < len(text) && !utf8.RuneStart(text[m.End]) {
			m.End++
		}
		kept = append(kept, m)
	}
	return kept
}

// A piece of a page is either segments or a number of skipped characters.
type piece struct {
	Segments []segment
	Skipped  int
}

// Gap describes skipped text.
func (p piece) Gap() string { return "… " + say.Count(p.Skipped) + " characters not shown …" }

// Pages up to wholePage characters are shown whole. Of longer pages, around characters before
// and after each mark are shown. Gaps shorter than leastGap are shown too. All count
// characters, not bytes.
const (
	wholePage = 1600
	around    = 240
	leastGap  = 120
)

// excerpt shortens a long page to the text around its marks, or to its beginning if it has
// none. A short page is one piece.
func excerpt(segments []segment) (pieces []piece) {
	length, marked := 0, false
	for _, s := range segments {
		length += utf8.RuneCountInString(s.Text)
		marked = marked || s.Marked()
	}
	show := func(s segment) {
		if s.Text == "" {
			return
		}
		if len(pieces) == 0 || pieces[len(pieces)-1].Skipped > 0 {
			pieces = append(pieces, piece{})
		}
		last := &pieces[len(pieces)-1]
		last.Segments = append(last.Segments, s)
	}
	for i, s := range segments {
		if length <= wholePage || s.Marked() {
			show(s)
			continue
		}
		head, tail := around, around
		if i == 0 {
			head = 0
		}
		if i == len(segments)-1 {
			tail = 0
		}
		if !marked {
			head = 2 * around
		}
		before, skipped, after := ends(s.Text, head, tail)
		if skipped < leastGap {
			show(s)
			continue
		}
		show(segment{Text: before})
		pieces = append(pieces, piece{Skipped: skipped})
		show(segment{Text: after})
	}
	return pieces
}

// ends cuts a text after about as many characters at its beginning as head says, and before as
// many at its end as tail says, between words, and counts the characters between.
func ends(text string, head, tail int) (before string, skipped int, after string) {
	var starts []int // of characters
	for i := range text {
		starts = append(starts, i)
	}
	if head+tail >= len(starts) {
		return text, 0, ""
	}
	follows := func(k int) bool { return strings.ContainsAny(text[starts[k-1]:starts[k]], " \n") } // a space
	from, to := head, len(starts)-tail
	for from > head/2 && !follows(from) {
		from--
	}
	for to < len(starts)-tail/2 && !follows(to) {
		to++
	}
	starts = append(starts, len(text))
	return text[:starts[from]], to - from, text[starts[to]:]
}
