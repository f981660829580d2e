// Package analyse turns stored fractions into one [Analysis]: estimates with
// intervals, comparisons of arms, warnings, samples. It cannot call a model
// and knows suites only through eval. Everything downstream
// (gate, report, view) reads the Analysis and computes nothing.
//
// analysis.go has the result, question.go what is asked. A [Collector] (collect.go) takes the
// fractions of each case, and [Collector.Analyse] (analyse.go) does everything else, by
// estimate.go, compare.go with planned.go (the method that decides) on matched.go and rows.go,
// missing.go, across.go and mixed.go; judged.go has judges and people, looks.go results that
// were seen, replicate.go earlier and blind runs, trouble.go bad answers. tables.go has what no
// arm solved and ranks, and shorten.go cuts samples. results.go is what suites compute tables with.
package analyse

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/stats"
)

// A Number may be undefined.
type Number = eval.Number

// Undefined is NaN.
func Undefined() Number { return eval.Undefined() }

// Format is the version of the layout of an analysis. It changes when a field
// changes its meaning or a new field is required.
const Format = "scruple-analysis/7"

// Changes are what became of the items between two runs.
type Changes struct {
	Compared             *Analysis // of the arms, as the command compare has it
	Worse, Better, Equal int
	Unscored             int      // scores, by item and arm, that one of the runs lacks
	Items                []Change // those with another score, the worst first
}

// A Change is an item whose score by the first primary metric is another.
type Change struct {
	Item, Arm     string
	Was, Now      float64
	Before, After string // the answers of the first replicate, of as many as were asked for
}

// An Analysis holds everything that a gate reads and a report shows. It contains
// no times: the same study, data, seed and answers give the same bytes.
type Analysis struct {
	Format      string       `json:"format"` // [Format]
	Study       Study        `json:"study"`
	Run         Run          `json:"run"`
	Metrics     []Metric     `json:"metrics"`
	Arms        []Arm        `json:"arms"` // in the study's order, baselines last
	Estimates   []Estimate   `json:"estimates"`
	Comparisons []Comparison `json:"comparisons"`
	// Interactions say whether differences depend on a factor, if the study asks.
	Interactions []Interaction `json:"interactions,omitempty"`
	// Replications compare differences with those of an earlier run; Blind are results
	// of outsiders.
	Replications []Replication `json:"replications,omitempty"`
	Blind        []BlindResult `json:"blind,omitempty"`
	// Agreements are those of people on the tasks of the study.
	Agreements []Agreement `json:"agreements,omitempty"`
	Models     []Model     `json:"models,omitempty"` // of method mixed_effects
	Judges     []Judge     `json:"judges,omitempty"`
	// SimulatedJudges are the models that simulated the verdicts of a judge.
	SimulatedJudges []string `json:"simulated_judges,omitempty"`
	// JudgeAndPeople is nil if people did not judge what a judge judged.
	JudgeAndPeople *JudgeAndPeople `json:"judge_and_people,omitempty"`
	// Calibration is the usage of the arms that answer from gold to measure the judges,
	// null without any; Total is that of all calls.
	Calibration *Usage        `json:"calibration,omitempty"`
	Total       *Usage        `json:"total,omitempty"`
	Tables      []eval.Table  `json:"tables,omitempty"`
	Figures     []eval.Figure `json:"figures,omitempty"`
	Samples     []Sample      `json:"samples,omitempty"`
	Asked       *Asked        `json:"asked,omitempty"`
	// Discipline is nil for a study without splits.
	Discipline *Discipline `json:"discipline,omitempty"`
	// Troubles are the arms with many malformed, refused or truncated answers.
	Troubles []Trouble `json:"troubles,omitempty"`
	// Warnings concern the whole study: simulated answers, failed trials,
	// unscored entries, an unfinished run.
	Warnings []string `json:"warnings,omitempty"`
	// CutPrompts are the arms some of whose prompts a server cut.
	CutPrompts []eval.ArmCuts `json:"cut_prompts,omitempty"`
}

// A Study describes the study.
type Study struct {
	Name        string   `json:"name"`
	Version     string   `json:"version,omitempty"`
	Suite       string   `json:"suite"`
	Title       string   `json:"title"` // the suite's
	Description string   `json:"description,omitempty"`
	Alpha       float64  `json:"alpha"`
	MaxUnscored float64  `json:"max_unscored"` // of an arm and metric, above which rules on it are undecided
	Method      string   `json:"method"`
	Correction  string   `json:"correction"`
	Family      Family   `json:"family"`           // what is corrected together
	Beside      []string `json:"beside,omitempty"` // tests shown beside what decides
	// Resamples is the number of resamples and sign flips. Random names the strata
	// that are random intercepts of a mixed model; nil means all.
	Resamples int      `json:"resamples,omitempty"`
	Random    []string `json:"random,omitempty"`
	// Intervals is the method for intervals of estimates: bootstrap or formula.
	Intervals string `json:"intervals,omitempty"`
}

