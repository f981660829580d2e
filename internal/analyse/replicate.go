package analyse

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/internal/text"
)

// A Replication is how a difference changed since an earlier run on other items.
type Replication struct {
	Run    string `json:"run"` // the earlier one
	A      string `json:"a"`
	B      string `json:"b"`
	Metric string `json:"metric"`
	// Stratum is that of the items of this run; the earlier difference is over all of its items.
	Stratum *eval.Level `json:"stratum,omitempty"`
	Earlier Number      `json:"earlier"`
	Here    Number      `json:"here"`
	Change  Number      `json:"change"` // Here − Earlier
	Pairs   [2]int      `json:"pairs"`  // of the earlier run and of this one
	// EquivLow and EquivHigh are the interval of the change of level 1 − 2α, or more
	// if one of the differences has a simultaneous interval or the earlier study a smaller α.
	EquivLow  Number `json:"equivalence_low"`
	EquivHigh Number `json:"equivalence_high"`
	// Least and Most are the change if every missing score of both runs were the lowest or
	// the highest possible; nil if none is missing.
	Least   *Replication `json:"least,omitempty"`
	Most    *Replication `json:"most,omitempty"`
	Warning string       `json:"warning,omitempty"` // why there is no interval, or no change
	// OtherModels says which arms are on another model than in the earlier run.
	OtherModels string `json:"other_models,omitempty"`
	Unblinded   string `json:"unblinded,omitempty"` // why TEST of the earlier run was looked at again, or that its ledger has no entry
}

// Replicate compares the differences over all items, and in each stratum, with those over
// all items of an earlier run. The interval of a change is made from the intervals of both
// differences (MOVER, Zou & Donner 2008), so it holds for every method by which those were
// computed.
func (a *Analysis) Replicate(earlier *Analysis) {
	for _, c := range a.Comparisons {
		was, ok := earlier.Comparison(c.A, c.B, c.Metric)
		if !ok {
			continue
		}
		r := earlier.changed(c, was)
		if c.Least != nil || was.Least != nil {
			low, high := earlier.changed(*cmp.Or(c.Least, &c), *cmp.Or(was.Most, &was)), earlier.changed(*cmp.Or(c.Most, &c), *cmp.Or(was.Least, &was))
			r.Least, r.Most = &low, &high
		}
		switch why := a.unfit(earlier, was); {
		case why != "":
			r.Change, r.Least, r.Most = Undefined(), nil, nil
			r.Warning = fmt.Sprintf("no change: run %s %s", earlier.Run.ID, why)
		case !c.P.Defined() || !was.P.Defined():
			r.Warning = "no interval of the change: the planned test cannot be made in both runs"
		case earlier.Study.Alpha > a.Study.Alpha:
			r.Warning = fmt.Sprintf("no interval of the change: those of run %s are narrower, with alpha %v instead of %v: score its study with `-o statistics.alpha=%[3]v`", earlier.Run.ID, earlier.Study.Alpha, a.Study.Alpha)
		}
		if r.Warning != "" {
			r.EquivLow, r.EquivHigh = Undefined(), Undefined()
		}
		if reasons := earlier.Discipline.Reasons(); len(reasons) > 0 {
			r.Unblinded = fmt.Sprintf("TEST of run %s was looked at again: %s", earlier.Run.ID, strings.Join(reasons, "; "))
		} else if d := earlier.Discipline; d != nil && d.Problem != "" {
			r.Unblinded = earlier.Run.ID + ": " + d.Problem
		}
		a.Replications = append(a.Replications, r)
	}
}

// WithOtherArms marks the replications of arms that are others than under their name in the earlier run.
// With another prompt or program nothing is replicated, and there is no change. Another model is named.
func (a *Analysis) WithOtherArms(prompts, models map[string]string) {
	for i := range a.Replications {
		r := &a.Replications[i]
		other := func(is map[string]string) string {
			var list []string
			for _, arm := range []string{r.A, r.B} {
				if is[arm] != "" {
					list = append(list, arm+" "+is[arm]+" than in run "+r.Run)
				}
			}
			return strings.Join(list, ", ")
		}
		if why := other(prompts); why != "" {
			r.without(why)
		}
		r.OtherModels = other(models)
	}
}

