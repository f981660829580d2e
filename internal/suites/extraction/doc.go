// Package extraction is the suite that asks: which prompt kernel, model or
// pipeline extracts fields from documents better? An answer is right only as
// far as it can show where in the document it stands.
//
// # The way of a trial
//
// A document is a record of a JSON Lines file or a pair of files ([Document]),
// a schema lists the fields of its type ([Schema]), a kernel is a prompt with
// two holes. Performing a trial sends the rendered kernel and the document and
// keeps the answer as it stood. [ReadAnswer] turns an answer into entries, each
// with a verdict on its form. Scoring holds each entry against gold: value,
// evidence, page, status and schema, each in [0, 1], and their weighted sum.
// Evidence needs a judge who reads the quote alone; where none is configured a
// rule does it.
//
// Documents are not kept in memory: after validation a bench knows of each only
// where it stands, its strata and two hashes, and reads it again when a trial
// needs it.
//
// The package must not know any provider, store, statistic or clock, and it
// asks models only through the [eval.Asker] it is given.
package extraction
