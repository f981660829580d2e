package study

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// CheckLinks refuses links that lead out of the study's folder, on the way to a file that
// the study reads or in a folder that it reads, except those to the files of programs. A study of
// someone else could so show any file of this machine to a model. A path such as ../data,
// which a reader of the study sees, is allowed.
func (f *File) CheckLinks(programs []string) error {
	var errs []error
	for _, rel := range f.Used() {
		if rel == "" || filepath.Clean(rel) == "." || slices.Contains(programs, rel) {
			continue
		}
		errs = append(errs, f.Contained(rel))
		root, err := os.OpenRoot(f.Place(rel))
		if err != nil {
			continue // a file, or it does not exist
		}
		_ = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
			if err == nil && d.Type()&fs.ModeSymlink != 0 {
				errs = append(errs, f.Contained(filepath.Join(rel, name)))
			}
			return nil
		})
		root.Close()
	}
	return errors.Join(errs...)
}

// Contained returns an error if a path relative to the study's folder, below it as written,
// is or passes a link that leads out of the folder.
func (f *File) Contained(rel string) error {
	if !filepath.IsLocal(rel) {
		return nil
	}
	root, err := os.OpenRoot(f.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for path := filepath.Clean(rel); path != "."; path = filepath.Dir(path) { // what does not exist yet may be below a link
		if _, err := root.Stat(path); err == nil {
			return nil
		}
		if _, err := os.Stat(f.Place(path)); err == nil {
			target, _ := filepath.EvalSymlinks(f.Place(path))
			return fmt.Errorf("%s leads out of the study's folder by a link, to %s: write that path in the study, or replace the link by what it leads to", f.Place(path), target)
		}
	}
	return nil
}
