package gate

import (
	"fmt"

	"github.com/scruple-eval/scruple/internal/analyse"
)

// A Trend is what a comparison of two runs decides.
type Trend struct {
	Verdict string   `json:"verdict"`
	Reasons []string `json:"reasons,omitempty"`
}

// The verdicts of a comparison of two runs.
const (
	Improved    = "improved"
	Regressed   = "regressed"
	NoEvidence  = "no evidence of a difference"
	NotComputed = "undecided"
)

// Exit is the exit code of a command that fails on a regression.
func (t Trend) Exit() int {
	return map[string]int{Regressed: 1, NotComputed: 3}[t.Verdict]
}

// TrendOf decides by the primary metrics of a comparison of two runs, all of which are one
// family. A difference counts if it is more than chance, however large it is: between two runs
// of the same program some item always falls. One loss is a regression, and what cannot be
// decided hides no gain.
func TrendOf(a *analyse.Analysis) Trend {
	said := map[string][]string{}
	for _, c := range a.Comparisons {
		m, _ := a.Metric(c.Metric)
		if c.Stratum != nil || m.Rank != "primary" || m.NoDirection {
			continue
		}
		verdict, why := NoEvidence, ""
		switch found := c.Found(m.HigherIsBetter, a.Study.Alpha); found {
		case analyse.Better:
			verdict = Improved
		case analyse.Worse:
			verdict = Regressed
		case analyse.OtherJudge:
			verdict, why = NotComputed, c.JudgesDiffer
		case analyse.NotTested, analyse.NotCompared:
			verdict, why = NotComputed, string(found)
		}
		if share := float64(c.Unpaired) / float64(max(1, c.Pairs+c.Unpaired)); verdict != Regressed && share > a.Study.MaxUnscored {
			verdict, why = NotComputed, fmt.Sprintf("%.1f %% of the items have a value in only one run, the limit is %.1f %%", 100*share, 100*a.Study.MaxUnscored)
		}
		reason := fmt.Sprintf("%s against %s, %s", c.A, c.B, m.Title)
		if why != "" {
			reason += ": " + why
		}
		said[verdict] = append(said[verdict], reason)
	}
	for _, verdict := range []string{Regressed, NotComputed, Improved, NoEvidence} {
		if len(said[verdict]) > 0 {
			return Trend{verdict, said[verdict]}
		}
	}
	return Trend{NotComputed, []string{"no primary metric is compared"}}
}
