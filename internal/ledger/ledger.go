// Package ledger keeps records that must not change unnoticed: JSON Lines files that
// are only appended to, in which each line has the hash of the one before. The
// ledger of a study is one, which [Find] looks for in its folder and above, up to the
// repository; so is each person's work in a task of annotation.
// [Read] reports an edited, missing or moved line by its number.
//
// # Format
//
// A line is an [Entry] as JSON. Its last key, hash, is the SHA-256 of the line's
// bytes up to that key, so that other programs can check a file without a canonical
// form; prev is the hash of the line before, "" in the first.
//
// A chain alone cannot show that its end was cut off. Beside a file stands another with
// its newest hash, and the ledger of a study has the heads of the files of annotation. A
// person who can write all of these files can make them anew: to rule that out, put the
// head that `scruple test ledger show` prints in a place of its own, such as a registration.
//
// Two copies that went on apart are joined by [Merge]: the chain of one goes on with the lines of
// the other, whole, in entries of the kind [Merged]. [Flat] is what such a file says.
//
// The package must not know studies, stores or what entries mean.
package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/disk"
)

// Name is the file of a study's ledger.
const Name = "ledger.jsonl"

// An Entry is one line.
type Entry struct {
	Seq  int            `json:"seq"`  // from 1
	Prev string         `json:"prev"` // hash of the line before, or ""
	At   string         `json:"at"`   // RFC 3339, UTC
	By   string         `json:"by"`   // a person or program
	Kind string         `json:"kind"`
	Data jsontext.Value `json:"data"`
	Hash string         `json:"hash"`
}

// Decode decodes the data of an entry.
func (e Entry) Decode(into any) error {
	if err := dataset.DecodeStrict(e.Data, into); err != nil {
		return fmt.Errorf("entry %d (%s): %w", e.Seq, e.Kind, err)
	}
	return nil
}

// A BrokenError reports a line that is not what was written.
type BrokenError struct {
	Path string
	Line int
	Err  error
}

func (e *BrokenError) Error() string {
	remedy := "the file was changed after it was written; restore it from a copy"
	switch {
	case errors.Is(e.Err, errConflict) && strings.TrimSuffix(filepath.Base(e.Path), HeadSuffix) == Name:
		remedy = "`scruple test ledger merge STUDY` keeps the entries of both"
	case errors.Is(e.Err, errConflict):
		remedy = "take one side of this file and of its " + HeadSuffix + ", as of `git checkout --ours`"
	case errors.Is(e.Err, errLineEnd):
		remedy = "Git does this where core.autocrlf is set: put the line \"* -text\" into .gitattributes beside the study, and check the folder out again"
	}
	return fmt.Sprintf("%s:%d: %v: %s", e.Path, e.Line, e.Err, remedy)
}

var (
	errLineEnd  = errors.New("the line ends as on Windows")
	errConflict = errors.New("two branches of the repository wrote to the file, and Git left both sides in it")
)

func (e *BrokenError) Unwrap() error { return e.Err }

// A NotAllowedError reports that rules which a ledger is kept for do not allow what was asked for.
type NotAllowedError struct{ Err error }

func (e *NotAllowedError) Error() string { return e.Err.Error() }

func (e *NotAllowedError) Unwrap() error { return e.Err }

// NotAllowed returns a [NotAllowedError].
func NotAllowed(format string, args ...any) error {
	return &NotAllowedError{fmt.Errorf(format, args...)}
}

// A Head is the newest line of a chain.
type Head struct {
	Seq  int    `json:"seq"`
	Hash string `json:"hash"`
}

// HeadOf returns the head of entries; the zero Head if there are none.
func HeadOf(entries []Entry) Head {
	if len(entries) == 0 {
		return Head{}
	}
	last := entries[len(entries)-1]
	return Head{last.Seq, last.Hash}
}

// Check returns an error if the entries of a file do not contain a head that was
// recorded earlier.
func (h Head) Check(path string, entries []Entry) error {
	switch {
	case h.Seq > len(entries):
		return &BrokenError{path, len(entries) + 1, fmt.Errorf("the file ends after line %d, but had %d lines", len(entries), h.Seq)}
	case h.Seq > 0 && entries[h.Seq-1].Hash != h.Hash:
		return &BrokenError{path, h.Seq, errors.New("the hash of the line is not the one that was recorded")}
	}
	return nil
}

