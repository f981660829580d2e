// Package dataset gives suites access to the files their items come from,
// without keeping those files in memory: [Lines] is an index over a JSON Lines
// file with sixteen bytes per record, and [DecodeStrict] decodes one record and
// rejects unknown keys, with column and nearest known name. [Text] decodes other text files.
//
// A JSON Lines file is UTF-8 text with one JSON value per line. Accepted, since
// editors and spreadsheets produce them: a byte order mark, CRLF line ends, blank
// lines, a last line without a line end, and gzip compression, which is detected by
// the first bytes and not by the file name. Rejected with file and line: text that
// is not UTF-8 and lines longer than 64 MB.
//
// The package must not know any suite's records, any provider or any store.
package dataset
