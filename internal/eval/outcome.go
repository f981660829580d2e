package eval

// OutcomeKind classifies the outcome of a trial. It is a closed set.
type OutcomeKind string

// The kinds of outcome. Only Failed is excluded from scoring, and it is always
// counted: it is a fault of the infrastructure, not of the arm.
const (
	OK        OutcomeKind = "ok"        // the answer could be parsed
	Malformed OutcomeKind = "malformed" // the answer could not be parsed: the arm's fault
	Refused   OutcomeKind = "refused"   // the model declined, or a safety system did
	Failed    OutcomeKind = "failed"    // no answer: timeout, outage, crashed pipeline
)

// An Outcome is the result of a trial. An answer that does not parse is an
// outcome, not an error.
type Outcome struct {
	Kind   OutcomeKind
	Reason string   // from the suite's closed set; the [ErrorKind] for a call that failed
	Notes  []string // processing notes: "repaired", [NoteTruncated] …
	Detail string   // for people: the error text of a failure
	Data   []byte   // what scoring needs, in the suite's own format; usually the raw answer
}

// NoteTruncated marks an answer that a token limit cut off, whatever its kind.
const NoteTruncated = "truncated"

// NoteLenient marks an answer that was read although it is not in the form that was
// asked for.
const NoteLenient = "read leniently"

// NoteSeveral marks a reply with several answers, such as objects of JSON, which differ.
const NoteSeveral = "several different answers, of which one is read"

// Source is the kind of judge of a verdict. It is a closed set.
type Source string

// The sources of verdicts.
const (
	ByModel    Source = "model"
	ByHuman    Source = "human"
	ByRule     Source = "rule"
	ByPipeline Source = "pipeline" // an external program
)

// A Verdict is the decision of a judge on one point of a subject: an item, a trial
// or a unit of either. A person's annotation is a verdict too, so people and judges
// share the scorer.
//
// Verdicts are append-only. For scoring, a verdict supersedes an earlier one with
// the same subject, step, source, judge and round; nothing is deleted. When gold
// changes, all verdicts except people's become stale and are not used for scoring. Those of
// people become stale when the study no longer shows what they saw.
type Verdict struct {
	Unit   string // "" for the whole item or trial
	Step   string // the judge's step or the question
	Source Source
	By     string // which model, rule, pipeline or person
	Round  int    // from 1; 0 means 1
	At     string // time of a person's verdict, RFC 3339 in UTC; "" for judges, whose calls are in the journal
	Data   []byte // content, in the suite's own format
	Err    string // why judging failed, or ""
}

// A PersonVerdict is a verdict of a person on a trial, or on an item if the trial has no arm.
type PersonVerdict struct {
	Trial Trial
	Verdict
}

// A JudgeError counts the verdicts that a judge failed to give for one reason.
type JudgeError struct {
	Judge    string `json:"judge"`
	Reason   string `json:"reason"`
	Verdicts int    `json:"verdicts"`
}

// By says whose error it is.
func (e JudgeError) By() string {
	if e.Judge == ScorerName {
		return "the scorer"
	}
	return "judge " + e.Judge
}
