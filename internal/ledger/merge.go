package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/disk"
)

// Merged is the kind of an entry that has a line of another side of its file: branches of a
// repository went on from one copy. The line is the data, with its own hash.
const Merged = "merged"

// Layers returns an entry, the line that was merged in it, one that was merged in this, and so on.
func (e Entry) Layers() (list []Entry, err error) {
	for list = append(list, e); err == nil && e.Kind == Merged; list = append(list, e) {
		if e, err = parseLine(e.Data); err != nil {
			err = fmt.Errorf("the line that was merged: %w", err)
		}
	}
	return list, err
}

// checkMerged returns an error if an entry that follows others has a line of which the one before is
// not in the file. known has the hashes of all lines before; nil if none was merged.
func checkMerged(known map[string]bool, before []Entry, e Entry) (map[string]bool, error) {
	if known == nil {
		known = map[string]bool{"": true}
		for _, b := range before {
			known[b.Hash] = true
		}
	}
	layers, err := e.Layers()
	for _, l := range layers {
		if err == nil && !known[l.Prev] {
			err = errors.New("the line before the one that was merged is missing")
		}
	}
	for _, l := range layers {
		known[l.Hash] = true
	}
	return known, err
}

// Flat returns what entries say, those of [Read]: in the place of one of the kind [Merged] the line
// in it, with its number, unless this line came before. follows has for each hash those of the
// lines that the line was written after.
func Flat(entries []Entry) (flat []Entry, follows map[string][]string) {
	follows = map[string][]string{}
	for _, e := range entries {
		layers, _ := e.Layers() // Read reports an error
		in := layers[len(layers)-1]
		if _, known := follows[in.Hash]; !known {
			in.Seq = e.Seq
			flat = append(flat, in)
		}
		for i, l := range layers {
			follows[l.Hash] = append(follows[l.Hash], l.Prev)
			if i > 0 {
				outer := layers[i-1].Hash
				follows[outer] = append(follows[outer], l.Hash)
			}
		}
	}
	return flat, follows
}

const conflict = "<<<<<<<" // begins the first line that Git adds

// sides splits what Git leaves of a file that two branches changed. Without its markers, both sides are
// the file.
func sides(data []byte) (ours, theirs []byte, marked bool) {
	inOurs, inTheirs := true, true
	for line := range bytes.Lines(data) {
		switch {
		case bytes.HasPrefix(line, []byte(conflict)):
			inOurs, inTheirs, marked = true, false, true
		case bytes.HasPrefix(line, []byte("|||||||")): // what both began with, in some styles
			inOurs, inTheirs = false, false
		case bytes.HasPrefix(line, []byte("=======")):
			inOurs, inTheirs = false, true
		case bytes.HasPrefix(line, []byte(">>>>>>>")):
			inOurs, inTheirs = true, true
		default:
			if inOurs {
				ours = append(ours, line...)
			}
			if inTheirs {
				theirs = append(theirs, line...)
			}
		}
	}
	return ours, theirs, marked
}

// Merge appends to a ledger each line of another side that it does not have, in an entry of the kind
// [Merged]. theirs is the file of the other side, "" if Git left both in the ledger and its head. Nothing
// is written unless both sides are intact.
func Merge(path, theirs string, at time.Time, by string) (added int, err error) {
	own, other, marked, err := split(path)
	switch {
	case err == nil && theirs != "" && other.name != "":
		err = fmt.Errorf("both sides are in %s: leave out --theirs", path)
	case err == nil && theirs != "":
		var both side
		if other, both, _, err = split(theirs); err == nil && both.name != "" {
			err = &BrokenError{theirs, 1 + bytes.Count(other.lines, []byte("\n")), errConflict}
		}
	case err == nil && other.name == "":
		err = fmt.Errorf("%s has no conflict markers of Git: name the file of the other side with --theirs, such as what `git show MERGE_HEAD:./%s` prints, in a file of its own", path, Name)
	}
	if err != nil {
		return 0, err
	}
	lines, errOwn := own.read()
	missing, errOther := other.read()
	if err := errors.Join(errOwn, errOther); err != nil {
		return 0, err
	}
	to := path
	if marked { // the file stays as it is until all is appended
		dir, remove, err := disk.Temp("merge", "")
		if err != nil {
			return 0, err
		}
		defer func() { _ = remove() }() // the next one removes what is left
		to = filepath.Join(dir, Name)
		if err := errors.Join(os.WriteFile(to, own.lines, 0o600), writeHead(to, HeadOf(lines))); err != nil {
			return 0, err
		}
	}
	log, err := Open(to)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	_, follows := Flat(log.Entries())
	has := func(e Entry) bool { _, known := follows[e.Hash]; return known }
	for n := len(missing); n > 0; n = len(missing) { // leave out merges of ours that nothing follows: they would be merged in turn
		layers, _ := missing[n-1].Layers() // it was read
		if !has(layers[len(layers)-1]) {
			break
		}
		missing = missing[:n-1]
	}
	for _, e := range missing {
		if has(e) {
			continue
		}
		if _, err := log.Append(at, by, Merged, e); err != nil {
			return added, err
		}
		added++
	}
	if !marked {
		return added, nil
	}
	data, err := os.ReadFile(to)
	if err == nil { // the head first: after a crash behind it the ledger is merged again
		err = writeHead(path, log.Head())
	}
	if err == nil {
		err = disk.File{Path: path, Mode: 0o600}.Write(disk.Bytes(data))
	}
	return added, err
}

// A side is a ledger with its head, or one of two that Git left in their files.
type side struct {
	name        string
	lines, head []byte
}

// split reads a ledger and its head. Without markers in it there is no other side. marked is
// whether either file has them.
func split(path string) (ours, theirs side, marked bool, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return ours, theirs, false, fmt.Errorf("merging ledgers: %w", err)
	}
	head, err := os.ReadFile(headPath(path))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	mine, other, marked := sides(data)
	myHead, otherHead, headMarked := sides(head)
	switch {
	case !marked:
		return side{path, mine, myHead}, side{}, headMarked, err
	case !headMarked: // it is that of one side
		myHead, otherHead = nil, nil
	}
	return side{path + " (our side)", mine, myHead}, side{path + " (their side)", other, otherHead}, true, err
}

// read reads and checks the entries of a side. Each has to be in the form in which it is merged, since
// it has to keep its hash.
func (s side) read() ([]Entry, error) {
	var head Head
	if len(s.head) > 0 {
		if err := dataset.DecodeStrict(s.head, &head); err != nil {
			return nil, dataset.Locate(headPath(s.name), s.head, err)
		}
	}
	entries, whole, err := head.parse(s.name, s.lines)
	if err == nil && whole < len(s.lines) {
		err = &BrokenError{s.name, len(entries) + 1, errors.New("the line does not end")}
	}
	for i := 0; err == nil && i < len(entries); i++ {
		line, _ := json.Marshal(entries[i]) // it was decoded
		if _, errLine := parseLine(line); errLine != nil {
			err = &BrokenError{s.name, i + 1, errLine}
		}
	}
	return entries, err
}