// A Family says which comparisons are corrected together.
type Family struct {
	Of    FamilyOf `json:"of"`
	Tests int      `json:"tests"` // of the largest one, where comparisons name theirs
}

// A FamilyOf is what a family has: primary comparisons on primary metrics, those that are
// alternatives in the rules, or differences of two runs on primary metrics.
type FamilyOf string

const (
	OfPrimary FamilyOf = "primary"
	OfRules   FamilyOf = "rules"
	OfRuns    FamilyOf = "runs"
)

// A Run describes the run.
type Run struct {
	ID         string  `json:"id"`
	Split      string  `json:"split,omitempty"`
	Version    string  `json:"scruple"` // of the program
	Items      int     `json:"items"`
	Dev        int     `json:"dev_items,omitempty"` // items marked as DEV, of a run without a split
	LeftOut    int     `json:"left_out,omitempty"`  // of two runs: items of the older one that are not compared
	Replicates int     `json:"replicates"`
	Seed       int64   `json:"seed"`
	Planned    int     `json:"planned"`                // trials
	Done       int     `json:"done"`                   // trials with an outcome, failed ones included
	Failed     int     `json:"failed"`                 // failed trials among them
	Unjudged   int     `json:"unjudged,omitempty"`     // trials not yet judged
	JudgeFails int     `json:"judge_failed,omitempty"` // trials with a failed judge call
	MaxFailed  float64 `json:"max_failed"`
	// JudgeErrors are the reasons why judging failed.
	JudgeErrors []eval.JudgeError `json:"judge_errors,omitempty"`
	Strata      []Count           `json:"strata,omitempty"` // items by stratum, "doc_type=invoice"
	// Dependent says which items are not independent of each other, or of DEV.
	Dependent []string `json:"dependent,omitempty"`
	// History lists changes of the plan and of gold since the run began.
	History []string `json:"history,omitempty"`
	// Late are the compared arms that were added or changed after results had been shown, and
	// Rejudged those of which only the judge was changed then.
	Late     []string `json:"late,omitempty"`
	Rejudged []string `json:"rejudged,omitempty"`
	// Regrouped are the comparisons whose items came into other groups after that.
	Regrouped string `json:"regrouped,omitempty"`
	// Looks are those at the run and at others before it; nil for the first.
	Looks *Looks `json:"looks,omitempty"`
	// AtLook reports that the run is unfinished, but at a planned look: what it has is whole.
	AtLook bool `json:"at_look,omitempty"`
	// Picked reports that it would be, but that its items are not the first ones of the plan.
	Picked bool `json:"picked,omitempty"`
	// Reused counts the answers taken from runs instead of being asked for. Those of
	// the run itself are judges' answers to equal questions, and answers of trials that
	// had left the plan.
	Reused []eval.Reuse `json:"reused,omitempty"`
	// Lost are the requests without an answer that may be paid, whose tokens and cost no arm has; nil: none.
	Lost *eval.Lost `json:"lost,omitempty"`
}

// Complete reports whether every planned trial has an outcome and, if the study
// has a judge, was judged.
func (r Run) Complete() bool { return r.Done == r.Planned && r.Unjudged == 0 }

// Interrupted reports whether the run is unfinished, and not at a planned look.
func (r Run) Interrupted() bool { return !r.Complete() && !r.AtLook }

// WhyNot says what else an interrupted run lacks, for the end of a sentence.
func (r Run) WhyNot() string {
	switch {
	case r.Unjudged > 0:
		return "; the judge has not judged " + strconv.Itoa(r.Unjudged) + " of them"
	case r.Picked:
		return "; a planned look takes the first items of the plan's random order (`run --limit`), and these are others"
	}
	return ""
}

// Exploratory reports whether the results of the run only describe, because prompts are
// changed until they look good on its items, or on some of them in a study without a split.
// Everything that shows or uses results asks this method.
func (r Run) Exploratory() bool { return r.Split == study.SplitDev || r.Split == "" && r.Dev > 0 }

// WithoutTests says why a run without a split has no tests; "" if it has.
func (r Run) WithoutTests() string {
	if !r.Exploratory() || r.OnDev() {
		return ""
	}
	text := say.Count(r.Dev) + " of " + say.Plural(r.Items, "item is", "items are") + " marked dev, for changing prompts on them, and the run has no split: no test is made"
	if r.Dev < r.Items {
		text += "; --split test leaves them out"
	}
	return text
}

