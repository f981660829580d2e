package report

import (
	"encoding/json"
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/gate"
)

func TestGateFormats(t *testing.T) {
	for _, name := range fixtures() {
		golden(t, name+".gate.md", render(t, load(t, name), GateMarkdown))
		golden(t, name+".gate.xml", render(t, load(t, name), GateJUnit))
	}
}

// Why a rule is undecided is said once for each rule, and once for the gate.
func TestReasonIsSaidOnce(t *testing.T) {
	t.Parallel()
	const why = "no item has a value for both arms"
	name := "diff('a', 'b', 'm')"
	c := gate.Condition{Name: "better", Kind: "require", That: name + " > 0", State: gate.Undecided,
		Values: []gate.Used{{Name: name, Note: why}, {Name: "p('a', 'b', 'm')", Note: "too few items"}}, Reason: name + " is undefined: " + why}
	said := strings.Join(append(values(c), c.Reason), "\n")
	if strings.Count(said, why) != 1 || !strings.Contains(said, "= – (too few items)") {
		t.Errorf("want the reason of the rule once, and any other reason beside its value:\n%s", said)
	}
}

// The comment on a pull request counts the calls of judges and says what has no price.
func TestCommentSaysTheCost(t *testing.T) {
	for want, u := range map[string]*analyse.Usage{
		"; no calls":                   {},
		"; 40 judge calls, cost $1.50": {JudgeCalls: 40, JudgeCostUSD: 1.5},
		"; 40 calls, cost unknown (40 calls of unknown cost)":                 {Calls: 40, Unpriced: 40},
		"; 50 calls and 2 judge calls, cost ≥ $1.75 (1 call of unknown cost)": {Calls: 50, CostUSD: 1.5, JudgeCalls: 2, JudgeCostUSD: 0.25, JudgeUnpriced: 1},
	} {
		r := load(t, "study")
		r.Analysis.Total, r.Analysis.Run.Reused = u, nil
		out := strings.NewReplacer("\\", "", "\u00a0", " ").Replace(render(t, r, func(w io.Writer, r Report) error { return Comment(w, r, "study.yaml", nil) }))
		if !strings.Contains(out, want+"\n") {
			t.Errorf("no %q: %s", want, out[max(0, len(out)-200):])
		}
	}
}

// The table of costs says what is not in it.
func TestLostRequestsAreNotInTheTable(t *testing.T) {
	for want, l := range map[string]*eval.Lost{
		"1 request without an answer that may be paid: 1,200 tokens, cost $0.0042,":             {Requests: 1, Tokens: 1200, CostUSD: 0.0042},
		"2 requests without an answer that may be paid: 10 tokens, cost unknown (2 calls of un": {Requests: 2, Tokens: 10, Unpriced: 2},
	} {
		r := load(t, "study")
		r.Analysis.Run.Lost = l
		out := strings.NewReplacer("\\", "", "\u00a0", " ", "\u202f", ",").Replace(render(t, r, Markdown))
		if !strings.Contains(out, want) {
			_, out, _ = strings.Cut(out, "Not in the table")
			t.Errorf("no %q: %.200q", want, out)
		}
	}
}

// A comment notifies nobody, and links no issue of another repository.
func TestCommentRefersToNothing(t *testing.T) {
	r := load(t, "study")
	r.Analysis.Study.Name = "@octocat octo/repo#1 #2 GH-3 a://b"
	out := render(t, r, func(w io.Writer, r Report) error { return Comment(w, r, "study.yaml", nil) })
	if _, out, _ = strings.Cut(out, "\n"); !strings.Contains(out, "@\u200boctocat octo/repo#\u200b1 #\u200b2 GH-\u200b3 a&#58;//b") {
		t.Errorf("%.300q", out)
	}
}

// What has no interval against a baseline says why, and changes say what they lack.
func TestCommentSaysWhyThereIsNoInterval(t *testing.T) {
	r := load(t, "study")
	c := r.Analysis.Comparisons[0]
	c.Pairs, c.Low, c.High, c.Warnings = 1, analyse.Undefined(), analyse.Undefined(), nil
	against := *r.Analysis
	against.Comparisons = []analyse.Comparison{c}
	out := render(t, r, func(w io.Writer, r Report) error {
		return Comment(w, r, "study.yaml", &Baseline{Run: "main-1", Changes: &analyse.Changes{Compared: &against, Equal: 4, Unscored: 2}})
	})
	for _, want := range []string{"¹ no interval: one pair is not enough", "4 scores are as before; 2 without a score in one of the runs."} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %s", want, out)
		}
	}
}

// A baseline may have begun after the run, which was resumed.
func TestCommentSaysTheAgeOfTheBaseline(t *testing.T) {
	r := load(t, "study")
	for days, want := range map[int]string{0: "of the same day", 1: "1 day older", -3: "3 days newer"} {
		base := &Baseline{Run: "main-1", Days: days, Changes: &analyse.Changes{Compared: r.Analysis}}
		out := render(t, r, func(w io.Writer, r Report) error { return Comment(w, r, "study.yaml", base) })
		if !strings.Contains(out, "("+want+", scruple") {
			t.Errorf("no %q in %s", want, out)
		}
	}
}

