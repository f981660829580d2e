// Package gate turns an analysis into a verdict and an exit code by the rules
// of the study. It computes no statistics: every number comes from the
// [analyse.Analysis], and undefined numbers cannot decide.
//
// Read verdict.go; rules.go, where [Compile] checks rules; decide.go, where [Rules.Decide]
// applies them; condition.go, which decides one by values and intervals; and gate.go, the
// functions that rules call. What a number rests on is in basis.go; what makes a rule
// undecided or doubtful in missing.go, ignorance.go and judge.go.
package gate

import (
	"fmt"
	"strings"

	"github.com/scruple-eval/scruple/internal/analyse"
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
	// Changed lists the changes of the rules after results of the run were seen.
	Changed []string `json:"rules_changed,omitempty"`
	// Unblinded lists the reasons for which TEST was looked at again.
	Unblinded []string `json:"unblinded,omitempty"`
	Simulated bool     `json:"simulated,omitempty"` // some answers or verdicts of judges were simulated
	// SimulatedArms and SimulatedJudges are those of the run.
	SimulatedArms   []string `json:"simulated_arms,omitempty"`
	SimulatedJudges []string `json:"simulated_judges,omitempty"`
	Broken          bool     `json:"broken,omitempty"` // more trials failed than the study allows
}

// A Condition is one rule with the values it used.
type Condition struct {
	Name  string `json:"name"`
	Kind  string `json:"kind"` // "require", "outcome" or "diagnosis"
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
	// JudgeAlone reports that a judge whom nobody checked could reverse it.
	JudgeAlone bool `json:"judge_alone,omitempty"`
	// Warnings say that a rule holds by estimates whose intervals do not meet it, and which
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
		more = fmt.Sprintf("; if further items came out like these, not even %d would be enough", most)
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
