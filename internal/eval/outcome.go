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

// A Verdict is what a judge said of one point of a trial, and how it was read.
// A person's annotation is a verdict too, so manual codes and judges meet the
// same scorer.
type Verdict struct {
	Step   string // the judge's step, unique in the trial
	Source string // "model", "human" or "rule"
	Judge  string // which model, person or rule
	Data   []byte // what it said, in the suite's own form
	Err    string // why there is no verdict, "" when there is one
}
