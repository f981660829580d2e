package kit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/disk"
)

// studyFile is the name of the study file in its folder.
const studyFile = "study.yaml"

// A File is a file to write. Its path has slashes and is relative to the folder.
type File struct {
	Path  string
	Write func(io.Writer) error
}

// Bytes is a file with fixed content.
func Bytes(path string, data []byte) File {
	return File{path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}}
}

// Template lists the files below a folder of an embedded file system, the study
// file first.
func Template(fsys fs.FS, folder string) ([]File, error) {
	var files []File
	err := fs.WalkDir(fsys, folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(fsys, path)
		at := len(files)
		if strings.TrimPrefix(path, folder+"/") == studyFile {
			at = 0
		}
		files = slices.Insert(files, at, Bytes(strings.TrimPrefix(path, folder+"/"), data))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the template: %w", err)
	}
	return files, nil
}

// WriteFiles writes files into a folder and lists their paths. A file that
// already exists, or a path that leaves the folder, is an error. After an error none of them is
// left.
func WriteFiles(dir string, files []File) ([]string, error) {
	var errs []error
	for _, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f.Path))
		if !filepath.IsLocal(filepath.FromSlash(f.Path)) {
			errs = append(errs, fmt.Errorf("%s is not in %s", f.Path, dir))
		} else if _, err := os.Lstat(path); err == nil { // also finds a dangling symlink
			errs = append(errs, fmt.Errorf("%s already exists: choose another folder or move it", path))
		} else if !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	_, err := os.Lstat(dir)
	isNew := err != nil
	var paths []string
	for _, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f.Path))
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			err = disk.File{Path: path, New: true}.Write(f.Write)
		}
		if err != nil {
			for _, written := range paths {
				err = errors.Join(err, os.Remove(written))
			}
			if isNew {
				_ = os.Remove(dir) // stays if others wrote into it
			}
			return nil, fmt.Errorf("writing %s: %w", path, err)
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// ignored is a .gitignore: stores and reports are made, and may be large or private. The ledger
// is the record of what TEST was used for.
const ignored = ".scruple/*\n!.scruple/ledger.jsonl*\nresults/\n.env\n"

// Init writes a runnable study to a folder and lists the files, the study file
// first, and a .gitignore if the folder has none. It overwrites nothing.
func (s *Suite) Init(dir string) ([]string, error) {
	files, err := s.Starter()
	if err != nil {
		return nil, err
	}
	write := files[0].Write
	files[0].Write = func(w io.Writer) error {
		var text bytes.Buffer
		if err := write(&text); err != nil {
			return err
		}
		_, err := w.Write(bytes.Replace(text.Bytes(), []byte("NAME"), []byte(StudyName(dir, s.Name)), 1))
		return err
	}
	if _, err := os.Lstat(filepath.Join(dir, ".gitignore")); errors.Is(err, fs.ErrNotExist) {
		files = append(files, Bytes(".gitignore", []byte(ignored)))
	}
	return WriteFiles(dir, files)
}

var unsafeName = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// StudyName derives a study's name from its folder. It is otherwise if the folder's name has
// no valid character.
func StudyName(dir, otherwise string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	if name := strings.Trim(unsafeName.ReplaceAllString(filepath.Base(dir), "-"), "-."); name != "" {
		return name
	}
	return otherwise
}