// A diagnosis explains a verdict and decides nothing, so it is no failed test case.
func TestJUnitSkipsDiagnoses(t *testing.T) {
	for _, state := range []gate.State{gate.Pass, gate.Fail, gate.Undecided} {
		r := load(t, "study")
		before := render(t, r, GateJUnit)
		r.Verdict.Conditions = append(r.Verdict.Conditions, gate.Condition{Name: "why", Kind: gate.Diagnosis, That: "x > 0", State: state})
		out := render(t, r, GateJUnit)
		for _, element := range []string{"<failure", "<error"} {
			if strings.Count(out, element) != strings.Count(before, element) {
				t.Errorf("a diagnosis that is %s is counted as %s", state, element)
			}
		}
		if strings.Count(out, "<skipped") != strings.Count(before, "<skipped")+1 {
			t.Errorf("a diagnosis that is %s is not skipped", state)
		}
	}
}

// A JUnit file is well-formed for any data, its counts are right, and it fails if and
// only if the gate does.
func TestJUnitIsValid(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		r := hostile(rt, t)
		if r.Verdict == nil {
			return
		}
		type counts struct {
			Tests    int `xml:"tests,attr"`
			Failures int `xml:"failures,attr"`
			Errors   int `xml:"errors,attr"`
			Skipped  int `xml:"skipped,attr"`
		}
		var got struct {
			XMLName xml.Name `xml:"testsuites"`
			counts
			Suite struct {
				counts
				Cases []struct {
					Failure *string `xml:"failure"`
					Error   *string `xml:"error"`
					Skipped *string `xml:"skipped"`
				} `xml:"testcase"`
			} `xml:"testsuite"`
		}
		d := xml.NewDecoder(strings.NewReader(render(t, r, GateJUnit)))
		if err := d.Decode(&got); err != nil {
			rt.Fatal(err)
		}
		if rest, err := d.Token(); err != nil || strings.TrimSpace(string(rest.(xml.CharData))) != "" {
			rt.Fatalf("%v and %v behind the file", rest, err)
		}
		var failures, errors, skipped int
		for _, c := range got.Suite.Cases {
			switch {
			case c.Failure != nil:
				failures++
			case c.Error != nil:
				errors++
			case c.Skipped != nil:
				skipped++
			}
		}
		s := got.Suite
		if s.Failures != failures || s.Errors != errors || s.Skipped != skipped || s.Tests != len(s.Cases) || got.Tests != s.Tests || s.Tests != len(r.Verdict.Conditions)+1 {
			rt.Fatalf("the counts are wrong: %+v", got)
		}
		last := s.Cases[len(s.Cases)-1]
		if (last.Failure != nil) != (r.Verdict.State == gate.Fail) || (last.Failure == nil && last.Error == nil) != (r.Verdict.State == gate.Pass) {
			rt.Fatalf("the gate is %s, and its test case is %+v", r.Verdict.State, last)
		}
	})
}

// What qualifies a verdict is in every format of it, and the gravest in the title.
func TestQualificationsAreInEveryFormat(t *testing.T) {
	r := load(t, "study")
	a, v := r.Analysis, r.Verdict
	a.Run.Split, a.Run.Dev, a.Run.Items = "", 3, 7
	a.Run.History, a.Run.Late = []string{"10 items removed"}, []string{"newcomer"}
	a.Judges = []analyse.Judge{{Name: "umpire", Failed: true, Effect: "right in half"}}
	a.Run.Looks = &analyse.Looks{Seen: 3, Level: 0.025, Chance: 0.057}
	a.Warnings = append(a.FailedJudges(), a.Run.Looks.String(), a.Run.Changed())
	a.Discipline = &analyse.Discipline{Problem: "no such file", Unblindings: []analyse.Unblinding{{Date: "2026-01-02", By: "Ada", Reason: "again"}},
		Others: []analyse.OtherTest{{Study: "elsewhere", Run: "e-1", Date: "2026-01-01", Entry: 2, Arms: []string{"x"}}}}
	v.State, v.FailedJudges, v.Looked, v.History, v.NoTests = gate.Pass, a.FailedJudges(), a.Run.Looks.String(), a.Run.Changed(), a.Run.WithoutTests()
	v.Changed, v.Uncorrected = []string{"rule r was x"}, "any of 3 comparisons"
	v.Witness(a.Discipline)
	for name, write := range map[string]func(io.Writer, Report) error{
		"terminal": func(w io.Writer, r Report) error { return Gate(w, r.Verdict, TerminalOptions{}) },
		"markdown": GateMarkdown, "junit": GateJUnit, "github": GateGitHub,
		"json":    func(w io.Writer, r Report) error { return json.NewEncoder(w).Encode(r.Verdict) },
		"comment": func(w io.Writer, r Report) error { return Comment(w, r, "study.yaml", nil) },
	} {
		out := strings.Join(strings.Fields(strings.NewReplacer("\\", "", "%25", "%").Replace(render(t, r, write))), " ")
		for _, want := range []string{"umpire failed its calibration", "looked at 3 times", "rule r was x", "any of 3 comparisons", "again", "no such file", "e-1 of study elsewhere", "3 of 7 items are marked dev", "10 items removed; newcomer was added or changed after results"} {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q:\n%s", name, want, out)
			}
		}
		if title := "[JUDGE FAILED] [UNBLINDED] [LEDGER] [RULES CHANGED AFTER RESULTS]"; name != "json" && !strings.Contains(out, title) {
			t.Errorf("%s: no %s", name, title)
		}
	}
}
