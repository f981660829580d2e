package method_test

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/rerank/method"
	"github.com/scruple-eval/scruple/internal/text"
	"pgregory.net/rapid"
)

const prose = "Candidate 2 has no WiFi, so 5 and 6 are better.\n"

// endings are ways in which models end an answer that ranks candidates of 8. What
// is read is read alike by all methods, and what is refused is refused by all.
var endings = []struct {
	answer string
	want   []int
	notes  string // by the first letters of their names: Format, Duplicate, foreiGn, Several
	reason string
}{
	// As asked for.
	{answer: "Ranking: 3, 1, 7", want: []int{3, 1, 7}},
	{answer: prose + "Ranking: 3", want: []int{3}},
	{answer: "Ranking: 8\nNo, better:\nRanking: 3, 1, 7", want: []int{3, 1, 7}, notes: "S"},
	{answer: "Ranking: 3,1,7\nSo again:\nRanking: 3, 1, 7", want: []int{3, 1, 7}},
	{answer: prose + "**Ranking: 3, 1, 7**\n\n", want: []int{3, 1, 7}},
	{answer: "```\nRanking: 3,1,7\n```", want: []int{3, 1, 7}},
	{answer: "**Final Ranking:** 3, 1, 7.", want: []int{3, 1, 7}},
	// In another form, with one meaning.
	{answer: "Ranking: #3, #1, #7", want: []int{3, 1, 7}, notes: "F"},
	{answer: "Ranking: [3, 1, 7]", want: []int{3, 1, 7}, notes: "F"},
	{answer: "Ranking: [3] > [1] > [7]", want: []int{3, 1, 7}, notes: "F"},
	{answer: "Ranking: (3), (1), (7)", want: []int{3, 1, 7}, notes: "F"},
	{answer: "Ranking: **3**, `1`, \"7\"", want: []int{3, 1, 7}, notes: "F"},
	{answer: "Ranking: 3; 1; 7", want: []int{3, 1, 7}, notes: "F"},
	{answer: "Ranking: 3 1 7", want: []int{3, 1, 7}, notes: "F"},
	{answer: "Ranking: 3 → 1 → 7", want: []int{3, 1, 7}, notes: "F"},
	{answer: "Ranking: 3 > 1 > 7", want: []int{3, 1, 7}, notes: "F"},
	{answer: "Ranking: 3, 1 and 7", want: []int{3, 1, 7}, notes: "F"},
	{answer: "Ranking: 3, 1, 7, …", want: []int{3, 1, 7}, notes: "F"},
	{answer: "Ranking: 3, 1, 7,", want: []int{3, 1, 7}, notes: "F"},
	{answer: "Ranking: Candidate 3, Candidate 1, Candidate 7", want: []int{3, 1, 7}, notes: "F"},
	{answer: "Ranking: 3 (Place C), 1 (Place A, outside), 7 (Studio 54)", want: []int{3, 1, 7}, notes: "F"},
	{answer: "Ranking: 1. 3, 2. 1, 3. 7", want: []int{3, 1, 7}, notes: "F"},
	{answer: "The final ranking is: 3, 1, 7", want: []int{3, 1, 7}},
	{answer: "Ranking:\n3, 1, 7", want: []int{3, 1, 7}, notes: "F"},
	{answer: "## Ranking\n\n3\n1\n7", want: []int{3, 1, 7}, notes: "F"},
	{answer: "Ranking:\n1. 3\n2. 1\n3. 7", want: []int{3, 1, 7}, notes: "F"},
	{answer: "Ranking:\n1) #3\n2) #1\n3) #7\n", want: []int{3, 1, 7}, notes: "F"},
	{answer: "Ranking:\r\n- 3\r\n- 1\r\n- 7", want: []int{3, 1, 7}, notes: "F"},
	{answer: "**Ranking:**\n\n1. **[3] Place C**: free WiFi, open at 8\n2. **[1] Place A**\n3. **[7] Studio 54**", want: []int{3, 1, 7}, notes: "F"},
	{answer: "Ranking:\n1. Candidate 3 (Place C)\n2. Candidate 1: open until 26:00\n3. Candidate 7", want: []int{3, 1, 7}, notes: "F"},
	{answer: prose + `{"ranking": [3, 1, 7]}`, want: []int{3, 1, 7}, notes: "F"},
	{answer: "Sure:\n```json\n{\"ranking\": [3, 1, 7], \"why\": \"2 fails\"}\n```", want: []int{3, 1, 7}, notes: "F"},
	{answer: `Sure: {"ranking": ["3", "#1", "Candidate 7"]}`, want: []int{3, 1, 7}, notes: "F"},
	{answer: `First {"ranking": [3, 1]}, or rather {"ranking": [3, 1, 7]}`, want: []int{3, 1, 7}, notes: "FS"},
	{answer: `Again {"ranking": [3,1,7]} so {"ranking": [3, 1, 7]}`, want: []int{3, 1, 7}, notes: "F"},
	{answer: "{\"ranking\": [3, 1]}\nRanking: 3, 1, 7", want: []int{3, 1, 7}, notes: "S"},
	{answer: "Ranking:\n1. #3\n2. #7\nI forgot 1.\nRanking: 3, 1, 7", want: []int{3, 1, 7}, notes: "S"},
	// With places that do not count.
	{answer: "Ranking: 3, 1, 3, 7", want: []int{3, 1, 7}, notes: "D"},
	{answer: "Ranking: 3, 9, 1, 7", want: []int{3, 1, 7}, notes: "G"},
	{answer: "Ranking: 3, 99999999999999999999, 1, 1, 7", want: []int{3, 1, 7}, notes: "DG"},
	{answer: "Ranking: 3, 1, 7\nI hope this helps.", want: []int{3, 1, 7}, notes: "F"},
	{answer: "Sure: {\"ranking\": [3, 3, 1, 7, 12]}", want: []int{3, 1, 7}, notes: "DFG"},
	// With no meaning, or with several.
	{answer: "", reason: method.InvalidNoRanking},
	{answer: "3, 1, 7", reason: method.InvalidNoRanking},
	{answer: "The best are 3 and 1.", reason: method.InvalidNoRanking},
	{answer: "Ranking: 3, 1, 7\nI hope this works, mostly.", reason: method.InvalidNoRanking},
	{answer: "Ranking: 3, 1, 7\nOn reflection, 7 comes first.", reason: method.InvalidNoRanking},
	{answer: "Ranking:", reason: method.InvalidNoRanking},
	{answer: "Ranking: …", reason: method.InvalidIndex},
	{answer: "Ranking: none", reason: method.InvalidIndex},
	{answer: "Ranking: Place C, Place A", reason: method.InvalidIndex},
	{answer: "Ranking:\n1. Place C\n2. Place A", reason: method.InvalidIndex},
	{answer: "Ranking:\n3. Place C\n1. Place A", reason: method.InvalidIndex},
	{answer: "Ranking:\n(1) Place C\n(2) Place A", reason: method.InvalidIndex},
	{answer: "Ranking:\n1. 3\n3. 1\n2. 7", reason: method.InvalidIndex},
	{answer: "Ranking:\n1. #3\n#1", reason: method.InvalidIndex},
	{answer: "Ranking:\n1. #3 or #1\n2. #7", reason: method.InvalidIndex},
	{answer: "Ranking: 3 because it has WiFi", reason: method.InvalidIndex},
	{answer: "Ranking: 3 = 1, 7", reason: method.InvalidIndex},
	{answer: "Ranking: 3 1, 7", reason: method.InvalidIndex},
	{answer: "Ranking: 1-3", reason: method.InvalidIndex},
	{answer: "Ranking: 3, 1.5", reason: method.InvalidIndex},
	{answer: "Ranking: -1", reason: method.InvalidIndex},
	{answer: "Ranking: 2, 0, 6", reason: method.InvalidIndex},
	{answer: "Ranking: 0", reason: method.InvalidIndex},
	{answer: "Ranking: 9, 10", reason: method.InvalidIndex},
	{answer: "Ranking: 3, , 7", reason: method.InvalidIndex},
	{answer: `Sure: {"ranking": []}`, reason: method.InvalidNoRanking},
	{answer: `Sure: {"ranking": [3, 1.5]}`, reason: method.InvalidIndex},
	{answer: `Sure: {"ranking": [3, null]}`, reason: method.InvalidIndex},
	{answer: `Sure: {"ranking": [3, 1]} }`, reason: method.InvalidNoRanking},
	{answer: `Sure: {"order": [3, 1]}`, reason: method.InvalidNoRanking},
}

