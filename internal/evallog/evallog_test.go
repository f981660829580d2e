package evallog

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/encoding/unicode"
)

var update = flag.Bool("update", false, "rewrite the golden studies")

// cases are the files of each format, in the order that they are imported in.
var cases = []struct {
	name, format string
	files        []string
}{
	{"inspect-eval", "inspect", []string{"inspect-0.3.285/old.eval", "inspect-0.3.285/new.eval"}},
	{"inspect-json", "inspect", []string{"inspect-0.3.285/old.json", "inspect-0.3.285/new.json"}},
	{"inspect-same", "inspect", []string{"inspect-0.3.285/old.json", "inspect-0.3.285/old.eval"}},
	{"lm-eval", "lm-eval", []string{"lm-eval-0.4.13/dummy1/samples_sums_2026-11-26T19-10-01.105301.jsonl", "lm-eval-0.4.13/dummy2/samples_sums_2026-11-26T19-10-18.726801.jsonl"}},
	{"lm-eval-tasks", "lm-eval", []string{"lm-eval-0.4.13/dummy1/samples_sums_2026-11-26T19-10-01.105301.jsonl", "lm-eval-0.4.13/dummy1/samples_words_2026-11-26T19-10-01.105301.jsonl"}},
	{"lm-eval-perplexity", "lm-eval", []string{"lm-eval-0.4.13/lam1/samples_lam_2026-11-30T20-21-25.248746.jsonl", "lm-eval-0.4.13/lam2/samples_lam_2026-11-30T20-22-26.362186.jsonl"}},
	{"promptfoo-json", "promptfoo", []string{"promptfoo-0.121.20/results.json"}},
	{"promptfoo-jsonl", "promptfoo", []string{"promptfoo-0.121.20/results.jsonl"}},
	{"promptfoo-judge-json", "promptfoo", []string{"promptfoo-0.123.1/results.json"}},
	{"promptfoo-judge-jsonl", "promptfoo", []string{"promptfoo-0.123.1/results.jsonl"}},
	{"deepeval", "deepeval", []string{"deepeval-4.3.1/old.json", "deepeval-4.3.1/new.json"}},
	{"eee", "eee", []string{"eee-0.3/small.json", "eee-0.3/small_samples.jsonl", "eee-0.3/large_samples.jsonl"}},
	{"eee-inspect", "eee", []string{"eee-0.3.0/old.json", "eee-0.3.0/old_samples.jsonl", "eee-0.3.0/new.json", "eee-0.3.0/new_samples.jsonl"}},
	{"nemo", "nemo", []string{"nemo/base", "nemo/candidate/results.jsonl"}},
	{"nemo-errors", "nemo", []string{"nemo-0.3.0/small", "nemo-0.3.0/large"}},
	{"harbor", "harbor", []string{"harbor/job-a", "harbor/job-b"}},
}

func format(t testing.TB, name string) Format {
	t.Helper()
	i := slices.IndexFunc(formats, func(f Format) bool { return f.Name == name })
	if i < 0 {
		t.Fatalf("no format %s", name)
	}
	return formats[i]
}

// TestGolden: what each format becomes, with what the import says. The scores can be checked
// by hand in testdata/SOURCE.md.
func TestGolden(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var files []string
			for _, f := range c.files {
				files = append(files, filepath.Join("testdata", filepath.FromSlash(f)))
			}
			dir := filepath.Join(t.TempDir(), "study")
			report, err := format(t, c.format).into(files, dir)
			if err != nil {
				t.Fatal(err)
			}
			said := strings.ReplaceAll(fmt.Sprint(report), dir, "study")
			for name, got := range map[string]string{"study.yaml": read(t, dir, "study.yaml"), "scores.jsonl": read(t, dir, "scores.jsonl"), "report.txt": filepath.ToSlash(said)} {
				golden := filepath.Join("testdata", "golden", c.name, name)
				if *update {
					if err := os.MkdirAll(filepath.Dir(golden), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				if d := cmp.Diff(read(t, filepath.Dir(golden), name), got); d != "" {
					t.Errorf("%s (-golden +now)\n%s", name, d)
				}
			}
		})
	}
	for name, lacks := range map[string]int{"promptfoo": 0, "promptfoo-judge": 1} { // lines of .json
		lines := read(t, "testdata/golden/"+name+"-jsonl", "scores.jsonl")
		n := strings.Count(lines, "\n") - lacks
		for line := range strings.Lines(read(t, "testdata/golden/"+name+"-json", "scores.jsonl")) {
			if n--; !strings.Contains(lines, line) {
				t.Errorf("the two formats of promptfoo give other scores: %s", line)
			}
		}
		if n != 0 {
			t.Errorf("%s.json lacks %d lines", name, n)
		}
	}
}

func read(t testing.TB, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// zipped is a zip with members.
func zipped(members map[string]string) string {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range sortedKeys(members) {
		w, err := z.Create(name)
		if err == nil {
			_, err = io.WriteString(w, members[name])
		}
		if err != nil {
			panic(err)
		}
	}
	_ = z.Close()
	return b.String()
}

// utf16le is what PowerShell writes with >.
func utf16le(s string) string {
	encoded, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String(s)
	if err != nil {
		panic(err)
	}
	return encoded
}

// TestErrors: what cannot be read is refused with its place, and nothing is written.
func TestErrors(t *testing.T) {
	for _, c := range []struct{ name, format, file, content, want string }{
		{"a version of Inspect", "inspect", "a.eval", zipped(map[string]string{"header.json": `{"version": 3, "status": "success", "eval": {"task": "t", "model": "m"}}`}), "a.eval: version 3 of the log format: want version 2"},
		{"another zip", "inspect", "a.eval", zipped(map[string]string{"x": ""}), "no log of Inspect: the zip has neither header.json"},
		{"a zip that is cut off", "inspect", "a.eval", zipped(map[string]string{"header.json": "{}"})[:30], "a.eval: zip: "},
		{"no JSON", "inspect", "a.json", "hello", "a.json: want a JSON object"},
		{"a broken sample", "inspect", "a.eval", zipped(map[string]string{"header.json": `{"version": 2, "eval": {"task": "t", "model": "m"}}`, "samples/1_epoch_1.json": `{"id": `}), "samples/1_epoch_1.json: "},
		{"chunked samples", "inspect", "a.eval", zipped(map[string]string{"header.json": `{"version": 2, "eval": {"task": "t", "model": "m"}}`, "samples/1_epoch_1/metadata.json": `{}`}), "samples/1_epoch_1/metadata.json: the samples of the log are chunked"},
		{"no samples", "inspect", "a.eval", zipped(map[string]string{"header.json": `{"version": 2, "eval": {"task": "t", "model": "m"}}`}), "no samples found"},
		{"a name of lm-eval", "lm-eval", "a.jsonl", "{}", "want a file samples_TASK_DATE.jsonl"},
		{"a sample of lm-eval", "lm-eval", "samples_t_1.jsonl", `{"doc_id": 1}`, "samples_t_1.jsonl:1: unknown version of a sample"},
		{"a version of promptfoo", "promptfoo", "a.json", `{"results": {"version": 9, "results": []}}`, "version 9 of the results: want version 3"},
		{"results without a version", "promptfoo", "a.json", `{"results": []}`, "unknown version of the results"},
		{"a line of promptfoo", "promptfoo", "a.jsonl", "{}\n", "a.jsonl:1: unknown version of a result"},
		{"a run of DeepEval", "deepeval", "a.json", `{"cases": []}`, "unknown version of a test run"},
		{"a version of EEE", "eee", "a.jsonl", `{"schema_version": "1.0"}`, `a.jsonl:1: version "1.0" of the schema: want 0.2 or 0.3`},
		{"a record of NeMo", "nemo", "a.jsonl", `{"reward": 1}`, "unknown version of a record"},
		{"no job of Harbor", "harbor", "a", "", "no trials of Harbor"},
		{"an item twice", "nemo", "a.jsonl", "{\"problem_idx\": 1, \"reward\": NaN}\n", ""},
		{"lines with a byte order mark", "nemo", "a.jsonl", "\ufeff{\"problem_idx\": 1, \"reward\": 1}\n", ""},
		{"an object with a byte order mark", "inspect", "a.json", "\ufeff" + `{"version": 2, "eval": {"task": "t", "model": "m"}, "samples": [{"id": "1", "scores": {"s": {"value": 1}}}]}`, ""},
		{"lines in UTF-16", "nemo", "a.jsonl", utf16le("{\"problem_idx\": 1, \"reward\": 1}\n"), ""},
		{"an object in UTF-16", "inspect", "a.json", utf16le(`{"version": 2, "eval": {"task": "t", "model": "m"}, "samples": [{"id": "1", "input": "é", "scores": {"s": {"value": NaN}}}]}`), ""},
		{"a mark within", "nemo", "a.jsonl", "{\ufeff\"problem_idx\": 1}\n", "invalid character"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, c.file)
			if err := os.WriteFile(file, []byte(c.content), 0o644); err != nil {
				t.Fatal(err)
			}
			to := filepath.Join(dir, "study")
			_, err := format(t, c.format).into([]string{file}, to)
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v\nwant %s", err, c.want)
			}
			if left, _ := filepath.Glob(filepath.Join(to, "*")); len(left) > 0 {
				t.Errorf("%v is left", left)
			}
		})
	}
}

