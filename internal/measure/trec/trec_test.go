package trec_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/measure/trec"
)

func open(t *testing.T, name string) io.Reader {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(name, ".gz") {
		return bytes.NewReader(b)
	}
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestEqualsTrecEval compares with what trec_eval printed, to its four
// decimals; testdata/SOURCE.md.
func TestEqualsTrecEval(t *testing.T) {
	for _, name := range []string{"trec_test", "trec_graded"} {
		var want struct{ Values map[string]map[string]float64 }
		b, err := io.ReadAll(open(t, name+".expected.json"))
		if err == nil {
			err = json.Unmarshal(b, &want)
		}
		if err != nil {
			t.Fatal(err)
		}
		run, err := trec.ReadRun(open(t, name+".run.gz"), name)
		if err != nil {
			t.Fatal(err)
		}
		qrels, err := trec.ReadQrels(open(t, name+".qrels.gz"), name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := trec.Evaluate(run, qrels)
		if err != nil {
			t.Fatal(err)
		}
		compared := 0
		for query, values := range want.Values {
			have := got.PerQuery[query]
			if query == "all" {
				have = got.All
			}
			for _, m := range trec.Measures {
				v, known := values[m]
				if !known {
					t.Errorf("%s: trec_eval gives no %s", name, m)
					continue
				}
				compared++
				if fmt.Sprintf("%.4f", have[m]) != fmt.Sprintf("%.4f", v) {
					t.Errorf("%s, query %s: %s = %.4f, trec_eval %.4f", name, query, m, have[m], v)
				}
			}
		}
		if compared < 4*len(trec.Measures) {
			t.Errorf("%s: only %d values were compared", name, compared)
		}
	}
}

// A testCase is a pair of files and what trec_eval makes of it; without values
// it refuses them.
type testCase struct {
	Name       string
	Run, Qrels []string // lines
	Single     int      // queries that differ by float32
	Values     map[string]map[string]float64
}

// TestCases compares with trec_eval to the last bit, query by query.
func TestCases(t *testing.T) {
	for _, file := range []string{"hard.json", "random.json.gz"} {
		var cases []testCase
		err := json.NewDecoder(open(t, file)).Decode(&cases)
		if err != nil || len(cases) == 0 {
			t.Fatal(file, len(cases), err)
		}
		for _, c := range cases {
			t.Run(file+"/"+c.Name, func(t *testing.T) { c.check(t) })
		}
	}
}

func (c testCase) check(t *testing.T) {
	got, err := measured(strings.Join(c.Run, "\n"), strings.Join(c.Qrels, "\n"))
	if c.Values == nil {
		if err == nil {
			t.Fatal("trec_eval refuses what was measured")
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	want := maps.Clone(c.Values)
	c.addRecall(want)
	if !maps.Equal(got.All, want["all"]) {
		t.Errorf("all:\n%v, trec_eval\n%v", got.All, want["all"])
	}
	delete(want, "all")
	for q, values := range want {
		if !maps.Equal(got.PerQuery[q], values) {
			t.Errorf("query %s:\n%v, trec_eval\n%v", q, got.PerQuery[q], values)
		}
	}
	if queries := slices.Sorted(maps.Keys(want)); !slices.Equal(got.Queries, queries) {
		t.Errorf("queries %q, trec_eval %q", got.Queries, queries)
	}
	single := 0
	for _, note := range got.Notes {
		if _, n, found := strings.Cut(note, "compares scores as float32: "); found {
			fmt.Sscan(n, &single)
		}
	}
	if single != c.Single {
		t.Errorf("%d queries differ by float32, in trec_eval %d", single, c.Single)
	}
}

// addRecall adds recall_K, which the cases do not have: trec_eval divides the relevant
// documents among the first K, P_K times K, by all relevant ones.
func (c testCase) addRecall(values map[string]map[string]float64) {
	relevant := map[string]float64{}
	for _, line := range c.Qrels {
		if f := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\r\v\f", r) }); len(f) == 4 && !strings.HasPrefix(f[0], "#") {
			if n, err := strconv.Atoi(f[3]); err == nil && n > 0 {
				relevant[f[0]]++
			}
		}
	}
	sums := map[string]float64{}
	queries := slices.DeleteFunc(slices.Sorted(maps.Keys(values)), func(q string) bool { return q == "all" })
	for _, q := range queries {
		values[q] = maps.Clone(values[q])
		for measure, k := range map[string]float64{"recall_5": 5, "recall_10": 10} {
			values[q][measure] = 0
			if relevant[q] > 0 {
				values[q][measure] = math.Round(values[q]["P"+strings.TrimPrefix(measure, "recall")]*k) / relevant[q]
			}
			sums[measure] += values[q][measure]
		}
	}
	values["all"] = maps.Clone(values["all"])
	for measure, sum := range sums {
		values["all"][measure] = sum / float64(len(queries))
	}
}

func measured(run, qrels string) (*trec.Result, error) {
	r, err := trec.ReadRun(strings.NewReader(run), "run")
	if err != nil {
		return nil, err
	}
	q, err := trec.ReadQrels(strings.NewReader(qrels), "qrels")
	if err != nil {
		return nil, err
	}
	return trec.Evaluate(r, q)
}

func evaluate(t *testing.T, run, qrels string) *trec.Result {
	t.Helper()
	result, err := measured(run, qrels)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// TestTies: of equal scores the document last in the alphabet comes first,
// whatever the rank column says.
func TestTies(t *testing.T) {
	got := evaluate(t, "q Q0 a 1 0.5 x\nq Q0 b 2 0.5 x\nq Q0 c 3 0.4 x\n", "q 0 a 1\n")
	if got.All["recip_rank"] != 0.5 {
		t.Errorf("recip_rank = %v, want 1/2", got.All["recip_rank"])
	}
}

func TestEdges(t *testing.T) {
	got := evaluate(t, "1 Q0 a 1 3 x\n1 Q0 b 1 2 x\n2 Q0 a 1 1 x\n9 Q0 a 1 1 x", "1 0 b 2\n1 0 z 1\n1 0 a -1\n2 0 b 0\n3 0 a 1\n")
	one := got.PerQuery["1"]
	// b at rank 2 gains 2/log2(3); ideal 2 + 1/log2(3).
	if want := 2 / math.Log2(3) / (2 + 1/math.Log2(3)); !(math.Abs(one["ndcg_cut_5"]-want) <= 1e-15) {
		t.Errorf("ndcg = %v, want %v", one["ndcg_cut_5"], want)
	}
	if one["P_5"] != 0.2 || one["map"] != 0.25 || one["success_1"] != 0 || one["success_5"] != 1 {
		t.Errorf("query 1: %v", one)
	}
	if two := got.PerQuery["2"]; two["map"] != 0 || two["ndcg_cut_10"] != 0 {
		t.Errorf("nothing relevant: %v", two)
	}
	if len(got.Queries) != 2 || len(got.Unjudged) != 1 || len(got.Missing) != 1 {
		t.Errorf("queries %v, unjudged %v, missing %v", got.Queries, got.Unjudged, got.Missing)
	}
	if got.All["map"] != 0.125 {
		t.Errorf("map over both is %v", got.All["map"])
	}
}

// TestNotes: what was passed over is said.
func TestNotes(t *testing.T) {
	got := evaluate(t, "\xef\xbb\xbf# made by hand\n1 Q0 a 1 3 my tag\n2 Q0 b 1 3 t\n9 Q0 a 1 1 t\n9 Q0 a 2 0 t\n", "1 0 a 1.0\n2 0 b 0\n3 0 a 1\n4 0 a 1\n5 0 a 1\n6 0 a 1\n")
	want := []string{
		"run: lines that begin with # are ignored as comments: 1",
		"run: fields after the tag are ignored: 1",
		"run: the byte order mark is ignored",
		"ignored: queries of the run without judgements: 1 (9)",
		"ignored: judged queries that the run does not answer (trec_eval -c counts them as 0): 4 (3, 4, 5, …)",
		"duplicate documents in ignored queries: 1",
		"queries without a relevant document, counted as 0: 1",
	}
	if !slices.Equal(got.Notes, want) {
		t.Errorf("notes\n%s\nwant\n%s", strings.Join(got.Notes, "\n"), strings.Join(want, "\n"))
	}
	if got.All["map"] != 0.5 {
		t.Errorf("map is %v", got.All["map"])
	}
	if got := evaluate(t, "1 Q0 a 1 3 t", "1 0 a 1"); got.Notes != nil {
		t.Errorf("notes without a reason: %q", got.Notes)
	}
}

// TestBytes: of ids only the query's must be UTF-8, which JSON is.
func TestBytes(t *testing.T) {
	got := evaluate(t, "q Q0 \xe4 1 1 \xe4\nq Q0 \xff 2 1 t\n", "q 0 \xe4 1\n")
	if got.All["recip_rank"] != 0.5 {
		t.Errorf("recip_rank is %v", got.All["recip_rank"])
	}
}

// TestMistakes: every wrong line is named, all in one pass.
func TestMistakes(t *testing.T) {
	readRun := func(s string) error { _, err := trec.ReadRun(strings.NewReader(s), "r"); return err }
	readQrels := func(s string) error { _, err := trec.ReadQrels(strings.NewReader(s), "q"); return err }
	both := func(run, qrels string) error { _, err := measured(run, qrels); return err }
	for _, c := range []struct {
		err  error
		want []string
	}{
		{
			readRun("q Q0 a 1 x t\nq Q0 a 1\n\nq Q0 b 1 2 t\n\xff Q0 b 2 1 t\nq Q0 c 1 NaN t\nq Q0 d 1 1,5 t\nq Q0 e 1 2\nq Q0 f\x00 1 1 t\nq Q0 g 1 1 t\rq Q0 h 1 1 t\n"),
			[]string{
				`r:1: invalid score "x"`, "r:2: 4 fields, want 6", `r:5: the query "\xff" is not valid UTF-8`, `r:6: the score "NaN"`,
				`r:7: invalid score "1,5"`, "r:8: 5 fields, want 6: query Q0 document rank score tag", "r:9: NUL byte", "r:10: a carriage return inside the line",
			},
		},
		{
			readQrels("q 0 a one\nq 0 b 1 1\nq 0 c 1.5\nq 0 d 1e3\nq 0 e 2000000000\nq 0 f .5\nq 0 g 1.x\nq 0 h\n"),
			[]string{
				`q:1: invalid relevance "one"`, "q:2: 5 fields, want 4", `q:3: invalid relevance "1.5": want a whole number (trec_eval would use 1)`,
				`q:4: invalid relevance "1e3"`, `q:5: invalid relevance "2000000000"`, `q:6: invalid relevance ".5"`, `q:7: invalid relevance "1.x"`, "q:8: 3 fields",
			},
		},
		{readRun(""), []string{"r: empty"}},
		{readRun("\n# a comment\n"), []string{"r: empty"}},
		{readRun("\xff\xfeq\x00"), []string{"r: UTF-16"}},
		{readRun(strings.Repeat("x\n", 30)), []string{"r:20: 1 fields", "first 20"}},
		{readRun(strings.Repeat("x", 17<<20)), []string{"r:1: line longer than 16 MB"}},
		{both("q Q0 a 1 1 t", "p 0 a 1"), []string{"share no query: the run has q, the judgements p"}},
		{
			both("q Q0 a 1 2 t\nq Q0 b 1 2 t\nq Q0 a 2 1 t\n", "q 0 a 1\nq 0 b 1\nq 0 b 1\n"),
			[]string{"run:3: document a is ranked more than once, first on line 1; keep one (query q)", "qrels:3: document b is judged more than once, first on line 2; keep one (query q)"},
		},
		{both(strings.Repeat("q Q0 a 1 2 t\n", 50), "q 0 a 1"), []string{"run:21:", "and 29 more"}},
	} {
		for _, want := range c.want {
			if c.err == nil || !strings.Contains(c.err.Error(), want) {
				t.Errorf("no %q in\n%v", want, c.err)
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("q Q0 a 1 1 t\nq Q0 b 1 1e400 t"), []byte("q 0 a 1\nq\t0\tb\t-1"))
	f.Add([]byte("\x1f\x8b"), []byte(""))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		run, errA := trec.ReadRun(bytes.NewReader(a), "a")
		qrels, errB := trec.ReadQrels(bytes.NewReader(b), "b")
		if errA != nil || errB != nil {
			return
		}
		r, err := trec.Evaluate(run, qrels)
		if err != nil {
			return
		}
		for m, v := range r.All {
			if !(v >= 0 && v <= 1+1e-12) {
				t.Fatalf("%s = %v", m, v)
			}
		}
	})
}
