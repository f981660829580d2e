package analyse

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/stats"
	"github.com/scruple-eval/scruple/stats/dist"
)

// A panel tests hypotheses about several arms that have the same items. It implements
// [eval.Panel].
type panel struct {
	c *Collector
	q Question
}

// cells returns the fractions of arms on a metric by item, false if an arm or the metric
// is not known or the fractions are not counts. Those of single outcomes are 0/1 or 1/1.
func (p panel) cells(arms []string, metric string, single bool) (list [][]cell, ok bool) {
	m, known := p.c.metric[metric]
	if !known || !p.c.suite.Metrics[m].Binary || len(arms) == 0 {
		return nil, false
	}
	for _, id := range arms {
		arm, known := p.c.armIdx[id]
		if !known {
			return nil, false
		}
		var own []cell
		list = append(list, p.c.values(&own, arm, m))
		many := func(v cell) bool { return v.den != 0 && (v.den != 1 || v.num != 0 && v.num != 1) }
		if single && slices.ContainsFunc(list[len(list)-1], many) {
			return nil, false
		}
	}
	return list, true
}

// two are the single outcomes of the arms of two groups.
func (p panel) two(a, b eval.ArmGroup, metric string) (as, bs [][]cell, ok bool) {
	as, okA := p.cells(a.Arms, metric, true)
	bs, okB := p.cells(b.Arms, metric, true)
	return as, bs, okA && okB
}

// byCluster sums the fractions of arms by cluster of items.
func (p panel) byCluster(list [][]cell) (num, den []float64) {
	num, den = make([]float64, p.c.clusters.n), make([]float64, p.c.clusters.n)
	for _, cells := range list {
		for i, v := range cells {
			num[p.c.clusters.of[i]] += v.num
			den[p.c.clusters.of[i]] += v.den
		}
	}
	return num, den
}

func (p panel) Rate(arms []string, metric string) (eval.Rate, bool) {
	list, ok := p.cells(arms, metric, false)
	if !ok {
		return eval.Rate{}, false
	}
	r := eval.Rate{ClusterLow: Undefined(), ClusterHigh: Undefined()}
	hits, all := 0.0, 0.0
	for i := range p.c.items {
		some := false
		for _, cells := range list {
			hits, all = hits+cells[i].num, all+cells[i].den
			some = some || cells[i].den > 0
		}
		if some {
			r.N++
		}
	}
	r.Hits, r.Outcomes = int(math.Round(hits)), int(math.Round(all))
	if r.Outcomes == 0 || math.Abs(hits-float64(r.Hits)) > 1e-9 || math.Abs(all-float64(r.Outcomes)) > 1e-9 {
		return eval.Rate{}, false
	}
	ci := stats.Wilson(r.Hits, r.Outcomes, p.q.level())
	r.Value, r.Low, r.High = Number(hits/all), Number(ci.Low), Number(ci.High)
	num, den := occupied(p.byCluster(list))
	if ratio, err := stats.ProportionOfSums(num, den, all, p.q.level()); err == nil && ratio.Undefined == "" {
		r.ClusterLow, r.ClusterHigh = Number(ratio.CI.Low), Number(ratio.CI.High)
	}
	return r, true
}

// disagreement is a sentence if one of two tests rejects and the other does not.
func (p panel) disagreement(planned, respecting eval.Test) string {
	a, b := float64(planned.P), float64(respecting.P)
	alpha := p.q.Study.Alpha
	if math.IsNaN(a) || math.IsNaN(b) || (a < alpha) == (b < alpha) {
		return ""
	}
	says := map[bool]string{true: "finds a difference", false: "finds none"}
	return fmt.Sprintf("The planned test %s (p %s); the one that respects that the same items are used throughout %s (p %s). The planned test takes outcomes on one item for independent.",
		says[a < alpha], pValue(a), says[b < alpha], pValue(b))
}

func pValue(p float64) string {
	if p < 0.001 {
		return "< 0.001"
	}
	return fmt.Sprintf("= %.3f", p)
}

// missingTest is a test that could not be made.
func missingTest(name, why string) eval.Test {
	return eval.Test{Name: name, P: Undefined(), Size: eval.Measured{Value: Undefined(), Low: Undefined(), High: Undefined()}, Undefined: why}
}

