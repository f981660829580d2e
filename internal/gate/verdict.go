// Package gate turns an analysis into a verdict and an exit code by the rules
// of the study. It computes no statistics: every number comes from the
// [analyse.Analysis], and undefined numbers cannot decide.
//
// Read verdict.go; rules.go, and compile.go, where [Compile] checks them; decide.go, where [Rules.Decide]
// applies them, each by values and intervals; and gate.go, the functions that rules call.
// What makes a rule undecided or doubtful is in doubt.go.
package gate

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/text"
)

// State is the result of a condition or of the gate.
type State string

// The states. A rule passes if the intervals that it reads lie within its limits, and
// fails if they lie outside. Undecided means that there is not enough evidence: an
// interval lies across a limit, a result is undefined, the run is unfinished, or too many
// trials failed.
const (
	Pass      State = "pass"
	Fail      State = "fail"
	Undecided State = "undecided"
)

// A Verdict is what the gate says, with every condition it looked at.
type Verdict struct {
	State   State  `json:"state"`
	Outcome string `json:"outcome,omitempty"` // name of the class that applies
	Advice  string `json:"advice,omitempty"`
	// Diagnosis is the first that applies, of a run that is not a pass.
	Diagnosis       string      `json:"diagnosis,omitempty"`
	DiagnosisAdvice string      `json:"diagnosis_advice,omitempty"`
	Reasons         []string    `json:"reasons,omitempty"` // why undecided or failed, in words
	Conditions      []Condition `json:"conditions"`
	// Troubles are those of the arms that the rules name: their numbers may say more
	// about the form of answers than about the task.
	Troubles []analyse.Trouble `json:"troubles,omitempty"`
	// FailedJudges says which judges failed their calibration, and what follows.
	FailedJudges []string `json:"failed_judges,omitempty"`
	// Judges are those with a known accuracy.
	Judges []analyse.Judge `json:"judges,omitempty"`
	// Blind are the blind validations by outsiders, also if no rule reads them.
	Blind []string `json:"blind_validations,omitempty"`
	// Looked says how often results were shown while answers could be added, and what it
	// costs; "" for the first look.
	Looked string `json:"looked,omitempty"`
	// History says what changed since the run began, and which arms came after results.
	History string `json:"history,omitempty"`
	// NoTests says why a run without a split has no tests.
	NoTests string `json:"no_tests,omitempty"`
	// Uncorrected says that alternatives of the rules are not corrected for their number.
	Uncorrected string `json:"uncorrected,omitempty"`
	// Changed lists the changes of the rules after results of the run were seen.
	Changed []string `json:"rules_changed,omitempty"`
	// Unblinded lists the reasons for which TEST was looked at again.
	Unblinded []string `json:"unblinded,omitempty"`
	// OtherTests says which other TEST runs have arms of this one.
	OtherTests string `json:"other_tests,omitempty"`
	// Unknown says of which programs a change since the registration is not noticed.
	Unknown []string `json:"not_registered,omitempty"`
	// Ledger says why nothing shows what was registered; "" if something does.
	Ledger    string `json:"ledger,omitempty"`
	Simulated bool   `json:"simulated,omitempty"` // some answers or verdicts of judges were simulated
	// SimulatedArms and SimulatedJudges are those of the run.
	SimulatedArms   []string `json:"simulated_arms,omitempty"`
	SimulatedJudges []string `json:"simulated_judges,omitempty"`
	Broken          bool     `json:"broken,omitempty"` // more trials failed than the study allows
}

// Witness adds what the ledger says of the run.
func (v *Verdict) Witness(d *analyse.Discipline) {
	if v != nil && d != nil {
		v.Unblinded, v.OtherTests, v.Ledger = d.Reasons(), d.OtherRuns(), d.Problem
		if d.Registration != nil {
			v.Unknown = d.Registration.Unknown
		}
	}
}

