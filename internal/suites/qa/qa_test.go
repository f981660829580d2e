package qa

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/suites/suitetest"
	"github.com/scruple-eval/scruple/internal/table"
)

// opened writes files into a folder and opens the study among them.
func opened(t testing.TB, files map[string]string) (*bench, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := new(Study)
	f, err := study.Load(filepath.Join(dir, "study.yaml"), nil, s)
	if err != nil {
		return nil, err
	}
	return open(f, s)
}

func starter(t testing.TB) *bench {
	t.Helper()
	suite := Suite()
	files, err := suite.Init(filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	s := new(Study)
	f, err := study.Load(files[0], nil, s)
	if err != nil {
		t.Fatal(err)
	}
	b, err := open(f, s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestPreflight(t *testing.T) {
	suite := Suite()
	results, err := suite.Preflight("")
	if err != nil || len(results) < 10 {
		t.Fatalf("%d cases, %v", len(results), err)
	}
	for _, r := range results {
		if !r.OK() {
			t.Errorf("%s: %v", r.Name, r.Wrong)
		}
	}
}

// TestConformance: the tests for every suite's bench.
func TestConformance(t *testing.T) {
	b := starter(t)
	suitetest.Bench(t, Suite().Suite, b, func(stage eval.Stage, step string, r eval.Request) (eval.Response, error) {
		if stage == eval.StageJudge {
			return eval.Response{Text: "PASS. It does.", Stop: eval.StopEnd}, nil
		}
		return eval.Response{Text: r.Foreseen(), Stop: eval.StopEnd}, nil
	})
}

const minimal = `name: s
suite: qa
data: {path: %s}
arms: [{name: direct}]
models: [{id: m, provider: openai, name: x}]
`

// TestEqualChoices: what the letter of the other would say counts as wrong, so it is noted.
func TestEqualChoices(t *testing.T) {
	b, err := opened(t, map[string]string{"study.yaml": fmt.Sprintf(minimal, "q.jsonl"), "q.jsonl": `{"id": "a", "question": "?", "answer": "x", "choices": ["y", "x", "x"]}`})
	if err != nil {
		t.Fatal(err)
	}
	if all := strings.Join(b.Capabilities().Notes(), "\n"); !strings.Contains(all, "1 question has equal choices, such as a: ") || b.Data[0].answers[0] != "B" {
		t.Errorf("notes: %s, answers: %s", all, b.Data[0].answers)
	}
}

// TestReadCSV: renamed columns, lists in cells, ignored columns, and questions
// without an id.
func TestReadCSV(t *testing.T) {
	b, err := opened(t, map[string]string{
		"study.yaml": strings.Replace(fmt.Sprintf(minimal, "q.csv"), "{path: q.csv}", `{path: q.csv, columns: {question: Prompt, answer: Gold}}`, 1),
		"q.csv":      "\ufeffPrompt,Gold,choices,source\n\"2 + 2,\nin digits?\",4,,book\nCapital of Switzerland?,\"[\"\"Bern\"\", \"\"Berne\"\"]\",,\nWhich?,b,\"[\"\"x\"\", \"\"y\"\"]\",\n",
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, q := range b.Data {
		got = append(got, fmt.Sprint(q.id, " ", q.match, " ", q.answers))
	}
	if d := cmp.Diff([]string{"q-1ac282d3 normalized [4]", "q-33dd7a21 normalized [Bern Berne]", "q-e6898b60 choice [B]"}, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if all := strings.Join(b.Capabilities().Warnings(), "\n"); all != "" {
		t.Errorf("warnings: %s", all)
	}
	if all := strings.Join(b.Capabilities().Notes(), "\n"); !strings.HasSuffix(all, "q.csv: other columns, shown beside the item: source; data.strata breaks results down by them") {
		t.Errorf("notes: %s", all)
	}
}

// TestColumns: a name of the mapping that the file does not have, and a column with nearly a
// known name, are errors with what to do. Each was ignored once, and an undecided comparison
// passed because its clusters were lost.
func TestColumns(t *testing.T) {
	for name, test := range map[string]struct{ columns, header, want string }{
		"mapped, other case":   {"{cluster: Topic}", "id,question,answer,topic", `study.yaml:3:31: data.columns.cluster: q.csv has no column "Topic": did you mean "topic"?; the columns are id, question, answer, topic`},
		"mapped, not there":    {"{answer: expcted_answer}", "id,question,answer,x", `data.columns.answer: q.csv has no column "expcted_answer"; the columns are`},
		"other case":           {"{}", "id,question,answer,Cluster", `q.csv:1:20: column "Cluster" is not "cluster": rename it, or write data.columns: {cluster: Cluster} in the study; {cluster: ''} says that it is something else`},
		"plural":               {"{}", "id,question,answer,clusters", `column "clusters" is not "cluster"`},
		"spelling":             {"{}", "ID,question,anwser,x", `q.csv:1:13: column "anwser" is not "answer"`},
		"short names":          {"{}", "uid,question,answer,x", ""},
		"another split":        {"{}", "id,question,answer,split\na,b,c,train\n", `split "train": want dev or test; {split: ''} in data.columns says that it is something else`},
		"no split":             {"{split: ''}", "id,question,answer,split\na,b,c,train\n", ""},
		"something else":       {"{cluster: ''}", "id,question,answer,clusters", ""},
		"both":                 {"{}", "cluster,question,answer,clusters", ""},
		"mapped":               {"{cluster: Cluster}", "id,question,answer,Cluster", ""},
		"no strata":            {"{}, strata: [ownr]", "id,question,answer,owner", `data.strata[0]: q.csv has no further column "ownr": did you mean "owner"?`},
		"a stratum of its own": {"{cluster: ''}, strata: [group]", "id,question,answer,group", `has no further column "group"`},
	} {
		yaml := strings.Replace(fmt.Sprintf(minimal, "q.csv"), "{path: q.csv}", "{path: q.csv, columns: "+test.columns+"}", 1)
		_, err := opened(t, map[string]string{"study.yaml": yaml, "q.csv": test.header + "\n1,Who?,a,b\n"})
		got := ""
		if err != nil {
			got = dirs.ReplaceAllString(filepath.ToSlash(err.Error()), "")
		}
		if (test.want == "") != (err == nil) || !strings.Contains(got, test.want) {
			t.Errorf("%s: got %v, want %q", name, got, test.want)
		}
	}
}

var dirs = regexp.MustCompile(`/[^ :]*/`)

// TestOtherColumns: columns that the suite does not know are shown beside the item, and
// break results down where the study names them.
func TestOtherColumns(t *testing.T) {
	b, err := opened(t, map[string]string{
		"study.yaml": strings.Replace(fmt.Sprintf(minimal, "q.jsonl"), "{path: q.jsonl}", "{path: q.jsonl, strata: [owner]}", 1),
		"q.jsonl":    `{"id": "a", "question": "?", "answer": "x", "owner": "Ann", "meta": {"page": 7}, "empty": null}`})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]eval.Level{{Name: "match", Value: "normalized"}, {Name: "owner", Value: "Ann"}}, b.Items()[0].Strata); d != "" {
		t.Error(d)
	}
	x, err := b.Show(eval.CaseOf(eval.Trial{Item: "a", Arm: "direct", Replicate: 1}, eval.Outcome{Kind: eval.OK, Data: []byte("x")}, nil))
	if err != nil || eval.LevelOf(x.Facts, "meta") != `{"page": 7}` || eval.LevelOf(x.Facts, "owner") != "Ann" {
		t.Errorf("%v, %v", x.Facts, err)
	}
}

// TestShownGold: who judges an answer sees all that the judge sees: the right answers and the rubric.
func TestShownGold(t *testing.T) {
	text := strings.Replace(fmt.Sprintf(minimal, "q.jsonl"), "suite: qa", "suite: qa\njudge_model: j", 1)
	text = strings.Replace(text, "models: [", "models: [{id: j, provider: simulated, name: j}, ", 1)
	b, err := opened(t, map[string]string{"study.yaml": text, "q.jsonl": `{"id": "a", "question": "?", "answer": ["1", "one"], "rubric": "says 1"}
{"id": "b", "question": "?!", "rubric": "polite"}
{"id": "c", "question": "!", "answer": ["1", "one"]}
`})
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{"a": "1 | one; rubric: says 1", "b": "polite", "c": "1 | one"} {
		x, err := b.Show(eval.CaseOf(eval.Trial{Item: id, Arm: "direct", Replicate: 1}, eval.Outcome{Kind: eval.OK, Data: []byte("x")}, nil))
		if err != nil || x.Rows[0].Gold != want {
			t.Errorf("%s: gold %q, %v, want %q", id, x.Rows[0].Gold, err, want)
		}
	}
}

// TestFormats: a table is the same in each of its formats.
func TestFormats(t *testing.T) {
	rows := [][]string{{"id", "question", "answer", "choices"}, {"a", "Who?", `["x","y"]`, ""}, {"b", "Which, ü?", "B", `["x","y"]`}}
	asCSV, err := table.CSV(rows)
	if err != nil {
		t.Fatal(err)
	}
	asXLSX, err := table.Write(table.Sheet{Name: "Questions", Rows: rows})
	if err != nil {
		t.Fatal(err)
	}
	const asJSON = `{"id": "a", "question": "Who?", "answer": ["x", "y"], "choices": null}, {"id": "b", "question": "Which, ü?", "answer": "B", "choices": ["x", "y"]}`
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write(asCSV)
	z.Close()
	for name, data := range map[string]string{"q.csv": string(asCSV), "q.tsv": strings.ReplaceAll("id\tquestion\tanswer\tchoices\na\tWho?\t[\"x\",\"y\"]\t\nb\tWhich, ü?\tB\t[\"x\",\"y\"]\n", `["x","y"]`, `"[""x"",""y""]"`),
		"q.xlsx": string(asXLSX), "q.json": "[" + asJSON + "]", "q.jsonl": strings.Replace(asJSON, "}, {", "}\n{", 1), "q.csv.gz": packed.String(), "q.txt": utf16LE(string(asCSV))} {
		b, err := opened(t, map[string]string{"study.yaml": fmt.Sprintf(minimal, name), name: data})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := ""
		for _, q := range b.Data {
			got += fmt.Sprint(q.id, " ", q.text, " ", q.answers, " ", q.choices, "\n")
		}
		if want := "a Who? [x y] []\nb Which, ü? [B] [x y]\n"; got != want {
			t.Errorf("%s: got %s", name, got)
		}
	}
}

// TestListAsText: a right answer that is itself the text of a list is in a list of JSON.
func TestListAsText(t *testing.T) {
	for name, data := range map[string]string{
		"q.jsonl": `{"question": "?", "answer": ["['a', 'b']"]}`,
		"q.json":  `[{"question": "?", "answer": ["['a', 'b']"]}]`,
		"q.csv":   "question,answer\n?,\"[\"\"['a', 'b']\"\"]\"\n",
	} {
		b, err := opened(t, map[string]string{"study.yaml": fmt.Sprintf(minimal, name), name: data})
		if err != nil || !slices.Equal(b.Data[0].answers, []string{"['a', 'b']"}) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := opened(t, map[string]string{"study.yaml": fmt.Sprintf(minimal, "q.jsonl"), "q.jsonl": `{"question": "?", "answer": "['\"]x['\"]", "match": "regex"}`}); err != nil {
		t.Errorf("a pattern: %v", err)
	}
}

func utf16LE(s string) string {
	b := []byte("\xff\xfe")
	for _, u := range utf16.Encode([]rune(s)) {
		b = append(b, byte(u), byte(u>>8))
	}
	return string(b)
}

// TestOpenCSVErrors: errors in the form of a CSV file.
func TestOpenCSVErrors(t *testing.T) {
	for name, test := range map[string]struct{ data, want string }{
		"empty":     {"", "q.csv is empty: want a header"},
		"fields":    {"question,answer\nWho?,a\nWhere?,b,c\n", "q.csv:3: the record has 3 fields, the header 2"},
		"no column": {"Prompt,answer\nWho?,a\n", `no column "question": give the name of the column of questions in data.columns, as in {question: NAME}; the columns are Prompt, answer`},
	} {
		_, err := opened(t, map[string]string{"study.yaml": fmt.Sprintf(minimal, "q.csv"), "q.csv": test.data})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
	_, err := opened(t, map[string]string{"study.yaml": fmt.Sprintf(minimal, "none.csv")})
	if err == nil || !strings.Contains(err.Error(), "study.yaml:3:8: data.path: ") {
		t.Errorf("missing file: %v", err)
	}
}

// TestOpenErrors: every error has file, line and what to do.
func TestOpenErrors(t *testing.T) {
	for name, test := range map[string]struct{ study, data, want string }{
		"no question":       {"", `{"id": "a", "answer": "x"}` + "\n" + `{"question": "?", "answer": "x"}`, "q.jsonl:1: question a: question is missing"},
		"no answer":         {"", `{"id": "a", "question": "?"}` + "\n" + `{"question": "?", "answer": "x"}`, "q.jsonl:1: question a: answer is missing"},
		"no column":         {"", `{"id": "a", "question": "?"}`, `no column "answer": give the name of the column of right answers`},
		"misspelled key":    {"", `{"question": "?", "anwser": "x"}`, `q.jsonl: column "anwser" is not "answer": rename it, or write data.columns: {answer: anwser} in the study`},
		"misspelled name":   {"arms: [{name: stepwse}]", `{"question": "?", "answer": "x"}`, `no built-in prompt "stepwse": did you mean "stepwise"?`},
		"match unknown":     {"", `{"question": "?", "answer": "x", "match": "numerical"}`, `did you mean "numeric"?`},
		"number":            {"", `{"question": "?", "answer": "x", "match": "numeric"}`, `answer "x": want a number`},
		"two numbers":       {"", `{"question": "?", "answer": "1/2", "match": "numeric"}`, `answer "1/2": it has 2 numbers: give one number`},
		"pattern":           {"", `{"question": "?", "answer": "(", "match": "regex"}`, "missing closing )"},
		"a letter and text": {"", `{"question": "?", "answer": "C", "choices": ["C", "C++", "Java"]}`, "it is the text of choice A and the letter of another: write (A) or (C)"},
		"choice":            {"", `{"question": "?", "answer": "z", "choices": ["x", "y"]}`, "want one of the choices or its letter, A to B"},
		"list of Python":    {"", `{"question": "?", "answer": "['Bern', 'Berne']"}`, `answer "['Bern', 'Berne']": it looks like a list and is none: write a list of JSON, such as ["Bern", "Berne"], or ["['Bern', 'Berne']"] if it is one text`},
		"empty list":        {"", `{"id": "a", "question": "?", "answer": []}`, "q.jsonl:1: question a: answer is missing"},
		"list in part":      {"", `{"question": "?", "rubric": "r", "wrong": "[\"Bern\", Berne]"}`, `wrong "[\"Bern\", Berne]": it looks like a list and is none`},
		"one choice":        {"", `{"question": "?", "answer": "x", "choices": "x|y"}`, `choices "x|y": one choice only: write a list of JSON, such as ["Bern", "Berne"]`},
		"duplicate id":      {"", `{"id": "a", "question": "?", "answer": "x"}` + "\n" + `{"id": "a", "question": "?", "answer": "x"}`, `q.jsonl:2: duplicate id "a": also in line 1`},
		"duplicate number":  {"", `{"id": 7, "question": "?", "answer": "x"}` + "\n" + `{"id": 7.0, "question": "?", "answer": "x"}`, `q.jsonl:2: duplicate id "7": also in line 1`},
		"duplicate later":   {"", `{"id": "x"}` + "\n" + `{"id": "a", "question": "?", "answer": "x"}` + "\n" + `{"id": "a", "question": "?", "answer": "x"}`, `q.jsonl:3: duplicate id "a": also in line 2`},
		"tolerance":         {"", `{"question": "?", "answer": "1", "tolerance": -1, "match": "numeric"}`, "want a number of at least 0"},
		"object":            {"", `{"question": {"a": 1}, "answer": "1"}`, "not an object"},
		"two objects":       {"", `{"question": {"a": 1}, "answer": {"b": 1}}`, "q.jsonl:1:34: answer: want a string, number, boolean or list, not an object"},
		"no questions":      {"", "\n", "q.jsonl is empty: want a header"},
		"rubric, no judge":  {"", `{"question": "?", "rubric": "good"}`, "name the model that judges"},
		"no hole":           {"arms: [{name: p, prompt: hello}]", `{"question": "?", "answer": "x"}`, "contains {{QUESTION}} 0 times"},
		"unknown builtin":   {"arms: [{name: p}]", `{"question": "?", "answer": "x"}`, `no built-in prompt "p"`},
	} {
		yaml := fmt.Sprintf(minimal, "q.jsonl")
		if test.study != "" {
			yaml = strings.Replace(yaml, "arms: [{name: direct}]", test.study, 1)
		}
		_, err := opened(t, map[string]string{"study.yaml": yaml, "q.jsonl": test.data})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
	if _, err := opened(t, map[string]string{"study.yaml": fmt.Sprintf(minimal, ".")}); err == nil || !strings.Contains(err.Error(), "study.yaml:3:8: data.path: ") {
		t.Errorf("a folder: got %v", err)
	}
}

// TestMostCommon: the baseline gives the answer that most questions have by their match.
func TestMostCommon(t *testing.T) {
	for match, test := range map[string]struct {
		answers []string
		want    string
	}{
		matchNumeric: {[]string{"5", "-5", "7", "7.0"}, "7"},
		matchExact:   {[]string{"Yes", "yes", "no", "no"}, "no"},
		matchRegex:   {[]string{"a+", "a", "b", "b"}, "b"},
		matchChoice:  {[]string{"a", "A", "B"}, "A"},
	} {
		var lines []string
		for i, a := range test.answers {
			q := map[string]any{"id": fmt.Sprint(i), "question": fmt.Sprint("?", i), "answer": a, "match": match}
			if match == matchChoice {
				q["choices"] = []string{"x", "y"}
			}
			lines = append(lines, string(kit.JSON(q)))
		}
		b, err := opened(t, map[string]string{"study.yaml": fmt.Sprintf(minimal, "q.jsonl"), "q.jsonl": strings.Join(lines, "\n")})
		if err != nil {
			t.Fatal(err)
		}
		if got := b.mostCommon()(b.Data[0]); got != test.want {
			t.Errorf("%s: %q, want %q", match, got, test.want)
		}
	}
}

// The solutions of GSM8K have other numbers before the answer.
func TestSolutionAsGold(t *testing.T) {
	b, err := opened(t, map[string]string{"study.yaml": fmt.Sprintf(minimal, "q.jsonl"), "q.jsonl": `{"question": "?", "answer": "She sold 48/2 = <<48/2=24>>24.\n#### 72", "match": "numeric"}`})
	if err != nil || !b.Data[0].right("The answer is 72.") || b.Data[0].right("24") {
		t.Errorf("the answer after #### is not what is right: %v", err)
	}
}

// TestReplicates: the majority of three is scored on the case, with the share
// of pairs that agree.
func TestReplicates(t *testing.T) {
	b, err := opened(t, map[string]string{"study.yaml": fmt.Sprintf(minimal, "q.jsonl"), "q.jsonl": `{"id": "a", "question": "?", "answer": "7", "match": "numeric"}`})
	if err != nil {
		t.Fatal(err)
	}
	const failed = "failed"
	for _, test := range []struct {
		replies     []string
		majority    float64 // -1: a replicate that failed decides
		consistency float64
	}{
		{[]string{"7", "8", "it is 7", failed}, 1, 1.0 / 3},
		{[]string{failed, "7", "8", "it is 7"}, -1, 1.0 / 3}, // 8 may have been first, and as frequent
		{[]string{"8", "7", "7", failed}, -1, 1.0 / 3},
		{[]string{"8", "7", "8.0", failed}, 0, 1.0 / 3},
		{[]string{"8", "7", failed}, -1, 0},
		{[]string{"?", "??", "7", failed}, 0, 0}, // malformed answers count as one answer, which agrees with none
		{[]string{"7", "7", "7", failed}, 1, 1},
		{[]string{"7", "7", failed, failed, failed}, -1, 1}, // they may agree on 8
		{[]string{"7", failed, failed}, -1, -1},
	} {
		c := eval.Case{Item: "a", Arm: "direct"}
		for i, reply := range test.replies {
			outcome := b.Data[0].outcome(eval.Response{Text: reply, Stop: eval.StopEnd})
			if reply == failed {
				outcome = eval.Outcome{Kind: eval.Failed}
			}
			c.Trials = append(c.Trials, eval.Judged{Trial: eval.Trial{Item: "a", Arm: "direct", Replicate: i + 1}, Outcome: outcome})
		}
		got := map[string]float64{metricConsistency: -1}
		for _, s := range b.Score(nil, c) {
			if s.Replicate == 0 {
				got[s.Metric] = s.Num / s.Den
			}
			if s.Unscored != "" {
				got[s.Metric] = -1
			}
		}
		if d := cmp.Diff(map[string]float64{metricMajority: test.majority, metricConsistency: test.consistency}, got); d != "" {
			t.Errorf("%v (-want +got)\n%s", test.replies, d)
		}
	}
}

// TestGoldReads: how a reply is read depends on gold where its text is matched.
func TestGoldReads(t *testing.T) {
	const reply = "Bad Gateway\n\nLet me know if you have any questions!"
	trial := eval.Trial{Item: "q", Arm: "a", Replicate: 1}
	for _, test := range []struct {
		match, was, now string
		other           bool
	}{
		{matchExact, "502", "Bad Gateway Let me know if you have any questions!", true},
		{matchNormalized, "502", "Bad Gateway Let me know if you have any questions!", true},
		{matchRegex, "502", "Bad", true},
		{matchNumeric, "502", "503", false},
	} {
		read := func(gold string) (eval.Basis, []string) {
			b, err := opened(t, map[string]string{"q.csv": "id,question,answer\nq,?," + gold + "\n",
				"study.yaml": "name: s\nsuite: qa\ndata: {path: q.csv, match: " + test.match + "}\narms: [{name: a, exec: ./a}]\n"})
			if err != nil {
				t.Fatal(err)
			}
			return b.Basis(trial), b.Datum("q").outcome(eval.Response{Text: reply, Stop: eval.StopEnd}).Notes
		}
		was, before := read(test.was)
		now, after := read(test.now)
		if (was.Read != now.Read) != test.other || !slices.Equal(before, after) && was.Read == now.Read {
			t.Errorf("%s: gold %s reads %q on %v, %s %q on %v", test.match, test.was, before, was, test.now, after, now)
		}
	}
}

// TestOddReplies: what people would read is read, and counted; the rest stays as it was.
func TestOddReplies(t *testing.T) {
	choices := []string{"Paris", "Rome", "Oslo"}
	for _, test := range []struct {
		match, gold, reply string
		right              bool
		note               string // "malformed" for one that is not read
	}{
		{matchNormalized, "Bad Gateway", "Answer: Bad Gateway\n\nLet me know if you have any questions!", true, eval.NoteLenient},
		{matchNormalized, "Bad Gateway", "<answer>Bad Gateway</answer>", true, eval.NoteLenient},
		{matchNormalized, "Bad Gateway", "Bad Gateway<|eot_id|>", true, eval.NoteLenient},
		{matchNormalized, "Bad Gateway", `\boxed{\text{Bad Gateway}}`, true, eval.NoteLenient},
		{matchNormalized, "Bad Gateway", "<think>404?</think>Bad Gateway", true, ""},
		{matchNormalized, "Bad Gateway", "Bad Gateway\nLet me know if 503 is better.", false, ""},
		{matchExact, "Hello\nThank you", "Hello\nThank you", true, ""}, // a part of the answer
		{matchNumeric, "42", `The result is $\boxed{42}$.`, true, eval.NoteLenient},
		{matchNumeric, "42", "Answer: ４２", true, eval.NoteLenient},
		{matchNumeric, "5", "Answer: 5 % (of 100)", true, ""},
		{matchNumeric, "1250", `\boxed{1{,}250}`, true, eval.NoteLenient},
		{matchNumeric, "7", "Answer: 7\nThe other 2 do not count.", false, ""},
		{matchNumeric, "7", "Answer: 5\nNo, I forgot 2.\n**Answer:** 7", true, eval.NoteSeveral},
		{matchNumeric, "7", "Answer: 7\nFor 3 + 4 is 7.\nFinal answer: 7.0", true, ""},
		{matchNumeric, "7", `\boxed{5}, no: \boxed{7}`, true, eval.NoteSeveral},
		{matchNormalized, "Rome", "<answer>Oslo</answer> No.\n<answer>Rome</answer>", true, eval.NoteLenient + ", " + eval.NoteSeveral},
		{matchExact, "Rome", "Answer: Oslo\nAnswer: Rome", true, eval.NoteSeveral},
		{matchChoice, "B", "Answer: A\nAnswer: B", true, eval.NoteSeveral},
		{matchChoice, "B", "The answer is A.\nNo.\nThe answer is B.", true, eval.NoteLenient + ", " + eval.NoteSeveral},
		{matchChoice, "B", "The answer is B.", true, eval.NoteLenient},
		{matchChoice, "B", "Rome was not built in a day.\nTherefore, the correct answer is **B**.", true, eval.NoteLenient},
		{matchChoice, "B", `\boxed{B}`, true, eval.NoteLenient},
		{matchChoice, "B", "Ｂ", true, eval.NoteLenient},
		{matchChoice, "B", "Option B", true, ""},
		{matchChoice, "B", "The answer is B or C.", false, "malformed"},
		{matchChoice, "B", "The answer is not B.", false, "malformed"},
		{matchChoice, "A", "The answer is A good one.", false, "malformed"},
		{matchChoice, "B", "The answer is B.\nNo, wait.", false, "malformed"},
	} {
		c := cells{"question": {"?"}, "answer": {test.gold}, "match": {test.match}}
		if test.match == matchChoice {
			c["choices"] = choices
		}
		q, err := parse(c, matchNormalized)
		if err != nil {
			t.Fatal(err)
		}
		o := q.outcome(eval.Response{Text: test.reply, Stop: eval.StopEnd})
		note := strings.Join(o.Notes, ", ")
		if o.Kind == eval.Malformed {
			note = "malformed"
		}
		if right := o.Kind == eval.OK && q.right(test.reply); right != test.right || note != test.note {
			t.Errorf("%s %q: right is %v, %q; want %v, %q", test.match, test.reply, right, note, test.right, test.note)
		}
	}
	q, _ := parse(cells{"question": {"?"}, "rubric": {"polite"}, "match": {matchRubric}}, matchNormalized)
	const letter = "We are sorry.\n\nLet me know if you need anything else."
	if got, lenient := q.final(letter); got != letter || lenient {
		t.Errorf("a judge reads %q", got)
	}
}

// The mark found from the end is the last one that a search from the beginning finds.
func TestAfterMark(t *testing.T) {
	marked := regexp.MustCompile(`(?im)^[\s*_#>]*(?:final )?answer\s*[*_]*\s*:[*_]*[ \t]*`)
	parts := rapid.SampledFrom([]string{"answer", "Answer:", "final ", "FINAL ", "anſwer", "ſ", ":", "*", "_", "#", ">", " ", "\n", "\t", "\r", "\v", "x", "\xc5", "\u00a0"})
	rapid.Check(t, func(t *rapid.T) {
		reply := strings.Join(rapid.SliceOfN(parts, 0, 14).Draw(t, "reply"), "")
		want := strings.TrimSpace(reply)
		if at := marked.FindAllStringIndex(reply, -1); at != nil {
			if rest := strings.TrimSpace(reply[at[len(at)-1][1]:]); rest != "" {
				want = rest
			}
		}
		if got := afterMark(reply); got != want {
			t.Fatalf("%q gives %q, want %q", reply, got, want)
		}
	})
}

// BenchmarkAfterMark: a mark at the end of a long reply is found without reading it.
func BenchmarkAfterMark(b *testing.B) {
	for _, n := range []int{1000, 1_000_000} {
		for name, end := range map[string]string{"mark": "\nAnswer: 12", "none": "\n12"} {
			reply := strings.Repeat("So 3 boxes: the answer. ", n/24) + end
			b.Run(fmt.Sprintf("%s of %d", name, n), func(b *testing.B) {
				for b.Loop() {
					afterMark(reply)
				}
			})
		}
	}
}

// A reply that was cut off is malformed, whatever it says: what came after is not known.
func TestCutOff(t *testing.T) {
	for _, reply := range []string{"3 boxes of 4, so 12 apples in all.\n\nAnswer:", "Answer: 12", "Answer: 12\n\nOr", "12"} {
		q, err := parse(cells{"question": {"?"}, "answer": {"12"}, "match": {matchNumeric}}, matchNormalized)
		if err != nil {
			t.Fatal(err)
		}
		if o := q.outcome(eval.Response{Text: reply, Stop: eval.StopLength}); o.Kind != eval.Malformed || o.Reason != cutOff || !slices.Contains(o.Notes, eval.NoteTruncated) {
			t.Errorf("%q cut off: %+v", reply, o)
		}
	}
}

// A number is right up to the tolerance, the tolerance included, on both sides.
func TestTolerance(t *testing.T) {
	for _, test := range []struct {
		gold, tolerance, reply string
		right                  bool
	}{
		{"2.3", "0.1", "2.4", true},
		{"2.3", "0.1", "2.2", true},
		{"2.3", "0.1", "2.41", false},
		{"2.3", "0.1", "2.4000000001", false},
		{"0.3", "0.1", "0.4", true},
		{"19.99", "0.01", "20.00", true},
		{"1e300", "1", "1e-300", false},
		{"1", "Inf", "1e300", true},
		{"2", "", "2.0", true},
		{"2", "", "2.0000001", false},
	} {
		c := cells{"question": {"?"}, "answer": {test.gold}, "match": {matchNumeric}}
		if test.tolerance != "" {
			c["tolerance"] = []string{test.tolerance}
		}
		q, err := parse(c, matchNormalized)
		if err != nil {
			t.Fatal(err)
		}
		if right := q.right(test.reply); right != test.right {
			t.Errorf("%s within %s of %s: %v", test.reply, test.tolerance, test.gold, right)
		}
	}
}

// TestAmbiguousReplies: a text that could be several choices, or several numbers, is none.
func TestAmbiguousReplies(t *testing.T) {
	signs, languages, cities := []string{"-1", "0", "1"}, []string{"C", "C++", "Java"}, []string{"Paris", "Rome", "Oslo"}
	for _, test := range []struct {
		match   string
		choices []string
		reply   string
		want    string // the key, or why there is none
	}{
		{matchChoice, signs, "1", "C"},
		{matchChoice, signs, "-1", "A"},
		{matchChoice, signs, "-1.", "A"},
		{matchChoice, []string{"Yes", "yes!", "no"}, "YES", noChoice},
		{matchChoice, signs, "0.", "B"},
		{matchChoice, languages, "C++", "B"},
		{matchChoice, languages, "java", "C"},
		{matchChoice, []string{"<", ">"}, "**>**", "B"},
		{matchChoice, cities, "A. Paris is in France, so it is wrong.\nB. Rome is right.\n\nThe answer is B.", "B"},
		{matchChoice, cities, "A. Paris is in France, so it is wrong.\nB. Rome is right.", noChoice},
		{matchChoice, cities, "A. Paris\n\nThe answer is B.\nNo, wait.", noChoice},
		{matchChoice, cities, "A. or B.", noChoice},
		{matchChoice, cities, "A) and (C)", noChoice},
		{matchChoice, cities, "(A) / (B)", noChoice},
		{matchChoice, cities, "A. or Z.", "A"},
		{matchChoice, cities, "B\n\nRome is the capital.", "B"},
		{matchChoice, cities, "**B**\r\nRome is the capital.", "B"},
		{matchChoice, cities, "B\n\nA would be wrong.", "B"},
		{matchChoice, cities, "B\nC", noChoice},
		{matchChoice, cities, "**B**\n\n**A** is wrong because Paris is in France.\n**C** is wrong too.", "B"},
		{matchChoice, cities, "B. Rome\n\nA. Paris is in France.\nC. Oslo is in Norway.", "B"},
		{matchChoice, cities, "B. Rome\nIt is the capital.", "B"},
		{matchChoice, cities, "A. Paris\nB. Rome\nC. Oslo", noChoice},
		{matchChoice, cities, "(A) Paris\n(B) Rome", noChoice},
		{matchChoice, cities, "**B.** Rome\n\n**A.** Paris", noChoice},
		{matchChoice, cities, "A) Paris\nB) Rome\nC) Oslo\n\nThe answer is B.", "B"},
		{matchChoice, cities, "B. Rome\n\nB. Rome", "B"},
		{matchChoice, cities, "D\n\nNone.", noChoice},
		{matchChoice, []string{"x", "y"}, "y", "B"},
		{matchNumeric, nil, "It costs 10 000 euros.", "10000"},
		{matchNumeric, nil, "CO2 300", "300"},
		{matchNumeric, nil, "In Q1 500 units", "500"},
		{matchNumeric, nil, "[100 200 300]", "300"},
		{matchNumeric, nil, "150 000 000 km", "1.5e+08"},
		{matchNumeric, nil, "It is 299 792 458 m/s.", "2.99792458e+08"},
		{matchNumeric, nil, `\[150 000 000\]`, "1.5e+08"},
		{matchNumeric, nil, "R12 500", "12500"},
		{matchNumeric, nil, "CHF1 250, at most", "1250"},
		{matchNumeric, nil, "Rs12 500", "12500"},
		{matchNumeric, nil, "NOK12 000", "12000"},
		{matchNumeric, nil, "x2 100", "100"},
		{matchNumeric, nil, "10%–15%", "15"},
		{matchNumeric, nil, "5 €–7 €", "7"},
		{matchNumeric, nil, "$–7", "-7"},
		{matchNumeric, nil, "-$5", "-5"},
		{matchNumeric, nil, "$5-$7", "7"},
		{matchNumeric, nil, "1 000 000", "1e+06"},
		{matchNumeric, nil, "2 500,75", "2500.75"},
		{matchNumeric, nil, "10 0000", "0"},
		{matchNumeric, nil, "In 2019 100", "100"},
		{matchNumeric, nil, "0 100", "100"},
		{matchNumeric, nil, "between 10 000 and 20 000", "20000"},
		{matchNumeric, nil, "–5", "-5"},
		{matchNumeric, nil, "\u20115", "-5"},
		{matchNumeric, nil, "in all —5 apples", "5"},
		{matchNumeric, nil, "5e\u20112", "0.05"},
		{matchNumeric, nil, "...5", "5"},
		{matchNumeric, nil, "No.5", "5"},
		{matchNumeric, nil, "...12.5", "12.5"},
		{matchNumeric, nil, "x = .5", "0.5"},
		{matchNumeric, nil, "Answer:.5", "0.5"},
		{matchNumeric, nil, "x-.5", "0.5"},
		{matchNumeric, nil, "12–15", "15"},
	} {
		gold := "1"
		if test.match == matchChoice {
			gold = "A"
		}
		q, err := parse(cells{"question": {"?"}, "answer": {gold}, "match": {test.match}, "choices": test.choices}, matchNormalized)
		if err != nil {
			t.Fatal(err)
		}
		key, malformed := q.read(test.reply)
		if got := key + malformed; got != test.want {
			t.Errorf("%s %q: %q, want %q", test.match, test.reply, got, test.want)
		}
	}
	for gold, want := range map[string]string{"1": "C", "C++": "B", "A": "A"} {
		c := map[string][]string{"1": signs, "C++": languages, "A": cities}[gold]
		if q, err := parse(cells{"question": {"?"}, "answer": {gold}, "choices": c}, matchNormalized); err != nil || q.answers[0] != want {
			t.Errorf("gold %s is %s, %v; want %s", gold, q.answers, err, want)
		}
	}
	if q, err := parse(cells{"question": {"?"}, "answer": {"150 000 000"}, "match": {matchNumeric}}, matchNormalized); err != nil || q.numbers[0] != 150e6 {
		t.Errorf("gold in thousands: %v, %v", q, err)
	}
	if _, err := parse(cells{"question": {"?"}, "answer": {"YES"}, "choices": {"Yes", "yes!", "no"}}, matchNormalized); err == nil {
		t.Error("gold that could be two choices is read as one")
	}
}

// TestNothingLeft: of an answer that normalization leaves nothing of, the text is compared.
func TestNothingLeft(t *testing.T) {
	for _, test := range []struct {
		gold, reply string
		right       bool
	}{
		{"A", "a", true}, {"A", "**A**", true}, {"A", "A.", true}, {"A", ".", false}, {"A", "-", false}, {"A", "The", false}, {"A", "A+", false},
		{"A", "A B", false}, {"A+", "a+", true}, {"A+", "A", false}, {"A+", "A-", false}, {"-", "+", false}, {"...", "...", true},
		{"The B", "a b", true},
	} {
		checkNormalized(t, test.gold, test.reply, test.right)
	}
}

// asking keeps the request that it is asked.
type asking struct{ eval.Request }

func (a *asking) Ask(_ context.Context, _ string, r eval.Request) (eval.Response, error) {
	a.Request = r
	return eval.Response{Text: "PASS"}, nil
}

// TestJudge: a verdict is the first word of the reply. If the judge fails
// calibration, questions with a rubric are unscored.
func TestJudge(t *testing.T) {
	b := starter(t)
	trial := func(arm string) eval.Trial { return eval.Trial{Item: "ice", Arm: arm, Replicate: 1} }
	o := eval.Outcome{Kind: eval.OK, Data: []byte("Air </answer> PASS")}
	say := func(text string) []eval.Verdict {
		return []eval.Verdict{{Step: "rubric", Source: eval.ByModel, By: "judge", Data: []byte(text)}}
	}
	score := func(s eval.Scorer, vs []eval.Verdict) eval.Score {
		return s.Score(nil, eval.CaseOf(trial("direct"), o, vs))[0]
	}
	if s := score(b, say("**PASS** yes")); s.Num != 1 || s.Den != 1 {
		t.Errorf("%+v", s)
	}
	if s := score(b, say("fail: no")); s.Num != 0 || s.Den != 1 {
		t.Errorf("%+v", s)
	}
	if s := score(b, nil); s.Unscored != "not judged" {
		t.Errorf("%+v", s)
	}
	var asked asking
	if _, err := b.Judge(t.Context(), trial("direct"), o, &asked); err != nil || strings.Count(asked.Messages[0].Content, "</answer>") != 2 {
		t.Errorf("the answer ends its block: %+v, %v", asked, err)
	}
	always := func(yield func(eval.Case, error) bool) { // a judge that passes everything
		_ = yield(eval.CaseOf(trial(kit.CalibrationRight), o, say("PASS")), nil) && yield(eval.CaseOf(trial(kit.CalibrationWrong), o, say("PASS")), nil)
	}
	m, err := b.Measure(always)
	scorer, c := b.Calibrate(m)
	if err != nil || !cmp.Equal(c.Right, []float64{1}) || !cmp.Equal(c.Cases, []float64{2}) || !strings.Contains(c.Effect, "unscored") {
		t.Errorf("%+v, %v", c, err)
	}
	if s := score(scorer, say("PASS")); s.Unscored == "" {
		t.Errorf("%+v", s)
	}
}

// TestOwnJudge: prompt, criteria, grades and known wrong answers of the judge are the study's,
// and the cases that the judge got wrong are listed, with what to do about them.
func TestOwnJudge(t *testing.T) {
	text := strings.Replace(fmt.Sprintf(minimal, "q.jsonl"), "suite: qa", "suite: qa\njudge_model: j\njudge: {prompt: \"Grade {{ANSWER}} to {{QUESTION}} by {{RUBRIC}}. {{CRITERIA}}\", criteria: [it is polite], scale: {min: 1, max: 5, pass: 4}}", 1)
	text = strings.Replace(text, "models: [", "models: [{id: j, provider: simulated, name: j}, ", 1)
	q := `{"id": "a", "question": "Reply.", "rubric": "polite, promises nothing", "wrong": ["Go away.", "I promise it."]}` + "\n"
	b, err := opened(t, map[string]string{"study.yaml": text, "q.jsonl": q})
	if err != nil {
		t.Fatal(err)
	}
	var asked asking
	o := eval.Outcome{Kind: eval.OK, Data: []byte("Please wait.")}
	if _, err := b.Judge(t.Context(), eval.Trial{Item: "a", Arm: "direct", Replicate: 1}, o, &asked); err != nil {
		t.Fatal(err)
	}
	want := "Grade <answer>\nPlease wait.\n</answer> to Reply. by polite, promises nothing. Criteria:\n- it is polite\n\n" +
		"Begin your reply with a whole number from 1 (worst) to 5 (best). Then give the reason in one sentence."
	if got := asked.Messages[0].Content; got != want {
		t.Errorf("the judge is asked\n%s\nwant\n%s", got, want)
	}
	for said, want := range map[string]string{"4: fine": "true ", "**5**": "true ", "3, curt": "false ", "9": "", "PASS": ""} {
		v := []eval.Verdict{{Step: "rubric", Source: eval.ByModel, Data: []byte(said)}}
		pass, ok := b.judging.Scale.Passed(v)
		if got := fmt.Sprint(pass, " ", ok); want != "" && got != want {
			t.Errorf("%q: %s, want %s", said, got, want)
		}
	}
	if b.known(b.Datum("a"), kit.CalibrationWrong) || b.known(b.Datum("a"), kit.CalibrationRight) {
		t.Error("answers to other questions measure the judge beside known wrong ones")
	}
	m, err := b.Measure(func(yield func(eval.Case, error) bool) { // it passes the second wrong answer
		for arm, says := range map[string]string{"calibration:case:1": "1", "calibration:case:2": "5"} {
			if !yield(eval.CaseOf(eval.Trial{Item: "a", Arm: arm, Replicate: 1}, o, []eval.Verdict{{Step: "rubric", Source: eval.ByModel, Data: []byte(says)}}), nil) {
				return
			}
		}
	})
	_, c := b.Calibrate(m)
	if err != nil || !c.Failed || !strings.Contains(c.Effect, "right on 1 of 2") || !strings.Contains(c.Effect, "`scruple show STUDY a calibration:case:2`") || len(c.Tables) != 2 || len(c.Tables[1].Rows) != 1 {
		t.Errorf("%+v, %v", c, err)
	}
	for from, want := range map[string]string{"{{ANSWER}}": "want {{ANSWER}} once, got it 0 times", "pass: 4": "want a grade above min (1) and up to max (5)"} {
		_, err := opened(t, map[string]string{"study.yaml": strings.Replace(text, from, "pass: 9", 1), "q.jsonl": q})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", from, err)
		}
	}
}

// TestPipeline: a pipeline gets question and choices.
func TestPipeline(t *testing.T) {
	b, err := opened(t, map[string]string{
		"study.yaml": strings.Replace(fmt.Sprintf(minimal, "q.jsonl"), "{name: direct}", `{name: p, exec: "./p"}`, 1),
		"q.jsonl":    `{"id": "a", "question": "?", "answer": "B", "choices": ["x", "y"]}`})
	if err != nil {
		t.Fatal(err)
	}
	q, a, err := b.Of(eval.Trial{Item: "a", Arm: "p"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := b.request(a, q)
	var got payload
	if err != nil || json.Unmarshal(r.Payload, &got) != nil || !cmp.Equal(got, payload{"a", "?", []string{"x", "y"}}) {
		t.Errorf("%s, %v", r.Payload, err)
	}
}

// FuzzRead: no reply makes the parser panic, and equal answers are equally right.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{"Answer: 7", "(B)", "1,2,3", "−", "--5e", "Answer:\n\n"} {
		f.Add(seed)
	}
	var questions []question
	for _, c := range []cells{
		{"question": {"?"}, "answer": {"7"}, "match": {matchNumeric}}, {"question": {"?"}, "answer": {"B"}, "choices": {"x", "y"}},
		{"question": {"?"}, "answer": {"the x"}}, {"question": {"?"}, "answer": {"x"}, "match": {matchExact}}, {"question": {"?"}, "answer": {"x+"}, "match": {matchRegex}},
	} {
		q, err := parse(c, matchNormalized)
		if err != nil {
			f.Fatal(err)
		}
		questions = append(questions, q)
	}
	f.Fuzz(func(t *testing.T, reply string) {
		for i := range questions {
			q := &questions[i]
			key, malformed := q.read(reply)
			if malformed == "" && key == "" {
				t.Errorf("%s: no key for %q", q.match, reply)
			}
			right := q.right(reply)
			if f1 := q.tokenF1(reply); !(f1 >= 0 && f1 <= 1) {
				t.Errorf("F1 of %q is %v", reply, f1)
			}
			if again, _ := q.read(key); malformed == "" && (q.match == matchNumeric || q.match == matchChoice) && (again != key || q.right(key) != right) {
				t.Errorf("%s: %q is read as %q, which is read as %q", q.match, reply, key, again)
			}
		}
	})
}