// made is a test, unless it could not be made: for an error, or since it is undefined.
func made(name string, err error, undefined string, fill func(*eval.Test)) eval.Test {
	if err != nil {
		undefined = err.Error()
	}
	t := missingTest(name, undefined)
	if undefined == "" {
		fill(&t)
	}
	return t
}

func effect(value float64, ci stats.Interval, n int) eval.Measured {
	return eval.Measured{Value: Number(value), Low: Number(ci.Low), High: Number(ci.High), N: n}
}

// Share is hits/n with Wilson's interval at the level of the study, undefined for n = 0.
func (a *Analysis) Share(hits, n int) eval.Measured {
	return effect(float64(hits)/float64(n), stats.Wilson(hits, n, 1-a.Study.Alpha), n)
}

// exactBelow is the number of discordant pairs below which the exact test is the planned
// one.
const exactBelow = 25

func (p panel) Pairs(a, b eval.ArmGroup, metric string) (eval.Hypothesis, bool) {
	as, bs, ok := p.two(a, b, metric)
	if !ok || len(as) != len(bs) {
		return eval.Hypothesis{}, false
	}
	var pooled [2][2]int
	tables := make([][2][2]int, len(as))
	diff, den := p.paired(as, bs, func(k int, x, y cell) {
		tables[k][1-int(x.num)][1-int(y.num)]++
		pooled[1-int(x.num)][1-int(y.num)]++
	})
	n := pooled[0][0] + pooled[0][1] + pooled[1][0] + pooled[1][1]
	if n == 0 {
		return eval.Hypothesis{}, false
	}
	h := eval.Hypothesis{Planned: p.mcNemar(fmt.Sprintf("%d pairs of outcomes", n), pooled)}
	h.Respecting = []eval.Test{p.flips(a.Name+" − "+b.Name, metric, diff, den)}
	var each []eval.Test
	var ps []float64
	for k, table := range tables {
		of := p.mcNemar(a.Arms[k]+" − "+b.Arms[k], table)[:1]
		each, ps = append(each, of...), append(ps, float64(of[0].P))
	}
	if adjusted, err := corrected("holm", ps); err == nil && len(each) > 1 {
		for k := range each {
			each[k].Name += ", Holm"
			each[k].P = Number(adjusted[k])
		}
		h.Respecting = append(h.Respecting, each...)
	}
	h.Disagree = p.disagreement(h.Planned[0], h.Respecting[0])
	return h, true
}

// mcNemar returns both forms of the test, the planned one first.
func (p panel) mcNemar(of string, table [2][2]int) []eval.Test {
	m, err := stats.McNemarTable(table, p.q.level())
	if err != nil {
		return []eval.Test{missingTest("McNemar "+of, err.Error())}
	}
	counts := fmt.Sprintf("%d and %d discordant", m.B, m.C)
	ratio := "odds ratio"
	if m.C == 0 && m.B > 0 { // it is infinite
		if m, err = stats.McNemarTable([2][2]int{{table[0][0], table[1][0]}, {table[0][1], table[1][1]}}, p.q.level()); err != nil {
			return []eval.Test{missingTest("McNemar "+of, err.Error())}
		}
		ratio = "odds ratio, reversed"
	}
	exact := eval.Test{Name: "McNemar, exact, " + of, Statistic: counts, P: Number(m.PExact), Effect: ratio, Size: effect(m.OddsRatio, m.OddsExact, m.Discordant)}
	chi := eval.Test{Name: "McNemar, χ² with continuity correction, " + of, Statistic: fmt.Sprintf("χ²(1) = %.2f, %s", m.Chi2Continuity, counts), P: Number(m.PContinuity),
		Effect: ratio, Size: effect(m.OddsRatio, m.OddsWald, m.Discordant)}
	if m.Discordant == 0 {
		return []eval.Test{exact}
	}
	if m.Discordant < exactBelow {
		return []eval.Test{exact, chi}
	}
	return []eval.Test{chi, exact}
}

// paired sums the differences of arms by cluster, over the items that both have, and counts
// them. It visits the fractions of each pair of arms.
func (p panel) paired(as, bs [][]cell, visit func(k int, x, y cell)) (diff, den []float64) {
	diff, den = make([]float64, p.c.clusters.n), make([]float64, p.c.clusters.n)
	for k := range as {
		for i, g := range p.c.clusters.of {
			if x, y := as[k][i], bs[k][i]; x.den > 0 && y.den > 0 {
				visit(k, x, y)
				diff[g], den[g] = diff[g]+x.num-y.num, den[g]+1
			}
		}
	}
	return diff, den
}

