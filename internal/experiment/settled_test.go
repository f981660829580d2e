package experiment

import (
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
)

// What people say of a unit is open where they differ, and where one skipped it and nobody answered.
func TestSettled(t *testing.T) {
	said := func(round int, data string) eval.Verdict {
		return eval.Verdict{Step: "check", Source: eval.ByHuman, Round: round, Data: []byte(data)}
	}
	yes, no, skipped := `{"yes": true}`, `{"yes": false}`, `{"skipped": true}`
	for name, c := range map[string]struct {
		verdicts []eval.Verdict
		human    string
		open     bool
	}{
		"nobody":            {nil, "", false},
		"one":               {[]eval.Verdict{said(1, yes)}, "yes", false},
		"alike":             {[]eval.Verdict{said(1, no), said(1, no)}, "no", false},
		"differ":            {[]eval.Verdict{said(1, yes), said(1, no)}, "", true},
		"decided":           {[]eval.Verdict{said(1, yes), said(1, no), said(3, no)}, "no", false},
		"skipped":           {[]eval.Verdict{said(1, skipped)}, "", true},
		"skipped by one":    {[]eval.Verdict{said(1, skipped), said(1, yes)}, "yes", false},
		"skipped again":     {[]eval.Verdict{said(1, yes), said(2, skipped)}, "yes", false},
		"again alone":       {[]eval.Verdict{said(2, skipped)}, "", false},
		"skipped, decided":  {[]eval.Verdict{said(1, skipped), said(3, yes)}, "yes", false},
		"of the whole unit": {[]eval.Verdict{{Step: "check", Source: eval.ByHuman, Round: 1, Unit: "u", Data: []byte(yes)}}, "", false},
	} {
		human, open := settled(c.verdicts, "", map[string]bool{"check": true})
		got := ""
		if human != nil {
			got = map[bool]string{true: "yes", false: "no"}[*human]
		}
		if got != c.human || open != c.open {
			t.Errorf("%s: %q, open %v; want %q, %v", name, got, open, c.human, c.open)
		}
	}
}