// TestFinite: words that JSON does not have are null outside of strings alone.
func TestFinite(t *testing.T) {
	got, err := io.ReadAll(finite(strings.NewReader(`{"a": NaN, "NaN \" Infinity": [Infinity, -Infinity, -1, "-Infinity\\"], "b": NaN}`)))
	if want := `{"a": null, "NaN \" Infinity": [null, null, -1, "-Infinity\\"], "b": null}`; err != nil || string(got) != want {
		t.Errorf("%s, %v\nwant %s", got, err, want)
	}
}

// FuzzRead: no file makes a reader fail but with an error.
func FuzzRead(f *testing.F) {
	for i, c := range cases {
		if data, err := os.ReadFile(filepath.Join("testdata", filepath.FromSlash(c.files[len(c.files)-1]))); err == nil && len(data) < 200_000 {
			f.Add(byte(i), data)
		}
	}
	names := map[string]string{"inspect": "a.eval", "lm-eval": "samples_t_1.jsonl", "promptfoo": "a.json", "deepeval": "a.json", "eee": "a.jsonl", "nemo": "a.jsonl", "harbor": "result.json"}
	f.Fuzz(func(t *testing.T, i byte, data []byte) {
		of := cases[int(i)%len(cases)].format
		dir := t.TempDir()
		path := filepath.Join(dir, "job", "t", names[of])
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		if of == "harbor" {
			path = filepath.Join(dir, "job")
		}
		_, _ = format(t, of).into([]string{path}, filepath.Join(dir, "study"))
	})
}

