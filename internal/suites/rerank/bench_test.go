package rerank

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/suitetest"
)

// starterData are the data files that Init writes, generated once.
var starterData = sync.OnceValues(func() (map[string][]byte, error) {
	dir, err := os.MkdirTemp("", "scruple-rerank-*")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	suite := Suite()
	paths, err := suite.Init(filepath.Join(dir, "s"))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, path := range paths[1:] {
		if files[filepath.Base(path)], err = os.ReadFile(path); err != nil {
			return nil, err
		}
	}
	return files, nil
})

// opened opens a study on the starter's data with changed requests.
func opened(t *testing.T, text string, change func(lines []string)) (*study.File, *Study) {
	t.Helper()
	data, err := starterData()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data["requests.jsonl"])), "\n")
	if change != nil {
		change(lines)
	}
	dir := t.TempDir()
	for name, content := range map[string]string{
		"items.jsonl": string(data["items.jsonl"]), "reviews.jsonl": string(data["reviews.jsonl"]), "users.jsonl": string(data["users.jsonl"]),
		"requests.jsonl": strings.Join(lines, "\n") + "\n", "answers.jsonl": "{}\n",
		"study.yaml": "name: t\nsuite: rerank\ndata: {items: items.jsonl, reviews: reviews.jsonl, users: users.jsonl, requests: requests.jsonl}\n" + text,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := new(Study)
	f, err := study.Load(filepath.Join(dir, "study.yaml"), nil, s)
	if err != nil {
		t.Fatal(err)
	}
	return f, s
}

func starter(t *testing.T, text string) (*bench, error) {
	t.Helper()
	return open(opened(t, text, nil))
}