// flips tests a difference by exchanging the arms of whole clusters; the interval is its
// inversion.
func (p panel) flips(of, metric string, diff, n []float64) eval.Test {
	diff, n = occupied(diff, n)
	name := fmt.Sprintf("exchange of whole items, %d clusters", len(n))
	if len(n) < 2 {
		return missingTest(name, "fewer than 2 clusters")
	}
	flips, err := stats.SignFlipInterval(diff, n, p.q.Study.Resamples, seed(p.q.Run.Seed, nil, "exchange", metric), runtime.GOMAXPROCS(0))
	if err == nil && !flips.Exact {
		name = fmt.Sprintf("%s, %d patterns drawn", name, p.q.Study.Resamples)
	}
	return made(name+"; interval by inversion", err, "", func(t *eval.Test) {
		t.P, t.Effect, t.Size = Number(flips.P(0)), "difference", effect(flips.Estimate, flips.Interval(p.q.level()).Clamp(-1, 1), len(n))
	})
}

func (p panel) Several(groups []eval.ArmGroup, positions []string, metric string) (eval.Hypothesis, bool) {
	if len(groups) < 2 || len(positions) != len(groups[0].Arms) {
		return eval.Hypothesis{}, false
	}
	cells := make([][][]cell, len(groups)) // by group and position
	table := make([][]int, len(groups))
	for g, group := range groups {
		var ok bool
		if cells[g], ok = p.cells(group.Arms, metric, true); !ok || len(group.Arms) != len(groups[0].Arms) {
			return eval.Hypothesis{}, false
		}
		table[g] = make([]int, 2)
		for _, arm := range cells[g] {
			for _, v := range arm {
				table[g][0] += int(v.num)
				table[g][1] += int(v.den - v.num)
			}
		}
	}
	outcomes := 0
	for _, row := range table {
		outcomes += row[0] + row[1]
	}
	if outcomes == 0 {
		return eval.Hypothesis{}, false
	}
	var h eval.Hypothesis
	name := fmt.Sprintf("χ² over %d groups", len(groups))
	chi, err := stats.ChiSquared(table, stats.ChiSquaredOptions{})
	h.Planned = []eval.Test{made(name, err, chi.Undefined, func(t *eval.Test) {
		t.Statistic, t.P, t.Effect, t.Size.Value = fmt.Sprintf("χ²(%g) = %.2f", chi.DF, chi.Chi2), Number(chi.P), "Cramér's V", Number(chi.CramersV)
	})}
	if h.Planned[0].Undefined == "" && chi.P < p.q.Study.Alpha {
		h.Planned = append(h.Planned, p.pairsOf(groups, table)...)
	}
	h.Respecting = p.cochran(groups, positions, cells)
	h.Respecting = append(h.Respecting, p.logistic(groups, cells, true))
	h.Disagree = p.disagreement(h.Planned[0], h.Respecting[0])
	return h, true
}

// pairsOf are the post-hoc comparisons of a table of groups.
func (p panel) pairsOf(groups []eval.ArmGroup, table [][]int) []eval.Test {
	pairs, err := stats.RowPairs(table)
	if err != nil {
		return []eval.Test{missingTest("pairs of groups", err.Error())}
	}
	level := 1 - p.q.Study.Alpha/float64(len(pairs))
	var list []eval.Test
	for _, r := range pairs {
		t := missingTest(fmt.Sprintf("%s − %s, p and interval of Bonferroni over %d", groups[r.I].Name, groups[r.J].Name, len(pairs)), "")
		a, b := table[r.I], table[r.J]
		t.Statistic, t.P, t.Effect = fmt.Sprintf("χ²(1) = %.2f", r.Chi2), Number(r.PBonferroni), "difference"
		if two, err := stats.CompareProportions(a[0], a[0]+a[1], b[0], b[0]+b[1], level); err == nil {
			t.Size = effect(two.Diff, two.Newcombe, a[0]+a[1]+b[0]+b[1])
		}
		if math.IsNaN(r.PBonferroni) {
			t.Undefined = "all outcomes of both are the same"
		}
		list = append(list, t)
	}
	return list
}

