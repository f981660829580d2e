package method_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/suites/rerank/method"
)

type lists struct {
	Yes []int `json:"yes"`
	No  []int `json:"no"`
}

var shownPlace = regexp.MustCompile(`(?m)^\[(\d+)\] `)

// loosened changes the right answers about candidates, as models write them. Each
// says the same. The prompt has the candidates asked about.
var loosened = map[string]func(l lists, prompt string) string{
	"strings": func(l lists, _ string) string {
		return fmt.Sprintf(`{"yes": %s, "no": %s}`, quoted(l.Yes), quoted(l.No))
	},
	"sharps": func(l lists, _ string) string {
		return strings.ReplaceAll(fmt.Sprintf(`{"yes": %s, "no": %s}`, quoted(l.Yes), quoted(l.No)), `["`, `["#`)
	},
	"one text": func(l lists, _ string) string {
		return fmt.Sprintf(`{"yes": %q, "no": %q}`, commas(l.Yes), commas(l.No))
	},
	"fractions": func(l lists, _ string) string { return regexp.MustCompile(`\d+`).ReplaceAllString(jsonOf(l), "$0.0") },
	"nulls": func(l lists, _ string) string {
		return strings.ReplaceAll(jsonOf(l), "[]", "null")
	},
	"missing lists": func(l lists, _ string) string {
		return strings.Replace(strings.ReplaceAll(jsonOf(l), `,"no":[]`, ""), `"yes":[],`, "", 1)
	},
	"capitals": func(l lists, _ string) string {
		return fmt.Sprintf(`{"Reasoning": "x", "Yes": %s, "No": %s}`, quoted(l.Yes), quoted(l.No))
	},
	"booleans by place": func(l lists, _ string) string {
		said := map[string]any{"reasoning": "x"}
		for _, i := range l.Yes {
			said[fmt.Sprint(i)] = true
		}
		for _, i := range l.No {
			said[fmt.Sprint(i)] = false
		}
		return jsonOf(said)
	},
	"booleans in order": func(l lists, prompt string) string {
		var yes, no []bool
		for _, m := range shownPlace.FindAllStringSubmatch(prompt, -1) {
			has := func(list []int) bool {
				return slices.ContainsFunc(list, func(i int) bool { return fmt.Sprint(i) == m[1] })
			}
			yes, no = append(yes, has(l.Yes)), append(no, has(l.No))
		}
		return jsonOf(map[string]any{"yes": yes, "no": no})
	},
}

func quoted(list []int) string {
	texts := []string{}
	for _, i := range list {
		texts = append(texts, fmt.Sprint(i))
	}
	return jsonOf(texts)
}

func commas(list []int) string { return strings.Trim(strings.ReplaceAll(quoted(list), `"`, ""), "[]") }

func jsonOf(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// aboutCandidates reports whether a step asks about candidates one by one.
func aboutCandidates(step string) bool {
	return strings.HasPrefix(step, "text/") || strings.HasPrefix(step, "execute/")
}

// onTruths answers questions about candidates by write, and others rightly.
func onTruths(write func(l lists, prompt string) string) *script {
	return &script{answer: func(step string, p method.Prompt) (method.Answer, error) {
		if !aboutCandidates(step) {
			return right(step, p)
		}
		var l lists
		if err := json.Unmarshal([]byte(p.Simulated(method.Rightly)), &l); err != nil {
			return method.Answer{}, err
		}
		if l.Yes == nil {
			l.Yes = []int{}
		}
		if l.No == nil {
			l.No = []int{}
		}
		return said(write(l, p.Messages[0].Content))
	}}
}

func TestLooseAnswersAreRead(t *testing.T) {
	for name, write := range loosened {
		for _, m := range []string{"weaver", "anot"} {
			for size, task := range tasks() {
				strict := perform(t, find(t, m), task, &script{answer: right})
				r := perform(t, find(t, m), task, onTruths(write))
				if r.Invalid != "" || !slices.Equal(r.Ranking, strict.Ranking) || slices.Contains(r.Notes, method.NoteUnread) {
					t.Errorf("%s, %s, %s: ranking %v, notes %q; with exact answers %v\n%s", m, size, name, r.Ranking, r.Notes, strict.Ranking, trace(r))
				}
			}
		}
	}
}

// What cannot be read leaves candidates unknown, and is noted in the result.
func TestUnreadAnswersAreNoted(t *testing.T) {
	for name, answer := range map[string]string{
		"prose":               "I cannot tell.",
		"another object":      `{"result": "yes"}`,
		"true for all":        `{"yes": true, "no": false}`,
		"too few booleans":    `{"yes": [true, false], "no": [false, true]}`,
		"one list of boolean": `{"yes": [true, false, true, false, true, false, true, false], "no": []}`,
		"names":               `{"yes": ["Place G"], "no": ["Place A"]}`,
		"others":              `{"yes": [55], "no": [-1]}`,
		"nulls in lists":      `{"yes": [null], "no": []}`,
		"objects":             `{"yes": [{"candidate": 7}], "no": []}`,
		"perhaps":             `{"3": "perhaps", "7": 0.5}`,
	} {
		for _, m := range []string{"weaver", "anot"} {
			r := perform(t, find(t, m), scene(12), onTruths(func(lists, string) string { return answer }))
			if r.Invalid != "" || !slices.Contains(r.Notes, method.NoteUnread) {
				t.Errorf("%s, %s: %s, notes %q", m, name, r.Invalid, r.Notes)
			}
		}
	}
	for _, m := range []string{"weaver", "anot"} {
		if r := perform(t, find(t, m), scene(12), &script{answer: right}); len(r.Notes) > 0 {
			t.Errorf("%s: exact answers have the notes %q", m, r.Notes)
		}
		r := perform(t, find(t, m), scene(12), onTruths(func(l lists, _ string) string { return jsonOf(lists{l.Yes, append(l.No, l.Yes...)}) }))
		if !slices.Contains(r.Notes, method.NoteUnread) {
			t.Errorf("%s: candidates on both lists have the notes %q", m, r.Notes)
		}
	}
}

// Numbers of actions may be strings.
func TestNumbersMayBeStrings(t *testing.T) {
	s := steps(map[string]string{
		"act/01": `{"action":"reviews","candidate":"2","page":"1"}`,
		"act/02": `{"action":"reviews","candidate":"#3","page":null}`,
		"act/03": `{"action":"reviews","candidate":"the third"}`,
		"act/04": `{"action":"finish","ranking":["7", 1.0]}`,
	})
	r := perform(t, find(t, "plan_act"), scene(8), s)
	if !slices.Equal(r.Ranking, []int{7, 1}) || !slices.Equal(r.Notes, []string{method.NoteAgain, method.NoteFormat}) {
		t.Errorf("ranking %v, notes %q, %s", r.Ranking, r.Notes, r.Detail)
	}
	if p := s.prompts["act/03"]; strings.Contains(p, "Invalid action") || strings.Count(p, "Coffee was fine") != 2 {
		t.Errorf("the reviews were not shown:\n%s", p)
	}
	s = steps(map[string]string{"plan": twoConditions, "expand/01": `{"tool":"insert","step":{"id":"X","condition":"C","candidates":["3","7"]},"candidate":"0"}`, "expand/02": `{"tool":"done"}`})
	if r := perform(t, find(t, "anot"), scene(9), s); !strings.Contains(trace(r), "Inserted X: C for 3, 7") {
		t.Errorf("the step was not inserted:\n%s", trace(r))
	}
}
