package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Folder is the name of the folder that has a ledger.
const Folder = ".scruple"

// roots are what the folder of a repository has.
var roots = []string{".git", ".hg", ".jj", ".svn"}

// A kit, whose ledger is its own, has the file KitFile, whose format begins with KitFormat.
const (
	KitFile   = "KIT.json"
	KitFormat = "scruple-kit/"
)

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
	path, from, _ = find(dir)
	return path, from
}

// Above lists the ledgers above that of [Find], the nearest first, up to the outermost repository
// that has them: who puts a repository, a kit or a copy into another one begins a ledger there, and
// does not leave the others. Without a repository all that are above count, except above one.
func Above(dir string) []string {
	_, _, above := find(dir)
	return above
}

func find(dir string) (path, from string, above []string) {
	in := func(dir string) string { return filepath.Join(dir, Folder, Name) }
	at, err := filepath.Abs(dir)
	if err != nil {
		return in(dir), ".", nil
	}
	path, from = in(dir), "."
	found := false
	if origin, err := os.ReadFile(filepath.Join(dir, Folder, OriginName)); err == nil && len(origin) <= maxOrigin && filepath.IsLocal(string(origin)) {
		from, found = string(origin), true
	} else if real, err := filepath.EvalSymlinks(at); err == nil && at != real {
		at, dir, path = real, real, in(real) // its parents are others than those of the link
	}
	inside := -1 // so many of above are in a repository, which dir is in
	for up, here := dir, "."; ; up = filepath.Join(up, "..") {
		its, repository := in(up), isRepository(at)
		has := exists(headPath(its)) || hasLines(its)
		switch {
		case found && has && its != path:
			above = append(above, its)
		case !found && (has || repository || isKit(at)):
			path, from, found = its, here, true
		}
		if repository {
			inside = len(above)
		}
		parent := filepath.Dir(at)
		if parent == at {
			if inside >= 0 {
				above = above[:inside]
			}
			return path, from, above
		}
		here = filepath.ToSlash(filepath.Join(filepath.Base(at), here))
		at = parent
	}
}

// isRepository reports whether a folder is that of a repository, or a working tree of one.
func isRepository(dir string) bool {
	return slices.ContainsFunc(roots, func(name string) bool {
		at := filepath.Join(dir, name)
		info, err := os.Stat(at)
		if err != nil || info.IsDir() {
			return err == nil
		}
		data, err := os.ReadFile(at)
		return name == ".git" && err == nil && strings.HasPrefix(string(data), "gitdir: ")
	})
}

// isKit reports whether a folder has the list of files of a kit.
func isKit(dir string) bool {
	var kit struct {
		Format string            `json:"format"`
		Files  map[string]string `json:"files"`
	}
	data, err := os.ReadFile(filepath.Join(dir, KitFile))
	return err == nil && json.Unmarshal(data, &kit) == nil && strings.HasPrefix(kit.Format, KitFormat) && len(kit.Files) > 0
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
