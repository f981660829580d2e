package kit

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
)

func starterOf(fsys fstest.MapFS) *Suite {
	return &Suite{Suite: eval.Suite{Name: "fake"}, Starter: Template(fsys)}
}

// The study file is first and named after its folder. If any file exists, Init
// writes nothing.
func TestInit(t *testing.T) {
	s := starterOf(fstest.MapFS{
		"template/data/a.txt": {Data: []byte("NAME")},
		"template/study.yaml": {Data: []byte("name: NAME # NAME")},
	})
	for folder, name := range map[string]string{"my study": "my-study", "日本": "fake", ".x.": "x"} {
		dir := filepath.Join(t.TempDir(), folder)
		paths, err := s.Init(dir)
		if err != nil {
			t.Fatal(err)
		}
		if want := []string{filepath.Join(dir, "study.yaml"), filepath.Join(dir, "data", "a.txt"), filepath.Join(dir, ".gitignore"), filepath.Join(dir, ".gitattributes")}; !slices.Equal(paths, want) {
			t.Errorf("wrote %v, want %v", paths, want)
		}
		for i, want := range []string{"name: " + name + " # NAME", "NAME", ".scruple/*\n!.scruple/ledger.jsonl*\nresults/\n.env\n", "* -text\n"} {
			if got, _ := os.ReadFile(paths[i]); string(got) != want {
				t.Errorf("%s holds %q, want %q", paths[i], got, want)
			}
		}
		if err := os.Remove(paths[0]); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Init(dir); err == nil || !strings.Contains(err.Error(), "a.txt already exists") {
			t.Errorf("existing files overwritten: %v", err)
		}
		if _, err := os.Lstat(paths[0]); err == nil {
			t.Error("written in part")
		}
	}
	dir := t.TempDir() // a .gitignore that is there stays
	own := filepath.Join(dir, ".gitignore")
	if err := os.WriteFile(own, []byte("*.log\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if paths, err := s.Init(dir); err != nil || len(paths) != 3 {
		t.Errorf("wrote %v, %v", paths, err)
	}
	if got, _ := os.ReadFile(own); string(got) != "*.log\n" {
		t.Errorf(".gitignore was replaced by %q", got)
	}
}

// plannerOf is a planner with two models, and its errors.
func plannerOf(t *testing.T) (*Planner, *[]string) {
	var found []string
	return &Planner{Noun: "thing", List: "things", Models: []study.Model{{ID: "a"}, {ID: "judge", Provider: SimulatedProvider}}, Skip: "judge", Offline: "take none",
		Resolve: func(path string) string { return filepath.Join(t.TempDir(), path) },
		Fault:   func(key, format string, args ...any) { found = append(found, key+": "+fmt.Sprintf(format, args...)) }}, &found
}

func TestPlannerErrors(t *testing.T) {
	for want, do := range map[string]func(p *Planner){
		`things[1].name: duplicate thing name "x"`:                                             func(p *Planner) { CheckNames(p, []Entry{{Name: "x"}, {Name: "x"}}) },
		`things[0].name: thing name "a b": want letters, digits, dots, dashes and underscores`: func(p *Planner) { CheckNames(p, []Entry{{Name: "a b"}}) },
		`models[0].skill.arms.y: remove it: in this suite a simulated model has the same skill with every thing`: func(p *Planner) {
			p.Models[0].Skill = &study.Skill{Arms: map[string]study.ArmSkill{"y": {}}}
			CheckNames(p, []Entry{{Name: "y"}})
		},
		`models[0].skill.arms.knd: the study has no thing "knd": did you mean "kind"?: want one of kind`: func(p *Planner) {
			p.Skilled, p.Models[0].Skill = true, &study.Skill{Arms: map[string]study.ArmSkill{"knd": {}, "kind": {}}}
			CheckNames(p, []Entry{{Name: "kind"}})
		},
		`things[2]: thing "x" has path and exec: want exactly one of them`: func(p *Planner) {
			p.One(&Entry{Name: "x", at: 2}, Given(Outside{Exec: "e"}, Way{Key: "path", Value: "p"}, Way{Key: "of", Value: ""}))
		},
		`things[0].models: thing "x" uses no model of the study: remove models`:                          func(p *Planner) { p.NoModels(&Entry{Name: "x", Models: []string{"a"}}) },
		`things[0].models[0]: the study has no model "juge": did you mean "judge"?`:                      func(p *Planner) { p.OnModels(&Entry{Name: "x", Models: []string{"juge"}}) },
		`things[0].models[1]: duplicate model "a"`:                                                       func(p *Planner) { p.OnModels(&Entry{Name: "x", Models: []string{"a", "a"}}) },
		`things[0]: thing "x" needs a model, but the study has none: add one under models, or take none`: func(p *Planner) { p.Models = nil; p.OnModels(&Entry{Name: "x"}) },
	} {
		p, found := plannerOf(t)
		do(p)
		if len(*found) != 1 || (*found)[0] != want {
			t.Errorf("found %q, want %q", *found, want)
		}
	}
	p, found := plannerOf(t)
	if _, ok := p.Pipeline(&Entry{Name: "x", Outside: Outside{Outputs: "nowhere"}}); ok || len(*found) != 1 || !strings.HasPrefix((*found)[0], "things[0].outputs: reading answers: ") {
		t.Errorf("found %q", *found)
	}
}

func TestArmsOnModels(t *testing.T) {
	p, found := plannerOf(t)
	if arms := p.OnModels(&Entry{Name: "x"}); len(arms) != 1 || arms[0].ID != "x" || arms[0].Model != "a" || arms[0].Simulated {
		t.Errorf("on all models: %+v", arms)
	}
	if arms := p.OnModels(&Entry{Name: "x", Models: []string{"judge", "a"}}); len(arms) != 2 || arms[0].ID != "x@judge" || !arms[0].Simulated || arms[1].Settings != &p.Models[0] {
		t.Errorf("on named models: %+v", arms)
	}
	if len(*found) > 0 {
		t.Errorf("found %q", *found)
	}
}

// A pipeline is called under the arm's id, a file of answers by item only. Other
// answers give another hash.
func TestPipelines(t *testing.T) {
	p, _ := plannerOf(t)
	command, _ := p.Pipeline(&Entry{Name: "x", Outside: Outside{Exec: "cat"}})
	renamed := command
	renamed.Rename("x/n10")
	if command.Pipeline.Model != "arm:x" || renamed.Pipeline.Model != "arm:x/n10" || renamed.Model != "arm:x/n10" {
		t.Errorf("asked under %+v and %+v", command.Pipeline, renamed.Pipeline)
	}
	r, err := command.RequestOutside("i", func() any { return map[string]int{"n": 1} })
	if want := (eval.Request{Model: "arm:x", Provider: "exec", Endpoint: "cat", Name: "x", Item: "i", Payload: json.RawMessage(`{"n":1}`)}); err != nil || r.Key() != want.Key() {
		t.Errorf("asks %+v, %v", r, err)
	}
	path := filepath.Join(t.TempDir(), "answers")
	p.Resolve = func(string) string { return path }
	hashes := map[string]bool{}
	for _, content := range []string{"1", "2"} {
		if err := os.WriteFile(path, []byte(`{"item":"i","output":"`+content+`"}`), 0o644); err != nil {
			t.Fatal(err)
		}
		a, ok := p.Pipeline(&Entry{Name: "x", Outside: Outside{Outputs: "answers"}})
		if !ok || !a.Answered() || a.Target != "answers" || a.Pipeline.Target != path {
			t.Errorf("%+v", a)
		}
		hashes[a.Hash] = true
		if r, err := a.RequestOutside("i", func() any { t.Error("a payload is made"); return nil }); err != nil || r.Payload != nil {
			t.Errorf("asks %+v, %v", r, err)
		}
	}
	if len(hashes) != 2 {
		t.Error("other answers have the same hash")
	}
}

// A file of answers has the hash of what is read: another format or order is no change.
func TestHashOfAnswers(t *testing.T) {
	const (
		first  = `{"item":"7","output":"b\u00e9","usage":{"input_tokens":8}}`
		second = `{"item":"x","replicate":2,"output":{ "n": 1.50 },"model":"m"}`
	)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := io.WriteString(z, first+"\n"+second); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	hash := func(name, content string) eval.Hash {
		t.Helper()
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		h, err := hashAnswers(path)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	same := hash("a.jsonl", first+"\n"+second+"\n")
	for name, content := range map[string]string{
		"blank.jsonl":   "\ufeff" + first + "\r\n\n" + second + "\n\n",
		"order.jsonl":   second + "\n" + first,
		"words.jsonl":   `{"output": "bé", "document_id": 7.0, "replicate": 1, "model": null, "usage": {"output_tokens": 0, "input_tokens": 8}}` + "\n" + second,
		"packed.gz":     packed.String(),
		"list.json":     "[" + first + ",\n" + second + "]",
		"table.csv":     "item,replicate,output,model,usage.input_tokens\n7,,bé,,8\nx,2,\"{ \"\"n\"\": 1.50 }\",m,\n",
		"semicolon.csv": "item;replicate;output;model;usage.input_tokens\n7;1;bé;;8\nx;2;\"{ \"\"n\"\": 1.50 }\";m;\n",
	} {
		if hash(name, content) != same {
			t.Errorf("%s has another hash", name)
		}
	}
	for _, content := range []string{first, first + "\n" + first + "\n" + second, first + "\n" + strings.Replace(second, "1.50", "1.5", 1), first + "\n" + strings.Replace(second, `"m"`, `"o"`, 1),
		first + "\n" + strings.Replace(second, "2", "1", 1), first + "\n" + second + "\n{", first + "\n" + second + "\n1"} {
		if hash("other.jsonl", content) == same {
			t.Errorf("%s has the same hash", content)
		}
	}
}

func TestStructure(t *testing.T) {
	schema, tool := eval.Schema{Name: "s", JSON: json.RawMessage(`{}`)}, eval.Tool{Name: "t"}
	for how, want := range map[string][2]bool{"": {}, "none": {}, "schema": {true, false}, "tool": {false, true}} {
		var r eval.Request
		Structure(&r, &study.Model{Structured: how}, schema, tool)
		if got := [2]bool{r.Schema != nil, r.Force == "t" && len(r.Tools) == 1 && string(r.Tools[0].Parameters) == "{}"}; got != want {
			t.Errorf("%q: %+v", how, r)
		}
	}
}

type answers eval.Response

func (a answers) Ask(context.Context, string, eval.Request) (eval.Response, error) {
	return eval.Response(a), nil
}

// A judge's verdict is the call of the tool that its request forced, or the text.
func TestAskJudge(t *testing.T) {
	said := answers{Text: "I compare the two.", Stop: eval.StopTool, ToolCalls: []eval.ToolCall{{Name: "verdict", Arguments: json.RawMessage(`{"pass":true}`)}}}
	for force, want := range map[string]string{"verdict": `{"pass":true}`, "": "I compare the two."} {
		v, err := AskJudge(t.Context(), said, "judge", eval.Request{Force: force}, nil)
		if err != nil || v[0].Err != "" || string(v[0].Data) != want {
			t.Errorf("force %q: %+v, %v; want %s", force, v, err, want)
		}
	}
}

// A misspelt field of a metric of the program is not left out, which would turn the metric around.
func TestMetricsAreStrict(t *testing.T) {
	for data, want := range map[string]bool{
		`[{"Name": "m", "HigherIsBetter": true}]`: true, `[{"Name": "m", "HigherIsBeter": true}]`: false, `[] []`: false, `[`: false,
	} {
		func() {
			defer func() {
				if ok := recover() == nil; ok != want {
					t.Errorf("%s is read: %v, want %v", data, ok, want)
				}
			}()
			Metrics([]byte(data), nil)
		}()
	}
}

// A word for pass or fail is a score only where 0 and 1 are the worst and the best.
func TestParseScore(t *testing.T) {
	one, five, hundred := 1.0, 5.0, 100.0
	for _, c := range []struct {
		metric study.Metric
		says   map[string]string
	}{
		{study.Metric{Name: "m"}, map[string]string{"pass": "1", "No": "0", "0.5": "0.5", "2": "error", "": "NaN", "n/a": "NaN", "inf": "error"}},
		{study.Metric{Name: "m", Binary: true}, map[string]string{"true": "1", "failed": "0", "0.5": "error"}},
		{study.Metric{Name: "m", Min: &one, Max: &five}, map[string]string{"5": "5", "fail": "error", "pass": "error", "none": "NaN"}},
		{study.Metric{Name: "m", Max: &hundred}, map[string]string{"100": "100", "yes": "error"}},
		{study.Metric{Name: "m", Counts: true}, map[string]string{"0": "0", "12": "12", "0.5": "error", "-1": "error", "inf": "error", "": "NaN", "pass": "error"}},
		{study.Metric{Name: "m", Unbounded: true}, map[string]string{"-7": "-7", "true": "error", "1e100": "1e+100", "-1e101": "error", "1e308": "error", "-1e999": "error"}},
	} {
		for said, want := range c.says {
			got := "error"
			if x, err := ParseScore(c.metric, said); err == nil {
				got = fmt.Sprint(x)
			}
			if got != want {
				t.Errorf("%+v: %q is %s, want %s", c.metric, said, got, want)
			}
		}
	}
	for said, comma := range map[string]bool{"0,5": true, "-1 234,5": true, "1.234,5": true, "Good, but long": false, "0,5 or so": false} {
		if _, err := ParseScore(study.Metric{Name: "m"}, said); err == nil || strings.Contains(err.Error(), "without a comma") != comma {
			t.Errorf("%q: %v", said, err)
		}
	}
}

// A percentage is refused with an example on the scale of the metric, if it has one.
func TestPercentages(t *testing.T) {
	one, hundred := 1.0, 100.0
	for _, c := range []struct {
		metric study.Metric
		want   string
	}{
		{study.Metric{Name: "m"}, "write a number, such as 0.5 for 50%;"},
		{study.Metric{Name: "m", Max: &hundred}, "write a number, such as 50 for 50%;"},
		{study.Metric{Name: "m", Min: &one, Max: &hundred}, "write a number;"},
		{study.Metric{Name: "m", Unbounded: true}, "write a number;"},
	} {
		if _, err := ParseScore(c.metric, "85%"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.metric, err, c.want)
		}
	}
}

// A verdict is a word, and a grade a whole number: what only begins so is neither.
func TestPasses(t *testing.T) {
	grades := &Scale{Min: 1, Max: 5, Pass: 4}
	for _, test := range []struct {
		scale *Scale
		says  map[string]string // replies by what they are read as
	}{
		{nil, map[string]string{
			"PASS": "pass", "pass. It does.": "pass", "**PASS** yes": "pass", "__Passed__": "pass", "# PASSES\nall": "pass", "PASS/5": "pass", "PASS, or nearly": "pass", "PASS—fine": "pass",
			"<think>A PASS?</think>\nFAIL: it is not": "fail", "<thinking>FAIL?</thinking>PASS": "pass", "<reasoning>it PASSes": "",
			"PASS\nIt does.\n\n**PASS**": "pass", "PASS: it does.\n\n**Final verdict:** FAIL": "", "PASS\nNo, wait.\nFAIL.": "", "FAIL\nPASS is for others.\n- PASS: a\n- FAIL: b": "fail",
			"FAIL": "fail", "`fail`: no": "fail", "Failed.": "fail", "PASS理由：正しい": "pass", "FAILS": "fail", "Failure: it": "fail",
			"Passage 3 contradicts the answer: FAIL": "", "PASS/FAIL: FAIL": "", "PASS or FAIL? FAIL": "", "**FAIL** / **PASS**": "", "Passing": "", "PASSÉ": "", "FAIL2": "", "": "", "It passes": "",
		}},
		{grades, map[string]string{
			"5": "pass", "**4**: fine": "pass", "4/5": "pass", "4.": "pass", "4, curt": "pass", "4. Good": "pass", "3 – weak": "fail", "1\n2": "fail", "4\nSo: curt.\n5": "pass", "4\nNo, wait.\n2": "", "4\n\n1. Clear.\n2. Kind.": "pass", "Grade: 4": "", "4分。回答正确": "pass", "4점": "pass", "4点です": "pass", "3 - weak": "fail",
			"4\n\n- 2 of 3 facts are named.\n- Clear.": "pass", "3\n2/3 of the criteria are met": "fail", "4 - 2 minor errors": "pass", "4 – 3 facts, of 3": "pass",
			"3 - 4\nBetween them.": "", "3–4: so so": "", "3-4/5": "", "3 TO 4": "",
			"3,5": "", "3.5": "", "3½": "", "1st: bad. 5 overall": "", "4-5": "", "3 - 4": "", "4—5": "", "4 1/2": "", "4 or 5": "", "9": "", "-4": "", "0": "", "PASS": "", "4th": "", "99999999999999999999": "",
		}},
	} {
		for reply, want := range test.says {
			pass, ok := test.scale.Passes([]byte(reply))
			got := ""
			if ok {
				got = passWord(pass)
			}
			if got != want {
				t.Errorf("%q is read as %q, want %q", reply, got, want)
			}
			_, missing := test.scale.Passed([]eval.Verdict{{Step: judgeAnswer, Source: eval.ByModel, Data: []byte(reply)}})
			if (missing == "") != ok {
				t.Errorf("%q, stored: %q", reply, missing)
			}
		}
	}
}

// The user's cases run after the shipped ones. A missing folder has none, and an
// invalid case is an error.
func TestPreflight(t *testing.T) {
	s := &Suite{Cases: fstest.MapFS{"preflight/a.json": {Data: []byte("ok")}},
		Check: func(data []byte) (Result, error) {
			if string(data) != "ok" {
				return Result{}, fmt.Errorf("not ok")
			}
			return Result{Wrong: []string{"w"}}, nil
		}}
	dir := t.TempDir()
	for _, own := range []string{"", filepath.Join(dir, "nowhere"), dir} {
		results, err := s.Preflight(own)
		if err != nil || len(results) != 1 || results[0].Name != "a" || results[0].OK() {
			t.Errorf("%q: %+v, %v", own, results, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "b.json"), []byte("bad"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Preflight(dir); err == nil || !strings.Contains(err.Error(), "b.json: not ok") {
		t.Error(err)
	}
}

// A judge that answers by coin is not trusted, whatever its bias, but for one in twenty, or as
// many as are right about all of a few cases; a judge that passes or fails everything never.
func TestCoinsAreNotTrusted(t *testing.T) {
	choose := func(n, k int) (c float64) {
		c = 1
		for i := range k {
			c = c * float64(n-i) / float64(i+1)
		}
		return c
	}
	silent := func(rightPass, pass, rightFail, fail, missing int) bool { // missing verdicts on cases that must fail
		m := eval.Measurement{Right: []float64{float64(rightPass + rightFail)}, Cases: []float64{float64(pass + fail - missing)}, Missing: missing,
			Known: []eval.Known{{Arm: "a", Right: rightFail, Cases: fail - missing, Missing: missing}, {Arm: "a", Pass: true, Right: rightPass, Cases: pass}}}
		ok, c := Trust("j", m, Yardstick{Noun: "answers", Otherwise: "unscored"})
		if ok == c.Failed || ok == strings.Contains(c.Effect, "no better than chance") {
			t.Fatalf("%+v", c)
		}
		return ok
	}
	trusted := func(rightPass, pass, rightFail, fail int) bool { return silent(rightPass, pass, rightFail, fail, 0) }
	// One who says nothing where it should say no is no better than one who always says yes.
	if silent(30, 30, 0, 30, 30) || silent(30, 30, 3, 30, 27) || !silent(30, 30, 27, 30, 3) {
		t.Error("verdicts that are missing count as right")
	}
	for _, n := range [][2]int{{1, 1}, {2, 2}, {3, 3}, {5, 5}, {2, 9}, {9, 2}, {12, 12}, {20, 5}} {
		pass, fail := n[0], n[1]
		if trusted(pass, pass, 0, fail) || trusted(0, pass, fail, fail) || !trusted(pass, pass, fail, fail) {
			t.Errorf("%v: a constant judge is trusted, or a perfect one is not", n)
		}
		most := max(0.05, 1/choose(pass+fail, pass))
		for bias := 0.05; bias < 1; bias += 0.05 {
			share := 0.0
			for a := range pass + 1 {
				for b := range fail + 1 {
					if trusted(a, pass, b, fail) {
						share += choose(pass, a) * math.Pow(bias, float64(a)) * math.Pow(1-bias, float64(pass-a)) *
							choose(fail, b) * math.Pow(1-bias, float64(b)) * math.Pow(bias, float64(fail-b))
					}
				}
			}
			if share > most+1e-9 {
				t.Errorf("%v cases: %.3f of the coins that pass %.2f are trusted, want at most %.3f", n, share, bias, most)
			}
		}
	}
}

// A case that expects 0 of a metric without a score is wrong.
func TestUnscoredIsNotZero(t *testing.T) {
	got := Shares([]eval.Score{Unscored("judged", "no verdict"), {Metric: "f1", Num: 1, Den: 2}})
	if wrong := Differences(got, map[string]float64{"judged": 0, "f1": 0.5}); len(wrong) != 1 {
		t.Errorf("differences are %q", wrong)
	}
}
