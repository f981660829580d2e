package dataset

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"slices"
	"unicode/utf8"
)

// MaxLine is the length in bytes of the longest line [OpenLines] accepts. It is
// far above any real document and keeps a file that is not JSON Lines at all
// (or a hostile archive) from filling the memory.
const MaxLine = 64 << 20

// Lines is an index over the records of a JSON Lines file: the lines that are
// not blank. The file is read once, from its start to its end, by [OpenLines];
// after that a record is read from disk when it is asked for. A Lines is safe
// for concurrent use until it is closed.
//
// A compressed file is unpacked into a temporary file, which costs disk and not
// memory; the temporary file has no name where the system allows that, so not
// even a killed program leaves it behind.
//
// The file must not change while it is open.
type Lines struct {
	path    string
	file    *os.File
	discard func() error // removes the temporary file, nil when there is none
	records []record
	made    bool // the records are not as they are in the file, so columns mean nothing
}

// A record is the location of a line: its first byte, and its length without the
// line end. Fields are as small as [MaxLine] and the line count allow.
type record struct {
	offset int64
	length uint32
	line   uint32
}

// OpenLines opens a JSON Lines file, plain or compressed with gzip, and finds
// its records. It checks lengths and encoding, not JSON.
func OpenLines(path string) (*Lines, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	l := &Lines{path: path, file: f}
	if err := l.load(); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// MakeLines makes an index over records that are made of a file of another format, each with
// the line of that file on which it begins. They are kept in a temporary file.
func MakeLines(path string, records iter.Seq2[int, []byte]) (*Lines, error) {
	l := &Lines{path: path, made: true}
	to, err := l.unpack()
	if err != nil {
		return nil, fmt.Errorf("%s: making a temporary file: %w", path, err)
	}
	w, offset := bufio.NewWriter(to), int64(0)
	for line, r := range records {
		l.records = append(l.records, record{offset, uint32(len(r)), uint32(line)})
		offset += int64(len(r))
		w.Write(r) // Flush returns its error
	}
	if err := w.Flush(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: writing a temporary file: %w", path, err), l.Close())
	}
	return l, nil
}

// Len is the number of records.
func (l *Lines) Len() int { return len(l.records) }

// Line is the number of the line record i stands on, from 1.
func (l *Lines) Line(i int) int { return int(l.records[i].line) }

// Path is the path the file was opened by.
func (l *Lines) Path() string { return l.path }

// Read returns the bytes of record i without its line end. They are kept in
// buf when it has room; what comes back is then valid until buf is used again.
func (l *Lines) Read(i int, buf []byte) ([]byte, error) {
	r := l.records[i]
	n := int(r.length)
	buf = slices.Grow(buf[:0], n)[:n]
	if _, err := l.file.ReadAt(buf, r.offset); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("the file was truncated after it was opened: do not change data during a run")
		}
		return nil, l.Errorf(i, "reading record: %w", err)
	}
	return buf, nil
}

// Decode reads record i and decodes it with [DecodeStrict]. Errors start with
// file, line and, where one is known, column.
func (l *Lines) Decode(i int, buf []byte, into any) ([]byte, error) {
	buf, err := l.Read(i, buf)
	if err != nil {
		return buf, err
	}
	if err := DecodeStrict(buf, into); err != nil {
		return buf, l.Locate(i, err)
	}
	return buf, nil
}

// Locate puts file and line before err as [LocateLine] does.
func (l *Lines) Locate(i int, err error) error {
	if d, ok := errors.AsType[*DecodeError](err); ok && l.made {
		err = d.Err
	}
	return LocateLine(l.path, l.Line(i), err)
}

// LocateLine puts file and line before an error about a line, and column too where err is a
// [*DecodeError] that knows it.
func LocateLine(file string, line int, err error) error {
	if d, ok := errors.AsType[*DecodeError](err); ok && d.Column > 0 {
		return fmt.Errorf("%s:%d:%d: %w", file, line, d.Column, d.Err)
	}
	return fmt.Errorf("%s:%d: %w", file, line, err)
}

// Errorf is an error about record i that starts with file and line.
func (l *Lines) Errorf(i int, format string, args ...any) error {
	return l.Locate(i, fmt.Errorf(format, args...))
}

// Close closes the file and removes what was unpacked from it.
func (l *Lines) Close() error {
	err := l.file.Close()
	if l.discard != nil {
		err = errors.Join(err, l.discard())
	}
	return err
}

// load reads the file to its end and finds its records.
func (l *Lines) load() error {
	packed := l.file
	err := scanFile(packed, packed, l.unpack, func(offset int64, line int, text []byte, err error) error {
		switch {
		case err != nil:
			return err
		case line > math.MaxUint32:
			return errors.New("too many lines: split the file")
		}
		l.records = append(l.records, record{offset, uint32(len(text)), uint32(line)})
		return nil
	})
	if l.file != packed {
		packed.Close()
	}
	exact := make([]record, len(l.records)) // a quarter may be spare
	copy(exact, l.records)
	l.records = exact
	return err
}

// unpack makes the temporary file that takes the place of a compressed one.
func (l *Lines) unpack() (io.Writer, error) {
	tmp, err := os.CreateTemp("", "scruple-*.jsonl")
	if err != nil {
		return nil, err
	}
	l.file = tmp
	if os.Remove(tmp.Name()) != nil { // Windows keeps the name of an open file
		l.discard = func() error { return os.Remove(tmp.Name()) }
	}
	return tmp, nil
}

// readLine returns the next line with its line end; at the end of the input,
// what is left and io.EOF. The result is valid until the next call; long keeps
// the memory of lines that r's buffer cannot hold.
func readLine(r *bufio.Reader, long *[]byte) ([]byte, error) {
	part, err := r.ReadSlice('\n')
	if err != bufio.ErrBufferFull {
		return part, err
	}
	*long = (*long)[:0]
	for ; ; part, err = r.ReadSlice('\n') {
		*long = append(*long, part...)
		if len(*long) > MaxLine {
			return nil, fmt.Errorf("line longer than %d MB: the file must be JSON Lines, one value per line", MaxLine>>20)
		}
		if err != bufio.ErrBufferFull {
			return *long, err
		}
	}
}

// invalidUTF8 is the index of the first byte that is not UTF-8, or -1.
func invalidUTF8(b []byte) int {
	if utf8.Valid(b) {
		return -1
	}
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}