// letters are the notes of a result, sorted.
func letters(notes []string) string {
	var list []string
	for _, note := range notes {
		switch note {
		case method.NoteFormat:
			list = append(list, "F")
		case method.NoteDuplicate:
			list = append(list, "D")
		case method.NoteForeign:
			list = append(list, "G")
		case eval.NoteSeveral:
			list = append(list, "S")
		}
	}
	return strings.Join(slices.Sorted(slices.Values(list)), "")
}

func TestEndings(t *testing.T) {
	for _, c := range endings {
		r, err := method.ReadRanking(c.answer, 8)
		var f *method.Fault
		errors.As(err, &f)
		if !slices.Equal(r.Places, c.want) || letters(r.Notes) != c.notes || (f == nil) != (c.reason == "") || f != nil && f.Reason != c.reason {
			t.Errorf("%q reads as %v %q, %v; want %v %q %s", c.answer, r.Places, letters(r.Notes), err, c.want, c.notes, c.reason)
		}
	}
}

// Odd answers read as people would, with a note, or not at all.
func TestOddAnswers(t *testing.T) {
	for _, f := range oddAnswers(t) {
		want, _, _ := strings.Cut(f.Name, "/")
		r, err := method.ReadRanking(string(f.Data), 8)
		got := strings.Trim(fmt.Sprint(r.Places), "[]")
		if err != nil {
			got = "none"
		}
		if got != want || err == nil && letters(r.Notes) != "F" {
			t.Errorf("%s: reads as %s %q, %v", f.Name, got, letters(r.Notes), err)
		}
	}
}

