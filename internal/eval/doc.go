// Package eval is the vocabulary of Scruple: the words every other package
// speaks and nothing else. It does no I/O and imports only the standard
// library, so that it can be read in one sitting.
//
// A study asks a question of data: which of these arms does better on these
// items? A plan lists every [Trial] (item × arm × replicate) before anything
// runs. Performing a trial asks models through an [Asker]; every answer is in
// the journal before it is used. What came of a trial is an [Outcome], what a
// judge said of it a [Verdict], and what both are worth a list of [Score]
// fractions. A [Suite] is a value that knows how to do these things for one
// kind of task; bound to a study it is a [Bench].
//
// The package must not know any suite, any provider, any database.
package eval
