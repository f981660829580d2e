package dataset

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
)

// Scan reads a JSON Lines file, plain or compressed with gzip, once from its
// start to its end and gives visit every line that is not blank, without its
// line end, with its number from 1. The text is valid until visit returns.
// Unlike [OpenLines] it continues after a line that is not UTF-8, for which visit
// gets nil and an error. It returns the SHA-256 of the file's bytes on disk, in
// hexadecimal, or an error if the file cannot be read to its end.
func Scan(path string, visit func(line int, text []byte, err error)) (hash string, err error) {
	f, err := Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	discard := func() (io.Writer, error) { return io.Discard, nil }
	sum := sha256.New()
	err = scanFile(f, io.TeeReader(f, sum), discard, func(_ int64, line int, text []byte, err error) error {
		visit(line, text, err)
		return nil
	})
	return hex.EncodeToString(sum.Sum(nil)), err
}

const (
	gzipMagic     = "\x1f\x8b"
	byteOrderMark = "\xef\xbb\xbf"
)

// A visitor gets a line that is not blank, with its number and with where it
// begins in the text, or an error about it. An error of its own ends the scan.
type visitor func(offset int64, line int, text []byte, err error) error

// scanFile reads a file to its end, from a reader of it. The content of a compressed one is
// copied to what unpack returns.
func scanFile(f *os.File, from io.Reader, unpack func() (io.Writer, error), visit visitor) error {
	path, disk := f.Name(), bufio.NewReaderSize(from, 1<<16)
	content := disk
	if magic, _ := disk.Peek(len(gzipMagic)); string(magic) == gzipMagic { // a file too short to be packed is not
		info, err := f.Stat()
		if err != nil {
			return fmt.Errorf("opening data: %w", err)
		}
		unpacked, err := gunzip(disk, info.Size())
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		to, err := unpack()
		if err != nil {
			return fmt.Errorf("%s: unpacking into a temporary file: %w", path, err)
		}
		content = bufio.NewReaderSize(io.TeeReader(unpacked, to), 1<<16)
	}
	switch start, _ := content.Peek(4); {
	case bytes.HasPrefix(start, []byte("PK\x03\x04")):
		return fmt.Errorf("%s is a workbook or another archive: want JSON Lines, a JSON object on each line", path)
	case bytes.HasPrefix(start, []byte("\xff\xfe")), bytes.HasPrefix(start, []byte("\xfe\xff")):
		return fmt.Errorf("%s is UTF-16: save it as UTF-8", path)
	}
	if line, err := scanLines(content, visit); err != nil {
		return fmt.Errorf("%s:%d: %w", path, line, err)
	}
	return nil
}

// scanLines visits every line of r; an error is about the line it returns.
func scanLines(r *bufio.Reader, visit visitor) (line int, err error) {
	var (
		offset int64
		long   []byte
	)
	for line := 1; ; line++ {
		raw, end := readLine(r, &long)
		if end != nil && end != io.EOF {
			return line, fmt.Errorf("reading data: %w", end)
		}
		text := raw
		if line == 1 {
			text = bytes.TrimPrefix(raw, []byte(byteOrderMark))
		}
		start := offset + int64(len(raw)-len(text))
		offset += int64(len(raw))
		text = bytes.TrimRight(text, "\r\n")
		if bad := invalidUTF8(text); bad >= 0 {
			err = visit(start, line, nil, fmt.Errorf("byte %d of the line is not UTF-8: save the file as UTF-8", bad+1))
		} else if len(bytes.TrimLeft(text, " \t\r")) > 0 {
			err = visit(start, line, text, nil)
		}
		if err != nil || end == io.EOF {
			return line, err
		}
	}
}
