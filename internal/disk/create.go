package disk

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// A New is a file to create. Its path has slashes and is relative to a folder.
type New struct {
	Path  string
	Mode  fs.FileMode // of [File]
	Write func(io.Writer) error
}

// CreateAll writes files into a folder and lists their paths. A file that already exists, or a
// path that leaves the folder, is an error. After an error none of them is left. If only the first
// ones exist, with the content that they are to have, a killed process wrote them: the others are
// written.
func CreateAll(dir string, files []New) (paths []string, err error) {
	var errs []error
	begun := 0 // files
	for i, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f.Path))
		paths = append(paths, path)
		switch _, err := os.Lstat(path); { // also finds a dangling symlink
		case !filepath.IsLocal(filepath.FromSlash(f.Path)):
			errs = append(errs, fmt.Errorf("%s is not in %s", f.Path, dir))
		case err == nil && begun == i && f.is(path):
			begun++
			fallthrough
		case err == nil:
			errs = append(errs, fmt.Errorf("%s already exists: choose another name or folder, or move it%.0w", path, fs.ErrExist))
		case !errors.Is(err, fs.ErrNotExist):
			errs = append(errs, err)
		}
	}
	if begun == len(files) || len(errs) > begun {
		return nil, errors.Join(errs...)
	}
	_, err = os.Lstat(dir)
	isNew := err != nil
	for i, path := range paths[begun:] {
		f := files[begun+i]
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			err = File{Path: path, Mode: f.Mode, New: true}.Write(f.Write)
		}
		if err != nil {
			for _, written := range paths[begun:][:i] {
				err = errors.Join(err, os.Remove(written))
			}
			if isNew {
				_ = os.Remove(dir) // stays if others wrote into it
			}
			return nil, err
		}
	}
	return paths, nil
}

// is reports whether a file has the content of the new one.
func (f New) is(path string) bool {
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return false
	}
	h := sha256.New()
	sum, _, err := Sum(path)
	return err == nil && f.Write(h) == nil && sum == hex.EncodeToString(h.Sum(nil))
}
