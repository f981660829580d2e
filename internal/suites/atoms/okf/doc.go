// Package okf reads and writes atoms: Markdown files with YAML front matter in the
// Open Knowledge Format. Reading keeps every byte, so that a file that is written
// back differs only in the fields that were set. Problems are findings, never
// errors: a damaged file is data.
//
// A folder is read through [os.Root]: symbolic links are named and never followed,
// and large files are named and never read. Links in front matter and in the text
// are resolved by id, title and path.
//
// Conformance is what the format asks for: UTF-8, front matter that parses, and a
// type. Validity is what an ontology asks for.
//
// The package must not know models, trials or scores.
package okf
