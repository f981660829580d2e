// Package dataset gives suites access to the files their items come from,
// without keeping those files in memory: [Lines] is an index over a JSON Lines
// file that holds sixteen bytes a record, and [DecodeStrict] reads one record
// and refuses, with column and nearest known name, whatever its type does not
// know. Converters from published corpora are package convert, below this one.
//
// A JSON Lines file is UTF-8 text with one JSON value a line. Tolerated, since
// editors and spreadsheets produce them: a byte order mark, CRLF line ends,
// blank lines, a last line without a line end, and gzip compression, which is
// told by the first bytes and not by the file's name. Refused with file and
// line: text that is not UTF-8 and lines longer than 64 MB.
//
// The package must not know any suite's records, any provider or any store.
package dataset
