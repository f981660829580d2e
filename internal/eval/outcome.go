package eval

// OutcomeKind classes what came of a trial. It is a closed set.
type OutcomeKind string

// What can come of a trial. Only Failed is excluded from scoring, and it is
// always counted: it says something of the infrastructure, never of the arm.
const (
	OK        OutcomeKind = "ok"        // an answer that could be read
	Malformed OutcomeKind = "malformed" // an answer that could not be read: the arm's fault
	Refused   OutcomeKind = "refused"   // the model declined, or a safety system did
	Failed    OutcomeKind = "failed"    // no answer: time-out, outage, a pipeline that died
)

// An Outcome is what came of a trial. Unreadable answers are outcomes, never
// errors.
type Outcome struct {
	Kind   OutcomeKind
	Reason string   // from the suite's closed set; for Failed the [ErrorKind]
	Notes  []string // what was done on the way: "repaired", "truncated" …
	Detail string   // for people: the error text of a failure
	Data   []byte   // what scoring needs, in the suite's own form; usually the answer as it stood
}

// Source says what kind of judge gave a verdict. It is a closed set.
type Source string

// The sources of verdicts.
const (
	ByModel    Source = "model"
	ByHuman    Source = "human"
	ByRule     Source = "rule"
	ByPipeline Source = "pipeline" // a program outside
)

// A Verdict is what a judge said of one point of a subject: an item, a trial or
// a unit of either. A person's annotation is a verdict too, so that people and
// judges meet the same scorer.
//
// Verdicts are append-only. A later one with the same subject, step, source,
// judge and round replaces an earlier one for scoring; nothing is deleted. When
// gold changes, verdicts that are not people's become stale and are not used
// for scoring either.
type Verdict struct {
	Unit   string // "" for the whole item or trial
	Step   string // what was judged: the judge's step or the question
	Source Source
	By     string // which model, rule, pipeline or person
	Round  int    // from 1; 0 is taken for 1
	At     string // when a person gave it, RFC 3339 in UTC; "" for judges, whose calls are in the journal
	Data   []byte // what it said, in the suite's own form
	Err    string // why there is no verdict, "" when there is one
}