// OnDev reports whether the run is on the split DEV: it decides nothing. A run without a
// split that has items of DEV decides what needs no test.
func (r Run) OnDev() bool { return r.Split == study.SplitDev }

// Retry is the command that asks failed trials again. Those of TEST, whose results are
// shown, need a reason.
func (r Run) Retry() string {
	const command = "scruple run --retry-failed"
	if r.Split == study.SplitTest {
		return command + ` --unblind "…"`
	}
	return command
}

// Remedy is what to do about failed trials of arms: to ask them again, of answers in a file after
// the file is complete, and of a tag that no run had in the next run. study is what the command
// takes, "" if the reader knows.
func (r Run) Remedy(study string, arms ...Arm) string {
	remedy := "retry with `" + strings.TrimSpace(r.Retry()+" "+study) + "`"
	failed := slices.DeleteFunc(slices.Clone(arms), func(a Arm) bool { return a.Failed == 0 })
	switch {
	case len(failed) == 0:
	case !slices.ContainsFunc(failed, func(a Arm) bool { return !a.NoRun }):
		return "no run had the tag of the answers, and the next run takes those of the one that has it"
	case !slices.ContainsFunc(failed, func(a Arm) bool { return !a.Given }):
		return "complete the file of answers, then " + remedy
	}
	return remedy
}

// A Metric is a metric of the suite as this study uses it.
type Metric struct {
	Name           string       `json:"name"`
	Title          string       `json:"title"`
	Doc            string       `json:"doc"`
	Formula        string       `json:"formula,omitempty"`
	Min            Number       `json:"min"`
	Max            Number       `json:"max"`
	HigherIsBetter bool         `json:"higher_is_better"`
	NoDirection    bool         `json:"no_direction,omitempty"` // neither is better
	Kind           eval.Kind    `json:"kind"`
	Pooling        eval.Pooling `json:"pooling"`
	ByScorer       bool         `json:"by_scorer,omitempty"` // of the study: its scorer or a file of an arm gives it
	Rank           string       `json:"rank"`                // primary | secondary | other
}

// Scale chooses how its values are written, by range and pooling: a proportion (hits over
// opportunities, between 0 and 1) is a percentage, a score between 0 and 1 has
// three decimals, wider ranges have fewer, and one without an end has three digits.
func (m Metric) Scale() say.Scale {
	span := float64(m.Max - m.Min)
	switch {
	case m.Min == 0 && m.Max == 1 && m.Pooling == eval.RatioOfSums:
		return say.Scale{Percent: true, Decimals: 1}
	case math.IsNaN(span) || math.IsInf(span, 0):
		return say.Scale{Decimals: 2, Significant: 3}
	case span <= 2:
		return say.Scale{Decimals: 3}
	case span <= 20:
		return say.Scale{Decimals: 2, Significant: 3}
	case span <= 200:
		return say.Scale{Decimals: 1}
	}
	return say.Scale{}
}

// A Count is a name and how often it occurs.
type Count struct {
	Name string `json:"name"`
	N    int    `json:"n"`
}

// ofFailed is the reason of scores that are missing because their trial failed.
const ofFailed = "the trial failed"

// An Arm is one contestant with its trial outcomes and usage.
type Arm struct {
	ID        string       `json:"id"`
	Levels    []eval.Level `json:"levels"`
	Role      eval.Role    `json:"role,omitempty"`
	Simulated bool         `json:"simulated,omitempty"`
	Given     bool         `json:"given,omitempty"`  // its answers are from a file
	NoRun     bool         `json:"no_run,omitempty"` // no run had the tag of those that it takes
	// SimulatedJudge is true if a simulation judged its answers.
	SimulatedJudge bool `json:"simulated_judge,omitempty"`
	// Judges are those of its answers, with the versions that answered, where arms have different ones.
	Judges        []string `json:"judges,omitempty"`
	JudgeVersions []string `json:"judge_versions,omitempty"`

	Planned   int `json:"planned"`
	OK        int `json:"ok"`
	Malformed int `json:"malformed"`
	Refused   int `json:"refused"`
	Failed    int `json:"failed"`
	// Intervals are the ends of those of the shares of malformed answers, of refusals and of failed
	// trials; nil in analyses of earlier versions.
	Intervals map[eval.OutcomeKind][2]Number `json:"share_intervals,omitempty"`
	Reasons   []Count                        `json:"reasons,omitempty"` // of outcomes that are not ok
	Notes     []Count                        `json:"notes,omitempty"`   // repaired, truncated …

	Versions []Count `json:"versions,omitempty"` // model versions as reported by the provider

	Calls        int    `json:"calls"`
	Retried      int    `json:"retried"` // requests beyond the first of a call
	InputTokens  Tokens `json:"input_tokens"`
	OutputTokens Tokens `json:"output_tokens"`
	CachedTokens Tokens `json:"cached_tokens"`
	Reasoning    Tokens `json:"reasoning_tokens"`
	CostUSD      Number `json:"cost_usd"`                  // undefined if a price is unknown
	Estimated    int    `json:"estimated_calls,omitempty"` // answers, judges' included, whose usage is estimated
	OddEnds      int    `json:"odd_ends,omitempty"`        // answers, judges' included, that ended for an unknown reason
	// LatencyMS is the latency of answered calls, if the study reports it.
	LatencyMS    *Latency `json:"latency_ms,omitempty"`
	JudgeCalls   int      `json:"judge_calls,omitempty"`
	JudgeCostUSD Number   `json:"judge_cost_usd"`
	// Reused counts the calls, the judges' included, whose answers were taken from
	// other calls. ReusedUSD is the part of the costs that was not paid again.
	Reused    int    `json:"reused_calls,omitempty"`
	ReusedUSD Number `json:"reused_usd,omitempty"`
}

