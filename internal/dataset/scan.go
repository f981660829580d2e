package dataset

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
)

// Scan reads a JSON Lines file, plain or compressed with gzip, once from its
// start to its end and gives visit every line that is not blank, without its
// line end, with its number from 1. The text is valid until visit returns.
// Unlike [OpenLines] it goes on after a line that is not UTF-8, which visit
// gets as nil with an error that says where. It returns the SHA-256 of the
// file's bytes as they are on disk, in hexadecimal; an error is about a file
// that cannot be read to its end.
func Scan(path string, visit func(line int, text []byte, err error)) (hash string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("opening data: %w", err)
	}
	defer f.Close()
	sum := sha256.New()
	disk := bufio.NewReaderSize(io.TeeReader(f, sum), 1<<16)
	content := disk
	if magic, _ := disk.Peek(len(gzipMagic)); string(magic) == gzipMagic {
		unpacked, err := gzip.NewReader(disk)
		if err != nil {
			return "", fmt.Errorf("%s: unpacking: %w", path, err)
		}
		content = bufio.NewReaderSize(unpacked, 1<<16)
	}
	if err := scanLines(content, visit); err != nil {
		return "", fmt.Errorf("%s:%w", path, err)
	}
	if _, err := io.Copy(io.Discard, disk); err != nil {
		return "", fmt.Errorf("%s: reading data: %w", path, err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// scanLines is the loop of [Scan]; its error starts with the line's number.
func scanLines(r *bufio.Reader, visit func(line int, text []byte, err error)) error {
	var long []byte
	for line := 1; ; line++ {
		raw, err := readLine(r, &long)
		if err != nil && err != io.EOF {
			return fmt.Errorf("%d: reading data: %w", line, err)
		}
		text := raw
		if line == 1 {
			text = bytes.TrimPrefix(raw, []byte(byteOrderMark))
		}
		text = bytes.TrimRight(text, "\r\n")
		if bad := invalidUTF8(text); bad >= 0 {
			visit(line, nil, fmt.Errorf("byte %d of the line is not UTF-8: save the file as UTF-8", bad+1))
		} else if len(bytes.TrimLeft(text, " \t\r")) > 0 {
			visit(line, text, nil)
		}
		if err == io.EOF {
			return nil
		}
	}
}
