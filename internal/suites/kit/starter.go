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

// A File is a file to write.
type File = disk.New

// Bytes is a file with fixed content.
func Bytes(path string, data []byte) File { return File{Path: path, Write: disk.Bytes(data)} }

// Template lists the files below the folder template of an embedded file system, the study
// file first.
func Template(fsys fs.FS) func() ([]File, error) {
	return func() (files []File, err error) {
		err = fs.WalkDir(fsys, "template", func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := fs.ReadFile(fsys, path)
			path = strings.TrimPrefix(path, "template/")
			at := len(files)
			if path == studyFile {
				at = 0
			}
			files = slices.Insert(files, at, Bytes(path, data))
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("reading the template: %w", err)
		}
		return files, nil
	}
}

// WriteFiles is [disk.CreateAll].
func WriteFiles(dir string, files []File) ([]string, error) { return disk.CreateAll(dir, files) }

// forGit are files of a repository that a folder gets if it has none. Stores and reports are made,
// and may be large or private; the ledger is the record of what TEST was used for. Ledgers, answers
// of people, gold and data are compared by their bytes, so line ends must stay.
var forGit = []File{
	Bytes(".gitignore", []byte(".scruple/*\n!.scruple/ledger.jsonl*\nresults/\n.env\n")),
	Bytes(".gitattributes", []byte("* -text\n")),
}

// Init writes a runnable study to a folder and lists the files, the study file
// first, and [forGit]. It overwrites nothing.
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
	for _, f := range forGit {
		if _, err := os.Lstat(filepath.Join(dir, f.Path)); errors.Is(err, fs.ErrNotExist) {
			files = append(files, f)
		}
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
