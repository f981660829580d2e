package dataset

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// MaxFile is the size in bytes of the largest file that [ReadFile] reads into memory.
const MaxFile = 1 << 30

// SHA256 is the hash of data, in hexadecimal.
func SHA256(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// An OpenError says that a file could not be opened, so that its path is wrong.
type OpenError struct{ error }

func (e OpenError) Unwrap() error { return e.error }

// Open opens a file of data for reading. It refuses devices, pipes and sockets, which
// block or have no end. The error is an [OpenError].
func Open(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() { // opening a pipe waits for its writer
		return nil, OpenError{fmt.Errorf("%s is %s: want a regular file", path, kindOfFile(info.Mode()))}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, OpenError{err}
	}
	return f, nil
}

func kindOfFile(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a folder"
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}

// ReadFile reads a file as [Open] opens it.
func ReadFile(path string) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && info.Size() > MaxFile {
		err = fmt.Errorf("%s has %d MB: want at most %d: split it", path, info.Size()>>20, MaxFile>>20)
	}
	if err != nil {
		return nil, err
	}
	data := make([]byte, info.Size())
	n, err := io.ReadFull(f, data)
	if err == io.ErrUnexpectedEOF || err == io.EOF && len(data) == 0 {
		err = nil // it was truncated since
	}
	return data[:n], err
}
