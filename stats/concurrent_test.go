package stats_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/scruple-eval/scruple/stats"
)

// fitted are the calls of every method of a result that computes something.
type fitted struct {
	result any
	calls  map[string]func() any
}

// TestResultsAreSafeForConcurrentUse calls every method of a fitted model from
// several goroutines, none of them first, and wants the numbers of one goroutine to
// the bit. Under the race detector it finds methods that share scratch space.
func TestResultsAreSafeForConcurrentUse(t *testing.T) {
	for name, fit := range fits() {
		t.Run(name, func(t *testing.T) {
			want := map[string]string{}
			alone := fit(t)
			for call, f := range alone.calls {
				want[call] = bits(f())
			}
			of := reflect.TypeOf(alone.result)
			for i := range of.NumMethod() {
				if method := of.Method(i).Name; alone.calls[method] == nil {
					t.Errorf("no call of %s", method)
				}
			}
			shared := fit(t)
			var wait sync.WaitGroup
			for range 3 {
				for call, f := range shared.calls {
					wait.Go(func() {
						if got := bits(f()); got != want[call] {
							t.Errorf("%s: %s, alone %s", call, got, want[call])
						}
					})
				}
			}
			wait.Wait()
		})
	}
}

// TestResultsWhileAFrameGrows: a model does not read the frame it was fitted to,
// which may get more columns.
func TestResultsWhileAFrameGrows(t *testing.T) {
	frame := ratings(t)
	m, err := stats.FitMixed(frame, formula(t, "y ~ kernel + (1|doc)"), stats.MixedOptions{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := stats.FitLogistic(frame, formula(t, "pass ~ kernel + (1|doc)"))
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	wait.Go(func() {
		for i := range 100 {
			if err := frame.AddNumbers(strconv.Itoa(i), newColumns(180).age); err != nil {
				t.Error(err)
			}
		}
	})
	wait.Go(func() {
		if _, err := m.WithoutFixed("kernel"); err != nil {
			t.Error(err)
		}
	})
	wait.Go(func() {
		if _, err := l.WithoutFixed("kernel"); err != nil {
			t.Error(err)
		}
	})
	wait.Wait()
}

// bits prints numbers exactly.
func bits(v any) string { return fmt.Sprintf("%x", v) }

func fits() map[string]func(t *testing.T) fitted {
	return map[string]func(t *testing.T) fitted{
		"mixed, REML": func(t *testing.T) fitted {
			return mixed(t, "y ~ kernel + age + (1|doc) + (1|rater)", stats.MixedOptions{})
		},
		"mixed, ML": func(t *testing.T) fitted {
			return mixed(t, "y ~ kernel + (1|doc/kernel)", stats.MixedOptions{ML: true})
		},
		"logistic": func(t *testing.T) fitted {
			l, err := stats.FitLogistic(ratings(t), formula(t, "pass ~ kernel + (1|doc)"))
			if err != nil {
				t.Fatal(err)
			}
			return fitted{l, map[string]func() any{"WithoutFixed": func() any { return both(l.WithoutFixed("kernel")) }}}
		},
		"bootstrap": func(t *testing.T) fitted {
			b, err := stats.ClusterBootstrap([]float64{1, 0, 3, 2, 2, 5}, []float64{2, 2, 4, 3, 2, 7}, stats.BootstrapOptions{Resamples: 200, Level: 0.9, Seed: 4})
			if err != nil {
				t.Fatal(err)
			}
			return fitted{&b, map[string]func() any{"BootCI": func() any { return b.BootCI() }, "StudentT": func() any { return b.StudentT(0.9) },
				"BCaAt": func() any { return b.BCaAt(0.8) }}}
		},
		"sign flips": func(t *testing.T) fitted {
			f, err := stats.SignFlipInterval([]float64{1, 0, 3, 2, 2, 5}, []float64{2, 2, 4, 3, 2, 7}, 100, 1, 2)
			if err != nil {
				t.Fatal(err)
			}
			return fitted{f, map[string]func() any{"Interval": func() any { return f.Interval(0.9) }, "P": func() any { return f.P(0) }}}
		},
		"sequence": func(t *testing.T) fitted {
			s, err := stats.NewSequence(0, 1, 0.9)
			if err != nil {
				t.Fatal(err)
			}
			for i := range 50 {
				if _, err := s.Add(float64(i % 3 / 2)); err != nil {
					t.Fatal(err)
				}
			}
			return fitted{s, map[string]func() any{
				"Add":      func() any { return nil }, // changes the sequence, unlike the others
				"Interval": func() any { return s.Interval() }, "N": func() any { return s.N() },
				"Mean": func() any { return s.Mean() }, "Contradicted": func() any { return s.Contradicted() },
			}}
		},
	}
}

func mixed(t *testing.T, text string, o stats.MixedOptions) fitted {
	t.Helper()
	m, err := stats.FitMixed(ratings(t), formula(t, text), o)
	if err != nil {
		t.Fatal(err)
	}
	weights := make([]float64, len(m.Beta))
	weights[1] = 1
	return fitted{m, map[string]func() any{
		"Coefficients":  func() any { return both(m.Coefficients(0.95)) },
		"Contrast":      func() any { return both(m.Contrast("of one", weights, 0.9)) },
		"Anova":         func() any { return m.Anova() },
		"MarginalMeans": func() any { return both(m.MarginalMeans("kernel", 0.95)) },
		"Pairwise":      func() any { return both(m.Pairwise("kernel", 0.95)) },
		"IsFactor":      func() any { return m.IsFactor("kernel") },
		"WithoutFixed":  func() any { return both(m.WithoutFixed("kernel")) },
		"WithoutRandom": func() any { return both(m.WithoutRandom("doc")) },
	}}
}

func both(v any, err error) []any { return []any{v, err} }

func formula(t *testing.T, text string) stats.Formula {
	t.Helper()
	f, err := stats.ParseFormula(text)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// ratings are 30 documents by three kernels, two ratings each.
func ratings(t *testing.T) *stats.Frame {
	t.Helper()
	f := stats.NewFrame(180)
	c := newColumns(180)
	for name, xs := range map[string][]float64{"y": c.y, "age": c.age, "pass": c.pass} {
		if err := f.AddNumbers(name, xs); err != nil {
			t.Fatal(err)
		}
	}
	for name, labels := range map[string][]string{"doc": c.doc, "kernel": c.kernel, "rater": c.rater} {
		if err := f.AddFactor(name, labels, nil); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

type columns struct {
	y, age, pass       []float64
	doc, kernel, rater []string
}

func newColumns(n int) columns {
	var c columns
	r := rand.New(rand.NewPCG(43, 1))
	for i := range n {
		d, k := i/6, i%3
		y := math.Sin(float64(7*d)) + 0.4*float64(k) + r.NormFloat64()
		pass := 0.0
		if y > 0.4 {
			pass = 1
		}
		c.y, c.age, c.pass = append(c.y, y), append(c.age, 50+10*r.NormFloat64()), append(c.pass, pass)
		c.doc, c.kernel, c.rater = append(c.doc, strconv.Itoa(d)), append(c.kernel, strconv.Itoa(k)), append(c.rater, strconv.Itoa(r.IntN(5)))
	}
	return c
}

// TestResultsKeepTheirOwnNumbers overwrites what a fitted model was made of, and all
// slices it hands out: the answers of its methods stay the same.
func TestResultsKeepTheirOwnNumbers(t *testing.T) {
	for name, fit := range fits() {
		t.Run(name, func(t *testing.T) {
			alone, spoilt := fit(t), fit(t)
			spoil(reflect.ValueOf(spoilt.result))
			for call, f := range alone.calls {
				if want, got := bits(f()), bits(spoilt.calls[call]()); got != want {
					t.Errorf("%s: %s after its slices were overwritten, %s before", call, got, want)
				}
			}
		})
	}
	c := newColumns(180)
	model := stats.Formula{Response: "y", Fixed: []string{"kernel", "age"}, Random: []string{"doc"}}
	frame := stats.NewFrame(180)
	levels := []string{"2", "0", "1"}
	for _, err := range []error{frame.AddNumbers("y", c.y), frame.AddNumbers("age", c.age),
		frame.AddFactor("kernel", c.kernel, levels), frame.AddFactor("doc", c.doc, nil)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	answers := func(m *stats.Mixed) string {
		return bits([]any{both(m.Coefficients(0.95)), m.Anova(), both(m.MarginalMeans("kernel", 0.9)), both(m.WithoutFixed("age"))})
	}
	m, err := stats.FitMixed(frame, model, stats.MixedOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := answers(m)
	factor, err := frame.Factor("kernel")
	if err != nil {
		t.Fatal(err)
	}
	docs, err := frame.Factor("doc")
	if err != nil {
		t.Fatal(err)
	}
	groups := bits(docs)
	for _, v := range []any{c.y, c.age, c.kernel, c.doc, &model, levels, &factor, m} {
		spoil(reflect.ValueOf(v))
	}
	if docs, err = frame.Factor("doc"); err != nil || bits(docs) != groups {
		t.Errorf("a model's levels are those of its frame: %v, %v", docs, err)
	}
	if got := answers(m); got != want {
		t.Errorf("after its input was overwritten: %s, before %s", got, want)
	}
	model = stats.Formula{Response: "y", Fixed: []string{"kernel", "age"}, Random: []string{"doc"}}
	if m, err = stats.FitMixed(frame, model, stats.MixedOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := answers(m); got != want {
		t.Errorf("a frame whose columns were overwritten gives %s, before %s", got, want)
	}
}

// TestResultsCopyInput overwrites the input of functions: results stay.
func TestResultsCopyInput(t *testing.T) {
	xs := func() []float64 { return []float64{0.1, 0.7, 0.3, 0.9, 0.2, 0.8} }
	ys := func() []float64 { return []float64{0.2, 0.6, 0.5, 0.7, 0.3, 0.4} }
	ps := func() []bool { return []bool{false, true, false, true, true, false} }
	table := func() [][]int { return [][]int{{9, 3, 1}, {2, 8, 4}, {1, 1, 7}} }
	gaps := func() []float64 { return []float64{0, 1, 0, 1, math.NaN(), math.NaN()} }
	for name, call := range map[string]func() (result any, input []any){
		"PairedT": func() (any, []any) {
			a, b := xs(), ys()
			return both(stats.PairedT(a, b, 0.9)), []any{a, b}
		},
		"Differences": func() (any, []any) {
			a, b := xs(), ys()
			return both(stats.Differences(a, b)), []any{a, b}
		},
		"RatioOfSums": func() (any, []any) {
			a, b := xs(), ys()
			return both(stats.RatioOfSums(a, b, 0.9)), []any{a, b}
		},
		"WilcoxonSignedRank": func() (any, []any) {
			a, b := xs(), ys()
			return both(stats.WilcoxonSignedRank(a, b, 0, 0.9)), []any{a, b}
		},
		"SignFlipExact": func() (any, []any) {
			a := xs()
			return both(stats.SignFlipExact(a)), []any{a}
		},
		"ConfidenceSequence": func() (any, []any) {
			a := xs()
			return both(stats.ConfidenceSequence(a, 0, 1, 0.9)), []any{a}
		},
		"CalibrationCurve": func() (any, []any) {
			a, b := xs(), ps()
			return both(stats.CalibrationCurve(a, b, stats.CalibrationOptions{Bins: 3, Level: 0.9})), []any{a, b}
		},
		"ROC": func() (any, []any) {
			a, b := xs(), ps()
			return both(stats.ROC(a, b, 0.9)), []any{a, b}
		},
		"ChiSquared": func() (any, []any) {
			a := table()
			return both(stats.ChiSquared(a, stats.ChiSquaredOptions{})), []any{a}
		},
		"RowPairs": func() (any, []any) {
			a := table()
			return both(stats.RowPairs(a)), []any{a}
		},
		"CohenKappa": func() (any, []any) {
			a := table()
			return both(stats.CohenKappa(a, 0, 0.9)), []any{a}
		},
		"FleissKappa": func() (any, []any) {
			a := [][]int{{2, 1}, {0, 3}, {3, 0}}
			return both(stats.FleissKappa(a)), []any{a}
		},
		"KrippendorffAlpha": func() (any, []any) {
			a := [][]float64{xs(), ys()}
			return both(stats.KrippendorffAlpha(a, 0)), []any{a}
		},
		"Holm": func() (any, []any) {
			a := xs()
			return stats.Holm(a), []any{a}
		},
		"Adjust": func() (any, []any) {
			a := xs()
			return both(stats.Adjust("none", a)), []any{a}
		},
		"PredictionPowered": func() (any, []any) {
			a, b := xs(), gaps()
			return both(stats.PredictionPowered(a, b, 0.9)), []any{a, b}
		},
		"SignFlipInterval": func() (any, []any) {
			a, b := xs(), slices.Repeat([]float64{1}, len(xs()))
			return both(stats.SignFlipInterval(a, b, 10, 1, 2)), []any{a, b}
		},
		"ComparePairedProportions": func() (any, []any) {
			a, b, n := []int{1, 0, 2}, []int{0, 1, 0}, []int{2, 2, 3}
			return both(stats.ComparePairedProportions(a, b, n, 0.9)), []any{a, b, n}
		},
		"ClusterBootstrap": func() (any, []any) {
			a, b := xs(), ys()
			r, err := stats.ClusterBootstrap(a, b, draws)
			return both(&r, err), []any{a, b}
		},
		"ClusterBootstrapDiff": func() (any, []any) {
			a, b := xs(), ys()
			r, err := stats.ClusterBootstrapDiff(a, b, b, a, draws)
			return both(&r, err), []any{a, b}
		},
		"ResampleClusters": func() (any, []any) {
			a, b, drawn := xs(), ys(), [][]int{{0, 1, 2, 3, 4, 5}, {3, 4, 5, 3, 4, 5}, {1, 3, 5, 0, 0, 0}}
			r, err := stats.ResampleClusters(a, b, drawn, 0.9)
			return both(&r, err), []any{a, b, drawn}
		},
		"SumByCluster": func() (any, []any) {
			a, b := xs(), []string{"x", "y", "x", "z", "y", "x"}
			num, den, err := stats.SumByCluster(a, nil, b)
			return []any{num, den, err}, []any{a, b}
		},
	} {
		result, input := call()
		before := bits(result)
		for _, v := range input {
			spoil(reflect.ValueOf(v))
		}
		if after := bits(result); after != before {
			t.Errorf("%s shares its input: %s, then %s", name, before, after)
		}
	}
}

// spoil overwrites the elements of all slices that can be reached from a value
// through exported fields.
func spoil(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		spoil(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			spoil(v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			e := v.Index(i)
			spoil(e)
			if e.CanSet() && e.Kind() != reflect.Slice && e.Kind() != reflect.Struct {
				spoilElement(e)
			}
		}
	}
}

func spoilElement(e reflect.Value) {
	switch e.Kind() {
	case reflect.Float64:
		e.SetFloat(-77.25)
	case reflect.Int, reflect.Int32:
		e.SetInt(0)
	case reflect.Bool:
		e.SetBool(!e.Bool())
	case reflect.String:
		e.SetString("spoilt")
	}
}
