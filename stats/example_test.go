package stats_test

import (
	"fmt"
	"log"
	"math"

	"github.com/scruple-eval/scruple/stats"
)

// The extra hours of sleep that two drugs gave ten patients (Student 1908), R's
// data set sleep.
var (
	drug1 = []float64{0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0}
	drug2 = []float64{1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4}
)

// R: t.test(drug2, drug1, paired = TRUE).
func ExamplePairedT() {
	r, err := stats.PairedT(drug2, drug1, 0.95)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("difference %.2f, 95%% interval %.4f to %.4f\n", r.MeanDiff, r.CI.Low, r.CI.High)
	fmt.Printf("t = %.4f, df = %v, p = %.6f\n", r.T, r.DF, r.P)
	// Output:
	// difference 1.58, 95% interval 0.7001 to 2.4599
	// t = 4.0621, df = 9, p = 0.002833
}

// What the data do not determine is NaN, and Undefined says why.
func ExamplePairedT_undefined() {
	r, err := stats.PairedT([]float64{3, 4}, []float64{1, 2}, 0.95)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.MeanDiff, r.T, r.Undefined)
	// Output: 2 NaN all differences are the same
}

// R: wilcox.test(drug2, drug1, paired = TRUE) warns of ties and zeros;
// exactRankTests::wilcox.exact gives the exact p.
func ExampleWilcoxonSignedRank() {
	r, err := stats.WilcoxonSignedRank(drug2, drug1, stats.TwoSided, 0.95)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("W+ = %v of %d differences, p = %.6f, shift %.2f\n", r.WPlus, r.Used, r.PExact, r.HodgesLehmann)
	// Output: W+ = 45 of 9 differences, p = 0.003906, shift 1.40
}

// Of 2⁵ patterns of signs, the observed one and its mirror image are the most
// extreme.
func ExampleSignFlipExact() {
	r, err := stats.SignFlipExact([]float64{0.2, 0.1, 0.4, 0.1, 0.3})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("mean %.2f, p = 2/%v = %v\n", r.Statistic, r.Patterns, r.P)
	// Output: mean 0.22, p = 2/32 = 0.0625
}

// Whether two drugs differ by less than three hours.
func ExamplePairedTOST() {
	r, err := stats.PairedTOST(drug2, drug1, -3, 3, 0.05)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("90%% interval %.2f to %.2f within -3 to 3: %v, p = %.4f\n", r.CI.Low, r.CI.High, r.Equivalent, r.P)
	// Output: 90% interval 0.87 to 2.29 within -3 to 3: true, p = 0.0027
}

// Found of expected facts by document: a rate over all facts, whose interval
// respects that those of a document hang together.
func ExampleRatioOfSums() {
	found, expected := []float64{4, 9, 2, 7, 5, 10}, []float64{5, 10, 6, 7, 8, 10}
	r, err := stats.RatioOfSums(found, expected, 0.95)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%v of %v: %.3f, 95%% interval %.3f to %.3f\n", r.Num, r.Den, r.Value, r.CI.Low, r.CI.High)
	fmt.Println(r.Warnings[0])
	// Output:
	// 37 of 46: 0.804, 95% interval 0.554 to 1.054
	// only 6 clusters: below 20, intervals are rough
}

// Fields of documents, one per row: whether each was found, and the document that it
// is of. Their interval is that of three documents, not of seven fields.
func ExampleSumByCluster() {
	found := []float64{1, 1, 0, 1, 1, 1, 0}
	document := []string{"lease", "lease", "will", "lease", "will", "deed", "deed"}
	num, den, err := stats.SumByCluster(found, nil, document)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(num, den)
	r, err := stats.RatioOfSums(num, den, 0.95)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.3f, standard error %.3f\n", r.Value, r.SE)

	// Differences of two arms in each field, for a test by document.
	difference, _, err := stats.SumByCluster([]float64{1, 1, 0, 0, 1, 1, 0}, nil, document)
	if err != nil {
		log.Fatal(err)
	}
	p, err := stats.SignFlipExact(difference)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(difference, p.P)
	// Output:
	// [3 1 1] [3 2 2]
	// 0.714, standard error 0.184
	// [2 1 1] 0.25
}

func ExampleRatioDifference() {
	expected := []float64{5, 10, 6, 7, 8, 10}
	a, b := []float64{4, 9, 4, 7, 7, 10}, []float64{4, 7, 2, 6, 5, 8}
	r, err := stats.RatioDifference(a, expected, b, expected, 0.95)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.3f − %.3f = %.3f, 95%% interval %.3f to %.3f\n", r.A, r.B, r.Diff, r.CI.Low, r.CI.High)
	// Output: 0.891 − 0.696 = 0.196, 95% interval 0.110 to 0.281
}

