package stats_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/scruple-eval/scruple/stats"
)

// simulation runs a test of thousands of drawn data sets only where it is asked
// for: the formulas it checks the coverage of are compared with references by
// other tests.
func simulation(t *testing.T) {
	t.Helper()
	if os.Getenv("SCRUPLE_SIMULATE") == "" {
		t.Skip("simulation of thousands of data sets: set SCRUPLE_SIMULATE=1 to run it")
	}
	t.Parallel()
}

// An oracle is a case whose result a reference implementation gave; see
// testdata/SOURCE.md.
type oracle struct {
	Input struct {
		A, B, Score []float64
		Document    []string
		Cases       []struct {
			X, N int
			Conf float64
		}
	}
	Expected  map[string]json.RawMessage
	Tolerance struct {
		Default   tolerance
		Overrides map[string]tolerance
	}
}

type tolerance struct{ Rel, Abs float64 }

func (o *oracle) check(t *testing.T, leaf string, got float64) {
	t.Helper()
	raw, ok := o.Expected[leaf]
	if !ok {
		return
	}
	var want *float64
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatalf("%s: %v", leaf, err)
	}
	if want == nil {
		if !math.IsNaN(got) {
			t.Errorf("%s = %v, want undefined", leaf, got)
		}
		return
	}
	o.near(t, leaf, got, *want)
}

func (o *oracle) near(t *testing.T, leaf string, got, want float64) {
	t.Helper()
	tol := o.Tolerance.Default
	if v, ok := o.Tolerance.Overrides[leaf]; ok {
		tol = v
	}
	if !(math.Abs(got-want) <= tol.Abs+tol.Rel*math.Abs(want)) {
		t.Errorf("%s = %.15g, want %.15g", leaf, got, want)
	}
}

func (o *oracle) checkInterval(t *testing.T, leaf string, got stats.Interval) {
	t.Helper()
	var want []float64
	if raw, ok := o.Expected[leaf]; ok {
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatalf("%s: %v", leaf, err)
		}
		o.near(t, leaf, got.Low, want[0])
		o.near(t, leaf, got.High, want[1])
	}
}

func load(t *testing.T, file string) *oracle {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var o oracle
	if err := json.Unmarshal(b, &o); err != nil {
		t.Fatal(err)
	}
	return &o
}

func TestPairedTAgreesWithR(t *testing.T) {
	files, _ := filepath.Glob("testdata/oracles/paired_t_*.json")
	if len(files) != 5 {
		t.Fatalf("found %d oracle cases, want 5", len(files))
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			o := load(t, file)
			r, err := stats.PairedT(o.Input.A, o.Input.B, 0.95)
			if err != nil {
				t.Fatal(err)
			}
			for leaf, got := range map[string]float64{
				"n": float64(r.N), "mean_a": r.MeanA, "mean_b": r.MeanB, "mean_diff": r.MeanDiff,
				"sd_diff": r.SDDiff, "se": r.SE, "t": r.T, "df": r.DF, "p_two_sided": r.P,
				"p_greater": r.PGreater, "p_less": r.PLess, "cohen_dz": r.DZ, "hedges_gz": r.GZ,
				"cohen_dav": r.DAv, "correlation": r.Correlation,
			} {
				o.check(t, leaf, got)
			}
			o.checkInterval(t, "ci95", r.CI)
			r90, err := stats.PairedT(o.Input.A, o.Input.B, 0.90)
			if err != nil {
				t.Fatal(err)
			}
			o.checkInterval(t, "ci90", r90.CI)
			_, wantUndefined := o.Expected["undefined"]
			if gotUndefined := r.Undefined != ""; gotUndefined != wantUndefined {
				t.Errorf("undefined = %q, want undefined: %v", r.Undefined, wantUndefined)
			}
		})
	}
}

func TestWilsonAgreesWithR(t *testing.T) {
	o := load(t, "testdata/oracles/binomial_intervals.json")
	var want []struct{ Wilson []float64 }
	if err := json.Unmarshal(o.Expected["cases"], &want); err != nil {
		t.Fatal(err)
	}
	if len(want) != 30 {
		t.Fatalf("found %d intervals, want 30", len(want))
	}
	for i, c := range o.Input.Cases {
		got := stats.Wilson(c.X, c.N, c.Conf)
		o.near(t, "cases.wilson", got.Low, want[i].Wilson[0])
		o.near(t, "cases.wilson", got.High, want[i].Wilson[1])
	}
}

// The mean over rows with documents as clusters is a ratio of sums with row
// counts as denominators: its linearised standard error is CR1.
func TestRatioOfSumsAgreesWithClubSandwich(t *testing.T) {
	o := load(t, "testdata/oracles/clustered_se_mean.json")
	num, den, err := stats.SumByCluster(o.Input.Score, nil, o.Input.Document)
	if err != nil {
		t.Fatal(err)
	}
	r, err := stats.RatioOfSums(num, den, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	var coef, se map[string]float64
	if json.Unmarshal(o.Expected["coefficients"], &coef) != nil || json.Unmarshal(o.Expected["se_cr1"], &se) != nil {
		t.Fatal("the oracle has no coefficients")
	}
	o.near(t, "coefficients", r.Value, coef["(Intercept)"])
	o.near(t, "se_cr1", r.SE, se["(Intercept)"])
	if r.Clusters != 40 || r.DF != 39 {
		t.Errorf("clusters %d, df %v, want 40 and 39", r.Clusters, r.DF)
	}
}