// maxLine is the limit of a line in bytes. An answer of serve.MaxBody fits: JSON writes a
// character as at most six bytes, and the rest of a line is small.
const maxLine = 6<<20 + 64<<10

var tail = regexp.MustCompile(`,"hash":"([0-9a-f]{64})"\}$`)

// parse reads a chain. whole is the length of the complete lines: bytes after it are
// an append that was interrupted and never confirmed.
func parse(path string, data []byte) (entries []Entry, whole int, err error) {
	var known map[string]bool // the hashes of all lines, in a file with some that were merged
	for len(data) > whole {
		n := bytes.IndexByte(data[whole:], '\n')
		if n < 0 {
			return entries, whole, nil
		}
		e, err := parseLine(data[whole : whole+n])
		if err == nil {
			err = follows(entries, e)
		}
		if err == nil && (e.Kind == Merged || known != nil) {
			known, err = checkMerged(known, entries, e)
		}
		if err != nil {
			return nil, 0, &BrokenError{path, len(entries) + 1, err}
		}
		entries = append(entries, e)
		whole += n + 1
	}
	return entries, whole, nil
}

func parseLine(line []byte) (e Entry, err error) {
	if bytes.HasSuffix(line, []byte("}\r")) {
		return e, errLineEnd
	}
	if bytes.HasPrefix(line, []byte(conflict)) {
		return e, errConflict
	}
	m := tail.FindSubmatchIndex(line)
	if m == nil {
		return e, errors.New("the line does not end with its hash")
	}
	if dataset.SHA256(line[:m[0]]) != string(line[m[2]:m[3]]) {
		return e, errors.New("the line does not have its hash")
	}
	err = dataset.DecodeStrict(line, &e)
	return e, err
}

func follows(entries []Entry, e Entry) error {
	head := HeadOf(entries)
	switch {
	case e.Seq != head.Seq+1:
		return fmt.Errorf("the line has number %d: lines are missing or in another order", e.Seq)
	case e.Prev != head.Hash:
		return errors.New("the line before is not the one that it follows")
	}
	return nil
}

// Read reads and checks a file. A file that does not exist has no entries, unless
// a head of it is recorded.
func Read(path string) ([]Entry, error) {
	head, err := readHead(path) // before the file, to which somebody may be writing
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	entries, _, err := head.parse(path, data)
	return entries, err
}

// parse parses a file and compares it with its recorded head.
func (h Head) parse(path string, data []byte) (entries []Entry, whole int, err error) {
	if entries, whole, err = parse(path, data); err == nil {
		err = h.Check(path, entries)
	}
	return entries, whole, err
}

// A Log is a file open for appending, by one process at a time. It is not safe for
// concurrent use.
type Log struct {
	path    string
	file    *os.File
	size    int64
	head    Head
	entries []Entry
	forgets bool  // keeps no entries
	broken  error // of a write that could not be undone
	behind  bool  // the file with the head has an older one
}

// Open opens a file for appending and checks it. It creates the file and its folder. An
// interrupted append at the end is removed; it was not confirmed.
func Open(path string) (*Log, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("creating the folder of %s: %w", path, err)
	}
	_, missing := os.Stat(path)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", path, err)
	}
	l := &Log{path: path, file: f}
	err = l.begin()
	if err == nil && missing != nil {
		err = disk.SyncFolder(filepath.Dir(path))
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return l, nil
}

func (l *Log) begin() error {
	if err := lock(l.file); err != nil {
		return fmt.Errorf("opening %s: %w: %w", l.path, ErrInUse, err)
	}
	head, err := readHead(l.path)
	if err != nil {
		return err
	}
	data, err := io.ReadAll(l.file)
	if err != nil {
		return fmt.Errorf("reading %s: %w", l.path, err)
	}
	entries, whole, err := head.parse(l.path, data)
	if err != nil {
		return err
	}
	if whole < len(data) {
		if err := l.file.Truncate(int64(whole)); err != nil {
			return fmt.Errorf("removing an interrupted append from %s: %w", l.path, err)
		}
	}
	l.size, l.head, l.entries = int64(whole), HeadOf(entries), entries
	l.behind = head != l.head
	return nil
}

