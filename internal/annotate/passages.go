package annotate

import (
	"fmt"
	"slices"
	"unicode"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/measure"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/text"
)

// A character of a page with a label.
type marked struct {
	page, at int
	label    string
}

// characters are the marked characters that are not white space.
func characters(spans []Span) map[marked]bool {
	set := map[marked]bool{}
	for _, s := range spans {
		at := s.Start
		for _, c := range s.Text {
			if !unicode.IsSpace(c) {
				set[marked{s.Page, at, s.Label}] = true
			}
			at++
		}
	}
	return set
}

func sameSpans(a, b []Span) bool { return len(a) == len(b) && borders(a, b) == len(a) }

// borders counts the passages that both have.
func borders(a, b []Span) (n int) {
	rest := slices.Clone(b)
	for _, s := range a {
		if i := slices.Index(rest, s); i >= 0 {
			rest = slices.Delete(rest, i, i+1)
			n++
		}
	}
	return n
}

// passages compares marked passages by their characters and by their borders.
func (g *Agreement) passages(t study.Task, source Source, q *study.Question, p pairing) error {
	num, den := make([]float64, g.N), make([]float64, g.N)
	exact, all := make([]float64, g.N), make([]float64, g.N)
	tables := make([][2][2]float64, g.N) // of characters: marked by the first, by the second
	both, either := map[string]int{}, map[string]int{}
	stale := 0
	for i, s := range p.subjects {
		of, other := p.a[i].Answer.Spans(q.Name), p.b[i].Answer.Spans(q.Name)
		exact[i], all[i] = float64(2*borders(of, other)), float64(len(of)+len(other))
		a, b := characters(of), characters(other)
		for c := range a {
			either[c.label]++
			den[i]++
			if b[c] {
				both[c.label]++
				num[i] += 2
			}
		}
		for c := range b {
			either[c.label]++
			den[i]++
		}
		shown, err := show(t, source, s, p.a[i].Swapped)
		if err != nil || shown.Hash() != p.a[i].Shown {
			stale++
			continue
		}
		plainA, plainB := unlabelled(a), unlabelled(b)
		for _, page := range shown.Pages {
			at := 0
			for _, c := range page.Text {
				if !unicode.IsSpace(c) {
					m := marked{page: page.Number, at: at}
					tables[i][yesFirst(plainA[m])][yesFirst(plainB[m])]++
				}
				at++
			}
		}
	}
	if err := g.add(p.ratio(Overlap, "characters that both marked", num, den)); err != nil {
		return err
	}
	for _, l := range append(slices.Clone(q.Options), "") {
		if either[l] > 0 && l != "" {
			g.ByLabel = append(g.ByLabel, LabelAgreement{l, both[l], eval.Number(2 * float64(both[l]) / float64(either[l])), eval.Undefined()})
		}
	}
	if stale > 0 {
		g.Notes = append(g.Notes, fmt.Sprintf("kappa of characters without %s: the study shows something else now", text.Plural(stale, "subject", "subjects")))
	}
	if err := g.add(p.resampled(Kappa, "Cohen's kappa of characters", func(subjects []int) float64 {
		var t [2][2]float64
		for _, i := range subjects {
			for x := range 2 {
				for y := range 2 {
					t[x][y] += tables[i][x][y]
				}
			}
		}
		return measure.Kappa(t[0][0], t[0][1], t[1][0], t[1][1])
	})); err != nil {
		return err
	}
	return g.add(p.ratio(Borders, "passages with the same borders", exact, all))
}

func unlabelled(set map[marked]bool) map[marked]bool {
	plain := map[marked]bool{}
	for c := range set {
		plain[marked{page: c.page, at: c.at}] = true
	}
	return plain
}