// The seed makes the result reproducible, for any number of workers.
func ExampleClusterBootstrap() {
	found, expected := []float64{4, 9, 2, 7, 5, 10}, []float64{5, 10, 6, 7, 8, 10}
	r, err := stats.ClusterBootstrap(found, expected, stats.BootstrapOptions{Resamples: 10000, Level: 0.95, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.3f, BCa interval %.2f to %.2f\n", r.Estimate, r.BCa.Low, r.BCa.High)
	// Output: 0.804, BCa interval 0.58 to 0.94
}

// Any statistic of clusters has an interval, here the ratio of what two arms cost.
func ExampleBootstrapClusters() {
	a, b := []float64{1.2, 0.8, 2.5, 1.9, 0.7, 1.1}, []float64{1.0, 0.9, 2.0, 1.2, 0.5, 1.2} // by document
	r, err := stats.BootstrapClusters(len(a), func(drawn []int) float64 {
		var costA, costB float64
		for _, i := range drawn {
			costA, costB = costA+a[i], costB+b[i]
		}
		return costA / costB
	}, stats.BootstrapOptions{Resamples: 10000, Level: 0.95, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.3f, BCa interval %.2f to %.2f\n", r.Estimate, r.BCa.Low, r.BCa.High)
	// Output: 1.206, BCa interval 1.00 to 1.41
}

// Scores of two prompts on documents, several fields each: CR2 and its degrees
// of freedom hold with few clusters.
func ExampleFitRobust() {
	frame := stats.NewFrame(8)
	ok(frame.AddNumbers("score", []float64{0.9, 0.8, 0.6, 0.5, 0.7, 0.9, 0.4, 0.6}))
	ok(frame.AddFactor("prompt", []string{"short", "long", "short", "long", "short", "long", "short", "long"}, []string{"short", "long"}))
	ok(frame.AddFactor("document", []string{"a", "a", "b", "b", "c", "c", "d", "d"}, nil))
	formula, err := stats.ParseFormula("score ~ prompt")
	if err != nil {
		log.Fatal(err)
	}
	r, err := stats.FitRobust(frame, formula, "document")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s %.3f, se %.4f, t = %.3f on %.1f df, p = %.4f\n", r.Names[1], r.Beta[1], r.CR2[1], r.T[1], r.DF[1], r.P[1])
	// Output: promptlong 0.050, se 0.0866, t = 0.577 on 3.0 df, p = 0.6042
}

func ok(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// R's data set Dyestuff: the yield of six batches of a dye. lme4 gives
// 42.00 for the batches and 49.51 within (Bates et al. 2015).
func ExampleFitMixed() {
	yield := []float64{1545, 1440, 1440, 1520, 1580, 1540, 1555, 1490, 1560, 1495, 1595, 1550, 1605, 1510, 1560,
		1445, 1440, 1595, 1465, 1545, 1595, 1630, 1515, 1635, 1625, 1520, 1455, 1450, 1480, 1445}
	var batch []string
	for i := range yield {
		batch = append(batch, string("ABCDEF"[i/5]))
	}
	frame := stats.NewFrame(len(yield))
	ok(frame.AddNumbers("yield", yield))
	ok(frame.AddFactor("batch", batch, nil))
	formula, err := stats.ParseFormula("yield ~ 1 + (1|batch)")
	if err != nil {
		log.Fatal(err)
	}
	m, err := stats.FitMixed(frame, formula, stats.MixedOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("mean %.1f, sd of batches %.2f, residual %.2f\n", m.Beta[0], m.Random[0].SD, m.Sigma)
	// Output: mean 1527.5, sd of batches 42.00, residual 49.51
}

// Passes of 60 answers by prompt, four to a question.
func ExampleFitLogistic() {
	var pass []float64
	var prompt, question []string
	for i, passed := range []string{"11", "10", "11", "00", "11", "01", "11", "10", "11", "00", "11", "10", "01", "11", "10"} {
		for j, p := range []string{"long", "short", "long", "short"} {
			ok := 0.0
			if passed[j%2] == '1' && !(j == 3 && i%3 == 0) {
				ok = 1
			}
			pass, prompt, question = append(pass, ok), append(prompt, p), append(question, fmt.Sprint("q", i))
		}
	}
	frame := stats.NewFrame(len(pass))
	ok(frame.AddNumbers("pass", pass))
	ok(frame.AddFactor("prompt", prompt, []string{"short", "long"}))
	ok(frame.AddFactor("question", question, nil))
	formula, err := stats.ParseFormula("pass ~ prompt + (1|question)")
	if err != nil {
		log.Fatal(err)
	}
	m, err := stats.FitLogistic(frame, formula)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("odds ratio of %s %.1f, p = %.3f\n", m.Names[1], math.Exp(m.Beta[1]), m.P[1])
	// Output: odds ratio of promptlong 5.2, p = 0.035
}

// R: prop.test(8, 10, correct = FALSE), binom.test(8, 10).
func ExampleWilson() {
	w, exact := stats.Wilson(8, 10, 0.95), stats.ClopperPearson(8, 10, 0.95)
	fmt.Printf("8 of 10: Wilson %.4f to %.4f, exact %.4f to %.4f\n", w.Low, w.High, exact.Low, exact.High)
	// Output: 8 of 10: Wilson 0.4902 to 0.9433, exact 0.4439 to 0.9748
}

// Newcombe (1998), table II, example (a): 56 of 70 and 48 of 80.
func ExampleCompareProportions() {
	r, err := stats.CompareProportions(56, 70, 48, 80, 0.95)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("difference %.2f, Newcombe's interval %.4f to %.4f\n", r.Diff, r.Newcombe.Low, r.Newcombe.High)
	// Output: difference 0.20, Newcombe's interval 0.0524 to 0.3339
}

// Approval of a prime minister in two surveys of the same people; Agresti
// (1990) gives χ² = 17.36.
func ExampleMcNemarTable() {
	r, err := stats.McNemarTable([2][2]int{{794, 150}, {86, 570}}, 0.95)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d and %d discordant: χ² = %.2f, exact p = %.2g\n", r.B, r.C, r.Chi2, r.PExact)
	// Output: 150 and 86 discordant: χ² = 17.36, exact p = 3.7e-05
}

// Six items, three arms. By hand: 2·(3·35 − 9²)/(3·9 − 19).
func ExampleCochranQ() {
	r, err := stats.CochranQ([][]bool{
		{true, true, false}, {true, true, true}, {true, false, false},
		{true, true, false}, {false, false, false}, {true, false, false},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("passes %v, Q = %.3f on %v df, p = %.4f\n", r.Passes, r.Q, r.DF, r.P)
	// Output: passes [5 3 1], Q = 6.000 on 2 df, p = 0.0498
}

// R: chisq.test(matrix(c(12, 7, 5, 9), 2), correct = FALSE).
func ExampleChiSquared() {
	r, err := stats.ChiSquared([][]int{{12, 5}, {7, 9}}, stats.ChiSquaredOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("χ² = %.4f, p = %.4f, V = %.4f\n", r.Chi2, r.P, r.CramersV)
	// Output: χ² = 2.4306, p = 0.1190, V = 0.2714
}

// The lady tasting tea (Fisher 1935): three of four cups told right.
func ExampleFisher() {
	p, err := stats.Fisher([][]int{{3, 1}, {1, 3}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("p = %.4f\n", p)
	// Output: p = 0.4857
}

func ExampleCohenKappa() {
	a := []string{"yes", "yes", "no", "no", "yes", "no", "yes", "yes", "no", "yes"}
	b := []string{"yes", "yes", "no", "yes", "yes", "no", "no", "yes", "no", "yes"}
	table, err := stats.KappaTable(a, b, []string{"no", "yes"})
	if err != nil {
		log.Fatal(err)
	}
	r, err := stats.CohenKappa(table, stats.Unweighted, 0.95)
	if err != nil {
		log.Fatal(err)
	}
	// By hand: (0.8 − 0.52)/(1 − 0.52).
	fmt.Printf("agreement %.1f, κ = %.4f\n", r.Agreement, r.Kappa)
	// Output: agreement 0.8, κ = 0.5833
}

// Ten subjects, fourteen raters, five categories: the example of Fleiss (1971)
// that textbooks use.
func ExampleFleissKappa() {
	r, err := stats.FleissKappa([][]int{{0, 0, 0, 0, 14}, {0, 2, 6, 4, 2}, {0, 0, 3, 5, 6}, {0, 3, 9, 2, 0}, {2, 2, 8, 1, 1},
		{7, 7, 0, 0, 0}, {3, 2, 6, 3, 0}, {2, 5, 3, 2, 2}, {6, 5, 2, 1, 0}, {0, 2, 2, 3, 7}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("κ = %.3f\n", r.Kappa)
	// Output: κ = 0.210
}

// Four raters, twelve units, some ratings missing (Krippendorff 2011).
func ExampleKrippendorffAlpha() {
	nan := math.NaN()
	ratings := [][]float64{
		{1, 2, 3, 3, 2, 1, 4, 1, 2, nan, nan, nan},
		{1, 2, 3, 3, 2, 2, 4, 1, 2, 5, nan, 3},
		{nan, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, nan},
		{1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, nan},
	}
	for _, scale := range []stats.Scale{stats.Nominal, stats.Ordinal, stats.IntervalScale, stats.RatioScale} {
		r, err := stats.KrippendorffAlpha(ratings, scale)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%.3f ", r.Alpha)
	}
	// Output: 0.743 0.815 0.849 0.797
}

// Two raters pass nearly everything: kappa is low in spite of 90 % agreement, AC1
// is not. One row a subject, one column a category.
func ExampleGwetAC1() {
	var counts [][]int
	for i := range 40 {
		row := []int{2, 0} // both pass it
		if i%10 == 0 {
			row = []int{1, 1}
		}
		counts = append(counts, row)
	}
	f, err := stats.FleissKappa(counts)
	if err != nil {
		log.Fatal(err)
	}
	g, err := stats.GwetAC1(counts, 0.95)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("agreement %.2f, kappa %.3f, AC1 %.3f (%.3f to %.3f)\n", g.Observed, f.Kappa, g.AC1, g.CI.Low, g.CI.High)
	// Output: agreement 0.90, kappa -0.053, AC1 0.890 (0.771 to 1.000)
}

// Whole units are resampled, with all their ratings.
func ExampleKrippendorffBootstrap() {
	nan := math.NaN()
	ratings := [][]float64{
		{1, 2, 3, 3, 2, 1, 4, 1, 2, nan, nan, nan},
		{1, 2, 3, 3, 2, 2, 4, 1, 2, 5, nan, 3},
		{nan, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, nan},
		{1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, nan},
	} // Krippendorff's example
	b, err := stats.KrippendorffBootstrap(ratings, stats.Nominal, stats.BootstrapOptions{Resamples: 2000, Level: 0.95, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("alpha %.3f of %d units, %.2f to %.2f\n", b.Estimate, b.Clusters, b.BCa.Low, b.BCa.High)
	fmt.Println(b.Warnings)
	// Output:
	// alpha 0.743 of 11 units, 0.40 to 0.94
	// [only 11 clusters: below 20, intervals are rough]
}

func ExampleCalibrationCurve() {
	r, err := stats.CalibrationCurve([]float64{0.9, 0.9, 0.8, 0.8, 0.3, 0.2}, []bool{true, false, true, true, false, false}, stats.CalibrationOptions{Bins: 2, Level: 0.95})
	if err != nil {
		log.Fatal(err)
	}
	for _, b := range r.Bins {
		fmt.Printf("%d answers: said %.2f, right %.2f\n", b.N, b.Confidence, b.Accuracy)
	}
	fmt.Printf("expected calibration error %.4f\n", r.ECE)
	// Output:
	// 2 answers: said 0.25, right 0.00
	// 4 answers: said 0.85, right 0.75
	// expected calibration error 0.1500
}

// Of nine pairs of a positive and a negative case the positive scores higher in
// eight.
func ExampleROC() {
	r, err := stats.ROC([]float64{0.9, 0.8, 0.4, 0.5, 0.3, 0.2}, []bool{true, true, true, false, false, false}, 0.95)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("area %.4f, 95%% interval %.4f to %.4f\n", r.Value, r.CI.Low, r.CI.High)
	// Output: area 0.8889, 95% interval 0.5809 to 1.0000
}

// A judge labels all answers, people some of them: NaN where they did not.
func ExamplePredictionPowered() {
	nan := math.NaN()
	judge := []float64{1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 1, 0, 1, 1, 0, 1}
	human := []float64{1, 0, 1, 0, 0, 1, 1, 0, nan, nan, nan, nan, nan, nan, nan, nan}
	r, err := stats.PredictionPowered(judge, human, 0.95)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("judge %.3f, people %.3f, together %.3f\n", r.JudgeMean, r.HumanMean, r.Estimate)
	// Output: judge 0.688, people 0.500, together 0.531
}

// A run that is watched: the interval holds whenever one stops.
func ExampleNewSequence() {
	s, err := stats.NewSequence(-1, 1, 0.95)
	if err != nil {
		log.Fatal(err)
	}
	for i := range 200 {
		iv, err := s.Add([]float64{0.5, 0, 1, 0.5}[i%4])
		if err != nil {
			log.Fatal(err)
		}
		if iv.Low > 0 {
			fmt.Printf("above 0 after %d differences: %.3f to %.3f\n", s.N(), iv.Low, iv.High)
			break
		}
	}
	// Output: above 0 after 19 differences: 0.031 to 0.723
}

// R: p.adjust(c(0.01, 0.04, 0.03), "holm"), and "BH".
func ExampleHolm() {
	p := []float64{0.01, 0.04, 0.03}
	fmt.Printf("%.2f %.2f\n", stats.Holm(p), stats.BH(p))
	// Output: [0.03 0.06 0.06] [0.03 0.04 0.04]
}

// R: pwr::pwr.t.test(d = 0.5, power = 0.8, type = "paired") gives 33.37.
func ExamplePairedSize() {
	n, err := stats.PairedSize(0.5, 0.8, 0.05, stats.TwoSided)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.2f pairs\n", n)
	// Output: 33.37 pairs
}

// 20 % of items pass with the first arm alone, 10 % with the second alone.
func ExampleMcNemarDesign_Size() {
	n, err := stats.McNemarDesign{P10: 0.2, P01: 0.1, Alpha: 0.05}.Size(0.8)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.0f items\n", math.Ceil(n))
	// Output: 234 items
}

// Thirty documents of five fields whose differences share a quarter of their
// variance: half of the fields' information is left.
func ExampleClusteredDesign_Detectable() {
	d := stats.ClusteredDesign{Clusters: 30, Size: 5, SD: 1, ICC: 0.25, Alpha: 0.05}
	smallest, err := d.Detectable(0.8)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("design effect %v, smallest detectable difference %.2f\n", d.DesignEffect(), smallest)
	// Output: design effect 2, smallest detectable difference 0.33
}

// Two of thirty items are passed only by the first arm: Wald's interval is short,
// and undefined if there were none. The score interval is not.
func ExampleTango() {
	iv := stats.Tango(2, 0, 30, 0.95)
	fmt.Printf("%.3f to %.3f\n", iv.Low, iv.High)
	iv = stats.Tango(0, 0, 30, 0.95)
	fmt.Printf("%.3f to %.3f\n", iv.Low, iv.High)
	// Output:
	// -0.054 to 0.213
	// -0.114 to 0.114
}

func ExampleNewcombePaired() {
	iv := stats.NewcombePaired([2][2]int{{36, 12}, {2, 0}}, 0.95)
	fmt.Printf("%.4f to %.4f\n", iv.Low, iv.High)
	// Output: 0.0569 to 0.3404
}

// Questions on seven texts: clusters count, not questions.
func ExampleComparePairedProportions() {
	onlyA, onlyB, questions := []int{3, 2, 0, 3, 2, 1, 2}, []int{0, 0, 1, 0, 0, 0, 1}, []int{5, 5, 5, 5, 5, 5, 5}
	r, err := stats.ComparePairedProportions(onlyA, onlyB, questions, 0.95)
	if err != nil {
		panic(err)
	}
	iv := r.Interval(0.95)
	fmt.Printf("%.2f (%.2f to %.2f), p = %.3f\n", r.Diff, iv.Low, iv.High, r.P())
	// Output: 0.31 (0.03 to 0.55), p = 0.037
}

// The interval of a permutation test: all differences that it does not reject.
func ExampleSignFlipInterval() {
	diff := []float64{0.3, 0.1, 0.4, 0.1, 0.5, 0.2, 0.6}
	size := []float64{1, 1, 1, 1, 1, 1, 1}
	f, err := stats.SignFlipInterval(diff, size, 10000, 1, 2)
	if err != nil {
		panic(err)
	}
	iv := f.Interval(0.95)
	fmt.Printf("%.3f (%.3f to %.3f)\n", f.Estimate, iv.Low, iv.High)
	// Output: 0.314 (0.100 to 0.500)
}

// Neither of two arms has an event in 200 documents.
func ExampleSquareAndAdd() {
	none := stats.Wilson(0, 200, 0.95)
	iv := stats.SquareAndAdd(0, 0, none, none, 0)
	fmt.Printf("%.3f to %.3f\n", iv.Low, iv.High)
	// Output: -0.019 to 0.019
}
