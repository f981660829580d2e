package eval

// A Rate is the share of outcomes of several arms. Its interval takes the outcomes for
// independent; that of clusters respects that arms have the same items.
type Rate struct {
	Measured    // N is the number of items
	Hits        int
	Outcomes    int
	ClusterLow  Number
	ClusterHigh Number
}

// A Test is the result of one test.
type Test struct {
	Name      string // the test and what it was made on
	Statistic string // with its degrees of freedom, "" without one
	P         Number
	Effect    string   // name of the effect size, "" without one
	Size      Measured // the effect and its interval
	Undefined string   // why there is no p-value
}

// A Hypothesis has the planned test of a question and, beside it, tests that respect
// that the same items are used throughout. The first of both lists decide.
type Hypothesis struct {
	Planned    []Test
	Respecting []Test
	// Disagree says that the two that decide do not agree, "" if they do.
	Disagree string
}

// An ArmGroup is a set of arms under one name. Arms of several groups at the same
// position belong together, such as those of one condition.
type ArmGroup struct {
	Name string
	Arms []string
}

// A Panel tests hypotheses about several arms that have the same items, on a metric whose
// fractions are 0 or 1 by item.
type Panel interface {
	// Alpha is the level of the tests: that of the study, or what a planned look may spend of it.
	Alpha() float64
	// Rate pools arms.
	Rate(arms []string, metric string) (Rate, bool)
	// Pairs compares arms in pairs, a − b: McNemar's test over all pairs. respecting are
	// the exchange test of whole clusters with its interval, and each pair by itself.
	Pairs(a, b ArmGroup, metric string) (Hypothesis, bool)
	// Several compares groups: chi-squared over groups, and pairs of groups with
	// Bonferroni's correction if it is significant. Respecting are Cochran's Q at each
	// position of the groups' arms, of which positions has the names, and a mixed logistic
	// model.
	Several(groups []ArmGroup, positions []string, metric string) (Hypothesis, bool)
	// Two compares two groups, a − b: z of two proportions. Respecting are the t-test
	// of whole clusters, and a mixed logistic model.
	Two(a, b ArmGroup, metric string) (Hypothesis, bool)
	// Interaction compares the difference a − b of pairs of arms between two groups.
	Interaction(a1, b1, a2, b2 ArmGroup, metric string) (Test, bool)
	// Power is the power of the exact McNemar test of items with a share of discordant
	// ones, at a true difference.
	Power(items int, discordant, difference float64) Number
	// Agreement is Cohen's kappa of a table of two raters with its interval.
	Agreement(table [2][2]int) (Measured, bool)
}
