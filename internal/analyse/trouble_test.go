package analyse_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
)

// TestTroubles gives one arm forty trials on twenty items, some of them bad, in an
// order in which the last item comes first. An arm is named above 5 % of its answers,
// with the first bad one by item; failed trials are no answers.
func TestTroubles(t *testing.T) {
	bad := func(kind eval.OutcomeKind, reason string, notes ...string) eval.Outcome {
		return eval.Outcome{Kind: kind, Reason: reason, Notes: notes}
	}
	for _, test := range []struct {
		name string
		at   map[string]eval.Outcome // by item and replicate; the others are ok
		want []string                // beginnings of the warnings
	}{
		{"all good", nil, nil},
		{"two of forty are not above 5 %", map[string]eval.Outcome{"q07 1": bad(eval.Malformed, "not JSON"), "q03 2": bad(eval.Malformed, "not JSON")}, nil},
		{"three of forty", map[string]eval.Outcome{"q07 1": bad(eval.Malformed, "not JSON"), "q03 2": bad(eval.Malformed, "empty"), "q19 1": bad(eval.Malformed, "not JSON")},
			[]string{"x: 3 of 40 answers (8 %) are malformed: not JSON (2), empty (1); the first is of item q03: “answer to q03 2”; expected: gold of q03"}},
		{"two of 38: two trials failed", map[string]eval.Outcome{"q07 1": bad(eval.Refused, "declined"), "q07 2": bad(eval.Refused, "declined"),
			"q01 1": bad(eval.Failed, "timeout"), "q01 2": bad(eval.Failed, "timeout")},
			[]string{"x: 2 of 38 answers (5 %) are refused: declined (2); the first is of item q07: “answer to q07 1”"}},
		{"truncated, and two of them malformed", map[string]eval.Outcome{"q05 1": bad(eval.OK, "", eval.NoteTruncated), "q06 2": bad(eval.Malformed, "not JSON", eval.NoteTruncated),
			"q08 2": bad(eval.Malformed, "not JSON", eval.NoteTruncated)},
			[]string{"x: 3 of 40 answers (8 %) are truncated; the first is of item q05: “answer to q05 1”"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var list []eval.Item
			for i := range 20 {
				list = append(list, eval.Item{ID: fmt.Sprintf("q%02d", 19-i)})
			}
			c := analyse.NewCollector(&suite, list, []eval.Arm{{ID: "x"}}, asListed(list))
			for _, it := range list {
				s := eval.Scored{Case: eval.Case{Item: it.ID, Arm: "x"}}
				for r := range 2 {
					o, ok := test.at[fmt.Sprint(it.ID, " ", r+1)]
					if !ok {
						o.Kind = eval.OK
					}
					s.Trials = append(s.Trials, eval.Judged{Trial: eval.Trial{Item: it.ID, Arm: "x", Replicate: r + 1}, Outcome: o})
				}
				c.Add(s)
			}
			a, err := c.Analyse(analyse.Question{Study: analyse.Study{Alpha: 0.05}, Run: analyse.Run{Items: 20, Replicates: 2, Planned: 40}},
				analyse.Sources{Show: func(t eval.Trial) (eval.Exhibit, error) {
					return eval.Exhibit{Raw: fmt.Sprintf("answer  to\n%s %d", t.Item, t.Replicate), Expected: "gold of " + t.Item}, nil
				}})
			if err != nil {
				t.Fatal(err)
			}
			if len(a.Troubles) != len(test.want) {
				t.Fatalf("%d troubles %v, want %d", len(a.Troubles), a.Troubles, len(test.want))
			}
			for i, want := range test.want {
				if got := a.Troubles[i].String(); !strings.HasPrefix(got, want) {
					t.Errorf("warning %q\nwant %q …", got, want)
				}
				if !strings.Contains(strings.Join(a.Warnings, "\n"), want) {
					t.Errorf("the warnings of the analysis %q lack it", a.Warnings)
				}
			}
		})
	}
}

// The words of a step stand for an answer without a text, and those of a person who judged it do not.
func TestTroubleWithoutText(t *testing.T) {
	for said, steps := range map[string][]eval.ExhibitStep{
		"it has no text": {{Name: "human anna", Text: `{"label":"no"}`, Verdict: true}},
		"“no ranking”":   {{Name: "human anna", Text: `{"label":"no"}`, Verdict: true}, {Name: "ask", Text: "no ranking"}},
	} {
		c := analyse.NewCollector(&suite, items[:1], []eval.Arm{{ID: "x"}}, asListed(items[:1]))
		c.Add(scored("d1", "x", eval.Malformed))
		a, err := c.Analyse(analyse.Question{Study: analyse.Study{Alpha: 0.05}, Run: analyse.Run{Items: 1, Replicates: 1, Planned: 1}},
			analyse.Sources{Show: func(eval.Trial) (eval.Exhibit, error) { return eval.Exhibit{Steps: steps, Expected: "gold"}, nil }})
		if want := "the first is of item d1: " + said + "; expected: gold"; err != nil || len(a.Troubles) != 1 || !strings.Contains(a.Troubles[0].String(), want) {
			t.Errorf("%v, %v, want %q", a.Troubles, err, want)
		}
	}
}

// A long answer and what was expected of it are shortened; without the words of the
// suite the gold of the units is expected.
func TestTroubleIsShort(t *testing.T) {
	c := analyse.NewCollector(&suite, items[:1], []eval.Arm{{ID: "x"}}, asListed(items[:1]))
	c.Add(scored("d1", "x", eval.Malformed))
	a, err := c.Analyse(analyse.Question{Study: analyse.Study{Alpha: 0.05}, Run: analyse.Run{Items: 1, Replicates: 1, Planned: 1}},
		analyse.Sources{Show: func(eval.Trial) (eval.Exhibit, error) {
			return eval.Exhibit{Raw: strings.Repeat("blah ", 1000), Rows: []eval.ExhibitRow{{Unit: "total", Gold: "12.00"}, {Unit: "date", Gold: "2024-01-31"}}}, nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(a.Troubles); n != 1 {
		t.Fatalf("%d troubles", n)
	}
	if got := a.Troubles[0]; len([]rune(got.Answer)) > 240 || got.Expected != "total = 12.00; date = 2024-01-31" {
		t.Errorf("%d characters of the answer, expected %q", len([]rune(got.Answer)), got.Expected)
	}
}
