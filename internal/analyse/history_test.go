package analyse

import "testing"

// A run that grew for weeks has one line, which says what follows for its comparisons.
func TestHistoryIsOneLine(t *testing.T) {
	planned, late := Comparison{A: "a", B: "b"}, Comparison{A: "small", B: "b", Late: "small"}
	for _, test := range []struct {
		changes     []string
		comparisons []Comparison
		q           Question
		want        string
	}{
		{nil, []Comparison{planned}, Question{}, ""},
		{[]string{"20 items added"}, []Comparison{planned}, Question{Late: []string{"nobody compares it"}},
			"history of the run: 20 items added"},
		{[]string{"20 items added", "arm small added"}, []Comparison{planned, late, late}, Question{Late: []string{"small", "small"}, Rejudged: []string{"small"}},
			"history of the run: 2 changes (`scruple status` lists them), the last: arm small added; small was added or changed after results had been shown: comparisons with it are exploratory"},
		{nil, []Comparison{late}, Question{Rejudged: []string{"small"}},
			"history of the run: the judge of small was changed after results had been shown: comparisons with it are exploratory"},
		{[]string{"clusters of 2 items changed"}, []Comparison{planned}, Question{Regrouped: true, Restratified: true},
			"history of the run: clusters of 2 items changed; all comparisons are exploratory"},
	} {
		a := &Analysis{Comparisons: test.comparisons, Run: Run{History: test.changes}}
		if a.addLate(test.q); a.Run.Changed() != test.want {
			t.Errorf("%v: %q\nwant %q", test.changes, a.Run.Changed(), test.want)
		}
	}
}
