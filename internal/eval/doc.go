// Package eval is the vocabulary of Scruple: the types that all other packages
// share. It does no I/O and imports only the standard library.
//
// A study asks a question of data: which of these arms does better on these
// items? A plan lists every [Trial] (item × arm × replicate) before anything
// runs. Performing a trial calls models through an [Asker]; every answer is in
// the journal, the stored list of calls, before it is used. The result of a trial is an [Outcome], the
// decision of a judge a [Verdict]; both are scored as a list of [Score] fractions.
// A [Suite] is a value that implements these steps for one kind of task; bound to
// a study it is a [Bench].
//
// The package must not know any suite, any provider, any database.
package eval