func oddAnswers(t testing.TB) []txtar.File {
	a, err := txtar.ParseFile("testdata/answers.txtar")
	if err != nil {
		t.Fatal(err)
	}
	return a.Files
}

// Reasoning before a ranking is nothing odd.
func TestReasoningIsNotNoted(t *testing.T) {
	r, err := method.ReadRanking("<think>2？</think>Ranking: 3, 1", 8)
	if err != nil || !slices.Equal(r.Places, []int{3, 1}) || r.Notes != nil {
		t.Errorf("%v, %v", r, err)
	}
}

// Weaver takes its query from the JSON object, from the only block of SQL, or alone.
func TestWeaverReadsOddSQL(t *testing.T) {
	const query = "SELECT item FROM items WHERE item IN (3, 1) ORDER BY item DESC"
	for answer, note := range map[string]string{
		`{"reasoning": "", "sql": "` + query + `", "questions": []}`:             "",
		`{"sql": "` + "```sql\\n" + query + "\\n```" + `", "questions": []}`:     "F",
		`{"answer": {"reasoning": "", "sql": "` + query + `", "questions": []}}`: "F",
		`[{"reasoning": "", "sql": "` + query + `", "questions": []}]`:           "F",
		`{"sql": "` + query + `"} or {"sql": "SELECT item FROM items"}`:          "S",
		"```sql\n" + query + ";\n```":                                            "F",
		"First I filter:\n```sql\n" + query + "\n```\nI hope this helps!":        "F",
		query + "</s>": "F",
		"```sql\n" + query + "\n```\nor\n```sql\n" + "SELECT item FROM items" + "\n```": "none",
		"I would select from items.": "none",
	} {
		r := perform(t, find(t, "weaver"), scene(8), steps(map[string]string{"plan": answer, "plan/retry1": answer, "plan/retry2": answer, "order": answer}))
		got := letters(r.Notes)
		if r.Invalid != "" {
			got = "none"
		} else if !slices.Equal(r.Ranking, []int{3, 1}) {
			t.Errorf("%q: ranking %v", answer, r.Ranking)
		}
		if got != note {
			t.Errorf("%q: %q %s, want %q", answer, got, r.Detail, note)
		}
	}
}