// cochran tests the groups at each position, and over all positions by Bonferroni, which
// holds however the positions depend on each other.
func (p panel) cochran(groups []eval.ArmGroup, positions []string, cells [][][]cell) []eval.Test {
	var each []eval.Test
	least := math.NaN()
	for k := range positions {
		var pass [][]bool
		dropped := 0
		for i := range p.c.items {
			row := make([]bool, len(groups))
			known := 0
			for g := range groups {
				if v := cells[g][k][i]; v.den > 0 {
					known++
					row[g] = v.num == 1
				}
			}
			switch known {
			case len(groups):
				pass = append(pass, row)
			case 0:
			default:
				dropped++
			}
		}
		name := fmt.Sprintf("Cochran's Q, %s, %d items", positions[k], len(pass))
		if dropped > 0 {
			name += fmt.Sprintf(", %d incomplete left out", dropped)
		}
		q, err := stats.CochranQ(pass)
		each = append(each, made(name, err, q.Undefined, func(t *eval.Test) {
			t.Statistic, t.P = fmt.Sprintf("Q(%g) = %.2f", q.DF, q.Q), Number(q.P)
			if !(least <= q.P) {
				least = q.P
			}
		}))
	}
	if len(positions) == 1 {
		return each
	}
	all := missingTest(fmt.Sprintf("Cochran's Q in each of %s; Bonferroni over them", strings.Join(positions, ", ")), "")
	if math.IsNaN(least) {
		all.Undefined = "no position has a test"
	}
	all.P = Number(math.Min(1, least*float64(len(positions))))
	return append([]eval.Test{all}, each...)
}

// logistic is the likelihood ratio test of groups in a mixed model with a random
// intercept of items.
func (p panel) logistic(groups []eval.ArmGroup, cells [][][]cell, positions bool) eval.Test {
	var pass []float64
	var group, position, item []string
	var names, places []string
	for k := range groups[0].Arms {
		places = append(places, strconv.Itoa(k))
	}
	for g := range groups {
		names = append(names, groups[g].Name)
		for k, arm := range cells[g] {
			for i, v := range arm {
				if v.den > 0 {
					pass, group = append(pass, v.num), append(group, groups[g].Name)
					position, item = append(position, strconv.Itoa(k)), append(item, p.c.items[i].ClusterID())
				}
			}
		}
	}
	formula := "pass ~ group + (1|item)"
	if positions = positions && len(places) > 1; positions {
		formula = "pass ~ group + position + (1|item)"
	}
	name := "mixed logistic model " + formula + ", likelihood ratio"
	fit, lr, err := func() (fit *stats.Logistic, lr stats.LikelihoodRatio, err error) {
		f := stats.NewFrame(len(pass))
		err = errors.Join(f.AddNumbers("pass", pass), f.AddFactor("group", group, names), f.AddFactor("item", item, nil))
		if positions && err == nil {
			err = f.AddFactor("position", position, places)
		}
		parsed, problem := stats.ParseFormula(formula)
		if err = errors.Join(err, problem); err != nil {
			return fit, lr, err
		}
		if fit, err = stats.FitLogistic(f, parsed); err == nil && fit.Undefined == "" {
			lr, err = fit.WithoutFixed("group")
		}
		return fit, lr, err
	}()
	if err != nil {
		return missingTest(name, strings.TrimPrefix(err.Error(), "stats: "))
	}
	if why := cmp.Or(fit.Undefined, lr.Undefined); why != "" {
		return missingTest(name, why)
	}
	t := missingTest(name, "")
	t.Statistic, t.P = fmt.Sprintf("χ²(%g) = %.2f", lr.DF, lr.Chi2), Number(lr.P)
	if len(groups) == 2 {
		if k := slices.IndexFunc(fit.Names, func(n string) bool { return strings.HasPrefix(n, "group") }); k >= 0 {
			half := dist.Normal{SD: 1}.UpperQuantile((1-p.q.level())/2) * fit.SE[k]
			t.Effect = "odds ratio of " + names[1] + " to " + names[0]
			t.Size = effect(math.Exp(fit.Beta[k]), stats.Interval{Low: math.Exp(fit.Beta[k] - half), High: math.Exp(fit.Beta[k] + half)}, fit.N)
		}
	}
	return t
}

