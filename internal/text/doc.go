// Package text parses text by people and models: it normalises text, parses typed
// values (numbers, money, dates, booleans, identifiers) and compares them, finds quotes in
// documents and their pages, and extracts the JSON object from an answer.
//
// It must not know suites, fields, gold or scores. No input makes it panic or
// guess: a date such as 03/04/2024 has two readings, and both are kept.
//
// Two normal forms are used throughout. [Minimal] is for quotes: NFKC and
// collapsed white space, nothing else. [Fold] is for comparing strings: the
// same, case folded, without the punctuation around it.
package text