// A Condition is one rule with the values it used.
type Condition struct {
	Name  string `json:"name"`
	Kind  string `json:"kind"` // Require, Outcome or Diagnosis
	That  string `json:"that"`
	State State  `json:"state"`
	// Open reports that it is undecided because its intervals lie across its limits.
	Open bool `json:"open,omitempty"`
	// Needs is the number of items at which an open rule would hold if further items came
	// out like these; 0 if it is unknown.
	Needs int `json:"items_needed,omitempty"`
	Tried int `json:"items_tried,omitempty"` // the most that were analysed for it
	// Clustered reports that the items of what it reads come in clusters.
	Clustered bool   `json:"clustered,omitempty"`
	Values    []Used `json:"values,omitempty"`
	Reason    string `json:"reason,omitempty"` // why undecided
	// EstimateAlone reports that it holds by estimates whose intervals do not meet it.
	EstimateAlone bool `json:"estimate_alone,omitempty"`
	// JudgeAlone reports that a judge whom people did not correct could reverse it.
	JudgeAlone bool `json:"judge_alone,omitempty"`
	// Warnings say by which estimates a rule holds, what intervals take for granted, and which
	// error of a judge would reverse it.
	Warnings []string `json:"warnings,omitempty"`
}

// Need adds to an open condition how many items it takes, and to the reasons of the
// verdict; 0 is no number up to the most that are tried.
func (v *Verdict) Need(condition int, items, most int) {
	c := &v.Conditions[condition]
	c.Needs, c.Tried = items, most
	more := fmt.Sprintf("; about %d items would be enough if the further ones came out like these", items)
	if c.Clustered && items > 0 {
		more = fmt.Sprintf("; about %d items would be enough if the further ones came out like these and were of other clusters", items)
	}
	if items == 0 {
		more = fmt.Sprintf("; it would not hold with up to %d items if the further ones came out like these", most)
	}
	for i, reason := range v.Reasons {
		if strings.HasSuffix(reason, c.Reason) && strings.Contains(reason, fmt.Sprintf("%q ", c.Name)) { // other rules may have the same cause
			v.Reasons[i] += more
		}
	}
	c.Reason += more
}

// NeedAsBefore takes the numbers of items from an earlier verdict on the same results.
func (v *Verdict) NeedAsBefore(earlier Verdict) {
	for i, c := range v.Conditions {
		for _, was := range earlier.Conditions {
			if c.Open && was.Open && was.That == c.That && was.Reason != c.Reason {
				v.Need(i, was.Needs, was.Tried)
				break
			}
		}
	}
}

// Used is a named result a condition read.
type Used struct {
	Name  string   `json:"name"`
	Value *float64 `json:"value"` // nil: undefined
	Note  string   `json:"note,omitempty"`
	Basis
}

// ExitCode is 0 for pass, 1 for fail, 3 for undecided, and 4 where undecided
// is the infrastructure's fault.
func (v Verdict) ExitCode() int {
	switch {
	case v.State == Pass:
		return 0
	case v.State == Fail:
		return 1
	case v.Broken:
		return 4
	}
	return 3
}

// A Basis is what a result rests on.
type Basis struct {
	N        *int      `json:"n,omitempty"`  // number of observations
	Of       string    `json:"of,omitempty"` // what they are: items, pairs, trials
	Interval *Interval `json:"interval,omitempty"`
}

// An Interval is the confidence interval of a result.
type Interval struct {
	Of   string  `json:"of,omitempty"` // what it belongs to, if not the value: a p-value has none
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// Level is the confidence level, that of all intervals together if they are
	// simultaneous, or 0 if it is unknown.
	Level        float64 `json:"level,omitempty"`
	Simultaneous bool    `json:"simultaneous,omitempty"`
}

// Percent is the level of an interval in per cent, 1 − alpha: "95", and "99.99988" of an
// early look; one that rounds to 100 is "> 99.9999999".
func Percent(alpha float64) string {
	digits := 2
	for unit := 1e-2; digits < 9 && 100*alpha < 5*unit; unit /= 10 {
		digits++
	}
	percent := strings.TrimRight(strings.TrimRight(strconv.FormatFloat(100*(1-alpha), 'f', digits, 64), "0"), ".")
	if percent == "100" {
		return "> 99.9999999"
	}
	return percent
}

// Name is "95 % CI", with a non-breaking space, or "95 % CI of the difference".
func (i Interval) Name() string {
	name := "interval"
	if i.Level > 0 {
		name = Percent(1-i.Level) + "\u00a0% CI"
	}
	if i.Simultaneous {
		name = "simultaneous " + name
	}
	if i.Of != "" {
		name += " of the " + i.Of
	}
	return name
}