// WithPrices marks the replications on metrics that count prices, of calls of one model that had several
// in the two runs.
func (a *Analysis) WithPrices(priced func(metric string) bool, earlier, here []eval.ArmPrice) {
	for i := range a.Replications {
		r := &a.Replications[i]
		var paid []Estimate
		for _, arm := range []string{r.A, r.B} {
			paid = append(paid, Estimate{Arm: r.Run + ":" + arm, Prices: pricesFor(arm, earlier)}, Estimate{Arm: arm, Prices: pricesFor(arm, here)})
		}
		if differ := PricesDiffer(paid...); differ != "" && priced(r.Metric) {
			r.without(differ + noVerdict)
		}
	}
}

// without leaves out the change.
func (r *Replication) without(why string) {
	u := Undefined()
	r.Change, r.EquivLow, r.EquivHigh, r.Least, r.Most = u, u, u, nil, nil
	r.Warning = "no change: " + why
}

// unfit says why a comparison of an earlier run shows no change, "" if it can.
func (a *Analysis) unfit(earlier *Analysis, was Comparison) string {
	run := earlier.Run
	if run.Exploratory() {
		return "has items of DEV, whose results decide nothing: name a TEST run in replicates"
	}
	if run.Interrupted() {
		return fmt.Sprintf("is unfinished, with %d of %s done: resume it", run.Done, text.Plural(run.Planned, "trial", "trials"))
	}
	if why := earlier.Broken(); why != "" {
		return fmt.Sprintf("is broken, %s: %s", why, run.Remedy("", earlier.Arms...))
	}
	for _, id := range []string{was.A, was.B} {
		before, _ := earlier.Arm(id)
		if now, _ := a.Arm(id); before.Simulated && !now.Simulated {
			return "simulated the answers of " + id + ", and this one did not: name a run that asked its model"
		}
	}
	if lacks, _ := earlier.undecidable(was); lacks != "" {
		return fmt.Sprintf("%s: retry them with `%s`", lacks, run.Retry())
	}
	return ""
}

// undecidable says why missing scores leave a comparison undecided whatever is asked of it, "" if they do
// not, and how many are missing.
func (a *Analysis) undecidable(c Comparison) (why string, missing int) {
	for _, id := range []string{c.A, c.B} {
		e, _ := a.Estimate(id, c.Metric)
		switch missing += e.Unscored; {
		case float64(e.UnscoredShare) > a.Study.MaxUnscored:
			why = fmt.Sprintf("has no score of %.1f %% of %s of %s, the limit is %.1f %%", 100*e.UnscoredShare, c.Metric, id, 100*a.Study.MaxUnscored)
		case e.Unscored > 0 && c.Least == nil && why == "":
			why = fmt.Sprintf("lacks scores of %s of %s, and there is no lowest and highest one to try instead", c.Metric, id)
		}
	}
	return why, missing
}

// changed is the change of a difference since an earlier analysis.
func (a *Analysis) changed(c, was Comparison) Replication {
	r := Replication{Run: a.Run.ID, A: c.A, B: c.B, Metric: c.Metric, Stratum: c.Stratum, Earlier: was.Diff, Here: c.Diff, Change: c.Diff - was.Diff, Pairs: [2]int{was.Pairs, c.Pairs}}
	r.EquivLow = r.Change - hypot(c.Diff-c.EquivLow, was.EquivHigh-was.Diff)
	r.EquivHigh = r.Change + hypot(c.EquivHigh-c.Diff, was.Diff-was.EquivLow)
	return r
}

