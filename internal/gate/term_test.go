package gate_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scruple-eval/scruple/internal/gate"
)

// A condition gives each result it read with its threshold.
func TestTerms(t *testing.T) {
	for that, want := range map[string][]string{
		"diff_low('ctn','plain','composite') > 0.05":                                         {"diff_low(ctn, plain, composite) > 0.05"},
		"-0.05 <= diff('ctn','plain','composite')":                                           {"diff(ctn, plain, composite) >= -0.05"},
		"low('ctn','composite') > high('plain','composite')":                                 {"low(ctn, composite) > high(plain, composite)", "high(plain, composite) < low(ctn, composite)"},
		"diff('plain','ctn','composite') < −0.05":                                            {"diff(plain, ctn, composite) < -0.05"},
		"failed('plain') < 0.05":                                                             {"failed(plain) < 0.05"},
		"value('ctn','composite') > 0.1 && value('ctn','composite') < 0.9":                   {"value(ctn, composite) > 0.1 and < 0.9"},
		"value('ctn','composite') - value('plain','composite') >= 0.2":                       {"value(ctn, composite)", "value(plain, composite)"},
		"within('ctn','plain','composite', 0.03)":                                            {"equiv_low(ctn, plain, composite) > -0.03", "equiv_high(ctn, plain, composite) < 0.03"},
		"p_adjusted('ctn','plain','composite') < 0.05 || d('ctn','plain','composite') > 0.5": {"p_adjusted(ctn, plain, composite) < 0.05"},
	} {
		var got []string
		for _, term := range compile(t, rule(that)).Decide(analysis(0.1, 0.01, 0.8)).Conditions[0].Terms() {
			got = append(got, strings.TrimSpace(term.Name+" "+term.Threshold))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", that, diff)
		}
	}
}

// The text of a stored rule need not be valid.
func FuzzTerms(f *testing.F) {
	for _, that := range []string{"otherwise", "", "value('a')", "value(1,2) > 3", "within()", "within('a','b','c')", "1 < 2", "value('a','m') > -(", "f(value('a','m')) > 1"} {
		f.Add(that)
	}
	f.Fuzz(func(t *testing.T, that string) {
		c := gate.Condition{That: that, Values: []gate.Used{{Name: "value(a, m)"}}}
		if list := c.Terms(); len(list) != 1 || list[0].Name != "value(a, m)" {
			t.Errorf("%q: %v", that, list)
		}
	})
}