// Tokens is a count of tokens. A negative one is unknown, because a call does not say it: null in JSON.
type Tokens int

// MarshalJSON writes the count, or null.
func (n Tokens) MarshalJSON() ([]byte, error) {
	if n < 0 {
		return []byte("null"), nil
	}
	return json.Marshal(int(n))
}

// UnmarshalJSON reads a count or null.
func (n *Tokens) UnmarshalJSON(b []byte) error {
	*n = -1
	return json.Unmarshal(b, (*int)(n))
}

// Answers counts the trials with an answer: malformed ones and refusals too, failed ones not.
func (a Arm) Answers() int { return a.OK + a.Malformed + a.Refused }

// Done counts the trials with an outcome.
func (a Arm) Done() int { return a.Answers() + a.Failed }

// Share is that of a kind of outcome: of failed trials in those that are done, and of others in the
// answers. It is undefined without any.
func (a Arm) Share(kind eval.OutcomeKind) eval.Measured {
	hits, n := a.Failed, a.Done()
	switch kind {
	case eval.Malformed:
		hits, n = a.Malformed, a.Answers()
	case eval.Refused:
		hits, n = a.Refused, a.Answers()
	}
	ci, ok := a.Intervals[kind]
	if !ok {
		ci = [2]Number{Undefined(), Undefined()}
	}
	return eval.Measured{Value: Number(float64(hits) / float64(n)), Low: ci[0], High: ci[1], N: n}
}

// Usage sums calls. Tokens and cost are those of the calls of which they are known.
type Usage struct {
	Calls         int    `json:"calls"`
	Retried       int    `json:"retried"`
	InputTokens   int    `json:"input_tokens"`
	OutputTokens  int    `json:"output_tokens"`
	CachedTokens  int    `json:"cached_tokens"`
	Reasoning     int    `json:"reasoning_tokens"`
	Uncounted     int    `json:"uncounted_calls,omitempty"` // which do not say how many tokens they took
	CostUSD       Number `json:"cost_usd"`
	Unpriced      int    `json:"unpriced_calls,omitempty"` // of unknown cost
	JudgeCalls    int    `json:"judge_calls"`
	JudgeCostUSD  Number `json:"judge_cost_usd"`
	JudgeUnpriced int    `json:"judge_unpriced_calls,omitempty"`
}

// add adds the calls of an arm in one stage.
func (u *Usage) add(n eval.ArmCalls) {
	if n.Stage == eval.StageJudge {
		u.JudgeCalls += n.Calls
		u.JudgeCostUSD += Number(n.CostUSD)
		u.JudgeUnpriced += n.Unpriced
		return
	}
	u.Calls += n.Calls
	u.Retried += n.Retried
	u.InputTokens += n.Input
	u.OutputTokens += n.Output
	u.CachedTokens += n.Cached
	u.Reasoning += n.Reasoning
	u.Uncounted += n.Uncounted
	u.CostUSD += Number(n.CostUSD)
	u.Unpriced += n.Unpriced
}

// A Latency is the median and the 95th percentile, in milliseconds.
type Latency struct {
	Median Number `json:"median"`
	P95    Number `json:"p95"`
}