// TestArmHashesStay: runs of earlier versions have these hashes, and an unchanged study is none
// that changed after results.
func TestArmHashesStay(t *testing.T) {
	b, err := starter(t, `
candidates: {sizes: [5]}
attacks: {names: [typo_10], defence: "on"}
models: [{id: m, provider: openai, name: gpt}]
arms: [{name: bm25, builtin: bm25}, {name: oracle, builtin: oracle}, {name: listwise, builtin: listwise, models: [m]}]
`)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, a := range b.Arms() {
		got[a.ID] = a.Hash
	}
	want := map[string]string{"bm25/n5": "da9ff6d3e4ee172b", "bm25/n5/typo_10": "f856022a9594990a", "listwise/n5": "d197fed8a775e4ba", "listwise/n5/typo_10": "b517c39c0c1ba4c4", "oracle/n5": "fc9d403bde5fda2b"}
	if !maps.Equal(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
}

// Every method, at two sizes, under attack, with and without the defence.
func TestConformance(t *testing.T) {
	b, err := starter(t, `candidates: {sizes: [4, 6]}
review_budget: {reviews: 3}
models:
  - {id: m, provider: openai, name: x, structured: schema}
  - {id: tool, provider: google, name: z, structured: tool}
  - {id: sim, provider: simulated, skill: {wrong: 0.2}}
arms:
  - {name: random}
  - {name: bm25}
  - {name: oracle}
  - {name: cot, models: [m]}
  - {name: ps, models: [tool]}
  - {name: plan_act, models: [sim]}
  - {name: listwise, models: [sim]}
  - {name: weaver, models: [sim]}
  - {name: anot, models: [m]}
  - {name: e, exec: cat}
attacks: {names: [inject_hidden], defence: both}
`)
	if err != nil {
		t.Fatal(err)
	}
	b.FillInOrder(b.Data[:3], b.Items()[:3])
	suitetest.Bench(t, Suite().Suite, b, func(_ eval.Stage, _ string, r eval.Request) (eval.Response, error) {
		return eval.Response{Text: "Ranking: 2, 1", Stop: eval.StopEnd}, nil
	})
}

// perform runs one trial of a local arm.
func perform(t *testing.T, b *bench, arm string, i int) (eval.Outcome, map[string]float64) {
	t.Helper()
	trial := eval.Trial{Item: b.Items()[i].ID, Arm: arm, Replicate: 1}
	o, err := b.Perform(t.Context(), trial, nil)
	if err != nil {
		t.Fatal(err)
	}
	scores := map[string]float64{}
	for _, s := range b.Score(nil, eval.CaseOf(trial, o, nil)) {
		scores[s.Metric] = s.Num / s.Den
	}
	return o, scores
}

// TestBounds: the oracle is always right, random is at chance and BM25 between.
// Attacks do not change gold, except one.
func TestBounds(t *testing.T) {
	b, err := starter(t, "candidates: {sizes: [10, 20, 40]}\narms: [{name: random}, {name: bm25}, {name: oracle}]\nattacks: {names: [all]}\n")
	if err != nil {
		t.Fatal(err)
	}
	mean := func(arm string) float64 {
		var sum float64
		for i := range b.Items() {
			_, s := perform(t, b, arm, i)
			sum += s["hits_1"]
		}
		return sum / float64(len(b.Items()))
	}
	for _, n := range []int{10, 20, 40} {
		arm := func(name string) string { return fmt.Sprintf("%s/n%d", name, n) }
		random, bm25, oracle := mean(arm("random")), mean(arm("bm25")), mean(arm("oracle"))
		if oracle != 1 {
			t.Errorf("N = %d: the oracle has %.3f", n, oracle)
		}
		p := 1 / float64(n)
		if se := math.Sqrt(p * (1 - p) / 60); !(math.Abs(random-p) <= 3*se) {
			t.Errorf("N = %d: random has %.3f, chance is %.3f", n, random, p)
		}
		if bm25 <= random || bm25 >= 1 {
			t.Errorf("N = %d: BM25 has %.3f, random %.3f", n, bm25, random)
		}
	}
	for _, a := range b.OwnArms {
		if a.attack == nil || a.size != 10 {
			continue
		}
		task, rec := b.scene(&b.requests[0], a)
		clean, _ := b.scene(&b.requests[0], b.Arm("bm25/n10"))
		if changed := reviews(task.Candidates[rec.Gold-1].Reviews) != reviews(clean.Candidates[rec.Gold-1].Reviews); changed != a.attack.Blames {
			t.Errorf("%s changes the reviews of gold: %v", a.ID, changed)
		}
	}
}

func reviews(list any) string {
	b, _ := json.Marshal(list)
	return string(b)
}

// TestScalingIsPaired: smaller candidate sets are subsets of larger ones, and
// gold is at every position.
func TestScalingIsPaired(t *testing.T) {
	b, err := starter(t, "candidates: {sizes: [10, 20]}\narms: [{name: random}]\n")
	if err != nil {
		t.Fatal(err)
	}
	places := map[int]int{}
	for i := range b.requests {
		_, small := b.scene(&b.requests[i], b.Arm("random/n10"))
		_, large := b.scene(&b.requests[i], b.Arm("random/n20"))
		in := map[string]bool{}
		for _, id := range large.Candidates {
			in[id] = true
		}
		for _, id := range small.Candidates {
			if !in[id] {
				t.Fatalf("%s: %s is among 10 but not among 20", b.requests[i].ID, id)
			}
		}
		places[small.Gold]++
	}
	for place := 1; place <= 10; place++ {
		if n := places[place]; n < 1 || n > 14 { // binomial: 0 in 0.2 %, 15 in 0.06 % of draws
			t.Errorf("gold is at %d in %d of 60 requests, want about 6", place, n)
		}
	}
}

func TestOpenErrors(t *testing.T) {
	for text, want := range map[string]string{
		"arms: [{name: magic}]\n":                                                              `unknown method "magic"`,
		"arms: [{name: cot}]\n":                                                                "the study has none",
		"arms: [{name: bm25}]\ncandidates: {sizes: [1]}\n":                                     "want at least 2 candidates",
		"arms: [{name: bm25}]\ncandidates: {sizes: [1000]}\n":                                  "the data have 80 items",
		"arms: [{name: bm25}]\nattacks: {names: [hypnosis]}\n":                                 "hypnosis",
		"arms: [{name: bm25}, {name: bm25}]\n":                                                 `duplicate method name "bm25"`,
		"arms: [{name: x, exec: cat, http: \"http://h\"}]\n":                                   "exactly one",
		"arms: [{name: x, outputs: answers.jsonl}]\ncandidates: {sizes: [10, 20]}\n":           "a separate study",
		"arms: [{name: x, outputs: nowhere.jsonl}]\n":                                          "reading answers",
		"arms: [{name: bm25, models: [m]}]\nmodels: [{id: m, provider: openai, name: x}]\n":    "uses no model",
		"arms: [{name: cot, models: [other]}]\nmodels: [{id: m, provider: openai, name: x}]\n": `no model "other"`,
	} {
		_, err := starter(t, text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

// TestBadData: Open reports all invalid requests at once, with file and line.
func TestBadData(t *testing.T) {
	_, err := open(opened(t, local, func(lines []string) {
		lines[1] = strings.Replace(lines[1], `"gold":"`+field(t, lines[1], "gold")+`"`, `"gold":"i01"`, 1)
		lines[3] = strings.Replace(lines[3], `"op":"AND"`, `"op":"XOR"`, 1)
		lines[5] = strings.Replace(lines[5], `"gold":"`, `"gold":"nobody`, 1)
	}))
	for _, want := range []string{"requests.jsonl:2:", "gold_not_match", "requests.jsonl:4:", "XOR", "requests.jsonl:6:", "nobody"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in\n%v", want, err)
		}
	}
}

func TestPreflightPasses(t *testing.T) {
	suite := Suite()
	results, err := suite.Preflight("")
	if err != nil || len(results) < 5 {
		t.Fatal(len(results), err)
	}
	for _, r := range results {
		if len(r.Wrong) > 0 {
			t.Errorf("%s: %q", r.Name, r.Wrong)
		}
	}
}