func hypot(x, y Number) Number { return Number(math.Hypot(float64(x), float64(y))) }

// Replication finds how the difference of two arms changed, over all items or in a stratum.
func (a *Analysis) Replication(armA, armB, metric string, stratum *eval.Level) (Replication, bool) {
	for _, r := range a.Replications {
		if r.A == armB && r.B == armA {
			r = r.reversed()
		}
		in := stratum == nil && r.Stratum == nil || stratum != nil && r.Stratum != nil && *r.Stratum == *stratum
		if r.A == armA && r.B == armB && r.Metric == metric && in {
			return r, true
		}
	}
	return Replication{}, false
}

func (r Replication) reversed() Replication {
	r.A, r.B, r.Earlier, r.Here, r.Change = r.B, r.A, -r.Earlier, -r.Here, -r.Change
	r.EquivLow, r.EquivHigh = -r.EquivHigh, -r.EquivLow
	r.Most, r.Least = both(r.Least, r.Most, Replication.reversed)
	return r
}

// BlindFormat is the format of a [BlindFile]. The one before has neither the beginning of the run nor
// levels of intervals.
const (
	BlindFormat  = "scruple-blind/4"
	formerFormat = "scruple-blind/3"
)

// A BlindFile is the file with the result of a blind validation.
type BlindFile struct {
	Format string `json:"format"`
	BlindResult
}

// Check returns an error if a file is not one with the result of a blind validation.
func (r *BlindFile) Check() error {
	switch {
	case r.Format != BlindFormat && r.Format != formerFormat:
		return fmt.Errorf("format is %q: want %q: a kit of this version (`scruple blind build`) writes it, with a commitment of its own", r.Format, BlindFormat)
	case strings.TrimSpace(r.By) == "":
		return errors.New("by is missing: want who ran it")
	case !IsSum(r.Kit):
		return fmt.Errorf("kit_sha256 is %q: want the 64 digits of the kit", r.Kit)
	case !IsSum(r.Data):
		return fmt.Errorf("data_sha256 is %q: want the 64 digits that were committed before the run", r.Data)
	case r.Documents < 1:
		return errors.New("documents is missing: want how many there are")
	case len(r.Comparisons) == 0:
		return errors.New("the file has no comparisons")
	case r.Committed+r.CommittedAt+r.Withdrawn+r.Unread != "" || r.Others != nil || r.Late:
		return errors.New("a result has no keys committed, committed_at, late, withdrawn, others and unread")
	case r.Format == BlindFormat && r.BeganAt == "":
		return errors.New("began_at is missing: want when the run began")
	}
	for i, c := range r.Comparisons {
		why := c.impossible(r.Comparisons[:i], r.Documents)
		if why == "" && r.Format == BlindFormat && c.Low.Defined() && !(c.Level > 0 && c.Level < 1) {
			why = fmt.Sprintf("level is %v: want that of the interval, between 0 and 1", c.Level)
		}
		if why != "" {
			return fmt.Errorf("comparisons[%d]: %s", i, why)
		}
	}
	return nil
}

// FewestBlind is the number of documents from which an average says little about each.
const FewestBlind = 5

