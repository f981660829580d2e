package procedure

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/text/encoding/unicode"
)

// Bytes that are looked at before reading: a header must fit.
const peeked = 1 << 16

// plainText unpacks gzip and decodes UTF-16, and drops a byte order mark. Other
// formats that begin like none of a table are refused with a remedy.
func plainText(r io.Reader) (*bufio.Reader, error) {
	b := bufio.NewReaderSize(r, peeked)
	if start, _ := b.Peek(2); string(start) == "\x1f\x8b" {
		unpacked, err := gzip.NewReader(b)
		if err != nil {
			return nil, fmt.Errorf("unpacking: %w", err)
		}
		b = bufio.NewReaderSize(unpacked, peeked)
	}
	start, err := b.Peek(peeked)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading: %w", err)
	}
	switch {
	case bytes.HasPrefix(start, []byte("\xef\xbb\xbf")):
		_, err := b.Discard(3)
		return b, err
	case bytes.HasPrefix(start, []byte("\xff\xfe")), bytes.HasPrefix(start, []byte("\xfe\xff")):
		decoder := unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM).NewDecoder()
		return bufio.NewReaderSize(decoder.Reader(b), peeked), nil
	case bytes.HasPrefix(start, []byte("PK\x03\x04")):
		return nil, errors.New("a spreadsheet or zip archive: save the sheet as CSV")
	case bytes.IndexByte(start, 0) >= 0:
		return nil, errors.New("not a text file, or UTF-16 without a byte order mark: save the table as CSV in UTF-8")
	}
	return b, nil
}

// separator is the one of comma, semicolon and tab under which the header has the
// columns that are asked for; else the one that gives most columns, for the error.
func separator(content *bufio.Reader, cols []string) rune {
	start, _ := content.Peek(peeked)
	best, most := ',', -1
	for _, comma := range []rune{',', ';', '\t'} {
		d := csv.NewReader(bytes.NewReader(start))
		d.Comma = comma
		header, err := d.Read()
		if err != nil {
			continue
		}
		known := map[string]bool{}
		for _, name := range header {
			known[strings.TrimSpace(name)] = true
		}
		found := 0
		for _, col := range cols {
			_, name, named := strings.Cut(col, "=")
			if !named {
				name = col
			}
			if known[strings.TrimSpace(name)] {
				found++
			}
		}
		if score := found*(peeked+1) + len(header); score > most {
			best, most = comma, score
		}
	}
	return best
}
