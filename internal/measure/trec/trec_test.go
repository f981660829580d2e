package trec_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
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
	return bytes.NewReader(b)
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

func evaluate(t *testing.T, run, qrels string) *trec.Result {
	t.Helper()
	r, err := trec.ReadRun(strings.NewReader(run), "run")
	if err != nil {
		t.Fatal(err)
	}
	q, err := trec.ReadQrels(strings.NewReader(qrels), "qrels")
	if err != nil {
		t.Fatal(err)
	}
	result, err := trec.Evaluate(r, q)
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
	if want := 2 / math.Log2(3) / (2 + 1/math.Log2(3)); math.Abs(one["ndcg_cut_5"]-want) > 1e-15 {
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

// TestMistakes: every wrong line is named, all in one pass.
func TestMistakes(t *testing.T) {
	_, err := trec.ReadRun(strings.NewReader("q Q0 a 1 x t\nq Q0 a 1\n\nq Q0 b 1 2 t\nq Q0 b 2 1 t\nq Q0 \xff 2 1 t\nq Q0 c 1 NaN t\n"), "r")
	for _, want := range []string{`r:1: the score is "x"`, "r:2: 4 fields, expected 6", "r:5: document b of query q is ranked twice, first in line 4", "r:6: not valid UTF-8", `r:7: the score is "NaN"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in\n%v", want, err)
		}
	}
	_, err = trec.ReadQrels(strings.NewReader("q 0 a one\nq 0 b 1\nq 0 b 2\n"), "q")
	for _, want := range []string{`q:1: the relevance is "one"`, "q:3: document b of query q is judged twice"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in\n%v", want, err)
		}
	}
	if _, err := trec.ReadRun(strings.NewReader(""), "r"); err == nil {
		t.Error("an empty run was read")
	}
	run, _ := trec.ReadRun(strings.NewReader("q Q0 a 1 1 t"), "r")
	qrels, _ := trec.ReadQrels(strings.NewReader("p 0 a 1"), "q")
	if _, err := trec.Evaluate(run, qrels); err == nil {
		t.Error("files without a common query were evaluated")
	}
	var cut bytes.Buffer
	z := gzip.NewWriter(&cut)
	_, _ = z.Write(bytes.Repeat([]byte("q Q0 a 1 1 t\n"), 100))
	z.Close()
	if _, err := trec.ReadRun(bytes.NewReader(cut.Bytes()[:cut.Len()-6]), "r"); err == nil {
		t.Error("a file that was cut off was read")
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