// impossible says what no kit writes, "" if it can. Each number may be undefined.
func (c BlindComparison) impossible(before []BlindComparison, documents int) string {
	known := c.Diff.Defined()
	same := func(a, b Number) bool { return math.Abs(float64(a-b)) < 1e-9 }
	switch {
	case c.A == "" || c.B == "" || c.Metric == "":
		return "want a, b and metric"
	case slices.ContainsFunc(before, func(o BlindComparison) bool {
		return o.Metric == c.Metric && (o.A == c.A && o.B == c.B || o.A == c.B && o.B == c.A)
	}):
		return fmt.Sprintf("%s and %s are compared by %s twice", c.A, c.B, c.Metric)
	case c.P < 0 || c.P > 1:
		return fmt.Sprintf("p is %v: want 0 to 1", c.P)
	case c.Low > c.High || c.Diff < c.Low-1e-9 || c.Diff > c.High+1e-9 || c.Low.Defined() != c.High.Defined():
		return fmt.Sprintf("diff %v is not between low %v and high %v", c.Diff, c.Low, c.High)
	case c.Pairs < 0 || c.Pairs > documents:
		return fmt.Sprintf("%d pairs of %d documents", c.Pairs, documents)
	case c.Unscored < 0:
		return fmt.Sprintf("unscored is %d: want how many scores are missing", c.Unscored)
	// With missing scores the pairs are others than those of diff, which may be outside.
	case c.Least > c.Most || known && c.Unscored == 0 && !(same(c.Least, c.Diff) && same(c.Most, c.Diff)):
		return fmt.Sprintf("least %v and most %v of diff %v with %d missing scores", c.Least, c.Most, c.Diff, c.Unscored)
	case known && c.Pairs < FewestBlind:
		return fmt.Sprintf("a difference of %d pairs: kits give none below %d", c.Pairs, FewestBlind)
	}
	return ""
}

// IsSum reports whether a text is a SHA-256 in hexadecimal.
func IsSum(s string) bool {
	_, err := hex.DecodeString(s)
	return err == nil && len(s) == 64
}

// A BlindResult is an outsider's result on private data.
type BlindResult struct {
	By          string            `json:"by"`
	Kit         string            `json:"kit_sha256,omitempty"` // of an earlier version it is not known
	Data        string            `json:"data_sha256"`          // committed before the run
	Documents   int               `json:"documents,omitempty"`  // 0: of an earlier version, which says nothing of missing scores
	Simulated   []string          `json:"simulated,omitempty"`  // arms whose answers were simulated
	BeganAt     string            `json:"began_at,omitempty"`   // RFC 3339, UTC; "": an earlier version, which did not say
	Comparisons []BlindComparison `json:"comparisons"`
	// CommittedAt is when the ledger of the study recorded the commitment, of a result. Late: after the
	// run began, so that the data may have been chosen by their results.
	CommittedAt string `json:"committed_at,omitempty"`
	Late        bool   `json:"late,omitempty"`
	// Committed is the day of a commitment of which no result is recorded, and Withdrawn why none
	// will be; "" in results.
	Committed string `json:"committed,omitempty"`
	Withdrawn string `json:"withdrawn,omitempty"`
	// Others are the arms of the run that were others in the kit: with another prompt, program or
	// model. It says nothing of them.
	Others []string `json:"others,omitempty"`
	// Unread says what this version cannot read of a result that another one recorded, which then has
	// no comparisons.
	Unread string `json:"unread,omitempty"`
}

// String names the outsider, the data and what was compared.
func (r BlindResult) String() string {
	by, data := say.PlainLine(r.By), "data with SHA-256 "+r.Data[:min(12, len(r.Data))]
	if r.Committed != "" {
		result := "no result yet"
		if r.Withdrawn != "" {
			result = "withdrawn: " + say.PlainLine(r.Withdrawn)
		}
		return fmt.Sprintf("by %s, %s, committed on %s: %s", by, data, r.Committed, result)
	}
	if r.Unread != "" {
		return fmt.Sprintf("by %s, %s: not read, since another version of Scruple recorded it: %s", by, data, say.PlainLine(r.Unread))
	}
	of := text.Plural(len(r.Comparisons), "comparison", "comparisons")
	if !slices.ContainsFunc(r.Comparisons, func(c BlindComparison) bool { return c.Diff.Defined() }) {
		of += ", none of them with numbers"
	}
	s := fmt.Sprintf("by %s, %s, %s", by, of, data)
	if len(r.Simulated) > 0 {
		s += ", SIMULATED"
	}
	switch {
	case r.Late:
		s += ", NOT counted, since the commitment was recorded after the run began: " + r.Order()
	case r.CommittedAt != "" && r.BeganAt == "":
		s += ", not known whether the commitment was recorded before the run"
	}
	if r.Documents == 0 {
		s += ", how many scores are missing is not known"
	}
	if len(r.Others) > 0 {
		s += ", NOT of the arms as they are now: " + strings.Join(r.Others, ", ")
	}
	return s
}

