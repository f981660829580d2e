package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Folder is the name of the folder that has a ledger.
const Folder = ".scruple"

// roots are what the folder of a repository has; a kit is one of its own.
var roots = []string{".git", ".hg", ".jj", ".svn", "KIT.json"}

// OriginName is a file beside the ledger of a copied study, in a bundle or of a worker. It has
// the from of [Find] where the study was, since a copy has its ledger beside the study.
const OriginName = "origin"

// maxOrigin is the most bytes of such a file.
const maxOrigin = 4096

// Find returns the ledger of the files in a folder: the nearest one in this folder or
// above it, up to the folder of the repository, where a new one is made. Without a
// repository a new one is made in the folder itself. from is the path from the ledger's
// folder to dir, with slashes.
func Find(dir string) (path, from string) {
	at, err := filepath.Abs(dir)
	if err != nil {
		return filepath.Join(dir, Folder, Name), "."
	}
	if from, err := os.ReadFile(filepath.Join(dir, Folder, OriginName)); err == nil && len(from) <= maxOrigin && filepath.IsLocal(string(from)) {
		return filepath.Join(dir, Folder, Name), string(from)
	}
	if real, err := filepath.EvalSymlinks(at); err == nil {
		if at != real {
			dir = real // its parents are others than those of the link
		}
		at = real
	}
	path, from = filepath.Join(dir, Folder, Name), "."
	for up, here := dir, "."; ; up = filepath.Join(up, "..") {
		own := filepath.Join(up, Folder, Name)
		if exists(headPath(own)) || hasLines(own) || slices.ContainsFunc(roots, func(name string) bool { return exists(filepath.Join(at, name)) }) {
			return own, here
		}
		parent := filepath.Dir(at)
		if parent == at {
			return path, from
		}
		here = filepath.ToSlash(filepath.Join(filepath.Base(at), here))
		at = parent
	}
}

// A Copied file belongs into [Folder] beside a copy of a study.
type Copied struct {
	Name string
	Data []byte
}

// Copy returns the files that give a copy of a study its ledger: path and from are those of [Find].
func Copy(path, from string) ([]Copied, error) {
	list := []Copied{{OriginName, []byte(from)}}
	for _, suffix := range []string{HeadSuffix, ""} { // the head first: somebody may append meanwhile
		data, err := os.ReadFile(path + suffix)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("copying a ledger: %w", err)
		}
		if len(data) > 0 {
			list = append(list, Copied{Name + suffix, data})
		}
	}
	return list, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// hasLines reports whether a file is not empty: an empty one is no ledger.
func hasLines(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Size() > 0
}

// CheckHead returns an error if a ledger has more lines than its head, or its head is
// missing. [Read] allows both, as a process may have ended between the two files; of a
// ledger that nobody has open both are wrong, apart from one line.
func CheckHead(path string, entries []Entry) error {
	head, err := readHead(path)
	switch newest := HeadOf(entries); {
	case err != nil:
		return err
	case len(entries) > 1 && head.Seq == 0:
		return fmt.Errorf("%s has %d lines, but the file with its head, %s, is missing: restore both from a copy", path, len(entries), headPath(path))
	case newest.Seq > head.Seq+1:
		return &BrokenError{path, head.Seq + 2, errors.New("the head of the file is older: the line was not added by scruple")}
	}
	return nil
}

// Missing reports whether a file of a chain does not exist, nor its head.
func Missing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist) && !exists(headPath(path))
}
