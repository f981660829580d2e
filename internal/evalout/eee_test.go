package evalout

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
)

// Arms whose names have the same letters have files of their own, and an export that fails
// leaves none behind.
func TestEEEFiles(t *testing.T) {
	dir, broken := t.TempDir(), errors.New("the store is away")
	r := Run{ID: "r", Study: "s", Arms: []Arm{{ID: "gpt_4"}, {ID: "gpt-4"}, {ID: "GPT-4"}, {ID: "1", Model: "p/a/b:c"}, {ID: "2", Model: "p/a/b:c"}, {ID: "3", Model: "p/data"}, {ID: "4", Model: "p/x?."}}}
	fails := func(yield func(eval.ScoredTrial, error) bool) { yield(eval.ScoredTrial{}, broken) }
	if _, _, err := EEE(dir, r, fails); !errors.Is(err, broken) {
		t.Errorf("the error is %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("an export that failed left %v, %v", left, err)
	}
	files, _, err := EEE(dir, r, func(func(eval.ScoredTrial, error) bool) {})
	names := map[string]bool{} // as Windows and macOS compare them
	for _, file := range files {
		names[strings.ToLower(file)] = true
	}
	if err != nil || len(names) != 2*len(r.Arms) {
		t.Errorf("files %v, %v; want two for each arm", files, err)
	}
	const uuid = `/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`
	for i, folder := range []string{"none/gpt_4", "none/gpt-4", "none/GPT-4", "p/a_b_c", "p/a_b_c", "p/_", "p/x__"} {
		path, err := filepath.Rel(dir, files[2*i])
		if path = filepath.ToSlash(path); err != nil || !regexp.MustCompile(`^data/s/`+folder+uuid+`_samples\.jsonl$`).MatchString(path) {
			t.Errorf("%s, %v; want a file of the data store in %s", path, err, folder)
		}
		aggregate, err := os.ReadFile(files[2*i+1])
		for _, want := range []string{`"schema_version": "0.3.0"`, `"deployment_type": "unknown"`, `"model_availability": "unknown"`, `"file_path": "` + path + `"`} {
			if err != nil || !strings.Contains(string(aggregate), want) {
				t.Errorf("%s, %v; want %s", aggregate, err, want)
			}
		}
	}
}

// A file has its name once it is whole, and none is written over.
func TestFilesAreWhole(t *testing.T) {
	for name, export := range map[string]func(dir string, r Run, trials Trials) ([]string, error){
		"inspect": Inspect,
		"eee": func(dir string, r Run, trials Trials) ([]string, error) {
			files, _, err := EEE(dir, r, trials)
			return files, err
		},
	} {
		dir, r := t.TempDir(), Run{ID: "r", Study: "s", Arms: []Arm{{ID: "a"}, {ID: "b"}}}
		named := func() (list []string) {
			err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
				if err == nil && !d.IsDir() && !strings.HasPrefix(d.Name(), ".") {
					list = append(list, path)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
			return list
		}
		files, err := export(dir, r, func(func(eval.ScoredTrial, error) bool) {
			if list := named(); len(list) > 0 {
				t.Errorf("%s: %v are there before they are whole", name, list)
			}
		})
		if list := named(); err != nil || len(list) != len(files) {
			t.Errorf("%s: files %v, want %v, %v", name, list, files, err)
		}
		if err := os.Remove(files[0]); err != nil {
			t.Fatal(err)
		}
		if _, err := export(dir, r, func(func(eval.ScoredTrial, error) bool) { t.Errorf("%s: exported over %v", name, files[1:]) }); !errors.Is(err, os.ErrExist) {
			t.Errorf("%s: the error is %v", name, err)
		}
		if list := named(); len(list) != len(files)-1 {
			t.Errorf("%s: %v are left of %v", name, list, files[1:])
		}
	}
}

// An interval has the level of the study, and an instance is correct if its score is the best
// one of its metric, whatever direction and range it has.
func TestEEEOfAnyMetric(t *testing.T) {
	dir := t.TempDir()
	r := Run{ID: "r", Study: "s", Alpha: 0.1, Arms: []Arm{{ID: "a"}},
		Metrics: []eval.Metric{
			{Name: "right", Max: 1, HigherIsBetter: true}, {Name: "stars", Min: 1, Max: 5, HigherIsBetter: true}, {Name: "wrong", Max: 1},
			{Name: "words", Max: math.Inf(1), HigherIsBetter: true}, {Name: "cost", Max: math.NaN()},
			{Name: "ratio", Max: 1, NoDirection: true},
		},
		Estimate: func(string, string) (eval.Measured, bool) {
			return eval.Measured{Value: 0.5, Low: 0.4, High: 0.6, N: 9}, true
		}}
	var ids []string
	var scores []eval.Score
	want := map[string]bool{}
	for _, c := range []struct {
		metric string
		value  float64
		best   bool
	}{{"right", 1, true}, {"right", 0.9, false}, {"stars", 5, true}, {"stars", 1, false}, {"wrong", 1, false}, {"wrong", 0, true}, {"words", 212, false}, {"cost", 0.1, false}, {"cost", 0, true}, {"ratio", 0, false}, {"ratio", 1, false}, {"unknown", 1, false}} {
		want[fmt.Sprintf("%s %g", c.metric, c.value)] = c.best
		ids, scores = append(ids, fmt.Sprint("i", len(ids))), append(scores, eval.Score{Metric: c.metric, Num: c.value, Den: 1})
	}
	files, _, err := EEE(dir, r, scoredOf(ids, scores))
	if err != nil {
		t.Fatal(err)
	}
	lines, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(lines)) {
		var x struct {
			Name       string `json:"evaluation_name"`
			Result     string `json:"evaluation_result_id"`
			Evaluation struct {
				Score   float64
				Correct bool `json:"is_correct"`
			}
		}
		if err := json.Unmarshal([]byte(line), &x); err != nil {
			t.Fatal(err)
		}
		key := fmt.Sprintf("%s %g", x.Name, x.Evaluation.Score)
		if best, ok := want[key]; !ok || best != x.Evaluation.Correct || x.Result != x.Name {
			t.Errorf("%s is correct: %v, of the result %q", key, x.Evaluation.Correct, x.Result)
		}
		delete(want, key)
	}
	if len(want) > 0 {
		t.Errorf("no instances of %v", want)
	}
	aggregate, err := os.ReadFile(files[1])
	if err != nil || strings.Count(string(aggregate), `"confidence_level": 0.9,`) != len(r.Metrics) || !strings.Contains(string(aggregate), `"evaluation_result_id": "stars"`) {
		t.Errorf("%s, %v; want intervals of 90 %%, and ids of results", aggregate, err)
	}
	if n := strings.Count(string(aggregate), `"lower_is_better": true`); n != 2 || strings.Count(string(aggregate), `"direction": "none"`) != 1 {
		t.Errorf("%s: %d metrics are better if lower, want wrong and cost; ratio has no direction", aggregate, n)
	}
}

// What a trial took is left out where it is not known: of an answer from a file, and without a call
// unless its scores say it.
func TestWhatIsNotKnownIsLeftOut(t *testing.T) {
	for _, c := range []struct {
		name   string
		taken  eval.Taken
		scores []eval.Score
		known  bool
	}{
		{"an answer from a file", eval.Taken{Calls: 1, Given: true, CostUSD: math.NaN(), Seconds: 0.00005}, nil, false},
		{"no call", eval.Taken{}, nil, false},
		{"calls", eval.Taken{Calls: 2, CostUSD: 0.5, Seconds: 1.25, TokensIn: 10, TokensOut: 20}, nil, true},
		{"scores", eval.Taken{}, []eval.Score{{Metric: "cost", Num: 0.5, Den: 1}, {Metric: "latency", Num: 1.25, Den: 1}, {Metric: "tokens_in", Num: 10, Den: 1}, {Metric: "tokens_out", Num: 20, Den: 1}}, true},
		{"scores that are not known", eval.Taken{}, []eval.Score{{Metric: "latency", Den: 1, Unscored: "no score in the data"}, {Metric: "tokens_in", Den: 1, Unscored: "no score in the data"}}, false},
	} {
		dir, r := t.TempDir(), Run{ID: "r", Study: "s", Arms: []Arm{{ID: "a", Model: "p/m"}}, Place: func(eval.Trial) int { return 0 }}
		one := func(yield func(eval.ScoredTrial, error) bool) {
			var x eval.ScoredTrial
			x.Trial, x.Outcome.Kind, x.Taken = eval.Trial{Item: "i", Arm: "a", Replicate: 1}, eval.OK, c.taken
			x.Scores, x.Show = append([]eval.Score{{Metric: "right", Num: 1, Den: 1}}, c.scores...), func() (eval.Exhibit, error) { return eval.Exhibit{}, nil }
			yield(x, nil)
		}
		files, _, err := EEE(dir, r, one)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		logs, err := Inspect(dir, r, one)
		if err != nil {
			t.Fatal(err)
		}
		z, err := zip.OpenReader(logs[0])
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		log := ""
		for _, f := range z.File {
			m, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(m)
			if log += string(text); err != nil {
				t.Fatal(err)
			}
		}
		for _, x := range []struct{ text, want, never string }{
			{string(lines), `"latency_ms":1250},`, "latency_ms"},
			{string(lines), `"token_usage":{"input_tokens":10,"output_tokens":20,"total_tokens":30}`, "tokens"},
			{log, `"model_usage":{"p/m":{"input_tokens":10,"output_tokens":20,"total_cost":0.5,"total_tokens":30}}`, "tokens\""},
			{log, `"model_usage":{"p/m":{"input_tokens":10,"output_tokens":20,"total_tokens":30}}`, "model_usage\":{\"p"},
			{log, `"working_time":1.25`, "_time\""},
		} {
			for _, name := range []string{"cost", "latency", "tokens_in", "tokens_out"} { // a score of the name is no usage
				x.text = strings.ReplaceAll(x.text, `"`+name+`"`, "")
			}
			if c.known != strings.Contains(x.text, x.want) || !c.known && strings.Contains(x.text, x.never) {
				t.Errorf("%s: known is %v of %s in %s", c.name, c.known, x.want, x.text)
			}
		}
	}
}

// An arm without a result, all of whose trials failed or are not done, has empty lists: readers
// take no null for them.
func TestNoResults(t *testing.T) {
	dir := t.TempDir()
	r := Run{ID: "r", Study: "s", Arms: []Arm{{ID: "a"}}, Metrics: []eval.Metric{{Name: "right", Max: 1, HigherIsBetter: true}},
		Estimate: func(string, string) (eval.Measured, bool) { return eval.Measured{Value: eval.Number(math.NaN())}, true }}
	none := func(func(eval.ScoredTrial, error) bool) {}
	files, _, err := EEE(dir, r, none)
	if err != nil {
		t.Fatal(err)
	}
	aggregate, err := os.ReadFile(files[1])
	if err != nil || strings.Contains(string(aggregate), "null") {
		t.Errorf("%s, %v", aggregate, err)
	}
	logs, err := Inspect(dir, r, none)
	if err != nil {
		t.Fatal(err)
	}
	z, err := zip.OpenReader(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for _, f := range z.File {
		m, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(m); err != nil || strings.Contains(string(text), "null") {
			t.Errorf("%s: %s, %v", f.Name, text, err)
		}
	}
}

// scoredOf yields a trial of arm a for each id, with its score if there are scores.
func scoredOf(ids []string, scores []eval.Score) Trials {
	return func(yield func(eval.ScoredTrial, error) bool) {
		for i, id := range ids {
			var x eval.ScoredTrial
			x.Trial, x.Outcome.Kind = eval.Trial{Item: id, Arm: "a", Replicate: 1}, eval.OK
			x.Show = func() (eval.Exhibit, error) { return eval.Exhibit{}, nil }
			if scores != nil {
				x.Scores = scores[i : i+1]
			}
			if !yield(x, nil) {
				return
			}
		}
	}
}

// Inspect finds a sample by the name of its member, which has the id as it is. That of an id with
// which a member would leave the folder, where somebody unpacks the log, has another name.
func TestInspectFindsSamples(t *testing.T) {
	ids := []string{"F_001", "a b", "a/b", "日本", "../a", "/etc/a", `..\a`}
	logs, err := Inspect(t.TempDir(), Run{ID: "r", Study: "s", Arms: []Arm{{ID: "a"}}}, scoredOf(ids, nil))
	if err != nil {
		t.Fatal(err)
	}
	z, err := zip.OpenReader(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for _, f := range z.File {
		if strings.Contains(f.Name, "/../") || strings.Contains(f.Name, "//") || strings.Contains(f.Name, `\`) {
			t.Errorf("member %s", f.Name)
		}
	}
	for _, id := range ids[:4] {
		name := "samples/" + id + "_epoch_1.json"
		if !slices.ContainsFunc(z.File, func(f *zip.File) bool { return f.Name == name && !f.NonUTF8 }) {
			t.Errorf("no member %s", name)
		}
	}
}

// A log of long answers takes no more memory than one of few: their summaries are short, and not
// kept in memory.
func TestInspectIsFlat(t *testing.T) {
	dir, r := t.TempDir(), Run{ID: "r", Study: "s", Arms: []Arm{{ID: "a"}}}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	const size, n = 1 << 18, 40
	var few, many uint64
	logs, err := Inspect(dir, r, func(yield func(eval.ScoredTrial, error) bool) {
		for i := range n {
			var x eval.ScoredTrial
			x.Trial, x.Outcome.Kind, x.Outcome.Data = eval.Trial{Item: fmt.Sprint("i", i), Arm: "a", Replicate: 1}, eval.OK, bytes.Repeat([]byte("a"), size)
			x.Scores = []eval.Score{{Metric: "right", Num: 1, Den: 1}}
			x.Show = func() (eval.Exhibit, error) {
				return eval.Exhibit{Lead: strings.Repeat("q", size), Facts: []eval.Level{{Name: "f", Value: strings.Repeat("v", size)}}}, nil
			}
			if i == 4 {
				few = heap()
			}
			many = heap()
			if !yield(x, nil) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if many > few+10*size {
		t.Errorf("%d trials take %d bytes, 5 take %d", n, many, few)
	}
	z, err := zip.OpenReader(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	f, err := z.Open("summaries.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []struct {
		ID, Input string
		Metadata  map[string]string
		Scores    map[string]struct{ Answer string }
	}
	if err := json.NewDecoder(f).Decode(&list); err != nil || len(list) != n {
		t.Fatal(len(list), err)
	}
	if s := list[n-1]; s.ID != "i39" || len(s.Input) > 6000 || len(s.Metadata["f"]) > 1100 || len(s.Scores["right"].Answer) > 1100 || s.Scores["right"].Answer == "" {
		t.Errorf("the summary of %s has an input of %d bytes, a fact of %d, an answer of %d", s.ID, len(s.Input), len(s.Metadata["f"]), len(s.Scores["right"].Answer))
	}
}