// Order says when the commitment was recorded and when the run began.
func (r BlindResult) Order() string {
	at := func(t string) string {
		return strings.Replace(t[:min(len(t), len("2006-01-02T15:04:05"))], "T", " ", 1)
	}
	return "recorded " + at(r.CommittedAt) + ", begun " + at(r.BeganAt) + " UTC"
}

// OfOthers reports whether the result says nothing of some arms, as one of them was another one.
func (r BlindResult) OfOthers(arms []string) bool {
	return slices.ContainsFunc(arms, func(arm string) bool { return slices.Contains(r.Others, arm) })
}

// counts reports whether a comparison has a difference of the arms as they are now, on data committed
// to before.
func (r BlindResult) counts(c BlindComparison) bool {
	return c.Diff.Defined() && !r.Late && !r.OfOthers([]string{c.A, c.B})
}

// Counts reports whether any comparison counts.
func (r BlindResult) Counts() bool { return slices.ContainsFunc(r.Comparisons, r.counts) }

// BlindValidations describes the results of outsiders, in the order of the ledger, and then the
// commitments without a result.
func (a *Analysis) BlindValidations() (list []string) {
	for _, r := range a.Blind {
		list = append(list, r.String())
	}
	return list
}

// A BlindComparison is a difference that an outsider found.
type BlindComparison struct {
	A      string `json:"a"`
	B      string `json:"b"`
	Metric string `json:"metric"`
	Diff   Number `json:"diff"`
	Low    Number `json:"low"`
	High   Number `json:"high"`
	Level  Number `json:"level,omitempty"` // of the interval; 0: an earlier version, which did not say
	P      Number `json:"p"`
	Pairs  int    `json:"pairs"`
	// Unscored counts the missing scores of both arms. Least and Most are the difference if each were
	// as bad or as good for A as possible: Diff, if none is missing.
	Unscored int    `json:"unscored"`
	Least    Number `json:"least"`
	Most     Number `json:"most"`
}

// ForBlind returns what an outsider's result says of a comparison, and why it has no numbers, ""
// if it has.
func (a *Analysis) ForBlind(c Comparison) (b BlindComparison, why string) {
	b = BlindComparison{A: c.A, B: c.B, Metric: c.Metric, Diff: c.Diff, Low: c.Low, High: c.High, Level: c.Level, P: c.P, Pairs: c.Pairs}
	if why, b.Unscored = a.undecidable(c); why != "" {
		return b.WithoutNumbers(), why
	}
	b.Least, b.Most = cmp.Or(c.Least, &c).Diff, cmp.Or(c.Most, &c).Diff
	return b, ""
}

// WithoutNumbers leaves out all that depends on scores.
func (b BlindComparison) WithoutNumbers() BlindComparison {
	u := Undefined()
	b.Diff, b.Low, b.High, b.P, b.Least, b.Most = u, u, u, u, u, u
	return b
}

// Comparison returns the difference of two arms.
func (r BlindResult) Comparison(armA, armB, metric string) (BlindComparison, bool) {
	for _, c := range r.Comparisons {
		if r.Documents == 0 {
			c.Least, c.Most = c.Diff, c.Diff
		}
		if c.A == armB && c.B == armA {
			c.Least, c.Most = -c.Most, -c.Least
			c.A, c.B, c.Diff, c.Low, c.High = c.B, c.A, -c.Diff, -c.High, -c.Low
		}
		if c.A == armA && c.B == armB && c.Metric == metric && r.counts(c) {
			return c, true
		}
	}
	return BlindComparison{}, false
}
