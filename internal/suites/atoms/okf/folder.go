package okf

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of a folder. Files beyond them are named in findings and not read.
const (
	maxFile  = 8 << 20
	maxTotal = 1 << 30
	maxFiles = 100_000
	maxName  = 255 // of a file or folder, in bytes: the limit of file systems
)

// A File is a file of a folder in memory.
type File struct {
	Path string
	Data []byte
}

// fileJSON is a file as JSON: a text, or bytes if it is not UTF-8.
type fileJSON struct {
	Path  string `json:"path"`
	Text  string `json:"text,omitempty"`
	Bytes []byte `json:"bytes,omitempty"`
}

// MarshalJSON writes a file.
func (f File) MarshalJSON() ([]byte, error) {
	if utf8.Valid(f.Data) {
		return json.Marshal(fileJSON{Path: f.Path, Text: string(f.Data)})
	}
	return json.Marshal(fileJSON{Path: f.Path, Bytes: f.Data})
}

// UnmarshalJSON reads a file.
func (f *File) UnmarshalJSON(data []byte) error {
	var j fileJSON
	err := json.Unmarshal(data, &j)
	f.Path, f.Data = j.Path, append([]byte(j.Text), j.Bytes...)
	return err
}

// IsMarkdown reports whether a file is an atom by its name.
func IsMarkdown(name string) bool {
	name = strings.TrimSuffix(strings.ToLower(name), ".erb")
	return strings.HasSuffix(name, ".md") || strings.HasSuffix(name, ".markdown")
}

// ReadFolder reads the Markdown files below a folder in the order of their paths.
// It never follows symbolic links or leaves the folder, and skips hidden files and folders.
// The error is about the folder itself; problems of files are findings.
func ReadFolder(dir string) ([]File, []Finding, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("opening the folder of atoms: %w", err)
	}
	defer root.Close()
	return ReadBelow(root.FS(), ".", IsMarkdown)
}

// ReadBelow is [ReadFolder] for the files below a folder of the files of a root that
// wanted selects by name.
func ReadBelow(root fs.FS, dir string, wanted func(name string) bool) ([]File, []Finding, error) {
	var (
		files    []File
		findings []Finding
		total    int64
		seen     int
	)
	below := func(name string) string { return strings.TrimPrefix(name, dir+"/") } // "." is no prefix of names
	note := func(code Code, name, format string, args ...any) {
		findings = append(findings, Finding{Code: code, Severity: Error, File: below(name), Text: fmt.Sprintf(format, args...)})
	}
	err := fs.WalkDir(root, dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && name == dir:
			return err
		case err != nil:
			note(CodeUnreadable, name, "%v", errors.Unwrap(err))
			return nil
		case name != dir && strings.HasPrefix(d.Name(), "."): // no bundle or worker has it
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir():
			return nil
		case !wanted(name) && (d.Type()&fs.ModeSymlink == 0 || !LinksFolder(root, name)):
			return nil
		case d.Type()&fs.ModeSymlink != 0:
			note(CodeSymlink, name, "a symbolic link, which is not followed: put the file here")
			return nil
		case !d.Type().IsRegular():
			note(CodeNotRegular, name, "not a regular file")
			return nil
		}
		if seen++; seen > maxFiles {
			note(CodeTooMany, name, "more than %d files: this one and the next are not read", maxFiles)
			return fs.SkipAll
		}
		data, err := read(root, name)
		switch {
		case errors.Is(err, errTooLarge):
			note(CodeTooLarge, name, "more than %d bytes: not read", maxFile)
			return nil
		case err != nil:
			note(CodeUnreadable, name, "%v", err)
			return nil
		}
		if total += int64(len(data)); total > maxTotal {
			note(CodeTooMany, name, "the folder has more than %d bytes: this file and the next are not read", maxTotal)
			return fs.SkipAll
		}
		files = append(files, File{below(name), data})
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("reading the folder of atoms: %w", err)
	}
	return files, findings, nil
}

// LinksFolder reports whether a symbolic link leads to a folder, whose atoms would be
// missed. One that leaves the root cannot be followed: it counts unless its name is
// that of a file, such as diagram.png.
func LinksFolder(root fs.FS, name string) bool {
	switch info, err := fs.Stat(root, name); {
	case err == nil:
		return info.IsDir()
	case errors.Is(err, fs.ErrNotExist):
		return false
	}
	return path.Ext(name) == ""
}

var errTooLarge = errors.New("too large")

func read(root fs.FS, name string) ([]byte, error) {
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > maxFile {
		return nil, errTooLarge
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if len(data) > maxFile {
		return nil, errTooLarge
	}
	return data, err
}

// SortFiles sorts files by path and removes those with a path that leaves the
// folder, that no file can have, that occurs twice, or that is below another file, which it names.
func SortFiles(files []File) (kept []File, findings []Finding) {
	slices.SortStableFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	note := func(code Code, file, format string, args ...any) {
		findings = append(findings, Finding{Code: code, Severity: Error, File: file, Text: fmt.Sprintf(format, args...)})
	}
	isFile := map[string]bool{}
	below := func(p string) bool {
		for p = path.Dir(p); p != "." && !isFile[p]; p = path.Dir(p) {
		}
		return isFile[p]
	}
	for i, f := range files {
		switch {
		case !fs.ValidPath(f.Path) || f.Path == "." || path.Clean(f.Path) != f.Path:
			note(CodeUnreadable, f.Path, "the path leaves the folder or is not clean")
		case strings.ContainsRune(f.Path, 0) || slices.ContainsFunc(strings.Split(f.Path, "/"), func(name string) bool { return len(name) > maxName }):
			note(CodeUnreadable, f.Path, "no file can have this path: it has a NUL, or a name of more than %d bytes", maxName)
		case i > 0 && files[i-1].Path == f.Path:
			note(CodeUnreadable, f.Path, "duplicate path")
		case below(f.Path):
			note(CodeUnreadable, f.Path, "its folder is a file")
		case len(f.Data) > maxFile:
			note(CodeTooLarge, f.Path, "more than %d bytes: not read", maxFile)
		default:
			kept, isFile[f.Path] = append(kept, f), true
		}
	}
	return kept, findings
}