// inspectLog writes a log of n samples, each of some 8 KB as real ones are.
func inspectLog(tb testing.TB, n int) string {
	path := filepath.Join(tb.TempDir(), "big.eval")
	f, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	z := zip.NewWriter(f)
	put := func(name string, v any) {
		w, err := z.Create(name)
		if err == nil {
			err = json.NewEncoder(w).Encode(v)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	events := strings.Repeat("event ", 1300)
	for i := range n {
		put(fmt.Sprintf("samples/q%d_epoch_1.json", i), map[string]any{"id": fmt.Sprintf("q%d", i), "epoch": 1, "input": "What?", "target": "That", "output": map[string]any{"completion": "This"},
			"scores": map[string]any{"match": map[string]any{"value": "C"}}, "events": events})
	}
	put("header.json", map[string]any{"version": 2, "status": "success", "eval": map[string]any{"task": "t", "model": "m"}})
	if err := z.Close(); err != nil {
		tb.Fatal(err)
	}
	return path
}

// TestMemoryIsFlat: an import holds no sample but the one that it reads.
func TestMemoryIsFlat(t *testing.T) {
	held := func(n int) uint64 {
		path, most := inspectLog(t, n), uint64(0)
		to := newImport("inspect")
		to.lines = json.NewEncoder(writerFunc(func(p []byte) (int, error) {
			if to.Samples%200 == 0 {
				runtime.GC()
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				most = max(most, m.HeapAlloc)
			}
			return len(p), nil
		}))
		if err := readInspect([]string{path}, to); err != nil {
			t.Fatal(err)
		}
		return most
	}
	few, many := held(200), held(2000)
	if grown := int64(many) - int64(few); grown > 1800*1000 { // less than 1 KB a sample: its id and its place in the zip
		t.Errorf("2,000 samples hold %d KB, 200 hold %d KB", many>>10, few>>10)
	}
}

type writerFunc func([]byte) (int, error)

func (w writerFunc) Write(p []byte) (int, error) { return w(p) }

func BenchmarkImportInspect(b *testing.B) {
	path := inspectLog(b, 5000)
	for b.Loop() {
		if _, err := format(b, "inspect").into([]string{path}, filepath.Join(b.TempDir(), "s")); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*5000/b.Elapsed().Seconds(), "samples/s")
}

// TestFilesOfOneArm: what several files, or parts of one, have in common is no replicate of
// the same arm, and several scores of an answer are one sample.
func TestFilesOfOneArm(t *testing.T) {
	type file struct{ name, content string }
	prompt := func(index int, text string) string {
		return fmt.Sprintf(`{"promptIdx": %d, "prompt": {"raw": %q}, "provider": {"id": "p"}, "vars": {"q": "1"}, "success": true, "score": 1}`+"\n", index, text)
	}
	record := func(sample, result string, score float64) string {
		return fmt.Sprintf(`{"schema_version": "0.3.0", "model_id": "m", "evaluation_name": "e", "evaluation_result_id": %q, "sample_id": %q, "evaluation": {"score": %v}}`+"\n", result, sample, score)
	}
	failed := func(sample string) string {
		return strings.Replace(record(sample, "", 0), `"evaluation":`, `"error": "overloaded", "evaluation":`, 1)
	}
	log := func(model string) string {
		return fmt.Sprintf(`{"version": 2, "status": "success", "eval": {"task": "t", "model": %q}, "samples": [{"id": "1", "epoch": 1, "scores": {"s": {"value": 1}}}]}`, model)
	}
	const trial = `{"task_name": "t", "agent_info": {"name": "a"}, "agent_execution": {"started_at": "2026-01-01T10:00:00.5", "finished_at": "2026-01-01T10:00:02"}, "verifier_result": {"rewards": {"reward": 1}}}`
	doc := func(id int, hash string) string {
		return fmt.Sprintf(`{"doc_id": %d, "doc_hash": %q, "doc": "x", "target": "y", "filter": "none", "metrics": ["acc"], "acc": 1}`+"\n", id, hash)
	}
	for _, c := range []struct {
		name, format string
		files        []file
		from         []string // folders; the files if empty
		want         []string // arm, item, replicate and number of scores of each row
		err          string
	}{
		{name: "other prompts in another file", format: "promptfoo", files: []file{{"a.jsonl", prompt(0, "One")}, {"b.jsonl", prompt(0, "Two")}}, want: []string{"One@p t 1 2", "Two@p t 1 2"}},
		{name: "the same prompt in another file", format: "promptfoo", files: []file{{"a.jsonl", prompt(0, "One")}, {"b.jsonl", prompt(0, "One")}}, want: []string{"One@p t 1 2", "One@p-2 t 1 2"}},
		{name: "prompts that begin alike", format: "promptfoo", files: []file{{"a.jsonl", prompt(0, "You are kind.\nAdd.") + prompt(1, "You are kind.\nSubtract.") + prompt(0, "You are kind.\nAdd.")}},
			want: []string{"You are kind.@p t 1 2", "You are kind.@p-2 t 1 2", "You are kind.@p t 2 2"}},
		{name: "a model twice", format: "eee", files: []file{{"a.jsonl", record("1", "", 1)}, {"b.jsonl", record("1", "", 1)}}, want: []string{"m 1 1 1", "m-2 1 1 1"}},
		{name: "two metrics of an answer", format: "eee", files: []file{
			{"a.json", `{"schema_version": "0.3.0", "evaluation_results": [{"evaluation_result_id": "r1", "evaluation_name": "e", "metric_config": {"metric_name": "exact"}}, {"evaluation_result_id": "r2", "evaluation_name": "e", "metric_config": {"metric_name": "f1"}}]}`},
			{"a.jsonl", record("1", "r1", 1) + record("2", "r1", 0) + record("2", "r2", 0.5) + record("1", "r2", 0.25) + record("1", "r1", 0)}},
			want: []string{"m 1 1 2", "m 2 1 2", "m 1 2 1"}},
		{name: "two metrics without names", format: "eee", files: []file{{"a.jsonl", record("1", "r1", 1) + record("1", "r2", 1)}}, err: "a.jsonl:1: e has several results, and no aggregate says which metric"},
		{name: "a failed sample before and behind the others", format: "eee", files: []file{
			{"a.json", `{"schema_version": "0.3.0", "evaluation_results": [{"evaluation_result_id": "r1", "evaluation_name": "e", "metric_config": {"metric_name": "exact"}}, {"evaluation_result_id": "r2", "evaluation_name": "e", "metric_config": {"metric_name": "f1"}}]}`},
			{"a.jsonl", failed("0") + failed("1") + record("1", "r1", 1) + record("1", "r2", 0.5) + failed("2")}},
			want: []string{"m 0 1 0", "m 1 1 0", "m 1 2 2", "m 2 1 0"}},
		{name: "a record of no result", format: "eee", files: []file{
			{"a.json", `{"schema_version": "0.3.0", "evaluation_results": [{"evaluation_result_id": "r1", "evaluation_name": "e"}]}`},
			{"a.jsonl", record("1", "r1", 1) + record("2", "", 0)}}, err: "a.jsonl:2: e has results with an evaluation_result_id, and this record has none"},
		{name: "an id of two metrics", format: "eee", files: []file{
			{"a.json", `{"schema_version": "0.3.0", "evaluation_results": [{"evaluation_result_id": "r1", "evaluation_name": "e", "metric_config": {"metric_name": "exact"}}]}`},
			{"b.json", `{"schema_version": "0.3.0", "evaluation_results": [{"evaluation_result_id": "r1", "evaluation_name": "e", "metric_config": {"metric_name": "f1"}}]}`},
			{"a.jsonl", record("1", "r1", 1)}}, err: `a.jsonl:1: the aggregates name several metrics for the result "r1" of e`},
		{name: "other results in another file", format: "eee", files: []file{{"a.jsonl", record("1", "r1", 1)}, {"b.jsonl", record("1", "r2", 1)}}, err: "a.jsonl:1: e has several results, and no aggregate says which metric"},
		{name: "jobs of one name", format: "harbor", files: []file{{"x/job/t/result.json", trial}, {"y/job/t/result.json", trial}, {"z/job/t/result.json", trial}}, from: []string{"x/job", "y/job", "z/job"},
			want: []string{"a t 1 1", "a-2 t 1 1", "a-3 t 1 1"}},
		{name: "a job with the name of a pattern", format: "harbor", files: []file{{"j[ab]/t/result.json", trial}, {"ja/t/result.json", strings.Replace(trial, `"t"`, `"u"`, 1)}, {"j[ab]/notes.txt", "x"}}, from: []string{"j[ab]"}, want: []string{"a t 1 1"}},
		{name: "a trajectory of another version", format: "harbor", files: []file{{"job/t/result.json", trial}, {"job/t/agent/trajectory.json", `{"schema_version": "ATIF-v2.0"}`}}, from: []string{"job"}, err: `trajectory.json: unknown version "ATIF-v2.0"`},
		{name: "a model that has the name of a repetition", format: "inspect", files: []file{{"a.json", log("m")}, {"b.json", log("m")}, {"c.json", log("m-2")}}, want: []string{"m 1 1 1", "m-2 1 1 1", "m-2-2 1 1 1"}},
		{name: "equal documents", format: "lm-eval", files: []file{{"samples_t_1.jsonl", doc(1, "h") + doc(2, "h") + doc(3, "i")}}, want: []string{"DIR h 1 1", "DIR h-2 1 1", "DIR i 1 1"}},
		{name: "a file twice", format: "inspect", files: []file{{"a.json", log("m")}}, from: []string{"a.json", "./a.json"}, err: "a.json is given twice, and its samples would count twice"},
		{name: "damaged results", format: "lm-eval", files: []file{{"samples_t_1.jsonl", doc(1, "h")}, {"results_1.json", "{"}}, from: []string{"samples_t_1.jsonl"}, err: "results_1.json: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			var files []string
			for _, f := range c.files {
				path := filepath.Join(dir, filepath.FromSlash(f.name))
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(f.content), 0o644); err != nil {
					t.Fatal(err)
				}
				files = append(files, path)
			}
			if c.from != nil {
				files = nil
				for _, f := range c.from {
					files = append(files, filepath.Join(dir, filepath.FromSlash(f)))
				}
			}
			to := filepath.Join(dir, "study")
			_, err := format(t, c.format).into(files, to)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("%v\nwant %s", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for line := range strings.Lines(read(t, to, "scores.jsonl")) {
				var row map[string]any
				if err := json.Unmarshal([]byte(line), &row); err != nil {
					t.Fatal(err)
				}
				item, _, _ := strings.Cut(row["item"].(string), "-")
				if c.format == "lm-eval" {
					item = row["item"].(string)
				}
				scores := 0
				for _, name := range []string{"pass", "score", "e", "e_exact", "e_f1", "reward", "s", "acc"} {
					if _, ok := row[name].(float64); ok {
						scores++
					}
				}
				got = append(got, strings.Replace(fmt.Sprintf("%v %s %v %d", row["arm"], item, row["replicate"], scores), filepath.Base(dir), "DIR", 1))
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

// TestColumnsStayApart: what a sample says of itself is neither a score nor a stratum, and two
// scores of a name are two.
func TestColumnsStayApart(t *testing.T) {
	log := func(task, samples string) string {
		return fmt.Sprintf(`{"version": 2, "status": "success", "eval": {"task": %q, "model": "m"}, "samples": [%s]}`, task, samples)
	}
	roles := func(roles, samples string) string {
		return strings.Replace(log("t", samples), `"model": "m"`, `"model": "m", "model_roles": `+roles, 1)
	}
	scorers := func(scorers, samples string) string {
		return strings.Replace(log("t", samples), `"model": "m"`, `"model": "m", "scorers": [`+scorers+`]`, 1)
	}
	const used = `{"id": "1", "epoch": 1, "scores": {"s": {"value": 1}}, "model_usage": {"m": {"input_tokens": 10, "output_tokens": 5, "total_cost": 0.25}}, "role_usage": {}}`
	const scored = `{"id": "1", "epoch": 1, "metadata": {"match": 1, "task": "algebra", "meta match": 2}, "scores": {"match": {"value": "I"}, "task": {"value": 1}, "meta_match": {"value": 0.5}}}`
	const other = `{"id": "2", "epoch": 1, "metadata": {"match": 1}, "scores": {"other": {"value": 1}}}`
	for _, c := range []struct {
		name, format string
		files        map[string]string
		want         []map[string]any
	}{
		{"metadata", "inspect", map[string]string{"a.json": log("t", scored+","+other)}, []map[string]any{
			{"item": "1", "match": 0.0, "task_score": 1.0, "score_meta_match": 0.5, "meta_match": "1", "meta_task": "algebra", "meta_fact_meta_match": "2"},
			{"item": "2", "other": 1.0, "meta_match": "1"}}},
		{"several tasks", "inspect", map[string]string{"a.json": log("t", scored), "b.json": log("u", other)}, []map[string]any{
			{"item": "t/1", "task": "t", "match": 0.0, "task_score": 1.0, "score_meta_match": 0.5, "meta_match": "1", "meta_task": "algebra", "meta_fact_meta_match": "2"},
			{"item": "u/2", "task": "u", "other": 1.0, "meta_match": "1"}}},
		{"numbers of metadata", "inspect", map[string]string{"a.json": log("t", `{"id": "1", "epoch": 1, "scores": {"s": {"value": 1}}, "metadata": {"day": 20240102, "id": 9007199254740993, "right": true, "none": null, "list": [1]}}`)}, []map[string]any{
			{"item": "1", "s": 1.0, "meta_day": "20240102", "meta_id": "9007199254740993", "meta_right": "true"}}},
		{"ids of documents", "lm-eval", map[string]string{"samples_t_1.jsonl": `{"doc_id": 12345678, "doc_hash": "h", "doc": "x", "target": "y", "filter": "none", "metrics": ["acc"], "acc": 1}`}, []map[string]any{
			{"item": "h", "acc": 1.0, "expected": "y", "meta_doc_id": "12345678"}}},
		{"scorers that do not apply", "inspect", map[string]string{"a.json": log("t", `{"id": "1", "scores": {"x": {"value": 1}, "y": {"value": "80%"}, "unscored_x": {"value": 1}}}, {"id": "2", "scores": {"x": {"value": null}}}`)}, []map[string]any{
			{"item": "1", "x": 1.0, "y": nil, "unscored_y": "the score is no number: 80%", "score_unscored_x": 1.0}, {"item": "2", "x": nil, "unscored_x": "the score is not a number"}}},
		{"models with and without a price", "inspect", map[string]string{"a.json": roles(`{"first": {"model": "a"}, "second": [{"model": "b"}], "grader": {"model": "c"}}`, `{"id": "1", "epoch": 1, "scores": {"s": {"value": 1}}, "model_usage": {"a": {"total_cost": 0.25}, "b": {"total_cost": 0.5}}},
			{"id": "2", "epoch": 1, "scores": {"s": {"value": 1}}, "model_usage": {"a": {"total_cost": 0.25}, "b": {}}}`)}, []map[string]any{
			{"item": "1", "s": 1.0, "cost": 0.75, "tokens_in": 0.0, "tokens_out": 0.0}, {"item": "2", "s": 1.0, "tokens_in": 0.0, "tokens_out": 0.0}}},
		{"yes and no", "inspect", map[string]string{"a.json": log("t", `{"id": "1", "scores": {"s": {"value": "yes"}}}, {"id": "2", "scores": {"s": {"value": "No"}}}`)}, []map[string]any{{"item": "1", "s": 1.0}, {"item": "2", "s": 0.0}}},
		{"a grader of its own", "inspect", map[string]string{"a.json": scorers(`{"name": "s", "options": {"judge": "g"}}`, `{"id": "1", "epoch": 1, "scores": {"s": {"value": 1}}, "model_usage": {"m": {"input_tokens": 10, "output_tokens": 5, "total_cost": 0.25}, "g": {"input_tokens": 1000, "output_tokens": 100}}},
			{"id": "2", "epoch": 1, "scores": {"s": {"value": 1}}, "model_usage": {"g": {"input_tokens": 1000, "total_cost": 1}}}`)}, []map[string]any{
			{"item": "1", "s": 1.0, "cost": 0.25, "tokens_in": 10.0, "tokens_out": 5.0}, {"item": "2", "s": 1.0}}},
		{"a model that the log does not place", "inspect", map[string]string{"a.json": log("t", `{"id": "1", "epoch": 1, "scores": {"s": {"value": 1}}, "model_usage": {"m": {"input_tokens": 10, "output_tokens": 5, "total_cost": 0.25}, "x": {"input_tokens": 1000, "total_cost": 1}}},
			{"id": "2", "epoch": 1, "scores": {"s": {"value": 1}}, "model_usage": {"m": {"input_tokens": 10, "output_tokens": 5, "total_cost": 0.25}}}`)}, []map[string]any{
			{"item": "1", "s": 1.0}, {"item": "2", "s": 1.0, "cost": 0.25, "tokens_in": 10.0, "tokens_out": 5.0}}},
		{"a scorer asks the model of the log", "inspect", map[string]string{
			"a.json": scorers(`{"name": "model_graded_qa", "options": {"model": null}}`, used), "b.json": scorers(`{"name": "model_graded_qa", "options": {"model": ["g"]}}`, used), "c.json": scorers(`{"name": "model_graded_fact", "options": {"model": "m"}}`, used)}, []map[string]any{
			{"item": "1", "s": 1.0}, {"item": "1", "s": 1.0, "cost": 0.25, "tokens_in": 10.0, "tokens_out": 5.0}, {"item": "1", "s": 1.0}}},
		{"a model that grades too", "inspect", map[string]string{"a.json": roles(`{"grader": {"model": "m"}}`, `{"id": "1", "epoch": 1, "scores": {"s": {"value": 1}}, "model_usage": {"m": {"input_tokens": 1010, "output_tokens": 105, "total_tokens": 1115, "total_cost": 1.5}}, "role_usage": {"grader": {"input_tokens": 1000, "output_tokens": 100, "total_tokens": 1100, "total_cost": 1.25}}},
			{"id": "2", "epoch": 1, "scores": {"s": {"value": 1}}, "model_usage": {"m": {"input_tokens": 10, "output_tokens": 5, "total_cost": 0.25}}, "role_usage": {}},
			{"id": "3", "epoch": 1, "scores": {"s": {"value": 1}}, "model_usage": {"m": {"input_tokens": 1010, "output_tokens": 105, "total_cost": 1.5}}}`)}, []map[string]any{
			{"item": "1", "s": 1.0, "cost": 0.25, "tokens_in": 10.0, "tokens_out": 5.0}, {"item": "2", "s": 1.0, "cost": 0.25, "tokens_in": 10.0, "tokens_out": 5.0}, {"item": "3", "s": 1.0}}},
		{"two graders of one name", "inspect", map[string]string{"a.json": scorers(`{"name": "model_graded_qa", "options": {"model": "g"}}, {"name": "model_graded_qa", "options": {"model": "h"}}, {"name": "a"}`,
			`{"id": "1", "epoch": 1, "scores": {"a": {"value": 0.5}, "model_graded_qa": {"value": "C"}, "model_graded_qa1": {"value": "I"}}}`)}, []map[string]any{
			{"item": "1", "model_graded_qa": 1.0, "model_graded_qa1": 0.0, "a": 0.5}}},
		{"named scores", "promptfoo", map[string]string{"a.jsonl": `{"prompt": {"raw": "p"}, "provider": {"id": "x"}, "vars": {}, "success": true, "score": 1, "namedScores": {"score": 0.25, "pass": 0.5}}`}, []map[string]any{
			{"pass": 1.0, "score": 1.0, "pass_2": 0.5, "score_2": 0.25}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			var files []string
			for _, name := range slices.Sorted(maps.Keys(c.files)) {
				files = append(files, filepath.Join(dir, name))
				if err := os.WriteFile(files[len(files)-1], []byte(c.files[name]), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := format(t, c.format).into(files, filepath.Join(dir, "study")); err != nil {
				t.Fatal(err)
			}
			var got []map[string]any
			for line := range strings.Lines(read(t, filepath.Join(dir, "study"), "scores.jsonl")) {
				var row map[string]any
				if err := json.Unmarshal([]byte(line), &row); err != nil {
					t.Fatal(err)
				}
				for _, column := range []string{"arm", "replicate", "answer", "input"} {
					delete(row, column)
				}
				if c.format == "promptfoo" {
					delete(row, "item")
				}
				got = append(got, row)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

// TestMetricsWithoutSamples: of many evaluations in an aggregate the study has those that
// samples have.
func TestMetricsWithoutSamples(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"a.json":  `{"schema_version": "0.3.0", "evaluation_results": [{"evaluation_result_id": "A", "evaluation_name": "A", "metric_config": {"min_score": 0, "max_score": 1}}, {"evaluation_result_id": "B", "evaluation_name": "B", "metric_config": {"min_score": 0, "max_score": 1}}]}`,
		"a.jsonl": `{"schema_version": "0.3.0", "model_id": "m", "evaluation_name": "B", "evaluation_result_id": "B", "sample_id": "1", "evaluation": {"score": 1}}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	report, err := format(t, "eee").into([]string{filepath.Join(dir, "a.json"), filepath.Join(dir, "a.jsonl")}, filepath.Join(dir, "study"))
	if err != nil {
		t.Fatal(err)
	}
	if s := read(t, filepath.Join(dir, "study"), "study.yaml"); !strings.Contains(s, `primary: ["B"]`) || strings.Contains(s, `"A"`) {
		t.Error(s)
	}
	if want := `note: metric "A" is left out: no sample has it`; !strings.Contains(fmt.Sprint(report), want) {
		t.Errorf("%v\nwant %s", report, want)
	}
}

// TestPrimaryHasScores: a metric without any score decides nothing, and a trial of Harbor without
// a reward has none that others lack.
func TestPrimaryHasScores(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"job/a/result.json": `{"task_name": "a", "agent_info": {"name": "x"}, "verifier_result": null}`,
		"job/b/result.json": `{"task_name": "b", "agent_info": {"name": "x"}, "verifier_result": {"rewards": {"empty": null, "tests": 1}}}`,
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	report, err := format(t, "harbor").into([]string{filepath.Join(dir, "job")}, filepath.Join(dir, "study"))
	if err != nil {
		t.Fatal(err)
	}
	if s := read(t, filepath.Join(dir, "study"), "study.yaml"); !strings.Contains(s, `primary: ["tests"]`) || strings.Contains(s, `"reward"`) || !strings.Contains(s, `"empty"`) {
		t.Error(s)
	}
	if want := "\n1 failed sample: "; !strings.Contains(fmt.Sprint(report), want) {
		t.Errorf("%v\nwant %s", report, want)
	}
}

// TestMetadataLeftOut: the report names the metadata that have no column, once.
func TestMetadataLeftOut(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.json")
	sample := fmt.Sprintf(`{"id": 1, "scores": {"s": {"value": 1}}, "metadata": {"tags": ["a"], "short": "x", "long": %q}}`, strings.Repeat("x", 101))
	if err := os.WriteFile(file, []byte(fmt.Sprintf(`{"version": 2, "status": "success", "eval": {"task": "t", "model": "m"}, "samples": [%s, %s]}`, sample, sample)), 0o644); err != nil {
		t.Fatal(err)
	}
	report, err := format(t, "inspect").into([]string{file}, filepath.Join(t.TempDir(), "study"))
	if want := "note: metadata left out, lists, objects or texts above 100 bytes: long, tags\n"; err != nil || !strings.Contains(fmt.Sprint(report), want) {
		t.Errorf("%v, %v\nwant %s", report, err, want)
	}
}

// TestItemsAndReplicatesOfArms: a study has the highest replicate, whatever is missing below it,
// and an import says that arms lack items of others. Tasks that only have an arm's name in theirs,
// as those of an export have, are one.
func TestItemsAndReplicatesOfArms(t *testing.T) {
	log := func(model, task string, samples ...string) string {
		return fmt.Sprintf(`{"version": 2, "status": "success", "eval": {"model": %q, %s}, "samples": [%s]}`, model, task, strings.Join(samples, ","))
	}
	sample := func(id string, epoch int) string {
		return fmt.Sprintf(`{"id": %q, "epoch": %d, "scores": {"s": {"value": 1}}}`, id, epoch)
	}
	const lacks = "note: 4 of 8 pairs of an item and an arm have no sample, and count as failed trials: arms are compared by the items that both have; import the files of one task at a time"
	for _, c := range []struct{ name, a, b, study, note string }{
		{"gaps", log("m", `"task": "t"`, sample("1", 1), sample("1", 3), sample("2", 2)), log("n", `"task": "t"`, sample("1", 1), sample("2", 1)), "{replicates: 3}", ""},
		{"tasks", log("m", `"task": "t"`, sample("1", 1), sample("2", 1)), log("n", `"task": "u"`, sample("1", 1), sample("2", 1)), "{replicates: 1}", lacks},
		{"an export", log("m", `"task": "t/m", "task_display_name": "t"`, sample("1", 1)), log("n", `"task": "t/n", "task_display_name": "t"`, sample("1", 1)), "{replicates: 1}", ""},
	} {
		dir := t.TempDir()
		files := []string{filepath.Join(dir, "a.json"), filepath.Join(dir, "b.json")}
		for i, content := range []string{c.a, c.b} {
			if err := os.WriteFile(files[i], []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		report, err := format(t, "inspect").into(files, filepath.Join(dir, "study"))
		if err != nil {
			t.Fatal(err)
		}
		if s := read(t, filepath.Join(dir, "study"), "study.yaml"); !strings.Contains(s, "execution: "+c.study) {
			t.Errorf("%s: %s", c.name, s)
		}
		if said := fmt.Sprint(report); c.note == "" && strings.Contains(said, "note: ") || !strings.Contains(said, c.note) {
			t.Errorf("%s: %s", c.name, said)
		}
	}
}

// TestNotes: what an import had to decide, or had not got, is said, and what cannot be decided is
// refused; err and note are what is wanted of each.
func TestNotes(t *testing.T) {
	eee := func(model, id string) string {
		return fmt.Sprintf(`{"schema_version": "0.3.0", "model_id": %q, "evaluation_name": "e", "sample_id": %q, "sample_hash": "h", "evaluation": {"score": 1}}`+"\n", model, id)
	}
	aggregate := func(of, id, metric string) string {
		config := fmt.Sprintf(`{"metric_name": %q}`, metric)
		if metric == "F1" {
			config = fmt.Sprintf(`{"metric_name": "F1", "metric_id": "id.%s"}`, id)
		}
		return fmt.Sprintf(`{"schema_version": "0.3.0", "evaluation_id": %q, "evaluation_results": [{"evaluation_result_id": %q, "evaluation_name": "e", "metric_config": %s}]}`, of, id, config)
	}
	result := func(of, id string) string {
		return strings.Replace(eee(of, "1"), `"evaluation":`, fmt.Sprintf(`"evaluation_id": %q, "evaluation_result_id": %q, "evaluation":`, of, id), 1)
	}
	bias := func(scores ...string) string {
		var cases []string
		for i, s := range scores {
			cases = append(cases, fmt.Sprintf(`{"name": "c", "input": "%d", "inputTokenCount": 7, "outputTokenCount": null, "metricsData": [{"name": "Bias", "threshold": 0.5, %s}]}`, i, s))
		}
		return fmt.Sprintf(`{"testRunData": {"testCases": [%s]}}`, strings.Join(cases, ","))
	}
	log := func(model, samples string) string {
		return fmt.Sprintf(`{"version": 2, "status": "success", "eval": {"task": "t", "model": %q}, "samples": [%s]}`, model, samples)
	}
	const trial = `{"task_name": "t", "agent_info": {"name": "a"}, "verifier_result": {"rewards": {"reward": 1}}}`
	excepted := func(also string) string { return strings.TrimSuffix(trial, "}") + ", " + also + "}" }
	// older is a file of promptfoo 0.92 with a result, and one that is right.
	older := func(result string) string {
		const all = `"prompt": {"raw": "p"}, "provider": {"id": "x"}, "vars": {}`
		return fmt.Sprintf(`{"results": {"version": 3, "results": [{%s, %s}, {%[1]s, "success": true, "score": 0.25, "gradingResult": {"componentResults": [{}]}}]}}`, all, result)
	}
	const low, high, at, other = `"score": 0.2, "success": true`, `"score": 0.9, "success": true`, `"score": 0.5, "success": true`, `"score": 0.9, "success": false`
	for _, c := range []struct {
		name, format string
		files        []string          // or folders
		contents     map[string]string // of files
		note, err    string
		has, lacks   string // the study and its scores
	}{
		{name: "a hash of several samples", format: "eee", files: []string{"a.jsonl", "b.jsonl"}, contents: map[string]string{"a.jsonl": eee("m", "1") + eee("m", "2"), "b.jsonl": eee("n", "2")},
			note: "a.jsonl: some sample_hash belongs to several sample_ids: their items are told by the sample_id", has: `"arm":"n","e":1,"item":"2","meta_sample_id":"2","replicate":1`},
		{name: "lower is better", format: "deepeval", files: []string{"old.json", "new.json"}, contents: map[string]string{"old.json": bias(at, at), "new.json": bias(low, other)},
			note: `note: metric "Bias": lower is better, by its threshold`, has: `{name: "Bias", lower_is_better: true}`},
		{name: "higher is better", format: "deepeval", files: []string{"a.json"}, contents: map[string]string{"a.json": bias(high, `"score": 0.1, "success": false`, at)}, has: `"tokens_in":7}`, lacks: "lower_is_better"},
		{name: "neither is better", format: "deepeval", files: []string{"a.json"}, contents: map[string]string{"a.json": bias(high, other)},
			note: `a.json: success by metric "Bias" does not follow its threshold: higher is taken to be better`, lacks: "lower_is_better"},
		{name: "versions with other directions", format: "deepeval", files: []string{"a.json", "b.json"}, contents: map[string]string{"a.json": bias(low), "b.json": bias(high)}, err: `higher is better by metric "Bias" in one of `},
		{name: "targets that differ", format: "inspect", files: []string{"a.json", "b.json"}, contents: map[string]string{"a.json": log("m", `{"id": 1, "epoch": 1, "target": "A", "scores": {"s": {"value": 1}}}`), "b.json": log("n", `{"id": 1, "epoch": 1, "target": "B", "scores": {"s": {"value": 1}}}`)},
			note: "note: 1 sample has another expected answer than the first of its item: it is in meta_expected", has: `"arm":"n","item":"1","meta_expected":"B","replicate":1`, lacks: `"expected":"B"`},
		{name: "an id as text and as number", format: "inspect", files: []string{"a.json"}, contents: map[string]string{"a.json": log("m", `{"id": 7, "epoch": 1, "scores": {"s": {"value": 1}}}, {"id": "7", "epoch": 1, "scores": {"s": {"value": 1}}}`)},
			err: `a.json: element 2: item 7 has two samples of arm m and replicate 1`},
		{name: "a folder of logs", format: "inspect", files: []string{"logs"}, contents: map[string]string{"logs/a.json": log("m", `{"id": 7, "epoch": 1, "scores": {"s": {"value": 1}}}`), "logs/x.txt": ""}, has: `"arm":"m"`},
		{name: "a folder of folders", format: "inspect", files: []string{"logs"}, contents: map[string]string{"logs/b.json": log("m", `{"id": 7, "epoch": 1, "scores": {"s": {"value": 1}}}`), "logs/eval-set.json": `{"tasks": []}`, "logs/sub/c.json": log("n", `{"id": 7, "epoch": 1, "scores": {"s": {"value": 1}}}`)},
			note: "note: logs/eval-set.json: left out, since it is no log", has: `"arm":"n"`},
		{name: "a folder without logs", format: "inspect", files: []string{"logs"}, contents: map[string]string{"logs/x.txt": ""}, err: "logs: the folder has no logs, .eval or .json"},
		{name: "samples that are invalid", format: "inspect", files: []string{"a.json"}, contents: map[string]string{"a.json": log("m", `{"id": 7, "epoch": 1, "scores": {"s": {"value": 1}}, "invalidation": {"reason": "x"}}, {"id": 8, "epoch": 1, "scores": {"s": {"value": 1}}, "invalidation": null}`)},
			note: "note: a.json: 1 sample is marked as invalid, and counts as the others"},
		{name: "scores of failed samples", format: "inspect", files: []string{"a.json"}, contents: map[string]string{"a.json": log("m", `{"id": 7, "epoch": 1, "scores": {"s": {"value": "I"}}, "error": {"message": "x"}}, {"id": 8, "epoch": 1, "scores": {"s": {"value": 1}}, "limit": {"type": "message", "limit": 5}, "error_retries": [{"message": "y"}]}`)},
			note: "note: a.json: 1 failed sample has scores, which the log counts, and which are left out", has: `"item":"8","meta_error_retries":"1","meta_limit":"message","replicate":1`},
		{name: "no retries", format: "inspect", files: []string{"a.json"}, contents: map[string]string{"a.json": log("m", `{"id": 8, "epoch": 1, "scores": {"s": {"value": 1}}, "limit": null, "error_retries": []}`)}, lacks: "meta_"},
		{name: "why there is no score", format: "inspect", files: []string{"a.json"}, contents: map[string]string{"a.json": log("m", `{"id": 1, "epoch": 1, "scores": {"s": {"value": 1}, "t": {"value": NaN, "reason": "grader_failed"}, "u": {"value": {"x": NaN, "y": 1}, "metadata": {"unscored_reason": "no_response"}}, "v": {"value": NaN, "explanation": "unscored: no score in the data"}, "w": {"value": "x", "reason": "refusal", "explanation": "a long one"}, "z": {"value": NaN, "reason": null, "explanation": "a long one"}}}`)},
			note: "1 score unscored: grader_failed\n1 score unscored: no score in the data\n1 score unscored: no_response\n1 score unscored: the score is no number: x\n1 score unscored: the score is not a number\n"},
		{name: "a version behind the results", format: "promptfoo", files: []string{"a.json"}, contents: map[string]string{"a.json": `{"results": {"results": [{"prompt": {"raw": "p"}, "provider": {"id": "x"}, "vars": {}, "success": true, "score": 1}], "version": 3}}`}, has: `"score":1`},
		{name: "an unknown version behind the results", format: "promptfoo", files: []string{"a.json"}, contents: map[string]string{"a.json": `{"results": {"results": [], "version": 9}}`}, err: "a.json: version 9 of the results: want version 3"},
		{name: "a grader that failed", format: "promptfoo", files: []string{"a.jsonl"}, contents: map[string]string{"a.jsonl": `{"prompt": {"raw": "p"}, "provider": {"id": "x"}, "vars": {}, "success": false, "score": 0.5, "namedScores": {"has": 1, "rubric": 0.5, "set": 0.5, "a": 0}, "gradingResult": {"componentResults": [` +
			`{"score": 1, "assertion": {"metric": "rubric"}}, {"score": 0, "reason": "overloaded", "assertion": {"metric": "rubric"}, "metadata": {"graderError": true}}, {"score": 1, "assertion": {"metric": "has"}, "metadata": null}, {"assertion": {"metric": "{{x}}"}}, null]}}`},
			note: "5 scores unscored: overloaded", has: `"has":1,`},
		{name: "a grader that failed and has no metric", format: "promptfoo", files: []string{"a.jsonl"}, contents: map[string]string{"a.jsonl": `{"prompt": {"raw": "p"}, "provider": {"id": "x"}, "vars": {}, "success": false, "score": 0.5, "namedScores": {"has": 1}, "gradingResult": {"componentResults": [{"score": 1, "assertion": {"metric": "has"}}, {"assertion": {"type": "llm-rubric"}, "metadata": {"graderError": true}}]}}`},
			note: "2 scores unscored: the grader failed", has: `"has":1,`},
		{name: "a provider that failed, without failureReason", format: "promptfoo", files: []string{"a.json"}, contents: map[string]string{"a.json": older(`"success": false, "score": 0, "error": "HTTP 500 boom", "gradingResult": null`)},
			note: "excluded from scores, and counted\nnote: a.json: its results have no failureReason", has: `"error":"HTTP 500 boom"`, lacks: `"pass":0`},
		{name: "an assertion that failed, without failureReason", format: "promptfoo", files: []string{"a.json"}, contents: map[string]string{"a.json": older(`"success": false, "score": 0, "error": "Expected Say", "gradingResult": {"reason": "Expected Say", "componentResults": [{}]}`)}, has: `"pass":0`, lacks: `"error"`},
		{name: "a test without assertions", format: "promptfoo", files: []string{"a.json"}, contents: map[string]string{"a.json": older(`"success": true, "score": 1, "gradingResult": {"pass": true, "score": 1, "reason": "No assertions"}`)},
			note: "2 scores unscored: the test has no assertions", lacks: `"score":1`},
		{name: "a metric that is no mean", format: "lm-eval", files: []string{"samples_t_1.jsonl"}, contents: map[string]string{"samples_t_1.jsonl": `{"doc_id": 1, "doc_hash": "h", "filter": "none", "metrics": ["f"], "f": 1}`, "results_1.json": `{"model_name": "m", "configs": {"t": {"metric_list": [{"metric": "f", "aggregation": "median"}]}}}`}, note: `note: metric "f": lm-eval aggregates it by median`},
		{name: "a judge that failed", format: "nemo", files: []string{"a.jsonl"}, contents: map[string]string{"a.jsonl": `{"problem_idx": 1, "reward": 0, "latency_ms": 1500, "scoring_details": {"judge": {"error": "503", "total": null}, "scorer:exact": {"correct": true, "reward": 1}}}
{"problem_idx": 2, "reward": 0, "latency_ms": 0, "scoring_details": {"judge": {"normalized": 0, "parse_error": true}, "scorer:exact": {"error": "no regex", "reward": 0}}}`},
			note: "1 score unscored: no regex\n1 score unscored: the judge failed: 503\n1 score unscored: the judge's answer cannot be read\n", has: `"arm":"a","exact":1,"item":"1","latency":1.5,`},
		{name: "an error that is graded", format: "nemo", files: []string{"a.jsonl"}, contents: map[string]string{"a.jsonl": `{"problem_idx": 1, "reward": 0, "scoring_details": {"error": "no turns left", "error_category": "graceful"}}`},
			note: "note: a.jsonl: 1 sample with an error that NeMo Evaluator grades, with its reward", has: `"reward":0}`},
		{name: "two repeats", format: "lm-eval", files: []string{"samples_t_1.jsonl"}, contents: map[string]string{"samples_t_1.jsonl": `{"doc_id": 1, "doc_hash": "h", "filtered_resps": [["1", "b"]], "filter": "none", "metrics": ["acc"], "acc": 1}`}, note: "note: samples_t_1.jsonl: no results_1.json", has: `"answer":"1\n\nb"`},
		{name: "a perplexity by default", format: "lm-eval", files: []string{"samples_t_1.jsonl"}, contents: map[string]string{"samples_t_1.jsonl": `{"doc_id": 1, "doc_hash": "h", "filter": "none", "metrics": ["perplexity"], "perplexity": -0.25}`,
			"results_1.json": `{"model_name": "m", "higher_is_better": {"t": {"perplexity": false}}, "configs": {"t": {"metric_list": [{"metric": "perplexity"}]}}}`},
			note: `metric "perplexity_loglikelihood": samples have log-likelihoods`, has: `{name: "perplexity_loglikelihood", unbounded: true}`, lacks: "lower_is_better"},
		{name: "an answer in messages", format: "eee", files: []string{"a.jsonl"}, contents: map[string]string{"a.jsonl": strings.Replace(eee("m", "1"), `"evaluation":`, `"messages": [{"role": "user", "content": "do"}, {"role": "assistant", "content": "done"}, {"role": "tool", "content": "x"}], "output": null, "evaluation":`, 1)}, has: `"answer":"done"`},
		{name: "one name of metrics in two files", format: "eee", files: []string{"a.json", "b.json", "a.jsonl", "b.jsonl"}, contents: map[string]string{
			"a.json": aggregate("a", "match:accuracy", "accuracy"), "b.json": aggregate("b", "includes:accuracy", "accuracy"), "a.jsonl": result("a", "match:accuracy"), "b.jsonl": result("b", "includes:accuracy")},
			note: `note: metric "e/match:accuracy" is called e_match_accuracy`, has: `"arm":"b","e_includes_accuracy":1`},
		{name: "one name of metrics with other metric_ids", format: "eee", files: []string{"a.json", "b.json", "a.jsonl", "b.jsonl"}, contents: map[string]string{
			"a.json": aggregate("a", "1", "F1"), "b.json": aggregate("b", "2", "F1"), "a.jsonl": result("a", "1"), "b.jsonl": result("b", "2")},
			note: `note: metric "e/id.1" is called e_id.1`, has: `"arm":"b","e_id.2":1`},
		{name: "ids of results that have those of their evaluations", format: "eee", files: []string{"a.json", "b.json", "a.jsonl", "b.jsonl"}, contents: map[string]string{
			"a.json": aggregate("a", "a/win", "win"), "b.json": aggregate("b", "b/win", "win"), "a.jsonl": result("a", "a/win"), "b.jsonl": result("b", "b/win")}, has: `"arm":"b","e":1`},
		{name: "conversations alone", format: "deepeval", files: []string{"a.json"}, contents: map[string]string{"a.json": `{"testRunData": {"testCases": [], "conversationalTestCases": [{}]}}`}, err: "a.json: has conversational test cases alone, which are not read"},
		{name: "trials without a result", format: "harbor", files: []string{"job", "part"}, contents: map[string]string{"job/a/result.json": trial, "job/b/config.json": "{}", "job/notes/x.txt": "", "part/a/result.json": strings.Replace(trial, `"a"`, `"b"`, 1), "part/result.json": `{"n_total_trials": 3}`},
			note: "note: job: 1 trial without a result.json left out: killed, or still running\nnote: part: 2 trials without a result.json left out"},
		{name: "a reward that is not valid", format: "harbor", files: []string{"job"}, contents: map[string]string{"job/a/result.json": trial, "job/b/result.json": excepted(`"reward_valid": false, "exception_info": {"exception_type": "ApiOverloadedError", "exception_message": "boom"}`),
			"job/c/result.json": excepted(`"reward_valid": false, "step_results": [{"step_name": "1"}, {"step_name": "2", "exception_info": {"exception_type": "ApiError", "exception_message": "x"}}]`)},
			has: `"error":"ApiOverloadedError: boom","item":"t","replicate":2}` + "\n" + `{"arm":"a","error":"ApiError: x","item":"t","replicate":3}`, note: "2 failed samples"},
		{name: "an exception and a valid reward", format: "harbor", files: []string{"job"}, contents: map[string]string{"job/a/result.json": excepted(`"reward_valid": true, "exception_info": {"exception_type": "AgentTimeoutError"}`), "job/b/result.json": excepted(`"exception_info": {"exception_type": "E"}`)},
			note: "note: job: 2 trials have an exception and a reward, which counts as the others", lacks: "failed"},
		{name: "the use of steps", format: "harbor", files: []string{"job"}, contents: map[string]string{"job/a/result.json": excepted(`"schema_version": 1, "step_results": [
			{"agent_result": {"n_input_tokens": 10, "n_output_tokens": 1, "cost_usd": null}, "agent_execution": {"started_at": "2026-01-01T10:00:00", "finished_at": "2026-01-01T10:00:02"}},
			{"agent_result": {"n_input_tokens": 5, "cost_usd": 2}, "agent_execution": {"started_at": "2026-01-01T10:00:00", "finished_at": "2026-01-01T10:00:03"}},
			{"agent_result": {"n_input_tokens": 5, "n_output_tokens": 1, "cost_usd": 2}, "agent_execution": {"started_at": "2026-01-01T10:00:00", "finished_at": "2026-01-01T10:00:03"}}]`)},
			has: `{"arm":"a","item":"t","latency":8,"replicate":1,"reward":1,"tokens_in":20}`},
		{name: "a version of trials", format: "harbor", files: []string{"job"}, contents: map[string]string{"job/a/result.json": excepted(`"schema_version": 2`)}, err: "result.json: version 2 of a trial: want version 1"},
		{name: "all trials with a result", format: "harbor", files: []string{"job"}, contents: map[string]string{"job/a/result.json": trial, "job/a/config.json": "{}", "job/result.json": `{"n_total_trials": 1}`}},
		{name: "a hash of samples in several files", format: "eee", files: []string{"a.jsonl", "b.jsonl"}, contents: map[string]string{"a.jsonl": eee("m", "1"), "b.jsonl": eee("n", "2")}, lacks: `"item":"2"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, content := range c.contents {
				path := filepath.Join(dir, filepath.FromSlash(name))
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			var files []string
			for _, f := range c.files {
				files = append(files, filepath.Join(dir, f))
			}
			report, err := format(t, c.format).into(files, filepath.Join(dir, "study"))
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "scores.jsonl") {
					t.Errorf("%v\nwant %s", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if said := filepath.ToSlash(strings.ReplaceAll(fmt.Sprint(report), dir+string(filepath.Separator), "")); !strings.Contains(said, c.note) || c.note == "" && strings.Contains(said, "note: ") {
				t.Errorf("%s\nwant %s", said, c.note)
			}
			got := read(t, filepath.Join(dir, "study"), "study.yaml") + read(t, filepath.Join(dir, "study"), "scores.jsonl")
			if !strings.Contains(got, c.has) || c.lacks != "" && strings.Contains(got, c.lacks) {
				t.Errorf("%s\nwant %s, and no %s", got, c.has, c.lacks)
			}
		})
	}
}

// TestLimit: what is too large says so, up to the last byte that is read.
func TestLimit(t *testing.T) {
	var s string
	if err := decode(strings.NewReader(`"abc"`), 5, &s); err != nil || s != "abc" {
		t.Errorf("%q, %v", s, err)
	}
	if err := decode(strings.NewReader(`"abcd"`), 5, &s); !errors.Is(err, errTooLarge) {
		t.Error(err)
	}
	f := finite(strings.NewReader(`["abc", "abcd"]`))
	d := jsontext.NewDecoder(f, lenient)
	if err := elements(d, f, func(*string) error { return nil }); err != nil {
		t.Error(err)
	}
}
