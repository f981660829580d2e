package given

import (
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/suitetest"
)

// opened opens a study with a table.
func opened(t testing.TB, keys, table string) (*bench, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"study.yaml": "name: s\nsuite: given\n" + keys + "\n", "t.csv": table} {
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

const plain = "data: {path: t.csv}"

// scores are the scores of a bench as "item arm#replicate metric: number or reason".
func scores(t *testing.T, b *bench, replicates int) (list []string) {
	t.Helper()
	for _, it := range b.Items() {
		for _, a := range b.Arms() {
			for r := range replicates {
				tr := eval.Trial{Item: it.ID, Arm: a.ID, Replicate: r + 1}
				o, err := b.Perform(t.Context(), tr, nil)
				if err != nil {
					t.Fatal(err)
				}
				if o.Kind == eval.Failed {
					list = append(list, fmt.Sprintf("%s %s#%d failed: %s", it.ID, a.ID, r+1, o.Reason))
				}
				for _, s := range b.Score(nil, eval.CaseOf(tr, o, nil)) {
					if slices.ContainsFunc(b.metrics, func(m study.Metric) bool { return m.Name == s.Metric }) {
						value := s.Unscored
						if value == "" {
							value = fmt.Sprint(s.Num / s.Den)
						}
						list = append(list, fmt.Sprintf("%s %s#%d %s: %s", it.ID, a.ID, r+1, s.Metric, value))
					}
				}
			}
		}
	}
	return list
}

func TestShapes(t *testing.T) {
	rate := "\nmetrics: {own: [{name: ok, binary: true}, {name: rating, min: 1, max: 5}]}"
	for _, c := range []struct {
		name, keys, table string
		replicates        int
		want              []string
	}{
		{"a row for each answer", plain + rate, "item,arm,ok,rating\nq1,a,1,4\nq1,b,no,\nq2,b,pass,5\n", 1, []string{
			"q1 a#1 ok: 1", "q1 a#1 rating: 4", "q1 b#1 ok: 0", "q1 b#1 rating: no score in the data",
			"q2 a#1 failed: not in the data", "q2 b#1 ok: 1", "q2 b#1 rating: 5"}},
		{"a row for each score", plain + rate, "item,arm,metric,score\nq1,a,ok,1\nq1,a,rating,2.5\nq1,a,other,7\n", 1, []string{"q1 a#1 ok: 1", "q1 a#1 rating: 2.5"}},
		{"a reason is of the metric of its row", plain + rate, "item,arm,metric,score,unscored\nj,a,ok,1,\nj,b,ok,,why\nk,a,rating,,too long\n", 1, []string{
			"j a#1 ok: 1", "j b#1 ok: why", "k a#1 rating: too long", "k b#1 failed: not in the data"}},
		{"a reason of one metric", plain + rate, "item,arm,ok,rating,unscored,unscored_rating\nj,a,,,,no number\nk,a,,,lost,no number\n", 1, []string{
			"j a#1 rating: no number", "k a#1 ok: lost", "k a#1 rating: no number"}},
		{"a column for each arm", "data: {path: t.csv, columns: {item: id}}\narms: [{name: new, column: s2}, {name: old, column: s1}]", "id,s1,s2\nq1,0.25,1\nq2,,0\n", 1, []string{
			"q1 new#1 score: 1", "q1 old#1 score: 0.25", "q2 new#1 score: 0", "q2 old#1 score: no score in the data"}},
		{"replicates, errors and reasons", plain + "\nexecution: {replicates: 2}", "item,arm,replicate,score,error,unscored\nq,a,1,,timeout,\nq,a,2,NaN,,judge failed\n", 2, []string{
			"q a#1 failed: error in the data", "q a#2 score: judge failed"}},
		{"arms by their values", plain + "\narms: [{name: small, value: org/small}, {name: big}]", "item,arm,score\nq,big,1\nq,org/small,0\nq,third,1\n", 1, []string{"q small#1 score: 0", "q big#1 score: 1"}},
		{"arms as they come, with names as ids", plain, "item,arm,score\nq,org/small v2,0\n", 1, []string{"q org-small-v2#1 score: 0"}},
		{"an item that a metric is not about", plain + rate, "item,arm,ok,rating\nq1,a,1,\nq1,b,0,\nq2,a,,3\nq2,b,,\n", 1, []string{
			"q1 a#1 ok: 1", "q1 b#1 ok: 0", "q2 a#1 rating: 3", "q2 b#1 rating: no score in the data"}},
		{"a column for one arm", plain + "\narms: [{name: a, column: x}]", "item,x,error\nq,,timeout\n", 1, []string{"q a#1 failed: error in the data"}},
		{"inputs whose hashes begin alike", plain, "input,arm,score\ninput 19533,a,1\ninput 94416,a,0\n", 1, []string{"i-328ba53957f45519 a#1 score: 1", "i-328ba5396d1da981 a#1 score: 0"}},
		{"items by their input", plain, "input,arm,score\nWhat?,a,1\nWhat?,b,0\n", 1, []string{"i-ac8fddbc7cc28f5d a#1 score: 1", "i-ac8fddbc7cc28f5d b#1 score: 0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, err := opened(t, c.keys, c.table)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, scores(t, b, c.replicates)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestWhatIsLeftOutIsSaid(t *testing.T) {
	b, err := opened(t, plain+"\narms: [{name: a}]", "item,arm,replicate,score,note\nq,a,1,1,x\nq,a,2,1,y\nq,b,1,0,z\n")
	if err != nil {
		t.Fatal(err)
	}
	said := strings.Join(append(b.Capabilities().Notes(), b.Capabilities().Warnings()...), "\n")
	for _, want := range []string{`1 row of "b" left out`, "other columns, shown beside the item: note", "1 trial is left out, one of replicates above execution.replicates, which is 1: write execution: {replicates: 2}"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not said in\n%s", want, said)
		}
	}
}

// TestBasisStays: rows without a reason, or with one of all metrics, have the basis that runs of earlier versions have.
func TestBasisStays(t *testing.T) {
	b, err := opened(t, plain+"\nmetrics: {own: [{name: ok}, {name: rating}]}", "item,arm,ok,rating,unscored_ok,unscored_rating\nj,a,1,0.5,,\nk,a,,,why,\nl,a,,,,why\nm,a,,,why,why\n")
	if err != nil {
		t.Fatal(err)
	}
	basis := func(item string) eval.Hash { return b.Basis(eval.Trial{Item: item, Arm: "a", Replicate: 1}).Read }
	for item, want := range map[string]eval.Hash{"j": 10608305326141054469, "m": 4453453248163312220} {
		if got := basis(item); got != want {
			t.Errorf("%s: the basis is %d, want %d", item, got, want)
		}
	}
	if basis("k") == basis("l") {
		t.Error("a reason of another metric is the same basis")
	}
}

func TestErrors(t *testing.T) {
	own := plain + "\nmetrics: {own: [{name: ok, binary: true}, {name: rating, min: 1, max: 5}]}"
	for name, c := range map[string]struct{ keys, table, want string }{
		"a metric like a reason": {plain + "\nmetrics: {own: [{name: ok}, {name: unscored_ok}]}", "item,arm,ok,unscored_ok\nq,a,1,1\n", `a metric cannot be called "unscored_ok"`},
		"no item":                {plain, "arm,score\na,1\n", `no column "item": name the column`},
		"no arm":                 {plain, "item,score\nq,1\n", `no column "arm": name it in data.columns, as in {arm: NAME}, or give each arm its column`},
		"no metric":              {plain, "item,arm,accuracy\nq,a,1\n", `no column "score": declare the metrics of the table in metrics.own`},
		"empty arm":              {plain, "item,arm,score\nq,,1\n", "t.csv:2:3: the arm is missing"},
		"out of range":           {own, "item,arm,ok,rating\nq,a,1,6\n", "t.csv:2:7: rating is 6, want 1 to 5"},
		"not pass or fail":       {own, "item,arm,ok,rating\nq,a,0.5,5\n", "ok is 0.5, want pass or fail"},
		"a decimal comma":        {plain, "item,arm,score\nq,a,\"0,8\"\n", `score "0,8": write decimals with a point`},
		"a percentage":           {plain, "item,arm,score\nq,a,50%\n", `score "50%": write a number, such as 0.5 for 50%; in a workbook`},
		"no number":              {plain, "item,arm,score\nq,a,Good\n", `score "Good": want a number, pass or fail, or nothing`},
		"twice":                  {plain, "item,arm,score\nq,a,1\nq,a,0\n", "t.csv:3:1: duplicate row of item q, arm a, replicate 1, also in line 2: number them in a column replicate"},
		"an answer twice":        {plain + "\nscorer: {exec: x}\nmetrics: {own: [{name: ok}]}", "item,arm,answer\nq,a,Paris\nq,a,London\n", "t.csv:3:1: duplicate row of item q, arm a, replicate 1, also in line 2"},
		"a score twice":          {plain, "item,arm,metric,score\nq,a,score,1\nq,a,score,0\n", "t.csv:3:11: duplicate score, also in line 2: number them in a column replicate"},
		"another input":          {plain, "item,arm,score,input\nq,a,1,x\nq,b,0,y\n", "item q has another input than in line 2"},
		"another stratum":        {"data: {path: t.csv, strata: [s]}", "item,arm,score,s\nq,a,1,x\nq,b,0,y\n", `item q has s "y", and "x" in line 2`},
		"a bad split":            {plain, "item,arm,score,split\nq,a,1,train\n", `split "train": want dev or test; {split: ''}`},
		"a cluster of NA":        {plain, "item,arm,score,cluster\nq,a,1,c\nr,a,1,NA\n", `t.csv:3:7: cluster is "NA", as programs write a missing value: empty the cell`},
		"an error of NA":         {plain, "item,arm,score,error\nq,a,1,NA\n", `error is "NA"`},
		"a stratum of NaN":       {"data: {path: t.csv, strata: [s]}", "item,arm,score,s\nq,a,1,NaN\n", `s is "NaN"`},
		"an input of NA as item": {plain, "input,arm,score\nNA,a,1\n", "the item is missing"},
		"a bad replicate":        {plain, "item,arm,score,replicate\nq,a,1,0\n", `replicate "0": want a whole number from 1`},
		"negative cost":          {plain, "item,arm,score,cost\nq,a,1,-1\n", `cost "-1": want a number of at least 0`},
		"no rows":                {plain, "item,arm,score\n", "has no scores"},
		"a metric's name":        {plain + "\nmetrics: {own: [{name: cost}]}", "item,arm,cost\nq,a,1\n", `a metric cannot be called "cost"`},
		"equal ids":              {plain, "item,arm,score\nq,a b,1\nq,a-b,1\n", `the arms "a b" and "a-b" would both be called a-b`},
		"a column too few":       {plain + "\narms: [{name: a, column: x}, {name: b}]", "item,x\nq,1\n", "arm b has no column, and others do"},
		"no such column":         {plain + "\narms: [{name: a, column: xx}]", "item,x\nq,1\n", `no column "xx" of arm a`},
		"wide with metrics":      {own + "\narms: [{name: a, column: x}]", "item,x\nq,1\n", "a table with a column for each arm has one metric, and metrics.own has 2"},
		"wide with an error":     {plain + "\narms: [{name: a, column: x}, {name: b, column: y}]", "item,x,y,error\nq,1,,timeout\n", `column "error" of a table with a column for each arm would be of all arms`},
		"wide with a cost":       {plain + "\narms: [{name: a, column: x}, {name: b, column: y}]", "item,x,y,cost\nq,1,1,0.5\n", `column "cost" of a table`},
		"unknown metric":         {plain, "item,arm,metric,score\nq,a,x,1\n", `metric "x": declare the metrics of the table in metrics.own`},
		"value and column":       {plain + "\narms: [{name: a, column: x, value: y}]", "item,x\nq,1\n", "arm a has value and column"},
		"two arms of a value":    {plain + "\narms: [{name: a, value: v}, {name: b, value: v}]", "item,arm,score\nq,v,1\n", "duplicate value or column of arm b"},
	} {
		if _, err := opened(t, c.keys, c.table); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", name, err, c.want)
		}
	}
}

// TestBasis: a trial depends on all that the table says of it, and on nothing else.
func TestBasis(t *testing.T) {
	basis := func(table string) eval.Hash {
		b, err := opened(t, plain, table)
		if err != nil {
			t.Fatal(err)
		}
		return b.Basis(eval.Trial{Item: "q", Arm: "a", Replicate: 1}).Read
	}
	was := basis("item,arm,score,answer,cost\nq,a,1,x,2\n")
	for name, table := range map[string]string{"score": "q,a,0,x,2\n", "answer": "q,a,1,y,2\n", "cost": "q,a,1,x,3\n"} {
		if basis("item,arm,score,answer,cost\n"+table) == was {
			t.Errorf("another %s has the same basis", name)
		}
	}
	if basis("answer,cost,score,arm,item\nx,2,1,a,q\nx,2,0,b,q\n") != was {
		t.Error("the order of columns and another arm change the basis")
	}
}

// TestConformance: the tests for every suite's bench.
func TestConformance(t *testing.T) {
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
	suite.Metrics = b.Capabilities().Metrics()
	for _, name := range Columns()[len(columns)-5:] { // of package effort, which the core declares
		suite.Metrics = append(suite.Metrics, eval.Metric{Name: name, Title: name, Doc: "-", Formula: "-", Max: math.Inf(1), Kind: eval.Scoring, Pooling: eval.MeanOfItems})
	}
	suitetest.Bench(t, suite.Suite, b, func(eval.Stage, string, eval.Request) (eval.Response, error) {
		t.Error("a model is asked")
		return eval.Response{}, nil
	})
}

// TestWalk: a run that followed its study says what a new run says.
func TestWalk(t *testing.T) {
	suitetest.Walk(t, suitetest.Changing{Suite: Suite(), Arms: 3, Readers: 1, Files: func(s suitetest.State) map[string]string {
		rows := map[string]bool{}
		arms := "arms:\n"
		for i, version := range s.Arms {
			if version < 0 {
				continue
			}
			arms += fmt.Sprintf("  - {name: arm%d}\n", i)
			for _, it := range s.Items {
				for r := 1; r <= 2; r++ {
					rows[fmt.Sprintf("%s,arm%d,%d,Input %d,Gold %d,Answer %d,%d", it.ID, i, r, it.N%suitetest.Inputs, it.Gold, version, (it.N+i+r+version+it.Gold)%3/2)] = true
				}
			}
		}
		return map[string]string{
			"t.csv": "item,arm,replicate,input,expected,answer,ok\n" + strings.Join(slices.Sorted(maps.Keys(rows)), "\n") + "\n",
			"study.yaml": "name: walk\nsuite: given\ndata: {path: t.csv}\n" + arms + "metrics: {own: [{name: ok, binary: true}]}\nexecution: {replicates: 2}\n" +
				"comparisons: all\ndecide: {require: [{name: good, that: \"low('arm0', 'ok') > 0.1\"}]}\n",
		}
	}})
}

// A trial keeps its own numbers and answer, and not the row that they stand in.
func TestRoomOfATrial(t *testing.T) {
	const items, arms = 4000, 10
	var b strings.Builder
	b.WriteString("item,arm,score,answer,error,other\n")
	for i := range items {
		for a := range arms {
			fmt.Fprintf(&b, "i%d,a%d,0.%d,yes,,%s\n", i, a, a, strings.Repeat("x", 300))
		}
	}
	live := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := live()
	data, err := opened(t, plain, b.String())
	if err != nil {
		t.Fatal(err)
	}
	if room := (live() - before) / (items * arms); room > 250 {
		t.Errorf("a trial takes %d bytes", room)
	}
	runtime.KeepAlive(data)
	runtime.KeepAlive(&b)
}
