// Package gate turns an analysis into a verdict and an exit code by the rules
// of the study. It computes no statistics: every number comes from the
// [analyse.Analysis], and undefined numbers cannot decide.
package gate

import "github.com/scruple-eval/scruple/internal/analyse"

// State is the result of a condition or of the gate.
type State string

// The states. Undecided means that there is not enough evidence: a result the rule
// names is undefined, two readings of it disagree, no result could meet the rule with
// this number of items, the run is unfinished, or too many trials failed.
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
	Name   string `json:"name"`
	Kind   string `json:"kind"` // "require", "outcome" or "diagnosis"
	That   string `json:"that"`
	State  State  `json:"state"`
	Values []Used `json:"values,omitempty"`
	Reason string `json:"reason,omitempty"` // why undecided
	// Warnings say that a rule holds by estimates whose intervals do not meet it.
	Warnings []string `json:"warnings,omitempty"`
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