// plan_act reads an action in a wrapper, and a ranking that is a text.
func TestPlanActReadsOddActions(t *testing.T) {
	for _, answer := range []string{
		`{"thought": "", "action": "finish", "ranking": "3, 1"}`,
		`{"answer": {"thought": "", "action": "finish", "ranking": [3, 1]}}`,
		`[{"thought": "", "action": "finish", "ranking": [3, 1]}]`,
		`{“thought”: “”, “action”: “finish”, “ranking”: [3, 1]}`,
	} {
		r := perform(t, find(t, "plan_act"), scene(8), steps(map[string]string{"act/01": answer}))
		if !slices.Equal(r.Ranking, []int{3, 1}) || letters(r.Notes) != "F" {
			t.Errorf("%q: %v %q %s", answer, r.Ranking, letters(r.Notes), r.Detail)
		}
	}
}

// Each method that asks for a ranking reads each ending as the others do. plan_act
// asks for an action, so that for it every ending has another format; one that is
// not read is answered with what is wrong. Weaver ranks by SQL.
func TestMethodsReadEndingsAlike(t *testing.T) {
	const tie = `{"conditions": [{"id":"F","kind":"ATTR","path":"city","test":"is","value":"mannheim","text":"in Mannheim"}], "logic": "F"}`
	for name, step := range map[string]string{"cot": "answer", "ps": "solve", "listwise": "pass1/window1", "anot": "decide", "plan_act": "act/01"} {
		for _, c := range endings {
			said := map[string]string{step: c.answer, step + "/retry1": c.answer}
			if name == "anot" {
				said["plan"] = tie
			}
			s := steps(said)
			r := perform(t, find(t, name), scene(8), s)
			want, notes := c.want, c.notes
			switch {
			case name == "plan_act" && c.reason != "":
				if len(s.steps()) < 3 || r.Ranking[0] != gold {
					t.Errorf("plan_act reads %q as %v", c.answer, r.Ranking)
				}
				continue
			case name == "plan_act" && !strings.Contains(notes, "F"):
				notes = strings.NewReplacer("GF", "FG", "SF", "FS").Replace(notes + "F")
			case (name == "listwise" || name == "anot") && c.reason == "": // all of the window
				r.Ranking = r.Ranking[:min(len(want), len(r.Ranking))]
				if name == "listwise" && !slices.Contains(r.Notes, method.NoteAppended) {
					t.Errorf("listwise does not note the candidates that %q left out", c.answer)
				}
			}
			if r.Invalid != c.reason || !slices.Equal(r.Ranking, want) || letters(r.Notes) != notes {
				t.Errorf("%s reads %q as %v %q %s; want %v %q %s", name, c.answer, r.Ranking, letters(r.Notes), r.Invalid, want, notes, c.reason)
			}
		}
	}
}

