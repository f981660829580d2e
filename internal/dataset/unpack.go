package dataset

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// What gzip may unpack to: small files to a few megabytes, others to a hundred times
// their size. Data seldom unpack to thirty times; gzip can reach a thousand.
const (
	fewBytes  = 32 << 20
	mostTimes = 100
)

// gunzip unpacks a file of size bytes.
func gunzip(r io.Reader, size int64) (io.Reader, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("unpacking: %w: pack it again", err)
	}
	most := max(fewBytes, mostTimes*size)
	return &bounded{z, most, most}, nil
}

// A bounded reader ends with an error after most bytes.
type bounded struct {
	r          io.Reader
	left, most int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, fmt.Errorf("it unpacks to more than %d MB: unpack it, or split it", b.most>>20)
	}
	return n, err
}

// Unpack unpacks what is compressed with gzip, to at most [MaxFile] bytes. It counts
// first, so that a file that unpacks to too much takes no memory.
func Unpack(data []byte) ([]byte, error) {
	if !bytes.HasPrefix(data, []byte(gzipMagic)) {
		return data, nil
	}
	r, err := gunzip(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	size, err := io.Copy(io.Discard, r)
	if err != nil {
		return nil, fmt.Errorf("unpacking: %w", err)
	}
	if size > MaxFile {
		return nil, fmt.Errorf("it unpacks to %d MB: want at most %d: split it", size>>20, MaxFile>>20)
	}
	unpacked := make([]byte, size)
	if r, err = gunzip(bytes.NewReader(data), int64(len(data))); err == nil {
		_, err = io.ReadFull(r, unpacked)
	}
	return unpacked, err
}

// decoder decodes UTF-16, which is known by its mark, and leaves out the mark of UTF-8.
func decoder() transform.Transformer { return unicode.BOMOverride(transform.Nop) }

// Decoded is a text as UTF-8 without a byte order mark, as of [Text], for files that are not held.
// It checks nothing.
func Decoded(r io.Reader) io.Reader { return transform.NewReader(r, decoder()) }

// binaries are what files that people take for tables begin with, and what to do with them.
var binaries = [][2]string{
	{"PAR1\x15", "is a Parquet file: convert it to CSV or JSON Lines"}, // PAR1 and BZh can be names of columns
	{"BZh91AY&SY", "is compressed with bzip2: unpack it, or pack it with gzip"},
	{"\xfd7zXZ", "is compressed with xz: unpack it, or pack it with gzip"},
	{"\x28\xb5\x2f\xfd", "is compressed with zstd: unpack it, or pack it with gzip"},
}

// Text returns the content of a text file as UTF-8 without a byte order mark. UTF-16 is known
// by its mark. The error names the file and the first line that is not text.
func Text(file string, data []byte) ([]byte, error) {
	for _, b := range binaries {
		if bytes.HasPrefix(data, []byte(b[0])) {
			return nil, fmt.Errorf("%s: %s", file, b[1])
		}
	}
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		decoded, _, err := transform.Bytes(decoder(), data)
		if err != nil {
			return nil, fmt.Errorf("%s: decoding UTF-16: %w", file, err)
		}
		data = decoded
	}
	data = bytes.TrimPrefix(data, []byte(byteOrderMark))
	line := 0
	for text := range bytes.Lines(data) {
		line++
		switch {
		case !utf8.Valid(text):
			return nil, fmt.Errorf("%s:%d: the text is not UTF-8: save the file as UTF-8, in a spreadsheet as CSV UTF-8", file, line)
		case bytes.IndexByte(text, 0) >= 0:
			return nil, fmt.Errorf("%s:%d: the text has a NUL byte, so it is not text, or UTF-16 without a byte order mark: save the file as UTF-8", file, line)
		}
	}
	return data, nil
}