func (p panel) Two(a, b eval.ArmGroup, metric string) (eval.Hypothesis, bool) {
	as, bs, ok := p.two(a, b, metric)
	if !ok {
		return eval.Hypothesis{}, false
	}
	numA, denA := p.byCluster(as)
	numB, denB := p.byCluster(bs)
	nA, nB := total(denA), total(denB)
	if nA == 0 || nB == 0 {
		return eval.Hypothesis{}, false
	}
	var h eval.Hypothesis
	name := "z of two proportions"
	two, err := stats.CompareProportions(int(total(numA)), int(nA), int(total(numB)), int(nB), p.q.level())
	h.Planned = []eval.Test{made(name, err, two.Undefined, func(t *eval.Test) {
		t.Name += ", interval of Newcombe"
		t.Statistic, t.P, t.Effect = fmt.Sprintf("z = %.2f, Cohen's h = %.3f", two.Z, two.CohenH), Number(two.P), "difference"
		t.Size = effect(two.Diff, two.Newcombe, int(nA+nB))
	})}
	h.Respecting = []eval.Test{p.clusterT(numA, denA, numB, denB),
		p.logistic([]eval.ArmGroup{a, b}, [][][]cell{as, bs}, false)}
	h.Disagree = p.disagreement(h.Planned[0], h.Respecting[0])
	return h, true
}

// clusterT is the t-test of a difference of ratios over whole clusters.
func (p panel) clusterT(numA, denA, numB, denB []float64) eval.Test {
	var x, m, y, n []float64
	for g := range denA {
		if denA[g] > 0 && denB[g] > 0 {
			x, m, y, n = append(x, numA[g]), append(m, denA[g]), append(y, numB[g]), append(n, denB[g])
		}
	}
	name := fmt.Sprintf("t-test over %d whole items", len(n))
	if len(n) < 2 {
		return missingTest(name, "fewer than 2 clusters have both")
	}
	d, err := stats.RatioDifference(x, m, y, n, p.q.level())
	t := made(name, err, d.Undefined, func(t *eval.Test) {
		t.Statistic, t.P = fmt.Sprintf("t(%.1f) = %.2f", d.DF, d.T), Number(d.P)
	})
	if err == nil {
		t.Effect, t.Size = "difference", effect(d.Diff, d.Interval(p.q.level()), len(n))
	}
	return t
}

func (p panel) Interaction(a1, b1, a2, b2 eval.ArmGroup, metric string) (eval.Test, bool) {
	name := fmt.Sprintf("difference %s − %s in the first group minus that in the second", a1.Name, b1.Name)
	differences := func(a, b eval.ArmGroup) (sum, n []float64, ok bool) {
		as, bs, ok := p.two(a, b, metric)
		if !ok || len(as) != len(bs) {
			return nil, nil, false
		}
		sum, n = p.paired(as, bs, func(int, cell, cell) {})
		return sum, n, true
	}
	x, m, ok1 := differences(a1, b1)
	y, n, ok2 := differences(a2, b2)
	if !ok1 || !ok2 {
		return eval.Test{}, false
	}
	t := p.clusterT(x, m, y, n)
	t.Name = name + ": " + t.Name
	return t, true
}

func (p panel) Alpha() float64 { return p.q.Study.Alpha }

func (p panel) Power(items int, discordant, difference float64) Number {
	alpha := p.Alpha()
	if looks := p.q.Run.Looks; looks != nil && looks.Planned > 0 { // the study as planned, not this look
		alpha = float64(looks.Alpha)
	}
	d := stats.McNemarDesign{P10: (discordant + difference) / 2, P01: (discordant - difference) / 2, Alpha: alpha}
	power, err := d.ExactPower(items)
	if err != nil {
		return Undefined()
	}
	return Number(power)
}

func (p panel) Agreement(table [2][2]int) (eval.Measured, bool) {
	k, err := stats.CohenKappa([][]int{table[0][:], table[1][:]}, stats.Unweighted, p.q.level())
	if err != nil || math.IsNaN(k.Kappa) {
		return eval.Measured{}, false
	}
	return effect(k.Kappa, k.Interval(), table[0][0]+table[0][1]+table[1][0]+table[1][1]), true
}

// results returns an analysis in the form that suites read.
type results struct {
	a     *Analysis
	cases iter.Seq2[eval.Case, error]
	panel
}

func (r results) Cases() iter.Seq2[eval.Case, error] { return r.cases }

func (r results) Estimate(arm, metric string) (eval.Measured, bool) {
	e, ok := r.a.Estimate(arm, metric)
	return e.Measured(), ok && e.Value.Defined()
}

