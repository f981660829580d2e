// Package annotate lets people judge the subjects of a study in a browser, and turns
// what they said into verdicts, gold, agreement and files of other tools.
//
// A task (see [study.Task]) is drawn once into a queue. The work of a person is a file
// of its own, annotations/TASK/PERSON.jsonl beside the study, in the format of package
// ledger: one event a line, on disk before the page says saved. The ledger of the store
// has the hash of the queue and the heads of the files.
//
// What a person sees is built from the parts of an exhibit that the task names, and
// nothing else is sent: no arm, gold, score, verdict or other person. Its hash is in
// every event, so that an answer counts only for what was shown.
//
// Its files depend on each other in one direction. What a person is shown and says:
// subject, answer. What is on disk: place (with the ledger and queues), work (a person's
// file). What follows from it: part (a person's part of a task), result, measures, agreement,
// lock. A desk is a person's file that is open; exchange is for other tools; server and pages
// are what a browser sees.
//
// The package must not know any suite, model or store: a [Source] shows subjects, and
// callers write verdicts.
package annotate
