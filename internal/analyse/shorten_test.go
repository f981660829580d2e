package analyse

import (
	"iter"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
)

// Long documents are cut in reports; pages with marks are kept before others.
func TestShortenSamples(t *testing.T) {
	long := strings.Repeat("ä", sampleText/4)
	pages := func() []eval.ExhibitPage {
		return []eval.ExhibitPage{{Number: 1, Text: long}, {Number: 2, Text: long}, {Number: 3, Text: "marked " + long, Marks: []eval.Mark{{Start: 0, End: 6}, {Start: sampleText/2 - 1, End: sampleText/2 + 7}}}}
	}
	samples := []Sample{{Show: eval.Exhibit{Pages: pages()}}, {Show: eval.Exhibit{Pages: pages()}}, {Show: eval.Exhibit{Pages: []eval.ExhibitPage{{Text: "short"}}}}}
	shortenSamples(samples)
	size := 0
	for _, s := range samples {
		for _, p := range s.Show.Pages {
			size += len(p.Text)
			for _, m := range p.Marks {
				if m.End > len(p.Text) {
					t.Errorf("a mark at %d in %d bytes", m.End, len(p.Text))
				}
			}
			if strings.ContainsRune(p.Text, '\uFFFD') || strings.ToValidUTF8(p.Text, "?") != p.Text {
				t.Error("a character was cut")
			}
		}
	}
	if size > sampleText+1000 {
		t.Errorf("%d bytes of text", size)
	}
	first := samples[0].Show.Pages
	if !strings.HasPrefix(first[2].Text, "marked ä") || len(first[2].Marks) != 1 || !strings.Contains(first[0].Text, "more bytes: scruple show") {
		t.Errorf("pages of %d, %d and %d bytes, %d marks", len(first[0].Text), len(first[1].Text), len(first[2].Text), len(first[2].Marks))
	}
	if samples[2].Show.Pages[0].Text != "short" {
		t.Error("a short page was cut")
	}
}

// Samples that the suite picks are cut too.
func TestShortenPickedSamples(t *testing.T) {
	suite := eval.Suite{Metrics: []eval.Metric{{Name: "m", Max: 1, Kind: eval.Scoring, Pooling: eval.MeanOfItems}}}
	items := []eval.Item{{ID: "i"}}
	c := NewCollector(&suite, items, []eval.Arm{{ID: "a"}}, Listed(items))
	a, err := c.Analyse(Question{Study: Study{Alpha: 0.05}, Run: Run{Items: 1, Replicates: 1}, Primary: []string{"m"}, Samples: 1}, Sources{
		Show: func(eval.Trial) (eval.Exhibit, error) {
			return eval.Exhibit{Pages: []eval.ExhibitPage{{Text: strings.Repeat("a", 2*sampleText)}}}, nil
		},
		Pick: func(iter.Seq2[eval.Case, error], int) ([]eval.Picked, error) {
			return []eval.Picked{{Trial: eval.Trial{Item: "i", Arm: "a", Replicate: 1}, Rank: "worst"}}, nil
		},
	})
	if err != nil || len(a.Samples) != 1 || len(a.Samples[0].Show.Pages[0].Text) > sampleText+100 {
		t.Errorf("%d samples, %v", len(a.Samples), err)
	}
}

// A sample of thousands of rows keeps those with a problem, in their order.
func TestShortenRows(t *testing.T) {
	rows := make([]eval.ExhibitRow, 1000)
	rows[700].Note, rows[999].Note = "wrong", "wrong"
	kept := shortenRows(rows)
	problems := 0
	for _, r := range kept[:sampleRows] {
		if r.Note != "" {
			problems++
		}
	}
	if len(kept) != sampleRows+1 || problems != 2 || kept[sampleRows].Note != "700 more rows: scruple show prints them" {
		t.Errorf("%d rows, %d problems, %q", len(kept), problems, kept[len(kept)-1].Note)
	}
	if few := shortenRows(rows[:sampleRows]); len(few) != sampleRows {
		t.Errorf("%d rows of %d", len(few), sampleRows)
	}
}
