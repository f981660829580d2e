// Package extraction compares prompt kernels, models and pipelines that extract
// fields from documents. An answer must quote the passage that supports each
// value, or is a plain object of values.
//
// # Trials
//
// A document is a record of a JSON Lines file or a pair of files ([Document]).
// A schema lists the fields of its type ([Schema]), or is a JSON Schema, whose leaves are
// its fields: there is one scorer for both. A kernel is a prompt with
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
// study.go has the keys of a study; source.go reads documents (document.go) by the study's
// mapping (columns.go). schema.go has schemas, jsonschema.go those that are JSON Schema. tree.go
// brings gold and answers into the shape of a schema, and align.go finds which record of an
// answer is which one of gold. kernel.go and arms.go make arms. bench.go brings them together and asks.
// answer.go reads and writes answers; own.go makes those of the suite itself, heuristic.go
// those of its rules. score.go scores an entry, result.go an answer; judge.go asks a judge
// about quotes. exhibit.go, report.go and records.go show results; people.go has what
// people do: gold, and the checklist of its verification.
//
// The package must not import providers, the store, statistics or a clock. It
// calls models only through an [eval.Asker].
package extraction
