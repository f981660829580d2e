package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/scruple-eval/scruple/internal/gate"
)

// Peers are other rules for the question of no_worse: is the arm worse by less than a margin?
// They decide on the same scores. Those that test for a difference pass where they find none,
// which is how they are used in a gate.

// pairedScores are the scores of an arm and of its base by item.
type pairedScores struct {
	arm, base []float64
	clusters  []string
}

type peer struct {
	name, rule string
	passes     func(p pairedScores, margin float64, r *rand.Rand) bool
}

var peers = []peer{
	{"NeMo Evaluator", "lower end of its interval of the mean difference at or above −margin: t over items, or normal with clustered errors where all items have a category; at least 10 items", nemoGate},
	{"paired t-test", "lower end of the 95 % interval over items above −margin", func(p pairedScores, margin float64, _ *rand.Rand) bool { return lowerT(p.differences()) > -margin }},
	{"McNemar", "no difference at p < 0.05 (exact, two-sided), or the arm wins", mcNemar},
	{"percentile bootstrap", "lower 2.5 % point of 2,000 resampled means of items above −margin", bootstrapMean},
	{"overlap", "the 95 % intervals of the two means (mean ± 1.96 SE) overlap, or the arm's is higher", overlap},
}

// judges reports whether a rule is for the scores of a cell.
func (p peer) judges(c cell) bool { return p.name != "McNemar" || c.metric == passed }

func (p pairedScores) differences() []float64 {
	return floats.SubTo(make([]float64, len(p.arm)), p.arm, p.base)
}

// meanSE is a mean with its standard error.
func meanSE(x []float64) (mean, se float64) {
	n := float64(len(x))
	for _, v := range x {
		mean += v / n
	}
	for _, v := range x {
		se += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(se / (n - 1) / n)
}

func lowerT(d []float64) float64 {
	mean, se := meanSE(d)
	return mean - se*distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(len(d) - 1)}.Quantile(0.975)
}

// nemoGate is _evaluate_benchmark with _paired_delta_ci and _apply_thresholds of
// nemo_evaluator/engine/gate.py, and clustered_ci of metrics/confidence.py, of NVIDIA's
// NeMo Evaluator in 2026 (commits 01b902808a0d and 16f5384684ed), with scipy.
func nemoGate(p pairedScores, margin float64, _ *rand.Rand) bool {
	d := p.differences()
	if len(d) < 10 {
		return false
	}
	low := lowerT(d)
	if labels := slices.Compact(slices.Sorted(slices.Values(p.clusters))); !slices.Contains(labels, "") && len(labels) > 1 {
		mean, _ := meanSE(d)
		sums := map[string]float64{}
		for i, v := range d {
			sums[p.clusters[i]] += v - mean
		}
		sum := 0.0
		for _, label := range labels {
			sum += sums[label] * sums[label]
		}
		g, n := float64(len(labels)), float64(len(d))
		low = mean - distuv.UnitNormal.Quantile(0.975)*math.Sqrt(g/(g-1)*sum/(n*n))
	}
	round := func(x float64) float64 { return math.Round(x*1e6) / 1e6 }
	return round(-round(low)) <= margin
}

// mcNemar compares discordant pairs, of scores of yes or no.
func mcNemar(p pairedScores, _ float64, _ *rand.Rand) bool {
	var wins, losses int
	for i := range p.arm {
		switch {
		case p.arm[i] > p.base[i]:
			wins++
		case p.arm[i] < p.base[i]:
			losses++
		}
	}
	return wins >= losses || mcNemarP(wins, losses) >= 0.05
}

// mcNemarP is the exact two-sided p-value.
func mcNemarP(wins, losses int) float64 {
	n := wins + losses
	if n == 0 {
		return 1
	}
	return min(1, 2*distuv.Binomial{N: float64(n), P: 0.5}.CDF(float64(min(wins, losses))))
}

func bootstrapMean(p pairedScores, margin float64, r *rand.Rand) bool {
	const resamples = 2000
	d := p.differences()
	means := make([]float64, resamples)
	for k := range means {
		for range d {
			means[k] += d[r.IntN(len(d))] / float64(len(d))
		}
	}
	slices.Sort(means)
	return means[resamples*25/1000] > -margin
}

func overlap(p pairedScores, _ float64, _ *rand.Rand) bool {
	a, sa := meanSE(p.arm)
	b, sb := meanSE(p.base)
	return a+1.96*sa >= b-1.96*sb
}

// peerCells are studies of one arm that is worse than the base by the margin, where each pass is
// wrong, and of one that is as good, where each is right.
func peerCells() (list [][2]cell) {
	for _, d := range []design{eight, thirty, unrelated, {"400 items", 400, 1}, {"80x5", 80, 5}} {
		for _, m := range measures {
			worse := m.cell("auto", d, atMargin, []float64{-m.margin})
			equal := m.cell("auto", d, atMargin, []float64{0})
			equal.name, equal.truth = strings.Replace(equal.name, string(atMargin), "equal", 1), effect
			list = append(list, [2]cell{worse, equal})
		}
	}
	return list
}

// comparePeers writes the table of docs/validity.md.
func comparePeers(ctx context.Context, reps int, seed uint64, benches []*bench, out, progress io.Writer) error {
	fmt.Fprintf(out, "%d studies a cell, seed %d. Percent of studies that pass, with 95 %% intervals of the simulation. Margin 0.1 for yes or no, 0.05 for numbers.\n\n", reps, seed)
	names := []string{"Scruple"}
	for _, p := range peers {
		names = append(names, p.name)
	}
	fmt.Fprintf(out, "| items | scores | the arm is | %s |\n|---|---|---|%s\n", strings.Join(names, " | "), strings.Repeat("---|", len(names)))
	for _, pair := range peerCells() {
		for k, c := range pair {
			results, err := repetitions(ctx, c, reps, seed, benches)
			if err != nil {
				return err
			}
			passes := make([]int, len(names))
			draw := c.source()
			for i, r := range results {
				if r.state == gate.Pass {
					passes[0]++
				}
				var of pairedScores
				for _, o := range draw(stream(seed, c.name, i)) { // the same scores again
					of.arm, of.base, of.clusters = append(of.arm, o.scores[0][0]), append(of.base, o.scores[1][0]), append(of.clusters, o.cluster)
				}
				for n, p := range peers {
					if p.judges(c) && p.passes(of, c.margin, stream(seed, c.name+p.name, i)) {
						passes[n+1]++
					}
				}
			}
			fmt.Fprintf(progress, "%s\n", c.name)
			kind := strings.Split(c.name, "/")
			fmt.Fprintf(out, "| %s | %s | %s |", kind[1], kind[2], []string{"worse by the margin", "as good"}[k])
			for n, count := range passes {
				if n > 0 && !peers[n-1].judges(c) {
					fmt.Fprint(out, " – |")
					continue
				}
				fmt.Fprintf(out, " %s |", shareOf(count, reps))
			}
			fmt.Fprintln(out)
		}
	}
	fmt.Fprintln(out)
	for _, p := range peers {
		fmt.Fprintf(out, "- %s passes: %s.\n", p.name, p.rule)
	}
	return nil
}
