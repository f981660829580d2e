// Package text reads what people and models wrote: it normalises text, reads
// typed values (numbers, money, dates, identifiers) and compares them, finds
// quotes in documents and the pages they stand on, and gets the JSON object
// out of an answer.
//
// It must not know suites, fields, gold or scores: it says what a text says,
// never what that is worth. Whatever it is given is data; no input makes it
// panic, and none makes it guess. A date such as 03/04/2024 has two readings
// and keeps both.
//
// Two normal forms are used throughout. [Minimal] is for quotes: NFKC and
// collapsed white space, nothing else. [Fold] is for comparing strings: the
// same, case folded, without the punctuation around it.
package text