func (r results) Sum(arm, metric string) eval.Fraction {
	e, _ := r.a.Estimate(arm, metric)
	return eval.Fraction{Num: float64(e.Num), Den: float64(e.Den)}
}

func (r results) ByUnit(arm, metric string) map[string]eval.Fraction {
	a, okArm := r.c.armIdx[arm]
	m, okMetric := r.c.metric[metric]
	if !okArm || !okMetric {
		return nil
	}
	return r.c.arms[a].metrics[m].units
}

func (r results) EstimateIn(arm, metric string, stratum eval.Level) (eval.Measured, bool) {
	e, ok := r.a.EstimateIn(arm, metric, stratum)
	return e.Measured(), ok && e.Value.Defined()
}

func (r results) Difference(a, b, metric string) (eval.Measured, bool) {
	c, ok := r.a.Comparison(a, b, metric)
	return eval.Measured{Value: c.Diff, Low: c.Low, High: c.High, N: c.Pairs}, ok && c.Diff.Defined()
}

func (r results) SameRate(arms, metrics []string) []float64 {
	p := make([]float64, len(arms))
	for i, arm := range arms {
		p[i] = r.sameRate(arm, metrics)
	}
	return stats.Holm(p)
}

func (r results) sameRate(arm string, metrics []string) float64 {
	table := [][]int{nil, nil}
	for _, m := range metrics {
		e, ok := r.a.Estimate(arm, m)
		if !ok || !(e.Den > 0) {
			continue
		}
		hits, all := float64(e.Num), float64(e.Den)
		if hits != math.Trunc(hits) || all != math.Trunc(all) || all < hits || all > math.MaxInt32 {
			return math.NaN() // not counts
		}
		if n := float64(e.Items); all > n { // outcomes of an item, such as replicates, are not independent
			hits, all = math.Round(hits*n/all), n
		}
		table[0], table[1] = append(table[0], int(hits)), append(table[1], int(all-hits))
	}
	if len(table[0]) < 2 {
		return math.NaN()
	}
	p, err := stats.Fisher(table)
	if err != nil {
		return math.NaN()
	}
	return p
}

func (r results) Associate(tables [][2][2]int) []eval.Association {
	list := make([]eval.Association, len(tables))
	p := make([]float64, len(tables))
	for i, t := range tables {
		n := float64(t[0][0] + t[0][1] + t[1][0] + t[1][1])
		row, column := float64(t[0][0]+t[0][1]), float64(t[0][0]+t[1][0])
		list[i].Lift = eval.Number(float64(t[0][0]) * n / (row * column)) // NaN without marks
		var err error
		if p[i], err = stats.Fisher([][]int{{t[0][0], t[0][1]}, {t[1][0], t[1][1]}}); err != nil || n == 0 {
			p[i] = math.NaN()
		}
		list[i].P, list[i].Paired = eval.Number(p[i]), eval.Undefined()
		if m, err := stats.McNemarTable(t, 1-r.a.Study.Alpha); err == nil {
			list[i].Paired = eval.Number(m.PExact)
		}
	}
	for i, q := range stats.Holm(p) {
		list[i].Adjusted = eval.Number(q)
	}
	return list
}

func (r results) Corrected(arm, metric string, known []eval.LabelledTwice) (eval.Measured, bool) {
	var units stats.Judged
	for i, v := range r.c.values(&r.c.a, r.c.armIdx[arm], r.c.metric[metric]) {
		for k := range int(v.den) {
			units.Add(int(r.c.clusters.of[i]), label(float64(k) < v.num, eval.JudgeYes), math.NaN())
		}
	}
	return correctedByJudge(units, known, 1-r.a.Study.Alpha)
}

func (r results) Effort(arm string) (perTrial float64, unit string) {
	priced := slices.ContainsFunc(r.a.Arms, func(a Arm) bool { return a.CostUSD > 0 }) && // one is not free, and
		!slices.ContainsFunc(r.a.Arms, func(a Arm) bool { return a.Calls > 0 && !a.CostUSD.Defined() }) // all are known
	unit = "calls a trial"
	if priced {
		unit = "US$ a trial"
	}
	a, _ := r.a.Arm(arm)
	trials := float64(a.Answers())
	switch {
	case trials == 0:
		return 0, unit
	case priced && a.Calls > 0:
		return float64(a.CostUSD) / trials, unit
	}
	return float64(a.Calls) / trials, unit
}