// counted is the number of observations in brackets.
func (b Basis) counted() string {
	if b.N == nil {
		return ""
	}
	return " (n = " + text.Plural(*b.N, strings.TrimSuffix(b.Of, "s"), b.Of) + ")"
}

// A Trend is what a comparison of two runs decides.
type Trend struct {
	Verdict string   `json:"verdict"`
	Reasons []string `json:"reasons,omitempty"`
}

// The verdicts of a comparison of two runs.
const (
	Improved    = "improved"
	Regressed   = "regressed"
	NoEvidence  = "no evidence of a difference"
	NotComputed = "undecided"
)

// ExitCode is that of a command that fails on a regression.
func (t Trend) ExitCode() int {
	return map[string]int{Regressed: 1, NotComputed: 3}[t.Verdict]
}

// TrendOf decides by the primary metrics of a comparison of two runs, all of which are one
// family. A difference counts if it is more than chance, however large it is: between two runs
// of the same program some item always falls. One loss is a regression, whatever is missing: to lose
// answers must not hide it.
func TrendOf(a *analyse.Analysis) Trend {
	said := map[string][]string{}
	for _, c := range a.Comparisons {
		m, _ := a.Metric(c.Metric)
		if c.Stratum != nil || m.Rank != "primary" || m.NoDirection {
			continue
		}
		verdict, why := NoEvidence, ""
		switch found := c.Found(m.HigherIsBetter, a.Study.Alpha); found {
		case analyse.Better:
			verdict = Improved
		case analyse.Worse:
			verdict = Regressed
		case analyse.OtherJudge:
			verdict, why = NotComputed, c.JudgesDiffer
		case analyse.OtherPrice:
			verdict, why = NotComputed, c.PricesDiffer
		case analyse.NotTested, analyse.NotCompared:
			verdict, why = NotComputed, string(found)
		}
		if lack := scoresLacking(a, c, m); verdict != Regressed && lack != "" {
			verdict, why = NotComputed, lack
		}
		reason := fmt.Sprintf("%s against %s, %s", c.A, c.B, m.Title)
		if why != "" {
			reason += ": " + why
		}
		said[verdict] = append(said[verdict], reason)
	}
	for _, verdict := range []string{Regressed, NotComputed, Improved, NoEvidence} {
		if len(said[verdict]) > 0 {
			return Trend{verdict, said[verdict]}
		}
	}
	return Trend{NotComputed, []string{"no primary metric is compared"}}
}

// scoresLacking says why missing scores leave a comparison of two runs undecided; "" if they do not.
func scoresLacking(a *analyse.Analysis, c analyse.Comparison, m analyse.Metric) string {
	if !a.Run.Complete() {
		return fmt.Sprintf("the runs are unfinished: %d of %s of these arms done", a.Run.Done, text.Plural(a.Run.Planned, "trial", "trials"))
	}
	if share := float64(c.Unpaired) / float64(max(1, c.Pairs+c.Unpaired)); share > a.Study.MaxUnscored {
		return fmt.Sprintf("%.1f %% of the items have a value in only one run, the limit is %.1f %%", 100*share, 100*a.Study.MaxUnscored)
	}
	if share := float64(a.Run.LeftOut) / float64(max(1, a.Run.Items+a.Run.LeftOut)); share > a.Study.MaxUnscored {
		return fmt.Sprintf("%.1f %% of the items of the older run are left out, the limit is %.1f %%", 100*share, 100*a.Study.MaxUnscored)
	}
	if why := a.Broken(); why != "" {
		return why
	}
	for _, arm := range []string{c.A, c.B} {
		e, _ := a.Estimate(arm, c.Metric)
		if said := tooMany(a, e); said != "" {
			return said
		}
	}
	missing, found := lacks(a, c), c.Found(m.HigherIsBetter, a.Study.Alpha)
	for _, end := range []*analyse.Comparison{c.Least, c.Most} {
		if missing && (end == nil || end.Found(m.HigherIsBetter, a.Study.Alpha) != found) {
			return "answers without a score could reverse this"
		}
	}
	return ""
}
