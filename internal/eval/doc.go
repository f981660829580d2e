// Package eval is the vocabulary of Scruple: the types that all other packages
// share. It does no I/O and imports only package say and the
// standard library.
//
// A study asks a question of data: which of these arms does better on these
// items? A plan lists every [Trial] (item × arm × replicate) before anything
// runs. Performing a trial calls models through an [Asker]; every answer is in
// the journal, the stored list of calls, before it is used. The result of a trial is an [Outcome], the
// decision of a judge a [Verdict]; both are scored as a list of [Score] fractions.
// A [Suite] is a value that implements these steps for one kind of task; bound to
// a study it is a [Bench].
//
// Read item, arm and trial (trial.go) first, then [Suite], [Bench] and [Capabilities] (suite.go),
// [Request], [Response] and [Call] (call.go), [Outcome] and [Verdict] (outcome.go), [Score] and
// [Metric] (score.go). The other files are for reports, people and records.
//
// The package must not know any suite, any provider, any database.
package eval
