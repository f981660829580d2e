// Package disk writes files whole or not at all, and makes temporary folders that do
// not outlive their process for long.
//
// [File.Write] is the only way in which the program replaces a file: it follows links to
// the file that they name, writes to devices, pipes and descriptors instead of replacing
// them, keeps the mode of a file, and asks its caller whether this file may be written
// over, or writes one that must not exist yet. [Sum] is the checksum of one.
//
// What a killed process leaves behind is locked by nobody: the next write of the same
// file, and the next [Temp] of the same kind, remove it.
//
// The package must not know what is written, nor by which verb.
package disk

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/scruple-eval/scruple/internal/errno"
)

// A File is a file to write.
type File struct {
	Path string
	Mode fs.FileMode // of a new file; 0 is 0644. A file that exists keeps its own.
	New  bool        // it must not exist yet, not even as a link that leads nowhere
	// Allow returns an error if the target must not be written; nil allows all.
	Allow func(Target) error
}

// A Target is what a path leads to.
type Target struct {
	Path string      // absolute, without links
	Info fs.FileInfo // nil if it does not exist
}

// through reports whether the target is written to and not replaced.
func (t Target) through() bool {
	return isDescriptor(t.Path) || t.Info != nil && !t.Info.Mode().IsRegular()
}

// Full reports whether an error means that the disk is full or broken, rather than that
// the path is wrong.
func Full(err error) bool { return errno.DiskFull.Of(err) }

// Bytes is content for [File.Write].
func Bytes(data []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}
}

// Write replaces the file with what write writes, durably: neither a reader nor a crash
// can leave a part of it. A device, pipe or descriptor is written to. An error of write is
// returned as it is.
func (f File) Write(write func(io.Writer) error) error {
	var failed error // of write
	err := f.write(func(w io.Writer) error {
		b := bufio.NewWriterSize(w, 1<<16)
		if failed = write(b); failed != nil {
			return failed
		}
		return b.Flush()
	})
	if failed != nil || err == nil {
		return failed
	}
	return fmt.Errorf("writing %s: %w", f.Path, err)
}

func (f File) write(write func(io.Writer) error) error {
	t, err := f.target()
	if err != nil {
		return err
	}
	if t.through() {
		device := descriptor(t.Path)
		if device == nil {
			if device, err = os.OpenFile(t.Path, os.O_WRONLY|os.O_APPEND, 0); err != nil {
				return err
			}
		}
		return errors.Join(write(device), device.Close())
	}
	tmp, err := f.temporary(t)
	if err != nil {
		return err
	}
	defer discard(tmp)
	if err := errors.Join(write(tmp), tmp.Sync()); err != nil {
		return err
	}
	if t.Info != nil {
		if err := tmp.Chmod(t.Info.Mode().Perm()); err != nil {
			return err
		}
	}
	release(tmp)
	place := os.Rename
	if f.New {
		place = link
	}
	if err := place(tmp.Name(), t.Path); err != nil {
		return err
	}
	return SyncFolder(filepath.Dir(t.Path))
}

// link gives a file another name, which nothing has.
func link(from, to string) error {
	err := os.Link(from, to)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return errors.Join(err, os.Remove(from))
	}
	if _, err := os.Lstat(to); !missing(err) { // a file system without such links
		return cmp.Or(err, fs.ErrExist)
	}
	return os.Rename(from, to)
}

// Check returns the error that [File.Write] would return for this path, as far as it can
// be known before: its folders need not exist yet. It leaves nothing behind.
func (f File) Check() error {
	err := f.check()
	if err != nil {
		err = fmt.Errorf("writing %s: %w", f.Path, err)
	}
	return err
}

func (f File) check() error {
	t, err := f.target()
	if err != nil || t.through() {
		return err
	}
	dir := filepath.Dir(t.Path)
	for {
		info, err := os.Stat(dir)
		if err == nil && !info.IsDir() {
			return fmt.Errorf("%s is not a folder", dir)
		}
		if err == nil || !missing(err) || dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	tmp, err := f.temporary(Target{Path: filepath.Join(dir, filepath.Base(t.Path))})
	if err != nil {
		return err
	}
	defer discard(tmp)
	_, err = tmp.Write(make([]byte, 4096)) // a full disk makes empty files
	return err
}

// target finds what the path leads to and whether it may be written.
func (f File) target() (t Target, err error) {
	if _, err := os.Lstat(f.Path); f.New && !missing(err) {
		return t, cmp.Or(err, fs.ErrExist)
	}
	if t.Path, err = Follow(f.Path); err != nil {
		return t, err
	}
	switch t.Info, err = os.Stat(t.Path); {
	case missing(err):
		t.Info = nil
	case err != nil:
		return t, err
	case t.Info.IsDir():
		return t, errors.New("it is a folder: name a file")
	case t.Info.Mode()&fs.ModeDevice != 0 && t.Info.Mode()&fs.ModeCharDevice == 0:
		return t, errors.New("it is a disk: name a file")
	case t.Info.Mode().IsRegular() && t.Info.Mode().Perm()&0o200 == 0:
		return t, errors.New("it is read-only: choose another name, or make it writable")
	}
	if f.Allow != nil {
		return t, f.Allow(t)
	}
	return t, nil
}

// missing reports whether a file does not exist, nor perhaps its folder.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errno.NoFolder.Of(err)
}

// Follow resolves links, to the end even if the last one leads to nothing. A descriptor of
// a process, as /dev/stdout is, stays as it is: what it leads to has no path.
func Follow(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	for range 40 {
		if isDescriptor(path) {
			return path, nil
		}
		to, err := os.Readlink(path)
		if err != nil { // it is no link, or does not exist
			dir, err := filepath.EvalSymlinks(filepath.Dir(path))
			if err != nil {
				return path, nil // the caller makes the folder, or writing says that it is missing
			}
			return filepath.Join(dir, filepath.Base(path)), nil
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	return "", errors.New("too many links")
}

// partSuffix ends the names of files on their way.
const partSuffix = ".part"

// temporary makes a locked file beside a target, and removes those that killed processes
// left.
func (f File) temporary(t Target) (*os.File, error) {
	dir, prefix := filepath.Dir(t.Path), "."+filepath.Base(t.Path)+"."
	removeLeft(dir, prefix, partSuffix, 0, os.OpenFile)
	return hold(func() (*os.File, error) {
		name := filepath.Join(dir, prefix+random()+partSuffix)
		return os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, cmp.Or(f.Mode, 0o644))
	})
}

// discard closes a temporary file and removes it unless it was renamed.
func discard(tmp *os.File) {
	tmp.Close()
	_ = os.Remove(tmp.Name())
}

// Sum is the SHA-256 of a file in hexadecimal, and its size.
func Sum(path string) (sum string, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	size, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), size, err
}
