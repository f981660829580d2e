package disk

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/errno"
)

// Temp makes a temporary folder that only this user can read. Its name has the kind and
// the name of what it is for. Folders of this kind that killed processes left are removed
// first. The caller removes the folder with the returned function.
func Temp(kind, name string) (dir string, remove func() error, err error) {
	begin := "scruple-" + kind + "-"
	removeLeft(os.TempDir(), begin, tempSuffix, fs.ModeDir, openFolder)
	if name != "" {
		begin += unsafe.ReplaceAllString(name, "-") + "-"
	}
	lock, err := hold(func() (*os.File, error) {
		for {
			dir = filepath.Join(os.TempDir(), begin+random()+tempSuffix)
			if err := os.Mkdir(dir, 0o700); err != nil {
				return nil, err
			}
			// Another process may have removed it as left: then this makes another one.
			if f, err := openFolder(dir, os.O_CREATE, 0o600); !errors.Is(err, fs.ErrNotExist) {
				return f, err
			}
		}
	})
	if err != nil {
		return "", nil, err
	}
	return dir, func() error {
		defer lock.Close()
		release(lock)
		defer os.Remove(lock.Name()) // where it is not the folder
		return os.RemoveAll(dir)
	}, nil
}

const tempSuffix = ".tmp"

// unsafe matches what a name of a run may have and that of a folder should not.
var unsafe = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

func random() string { return strconv.FormatUint(rand.Uint64(), 36) }

// hold makes a file and locks it. Another process may take it for one that was left and
// remove it before it is locked: then it makes another one.
func hold(create func() (*os.File, error)) (*os.File, error) {
	for {
		f, err := create()
		if err != nil {
			return nil, err
		}
		if err := Lock(f); errno.Locked.Of(err) { // it is about to be removed as left
			f.Close()
			continue
		} else if err != nil {
			return f, nil // a file system without locks: nobody can remove it as left
		}
		mine, err := f.Stat()
		if there, err2 := os.Lstat(f.Name()); err == nil && err2 == nil && os.SameFile(mine, there) {
			return f, nil
		}
		f.Close()
	}
}

// removeLeft removes what a folder has of a type, with such a name, that no process has locked.
func removeLeft(dir, prefix, suffix string, of fs.FileMode, open func(string, int, fs.FileMode) (*os.File, error)) {
	entries, _ := os.ReadDir(dir) // what cannot be seen is left
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), prefix) || !strings.HasSuffix(e.Name(), suffix) || e.Type() != of {
			continue
		}
		path := filepath.Join(dir, e.Name())
		f, err := open(path, os.O_RDONLY, 0)
		if err != nil {
			continue
		}
		if Lock(f) == nil {
			release(f)
			if os.RemoveAll(path) == nil { // else tried again by the next one
				_ = os.Remove(f.Name())
			}
		}
		f.Close()
	}
}
