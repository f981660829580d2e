// Package extraction compares prompt kernels, models and pipelines that extract
// fields from documents. An answer must quote the passage that supports each
// value.
//
// # Trials
//
// A document is a record of a JSON Lines file or a pair of files ([Document]).
// A schema lists the fields of its type ([Schema]). A kernel is a prompt with
// two placeholders. A trial sends the rendered kernel and the document and
// stores the raw answer, which is parsed into entries and checked.
// Scoring compares each entry with gold: value, evidence, page,
// status and schema, each in [0, 1], and their weighted sum. Evidence needs a
// judge that sees only the quote; without a judge model a rule decides.
//
// Documents are not kept in memory, but for the few that were read last. After
// validation a bench stores the position, strata and two hashes of each, and reads it
// again for each trial.
//
// # Files
//
// study.go has the keys of a study; source.go reads documents (document.go) of schemas
// (schema.go); kernel.go and arms.go make arms. bench.go brings them together and asks.
// answer.go reads and writes answers; own.go makes those of the suite itself, heuristic.go
// those of its rules. score.go scores an entry, result.go an answer; judge.go asks a judge
// about quotes. exhibit.go, report.go and records.go show results; people.go has what
// people do: gold, and the checklist of its verification.
//
// The package must not import providers, the store, statistics or a clock. It
// calls models only through an [eval.Asker].
package extraction