// A ranking that cannot be read is asked for once more, with the reason. One that was
// refused or cut off is not, nor one that is read with a note.
func TestUnreadableRankingsAreAskedForAgain(t *testing.T) {
	const tie = `{"conditions": [{"id":"F","kind":"ATTR","path":"city","test":"is","value":"mannheim","text":"in Mannheim"}], "logic": "F"}`
	for name, step := range map[string]string{"cot": "answer", "ps": "solve", "listwise": "pass1/window1", "anot": "decide"} {
		again := step + "/retry1"
		ask := func(first method.Answer) (method.Result, *script) {
			s := steps(map[string]string{"plan": tie})
			if name != "anot" {
				s = steps(nil)
			}
			others := s.answer
			s.answer = func(at string, p method.Prompt) (method.Answer, error) {
				if at == step {
					return first, nil
				}
				return others(at, p)
			}
			return perform(t, find(t, name), scene(8), s), s
		}
		r, s := ask(method.Answer{Text: "Ranking: Place G", Stop: eval.StopEnd})
		if r.Invalid != "" || r.Ranking[0] != gold || !slices.Contains(r.Notes, method.NoteAgain) {
			t.Errorf("%s: ranking %v, %q %s, notes %v", name, r.Ranking, r.Invalid, r.Detail, r.Notes)
		}
		if p := s.prompts[again]; !strings.Contains(p, "assistant:\nRanking: Place G") || !strings.Contains(p, "is not a place") {
			t.Errorf("%s: the model is not told what is wrong: %s", name, p)
		}
		if !slices.ContainsFunc(r.Trace, func(e method.Event) bool { return e.Step == step && e.Kind == "fault" }) {
			t.Errorf("%s: the trace does not have the fault: %v", name, r.Trace)
		}
		for why, first := range map[string]method.Answer{
			"refused":  {Text: "No.", Stop: eval.StopRefused},
			"cut off":  {Text: "First", Stop: eval.StopLength},
			"readable": {Text: "ranking: #7; #7, #1", Stop: eval.StopEnd},
		} {
			r, s := ask(first)
			if _, asked := s.prompts[again]; asked || slices.Contains(r.Notes, method.NoteAgain) {
				t.Errorf("%s: a %s answer is asked for again", name, why)
			}
		}
	}
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	forms := map[string]func(places []string) string{
		"commas":   func(p []string) string { return "Ranking: " + strings.Join(p, ", ") },
		"blanks":   func(p []string) string { return "Ranking: " + strings.Join(p, " ") },
		"brackets": func(p []string) string { return "Ranking: [" + strings.Join(p, "] > [") + "]" },
		"lines":    func(p []string) string { return "Ranking:\n" + strings.Join(p, "\n") },
		"json":     func(p []string) string { return `{"ranking": [` + strings.Join(p, ", ") + "]}" },
		"numbered": func(p []string) string {
			text := "Ranking:"
			for i, place := range p {
				text += fmt.Sprintf("\n%d. %s (Place %s)", i+1, place, place)
			}
			return text
		},
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 50).Draw(t, "N")
		all := make([]int, n)
		for i := range all {
			all[i] = i + 1
		}
		want := rapid.Permutation(all).Draw(t, "order")[:rapid.IntRange(1, n).Draw(t, "k")]
		texts := make([]string, len(want))
		for i, k := range want {
			texts[i] = strconv.Itoa(k)
		}
		prose := rapid.String().Draw(t, "prose")
		form := rapid.SampledFrom(slices.Sorted(maps.Keys(forms))).Draw(t, "form")
		if form == "json" {
			prose = strings.ReplaceAll(prose, "{", "(") // an object that is not closed holds all that follows: the answer was cut
		}
		got, err := method.ReadRanking(prose+"\n"+forms[form](texts), n)
		if err != nil || !slices.Equal(got.Places, want) {
			t.Fatalf("%s: %v reads as %v, %v", form, want, got, err)
		}
	})
}

// exponent matches a number of JSON such as 2.5e1.
var exponent = regexp.MustCompile(`\d[eE][+-]?\d`)

func FuzzReadRanking(f *testing.F) {
	for _, c := range endings {
		f.Add(c.answer, 8)
	}
	for _, odd := range oddAnswers(f) {
		f.Add(string(odd.Data), 8)
	}
	for _, s := range []string{"Ranking:1(00000A)0", "Ranking: 1#2", `\boxed{"}`, "Ranking: \xff", "Ranking: ,", "Ranking: (((1", "Ranking: 1 (", "{", "{}", "}", "\n{\n}", "Ranking\n#", "Ranking:\n-"} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, answer string, n int) {
		if n < 0 || n > 1000 {
			return
		}
		r, err := method.ReadRanking(answer, n)
		var fault *method.Fault
		if err != nil {
			if !errors.As(err, &fault) || fault.Reason == "" || r.Places != nil || r.Notes != nil {
				t.Fatalf("%q: %v, %v", answer, r, err)
			}
			return
		}
		seen := map[int]bool{}
		for _, i := range r.Places {
			if i < 1 || i > n || seen[i] {
				t.Fatalf("%q of %d reads as %v", answer, n, r)
			}
			seen[i] = true
			if !strings.Contains(text.Narrow(answer), strconv.Itoa(i)) && !exponent.MatchString(answer) {
				t.Fatalf("%q reads as %v, but has no %d", answer, r, i)
			}
		}
		if len(r.Places) == 0 {
			t.Fatalf("%q reads as an empty ranking", answer)
		}
	})
}