// An Estimate is one metric of one arm, over all items or one stratum.
type Estimate struct {
	Arm     string      `json:"arm"`
	Metric  string      `json:"metric"`
	Stratum *eval.Level `json:"stratum,omitempty"` // nil: all items
	Bounds
	Items    int    `json:"items"` // items with at least one fraction
	Clusters int    `json:"clusters"`
	Num      Number `json:"num"` // sums over all fractions
	Den      Number `json:"den"`
	SD       Number `json:"sd,omitempty"` // between items, of all items and metrics with scores of items
	// Unscored counts the entries without a score, by reason, with those of failed trials;
	// UnscoredShare is their share of all that there is to score. Of a stratum they are 0.
	Unscored      int     `json:"unscored,omitempty"`
	Reasons       []Count `json:"unscored_reasons,omitempty"`
	UnscoredShare Number  `json:"unscored_share,omitempty"`
	// Least and Most are the estimate if every missing score were the lowest or the highest
	// possible; nil if none is missing, or if one has no lowest and highest form.
	Least  *Bounds `json:"least,omitempty"`
	Most   *Bounds `json:"most,omitempty"`
	Method string  `json:"method"` // of the interval
	// ByJudge is what the judge alone says, of an estimate corrected by people; N is how
	// many units they judged. JudgeAlone: it depends on a judge whom people did not correct.
	ByJudge    *eval.Measured `json:"by_judge,omitempty"`
	JudgeAlone bool           `json:"judge_alone,omitempty"`
	// Disputed counts units on which people disagree, without an adjudication, or that they skipped. They are left out,
	// so the units that people judged are no longer a random sample.
	Disputed int `json:"disputed,omitempty"`
	// Combined: it combines verdicts of a judge, so people's verdicts do not correct it.
	Combined bool `json:"combines_verdicts,omitempty"`
	// Assumes is what the interval takes for granted, where the data cannot show it.
	Assumes  string   `json:"assumes,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	// Prices count the calls by price, of models with several in the analysis, and of costs.
	Prices []CallPrice `json:"prices,omitempty"`
}

// Measured is the value with its interval and the number of items.
func (e Estimate) Measured() eval.Measured {
	return eval.Measured{Value: e.Value, Low: e.Low, High: e.High, N: e.Items}
}

// Unjudged counts the entries without a score whose trial did not fail.
func (e Estimate) Unjudged() int {
	n := e.Unscored
	for _, r := range e.Reasons {
		if r.Name == ofFailed {
			n -= r.N
		}
	}
	return n
}

// Bounds are a value and its interval.
type Bounds struct {
	Value Number `json:"value"`
	Low   Number `json:"low"`
	High  Number `json:"high"`
}

func boundsOf(value float64, ci stats.Interval) Bounds {
	return Bounds{Number(value), Number(ci.Low), Number(ci.High)}
}

// A Comparison is the difference A − B of two arms on the items that both have.
// Its results respect clusters of items, and scores that are 0 or 1.
type Comparison struct {
	A        string `json:"a"`
	B        string `json:"b"`
	Metric   string `json:"metric"`
	Primary  bool   `json:"primary,omitempty"`
	Family   string `json:"family,omitempty"`   // of primary comparisons that are corrected together
	Contrast bool   `json:"contrast,omitempty"` // the suite's, not the study's
	// Late names the arm that was added or changed, or its judge, after results had been shown: the
	// comparison was not planned before.
	Late string `json:"late,omitempty"`
	// JudgesDiffer says how the judges of the arms differ, where the metric rests on them: the
	// difference may be that of the judges, and there is no verdict on it.
	JudgesDiffer string `json:"judges_differ,omitempty"`
	// PricesDiffer says so of the prices of a model.
	PricesDiffer string      `json:"prices_differ,omitempty"`
	Stratum      *eval.Level `json:"stratum,omitempty"`
	Pairs        int         `json:"pairs"`
	Unpaired     int         `json:"unpaired"` // items that only one arm has
	Clusters     int         `json:"clusters"` // of the pairs
	MeanA        Number      `json:"mean_a"`   // over the pairs
	MeanB        Number      `json:"mean_b"`
	Reading                  // that decides
	// Level is the level of the interval: 1 − α, or more for simultaneous intervals
	// of several primary comparisons.
	Level Number `json:"level"`
	T     Number `json:"t"`
	DF    Number `json:"df"`
	Effect
	// Wins, Ties and Losses are of items: undefined of a difference that people correct, of which only the judge's are known.
	Wins   Number `json:"wins"`
	Ties   Number `json:"ties"`
	Losses Number `json:"losses"`
	// Beside are other tests that the study asks for. They decide nothing.
	Beside []Reading `json:"beside,omitempty"`
	// ByJudge is what the judge alone says, of a difference corrected by people.
	ByJudge *Reading `json:"by_judge,omitempty"`
	// Least and Most are the comparison if every missing score of A were the lowest possible
	// and those of B the highest, and the other way round, with the least and the most that d and its
	// interval can be; nil if none is missing, or if one has no lowest and highest form.
	Least *Comparison `json:"least,omitempty"`
	Most  *Comparison `json:"most,omitempty"`
	// Assumes is what the interval takes for granted, where the data cannot show it.
	Assumes  string   `json:"assumes,omitempty"`
	Warnings []string `json:"warnings,omitempty"`

	beyond float64 // the largest p-value of a limit of rules, while levels are not known
}

// A Reading is what one method says of a difference.
type Reading struct {
	Diff      Number `json:"diff"`
	Low       Number `json:"low"`
	High      Number `json:"high"`
	P         Number `json:"p"`
	PAdjusted Number `json:"p_adjusted"` // undefined for one that is not corrected together with others
	// EquivLow and EquivHigh are the interval of level 1−2α, 1−α being the level of the other. If
	// it lies within ±m, two one-sided tests at α show that the arms differ by less than m (TOST).
	EquivLow  Number `json:"equivalence_low"`
	EquivHigh Number `json:"equivalence_high"`
	Method    string `json:"method,omitempty"`
}

// Untested is a reading of a difference without a test.
func Untested(diff Number, method string) Reading {
	u := Undefined()
	return Reading{diff, u, u, u, u, u, u, method}
}

func (p Reading) reversed() Reading {
	p.Diff, p.Low, p.High, p.EquivLow, p.EquivHigh = -p.Diff, -p.High, -p.Low, -p.EquivHigh, -p.EquivLow
	return p
}

// An Effect is Cohen's d for pairs.
type Effect struct {
	D     Number `json:"d"`
	DLow  Number `json:"d_low"`
	DHigh Number `json:"d_high"`
}

// A Model is the linear mixed model behind the comparisons on a metric.
type Model struct {
	Metric   string   `json:"metric"`
	Formula  string   `json:"formula"`
	Rows     int      `json:"rows"`
	Groups   []Group  `json:"groups"`
	Residual Number   `json:"residual_sd"`
	F        Number   `json:"f"` // test that all arm means are equal
	NumDF    Number   `json:"num_df"`
	DenDF    Number   `json:"den_df"`
	P        Number   `json:"p"`
	Means    []Mean   `json:"means"`
	Warnings []string `json:"warnings,omitempty"`
}

// A Group is a random intercept.
type Group struct {
	Name   string `json:"name"`
	Levels int    `json:"levels"`
	SD     Number `json:"sd"`
}

// A Mean is an arm's marginal mean.
type Mean struct {
	Arm   string `json:"arm"`
	Value Number `json:"value"`
	Low   Number `json:"low"`
	High  Number `json:"high"`
	DF    Number `json:"df"`
}

// A Judge is the accuracy of a judge on cases with known answers.
type Judge struct {
	Name     string `json:"name"`
	Right    int    `json:"right"`
	Cases    int    `json:"cases"`
	Accuracy Number `json:"accuracy"`
	Low      Number `json:"low"`
	High     Number `json:"high"`
	// On names the documents of the cases, such as DEV; "" for all of the run.
	On       string   `json:"measured_on,omitempty"`
	Effect   string   `json:"effect"`
	Failed   bool     `json:"failed,omitempty"` // its verdicts do not count
	Warnings []string `json:"warnings,omitempty"`
}

// A Sample is one of the best or worst trials, shown in full.
type Sample struct {
	Rank   string       `json:"rank"` // "best" or "worst"
	Metric string       `json:"metric"`
	Score  Number       `json:"score"`
	Show   eval.Exhibit `json:"show"`
}

// Estimate finds the estimate of a metric for an arm over all items.
func (a *Analysis) Estimate(arm, metric string) (Estimate, bool) {
	return find(a.Estimates, func(e Estimate) bool { return e.Stratum == nil && e.Arm == arm && e.Metric == metric })
}

// EstimateIn finds the estimate of a metric for an arm in a stratum.
func (a *Analysis) EstimateIn(arm, metric string, stratum eval.Level) (Estimate, bool) {
	return find(a.Estimates, func(e Estimate) bool {
		return e.Stratum != nil && *e.Stratum == stratum && e.Arm == arm && e.Metric == metric
	})
}

// Arm finds an arm by its id.
func (a *Analysis) Arm(id string) (Arm, bool) {
	return find(a.Arms, func(arm Arm) bool { return arm.ID == id })
}

// SimulatedArms lists the arms whose answers were simulated.
func (a *Analysis) SimulatedArms() (ids []string) {
	for _, arm := range a.Arms {
		if arm.Simulated {
			ids = append(ids, arm.ID)
		}
	}
	return ids
}

// find is the first of a list of which something is true.
func find[T any](list []T, is func(T) bool) (x T, ok bool) {
	if i := slices.IndexFunc(list, is); i >= 0 {
		return list[i], true
	}
	return x, false
}

// An Agreement is the share of equal answers of two people to a question of a task.
type Agreement struct {
	Task     string `json:"task"`
	Question string `json:"question"`
	Same     int    `json:"same"`
	N        int    `json:"n"`
}

// Agreement returns the smallest agreement on a task, of its questions.
func (a *Analysis) Agreement(task string) (least Agreement, ok bool) {
	for _, g := range a.Agreements {
		if g.Task == task && g.N > 0 && (!ok || g.Same*least.N < least.Same*g.N) {
			least, ok = g, true
		}
	}
	return least, ok
}

// Comparison finds the comparison of two arms over all items. If the analysis has
// B − A, it is inverted.
func (a *Analysis) Comparison(armA, armB, metric string) (Comparison, bool) {
	return find(a.between(armA, armB, metric, func(s *eval.Level) bool { return s == nil }), func(Comparison) bool { return true })
}

// ComparisonIn finds the comparison of two arms in a stratum.
func (a *Analysis) ComparisonIn(armA, armB, metric string, stratum eval.Level) (Comparison, bool) {
	return find(a.Strata(armA, armB, metric, stratum.Name), func(c Comparison) bool { return *c.Stratum == stratum })
}

// Strata returns the comparisons of two arms in the strata of a factor.
func (a *Analysis) Strata(armA, armB, metric, factor string) []Comparison {
	return a.between(armA, armB, metric, func(s *eval.Level) bool { return s != nil && s.Name == factor })
}

// between lists the comparisons of two arms in strata, as A − B.
func (a *Analysis) between(armA, armB, metric string, in func(*eval.Level) bool) (list []Comparison) {
	for _, c := range a.Comparisons {
		if c.A == armB && c.B == armA {
			c = c.reversed()
		}
		if c.A == armA && c.B == armB && c.Metric == metric && in(c.Stratum) {
			list = append(list, c)
		}
	}
	return list
}

// both changes two ends, if there are any.
func both[T any](least, most *T, change func(T) T) (*T, *T) {
	if least == nil || most == nil {
		return nil, nil
	}
	low, high := change(*least), change(*most)
	return &low, &high
}

func (c Comparison) reversed() Comparison {
	c.Most, c.Least = both(c.Least, c.Most, Comparison.reversed)
	c.A, c.B = c.B, c.A
	c.MeanA, c.MeanB, c.T = c.MeanB, c.MeanA, -c.T
	c.Reading, c.Effect = c.Reading.reversed(), Effect{-c.D, -c.DHigh, -c.DLow}
	c.Wins, c.Losses = c.Losses, c.Wins
	c.Beside = slices.Clone(c.Beside)
	for i, p := range c.Beside {
		c.Beside[i] = p.reversed()
	}
	if c.ByJudge != nil {
		p := c.ByJudge.reversed()
		c.ByJudge = &p
	}
	return c
}

// Metric finds a metric by name.
func (a *Analysis) Metric(name string) (Metric, bool) {
	return find(a.Metrics, func(m Metric) bool { return m.Name == name })
}

// Deciding is the p-value, after the correction if any.
func (c Comparison) Deciding() Number {
	if c.PAdjusted.Defined() {
		return c.PAdjusted
	}
	return c.P
}

// A Finding is what a comparison shows.
type Finding string

// The findings.
const (
	NotCompared Finding = "not compared"
	OtherJudge  Finding = "judged by different judges"
	OtherPrice  Finding = "paid at different prices"
	NotTested   Finding = "not tested" // a difference without a p-value
	NoEvidence  Finding = "no evidence of a difference"
	Better      Finding = "better"
	Worse       Finding = "worse"
)

// Found is what a comparison shows of its first arm. A difference is significant if the
// p-value, after the correction if any, is below alpha.
func (c Comparison) Found(higherIsBetter bool, alpha float64) Finding {
	p := c.Deciding()
	switch {
	case !c.Diff.Defined():
		return NotCompared
	case c.JudgesDiffer != "":
		return OtherJudge
	case c.PricesDiffer != "":
		return OtherPrice
	case !p.Defined():
		return NotTested
	case float64(p) >= alpha:
		return NoEvidence
	case (c.Diff > 0) == higherIsBetter:
		return Better
	}
	return Worse
}

// A Discipline is what the ledger of a study with splits says of a run.
type Discipline struct {
	Registration *Registration `json:"registration,omitempty"` // of a TEST run
	Unblindings  []Unblinding  `json:"unblindings,omitempty"`
	Revisions    []Revision    `json:"revisions,omitempty"`
	Budget       []Used        `json:"budget,omitempty"`
	Others       []OtherTest   `json:"other_tests,omitempty"`
	Problem      string        `json:"problem,omitempty"` // why nothing shows the registration
}

// Reasons lists the reasons for which TEST was looked at again, with their dates.
func (d *Discipline) Reasons() (list []string) {
	if d == nil {
		return nil
	}
	for _, u := range d.Unblindings {
		text := u.Date + ", " + u.By + ": " + strconv.Quote(u.Reason)
		if len(u.Changes) > 0 {
			text += " (" + strings.Join(u.Changes, "; ") + ")"
		}
		list = append(list, text)
	}
	return list
}

// OtherRuns says which other TEST runs the ledger has with arms of the run; "" for none.
func (d *Discipline) OtherRuns() string {
	if d == nil || len(d.Others) == 0 {
		return ""
	}
	var list []string
	for _, t := range d.Others {
		const few = 6
		arms := t.Arms
		if len(arms) > few {
			arms = append(slices.Clone(arms[:few]), "…")
		}
		list = append(list, t.Run+" of study "+t.Study+", "+t.Date+", entry "+say.Count(t.Entry)+" ("+strings.Join(arms, ", ")+")")
	}
	return "this ledger has " + say.Plural(len(list), "other TEST run", "other TEST runs") + " with arms of this one: " + strings.Join(list, "; ")
}

// AsRegistered reports whether a run is a TEST run as it was registered.
func (d *Discipline) AsRegistered() bool {
	return d != nil && d.Registration != nil && d.Problem == "" && len(d.Unblindings) == 0
}

// A Registration is what was recorded before a TEST run.
type Registration struct {
	Date      string `json:"date"`
	By        string `json:"by"`
	SHA256    string `json:"sha256"`
	Entry     int    `json:"entry"` // line of the ledger
	EntryHash string `json:"entry_hash"`
	Test      string `json:"planned_test"`
	Times     int    `json:"times"` // how often the study was registered before it ran
	// Unknown says of which programs, and of which of their variables, a change is not noticed.
	Unknown []string `json:"unknown,omitempty"`
}

// An Unblinding is a reason for which TEST was looked at again, or with changed inputs.
type Unblinding struct {
	Date    string   `json:"date"`
	By      string   `json:"by"`
	Reason  string   `json:"reason"`
	Changes []string `json:"changes"`
}

// An OtherTest is another TEST run in the ledger with arms of this one. Whoever reports
// the best of several runs would be found here.
type OtherTest struct {
	Study string   `json:"study"`
	Run   string   `json:"run"`
	Date  string   `json:"date"`
	Entry int      `json:"entry"` // line of the ledger
	Arms  []string `json:"arms"`  // that both have
}

// A Revision is a cycle on DEV.
type Revision struct {
	Date       string `json:"date"`
	Hypothesis string `json:"hypothesis"`
	Change     string `json:"change"`
	After      string `json:"after_test,omitempty"` // the TEST run that began before it
}

// Used is what was used of a limit; Allowed is nil without one.
type Used struct {
	Name    string   `json:"name"`
	Used    float64  `json:"used"`
	Allowed *float64 `json:"allowed,omitempty"`
	Note    string   `json:"note,omitempty"`
}

// Over reports whether more was used than is allowed.
func (u Used) Over() bool { return u.Allowed != nil && u.Used > *u.Allowed }

// An Asked says what was asked of whom, for readers who want to check or repeat it.
type Asked struct {
	Program string `json:"scruple"` // version of the program that asked
	Study   string `json:"study"`   // hash of the study with its defaults
	Inputs  string `json:"inputs"`  // hash of what the arms are given about the items
	Gold    string `json:"gold"`    // hash of what answers are scored against
	// Asked are the arms with a model or pipeline, then the judges.
	Parties []Party `json:"parties"`
}

// A Party is an arm or a judge that was asked, with a trial that succeeded as the example.
type Party struct {
	Name     string  `json:"name"` // of the arm, or id of the judge's model
	Judge    bool    `json:"judge,omitempty"`
	Hash     string  `json:"hash,omitempty"` // of the arm's prompts and settings
	Provider string  `json:"provider"`
	Model    string  `json:"model"`              // as asked for
	Answered []Count `json:"answered,omitempty"` // versions, as the provider names them
	// Settings are those of the example's request as it was sent: temperature, limits,
	// hashes of the prompt and of the schema.
	Settings []eval.Level `json:"settings,omitempty"`
	Adapted  []string     `json:"adapted,omitempty"` // how what the model read differs from the request, as in [eval.Response.Adapted]
	Item     string       `json:"item"`              // of the example
	// Prompts are the texts of the first steps of the example, shortened; Steps counts
	// all. Missing says why there are none.
	Prompts []Prompt `json:"prompts,omitempty"`
	Steps   int      `json:"steps"`
	Missing string   `json:"missing,omitempty"`
}

// A Prompt is the text of one request.
type Prompt struct {
	Step string `json:"step"`
	Text string `json:"text"`
}
