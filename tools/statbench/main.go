// Command statbench compares package stats with the reference implementations
// on this machine: it writes simulated data to a folder, times both sides on
// them, and prints ratios and whether the results agree.
//
//	go run ./tools/statbench
//
// It needs R with lme4 (Debian: r-cran-lme4) and Python with SciPy
// (python3-scipy). Times exclude reading the data; the best of -runs runs per side
// counts.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scruple-eval/scruple/internal/shapes"
	"github.com/scruple-eval/scruple/stats"
)

// A model is one mixed model and the data it is fitted to.
type model struct {
	name    string
	table   shapes.Table
	columns []string
	formula string
}

func main() {
	runs := flag.Int("runs", 3, "runs per side; the fastest counts")
	dir := flag.String("dir", "", "folder for the data (default: a temporary one)")
	python := flag.String("python", "/usr/bin/python3", "Python interpreter with SciPy")
	flag.Parse()
	if err := bench(*runs, *dir, *python); err != nil {
		fmt.Fprintln(os.Stderr, "statbench:", err)
		os.Exit(1)
	}
}

func bench(runs int, dir, python string) error {
	if dir == "" {
		temp, err := os.MkdirTemp("", "statbench")
		if err != nil {
			return err
		}
		defer os.RemoveAll(temp)
		dir = temp
	}
	crossed, insteval := shapes.Crossed(2000, 7, 5, 1), shapes.InstEval(1)
	fmt.Printf("%-34s %9s %9s %7s  %s\n", "", "ours", "theirs", "ratio", "largest difference")
	for _, m := range []model{
		{"crossed, 70,000 rows", crossed, []string{"document", "kernel", "field"}, "score ~ kernel + (1|document) + (1|field)"},
		{"with document by kernel", crossed, []string{"document", "kernel", "field"}, "score ~ kernel + (1|document) + (1|document:kernel) + (1|field)"},
		{"InstEval shape, 73,421 rows", insteval, []string{"s", "d", "dept", "service"}, "score ~ service + (1|s) + (1|d) + (1|dept)"},
	} {
		if err := compareMixed(m, runs, dir); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return compareBCa(runs, dir, python)
}

// fastest runs a function several times.
func fastest(runs int, f func() error) (time.Duration, error) {
	best := time.Duration(math.MaxInt64)
	for range runs {
		start := time.Now()
		if err := f(); err != nil {
			return 0, err
		}
		best = min(best, time.Since(start))
	}
	return best, nil
}

func compareMixed(m model, runs int, dir string) error {
	file := filepath.Join(dir, strconv.Itoa(len(m.formula))+".csv")
	if err := write(file, m.table, m.columns); err != nil {
		return err
	}
	formula, err := stats.ParseFormula(m.formula)
	if err != nil {
		return err
	}
	frame := stats.NewFrame(len(m.table.Response))
	if err := frame.AddNumbers("score", m.table.Response); err != nil {
		return err
	}
	for _, c := range m.columns {
		if err := frame.AddFactor(c, m.table.Labels[c], nil); err != nil {
			return err
		}
	}
	var fit *stats.Mixed
	ours, err := fastest(runs, func() (err error) {
		fit, err = stats.FitMixed(frame, formula, stats.MixedOptions{})
		return err
	})
	if err != nil {
		return err
	}
	theirs, values, err := reference("Rscript", "tools/statbench/lmm.R", file, m.formula, strconv.Itoa(runs))
	if err != nil {
		return err
	}
	got := []float64{fit.Criterion}
	for _, t := range fit.Random {
		got = append(got, t.Theta)
	}
	report(m.name, ours, theirs, difference(got, values))
	return nil
}

// reference runs a script that prints seconds and then numbers to compare.
func reference(name string, args ...string) (time.Duration, []float64, error) {
	c := exec.Command(name, args...)
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		return 0, nil, fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	var values []float64
	for _, f := range strings.Fields(string(out)) {
		x, err := strconv.ParseFloat(f, 64)
		if err != nil {
			return 0, nil, fmt.Errorf("%s printed %q", name, out)
		}
		values = append(values, x)
	}
	if len(values) < 2 {
		return 0, nil, fmt.Errorf("%s printed %q", name, out)
	}
	return time.Duration(values[0] * float64(time.Second)), values[1:], nil
}

// difference is the largest relative one. The order of random terms is each
// side's own.
func difference(a, b []float64) float64 {
	if len(a) != len(b) {
		return math.Inf(1)
	}
	slices.Sort(a[1:])
	slices.Sort(b[1:])
	var worst float64
	for i := range a {
		worst = max(worst, math.Abs(a[i]-b[i])/max(math.Abs(b[i]), 1e-3))
	}
	return worst
}

// compareBCa times the BCa interval of a pooled mean, 10,000 resamples of
// 1,000 clusters, on one core each.
func compareBCa(runs int, dir, python string) error {
	r := rand.New(rand.NewPCG(7, 7))
	num, den := make([]float64, 1000), make([]float64, 1000)
	var b strings.Builder
	for k := range num {
		den[k] = float64(1 + r.IntN(9))
		num[k] = den[k] * (0.02 + 0.1*r.NormFloat64())
		fmt.Fprintf(&b, "%v,%v\n", num[k], den[k])
	}
	file := filepath.Join(dir, "clusters.csv")
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		return err
	}
	var got stats.Bootstrap
	ours, err := fastest(runs, func() (err error) {
		got, err = stats.ClusterBootstrap(num, den, stats.BootstrapOptions{Resamples: 10000, Level: 0.95, Seed: 1, Workers: 1})
		return err
	})
	if err != nil {
		return err
	}
	theirs, values, err := reference(python, "tools/statbench/bca.py", file, strconv.Itoa(runs))
	if err != nil {
		return err
	}
	report("BCa, 10,000 of 1,000 clusters", ours, theirs, difference([]float64{got.Estimate, got.BCa.Low, got.BCa.High}, values))
	return nil
}

func report(name string, ours, theirs time.Duration, off float64) {
	fmt.Printf("%-34s %8.3fs %8.3fs %6.1f×  %.1g\n", name, ours.Seconds(), theirs.Seconds(), theirs.Seconds()/ours.Seconds(), off)
}

func write(file string, t shapes.Table, columns []string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	fmt.Fprintln(w, "score,"+strings.Join(columns, ","))
	for i, y := range t.Response {
		fmt.Fprint(w, strconv.FormatFloat(y, 'g', -1, 64))
		for _, c := range columns {
			fmt.Fprint(w, ",", t.Labels[c][i])
		}
		fmt.Fprintln(w)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}