// Entries returns what the file had when it was opened, and what was appended since.
func (l *Log) Entries() []Entry { return l.entries }

// Forget drops the entries from memory, and keeps none that is appended.
func (l *Log) Forget() { l.entries, l.forgets = nil, true }

// Head returns the newest line.
func (l *Log) Head() Head { return l.head }

// Append appends an entry and returns when it is on disk. After an error, such as of a full
// disk, the file is cut to what was confirmed, and takes entries again when there is space. Its
// head can be that of the line before, if there was no space for it: then it comes first the next
// time.
func (l *Log) Append(at time.Time, by, kind string, data any) (Entry, error) {
	if l.broken != nil {
		return Entry{}, l.broken
	}
	if l.behind {
		if err := writeHead(l.path, l.head); err != nil {
			return Entry{}, fmt.Errorf("writing the head of %s: %w", l.path, err)
		}
	}
	body, err := json.Marshal(data)
	if err != nil {
		return Entry{}, fmt.Errorf("encoding an entry of %s: %w", l.path, err)
	}
	e := Entry{Seq: l.head.Seq + 1, Prev: l.head.Hash, At: at.UTC().Format(time.RFC3339Nano), By: by, Kind: kind, Data: body}
	line, err := json.Marshal(e)
	if err != nil {
		return Entry{}, fmt.Errorf("encoding an entry of %s: %w", l.path, err)
	}
	line = line[:len(line)-len(`,"hash":""}`)]
	e.Hash = dataset.SHA256(line)
	line = append(line, `,"hash":"`+e.Hash+"\"}\n"...)
	if len(line) > maxLine {
		return Entry{}, fmt.Errorf("an entry of %s has %d bytes: want at most %d", l.path, len(line), maxLine)
	}
	if info, err := l.file.Stat(); err != nil || info.Size() != l.size {
		return Entry{}, fmt.Errorf("%s was changed by another program while it was open: close it there and start again", l.path)
	}
	_, err = l.file.Write(line)
	if err == nil {
		err = l.file.Sync()
	}
	if err != nil {
		err = fmt.Errorf("writing to %s: %w", l.path, err)
		if cut := l.file.Truncate(l.size); cut != nil {
			l.broken = errors.Join(err, cut)
		}
		return Entry{}, err
	}
	l.size += int64(len(line))
	l.head = Head{e.Seq, e.Hash}
	if !l.forgets {
		l.entries = append(l.entries, e)
	}
	l.behind = writeHead(l.path, l.head) != nil
	return e, nil
}

// Close closes the file.
func (l *Log) Close() error { return l.file.Close() }

// Add appends one entry to a ledger that is not open.
func Add(path string, at time.Time, by, kind string, data any) (Entry, error) {
	l, err := Open(path)
	if err != nil {
		return Entry{}, err
	}
	e, err := l.Append(at, by, kind, data)
	return e, errors.Join(err, l.Close())
}

// lock locks an open file for this process. Writers hold it for an append only, so it
// waits a second.
func lock(f *os.File) (err error) {
	for range 20 {
		if err = disk.Lock(f); err == nil {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return err
}

// ErrInUse is wrapped by the error of opening a file that another process has open.
var ErrInUse = errors.New("another scruple process is writing to it")

// HeadSuffix ends the name of the file with the newest hash of a ledger.
const HeadSuffix = ".head"

func headPath(path string) string { return path + HeadSuffix }

func readHead(path string) (h Head, err error) {
	err = dataset.ReadJSON(headPath(path), &h)
	if errors.Is(err, fs.ErrNotExist) {
		return h, nil
	}
	if data, _ := os.ReadFile(headPath(path)); err != nil && bytes.HasPrefix(data, []byte(conflict)) {
		err = &BrokenError{headPath(path), 1, errConflict}
	}
	return h, err
}

func writeHead(path string, h Head) error {
	data, err := json.Marshal(h)
	if err != nil {
		return err
	}
	return disk.File{Path: headPath(path), Mode: 0o600}.Write(disk.Bytes(append(data, '\n')))
}
