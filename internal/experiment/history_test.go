package experiment

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
)

// TestRuleChanges compares two studies in canonical JSON.
func TestRuleChanges(t *testing.T) {
	const rules = `{"decide":{"require":[{"name":"a","that":"p < 0.05"},{"name":"b","that":"d > 1"}],"outcomes":[{"name":"ship","when":"x > 1","verdict":"pass","advice":"do"},{"name":"stop","verdict":"fail"}]},
		"statistics":{"alpha":0.05,"method":"paired_ttest"},"execution":{"max_failed":0.05}}`
	for _, test := range []struct {
		name, now string
		want      []string
	}{
		{"equal", rules, nil},
		{"other advice and other order of required rules", `{"decide":{"require":[{"name":"b","that":"d > 1"},{"name":"a","that":"p < 0.05"}],"outcomes":[{"name":"ship","when":"x > 1","verdict":"pass"},{"name":"stop","verdict":"fail"}]},
			"statistics":{"alpha":0.05,"method":"paired_ttest"},"execution":{"max_failed":0.05}}`, nil},
		{"none left", `{"statistics":{"alpha":0.05,"method":"paired_ttest"},"execution":{"max_failed":0.05}}`, []string{
			`rule "a" was removed, it was p < 0.05`, `rule "b" was removed, it was d > 1`, `outcome "ship" was removed, it was pass if x > 1`, `outcome "stop" was removed, it was fail if otherwise`}},
		{"changed, added, other settings", `{"decide":{"require":[{"name":"a","that":"p < 0.2"},{"name":"b","that":"d > 1"},{"name":"c","that":"n > 1"}],"outcomes":[{"name":"ship","when":"x > 1","verdict":"pass"},{"name":"stop","verdict":"pass"}]},
			"statistics":{"alpha":0.2,"method":"wilcoxon","correction":"holm"},"execution":{"max_failed":1}}`, []string{
			`rule "a" was p < 0.05, now p < 0.2`, `rule "c" was added, it is n > 1`, `outcome "stop" was fail if otherwise, now pass if otherwise`,
			`statistics.alpha was 0.05, now 0.2`, `statistics.correction was not set, now holm`, `statistics.method was paired_ttest, now wilcoxon`, `execution.max_failed was 0.05, now 1`}},
		{"outcomes in another order", `{"decide":{"require":[{"name":"a","that":"p < 0.05"},{"name":"b","that":"d > 1"}],"outcomes":[{"name":"stop","verdict":"fail"},{"name":"ship","when":"x > 1","verdict":"pass"}]},
			"statistics":{"alpha":0.05,"method":"paired_ttest"},"execution":{"max_failed":0.05}}`, []string{"the order of the outcomes was ship, stop, now stop, ship"}},
		{"a judge that need not be measured any more", strings.Replace(rules, `"decide":{`, `"decide":{"require_measured":true,`, 1), []string{"decide.require_measured was false, now true"}},
		{"comparisons and metrics", strings.Replace(rules, `"execution"`, `"comparisons":[{"a":"x","b":"z","primary":true,"family":"f"},{"a":"y","b":"z"}],"metrics":{"primary":["m"]},"execution"`, 1), []string{
			`comparison "x - z" was added, it is {"primary":true,"family":"f"}`, `comparison "y - z" was added, it is {}`, `metrics.primary was not set, now ["m"]`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			was, err := decidingOf([]byte(rules))
			if err != nil {
				t.Fatal(err)
			}
			now, err := decidingOf([]byte(test.now))
			if err != nil {
				t.Fatal(err)
			}
			stored, err := json.Marshal(now)
			if now = (deciding{}); err == nil {
				err = json.Unmarshal(stored, &now)
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := was.changes(now); !slices.Equal(got, test.want) {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

// A file that measures the judge beside known cases is named; earlier versions counted it as a case.
func TestCaseChanges(t *testing.T) {
	people := func(hash, what string) deciding {
		return deciding{Cases: []string{"1", hash}, Beside: [2]string{hash, what}}
	}
	none, some, more, former := deciding{Cases: []string{"1"}}, people("a", "verdicts of people on 30 answers"), people("b", "verdicts of people on 31 answers"), deciding{Cases: []string{"1", "a"}, Judged: "8 of 9"}
	for _, test := range []struct {
		was, now deciding
		want     string
	}{
		{none, some, "what measures the judge: verdicts of people on 30 answers added"},
		{some, none, "what measures the judge: verdicts of people on 30 answers removed"},
		{some, more, "what measures the judge: verdicts of people on 30 answers removed, verdicts of people on 31 answers added"},
		{some, deciding{Cases: []string{"2", "a"}, Beside: some.Beside}, "what measures the judge: 1 case removed, 1 case added"},
		{former, some, ""},
		{former, none, "what measures the judge: 1 case removed, it was right on 8 of 9 then"},
		{deciding{}, some, ""},
	} {
		if got := strings.Join(test.was.caseChanges(test.now), "; "); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}

// Names of columns can be of a study, such as those of metrics.
func TestJSONLinesNames(t *testing.T) {
	var b strings.Builder
	write, end := JSONLines(&b, []string{"item", "<\a \U000e0001>"})
	if err := errors.Join(write([]any{"i & j", 1}), end()); err != nil {
		t.Fatal(err)
	}
	if want := "{\"item\":\"i & j\",\"<\\u0007 \U000e0001>\":1}\n"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}
