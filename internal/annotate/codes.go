package annotate

import (
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/study"
)

// The questions of a failure: its codes in order, and the name of a new one.
var (
	codePlaces = []string{"primary", "secondary", "tertiary"}
	newCode    = "emergent"
)

// codes are the codes of a failure, whatever their place. A new code counts under its name.
func (a Answer) codes() (list []string) {
	for _, place := range codePlaces {
		code := a.Text(place)
		if name := strings.ToLower(strings.TrimSpace(a.Text(newCode))); code == newCode && name != "" {
			code = newCode + " " + name
		}
		if code != "" && !slices.Contains(list, code) {
			list = append(list, code)
		}
	}
	return list
}

// codeSets compares the sets of codes of failures, for kappa of the primary code alone
// counts the same codes in another order as a difference.
func (g *Agreement) codeSets(t study.Task, q *study.Question, p pairing) error {
	if t.Kind != "failure" || q.Name != codePlaces[0] {
		return nil
	}
	num, den := make([]float64, g.N), make([]float64, g.N)
	for i := range g.N {
		a, b := p.a[i].Answer.codes(), p.b[i].Answer.codes()
		for _, code := range a {
			if slices.Contains(b, code) {
				num[i]++
			}
		}
		den[i] = float64(len(a)+len(b)) - num[i]
	}
	return g.add(p.ratio(Overlap, "codes that both gave, in any place", num, den))
}
